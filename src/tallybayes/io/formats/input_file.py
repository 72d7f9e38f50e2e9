"""A file to be read: its path, a name for messages, its size and compression.

What DuckDB cannot read in place (standard input, bzip2, xz, encodings other than UTF-8 and Latin-1) is copied to a
temporary file first, and so are files inside zip archives: `data.zip`, if there is one table in it,
`data.zip/inner.csv`, `data.zip/*.csv`. Temporary files are removed when the process ends, or at the end of a block of
`temporary_copies`.
"""

from __future__ import annotations

import atexit
import bz2
import contextlib
import fnmatch
import io
import lzma
import os
import re
import shutil
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import IO

import pyarrow as pa

from tallybayes.errors import NONE, Described, FileError, did_you_mean

__all__ = [
    "InputFile",
    "archive_members",
    "inside_archive",
    "is_archive",
    "member_of",
    "opened_member",
    "temporary_copies",
    "temporary_copy",
    "without_compression_suffix",
]

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2", b"\xfd7zXZ": "xz"}
_ARCHIVE = b"PK\x03\x04"

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
        link = os.path.join(tempfile.mkdtemp(dir=_folder()), "file")
        os.symlink(path, link)
        return link

    def opened(self) -> IO[bytes]:
        """Its bytes, decompressed."""
        file = open(self.path, "rb")  # noqa: SIM115 - the caller closes it; Arrow itself opens only names that are text
        return file if self.compression == "none" else io.BufferedReader(pa.input_stream(file, self.compression))

    def start(self, n_bytes: int = 2**16) -> bytes:
        """Its first bytes, decompressed; -1: all of them."""
        try:
            with self.opened() as file:
                return file.read(n_bytes)
        except OSError as error:
            what = "read" if self.compression == "none" else f"decompressed, though it begins like {self.compression}"
            raise FileError(f"cannot be {what}: {error}", file=self.name) from error

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
        with io.TextIOWrapper(self.opened(), encoding, newline="") as text:
            try:
                copied = temporary_copy(part.encode() for part in iter(lambda: text.read(2**20), ""))
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
    handle, path = tempfile.mkstemp(dir=_folder())
    with os.fdopen(handle, "wb") as copy:
        for part in parts:
            copy.write(part)
    return path


def _copied(file: IO[bytes]) -> str:
    """The path of a temporary copy."""
    return temporary_copy(iter(lambda: file.read(2**20), b""))


def _folder() -> str:
    """The folder of temporary files: of the block, or of the process."""
    return _FOLDER.get() or _folder_of_process(os.getpid())


@cache
def _folder_of_process(process: int) -> str:
    folder = tempfile.mkdtemp(prefix="tallybayes-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def is_archive(start: bytes) -> bool:
    """Whether a file begins like a zip archive."""
    return start.startswith(_ARCHIVE)


def archive_members(path: str, name: str | None = None) -> list[str]:
    """The names of the files in an archive; hidden files, and those that macOS adds, are skipped."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [one.filename for one in archive.infolist() if not one.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:  # the last: zipfile lacks a feature
        raise FileError(f"a complete zip archive ({error})", file=name or path) from error
    return [one for one in names if not one.startswith("__MACOSX/") and not os.path.basename(one).startswith(".")]


def inside_archive(path: str) -> list[str]:
    """The paths that a path through an archive stands for, such as data.zip/*.csv; none if it is another path."""
    archive, wanted = _archive_in(path)
    if archive is None:
        return []
    members = archive_members(archive)
    found = [wanted] if wanted in members else sorted(fnmatch.filter(members, wanted))
    if not found:
        hint = did_you_mean(wanted, members, "files in it")
        raise FileError("a file in the archive", got=wanted, file=archive, hint=hint)
    return [f"{archive}/{member}" for member in found]


def member_of(file: InputFile, table: str | None) -> tuple[InputFile, str | None]:
    """The file in an archive to read, and what is left of the option `table`: a sheet, if the only file has several."""
    names = archive_members(file.path, file.name)
    if table in names:
        return _unpacked(file, str(table)), None
    if len(names) == 1:
        return _unpacked(file, names[0]), table
    expected = f"a file in the archive ({', '.join(names) or 'it is empty'})"
    hint = f"name it: {file.name}/{names[0]}, or table= (--table) {names[0]}" if names else None
    raise FileError(expected, got=NONE if table is None else table, file=file.name, hint=hint)


def opened_member(path: str) -> InputFile | None:
    """The file that a path through an archive names, such as data.zip/inner.csv; None if it is another path."""
    archive, member = _archive_in(path)
    return None if archive is None else _unpacked(InputFile.of(archive), member)


def _archive_in(path: str) -> tuple[str | None, str]:
    """The archive that a path goes through, if it goes through one, and the rest of the path."""
    parts = path.split("/")
    splits = (("/".join(parts[:i]), "/".join(parts[i:])) for i in range(1, len(parts)))
    return next((split for split in splits if os.path.isfile(split[0]) and zipfile.is_zipfile(split[0])), (None, path))


def _unpacked(file: InputFile, member: str) -> InputFile:
    """A copy of a file in an archive."""
    name = f"{file.name}/{member}"
    try:
        with zipfile.ZipFile(file.path) as archive, archive.open(member) as content:
            copy = InputFile.of(_copied(content))
    except RuntimeError as error:  # zipfile has no error of its own for a password
        raise FileError(f"cannot be unpacked: {error}", file=name, hint="unpack the archive first") from error
    # NotImplementedError: zipfile does not know the compression
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, NotImplementedError) as error:
        raise FileError(f"cannot be unpacked: {error}", file=name) from error
    return replace(copy, name=name)
