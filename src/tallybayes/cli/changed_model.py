"""Where calibrate and decide save a model: in a new file (-o), in its own (--in-place), or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from tallybayes.cli.messages import note, note_waiting
from tallybayes.cli.shared_options import load_model

if TYPE_CHECKING:
    from tallybayes.model import Model

__all__ = ["InPlace", "NewModel", "changed_model", "edit_model", "note_saved"]

NewModel = Annotated[
    str | None, typer.Option("-o", "--output", metavar="MODEL", help="Save the result as this model file.")
]
InPlace = Annotated[bool, typer.Option("--in-place", help="Save the result in MODEL itself.")]


@contextlib.contextmanager
def changed_model(path: str, output: str | None, *, in_place: bool) -> Iterator[Model]:
    """A model to change; it is saved if the body ends without an exception and there is a place to save it."""
    from tallybayes.cli.fit_command import model_path
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

    with _refuse_hosted(path), edit_model_file(path, on_wait=lambda: note_waiting(path)) as model:
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
