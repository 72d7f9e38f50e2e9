"""CSV, TSV and other text with a delimiter between cells.

Every cell is read as text, without the spaces around it; the type of a column and the format of its numbers are
inferred from its first rows (`number_detection.py`), and given by the model once there is one. A file is read once, by
Arrow, as far as its lines are usual (`CsvBlocks`). From the first block on that is not, DuckDB reads it: that needs
facts about all lines, for which they are read once more.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tallybayes.arrays.chunks import n_threads
from tallybayes.cells.missing_words import MissingWords
from tallybayes.cells.number_detection import detect_numbers
from tallybayes.cells.number_format import NumberFormat, with_signs
from tallybayes.cells.number_reading import NumberReading, as_found
from tallybayes.doubts import Doubt
from tallybayes.errors import DataError, Described, TallyError, shorten
from tallybayes.io.formats.csv_blocks import LONGEST_LINE, CsvBlocks
from tallybayes.io.formats.delimited_error import OtherEncodingError, UnusualQuoteError, line_error, reason_of
from tallybayes.io.formats.delimited_text import CsvCopy, DelimitedText
from tallybayes.io.formats.duckdb_connection import sql_text
from tallybayes.io.formats.duckdb_format import DuckDBFormat, WantedColumn
from tallybayes.io.formats.file_format import ReadOptions
from tallybayes.io.formats.input_file import InputFile
from tallybayes.io.formats.later_cells import LaterCells, unexpected_cells
from tallybayes.io.formats.totals_row import LAST_ROWS, totals_at_end
from tallybayes.tables.source import BadRows, Kind, UnexpectedCellError
from tallybayes.tables.table import Table

__all__ = ["Delimited"]

_ONE_PART = 2**22  # bytes that DuckDB reads in one part anyway
_BLOCKS = 2**26  # bytes that Arrow reads at once, in blocks of several lines, one for each thread and some ahead
_BLOCK = (2**21, 2**24)  # bytes of a block; of the largest, some 200,000 rows
_LONGEST_LINE = 2**27  # bytes of a line: DuckDB keeps several of them in memory
_KINDS: dict[Any, Kind] = {pa.bool_(): "flag", pa.int64(): "number", pa.float64(): "number"}


class Delimited(DuckDBFormat):
    """A file of text with a delimiter between cells."""

    kind = "csv"

    def __init__(self, file: InputFile, options: ReadOptions, copy: CsvCopy | None = None) -> None:
        self.text = DelimitedText(file, options, copy)
        self._given = file, options
        self.name, self.size, self.doubts = file.name, file.size, self.text.doubts
        self._used = options.used
        self._decimal, self._thousands = options.decimal, options.thousands
        self.words = options.missing or MissingWords()
        self._keeps_words = False
        self.readings: dict[str, NumberReading] = {}
        self.later: dict[str, LaterCells] = {}  # of columns that the first rows were wrong about
        self._rejected: set[int] = set()  # lines that DuckDB could not read
        self.expressions = {name: (f"f{i}", "VARCHAR") for i, name in enumerate(self.text.names)}

    def with_header(self, names: Sequence[str]) -> Self:
        """The file itself, or below a title: read from the line on in which one of these names is a cell."""
        file, options = self._given
        if not names or not options.header or options.skip_lines or not {*names}.isdisjoint(self.expressions):
            return self
        if (found := self.text.find_header(names)) is None:
            return self
        line, name = found
        form = type(self)(file, replace(options, skip_lines=line - 1))
        if name not in form.expressions:
            return self
        hint = f"skip_lines= (--skip-lines) says how many lines come before the header, here {line - 1}"
        text = f"the header was taken from line {line}, where {name!r} is"
        form.doubts = (Doubt("file", text, hint=hint), *form.doubts)
        return form

    def reconsider(self, error: TallyError) -> Self | None:
        """The file read without quotes, if a quote seems to be a sign of the text and all lines fit without quotes.

        In a line with commas an odd number of quotes is more likely a cell that is cut off.
        """
        file, options = self._given
        if not isinstance(error, UnusualQuoteError) or options.quote is not None:
            return None
        is_cut = self.delimiter == "," and str(error.got).count(str(self.text.dialect.quote)) % 2 == 1
        if is_cut or not self.text.fits_without_quotes():
            return None
        form = type(self)(file, replace(options, quote="none"))
        text = f"quotes are read as signs like any other, because of line {error.line}: {shorten(error.got)}"
        hint = "quote='none' (--quote none) reads them so; if they are quotes around cells, mend this line"
        form.doubts = (Doubt("file", text, hint=hint), *form.doubts)
        return form

    @property
    def encoding(self) -> str:
        """The encoding of the file."""
        return self.text.encoding

    @property
    def delimiter(self) -> str:
        """The sign between cells."""
        return self.text.dialect.delimiter

    def relation(self, skip_bad: bool = False) -> str:
        """DuckDB's CSV reader, with nothing left for it to detect."""
        more = self._reader_options()  # first: it may be a copy that is read
        text, quote = self.text, sql_text(self.text.dialect.quote or "")
        columns = ", ".join(f"'f{i}': 'VARCHAR'" for i in range(len(self.expressions)))
        options = [
            sql_text(text.file.literal_path),
            "auto_detect=false",
            f"skip={text.skip}",
            f"compression='{text.file.compression}'",
            f"encoding='{_DUCKDB[text.stored_as]}'",
            f"header={str(text.header).lower()}",
            f"delim={sql_text(self.delimiter)}",
            f"quote={quote}",
            f"escape={quote}",
            f"columns={{{columns}}}",
            f"nullstr=[{', '.join(map(sql_text, self._null_words))}]",
            *(["store_rejects=true"] if skip_bad else []),
            *more,
        ]
        return f"read_csv({', '.join(options)})"

    def _reader_options(self) -> list[str]:
        """What DuckDB (seen with 2.0) must be told about the lines of the file, or it reads them wrongly.

        * Where a cell continues on the next line, parts of the file must not be read in parallel: DuckDB starts at
          some line and cannot tell that it is within quotes.
        * Where lines end in different ways, or a carriage return stands alone, it must not be strict.
        * It refuses lines of more than 2 MB, and drops them without an error if they are longer than its buffer.
        """
        lines = self.text.line_facts
        if lines.longest > _LONGEST_LINE:
            expected = f"lines of at most {_LONGEST_LINE >> 20} MB"
            raise DataError(expected, got=Described(f"a line of {lines.longest >> 20} MB"), file=self.name)
        # DuckDB reports a quote that is never closed only if it reads in parallel
        large = self.text.file.size > _ONE_PART or self.text.file.compression != "none"
        options = ["parallel=false"] if large and lines.has_long_cells and not lines.has_open_quote else []
        options += ["strict_mode=false"] if lines.have_mixed_ends else []
        if lines.longest > LONGEST_LINE:
            options += [f"max_line_size={lines.longest + 2}", f"buffer_size={2 * lines.longest + 4}"]
        return options

    @property
    def _null_words(self) -> Sequence[str]:
        """The cells that readers take for null."""
        return ("",) if self._keeps_words else self.words.spellings

    def _blocks(self) -> CsvBlocks | None:
        """The file for Arrow's reader; None if its rows are not of several cells."""
        blocks = CsvBlocks(self.text, self._null_words, int(np.clip(_BLOCKS // n_threads(), *_BLOCK)))
        return blocks if blocks.are_divided else None

    def tables(self, wanted: Mapping[str, Kind | None] | None, *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """The wanted columns, batch by batch; original cells include the words for missing values."""
        self._keeps_words = keep
        tables = self._tables(self.wanted_columns(wanted), keep=keep, bad=bad)
        return tables if bad is None or not keep else self._with_rejected(tables, bad)

    def _tables(self, columns: Sequence[WantedColumn], *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """The rows as Arrow reads them, and from where it stops on as DuckDB does."""
        n_rows = 0
        names = list(self.expressions) if keep else [column.name for column in columns]
        may_cast = not keep and not self.words.numbers  # numbers may mean a missing value
        casts = {column.name: column.cast for column in columns if may_cast and column.cast not in (None, "EITHER")}
        if (blocks := self._blocks()) is not None:
            try:
                for batch in blocks.batches(names, casts):
                    kept = pa.Table.from_batches([batch]) if keep else None
                    table = Table(len(batch), {}, self.origin(n_rows), kept=kept)
                    yield self.read(table, columns, [batch[column.name] for column in columns], bad)
                    n_rows += len(batch)
                return
            except (pa.ArrowException, OSError):
                pass
        yield from self.tables_after(n_rows, columns, keep=keep, bad=bad)

    def tables_after(
        self, after: int, columns: Sequence[WantedColumn], *, keep: bool, bad: BadRows | None
    ) -> Iterator[Table]:
        """The rows after some that were read already; lines in another encoding are mended before."""
        self.text.mend_encoding()
        return super().tables_after(after, columns, keep=keep, bad=bad)

    def _first_rows(self, n: int, skip_bad: bool) -> Any:
        """The first rows; lines in another encoding are mended."""
        try:
            return self._first_rows_as_stored(n, skip_bad)
        except OtherEncodingError:
            if not self.text.mend_encoding():
                raise
            return self._first_rows_as_stored(n, skip_bad)

    def _first_rows_as_stored(self, n: int, skip_bad: bool) -> Any:
        """The first rows: by Arrow if their lines are usual, else by DuckDB from a copy of them, else from the file."""
        with contextlib.suppress(pa.ArrowException, OSError):
            if (blocks := self._blocks()) is not None and (first := blocks.first(n)) is not None:
                self.row_bytes = max(first.nbytes / max(first.num_rows, 1), 1.0)
                return pa.Table.from_batches([first])
        if (head := self.text.head(n + n // 10)) is not None:  # some lines may be blank, or no rows
            text, self.text = self.text, head
            try:
                with contextlib.suppress(TallyError):
                    if (rows := super()._first_rows(n, skip_bad)).num_rows == n:
                        return rows
            finally:
                self.text = text
        return super()._first_rows(n, skip_bad)

    def some(self, names: Sequence[str], n: int, *, skip_bad: bool = False) -> dict[str, Any]:
        """Values that are not missing, their type inferred from them."""
        known = [name for name in names if name in self.expressions]
        if known and (blocks := self._blocks()) is not None:
            with contextlib.suppress(pa.ArrowException, OSError), contextlib.closing(blocks.batches(known)) as batches:
                return self._typed(self.values_among(batches, known, n))
        if known:
            self.text.mend_encoding()
        return self._typed(super().some(known, n, skip_bad=skip_bad))

    def _with_rejected(self, tables: Iterator[Table], bad: BadRows) -> Iterator[Table]:
        """The tables; the cells of lines that are no rows are kept as bad rows, in the order of the file."""
        waiting = self._rejected_cells()
        for table in tables:
            numbers = np.arange(table.n_rows) if table.rows is None else table.rows
            first = 0 if table.origin is None else table.origin.first
            last = max([first + int(numbers[-1]) if len(numbers) else -1, *(number for number, _ in bad.kept)])
            while waiting and waiting[0][0] < last:
                bad.kept.append(waiting.pop(0))
            yield table
        if waiting:
            bad.kept += waiting
            yield Table(0, {}, self.origin(0), kept=waiting[0][1].slice(1))

    def _rejected_cells(self) -> list[tuple[float, pa.Table]]:
        """The cells of the lines that DuckDB cannot read: filled up or cut, with their places among the rows."""
        self.connection.sql(f"SELECT count(*) FROM {self.relation(skip_bad=True)}").fetchall()
        faults = self.reported()
        if not faults:
            return []
        lines = list(self.text.row_lines(self._rejected))
        result = []
        for fault in faults:
            cells: list[str] = next(self.text.dialect.rows([str(fault.got)]), [])
            values = dict(zip(self.expressions, itertools.chain(cells, itertools.repeat("")), strict=False))
            one = pa.table({name: pa.array([value], pa.string()) for name, value in values.items()})
            result.append((bisect.bisect_left(lines, fault.line or 0) - 0.5, one))
        return result

    def format_of(self, name: str, kind: Kind) -> NumberFormat | None:
        """The format that is wanted, unless another one was ordered; else that of the first rows of this file."""
        if isinstance(kind, NumberFormat):
            return with_signs(kind, self._decimal, self._thousands)
        reading = self.readings.get(name)
        if reading is None or not reading.is_numeric or (reading.all_plain and reading.is_guessed):
            return None
        found = reading.needed_format
        if found is not None and self.unread_numbers is not None:
            self.unread_numbers.tell_once(replace(one, column=name) for one in reading.doubts_of_model)
        return None if found is None else replace(found, words=())

    def _without_words(self, name: str, column: Any) -> Any:
        """A column without spaces around its cells, and null in place of the words for missing values."""
        return self.words.of_column(name).clean(column)

    def n_expected(self) -> int | None:
        """From the length of the first lines."""
        file = self.text.file
        if file.compression != "none":
            return None
        start = file.start()
        lines = start.count(b"\n")
        return round(file.size * lines / len(start)) if lines else None

    def head(self, n: int, *, skip_bad: bool = False) -> Table:
        """The first rows, with the type of each column inferred from them."""
        self._keeps_words = True
        names = list(self.expressions)
        first = pa.table(self._first_rows(n, skip_bad).columns, names)
        rows = pa.concat_tables(
            [*(later.rows(name, names) for name, later in self.later.items()), first]
        )  # families see them first
        cells = [column.combine_chunks() for column in rows.columns]
        written = dict(zip(self.expressions, cells, strict=True))
        texts = {name: self._without_words(name, column) for name, column in written.items()}
        columns = self._typed(texts)
        self.inferred = {name: _KINDS[column.type] for name, column in columns.items() if column.type in _KINDS}
        words = {name: self.words.usual_among(written[name], text) for name, text in texts.items()}
        n_rows = len(cells[0]) if cells else 0
        return Table(
            n_rows,
            columns,
            self.origin(first.num_rows - n_rows),
            readings=dict(self.readings),
            doubts=self._totals(texts, columns, is_whole=n_rows < n and not self.later) if n_rows else [],
            missing_words={name: counts for name, counts in words.items() if counts},
            texts={name: text for name, text in texts.items() if columns[name] is not text},
        )

    def _totals(self, texts: Mapping[str, Any], columns: Mapping[str, Any], *, is_whole: bool) -> list[Doubt]:
        """That the last row above notes may hold totals; of a long file only its last lines are looked at."""
        if not is_whole:
            return totals_at_end(self.name, list(texts), self.text.last_rows(LAST_ROWS))
        rows = [*zip(*(column[-LAST_ROWS:].to_pylist() for column in texts.values()), strict=True)]
        numbers = {name: column for name, column in columns.items() if _KINDS.get(column.type) == "number"}
        return totals_at_end(self.name, list(texts), rows, texts, numbers)

    def _typed(self, cells: dict[str, Any]) -> dict[str, Any]:
        """Columns of text in the types that they seem to have; how their numbers are read is remembered."""
        texts = {name: column for name, column in cells.items() if self.is_inferred(name)}
        options: dict[str, Any] = {"decimal": self._decimal, "thousands": self._thousands, "delimiter": self.delimiter}
        self.readings |= detect_numbers(self._with_later(texts), **options)
        return cells | {name: as_found(column, self.readings.get(name)) for name, column in texts.items()}

    def _with_later(self, texts: dict[str, Any]) -> dict[str, Any]:
        """The first cells, and of columns that they were wrong about all others too."""
        n_added = sum(len(later.some) for later in self.later.values())
        later = {name: one.cells for name, one in self.later.items() if name in texts}
        return texts | {name: pa.concat_arrays([texts[name][n_added:], cells]) for name, cells in later.items()}

    def unexpected(self, error: UnexpectedCellError, cells: Any) -> Any:
        """The cells of a column that are of another type than the first ones, as the one that the error is about."""
        name = str(error.column)
        reading = self.readings.get(name)
        form = (None if reading is None else reading.needed_format) or NumberFormat()
        return unexpected_cells(error, cells, form, is_flag=self.inferred.get(name) == "flag")

    def facts(self) -> dict[str, Any]:
        """Delimiter, decimal sign and encoding, where they are unusual."""
        if len(self.expressions) == 1 or self.kind != "csv":  # nothing is unusual about a copy
            return {}
        usual = {"delimiter": (",",), "decimal": (".",), "encoding": ("utf-8", "utf-8-sig")}
        return {name: getattr(self, name) for name, values in usual.items() if getattr(self, name) not in values}

    @property
    def decimal(self) -> str:
        """The decimal sign: a comma if that of any column of numbers is one."""
        signs = {reading.format.decimal for reading in self.readings.values() if reading.is_numeric}
        return self._decimal or ("," if "," in signs else ".")

    def is_inferred(self, name: str) -> bool:
        """Whether the type of a column is inferred from its cells; otherwise they stay text."""
        return self._used is None or name in self._used

    def broken(self, error: BaseException) -> TallyError:
        """The error for a line that is not a row: a wrong number of cells, an open quote, another encoding."""
        return line_error(error, self.text) or super().broken(error)

    def reported(self) -> list[DataError]:
        """The lines that DuckDB could not read."""
        there = "SELECT 1 FROM duckdb_tables() WHERE table_name = 'reject_errors'"
        if not self.connection.execute(there).fetchall():
            return []
        query = "SELECT line, first(error_message), first(csv_line) FROM reject_errors GROUP BY line ORDER BY line"
        found = self.connection.execute(query).fetchall()
        self.connection.execute("DROP TABLE reject_errors; DROP TABLE reject_scans")
        self._rejected = {line for line, _, _ in found}
        return [
            DataError(
                f"a line that can be read ({reason_of(message)})",
                got=content.strip(),
                file=self.name,
                line=self.text.original_line(line),
            )
            for line, message, content in found
        ]

    def line_of(self, row: int) -> int | None:
        """The line of a row, found by reading the file with the csv module: only for error messages."""
        lines = self.text.row_lines(self._rejected)
        return None if row < 0 else next(itertools.islice(lines, row, None), None)


_DUCKDB = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "iso8859-1": "latin-1"}
