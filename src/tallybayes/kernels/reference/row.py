"""One row at a time: the two kernels that keep learning and scoring a single dict in proportion to the row."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tallybayes.kernels.reference.sums import sums


def read_row(row: Mapping[str, object], index: Mapping[str, int], values: NDArray[np.float64]) -> int:
    """Fill `values` with the numbers of a dict, NaN where a name is absent or None; returns how many were there.

    `index` tells where each name belongs; names at a negative place (the label, columns left out) are passed over.

    Returns -1, and leaves `values` undefined, if the row holds a name outside the index, an infinity, or anything
    but None, a float or an int below 2**53 in size: such a row takes the general way.

    >>> out = np.empty(2)
    >>> read_row({"a": 1.5}, {"a": 0, "b": 1}, out), out
    (1, array([1.5, nan]))
    """
    values[:] = np.nan
    count = 0
    for name, value in row.items():
        place = index.get(name)
        if place is None:
            return -1
        if place < 0:
            continue
        if value is None:
            continue
        if (type(value) is int and abs(value) < 2**53) or (type(value) is float and not np.isinf(value)):
            values[place] = value
        else:
            return -1
        count += not np.isnan(values[place])
    return count


def add_row(
    n: NDArray[np.int64],
    x: NDArray[np.int64],
    x_low: int,
    xx: NDArray[np.int64],
    xx_low: int,
    values: NDArray[np.float64],
    code: int,
    sign: int,
) -> bool:
    """Add (sign 1) or take away (sign -1) one row of numbers to the sums of class `code`, in place.

    `n` is (columns, classes), the digits `x` and `xx` are (columns, classes, width) and stay normalised: every digit
    but the last in [0, 2**32), the last signed and below 2**31 in size. Returns False, with nothing changed, if the
    row does not fit between the lowest and the highest digit; the general way then widens the digits.
    """
    columns: list[NDArray[np.floating]] = [values[j : j + 1] for j in range(len(values))]
    _, row_x, row_xx, _ = sums(columns, np.zeros(1, np.int32), 1, None, 2, 0, 1)
    assert row_xx is not None
    changed = []
    for digits, low, (part, part_low) in ((x, x_low, row_x), (xx, xx_low, row_xx)):
        after = digits[:, code].copy()
        for k in range(part.shape[-1]):
            place = part_low + k - low
            if 0 <= place < digits.shape[-1]:
                after[:, place] += sign * part[:, 0, k]
            elif part[:, 0, k].any():
                return False
        for k in range(digits.shape[-1] - 1):
            after[:, k + 1] += after[:, k] >> 32
            after[:, k] &= 0xFFFFFFFF
        if np.abs(after[:, -1]).max(initial=0) >= 2**31:
            return False
        changed.append(after)
    x[:, code], xx[:, code] = changed
    n[:, code] += sign * ~np.isnan(values)
    return True
