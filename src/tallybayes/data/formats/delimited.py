"""CSV and its relatives: text with a delimiter.

What the file does not say of itself is found out from its beginning: encoding and byte order mark, delimiter, decimal
comma. Every cell is read as text first; what a column is, is told by its first rows (`typed`), and from then on by the
model.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import IO, Any

import numpy as np
import pyarrow as pa

from tallybayes.data.formats.file_bytes import Disk, without_packing
from tallybayes.data.formats.file_format import MISSING, Reading
from tallybayes.data.formats.projection import Faults, Query, connect, line_in, path_text, text
from tallybayes.data.formats.typed_text import typed, with_comma
from tallybayes.data.source import BadRows, Kind
from tallybayes.data.table import Table
from tallybayes.errors import DataError, FileError, ParameterError, TallyError, shorten

__all__ = ["Delimited"]

_DELIMITERS = ",;\t|"
_ONE_PART = 2**22  # bytes that DuckDB reads in one part anyway
_LARGEST = 2**31 - 1  # the csv module's own limit is 128 kB a cell


class Delimited(Query):
    """A file of text with a delimiter between cells."""

    kind = "csv"

    def __init__(self, disk: Disk, reading: Reading) -> None:
        self.encoding = _encoding(disk.start(), reading.encoding, disk.name)
        self.disk = disk if self.encoding in _DUCKDB else disk.in_utf8(self.encoding)
        self._coded = self.encoding if self.encoding in _DUCKDB else "utf-8"  # as it is on disk
        self.name, self.size = disk.name, disk.size
        shown = self.disk.start().decode(self._coded, errors="replace").removeprefix("\ufeff")
        if "\x00" in shown:
            hint = "format= (--format) tells what it is"
            raise FileError("a file of text", got=shown[:20], file=self.name, hint=hint)
        self.delimiter = reading.delimiter or _delimiter(shown)
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise ParameterError("a delimiter of one character", got=self.delimiter)
        if reading.decimal not in (None, ".", ","):
            raise ParameterError("a decimal sign: . or ,", got=reading.decimal)
        self.header = reading.header
        self._given_decimal = reading.decimal
        self.decimal = reading.decimal or "."
        self.words = ("", *(w for w in (MISSING if reading.missing is None else reading.missing) if w))
        self.connection = connect()
        self._rejected: set[int] = set()  # lines that DuckDB left out
        names, self._blank_lines = self._names()
        self.expressions = {name: (f"f{i}", "VARCHAR") for i, name in enumerate(names)}

    def _names(self) -> tuple[list[str], int]:
        """The names of the columns, and the blank lines before them."""
        with self._text() as file:
            reader = csv.reader(file, delimiter=self.delimiter)
            row = next((cells for cells in reader if any(cell.strip() for cell in cells)), None)
            if row is None:
                raise FileError("there is no line with the names of the columns: the file is empty", file=self.name)
            line = reader.line_num
        row[0] = row[0].removeprefix("\ufeff")
        if not self.header:
            return [f"x{i}" for i in range(len(row))], line - 1
        names = [cell.strip() or f"column{i}" for i, cell in enumerate(row)]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            hint = "if the first line is data: header=False (--no-header)"
            raise DataError("column names that differ", got=twice, file=self.name, line=line, hint=hint)
        return names, max(line - 1 - sum(cell.count("\n") for cell in row), 0)

    def _text(self) -> IO[str]:
        csv.field_size_limit(_LARGEST)
        return io.TextIOWrapper(self.disk.opened(), self._coded, errors="replace", newline="")

    def relation(self, faults: Faults = "stop") -> str:
        """DuckDB's reader, with everything told."""
        words = ("",) if self.missing else self.words
        columns = ", ".join(f"'f{i}': 'VARCHAR'" for i in range(len(self.expressions)))
        options = [
            path_text(self.disk.path),
            "auto_detect=false",
            f"skip={self._blank_lines}",
            f"compression='{self.disk.compression}'",
            f"encoding='{_DUCKDB[self._coded]}'",
            f"header={str(self.header).lower()}",
            f"delim={text(self.delimiter)}",
            "quote='\"'",
            "escape='\"'",
            f"columns={{{columns}}}",
            f"nullstr=[{', '.join(map(text, words))}]",
        ]
        options += ["store_rejects=true"] if faults == "report" else []
        options += self._care
        return f"read_csv({', '.join(options)})"

    @cached_property
    def _care(self) -> list[str]:
        """What DuckDB must be told so that it reads the file at all.

        Where a cell goes on over the end of a line, it must not read parts of the file side by side: it begins anew at
        some line, and cannot know that it is within quotes. Where lines end in different ways, or a carriage return
        stands alone, it must not be strict. (Seen with DuckDB 2.0.)
        """
        within, long_cells, ends = 0, False, {"crlf": 0, "lf": 0, "cr": 0}
        with self.disk.opened() as file:
            while chunk := file.read(2**20):
                chunk += file.read(1) if chunk.endswith(b"\r") else b""  # what belongs together is looked at together
                if within or b'"' in chunk:
                    values = np.frombuffer(chunk, np.uint8)
                    quotes, lines = np.flatnonzero(values == ord('"')), np.flatnonzero(values == ord("\n"))
                    long_cells = long_cells or bool(((np.searchsorted(quotes, lines) + within) % 2).any())
                    within = (within + len(quotes)) % 2
                if b"\r" in chunk:
                    ends["crlf"] += chunk.count(b"\r\n")
                    ends["cr"] += chunk.count(b"\r")
                ends["lf"] += chunk.count(b"\n")
        odd = ends["cr"] > ends["crlf"] or 0 < ends["crlf"] < ends["lf"]
        large = self.disk.size > _ONE_PART or self.disk.compression != "none"
        apart = large and long_cells and not within  # a quote that is never closed is told only by parts side by side
        return [*(["parallel=false"] if apart else []), *(["strict_mode=false"] if odd else [])]

    def tables(self, wanted: Mapping[str, Kind | None] | None, *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """Stream the wanted columns; cells that are kept are kept as they are, words for missing values included."""
        self.missing = self.words if keep else ()
        return super().tables(wanted, keep=keep, bad=bad)

    def n_expected(self) -> int | None:
        """From the length of the first lines."""
        if self.disk.compression != "none":
            return None
        start = self.disk.start()
        lines = start.count(b"\n")
        return round(self.disk.size * lines / len(start)) if lines else None

    def head(self, n: int, *, skip_bad: bool = False) -> Table:
        """The first rows, every column typed by what is in it."""
        found = super().head(n, skip_bad=skip_bad)
        columns = {name: raw.combine_chunks() for name, raw in found.columns.items()}
        if self._given_decimal is None and self.delimiter != "," and any(map(with_comma, columns.values())):
            self.decimal = ","
        columns = {name: typed(raw, self.decimal) for name, raw in columns.items()}
        types = {name: raw.type for name, raw in columns.items()}
        self.flags = {
            name: "BOOLEAN" if pa.types.is_boolean(own) else "DOUBLE"
            for name, own in types.items()
            if pa.types.is_boolean(own) or pa.types.is_integer(own) or pa.types.is_floating(own)
        }
        return Table(found.n_rows, columns, found.origin)

    def facts(self) -> dict[str, Any]:
        """What is not as in most files."""
        if len(self.expressions) == 1:
            return {}
        usual = {"delimiter": (",",), "decimal": (".",), "encoding": ("utf-8", "utf-8-sig")}
        return {name: getattr(self, name) for name, values in usual.items() if getattr(self, name) not in values}

    def some(self, name: str, n: int, *, skip_bad: bool = False) -> Any:
        """Values that are not null, typed by what they are."""
        found = super().some(name, n, skip_bad=skip_bad)
        return None if found is None else typed(found, self.decimal)

    def broken(self, error: BaseException) -> TallyError:
        """A line that is no row: too few or too many cells, an open quote, bytes in another encoding."""
        message = re.split(r"\n\s*file = ", str(error))[0]  # what follows are DuckDB's options
        line = line_in(message)
        if "unicode" in message.lower() or "encoded" in message.lower():
            hint = "encoding= (--encoding), for example latin-1 or cp1252"
            words = f"the text is not in {self.encoding}"
            return DataError(words, file=self.name, line=line, hint=hint)
        if found := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
            hint = f"the line is {shorten(_original(message), 80)}; {_SKIP}"
            if without_packing(self.name).endswith(".txt"):
                hint = "if this is a text and no table: format='text' (--format text)"
            return DataError(f"{found[1]} cells", got=int(found[2]), file=self.name, line=line, hint=hint)
        if "unterminated quote" in message.lower():
            came = _original(message)
            return DataError("a quote that is closed", got=came, file=self.name, line=line, hint=_SKIP)
        if line is not None:
            what = next((m for m in message.splitlines()[1:] if m and not m.startswith("Original Line")), message)
            words = f"a line that can be read ({_in_words(what)})"
            return DataError(words, got=_original(message), file=self.name, line=line, hint=_SKIP)
        return super().broken(error)

    def reported(self) -> list[DataError]:
        """The lines that DuckDB left out."""
        there = "SELECT 1 FROM duckdb_tables() WHERE table_name = 'reject_errors'"
        if not self.connection.execute(there).fetchall():
            return []
        query = "SELECT line, first(error_message), first(csv_line) FROM reject_errors GROUP BY line ORDER BY line"
        found = self.connection.execute(query).fetchall()
        self.connection.execute("DROP TABLE reject_errors; DROP TABLE reject_scans")
        self._rejected = {line for line, _, _ in found}
        return [
            DataError(f"a line that can be read ({_in_words(message)})", got=came.strip(), file=self.name, line=line)
            for line, message, came in found
        ]

    def line_of(self, row: int) -> int | None:
        """Count lines up to the row, as the csv module sees them: only done to word an error."""
        with self._text() as file:
            return next(itertools.islice(self._row_lines(file), row, None), None)

    def _row_lines(self, file: IO[str]) -> Iterator[int]:
        """The line on which each row begins; lines that are no rows are passed over, as DuckDB does."""
        reader = csv.reader(file, delimiter=self.delimiter)
        width = len(self.expressions)
        line, seen_header = 1, not self.header
        for cells in reader:
            blank = not cells and width > 1
            fits = len(cells) == width or (len(cells) == width + 1 and not cells[-1]) or (not cells and width == 1)
            if not blank and seen_header and fits and line not in self._rejected:
                yield line
            seen_header = seen_header or any(cell.strip() for cell in cells)
            line = reader.line_num + 1


_SKIP = "skip_bad=True (--skip-bad) leaves such lines out and counts them"
_DUCKDB = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "iso8859-1": "latin-1", "utf-16": "utf-16"}


def _encoding(sample: bytes, given: str | None, name: str) -> str:
    """The encoding: given, by its byte order mark, UTF-8 if it can be, else Latin-1."""
    if given is not None:
        try:
            return codecs.lookup(given).name
        except LookupError as error:
            raise FileError("an encoding that Python knows", got=given, file=name) from error
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if sample.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # a character cut at the end is no fault
    except UnicodeDecodeError:
        return "cp1252" if re.search(rb"[\x80-\x9f]", sample) else "iso8859-1"  # Windows writes quotes and euros there
    return "utf-8"


def _delimiter(sample: str) -> str:
    r"""The delimiter that the first line has most of, preferring one that later lines have as often.

    >>> _delimiter("a;b;c\n1,5;2,5;x\n"), _delimiter("name\nSmith, John\n")
    (';', ';')
    """
    lines = [line for line in sample.splitlines() if line.strip()][:50]
    lines = lines[:-1] if len(lines) > 1 and not sample.endswith("\n") else lines

    def fitness(delimiter: str) -> tuple[bool, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)] or [1]
        alike = sum(width == widths[0] for width in widths)
        return widths[0] > 1, widths[0] * alike

    return max(_DELIMITERS, key=fitness)


def _in_words(message: str) -> str:
    """DuckDB's reason, shorter."""
    return re.sub(r"Expected Number of Columns: (\d+) Found: (\d+)", r"\2 cells instead of \1", message).rstrip(".")


def _original(message: str) -> str:
    """The line that DuckDB shows."""
    found = re.search(r"Original Line:\s*(.*)", message)
    return found[1].strip() if found else ""
