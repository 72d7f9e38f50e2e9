"""What tuning adds to the columns of a model: weights, corrections of values, interactions, one-dependence.

Everything is judged on a sample of rows that were subtracted from the sums before they were scored
(`scoring/held_out.py`). The sample is divided into two halves. On each half the weights are fitted, interactions are
looked for and combinations of terms are fitted; the other half says how good they are. The combination with the least
log loss is then fitted on the whole sample. So the log loss that is reported includes the search for interactions, and
the one choice that it does not include is that among a handful of combinations.

Interactions and one-dependence estimators are columns of their own, derived from coarse cells and counted in one more
pass over the data, so learning, forgetting and merging reach them. Weights and corrections are settings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Floats
from tallybayes.model import Model
from tallybayes.model.weight_selection import WeightFit
from tallybayes.scoring.weight_fit import FittedWeights, fit_weights, losses_of
from tallybayes.state.row_sample import RowSample
from tallybayes.tuning.term_candidates import CountedTerms, TermCandidates
from tallybayes.tuning.tuning_result import Estimate, Step

__all__ = ["TERMS", "Budget", "TermSearch", "search_terms"]

TERMS = {"corrections": "value corrections", "interactions": "interactions", "dependence": "one-dependence estimators"}
_NEGLIGIBLE = 0.02  # weight of an interaction that is left out

Progress = Callable[[str, float], None]
Rows = NDArray[np.int64]


class Budget:
    """The seconds that may be spent; None: as many as it takes."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def is_spent(self) -> bool:
        """Whether there is no time left."""
        return self._end is not None and time.monotonic() >= self._end


@dataclass(frozen=True, eq=False)
class TermSearch:
    """The result: the model, the steps, the log loss before and after, and the estimated quality of the model."""

    model: Model
    steps: list[Step]
    log_loss: tuple[float, float]
    estimate: Estimate


def search_terms(
    model: Model,
    sample: RowSample,
    learn: Callable[[Model], Any],
    what: Collection[str],
    *,
    budget: Budget,
    progress: Progress,
) -> TermSearch | None:
    """The model with the best terms; None if there are too few rows or classes to fit weights on.

    model: without column weights. learn: lets another model learn the same rows.
    """
    progress("column weights", 0.0)
    base = WeightFit.of(model.snapshot().state, sample)
    if base is None:
        return None
    search = _Search(model, base, budget, progress)
    search.weights()
    if wanted := [term for term in TERMS if term in what and base.kind == "per class"]:
        search.terms(wanted, learn)
    return search.result()


class _Search:
    """The combinations of terms evaluated so far: log P(class, row) of every row by a fit on the other half."""

    def __init__(self, model: Model, base: WeightFit, budget: Budget, progress: Progress) -> None:
        self._model, self._base, self._budget, self._progress = model, base, budget, progress
        fold = base.held_out.rows.dealt.fold  # the copies of a row are dealt to all folds, and so to both halves
        self._halves = [np.flatnonzero(fold % 2 == half) for half in (0, 1)]
        self._joint: dict[frozenset[str], Floats] = {}
        self._fits: list[FittedWeights] = []  # of the halves, without terms
        self._whole: FittedWeights | None = None
        self._steps: list[Step] = []
        self._best: frozenset[str] = frozenset()
        self._counted = CountedTerms.none()

    def weights(self) -> None:
        """Weights, slopes and offsets, as `fit` finds them."""
        lines, n_columns = self._base.lines, len(self._base.held_out.names)
        columns = lines.lines if self._base.held_out.is_sum else lines.lines[:n_columns]
        self._before = self._mean(losses_of(lines.log_prior + columns.sum(axis=0), lines.codes))
        self._fits = [fit_weights(self._base.kind, lines.take(rows)) for rows in self._halves]
        self._joint[self._best] = self._by_other_half(self._base, self._fits)
        kinds = {"temperature": "one weight for all columns", "shared": "a weight for each column"}
        choice = kinds.get(self._base.kind, "weights by column and class, slopes")
        self._steps.append(Step("column weights", 1, choice, self._before, self._loss(self._best)))

    def terms(self, wanted: Sequence[str], learn: Callable[[Model], Any]) -> None:
        """Try combinations of terms: each of those that are counted, both, and corrections on top of the best."""
        if self._is_over():
            return
        lines, counted_terms = self._base.lines, [term for term in ("dependence", "interactions") if term in wanted]
        self._progress("interactions", 0.1)
        self._whole = fit_weights(self._base.kind, lines)
        everything = np.arange(len(lines.codes))
        candidates = TermCandidates(self._base)
        subsets = [*zip(self._halves, self._fits, strict=True), (everything, self._whole)]
        found = [candidates.interactions(rows, fit) for rows, fit in subsets] if "interactions" in wanted else []
        self._progress("counting", 0.3)
        self._counted = candidates.counted(found, learn, dependence="dependence" in wanted)
        possible = [term for term in counted_terms if self._counted.has(term)]
        for number in range(1, 2 ** len(possible)):
            if self._is_over():
                return
            self._try(frozenset(term for i, term in enumerate(possible) if number >> i & 1), number / 8)
        inputs = candidates.corrections() if "corrections" in wanted else []
        if inputs and not self._is_over():
            self._base = self._base.with_cells(inputs)
            self._try(self._best | {"corrections"}, 0.6)

    def result(self) -> TermSearch:
        """Fit the best combination on all rows."""
        self._progress("fitting", 0.8)
        prepared = self._prepared(self._best, 2)
        fit = self._whole
        if self._best or fit is None:
            fit = fit_weights(prepared.kind, prepared.lines, start=fit)
        weights = prepared.column_weights(fit)
        names = [name for name in prepared.more if self._counted.is_kept(name, weights.weights[name], _NEGLIGIBLE)]
        others = set(prepared.more) - set(names)
        kept = replace(weights, weights={name: own for name, own in weights.weights.items() if name not in others})
        model = self._counted.added_to(self._model, names)
        model.column_weights = kept
        return TermSearch(model, self._steps, (self._before, self._loss(self._best)), self._estimate())

    def _try(self, combination: frozenset[str], share: float) -> None:
        new = combination - self._best if self._best <= combination else combination
        name = " and ".join(words for term, words in TERMS.items() if term in new)
        name = f"{name}, in addition" if self._best and self._best <= combination else name
        self._progress(name, share)
        prepared = [self._prepared(combination, half) for half in (0, 1)]
        fits = [
            fit_weights(own.kind, own.lines.take(rows), start=start)
            for own, rows, start in zip(prepared, self._halves, self._fits, strict=True)
        ]
        self._joint[combination] = self._by_other_half(prepared, fits)
        before, after, is_better = self._loss(self._best), self._loss(combination), self._is_better(combination)
        n = sum(self._counted.n_candidates(term) for term in new) + ("corrections" in new) * len(self._base.cells)
        choice = ("used", after) if is_better else ("not used", before)
        self._steps.append(Step(name, max(n, 1), choice[0], before, choice[1]))
        self._best = combination if is_better else self._best

    def _prepared(self, combination: frozenset[str], subset: int) -> WeightFit:
        """The evidence with the terms of a combination; subset: the half that interactions were found on, 2 for all."""
        prepared = self._base if "corrections" in combination else self._base.with_cells(())
        names, evidence = self._counted.lines(combination, subset)
        return prepared.with_columns(names, evidence) if names else prepared

    def _by_other_half(self, prepared: WeightFit | Sequence[WeightFit], fits: Sequence[FittedWeights]) -> Floats:
        """Log P(class, row) of the rows of each half by the fit on the other."""
        lines = self._base.lines
        result, own = np.zeros_like(lines.log_prior), [prepared] * 2 if isinstance(prepared, WeightFit) else prepared
        for half in (0, 1):
            rows = self._halves[1 - half]
            result[rows] = fits[half].log_joint(own[half].lines.take(rows))
        return result

    def _is_over(self) -> bool:
        """Whether the budget is spent; said once."""
        if self._budget.is_spent and self._steps[-1].candidates:
            loss = self._loss(self._best)
            self._steps.append(Step("other terms", 0, "not tried: no time left", loss, loss))
        return self._budget.is_spent

    def _mean(self, losses: Floats) -> float:
        weights = self._base.lines.weights
        return float((losses * weights).sum() / weights.sum())

    def _loss(self, combination: frozenset[str]) -> float:
        return self._mean(losses_of(self._joint[combination], self._base.lines.codes))

    def _is_better(self, combination: frozenset[str]) -> bool:
        """Whether a combination has a lower log loss than the best so far, by more than a standard error."""
        old, new = (losses_of(self._joint[own], self._base.lines.codes) for own in (self._best, combination))
        mean, error = self._mean(old - new), self._error(old - new)
        return mean > error

    def _error(self, values: Floats) -> float:
        """The standard error of a mean over the rows."""
        share = self._base.lines.weights / self._base.lines.weights.sum()
        spread = (share * (values - self._mean(values)) ** 2).sum()
        return float(np.sqrt(spread / max(float(self._base.lines.weights.sum()), 1.0)))

    def _estimate(self) -> Estimate:
        """Accuracy and log loss of the best combination."""
        joint, lines = self._joint[self._best], self._base.lines
        losses, share = losses_of(joint, lines.codes), lines.weights / lines.weights.sum()
        accuracy = float(((joint.argmax(axis=1) == lines.codes) * share).sum())
        return Estimate(accuracy, self._mean(losses), self._error(losses), round(float(lines.weights.sum())))
