"""Column weights, slopes and offsets for a state, fitted on held-out evidence of a sample of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Floats
from tallybayes.arrays.column import Reals
from tallybayes.scoring.held_out import HeldOutEvidence, held_out_evidence
from tallybayes.scoring.weight_fit import EvidenceLines, FittedWeights, Kind, centred, fit_weights
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_sample import RowSample
from tallybayes.state.value_correction import FARTHEST, ValueCorrection

__all__ = ["LEAST_ROWS", "MOST_CLASSES", "select_weights"]

LEAST_ROWS = 50  # fewer rows tell little about dependence; on 57 rows weights made the log loss of a table worse
MOST_CLASSES = 1000  # with more, a sample has a few rows of each at best
_PER_ROW = 10  # weights for each row up to which they differ between the classes
_DIGITS = 6  # of fitted weights: what is beyond depends on the last bits of the evidence


def select_weights(state: ModelState, sample: RowSample | None) -> ColumnWeights | None:
    """Weights fitted on held-out evidence; None if there are too few rows, classes or columns.

    Every column has a weight for each class, shrunk to one temperature, or the same weight for all classes if its
    family asks for that or there are few rows; columns of numbers have a slope for each class. With more columns than
    rows there is only the temperature.
    """
    rows = sample.rows() if sample is not None else None
    if rows is None or rows.counts.sum() < LEAST_ROWS or not state.schema.families:
        return None
    if not 2 <= len(state.classes) <= MOST_CLASSES:
        return None
    held_out = held_out_evidence(state, rows)
    if len(np.unique(held_out.codes[held_out.weights > 0])) < 2:
        return None
    n_weights = (len(held_out.names) + len(held_out.gaps)) * len(state.classes)
    kind: Kind = "per class" if n_weights <= _PER_ROW * len(held_out.codes) else "shared"
    kind = "temperature" if held_out.is_sum else kind
    lines, trends = _lines(state, held_out, kind)
    found = fit_weights(kind, lines)
    temperature = found if kind == "temperature" else fit_weights("temperature", lines)
    return _column_weights(state, held_out, found, trends, float(temperature.weights[0, 0]))


class _Trends:
    """Columns of numbers with their centres and scales, and the standardised values of the rows."""

    def __init__(self, held_out: HeldOutEvidence, names: Sequence[str]) -> None:
        self.facts: dict[str, tuple[float, float]] = {}
        values = [np.zeros((0, len(held_out.codes)))]
        for name in names:
            column = held_out.columns[name]
            if isinstance(column, Reals) and (found := _standardised(column.values, held_out.weights)) is not None:
                centre, scale, z = found
                self.facts[name] = centre, scale
                values.append(z[None])
        self.values: Floats = np.concatenate(values)


def _lines(state: ModelState, held_out: HeldOutEvidence, kind: Kind) -> tuple[EvidenceLines, _Trends]:
    """The evidence as lines to fit weights for, and the trends of columns of numbers."""
    families = state.schema.families
    foldable = [families[name].takes_class_weights for name in held_out.names]
    is_shared = np.array([False] if held_out.is_sum else [not own for own in foldable], bool)
    evidence = np.concatenate([held_out.evidence, held_out.missing])
    if kind == "per class":
        evidence = centred(evidence, held_out.log_prior)
    is_shared = np.append(is_shared, np.zeros(len(held_out.gaps), bool))
    trends = _Trends(
        held_out, [n for n, own in zip(held_out.names, foldable, strict=True) if own and kind == "per class"]
    )
    own = held_out.codes, held_out.weights, is_shared, trends.values
    return EvidenceLines(held_out.log_prior, evidence, *own), trends


def _standardised(values: NDArray[np.floating], weights: Floats) -> tuple[float, float, Floats] | None:
    """Mean, standard deviation and standardised values of a column; None if it is constant or too large for that."""
    there = ~np.isnan(values) & (weights > 0)
    if not there.any():
        return None
    own = values[there].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        centre, scale = float(np.mean(own)), float(np.std(own))
    if not (np.isfinite(centre) and np.isfinite(scale) and scale > 1e-9 * abs(centre) and scale > 1e-300):
        return None
    centre, scale = float(f"{centre:.{_DIGITS}g}"), float(f"{scale:.{_DIGITS}g}")
    z = np.clip((values.astype(np.float64) - centre) / scale, -FARTHEST, FARTHEST)
    return centre, scale, np.nan_to_num(z)


def _column_weights(
    state: ModelState, held_out: HeldOutEvidence, found: FittedWeights, trends: _Trends, temperature: float
) -> ColumnWeights:
    """The fitted weights by the names of columns and classes."""
    classes, n_columns = state.classes, len(held_out.names)
    table = np.broadcast_to(found.weights, (n_columns, len(classes))) if held_out.is_sum else found.weights
    slopes = found.slopes.round(_DIGITS)
    return ColumnWeights(
        _by_name(held_out.names, table[:n_columns], classes),
        dict(zip(classes, found.offsets.round(_DIGITS).tolist(), strict=True)),
        float(sum(state.class_counts.values())),
        float(held_out.n_rows),
        _by_name(held_out.gaps, table[n_columns:], classes),
        {
            name: ValueCorrection(dict(zip(classes, own.tolist(), strict=True)), *facts)
            for (name, facts), own in zip(trends.facts.items(), slopes, strict=True)
            if own.any()
        },
        round(temperature, _DIGITS),
    )


def _by_name(names: Sequence[str], table: Floats, classes: Sequence[Any]) -> dict[str, Any]:
    """One weight for a column, or one for each class if they differ."""
    return {
        name: float(own[0]) if (own == own[0]).all() else dict(zip(classes, own.tolist(), strict=True))
        for name, own in zip(names, table.round(_DIGITS), strict=True)
    }
