"""Exact sums of x and x*x per column and class.

A number that a double can hold is an integer times a power of two, and so is every product and sum of such numbers.
A sum is therefore kept as digits in base 2**32: the value of a cell is

    sum over k of  digits[..., k] * 2**(32 * (low + k))

with every digit but the last in [0, 2**32) and the last one signed (Neal 2015 calls this a small superaccumulator).
Nothing is ever rounded, so the order of the rows cannot matter. A table of integers that fit into int64 is the
special case of one digit at low = 0, and then the digit may use all 64 bits.
"""

import numpy as np

from tallybayes.arrays.array_types import Codes32, Columns, Floats, Integers, Weights
from tallybayes.errors import DataError
from tallybayes.kernels.contract import checked
from tallybayes.kernels.digits import carry, integers, quotient, ratio_moments

Digits = tuple[Integers, int]  # digits (..., width) and low

_MASK = np.int64(0xFFFFFFFF)
_HALF = np.int64(2**27 - 1)  # a 53-bit integer splits into 26 and 27 bits, whose products fit into int64


@checked("columns: columns; codes: rows | codes classes; weights: rows | finite")
def sum_columns(
    columns: Columns, codes: Codes32, n_classes: int, weights: Weights, order: int, start: int, stop: int
) -> tuple[Digits, Digits, Digits | None, int]:
    """Exact sums of w, w*x and (if `order` is 2) w*x*x over the values that are there, (columns, classes) each.

    NaN is a missing value, a weight of zero an absent row, an infinity the bad value of which the place is returned.

    >>> x = np.array([1.5, 2.5, np.nan])
    >>> n, s, ss, bad = sum_columns([x], np.array([0, 0, 0], np.int32), 1, None, 2, 0, 3)
    >>> n[0].tolist(), float(s[0][0, 0] @ 2.0 ** (32 * (s[1] + np.arange(s[0].shape[-1]))))
    ([[[2]]], 4.0)
    """
    if order not in (1, 2):
        raise DataError("an order of 1 or 2", got=order)
    n_columns = len(columns)
    shape = (n_columns, n_classes)
    rows = slice(start, stop)
    kept = codes[rows] >= 0
    if weights is not None:
        kept &= weights[rows] != 0
    values = np.empty((stop - start, n_columns))
    for j, column in enumerate(columns):
        values[:, j] = column[rows]
    infinite = np.flatnonzero((np.isinf(values) & kept[:, None]).ravel())
    bad = int(infinite[0]) + start * n_columns if len(infinite) else -1
    row, column_index = np.nonzero(~np.isnan(values) & ~np.isinf(values) & kept[:, None])
    cell = column_index * n_classes + codes[rows][row]
    mantissa, exponent = _integer(values[row, column_index])
    x_terms = [(mantissa, exponent)]
    xx_terms = _products((mantissa, exponent), (mantissa, exponent))
    if weights is None:
        count = np.bincount(cell, minlength=n_columns * n_classes).astype(np.int64).reshape(*shape, 1)
        n: Digits = (count, 0)
    else:
        weight = _integer(weights[rows][row])
        n = _scatter([weight], cell, shape)
        x_terms = _products((mantissa, exponent), weight)
        xx_terms = [product for term in xx_terms for product in _products(term, weight)]
    return n, _scatter(x_terms, cell, shape), _scatter(xx_terms, cell, shape) if order == 2 else None, bad


@checked("values: rows | finite; groups: rows | below groups; weights: rows | finite")
def sum_groups(values: Floats, weights: Weights, groups: Integers, n_groups: int) -> Digits:
    """Exact sums of value (times weight, if given) by group, (groups,).

    >>> digits, low = sum_groups(np.array([0.1, -0.1, 3.0]), None, np.array([0, 0, 1]), 2)
    >>> [integer * 2.0 ** (32 * low) for integer in integers(digits)]
    [0.0, 3.0]
    """
    terms = [_integer(values)]
    if weights is not None:
        terms = _products(terms[0], _integer(weights))
    digits, low = _scatter(terms, groups, (1, n_groups))
    return digits[0], low


Term = tuple[Integers, Integers]  # value = integer * 2**exponent


def _integer(x: Floats) -> Term:
    """Doubles as integers below 2**53 times powers of two."""
    fraction, exponent = np.frexp(x)
    return (fraction * 2.0**53).astype(np.int64), exponent.astype(np.int64) - 53


def _products(a: Term, b: Term) -> list[Term]:
    """A * b without error, as terms below 2**55 (a and b below 2**54)."""
    (u, e), (v, f) = a, b
    u_high, u_low, v_high, v_low = u >> 27, u & _HALF, v >> 27, v & _HALF
    g = e + f
    return [(u_high * v_high, g + 54), (u_high * v_low, g + 27), (u_low * v_high, g + 27), (u_low * v_low, g)]


def _scatter(terms: list[Term], cell: Integers, shape: tuple[int, int]) -> Digits:
    """Add integer * 2**exponent into the digits of each term's cell."""
    n_cells = shape[0] * shape[1]
    exponents = [exponent[integer != 0] for integer, exponent in terms]
    bottom = min((int(e.min()) for e in exponents if len(e)), default=0)
    top = max((int(e.max()) for e in exponents if len(e)), default=0)
    low = bottom >> 5
    width = (top >> 5) - low + 4  # 63 bits shifted by up to 31 reach three digits; one more for the carries
    digits = np.zeros((n_cells, width), np.int64)
    for integer, exponent in terms:
        there = integer != 0
        v, e, c = integer[there], exponent[there], cell[there]
        place, shift = (e >> 5) - low, e & 31
        lower = (v & _MASK) << shift
        upper = (v >> 32) << shift
        np.add.at(digits, (c, place), lower & _MASK)
        np.add.at(digits, (c, place + 1), (lower >> 32) + (upper & _MASK))
        np.add.at(digits, (c, place + 2), upper >> 32)
    carry(digits)
    return digits.reshape(*shape, width), low


def round_digits(digits: Integers, low: int) -> Floats:
    """The cells (cells, width) as doubles, each correctly rounded.

    >>> round_digits(np.array([[1, 1], [0, -1]]), 0).tolist()
    [4294967297.0, -4294967296.0]
    """
    return np.array([quotient(integer, 1, 32 * low) for integer in integers(digits)], np.float64)


def trim_digits(digits: Integers, low: int) -> Digits:
    """The shortest form of the cells (cells, width), which is unique; integers of 64 bits are one digit at place 0.

    Every digit but the last is in [0, 2**32).

    >>> trim_digits(np.array([[0, 1, 0], [0, 2, 0]]), -1)
    (array([[1],
           [2]]), 0)
    """
    while digits.shape[-1] > 1:
        joined = (digits[:, -1] << 32) + digits[:, -2]
        small = (np.abs(digits[:, -1]) <= 1) & (joined >= -(2**31)) & (joined < 2**31)
        if not small.all():
            break
        digits = np.concatenate([digits[:, :-2], joined[:, None]], axis=1)
    first = 0
    while first < digits.shape[-1] - 1 and not digits[:, first].any():
        first += 1
    digits, low = digits[:, first:], low + first
    if not digits.any():
        return np.zeros((len(digits), 1), np.int64), 0
    if low == 0 and digits.shape[-1] == 2:
        return (digits[:, 1:] << 32) + digits[:, :1], 0
    if low == 1 and digits.shape[-1] == 1:
        return digits << 32, 0
    return np.ascontiguousarray(digits), low


@checked(
    "n: columns, classes; x: columns, classes, width; xx: columns, classes, squares; units: columns | units; "
    "n: columns, classes | at_least 0"
)
def mean_variance(n: Integers, x: Integers, x_low: int, xx: Integers, xx_low: int, units: Integers) -> Floats:
    """Mean, its low part and variance, correctly rounded, in units of 2**units of each column, (3, columns, classes).

    `n` is (columns, classes), `x` and `xx` the digits of the sums. Where n is 0 all three are 0. The low part is the
    exact mean minus the high part, rounded; a mean or variance beyond the largest double is infinite.
    """
    return ratio_moments(n.astype(object), 0, integers(x), x_low, integers(xx), xx_low, units)
