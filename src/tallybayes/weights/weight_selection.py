"""Column weights, slopes and offsets for a state, fitted on held-out evidence of a sample of its rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Floats
from tallybayes.arrays.column import Reals
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.errors import ForgetError, warn
from tallybayes.families.temperature import temper_scores
from tallybayes.state.column_weights import FARTHEST, ColumnWeights, ValueCorrection
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_sample import RowSample
from tallybayes.weights.held_out_evidence import HeldOutEvidence, held_out_evidence
from tallybayes.weights.possible_leak import warn_of_leaks
from tallybayes.weights.weight_fit import EvidenceLines, FittedWeights, Kind, centre_evidence, fit_weights

__all__ = ["LEAST_ROWS", "MOST_CLASSES", "WeightFit", "doubt_leaks", "select_weights"]

LEAST_ROWS = 50  # fewer rows tell little about dependence; on 57 rows weights made the log loss of a table worse
MOST_CLASSES = 1000  # with more, a sample has a few rows of each at best
_PER_ROW = 10  # weights for each row up to which they differ between the classes
_DIGITS = 6  # of fitted weights: what is beyond depends on the last bits of the evidence


def select_weights(
    state: ModelState,
    sample: RowSample | None,
    *,
    like: ColumnWeights | None = None,
    warns: bool = False,
    of_rows: float | None = None,
) -> ColumnWeights | None:
    """Weights fitted on held-out evidence; None if there are too few rows, classes or columns.

    like: weights of the same columns on other rows; where these have tables over cells, so have the new ones.
    warns: whether to warn of columns that may be leaks.
    of_rows: how many rows there are in all, if the state has a part of them and stands for a model of all: it has
    weights if that model has.
    """
    try:
        prepared = WeightFit.of(state, sample, of_rows=of_rows)
    except ForgetError as error:  # sampled rows that the state does not have
        warn(f"no column weights were fitted: {error.args[0]}")
        return None
    if prepared is None:
        return None
    if warns:
        _warn_of_leaks(prepared)
    corrections = like.corrections.values() if like is not None else ()
    cells = [correction.cells for correction in corrections if correction.cells is not None]
    prepared = prepared.with_cells(cells) if cells and prepared.kind == "per class" else prepared
    return prepared.column_weights(prepared.fit())


def doubt_leaks(state: ModelState, sample: RowSample | None) -> None:
    """Say which columns may be leaks, where no weights are selected for the model of all rows; as `select_weights`."""
    try:
        prepared = WeightFit.of(state, sample)
    except ForgetError:  # sampled rows that the state does not have
        return
    if prepared is not None:
        _warn_of_leaks(prepared)


def _warn_of_leaks(prepared: WeightFit) -> None:
    schema = prepared.state.schema
    texts = {name for name, spec in schema.columns.items() if spec.is_text}
    warn_of_leaks(prepared.held_out, prepared.scales, exempt=texts | schema.derived.keys())


@dataclass(frozen=True, eq=False)
class WeightFit:
    """Held-out evidence of a sample of rows, ready to fit weights on.

    Every column has a weight for each class, shrunk to one temperature, or the same weight for all classes if its
    family asks for that or there are few rows; columns of numbers have a slope for each class. With more columns than
    rows there is only the temperature. Scores of an arbitrary scale, such as those of texts, get a temperature of their
    own first: their weights are not near 1.
    """

    state: ModelState
    held_out: HeldOutEvidence
    kind: Kind
    lines: EvidenceLines
    scales: Floats  # of the lines, by which their weights are multiplied in the end
    trends: dict[str, tuple[float, float]]  # centre and scale of the columns with a slope, in the order of the slopes
    cells: tuple[CellInput, ...] = ()  # of the columns with a table, in the order of the tables
    more: tuple[str, ...] = ()  # columns of other states whose lines come last

    @classmethod
    def of(cls, state: ModelState, sample: RowSample | None, *, of_rows: float | None = None) -> WeightFit | None:
        """Score a sample of the rows of a state without themselves; None if there is nothing to fit weights on.

        of_rows: as for `select_weights`.
        """
        rows = sample.rows() if sample is not None else None
        if rows is None or not len(rows) or not state.schema.families:
            return None
        if (rows.counts.sum() if of_rows is None else of_rows) < LEAST_ROWS:
            return None
        if not 2 <= len(state.classes) <= MOST_CLASSES:
            return None
        held_out = held_out_evidence(state, rows)
        if len(np.unique(held_out.codes[held_out.weights > 0])) < 2:
            return None
        n_weights = (len(held_out.names) + len(held_out.gaps)) * len(state.classes)
        kind: Kind = "per class" if n_weights <= _PER_ROW * len(held_out.codes) else "shared"
        kind = "temperature" if held_out.is_sum else kind
        families = state.schema.families
        foldable = [families[name].takes_class_weights for name in held_out.names]
        own_weights = [False] if held_out.is_sum else [not is_foldable for is_foldable in foldable]
        is_shared = np.append(np.array(own_weights, bool), np.zeros(len(held_out.gaps), bool))
        scales = np.append(_scales(state, held_out), np.ones(len(held_out.gaps)))
        evidence = np.concatenate([held_out.evidence, held_out.missing]) * scales[:, None, None]
        if kind == "per class":
            evidence = centre_evidence(evidence, held_out.log_prior)
        columns = zip(held_out.names, foldable, strict=True)
        names = [name for name, is_foldable in columns if is_foldable and kind == "per class"]
        trends, values = _trends(held_out, names)
        weights = held_out.weights / _design_effect(state, held_out)
        facts = held_out.codes, weights, is_shared, values
        lines = EvidenceLines(held_out.log_prior, evidence, *facts, class_factors=held_out.class_factors)
        return cls(state, held_out, kind, lines, scales, trends)

    def fit(self) -> FittedWeights:
        """Fit the weights on all rows."""
        return fit_weights(self.kind, self.lines)

    def with_cells(self, inputs: Sequence[CellInput]) -> WeightFit:
        """With a table over coarse cells for some columns."""
        cells = [cell_input.cells(self.held_out.columns[cell_input.column]).astype(np.int32) for cell_input in inputs]
        first = np.cumsum([0, *(cell_input.n_cells for cell_input in inputs)])
        numbers = [np.where(column < 0, -1, column + start) for column, start in zip(cells, first, strict=False)]
        stacked = np.array(numbers, np.int32).reshape(len(inputs), len(self.held_out.codes))
        return replace(self, cells=tuple(inputs), lines=replace(self.lines, cells=stacked, n_cells=int(first[-1])))

    def with_columns(self, names: Sequence[str], evidence: Floats) -> WeightFit:
        """With columns of other states of the same rows; evidence: centred, (columns, rows, classes)."""
        scales = np.append(self.scales, np.ones(len(names)))
        return replace(self, more=(*self.more, *names), scales=scales, lines=self.lines.with_lines(evidence))

    def without(self, names: Collection[str]) -> WeightFit:
        """Without some columns, their slopes and missing values; of a fit without tables and other columns yet."""
        held_out, lines = self.held_out, self.lines
        n = len(held_out.names)
        kept = [i for i, name in enumerate(held_out.names) if name not in names]
        gaps = [i for i, name in enumerate(held_out.gaps) if name not in names]
        trends = [i for i, name in enumerate(self.trends) if name not in names]
        assert not self.more
        assert not self.cells
        at = np.array([*kept, *(n + i for i in gaps)], np.int64)
        rest = replace(
            held_out,
            names=tuple(held_out.names[i] for i in kept),
            evidence=held_out.evidence[kept],
            gaps=tuple(held_out.gaps[i] for i in gaps),
            missing=held_out.missing[gaps],
        )
        return replace(
            self,
            held_out=rest,
            lines=replace(lines, lines=lines.lines[at], is_shared=lines.is_shared[at], values=lines.values[trends]),
            scales=self.scales[at],
            trends={name: trend for name, trend in self.trends.items() if name not in names},
        )

    def column_weights(self, fit: FittedWeights) -> ColumnWeights:
        """The fitted weights by the names of columns and classes."""
        held_out, classes = self.held_out, self.state.classes
        temperature = fit if self.kind == "temperature" else fit_weights("temperature", self.lines)
        names = [*held_out.names, *held_out.gaps, *self.more]
        table = fit.weights * self.scales[:, None]
        table = np.broadcast_to(table, (len(names), len(classes))) if held_out.is_sum else table
        n, n_gaps = len(held_out.names), len(held_out.gaps)
        weights = [*zip(names[:n], table[:n], strict=True)]
        weights += [*zip(names[n + n_gaps :], table[n + n_gaps :], strict=True)]
        return ColumnWeights(
            dict(sorted((name, _by_class(line, classes)) for name, line in weights)),
            dict(zip(classes, fit.offsets.round(_DIGITS).tolist(), strict=True)),
            float(sum(self.state.class_counts.values())),
            float(len(held_out.rows.rows)),
            {name: _by_class(line, classes) for name, line in zip(held_out.gaps, table[n : n + n_gaps], strict=True)},
            self._corrections(fit),
            round(float(temperature.weights[0, 0]), _DIGITS),
        )

    def _corrections(self, fit: FittedWeights) -> dict[str, ValueCorrection]:
        """Slopes and tables by column; those that are 0 are left out."""
        classes, result = self.state.classes, dict[str, ValueCorrection]()
        for (name, (centre, scale)), slopes in zip(self.trends.items(), fit.slopes.round(_DIGITS), strict=True):
            if slopes.any():
                result[name] = ValueCorrection(dict(zip(classes, slopes.tolist(), strict=True)), centre, scale)
        first = np.cumsum([0, *(cell_input.n_cells for cell_input in self.cells)])
        for cell_input, start in zip(self.cells, first, strict=False):
            table = fit.tables[start : start + cell_input.n_cells].round(_DIGITS)
            if table.any():
                lines = dict(zip(classes, map(tuple, table.T.tolist()), strict=True))
                result[cell_input.column] = replace(
                    result.get(cell_input.column, ValueCorrection()), cells=cell_input, table=lines
                )
        return dict(sorted(result.items()))


def _design_effect(state: ModelState, held_out: HeldOutEvidence) -> float:
    """How many rows tell as much about weights as one independent row: 1 where rows have no groups.

    That is 1 + (mean size of a group - 1) times the intraclass correlation of the label (Kish, Survey Sampling, 1965).
    Without it weights are hardly shrunk, however few groups there are: on new ones of 60 groups of 1,000 rows the log
    loss was .717 instead of .683.
    """
    rows, weights = held_out.rows, held_out.weights
    if state.schema.group is None:
        return 1.0
    group = np.unique(rows.rows.signatures, return_inverse=True)[1][rows.row]
    n_classes = len(state.classes)
    cells = np.bincount(group * n_classes + held_out.codes, weights, minlength=(group.max() + 1) * n_classes)
    cells = cells.reshape(-1, n_classes)
    sizes, total = cells.sum(axis=1), weights.sum()
    mean_size = float((sizes**2).sum() / total)  # of the group of a row
    chance = float(((cells.sum(axis=0) / total) ** 2).sum())
    squares = np.bincount(group, weights**2, minlength=len(sizes))
    pairs = float((sizes**2 - squares).sum())
    if pairs <= 0 or chance >= 1:
        return 1.0
    same = float(((cells**2).sum(axis=1) - squares).sum()) / pairs
    agreement = min(max((same - chance) / (1 - chance), 0.0), 1.0)
    return max(1.0, 1.0 + (mean_size - 1.0) * agreement)


def _scales(state: ModelState, held_out: HeldOutEvidence) -> Floats:
    """A factor for the evidence of each column: a temperature, if its scores are of an arbitrary scale."""
    scales, families = np.ones(len(held_out.evidence)), state.schema.families
    for j, name in enumerate(held_out.names if not held_out.is_sum else ()):
        if families[name].has_arbitrary_scale:
            facts = held_out.log_prior, held_out.evidence[j], held_out.codes, held_out.weights
            scales[j] = temper_scores(*facts).temperature
    return scales


def _trends(held_out: HeldOutEvidence, names: Sequence[str]) -> tuple[dict[str, tuple[float, float]], Floats]:
    """Centre and scale of columns of numbers, and the standardised values of the rows, (columns, rows)."""
    facts: dict[str, tuple[float, float]] = {}
    values = [np.zeros((0, len(held_out.codes)))]
    for name in names:
        column = held_out.columns[name]
        if isinstance(column, Reals) and (standardised := _standardise(column.values, held_out.weights)) is not None:
            centre, scale, z = standardised
            facts[name] = centre, scale
            values.append(z[None])
    return facts, np.concatenate(values)


def _standardise(values: NDArray[np.floating], weights: Floats) -> tuple[float, float, Floats] | None:
    """Mean, standard deviation and standardised values of a column; None if it is constant or too large for that."""
    there = ~np.isnan(values) & (weights > 0)
    if not there.any():
        return None
    present = values[there].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        centre, scale = float(np.mean(present)), float(np.std(present))
    if not (np.isfinite(centre) and np.isfinite(scale) and scale > 1e-9 * abs(centre) and scale > 1e-300):
        return None
    centre, scale = float(f"{centre:.{_DIGITS}g}"), float(f"{scale:.{_DIGITS}g}")
    z = np.clip((values.astype(np.float64) - centre) / scale, -FARTHEST, FARTHEST)
    return centre, scale, np.nan_to_num(z)


def _by_class(weights: Floats, classes: Sequence[Any]) -> Any:
    """One weight for a column, or one for each class if they differ."""
    weights = weights.round(_DIGITS)
    return float(weights[0]) if (weights == weights[0]).all() else dict(zip(classes, weights.tolist(), strict=True))
