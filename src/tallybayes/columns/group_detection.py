"""Columns whose values look like groups of rows: hosts with several listings, patients with several visits.

If the label belongs to the host and other columns tell who the host is, a model that has seen some of his listings
knows the label of the others. Estimates by single rows are then far too good for new hosts. Groups are looked for in
the first rows, one column at a time. A column looks like groups if all of this holds:

* It has many values with few rows each: at least 30, at most 100 rows each on average, and at least half of all rows
  share their value with another row. There are at least ten such values for each class.
* Two rows with the same value have the same label much more often than two rows at random: of the way from chance to
  always, agreement goes at least half (the intraclass correlation of the label).
* Neighbouring values, in order, agree less than half as much. The lengths of the petals of an iris repeat, and rows
  with equal lengths are of the same species; but so are rows with nearly equal lengths. A host tells nothing about the
  next one.

Numbers with a fraction are measurements, and are not looked at; nor are whole numbers that were rounded, as heights of
summits are: many of their values are multiples of ten. Of several columns, those that are named as an
identifier come first, then those that tell most about the label, then those with fewer values.

Origin of the limits: on 75 tables and the other data sets of the benchmarks no column fulfils them by chance. A column
of categories that determines the label, such as the city where the label is the country, has far more rows per value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.cells.arrow import combine_chunks, is_text_type, to_numpy
from tallybayes.columns.identifier import named_as_identifier
from tallybayes.columns.label import are_reals, encode_labels
from tallybayes.columns.readers.key_reader import as_codes
from tallybayes.errors import TallyError
from tallybayes.tables.raw_values import has_fraction
from tallybayes.tables.source import HEAD
from tallybayes.tables.table import Raw, Table

__all__ = ["GroupColumn", "group_columns"]

_VALUES, _VALUES_PER_CLASS = 30, 10  # different values, at least
_ROWS_PER_VALUE = 100.0  # on average, at most
_SHARED = 0.5  # of the rows share their value with another one, at least
_AGREEMENT = 0.5  # from chance (0) to always (1), at least
_OF_NEIGHBOURS = 0.5  # times the agreement within values: neighbouring values agree less
_ROUNDED = 0.3  # of the values are multiples of ten, more than a tenth by chance: once in 500 columns of 30 values
_SOME = 500  # rows that show whether a column may have enough values
_COLUMNS = 1000  # of wide tables, only columns that are named as identifiers are looked at


@dataclass(frozen=True)
class GroupColumn:
    """A column that looks like groups: how many values it has in how many rows, and how much labels agree within."""

    name: str
    n_values: int
    n_rows: int
    agreement: float


def group_columns(head: Table, names: Iterable[str], codes: NDArray[np.integer[Any]]) -> list[GroupColumn]:
    """The columns that look like groups of rows, the likeliest first; codes: the classes of the rows, -1 for none.

    >>> rows = np.arange(600)
    >>> head = Table(600, {"host": rows // 4 * 7 % 150, "beds": rows % 5, "rate": rows / 7})
    >>> group_columns(head, head.columns, rows // 4 % 2)[0]
    GroupColumn(name='host', n_values=150, n_rows=600, agreement=1.0)
    >>> group_columns(head, head.columns, rows % 2)
    []
    """
    codes = codes[:HEAD]
    known = np.flatnonzero(codes >= 0)
    n_classes = len(np.unique(codes[known]))
    if n_classes < 2 or len(known) < 2 * _VALUES:
        return []
    listed = list(names)
    listed = listed if len(listed) <= _COLUMNS else [name for name in listed if named_as_identifier(name)]
    some = head.only(listed).take(known[np.linspace(0, len(known) - 1, min(_SOME, len(known))).astype(np.int64)])
    likely = [name for name in listed if _may_have_values(name, some.columns)]
    cells = head.only(likely).part(0, len(codes))
    cells = cells if len(known) == len(codes) else cells.take(known)
    found = [_judge(name, cells.columns, codes[known].astype(np.int64), n_classes) for name in likely]
    columns = [column for column in found if column is not None]
    return sorted(columns, key=lambda one: (not named_as_identifier(one.name), -one.agreement, one.n_values, one.name))


def _may_have_values(name: str, cells: Mapping[str, Raw]) -> bool:
    """Whether a few rows have nearly as many values as a column needs, none of them with a fraction."""
    raw, needed = cells[name], 0.8 * _VALUES
    if type(raw) is np.ndarray and raw.dtype.kind in "iu" and int(raw.max()) - int(raw.min()) < needed - 1:
        return False
    codes = _codes(name, cells)
    return codes is not None and len(np.unique(codes[codes >= 0])) >= needed


def _codes(name: str, cells: Mapping[str, Raw]) -> NDArray[np.int64] | None:
    """The values of a column, numbered in their order, -1 where missing; None if they cannot be groups."""
    raw = combine_chunks(cells[name]) if isinstance(cells[name], pa.ChunkedArray) else cells[name]
    if isinstance(raw, pa.Array) and is_text_type(raw.type):
        encoded = as_codes(name, raw)
        return _place(encoded.codes, sorted(range(len(encoded.keys)), key=lambda code: str(encoded.keys[code])))
    if isinstance(raw, pa.Array) and (pa.types.is_integer(raw.type) or pa.types.is_floating(raw.type)):
        raw = to_numpy(raw)
    if type(raw) is np.ndarray and raw.ndim == 1 and raw.dtype.kind in "iuf":
        return _number_codes(raw)
    try:
        labels = encode_labels(name, raw)
    except (TallyError, TypeError):  # lists, maps, values of several types
        return None
    has_reals = are_reals(raw) and has_fraction(np.array(labels.keys, np.float64))
    return None if has_reals else labels.codes.astype(np.int64)


def _place(codes: NDArray[np.integer[Any]], order: list[int]) -> NDArray[np.int64]:
    """Codes by the places of their keys in an order; -1 stays."""
    places = np.full(len(order) + 1, -1, np.int64)
    places[order] = np.arange(len(order))
    return np.asarray(places[np.where((codes < 0) | (codes >= len(order)), len(order), codes)])


def _number_codes(values: NDArray[Any]) -> NDArray[np.int64] | None:
    """Whole numbers, numbered in their order; None if one has a fraction."""
    if values.dtype.kind != "f":
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    if has_fraction(values):
        return None
    known = np.isfinite(values)
    result = np.full(len(values), -1, np.int64)
    result[known] = np.unique(values[known], return_inverse=True)[1]
    return result


def _judge(name: str, cells: Mapping[str, Raw], classes: NDArray[np.int64], n_classes: int) -> GroupColumn | None:
    """The column, if it looks like groups."""
    codes = _codes(name, cells)
    if codes is None or len(codes) != len(classes):
        return None
    n_rows = len(classes)
    classes, codes = classes[codes >= 0], codes[codes >= 0]
    sizes = np.bincount(codes) if len(codes) else np.zeros(1, np.int64)
    n_values, shared = int((sizes > 0).sum()), int(sizes[sizes > 1].sum())
    several = np.flatnonzero(sizes > 1)
    if n_values < _VALUES or len(codes) > _ROWS_PER_VALUE * n_values or shared < _SHARED * n_rows:
        return None
    if len(several) < _VALUES_PER_CLASS * n_classes:
        return None
    rows, place = sizes[codes] > 1, np.cumsum(sizes > 1) - 1
    within, beside = _agreements(place[codes[rows]], classes[rows])
    if within < _AGREEMENT or beside >= _OF_NEIGHBOURS * within:
        return None
    if not named_as_identifier(name) and _are_rounded(cells[name]):
        return None
    return GroupColumn(name, n_values, len(codes), round(within, 6))


def _are_rounded(raw: Raw) -> bool:
    """Whether many of the different whole numbers of a column, but not all, are multiples of ten.

    >>> _are_rounded(np.array([8848, 8000, 7900, 7550, 6812])), _are_rounded(np.array([10, 20, 30]))
    (True, False)
    """
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        raw = to_numpy(combine_chunks(raw)) if pa.types.is_integer(raw.type) or pa.types.is_floating(raw.type) else []
    values = np.asarray(raw)
    if values.dtype.kind not in "iuf" or not len(values):
        return False
    known = np.unique(values[np.isfinite(values)])
    return bool(_ROUNDED <= np.mean(known % 10 == 0) < 1)


def _agreements(codes: NDArray[np.int64], classes: NDArray[np.int64]) -> tuple[float, float]:
    """How much labels agree within values and between neighbouring ones, from chance (0) to always (1).

    Every row of a value counts once, by the share of the others that agree with it.
    """
    n_classes = int(classes.max()) + 1
    cells, counts = np.unique(codes * n_classes + classes, return_counts=True)
    value, sizes = cells // n_classes, np.bincount(codes)
    chance = float(((np.bincount(classes) / len(classes)) ** 2).sum())
    if chance >= 1:
        return 0.0, 0.0
    within = float((counts * (counts - 1.0) / (sizes[value] - 1)).sum()) / len(classes)
    shares = counts / sizes[value]
    place = np.minimum(np.searchsorted(cells, cells + n_classes), len(cells) - 1)  # of the same class, next value
    beside = shares * np.where(cells[place] == cells + n_classes, shares[place], 0.0)
    at_most = np.minimum(sizes, np.append(sizes[1:], 0))  # rows of a value that are compared with the next one
    neighbours = float((at_most[value] * beside).sum()) / max(int(at_most.sum()), 1)
    return (within - chance) / (1 - chance), (neighbours - chance) / (1 - chance)
