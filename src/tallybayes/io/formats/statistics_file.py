"""Files of SAS (.sas7bdat, .xpt), Stata (.dta) and SPSS (.sav, .zsav, .por), read by pyreadstat.

Where every value of a column has a label in the file (1 is "never", 2 is "sometimes"), the labels are read. Where only
some have one, as at the ends of a scale, the values are kept. Values declared missing, and empty texts, are missing.
The rows are copied to an Arrow file first, so that memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tallybayes.errors import Described, FileError, TallyError, shorten
from tallybayes.io.formats.file_format import ReadOptions, import_reader
from tallybayes.io.formats.input_file import InputFile, temporary_copy, without_compression_suffix
from tallybayes.io.formats.relation import ArrowFile
from tallybayes.tables.raw_values import is_missing

__all__ = ["StatisticsFile", "statistics_kind"]

_ROWS = 20_000  # rows that are converted at once
_READERS = {  # the function of pyreadstat, and the format that it reads
    ".sas7bdat": ("read_sas7bdat", "sas"),
    ".xpt": ("read_xport", "sas"),
    ".dta": ("read_dta", "stata"),
    ".sav": ("read_sav", "spss"),
    ".zsav": ("read_sav", "spss"),
    ".por": ("read_por", "spss"),
}
_MAGIC = {
    b"$FL2": ".sav",
    b"$FL3": ".zsav",
    b"<stata_dta>": ".dta",
    b"HEADER RECORD*******L": ".xpt",
    bytes(12) + b"\xc2\xea\x81\x60": ".sas7bdat",
}


def statistics_kind(name: str, start: bytes) -> str | None:
    """The format of a file by its first bytes, else by its name; None if it is another one."""
    ending = _ending(name, start)
    return None if ending is None else _READERS[ending][1]


def _ending(name: str, start: bytes) -> str | None:
    known = next((ending for magic, ending in _MAGIC.items() if start.startswith(magic)), None)
    return known or next((one for one in _READERS if without_compression_suffix(name).endswith(one)), None)


class StatisticsFile(ArrowFile):
    """A file of a statistics package."""

    kind = "statistics"

    def __init__(self, file: InputFile, options: ReadOptions) -> None:
        ending = _ending(file.name, file.start(64))
        if ending is None:
            raise FileError(f"a name that ends in {', '.join(_READERS)}", got=file.name, file=file.name)
        package = import_reader("pyreadstat", "stats", file.name)
        reader = _Reader(getattr(package, _READERS[ending][0]), file.uncompressed(), options.encoding)
        try:
            copy = replace(InputFile.of(reader.as_arrow()), name=file.name)
        except TallyError:
            raise
        except Exception as error:  # pyreadstat raises errors of its own, those of Python, and those of Arrow
            got = Described(f"one that cannot be read ({shorten(str(error))})")
            raise FileError(f"a complete {_READERS[ending][1]} file", got=got, file=file.name) from error
        super().__init__(copy, options)
        self.size, self.doubts = file.size, reader.doubts


class _Reader:
    """Reads a file twice: what its columns hold, then the rows."""

    def __init__(self, read: Callable[..., Any], file: InputFile, encoding: str | None) -> None:
        self._read, self._file = read, file
        self._more = {} if encoding is None else {"encoding": encoding}
        self.doubts: list[tuple[str, str | None]] = []

    def as_arrow(self) -> str:
        """The path of a copy of the rows as an Arrow file."""
        _, facts = self._read(self._file.path, metadataonly=True, output_format="dict", **self._more)
        labels = {name: dict(texts) for name, texts in facts.variable_value_labels.items()}
        values: dict[str, set[Any]] = {name: set() for name in labels}
        types: dict[str, Any] = {name: pa.null() for name in facts.column_names}
        for columns in self._chunks():
            for name, cells in columns.items():
                if name in labels:
                    values[name].update(cell for cell in cells if cell is not None)
                types[name] = _wider(types[name], pa.array(cells).type)
        applied = {name: texts for name, texts in labels.items() if values[name] and values[name] <= texts.keys()}
        for name in labels.keys() - applied.keys():
            if found := values[name] & labels[name].keys():
                text = f"column {name!r}: {len(found)} of {len(values[name])} values have labels; the values are read"
                self.doubts.append((text, "give every value a label to read the labels"))
        self.doubts.sort()
        schema = pa.schema([(name, pa.string() if name in applied else kind) for name, kind in types.items()])
        path = temporary_copy(())
        with pa.OSFile(path, "wb") as target, pa.ipc.new_file(target, schema) as writer:
            for columns in self._chunks():
                for name, texts in applied.items():
                    columns[name] = [None if cell is None else str(texts[cell]) for cell in columns[name]]
                arrays = [pa.array(columns[field.name], field.type) for field in schema]
                writer.write_batch(pa.record_batch(arrays, schema=schema))
        return path

    def _chunks(self) -> Iterator[dict[str, list[Any]]]:
        """The cells of some rows by column; None where they are missing."""
        start = 0
        while True:
            found, _ = self._read(
                self._file.path, row_offset=start, row_limit=_ROWS, output_format="dict", **self._more
            )
            columns = {name: [_cell(cell) for cell in cells] for name, cells in found.items()}
            n_rows = len(next(iter(columns.values()), []))
            if n_rows:
                yield columns
            if n_rows < _ROWS:
                return
            start += n_rows


def _cell(cell: Any) -> Any:
    if is_missing(cell) or cell == "":
        return None
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2.0**53 else cell


def _wider(one: Any, other: Any) -> Any:
    """A type that holds the values of both."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in (one, other))
    return pa.float64() if numbers else pa.string()
