"""Files that are not tables: a text or a mail is one row, an mbox has one row for each message.

    label     the folder that the file is in, if a folder was given
    subject, from, to, date    of mails; the date in UTC
    text      the text; of HTML the visible text
    file      the path, and for an mbox the number of the message: inbox.mbox#3

Several files are read as one table, so that the families of columns are not inferred from a single row. A file that is
not text is a bad row.
"""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from tallybayes.cells.arrow import integers, strings
from tallybayes.errors import DataError, Described, FileError, TallyError
from tallybayes.io.formats.encoding import check_encoding, cleaned, decoded
from tallybayes.io.formats.file_format import FileFormat, ReadOptions
from tallybayes.io.formats.html_text import is_html, visible
from tallybayes.io.formats.input_file import InputFile, without_compression_suffix
from tallybayes.io.formats.mail import HEADERS, is_mail, mail
from tallybayes.io.formats.mbox import LONGEST, is_mbox, messages
from tallybayes.tables.source import BadRows, Kind
from tallybayes.tables.table import RowOrigin, Table

__all__ = ["KINDS", "Document", "DocumentFiles", "combined", "document_kind"]

KINDS = ("text", "mail", "mbox")

_ENDINGS = {".eml": "mail", ".mbox": "mbox", ".mbx": "mbox"}
_TEXTS = (".txt", ".text", ".md", ".html", ".htm", ".csv")  # never a mail, whatever the first lines look like
_START = 2**12  # bytes from which the kind is detected
_BATCH_ROWS, _BATCH_BYTES = 4096, 2**26  # whichever is reached first, so that memory is bounded
_HEAD_BYTES = 2**26  # the same for the first rows
_EPOCH = datetime.datetime(1970, 1, 1)
_SKIP = "skip_bad=True (--skip-bad) leaves such files out and counts them"

Item = TypeVar("Item")


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
    """Documents in groups, read in order; the first rows are taken from all groups."""

    kind = "documents"

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
        return cls(name, [[Document(disk.path, name, name)]], reading, size=disk.size)

    def head(self, n: int, *, skip_bad: bool = False) -> Table:
        """The first rows, taken from all groups; they determine the columns."""
        bad = BadRows() if skip_bad else None
        share = -(-n // max(len(self.groups), 1)), -(-_HEAD_BYTES // max(len(self.groups), 1))
        each = (_first(self._rows(document, bad), *share) for document in _in_turn(self.groups))
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


def combined(formats: Iterable[FileFormat]) -> list[FileFormat]:
    """Formats in order, with neighbouring documents combined into one."""
    result: list[FileFormat] = []
    for are_documents, some in itertools.groupby(formats, lambda form: isinstance(form, DocumentFiles)):
        found = list(some)
        if are_documents and len(found) > 1:
            parts = [form for form in found if isinstance(form, DocumentFiles)]
            groups = [group for form in parts for group in form.groups]
            size, labelled = sum(form.size or 0 for form in parts), any(form.labelled for form in parts)
            found = [DocumentFiles(parts[0].name, groups, parts[0]._reading, size=size, labelled=labelled)]
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


def _in_turn(groups: Sequence[Iterable[Item]]) -> Iterator[Item]:
    """The first of each group, then the second of each, and so on.

    >>> list(_in_turn(["abc", "d", "ef"]))
    ['a', 'd', 'e', 'b', 'f', 'c']
    """
    waiting = [iter(group) for group in groups]
    while waiting:
        still = []
        for group in waiting:
            for item in itertools.islice(group, 1):
                yield item
                still.append(group)
        waiting = still


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
