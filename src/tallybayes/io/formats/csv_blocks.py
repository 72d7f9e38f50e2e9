r"""CSV read by Arrow in blocks of whole lines, several blocks at once.

Arrow needs half of DuckDB's time, but does not say which line is wrong, and takes some lines for rows that DuckDB
refuses. So it reads only blocks that both read alike: several columns, all lines ending in \n or all in \r\n, quotes
only around whole cells and closed (`LineFacts` of the block). At another block, and at lines with more or fewer cells,
it stops with an error; then DuckDB goes on. A block with a cell that is not of the type asked for is read as text.
"""

from __future__ import annotations

import io
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, islice
from operator import xor
from typing import IO, Any

import pyarrow as pa

from tallybayes.arrays.chunks import ahead
from tallybayes.cells.arrow import combine_chunks
from tallybayes.io.formats.delimited_text import DelimitedText
from tallybayes.io.formats.duckdb_format import ARROW_TYPES, CastType
from tallybayes.io.formats.line_facts import LineFacts

__all__ = ["LONGEST_LINE", "CsvBlocks", "UnusualLines"]

LONGEST_LINE = 1_900_000  # bytes of a line that DuckDB reads unless told otherwise: its limit is 2,000,000

_LINES = 100  # read before it is checked whether one of them is too long
_TRUE, _FALSE = ["true", "True", "TRUE", "1"], ["false", "False", "FALSE", "0"]  # fewer than DuckDB takes for them


class UnusualLines(pa.ArrowInvalid):  # type: ignore[misc]
    """Lines that Arrow might read in another way than DuckDB."""


@dataclass(frozen=True)
class CsvBlocks:
    """The rows of a file of text.

    null_words: cells that are null, as they are written in the file.
    n_bytes: about how many a block has.
    """

    text: DelimitedText
    null_words: Sequence[str]
    n_bytes: int

    @property
    def are_divided(self) -> bool:
        """Whether rows have several cells, divided by signs that are one byte."""
        dialect = self.text.dialect
        return len(self.text.names) > 1 and (dialect.delimiter + (dialect.quote or "")).isascii()

    def batches(self, names: Sequence[str], casts: Mapping[str, CastType | None] | None = None) -> Generator[Any]:
        """Some columns, block by block, as text; those with a cast as its type, in blocks where all cells are of it.

        Raises pyarrow.ArrowInvalid at what cannot be read.
        """
        with self._opened() as (file, row_end):
            for end, batch in ahead(partial(self._read, names, casts or {}), self._blocks(file)):
                row_end = row_end or end
                if end not in (row_end, b""):
                    raise UnusualLines("lines that end in another way than those before")
                yield batch

    def first(self, n_rows: int) -> Any:
        """The first rows as text; None if there are none, or blank lines among them."""
        with self._opened() as (file, row_end):
            lines = _lines(file, n_rows)
            open_after = list(accumulate(map(self._has_odd_quotes, lines), xor))  # whether a line ends within quotes
            n_lines, is_open = len(lines) - sum(open_after), bool(open_after and open_after[-1])
            while n_lines < n_rows and (line := _line(file)):
                lines.append(line)
                is_open ^= self._has_odd_quotes(line)
                n_lines += not is_open
        if not lines:
            return None
        end, batch = self._read(self.text.names, {}, b"".join(lines))
        return batch if batch.num_rows == n_lines and (not row_end or end in (row_end, b"")) else None

    @contextmanager
    def _opened(self) -> Iterator[tuple[IO[bytes], bytes]]:
        """The file from the first row on, and how the lines before it end."""
        text = self.text
        with text.file.opened() as file:
            file.read(text.start)
            n_lines = text.skip - text.dialect.skip + int(text.header)
            facts = self._look_at(b"".join(_line(file) for _ in range(n_lines)))
            if facts.has_long_cells:
                raise UnusualLines("names of columns that have several lines")
            yield file, facts.row_end or b""

    def _blocks(self, file: IO[bytes]) -> Iterator[bytes]:
        """Blocks of whole lines; a line that ends within quotes is continued by the next one."""
        while block := _whole_lines(file, self.n_bytes):
            parts, n_more = [block], 0
            is_open = self._has_odd_quotes(block)
            while is_open and n_more <= LONGEST_LINE and (line := _line(file)):
                parts.append(line)
                is_open ^= self._has_odd_quotes(line)
                n_more += len(line)
            yield b"".join(parts)  # of one part: the part itself

    def _has_odd_quotes(self, lines: bytes) -> bool:
        quote = self.text.dialect.quote
        return quote is not None and lines.count(quote.encode()) % 2 == 1

    def _read(self, names: Sequence[str], casts: Mapping[str, CastType | None], block: bytes) -> tuple[bytes, Any]:
        """How the lines of a block end, and its columns."""
        facts = self._look_at(block)
        if self.text.stored_as == "iso8859-1" and not block.isascii():
            block = block.decode("iso8859-1").encode()
        try:
            batch = self._batch(names, casts, block, facts.has_long_cells)
        except pa.ArrowInvalid:  # a cell of another type, or a line with another number of cells: then this fails too
            batch = self._batch(names, {}, block, facts.has_long_cells)
        return facts.row_end or b"", batch

    def _look_at(self, block: bytes) -> LineFacts:
        """The facts about lines that are read alike by Arrow and DuckDB."""
        dialect = self.text.dialect
        facts = LineFacts.of(io.BytesIO(block), dialect.quote, dialect.delimiter)
        if facts.row_end is None or facts.has_open_quote or not facts.has_plain_quotes:
            raise UnusualLines("quotes within cells, a quote that is not closed, or different ends of lines")
        if facts.longest > LONGEST_LINE:
            raise UnusualLines("a long line")
        return facts

    def _batch(
        self, names: Sequence[str], casts: Mapping[str, CastType | None], block: bytes, has_long_cells: bool
    ) -> Any:
        """The columns of a block."""
        from pyarrow import csv

        places = {name: f"f{i}" for i, name in enumerate(self.text.names)}
        dialect = self.text.dialect
        table = csv.read_csv(
            pa.BufferReader(block),
            csv.ReadOptions(use_threads=False, column_names=list(places.values()), block_size=len(block) + 1),
            csv.ParseOptions(
                delimiter=dialect.delimiter, quote_char=dialect.quote or False, newlines_in_values=has_long_cells
            ),
            csv.ConvertOptions(
                column_types={places[name]: ARROW_TYPES[casts.get(name)] for name in names},
                include_columns=[places[name] for name in names],
                null_values=list(self.null_words),
                strings_can_be_null=True,
                true_values=_TRUE,
                false_values=_FALSE,
            ),
        )
        return pa.record_batch([combine_chunks(table[places[name]]) for name in names], names=list(names))


def _line(file: IO[bytes]) -> bytes:
    """The next line; one that is too long is not read to its end."""
    line = file.readline(LONGEST_LINE + 2)
    if len(line) > LONGEST_LINE + 1:
        raise UnusualLines("a long line")
    return line


def _lines(file: IO[bytes], n: int) -> list[bytes]:
    """The next lines, at most n; some at a time, so that long ones do not fill the memory."""
    following, lines = iter(partial(file.readline, LONGEST_LINE + 2), b""), list[bytes]()
    while len(lines) < n and (some := list(islice(following, min(_LINES, n - len(lines))))):
        if max(map(len, some)) > LONGEST_LINE + 1:
            raise UnusualLines("a long line")
        lines += some
    return lines


def _whole_lines(file: IO[bytes], n_bytes: int) -> bytes:
    """The next lines, of about n_bytes together."""
    if not file.seekable():
        return file.read(n_bytes) + _line(file)
    start = file.tell()
    file.seek(n_bytes - 1, os.SEEK_CUR)
    stop = file.tell() + len(_line(file))
    file.seek(start)
    return file.read(stop - start)  # at once: to join two parts would be a copy
