"""Tables as CSV, TSV, JSON, Parquet or a workbook, to standard output or to a file that is replaced as a whole.

The name of a file says its format: .json is one array, .jsonl an object per line, and .gz after the name is compressed.
Text in the format of the input is written in its dialect, Parquet and workbooks in its types (`column_types.py`).
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from tallybayes.arrays.chunks import ahead
from tallybayes.atomic_file import replacing
from tallybayes.cli.csv_lines import OutputDialect, csv_header, csv_lines, is_kind, plain_values
from tallybayes.errors import DataError, Described, FileError, ParameterError
from tallybayes.formatting import PROBABILITY_DIGITS, finite_json, json_text, printable

if TYPE_CHECKING:
    from tallybayes.cli.column_types import ColumnTypes

__all__ = ["form_of", "refuse_overwriting", "refuse_replacing", "write_tables"]

_ENDINGS = {".csv": "csv", ".tsv": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_ENDINGS |= {".parquet": "parquet", ".xlsx": "xlsx"}
_COMPRESSED = ("parquet", "xlsx")  # by themselves
_GZIP = ".gz"
_FORMS = {"csv": "csv", "json": "jsonl"}  # other formats are printed as CSV


def form_of(output: str | None, source: Any = None, *, json: bool = False) -> str:
    """The format to write: JSON if requested, by the name of the file, else that of the input, else CSV."""
    stem, compressed = (output or "").lower(), (output or "").lower().endswith(_GZIP)
    ending = os.path.splitext(stem.removesuffix(_GZIP))[1]
    if output is not None and (ending or compressed) and ending not in _ENDINGS:
        hint = f"{_GZIP} may follow, except after .parquet and .xlsx"
        raise ParameterError(f"a file that ends in {', '.join(_ENDINGS)}", got=output, hint=hint)
    form = _ENDINGS.get(ending)
    if form in _COMPRESSED and compressed:
        raise ParameterError(f"a .{form} file without .gz, as it is compressed itself", got=output)
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


def write_tables(
    tables: Iterable[Any],
    path: str | None,
    form: str,
    *,
    dialect: OutputDialect | None = None,
    types: ColumnTypes | None = None,
) -> None:
    """Write Arrow tables with the same columns to one file; None and "-" are standard output.

    dialect: of CSV, by default the usual one; types: those that the columns get where the format has types.
    """
    if form in _COMPRESSED:
        _write_typed(tables, path, form, types)
        return
    dialect = dialect or OutputDialect()
    if form == "tsv" or (form == "csv" and dialect.delimiter == "\t"):
        dialect = replace(dialect, delimiter="\t" if form == "tsv" else ",")
    if path is None or path == "-":
        for part in _parts(tables, form, replace(dialect, mark=False)):
            _print_bytes(part)
        sys.stdout.flush()
        return
    with replacing(path, "the output") as file:
        target: Any = contextlib.nullcontext(file)
        if path.lower().endswith(_GZIP):  # without a time, so that equal rows give equal files
            target = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
        with target as opened:
            opened.writelines(_parts(tables, form, dialect))


def _parts(tables: Iterable[Any], form: str, dialect: OutputDialect) -> Iterator[bytes]:
    """The content of a file of text."""
    return _csv_parts(tables, dialect) if form in ("csv", "tsv") else _json_parts(tables, form)


def _write_typed(tables: Iterable[Any], path: str | None, form: str, types: ColumnTypes | None) -> None:
    """Write a file in a format with types."""
    from tallybayes.cli.column_types import ColumnTypes

    types = types or ColumnTypes()
    if path is None or path == "-":
        raise FileError(f"-o FILE for a .{form} file", got=Described("standard output"))
    with replacing(path, "the output") as file:
        if form == "xlsx":
            from tallybayes.cli.workbook_output import write_workbook

            write_workbook(tables, types, file, path)
        else:
            _write_parquet(map(types.apply, tables), file, path)
    types.tell(path)


def _write_parquet(tables: Iterable[Any], file: BinaryIO, path: str) -> None:
    import pyarrow.parquet

    with contextlib.ExitStack() as stack:
        writer: Any = None
        for table in tables:
            if writer is None:
                writer = stack.enter_context(pyarrow.parquet.ParquetWriter(file, table.schema))
            writer.write_table(_in_schema(table, writer.schema, path))


def _in_schema(table: Any, schema: pa.Schema, path: str) -> Any:
    """A table in the types of the first one; a DataError if its columns do not fit."""
    try:
        return table.cast(schema)
    except (ValueError, pa.ArrowNotImplementedError) as error:
        hint = "write a file for each of the inputs, or a .csv file"
        got = Described("others in a later file or batch")
        raise DataError(f"the same columns and types in all rows of {path}", got=got, hint=hint) from error


def _json_parts(tables: Iterable[Any], form: str) -> Iterator[bytes]:
    """An object per row: one per line, or the elements of one array."""
    n_rows = 0
    for table in tables:
        columns = [_json_cells(table.field(i), column) for i, column in enumerate(table.columns)]
        for cells in zip(*columns, strict=True):
            text = json_text(dict(zip(table.column_names, cells, strict=True)))
            line = f"{text}\n" if form == "jsonl" else f"{',' if n_rows else '['}\n{text}"
            yield line.encode("utf-8", "replace")
            n_rows += 1
    if form == "json":
        yield b"\n]\n" if n_rows else b"[]\n"


def _csv_parts(tables: Iterable[Any], dialect: OutputDialect) -> Iterator[bytes]:
    """The header, then the lines of each table, which are made in threads while the next table is computed."""
    begun = False
    for names, lines in ahead(lambda table: (table.column_names, csv_lines(table, dialect)), tables):
        if not begun:
            yield (codecs.BOM_UTF8 if dialect.mark else b"") + csv_header(names, dialect)
        begun = True
        yield lines


def _print_bytes(data: bytes) -> None:
    """Write to standard output; on a terminal, control characters are escaped."""
    if sys.stdout.isatty() or not hasattr(sys.stdout, "buffer"):
        text = data.decode("utf-8", "replace")
        sys.stdout.write(printable(text, keep="\n\t") if sys.stdout.isatty() else text)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)


def _json_cells(field: Any, column: Any) -> list[Any]:
    """Values for JSON; those of a JSON file unchanged, maps as objects."""
    values = plain_values(field, column)
    if is_kind(field, "json") or pa.types.is_map(field.type) or pa.types.is_string(field.type):
        return values
    if is_kind(field, "probability"):
        return [None if value is None else float(f"{value:.{PROBABILITY_DIGITS}g}") for value in values]
    return finite_json(values)  # type: ignore[no-any-return]
