"""A file of text with a delimiter between cells, before its cells are read: lines, names of columns, encoding.

Encoding, delimiter and names are detected from the beginning of the file. How all of its lines end and how long they
are is looked at only when a reader must know it (`line_facts`).

Some files are copied first (`_copy_lines`), without comment lines and with one kind of line end: DuckDB takes a comment
sign within a line for the start of a comment too, and loses cells where some lines end in a carriage return alone and
others do not (seen with 2.0).
"""

from __future__ import annotations

import bisect
import contextlib
import copy
import csv
import io
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import IO, Any, NamedTuple

from tallybayes.doubts import Doubt, doubt
from tallybayes.errors import Described, FileError, check_integer
from tallybayes.io.formats.binary_kind import check_text
from tallybayes.io.formats.dialect import DELIMITERS, Dialect, header_names, text_lines
from tallybayes.io.formats.encoding import MixedLines, is_utf8, table_encoding
from tallybayes.io.formats.file_format import ReadOptions
from tallybayes.io.formats.input_file import InputFile, temporary_copy
from tallybayes.io.formats.line_facts import LineFacts

__all__ = ["CsvCopy", "DelimitedText"]

_SAMPLE = 2**18  # characters from which the delimiter is detected
_LAST = 2**14  # bytes at the end among which the last line is
_TITLE_LINES = 100  # among which the header is looked for
_READABLE = ("utf-8", "utf-8-sig", "iso8859-1")  # encodings that are read without a copy of the file


class LineMap:
    """Line numbers of a copy to those of the original, so that errors name lines that the user can look at.

    >>> lines = LineMap()
    >>> lines.add(3, 5)  # the third line of the copy is the fifth of the original, and so on from there
    >>> [lines.original(line) for line in (2, 3, 4)]
    [2, 5, 6]
    """

    def __init__(self) -> None:
        self._starts, self._offsets = [1], [0]

    def add(self, line: int, original: int) -> None:
        """From a line of the copy on, lines count from this line of the original; lines are added in order."""
        if original - line != self._offsets[-1]:
            self._starts.append(line)
            self._offsets.append(original - line)

    def original(self, line: int) -> int:
        """The line of the original."""
        return line + self._offsets[bisect.bisect_right(self._starts, line) - 1]


class CsvCopy(NamedTuple):
    """The path of a copy as CSV, and the lines of the original."""

    path: str
    lines: LineMap

    @classmethod
    def of(cls, rows: Iterable[tuple[int, Sequence[str]]]) -> CsvCopy:
        """Write rows; each comes with its line in the original."""
        lines = LineMap()

        def written() -> Iterator[bytes]:
            line = 1
            for number, cells in rows:
                text = io.StringIO()
                csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(cells)
                lines.add(line, number)
                line += len(text_lines(text.getvalue()))
                yield text.getvalue().encode(errors="surrogateescape")

        return cls(temporary_copy(written()), lines)


class DelimitedText:
    """The lines of a file, and the names of the columns.

    encoding: of the file as it was given; file, stored_as: what is read, which may be a copy, and its encoding.
    names: of the columns; skip: the number of lines before the one with the names, or before the first row.
    doubts: what was assumed.
    """

    def __init__(self, file: InputFile, options: ReadOptions, copy: CsvCopy | None = None) -> None:
        self.name = file.name
        if copy is not None:
            file = replace(InputFile.of(copy.path), name=file.name)
        start = file.start()
        if options.encoding is None:
            check_text(start, file.name)
        self.encoding = table_encoding(start, options.encoding, file.name)
        is_readable = self.encoding in _READABLE
        self.file = file if is_readable else file.in_utf8(self.encoding)
        self.stored_as = self.encoding if is_readable else "utf-8"
        self._may_be_mixed = options.encoding is None and self.stored_as in ("utf-8", "utf-8-sig")
        if not is_utf8(start):
            self.mend_encoding()
        if b"\x00" in self.file.start():
            hint = "name its format or encoding: format= (--format), encoding= (--encoding)"
            raise FileError("a file of text", got=start[:20], file=self.name, hint=hint)
        self._original_lines = LineMap() if copy is None else copy.lines
        self.header = options.header
        with self._opened() as text:
            lead = list(itertools.islice(text, check_integer("skip_lines", options.skip_lines, at_least=0)))
            sample = "".join([*lead, text.read(_SAMPLE)]).removeprefix("\ufeff")
        self.dialect = Dialect.of(sample, options)
        self.doubts: tuple[Doubt, ...] = self.dialect.doubts
        self._is_copy = False
        if self.dialect.comment is not None:
            self._copy()
        self.names, doubts, self.skip = self._names()
        self.doubts = (*self.doubts, *doubts)

    def mend_encoding(self) -> bool:
        """Read a copy from now on if some lines are not in UTF-8: these are in Windows-1252; whether there are any."""
        if not self._may_be_mixed:
            return False
        self._may_be_mixed = False
        mixed = MixedLines()
        with self.file.opened() as file:
            for _ in mixed.in_utf8(file):
                pass  # most files need no copy
        if mixed.first is None:
            return False
        with self.file.opened() as file:
            path = temporary_copy(MixedLines().in_utf8(file))
        lines = f"{mixed.n_lines:,} line{'s are' if mixed.n_lines > 1 else ' is'} not in UTF-8"
        text = f"{self.name}: {lines}, the first is line {mixed.first}: read as Windows-1252, the others as UTF-8"
        doubt("file", text, hint="encoding= (--encoding) reads all lines in one encoding")
        self.file = replace(InputFile.of(path), name=self.name)
        for derived in ("start", "line_facts"):
            self.__dict__.pop(derived, None)
        return True

    def fits_without_quotes(self) -> bool:
        """Whether all lines have as many cells as there are columns if quotes are signs like any other."""
        sign, quote = self.dialect.delimiter.encode(), (self.dialect.quote or "").encode()
        with self.file.opened() as file:
            lines = itertools.islice(file, self.skip, None)
            header = next(lines, b"")
            widths = (line.count(sign) for line in lines if line.strip())
            return bool(quote) and quote not in header and all(n == len(self.names) - 1 for n in widths)

    def _copy(self) -> None:
        """Read a copy from now on, without comments and with one kind of line end."""
        with self._opened("surrogateescape") as text:
            copied = _copy_lines(text, self.dialect, origin=self._original_lines)
        self._original_lines = copied.lines
        self.file, self.stored_as = replace(InputFile.of(copied.path), name=self.name), "utf-8"
        self.dialect = replace(self.dialect, skip=0)
        self._is_copy = True

    def _names(self) -> tuple[list[str], list[Doubt], int]:
        """The names of the columns, what is doubtful about them, and the number of lines before them."""
        with self.rows() as reader:
            row = next((cells for cells in reader if any(cell.strip() for cell in cells)), None)
            if row is None:
                raise FileError("a line with the names of the columns", got=Described("an empty file"), file=self.name)
            last = self.dialect.skip + reader.line_num
        row[0] = row[0].removeprefix("\ufeff")
        if not self.header:
            return [f"x{i}" for i in range(len(row))], [], last - 1
        first = max(last - sum(cell.count("\n") for cell in row), 1)
        return *header_names(row, self.original_line(first)), first - 1

    def find_header(self, names: Collection[str]) -> tuple[int, str] | None:
        """The first line, of the original, in which one of these names is a cell, among the first lines; and the name.

        Lines above it must have fewer cells with something in them, or they would be rows; the next line that is not
        blank must have as many cells, so that a name within a title is not taken for one.
        """
        with self._opened() as text:
            lines = list(itertools.islice(text, _TITLE_LINES))
        for delimiter in dict.fromkeys([self.dialect.delimiter, *DELIMITERS]):
            dialect = replace(self.dialect, delimiter=delimiter)
            rows: list[list[str]] = [[cell.strip() for cell in next(dialect.rows([line]), [])] for line in lines]
            widest = 0  # cells with something in them, of the lines above
            for place, cells in enumerate(rows):
                name, n_filled = next((cell for cell in cells if cell in names), None), sum(map(bool, cells))
                below = next((row for row in rows[place + 1 :] if any(row)), cells)
                if name is not None and n_filled > widest and len(below) == len(cells):
                    return self.original_line(place + 1), name
                widest = max(widest, n_filled)
        return None

    def _opened(self, errors: str = "replace") -> IO[str]:
        return io.TextIOWrapper(self.file.opened(), self.stored_as, errors=errors, newline="")

    def _opened_bytes(self) -> IO[str]:
        """One character for each byte, whatever the encoding."""
        return io.TextIOWrapper(self.file.opened(), "latin-1", newline="")

    @contextlib.contextmanager
    def rows(self) -> Iterator[Any]:
        """The csv module's reader of the lines of the table."""
        with self._opened() as text:
            yield self.dialect.rows(itertools.islice(text, self.dialect.skip, None))

    def original_line(self, line: int) -> int:
        """The line of the file as it was given."""
        return self._original_lines.original(line)

    def row_lines(self, rejected: Collection[int]) -> Iterator[int]:
        """The line on which each row begins; lines that are not rows, or were rejected, are skipped, as DuckDB does."""
        width = len(self.names)
        line, seen_header = self.dialect.skip + 1, not self.header
        with self.rows() as reader:
            for cells in reader:
                blank = not cells and width > 1
                fits = len(cells) == width or (len(cells) == width + 1 and not cells[-1]) or (not cells and width == 1)
                if not blank and seen_header and fits and line not in rejected:
                    yield self.original_line(line)
                seen_header = seen_header or any(cell.strip() for cell in cells)
                line = self.dialect.skip + reader.line_num + 1

    def last_rows(self, n: int) -> list[tuple[str, ...]]:
        """The cells of the last n lines, of those with as many as there are columns; none if the file is compressed."""
        if self.file.compression != "none":
            return []
        with self.file.opened() as file:
            file.seek(max(self.file.size - _LAST, 0))
            lines = file.read().decode(self.stored_as, errors="replace").splitlines()
        found = itertools.islice(self.dialect.rows(line for line in reversed(lines) if line.strip()), n)
        return [tuple(cells) for cells in found if len(cells) == len(self.names)][::-1]

    @cached_property
    def start(self) -> int:
        """The byte at which the lines of the table begin."""
        if not self.dialect.skip:
            return 0
        with self._opened_bytes() as lines:
            return sum(map(len, itertools.islice(lines, self.dialect.skip)))

    @cached_property
    def line_facts(self) -> LineFacts:
        """Facts about all lines of the table; where they end in two ways, a copy is read from now on."""
        facts = self._scan()
        if facts.end_in_two_ways and not self._is_copy:
            self._copy()
            *_, self.skip = self._names()
            self.__dict__.pop("start", None)
            facts = self._scan()
        return facts

    def _scan(self) -> LineFacts:
        with self.file.opened() as file:
            file.read(self.start)  # lines before the table may have a single quote
            return LineFacts.of(file, self.dialect.quote, self.dialect.delimiter)

    def head(self, n_lines: int) -> DelimitedText | None:
        """A copy of the first lines of the table and of what is before them; None if the table is not longer.

        A line that ends within quotes is continued by the next one.
        """

        def first_lines() -> Iterator[bytes]:
            n_kept, is_open = -self.dialect.skip, False
            for line in lines:
                yield line.encode("latin-1")
                if n_kept >= 0 and self.dialect.quote is not None:  # lines before the table may have a single quote
                    is_open ^= line.count(self.dialect.quote) % 2 == 1
                n_kept += not is_open
                if n_kept == n_lines:
                    return

        with self._opened_bytes() as lines:
            path = temporary_copy(first_lines())
            if not lines.read(1):
                return None
        head = copy.copy(self)
        head.file = replace(InputFile.of(path), name=self.name)
        head.__dict__.pop("line_facts", None)
        return head


def _copy_lines(text: IO[str], dialect: Dialect, *, origin: LineMap) -> CsvCopy:
    r"""Copy lines to a file in UTF-8.

    text: the file, opened with newline="" and errors="surrogateescape", so that bytes in another encoding are kept.
    origin: the lines of what the file itself is a copy of.

    >>> import io, pathlib
    >>> text = io.StringIO('# 1\na,b\r# 2\r"x\n# y",3\n', newline="")
    >>> path, lines = _copy_lines(text, Dialect(",", '"', "#", 0), origin=LineMap())
    >>> pathlib.Path(path).read_text(), lines.original(1), lines.original(2)
    ('a,b\n"x\n# y",3\n', 2, 4)
    """
    lines = LineMap()

    def kept() -> Iterator[bytes]:
        within, n_kept = False, 0
        for number, line in enumerate(text, 1):
            if number <= dialect.skip or (not within and dialect.comment and line.startswith(dialect.comment)):
                continue
            if dialect.quote is not None and line.count(dialect.quote) % 2:
                within = not within
            n_kept += 1
            lines.add(n_kept, origin.original(number))
            yield (line if within else line.rstrip("\r\n") + "\n").encode("utf-8", errors="surrogateescape")

    return CsvCopy(temporary_copy(kept()), lines)
