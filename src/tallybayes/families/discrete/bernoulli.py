"""Booleans.

    P(yes | c) = (yes + k) / (yes + no + 2 k)

the posterior mean under a Beta(k, k) prior; k = 0 is the frequency, k = 1 Laplace's own rule (the sun that has risen
1,826,213 times rises again with probability 1,826,214 / 1,826,215). "auto" chooses the strength by evidence, see
`tallybayes.families.shrinkage`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Weights
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Column, Flags
from tallybayes.families.block_arrays import ArrayPredictive, first_true, flag_arrays, float_flags, refuse, sum_columns
from tallybayes.families.credible import beta_cumulants, beta_interval, check_posterior, gamma_cumulants, interval_rows
from tallybayes.families.discrete.discrete_family import DiscreteFamily, DiscretePrior, dirichlet_penalty
from tallybayes.families.family import Add, Codes32, Floats, Score
from tallybayes.families.leave_one_out_scores import Values, score_discrete
from tallybayes.families.predictive import Correction, parameter_rows, part_of_prior, weight_lines
from tallybayes.families.shrinkage import Shares, beta_of_shares, dirichlet_evidence
from tallybayes.kernels.densities import beta_tables
from tallybayes.tally import Exact, Sums

__all__ = ["Bernoulli", "BernoulliPredictive"]

_EXPECTED = "a boolean (0, 1, true, false)"


@dataclass(frozen=True)
class Bernoulli(DiscreteFamily[Sums]):
    """One probability of yes per class.

    >>> column, codes = Flags(np.array([1, 1, 0, 0])), np.array([0, 0, 0, 1], np.int32)
    >>> tally = Bernoulli().observe(("fever",), [column], codes, 2, None)
    >>> np.exp(Bernoulli().derive(tally, 1.0).log_prob([Flags(np.array([1]))])).round(3).tolist()
    [[0.6, 0.333]]
    """

    name: ClassVar[str] = "bernoulli"
    predicts_without_values: ClassVar[bool] = True
    takes_class_weights: ClassVar[bool] = True
    column: ClassVar[type[Column]] = Flags

    def observe(
        self, features: tuple[str, ...], columns: Sequence[Flags], codes: Codes32, n_classes: int, weights: Weights
    ) -> Sums:
        """Count yes and no."""
        arrays = flag_arrays(columns)
        parts = in_threads(
            lambda start, stop: kernels.active.count_flags(arrays, codes, n_classes, start, stop), len(codes)
        )
        refuse(min((p[2] for p in parts if p[2] >= 0), default=-1), features, arrays, _EXPECTED)
        if weights is None:
            no, yes = (Exact.whole(sum(p[i] for p in parts)) for i in (0, 1))
        else:
            (both, yes), _ = sum_columns([float_flags(array) for array in arrays], codes, n_classes, weights, 1)
            no = both - yes
        return Sums(features, {"no": no, "yes": yes}, counts=("no", "yes"))

    def adder(self, tally: Sums, values: Floats) -> Add | None:
        """Add 1 to the counts."""
        if (sums := tally.open_sums()) is None:
            return None
        no, yes = (sums[name].digits[..., 0] for name in ("no", "yes"))

        return lambda code, sign: kernels.active.add_flag_row(no, yes, values, code, sign)

    def shares(self, tally: Sums) -> Shares:
        """The counts of no and yes as class shares."""
        return _shares_of(_counts(tally))

    def dirichlet_evidence(self, tally: Sums, k: float) -> Floats:
        """Under Beta(k, k)."""
        return np.asarray(dirichlet_evidence(np.moveaxis(_counts(tally), 0, -1), k).sum(axis=1))

    def predictive(self, tally: Sums, prior: DiscretePrior) -> BernoulliPredictive:
        """Posterior means."""
        if prior.strengths is None:
            no, yes = tally["no"], tally["yes"]
            if no.is_whole and yes.is_whole:
                tables = kernels.active.beta(no.digits[..., 0], yes.digits[..., 0], prior.k)
            else:
                tables = beta_tables(no.floats(), yes.floats(), prior.k or 0.0)
            counts, log_no, log_yes = tables[:2], tables[2], tables[3]
        else:
            counts, a, shares = _counts(tally), prior.strengths[:, None], self.shares(tally)
            per_value = counts.sum(axis=2)
            log_value = np.log(per_value + 1) - np.log(per_value.sum(axis=0) + 2)
            with np.errstate(divide="ignore", invalid="ignore"):
                log_share = np.log(counts + a * shares.p) - np.log(per_value[..., None] + a)
                log_norm = np.log(shares.normaliser(prior.strengths, np.full(len(a), 2.0)))
                log_p = log_value[..., None] + log_share - log_norm
            log_no, log_yes = np.where(shares.per_class > 0, log_p, log_value[..., None])
        return BernoulliPredictive(tally.features, tally.n_classes, log_no, log_yes, counts, prior)

    def leave_one_out(
        self, tally: Sums, prior: DiscretePrior | None, columns: Sequence[Flags], codes: Codes32, weights: Any
    ) -> list[Score]:
        """A table of the few different rows for each column."""
        counts, arrays = _counts(tally), flag_arrays(columns)
        scores = []
        for j, (how, values) in enumerate(zip(self.smoothing_by_column(tally, prior), arrays, strict=True)):
            name = tally.features[j]
            value = np.where(values == 1, 1, np.where(values == 0, 0, -1)).astype(np.int8)
            missing = np.isnan(values) if values.dtype.kind == "f" else values == -1
            refuse(first_true((value < 0) & ~missing), (name,), [values], _EXPECTED)
            column = Values(value, 2, codes, tally.n_classes, weights)
            scores.append(
                score_discrete(column, counts[:, j], counts[:, j].sum(axis=0), how, 2.0, column=name, fixed=True)
            )
        return scores


@dataclass(frozen=True, eq=False)
class BernoulliPredictive(ArrayPredictive):
    """Log probabilities of no and yes, (columns, classes) each."""

    by_column: ClassVar[tuple[str, ...]] = ("features", "log_no", "log_yes")
    expected: ClassVar[str] = _EXPECTED

    features: tuple[str, ...]
    n_classes: int
    log_no: Floats
    log_yes: Floats
    counts: Floats  # of no and yes, (2, columns, classes)
    prior: DiscretePrior

    def kernel(self) -> tuple[Callable[..., int], tuple[Any, ...]]:
        """Of zeros and ones."""
        return kernels.active.add_flags, (self.log_no, self.log_yes)

    def weighted(self, weights: Floats, log_prior: Floats) -> BernoulliPredictive:
        """With weights in the tables."""
        log_no, log_yes = (weight_lines(table, weights, log_prior) for table in (self.log_no, self.log_yes))
        return replace(self, log_no=log_no, log_yes=log_yes)

    def corrected(self, corrections: Sequence[Correction | None]) -> BernoulliPredictive:
        """With corrections in the tables."""
        log_no, log_yes = self.log_no.copy(), self.log_yes.copy()
        for j, correction in enumerate(corrections):
            if correction is not None:
                no, yes = correction.of_keys((False, True))
                log_no[j] += no
                log_yes[j] += yes
        return replace(self, log_no=log_no, log_yes=log_yes)

    def part(self, number: int) -> BernoulliPredictive:
        """One column."""
        prior = part_of_prior(self.prior, number)
        return replace(super().part(number), counts=self.counts[:, number : number + 1], prior=prior)

    def outcomes(self, number: int) -> Floats:
        """No and yes."""
        return np.stack([self.log_no[number], self.log_yes[number]])

    def log_penalty(self, number: int) -> float | None:
        """Of a Beta."""
        return dirichlet_penalty(self.prior, self.outcomes(number))

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Booleans."""
        return [rng.random(n) < p for p in np.exp(self.log_yes[:, code])]

    def table(self) -> list[dict[str, Any]]:
        """The probability of yes, and the rows that it is estimated from."""
        return parameter_rows(self.features, {"P(yes)": np.exp(self.log_yes), "rows": self.counts.sum(axis=0)})

    def _posterior(self) -> tuple[Floats, Floats]:
        """Alpha of no and yes, (2, columns, classes), and their totals: over the values, or over the classes."""
        check_posterior(self.prior.k != 0, self.features[0])
        if self.prior.strengths is None:
            k = self.prior.k or 0.0
            alpha = self.counts + k
            return alpha, np.broadcast_to(self.counts.sum(axis=0) + 2 * k, alpha.shape)
        parts = (self.counts[:, j : j + 1] for j in range(len(self.features)))
        alphas, totals = zip(*(beta_of_shares(_shares_of(part), part[:, 0]) for part in parts), strict=True)
        return np.stack(alphas, axis=1), np.stack(totals, axis=1)

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """Of P(yes); for shrunk shares of P(class | value), which is the quantity that has a posterior."""
        alpha, total = self._posterior()
        if self.prior.strengths is None:
            low, high = (end[1].ravel().tolist() for end in beta_interval(alpha, total, level))
            return [row | {"low": low[i], "high": high[i]} for i, row in enumerate(self.table())]
        rows: list[dict[str, Any]] = []
        for j, name in enumerate(self.features):
            rows += interval_rows(name, (False, True), alpha[:, j], total[:, j], level)
        return rows

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """Of a Beta, or of class shares."""
        alpha, total = self._posterior()
        table = beta_cumulants(alpha, total) if self.prior.strengths is None else gamma_cumulants(alpha)
        arrays = flag_arrays(columns)
        result = np.zeros((3, len(columns[0]), self.n_classes))
        for j, values in enumerate(arrays):
            for value in (0, 1):
                result[:, values == value] += table[:, value, j][:, None]
        return result


def _counts(tally: Sums) -> Floats:
    """Rounded counts (2, columns, classes)."""
    return np.array([tally["no"].floats(), tally["yes"].floats()])


def _shares_of(counts: Floats) -> Shares:
    n = counts.shape[1]
    flat = counts.reshape(2 * n, counts.shape[2])
    value, klass = np.nonzero(flat)
    return Shares(n, np.tile(np.arange(n), 2), value, klass, flat[value, klass], counts.sum(axis=0))
