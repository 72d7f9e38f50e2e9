"""Tables with types of their own that DuckDB reads: Parquet and Arrow files, tables of DuckDB databases, queries.

Arrow files are Feather, and the IPC format as a file or as a stream. Their batches are read one at a time and handed to
DuckDB under names of their own (f0, f1, ...), because names may differ only in case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import pyarrow as pa

from tallybayes.doubts import Doubt, ignored
from tallybayes.errors import NONE, DataError, FileError, did_you_mean
from tallybayes.io.formats.duckdb_connection import (
    as_subquery,
    connect,
    duckdb_errors,
    first_line,
    refused_query,
    sql_name,
    sql_text,
)
from tallybayes.io.formats.duckdb_format import DuckDBFormat
from tallybayes.io.formats.file_format import ReadOptions
from tallybayes.io.formats.input_file import InputFile
from tallybayes.io.formats.json import as_list
from tallybayes.io.formats.unread_json import mixed_doubt, unread_doubt
from tallybayes.tables.nested_values import DEPTH, FIELDS, Path, path_name
from tallybayes.tables.table import Table

__all__ = ["ArrowFile", "Database", "Parquet", "Sql", "chosen_table", "is_arrow", "is_query"]

_SOME = 1000  # nested values that are looked at
_FILE, _OLD, _STREAM = b"ARROW1", b"FEA1", b"\xff\xff\xff\xff"
_AS = {pa.null(): pa.string(), pa.float16(): pa.float32()}  # types that DuckDB does not take
_JSON_TEXTS = {  # values of several types: texts without the quotes of JSON, and their type
    "JSON": ("json_extract_string({}, '$')", "VARCHAR"),
    "JSON[]": ("list_transform({}, lambda item: json_extract_string(item, '$'))", "VARCHAR[]"),
}


class TypedRelation(DuckDBFormat):
    """A relation whose columns have types."""

    _from: str
    _source: str = ""  # what a query on these rows is from, if there can be one

    def _describe(self, options: ReadOptions) -> None:
        self.missing = options.given_words
        try:
            found = self.connection.sql(f"SELECT * FROM {self.relation()} LIMIT 0")
        except duckdb_errors() as error:
            raise self.broken(error) from error
        self._types = dict(zip(found.columns, found.types, strict=True))
        self._use_names(found.columns)

    def _rename(self, names: list[str]) -> None:
        """Use the names that the columns have: DuckDB renames those that differ only in case."""
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError("column names that differ", got=twice, file=self.name)
        self._use_names(names)

    def _use_names(self, names: list[str]) -> None:
        """The expressions of all columns by their names; columns of records are divided."""
        self._originals = dict(zip(names, map(sql_name, self._types), strict=True))
        self.expressions, self._paths = {}, dict[str, Path]()
        self._of_json: list[str] = []  # columns of values of several types
        for name, (column, kind) in zip(names, self._types.items(), strict=True):
            for path, expression, inner in _fields((name,), sql_name(column), kind):
                if len(path) == 1 or path_name(path) not in self._originals:
                    text, type_of_text = _JSON_TEXTS.get(str(inner), ("{}", str(inner)))
                    self.expressions[path_name(path)] = text.format(expression), type_of_text
                    self._paths[path_name(path)] = path
                    self._of_json += [path_name(path)] if str(inner) == "JSON" else []

    def head(self, n: int, *, skip_bad: bool = False) -> Table:
        """The first rows, with what is nested in them and not read."""
        table = super().head(n, skip_bad=skip_bad)
        nested = {name: raw[:_SOME].to_pylist() for name, raw in table.columns.items() if pa.types.is_nested(raw.type)}
        doubts: list[Doubt | None] = []
        columns = dict(table.columns)
        for name in self._of_json:
            values = list(map(_parsed, table.columns[name].to_pylist()))
            if _are_lists(values):
                columns[name] = [value if isinstance(value, list) else as_list(value) for value in values]
                nested[name] = values[:_SOME]
                doubts.append(mixed_doubt(name, values, self.name))
            elif n := sum(isinstance(value, (list, dict)) for value in values):
                text = f"{self.name}: {n:,} {'list or object is' if n == 1 else 'lists or objects are'} read as text"
                doubts.append(Doubt("odd cells", text, name, f"{ignored(name)} leaves it out"))
        for name, values in nested.items():
            source = "" if name in self._of_json else self._source  # a query has no fields of JSON
            doubts.append(unread_doubt(self._paths[name], values, self.name, source))
        return replace(table, columns=columns, doubts=[*table.doubts, *(one for one in doubts if one is not None)])

    def original_cells(self) -> dict[str, str]:
        """The columns, records as they are."""
        return self._originals

    def relation(self, skip_bad: bool = False) -> str:
        """The FROM clause."""
        return self._from

    def n_expected(self) -> int | None:
        """The number of rows, which Parquet files and databases have stored."""
        if self.kind not in ("parquet", "duckdb"):
            return None
        return int(self.connection.sql(f"SELECT count(*) FROM {self._from}").fetchall()[0][0])


class Parquet(TypedRelation):
    """A Parquet file."""

    kind = "parquet"

    def __init__(self, file: InputFile, options: ReadOptions) -> None:
        self.name, self.size = file.name, file.size
        self._from = f"read_parquet({sql_text(file.literal_path)}, hive_partitioning=false)"
        self._source = f"read_parquet({sql_text(file.name)})"
        self._describe(options)
        import pyarrow.parquet

        try:
            with file.opened() as content:
                self.types = pyarrow.parquet.read_schema(content)  # in which `tally predict` writes them again
        except (OSError, ValueError) as error:  # DuckDB does not look at the schema of Arrow, ARROW:schema
            raise FileError(
                f"the schema of the Parquet file is damaged: {first_line(error)}", file=self.name
            ) from error
        self._rename(self.types.names)


class ArrowFile(TypedRelation):
    """A file of Arrow record batches."""

    kind = "arrow"

    def __init__(self, file: InputFile, options: ReadOptions) -> None:
        self.name, self.size = file.name, file.size
        self.file = file.uncompressed()
        self._view = f"arrow_{id(self)}"
        if file.start(4) == _OLD:
            hint = "write it again: pyarrow.feather.write_feather(table, path)"
            raise FileError("an Arrow file", got="Feather version 1", file=self.name, hint=hint)
        with self._opened() as reader:
            names, self._schema = reader.schema.names, _readable(reader.schema)
        self._describe(options)
        self._rename(names)

    def relation(self, skip_bad: bool = False) -> str:
        """The batches, read anew for every query."""
        self.connection.register(self._view, pa.RecordBatchReader.from_batches(self._schema, self._batches()))
        return self._view

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


class Database(TypedRelation):
    """A table of a DuckDB file, or a query on it."""

    kind = "duckdb"

    def __init__(self, file: InputFile, options: ReadOptions) -> None:
        self.name, self.size = file.name, None
        self.connection = connect(file.literal_path)
        views = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
        query = f"SELECT table_name FROM duckdb_tables() UNION ALL {views} ORDER BY 1"
        names = [name for (name,) in self.connection.sql(query).fetchall()]
        if is_query(options.table):
            self._from, self._source = as_subquery(options.table, self.connection), _in_brackets(options.table)
        else:
            self._from = self._source = sql_name(chosen_table(options.table, names, file.name))
        self._describe(options)


class Sql(TypedRelation):
    """A query."""

    kind = "sql"

    def __init__(self, query: str, options: ReadOptions) -> None:
        self.name = "the query"
        self._from, self._source = as_subquery(query, self.connection), _in_brackets(query)
        self._describe(options)

    def broken(self, error: BaseException) -> DataError:
        """The query cannot be run."""
        return refused_query(error)


def _in_brackets(query: str) -> str:
    """A query to be shown within another one; a comment needs the end of its line."""
    return f"({query.strip().rstrip(';')}{chr(10) if '--' in query else ''})"


def _fields(path: Path, expression: str, kind: Any) -> Iterator[tuple[Path, str, Any]]:
    """The fields of a record by path, or a column that is none: the SQL expression and the type of each."""
    if kind.id != "struct" or len(path) >= DEPTH or not 0 < len(kind.children) <= FIELDS:
        yield path, expression, kind
        return
    for name, inner in kind.children:
        yield from _fields((*path, name), f"struct_extract({expression}, {sql_text(name)})", inner)


def _parsed(text: str | None) -> Any:
    """A list or an object that is written as JSON; other text as it is."""
    if text is None or not text.startswith(("[", "{")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _are_lists(values: Sequence[Any]) -> bool:
    """Whether most values are lists."""
    n_lists = sum(isinstance(value, list) for value in values)
    return n_lists > 0 and 2 * n_lists >= sum(value is not None for value in values)


def is_arrow(start: bytes) -> bool:
    """Whether a file begins like one of Arrow."""
    return start.startswith((_FILE, _OLD, _STREAM))


def is_query(table: str | None) -> TypeGuard[str]:
    """Whether a text is a query and not the name of a table or file.

    >>> is_query("select * from pets"), is_query("selected pets"), is_query(None)
    (True, False, False)
    """
    return table is not None and re.match(r"\s*(select|from|with)\s", table, re.IGNORECASE) is not None


def chosen_table(table: str | None, names: list[str], file: str, what: str = "table of the database") -> str:
    """The table of a database to read, or what else a file has several of: the one given, or the only one there is."""
    if table is None and len(names) == 1:
        return names[0]
    if table in names:
        return table
    expected = f"a {what} ({', '.join(names) or 'it has none'})"
    hint = "name it with table= (--table)" if table is None else did_you_mean(table, names)
    raise FileError(expected, got=NONE if table is None else table, file=file, hint=hint)


def _readable(schema: Any) -> Any:
    """The types in which columns are handed to DuckDB, under names of their own."""
    types = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema]
    return pa.schema([(f"f{i}", _AS.get(kind, kind)) for i, kind in enumerate(types)])
