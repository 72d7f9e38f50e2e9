"""Data divided into parts, such as for training, validation and test: every row is in one of them.

    by class   of every class each part gets its share, rounded up or down; what rounding takes from a part in one class
               it gets back in another. The rows of a class are shuffled by the seed.
    by group   whole groups: the largest first, each to the part that lacks most of the classes of its rows.
    by time    the earliest rows are the first part, and so on; rows of the same time are in one part.

Rows without a label are one more class, rows without a group one more group. Within a part, rows are in the order of
the data. Near copies of a text are not looked for; a group keeps them together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.random_stream import row_stream
from tallybayes.columns.label import encode_labels
from tallybayes.columns.label_spec import LabelSpec
from tallybayes.errors import DataError, Described, ParameterError, check_integer, did_you_mean, is_real_number
from tallybayes.evaluation.row_times import row_times
from tallybayes.io.read import to_source
from tallybayes.io.whole_table import read_whole
from tallybayes.tables.row_selection import select_rows, to_arrow
from tallybayes.tables.source import TableSource, as_columns
from tallybayes.tables.table import Table
from tallybayes.typing import GroupLike, LabelLike, TableLike

__all__ = ["SplitRequest", "assign_parts", "split"]

Parts = NDArray[np.int64]

_MISSING = "\0missing"  # the class or group of all rows without one
_TOLERANCE = 1e-9  # of the sum of the shares: thirds do not sum to 1 exactly


def split(
    data: TableLike,
    label: LabelLike = None,
    *,
    parts: Sequence[float] = (60, 20, 20),
    seed: int = 0,
    group: GroupLike = None,
    time: Any = None,
) -> tuple[Any, ...]:
    """Divide data into parts, such as for training, validation and test.

    label: a column, or an array; every part gets its share of the rows of each class.
    parts: the shares of the rows, which sum to 100 or to 1.
    seed: another seed gives other parts; the same seed gives the same parts of the same rows.
    group: a column, or an array; rows of one group are in one part.
    time: a column, or an array; the earliest rows are the first part. Seed and label are not used then.

    An array of labels divides the data and is not divided itself: put it into the data to have its parts, too.

    Each part is of the kind of the data: pandas of pandas, a list of a list. Files, queries and streams give Arrow
    tables.

    >>> import tallybayes as tb
    >>> rows = [{"x": i, "y": "ab"[i % 2]} for i in range(10)]
    >>> train, validation, test = tb.split(rows, label="y")
    >>> len(train), len(validation), len(test)
    (6, 2, 2)
    >>> sorted(row["y"] for row in test), sorted(row["x"] for part in (train, validation, test) for row in part)
    (['a', 'b'], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    >>> [[row["x"] for row in part] for part in tb.split(rows, parts=(0.5, 0.5), time="x")]
    [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    """
    source = to_source(data)
    is_table = isinstance(source, TableSource) and source is not data
    table = source.head() if is_table else read_whole(source)
    named, label_name, group_name = as_columns(TableSource(table), label, group, words=("label", "group"))
    named, time_name, _ = as_columns(named, time, words=("time", ""))
    request = SplitRequest.of(parts, seed, label=label_name, group=group_name, time=time_name)
    numbers = assign_parts([named.head()], request)
    divided = [np.flatnonzero(numbers == part) for part in range(len(request.shares))]
    if is_table:
        return tuple(select_rows(data, rows) for rows in divided)
    whole = to_arrow(table)
    return tuple(select_rows(whole, rows) for rows in divided)


@dataclass(frozen=True)
class SplitRequest:
    """How rows are to be divided: shares that sum to 1, and the names of columns."""

    shares: tuple[float, ...]
    seed: int = 0
    label: Any = None
    group: str | None = None
    time: str | None = None

    @classmethod
    def of(
        cls, parts: Any, seed: Any = 0, *, label: Any = None, group: str | None = None, time: str | None = None
    ) -> SplitRequest:
        """A request, checked.

        >>> SplitRequest.of((60, 20, 20)).shares
        (0.6, 0.2, 0.2)
        """
        hint = "shares that sum to 100 or to 1, such as (60, 20, 20) (--parts 60,20,20)"
        if isinstance(parts, (str, bytes)) or not isinstance(parts, Iterable):
            raise ParameterError("parts: a share for each part", got=parts, hint=hint)
        shares = list(parts)
        if not shares:
            raise ParameterError("parts: at least one share", got=shares, hint=hint)
        for share in shares:
            if not is_real_number(share) or not 0 < share < np.inf:
                raise ParameterError("parts: positive numbers", got=share, hint=hint)
        total = float(sum(shares))
        if not any(abs(total / whole - 1) < _TOLERANCE for whole in (1, 100)):
            raise ParameterError("parts that sum to 100 or to 1", got=Described(f"a sum of {total:g}"), hint=hint)
        check_integer("seed", seed, at_least=0)
        if group is not None and time is not None:
            raise ParameterError("group or time", got=Described("both"))
        return cls(tuple(float(share) / total for share in shares), seed, label, group, time)


def assign_parts(tables: Iterable[Table], request: SplitRequest, spec: LabelSpec | None = None) -> Parts:
    """The part of every row of some tables, which are read once; spec: how labels are read.

    >>> assign_parts([Table(4, {"y": ["a", "a", "b", "b"]})], SplitRequest.of((50, 50), label="y")).tolist()
    [1, 0, 1, 0]
    """
    classes, groups, times = list[Any](), list[Any](), [np.zeros(0)]
    for table in tables:
        names = table.columns
        for word, name in (("group", request.group), ("time", request.time)):
            if name is not None and name not in names:
                hint = did_you_mean(str(name), names, "columns")
                raise ParameterError(f"{word}: the name of a column", got=name, hint=hint)
        if request.time is not None:
            times.append(row_times(table, request.time))
            continue
        try:
            classes += _classes(table, request.label, spec or LabelSpec())
            groups += _keys(table, request.group)
        except DataError as error:
            raise table.locate(error) from None
    if request.time is not None:
        parts = _by_time(np.concatenate(times), request)
    elif request.group is not None:
        parts = _by_group(classes, groups, request)
    else:
        parts = _by_class(classes, request)
    sizes = np.bincount(parts, minlength=len(request.shares))
    if not sizes.all():
        expected = f"enough rows for a row in each of {len(sizes)} parts"
        raise DataError(expected, got=Described(f"parts of {', '.join(map(str, sizes))} rows"))
    return parts


def _classes(table: Table, label: Any, spec: LabelSpec) -> list[Any]:
    """The class of every row; without a label all rows are of one."""
    if label is None:
        return [_MISSING] * table.n_rows
    labels = spec.read(table, label)
    keys = [*labels.keys, _MISSING]
    return [keys[code] for code in labels.codes.tolist()]


def _keys(table: Table, name: str | None) -> list[Any]:
    """The group of every row."""
    if name is None:
        return []
    found = encode_labels(name, table.columns[name])
    keys = [*found.keys, _MISSING]
    return [keys[code] for code in found.codes.tolist()]


def _numbered(values: list[Any]) -> tuple[NDArray[np.int64], int]:
    """Values by their places in an order that does not depend on that of the rows, and how many there are."""
    ordered = sorted(set(values), key=lambda value: (type(value).__name__, str(value)))
    places = {value: place for place, value in enumerate(ordered)}
    return np.array([places[value] for value in values], np.int64), len(ordered)


def _by_class(classes: list[Any], request: SplitRequest) -> Parts:
    """Of every class the share of each part, rounded up or down so that the sums of all classes are right too."""
    shares, codes = np.array(request.shares), _numbered(classes)
    rng = row_stream(request.seed, "split")
    parts, owed = np.zeros(len(classes), np.int64), np.zeros(len(shares))
    order = np.argsort(codes[0], kind="stable")
    for members in np.split(order, np.cumsum(np.bincount(codes[0], minlength=codes[1]))[:-1]):
        exact = shares * len(members)
        sizes = np.floor(exact + _TOLERANCE).astype(np.int64)
        owed += exact - sizes
        n_left = len(members) - int(sizes.sum())
        fractions = np.where(exact - sizes > _TOLERANCE, owed, -np.inf)  # a share that is whole stays it
        more = np.argsort(-fractions, kind="stable")[:n_left]
        sizes[more] += 1
        owed[more] -= 1
        parts[members] = rng.permutation(np.repeat(np.arange(len(shares)), sizes))
    return parts


def _by_group(classes: list[Any], groups: list[Any], request: SplitRequest) -> Parts:
    """Groups to parts, the largest first; each to the part that lacks most of the classes of its rows."""
    (of_class, n_classes), (of_group, n_groups) = _numbered(classes), _numbered(groups)
    shares = np.array(request.shares)
    if n_groups < len(shares):
        raise DataError(f"at least {len(shares)} groups, one for each part", got=n_groups)
    rows = np.zeros((n_groups, n_classes))
    np.add.at(rows, (of_group, of_class), 1)
    totals = rows.sum(axis=0)
    lacking = shares[:, None] * totals
    shuffled = row_stream(request.seed, "split").permutation(n_groups)
    place, empty = np.zeros(n_groups, np.int64), set(range(len(shares)))
    ordered = shuffled[np.argsort(-rows.sum(axis=1)[shuffled], kind="stable")]
    for n_left, group in zip(itertools.count(n_groups, -1), ordered.tolist(), strict=False):
        wanted = lacking @ (rows[group] / totals)
        if n_left == len(empty):  # every part gets a group
            wanted[[part for part in range(len(shares)) if part not in empty]] = -np.inf
        place[group] = part = int(wanted.argmax())
        lacking[part] -= rows[group]
        empty.discard(part)
    return place[of_group]


def _by_time(times: NDArray[np.float64], request: SplitRequest) -> Parts:
    """Consecutive parts in the order of time; a time belongs to the part of its first row."""
    before = np.searchsorted(np.sort(times), times, side="left")  # the rows that are earlier
    ends = np.round(np.cumsum(request.shares)[:-1] * len(times))
    return np.searchsorted(ends, before, side="right").astype(np.int64)
