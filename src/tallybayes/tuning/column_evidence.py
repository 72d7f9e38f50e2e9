"""What each column says about some rows, each row left out of the sums: what tuning goes by.

The sums are those of all rows; the rows that are looked at are a sample of them, the same for any order of batches. A
column under another family or with another k is another array; the log loss of any combination is then a matter of
adding arrays up.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.arrays.column import Column, Reals
from tallybayes.data.source import BadRows, Kind, Source, Whole
from tallybayes.data.table import Table
from tallybayes.errors import DataError
from tallybayes.families.family import Codes32, Family, Floats, Smoothing
from tallybayes.model import Model
from tallybayes.scoring.scorer import Block
from tallybayes.tally import Tally

__all__ = ["FAR", "Evidence", "Good", "Judged", "losses_of", "sampled"]

_FEW = 8  # classes up to which it is quicker to go class by class
FAR = 100.0  # nats: what rules a class out counts as this much


@dataclass(frozen=True, eq=False)
class Judged:
    """Rows with their classes and weights, and log P(class) without each of them, (rows, classes)."""

    codes: Codes32
    weights: Floats
    log_prior: Floats

    def log_loss(self, log_joint: Floats) -> float:
        """The mean of -log P(class | row)."""
        return float((self.losses(log_joint) * self.weights).sum() / self.weights.sum())

    def losses(self, log_joint: Floats) -> Floats:
        """-log P(class | row) of every row."""
        return losses_of(log_joint, self.codes)


def losses_of(log_joint: Floats, codes: Codes32) -> Floats:
    """-log P(class | row) of every row."""
    top = _greatest(log_joint)
    share = np.exp(log_joint - top[:, None])
    whole = share @ np.ones(share.shape[1])  # quicker than a sum along a short axis
    return np.asarray(top + np.log(whole) - log_joint[np.arange(len(codes)), codes])


def _greatest(scores: Floats) -> Floats:
    """The greatest of every row; class by class, which is quicker along a short axis."""
    if scores.shape[1] > _FEW:
        return np.asarray(scores.max(axis=1))
    return np.asarray(functools.reduce(np.maximum, scores.T))


class Evidence:
    """The sampled rows of some data under a model, whose columns may have any family and strength."""

    def __init__(self, model: Model, tables: list[Table], label: Any, weight: Any) -> None:
        self.model, self._tables, self._label, self._weight = model, tables, label, weight
        if not tables:
            raise DataError("rows with a label", got="none")
        parts = [self._labelled(model, table) for table in tables]
        self._rows = [np.flatnonzero(self._counted(codes, weights)) for _, codes, weights in parts]
        self.codes: Codes32 = np.concatenate(
            [codes[rows] for (_, codes, _), rows in zip(parts, self._rows, strict=True)]
        )
        own = [np.ones(len(codes)) if weights is None else weights for _, codes, weights in parts]
        self._weights = np.concatenate([w[rows] for w, rows in zip(own, self._rows, strict=True)])
        self.is_weighted = any(weights is not None for _, _, weights in parts)
        self._encoded: dict[Any, dict[str, list[Column]]] = {id(model): self._columns(parts)}
        self._known: dict[Any, Floats] = {}
        self._blocks: dict[Any, Block] = {}
        self._models = [model]  # kept alive: they are known by their identity

    def judged(self, model: Model) -> Judged:
        """The rows, with the class prior as a model's settings have it."""
        weights = self._weights if self.is_weighted else None
        log_prior = model.without_rows().log_prior(self.codes, weights)
        return Judged(self.codes, self._weights, np.where(np.isinf(log_prior), -FAR, log_prior))

    def of(self, model: Model, name: str, smoothing: Smoothing | None = None, family: Family | None = None) -> Floats:
        """What a column says about every row, (rows, classes); a class that it rules out is FAR behind the first.

        smoothing, family: others than those of the model; the family must count alike.
        """
        key = (id(model), name, smoothing, family)
        if key not in self._known:
            self._known[key] = self._worked_out(model, name, smoothing, family)
        return self._known[key]

    def numbers(self) -> dict[str, Floats]:
        """The values of the columns of numbers."""
        columns = self._encoded[id(self.model)]
        return {
            name: np.concatenate([part.values.astype(np.float64) for part in parts if isinstance(part, Reals)])
            for name, parts in columns.items()
            if parts and isinstance(parts[0], Reals)
        }

    def block_of(self, model: Model, name: str) -> Block:
        """The sums of one column of a model, with its family and strength."""
        key = (id(model), name)
        if key not in self._blocks:
            (block,) = (own for own in model.without_rows().scorer.blocks if name in own.tally.features)
            tally: Tally = block.tally.only((name,))
            self._blocks[key] = Block(block.family, tally, block.smoothing)
        return self._blocks[key]

    def _worked_out(self, model: Model, name: str, smoothing: Smoothing | None, family: Family | None) -> Floats:
        if id(model) not in self._encoded:
            self._encoded[id(model)] = self._columns([self._labelled(model, table) for table in self._tables])
            self._models.append(model)
        block = self.block_of(model, name)
        own = Block(family or block.family, block.tally, block.smoothing if smoothing is None else smoothing)
        prior, first, parts = own.prior(), 0, []
        for column, rows in zip(self._encoded[id(model)][name], self._rows, strict=True):
            codes = self.codes[first : first + len(rows)]
            weights = self._weights[first : first + len(rows)] if self.is_weighted else None
            (score,) = own.family.left_out(own.tally, prior, [column], codes, weights)
            score(out := np.zeros((len(rows), own.tally.n_classes)), 0, len(rows))
            parts.append(out)
            first += len(rows)
        out = parts[0] if len(parts) == 1 else np.concatenate(parts)
        top = _greatest(out)[:, None]
        out -= np.where(np.isinf(top), 0.0, top)
        return np.where(np.isinf(out), -FAR, out)

    def _labelled(self, model: Model, table: Table) -> tuple[Mapping[str, Column], Codes32, Floats | None]:
        return model.labelled(table, self._label, self._weight)

    def _counted(self, codes: Codes32, weights: Floats | None) -> Any:
        return codes >= 0 if weights is None else (codes >= 0) & (weights > 0)

    def _columns(self, parts: list[tuple[Mapping[str, Column], Codes32, Floats | None]]) -> dict[str, list[Column]]:
        names = parts[0][0] if parts else {}
        return {
            name: [part[name].take(rows) for (part, _, _), rows in zip(parts, self._rows, strict=True)]
            for name in names
        }


class Good(Source):
    """The good rows of a source whose bad ones are skipped, as a model has learned them: they have been counted."""

    def __init__(self, source: Source, model: Model, label: Any, weight: Any) -> None:
        self._source, self._model, self._label, self._weight = source, model, label, weight
        self.missing = source.missing

    def head(self) -> Table:
        """The first rows."""
        return self._source.head()

    def batches(self, wanted: Mapping[str, Kind | None] | None = None, *, keep: bool = False) -> Iterator[Table]:
        """The rows that can be learned."""
        before, self._source.bad = self._source.bad, BadRows()
        try:
            for table in self._source.batches(wanted, keep=keep):
                for part, _ in self._source.good(table, self._learned):
                    yield part
        finally:
            self._source.bad = before

    def _learned(self, table: Table) -> None:
        model = Model(self._model.schema, self._model.settings)
        model.learn(table, label=self._label, weight=self._weight)


def sampled(
    source: Source, model: Model, label: Any, weight: Any, *, n_rows: int, limit: int, seed: int
) -> list[Table]:
    """At most `limit` of the `n_rows` rows of a source, drawn by `seed`: the same however the rows come in batches."""
    chosen = np.arange(n_rows)
    if n_rows > limit:
        chosen = np.sort(np.random.default_rng(seed).choice(n_rows, size=limit, replace=False))
    result, first = [], 0
    for table in _tables(source, model, label, weight):
        rows = chosen[(chosen >= first) & (chosen < first + table.n_rows)] - first
        if len(rows):
            result.append(table if len(rows) == table.n_rows else table.take(rows))
        first += table.n_rows
    return result


def _tables(source: Source, model: Model, label: Any, weight: Any) -> Iterator[Table]:
    return source.batches() if isinstance(source, Whole) else source.batches(model.wanted(label, weight))
