"""The files of a hosted model: NAME.tally is the base, and beside it are its log, its snapshot and its lock.

One process at a time may change a model or a folder of models: it holds a lock on a file, which the system releases at
the end. The file has the number of the process, for the message. It is not removed: another process may have opened it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from tallybayes.atomic_file import reason
from tallybayes.errors import FileError, ParameterError

try:
    import fcntl
except ImportError:  # Windows: two servers on one model are not noticed there
    fcntl = None  # type: ignore[assignment]

__all__ = ["ModelFiles", "hold_lock"]


@contextlib.contextmanager
def hold_lock(path: str, what: str) -> Iterator[None]:
    """Hold a lock; what: the thing that is locked, for the message. A FileError if another process has it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    except OSError as error:
        raise FileError(f"the lock cannot be opened: {reason(error)}", file=path) from error
    with open(descriptor, "r+b", buffering=0) as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = file.read(20).decode("ascii", "replace").strip()
                hint = "stop the other one first, or give this one another folder"
                got = f"process {holder} has it open" if holder else "another process has it open"
                raise FileError(f"expected {what} that no other server uses, but {got}", file=path, hint=hint) from None
            except OSError as error:
                raise FileError(f"the lock cannot be taken: {reason(error)}", file=path) from error
        with contextlib.suppress(OSError):  # a full disk: the lock is held all the same
            file.truncate(0)
            file.write(f"{os.getpid()}\n".encode())
        try:
            yield
        finally:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_UN)


@dataclass(frozen=True)
class ModelFiles:
    """Paths of the files of one model.

    >>> ModelFiles.of("models/mail.tally").name
    'mail'
    """

    base: str
    log: str
    snapshot: str
    lock: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> ModelFiles:
        """From the path of the model file; symbolic links are followed."""
        base = os.path.realpath(os.fsdecode(path))
        stem, end = os.path.splitext(base)
        if end != ".tally":
            raise ParameterError("a model file whose name ends in .tally", got=os.fsdecode(path))
        return cls(base, f"{stem}.log", f"{stem}.snapshot", f"{stem}.lock")

    @property
    def name(self) -> str:
        """The name of the model."""
        return os.path.basename(self.base).removesuffix(".tally")

    def all(self) -> list[str]:
        """The paths of all files, the base first."""
        return [self.base, self.log, f"{self.log}-wal", f"{self.log}-shm", f"{self.log}-last", self.snapshot, self.lock]

    def hold_lock(self) -> contextlib.AbstractContextManager[None]:
        """Hold the lock of the model; a FileError if another process has it."""
        return hold_lock(self.lock, f"the model {self.name!r}")

    @property
    def has_log(self) -> bool:
        """Whether the model has been hosted."""
        return os.path.exists(self.log)
