"""Corrections of the weights of tokens, fitted on leave-one-out scores (`state/token_corrections.py`).

    loss = sum over documents of -log P(y | x)  +  1/2 strength * sum over tokens and classes of d_tc^2
    P(c | x) proportional to exp(s_c + sum over tokens of amount * d_tc)

s_c are the scores of the model without the document, with all columns and their weights, so that what is corrected are
the errors on new documents. The strength of the shrinkage to 0 is selected on a fifth of the documents, on which
nothing is fitted; the corrections are kept only if they lower the log loss there by more than 1.5 standard errors, or
improve another criterion by as many. The loss is convex; a native kernel computes it with its gradient, and L-BFGS
minimises it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Codes32, Floats, Indices
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.random_stream import row_stream
from tallybayes.evaluation.criterion import LOG_LOSS, Criterion
from tallybayes.model import Model
from tallybayes.scoring.weighted_predictive import remove_weights
from tallybayes.state.token_corrections import CorrectionTable, TokenCorrections
from tallybayes.tables.table import Table
from tallybayes.tuning.group_folds import GroupedRows, clustered_error
from tallybayes.tuning.tuning_result import Step, Tuning

__all__ = ["correct_tokens", "fit_token_corrections"]

_DOCUMENTS = 20_000  # at most; more take longer and hardly change the corrections
_LEAST_DOCUMENTS = 100  # documents
_IN = 2  # documents that a token must be in
_VALUES = 2**19  # tokens x classes at most: the most frequent tokens; they are part of the model file
_STRENGTHS = (2.0, 1.0, 0.5, 0.25, 0.1)  # of the shrinkage, for documents whose amounts have a mean square sum of 1
_STEPS = 12  # of L-BFGS for each strength, from the corrections of the one before; with 40 the log loss of documents
# they were not fitted on was the same or worse (20 Newsgroups .242, .240 after 8 steps), in three times the time
_JUDGED = 5  # one document in so many is judged on
_ERRORS = 1.5  # standard errors by which the log loss must improve
_PARTS = 4  # of the documents, for threads; fixed, so that sums do not depend on the number of threads
_DIGITS = 4
_FAR = 700.0  # nats: scores below are as good as impossible


def correct_tokens(
    tuning: Tuning,
    sample: Callable[[int], Table | GroupedRows],
    label: Any,
    sample_weight: Any,
    *,
    seed: int,
    criterion: Criterion = LOG_LOSS,
) -> Tuning:
    """A tuned model with corrections of the tokens of a column, if they help, and the step that says so.

    sample: draws at most so many of the rows that the model has learned.

    A column with corrections has one weight for all classes: with several, its score is not a sum over tokens.
    """
    fitted = fit_token_corrections(tuning.model, sample, label, sample_weight, seed=seed, criterion=criterion)
    if fitted is None:
        return tuning
    corrections, gain = fitted
    state = _with_shared_weights(tuning.model, list(corrections.columns)).snapshot().state
    model = Model(replace(state, settings=replace(state.settings, token_corrections=corrections)))
    sizes = ", ".join(f"{name}: {len(table.tokens):,} tokens" for name, table in corrections.columns.items())
    step = Step("corrections of tokens", len(_STRENGTHS), sizes, *gain.values)
    result = replace(tuning, model=model, steps=[*tuning.steps, step], is_default=False)
    if tuning.values is not None:
        result = replace(result, values=(tuning.values[0], tuning.values[1] + gain.values[1] - gain.values[0]))
    before, change = tuning.estimate, gain.after - gain.before
    if before is None:
        return result
    estimate = replace(
        before,
        accuracy=float(np.clip(before.accuracy + gain.accuracy, 0.0, 1.0)),
        log_loss=before.log_loss + change,
        error=float(np.hypot(before.error, gain.error)),
        accuracy_error=float(np.hypot(before.accuracy_error, gain.accuracy_error)),
    )
    if before.value is not None and before.value_error is not None:
        value, error = before.value + gain.values[1] - gain.values[0], np.hypot(before.value_error, gain.value_error)
        estimate = replace(estimate, value=value, value_error=float(error))
    return replace(result, estimate=estimate, log_loss=(tuning.log_loss[0], tuning.log_loss[1] + change))


@dataclass(frozen=True)
class CorrectionGain:
    """The log loss of judged documents without and with corrections, and the difference of the accuracies.

    error, accuracy_error: standard errors of the differences. values: the criterion without and with corrections;
    value_error: the standard error of the difference.
    """

    before: float
    after: float
    error: float
    accuracy: float
    accuracy_error: float
    values: tuple[float, float]
    value_error: float


def fit_token_corrections(
    model: Model,
    sample: Callable[[int], Table | GroupedRows],
    label: Any,
    sample_weight: Any,
    *,
    seed: int = 0,
    criterion: Criterion = LOG_LOSS,
) -> tuple[TokenCorrections, CorrectionGain] | None:
    """Corrections fitted on rows that the model has learned, and what they bring on documents that judge.

    None if no column is a text, or if they do not help. Of several texts the first that they help for has corrections.
    """
    for name, family in model.schema.families.items():
        if family.tokeniser is None:
            continue
        shared = _with_shared_weights(model, [name])
        problem = _problem(shared, name, sample(_DOCUMENTS), label, sample_weight)
        solution = None if problem is None else problem.solve(seed, criterion)
        if problem is None or solution is None:
            continue
        fitted, gain = solution
        values = (fitted / shared.column_weights.table([name], model.classes)[0, 0]).round(_DIGITS)
        kept = np.flatnonzero(values.any(axis=1))
        tokens = tuple(map(str, problem.names[kept].tolist()))
        correction = CorrectionTable(tokens, tuple(model.classes), values[kept])
        model_rows = float(sum(model.class_counts.values()))
        return TokenCorrections({name: correction}, model_rows, float(len(problem.codes))), gain
    return None


def _with_shared_weights(model: Model, names: list[str]) -> Model:
    """A copy of the model in which some columns have the mean of their weights for all classes."""
    weights = model.settings.column_weights
    if weights is None:
        return model
    table = weights.table(names, model.classes)
    means: dict[str, Any] = {name: float(row.mean()) for name, row in zip(names, table, strict=True)}
    result = model.copy()
    result.column_weights = replace(weights, weights={**weights.weights, **means})
    return result


@dataclass(frozen=True, eq=False)
class _CorrectionFit:
    """Documents with their classes, weights and scores, (documents, classes), and the amounts of their tokens."""

    amounts: Any  # a sparse matrix (CSR), (documents, tokens)
    names: Any
    base: Floats
    codes: Codes32
    weights: Floats
    grouped: GroupedRows | None = None  # the documents, where they have groups

    def rows(self, rows: Indices) -> _CorrectionFit:
        """Some of the documents."""
        grouped = None if self.grouped is None else self.grouped.take(rows)
        facts = self.base[rows], self.codes[rows], self.weights[rows], grouped
        return _CorrectionFit(self.amounts[rows], self.names, *facts)

    @property
    def _bags(self) -> tuple[Indices, Any, Floats]:
        """Where documents end, their tokens and amounts, as kernels take them."""
        return (
            self.amounts.indptr.astype(np.int64),
            self.amounts.indices.astype(np.int32, copy=False),
            self.amounts.data,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Tokens and classes."""
        return len(self.names), self.base.shape[1]

    def judge(self, table: Floats) -> Floats:
        """The log scores of every document with corrections."""
        scores = self.base.copy()
        kernels.active.add_bags(*self._bags, table, scores, 0, len(scores))
        return scores

    def minimise(self, strength: float, start: Floats) -> Floats:
        """The corrections with the least loss."""
        from scipy.optimize import minimize

        n = len(self.codes)
        ends = [n * i // _PARTS for i in range(_PARTS + 1)]
        parts = [self.rows(np.arange(a, b)) for a, b in itertools.pairwise(ends)]

        def loss(values: Floats) -> tuple[float, Floats]:
            table = values.reshape(self.shape)
            results = in_threads(lambda i, _: parts[i]._gradient(table), _PARTS, size=1, small=0)
            total = sum(value for value, _ in results) + 0.5 * strength * float((table**2).sum())
            return total, (sum(slope for _, slope in results) + strength * table).ravel()

        minimum = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
        return np.asarray(minimum.x, np.float64).reshape(self.shape)

    def _gradient(self, table: Floats) -> tuple[float, Floats]:
        rows = self.base, *self._bags, self.codes, self.weights
        result: tuple[float, Floats] = kernels.active.correction_gradient(np.ascontiguousarray(table), *rows)
        return result

    def solve(self, seed: int, criterion: Criterion) -> tuple[Floats, CorrectionGain] | None:
        """The corrections with the best strength, and what they bring; None if they do not help."""
        if self.grouped is None:
            order = row_stream(seed, "corrections").permutation(len(self.codes))
            judged, fitted = self.rows(order[::_JUDGED]), self.rows(np.delete(order, np.s_[::_JUDGED]))
        else:
            judged, fitted = (
                self.rows(np.flatnonzero(part)) for part in (self.grouped.fold == 0, self.grouped.fold > 0)
            )
        if not judged.weights.any() or not fitted.weights.any():
            return None
        size = float((self.amounts.data**2).sum()) / max(len(self.codes), 1)
        table = np.zeros(self.shape)
        scores, best = judged.judge(table), None
        before = judged.losses(scores, criterion)
        for strength in _STRENGTHS:
            table = fitted.minimise(strength * size, table)
            better = judged.judge(table)
            losses = judged.losses(better, criterion)
            if best is not None and not judged.mean(losses) < judged.mean(best[0]):
                break
            best = losses, strength, table, better
        assert best is not None
        if not judged.mean(before) - judged.mean(best[0]) > _ERRORS * judged.error(before - best[0]):
            return None
        return self.minimise(best[1] * size, best[2]), judged.gain(scores, best[3], criterion)

    def losses(self, scores: Floats, criterion: Criterion) -> Floats:
        """What every document contributes to a criterion; lower is better."""
        return criterion.losses(scores, self.codes, self.weights)

    def gain(self, before: Floats, after: Floats, criterion: Criterion) -> CorrectionGain:
        """What other scores of the documents bring."""
        (loss, new_loss), (value, new_value) = (
            [self.losses(one, by) for one in (before, after)] for by in (LOG_LOSS, criterion)
        )
        was_right, is_right = ((one.argmax(axis=1) == self.codes).astype(np.float64) for one in (before, after))
        return CorrectionGain(
            self.mean(loss),
            self.mean(new_loss),
            self.error(loss - new_loss),
            self.mean(is_right - was_right),
            self.error(is_right - was_right),
            (criterion.value(self.mean(value)), criterion.value(self.mean(new_value))),
            self.error(value - new_value),
        )

    def mean(self, losses: Floats) -> float:
        """The mean over the documents."""
        return float((losses * self.weights).sum() / self.weights.sum())

    def error(self, values: Floats) -> float:
        """The standard error of a mean over the documents."""
        if self.grouped is not None:
            return clustered_error(values, self.weights, self.grouped.group)
        return float(np.sqrt(self.mean((values - self.mean(values)) ** 2) / len(values)))


def _problem(
    model: Model, name: str, sample: Table | GroupedRows, label: Any, sample_weight: Any
) -> _CorrectionFit | None:
    """The documents of a column; None if they are too few, or if it has no tokens with fixed amounts or no weight."""
    from scipy.sparse import csr_array

    snapshot = model.snapshot()
    if not model.column_weights.table([name], model.classes).all():
        return None
    grouped, table = (sample, sample.table) if isinstance(sample, GroupedRows) else (None, sample)
    predictive = next((remove_weights(part) for part in snapshot.scorer.predictives if name in part.features), None)
    columns, all_codes, row_weights = snapshot.encode_labelled(table, label, sample_weight)
    rows = np.flatnonzero(all_codes >= 0)
    bags = None if predictive is None else predictive.token_amounts(name, columns[name].take(rows))
    if bags is None or len(rows) < _LEAST_DOCUMENTS:
        return None
    if grouped is None:
        base = model.leave_one_out(table.take(rows), label=label, sample_weight=sample_weight, calibrated=False)
    else:
        grouped = grouped.take(rows)
        base = grouped.log_proba(model)
    in_documents = np.bincount(bags.tokens)
    most = max(_VALUES // base.shape[1], 1)
    kept = np.argsort(-in_documents, kind="stable")[:most]
    kept = np.sort(kept[in_documents[kept] >= _IN])
    if not len(kept):
        return None
    amounts = csr_array((bags.amounts, bags.tokens, bags.indptr), shape=(len(rows), len(in_documents)))[:, kept]
    codes, weights = all_codes[rows], np.ones(len(rows)) if row_weights is None else row_weights[rows]
    return _CorrectionFit(amounts, np.array(bags.names(kept), object), np.maximum(base, -_FAR), codes, weights, grouped)
