"""Files that are not tables: a text or a mail is one row, an mbox has one row for each message.

    label     the folder that the file is in, if a folder was given
    subject, from, to, date    of mails; the date in UTC
    text      the text; of HTML the visible text
    file      the path, and for an mbox the number of the message: inbox.mbox#3

The label of a file in a folder is the folder that it is in:

    mail/spam/1.txt      the label spam
    mail/ham/old/2.eml   the label ham: the first folder below the given one
    mail/3.txt           no label; it can be predicted

Names that begin with a dot are skipped. In a Maildir (a folder with `cur` and `new`) only the mails in these are read;
its own label is INBOX, and its folders, which begin with a dot (`.Junk`), have theirs without it. Copies by git and zip
lack folders that are empty: one of the two will do in these, and beside them. Where several mailboxes or folders are
given and no folder tells a label, their names are the labels: ham.mbox, spam.mbox.

A folder that contains tables is an error, since the tables are probably meant.
Several files are read as one table, so that the families of columns are not inferred from a single row. A file that is
not text is a bad row.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.cells.arrow import integers, strings
from tallybayes.errors import DataError, Described, FileError, TallyError
from tallybayes.io.formats.encoding import check_encoding, cleaned, decoded
from tallybayes.io.formats.file_format import FileFormat, ReadOptions
from tallybayes.io.formats.html_text import is_html, visible
from tallybayes.io.formats.input_file import InputFile, without_compression_suffix
from tallybayes.io.formats.mail import HEADERS, LONGEST, is_mail, is_mbox, mail, messages
from tallybayes.tables.source import BadRows, Kind
from tallybayes.tables.table import RowOrigin, Table

__all__ = ["KINDS", "DocumentFiles", "Folder", "combined", "document_kind"]

KINDS = ("text", "mail", "mbox")

_ENDINGS = {".eml": "mail", ".mbox": "mbox", ".mbx": "mbox"}
_TEXTS = (".txt", ".text", ".md", ".html", ".htm", ".csv")  # never a mail, whatever the first lines look like
_MAILDIR = ("cur", "new")  # the folders of a Maildir that hold mails
_START = 2**12  # bytes from which the kind is detected
_BATCH_ROWS, _BATCH_BYTES = 4096, 2**26  # whichever is reached first, so that memory is bounded
_HEAD_BYTES = 2**26  # the same for the first rows
_EPOCH = datetime.datetime(1970, 1, 1)
_SKIP = "skip_bad=True (--skip-bad) leaves such files out and counts them"

_NAMES = "csv|tsv|tab|json|jsonl|ndjson|parquet|duckdb|sqlite|xlsx|xls|ods|feather|arrow|arff|sas7bdat|dta|sav"
_TABLE = re.compile(rf"\.({_NAMES})(\.(gz|zst|zstd|bz2|xz))?$", re.IGNORECASE)


@dataclass(frozen=True)
class Document:
    """A file: its path, its name in messages, its cell in the column `file`, and its label if it is in a folder."""

    path: str
    name: str
    file: str
    label: str | None = None


@dataclass(frozen=True)
class _Row:
    """The cells of a row by column, its place for messages, and its size in bytes."""

    cells: dict[str, Any]
    place: str
    n_bytes: int


class DocumentFiles(FileFormat):
    """Documents in groups, read in order; the first rows are taken from all groups.

    tells_labels: whether folders say what the labels are; own_label: what its name says otherwise.
    """

    kind = "documents"
    tells_labels = False
    own_label = ""

    def __init__(
        self,
        name: str,
        groups: Sequence[Iterable[Document]],
        reading: ReadOptions,
        *,
        size: int,
        labelled: bool = False,
    ) -> None:
        check_encoding(reading.encoding, name)
        self.name, self.size, self.groups, self.labelled = name, size, groups, labelled
        self._reading = reading
        self._names: list[str] = []
        self._row_bytes = 0.0

    @classmethod
    def of(cls, disk: InputFile, reading: ReadOptions) -> DocumentFiles:
        """One file."""
        name = cleaned(disk.name)
        form = cls(name, [[Document(disk.path, name, name)]], reading, size=disk.size)
        is_mailbox = (reading.format or document_kind(disk.name, disk.start(_START))) == "mbox"
        label = os.path.basename(name).split(".")[0] if is_mailbox else os.path.basename(os.path.dirname(name))
        form.own_label = "" if disk.path != disk.name else label
        return form

    def head(self, n: int, *, skip_bad: bool = False) -> Table:
        """The first rows, taken from all groups; they determine the columns."""
        bad = BadRows() if skip_bad else None
        share = -(-n // max(len(self.groups), 1)), -(-_HEAD_BYTES // max(len(self.groups), 1))
        in_turn = itertools.chain.from_iterable(itertools.zip_longest(*self.groups))  # the first of each group, ...
        each = (_first(self._rows(document, bad), *share) for document in in_turn if document is not None)
        rows = list(_first(itertools.chain.from_iterable(each), n, _HEAD_BYTES))
        found = {name for row in rows for name in row.cells}
        names = ("label", *HEADERS, "text", "file")
        self._names = [name for name in names if name in found or name in ("text", "file")]
        self._row_bytes = sum(row.n_bytes for row in rows) / max(len(rows), 1)
        found_out = self._table(rows, 0, None, keep=False)
        untyped = {name: _if_any(column) for name, column in found_out.columns.items()}
        return Table(len(rows), untyped, found_out.origin)

    def tables(self, wanted: Mapping[str, Kind | None] | None, *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """The rows, batch by batch."""
        documents = itertools.chain.from_iterable(self.groups)
        rows = itertools.chain.from_iterable(self._rows(document, bad) for document in documents)
        first = 0
        while batch := list(_first(rows, _BATCH_ROWS, _BATCH_BYTES)):
            yield self._table(batch, first, wanted, keep=keep)
            first += len(batch)

    def n_expected(self) -> int | None:
        """Estimated from the size of the first rows."""
        return round(self.size / self._row_bytes) if self.size and self._row_bytes else None

    def _rows(self, document: Document, bad: BadRows | None) -> Iterator[_Row]:
        """The rows of a document, or an error that names the file."""
        label = {"label": document.label} if self.labelled else {}
        try:
            for mark, n_bytes, cells in self._read(document):
                yield _Row({**label, **cells, "file": document.file + mark}, document.name + mark, n_bytes)
        except (TallyError, OSError) as error:
            located = _located(error, document.name)
            if bad is None:
                raise located from error
            bad.add(located)

    def _read(self, document: Document) -> Iterator[tuple[str, int, dict[str, Any]]]:
        """For each message: its number, its size, its cells."""
        encoding = self._reading.encoding
        disk = InputFile.of(document.path)
        kind = self._reading.format or document_kind(document.file, disk.start(_START)) or "text"
        with disk.opened() as file:
            for number, data in enumerate(messages(file) if kind == "mbox" else (), 1):
                yield f"#{number}", len(data), mail(data, encoding)
            data = file.read(LONGEST + 1)
        if kind == "mail":
            yield "", len(data), mail(data[:LONGEST], encoding)
        elif kind == "text":
            yield "", len(data), _text(data, encoding, document.name)

    def _table(self, rows: list[_Row], first: int, wanted: Mapping[str, Kind | None] | None, *, keep: bool) -> Table:
        cells = {name: _column(name, [row.cells.get(name) for row in rows]) for name in self._names}
        kinds = dict.fromkeys(self._names) if wanted is None else wanted
        columns = {name: self._as(cells[name], kind) for name, kind in kinds.items() if name in cells}
        origin = RowOrigin(first, self.name, files=[row.place for row in rows])
        return Table(len(rows), columns, origin, None, pa.table(cells) if keep else None)

    def _as(self, column: Any, kind: Kind | None) -> Any:
        """A column of text, or a list of values where another kind is wanted: encoding checks them."""
        words = self._reading.given_words
        if kind is None and not words:
            return column
        values = [None if words and value in words else value for value in column.to_pylist()]
        return strings(values) if kind is None and not pa.types.is_temporal(column.type) else values


class Folder(DocumentFiles):
    """The files of a folder and of the folders in it."""

    kind = "folder"

    def __init__(self, path: str, reading: ReadOptions) -> None:
        labels = [entry.name for entry in _entries(path) if entry.is_dir()]
        groups = _mail_folders(path) if _is_maildir(path) else [_Group(path, label) for label in (*labels, None)]
        size, n_files, tables = 0, 0, None
        for file in (document.path for group in groups for document in group):
            with contextlib.suppress(OSError):  # deleted meanwhile: an error when it is read
                size += os.stat(file).st_size
            n_files += 1
            if tables is None and (ending := _TABLE.search(file)):
                below = os.path.dirname(os.path.relpath(file, path))
                tables = os.path.join("**" if below else "", f"*{ending[0]}")
        if reading.format not in (None, *KINDS) or (reading.format is None and tables is not None):
            place = os.path.join(path, tables or "*")
            hint = f"{place} reads what is in it; format= (--format) text takes every file for a text"
            raise FileError("a file", got=Described("a folder"), file=path, hint=hint)
        if not n_files:
            raise FileError("a folder with files in it", got=Described("an empty one"), file=path)
        super().__init__(path, groups, reading, size=size, labelled=True)
        self.tells_labels = len(groups) > 1  # besides the files next to folders, or the inbox of a Maildir
        self.own_label = os.path.basename(os.path.abspath(path))


@dataclass(frozen=True)
class _Group:
    """The files below the folder of a label, or those next to such folders.

    folder: its name if that is not the label.
    """

    root: str
    label: str | None
    folder: str | None = None

    def __iter__(self) -> Iterator[Document]:
        label = None if self.label is None else cleaned(self.label)
        folder = (self.label or "") if self.folder is None else self.folder
        for file in _files(self.root, folder, deep=self.label is not None):
            path = os.path.join(self.root, file)
            yield Document(path, cleaned(path), cleaned(file), label)


def _mail_folders(path: str) -> list[_Group]:
    """The folders of a Maildir: the inbox, and those below, whose names begin with a dot."""
    below = _folders_below(path)
    return [_Group(path, "INBOX", ""), *(_Group(path, _decoded_name(name[1:]), name) for name in below)]


def _is_maildir(path: str) -> bool:
    """Whether a folder has `cur` and `new`; or one of them, beside folders of mails: copies may lack what is empty."""
    are_there = [os.path.isdir(os.path.join(path, name)) for name in _MAILDIR]
    return all(are_there) or (any(are_there) and bool(_folders_below(path)))


def _folders_below(path: str) -> list[str]:
    """The names that begin with a dot of folders that hold mails."""
    with os.scandir(path) as entries:
        hidden = sorted(entry.name for entry in entries if entry.name[0] == "." and entry.is_dir())
    return [name for name in hidden if any(os.path.isdir(os.path.join(path, name, part)) for part in _MAILDIR)]


def _decoded_name(name: str) -> str:
    """The name of a folder of IMAP, which is written in a UTF-7 of its own.

    >>> _decoded_name("Entw&APw-rfe"), _decoded_name("Q&-A")
    ('Entwürfe', 'Q&A')
    """
    try:
        return re.sub(
            "&([^-]*)-", lambda m: f"+{m[1].replace(',', '/')}-".encode().decode("utf-7") if m[1] else "&", name
        )
    except ValueError:
        return name


@dataclass(frozen=True)
class _Labelled:
    """Documents that have one label."""

    documents: Iterable[Document]
    label: str

    def __iter__(self) -> Iterator[Document]:
        return (replace(document, label=self.label) for document in self.documents)


def combined(formats: Iterable[FileFormat], *, labelled: bool) -> list[FileFormat]:
    """Formats in order, with neighbouring documents combined into one.

    labelled: whether the names of several mailboxes or folders are labels, where no folder tells one.
    """
    result: list[FileFormat] = []
    for are_documents, some in itertools.groupby(formats, lambda form: isinstance(form, DocumentFiles)):
        found = list(some)
        if are_documents and len(found) > 1:
            parts = [form for form in found if isinstance(form, DocumentFiles)]
            groups = [group for form in parts for group in form.groups]
            size, is_labelled = sum(form.size or 0 for form in parts), any(form.labelled for form in parts)
            names = {form.own_label for form in parts}
            if labelled and len(names) > 1 and "" not in names and not any(form.tells_labels for form in parts):
                groups = [_Labelled(group, form.own_label) for form in parts for group in form.groups]
                is_labelled = True
            found = [DocumentFiles(parts[0].name, groups, parts[0]._reading, size=size, labelled=is_labelled)]
        result += found
    return result


def document_kind(name: str, start: bytes) -> str | None:
    r"""Whether a file is a mail or an mbox, by its name and its first bytes; None if it is neither.

    >>> document_kind("a.eml", b""), document_kind("inbox", b"From a@example.org Tue Apr  6 11:45:20 2004\n")
    ('mail', 'mbox')
    """
    ending = os.path.splitext(without_compression_suffix(name))[1]
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if is_mbox(start):
        return "mbox"
    return "mail" if ending not in _TEXTS and is_mail(start) else None


def _text(data: bytes, encoding: str | None, name: str) -> dict[str, Any]:
    if len(data) > LONGEST:
        raise DataError(f"a text of at most {LONGEST >> 20} MB", got=Described("a longer one"), file=name, hint=_SKIP)
    text = decoded(data, encoding)
    if "\x00" in text[:1024]:
        hint = f"encoding= (--encoding) if it is text after all; {_SKIP}"
        raise DataError("a file of text", got=data[:16], file=name, hint=hint)
    return {"text": visible(text) if is_html(text) else text}


def _first(rows: Iterator[_Row], n: int, n_bytes: int) -> Iterator[_Row]:
    """At most n rows, and about n_bytes bytes."""
    for row in itertools.islice(rows, n):
        yield row
        n_bytes -= row.n_bytes
        if n_bytes <= 0:
            return


def _located(error: TallyError | OSError, name: str) -> TallyError:
    """The error with the name of the file and a hint."""
    if isinstance(error, OSError):
        return FileError(f"cannot be read: {error.strerror or error}", file=name, hint=_SKIP)
    return error.at(file=name, hint=error.hint or _SKIP)


def _column(name: str, values: list[Any]) -> Any:
    if name != "date" or not any(values):
        return strings(values)
    seconds = [0 if value is None else (value - _EPOCH) // datetime.timedelta(seconds=1) for value in values]
    there = np.array([value is not None for value in values])
    return integers(np.array(seconds, np.int64), there).view(pa.timestamp("s"))


def _if_any(column: Any) -> Any:
    """A column; one without values has no type yet."""
    return pa.nulls(len(column)) if column.null_count == len(column) else column


def _files(root: str, below: str = "", *, deep: bool = True, above: tuple[str, ...] = ()) -> Iterator[str]:
    """The files of a folder, by relative path; links to a folder above are skipped."""
    above = (*above, os.path.realpath(os.path.join(root, below)))
    is_mail_folder = (below[:1] == "." and os.sep not in below) or _is_maildir(os.path.join(root, below))
    only = _MAILDIR if is_mail_folder else None  # what is in tmp is not yet there
    for entry in _entries(os.path.join(root, below)):
        if only is not None and entry.name not in only:
            continue
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
