"""The smoothing of each column by its evidence: the k with the largest marginal likelihood of the column's counts.

Only the sums are needed, not the rows. Evidence compares values of k within a family; it cannot compare families,
whose evidences have different units.
"""

from __future__ import annotations

from tallybayes.errors import UnsupportedError
from tallybayes.families.family import Smoothing
from tallybayes.model import Model
from tallybayes.tuning.candidate import STRENGTHS
from tallybayes.tuning.tuning_result import Step, Tuning

__all__ = ["by_evidence"]


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

            best = min(STRENGTHS, key=loss)
            settings = model.settings.smoothing_of(name), family.own_smoothing
            start = next((k for k in settings if k != "auto"), 1.0)  # "auto" has no k to compare with
            chosen[name] = best
            steps.append(Step(name, len(STRENGTHS), f"k = {best:.3g}", loss(float(start)), loss(best)))
            before, after = before + steps[-1].before, after + steps[-1].after
    if not chosen:
        raise UnsupportedError("no column has a k that evidence can select", hint="use by='leave-one-out'")
    strengths = {name: model.settings.smoothing_of(name) for name in model.schema.families}
    result = model.with_settings(smoothing={**strengths, **chosen})
    return Tuning(result, steps, [], (before, after), int(n), "evidence", unit="-log evidence per row")
