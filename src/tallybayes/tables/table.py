"""Any table in memory as named raw columns.

Data frames are read through the Arrow C stream (`__arrow_c_stream__`: pandas, Polars, pyarrow, DuckDB). A NumPy matrix
has the columns x0, x1, ...; a SciPy sparse matrix is one bag named x. Lists of dicts and dicts of lists are tables too;
a dict of single values is one row. Columns are not copied where that can be avoided. Data in batches (files, queries,
streams) is read by `tallybayes.tables.source`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.sparse_matrix import check_csr, is_sparse
from tallybayes.cells.arrow import integers, without_views
from tallybayes.cells.number_reading import NumberReading
from tallybayes.doubts import Doubt
from tallybayes.errors import DataError, Described, TallyError
from tallybayes.tables.input_kind import has_attribute, is_pandas_frame, library_of
from tallybayes.tables.nested_values import divide_columns, values_at
from tallybayes.tables.raw_values import is_missing

__all__ = [
    "Raw",
    "RowOrigin",
    "Table",
    "column_values",
    "concatenate_tables",
    "is_row",
    "raw_column",
    "small_frame",
    "take_rows",
    "to_table",
]

_FEW_ROWS = 1024

Raw = Any  # a NumPy array, an Arrow (chunked) array, a list, or a SciPy sparse matrix


@dataclass(frozen=True, eq=False)
class RowOrigin:
    """Where rows are from: the number of the first one, the file (or a file for each), the line of a row."""

    first: int
    file: str | None = None
    line_of: Callable[[int], int | None] = lambda row: None
    files: Sequence[str] | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """Raw columns by name, all of one length, with their origin.

    rows: the numbers of the rows, where some are not in the table.
    kept: the cells as they are in the file, if they are to be written again.
    matrix: the columns side by side, if a few rows were given like that.
    readings: how columns of text were read as numbers, of the first rows of a file.
    missing_words: of the first rows of a file of text, how many cells of a column were which words for missing values.
    texts: of the first rows of a file, the cells of columns that hold numbers or booleans, as they are written.
    doubts, remarks: of a file, what to tell when a model is fitted to it, and what to add to the reasons of columns.
    elsewhere: of the first rows of files, the columns that have values of other rows, because these have none.
    nested: columns of records as they were, before they were divided into columns (`tables/nested_values.py`).
    """

    n_rows: int
    columns: dict[str, Raw]
    origin: RowOrigin | None = None
    rows: NDArray[np.int64] | None = None
    kept: pa.Table | None = None
    matrix: NDArray[np.generic] | None = None
    readings: Mapping[str, NumberReading] = field(default_factory=dict)
    missing_words: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    texts: Mapping[str, Raw] = field(default_factory=dict)
    remarks: Mapping[str, str] = field(default_factory=dict)
    elsewhere: frozenset[str] = frozenset()
    doubts: Sequence[Doubt] = ()
    nested: Mapping[str, Raw] = field(default_factory=dict)

    @property
    def is_from_file(self) -> bool:
        """Whether the cells are from a file, where 1 and "1" are equal."""
        return self.origin is not None and self.origin.file is not None

    def part(self, start: int, stop: int) -> Table:
        """The rows from start to stop."""
        numbers = np.arange(self.n_rows) if self.rows is None else self.rows
        columns = {name: raw[start:stop] for name, raw in self.columns.items()}
        kept = None if self.kept is None else self.kept.slice(start, stop - start)
        nested = {name: raw[start:stop] for name, raw in self.nested.items()}
        return Table(stop - start, columns, self.origin, numbers[start:stop], kept, nested=nested)

    def take(self, rows: NDArray[np.int64]) -> Table:
        """The rows at these positions."""
        numbers = rows if self.rows is None else self.rows[rows]
        columns = {name: take_rows(raw, rows) for name, raw in self.columns.items()}
        kept = None if self.kept is None else self.kept.take(integers(rows))
        nested = {name: take_rows(raw, rows) for name, raw in self.nested.items()}
        return Table(len(rows), columns, self.origin, numbers, kept, nested=nested)

    def only(self, names: Iterable[str]) -> Table:
        """Some of the columns, in a time that does not depend on the others."""
        columns = {name: self.columns[name] for name in names if name in self.columns}
        return Table(self.n_rows, columns, self.origin, self.rows)

    def with_names(self, names: Iterable[str]) -> Table:
        """The table with columns of these names, as far as they are paths into its objects, or objects themselves.

        They take the place of what they are a part of, or consist of.

        >>> to_table([{"place": {"x": 1.5, "y": 2.5}}]).with_names(["place.x"]).columns["place.x"]
        [1.5]
        """
        wanted = [*names]
        lacking = [name for name in wanted if name not in self.columns]
        if not lacking:
            return self
        whole = {name: self.nested[name] for name in lacking if name in self.nested}
        others = self.columns.keys() - set(wanted)  # a column that is wanted itself has parts, but no paths into it
        parts = values_at({name: self.columns[name] for name in self.columns if name in others}, lacking)
        if not whole and not parts:
            return self
        replaced = {name for name in self.columns for path in parts if path.startswith(f"{name}.")}
        replaced |= {path for path in self.columns for name in whole if path.startswith(f"{name}.")}
        columns = {name: raw for name, raw in self.columns.items() if name not in replaced}
        return replace(self, columns=columns | whole | parts)

    def places_in(self, rows: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Where the rows are in the table that they are a part of; rows: the numbers of its rows (None: 0, 1, ...)."""
        if self.rows is None:
            return np.arange(self.n_rows)
        return self.rows if rows is None else np.searchsorted(rows, self.rows)

    def locate(self, error: TallyError) -> TallyError:
        """An error about a row of this table, with its file and line, or its number in all rows."""
        if error.file is not None:
            return error
        if error.row is None:
            return error if self.origin is None or self.origin.file is None else error.at(file=self.origin.file)
        row = error.row if self.rows is None else int(self.rows[error.row])
        if self.origin is None:
            return error.at(row=row)
        file = self.origin.file if self.origin.files is None else self.origin.files[row]
        row += self.origin.first
        return error.at(row=row, file=file, line=self.origin.line_of(row))

    @property
    def holds_documents(self) -> bool:
        """Whether every row is a file or a mail."""
        return self.origin is not None and self.origin.files is not None

    def holds_prose(self, name: str) -> bool:
        """Whether a column is prose, however short: texts and subjects of files and mails."""
        return name in ("text", "subject") and self.holds_documents

    def tells_origin(self, name: str) -> bool:
        """Whether a column holds the names of the files that the rows are from."""
        return name == "file" and self.holds_documents


def concatenate_tables(tables: Sequence[Table]) -> Table:
    """The rows of several tables as one table, with the origin of the first.

    >>> concatenate_tables([to_table({"a": [1]}), to_table({"a": [2], "b": ["x"]})]).columns
    {'a': [1, 2], 'b': [None, 'x']}
    """
    if len(tables) == 1:
        return tables[0]
    names = dict.fromkeys(name for table in tables for name in table.columns)
    parts = {name: [table.columns.get(name, [None] * table.n_rows) for table in tables] for name in names}
    columns = {name: _concatenated_column(pieces) for name, pieces in parts.items()}
    origin = next((table.origin for table in tables if table.origin is not None), None)
    return Table(sum(table.n_rows for table in tables), columns, origin)


def _concatenated_column(parts: list[Raw]) -> Raw:
    """The parts of a column as one: arrays of one type as such an array, others as a list."""
    kinds = {str(getattr(part, "type", getattr(part, "dtype", None))) for part in parts}
    if len(kinds) == 1 and all(isinstance(part, (pa.Array, pa.ChunkedArray)) for part in parts):
        return pa.chunked_array([chunk for part in parts for chunk in getattr(part, "chunks", [part])])
    if len(kinds) == 1 and all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    if all(is_sparse(part) for part in parts):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return [value for part in parts for value in column_values(part)]


def column_values(raw: Raw) -> list[Any]:
    """A column as a list; a row of a sparse matrix is a dict of amounts."""
    if is_sparse(raw):
        ends = zip(raw.indptr, raw.indptr[1:], strict=False)
        return [dict(zip(raw.indices[a:b].tolist(), raw.data[a:b].tolist(), strict=True)) for a, b in ends]
    return raw.to_pylist() if hasattr(raw, "to_pylist") else list(raw)


def take_rows(raw: Raw, rows: NDArray[np.int64]) -> Raw:
    """The cells of a column at these positions."""
    if isinstance(raw, list):
        return [raw[i] for i in rows.tolist()]
    if not isinstance(raw, (pa.Array, pa.ChunkedArray)):
        return raw[rows]
    try:
        return without_views(raw).take(integers(rows))
    except pa.ArrowNotImplementedError:  # Arrow cannot take rows of every type: one by one
        return [raw[i].as_py() for i in rows.tolist()]


def to_table(data: Any) -> Table:
    """Any tabular data as raw columns.

    >>> to_table([{"a": 1}, {"a": 2, "b": "x"}]).columns
    {'a': [1, 2], 'b': [None, 'x']}
    >>> list(to_table(np.zeros((3, 2))).columns)
    ['x0', 'x1']
    >>> to_table([{"place": {"state": "CA", "size": 3}}]).columns
    {'place.state': ['CA'], 'place.size': [3]}
    """
    if isinstance(data, Table):
        return data
    table = _as_given(data)
    columns, nested = divide_columns(table.columns)
    return replace(table, columns=columns, nested=nested) if nested else table


def _as_given(data: Any) -> Table:
    """Tabular data as raw columns, objects among their values as they are."""
    if is_pandas_frame(data):
        return _from_pandas(data)
    if has_attribute(data, "__arrow_c_stream__") or isinstance(data, pa.RecordBatch):
        return _from_arrow(data)
    if is_sparse(data):
        return Table(data.shape[0], {"x": check_csr(data, "x")})
    if isinstance(data, np.ndarray):
        return _from_numpy(data)
    if isinstance(data, Mapping):
        return _from_mapping(data)
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _from_rows(data)
    expected = "a table: a data frame, a NumPy or sparse matrix, a list of dicts or a dict of lists"
    raise DataError(expected, got=type(data).__name__)


def small_frame(data: Any) -> Any:
    """A pandas frame of a few rows as a table, which may be a matrix; other data as it is."""
    return to_table(data) if is_pandas_frame(data) and len(data) <= _FEW_ROWS else data


def raw_column(values: Any) -> Raw:
    """One column of any kind: a list, an array, a series."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise DataError("a column of values", got=Described(f"an array of shape {values.shape}"))
        return values if values.flags.aligned else values.copy()  # such as a field of packed records
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return without_views(values)
    if isinstance(values, list) or is_sparse(values):
        return values
    if _is_object_series(values):
        return values.to_list()
    if has_attribute(values, "__arrow_c_stream__"):
        try:
            return without_views(pa.chunked_array(values))
        except (pa.ArrowException, TypeError):  # values of several types: encoding names the first that does not fit
            return list(values)
    if has_attribute(values, "__arrow_c_array__"):
        return without_views(pa.array(values))
    if has_attribute(values, "__array__"):
        return raw_column(np.asarray(values))
    if not hasattr(values, "__iter__") or isinstance(values, (str, bytes)):
        raise DataError("a column of values: a list, an array or a series", got=values)
    return list(values)


def _is_object_series(values: Any) -> bool:
    """Whether a series of Polars holds Python objects: through Arrow it would hand out their addresses."""
    return library_of(values) == "polars" and str(getattr(values, "dtype", "")) == "Object"


def _texts(names: Collection[Any]) -> list[str]:
    """The names of columns as text; an error if two are the same."""
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        raise DataError("column names that differ", got=next(text for text in texts if texts.count(text) > 1))
    return texts


def _name_columns(names: Sequence[Any], columns: Sequence[Raw], n_rows: int) -> Table:
    """A table of columns by name; names become text."""
    return Table(n_rows, dict(zip(_texts(names), columns, strict=True)))


def _from_pandas(data: Any) -> Table:
    """Column by column, so that one bad column does not spoil the rest; the index is not a column."""
    if len(data) <= _FEW_ROWS and len(kinds := set(data.dtypes)) == 1 and _is_numeric(kinds.pop()):
        matrix = data.to_numpy()  # a copy of a few rows costs less than a loop over the columns
        return replace(_name_columns(list(data.columns), list(matrix.T), len(data)), matrix=matrix)
    return _name_columns(list(data.columns), [_from_series(values) for _, values in data.items()], len(data))


def _from_series(values: Any) -> Raw:
    return raw_column(values.to_numpy() if _is_numeric(values.dtype) else values)


def _is_numeric(dtype: Any) -> bool:
    """Whether a column of pandas is a NumPy array of numbers, which does not have to go through Arrow."""
    return isinstance(dtype, np.dtype) and dtype.kind in "fiub"


def _from_arrow(data: Any) -> Table:
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    try:
        table = data if isinstance(data, pa.Table) else pa.table(data)
    except pa.ArrowException as error:
        hint = "it has a column of a type that Arrow does not have, or is not a table"
        raise DataError(f"the data frame cannot be read as Arrow: {error}", hint=hint) from error
    columns = list(map(without_views, table.columns))
    if library_of(data) == "polars":
        columns = [
            series.to_list() if _is_object_series(series) else column
            for series, column in zip(data, columns, strict=True)
        ]
    return _name_columns(table.column_names, columns, table.num_rows)


def _from_numpy(data: np.ndarray) -> Table:
    if data.dtype.names:
        return Table(len(data), {name: raw_column(data[name]) for name in data.dtype.names})
    if data.ndim != 2:
        raise DataError("a matrix of rows and columns", got=Described(f"an array of shape {data.shape}"))
    if data.dtype == object:
        return Table(len(data), {f"x{j}": data[:, j].tolist() for j in range(data.shape[1])})
    data = data if data.flags.aligned else data.copy()
    return Table(len(data), {f"x{j}": data[:, j] for j in range(data.shape[1])})


def _is_single(value: Any) -> bool:
    """Whether a dict's value belongs to one row: not a list, array or series."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return value is None or isinstance(value, (str, bytes, Mapping, set, frozenset)) or not hasattr(value, "__len__")


def is_row(data: Mapping[Any, Any]) -> bool:
    """Whether a dict is one row: every value single."""
    return all(_is_single(value) for value in data.values())


def _from_mapping(data: Mapping[Any, Any]) -> Table:
    if is_row(data):
        single = [[_scalar(value)] for value in data.values()]
        return _name_columns(list(data), single, 1)
    columns: dict[str, Raw] = {}
    n_rows: int | None = None
    for name, values in zip(_texts(data), data.values(), strict=True):
        if _is_single(values):
            hint = "give one row that has lists as a list of one dict: [{...}]"
            raise DataError("a column of values", got=values, column=name, hint=hint)
        sparse = is_sparse(values)
        columns[name] = raw = check_csr(values, name) if sparse else raw_column(values)
        length = raw.shape[0] if sparse else len(raw)
        if n_rows is not None and length != n_rows:
            raise DataError(f"{n_rows} values as in the other columns", got=length, column=name)
        n_rows = length
    return Table(n_rows or 0, columns)


def _from_rows(data: Sequence[Any]) -> Table:
    if not all(isinstance(row, Mapping) for row in data):
        try:
            matrix = np.asarray(data)
        except ValueError:
            matrix = np.empty(0, object)
        if matrix.ndim == 2 and matrix.dtype.kind in "biuf":
            return _from_numpy(matrix)
        row = next(i for i, row in enumerate(data) if not isinstance(row, Mapping))
        raise DataError("a dict of column names and values", got=data[row], row=row)
    names = list(data[0]) if data else []
    reals, are_alike = kernels.active.read_real_columns(data, names)
    if not are_alike:
        names = list(dict.fromkeys(name for row_dict in data for name in row_dict))
        if len({str(name) for name in names}) < len(names):  # such as 7 and "7", in different rows
            return _from_rows([dict(zip(_texts(row_dict), row_dict.values(), strict=True)) for row_dict in data])
    read = dict(zip(names, reals, strict=False))
    columns = [[row.get(name) for row in data] if read.get(name) is None else read[name] for name in names]
    return _name_columns(names, columns, len(data))


def _scalar(value: Any) -> Any:
    """An array without dimensions as its value."""
    return (None if is_missing(value) else value.item()) if isinstance(value, np.ndarray) else value
