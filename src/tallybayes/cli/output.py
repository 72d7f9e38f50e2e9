"""Tables as CSV, TSV, JSON lines or Parquet, to standard output or to a file that is replaced as a whole."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import IO, Any, Self

from tallybayes.atomic_file import replacing
from tallybayes.errors import Described, FileError, ParameterError
from tallybayes.formatting import finite_json, json_text, printable, shown

__all__ = ["Writer", "form_of", "refuse_overwriting", "refuse_replacing"]

_ENDINGS = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
_DIGITS = 10  # of probabilities in text: the last digits of a double differ between machines
_FORMS = {"csv": "csv", "json": "json"}  # other formats are printed as CSV


def form_of(output: str | None, source: Any = None, *, json: bool = False) -> str:
    """The format to write: JSON if requested, by the name of the file, else that of the input, else CSV."""
    ending = os.path.splitext(output or "")[1].lower()
    if ending and output is not None and ending not in _ENDINGS:
        raise ParameterError(f"a file that ends in {', '.join(_ENDINGS)}", got=output)
    form = _ENDINGS.get(ending)
    if json:
        if form not in (None, "json"):
            raise ParameterError("--json, or a file in another format", got=output)
        return "json"
    if form is not None:
        return form
    if source is not None and source.facts().get("delimiter") == "\t":
        return "tsv"
    return _FORMS.get(getattr(source, "kind", "csv"), "csv")


def refuse_overwriting(output: str | None, data: list[str]) -> None:
    """Raise a ParameterError if the output is one of the inputs."""
    for path in data if output is not None and os.path.exists(output) else ():
        if os.path.exists(path) and os.path.samefile(path, str(output)):
            raise ParameterError("an output file that is not an input", got=output)


def refuse_replacing(output: str, is_own: Callable[[str], bool], what: str) -> None:
    """Raise a FileError if the output is a folder, or a file of another kind than the command writes."""
    if not os.path.isdir(os.path.dirname(output) or "."):
        raise FileError(f"a folder to write {what} to", got=os.path.dirname(output))
    if os.path.isdir(output) or (os.path.isfile(output) and os.path.getsize(output) and not is_own(output)):
        got = "a folder" if os.path.isdir(output) else "a file of another kind"
        raise FileError(f"a new file, or {what} to replace", got=Described(got), file=output)


class Writer:
    """Writes Arrow tables to one file; None and "-" are standard output."""

    def __init__(self, path: str | None, form: str) -> None:
        self._path = None if path == "-" else path
        self._form = form
        self._open_files = contextlib.ExitStack()
        self._file: IO[Any] = sys.stdout
        self._writer: Any = None

    def __enter__(self) -> Self:
        if self._path is None:
            if self._form == "parquet":
                raise FileError("-o FILE for Parquet", got=Described("standard output"))
            return self
        with contextlib.ExitStack() as stack:
            self._file = stack.enter_context(replacing(self._path, "the output"))
            if self._form != "parquet":
                self._file = stack.enter_context(_utf8(self._file))
            self._open_files = stack.pop_all()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._form == "parquet" and self._writer is not None:
            self._open_files.callback(self._writer.close)
        self._open_files.__exit__(*exception)
        if self._path is None:
            sys.stdout.flush()

    def write(self, table: Any) -> None:
        """Write more rows, with the same columns as before."""
        if self._form == "parquet":
            self._write_parquet(table)
        elif self._form == "json":
            self._write_json(table)
        else:
            self._write_csv(table)

    def _write_parquet(self, table: Any) -> None:
        import pyarrow.parquet

        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(self._file, _plain(table).schema)
        self._writer.write_table(_plain(table).cast(self._writer.schema))

    def _write_json(self, table: Any) -> None:
        columns = [_json_cells(table.field(i), column) for i, column in enumerate(table.columns)]
        for cells in zip(*columns, strict=True):
            row = dict(zip(table.column_names, cells, strict=True))
            self._file.write(json_text(row) + "\n")

    def _write_csv(self, table: Any) -> None:
        if self._writer is None:
            delimiter = "\t" if self._form == "tsv" else ","
            self._writer = csv.writer(_Lines(self._file), delimiter=delimiter, lineterminator="\r\n")
            self._writer.writerow(table.column_names)
        columns = [_cells(table.field(i), column) for i, column in enumerate(table.columns)]
        self._writer.writerows(zip(*columns, strict=True))


@contextlib.contextmanager
def _utf8(file: Any) -> Iterator[IO[str]]:
    """A text file on top of a binary one, which stays open."""
    text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="")
    try:
        yield text
        text.flush()
    finally:
        with contextlib.suppress(OSError):
            text.detach()


class _Lines:
    """A file whose lines end in a line feed. The csv module quotes a carriage return only if lines end in one.

    On a terminal, control characters are escaped.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._terminal = file.isatty()

    def write(self, line: str) -> None:
        """Write a line that ends in a carriage return and a line feed."""
        text = line[:-2] + "\n"
        self._file.write(printable(text, keep="\n\t") if self._terminal else text)


def _json_cells(field: Any, column: Any) -> list[Any]:
    """Values for JSON; those of a JSON file unchanged, maps as objects."""
    import pyarrow as pa

    values = column.to_pylist()
    if (field.metadata or {}).get(b"kind") == b"json":
        return [None if value is None else json.loads(value) for value in values]
    if pa.types.is_map(field.type):
        return [None if value is None else dict(value) for value in values]
    if pa.types.is_string(field.type):
        return values  # type: ignore[no-any-return]
    if (field.metadata or {}).get(b"kind") == b"probability":
        return [None if value is None else float(f"{value:.{_DIGITS}g}") for value in values]
    return finite_json(values)  # type: ignore[no-any-return]


def _plain(table: Any) -> Any:
    """A table whose JSON cells are parsed: numbers, texts and booleans as such, anything else as JSON text."""
    import pyarrow as pa

    columns = []
    for i, column in enumerate(table.columns):
        if (table.field(i).metadata or {}).get(b"kind") == b"json":
            values = _json_cells(table.field(i), column)
            kinds = {type(value) for value in values if value is not None}
            simple = kinds <= {int, float} or (len(kinds) == 1 and kinds <= {str, bool})
            column = pa.array(values) if simple else pa.array([v if v is None else json.dumps(v) for v in values])
        columns.append(column)
    return pa.table(columns, names=table.column_names)


def _cells(field: Any, column: Any) -> list[Any]:
    """Values for CSV: true and false, an empty cell for null, a bar between the members of a list."""
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
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict) else shown(value)
