"""A folder of texts: the label of a file is the folder that it is in.

    mail/spam/1.txt      the label spam
    mail/ham/old/2.eml   the label ham: the first folder below the given one
    mail/3.txt           no label; it can be predicted

Names that begin with a dot are skipped. A folder that contains tables is an error, since the tables are probably meant.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tallybayes.errors import Described, FileError
from tallybayes.io.formats.document_files import KINDS, Document, DocumentFiles
from tallybayes.io.formats.encoding import cleaned
from tallybayes.io.formats.file_format import ReadOptions

__all__ = ["Folder"]

_NAMES = "csv|tsv|tab|json|jsonl|ndjson|parquet|duckdb|sqlite|xlsx|xls|ods|feather|arrow|arff|sas7bdat|dta|sav"
_TABLE = re.compile(rf"\.({_NAMES})(\.(gz|zst|zstd|bz2|xz))?$", re.IGNORECASE)


class Folder(DocumentFiles):
    """The files of a folder and of the folders in it."""

    kind = "folder"

    def __init__(self, path: str, reading: ReadOptions) -> None:
        size, n_files, tables = 0, 0, None
        for file in _files(path):
            with contextlib.suppress(OSError):  # deleted meanwhile: an error when it is read
                size += os.stat(os.path.join(path, file)).st_size
            n_files += 1
            if tables is None and (ending := _TABLE.search(file)):
                tables = os.path.join("**" if os.path.dirname(file) else "", f"*{ending[0]}")
        if reading.format not in (None, *KINDS) or (reading.format is None and tables is not None):
            place = os.path.join(path, tables or "*")
            hint = f"{place} reads what is in it; format= (--format) text takes every file for a text"
            raise FileError("a file", got=Described("a folder"), file=path, hint=hint)
        if not n_files:
            raise FileError("a folder with files in it", got=Described("an empty one"), file=path)
        labels = [entry.name for entry in _entries(path) if entry.is_dir()]
        groups = [_Group(path, label) for label in (*labels, None)]
        super().__init__(path, groups, reading, size=size, labelled=True)


@dataclass(frozen=True)
class _Group:
    """The files below the folder of a label, or those next to such folders."""

    root: str
    label: str | None

    def __iter__(self) -> Iterator[Document]:
        label = None if self.label is None else cleaned(self.label)
        for file in _files(self.root, self.label or "", deep=self.label is not None):
            path = os.path.join(self.root, file)
            yield Document(path, cleaned(path), cleaned(file), label)


def _files(root: str, below: str = "", *, deep: bool = True, above: tuple[str, ...] = ()) -> Iterator[str]:
    """The files of a folder, by relative path; links to a folder above are skipped."""
    above = (*above, os.path.realpath(os.path.join(root, below)))
    for entry in _entries(os.path.join(root, below)):
        name = os.path.join(below, entry.name)
        if entry.is_file():
            yield name
        elif deep and entry.is_dir() and os.path.realpath(entry.path) not in above:
            yield from _files(root, name, above=above)


def _entries(path: str) -> list[os.DirEntry[str]]:
    """The entries of a folder that are not hidden, sorted by name."""
    try:
        with os.scandir(path) as entries:
            return sorted((entry for entry in entries if entry.name[0] != "."), key=lambda entry: entry.name)
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", file=path) from error
