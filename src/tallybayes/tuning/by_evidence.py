"""The smoothing of each column from its sums alone: the k under which the data of the column is most probable.

No row is looked at again. Evidence compares strengths within a family; it cannot compare families, whose evidences are
of different things.
"""

from __future__ import annotations

from dataclasses import replace

from tallybayes.errors import UnsupportedError
from tallybayes.families.family import Smoothing
from tallybayes.model import Model
from tallybayes.tuning.candidate import STRENGTHS
from tallybayes.tuning.tuning_result import Step, Tuning

__all__ = ["by_evidence"]


def by_evidence(model: Model) -> Tuning:
    """The model with the k of every column that has the greatest evidence; figures are minus log evidence per row."""
    chosen: dict[str, Smoothing] = {}
    steps, before, after = [], 0.0, 0.0
    n = max(sum(model.class_counts.values()), 1.0)
    for block in model.without_rows().scorer.blocks:
        family = block.family
        if not family.takes_smoothing or not family.is_likelihood:
            continue
        for name in block.tally.features:
            part = block.tally.only((name,))

            def surprise(k: Smoothing) -> float:
                return -float(family.evidence(part, family.prior(part, k))[0]) / n  # noqa: B023 - called at once

            best = min(STRENGTHS, key=surprise)
            told = model.settings.smoothing_of(name)  # smoothing by evidence is another thing: then it begins at 1
            start = next((k for k in (told, family.own_smoothing) if k != "auto"), 1.0)
            chosen[name] = best
            steps.append(Step(name, len(STRENGTHS), f"k = {best:.3g}", surprise(float(start)), surprise(best)))
            before, after = before + steps[-1].before, after + steps[-1].after
    if not chosen:
        raise UnsupportedError("columns whose smoothing can be chosen by evidence", hint="by='leave-one-out' takes any")
    result = model.copy()
    strengths = {name: model.settings.smoothing_of(name) for name in model.schema.families}
    result._settings = replace(model.settings, smoothing={**strengths, **chosen})
    return Tuning(result, steps, [], (before, after), int(n), "evidence", unit="-log evidence per row")
