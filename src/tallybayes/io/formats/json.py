"""JSON: one object per line, or one array of objects.

The columns and their types are inferred from the first rows. Numbers, texts and booleans are then read by DuckDB as
text and cast, as in CSV files, so that an error can name a wrong value; lists and maps are read as they are. What the
objects within objects hold are columns by their paths (`tables/nested_values.py`).
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any

import pyarrow as pa

from tallybayes.cells.list_cell import split_list
from tallybayes.cells.missing_words import trim_cells
from tallybayes.cells.number_evidence import mostly_numbers
from tallybayes.errors import NONE, DataError, Described, FileError, TallyError
from tallybayes.io.formats.duckdb_connection import first_line, sql_name, sql_text
from tallybayes.io.formats.duckdb_format import DuckDBFormat
from tallybayes.io.formats.file_format import ReadOptions
from tallybayes.io.formats.input_file import InputFile
from tallybayes.io.formats.later_names import later_columns, pointer, too_many_names
from tallybayes.io.formats.unread_json import mixed_doubt, unread_doubt
from tallybayes.tables.nested_values import Path, divide_objects, path_name
from tallybayes.tables.raw_values import is_number
from tallybayes.tables.source import HEAD, BadRows, Kind
from tallybayes.tables.table import Table

__all__ = ["Json", "as_list"]

_LINE = 2**24  # bytes that an object may have
_EXTRACT = {True: "json_extract_string", False: "json_extract"}
_SURROGATE = "\\ud800 to \\udfff must form pairs: a single one is not a character"
_OTHER_SHAPE = "skip_bad=True (--skip-bad) reads such values as missing; ignore= (--ignore) leaves out the column"
_ARRAY = 2**26  # bytes of an array that Python reads whole


class Json(DuckDBFormat):
    """A file of JSON objects."""

    kind = "json"

    def __init__(self, file: InputFile, options: ReadOptions) -> None:
        self.file = file.in_utf8("utf-8-sig") if file.start(3) == codecs.BOM_UTF8 else file
        self.name, self.size = file.name, file.size
        self.missing = options.given_words
        self.in_lines = not file.start().lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
        self.expressions = {}
        self._paths: dict[str, Path] = {}  # of the columns
        self._names: list[str] = []  # of what the objects hold, before records are divided
        self._later: dict[str, list[Any]] = {}  # values of columns that the first rows do not have, or as null
        self._keeping = False

    def head(self, n: int, *, skip_bad: bool = False) -> Table:
        """The first rows, which determine the columns."""
        rows = list(itertools.islice(self._objects(skip_bad), n))
        self._names = list(dict.fromkeys(name for row in rows for name in row))
        values_of = {name: [row.get(name) for row in rows] for name in self._names}
        divided = divide_objects(values_of)
        if not self._names:
            raise FileError("a JSON object that is not empty", got=NONE, file=self.name)
        later, too_many = later_columns(self._rows_of, self._all_objects(), divided) if len(rows) == n else ({}, [])
        nothing: list[Any] = [None] * len(rows)
        empty = {path[:i] for path in later for i in range(1, len(path))}  # null at first, then records
        divided = {path: values for path, values in divided.items() if path not in empty}
        divided |= {path: nothing for path in later if path in divided or path_name(path) not in values_of}
        shown = divided | {path: values for path, values in later.items() if path in divided}
        self._names = list(dict.fromkeys([*self._names, *(path[0] for path in divided)]))
        self._paths = {path_name(path): path for path in divided}
        doubts = [unread_doubt(path, values, self.name) for path, values in shown.items()]
        doubts += [mixed_doubt(name, values, self.name) for name, values in values_of.items()]
        doubts.append(too_many_names(too_many, self.name, n))
        columns = {path_name(path): _column(values) for path, values in shown.items()}
        self._later = {path_name(path): columns[path_name(path)] for path in later if path in divided}
        self.expressions = {
            name: (sql_name(f"f{i}"), _read_as(values)) for i, (name, values) in enumerate(columns.items())
        }
        for path, values in shown.items():
            if _are_lists_and_others(values):  # read as text, which is split as lists in cells of text are
                self.expressions[path_name(path)] = self.expressions[path_name(path)][0], "VARCHAR"
        self.inferred = {name: kind for name, values in columns.items() if (kind := _kind(values)) is not None}
        columns |= dict.fromkeys(self._later, nothing)
        self.row_bytes = max(sum(len(str(row)) for row in rows[:100]) / max(len(rows[:100]), 1), 1.0)
        return Table(
            len(rows),
            columns,
            self.origin(0),
            doubts=[one for one in doubts if one is not None],
            nested={name: values for name, values in values_of.items() if name not in columns},
        )

    def some(self, names: Sequence[str], n: int, *, skip_bad: bool = False) -> dict[str, Any]:
        """Up to n values of each column that are not missing, in the types of JSON."""
        known = {name: values[:n] for name, values in self._later.items() if name in names}
        others = super().some([name for name in names if name not in known], n, skip_bad=skip_bad)
        typed = {name: _loaded(column) for name, column in others.items() if name in self.inferred}
        return others | typed | known

    def _rows_of(self, query: str) -> list[tuple[Any, ...]]:
        return list(self.connection.sql(query).fetchall())

    def _all_objects(self) -> str:
        return f"read_json_objects({self._options(*['ignore_errors=true'] * self.in_lines)})"

    def _objects(self, skip_bad: bool) -> Iterator[dict[str, Any]]:
        if not self.in_lines:
            yield from self._array()
            return
        with self.file.opened() as file:
            for line, content in _lines(file):
                row = _object(content)
                if row is not None:
                    yield row
                elif not skip_bad:
                    raise self._no_object(line, content)

    def _array(self) -> list[dict[str, Any]]:
        """The objects of an array; of a large one the first, as DuckDB reads them."""
        if self.file.size <= _ARRAY:
            with self.file.opened() as file:
                try:
                    rows = json.load(file)
                except (ValueError, RecursionError) as error:
                    line = getattr(error, "lineno", None)
                    got = Described("text that is not JSON")
                    raise FileError("an array of JSON objects", got=got, file=self.name, line=line) from error
            odd = next((row for row in rows if not isinstance(row, dict)), None)
            if odd is not None:
                raise FileError("an array of objects", got=odd, file=self.name)
            if not all(map(_is_unicode, rows)):
                raise FileError(
                    "text in Unicode", got=Described("half of a surrogate pair"), file=self.name, hint=_SURROGATE
                )
            return list(rows)
        query = f"SELECT json FROM read_json_objects({self._options()}) LIMIT {HEAD}"
        return [json.loads(row) for (row,) in self.connection.sql(query).fetchall()]

    def _options(self, *more: str) -> str:
        form = "newline_delimited" if self.in_lines else "array"
        options = [f"compression='{self.file.compression}'", f"format='{form}'", f"maximum_object_size={_LINE}"]
        return ", ".join([sql_text(self.file.literal_path), *options, *more])

    def relation(self, skip_bad: bool = False) -> str:
        """The fields of every object, in the types that were inferred."""
        alike = len({name.lower() for name in self._names}) < len(self._names)
        if not skip_bad and not alike and not self._keeping:
            types = {path[0]: self._type(name) if len(path) == 1 else "JSON" for name, path in self._paths.items()}
            columns = ", ".join(f"{sql_text(name)}: {sql_text(kind)}" for name, kind in types.items())
            fields = [
                f"{self._extract(sql_name(path[0]), name, path[1:])} AS {place}"
                for name, (place, path) in self._places().items()
            ]
            return f"(SELECT {', '.join(fields) or '1'} FROM read_json({self._options(f'columns={{{columns}}}')}))"
        fields = [f"{self._extract('json', name, path)} AS {place}" for name, (place, path) in self._places().items()]
        errors = ["ignore_errors=true"] if skip_bad and self.in_lines else []
        fields += ["json_type(json) AS row_type", "json"]
        return f"(SELECT {', '.join(fields)} FROM read_json_objects({self._options(*errors)}))"

    def _places(self) -> dict[str, tuple[str, Path]]:
        """The name of each column in the relation, and its path."""
        return {name: (place, self._paths[name]) for name, (place, _) in self.expressions.items()}

    def _type(self, name: str) -> str:
        return self.expressions[name][1]

    def _extract(self, value: str, name: str, path: Path) -> str:
        """The SQL expression of a column within a value; one by one, since a line may hold any JSON."""
        if not path:
            return value
        kind = self._type(name)
        return f"TRY_CAST({_EXTRACT[kind == 'VARCHAR']}({value}, {sql_text(pointer(path))}) AS {kind})"

    def tables(self, wanted: Mapping[str, Kind | None] | None, *, keep: bool, bad: BadRows | None) -> Iterator[Table]:
        """The wanted columns, batch by batch; original cells are JSON."""
        self._keeping = keep
        kinds = dict.fromkeys(self.expressions) if wanted is None else wanted
        for name in kinds:
            self._look_up(name)
        kinds = {name: kind or self.inferred.get(name) for name, kind in kinds.items()}
        for table in super().tables(kinds, keep=keep, bad=bad):
            if table.kept is None:
                yield table
            else:
                schema = pa.schema([field.with_metadata({"kind": "json"}) for field in table.kept.schema])
                yield replace(table, kept=table.kept.cast(schema))

    def _look_up(self, name: str) -> None:
        """Add a column that a model knows and the first rows have in another form: a path into a bag, or records."""
        tops = [top for top in self._names if name == top or name.startswith(f"{top}.")]
        if name not in self.expressions and tops:
            self._paths[name] = (name,) if name in tops else (tops[0], *name[len(tops[0]) + 1 :].split("."))
            kind = "MAP(VARCHAR, DOUBLE)" if name in tops else "VARCHAR"
            self.expressions[name] = sql_name(f"f{len(self.expressions)}"), kind

    def original_cells(self) -> dict[str, str]:
        """The JSON of the cells, records as they are."""
        return {name: f"json_extract(json, {sql_text(pointer((name,)))})::VARCHAR" for name in self._names}

    def _without_words(self, name: str, column: Any) -> Any:
        """A column without spaces around its texts, and null in place of the words for missing values."""
        return super()._without_words(name, trim_cells(column) if pa.types.is_string(column.type) else column)

    def bad_row_condition(self) -> str | None:
        """Lines that are not an object."""
        return "row_type IS DISTINCT FROM 'OBJECT'"

    def broken(self, error: BaseException) -> TallyError:
        """The error for the first line that is not an object."""
        if self.in_lines:
            with self.file.opened() as file:
                for line, content in _lines(file):
                    if (row := _object(content)) is None:
                        return self._no_object(line, content)
                    if (name := self._other_shape(row)) is not None:
                        shape = "an object" if self._type(name).startswith("MAP") else "a list"
                        expected = f"{shape}, as in other rows"
                        return DataError(
                            expected, got=row[name], column=name, file=self.name, line=line, hint=_OTHER_SHAPE
                        )
        hint = _OTHER_SHAPE if "JSON transform error" in str(error) and "but got" in str(error) else None
        return FileError(f"cannot be read as JSON: {first_line(error)}", file=self.name, hint=hint)

    def _other_shape(self, row: Mapping[str, Any]) -> str | None:
        """The first column that is read as lists or bags and of which a row has something else."""
        for name, path in self._paths.items():
            kind = {"[]": list, "E)": dict}.get(self._type(name)[-2:])
            if len(path) == 1 and kind is not None and not isinstance(row.get(name), (kind, type(None))):
                return name
        return None

    def _no_object(self, line: int, content: bytes) -> DataError:
        text = content.decode("utf-8", errors="replace").strip()
        hint = "skip_bad=True (--skip-bad) skips and counts such lines"
        if "\\ud" in text.lower():
            hint = f"{_SURROGATE}; {hint}"
        return DataError("a JSON object", got=text, file=self.name, line=line, hint=hint)

    def line_of(self, row: int) -> int | None:
        """The line of a row; blank lines are not rows."""
        if not self.in_lines:
            return None
        with self.file.opened() as file:
            return next((line for number, (line, _) in enumerate(_lines(file)) if number == row), None)


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, with their numbers from 1."""
    return ((number, line) for number, line in enumerate(file, 1) if line.strip(b"\xef\xbb\xbf \t\r\n"))


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and (b"\\u" not in content or _is_unicode(row)) else None


def _is_unicode(row: dict[str, Any]) -> bool:
    r"""Whether no text holds half of a surrogate pair, which DuckDB refuses.

    >>> _is_unicode({"a": ["\ud83d\ude00"]}), _is_unicode({"a": ["😀"]})
    (False, True)
    """
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _column(values: Sequence[Any]) -> list[Any]:
    """Values of one type: lists, maps, numbers, booleans or text without spaces around it; others become None."""
    there = [value for value in values if value is not None]
    if _are_lists_and_others(values):
        return [value if isinstance(value, list) else as_list(value) for value in values]
    if any(isinstance(value, (list, dict)) for value in there):
        kind = list if sum(isinstance(value, list) for value in there) * 2 >= len(there) else dict
        return [value if isinstance(value, kind) else None for value in values]
    if all(isinstance(value, bool) for value in there):
        return list(values)
    numbers = [is_number(value) and not isinstance(value, bool) for value in values]
    if mostly_numbers(sum(numbers), len(there)):
        return [value if is_number else None for value, is_number in zip(values, numbers, strict=True)]
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return [None if text is None else text.strip() for text in texts]


def _are_lists_and_others(values: Sequence[Any]) -> bool:
    """Whether most values are lists, and others are single ones: lists of one value without brackets."""
    n_lists = sum(isinstance(value, list) for value in values)
    n_single = sum(value is not None and not isinstance(value, (list, dict)) for value in values)
    return n_single > 0 and 2 * n_lists >= sum(value is not None for value in values)


def as_list(value: Any) -> list[str] | None:
    """A single value among lists as a list; None for an object."""
    if value is None or isinstance(value, dict):
        return None
    return split_list(value if isinstance(value, str) else json.dumps(value))


def _loaded(column: Any) -> list[Any]:
    """Numbers and booleans of cells of text; others are left out."""
    values = []
    for text in column.to_pylist():
        with contextlib.suppress(ValueError):
            values.append(json.loads(text))
    return [value for value in values if is_number(value)]


def _read_as(values: list[Any]) -> str:
    """The DuckDB type in which a column is read."""
    first = next((value for value in values if value is not None), None)
    if isinstance(first, list):
        tokens = [token for value in values[:1000] for token in value or () if token is not None]
        if tokens and all(is_number(token) and not isinstance(token, bool) for token in tokens):
            return "BIGINT[]" if all(isinstance(token, int) for token in tokens) else "DOUBLE[]"
        return "VARCHAR[]"
    return "MAP(VARCHAR, DOUBLE)" if isinstance(first, dict) else "VARCHAR"


def _kind(values: list[Any]) -> Kind | None:
    """The kind of a column's values, if they are numbers or booleans."""
    first = next((value for value in values if value is not None), None)
    if isinstance(first, bool):
        return "flag"
    return "number" if is_number(first) else None
