"""Leave-one-out scores: what the families share.

Sums can be subtracted, so the model that never saw a row is the model minus that row. The definition is
`Family.leave_one_out_by_subtraction`: subtract a row from its column's tally, derive, score it, add it again. Axes,
grids and strengths chosen by evidence are fixed (of a histogram also the class shares that its runs are shrunk to);
counts, the other class shares and pooled means are those without the row. Families have faster methods for the same
numbers: a column with few values has few different rows (`Lines`), and each of them has one closed form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Booleans, Indices, Integers, Integers32, Weights
from tallybayes.errors import Described, ForgetError
from tallybayes.families.predictive import Codes32, Floats, Score
from tallybayes.families.shrinkage import Shares
from tallybayes.kernels.densities import laplace
from tallybayes.tally import Tally

__all__ = [
    "BlockScore",
    "Lines",
    "Shrunk",
    "Values",
    "as_score",
    "combine_scores",
    "never_learned",
    "score_discrete",
    "subtract_lines",
    "subtract_weights",
    "with_marks",
]

_ROUNDING = 1e-12  # a difference of fractional weights below this share of the sum is a rounding error


def never_learned(column: str, row: int | None) -> ForgetError:
    """The error for a row that was not learned."""
    hint = "leave-one-out needs the rows that the model has learned, with the same labels and weights"
    return ForgetError(
        "a row that was learned", got=Described("one that was not"), column=column or None, row=row, hint=hint
    )


def as_score(scores: Floats) -> Score:
    """A score that is computed already."""

    def score(out: Floats, start: int, stop: int) -> None:
        out[start:stop] += scores[start:stop]

    return score


class BlockScore(ABC):
    """A score that is faster for several columns of a block at once."""

    tally: Tally  # the sums of all columns of the block

    @abstractmethod
    def combine(self, scores: Sequence[Any]) -> Score:
        """One score for several columns of this block."""

    @abstractmethod
    def __call__(self, out: Floats, start: int, stop: int) -> None:
        """Add the scores of rows start to stop."""


def combine_scores(scores: Iterable[Score]) -> list[Score]:
    """The scores of columns, combined by block where that is faster."""
    result: list[Score] = []
    blocks: dict[int, list[BlockScore]] = {}
    for score in scores:
        if isinstance(score, BlockScore):
            blocks.setdefault(id(score.tally), []).append(score)
        else:
            result.append(score)
    return [*(some[0].combine(some) for some in blocks.values()), *result]


@dataclass(frozen=True, eq=False)
class Lines:
    """The different rows of a column: value, class and weight of each.

    Without weights these are all pairs of a value and a class, in order. With weights only those that occur, and
    `of_row` is the line of each row.
    """

    value: Integers
    code: Integers
    weight: Floats
    of_row: Integers32 | None = None


@dataclass(frozen=True, eq=False)
class Values:
    """A column of integers from 0 to n_values - 1 (others: missing), with classes and weights."""

    value: Indices
    n_values: int
    codes: Codes32
    n_classes: int
    weights: Weights
    origin: int = 0

    @property
    def is_dense(self) -> bool:
        """Whether the pairs of a value and a class are few enough for a table of all of them."""
        return self.weights is None and self.n_values * self.n_classes <= 4 * len(self.codes) + 1024

    def lines(self) -> Lines:
        """The different rows.

        >>> values = Values(np.array([0, 1, 0, -1]), 2, np.array([1, 0, 1, 0], np.int32), 2, None)
        >>> values.lines().value.tolist(), values.lines().code.tolist()
        ([0, 0, 1, 1], [0, 1, 0, 1])
        """
        if self.is_dense:
            pair = np.arange(self.n_values * self.n_classes)
            return Lines(pair // self.n_classes, pair % self.n_classes, np.ones(len(pair)))
        value = self.value.astype(np.int64) - self.origin
        there = (value >= 0) & (value < self.n_values)
        place = value * self.n_classes + self.codes
        weights = np.ones(len(place)) if self.weights is None else self.weights
        order = np.lexsort((weights[there], place[there]))
        at = np.flatnonzero(there)[order]
        new = np.ones(len(at), bool)
        new[1:] = (place[at][1:] != place[at][:-1]) | (weights[at][1:] != weights[at][:-1])
        of_row = np.full(len(place), -1, np.int32)
        of_row[at] = np.cumsum(new) - 1
        first = at[new]
        return Lines(value[first], self.codes[first].astype(np.int64), weights[first], of_row)

    def score_table(self, lines: Lines, table: Floats, known: Booleans, column: str) -> Score:
        """A score that reads a table (lines, classes); it raises for a row whose line is not `known`, (lines,)."""
        if (of_row := lines.of_row) is not None:
            lost = np.flatnonzero(~np.append(known, True)[of_row])  # a missing value, -1, is the last
            if len(lost):
                raise never_learned(column, int(lost[0]))
            return partial(kernels.active.add_codes, [of_row], np.zeros(1, np.int64), np.array([0, len(table)]), table)
        marked = with_marks(table, known)

        def score(out: Floats, start: int, stop: int) -> None:
            row = kernels.active.add_pairs(self.value, self.origin, self.codes, marked, out, start, stop)
            if row >= 0:
                raise never_learned(column, row)

        return score


def with_marks(table: Floats, known: Booleans) -> Floats:
    """A table (lines, classes) with NaN in the lines that are not known."""
    return np.ascontiguousarray(np.where(known[:, None], table, np.nan))


def subtract_weights(counts: Floats, weights: Floats) -> Floats:
    """Counts without the weights of rows that are in them."""
    rest = counts - weights
    return np.where(np.abs(rest) <= _ROUNDING * counts, 0.0, rest)


def subtract_lines(counts: Floats, lines: Lines) -> tuple[Floats, Booleans]:
    """Counts (lines, classes) minus the weight of each line in its own class, and which lines were counted."""
    rest, at = counts.copy(), (np.arange(len(lines.code)), lines.code)
    rest[at] = subtract_weights(counts[at], lines.weight)
    known = np.asarray(rest[at] >= 0)
    return np.maximum(rest, 0.0), known


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Smoothing by evidence of one column: its strength, and the two sums behind its normaliser."""

    strength: float
    base: float  # sum over the values of (n_v + 1) a / (n_v + a)
    cells: Floats  # sum over the values of (n_v + 1) n_vc / (n_v + a), (classes,)

    @classmethod
    def each(cls, shares: Shares, strengths: Floats) -> list[Shrunk]:
        """One for every column of the shares."""
        base, cells = shares.normaliser_parts(strengths)
        return [cls(*facts) for facts in zip(strengths.tolist(), base.tolist(), cells, strict=True)]

    def log_prob(self, was: Floats, rest: Floats, n: Floats, lost: Booleans, n_values: float) -> Floats:
        """Log P(value | class) for counts `rest` of a value that were `was`, (lines, classes).

        n: the remaining counts of the column; lost: which values have no counts any more.
        """
        a, before, after, whole = self.strength, was.sum(axis=1), rest.sum(axis=1), n.sum(axis=1)
        p = n / np.where(whole > 0, whole, 1.0)[:, None]
        kept = np.where(lost, 0.0, (after + 1) / (after + a))
        base = self.base - (before + 1) * a / (before + a) + kept * a
        cells = self.cells - ((before + 1) / (before + a))[:, None] * was + kept[:, None] * rest
        norm = (p * base[:, None] + cells) / np.maximum(whole + n_values - lost, 1e-300)[:, None]
        log_value = np.log(after + 1) - np.log(whole + n_values)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_share = np.log(rest + a * p) - np.log(after + a)[:, None] - np.log(norm)
        return np.asarray(log_value[:, None] + np.where((n > 0) & ~lost[:, None], log_share, 0.0))


def score_discrete(
    values: Values,
    counts: Floats,
    totals: Floats,
    how: float | Shrunk,
    n_values: float,
    *,
    column: str,
    fixed: bool,
    silent: bool = False,
) -> Score:
    """The leave-one-out score of a column of values.

    counts: of every value, (values, classes); totals: of the column, (classes,); how: Laplace's k, or the strength of
    the class shares; n_values: the number of values. `fixed`: a value without counts is still one of them (booleans);
    `silent`: it contributes nothing.
    """
    lines = values.lines()
    of_value = counts[lines.value]
    (rest, known), (n, _) = (
        subtract_lines(of_value, lines),
        subtract_lines(np.broadcast_to(totals, of_value.shape), lines),
    )
    gone = np.asarray(~rest.any(axis=1))
    if isinstance(how, Shrunk):
        log_p = how.log_prob(of_value, rest, n, gone & (not fixed), n_values)
    else:  # a value without counts has the share of an unseen one: the number of values stays
        log_p = laplace(rest, n, how, np.array([[n_values]]))
    if silent:
        log_p[gone] = 0.0
    return values.score_table(lines, log_p, known, column)
