"""Tables inside zip archives: `data.zip`, if there is one table in it, `data.zip/inner.csv`, `data.zip/*.csv`."""

from __future__ import annotations

import fnmatch
import os
import zipfile
import zlib
from dataclasses import replace

from tallybayes.errors import NONE, FileError, did_you_mean
from tallybayes.io.formats.input_file import InputFile, temporary_copy

__all__ = ["archive_members", "inside_archive", "is_archive", "member_of", "opened_member"]

_MAGIC = b"PK\x03\x04"


def is_archive(start: bytes) -> bool:
    """Whether a file begins like a zip archive."""
    return start.startswith(_MAGIC)


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
    parts = path.split("/")
    for i in range(1, len(parts)):
        archive = "/".join(parts[:i])
        if os.path.isfile(archive) and zipfile.is_zipfile(archive):
            members, wanted = archive_members(archive), "/".join(parts[i:])
            found = [wanted] if wanted in members else sorted(fnmatch.filter(members, wanted))
            if not found:
                hint = did_you_mean(wanted, members, "files in it")
                raise FileError("a file in the archive", got=wanted, file=archive, hint=hint)
            return [f"{archive}/{member}" for member in found]
    return []


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
    parts = path.split("/")
    for i in range(1, len(parts)):
        archive = "/".join(parts[:i])
        if os.path.isfile(archive):
            return _unpacked(InputFile.of(archive), "/".join(parts[i:]))
    return None


def _unpacked(file: InputFile, member: str) -> InputFile:
    """A copy of a file in an archive."""
    name = f"{file.name}/{member}"
    try:
        with zipfile.ZipFile(file.path) as archive, archive.open(member) as content:
            copy = InputFile.of(temporary_copy(iter(lambda: content.read(2**20), b"")))
    except RuntimeError as error:  # zipfile has no error of its own for a password
        raise FileError(f"cannot be unpacked: {error}", file=name, hint="unpack the archive first") from error
    # NotImplementedError: zipfile does not know the compression
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, KeyError, NotImplementedError) as error:
        raise FileError(f"cannot be unpacked: {error}", file=name) from error
    return replace(copy, name=name)
