"""Any table as named raw columns.

Data frames of every kind come through the Arrow C stream (`__arrow_c_stream__`: pandas, Polars, pyarrow, DuckDB);
NumPy matrices have the columns x0, x1, ...; a SciPy sparse matrix is one bag named x; then lists of dicts, dicts of
lists, and a dict of single values, which is one row. Nothing is copied here that need not be. What comes in batches
(files, queries, streams) is the business of `tallybayes.data.source`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.arrays.sparse_matrix import checked_csr, is_sparse
from tallybayes.data.arrow import integers
from tallybayes.errors import DataError, TallyError

__all__ = ["Origin", "Raw", "Table", "is_missing", "is_row", "raw_column", "to_table"]

_FEW_ROWS = 64

Raw = Any  # a NumPy array, an Arrow (chunked) array, a list, or a SciPy sparse matrix


@dataclass(frozen=True, eq=False)
class Origin:
    """Where rows come from: the number of the first one, the file (or a file each), the line of a row by its number."""

    first: int
    file: str | None = None
    line_of: Callable[[int], int | None] = lambda row: None
    files: Sequence[str] | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """Raw columns by name, all of one length; where they come from; the cells of a file as they were, if asked for."""

    n_rows: int
    columns: dict[str, Raw]
    origin: Origin | None = None
    rows: NDArray[np.int64] | None = None  # the numbers of the rows, where some were left out
    kept: pa.Table | None = None
    matrix: NDArray[np.generic] | None = None  # the columns side by side, where a few rows have come like that

    @property
    def is_from_file(self) -> bool:
        """Whether the cells come from a file, where 1 and "1" are one."""
        return self.origin is not None and self.origin.file is not None

    def part(self, start: int, stop: int) -> Table:
        """Some of the rows."""
        numbers = np.arange(self.n_rows) if self.rows is None else self.rows
        columns = {name: raw[start:stop] for name, raw in self.columns.items()}
        kept = None if self.kept is None else self.kept.slice(start, stop - start)
        return Table(stop - start, columns, self.origin, numbers[start:stop], kept)

    def take(self, rows: NDArray[np.int64]) -> Table:
        """Some of the rows, by their numbers."""
        numbers = rows if self.rows is None else self.rows[rows]
        columns = {
            name: [raw[i] for i in rows.tolist()]
            if isinstance(raw, list)
            else raw.take(integers(rows))
            if isinstance(raw, (pa.Array, pa.ChunkedArray))
            else raw[rows]
            for name, raw in self.columns.items()
        }
        kept = None if self.kept is None else self.kept.take(integers(rows))
        return Table(len(rows), columns, self.origin, numbers, kept)

    def located(self, error: TallyError) -> TallyError:
        """An error about a row of this table, with the file and line, or the row's number in the whole."""
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

    def holds_prose(self, name: str) -> bool:
        """Whether a column is prose, however little of it there is: texts and subjects of files and mails."""
        return name in ("text", "subject") and self.origin is not None and self.origin.files is not None

    def tells_origin(self, name: str) -> bool:
        """Whether a column says where rows come from, and nothing else."""
        return name == "file" and self.origin is not None and self.origin.files is not None


def to_table(data: Any) -> Table:
    """Any tabular data as raw columns.

    >>> to_table([{"a": 1}, {"a": 2, "b": "x"}]).columns
    {'a': [1, 2], 'b': [None, 'x']}
    >>> list(to_table(np.zeros((3, 2))).columns)
    ['x0', 'x1']
    """
    if isinstance(data, Table):
        return data
    if type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
        return _from_pandas(data)
    if hasattr(data, "__arrow_c_stream__") or isinstance(data, pa.RecordBatch):
        return _from_arrow(data)
    if is_sparse(data):
        return Table(data.shape[0], {"x": checked_csr(data, "x")})
    if isinstance(data, np.ndarray):
        return _from_numpy(data)
    if isinstance(data, Mapping):
        return _from_mapping(data)
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _from_rows(data)
    raise DataError(
        "a table: a data frame, a NumPy or sparse matrix, a list of dicts or a dict of lists", got=type(data).__name__
    )


def raw_column(values: Any) -> Raw:
    """One column of any kind: a list, an array, a series."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise DataError("a column of values", got=f"an array of shape {values.shape}")
        return values
    if isinstance(values, (list, pa.Array, pa.ChunkedArray)) or is_sparse(values):
        return values
    if hasattr(values, "__arrow_c_stream__"):
        try:
            return pa.chunked_array(values)
        except (pa.ArrowException, TypeError):  # values of several types: the door says which
            return list(values)
    if hasattr(values, "__arrow_c_array__"):
        return pa.array(values)
    if hasattr(values, "__array__"):
        return raw_column(np.asarray(values))
    if not hasattr(values, "__iter__") or isinstance(values, (str, bytes)):
        raise DataError("a column of values: a list, an array or a series", got=values)
    return list(values)


def _named(names: Sequence[Any], columns: Sequence[Raw], n_rows: int) -> Table:
    """Columns by name; names are text."""
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        twice = next(name for name in texts if texts.count(name) > 1)
        raise DataError("column names that differ", got=twice)
    return Table(n_rows, dict(zip(texts, columns, strict=True)))


def _from_pandas(data: Any) -> Table:
    """Column by column, so that one bad column does not spoil the rest; the index is no column."""
    if len(data) <= _FEW_ROWS and len(kinds := set(data.dtypes)) == 1 and _is_numeric(kinds.pop()):
        columns = list(data.to_numpy().T)  # of a few rows a copy costs less than a look at every column
    else:
        columns = [_from_series(values) for _, values in data.items()]
    return _named(list(data.columns), columns, len(data))


def _from_series(values: Any) -> Raw:
    return values.to_numpy() if _is_numeric(values.dtype) else raw_column(values)


def _is_numeric(dtype: Any) -> bool:
    """Whether a column of pandas is a NumPy array of numbers, which need not go through Arrow."""
    return isinstance(dtype, np.dtype) and dtype.kind in "fiub"


def _from_arrow(data: Any) -> Table:
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    try:
        table = data if isinstance(data, pa.Table) else pa.table(data)
    except pa.ArrowException as error:
        raise DataError(
            f"the data frame cannot be read as Arrow: {error}",
            hint="a column of a kind that Arrow does not know, or something that is not a table",
        ) from error
    names = table.column_names
    return _named(names, table.columns, table.num_rows)


def _from_numpy(data: np.ndarray) -> Table:
    if data.dtype.names:
        return Table(len(data), {name: data[name] for name in data.dtype.names})
    if data.ndim != 2:
        raise DataError("a matrix of rows and columns", got=f"an array of shape {data.shape}")
    if data.dtype == object:
        return Table(len(data), {f"x{j}": data[:, j].tolist() for j in range(data.shape[1])})
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
        single = [[value.item() if isinstance(value, np.ndarray) else value] for value in data.values()]
        return _named(list(data), single, 1)
    columns: dict[str, Raw] = {}
    n_rows: int | None = None
    for name, values in data.items():
        if _is_single(values):
            raise DataError(
                "a column of values",
                got=values,
                column=str(name),
                hint="one row with a list in it is [{...}], a list of one dict",
            )
        if str(name) in columns:
            raise DataError("column names that differ", got=str(name))
        sparse = is_sparse(values)
        columns[str(name)] = raw = checked_csr(values, str(name)) if sparse else raw_column(values)
        length = raw.shape[0] if sparse else len(raw)
        if n_rows is not None and length != n_rows:
            raise DataError(f"{n_rows} values as in the other columns", got=length, column=str(name))
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
    names: dict[Any, None] = {}
    for row_dict in data:
        names.update(dict.fromkeys(row_dict))
    return _named(list(names), [[row.get(name) for row in data] for name in names], len(data))


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas' NA refuses to be a truth value
        return True
    except ValueError:  # an array
        return False
