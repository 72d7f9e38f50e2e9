"""One process at a time for a model or a folder: a lock on a file beside it, which the system releases at the end.

The file holds the number of the process, for the message. It is not removed: another process may have opened it.
"""

from __future__ import annotations

import contextlib
import os
from typing import BinaryIO

from tallybayes.atomic_file import reason
from tallybayes.errors import FileError

try:
    import fcntl
except ImportError:  # Windows: two servers on one model are not noticed there
    fcntl = None  # type: ignore[assignment]

__all__ = ["ModelLock"]


class ModelLock:
    """A lock that is held until `release` or the end of the process."""

    def __init__(self, path: str, what: str) -> None:
        """Take the lock; what: the thing that is locked, for the message. A FileError if another process has it."""
        self.path = path
        self._file: BinaryIO | None = None
        try:
            file = open(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644), "r+b")  # noqa: SIM115
        except OSError as error:
            raise FileError(f"the lock cannot be opened: {reason(error)}", file=path) from error
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                holder = file.read(20).decode("ascii", "replace").strip()
                file.close()
                if not isinstance(error, BlockingIOError):
                    raise FileError(f"the lock cannot be taken: {reason(error)}", file=path) from error
                hint = "stop the other one first, or give this one another folder"
                got = f"process {holder} has it open" if holder else "another process has it open"
                raise FileError(f"expected {what} that no other server uses, but {got}", file=path, hint=hint) from None
        self._file = file
        with contextlib.suppress(OSError):  # a full disk: the lock is held all the same
            file.truncate(0)
            file.write(f"{os.getpid()}\n".encode())
            file.flush()

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_UN)
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None
