"""Rows out: CSV, TSV, JSON lines or Parquet, to the screen or to a file that appears when it is complete."""

from __future__ import annotations

import csv
import json
import os
import sys
from typing import IO, Any, Self

from tallybayes.errors import FileError
from tallybayes.model.text import shown

__all__ = ["Writer", "form_of"]

_ENDINGS = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
_DIGITS = 10  # of probabilities in text: the last few of a double are not the same on every machine
_FORMS = {"csv": "csv", "json": "json"}  # what the other formats become on the screen is CSV


def form_of(output: str | None, source: Any = None) -> str:
    """The format to write: by the name of the file, else that of the input, else CSV."""
    ending = _ENDINGS.get(os.path.splitext(output or "")[1].lower())
    if ending is not None:
        return ending
    kind = getattr(source, "kind", "csv")
    if source is not None and source.facts().get("delimiter") == "\t":
        return "tsv"
    return _FORMS.get(kind, "csv")


class Writer:
    """Arrow tables, one after the other, into one file."""

    def __init__(self, path: str | None, form: str) -> None:
        self._path, self._form = path, form
        self._part = None if path is None else f"{path}.part"
        self._file: IO[Any] | None = None
        self._writer: Any = None

    def __enter__(self) -> Self:
        if self._path is None and self._form == "parquet":
            raise FileError("a file for Parquet", hint="-o FILE")
        try:
            if self._part is None:
                self._file = sys.stdout
            elif self._form != "parquet":
                self._file = open(self._part, "w", encoding="utf-8", newline="")
        except OSError as error:
            raise FileError(f"cannot be written: {error.strerror}", file=self._path) from error
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if self._form == "parquet" and self._writer is not None:
            self._writer.close()
        if self._part is None:
            sys.stdout.flush()
            return
        if self._file is not None:
            self._file.close()
        if os.path.exists(self._part):
            if kind is None:
                os.replace(self._part, str(self._path))
            else:
                os.unlink(self._part)

    def write(self, table: Any) -> None:
        """More rows, with the same columns as before."""
        if self._form == "parquet":
            self._write_parquet(table)
        elif self._form == "json":
            self._write_json(table)
        else:
            self._write_csv(table)

    def _write_parquet(self, table: Any) -> None:
        import pyarrow.parquet

        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(self._part, table.schema)
        self._writer.write_table(table)

    def _write_json(self, table: Any) -> None:
        assert self._file is not None
        columns = [_json_cells(table.field(i), column) for i, column in enumerate(table.columns)]
        for cells in zip(*columns, strict=True):
            row = dict(zip(table.column_names, cells, strict=True))
            self._file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")

    def _write_csv(self, table: Any) -> None:
        if self._writer is None:
            delimiter = "\t" if self._form == "tsv" else ","
            self._writer = csv.writer(self._file, delimiter=delimiter, lineterminator="\n")  # type: ignore[arg-type]
            self._writer.writerow(table.column_names)
        columns = [_cells(table.field(i), column) for i, column in enumerate(table.columns)]
        self._writer.writerows(zip(*columns, strict=True))


def _json_cells(field: Any, column: Any) -> list[Any]:
    """Values as JSON has them; those of a JSON file as they were; maps as objects."""
    import pyarrow as pa

    values = column.to_pylist()
    if (field.metadata or {}).get(b"kind") == b"json":
        return [None if value is None else json.loads(value) for value in values]
    if pa.types.is_map(field.type):
        return [None if value is None else dict(value) for value in values]
    if (field.metadata or {}).get(b"kind") == b"probability":
        return [float(f"{value:.{_DIGITS}g}") for value in values]
    return values  # type: ignore[no-any-return]


def _cells(field: Any, column: Any) -> list[Any]:
    """Values as a CSV file has them: true and false, nothing for null, a bar between the members of a list."""
    import pyarrow as pa

    values = _json_cells(field, column)
    if (field.metadata or {}).get(b"kind") == b"json":
        return [_cell(value) for value in values]
    if pa.types.is_boolean(column.type):
        return [shown(value) for value in values]
    return [_cell(value) for value in values] if pa.types.is_nested(column.type) else values


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return "|".join(map(shown, value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else shown(value)
