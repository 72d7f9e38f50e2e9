"""Models as files and bytes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

from tallybayes.model.model import Model
from tallybayes.storage.model_file import lock_state, read_state, state_from_bytes, state_to_bytes

__all__ = ["dumps", "edit_model_file", "load", "loads"]


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model from a file that `Model.save` wrote."""
    return Model(read_state(path))


def dumps(model: Model) -> bytes:
    """The content of a model's file."""
    return state_to_bytes(model.snapshot().state)


def loads(data: bytes, name: str = "the bytes") -> Model:
    """A model from the content of its file; errors are reported for `name`."""
    return Model(state_from_bytes(data, name))


@contextlib.contextmanager
def edit_model_file(path: str | os.PathLike[str], *, on_wait: Callable[[], None] | None = None) -> Iterator[Model]:
    """Open a model file, change the model, and save it if the body ends without an exception.

    The file is locked meanwhile: others that edit it wait for their turn. on_wait: called once if this has to wait.
    """
    with lock_state(path, on_wait=on_wait) as (name, state):
        model = Model(state)
        yield model
        model.save(name)
