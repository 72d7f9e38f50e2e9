"""Files that are replaced as a whole: a reader, a crash or a full disk sees the old content or the new, never a part.

The content goes to a temporary file in the same directory, which is synced and then renamed. Symbolic links are
followed, and a file that exists keeps its mode. A pipe or a device is written to directly.

A process that is killed leaves its temporary file behind. Each one is locked by its writer, and the system releases
the lock when the writer ends: the next write into the directory removes those that nobody has locked.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from typing import BinaryIO

from tallybayes.errors import FileError

try:
    import fcntl
except ImportError:  # Windows: an open file cannot be removed there, which serves as the lock
    fcntl = None  # type: ignore[assignment]

__all__ = ["Path", "reason", "replaced_files", "replacing", "sync_directory", "write_file"]

Path = str | os.PathLike[str]

_TEMPORARY = re.compile(r"\.tallybayes-[0-9a-f]{16}\.tmp")
_BINARY = getattr(os, "O_BINARY", 0)

_renamed: dict[str, os.stat_result] = {}  # path -> the file that was to be renamed to it, noted before the rename


def write_file(path: Path, data: bytes, what: str, *, private: bool = False) -> None:
    """Replace a file by these bytes; a FileError says that `what` ("the model") cannot be written.

    private: a file that is new can be read by its owner only.
    """
    with replacing(path, what, private=private) as file, _describe_errors(path, what):
        file.write(data)


@contextlib.contextmanager
def replacing(path: Path, what: str, *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a binary file that replaces the one at `path` when the body ends without an exception."""
    with _describe_errors(path, what):
        target = os.path.realpath(os.fsdecode(path))
        present = os.stat(path) if os.path.lexists(target) or os.path.exists(path) else None
        if present is None or stat.S_ISREG(present.st_mode):
            mode = None if present is None else stat.S_IMODE(present.st_mode)
            temporary, file = _new_temporary(os.path.dirname(target), 0o666 if mode is None and not private else 0o600)
        else:
            temporary, file = None, open(path, "wb")  # noqa: SIM115, closed below; a directory is an error here
    try:
        with file:
            yield file
            if temporary is not None:
                with _describe_errors(path, what):
                    _finish(file, temporary, target, mode)
    except BaseException:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise
    sync_directory(os.path.dirname(target))


def replaced_files() -> list[str]:
    """Return the paths that this process has replaced, for a message after an interrupt."""
    present = {path: os.stat(path) for path in _renamed if os.path.exists(path)}
    return [path for path, facts in present.items() if os.path.samestat(facts, _renamed[path])]


def reason(error: OSError | ValueError) -> str:
    """Return the system's description of an error; a ValueError is a path that contains a null character."""
    return getattr(error, "strerror", None) or str(error)


@contextlib.contextmanager
def _describe_errors(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise FileError(f"{what} cannot be written: {reason(error)}", file=os.fsdecode(path)) from error


def _new_temporary(directory: str, mode: int) -> tuple[str, BinaryIO]:
    """Create and lock a temporary file, after removing stale ones."""
    with contextlib.suppress(OSError):
        _remove_stale(directory)
    while True:
        name = os.path.join(directory, f".tallybayes-{os.urandom(8).hex()}.tmp")
        file = open(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode), "wb")  # noqa: SIM115, for the caller
        if fcntl is None:
            return name, file
        with contextlib.suppress(OSError):  # a file system without locks: nothing is removed as stale there
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return name, file
        file.close()  # another process took it for stale before it was locked


def _finish(file: BinaryIO, temporary: str, target: str, mode: int | None) -> None:
    """Bring the temporary file to the disk and rename it; the lock is held until then."""
    file.flush()
    os.fsync(file.fileno())
    if mode is not None:
        os.chmod(temporary, mode)
    _renamed[target] = os.fstat(file.fileno())
    if fcntl is None:
        file.close()  # Windows does not rename open files
    os.replace(temporary, target)


def _remove_stale(directory: str) -> None:
    """Remove the temporary files of processes that have ended."""
    for name in os.listdir(directory):
        if _TEMPORARY.fullmatch(name):
            with contextlib.suppress(OSError):  # in use, or not ours to remove
                _remove_unlocked(os.path.join(directory, name))


def _remove_unlocked(path: str) -> None:
    if fcntl is None:
        os.unlink(path)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
    finally:
        os.close(descriptor)


def sync_directory(directory: str) -> None:
    """Bring the entries of a directory to the disk: files that were created in it or renamed."""
    with contextlib.suppress(OSError):  # some systems cannot sync a directory, and do not need to
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
