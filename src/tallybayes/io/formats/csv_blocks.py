"""Plain CSV, read by Arrow in blocks of whole lines, several blocks at once.

Arrow needs half of DuckDB's time, but does not say which line is wrong, and takes some lines for rows that DuckDB
refuses. So it reads only what both read alike: UTF-8, several columns, no line within quotes, quotes only around whole
cells (`LineFacts`). It stops with an error at the first cell that is not of the type asked for, and at lines with more
or fewer cells; then DuckDB goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import IO, Any, Literal

import pyarrow as pa

from tallybayes.arrays.chunks import ahead
from tallybayes.cells.arrow import combined
from tallybayes.io.formats.input_file import InputFile

__all__ = ["AskedColumn", "CastType", "CsvBlocks"]

CastType = Literal["DOUBLE", "BOOLEAN", "EITHER"]  # of text: numbers, booleans, or numbers where not booleans
_TYPES: dict[str | None, Any] = {None: pa.string(), "DOUBLE": pa.float64(), "BOOLEAN": pa.bool_()}
_TRUE, _FALSE = ["true", "True", "TRUE", "1"], ["false", "False", "FALSE", "0"]  # fewer than DuckDB takes for them


@dataclass(frozen=True)
class AskedColumn:
    """A column of a batch: the name of a column of the file, and the type of its values; None: as they are stored."""

    name: str
    type: CastType | None = None


@dataclass(frozen=True)
class CsvBlocks:
    """A file of text whose lines from number `skip` on (from 0) are rows.

    null_words: cells that are null, as they are written in the file.
    cleaned: a column of text without what cannot be a value of another type.
    """

    file: InputFile
    names: Sequence[str]
    skip: int
    delimiter: str
    quote: str | None
    null_words: Sequence[str]
    cleaned: Callable[[Any], Any]

    def batches(self, asked: Sequence[AskedColumn], n_bytes: int) -> Iterator[Any]:
        """The columns that are asked for, in blocks of about n_bytes.

        Raises pyarrow.ArrowInvalid at what cannot be read.
        """
        return ahead(partial(self._read, asked), self._blocks(n_bytes))

    def first(self, n_rows: int) -> Any:
        """The first rows as text; None if there are blank lines among them."""
        with self._opened() as file:
            lines = list(islice(file, n_rows))
        found = self._batch([AskedColumn(name) for name in self.names], b"".join(lines)) if lines else None
        return found if found is not None and found.num_rows == len(lines) else None

    def _opened(self) -> IO[bytes]:
        """The file from the first row on."""
        file = self.file.opened()
        for _ in islice(file, self.skip):
            pass
        return file

    def _blocks(self, n_bytes: int) -> Iterator[tuple[int, int]]:
        """Where blocks of rows begin and end in the file: each ends with a line."""
        with self._opened() as file:
            start, end = file.tell(), os.fstat(file.fileno()).st_size
            while start < end:
                file.seek(start + n_bytes - 1)
                stop = min(file.tell() + len(file.readline()), end)
                yield start, stop
                start = stop

    def _read(self, asked: Sequence[AskedColumn], block: tuple[int, int]) -> Any:
        """The columns of a block, read from the file by the thread that needs it."""
        start, stop = block
        with open(self.file.path, "rb", buffering=0) as file:
            file.seek(start)
            return self._batch(asked, file.read(stop - start))

    def _batch(self, asked: Sequence[AskedColumn], block: bytes) -> Any:
        """The columns of a block; those that are asked for as text too are cast from it."""
        from pyarrow import csv

        texts = {own.name for own in asked if own.type is None}
        read_as = {own.name: _TYPES[None if own.name in texts else own.type] for own in asked}
        places = {name: f"f{i}" for i, name in enumerate(self.names)}
        table = csv.read_csv(
            pa.BufferReader(block),
            csv.ReadOptions(use_threads=False, column_names=list(places.values()), block_size=len(block) + 1),
            csv.ParseOptions(delimiter=self.delimiter, quote_char=self.quote or False),
            csv.ConvertOptions(
                column_types={places[name]: kind for name, kind in read_as.items()},
                include_columns=[places[name] for name in read_as],
                null_values=list(self.null_words),
                strings_can_be_null=True,
                true_values=_TRUE,
                false_values=_FALSE,
            ),
        )
        found = {name: combined(table[places[name]]) for name in read_as}
        columns = [
            found[own.name]
            if _TYPES[own.type] == read_as[own.name]
            else self.cleaned(found[own.name]).cast(_TYPES[own.type])
            for own in asked
        ]
        return pa.record_batch(columns, names=[f"c{i}" for i in range(len(columns))])
