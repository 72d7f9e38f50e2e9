"""Arithmetic on exact sums, which are kept as digits in base 2**32.

`kernels/reference/exact_sums.py` defines the digits. What is here is shared by the reference kernels and by the tallies
and families, which use it for fractional sums: the native kernels take only integers.
"""

import numpy as np

from tallybayes.arrays.array_types import BigIntegers, Floats, Integers

__all__ = ["carry", "integers", "pooled_ratio_moments", "quotient", "ratio_moments"]

_MASK = np.int64(0xFFFFFFFF)
_UNIT_LIMIT = 1000  # units are 2**-1000 .. 2**1000, so that their inverses are doubles too


def carry(digits: Integers) -> None:
    """Bring every digit but the last into [0, 2**32), in place."""
    lower = digits[..., :-1]
    while (over := lower >> 32).any():  # all digits at once; only negative sums ripple through many rounds
        lower &= _MASK
        digits[..., 1:] += over


def integers(digits: Integers) -> BigIntegers:
    """The cells as Python integers, in units of 2**(32 * low)."""
    total = digits[..., -1].astype(object)
    for k in range(digits.shape[-1] - 2, -1, -1):
        total = total * 2**32 + digits[..., k].astype(object)
    return np.asarray(total, dtype=object)


def ratio_moments(
    n: BigIntegers, n_low: int, x: BigIntegers, x_low: int, xx: BigIntegers, xx_low: int, units: Integers
) -> Floats:
    """`mean_variance` for sums given as Python integers in units of 2**(32 * low), n too: weights may be fractions."""
    high, low, variance = (np.zeros(n.shape) for _ in range(3))
    for index in zip(*np.nonzero(n), strict=True):
        count, s, ss = int(n[index]), int(x[index]), int(xx[index])
        unit = int(units[index[0]])
        exponent = 32 * (x_low - n_low) - unit
        high[index] = quotient(s, count, exponent)
        if np.isfinite(high[index]):
            low[index] = _difference(s, exponent, *float(high[index]).as_integer_ratio(), count)
        # variance = (n*ss - s*s) / n**2, both terms brought to the lower of their two exponents
        first, second = 32 * (n_low + xx_low), 64 * x_low
        least = min(first, second)
        numerator = (count * ss << (first - least)) - (s * s << (second - least))
        variance[index] = quotient(numerator, count * count, least - 64 * n_low - 2 * unit)
    return np.stack([high, low, variance])


def quotient(numerator: int, denominator: int, exponent: int) -> float:
    """Numerator / denominator * 2**exponent, correctly rounded."""
    try:
        if exponent >= 0:
            return (numerator << exponent) / denominator
        return numerator / (denominator << -exponent)
    except OverflowError:
        return float("-inf") if numerator < 0 else float("inf")


def _difference(s: int, exponent: int, a: int, b: int, count: int) -> float:
    """S * 2**exponent / count - a / b, correctly rounded."""
    if exponent >= 0:
        return ((s << exponent) * b - a * count) / (count * b)
    return (s * b - (a * count << -exponent)) / (count * b << -exponent)


def pooled_ratio_moments(
    n: BigIntegers, n_low: int, x: BigIntegers, x_low: int, xx: BigIntegers, xx_low: int
) -> tuple[Integers, Floats]:
    """`pooled_moments` for sums given as Python integers in units of 2**(32 * low)."""
    rows, s, ss = (np.asarray(part.sum(axis=1), object)[:, None] for part in (n, x, xx))
    exponents = []
    for count, square in zip(rows.flat, ss.flat, strict=True):
        bits = int(square).bit_length() + 32 * xx_low - int(count).bit_length() - 32 * n_low
        exponents.append(max(-_UNIT_LIMIT, min(bits // 2, _UNIT_LIMIT)) if square else 0)
    units = np.array(exponents, np.int64)
    return units, ratio_moments(rows, n_low, s, x_low, ss, xx_low, units)[..., 0]
