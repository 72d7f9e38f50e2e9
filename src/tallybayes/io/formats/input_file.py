"""A file to be read: its path, a name for messages, its size and compression.

What DuckDB cannot read in place (standard input, bzip2, xz, encodings other than UTF-8 and Latin-1) is copied to a
temporary file first. Temporary files are removed when the process ends, or at the end of a block of `temporary_copies`.
"""

from __future__ import annotations

import atexit
import bz2
import codecs
import contextlib
import io
import lzma
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import IO

import pyarrow as pa

from tallybayes.errors import Described, FileError

__all__ = ["InputFile", "temporary_copies", "temporary_copy", "without_compression_suffix"]

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ": "xz"}

_FOLDER: ContextVar[str | None] = ContextVar("the folder of temporary copies", default=None)


@dataclass(frozen=True)
class InputFile:
    """A file that DuckDB can read. `compression` is DuckDB's name for it."""

    path: str
    name: str
    size: int
    compression: str = "none"

    @classmethod
    def of(cls, path: str) -> InputFile:
        """A file by its path; "-" is standard input."""
        if path == "-":
            if sys.stdin is None:
                raise FileError("standard input is closed")
            return replace(cls.of(_copied(sys.stdin.buffer)), name="standard input")
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe can be read only once
                with open(path, "rb") as pipe:
                    return replace(cls.of(_copied(pipe)), name=path)
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
                return replace(cls.of(_copied(unpacked)), name=path)
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise FileError(f"cannot be decompressed: {error}", file=path) from error

    @cached_property
    def literal_path(self) -> str:
        """A path that DuckDB takes for no pattern, no address and no home folder: absolute, or a link to the file."""
        path = os.path.abspath(self.path)
        if not re.search(r"[*?\[\ud800-\udfff]", path) and (os.sep == "\\" or "\\" not in path):
            return path
        folder = tempfile.mkdtemp(prefix="tallybayes-", dir=_FOLDER.get())
        if _FOLDER.get() is None:
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
        link = os.path.join(folder, "file")
        os.symlink(path, link)
        return link

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

    def content(self) -> bytes:
        """All of its bytes, decompressed."""
        try:
            with self.opened() as file:
                return file.read()
        except OSError as error:
            raise FileError(f"cannot be read: {error}", file=self.name) from error

    def uncompressed(self) -> InputFile:
        """The file itself, or a copy that is not compressed."""
        if self.compression == "none":
            return self
        try:
            with self.opened() as file:
                return replace(InputFile.of(_copied(file)), name=self.name)
        except OSError as error:
            raise FileError(f"cannot be decompressed: {error}", file=self.name) from error

    def in_utf8(self, encoding: str) -> InputFile:
        """A copy of a file of text in UTF-8."""
        with self.opened() as file:
            try:
                copied = _copied(_Utf8(codecs.getreader(encoding)(file)))
            except UnicodeError as error:
                got = Described("bytes in another encoding")
                if isinstance(error, UnicodeDecodeError):
                    got = Described(f"the byte 0x{error.object[error.start]:02x}")
                hint = "name another encoding with encoding= (--encoding), for example latin-1"
                raise FileError(f"text in {encoding}", got=got, file=self.name, hint=hint) from error
        return replace(InputFile.of(copied), name=self.name)


def without_compression_suffix(name: str) -> str:
    """The name of a file in lower case, without the suffix of its compression.

    >>> without_compression_suffix("Data/Films.CSV.gz")
    'data/films.csv'
    """
    return re.sub(r"\.(gz|zst|zstd|bz2|xz)$", "", name.lower())


class _Utf8(io.RawIOBase):
    """Characters as UTF-8 bytes."""

    def __init__(self, reader: codecs.StreamReader) -> None:
        self._reader = reader

    def read(self, size: int = -1) -> bytes:
        """Some of the bytes."""
        return str(self._reader.read(size, size)).encode()


@contextlib.contextmanager
def temporary_copies() -> Iterator[str]:
    """A temporary folder; it has the copies of files that are read within the block, and is removed at its end.

    >>> with temporary_copies() as folder:
    ...     path = temporary_copy([b"a,b"])
    ...     os.path.dirname(path) == folder, os.path.exists(path)
    (True, True)
    >>> os.path.exists(path)
    False
    """
    with tempfile.TemporaryDirectory(prefix="tallybayes-", ignore_cleanup_errors=True) as folder:
        token = _FOLDER.set(folder)
        try:
            yield folder
        finally:
            _FOLDER.reset(token)


def temporary_copy(parts: Iterable[bytes]) -> str:
    """The path of a temporary file with these bytes, which is removed when the process ends, or the block does."""
    handle, path = tempfile.mkstemp(prefix="tallybayes-", dir=_FOLDER.get())
    if _FOLDER.get() is None:
        atexit.register(_removed, path)
    with os.fdopen(handle, "wb") as copy:
        for part in parts:
            copy.write(part)
    return path


def _copied(file: IO[bytes] | _Utf8) -> str:
    """The path of a temporary copy."""
    return temporary_copy(iter(lambda: file.read(2**20), b""))


def _removed(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
