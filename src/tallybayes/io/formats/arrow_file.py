"""Arrow files: Feather, and the IPC format as a file or as a stream.

Batches are read one at a time and handed to DuckDB under names of their own (f0, f1, ...), because names may differ
only in case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tallybayes.errors import DataError, FileError
from tallybayes.io.formats.duckdb_connection import connect
from tallybayes.io.formats.duckdb_format import Faults
from tallybayes.io.formats.file_format import ReadOptions
from tallybayes.io.formats.input_file import InputFile
from tallybayes.io.formats.relation import TypedRelation

__all__ = ["ArrowFile", "is_arrow"]

_FILE, _OLD, _STREAM = b"ARROW1", b"FEA1", b"\xff\xff\xff\xff"
_AS = {pa.null(): pa.string(), pa.float16(): pa.float32()}  # types that DuckDB does not take


def is_arrow(start: bytes) -> bool:
    """Whether a file begins like one of Arrow."""
    return start.startswith((_FILE, _OLD, _STREAM))


class ArrowFile(TypedRelation):
    """A file of Arrow record batches."""

    kind = "arrow"

    def __init__(self, file: InputFile, options: ReadOptions) -> None:
        self.name, self.size = file.name, file.size
        self.file = file.uncompressed()
        self.connection = connect()
        self._view = f"arrow_{id(self)}"
        if file.start(4) == _OLD:
            hint = "write it again: pyarrow.feather.write_feather(table, path)"
            raise FileError("an Arrow file", got="Feather version 1", file=self.name, hint=hint)
        with self._opened() as reader:
            names, self._schema = reader.schema.names, _readable(reader.schema)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError("column names that differ", got=twice, file=self.name)
        self._describe(options)
        self.expressions = dict(zip(names, self.expressions.values(), strict=True))

    def relation(self, faults: Faults = "stop") -> str:
        """The batches, read anew for every query."""
        self.connection.register(self._view, pa.RecordBatchReader.from_batches(self._schema, self._batches()))
        return self._view

    def n_expected(self) -> int | None:
        """The number of rows, if batches can be found without reading all of them."""
        return None

    def _opened(self) -> Any:
        try:
            source = pa.memory_map(self.file.path)
            whole = self.file.start(len(_FILE)) == _FILE
            return pa.ipc.open_file(source) if whole else pa.ipc.open_stream(source)
        except (pa.ArrowException, OSError) as error:
            raise self.broken(error) from error

    def _batches(self) -> Iterator[Any]:
        with self._opened() as reader:
            n_batches = getattr(reader, "num_record_batches", None)
            found = iter(reader) if n_batches is None else map(reader.get_batch, range(n_batches))
            for batch in found:
                batch.validate(full=True)  # offsets of a damaged file would be followed anywhere
                columns = [column.cast(field.type) for column, field in zip(batch.columns, self._schema, strict=True)]
                yield pa.record_batch(columns, schema=self._schema)


def _readable(schema: Any) -> Any:
    """The types in which columns are handed to DuckDB, under names of their own."""
    types = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema]
    return pa.schema([(f"f{i}", _AS.get(kind, kind)) for i, kind in enumerate(types)])
