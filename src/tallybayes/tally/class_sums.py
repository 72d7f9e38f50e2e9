"""Exact sums of a few statistics per column and class, such as n and the sums of x and x*x.

Used by every family whose sufficient statistics are a fixed list of numbers (bernoulli, gaussian, poisson).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tallybayes.arrays.array_types import Booleans, Floats, Integers
from tallybayes.arrays.axis import merge_keys, positions
from tallybayes.errors import ForgetError
from tallybayes.tally.exact import Exact, check_amounts, check_counts, require
from tallybayes.tally.tally import Arrays, Commit, Tally

__all__ = ["Sums"]

# by how many digits of 32 bits a sum may be longer than the number of rows: x*x < 2**2048, x and log x! < 2**64
_SQUARES, _EVENTS = 2048 // 32 + 1, 64 // 32 + 1


class Sums(Tally):
    """Named statistics, each an `Exact` of shape (columns, classes).

    The statistics named in `counts` are numbers of rows: never negative, within 64 bits, and where all of them are
    zero every other statistic is zero too. If x and xx are there, n * xx >= x * x.

    >>> one = Sums(("age",), {"n": Exact.whole(np.array([[2]])), "x": Exact.of(np.array([[0.1]]))}, counts=("n",))
    >>> two = one.copy(); two.prepare(one, 1)(); two["n"].floats().tolist()
    [[4.0]]
    """

    def __init__(self, features: tuple[str, ...], statistics: Mapping[str, Exact], *, counts: tuple[str, ...]) -> None:
        self.features = features
        self.statistics = dict(statistics)
        self.counts = counts
        self.n_classes = next(iter(self.statistics.values())).shape[1]

    def __getitem__(self, name: str) -> Exact:
        return self.statistics[name]

    def copy(self) -> Sums:
        """An independent tally with the same sums."""
        return self._map_statistics(lambda numbers: Exact(numbers.digits.copy(), numbers.low))

    def _map_statistics(self, change: Callable[[Exact], Exact], features: tuple[str, ...] | None = None) -> Sums:
        """The sums after a change of every statistic, and of the columns."""
        statistics = {name: change(numbers) for name, numbers in self.statistics.items()}
        return Sums(self.features if features is None else features, statistics, counts=self.counts)

    def with_classes(self, positions: Integers, n_classes: int) -> Sums:
        """The same sums with class c at positions[c]."""
        kept = positions >= 0
        return self._map_statistics(lambda numbers: numbers[:, kept].placed(1, positions[kept], n_classes).trimmed())

    def only(self, features: tuple[str, ...]) -> Sums:
        """The sums of some of the columns."""
        where = positions(features, self.features)
        return self._map_statistics(lambda numbers: numbers[where].trimmed(), features)

    def pooled(self) -> Sums:
        """The sums over all classes, as if they were one."""
        return self._map_statistics(lambda numbers: numbers.sum(axis=1).trimmed()[:, None])

    def with_features(self, features: tuple[str, ...]) -> Sums:
        """The same sums with more columns."""
        if features == self.features:
            return self
        where = positions(self.features, features)
        return self._map_statistics(lambda numbers: numbers.placed(0, where, len(features)), features)

    def open_sums(self, **room: int) -> dict[str, Exact] | None:
        """The sums in new arrays that the caller may change in place; None unless they are integers.

        room: statistics that need not be integers, and how many more digits on either side they get.
        """
        if not all(numbers.is_whole for name, numbers in self.statistics.items() if name not in room):
            return None
        for name, numbers in self.statistics.items():
            self.statistics[name] = (
                numbers.with_spare_digits(room[name]) if name in room else Exact(numbers.digits.copy())
            )
        return self.statistics

    def prepare(self, other: Sums, sign: int) -> Commit:
        """Check that `other` can be added or subtracted; the function returned does it."""
        features = tuple(merge_keys(self.features, other.features))
        a, b = self.with_features(features), other.with_features(features)
        total = {name: a[name] + b[name] if sign > 0 else a[name] - b[name] for name in self.statistics}
        result = Sums(features, total, counts=self.counts)
        result.check(sign)

        def commit() -> None:
            self.features, self.statistics = result.features, result.statistics

        return commit

    def check(self, sign: int) -> None:
        """Raise if no rows can have these sums."""
        rows = [self[name] for name in self.counts]
        for n in rows:
            check_counts(n)
        if sign > 0:
            return
        impossible = np.any([n.negative() for n in rows], axis=0)
        there = np.any([n.nonzero() for n in rows], axis=0)
        for name in set(self.statistics) - set(self.counts):
            impossible |= ~there & self[name].nonzero()
        if not impossible.any() and "xx" in self.statistics:
            impossible |= self._negative_variance(there)
        if impossible.any():
            feature = int(np.argwhere(impossible)[0][0])
            raise ForgetError(
                "these rows cannot have been learned: taking them back leaves an impossible sum",
                column=self.features[feature],
            )

    def _negative_variance(self, there: Booleans) -> Booleans:
        """Where there are rows and n * xx < x * x. Only sums that are close in floating point are compared exactly."""
        n, x, xx = (self[name] for name in ("n", "x", "xx"))
        suspicious = there
        if max(abs(numbers.low) for numbers in (n, x, xx)) < 12:  # within the range of doubles
            with np.errstate(over="ignore", invalid="ignore"):
                size, total, squares = map(_approximate, (n, x, xx))
                suspicious = there & ~(size * squares - total**2 > 1e-9 * total**2)
        negative = np.zeros(n.shape, bool)
        for index in zip(*np.nonzero(suspicious), strict=True):
            count, s, ss = (int(part[index].integers()) for part in (n, x, xx))
            shift = 32 * (n.low + xx.low - 2 * x.low)
            negative[index] = (count * ss << max(shift, 0)) < (s * s << max(-shift, 0))
        return negative

    def is_full(self) -> bool:
        """A quick check by the first of the counts."""
        return self[self.counts[0]].all_nonzero()

    def rows_seen(self) -> Exact:
        """Rows per (column, class): the sum of the counts."""
        total = self[self.counts[0]]
        for name in self.counts[1:]:
            total = total + self[name]
        return total

    def arrays(self) -> Arrays:
        """The sums by name, (columns, classes) each, of the columns that have any rows."""
        there = np.any([s.nonzero().any(axis=1) for s in self.statistics.values()], axis=0)
        features = tuple(name for name, here in zip(self.features, there, strict=True) if here)
        return Arrays(features, {name: numbers[there].trimmed() for name, numbers in self.statistics.items()})

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_classes: int, like: Sums) -> Sums:
        """Sums that rows can have, or a ValueError."""
        for name, numbers in arrays.sums.items():
            require(numbers.shape == (len(arrays.features), n_classes), f"{name}: one sum for each column and class")
        result = cls(arrays.features, {name: arrays.sums[name] for name in like.statistics}, counts=like.counts)
        for name in like.counts:
            check_amounts(result[name], name)
        result._check_reach()
        try:
            result.check(-1)
        except ForgetError as error:
            raise ValueError(f"column {error.column!r}: sums that no rows have") from error
        return result

    def _check_reach(self) -> None:
        """Raise if sums of squares of doubles, or of counts, are too large for the number of rows."""
        rows, events = _top_place(self.rows_seen()), "log_factorial" in self.statistics
        for name, numbers in self.statistics.items():
            if name == "xx" or (events and name not in self.counts):
                reach = _top_place(numbers) - rows <= (_EVENTS if events else _SQUARES)
                require((reach | ~numbers.nonzero()).all(), f"{name}: sums beyond those of doubles")
                require(not numbers.negative().any(), f"{name}: negative sums")


def _top_place(numbers: Exact) -> Integers:
    """The place of the highest digit that is not zero."""
    wide = numbers.wide()
    return np.asarray(wide.low + wide.digits.shape[-1] - 1 - (wide.digits[..., ::-1] != 0).argmax(axis=-1))


def _approximate(numbers: Exact) -> Floats:
    """The numbers to about 60 bits below their top digit, for quick checks."""
    scale = 2.0 ** (32.0 * (numbers.low + np.arange(numbers.digits.shape[-1])))
    return np.asarray((numbers.digits * scale).sum(axis=-1))
