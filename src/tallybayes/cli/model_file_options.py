"""The model files of a command: read, written, or changed.

calibrate and decide save a model in a new file (-o), in its own (--in-place), or not at all.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from tallybayes.cli.messages import detail, note, timed
from tallybayes.cli.shared_options import flag, option

if TYPE_CHECKING:
    from tallybayes.model import Model

__all__ = [
    "IN_PLACE",
    "MODEL_OUTPUT",
    "NEW_MODEL",
    "changed_model",
    "edit_model",
    "find_class",
    "learned_model",
    "load_model",
    "model_path",
    "name_after",
    "note_saved",
]

MODEL_OUTPUT = option("MODEL", "The model file to write. [named after the data]", None, "-o", "--output")
NEW_MODEL = option("MODEL", "Save the result as this model file.", None, "-o", "--output")
IN_PLACE = flag("--in-place", help="Save the result in MODEL itself.")


def load_model(path: str) -> Model:
    """A model file, read."""
    from tallybayes.formatting import rows_of, several
    from tallybayes.model.saved_model import load

    with timed(f"reading {path}"):
        model = load(path)
    rows = "given probabilities" if model.is_given else rows_of(sum(model.class_counts.values()))
    sizes = several(len(model.classes), "class", "es"), several(len(model.schema.families), "column")
    detail(f"{path}: {', '.join(sizes)}, {rows}")
    return model


def learned_model(path: str) -> Model:
    """A model file with at least one class."""
    from tallybayes.errors import DataError, Described

    model = load_model(path)
    if not model.classes:
        raise DataError("a model that has learned rows", got=Described("an empty model"), file=path)
    return model


def find_class(classes: list[Any], text: str) -> Any:
    """The class of a model with this printed form."""
    from tallybayes.errors import ParameterError, did_you_mean
    from tallybayes.formatting import shown

    known = {shown(label): label for label in classes}
    if text not in known:
        raise ParameterError("a class of the model", got=text, hint=did_you_mean(text, known, "classes"))
    return known[text]


def model_path(output: str | None, data: list[str]) -> str:
    """Return the path of the model file to write, checked before any work is done."""
    from tallybayes.cli.output import refuse_overwriting, refuse_replacing
    from tallybayes.storage.model_file import is_model

    path = output or f"{name_after(data, 'model')}.tally"
    refuse_overwriting(path, data)
    refuse_replacing(path, is_model, "a model")
    return path


def name_after(data: list[str], other: str) -> str:
    """The name of files about some data: films for films.csv.gz and the folder films/; another one for a query."""
    first = os.path.basename(data[0].rstrip(os.sep)).split(".")[0]
    plain = first and not any(sign in first for sign in "*?[ ()'\"") and first != "-"
    return first if plain else other


@contextlib.contextmanager
def changed_model(path: str, output: str | None, *, in_place: bool) -> Iterator[Model]:
    """A model to change; it is saved if the body ends without an exception and there is a place to save it."""
    from tallybayes.errors import Described, ParameterError

    if output is not None and in_place:
        raise ParameterError("-o MODEL or --in-place", got=Described("both"))
    if in_place:
        with edit_model(path) as model:
            yield model
        return
    if output is not None:
        if os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise ParameterError("another file for -o", got=output, hint="--in-place changes the model itself")
        model_path(output, [])
    model = load_model(path)
    yield model
    if output is not None:
        model.save(output)


@contextlib.contextmanager
def edit_model(path: str) -> Iterator[Model]:
    """A model file to change in place: other commands wait, and a model that a server hosts is refused."""
    from tallybayes.model.saved_model import edit_model_file

    wait = partial(note, f"waiting for another command that is changing {path}")
    with _refuse_hosted(path), edit_model_file(path, on_wait=wait) as model:
        yield model


@contextlib.contextmanager
def _refuse_hosted(path: str) -> Iterator[None]:
    """Refuse a model with a log of changes: its file is only the base of these."""
    from tallybayes.errors import FileError
    from tallybayes.server.events.model_files import ModelFiles

    if not path.endswith(".tally") or "\0" in path or not (files := ModelFiles.of(path)).has_log:
        yield
        return
    from tallybayes.server.events.event_log import EventLog

    with files.hold_lock():
        with contextlib.closing(EventLog(files.log, read_only=True)) as log:
            n_events = log.last_id - (log.fact("base") or {"event": 0})["event"]
        if n_events:
            hint = f"send the rows to its server, or fold the changes into the file first: tally log compact {path}"
            got = f"the base of a log of {n_events:,} changes"
            raise FileError(f"expected a model without a log, got {got}", file=path, hint=hint)
        yield


def note_saved(path: str, output: str | None, *, in_place: bool) -> None:
    """Say where the result was saved, or how to save it."""
    if output is not None:
        note(f"wrote the model to {output}")
    elif not in_place:
        note(f"not saved: -o MODEL writes a new model file, --in-place changes {path}")
