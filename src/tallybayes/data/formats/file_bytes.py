"""A file on disk: where it is, what people call it, how it is compressed.

What DuckDB cannot read from where it is (standard input, bzip2, xz, encodings other than UTF-8, UTF-16 and Latin-1) is
copied into a temporary file first, which is gone when the process ends.
"""

from __future__ import annotations

import atexit
import bz2
import codecs
import io
import lzma
import os
import re
import shutil
import stat
import sys
import tempfile
from dataclasses import dataclass
from typing import IO

import pyarrow as pa

from tallybayes.errors import FileError

__all__ = ["Disk", "without_packing"]

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ": "xz"}


@dataclass(frozen=True)
class Disk:
    """A file that DuckDB can read. `compression` is DuckDB's word for it."""

    path: str
    name: str
    size: int
    compression: str = "none"

    @classmethod
    def of(cls, path: str) -> Disk:
        """A file by its path; "-" is standard input."""
        if path == "-":
            if sys.stdin is None:
                raise FileError("standard input is closed")
            return cls.of(_copied(sys.stdin.buffer)).named("standard input")
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe can be read only once
                with open(path, "rb") as pipe:
                    return cls.of(_copied(pipe)).named(path)
            size = os.stat(path).st_size
            with open(path, "rb") as file:
                start = file.read(6)
        except OSError as error:
            raise FileError(f"cannot be read: {error.strerror}", file=path) from error
        compression = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), "none")
        if compression not in ("bz2", "xz"):
            return cls(path, path, size, compression)
        try:
            with (bz2.open if compression == "bz2" else lzma.open)(path, "rb") as unpacked:
                return cls.of(_copied(unpacked)).named(path)
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise FileError(f"cannot be unpacked: {error}", file=path) from error

    def named(self, name: str) -> Disk:
        """The same file under another name for people."""
        return Disk(self.path, name, self.size, self.compression)

    def opened(self) -> IO[bytes]:
        """Its bytes, decompressed."""
        file = open(self.path, "rb")  # noqa: SIM115 - the caller closes it; Arrow itself opens only names that are text
        return file if self.compression == "none" else io.BufferedReader(pa.input_stream(file, self.compression))

    def start(self, n_bytes: int = 2**16) -> bytes:
        """Its first bytes, decompressed."""
        try:
            with self.opened() as file:
                return file.read(n_bytes)
        except OSError as error:
            raise FileError(f"cannot be read: {error}", file=self.name) from error

    def in_utf8(self, encoding: str) -> Disk:
        """A copy of a file of text in UTF-8."""
        with self.opened() as file:
            try:
                copied = _copied(_Utf8(codecs.getreader(encoding)(file)))
            except UnicodeError as error:
                raise FileError(f"text in {encoding}", got=str(error), file=self.name) from error
        return Disk.of(copied).named(self.name)


def without_packing(name: str) -> str:
    """The name of a file in small letters, without what says how it is compressed.

    >>> without_packing("Data/Films.CSV.gz")
    'data/films.csv'
    """
    return re.sub(r"\.(gz|zst|zstd|bz2|xz)$", "", name.lower())


class _Utf8(io.RawIOBase):
    """Characters as UTF-8 bytes."""

    def __init__(self, reader: codecs.StreamReader) -> None:
        self._reader = reader

    def read(self, size: int = -1) -> bytes:
        """Some of them."""
        return str(self._reader.read(size, size)).encode()


def _copied(file: IO[bytes] | _Utf8) -> str:
    """The path of a temporary copy, removed at the end of the process."""
    handle, path = tempfile.mkstemp(prefix="tallybayes-")
    atexit.register(_removed, path)
    with os.fdopen(handle, "wb") as copy:
        shutil.copyfileobj(file, copy, 2**20)
    return path


def _removed(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)
