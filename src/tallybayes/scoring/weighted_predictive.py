"""Predictives with column weights and corrections (`state/column_weights.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from tallybayes.arrays.column import Column, Key
from tallybayes.families.predictive import Correction, Floats, Predictive, Score, TokenEvidence, weight_lines
from tallybayes.state.column_weights import ColumnWeights, weight_range
from tallybayes.tally import Tally

__all__ = [
    "WeightedPredictive",
    "add_scores",
    "corrected_parts",
    "remove_weights",
    "weight_score",
    "with_column_weights",
]

Corrections = Mapping[str, tuple[Sequence[str], Floats]]  # tokens, and their corrections (tokens, classes), by column


@dataclass(frozen=True, eq=False)
class WeightedPredictive(Predictive):
    """A predictive with corrections of tokens, times column weights; parameters and samples are those without them.

    corrections: of values, added to the columns afterwards; only where the inner predictive has tables to hold them.
    """

    inner: Predictive
    weights: Floats  # (columns, classes)
    log_prior: Floats  # (classes,), to centre the contribution of a column
    corrections: tuple[Correction | None, ...] = ()
    token_corrections: Corrections = field(default_factory=dict)

    @cached_property
    def scored(self) -> Predictive:
        """The predictive with the corrections of tokens."""
        return self.inner.with_token_corrections(self.token_corrections) if self.token_corrections else self.inner

    @cached_property
    def folded(self) -> Predictive | None:
        """A predictive with the weights in its tables, if there is one: scoring costs nothing more then."""
        weighted = self.scored if (self.weights == 1).all() else self.scored.weighted(self.weights, self.log_prior)
        if weighted is None or not any(self.corrections):
            return weighted
        return weighted.corrected(self.corrections)

    @property
    def features(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns."""
        return self.inner.features

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """The classes."""
        return self.inner.n_classes

    def keyed_tally(self) -> Tally | None:
        """The tally of the inner predictive, if it has keys."""
        return self.inner.keyed_tally()

    def lexicon(self, feature: str) -> Any | None:
        """The lexicon of the inner predictive."""
        return self.inner.lexicon(feature)

    def tokens_interact(self, feature: str) -> bool | None:
        """Whether the contribution of a token depends on the others; it does where the weights of classes differ."""
        weights, interact = self.weights[self.features.index(feature)], self.inner.tokens_interact(feature)
        return interact if interact is None else interact or bool((weights != weights[0]).any())

    def absence_evidence(self, feature: str, tokens: Sequence[Key]) -> Floats | None:
        """That of the inner predictive, times the weights."""
        log_absent = self.inner.absence_evidence(feature, tokens)
        weights = self.weights[self.features.index(feature)]
        return None if log_absent is None else weight_lines(log_absent, weights, self.log_prior)

    def token_evidence(self, feature: str, column: Column, text: bytes | None = None) -> list[TokenEvidence]:
        """The tokens of a row, each with the weight of its column.

        Where the weights of classes differ, each token is centred by itself, and the column as a whole: the difference
        is a part of its own.
        """
        tokens, weights = self.scored.token_evidence(feature, column, text), self.weights[self.features.index(feature)]
        if not tokens:
            return tokens
        parts = np.array([token.log_evidence for token in tokens])
        weighted = weight_lines(parts, weights, self.log_prior)
        result = [replace(token, log_evidence=part) for token, part in zip(tokens, weighted, strict=True)]
        if (weights == weights[0]).all():
            return result
        whole = weight_lines(parts.sum(axis=0)[None], weights, self.log_prior)[0]
        with np.errstate(invalid="ignore"):
            centring = np.where(np.isneginf(whole), 0.0, whole - weighted.sum(axis=0))
        return [*result, TokenEvidence("", centring, rest="weights by class")]

    def bind(self, columns: Sequence[Column]) -> Score:
        """Prepare to score columns: with weights in the tables, or else each column on its own."""
        if self.folded is not None:
            return self.folded.bind(columns)
        parts = [
            weight_score(self.scored.part(j).bind([column]), weights, self.log_prior)
            for j, (column, weights) in enumerate(zip(columns, self.weights, strict=True))
            if weights.any()
        ]
        return add_scores(*parts)

    def bind_matrix(self, values: Floats) -> Score | None:
        """Prepare to score a matrix; None unless every column can be scored from numbers."""
        if self.folded is not None:
            return self.folded.bind_matrix(values)
        parts = []
        for j, weights in enumerate(self.weights):
            if weights.any():
                if (inner := self.inner.part(j).bind_matrix(values[:, j : j + 1])) is None:
                    return None
                parts.append(weight_score(inner, weights, self.log_prior))
        return add_scores(*parts)

    def part(self, number: int) -> WeightedPredictive:
        """One column."""
        place, name = slice(number, number + 1), self.features[number]
        tokens = {name: self.token_corrections[name]} if name in self.token_corrections else {}
        weights = self.weights[place], self.log_prior, self.corrections[place]
        return WeightedPredictive(self.inner.part(number), *weights, tokens)

    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Samples, without weights."""
        return self.inner.sample(rng, code, n)

    def table(self) -> list[dict[str, Any]]:
        """The parameters, without weights."""
        return self.inner.table()

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """The intervals, without weights."""
        return self.inner.intervals(level)

    def listing_all(self) -> Predictive:
        """The same with an inner predictive that lists all tokens."""
        return replace(self, inner=self.inner.listing_all())

    def n_parameters(self, number: int) -> int | None:
        """Those of the inner predictive; weights are not counted."""
        return self.inner.n_parameters(number)

    def n_tokens(self, feature: str) -> int | None:
        """The tokens of the inner predictive."""
        return self.inner.n_tokens(feature)

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """The cumulants times powers of the weights."""
        result = np.zeros((3, len(columns[0]), self.n_classes))
        for j, (column, weights) in enumerate(zip(columns, self.weights, strict=True)):
            if weights.any():
                powers = np.stack([weights, weights**2, weights**3])[:, None]
                result += powers * self.inner.part(j).log_cumulants([column])
        return result

    def note(self, number: int) -> str:
        """The note of the inner predictive, and the weight."""
        weight = weight_range(dict(enumerate(self.weights[number].tolist())))
        correction = "corrected by value" if any(self.corrections[number : number + 1]) else ""
        return ", ".join(text for text in (self.inner.note(number), weight, correction) if text)


def add_scores(*scores: Score) -> Score:
    """The sum of scores."""

    def score(out: Floats, start: int, stop: int) -> None:
        for part in scores:
            part(out, start, stop)

    return score


def weight_score(score: Score, weights: Floats, log_prior: Floats) -> Score:
    """A score times weights (classes,); a weight of 0 contributes nothing.

    log_prior: (classes,) or of every row, (rows, classes): the contribution is centred where weights differ.
    """
    if (weights == 1).all():
        return score

    def scaled(out: Floats, start: int, stop: int) -> None:
        part = out[start:stop]  # kernels add in place: what is there is put aside, and only the contribution is scaled
        before = part.copy()
        part[:] = 0.0
        score(out, start, stop)
        scaled_part = weight_lines(part, weights, log_prior if log_prior.ndim == 1 else log_prior[start:stop])
        np.add(before, scaled_part, out=part)

    return scaled


def with_column_weights(
    predictive: Predictive,
    weights: ColumnWeights | None,
    classes: Sequence[Any],
    log_prior: Floats,
    token_corrections: Corrections | None = None,
) -> Predictive:
    """A predictive with the weights and corrections of its columns; the predictive itself if there are none."""
    tokens = {name: part for name, part in (token_corrections or {}).items() if name in predictive.features}
    if weights is None and not tokens:
        return predictive
    weights = weights or ColumnWeights()
    table = weights.table(predictive.features, classes)
    corrections = weights.corrections_of(predictive.features, classes)
    if (table == 1).all() and not corrections and not tokens:
        return predictive
    return WeightedPredictive(predictive, table, log_prior, corrections, tokens)


def corrected_parts(predictive: Predictive) -> dict[str, tuple[Predictive, Predictive]]:
    """The predictives of the columns that have corrections of tokens, with and without them, both without weights."""
    if not isinstance(predictive, WeightedPredictive):
        return {}
    names = predictive.token_corrections
    numbers = {name: number for number, name in enumerate(predictive.features) if name in names}
    return {name: (predictive.scored.part(j), predictive.inner.part(j)) for name, j in numbers.items()}


def remove_weights(predictive: Predictive) -> Predictive:
    """A predictive without weights."""
    return predictive.inner if isinstance(predictive, WeightedPredictive) else predictive
