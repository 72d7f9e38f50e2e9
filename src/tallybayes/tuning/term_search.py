"""What tuning adds to the columns of a model: weights, corrections of values, interactions, one-dependence.

Everything is judged on a sample of rows that were subtracted from the sums before they were scored
(`weights/held_out_evidence.py`). Weights are fitted first. If what they get wrong does not look like an interaction of
any pair of columns, no terms are tried: all of them serve columns that depend on each other.

The sample is divided into two parts. On one part the weights are fitted, interactions are looked for and terms are
fitted; the other part says how good they are. If the sample is small, the parts change roles and all rows judge. Terms
are used if they are better than the default model, that with weights alone as `fit` has it, by more than a standard
error of the difference on rows that they were not fitted on; else the default model is kept. The best terms are then
fitted on the whole sample. So the estimate (`judged_rows.py`) includes the search for interactions, and the one choice
that it does not include is which of three kinds of terms are used.

The last kind of terms takes the place of others: one joint Gaussian of all columns of numbers, whose families are then
not scored (`tuning/joint_term.py`). It is tried with the terms that are used so far, with both kinds of covariance.

Interactions and one-dependence estimators are columns of their own, derived from coarse cells and counted in one more
pass over the data, so learning, forgetting and merging reach them. Weights and corrections are settings.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Floats
from tallybayes.errors import ParameterError, is_real_number
from tallybayes.evaluation.criterion import LOG_LOSS, Criterion
from tallybayes.model import Model
from tallybayes.state.row_sample import RowSample
from tallybayes.tuning.joint_term import JOINT_TERMS, NO_NUMBERS, JointTerm
from tallybayes.tuning.judged_rows import JudgedRows, Learn, Mixture, mixture
from tallybayes.tuning.term_candidates import ALL_COLUMNS, CountedTerms, Pair, PairGains, TermCandidates
from tallybayes.tuning.tuning_result import Estimate, Progress, Step
from tallybayes.weights.weight_fit import FittedWeights, fit_weights
from tallybayes.weights.weight_selection import WeightFit

__all__ = ["TERMS", "Budget", "TermSearch", "search_terms"]

TERMS = {
    "corrections": "value corrections",
    "interactions": "interactions",
    "dependence": "one-dependence estimators",
    "joint": "joint Gaussian",
}
_NEGLIGIBLE = 0.02  # weight of an interaction that is left out
_FEW_CLASSES = 4  # for which it is known from pairs of columns whether terms help (a study of 75 tables)
_ENOUGH = 1000  # rows that judge: their standard error is small beside what terms bring where they matter

Rows = NDArray[np.int64]


class Budget:
    """The seconds that may be spent; None: as many as it takes."""

    def __init__(self, seconds: Any) -> None:
        if seconds is not None and not (is_real_number(seconds) and seconds >= 0):
            raise ParameterError("seconds: a number of at least 0, or None", got=seconds)
        self._end = None if seconds is None else time.monotonic() + float(seconds)

    @property
    def is_spent(self) -> bool:
        """Whether there is no time left."""
        return self._end is not None and time.monotonic() >= self._end


@dataclass(frozen=True, eq=False)
class TermSearch:
    """The result: the model, the steps, and the estimated quality of the default model and of this one.

    joint: the log score of the rows that judge, by fits on other rows. is_default: whether nothing is better.
    """

    model: Model
    steps: list[Step]
    default: Estimate
    estimate: Estimate
    base: WeightFit
    judged: JudgedRows
    joint: Floats
    is_default: bool

    def is_clearly_better(self, than: TermSearch) -> bool:
        """Whether the rows that judge both say so; rows of other samples cannot be compared one by one."""
        mine, theirs = self.judged, than.judged
        if not (np.array_equal(mine.row, theirs.row) and np.array_equal(mine.codes, theirs.codes)):
            return self.estimate.loss(mine.criterion) < than.estimate.loss(mine.criterion)
        return mine.are_clearly_better([(1.0, self.joint)], [(1.0, than.joint)])


def search_terms(
    model: Model,
    sample: RowSample,
    learn: Learn,
    what: Collection[str],
    *,
    budget: Budget,
    progress: Progress,
    criterion: Criterion = LOG_LOSS,
) -> TermSearch | None:
    """The model with the best terms; None if there are too few rows or classes to fit weights on.

    model: without column weights. learn: lets another model learn the same rows. criterion: judges which terms are
    used; all that is fitted minimises the log loss.
    """
    progress("column weights", 0.0)
    base = WeightFit.of(model.snapshot().state, sample)
    if base is None:
        return None
    search = _Search(model, base, budget, progress, criterion)
    search.weights()
    if wanted := [term for term in TERMS if term in what and base.kind == "per class"]:
        search.terms(wanted, learn)
    return search.result()


class _Search:
    """The best terms so far, and the log score of the rows that judge them, by a fit on other rows."""

    _default: Floats
    _joint: Floats

    def __init__(self, model: Model, base: WeightFit, budget: Budget, progress: Progress, criterion: Criterion) -> None:
        self._model, self._base, self._budget, self._progress = model, base, budget, progress
        fold = base.held_out.rows.fold  # the copies of a row are dealt to all folds, and so to both parts
        parts = [np.flatnonzero(fold % 2 == part) for part in (0, 1)]
        # The rows to fit on and the rows to judge on.
        self._splits = [(*parts,)] if len(parts[1]) >= _ENOUGH else [(*parts,), (*reversed(parts),)]
        self._judged = JudgedRows.of(base, np.concatenate([judges for _, judges in self._splits]), criterion)
        self._fits: list[FittedWeights] = []  # of the splits, without terms
        self._steps: list[Step] = []
        self._best: frozenset[str] = frozenset()
        self._counted = CountedTerms()
        self._group: JointTerm | None = None

    def weights(self) -> None:
        """Weights, slopes and offsets, as `fit` finds them: the default model."""
        lines = self._base.lines
        self._fits = [fit_weights(self._base.kind, lines.take(rows)) for rows, _ in self._splits]
        self._joints = [fit.log_score(lines) for fit in self._fits]
        self._joint = self._joints[0].copy()
        for (_, judges), joint in zip(self._splits, self._joints, strict=True):
            self._joint[judges] = joint[judges]
        self._default = self._joint
        kinds = {"temperature": "one weight for all columns", "shared": "a weight for each column"}
        choice = kinds.get(self._base.kind, "weights by column and class, slopes")
        value = self._judged.value(self._joint)
        self._steps.append(Step("column weights", 1, f"as in `fit`: {choice}", value, value))

    def terms(self, wanted: Sequence[str], learn: Learn) -> None:
        """Try one kind of terms after the other, each in addition to those that are used so far."""
        if self._is_over():
            return
        self._progress("interactions", 0.1)
        candidates, everything = TermCandidates(self._base), np.arange(len(self._base.lines.codes))
        gains = candidates.gains(everything, FittedWeights.mean(self._fits).weights, self._joint)
        if gains is not None and self._are_independent(gains):
            value = self._judged.value(self._joint)
            self._steps.append(Step("other terms", len(gains.gain), "none needed: no pair interacts", value, value))
            return
        pairs = self._interactions(candidates, gains) if gains is not None and "interactions" in wanted else []
        self._progress("counting", 0.3)
        self._counted = candidates.count(pairs, learn, dependence="dependence" in wanted)
        for share, term in ((0.4, "interactions"), (0.6, "dependence")):
            if self._counted.has(term) and not self._is_over():
                self._try(term, share)
        inputs = candidates.corrections() if "corrections" in wanted and not self._is_over() else []
        if inputs:
            self._base = self._base.with_cells(inputs)
            self._try("corrections", 0.7)
        if "joint" in wanted and not self._is_over():
            self._try_group(learn)

    def _are_independent(self, gains: PairGains) -> bool:
        """Whether the columns are more likely independent, so that no term would help.

        Not told with many classes: each has few rows in a pair of cells.
        """
        return len(self._base.state.classes) <= _FEW_CLASSES and gains.log_evidence <= 0

    def _interactions(self, candidates: TermCandidates, gains: PairGains) -> list[list[Pair]]:
        """The interactions found on the rows of each fit, by what it gets wrong, and those found on all rows."""
        pairs = list[list[Pair]]()
        for (rows, _), fit, joint in zip(self._splits, self._fits, self._joints, strict=True):
            split_gains = candidates.gains(rows, fit.weights, joint[rows])
            pairs.append([] if split_gains is None else split_gains.best())
        return [*pairs, gains.best()] if any(pairs) else []  # else there would be nothing to judge

    def result(self) -> TermSearch:
        """Fit the best terms on all rows; where the model without any of it is better, it stays as it is."""
        self._progress("fitting", 0.8)
        base, start = self._base.with_cells(()), FittedWeights.mean(self._fits) if self._best else None
        fit = fit_weights(base.kind, base.lines, start=start, has_same_rows=False)  # without terms, as `fit` does
        tuned = default = self._judge_default(base, fit)
        prepared = self._prepare(self._best, len(self._splits))
        if self._best:
            fit = fit_weights(prepared.kind, prepared.lines, start=None if self._has_group(self._best) else fit)
            tuned = mixture(self._joint, fit.log_score(prepared.lines))
        plain = base.held_out.log_prior + base.held_out.evidence.sum(axis=0)
        if self._judged.are_clearly_better([(1.0, plain)], tuned):
            before, after = self._judged.value(self._joint), self._judged.value(plain)
            self._steps.append(Step("no column weights", 1, "used", before, after))
            return self._result(self._model, plain, default, [(1.0, plain)])
        weights = prepared.column_weights(fit)
        by_name: dict[str, Any] = dict(weights.weights)
        counted = [name for name in prepared.more if name in self._counted.evidence]
        negligible = {name for name in counted if name != ALL_COLUMNS and by_name[name] < _NEGLIGIBLE}
        model = self._counted.add_to(self._model, [name for name in counted if name not in negligible])
        if self._group is not None:
            model = self._group.add_to(model, [*self._best])
        kept = {name: weight for name, weight in by_name.items() if name not in negligible}
        model.column_weights = replace(weights, weights=kept)
        return self._result(model, self._joint, default, tuned)

    def _judge_default(self, base: WeightFit, fit: FittedWeights) -> Mixture:
        """What is expected of the default model; fit: on all rows.

        Where few rows determine many weights, what a fit on half of them loses is no longer in proportion to the number
        of rows, and is more than the standard error: there, folds judge. Terms were found on halves, which judge both.
        """
        whole, losses = fit.log_score(base.lines), self._judged.losses([(1.0, self._default)])
        is_small = self._judged.mean(losses) - self._judged.loss(whole) < self._judged.error(losses)
        if is_small or self._best or len(self._splits) == 1:
            return mixture(self._default, whole)
        rows, joint = base.held_out.rows, self._default.copy()
        for number in range(rows.n_folds):
            is_judged = rows.fold == number
            refitted = fit_weights(base.kind, base.lines.take(np.flatnonzero(~is_judged)), start=fit)
            joint[is_judged] = refitted.log_score(base.lines.take(np.flatnonzero(is_judged)))
        return mixture(joint, whole, n_parts=rows.n_folds)

    def _result(self, model: Model, joint: Floats, default: Mixture, tuned: Mixture) -> TermSearch:
        judged, is_default = self._judged, joint is self._default
        estimates = judged.estimate(default), judged.estimate(tuned)
        return TermSearch(model, self._steps, *estimates, self._base, judged, joint, is_default)

    def _try(self, term: str, share: float) -> None:
        """Fit a kind of terms with the best so far, and use it if that is better."""
        name = TERMS[term] + (", in addition" if self._best else "")
        self._progress(name, share)
        combination = self._best | {term}
        n = len(self._base.cells) if term == "corrections" else self._counted.n_candidates(term)
        joint = self._score(combination)
        is_better = self._judged.are_clearly_better([(1.0, joint)], [(1.0, self._joint)])
        self._note(name, max(n, 1), combination, joint, "used" if is_better else None)

    def _try_group(self, learn: Learn) -> None:
        """Put a joint Gaussian in place of the columns of numbers, with the better kind of covariance.

        Many weights and slopes give way to one weight. A fit on half of the rows determines many weights less well
        than one on all, so what is compared is what to expect of fits on all rows. The group must also be better than
        no column of numbers at all: where they tell nothing, giving up their weights is a gain by itself.
        """
        name = TERMS["joint"] + (", in addition" if self._best else "")
        self._progress(name, 0.75)
        self._group = JointTerm.of(self._base.with_cells(()), learn)
        if self._group is None:
            return
        scores = {term: self._score(self._best | {term}) for term in JOINT_TERMS}
        best = min(scores, key=lambda term: self._judged.mean_loss(scores[term]))
        n, covariance = len(self._group.members), "of each class" if best == "joint" else "of all classes"
        choice = f"used: {n} columns, a covariance {covariance}"
        without = self._best | {NO_NUMBERS}
        new, old, control = (
            mixture(joint, self._score_of_all(combination))
            for joint, combination in (
                (scores[best], self._best | {best}),
                (self._joint, self._best),
                (self._score(without), without),
            )
        )
        is_better = all(self._judged.are_clearly_better(new, other) for other in (old, control))
        self._note(name, len(scores), self._best | {best}, scores[best], choice if is_better else None)

    def _score_of_all(self, combination: frozenset[str]) -> Floats:
        """The log score of all lines by a fit on all of them, with the terms of a combination."""
        prepared = self._prepare(combination, len(self._splits))
        return fit_weights(prepared.kind, prepared.lines).log_score(prepared.lines)

    def _score(self, combination: frozenset[str]) -> Floats:
        """The log score of the rows that judge by fits with the terms of a combination."""
        joint = self._joint.copy()
        for number, (rows, judges) in enumerate(self._splits):
            prepared = self._prepare(combination, number)
            start = None if self._has_group(combination) else self._fits[number]
            fit = fit_weights(prepared.kind, prepared.lines.take(rows), start=start)
            joint[judges] = fit.log_score(prepared.lines.take(judges))
        return joint

    def _note(self, name: str, n: int, combination: frozenset[str], joint: Floats, choice: str | None) -> None:
        """Use a combination, and say so in words; None: it is not better than the best so far."""
        before = self._judged.value(self._joint)
        after = before if choice is None else self._judged.value(joint)
        self._steps.append(Step(name, n, choice or "not used", before, after))
        if choice is not None:
            self._best, self._joint = combination, joint

    @staticmethod
    def _has_group(combination: frozenset[str]) -> bool:
        """Whether the columns of numbers are one group: then no fit has the same lines."""
        return not combination.isdisjoint((*JOINT_TERMS, NO_NUMBERS))

    def _prepare(self, combination: frozenset[str], subset: int) -> WeightFit:
        """The evidence with the terms of a combination; subset: the split that interactions were found on, or all."""
        prepared, inputs = self._base, self._base.cells if "corrections" in combination else ()
        if self._group is not None and self._has_group(combination):
            (term,) = combination & {*JOINT_TERMS, NO_NUMBERS}
            prepared = self._group.prepare(self._base.with_cells(()), term)
            inputs = tuple(one for one in inputs if one.column not in self._group.members)
        if inputs != prepared.cells:
            prepared = prepared.with_cells(inputs)
        names, evidence = self._counted.lines(combination, subset)
        return prepared.with_columns(names, evidence) if names else prepared

    def _is_over(self) -> bool:
        """Whether the budget is spent; said once."""
        if self._budget.is_spent and self._steps[-1].candidates:
            value = self._judged.value(self._joint)
            self._steps.append(Step("other terms", 0, "not tried: no time left", value, value))
        return self._budget.is_spent
