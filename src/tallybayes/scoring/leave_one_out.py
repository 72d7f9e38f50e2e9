"""Each row scored by the model that never saw it.

A model is a sum, so that the model without a row is the model minus the row; every family has that in closed form
(`families/leave_one_out_scores.py` has the definition). Axes, grids and strengths chosen by evidence are held, so are
weights of columns and a calibration. What is left of a class without any other rows stays a class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.column import Codes, Column, Flags
from tallybayes.arrays.memory_budget import check_budget
from tallybayes.arrays.special import logsumexp
from tallybayes.families.family import Codes32, Floats, Score
from tallybayes.families.leave_one_out_scores import as_score, combine_scores, never_learned
from tallybayes.families.predictive import Correction
from tallybayes.scoring.missing_evidence import is_missing
from tallybayes.scoring.posterior import Posterior
from tallybayes.scoring.scorer import Columns, Scorer, add_up, log_class_prior, work_out
from tallybayes.scoring.weighted_predictive import add_scores, weight_score
from tallybayes.state.settings import Settings

__all__ = ["LeaveOneOut", "in_classes", "score_correction"]


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """The sums of a model, ready to score rows that are in them."""

    scorer: Scorer
    settings: Settings
    class_rows: Floats

    def log_proba(self, columns: Columns, codes: Codes32, weights: Floats | None, posterior: Posterior) -> Floats:
        """Log P(class | row) of every row without itself, (rows, classes)."""
        line, table = self._log_priors(codes, weights)
        ends = np.array([0, len(table)])
        prior = partial(kernels.active.add_codes, [line], np.zeros(1, np.int64), ends, table)
        scores: list[Score] = [prior, *combine_scores(self.scores(columns, codes, weights).values())]
        finish = partial(posterior.write_log_proba, row_prior=lambda rows: table[line[rows]])
        return add_up(np.zeros(table.shape[1]), scores, len(codes), finish)[0]

    def log_prior(self, codes: Codes32, weights: Floats | None) -> Floats:
        """Log P(class) without each row, (rows, classes)."""
        line, table = self._log_priors(codes, weights)
        return table.take(line, axis=0)

    def _log_priors(self, codes: Codes32, weights: Floats | None) -> tuple[NDArray[np.int64], Floats]:
        """Which of some priors each row has, and those, (lines, classes): one for each class and weight."""
        n_classes = len(self.class_rows)
        amounts, line = np.ones(1), codes.astype(np.int64)
        if weights is not None:
            amounts, number = np.unique(weights, return_inverse=True)
            line += number * n_classes
        used, line = np.unique(line, return_inverse=True)
        check_budget(len(used), n_classes)
        table = np.zeros((len(used), n_classes))
        for i, place in enumerate(used.tolist()):
            rows, (weight, code) = self.class_rows.copy(), (float(amounts[place // n_classes]), place % n_classes)
            rows[code] -= weight
            if rows[code] < -1e-9 * weight:
                raise never_learned("", int(np.argmax(line == i)))
            rows = np.maximum(rows, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                log_prior = log_class_prior(self.scorer.classes, rows, self.settings)
            table[i] = np.where(np.isnan(log_prior), 0.0, log_prior)
        return line, table

    def scores(self, columns: Columns, codes: Codes32, weights: Floats | None) -> dict[str, Score]:
        """What every column adds to the log score, each row by the sums without itself."""
        result: dict[str, Score] = {}
        for block in self.scorer.blocks:
            block_columns = [columns[name] for name in block.tally.features]
            scores = block.family.leave_one_out(block.tally, block.prior(), block_columns, codes, weights)
            result |= dict(zip(block.tally.features, scores, strict=True))
        for name, part in self.scorer.corrections(columns).items():
            result[name] = add_scores(result[name], as_score(part))
        missing = {} if self.scorer.missing is None else self.scorer.missing.leave_one_out(columns, codes, weights)
        column_weights, classes = self.settings.column_weights, self.scorer.classes
        if column_weights is None:
            return _with_scores(result, missing)
        plain = replace(self.settings, column_weights=None).with_options(class_weight=None)
        log_prior = replace(self, settings=plain).log_prior(codes, weights)
        log_prior = log_prior - logsumexp(log_prior, axis=1)[:, None]
        result = _weight_scores(result, column_weights.table(list(result), classes), log_prior)
        missing = _weight_scores(missing, column_weights.missing_table(list(missing), classes), log_prior)
        pairs = zip(columns, column_weights.corrections_of(list(columns), classes), strict=False)
        corrections = {
            name: as_score(score_correction(correction, columns[name]))
            for name, correction in pairs
            if correction is not None
        }
        return _with_scores(_with_scores(result, missing), corrections)

    def evidence(self, columns: Columns, codes: Codes32, weights: Floats | None) -> dict[str, Floats]:
        """The same worked out: (rows, classes) by column."""
        scores = self.scores(columns, codes, weights)
        return {name: work_out(score, len(codes), len(self.class_rows)) for name, score in scores.items()}


def _weight_scores(scores: dict[str, Score], table: Floats, log_prior: Floats) -> dict[str, Score]:
    pairs = zip(scores, table, strict=True)
    return {name: weight_score(scores[name], weight, log_prior) for name, weight in pairs if weight.any()}


def _with_scores(scores: dict[str, Score], more: Mapping[str, Score]) -> dict[str, Score]:
    """The scores of columns, with what others add to them."""
    return scores | {name: add_scores(scores[name], score) if name in scores else score for name, score in more.items()}


def score_correction(correction: Correction, column: Column) -> Floats:
    """What a correction adds to the rows of a column, (rows, classes)."""
    rows = np.flatnonzero(~is_missing(column))
    if isinstance(column, Codes):
        change = correction.of_keys(list(column.keys))[column.codes[rows].astype(np.int64) - column.origin]
    elif isinstance(column, Flags):
        change = correction.of_keys((False, True))[column.values[rows].astype(np.int64)]
    else:
        change = correction.of_numbers(np.asarray(column.values[rows], np.float64))  # type: ignore[union-attr]
    whole = np.zeros((len(column), change.shape[1]))
    whole[rows] = change
    return whole


def in_classes(codes: NDArray[np.integer], keys: list[Any], classes: Mapping[Any, int]) -> Codes32:
    """Codes of labels as codes of a model's classes; a label it does not know is an error, none stays -1."""
    for code, key in enumerate(keys):
        if key not in classes and (codes == code).any():
            raise never_learned("", int(np.argmax(codes == code)))
    place = np.array([*(classes.get(key, -1) for key in keys), -1], np.int32)
    return np.asarray(place[codes], np.int32)
