"""The full joint distribution of several columns of cells, without any assumption of independence.

    P(x | c) = (n_xc + k) / (n_c + k K)

for each of the K combinations x of cells: the posterior mean under a symmetric Dirichlet(k) over all combinations,
those that never occurred included. "auto" is the strength with the greatest evidence, one per column. A class has K - 1
free numbers: for n booleans 2^n - 1, where naive Bayes has n.

A value that is missing when a row is scored is marginalised: the probabilities of all combinations that agree with the
row are added up,

    P(x_S | c) = (n_Sc + k K / K_S) / (n_c + k K)

with n_Sc the rows that agree and K_S the combinations of the inputs S that are there. Rows that lack a value when they
are learned cannot be counted as a combination: they are not counted, and reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tallybayes.arrays.array_types import Codes32, Floats, Integers, Weights
from tallybayes.arrays.column import Cells, Column
from tallybayes.arrays.special import gammaln
from tallybayes.errors import Described, ParameterError
from tallybayes.families.family import Family, Predictive, Score, Smoothing
from tallybayes.families.leave_one_out_scores import as_score, never_learned, subtract_weights
from tallybayes.families.predictive import value_rows
from tallybayes.families.strength import Strength
from tallybayes.kernels.densities import laplace
from tallybayes.tally import CombinationCounts, Exact

__all__ = ["FullJoint", "FullJointPredictive", "FullJointPrior"]

STRENGTHS = 4.0 ** np.arange(-10, 5)  # rows added to each combination; chosen by evidence
_MOST = 2**22  # parameters: 32 MiB
_SMALL = 2**16  # places of a table that is used however few rows there are


@dataclass(frozen=True, eq=False)
class FullJointPrior:
    """The rows that are added to each combination, (columns,); infinity: all are equally probable."""

    strengths: Floats


@dataclass(frozen=True)
class FullJoint(Family[CombinationCounts, FullJointPrior]):
    """A probability for each combination of the cells of several columns.

    >>> column, codes = Cells(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int16), (2, 2)), np.array([0, 1, 1, 0])
    >>> tally = FullJoint().observe(("a,b",), [column], codes.astype(np.int32), 2, None)
    >>> np.exp(FullJoint().derive(tally, 1.0).log_prob([column])).round(3).tolist()
    [[0.333, 0.167], [0.167, 0.333], [0.167, 0.333], [0.333, 0.167]]
    """

    name: ClassVar[str] = "full_joint"
    column: ClassVar[type[Column]] = Cells
    takes_smoothing: ClassVar[bool] = True
    is_divided: ClassVar[bool] = False

    def observe(
        self, features: tuple[str, ...], columns: Sequence[Cells], codes: Codes32, n_classes: int, weights: Weights
    ) -> CombinationCounts:
        """Count the combination of each row."""
        sizes = {name: column.sizes for name, column in zip(features, columns, strict=True)}
        for name, own in sizes.items():
            self.check_inputs(name, own, n_classes)
        counted = [_count(column, codes, n_classes, weights) for column in columns]
        return CombinationCounts.of_cells(sizes, counted, n_classes)

    def check_inputs(self, name: str, sizes: Sequence[int], n_classes: int) -> None:
        """Refuse more combinations than there is memory for, and say how many parameters they are.

        >>> FullJoint().check_inputs("all columns", [2] * 30, 2)
        Traceback (most recent call last):
            ...
        tallybayes.errors.ParameterError: column 'all columns': expected at most 4,194,304 parameters of the full joint distribution of 30 columns, got 2,147,483,646, where naive Bayes has 60
        hint: use fewer columns (only=, ignore=), or dependence="one" or "none"
        """  # noqa: E501 - the message is one line
        full, naive = ((n - 1) * max(n_classes, 1) for n in (math.prod(sizes), sum(sizes) - len(sizes) + 1))
        if full > _MOST:
            expected = f"at most {_MOST:,} parameters of the full joint distribution of {len(sizes)} columns"
            got = Described(f"{full:,}, where naive Bayes has {naive:,}")
            hint = 'use fewer columns (only=, ignore=), or dependence="one" or "none"'
            raise ParameterError(expected, got=got, column=name, hint=hint)

    def prior(self, tally: CombinationCounts, smoothing: Smoothing) -> FullJointPrior:
        """The given strength, or those with the greatest evidence."""
        if smoothing != "auto":
            return FullJointPrior(np.full(len(tally.features), float(smoothing)))
        tables = [tally.combination_table(name) for name in tally.features]
        best = [int(np.argmax([_evidence(table, k) for k in STRENGTHS.tolist()])) for table in tables]
        return FullJointPrior(np.array(STRENGTHS[best], np.float64))

    def strengths(self, tally: CombinationCounts, smoothing: Smoothing) -> list[Strength]:
        """The rows that are added to each combination, given or by evidence."""
        chosen = self.prior(tally, smoothing).strengths.tolist()
        return [Strength(rows, is_selected=smoothing == "auto") for rows in chosen]

    def predictive(self, tally: CombinationCounts, prior: FullJointPrior) -> FullJointPredictive:
        """Posterior means."""
        sizes = tuple(tally.sizes[name] for name in tally.features)
        for name, own in zip(tally.features, sizes, strict=True):
            self.check_inputs(name, own, tally.n_classes)
        counts = tuple(tally.combination_table(name) for name in tally.features)
        return FullJointPredictive(tally.features, tally.n_classes, sizes, counts, tuple(prior.strengths.tolist()))

    def plug_in(self, tally: CombinationCounts) -> FullJointPredictive:
        """Frequencies."""
        return self.predictive(tally, self.prior(tally, 0.0))

    def evidence(self, tally: CombinationCounts, prior: FullJointPrior) -> Floats:
        """Of the combinations of complete rows, summed over the classes."""
        pairs = zip(tally.features, prior.strengths.tolist(), strict=True)
        return np.array([_evidence(tally.combination_table(name), k) for name, k in pairs])

    def leave_one_out(
        self,
        tally: CombinationCounts,
        prior: FullJointPrior | None,
        columns: Sequence[Cells],
        codes: Codes32,
        weights: Weights,
    ) -> list[Score]:
        """Of a complete row the score of its own class changes; an incomplete one was not counted."""
        prior = self.prior(tally, 0.0) if prior is None else prior
        whole, amounts = self.predictive(tally, prior), np.ones(len(codes)) if weights is None else weights
        scores = []
        for number, (name, column) in enumerate(zip(tally.features, columns, strict=True)):
            counts, k = whole.counts[number], float(prior.strengths[number])
            place = _places(column)
            score, rows = whole.score_cells(number, column), np.flatnonzero((place >= 0) & (place < len(counts)))
            own, weight = codes[rows], amounts[rows]
            n = subtract_weights(counts[place[rows], own], weight)
            if (lost := np.flatnonzero(n < 0)).size:
                raise never_learned(name, int(rows[lost[0]]))
            total = np.maximum(subtract_weights(counts.sum(axis=0)[own], weight), 0.0)
            score[rows, own] = laplace(n[:, None], total[:, None], k, len(counts))[:, 0]
            scores.append(as_score(score))
        return scores


@dataclass(frozen=True, eq=False)
class FullJointPredictive(Predictive):
    """The counts of all combinations of every column, (combinations, classes), and the strength of smoothing."""

    by_column: ClassVar[tuple[str, ...]] = ("features", "sizes", "counts", "strengths")

    features: tuple[str, ...]
    n_classes: int
    sizes: tuple[tuple[int, ...], ...]
    counts: tuple[Floats, ...]
    strengths: tuple[float, ...]
    lists_all: bool = False  # whether tables list combinations that never occurred

    def bind(self, columns: Sequence[Column]) -> Score:
        """Prepare to score cells."""
        cells = [column for column in columns if isinstance(column, Cells)]
        scores = [self.score_cells(number, column) for number, column in enumerate(cells)]

        def score(out: Floats, start: int, stop: int) -> None:
            for part in scores:
                out[start:stop] += part[start:stop]

        return score

    def score_cells(self, number: int, column: Cells) -> Floats:
        """The scores of one column, (rows, classes): of rows that lack the same inputs together."""
        result, there = np.zeros((len(column), self.n_classes)), column.codes >= 0
        is_complete = there.all(axis=1)
        lacking = np.flatnonzero(~is_complete)
        kinds, kind_of = np.unique(there[lacking], axis=0, return_inverse=True)
        groups = [(kept, lacking[kind_of.reshape(-1) == i]) for i, kept in enumerate(kinds)]
        for kept, rows in [(np.ones(len(column.sizes), bool), np.flatnonzero(is_complete)), *groups]:
            inputs = np.flatnonzero(kept).tolist()
            if inputs and len(rows):
                own = Cells(column.codes[rows][:, inputs], tuple(column.sizes[i] for i in inputs))
                counts = self._counts_of(number, inputs)
                result[rows] = self._log_prob(number, counts[_places(own)], len(counts))
        return result

    def _counts_of(self, number: int, inputs: Sequence[int]) -> Floats:
        """The counts of the combinations of some inputs, whatever the others are, (combinations, classes)."""
        sizes, counts = self.sizes[number], self.counts[number]
        if len(inputs) == len(sizes):
            return counts
        axes = tuple(i for i in range(len(sizes)) if i not in inputs)
        return np.asarray(counts.reshape(*sizes, self.n_classes).sum(axis=axes).reshape(-1, self.n_classes))

    def _log_prob(self, number: int, counts: Floats, n_combinations: int) -> Floats:
        """Log probabilities of combinations of some inputs with these counts, of so many."""
        whole = self.counts[number]
        k = self.strengths[number] * (len(whole) // n_combinations)  # the smoothing of those that agree, added up
        return laplace(counts, whole.sum(axis=0), k, n_combinations)

    def outcomes(self, number: int) -> Floats:
        """All combinations."""
        return self._log_prob(number, self.counts[number], len(self.counts[number]))

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Cells of every column, (rows, inputs)."""
        result: list[Any] = []
        for number, sizes in enumerate(self.sizes):
            p = np.exp(self.outcomes(number)[:, code])
            drawn = rng.choice(len(p), size=n, p=p / p.sum())
            result.append(np.stack(np.unravel_index(drawn, sizes), axis=1))
        return result

    def table(self) -> list[dict[str, Any]]:
        """The probability of every combination that occurred; its cells are given with the numbers of their inputs."""
        rows = []
        for number, (name, sizes) in enumerate(zip(self.features, self.sizes, strict=True)):
            listed = self._listed(number)
            cells = np.stack(np.unravel_index(listed, sizes), axis=1).tolist()
            rows += value_rows(name, [tuple(enumerate(own)) for own in cells], np.exp(self.outcomes(number)[listed]))
        return rows

    def _listed(self, number: int) -> Integers:
        """The combinations that tables list: at least one."""
        counts = self.counts[number]
        occurred = np.flatnonzero(counts.any(axis=1))
        return np.arange(len(counts)) if self.lists_all or not len(occurred) else occurred

    def listing_all(self) -> FullJointPredictive:
        """The same with tables of all combinations."""
        return FullJointPredictive(self.features, self.n_classes, self.sizes, self.counts, self.strengths, True)

    def note(self, number: int) -> str:
        """How many combinations occurred."""
        counts = self.counts[number]
        return f"{np.count_nonzero(counts.any(axis=1)):,} of {len(counts):,} combinations occurred"


def _places(column: Cells) -> Integers:
    """The number of the combination of each row; one above the last if cells are missing, -1 if all are."""
    there, place = column.codes >= 0, np.zeros(len(column), np.int64)
    for i, size in enumerate(column.sizes):
        place *= size
        place += column.codes[:, i]
    return np.where(there.all(axis=1), place, np.where(there.any(axis=1), math.prod(column.sizes), -1))


def _count(column: Cells, codes: Codes32, n_classes: int, weights: Weights) -> tuple[Integers, Exact]:
    """Sorted places `key * n_classes + class`, and the amount at each."""
    place = _places(column)
    rows = np.flatnonzero((place >= 0) & (codes >= 0))
    places = place[rows] * n_classes + codes[rows]
    n_places = (math.prod(column.sizes) + 1) * n_classes
    if weights is None and n_places <= max(_SMALL, 4 * len(codes)):
        table = np.bincount(places, minlength=n_places)
        used = np.flatnonzero(table)
        return used, Exact.whole(table[used])
    used, group = np.unique(places, return_inverse=True)
    return used, Exact.summed(np.ones(len(rows)) if weights is None else weights[rows], group, len(used))


def _evidence(counts: Floats, k: float) -> float:
    """Log marginal likelihood of the combinations given the classes under Dirichlet(k); counts: of all combinations."""
    total, n = counts.sum(axis=0), counts[counts > 0]
    if np.isinf(k):
        return float(-total.sum() * math.log(len(counts)))
    whole = k * len(counts)
    return float((gammaln(n + k) - gammaln(k)).sum() + (gammaln(whole) - gammaln(total + whole)).sum())
