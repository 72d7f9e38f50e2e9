"""Likelihoods under a generative model: of labelled rows, and of the sums of columns under their priors.

The objective of the lectures is the negative log likelihood of labelled rows:

    E = - sum over rows of log P(y) - sum over columns, sum over rows of log P(x_j | y)

The parts share no parameters, which is why each can be fitted on its own by counting.

Log marginal likelihoods of columns compare smoothing strengths within a family, not families with each other:
histograms, and categories with smoothing "auto", model the classes given the values, the others the values given the
classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes.errors import DataError, Described, UnsupportedError
from tallybayes.scoring.scorer import Block, Scorer
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.model_state import ModelState

__all__ = ["Objective", "log_evidence", "objective"]

_NOTHING = 2.0**-600  # a weight that leaves the values of rows and takes their counts away


@dataclass(frozen=True)
class Objective:
    """Negative log likelihood (natural logs) of labelled rows: a part for the prior and a part per column."""

    prior: float
    columns: dict[str, float]

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return self.prior + sum(self.columns.values())

    def __add__(self, other: Objective) -> Objective:
        names = sorted({*self.columns, *other.columns})
        parts = {name: self.columns.get(name, 0.0) + other.columns.get(name, 0.0) for name in names}
        return Objective(self.prior + other.prior, parts)


def objective(snapshot: Snapshot, data: Any, label: Any = None) -> Objective:
    """The objective of labelled data under a generative model; rows without a label are ignored."""
    label, log_prior = snapshot.label_or_default(label), snapshot.scorer.log_prior
    index = {label: code for code, label in enumerate(snapshot.scorer.classes)}
    total = Objective(0.0, {})
    for table, parts in snapshot.evidence_batches(data, label=label):
        labels = snapshot.labels(table, label)
        for key in labels.keys:
            if key not in index:
                raise DataError("a label of the model", got=key)
        rows = np.flatnonzero(labels.codes >= 0)
        codes = np.array([index[key] for key in labels.keys], np.int64)[labels.codes[rows]]
        columns = {name: float(-part[rows, codes].sum()) for name, part in sorted(parts.items())}
        total += Objective(float(-log_prior[codes].sum()), columns)
    return total


def log_evidence(state: ModelState) -> dict[str, float]:
    """Log marginal likelihood of every column's statistics under its prior, by column, in a generative model.

    Where sums lie beneath those of the rows that were learned (a base, unlabelled rows, pseudo-counts), it is that of
    the rows given these: the evidence of both together less that of what lies beneath.
    """
    state.require_learned("log_evidence")
    result: dict[str, float] = {}
    blocks = _blocks(state)
    for block in blocks:
        if 0 in (block.smoothing, block.family.own_smoothing):
            got = Described("maximum likelihood, which has no prior")
            raise UnsupportedError("smoothing above 0", got=got, column=block.tally.features[0])
        result |= dict(zip(block.tally.features, block.family.evidence(block.tally, block.prior()), strict=True))
    if state.beneath or state.settings.column_priors:
        beneath = state.with_beneath(state.learned().times(_NOTHING))  # the values of the rows without their counts
        for block, under in zip(blocks, _blocks(replace(state, statistics=beneath)), strict=True):
            known = block.family.evidence(under.tally, block.prior())
            for name, value in zip(block.tally.features, known, strict=True):
                if state.beneath or state.settings.prior_of(name) is not None:
                    result[name] -= value
    return {name: float(value) for name, value in sorted(result.items())}


def _blocks(state: ModelState) -> tuple[Block, ...]:
    return Scorer.blocks_of(state, state.statistics.aligned(state.statistics.in_use()))
