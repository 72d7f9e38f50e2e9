"""The number of the last acknowledged event, in a small file beside the log: `mail.log-last`.

SQLite takes a write-ahead log up to its first damaged page and drops the rest without an error, and with it events that
were acknowledged. This file remembers how far the log went.

It is written after the commit, in place, and never waits for the disk, so that it costs microseconds. What is on the
disk of it is therefore as old as the log or older, whatever crashes and whenever: a log that ends before it has lost
events. A record that cannot be read, or written, is no reason to refuse a log.
"""

from __future__ import annotations

import contextlib
import os
import re
import zlib

from tallybayes.errors import FileError

__all__ = ["LastEvent", "missing_events"]

_RECORD = re.compile(rb"(tallybayes last event (\d{20}) ([0-9a-f]{64})) ([0-9a-f]{8})\n")


class LastEvent:
    """The file with the number and the checksum of the last acknowledged event of a log."""

    def __init__(self, log_path: str) -> None:
        self.path = f"{log_path}-last"
        self._descriptor: int | None = None

    def read(self) -> tuple[int, bytes] | None:
        """The number and the checksum of the event; None if they are not known."""
        try:
            with open(self.path, "rb") as file:
                match = _RECORD.fullmatch(file.read(1000))
        except OSError:
            return None
        if match is None or int(match[4], 16) != zlib.crc32(match[1]):
            return None
        return int(match[2]), bytes.fromhex(match[3].decode())

    def write(self, number: int, checksum: bytes) -> None:
        """Remember an event that is on the disk; of one length, so that the record is replaced in place."""
        text = f"tallybayes last event {number:020d} {checksum.hex()}".encode()
        with contextlib.suppress(OSError):  # what is committed is acknowledged, whatever happens to this file
            if self._descriptor is None:
                self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, b"%s %08x\n" % (text, zlib.crc32(text)))

    def close(self) -> None:
        """Wait for the disk once, and close the file."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None


def missing_events(path: str, last_id: int, acknowledged: int) -> FileError:
    """The error for a log that ends before an event that was acknowledged."""
    n_missing = acknowledged - last_id
    text = (
        f"the log is damaged: it ends with event {last_id}, but event {acknowledged} was acknowledged;"
        f" {n_missing} acknowledged {'event is' if n_missing == 1 else 'events are'} missing"
    )
    hint = (
        f"restore {path} and {path}-wal from a copy (nothing has been changed in them);"
        f" to go on without the missing events, remove {path}-last"
    )
    return FileError(text, file=path, hint=hint)
