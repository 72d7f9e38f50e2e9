"""The model file, `*.tally`: numbers and names only, never code.

The content is described in `storage/content.py`, the container with its checksum in `storage/container.py`. Equal
statistics, schema and settings give equal bytes. A damaged file, or one that this library would not write, is a
`FileError`. Files are replaced as a whole (`atomic_file.py`).

>>> from tallybayes.columns.schema import Schema
>>> from tallybayes.state.settings import Settings
>>> data = state_to_bytes(ModelState(Schema("ill"), Settings()))
>>> state_from_bytes(data).schema.label
'ill'
>>> state_from_bytes(data.replace(b"ill", b"all"), name="ill.tally")
Traceback (most recent call last):
    ...
tallybayes.errors.FileError: ill.tally: checksum mismatch: the file is damaged
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from typing import BinaryIO

from tallybayes.atomic_file import Path, reason, write_file
from tallybayes.errors import FileError
from tallybayes.state.model_state import ModelState
from tallybayes.storage.container import START, pack, read_content
from tallybayes.storage.content import assemble, serialise

try:
    import fcntl
except ImportError:  # Windows: no locks; two programs that edit one file at the same time may lose rows there
    fcntl = None  # type: ignore[assignment]

__all__ = ["is_model", "lock_state", "read_state", "state_from_bytes", "state_to_bytes", "write_state"]


def state_to_bytes(state: ModelState) -> bytes:
    """Serialise the state of a model."""
    try:
        return pack(*serialise(state))
    except (ValueError, OverflowError) as error:  # a key of an unknown type, a strength out of range
        raise FileError(f"the model cannot be saved: {error}") from error


def state_from_bytes(data: bytes, name: str = "the bytes") -> ModelState:
    """Return the state from the bytes of `state_to_bytes`; a FileError that names `name` for any others."""
    return read_content(data, "model", assemble, name=name, what="file is")


def write_state(state: ModelState, path: Path) -> None:
    """Write a model to a file, which is replaced as a whole, after checking that the new file can be loaded."""
    try:
        data = state_to_bytes(state)
        _check_loads(data, state)
    except FileError as error:
        raise error.at(file=os.fsdecode(path)) from error.__cause__
    write_file(path, data, "the model")


def _check_loads(data: bytes, state: ModelState) -> None:
    """Raise a FileError unless the bytes give the state back.

    Loading checks every sum; it takes about three quarters of the time of `state_to_bytes`. The sums are not compared:
    that would take twice as long, and they are read from the arrays that were written.
    """
    try:
        again = state_from_bytes(data)
    except FileError as error:
        raise FileError(f"the model cannot be saved: the file would not load ({error.expected})") from error
    if (again.schema, again.settings, again.classes) != (state.schema, state.settings, state.classes):
        raise FileError("the model cannot be saved: loading the file would give another model")


def read_state(path: Path) -> ModelState:
    """Read the state of a model from a file."""
    name = os.fsdecode(path)
    with _opened(name, os.O_RDONLY) as file:
        data = _content(file, name)
    return state_from_bytes(data, name)


def is_model(path: Path) -> bool:
    """Whether a file begins like a model file."""
    if not os.path.isfile(path):
        return False
    with _opened(os.fsdecode(path), os.O_RDONLY) as file:
        return file.read(8 + len(START))[8:] == START


@contextlib.contextmanager
def lock_state(path: Path, *, on_wait: Callable[[], None] | None = None) -> Iterator[tuple[str, ModelState]]:
    """The real path and the state of a model file, locked against other programs that edit it.

    on_wait: called once if another program has the lock.
    """
    try:
        name = os.path.realpath(os.fsdecode(path))  # unchanged if the body changes the working directory
    except ValueError as error:
        raise FileError(f"the model cannot be opened: {reason(error)}", file=os.fsdecode(path)) from error
    with _lock(name, on_wait) as file:
        state = state_from_bytes(_content(file, name), name)
        if fcntl is None:
            file.close()  # Windows does not replace open files
        yield name, state


@contextlib.contextmanager
def _opened(name: str, flags: int) -> Iterator[BinaryIO]:
    """Open a regular file to read; a pipe or a device might never end."""
    try:
        descriptor = os.open(name, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise FileError(f"the model cannot be opened: {reason(error)}", file=name) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileError("expected a regular file, got a directory, a pipe or a device", file=name)
    with open(descriptor, "rb") as file:
        yield file


def _content(file: BinaryIO, name: str) -> bytes:
    """Read a file; only its beginning if that is not of a model file, because the rest may be large."""
    try:
        start = file.read(8 + len(START))
        return start + file.read() if start[8:] == START else start
    except OSError as error:
        raise FileError(f"the model cannot be read: {reason(error)}", file=name) from error


@contextlib.contextmanager
def _lock(name: str, on_wait: Callable[[], None] | None) -> Iterator[BinaryIO]:
    """Open a file and lock it. The lock is on the file itself, so there is no lock file."""
    while True:
        with _opened(name, os.O_RDWR) as file:
            if fcntl is None:
                yield file
                return
            try:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if on_wait is not None:
                        on_wait()
                        on_wait = None
                    fcntl.flock(file, fcntl.LOCK_EX)
                same = os.path.samestat(os.fstat(file.fileno()), os.stat(name))
            except OSError as error:
                raise FileError(f"the model cannot be locked: {reason(error)}", file=name) from error
            if not same:  # it was replaced during the wait: the lock is on the old file
                continue
            try:
                yield file
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)  # closing does not unlock it if a child process has it open too
            return
