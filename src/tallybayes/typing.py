"""Types of what the public functions take, for editors and type checkers.

>>> from collections.abc import Iterable
>>> import tallybayes as tb
>>> def likeliest(model: tb.Model, rows: "Iterable[tb.typing.RowLike]") -> list[object]:
...     return [model.predict_one(row) for row in rows]

They describe what is accepted, not how it is read: a value of such a type can still be refused, with an error that
names the column and the row.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from numpy.typing import NDArray

__all__ = ["ArrayLike", "GroupLike", "LabelLike", "RowLike", "TableLike", "WeightLike"]


class _ArrowStream(Protocol):
    """A data frame of pandas, Polars or DuckDB, an Arrow table: whatever exports its rows as a stream of Arrow."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


class _LazyFrame(Protocol):
    """A lazy frame of Polars."""

    def collect_batches(self, *args: Any, **options: Any) -> Any: ...


class _Dataset(Protocol):
    """An Arrow dataset."""

    def scanner(self, *args: Any, **options: Any) -> Any: ...

    def to_batches(self, *args: Any, **options: Any) -> Any: ...


class _Source(Protocol):
    """What `tallybayes.read` returns."""

    def head(self) -> Any: ...

    def batches(self, *args: Any, **options: Any) -> Any: ...


class _RawColumns(Protocol):
    """A table of the library itself: raw columns by name."""

    @property
    def n_rows(self) -> int: ...

    @property
    def columns(self) -> Mapping[str, Any]: ...


class _SparseMatrix(Protocol):
    """A sparse matrix or array of SciPy."""

    def tocsr(self, copy: bool = False) -> Any: ...


class _Array(Protocol):
    """A series of pandas or Polars, an Arrow array: whatever NumPy can read."""

    def __array__(self, *args: Any, **options: Any) -> NDArray[Any]: ...


_Path: TypeAlias = str | os.PathLike[str]

RowLike: TypeAlias = Mapping[Any, Any]
"""One row: its values by the names of the columns. An absent column is a missing value."""

TableLike: TypeAlias = (
    _ArrowStream
    | NDArray[Any]
    | _SparseMatrix
    | Mapping[Any, Any]
    | Sequence[RowLike]
    | Sequence[Sequence[Any]]
    | _Path
    | Sequence[_Path]
    | _LazyFrame
    | _Dataset
    | Iterator[Any]
    | _Source
    | _RawColumns
)
"""Rows: a data frame of any kind, a NumPy or sparse matrix, dicts (of lists, or one per row), paths, globs or a query,
a lazy frame, a dataset, an iterator of batches, or what `tallybayes.read` returns."""

ArrayLike: TypeAlias = Sequence[Any] | NDArray[Any] | _Array
"""One value for each row."""

LabelLike: TypeAlias = str | int | ArrayLike | None
"""The label of every row: the name of a column, `"column=value"`, or an array; None: as the model was fitted."""

GroupLike: TypeAlias = str | ArrayLike | None
"""The group of every row: the name of a column, or an array; None: as the model was fitted."""

WeightLike: TypeAlias = str | ArrayLike | None
"""The weight of every row: the name of a column, or an array of numbers from 0; None: as the model was fitted, or 1."""
