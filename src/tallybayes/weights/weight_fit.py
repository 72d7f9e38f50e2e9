"""Column weights, slopes and offsets fitted on held-out evidence.

    P(c | x) proportional to P(c) exp(o_c + sum over columns of w_jc e_jc + b_jc z_j + d_jc[cell of x_j])

    loss = sum over rows of -log P(y | x)
           + 1/2 (10 sum (w_jc - t)^2 + 10 (t - 1)^2 + sum u_c o_c^2 + s sum b_jc^2 + r sum d_jc[.]^2)

e_jc is the log P(x_j | c) of a model without the row, centred at log sum over c of P(c) P(x_j | c), because its level
matters where the weights of a column differ between the classes. w_jc >= 0 are weights, shrunk to a temperature t that
all columns share, and t to 1; o_c are offsets of the classes, u_c is 1 but for rare classes. b_jc are slopes of the
standardised values z_j, d_jc tables over coarse cells (`state/column_weights.py`), which only `tallybayes.tune` fits.
These two are not evidence that was learned without the row, so they could fit noise: their strengths s and r are chosen
by evidence, by MacKay's fixed point s = g / sum b^2, where g = sum of h / (h + s) is the number of slopes that the data
determine and h are the eigenvalues of the curvature of the loss, class by class (for cells, its diagonal). On columns
that tell nothing s grows until the slopes vanish. The loss is convex in all variables for given strengths
(`weights/bounded_minimum.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.array_types import Booleans, Codes32, Floats
from tallybayes.weights.bounded_minimum import bounded_minimum

__all__ = ["EvidenceLines", "FittedWeights", "Kind", "centre_evidence", "fit_weights", "greatest", "losses_of"]

Kind = Literal["temperature", "shared", "per class"]
Strengths = tuple[float, float]  # of slopes and of tables
LogLoss = tuple[float, Floats, Floats, Floats, Floats]  # and its gradient by weights, slopes, tables, row scores

_WEIGHT_PENALTY = (
    10.0  # of the shrinkage to the temperature, and of that to 1: separable rows would have infinite weights
)
_OFFSET_PENALTY = 1.0  # strength of the shrinkage of offsets to 0: bounds them for classes with few rows
# The same for a class of which more rows were sampled than its share, relative to the factor of their weights: such
# rows weigh little together, but they are all there. Of 2 to 48, on two simulated normal columns, 1:1000 and 1:10,000.
_RARE_OFFSET_PENALTY = 4.0
_LEAST_STRENGTH, _MOST_STRENGTH = 1.0, 1e6  # of slopes
_ROUNDS = 4  # of the search for the strength of slopes; it hardly changes later
_MORE_ROUNDS = 2  # from a start that is near
_MANY_VALUES = 256  # columns of numbers from which on the curvature is taken as diagonal: eigenvalues would take long
_ROUGH, _FINE = 1e-4, 1e-7  # relative change of the loss at which the search for a minimum ends
_SETTLED = 0.2  # change of the logarithm of that strength below which the search ends
_NEW_WEIGHT = 0.1  # that a line without a start begins with
_FEW_CLASSES = 8  # classes up to which a loop over the classes is faster
_BOUND = 20.0  # of weights and offsets


@dataclass(frozen=True, eq=False)
class EvidenceLines:
    """Rows that were scored without themselves.

    lines: the evidence of columns, centred, (lines, rows, classes); is_shared: lines with one weight for all classes.
    values: standardised values of columns of numbers, (columns, rows), 0 where they are missing.
    cells: the cell of each row among those of all columns together, (columns, rows), -1 where it is missing.
    class_factors: by which the weights of the classes were multiplied to have their shares in all data, (classes,).
    """

    log_prior: Floats  # (rows, classes)
    lines: Floats
    codes: Codes32
    weights: Floats
    is_shared: Booleans
    values: Floats
    cells: NDArray[np.int32] | None = None
    n_cells: int = 0
    class_factors: Floats | None = None

    def take(self, rows: NDArray[np.integer]) -> EvidenceLines:
        """Some of the rows, not copied if they are in one piece."""
        is_piece = len(rows) > 0 and bool((np.diff(rows) == 1).all())
        some: Any = slice(int(rows[0]), int(rows[-1]) + 1) if is_piece else rows
        cells = None if self.cells is None else self.cells[:, some]
        return replace(
            self,
            log_prior=self.log_prior[some],
            lines=self.lines[:, some],
            codes=self.codes[some],
            weights=self.weights[some],
            values=self.values[:, some],
            cells=cells,
        )

    def with_lines(self, lines: Floats) -> EvidenceLines:
        """With more lines, of one weight for all classes each."""
        is_shared = np.append(self.is_shared, np.ones(len(lines), bool))
        return replace(self, lines=np.concatenate([self.lines, lines]), is_shared=is_shared)


@dataclass(frozen=True, eq=False)
class FittedWeights:
    """Weights (lines, classes), offsets (classes,), slopes (columns of numbers, classes), tables (cells, classes)."""

    weights: Floats
    offsets: Floats
    slopes: Floats
    tables: Floats
    temperature: float
    strengths: Strengths

    @classmethod
    def mean(cls, fits: Sequence[FittedWeights]) -> FittedWeights:
        """The mean of fits of the same variables."""
        weights, offsets, slopes, tables = (
            np.mean([getattr(fit, name) for fit in fits], axis=0) for name in ("weights", "offsets", "slopes", "tables")
        )
        first, second = np.exp(np.mean(np.log([fit.strengths for fit in fits]), axis=0)).tolist()
        temperature = float(np.mean([fit.temperature for fit in fits]))
        return cls(weights, offsets, slopes, tables, temperature, (first, second))

    def log_score(self, rows: EvidenceLines) -> Floats:
        """The log score of every class of rows, up to a constant, (rows, classes)."""
        joint = rows.log_prior + self.offsets + np.einsum("jc,jnc->nc", self.weights, rows.lines)
        if len(self.slopes):
            joint += rows.values.T @ self.slopes
        if rows.cells is not None and len(self.tables):
            joint += np.append(self.tables, np.zeros((1, len(self.offsets))), axis=0)[rows.cells].sum(axis=0)
        return np.asarray(joint)


def greatest(scores: Floats) -> Floats:
    """The maximum along the last axis, the classes; by a loop over them if they are few, which is faster."""
    if 0 < scores.shape[-1] <= _FEW_CLASSES:
        return np.asarray(np.maximum.reduce([scores[..., c] for c in range(scores.shape[-1])]))
    return np.asarray(scores.max(axis=-1, initial=-np.inf))


def losses_of(log_score: Floats, codes: Codes32) -> Floats:
    """-log P(class | row) of every row."""
    top = greatest(log_score)
    share = np.exp(log_score - top[:, None])
    whole = share @ np.ones(share.shape[1])  # faster than a sum along a short axis
    return np.asarray(top + np.log(whole) - log_score[np.arange(len(codes)), codes])


def centre_evidence(evidence: Floats, log_prior: Floats) -> Floats:
    """Evidence (lines, rows, classes) minus the log marginal likelihood of each value."""
    joint = evidence + log_prior
    top = greatest(joint)[..., None]
    joint -= top
    np.exp(joint, out=joint)
    return np.asarray(evidence - (top + np.log(joint @ np.ones(joint.shape[2]))[..., None]))


def fit_weights(
    kind: Kind, rows: EvidenceLines, *, start: FittedWeights | None = None, has_same_rows: bool = True
) -> FittedWeights:
    """Fit the weights, offsets and slopes.

    kind: whether the lines that are not shared have a weight for each class or one for all, or all lines the same.
    start: fitted with fewer lines or without cells, to start from; has_same_rows: to the same rows, so that the
    strengths are near. On other rows they are not: fewer rows determine fewer slopes.
    """
    problem = _Problem(kind, rows)
    variables = problem.start if start is None else problem.start_at(start)
    is_near = start is not None and has_same_rows
    strengths = start.strengths if start is not None and is_near else (_WEIGHT_PENALTY, 3 * _WEIGHT_PENALTY)
    n_rounds = 0 if not problem.has_strengths else _MORE_ROUNDS if is_near else _ROUNDS
    for _ in range(n_rounds):
        variables = problem.minimum(variables, strengths, _ROUGH)
        before, strengths = strengths, problem.strengths(variables, strengths)
        if np.abs(np.log(np.divide(strengths, before))).max() < _SETTLED:
            break
    return problem.solution(problem.minimum(variables, strengths, _FINE), strengths)


class _Problem:
    """The loss and its gradient as functions of the variables: weights, temperature, offsets, slopes, tables.

    Arrays are (classes, ..., rows), so that the longest axis is contiguous.
    """

    def __init__(self, kind: Kind, rows: EvidenceLines) -> None:
        lines = rows.lines.sum(axis=0)[None] if kind == "temperature" else rows.lines
        self._row_weights, self._codes = np.ascontiguousarray(rows.weights), np.ascontiguousarray(rows.codes, np.int32)
        self._evidence = np.ascontiguousarray(lines.transpose(2, 0, 1))
        self._log_prior = np.ascontiguousarray(rows.log_prior.T)
        self._values = np.ascontiguousarray(rows.values[:0] if kind == "temperature" else rows.values)
        self._n_classes, self._n_lines = rows.log_prior.shape[1], len(rows.lines)
        n_lines = self._evidence.shape[1]
        number = np.arange(self._n_classes * n_lines).reshape(self._n_classes, n_lines)
        is_shared = rows.is_shared if kind == "per class" else np.ones(n_lines, bool)
        number[:, is_shared] = number[0, is_shared]
        self._number = np.unique(number, return_inverse=True)[1].reshape(number.shape)  # of each (class, line)
        n_weights, n_cells = int(self._number.max(initial=-1)) + 1, 0
        self._cells = np.zeros((0, len(self._codes)), np.int32)
        if rows.cells is not None and kind != "temperature":
            self._cells, n_cells = np.where(rows.cells < 0, rows.n_cells, rows.cells).astype(np.int32), rows.n_cells
        self._tables = np.zeros((self._n_classes, n_cells + 1))  # the last is of a missing cell, and stays 0
        factors = np.ones(self._n_classes) if rows.class_factors is None else rows.class_factors
        self._of_offsets = np.minimum(_OFFSET_PENALTY, _RARE_OFFSET_PENALTY * factors)
        self._curvature: Floats | None = None
        self._last: tuple[Floats, LogLoss] | None = None  # the last variables, and their log loss
        ends = np.cumsum([n_weights, 1, *(self._n_classes * n for n in (1, len(self._values), n_cells))]).tolist()
        self._parts = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        self.start = np.concatenate([np.full(n_weights + 1, 0.5), np.zeros(ends[-1] - n_weights - 1)])

    @property
    def has_strengths(self) -> bool:
        """Whether there are variables whose strength is chosen by evidence."""
        return bool(self._parts[3].start < self._parts[4].stop)

    def minimum(self, start: Floats, strengths: Strengths, tolerance: float) -> Floats:
        """The variables that minimise the loss for given strengths of slopes and tables."""
        weights, temperature, _, slopes, tables = self._parts
        low, high = np.full(len(start), -_BOUND), np.full(len(start), _BOUND)
        low[weights], low[temperature] = 0.0, 0.0
        if self._curvature is None:
            self._curvature = self._curvatures(start)
        curvature = self._curvature.copy()
        curvature[slopes] += strengths[0]
        curvature[tables] += strengths[1]
        return bounded_minimum(
            lambda variables: self._loss(variables, strengths),
            start,
            low=low,
            high=high,
            curvature=curvature,
            tolerance=tolerance,
        )

    def start_at(self, fit: FittedWeights) -> Floats:
        """Variables to start from: those of a fit with fewer lines or without cells, which come last."""
        result, n = self.start.copy(), len(fit.weights)
        weights, temperature, offsets, slopes, tables = self._parts
        of_lines = result[weights]
        of_lines[:] = _NEW_WEIGHT
        of_lines[self._number[:, :n].ravel()] = fit.weights.T.ravel()
        result[temperature], result[offsets], result[slopes] = fit.temperature, fit.offsets, fit.slopes.T.ravel()
        if fit.tables.size == tables.stop - tables.start:
            result[tables] = fit.tables.T.ravel()
        return result

    def solution(self, variables: Floats, strengths: Strengths = (_WEIGHT_PENALTY, _WEIGHT_PENALTY)) -> FittedWeights:
        """The variables as weights by line and class."""
        by_number, temperature, offsets, slopes, tables = (variables[part] for part in self._parts)
        shape = self._n_lines, self._n_classes
        weights = np.broadcast_to(by_number[self._number].T, shape).copy() if len(by_number) else np.zeros(shape)
        slopes, tables = (part.reshape(self._n_classes, -1).T.copy() for part in (slopes, tables))
        offsets = np.asarray(offsets - offsets.mean())
        return FittedWeights(weights, offsets, slopes, tables, float(temperature[0]), strengths)

    def strengths(self, variables: Floats, strengths: Strengths) -> Strengths:
        """The next strengths of slopes and tables by evidence."""
        variance = self._variance(variables)
        if len(self._values) > _MANY_VALUES:
            of_slopes = variance @ (self._values**2).T
        else:
            lines = variance[:1] if self._n_classes == 2 else variance  # of two classes they are equal
            of_slopes = np.array([np.linalg.eigvalsh((self._values * line) @ self._values.T) for line in lines])
            of_slopes = of_slopes.repeat(self._n_classes // len(lines), axis=0)
        return (
            _next_strength(variables[self._parts[3]], of_slopes, strengths[0]),
            _next_strength(variables[self._parts[4]], self._by_cell(variance), strengths[1]),
        )

    def _variance(self, variables: Floats) -> Floats:
        """P (1 - P) of the classes of every row, times its weight, (classes, rows)."""
        errors = self._log_loss(variables)[-1]
        p = errors / np.maximum(self._row_weights, 1e-300)
        p[self._codes, np.arange(p.shape[1])] += 1.0
        return np.asarray(p * (1 - p) * self._row_weights)

    def _by_cell(self, values: Floats) -> Floats:
        """The sums of values (classes, rows) over the rows of each cell, (classes, cells)."""
        n_cells = self._tables.shape[1]
        sums = [np.bincount(cells, weights=line, minlength=n_cells) for line in values for cells in self._cells]
        shape = self._n_classes, len(self._cells), n_cells
        return np.asarray(np.array(sums).reshape(shape).sum(axis=1)[:, :-1])

    def _curvatures(self, variables: Floats) -> Floats:
        """About the second derivative of the loss by each variable, without the strengths of slopes and tables."""
        weights, temperature, offsets, slopes, tables = self._parts
        variance, result = self._variance(variables), np.ones(len(variables))
        by_weight = np.einsum("cn,cjn,cjn->cj", variance, self._evidence, self._evidence)
        n_weights = weights.stop - weights.start
        result[weights] = self._by_variable(by_weight) + _WEIGHT_PENALTY
        result[temperature] = _WEIGHT_PENALTY * (n_weights + 1)
        result[offsets] = variance.sum(axis=1) + self._of_offsets
        result[slopes] = (variance @ (self._values**2).T).ravel()
        result[tables] = self._by_cell(variance).ravel()
        return result

    def _by_variable(self, by_weight: Floats) -> Floats:
        """Sums over the classes and lines that share a weight."""
        n_weights = self._parts[0].stop - self._parts[0].start
        return np.asarray(np.bincount(self._number.ravel(), by_weight.ravel(), minlength=n_weights), np.float64)

    def _log_loss(self, variables: Floats) -> LogLoss:
        """The log loss, and its gradient by weights, slopes, entries of tables and scores of the rows.

        Kept for the last variables: the search goes on there with other strengths, which are no part of it.
        """
        if self._last is not None and np.array_equal(self._last[0], variables):
            return self._last[1]
        weights, _, offsets, slopes, tables = (variables[part] for part in self._parts)
        self._tables[:, :-1] = tables.reshape(self._n_classes, -1)
        log_loss: LogLoss = kernels.active.log_loss(
            self._evidence,
            weights[self._number],
            self._values,
            slopes.reshape(self._n_classes, -1),
            self._cells,
            self._tables,
            self._log_prior + offsets[:, None],
            self._codes,
            self._row_weights,
        )
        self._last = variables.copy(), log_loss
        return log_loss

    def _loss(self, variables: Floats, strengths: Strengths) -> tuple[float, Floats]:
        weights, temperature, offsets, slopes, tables = (variables[part] for part in self._parts)
        loss, by_weight, by_slope, by_cell, errors = self._log_loss(variables)
        gap, far = weights - temperature, temperature - 1.0
        penalty = _WEIGHT_PENALTY * (gap @ gap + far @ far) + offsets @ (self._of_offsets * offsets)
        penalty += strengths[0] * (slopes @ slopes) + strengths[1] * (tables @ tables)
        gradient = np.concatenate(
            [
                self._by_variable(by_weight) + _WEIGHT_PENALTY * gap,
                _WEIGHT_PENALTY * far - _WEIGHT_PENALTY * gap.sum(),
                errors.sum(axis=1) + self._of_offsets * offsets,
                by_slope.ravel() + strengths[0] * slopes,
                by_cell[:, :-1].ravel() + strengths[1] * tables,
            ]
        )
        return loss + 0.5 * float(penalty), gradient


def _next_strength(variables: Floats, curvature: Floats, strength: float) -> float:
    """MacKay's fixed point for the strength of the shrinkage of some variables to 0."""
    if not len(variables):
        return strength
    n_determined = float((curvature / (curvature + strength)).sum())
    return float(np.clip(n_determined / max(float(variables @ variables), 1e-12), _LEAST_STRENGTH, _MOST_STRENGTH))
