"""How the columns of a model are counted while unlabelled rows are divided: as likelihoods with fixed smoothing.

What a model selects from its data (strengths by evidence, the binnings of histograms, the variant of a text, column
weights) would be selected anew in every round, from rows that were divided by the selection before. So each column has
a plain form (`Family.em_form`): probabilities with Laplace's k (1, unless k is given), normal densities, or counts of
words. Numbers of histograms are cut into at most ten cells with about as many rows each, labelled or not.

The words of a text are far from independent, so that the scores of long texts are too large by a factor. They are
multiplied by a temperature, which is fitted once, by leave-one-out on the labelled rows: as if a text were shorter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Codes32, Weights
from tallybayes.arrays.column import Codes, Column, Reals
from tallybayes.columns.batch import encode_columns
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.columns.schema import Schema
from tallybayes.families import Categorical, Family, Histogram
from tallybayes.families.temperature import temper_scores
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.model_state import ModelState
from tallybayes.state.settings import Settings
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.tables.table import Table
from tallybayes.tally.histogram_grid import Grid, lowest_value

__all__ = ["RoundColumns"]

_CELLS = 10  # of a column of numbers: equal-frequency bins, the usual choice for naive Bayes (Yang and Webb 2009)
_K = 1.0  # Laplace's rule, where the model selects the smoothing by evidence
_LEAST_TEMPERATURE = 1e-3


@dataclass(frozen=True, eq=False)
class RoundColumns:
    """The schema and settings of the rounds, and the cells of columns of numbers."""

    schema: Schema
    settings: Settings
    cuts: Mapping[str, CellInput] = field(default_factory=dict)
    other_tokens: frozenset[str] = frozenset()  # columns of text of which fewer tokens are counted than by the model

    @classmethod
    def of(
        cls, schema: Schema, settings: Settings, batches: Iterable[tuple[Mapping[str, Column], Weights]]
    ) -> RoundColumns:
        """The forms for a schema; batches: columns and weights of all rows, read once if there are numbers to cut."""
        forms = {name: family.em_form for name, family in schema.families.items()}
        names = [name for name, form in forms.items() if form is None]
        edges = _equal_edges(names, batches) if names else {}
        cuts = {name: CellInput(name, edges=edges[name]) for name in names}
        specs = {
            name: schema.columns[name].with_family(form) if form is not None else ColumnSpec(name, Categorical(), "")
            for name, form in forms.items()
        }
        smoothing = {name: _smoothing(settings, name, spec.family) for name, spec in specs.items()}
        plain = settings.plain().with_options(smoothing=smoothing, missing_as_value=False, column_priors=None)
        texts = (name for name, spec in specs.items() if spec.is_text and spec.family != schema.columns[name].family)
        return cls(Schema(schema.label_spec, specs), plain, cuts, frozenset(texts))

    def encode(self, table: Table, columns: Mapping[str, Column]) -> dict[str, Column]:
        """Columns of a model as they are counted in the rounds; table: in whose texts other tokens may be counted."""
        specs = {name: spec for name, spec in self.schema.columns.items() if name in self.other_tokens}
        texts = encode_columns(table, Schema(None, specs)) if specs else {}
        kept = {name: column for name, column in columns.items() if name in self.schema.families}
        return {name: self._cut(name, column) for name, column in (kept | texts).items()}

    def _cut(self, name: str, column: Column) -> Column:
        if (cut := self.cuts.get(name)) is None:
            return column
        return Codes(cut.cells(column).astype(np.int32), range(cut.n_cells))

    def state(self, statistics: SufficientStatistics) -> ModelState:
        """The state of a model with these forms and some sums."""
        return ModelState(self.schema, self.settings, statistics)

    @property
    def temperatures(self) -> Mapping[str, float]:
        """What the scores of texts are multiplied with."""
        weights = self.settings.column_weights
        return {} if weights is None else weights.weights  # type: ignore[return-value]

    def with_temperatures(
        self, labelled: SufficientStatistics, columns: Mapping[str, Column], codes: Codes32
    ) -> RoundColumns:
        """The same with the temperatures of texts, fitted on some of the rows that were counted in `labelled`."""
        names = [name for name, family in self.schema.families.items() if family.has_arbitrary_scale]
        if not names or not len(codes) or len(labelled.in_use()) < 2:
            return self
        leave_one_out = Snapshot(self.state(labelled)).leave_one_out
        evidence, log_prior = leave_one_out.evidence(columns, codes, None), leave_one_out.log_prior(codes, None)
        facts = np.maximum(log_prior, -100.0), codes, np.ones(len(codes))
        found = {name: temper_scores(facts[0], evidence[name], *facts[1:]).temperature for name in names}
        weights = {name: max(float(found[name]), _LEAST_TEMPERATURE) for name in names}
        return replace(self, settings=replace(self.settings, column_weights=ColumnWeights(weights)))


def _smoothing(settings: Settings, name: str, family: Family | None) -> Any:
    given = settings.smoothing_of(name)
    needs_k = family is not None and family.takes_smoothing and family.own_smoothing == "auto"
    return _K if given == "auto" and needs_k else given


def _equal_edges(
    names: Sequence[str], batches: Iterable[tuple[Mapping[str, Column], Weights]]
) -> dict[str, tuple[float, ...]]:
    """Edges between cells with about as many rows each, by the exact counts of all rows on the grid of histograms."""
    family, features = Histogram(), tuple(sorted(names))
    total = Grid.empty(features, 1)
    for columns, weights in batches:
        for name, column in columns.items():
            if name in names and isinstance(column, Reals):
                codes = np.zeros(len(column), np.int32)
                total.prepare(family.observe((name,), [column], codes, 1, weights), 1)()
    return {name: _edges(total.only((name,))) for name in features}


def _edges(grid: Grid) -> tuple[float, ...]:
    """Starts of cells of the grid, as near to equal numbers of rows below and above as there are."""
    amounts = grid.amounts.floats()
    below = np.cumsum(amounts) - amounts
    wanted = np.arange(1, _CELLS) / _CELLS * amounts.sum()
    at = np.unique([int(np.abs(below - n).argmin()) for n in wanted]) if len(below) else np.zeros(0, np.int64)
    starts = lowest_value(grid.cell, grid.levels[grid.owner])[at[at > 0]]
    return tuple(np.unique(starts).tolist())
