"""The terms that tuning may add: which columns interact, and the columns that are counted for them.

Columns interact if pairs of their coarse cells explain what a fitted model gets wrong. With p the held-out
P(class | row), the residual 1[y = c] - p has mean 0 in every pair of cells if the two columns do not interact. For a
pair of cells and a class, U is the sum of the residuals and H that of p (1 - p); a correction U / (H + t) of the score,
drawn from a normal distribution with variance 1 / t, has the log Bayes factor

    1/2 (U^2 / (H + t) - log(1 + H / t))

The gain of a pair of columns is the sum over its cells and classes, for the best t. (The classes are not independent,
their residuals add up to 0: the sum is multiplied by (classes - 1) / classes.) If one pair interacts, and each is as
likely to be it as the others, the Bayes factor of that is the mean of those of the pairs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.array_types import Floats
from tallybayes.columns.cell_cuts import inputs_of_sizes
from tallybayes.columns.column_spec import ColumnSpec, Origin, Status
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.columns.readers.cells_reader import CellsReader
from tallybayes.families import Interaction, OneDependence
from tallybayes.model import Model
from tallybayes.state.model_state import ModelState
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.tuning.judged_rows import Learn
from tallybayes.weights.weight_fit import centre_evidence
from tallybayes.weights.weight_selection import WeightFit

__all__ = ["ALL_COLUMNS", "CountedTerms", "Pair", "PairGains", "TermCandidates"]

ALL_COLUMNS = "all columns"  # the name of the derived column of one-dependence estimators

_MOST_INPUTS = 64  # columns of one-dependence estimators: the time for their scores grows with its square
_MOST_PAIRS = 2**22  # (cell, cell, class) of one-dependence estimators
_CELLS = 16  # of a column of numbers with a table of corrections
_PER_ROW = 4  # corrections for each row up to which they are tried
_FEW_CELLS = 8  # of a column of numbers in interactions (a study of 52 tables)
_MOST_COPIES = 1000  # of a row, when columns are cut into cells
_INTERACTIONS = 30  # at most; with 60 the log loss was the same
_PRECISIONS = (3.0, 10.0, 30.0, 100.0)  # t, of which the best is taken
_LEAST_GAIN = 1.0  # nats; what does not help in the end has a small weight
_SUMS = 2**22  # sums of pairs of cells at most, 32 MB

Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class PairGains:
    """What the interaction of each pair of columns explains, in nats; first, second: the numbers of the columns."""

    names: list[str]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    gain: Floats

    def best(self) -> list[Pair]:
        """The pairs with the greatest gains, the greatest first."""
        order = np.argsort(-self.gain, kind="stable")[: min(max(10, 2 * len(self.names)), _INTERACTIONS)]
        chosen = [i for i in order if self.gain[i] > _LEAST_GAIN]
        return [(self.names[self.first[i]], self.names[self.second[i]]) for i in chosen]

    @property
    def log_evidence(self) -> float:
        """The log Bayes factor of one interaction, whichever it is, against none."""
        top = float(self.gain.max())
        return top + float(np.log(np.exp(self.gain - top).mean()))


class TermCandidates:
    """Candidates for terms, from the evidence of the columns of a model."""

    def __init__(self, base: WeightFit) -> None:
        self._base = base
        families = base.state.schema.families
        foldable = {name for name, family in families.items() if family.takes_class_weights}
        self._columns = {name: column for name, column in base.held_out.columns.items() if name in foldable}

    def corrections(self) -> list[CellInput]:
        """The coarse cells of columns that may have a table of corrections; none if there are few rows for them."""
        inputs = list(self._cut[1].values())
        n_corrections = sum(column_input.n_cells for column_input in inputs) * len(self._base.state.classes)
        return inputs if n_corrections <= _PER_ROW * len(self._base.lines.codes) else []

    @cached_property
    def inputs(self) -> dict[str, CellInput]:
        """The coarse cells of columns in interactions, by name."""
        return self._cut[0]

    @cached_property
    def _cut(self) -> list[dict[str, CellInput]]:
        """Few and many coarse cells of the columns, by rows: a row that occurs often counts as often, within limits."""
        lines, columns, codes = self._base.lines, self._columns, self._base.lines.codes
        times = np.clip(np.rint(lines.weights), 1, _MOST_COPIES).astype(np.int64)
        if times.max(initial=1) > 1:
            at = np.repeat(np.arange(len(times)), times)
            columns, codes = {name: column.take(at) for name, column in columns.items()}, codes[at]
        return inputs_of_sizes(columns, codes, (_FEW_CELLS, _CELLS))

    def gains(self, rows: NDArray[np.int64], weights: Floats, log_score: Floats) -> PairGains | None:
        """How much each pair of columns explains of what a fit gets wrong on some rows; None if there are no pairs.

        weights: of the fit, (lines, classes); log_score: the log score of these rows by it.
        """
        names, lines, n_classes = list(self.inputs), self._base.lines, log_score.shape[1]
        if len(names) < 2:
            return None
        p = np.exp(log_score - log_score.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        residual = -p
        residual[np.arange(len(rows)), lines.codes[rows]] += 1.0
        values = np.concatenate([residual, p * (1 - p)], axis=1) * lines.weights[rows][:, None]
        sizes, chosen = np.array([column_input.n_cells for column_input in self.inputs.values()]), np.arange(len(names))
        if sizes.sum() ** 2 * 2 * n_classes > _SUMS:  # too many to look at all: those that contribute most
            at = [self._base.held_out.names.index(name) for name in names]
            spread = np.array([(lines.lines[i][rows] * weights[i]).std(axis=0).sum() for i in at])
            order = np.argsort(-spread, kind="stable")
            n_cells = np.cumsum(sizes[order])
            chosen = np.sort(order[: max(2, int((n_cells**2 * 2 * n_classes <= _SUMS).sum()))])
        cells = np.ascontiguousarray(self._cells[rows][:, chosen])
        table = kernels.active.sum_cell_pairs(cells, sizes[chosen], np.ascontiguousarray(values), 0, len(rows))
        gains = _gains(table[..., :n_classes], table[..., n_classes:], sizes[chosen]) * (n_classes - 1) / n_classes
        first, second = np.triu_indices(len(chosen), 1)
        return PairGains(names, chosen[first], chosen[second], gains[first, second])

    @cached_property
    def _cells(self) -> NDArray[np.int16]:
        cells = [column_input.cells(self._columns[name]) for name, column_input in self.inputs.items()]
        return np.ascontiguousarray(np.stack(cells, axis=1))

    def count(self, pairs_of_subsets: Sequence[Sequence[Pair]], learn: Learn, *, dependence: bool) -> CountedTerms:
        """Count the derived columns of interactions and of one-dependence estimators in one pass over the data.

        found: the pairs that were found on the rows of each fit, and on all rows.
        """
        state, taken = self._base.state, self._base.state.schema.columns
        fields: dict[str, ColumnSpec] = {}
        for pair in sorted({pair for pairs in pairs_of_subsets for pair in pairs}):
            if (name := _name(pair)) not in taken and name not in fields:
                reader = CellsReader((self.inputs[pair[0]], self.inputs[pair[1]]))
                fields[name] = ColumnSpec(name, Interaction(), "found by tuning", reader, origin=Origin.TUNED)
        if dependence and ALL_COLUMNS not in taken and self._are_few():
            reader = CellsReader(tuple(self.inputs.values()))
            fields[ALL_COLUMNS] = ColumnSpec(
                ALL_COLUMNS, OneDependence(), "selected by tuning", reader, origin=Origin.TUNED
            )
        if not fields:
            return CountedTerms()
        others = {  # else they would be learned as new
            name: spec if spec.family is None else spec.without_family(Status.INPUT) for name, spec in taken.items()
        }
        schema = state.schema.with_columns(others | fields)
        model = Model(ModelState(schema, replace(state.settings, column_weights=None)))
        learn(model)
        names, evidence = self._base.held_out.rows.evidence(model.snapshot().state)
        evidence = centre_evidence(evidence, self._base.lines.log_prior)
        pair_of = {
            name: tuple(column_input.column for column_input in spec.reader.inputs) for name, spec in fields.items()
        }
        subsets = [
            tuple(_name(pair) for pair in pairs if pair_of.get(_name(pair)) == pair) for pairs in pairs_of_subsets
        ]
        return CountedTerms(model, subsets, dict(zip(names, evidence, strict=True)))

    def _are_few(self) -> bool:
        n_cells = sum(column_input.n_cells for column_input in self.inputs.values())
        n_classes = len(self._base.state.classes)
        return 2 < len(self.inputs) <= _MOST_INPUTS and n_cells * n_cells * n_classes <= _MOST_PAIRS


@dataclass(frozen=True, eq=False)
class CountedTerms:
    """A model of derived columns, those that were found on each subset of the rows, and their evidence by name."""

    model: Model | None = None
    subsets: Sequence[tuple[str, ...]] = ()
    evidence: Mapping[str, Floats] = field(default_factory=dict)

    def has(self, term: str) -> bool:
        """Whether there are columns for a term."""
        return ALL_COLUMNS in self.evidence if term == "dependence" else any(self.subsets)

    def n_candidates(self, term: str) -> int:
        """How many columns there are for a term."""
        if term == "dependence":
            return 1
        return len(self.evidence.keys() - {ALL_COLUMNS}) if term == "interactions" else 0

    def lines(self, terms: Collection[str], subset: int) -> tuple[list[str], Floats]:
        """The columns of some terms for a subset of the rows, and their evidence, (columns, rows, classes)."""
        names = [*self.subsets[subset]] if "interactions" in terms else []
        names += [ALL_COLUMNS] if "dependence" in terms else []
        return names, np.array([self.evidence[name] for name in names])

    def add_to(self, model: Model, names: Sequence[str]) -> Model:
        """A model with the sums of some of the derived columns as well."""
        if self.model is None or not names:
            return model
        base, more = model.snapshot().state, self.model.snapshot().state
        schema = base.schema.copy()
        schema.columns |= {name: more.schema.columns[name] for name in names}
        sums = more.statistics.aligned(base.statistics.labels)
        blocks = dict(base.statistics.copy().blocks)
        for family, tally in sums.blocks.items():
            if kept := tuple(name for name in tally.features if name in names):
                blocks[family] = tally.only(kept)
        statistics = SufficientStatistics(list(base.statistics.labels), base.statistics.class_rows, blocks)
        return Model(replace(base, schema=schema, statistics=statistics))


def _name(pair: Pair) -> str:
    return f"{pair[0]} x {pair[1]}"


def _gains(sums: Floats, curvature: Floats, sizes: NDArray[np.int64]) -> Floats:
    """The gain of every pair of inputs, (inputs, inputs)."""
    input_of = np.repeat(np.arange(len(sizes)), sizes)
    first, second = np.nonzero(curvature.any(axis=2))  # pairs of cells that have rows
    pair, n = input_of[first] * len(sizes) + input_of[second], len(sizes) ** 2
    u, h = sums[first, second], curvature[first, second]
    best = np.full(n, -np.inf)
    for t in _PRECISIONS:
        cells = (u**2 / (h + t) - np.log1p(h / t)) @ np.full(u.shape[1], 0.5)
        best = np.maximum(best, np.bincount(pair, weights=cells, minlength=n))
    return best.reshape(len(sizes), len(sizes))
