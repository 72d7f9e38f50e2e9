"""Files, folders, globs, queries and standard input as a source of rows.

    data.csv  data.tsv.gz  "logs/*.jsonl"  data.parquet  data.duckdb  data.sqlite  -  "SELECT * FROM 'data.csv'"
    mail/  "spam/*.eml"  inbox.mbox

The format of a file is detected from its first bytes, then from its name. Several files are read one after the other;
a column that one of them lacks is missing in its rows.
"""

from __future__ import annotations

import glob
import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.cells.arrow import integers, is_text_type
from tallybayes.cells.missing_words import MissingWords
from tallybayes.cells.number_format import NumberFormat
from tallybayes.cells.number_reading import UnreadNumbers
from tallybayes.doubts import Doubt, DoubtKind, as_family, doubt, tell_doubts
from tallybayes.errors import DataError, Described, FileError, ParameterError, TallyError, did_you_mean, shorten
from tallybayes.io.formats.arff import Arff, is_arff
from tallybayes.io.formats.delimited import Delimited
from tallybayes.io.formats.document_files import KINDS, DocumentFiles, Folder, combined, document_kind
from tallybayes.io.formats.excel import Excel, is_workbook
from tallybayes.io.formats.file_format import FileFormat, ReadOptions
from tallybayes.io.formats.input_file import (
    InputFile,
    archive_members,
    inside_archive,
    is_archive,
    member_of,
    opened_member,
    without_compression_suffix,
)
from tallybayes.io.formats.json import Json
from tallybayes.io.formats.later_cells import LaterCells
from tallybayes.io.formats.relation import ArrowFile, Database, Parquet, Sql, is_arrow, is_query
from tallybayes.io.formats.sqlite import Sqlite
from tallybayes.io.formats.statistics_file import StatisticsFile, statistics_kind
from tallybayes.io.formats.unread_json import objects_in_text
from tallybayes.tables.source import HEAD, BadRows, Kind, OpenDateError, Progress, Source, UnexpectedCellError
from tallybayes.tables.table import Table

__all__ = ["FORMATS", "Files", "find_paths"]


FORMATS: dict[str, Callable[[InputFile, ReadOptions], FileFormat]] = {
    "csv": Delimited,
    "tsv": Delimited,
    "json": Json,
    "parquet": Parquet,
    "duckdb": Database,
    "sqlite": Sqlite,
    "excel": Excel,
    "arrow": ArrowFile,
    "arff": Arff,
    **dict.fromkeys(("sas", "stata", "spss"), StatisticsFile),
    **dict.fromkeys(KINDS, DocumentFiles.of),
}
_BELOW = 10_000_000  # cells below the first rows that decide about a column that these were wrong about
_ODD_ROWS = 100  # of these that become first cells, from all parts of the file
_LATER = 1000  # rows examined in files after the first
_EMPTY = 1000  # empty cells after which no words for missing values are looked for
_ENDINGS = {
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "json"),
    ".arff": "arff",
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "excel"),
}
_BY_BYTES: dict[str, Callable[[bytes], bool]] = {
    "parquet": lambda start: start.startswith(b"PAR1"),
    "sqlite": lambda start: start.startswith(b"SQLite format 3\x00"),
    "duckdb": lambda start: start[8:12] == b"DUCK",
    "arrow": is_arrow,
    "excel": lambda start: is_archive(start) or is_workbook((), start),
    "arff": is_arff,
}
_KNOWN_BY_BYTES = (".parquet", ".duckdb", ".sqlite", ".arrow", ".feather", ".zip")
_WITH_TABLES = ("duckdb", "sqlite", "excel")


class Files(Source):
    """Files, or a query, one after the other."""

    def __init__(self, paths: list[str], options: ReadOptions | None = None, progress: Progress | None = None) -> None:
        self.paths = paths
        self.options = options or ReadOptions()
        self._progress = progress
        self._formats: list[FileFormat] | None = None
        self._head: Table | None = None
        self._said: set[Doubt] = set()
        self._unread_numbers = UnreadNumbers()
        self._names: list[str] = []  # of columns, of which there is at least one

    @property
    def missing(self) -> MissingWords | None:
        """The words that mean a missing value, if they were given."""
        return self.options.missing

    @missing.setter
    def missing(self, words: MissingWords | None) -> None:
        """Change them; the first rows are read again."""
        if words != self.options.missing:
            self.options = replace(self.options, missing=words)
            self._formats = self._head = None

    @property
    def formats(self) -> list[FileFormat]:
        """The files, opened by their formats."""
        if self._formats is None:
            found = (_format(path, self.options) for path in self.paths)
            named = (form.with_header(self._names) for form in found)
            self._formats = combined(named, labelled="label" in self._names)
            for form in self._formats:
                self._say(form)
        return self._formats

    def look_for(self, names: Iterable[Any]) -> None:
        """Look for a header with one of these names, in files of text whose first line has none of them.

        Names that were looked for before still are: a label of mailboxes is read as long as somebody needs it.
        """
        texts = [name for name in names if isinstance(name, str)]
        before = (text[:place] for text in texts if "=" in text for place, sign in enumerate(text) if sign == "=")
        wanted = list(dict.fromkeys([*self._names, *texts, *before]))
        if wanted == self._names:
            return
        are_documents = self._formats is not None and isinstance(self._formats[0], DocumentFiles)
        if are_documents and ("label" in wanted) != ("label" in self._names):
            self._formats = self._head = None
        self._names = wanted
        if self._formats is not None and any(form.with_header(wanted) is not form for form in self._formats):
            self._formats = self._head = None

    def _say(self, form: FileFormat) -> None:
        """Say what was assumed about a file, once."""
        said = {replace(one, text=f"{form.name}: {one.text}"): None for one in form.doubts}
        tell_doubts(one for one in said if one not in self._said)
        self._said.update(said)

    @property
    def original_names(self) -> list[str]:
        """The columns of `Table.kept`."""
        found = [form.original_names for form in self.formats]
        names = self.head().columns if None in found else itertools.chain.from_iterable(filter(None, found))
        return list(dict.fromkeys(names))

    @property
    def kind(self) -> str:
        """The format of the first file."""
        return self.formats[0].kind

    def facts(self) -> dict[str, Any]:
        """What was detected in the first file and is unusual."""
        return self.formats[0].facts()

    @property
    def size(self) -> int:
        """Bytes of all files whose size is known."""
        return sum(form.size or 0 for form in self.formats)

    def head(self) -> Table:
        """The first rows of the first file; columns without values there have values from later rows."""
        while self._head is None:
            try:
                self._head = self._read_head()
            except DataError as error:
                if not self.reconsider(error):
                    raise
        return self._head

    def reconsider(self, error: TallyError) -> bool:
        """Read a file in another way from now on, after an error that this may avoid; whether there is one."""
        if isinstance(error, UnexpectedCellError):
            return self._look_below(error)
        changed = [form.reconsider(error) if form.name == error.file else None for form in self.formats]
        if not any(form is not None for form in changed):
            return False
        self._formats = [new or form for new, form in zip(changed, self.formats, strict=True)]
        self._head, self._unread_numbers = None, UnreadNumbers()
        for form in self._formats:
            self._say(form)
        return True

    def may_begin_again(self, error: UnexpectedCellError) -> bool:
        """Whether all cells of the column may decide about it."""
        return self.is_reconsidered and self._can_look_below(error)

    def _can_look_below(self, error: UnexpectedCellError) -> bool:
        """Whether a column of text may be decided by all cells, once, because of a cell below the first rows."""
        form, column = self.formats[0], error.column
        if not isinstance(form, Delimited) or column in form.later or column not in form.expressions:
            return False
        return error.file != form.name or (error.row or 0) >= self._n_first(form)

    def _n_first(self, form: Delimited) -> int:
        """How many rows of the file are first rows."""
        n_added = sum(len(later.some) for later in form.later.values())
        return self.head().n_rows - n_added

    def _look_below(self, error: UnexpectedCellError) -> bool:
        """Decide about a column once more, by all of its cells, because one below the first rows is of another type."""
        form, column = self.formats[0], str(error.column)
        if not isinstance(form, Delimited) or not self._can_look_below(error):
            return False
        n_first, below = self._n_first(form), list[Any]()
        self._unread_numbers = UnreadNumbers()
        for table in self.batches({column: None}):
            here = _as_text(table, column)
            below.append(here.slice(n_first))
            n_first = max(n_first - len(here), 0)
        cells = pa.concat_arrays(below)
        odd = form.unexpected(error, cells)
        some = odd.take(integers(np.linspace(0, len(odd) - 1, min(len(odd), _ODD_ROWS)).astype(np.int64)))
        form.later[column] = LaterCells(cells.slice(0, _BELOW), some)
        self._head = None
        text = f"all cells have decided how it is read, not the first {HEAD:,} alone, because of {shorten(error.got)}"
        place = str(error.file) if error.line is None else f"{error.file}, line {error.line}"
        kind: DoubtKind = "dates" if isinstance(error, OpenDateError) else "number format"
        doubt(kind, f"{text} in {place}", column=column, hint=error.hint)
        return True

    def missing_words(self, names: Collection[str]) -> Mapping[str, Mapping[str, int]]:
        """How many cells of some columns are which words for missing values, in files of text.

        All rows are read once more, unless the first cells that are missing below the first rows are all empty.
        """
        counts, n_empty, n_rows = {name: Counter[str]() for name in names}, 0, 0
        n_first, skip = self.head().n_rows, self.bad is not None
        for form in self.formats if names else ():
            if not isinstance(form, Delimited):
                continue
            for table in form.tables(dict.fromkeys(names), keep=True, bad=BadRows() if skip else None):
                for name in counts.keys() & table.columns.keys():
                    cells, written = table.columns[name], (table.kept or {})[name].combine_chunks()
                    counts[name].update(form.words.of_column(name).usual_among(written, cells))
                    n_empty += cells.null_count if n_rows >= n_first else 0
                n_rows += table.n_rows
                if n_empty >= _EMPTY and not any(counts.values()):
                    return {}
        return {name: dict(found.most_common()) for name, found in counts.items() if found}

    def _read_head(self) -> Table:
        """The first rows of all files together."""
        skip = self.bad is not None
        first = self.formats[0].head(HEAD, skip_bad=skip)
        columns, readings, doubts = dict(first.columns), dict(first.readings), list(first.doubts)
        if isinstance(self.formats[0], Delimited):
            texts = {name: raw for name, raw in columns.items() if is_text_type(raw.type)}
            found = (objects_in_text(name, raw, self.formats[0].name) for name, raw in texts.items())
            doubts += [one for one in found if one is not None]
        for form in self.formats[1:]:
            later = form.head(_LATER, skip_bad=skip)
            readings |= {name: reading for name, reading in later.readings.items() if name not in columns}
            doubts += later.doubts
            for name, raw in later.columns.items():
                columns.setdefault(name, raw)
        for form in self.formats:
            more = form.some([n for n, raw in columns.items() if _is_empty(raw)], _LATER, skip_bad=skip)
            columns |= more
            readings |= {name: reading for name, reading in form.readings.items() if name in more}
        elsewhere = frozenset(name for name, raw in columns.items() if raw is not first.columns.get(name))
        return replace(first, columns=columns, readings=readings, doubts=doubts, elsewhere=elsewhere)

    def batches(self, wanted: Mapping[str, Kind | None] | None = None, *, keep: bool = False) -> Iterator[Table]:
        """The rows of all files."""
        self.head()  # detects decimal commas and the size of a row
        n_rows = 0
        readings = self.head().readings
        with_unit = {name for name, found in readings.items() if found.all_have_unit}
        formats = ((name, kind) for name, kind in (wanted or {}).items() if isinstance(kind, NumberFormat))
        with_unit |= {name for name, form in formats if form.expects_unit}
        self._unread_numbers.with_unit = frozenset(with_unit)
        expected = self._n_expected() if self._progress is not None else None
        for form in self.formats:
            form.unread_numbers = self._unread_numbers
            for table in form.tables(wanted, keep=keep, bad=self.bad):
                n_rows += table.n_rows
                yield table
                if self._progress is not None:
                    self._progress(n_rows, min(n_rows / expected, 1.0) if expected else None, self.size)
        self._look_for_words(n_rows)
        self._unread_numbers.tell()

    def _look_for_words(self, n_rows: int) -> None:
        """Let all cells decide about a column of numbers that has words below the first rows, if they are frequent."""
        for name in self._unread_numbers.columns:
            if (word := self._unread_numbers.frequent_word(name, n_rows)) is None:
                continue
            hint = f"{as_family(name, 'categorical')} counts every word by itself"
            error = UnexpectedCellError("numbers", got=word, column=name, row=n_rows, file=self.paths[-1], hint=hint)
            if self.may_begin_again(error):
                raise error

    def _n_expected(self) -> int | None:
        parts = [form.n_expected() for form in self.formats]
        return None if None in parts else sum(n or 0 for n in parts)


def find_paths(data: Any) -> list[str]:
    """The files of a path, a glob, or several of them; queries, and "-", are returned unchanged."""
    patterns = [str(os.fspath(path)) for path in ([data] if isinstance(data, (str, os.PathLike)) else data)]
    paths: list[str] = []
    for pattern in patterns:
        if pattern == "-" or os.path.exists(pattern) or is_query(pattern):
            paths.append(pattern)
            continue
        matched = inside_archive(pattern) or sorted(glob.glob(pattern, recursive=True))
        if not matched:
            hint = _near(pattern) if len(patterns) == 1 else "give a list of texts as a column: {'text': [...]}"
            raise FileError("a file, a glob, a query or '-'", got=pattern, hint=hint)
        paths += matched
    return paths


def _format(path: str, options: ReadOptions) -> FileFormat:
    if options.format == "sql" or (options.format is None and is_query(path) and not os.path.exists(path)):
        _check_table(options, "sql", path)
        return Sql(path, options)
    if os.path.isdir(path):
        _check_table(options, "folder", path)
        return Folder(path, options)
    file = (None if os.path.exists(path) else opened_member(path)) or InputFile.of(path)
    if is_archive(file.start(4)) and options.format != "excel" and not _is_workbook(file):
        file, table = member_of(file, options.table)
        options = replace(options, table=table)
    kind = options.format or _kind(file)
    if kind not in FORMATS:
        raise ParameterError(f"a format ({', '.join(FORMATS)})", got=kind, hint=did_you_mean(kind, FORMATS))
    _check_table(options, kind, path)
    if kind == "tsv" and options.delimiter is None:
        options = replace(options, delimiter="\t")
    return FORMATS[kind](file, options)


def _check_table(options: ReadOptions, kind: str, path: str) -> None:
    if options.table is not None and kind not in _WITH_TABLES:
        raise ParameterError("a database, a workbook or a zip archive for the option table", got=path)


def _kind(file: InputFile) -> str:
    """The format by the first bytes, else by the name, else by the first characters."""
    start = file.start(2**12)
    known = next((kind for kind, fits in _BY_BYTES.items() if fits(start)), None)
    if (kind := known or statistics_kind(file.name, start)) is not None:
        return kind
    ending = os.path.splitext(without_compression_suffix(file.name))[1]
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    if ending in _KNOWN_BY_BYTES:
        raise FileError(
            f"a {ending[1:]} file", got=Described(f"a file that begins with {start[:16]!r}"), file=file.name
        )
    if (kind := document_kind(file.name, start)) is not None:
        return kind
    return "json" if re.match(rb"(\xef\xbb\xbf)?\s*(\[\s*)?\{", start) else "csv"


def _is_workbook(file: InputFile) -> bool:
    """Whether a zip archive is a workbook; one that is cut off may be, if its name says so."""
    if _ENDINGS.get(os.path.splitext(without_compression_suffix(file.name))[1]) == "excel":
        return True
    return file.compression == "none" and is_workbook(archive_members(file.path, file.name), file.start(200))


def _as_text(table: Table, name: str) -> Any:
    """A column as text; null where a table lacks it, or has what is not written as one cell."""
    raw = table.columns.get(name, pa.nulls(table.n_rows))
    is_cell = isinstance(raw, pa.Array) and not pa.types.is_nested(raw.type)
    return raw.cast(pa.string()) if is_cell else pa.nulls(table.n_rows, pa.string())


def _is_empty(raw: Any) -> bool:
    return raw.null_count == len(raw) if hasattr(raw, "null_count") else all(value is None for value in raw)


def _near(path: str) -> str | None:
    """A hint that names a file of a similar name."""
    folder, name = os.path.dirname(path) or ".", os.path.basename(path)
    stem, names = os.path.splitext(name)[0], os.listdir(folder) if os.path.isdir(folder) else []
    near = [one for one in names if did_you_mean(stem, [os.path.splitext(one)[0]])]  # a common suffix is not near
    return did_you_mean(name, near) or "there is no such file"
