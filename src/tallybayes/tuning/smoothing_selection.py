"""The smoothing selected by other criteria than leave-one-out: evidence, or a validation part of the rows.

By evidence: each column has the k with the largest marginal likelihood of its counts. Only the sums are needed, not the
rows. Evidence compares values of k within a family; it cannot compare families, whose evidences have different units.

By validation: the rows are divided at random into three parts, training, validation and test; where rows have groups,
whole groups by their hashes. One k for all columns is
selected from a grid: models of the training part are compared on the validation part. The model with the best k is then
fitted on both parts and evaluated once on the test part, which no choice depends on. Variants of text are chosen on the
training part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tallybayes.columns.batch import find_groups
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, UnsupportedError
from tallybayes.evaluation import evaluate
from tallybayes.families.family import Smoothing
from tallybayes.kernels.integer_hash import hash_integers
from tallybayes.model import Model
from tallybayes.model.fit import check_value
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_hash import group_hashes
from tallybayes.tables.source import Kind, Source
from tallybayes.tables.table import Table
from tallybayes.tuning.candidate import grid
from tallybayes.tuning.search import UNCHANGED
from tallybayes.tuning.tuning_result import Progress, Step, Tuning

__all__ = ["by_evidence", "by_validation"]

_STRENGTHS = tuple(4.0**i for i in range(-4, 5))  # the values of k whose evidence is compared
_SHARES = (0.6, 0.2)  # of the rows for training and validation; the rest is for the test
_TRAINING, _VALIDATION, _TEST = range(3)


def by_evidence(model: Model) -> Tuning:
    """The model with the k of the largest evidence for every column; log losses are -log evidence per row."""
    chosen: dict[str, Smoothing] = {}
    steps, before, after = [], 0.0, 0.0
    n = max(sum(model.class_counts.values()), 1.0)
    for block in model.snapshot().scorer.blocks:
        family = block.family
        if not family.takes_smoothing or not family.is_likelihood:
            continue
        for name in block.tally.features:
            part = block.tally.only((name,))

            def loss(k: Smoothing) -> float:
                return -float(family.evidence(part, family.prior(part, k))[0]) / n  # noqa: B023 - called at once

            best = min(_STRENGTHS, key=loss)
            settings = model.settings.smoothing_of(name), family.own_smoothing
            start = next((k for k in settings if k != "auto"), 1.0)  # "auto" has no k to compare with
            chosen[name] = best
            steps.append(Step(name, len(_STRENGTHS), f"k = {best:.3g}", loss(float(start)), loss(best)))
            before, after = before + steps[-1].before, after + steps[-1].after
    if not chosen:
        raise UnsupportedError("no column has a k that evidence can select", hint="use by='leave-one-out'")
    strengths = {name: model.settings.smoothing_of(name) for name in model.schema.families}
    result = model.with_settings(smoothing={**strengths, **chosen})
    return Tuning(result, steps, [], (before, after), int(n), "evidence", unit="-log evidence per row")


def by_validation(source: Source, empty: Model, label: Any, *, strengths: int, seed: int, progress: Progress) -> Tuning:
    """The model with the k that is best on the validation part; `empty` has the schema and settings to start with."""

    def rows_of(*parts: int) -> _RandomParts:
        return _RandomParts(source, parts, seed, empty.schema)

    train = empty.copy()
    n_training = train.learn(rows_of(_TRAINING), label=label).rows
    model = Model(ModelState(train.schema, empty.settings))
    n_both = model.learn(rows_of(_TRAINING, _VALIDATION), label=label).rows
    check_value(model, label, source)
    if len(train.classes) < 2:
        raise DataError("rows of at least two classes in the training part", got=train.classes)
    if n_both == n_training:
        raise DataError("rows with a label in the validation part", got=0, hint="by='leave-one-out' needs fewer rows")
    families = train.schema.families
    initial = {name: empty.settings.smoothing_of(name) for name in families}
    names = [name for name, family in families.items() if family.takes_smoothing]
    ks = grid(strengths)
    smoothings = [empty.settings.smoothing, *({**initial, **dict.fromkeys(names, k)} for k in ks)]
    losses = []
    for i, smoothing in enumerate(smoothings):
        progress("smoothing", i / len(smoothings))
        candidate = train.with_settings(smoothing=smoothing)
        losses.append(evaluate(candidate, rows_of(_VALIDATION), label=label).log_loss)
    best = int(np.argmin(losses))
    model = model.with_settings(smoothing=smoothings[best])
    curve = [{"k": k, "log_loss": loss} for k, loss in zip(ks, losses[1:], strict=True)]
    choice = UNCHANGED if best == 0 else f"k = {ks[best - 1]:.3g} for all"
    step = Step("one k for all columns", len(ks), choice, losses[0], losses[best])
    test = evaluate(model, rows_of(_TEST), label=label)
    return Tuning(model, [step], curve, (losses[0], losses[best]), n_both - n_training, "validation", test)


class _RandomParts(Source):
    """The rows of another source in some of the three parts, drawn row by row or group by group, whatever the batches.

    schema: names the column of groups, if there is one.
    """

    def __init__(self, source: Source, parts: tuple[int, ...], seed: int, schema: Schema) -> None:
        self._source, self._parts, self._seed, self._schema = source, parts, seed, schema
        self.missing = source.missing

    def head(self) -> Table:
        """The first rows of these parts."""
        return self._draw(self._source.head(), np.random.default_rng(self._seed))

    def batches(self, wanted: Mapping[str, Kind | None] | None = None, *, keep: bool = False) -> Iterator[Table]:
        """The rows of these parts."""
        rng, group = np.random.default_rng(self._seed), self._schema.group
        if wanted is not None and group is not None:
            wanted = {group: None, **wanted}
        for table in self._source.batches(wanted, keep=keep):
            taken = self._draw(table, rng)
            if taken.n_rows:
                yield taken

    def _draw(self, table: Table, rng: np.random.Generator) -> Table:
        drawn = rng.random(table.n_rows)
        if (groups := find_groups(table, self._schema.group)) is not None:
            keys = (group_hashes(groups) + np.uint64(self._seed)).view(np.int64)
            drawn = hash_integers(keys) / 2.0**64
        part = np.searchsorted(np.cumsum(_SHARES), drawn, side="right")
        return table.take(np.flatnonzero(np.isin(part, self._parts)))
