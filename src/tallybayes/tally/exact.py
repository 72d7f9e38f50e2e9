"""Arrays of exact numbers.

`Exact` is an array of integers times powers of two, kept as digits in base 2**32 (`kernels/reference/exact_sums.py`).
Nothing is rounded until `floats` is called. Integers that fit into 64 bits are the special case of one digit at
low = 0: then an `Exact` costs no more than an int64 array, and adding two of them is one addition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.array_types import BigIntegers, Booleans, Floats, Indices, Integers
from tallybayes.arrays.chunks import in_threads
from tallybayes.errors import NOTHING_CHANGED, CountError
from tallybayes.kernels.digits import carry, integers

__all__ = ["Exact", "check_amounts", "check_counts", "check_totals", "require"]

_MASK = np.int64(0xFFFFFFFF)
_PLACES = 128  # digits in a file lie between these places: a square times a weight needs -101 to 98


def check_counts(amounts: Exact) -> None:
    """Raise if a count has left the range of 64 bits."""
    if not amounts.is_whole and not (np.abs(amounts.floats()) < 2.0**63).all():
        raise CountError("a count left the range of 64 bits", hint=NOTHING_CHANGED)


def require(fact: object, expected: str) -> None:
    """Raise a ValueError unless a fact holds: for sums from a file, which may be damaged or forged.

    >>> require(2 > 1, "order")
    """
    if not fact:
        raise ValueError(expected)


def check_amounts(amounts: Exact, what: str) -> None:
    """Raise unless rows can have these counts: not negative, within 64 bits, and not below the least double."""
    require(not amounts.negative().any(), f"{what}: negative counts")
    if not amounts.is_whole:
        rounded = amounts.floats()
        require((rounded < 2.0**63).all(), f"{what}: counts beyond 64 bits")
        require(((rounded > 0) == amounts.nonzero()).all(), f"{what}: counts too small for a double")


def check_totals(totals: Exact, amounts: Exact, groups: Integers) -> None:
    """Raise unless `totals` are the sums of the amounts by group; only groups in use are summed, to save memory."""
    used, position = np.unique(groups, return_inverse=True)
    require(len(used) == np.count_nonzero(totals.nonzero()), "totals that are not those of the counts")
    require(totals[used] == amounts.grouped(position, len(used)), "totals that are not the sums of the counts")


@dataclass(frozen=True, eq=False)
class Exact:
    """Exact numbers of any shape: add, subtract, compare, and round once at the end.

    >>> tenth = Exact.of(np.array([0.1, 1e200]))
    >>> (tenth + tenth - tenth == tenth), (tenth - tenth).floats().tolist()
    (True, [0.0, 0.0])
    """

    digits: Integers
    low: int = 0

    @classmethod
    def zeros(cls, shape: int | tuple[int, ...]) -> Exact:
        """Zeros of a shape."""
        return cls(np.zeros((*((shape,) if isinstance(shape, int) else shape), 1), np.int64))

    @classmethod
    def whole(cls, values: Indices) -> Exact:
        """Integers."""
        return cls(np.asarray(values, np.int64)[..., None])

    @classmethod
    def of(cls, values: NDArray[np.floating]) -> Exact:
        """Doubles, without rounding."""
        values = np.asarray(values, np.float64)
        if np.all((np.abs(values) < 2.0**53) & (values == np.floor(values))):
            return cls.whole(values.astype(np.int64))
        pairs = [(int(np.ldexp(f, 53)), int(e) - 53) for f, e in zip(*map(np.ravel, np.frexp(values)), strict=True)]
        return cls.from_integers(pairs, values.shape)

    @classmethod
    def summed(cls, values: Floats, groups: Integers, n_groups: int, *, weights: Floats | None = None) -> Exact:
        """Exact sums of doubles (times weights) by group.

        >>> Exact.summed(np.array([0.1, 0.2]), np.array([0, 0]), 1, weights=np.array([2.0, 0.5])).floats().tolist()
        [0.30000000000000004]
        """
        whole = [v for v in (values, weights) if v is not None and np.all(v == np.floor(v))]
        if len(whole) == 1 + (weights is not None):
            with np.errstate(over="ignore", invalid="ignore"):
                product = values if weights is None else values * weights
                size = np.abs(product).sum()
            if size < 2.0**53:  # then every product and partial sum is exact as a double
                return cls.whole(np.bincount(groups, weights=product, minlength=n_groups).astype(np.int64))
        parts = in_threads(
            lambda start, stop: cls(
                *kernels.active.sum_groups(
                    values[start:stop], None if weights is None else weights[start:stop], groups[start:stop], n_groups
                )
            ),
            len(values),
        )
        return cls.added(parts)

    @classmethod
    def added(cls, parts: Sequence[Exact]) -> Exact:
        """The sum of one or more arrays of one shape.

        >>> Exact.added([Exact.of(np.array([0.1])), Exact.of(np.array([0.2]))]).floats().tolist()
        [0.30000000000000004]
        """
        total, *rest = parts
        for part in rest:
            total = total + part
        return total.trimmed()

    @classmethod
    def concatenate(cls, parts: Sequence[Exact]) -> Exact:
        """Several arrays joined along the first axis.

        >>> Exact.concatenate([Exact.of(np.array([0.5])), Exact.whole(np.array([7]))]).floats().tolist()
        [0.5, 7.0]
        """
        if all(part.is_whole for part in parts):
            return cls(np.concatenate([part.digits for part in parts]))
        wide = [part.wide() for part in parts]
        low = min(part.low for part in wide)
        high = max(part.low + part.digits.shape[-1] for part in wide)
        return cls(np.concatenate([part._window(low, high) for part in wide]), low).trimmed()

    @classmethod
    def from_integers(cls, pairs: list[tuple[int, int]], shape: tuple[int, ...]) -> Exact:
        """Integers times powers of two, each a pair (integer, exponent)."""
        low = min((exponent for integer, exponent in pairs if integer), default=0) >> 5
        scaled = [integer << (exponent - 32 * low) if integer else 0 for integer, exponent in pairs]
        width = max((integer.bit_length() for integer in scaled), default=0) // 32 + 1
        digits = np.array(
            [
                [(integer >> (32 * k)) & 0xFFFFFFFF for k in range(width - 1)] + [integer >> (32 * (width - 1))]
                for integer in scaled
            ],
            np.int64,
        ).reshape(*shape, width)
        return cls(digits, low).trimmed()

    @classmethod
    def from_digits(cls, digits: Integers, low: int) -> Exact:
        """Numbers from a file, checked to be in the form of `trimmed`.

        >>> Exact.from_digits(np.array([[1, 2]]), 200)
        Traceback (most recent call last):
            ...
        ValueError: digits at places from 200 to 202
        """
        require(digits.dtype == np.int64 and digits.ndim > 0 and digits.shape[-1] > 0, "digits that are not integers")
        high = low + digits.shape[-1]
        require(low >= -_PLACES and high <= _PLACES, f"digits at places from {low} to {high}")
        numbers = cls(digits, low)
        if not numbers.is_whole:
            top, rest = digits[..., -1], digits[..., :-1]
            require(((top >= -(2**31)) & (top < 2**31)).all(), "a highest digit beyond 32 bits")
            require(((rest >= 0) & (rest <= _MASK)).all(), "digits beyond 32 bits")
            shortest = numbers.trimmed()
            require(shortest.low == low and shortest.digits.shape == digits.shape, "digits that are not needed")
        return numbers

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of numbers."""
        return self.digits.shape[:-1]

    @property
    def is_whole(self) -> bool:
        """Whether all numbers are stored as plain 64-bit integers."""
        return self.low == 0 and self.digits.shape[-1] == 1

    def __len__(self) -> int:
        return len(self.digits)

    def __getitem__(self, index: Any) -> Exact:
        return Exact(self.digits[index], self.low)

    def __neg__(self) -> Exact:
        return Exact.zeros(self.shape) - self

    def __add__(self, other: Exact) -> Exact:
        return self._combine(other, 1)

    def __sub__(self, other: Exact) -> Exact:
        return self._combine(other, -1)

    def _combine(self, other: Exact, sign: int) -> Exact:
        if self.is_whole and other.is_whole:
            a, b = self.digits, other.digits
            total = a + b if sign > 0 else a - b
            wrapped = (b if sign > 0 else ~b) ^ total  # negative where the sum has left the range of 64 bits
            wrapped &= a ^ total
            if wrapped.min(initial=0) >= 0:
                return Exact(total)
        mine, theirs = self.wide(), other.wide()
        low, high = min(mine.low, theirs.low), max(part.low + part.digits.shape[-1] for part in (mine, theirs))
        first, second = mine._padded(low, high + 1), theirs._padded(low, high + 1)
        digits = first + second if sign > 0 else first - second
        carry(digits)
        return Exact(digits, low).trimmed()

    def times(self, factor: float) -> Exact:
        """Every number multiplied by a double, without rounding.

        >>> (Exact.whole(np.array([3])).times(0.1) == Exact.of(np.array([0.1, 0.1, 0.1])).sum(axis=0)[None])
        True
        """
        if self.is_whole and factor == 1.0:
            return self
        wide = self.wide()
        flat = wide.digits.reshape(-1, wide.digits.shape[-1]).astype(np.float64)
        place, factors = np.arange(len(flat)), np.full(len(flat), factor)
        parts = [Exact.summed(digit, place, len(flat), weights=factors).wide() for digit in flat.T]
        moved = [Exact(part.digits, part.low + wide.low + k) for k, part in enumerate(parts)]
        return Exact.added(moved).reshaped(*self.shape)

    def over_power(self, bits: int) -> Exact:
        """Every number divided by 2**bits, for 0 < bits < 32, without rounding.

        >>> Exact.whole(np.array([3, -5])).over_power(1).floats().tolist()
        [1.5, -2.5]
        """
        if not self.is_whole:
            return self.times(2.0**-bits)
        value = self.digits[..., 0]
        parts = (value & ((1 << bits) - 1)) << (32 - bits), (value >> bits) & _MASK, value >> (bits + 32)
        return Exact(np.stack(parts, axis=-1), -1).trimmed()

    def wide(self) -> Exact:
        """The same numbers in 32-bit digits, even if they are stored as 64-bit integers."""
        if not self.is_whole:
            return self
        value = self.digits[..., 0]
        return Exact(np.stack([value & _MASK, value >> 32], axis=-1))

    def _window(self, low: int, high: int) -> Integers:
        """The digits from place low to high, the last digit's sign carried up."""
        digits = self.wide()._padded(low, high)
        carry(digits)
        return digits

    def _padded(self, low: int, high: int) -> Integers:
        """The digits as they are among zeros from place low to high; the numbers are not stored as 64-bit integers."""
        digits = np.zeros((*self.shape, high - low), np.int64)
        digits[..., self.low - low : self.low - low + self.digits.shape[-1]] = self.digits
        return digits

    def with_spare_digits(self, room: int) -> Exact:
        """A copy of the numbers with room for more digits on either side."""
        wide = self.trimmed().wide()
        return Exact(wide._window(wide.low - room, wide.low + wide.digits.shape[-1] + room), wide.low - room)

    def trimmed(self) -> Exact:
        """The shortest form of these numbers, which is unique: equal numbers have equal bytes."""
        if self.is_whole:
            return self
        flat = np.ascontiguousarray(self.digits.reshape(-1, self.digits.shape[-1]))
        digits, low = kernels.active.trim_digits(flat, self.low)
        return Exact(digits.reshape(*self.shape, digits.shape[-1]), low)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Exact) or self.shape != other.shape:
            return False
        a, b = self.trimmed(), other.trimmed()
        return a.low == b.low and np.array_equal(a.digits, b.digits)

    __hash__ = None  # type: ignore[assignment]

    def integers(self) -> BigIntegers:
        """The numbers as Python integers in units of 2**(32 * low)."""
        return integers(self.digits)

    def floats(self) -> Floats:
        """The numbers rounded, each correctly, to doubles."""
        if self.is_whole:
            return self.digits[..., 0].astype(np.float64)
        flat = np.ascontiguousarray(self.digits.reshape(-1, self.digits.shape[-1]))
        return np.asarray(kernels.active.round_digits(flat, self.low)).reshape(self.shape)

    def reshaped(self, *shape: int) -> Exact:
        """The same numbers in another shape."""
        return Exact(self.digits.reshape(*shape, self.digits.shape[-1]), self.low)

    def nonzero(self) -> Booleans:
        """Where the numbers are not zero."""
        return np.asarray((self.digits != 0).any(axis=-1))

    def all_nonzero(self) -> bool:
        """A quick check that no number is zero; with several digits it may be False although none is."""
        return int(np.count_nonzero(self.digits)) == self.digits.size

    def negative(self) -> Booleans:
        """Where the numbers are below zero."""
        return np.asarray(self.digits[..., -1] < 0)

    def where(self, mask: Booleans) -> Exact:
        """The numbers where a mask is true, zeros elsewhere."""
        return Exact(np.where(mask[..., None], self.digits, 0), self.low)

    def sum(self, axis: int) -> Exact:
        """Exact sums along an axis (not negative)."""
        if self.is_whole and self.digits.min(initial=0) > -(2**31) and self.digits.max(initial=0) < 2**31:
            return Exact(self.digits.sum(axis=axis))
        digits = self.wide().digits
        total = np.zeros((*self.shape[:axis], *self.shape[axis + 1 :], digits.shape[-1] + 1), np.int64)
        total[..., :-1] = digits.sum(axis=axis)  # up to 2**31 digits below 2**32 fit into 64 bits
        carry(total)
        return Exact(total, self.low)

    def placed(self, axis: int, positions: Integers, size: int) -> Exact:
        """The numbers moved to new positions along an axis of the given size, zeros elsewhere."""
        shape = list(self.digits.shape)
        shape[axis] = size
        digits = np.zeros(shape, np.int64)
        index: list[Any] = [slice(None)] * len(shape)
        index[axis] = positions
        digits[tuple(index)] = self.digits
        return Exact(digits, self.low)

    def grouped(self, groups: Integers, n_groups: int) -> Exact:
        """Exact sums of a 1-d array by group."""
        if self.is_whole and np.abs(self.digits[:, 0], dtype=np.float64).sum() < 2.0**53:
            total = np.bincount(groups, weights=self.digits[:, 0], minlength=n_groups)  # exact in doubles
            return Exact.whole(total.astype(np.int64))
        wide = self.wide()
        digits = np.zeros((n_groups, wide.digits.shape[-1] + 2), np.int64)
        for k, digit in enumerate(wide.digits.T):
            if np.abs(digit, dtype=np.float64).sum() < 2.0**53:  # the same of each digit
                digits[:, k] = np.bincount(groups, weights=digit, minlength=n_groups)
            else:
                np.add.at(digits[:, k], groups, digit)
        carry(digits)
        return Exact(digits, wide.low).trimmed()
