"""One row at a time: the kernels that keep learning and scoring a single dict in proportion to the row."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Floats, Integers
from tallybayes.errors import DataError
from tallybayes.kernels.contract import checked
from tallybayes.kernels.reference.exact_sums import Digits, sum_columns

Entry = int | tuple[int, Mapping[Any, int], tuple[type, ...]]

_FLOATS = {float, np.float64}
_SCALARS = {np.bool_, np.str_, np.float16, np.float32, np.float64, np.longlong, np.ulonglong}
_SCALARS |= {np.dtype(f"{sign}{size}").type for sign in "iu" for size in (1, 2, 4, 8)}


def read_row(row: Mapping[Any, Any], index: Mapping[str, Entry], values: Floats) -> int:
    """Fill `values` with what a dict holds, NaN where a name is absent or its value None or NaN.

    `index` says what to do with each name, taken as text. A place: the number is put there. A place, codes and
    kinds: if the value is of one of these types, its code is put there, -1 where it has none. -2: the name is passed
    over (the label, columns left out). -1: nothing is known of the column yet, so only a missing value passes.

    Returns how many values have no code; or -1, with `values` undefined, for a row that must take the general path: a
    name outside the index or twice, an infinity, a type that is not foreseen.

    >>> out = np.empty(3)
    >>> read_row({"a": 1.5, "c": "red"}, {"a": 0, "b": 1, "c": (2, {"blue": 0, "red": 1}, (str,))}, out), out
    (0, array([1.5, nan, 1. ]))
    """
    values[:] = np.nan
    unknown, met = 0, set()
    for name, value in row.items():
        entry = index.get(str(name))
        if entry is None:
            return -1
        place, codes, kinds = entry if isinstance(entry, tuple) else (entry, None, (bool, int, float))
        if place == -2:
            continue
        if place in met:
            return -1
        if place >= 0:
            met.add(place)
        number = value.item() if type(value) in _SCALARS else value
        if number is None or (isinstance(number, float) and np.isnan(number)):
            continue
        if place < 0 or type(number) not in kinds:
            return -1
        if codes is None and not (abs(number) < 2**53 if isinstance(number, int) else np.isfinite(number)):
            return -1
        values[place] = number if codes is None else codes.get(number, -1)
        unknown += codes is not None and number not in codes
    return unknown


def learn_row(
    kind: type,
    codes: Mapping[Any, int],
    index: Mapping[str, Entry],
    values: Floats,
    add: Callable[[int, int], bool],
    class_rows: Integers,
    row: Mapping[Any, Any],
    label: Any,
) -> int:
    """Read a dict into `values`, let `add` add it to the sums of its class (see `Family.adder`), and count it.

    kind: the type of the labels; codes: the code of each; class_rows: the rows of each class.

    Returns 0 if the row was learned. Else nothing has changed: how many values have no code, as `read_row` returns
    it, or -1 for a row that must take the general path.
    """
    code = codes.get(label) if type(label) is kind else None
    if code is None:
        return -1
    if unknown := read_row(row, index, values):
        return unknown
    if not 0 <= code < len(class_rows):
        raise DataError(f"codes below {len(class_rows)}", got=code)
    if not add(code, 1):
        return -1
    class_rows[code] += 1
    return 0


def read_real_columns(rows: Sequence[Any], names: Sequence[Any]) -> tuple[list[Floats | None], bool]:
    """The columns of dicts by name, as an array where every value is a float, else None; and whether rows are alike.

    Rows are alike if they are plain dicts that have these names and no others.

    >>> read_real_columns([{"a": 1.5, "b": 1}, {"a": 2.5, "b": 2}], ["a", "b"])
    ([array([1.5, 2.5]), None], True)
    """
    if not all(type(row) is dict for row in rows):
        return [None for _ in names], False
    columns = [[row.get(name) for row in rows] for name in names]
    reals = [np.array(column, np.float64) if set(map(type, column)) <= _FLOATS else None for column in columns]
    return reals, all(len(row) == len(names) and all(name in row for name in names) for row in rows)


@checked(
    "n: columns, classes; x: columns, classes, width; xx: columns, classes, squares; values: columns; "
    "x_low, xx_low: | lowest_place; code: | code classes; sign: | sign"
)
def add_real_row(
    n: Integers, x: Integers, x_low: int, xx: Integers, xx_low: int, values: Floats, code: int, sign: int
) -> bool:
    """Add (sign 1) or take away (sign -1) one row of numbers to the sums of class `code`, in place.

    `n` is (columns, classes), the digits `x` and `xx` are (columns, classes, width) and stay normalised: every digit
    but the last in [0, 2**32), the last signed and below 2**31 in size. Returns False, with nothing changed, if the
    row does not fit between the lowest and the highest digit; the general path then widens the digits.
    """
    _, row_x, row_xx, _ = _row_sums(values, 2)
    assert row_xx is not None
    after, squares_after = _after(x, x_low, row_x, code, sign), _after(xx, xx_low, row_xx, code, sign)
    if after is None or squares_after is None:
        return False
    x[:, code], xx[:, code] = after, squares_after
    n[:, code] += sign * ~np.isnan(values)
    return True


def _row_sums(values: Floats, order: int) -> tuple[Digits, Digits, Digits | None, int]:
    """The sums of a single row."""
    columns: list[NDArray[np.floating]] = [values[j : j + 1] for j in range(len(values))]
    return sum_columns(columns, np.zeros(1, np.int32), 1, None, order, 0, 1)


def _after(digits: Integers, low: int, part: Digits, code: int, sign: int) -> Integers | None:
    """The digits of a class with a row added, or None if it does not fit."""
    after = digits[:, code].copy()
    for k in range(part[0].shape[-1]):
        place = part[1] + k - low
        if 0 <= place < digits.shape[-1]:
            after[:, place] += sign * part[0][:, 0, k]
        elif part[0][:, 0, k].any():
            return None
    for k in range(digits.shape[-1] - 1):
        after[:, k + 1] += after[:, k] >> 32
        after[:, k] &= 0xFFFFFFFF
    return None if np.abs(after[:, -1]).max(initial=0) >= 2**31 else after


@checked(
    "n, x: columns, classes; log_factorial: columns, classes, width; low: | lowest_place; values, terms: columns; "
    "code: | code classes; sign: | sign"
)
def add_event_row(
    n: Integers, x: Integers, log_factorial: Integers, low: int, values: Floats, terms: Floats, code: int, sign: int
) -> bool:
    """Add or take away one row of counts of events, whose log factorials are `terms`, as `add_real_row` does for reals.

    `n` and `x` are integers, (columns, classes). Returns False, with nothing changed, if the row does not fit or a
    value is not an integer in 0 .. 2**53.
    """
    there = ~np.isnan(values)
    x_there = values[there]
    are_counts = np.all((x_there >= 0) & (x_there <= 2.0**53) & (x_there == np.floor(x_there)))
    room = 2 ** (61 if sign > 0 else 62)
    fits = np.all((x[there, code] > -room) & (x[there, code] < room))
    if not are_counts or not fits:
        return False
    after = _after(log_factorial, low, _row_sums(np.where(there, terms, np.nan), 1)[1], code, sign)
    if after is None:
        return False
    log_factorial[:, code] = after
    x[there, code] += sign * x_there.astype(np.int64)
    n[there, code] += sign
    return True


@checked("no, yes: columns, classes; values: columns; code: | code classes; sign: | sign")
def add_flag_row(no: Integers, yes: Integers, values: Floats, code: int, sign: int) -> bool:
    """Add or take away one row of zeros and ones to the counts (columns, classes) of class `code`, in place."""
    no[:, code] += sign * (values == 0)
    yes[:, code] += sign * (values == 1)
    return True


@checked(
    "table: lines, classes; totals: columns, classes; values: columns; code: | code classes; "
    "values: columns | known_slots lines"
)
def count_value_row(table: Integers, totals: Integers, values: Floats, code: int) -> int:
    """Count one row of categories: 1 more in table[value, code] and totals[column, code] for every value that is there.

    Returns how many of these cells of the table were 0.
    """
    there = np.flatnonzero(~np.isnan(values))
    rows = values[there].astype(np.int64)
    fresh = int((table[rows, code] == 0).sum())
    table[rows, code] += 1  # every column has rows of its own
    totals[there, code] += 1
    return fresh
