"""One of several values.

    P(v | c) = (n_vc + k) / (n_c + k V)

the posterior mean under a symmetric Dirichlet(k) over the V values seen so far; "auto" chooses the strength by
evidence, see `tallybayes.families.shrinkage`. A value never seen is given the prior's share of an axis enlarged by
one, k / (n_c + k (V + 1)); with `unseen="missing"` it contributes nothing instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Weights
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag, Codes, Column, Key
from tallybayes.arrays.special import gammaln
from tallybayes.errors import ParameterError
from tallybayes.families.block_arrays import integer_arrays
from tallybayes.families.credible import beta_cumulants, check_posterior, gamma_cumulants, interval_rows
from tallybayes.families.discrete.discrete_family import DiscreteFamily, DiscretePrior, dirichlet_penalty
from tallybayes.families.discrete.keyed_predictive import KeyedPredictive
from tallybayes.families.family import Add, Codes32, Family, Floats, Score, Unseen
from tallybayes.families.leave_one_out_scores import Values, score_discrete
from tallybayes.families.predictive import Correction, part_of_prior, weight_lines
from tallybayes.families.shrinkage import Shares, beta_of_shares
from tallybayes.families.tokens.bag_counts import DENSE, add_columns, count_places
from tallybayes.tally import Counts, Exact

__all__ = ["Categorical", "CategoricalPredictive"]

_NUMBERS = 30  # different integers up to which tuning may treat a column of numbers as categories


@dataclass(frozen=True)
class Categorical(DiscreteFamily[Counts]):
    """One probability per value and class.

    >>> column, codes = Codes(np.array([0, 1, 1]), ["blue", "red"]), np.array([0, 0, 1], np.int32)
    >>> tally = Categorical().observe(("colour",), [column], codes, 2, None)
    >>> np.exp(Categorical().derive(tally, 1.0).log_prob([column])).round(3).tolist()
    [[0.5, 0.333], [0.5, 0.667], [0.5, 0.667]]
    """

    unseen: Unseen = "prior"

    def __post_init__(self) -> None:
        if self.unseen not in ("prior", "missing"):
            raise ParameterError("unseen: 'prior' or 'missing'", got=self.unseen)

    name: ClassVar[str] = "categorical"
    takes_class_weights: ClassVar[bool] = True
    column: ClassVar[type[Column]] = Codes

    def observe(
        self, features: tuple[str, ...], columns: Sequence[Codes], codes: Codes32, n_classes: int, weights: Weights
    ) -> Counts:
        """Count each value: in a dense table, or entry by entry in columns with many values times classes."""
        columns = [column.with_keys_in_use() for column in columns]
        limit = DENSE // max(len(columns) * n_classes, 1)
        named = list(zip(features, columns, strict=True))
        narrow = [(name, column) for name, column in named if len(column.keys) <= limit]
        if len(narrow) == len(named):
            return _count_dense(features, columns, codes, n_classes, weights)
        wide = [(name, column) for name, column in named if len(column.keys) > limit]
        parts = [_count_sparse(name, column, codes, n_classes, weights) for name, column in wide]
        if narrow:
            names, some = zip(*narrow, strict=True)
            parts.append(_count_dense(names, some, codes, n_classes, weights))
        whole = add_columns(parts, n_classes)
        return whole if whole.features == features else whole.only(features)

    def adder(self, tally: Counts, values: Floats) -> Add | None:
        """One more of each value."""
        if not tally.can_open():
            return None

        def add(code: int, sign: int) -> bool:
            return sign > 0 and tally.count_row(values, code)

        return add

    def shares(self, tally: Counts) -> Shares:
        """The counts of the values as class shares."""
        return _shares_of(tally)

    def dirichlet_evidence(self, tally: Counts, k: float) -> Floats:
        """Under Dirichlet(k) over the values seen."""
        totals, n_values = _totals(tally), _n_values(tally)
        if np.isinf(k):
            return np.asarray(-totals.sum(axis=1) * np.log(np.maximum(n_values, 1)))
        slot, _, amount = tally.entries()
        cells = np.bincount(
            tally.owners()[slot], weights=gammaln(amount + k) - gammaln(k), minlength=len(tally.features)
        )
        whole = k * np.maximum(n_values, 1)[:, None]
        return np.asarray(cells + (gammaln(whole) - gammaln(totals + whole)).sum(axis=1))

    def predictive(self, tally: Counts, prior: DiscretePrior) -> CategoricalPredictive:
        """Posterior means."""
        n_values = _n_values(tally)
        norm = None if prior.strengths is None else self.shares(tally).normaliser(prior.strengths, n_values)
        return CategoricalPredictive(
            tally.features, tally.n_classes, tally, prior, _totals(tally), n_values, norm, self.unseen
        )

    def leave_one_out(
        self, tally: Counts, prior: DiscretePrior | None, columns: Sequence[Codes], codes: Codes32, weights: Any
    ) -> list[Score]:
        """Rows of the same value and class have the same score: a table for each column."""
        totals, n_values, silent, scores = _totals(tally), _n_values(tally), self.unseen == "missing", []
        for j, (how, column) in enumerate(zip(self.smoothing_by_column(tally, prior), columns, strict=True)):
            name, column = tally.features[j], column.with_keys_in_use()
            values = Values(column.codes, len(column.keys), codes, tally.n_classes, weights, column.origin)
            counts = tally.table(name, column.keys)
            facts = (counts, totals[j], how, float(n_values[j]))
            scores.append(score_discrete(values, *facts, column=name, fixed=False, silent=silent))
        return scores

    def with_unseen(self, unseen: Unseen) -> Categorical:
        """Whether a value never counted has the prior's share or contributes nothing."""
        return self if unseen == self.unseen else replace(self, unseen=unseen)

    @classmethod
    def candidates(cls, values: Floats) -> list[Family]:
        """For a few different integers."""
        return [cls()] if bool((values == np.floor(values)).all()) and len(np.unique(values)) <= _NUMBERS else []


@dataclass(frozen=True, eq=False)
class CategoricalPredictive(KeyedPredictive):
    """Log probabilities, computed for the values of a batch (valid until the tally changes)."""

    by_column: ClassVar[tuple[str, ...]] = ("features", "totals", "n_values", "norm", "weights", "corrections")

    features: tuple[str, ...]
    n_classes: int
    tally: Counts
    prior: DiscretePrior
    totals: Floats  # (columns, classes)
    n_values: Floats  # (columns,)
    norm: Floats | None  # (columns, classes)
    unseen: Unseen
    weights: Floats | None = None  # (columns, classes), applied to every line
    log_prior: Floats | None = None  # (classes,), with the weights
    corrections: tuple[Correction | None, ...] = ()  # of the columns; none if it is empty

    def weighted(self, weights: Floats, log_prior: Floats) -> CategoricalPredictive:
        """With weights in the tables."""
        return replace(self, weights=weights, log_prior=log_prior)

    def log_table(self, number: int, keys: Sequence[Key]) -> Floats:
        """Log P(key | class) of one column, (keys, classes); an unseen key has the prior's share, or 0."""
        slots = self.tally.slots(self.features[number], keys)
        return self.log_rows(np.full(len(slots), number), slots)

    def log_rows(self, numbers: np.ndarray, slots: np.ndarray) -> Floats:
        """Log P(key | class) of keys by the numbers of their columns and their slots (-1: never seen)."""
        counts, n = self.tally.rows(slots), self.totals[numbers]
        new = np.asarray(~counts.any(axis=1))
        n_values = (self.n_values[numbers] + new)[:, None]
        if self.norm is None:
            assert self.prior.k is not None
            log_p: Floats = kernels.active.laplace(counts, n, self.prior.k, n_values)
        else:
            assert self.prior.strengths is not None
            a, whole = self.prior.strengths[numbers][:, None], self.totals.sum(axis=1)[numbers][:, None]
            per_value = counts.sum(axis=1, keepdims=True)
            log_value = np.log(per_value + 1) - np.log(whole + n_values)
            with np.errstate(divide="ignore", invalid="ignore"):
                p = n / np.where(whole > 0, whole, 1.0)
                log_share = np.log(counts + a * p) - np.log(per_value + a) - np.log(self.norm[numbers])
            log_p = log_value + np.where((n > 0) & ~new[:, None], log_share, 0.0)
        if self.unseen == "missing":
            log_p[new] = 0.0
        if self.weights is not None and self.log_prior is not None:
            log_p = weight_lines(log_p, self.weights[numbers], self.log_prior)
        for j, correction in enumerate(self.corrections):
            if correction is not None and len(rows := np.flatnonzero((numbers == j) & (slots >= 0))):
                log_p[rows] += correction.of_keys([self.tally.key_of[slot] for slot in slots[rows].tolist()])
        return log_p

    def bind_matrix(self, values: Floats) -> Score | None:
        """Prepare to score a matrix of slots: directly from open counts, otherwise slot by slot as they occur."""
        counts, k, silent = self.tally.open_counts(), self.prior.k, self.unseen == "missing"
        if counts is not None and k is not None and self.weights is None and not self.corrections:
            return lambda out, start, stop: kernels.active.add_laplace(
                values, counts, self.totals, k, self.n_values, silent, out, start, stop
            )
        return super().bind_matrix(values)

    def part(self, number: int) -> CategoricalPredictive:
        """One column."""
        return replace(super().part(number), prior=part_of_prior(self.prior, number))

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Values seen so far."""
        result: list[Any] = []
        for j, name in enumerate(self.features):
            keys = self.tally.keys(name)
            p = np.exp(self.log_table(j, keys)[:, code])
            drawn = rng.choice(len(keys), size=n, p=p / p.sum()) if len(keys) and p.sum() > 0 else None
            result.append([None] * n if drawn is None else [keys[i] for i in drawn])
        return result

    def outcomes(self, number: int) -> Floats:
        """Every value that was counted."""
        return self.log_table(number, self.tally.keys(self.features[number]))

    def log_penalty(self, number: int) -> float | None:
        """Of a Dirichlet over the values that were counted."""
        return dirichlet_penalty(self.prior, self.outcomes(number))

    def n_parameters(self, number: int) -> int:
        """A probability for each value and class; they add up to 1."""
        return max(int(self.n_values[number]) - 1, 0) * self.n_classes

    def keys_of(self, name: str) -> Sequence[Key]:
        """Every value that was counted."""
        return self.tally.keys(name)

    def _posterior(self, number: int, keys: Sequence[Key]) -> tuple[Floats, Floats]:
        """Alpha of keys, (keys, classes), and what they add up to: over the values, or over the classes."""
        check_posterior(self.prior.k != 0, self.features[number])
        counts, n = self.tally.rows(self.tally.slots(self.features[number], keys)), self.totals[number]
        if self.prior.strengths is None:
            n_values = self.n_values[number] + ~counts.any(axis=1, keepdims=True)
            k = float(self.prior.k or 0.0)
            return counts + k, n + k * n_values
        return beta_of_shares(_shares_of(self.tally.only((self.features[number],))), counts)

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """Of P(value); for shrunk shares of P(class | value), which is the quantity that has a posterior."""
        rows = []
        for j, name in enumerate(self.features):
            keys = self.tally.keys(name)
            p = np.exp(self.log_table(j, keys)) if self.norm is None else None
            rows += interval_rows(name, keys, *self._posterior(j, keys), level, p=p)
        return rows

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """Of a Dirichlet, or of class shares; a value never seen has the prior's."""
        result = np.zeros((3, len(columns[0]), self.n_classes))
        for j, column in enumerate(column for column in columns if isinstance(column, Codes)):
            alpha, total = self._posterior(j, column.keys)
            table = beta_cumulants(alpha, total) if self.norm is None else gamma_cumulants(alpha)
            if self.unseen == "missing":
                counts = self.tally.rows(self.tally.slots(self.features[j], column.keys))
                table = np.where(counts.any(axis=1, keepdims=True), table, 0.0)
            code = column.codes.astype(np.int64) - column.origin
            there = (code >= 0) & (code < len(column.keys))
            result[:, there] += table[:, code[there]]
        return result


def _totals(tally: Counts) -> Floats:
    """Rounded totals (columns, classes)."""
    return tally.rows_seen().floats()


def _n_values(tally: Counts) -> Floats:
    """The number of values of each column."""
    return np.array([tally.n_keys(name) for name in tally.features], np.float64)


def _shares_of(tally: Counts) -> Shares:
    slot, klass, amount = tally.entries()
    used, value = np.unique(slot, return_inverse=True)
    return Shares(len(tally.features), tally.owners()[used], value, klass, amount, _totals(tally))


def _count_dense(
    features: Sequence[str], columns: Sequence[Codes], codes: Codes32, n_classes: int, weights: Weights
) -> Counts:
    """The counts of columns with few values, by way of a dense table."""
    arrays, sizes = integer_arrays(columns), np.array([len(column.keys) for column in columns], np.int64)
    origins = np.array([column.origin for column in columns], np.int64)
    if weights is None:
        parts = in_threads(
            lambda start, stop: kernels.active.count_values(arrays, origins, sizes, codes, n_classes, start, stop),
            len(codes),
        )
        table = Exact.whole(sum(parts))
    else:
        tables = []
        for array, origin, size in zip(arrays, origins.tolist(), sizes.tolist(), strict=True):
            value = array.astype(np.int64) - origin
            row = np.flatnonzero((value >= 0) & (value < size) & (codes >= 0))
            total = Exact.summed(weights[row], value[row] * n_classes + codes[row], size * n_classes)
            tables.append(total.reshaped(size, n_classes))
        table = Exact.concatenate(tables)
    return Counts.of_table(tuple(features), [column.keys for column in columns], table)


def _count_sparse(feature: str, column: Codes, codes: Codes32, n_classes: int, weights: Weights) -> Counts:
    """The counts of a column with many values, as those of bags with one token: memory only for pairs that occur."""
    value = column.codes.astype(np.int64) - column.origin
    there = (value >= 0) & (value < len(column.keys))
    bag = Bag(np.arange(len(value) + 1), np.where(there, value, 0), None, column.keys)
    places, amounts = count_places(bag, np.where(there, codes, np.int32(-1)), n_classes, weights)
    return Counts.of_places(feature, column.keys, places, amounts, n_classes)
