"""How far each column is trusted.

    log P(c, x) = log P(c) + offset_c + sum over columns of w_jc log P(x_j | c)

Naive Bayes counts the same fact twice where two columns tell it; a weight below 1 takes that back, and 0 leaves a
column out. A score stays a sum, so explanations stay exact. Weights are one for each column, or one for each column and
class; there what a column says is measured from its average, log sum over c of P(c) P(x_j | c), since with different
weights the level matters. `tallybayes.tune` finds them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tallybayes.arrays.column import Column
from tallybayes.arrays.special import logsumexp
from tallybayes.errors import ParameterError, did_you_mean
from tallybayes.families.predictive import Floats, Predictive, Score, Word
from tallybayes.tally import Tally

__all__ = ["ColumnWeights", "WeightedPredictive", "plain", "weighted", "with_column_weights"]


@dataclass(frozen=True)
class ColumnWeights:
    """Weights of columns (1 where nothing is said), offsets of classes, and the rows that they were found on.

    >>> trust = ColumnWeights({"fever": 0.5, "cough": {"ill": 2.0}}, {"ill": 0.1})
    >>> trust.table(["cough", "fever"], ["ill", "well"]).tolist()
    [[2.0, 1.0], [0.5, 0.5]]
    """

    weights: Mapping[str, float | Mapping[Any, float]] = field(default_factory=dict)
    offsets: Mapping[Any, float] = field(default_factory=dict)
    rows: float = 0.0

    def __post_init__(self) -> None:
        weights = {str(name): dict(own) if isinstance(own, Mapping) else own for name, own in self.weights.items()}
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "offsets", dict(self.offsets))
        for name, own in weights.items():
            for weight in own.values() if isinstance(own, dict) else [own]:
                if not _is_number(weight) or not 0 <= weight < np.inf:
                    raise ParameterError("weights from 0 on", got=weight, column=name)
        if not all(_is_number(offset) and np.isfinite(offset) for offset in (*self.offsets.values(), self.rows)):
            raise ParameterError("offsets that are finite", got=self.offsets)

    def check(self, names: Collection[str], classes: Collection[Any]) -> None:
        """Raise if it is about columns or labels that there are not."""
        for name in self.weights:
            if name not in names:
                raise ParameterError("weights of columns of the model", got=name, hint=did_you_mean(name, names))
        by_label = [own for own in self.weights.values() if isinstance(own, Mapping)]
        for label in {label for own in (*by_label, self.offsets) for label in own}:
            if label not in classes:
                raise ParameterError("weights and offsets of labels of the model", got=label)

    def table(self, names: Sequence[str], classes: Sequence[Any]) -> Floats:
        """The weights of columns, (columns, classes)."""
        result = np.ones((len(names), len(classes)))
        for j, name in enumerate(names):
            own = self.weights.get(name, 1.0)
            result[j] = [own.get(label, 1.0) for label in classes] if isinstance(own, Mapping) else own
        return result

    def log_offsets(self, classes: Sequence[Any]) -> Floats:
        """What is added to the log prior, (classes,)."""
        return np.array([self.offsets.get(label, 0.0) for label in classes], np.float64)


@dataclass(frozen=True, eq=False)
class WeightedPredictive(Predictive):
    """A predictive whose columns have weights, (columns, classes); parameters and samples are those without them."""

    inner: Predictive
    weights: Floats
    log_prior: Floats  # (classes,), for what a column says on average

    @property
    def features(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns."""
        return self.inner.features

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """The classes."""
        return self.inner.n_classes

    def keyed_tally(self) -> Tally | None:
        """That of the inner one."""
        return self.inner.keyed_tally()

    def lexicon(self, feature: str) -> Any | None:
        """That of the inner one."""
        return self.inner.lexicon(feature)

    @property
    def tokens_interact(self) -> bool:
        """Whether they do in the inner one."""
        return self.inner.tokens_interact

    def words_of(self, feature: str, text: bytes) -> list[Word] | None:
        """The tokens of the inner one, each with the weight of its column."""
        words, weights = self.inner.words_of(feature, text), self.weights[self.features.index(feature)]
        if words is None:
            return None
        return [replace(word, log_evidence=np.where(weights == 0, 0.0, word.log_evidence * weights)) for word in words]

    def bind(self, columns: Sequence[Column]) -> Score:
        """Get ready to score columns, each by itself."""
        parts = [
            weighted(self.inner.part(j).bind([column]), own, self.log_prior)
            for j, (column, own) in enumerate(zip(columns, self.weights, strict=True))
            if own.any()
        ]

        def score(out: Floats, start: int, stop: int) -> None:
            for part in parts:
                part(out, start, stop)

        return score

    def bind_matrix(self, values: Floats) -> Score | None:
        """Get ready to score a matrix; all or none of its columns go by numbers."""
        parts = []
        for j, own in enumerate(self.weights):
            if own.any():
                if (inner := self.inner.part(j).bind_matrix(values[:, j : j + 1])) is None:
                    return None
                parts.append(weighted(inner, own, self.log_prior))

        def score(out: Floats, start: int, stop: int) -> None:
            for part in parts:
                part(out, start, stop)

        return score

    def part(self, number: int) -> Predictive:
        """One column."""
        return WeightedPredictive(self.inner.part(number), self.weights[number : number + 1], self.log_prior)

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Values as if all were trusted."""
        return self.inner.sample(rng, code, n)

    def table(self) -> list[dict[str, Any]]:
        """The parameters of the inner one."""
        return self.inner.table()

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """Those of the inner one."""
        return self.inner.intervals(level)

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """Those of the inner one times powers of the weights."""
        result = np.zeros((3, len(columns[0]), self.n_classes))
        for j, (column, own) in enumerate(zip(columns, self.weights, strict=True)):
            if own.any():
                result += np.stack([own, own**2, own**3])[:, None] * self.inner.part(j).log_cumulants([column])
        return result

    def note(self, number: int) -> str:
        """What the inner one says, and the weight."""
        own = self.weights[number]
        told = f"weight {own[0]:.3g}" if (own == own[0]).all() else f"weights {own.min():.3g} to {own.max():.3g}"
        return ", ".join(text for text in (self.inner.note(number), told) if text)


def weighted(score: Score, weights: Floats, log_prior: Floats) -> Score:
    """A score times weights (classes,); where a weight is 0, nothing is said.

    log_prior: (classes,) or of every row, (rows, classes): what is said on average is taken off where weights differ.
    """
    if (weights == 1).all():
        return score
    silent, differ = weights == 0, (weights != weights[0]).any()

    def scaled(out: Floats, start: int, stop: int) -> None:
        part = out[start:stop]  # the kernels add to it in place: what was there waits, so that it can be scaled alone
        before = part.copy()
        part[:] = 0.0
        score(out, start, stop)
        if differ:
            part -= _average(part, log_prior if log_prior.ndim == 1 else log_prior[start:stop])
        part[:, silent] = 0.0
        part *= weights
        part += before

    return scaled


def _average(log_p: Floats, log_prior: Floats) -> Floats:
    """Log of the average of P, (rows, 1); 0 where it is 0."""
    with np.errstate(divide="ignore"):
        average = np.asarray(logsumexp(log_p + log_prior - logsumexp(log_prior, axis=-1)[..., None], axis=1))[:, None]
    return np.where(np.isinf(average), 0.0, average)


def with_column_weights(
    predictive: Predictive, trust: ColumnWeights | None, classes: Sequence[Any], log_prior: Floats
) -> Predictive:
    """A predictive with the weights of its columns; itself if they are all 1."""
    if trust is None:
        return predictive
    weights = trust.table(predictive.features, classes)
    return predictive if (weights == 1).all() else WeightedPredictive(predictive, weights, log_prior)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def plain(predictive: Predictive) -> Predictive:
    """A predictive without weights."""
    return predictive.inner if isinstance(predictive, WeightedPredictive) else predictive
