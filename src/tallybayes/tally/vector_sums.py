"""Exact sums of vectors of numbers and of their products, per class: the sums of joint Gaussians.

A row that has all inputs of a column is complete. It adds to n, to the sums of x_i and x_i * x_i of every input, and to
the sum of x_i * x_j of every pair of inputs. A row that lacks some of them adds to n and the sums of x_i and x_i * x_i
of those that it has, which are kept apart. So these sums are four blocks of `Sums`, whose columns are the inputs, or
pairs of them, of all columns, and all laws of `Sums` hold for them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np

from tallybayes.arrays.array_types import Floats, Integers
from tallybayes.errors import DataError, ForgetError
from tallybayes.kernels.digits import quotient
from tallybayes.tally.class_sums import Sums
from tallybayes.tally.exact import Exact, require
from tallybayes.tally.tally import Arrays, Commit, Tally

__all__ = ["VectorSums", "sum_products"]

_BLOCKS = ("rows", "complete", "pairs", "incomplete")
_MARK = "\0"  # between the name of a column and the number of an input: sorts before any other sign
_PLACES = 31  # digits of 32 bits by which exponents are grouped, so that none leaves the range of doubles


class VectorSums(Tally):
    """Sums of the inputs of columns; `inputs` are their names, by column.

    rows: rows with any input. complete, incomplete: n, x and xx of every input. pairs: n and xy of every pair.
    """

    incomplete_rows_are: ClassVar[str] = "counted by column only, not for correlations"

    def __init__(
        self, features: tuple[str, ...], inputs: Mapping[str, tuple[str, ...]], blocks: Mapping[str, Sums]
    ) -> None:
        self.features, self.inputs = features, {name: inputs[name] for name in features}
        self.blocks = dict(blocks)
        self.n_classes = self.blocks["rows"].n_classes

    @property
    def complete(self) -> Sums:
        """The sums of rows that have all inputs."""
        return self.blocks["complete"]

    @property
    def incomplete(self) -> Sums:
        """The sums of rows that lack some inputs."""
        return self.blocks["incomplete"]

    @staticmethod
    def names(block: str, inputs: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        """The columns of a block for columns with these inputs, in order."""
        if block == "rows":
            return tuple(inputs)
        size = 2 if block == "pairs" else 1
        return tuple(
            _MARK.join((name, *(f"{i:05}" for i in chosen)))
            for name, its_inputs in inputs.items()
            for chosen in itertools.combinations(range(len(its_inputs)), size)
        )

    def _map_blocks(
        self, change: Callable[[str, Sums], Sums], inputs: Mapping[str, tuple[str, ...]] | None = None
    ) -> VectorSums:
        inputs = self.inputs if inputs is None else inputs
        return VectorSums(tuple(inputs), inputs, {block: change(block, sums) for block, sums in self.blocks.items()})

    def copy(self) -> VectorSums:
        """An independent tally with the same sums."""
        return self._map_blocks(lambda _, sums: sums.copy())

    def with_classes(self, positions: Integers, n_classes: int) -> VectorSums:
        """The same sums with class c at positions[c]."""
        return self._map_blocks(lambda _, sums: sums.with_classes(positions, n_classes))

    def pooled(self) -> VectorSums:
        """The sums over all classes, as if they were one."""
        return self._map_blocks(lambda _, sums: sums.pooled())

    def only(self, features: tuple[str, ...]) -> VectorSums:
        """The sums of some of the columns."""
        inputs = {name: self.inputs[name] for name in features}
        return self._map_blocks(lambda block, sums: sums.only(self.names(block, inputs)), inputs)

    def prepare(self, other: VectorSums, sign: int) -> Commit:
        """Check that `other` can be added or subtracted; the function returned does it."""
        for name in self.inputs.keys() & other.inputs.keys():
            if self.inputs[name] != other.inputs[name]:
                raise DataError(f"the inputs {self.inputs[name]}", got=other.inputs[name], column=name)
        inputs = dict(sorted({**self.inputs, **other.inputs}.items()))
        mine = {block: Sums(sums.features, sums.statistics, counts=sums.counts) for block, sums in self.blocks.items()}
        result = VectorSums(tuple(inputs), inputs, mine)
        try:
            for block in _BLOCKS:
                result.blocks[block].prepare(other.blocks[block], sign)()
        except ForgetError as error:
            column = (error.column or "").partition(_MARK)[0]
            raise ForgetError("these values were not learned together", column=column) from error
        if sign < 0:
            result._check_correlations()

        def commit() -> None:
            self.features, self.inputs, self.blocks = result.features, result.inputs, result.blocks

        return commit

    def _check_correlations(self) -> None:
        """Raise if the products of a pair of inputs are larger than their squares allow (Cauchy and Schwarz)."""
        for name in self.features:
            moments = self._central_sums(name)
            for (i, j), (numbers, exponent) in moments.items():
                (a, e), (b, f) = moments[i, i], moments[j, j]
                shift = 2 * exponent - e - f
                for product, first, second in zip(numbers, a, b, strict=True) if i != j else ():
                    if product * product << max(shift, 0) > first * second << max(-shift, 0):
                        text = "these rows cannot have been learned: taking them back leaves impossible products"
                        raise ForgetError(text, column=name)

    def rows_seen(self) -> Exact:
        """Rows with any input, per column and class."""
        return self.blocks["rows"]["n"]

    def incomplete_rows(self) -> dict[str, float]:
        """Rows that lack some inputs, by column; only columns that have any."""
        rest = self.rows_seen() - self.complete["n"][_first_inputs(self.inputs)]
        numbers = rest.sum(axis=1).floats().tolist() if self.features else []
        return {name: n_rows for name, n_rows in zip(self.features, numbers, strict=True) if n_rows}

    def covariance(self, feature: str, units: Integers) -> Floats:
        """Covariances of the complete rows, correctly rounded, in units of 2**(unit_i + unit_j), (classes, i, j).

        Zeros where a class has no such rows.
        """
        result = np.zeros((self.n_classes, len(units), len(units)))
        n = self.complete.only(self.names("complete", {feature: self.inputs[feature]}))["n"]
        rows = [int(count) for count in n.integers()[0]]
        for (i, j), (numbers, exponent) in self._central_sums(feature).items():
            scale = exponent - 64 * n.low - int(units[i]) - int(units[j])
            for c, count in enumerate(rows):
                if count:
                    result[c, i, j] = result[c, j, i] = quotient(numbers[c], count * count, scale)
        return result

    def _central_sums(self, feature: str) -> dict[tuple[int, int], tuple[list[int], int]]:
        """By pair of inputs: n sum x_i x_j - sum x_i sum x_j of every class, in units of 2**exponent, and that."""
        inputs = {feature: self.inputs[feature]}
        singles, pairs = (self.blocks[block].only(self.names(block, inputs)) for block in ("complete", "pairs"))
        n, x, xx, xy = (*(singles[name] for name in ("n", "x", "xx")), pairs["xy"])
        count, s, squares, products = (numbers.integers() for numbers in (n, x, xx, xy))
        size = len(inputs[feature])
        places = [(i, i, xx.low, squares[i]) for i in range(size)]
        places += [(i, j, xy.low, products[k]) for k, (i, j) in enumerate(itertools.combinations(range(size), 2))]
        result = {}
        for i, j, low, totals in places:
            first, second = 32 * (n.low + low), 64 * x.low
            least = min(first, second)
            numbers = [
                (int(count[i, c]) * int(totals[c]) << (first - least))
                - (int(s[i, c]) * int(s[j, c]) << (second - least))
                for c in range(self.n_classes)
            ]
            result[i, j] = (numbers, least)
        return result

    def arrays(self) -> Arrays:
        """The sums of the columns that have any rows, by the name of the block and the statistic."""
        there = np.asarray(self.rows_seen().nonzero().any(axis=1))
        kept = self.only(tuple(name for name, here in zip(self.features, there, strict=True) if here))
        sums = {f"{block}.{name}": total.trimmed() for block in _BLOCKS for name, total in kept._statistics(block)}
        return Arrays(kept.features, sums)

    def _statistics(self, block: str) -> list[tuple[str, Exact]]:
        """The sums of a block that are written: how often pairs were counted follows from the complete rows."""
        return [(name, total) for name, total in self.blocks[block].statistics.items() if (block, name) != _FOLLOWS]

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_classes: int, like: VectorSums) -> VectorSums:
        """Sums that rows can have, or a ValueError; `like` has the inputs."""
        inputs = {name: like.inputs[name] for name in arrays.features}
        sums = dict(arrays.sums)
        first = _first_inputs(inputs)
        require(sums["complete.n"].shape == (sum(map(len, inputs.values())), n_classes), "rows of every input")
        sums[".".join(_FOLLOWS)] = _repeat(sums["complete.n"][first], [_n_pairs(len(its)) for its in inputs.values()])
        blocks = {}
        for block in _BLOCKS:
            its_sums = {name: sums[f"{block}.{name}"] for name in like.blocks[block].statistics}
            names = cls.names(block, inputs)
            blocks[block] = Sums.from_arrays(Arrays(names, its_sums), n_classes, like.blocks[block])
        result = cls(arrays.features, inputs, blocks)
        n, rest = result.complete["n"], result.rows_seen() - result.complete["n"][first]
        sizes = [len(its) for its in inputs.values()]
        require(n == _repeat(n[first], sizes), "complete rows that do not have all inputs")
        require(not (_repeat(rest, sizes) - result.incomplete["n"]).negative().any(), "more values than rows")
        try:
            result._check_correlations()
        except ForgetError as error:
            raise ValueError(f"column {error.column!r}: sums that no rows have") from error
        return result


_FOLLOWS = ("pairs", "n")


def _n_pairs(size: int) -> int:
    return size * (size - 1) // 2


def _first_inputs(inputs: Mapping[str, tuple[str, ...]]) -> Integers:
    """The place of the first input of every column."""
    return np.cumsum([0, *map(len, inputs.values())])[:-1].astype(np.int64)


def _repeat(numbers: Exact, times: list[int]) -> Exact:
    """Every line of an array several times."""
    return numbers[np.repeat(np.arange(len(times)), times)]


def sum_products(x: Floats, y: Floats, weights: Floats | None, groups: Integers, n_groups: int) -> Exact:
    """Exact sums of x * y (times weights) by group.

    The product of y and a weight is split into a double and its rounding error (Dekker 1971), of fractions between 1/2
    and 1; the powers of two of all three factors are put back afterwards, so that nothing overflows or is rounded.

    >>> x = np.array([1e-310, 3.0]); sum_products(x, x, np.array([1e-300, 0.5]), np.zeros(2, np.int64), 1).floats()
    array([4.5])
    """
    if weights is None:
        return Exact.summed(x, groups, n_groups, weights=y)
    (a, e), (b, f), (w, g) = map(np.frexp, (x, y, weights))
    exponent = e.astype(np.int64) + f + g
    product, error = _two_product(b, w)
    bucket = exponent // (32 * _PLACES)
    parts = [Exact.zeros(n_groups)]
    for number in np.unique(bucket).tolist():
        at = np.flatnonzero(bucket == number)
        scaled = np.ldexp(a[at], (exponent[at] - 32 * _PLACES * number).astype(np.int32))
        for factor in (product[at], error[at]):
            total = Exact.summed(scaled, groups[at], n_groups, weights=factor).wide()
            parts.append(Exact(total.digits, total.low + _PLACES * number))
    return Exact.added(parts)


def _two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The product of two doubles as a double, and what that lacks; neither may be very large or small."""
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    product = a * b
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _split(a: Floats) -> tuple[Floats, Floats]:
    """A double as the sum of two with 26 bits each (Veltkamp)."""
    big = a * 134217729.0  # 2**27 + 1
    high = big - (big - a)
    return high, a - high
