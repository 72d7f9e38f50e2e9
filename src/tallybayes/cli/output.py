"""Tables as CSV, TSV, JSON or Parquet, to standard output or to a file that is replaced as a whole.

The name of a file says its format: .json is one array, .jsonl an object per line, and .gz after the name is compressed.
Text in the format of the input is written in its dialect, Parquet in its types.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import IO, Any, Self

from tallybayes.arrays.chunks import ahead
from tallybayes.atomic_file import replacing
from tallybayes.cli.csv_lines import OutputDialect, csv_header, csv_lines
from tallybayes.errors import Described, FileError, ParameterError
from tallybayes.formatting import PROBABILITY_DIGITS, finite_json, json_text, printable

__all__ = ["Writer", "form_of", "in_types", "refuse_overwriting", "refuse_replacing"]

_ENDINGS = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_GZIP = ".gz"
_FORMS = {"csv": "csv", "json": "jsonl"}  # other formats are printed as CSV


def form_of(output: str | None, source: Any = None, *, json: bool = False) -> str:
    """The format to write: JSON if requested, by the name of the file, else that of the input, else CSV."""
    stem, compressed = (output or "").lower(), (output or "").lower().endswith(_GZIP)
    ending = os.path.splitext(stem.removesuffix(_GZIP))[1]
    if output is not None and (ending or compressed) and ending not in _ENDINGS:
        hint = f"{_GZIP} may follow, except after .parquet"
        raise ParameterError(f"a file that ends in {', '.join(_ENDINGS)}", got=output, hint=hint)
    form = _ENDINGS.get(ending)
    if form == "parquet" and compressed:
        raise ParameterError("a .parquet file without .gz, as it is compressed itself", got=output)
    if json:
        if form not in (None, "json", "jsonl"):
            raise ParameterError("--json, or a file in another format", got=output)
        return form or "jsonl"
    if form is not None:
        return form
    if source is not None and source.facts().get("delimiter") == "\t":
        return "tsv"
    form = _FORMS.get(getattr(source, "kind", "csv"), "csv")
    return "json" if form == "jsonl" and not source.formats[0].in_lines else form


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
    """Writes Arrow tables to one file; None and "-" are standard output.

    dialect: of CSV, by default the usual one; types: an Arrow schema, whose types the columns of Parquet get.
    """

    def __init__(self, path: str | None, form: str, *, dialect: OutputDialect | None = None, types: Any = None) -> None:
        self._path = None if path == "-" else path
        self._form = form
        self._dialect, self._types = dialect or OutputDialect(), types
        if form == "tsv" or (form == "csv" and self._dialect.delimiter == "\t"):
            self._dialect = replace(self._dialect, delimiter="\t" if form == "tsv" else ",")
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
            if self._path.lower().endswith(_GZIP):  # without a time, so that equal rows give equal files
                packed: Any = gzip.GzipFile("", "wb", fileobj=self._file, mtime=0)
                self._file = stack.enter_context(packed)
            if self._form in ("json", "jsonl"):
                self._file = stack.enter_context(_utf8(self._file))
            self._open_files = stack.pop_all()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._form == "parquet" and self._writer is not None:
            self._open_files.callback(self._writer.close)
        if self._form == "json" and exception[0] is None:
            self._file.write("\n]\n" if self._writer else "[]\n")
        self._open_files.__exit__(*exception)
        if self._path is None:
            sys.stdout.flush()

    def write(self, table: Any) -> None:
        """Write more rows, with the same columns as before."""
        self.write_all([table])

    def write_all(self, tables: Iterable[Any]) -> None:
        """Write tables with the same columns; lines of CSV are made in threads while the next table is computed."""
        if self._form in ("csv", "tsv"):
            for names, lines in ahead(self._csv_lines, tables):
                self._write_csv(names, lines)
            return
        for table in tables:
            if self._form == "parquet":
                self._write_parquet(table)
            else:
                self._write_json(table)

    def _write_parquet(self, table: Any) -> None:
        import pyarrow.parquet

        plain = in_types(_plain(table), self._types)
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(self._file, plain.schema)
        self._writer.write_table(plain.cast(self._writer.schema))

    def _write_json(self, table: Any) -> None:
        columns = [_json_cells(table.field(i), column) for i, column in enumerate(table.columns)]
        for cells in zip(*columns, strict=True):
            text = json_text(dict(zip(table.column_names, cells, strict=True)))
            if self._form == "jsonl":
                self._file.write(text + "\n")
            else:
                self._file.write((",\n" if self._writer else "[\n") + text)
                self._writer = True  # the array has begun

    def _csv_lines(self, table: Any) -> tuple[list[str], bytes]:
        return table.column_names, csv_lines(table, self._dialect)

    def _write_csv(self, names: list[str], lines: bytes) -> None:
        if self._writer is None:
            mark = codecs.BOM_UTF8 if self._dialect.mark and self._path is not None else b""
            self._write_bytes(mark + csv_header(names, self._dialect))
            self._writer = True  # the header is written
        self._write_bytes(lines)

    def _write_bytes(self, data: bytes) -> None:
        """Write lines; on a terminal, control characters are escaped."""
        if self._path is not None:
            self._file.write(data)
        elif sys.stdout.isatty() or not hasattr(sys.stdout, "buffer"):
            text = data.decode("utf-8", "replace")
            sys.stdout.write(printable(text, keep="\n\t") if sys.stdout.isatty() else text)
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)


def in_types(table: Any, types: Any) -> Any:
    """A table whose columns have the types of an Arrow schema, by name, where they can be converted."""
    import pyarrow as pa

    fields = {} if types is None else {field.name: field for field in types}
    columns, written = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        wanted = fields.get(field.name)
        if wanted is not None and wanted.type != field.type:
            # A type that the cells cannot be cast back to: they are written as they were read.
            with contextlib.suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
                column = column.cast(wanted.type)
        columns.append(column)
        written.append(pa.field(field.name, column.type))
    return pa.table(columns, schema=pa.schema(written))


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
        return [None if value is None else float(f"{value:.{PROBABILITY_DIGITS}g}") for value in values]
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
