"""The log-likelihoods of every column for a sample of training rows, as if they were new: the basis of tuning.

Where deriving selects nothing from the data, each row is scored by leave-one-out in closed form; otherwise by the sums
without its fold, with every selection made anew. Where rows have groups, they are scored by the sums without a fold of
whole groups (`tuning/group_folds.py`). The sums are those of all rows, and the sample does not depend on the batches. A
column with another family or another k is another array; the log loss of any combination is computed by
adding arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.column import Column, Derived, Reals
from tallybayes.arrays.random_stream import row_stream
from tallybayes.columns.batch import columns_to_read
from tallybayes.columns.fold_assignment import FoldAssigner
from tallybayes.columns.label import Labels
from tallybayes.errors import NONE, DataError
from tallybayes.families.family import Codes32, Family, Floats, Predictive, Smoothing
from tallybayes.kernels.integer_hash import Hashes
from tallybayes.model import Model
from tallybayes.scoring.leave_one_out import score_correction
from tallybayes.scoring.prior_rows import with_prior_rows
from tallybayes.scoring.scorer import Block, log_class_prior, score_column, work_out
from tallybayes.state.model_state import ModelState
from tallybayes.state.settings import Settings
from tallybayes.tables.source import BadRows, Kind, Source
from tallybayes.tables.table import Table, concatenate_tables
from tallybayes.tally import Tally
from tallybayes.tuning.group_folds import GroupedRows, clustered_error
from tallybayes.weights.held_out_evidence import FAR
from tallybayes.weights.weight_fit import greatest, losses_of

__all__ = ["ColumnEvidence", "LearnableRows", "ScoredRows", "sample_rows"]

_FOLDS = 5


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows with their classes and weights, the leave-one-out log P(class), (rows, classes), and groups if they have."""

    codes: Codes32
    weights: Floats
    log_prior: Floats
    group: Hashes | None = None

    def mean(self, losses: Floats) -> float:
        """The weighted mean over the rows."""
        return float((losses * self.weights).sum() / self.weights.sum())

    def losses(self, log_score: Floats) -> Floats:
        """-log P(class | row) of every row."""
        return losses_of(log_score, self.codes)

    def error(self, values: Floats) -> float:
        """The standard error of the mean of values of the rows."""
        if self.group is not None:
            return clustered_error(values, self.weights, self.group)
        return float(np.sqrt(self.mean((values - self.mean(values)) ** 2) / len(values)))


def _bound(scores: Floats) -> Floats:
    """Scores minus the maximum of each row; an impossible class has -FAR."""
    top = greatest(scores)[:, None]
    scores -= np.where(np.isinf(top), 0.0, top)
    return np.where(np.isinf(scores), -FAR, scores)


class ColumnEvidence:
    """The leave-one-out log-likelihoods of sampled rows, by column, for any family and smoothing of the column."""

    def __init__(self, model: Model, sample: Table | GroupedRows, label: Any, sample_weight: Any) -> None:
        self._table = sample.table if isinstance(sample, GroupedRows) else sample
        self.model, self._label, self._weight = model, label, sample_weight
        columns, codes, weights = self._encode(model)
        self._rows = np.flatnonzero(codes >= 0)
        self.codes: Codes32 = codes[self._rows]
        self.row_weights = None if weights is None else weights[self._rows]  # None: all 1
        classes = list(range(len(model.classes)))
        self._fold = FoldAssigner(_FOLDS, 0)(
            Labels(classes, self.codes, np.bincount(self.codes, minlength=len(classes)))
        )
        self._columns: dict[int, tuple[Model, dict[str, Column]]] = {}  # by the id of the model, which is kept alive
        self._grouped = sample.take(self._rows) if isinstance(sample, GroupedRows) else None
        self._rests: dict[int, list[ModelState]] = {}  # by the id of a model: its states without each fold of groups
        self._rest_tallies: dict[Any, list[Tally]] = {}
        self._keep(model, columns)
        self._arrays: dict[Any, Floats] = {}
        self._blocks: dict[Any, Block] = {}

    def rows(self, model: Model) -> ScoredRows:
        """The rows, with the class prior of a model's settings."""
        log_prior, group = self.log_prior(model, model.settings), None
        weights = np.ones(len(self.codes)) if self.row_weights is None else self.row_weights
        if self._grouped is not None:
            group = self._grouped.group
            weights = np.where(self._class_rows()[np.arange(len(self.codes)), self.codes] > 0, weights, 0.0)
            if not weights.any():
                expected = "a class with rows of more than one group, to judge rows without their groups"
                raise DataError(expected, got=NONE, column=model.schema.group)
        return ScoredRows(self.codes, weights, np.where(np.isinf(log_prior), -FAR, log_prior), group)

    def log_prior(self, model: Model, settings: Settings) -> Floats:
        """Log P(class) without each row or its groups, by some settings, (rows, classes)."""
        if self._grouped is None:
            left = replace(model.snapshot().leave_one_out, settings=settings)
            return left.log_prior(self.codes, self.row_weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            by_fold = [log_class_prior(model.classes, _counts(rest), settings) for rest in self._states(self.model)]
        return np.nan_to_num(np.array(by_fold), nan=0.0, neginf=-np.inf)[self._grouped.fold]

    def _class_rows(self) -> Floats:
        """The rows of each class without the groups of each row, (rows, classes)."""
        assert self._grouped is not None
        return np.array([_counts(rest) for rest in self._states(self.model)])[self._grouped.fold]

    def _states(self, model: Model) -> list[ModelState]:
        """A model's states without each fold of groups."""
        assert self._grouped is not None
        if id(model) not in self._rests:
            self._rests[id(model)] = self._grouped.folds.states_without(model)
        return self._rests[id(model)]

    def of(self, model: Model, name: str, smoothing: Smoothing | None = None, family: Family | None = None) -> Floats:
        """Leave-one-out log P(value | class) minus its maximum, (rows, classes); an impossible class has -FAR.

        smoothing, family: instead of those of the model; the family must have the same sufficient statistics.
        """
        key = (id(model), name, smoothing, family)
        if key not in self._arrays:
            if id(model) not in self._columns:
                self._keep(model, self._encode(model)[0])
            block = self._block_of(model, name)
            changed = Block(family or block.family, block.tally, block.smoothing if smoothing is None else smoothing)
            self._arrays[key] = _bound(self._score(model, changed, self.column(model, name)))
        return self._arrays[key]

    def adjustment(self, model: Model, name: str) -> Floats:
        """What the correction of a column and its missing values add to the scores, (rows, classes)."""
        missing, column = model.snapshot().scorer.missing, self.column(model, name)
        result = np.zeros((len(self.codes), len(model.classes)))
        for correction in model.column_weights.corrections_of([name], model.classes):
            if correction is not None:
                result += score_correction(correction, column)
        if missing is not None and name in missing.names:
            result += missing.evidence_of(name, column)
        return result

    def of_inputs(self, model: Model, name: str, kept: NDArray[np.bool_]) -> Floats:
        """The same for a derived column with only some of its inputs, (inputs,); the others are missing."""
        whole = self.of(model, name)  # encodes the columns
        if kept.all():
            return whole
        column = self.column(model, name)
        if isinstance(column, Derived):
            column = column.with_inputs(kept)
        return _bound(self._score(model, self._block_of(model, name), column))

    def numbers(self) -> dict[str, Floats]:
        """The values of the numeric columns."""
        columns = self._columns[id(self.model)][1].items()
        return {name: column.values.astype(np.float64) for name, column in columns if isinstance(column, Reals)}

    def _block_of(self, model: Model, name: str) -> Block:
        """The sums of one column of a model, with its family and smoothing."""
        key = (id(model), name)
        if key not in self._blocks:
            (block,) = (candidate for candidate in model.snapshot().scorer.blocks if name in candidate.tally.features)
            tally: Tally = block.tally.only((name,))
            self._blocks[key] = Block(block.family, tally, block.smoothing)
        return self._blocks[key]

    def _score(self, model: Model, block: Block, column: Column) -> Floats:
        if self._grouped is not None or block.family.derives_by_selection(block.smoothing):
            return self._by_folds(model, block, column)
        return self._by_leave_one_out(block, column)

    def predictives_without(self, model: Model, name: str) -> Iterator[tuple[NDArray[np.int64], Column, Predictive]]:
        """The rows of a column with the predictive of the sums without them, which is valid until the next.

        These are single rows, or the rows of a fold; see `of`. Token corrections are applied.
        """
        self.of(model, name)  # encodes the columns
        block, column = self._block_of(model, name), self.column(model, name)
        corrections = model.settings.token_corrections
        tokens = {} if corrections is None else corrections.of(model.classes)
        for rows, values, predictive in self._parts_without(model, block, column):
            yield rows, values, predictive.with_token_corrections(tokens) if name in tokens else predictive

    def token_corrections(self, model: Model) -> dict[str, Floats]:
        """What corrections of tokens add to the scores of columns before their weights, (rows, classes) by name."""
        if model.settings.token_corrections is None:
            return {}
        return model.snapshot().scorer.corrections(self._columns[id(model)][1])

    def _parts_without(
        self, model: Model, block: Block, column: Column
    ) -> Iterator[tuple[NDArray[np.int64], Column, Predictive]]:
        if self._grouped is not None or block.family.derives_by_selection(block.smoothing):
            yield from self._folds_without(model, block, column)
            return
        prior = block.prior()
        held = None if prior is None else block.family.held(block.tally, prior)
        subtracted = block.family.subtract_rows(block.tally, held, column, self.codes, self.row_weights)
        for row, (value, predictive) in enumerate(subtracted):
            yield np.array([row]), value, predictive

    def _folds_without(
        self, model: Model, block: Block, column: Column
    ) -> Iterator[tuple[NDArray[np.int64], Column, Predictive]]:
        """The rows of each fold, with everything derived anew from the sums without it.

        Of folds of groups, those without which the column has any values.
        """
        folds = self._fold if self._grouped is None else self._grouped.fold
        rests = None if self._grouped is None else self._rest_of(model, *block.tally.features)
        for number in range(_FOLDS):
            rows = np.flatnonzero(folds == number)
            values = column.take(rows)
            if rests is None:
                weights = None if self.row_weights is None else self.row_weights[rows]
                rest = block.family.without(block.tally, [values], self.codes[rows], weights)
            elif not len(rows) or not (rest := rests[number]).rows_seen().nonzero().any():
                continue
            yield rows, values, block.family.derive(rest, block.smoothing)

    def _by_folds(self, model: Model, block: Block, column: Column) -> Floats:
        """Each row scored by the sums without its fold; a column without any other values tells nothing."""
        out = np.zeros((len(self.codes), block.tally.n_classes))
        for rows, values, predictive in self._folds_without(model, block, column):
            out[rows] = score_column(predictive, values)
        return out

    def _rest_of(self, model: Model, name: str) -> list[Tally]:
        """The sums of one column without each fold of groups."""
        key, counted = (id(model), name), model.schema.families[name].counted
        if key not in self._rest_tallies:
            states = self._states(model)
            self._rest_tallies[key] = [
                with_prior_rows(state.statistics.blocks[counted].only((name,)), name, state, state.statistics.labels)
                for state in states
            ]
        return self._rest_tallies[key]

    def _by_leave_one_out(self, block: Block, column: Column) -> Floats:
        """Each row scored by the sums without it, in closed form."""
        (score,) = block.family.leave_one_out(block.tally, block.prior(), [column], self.codes, self.row_weights)
        return work_out(score, len(self.codes), block.tally.n_classes)

    def _encode(self, model: Model) -> tuple[dict[str, Column], Codes32, Floats | None]:
        return model.snapshot().encode_labelled(self._table, self._label, self._weight)

    def _keep(self, model: Model, columns: Mapping[str, Column]) -> None:
        self._columns[id(model)] = model, {name: column.take(self._rows) for name, column in columns.items()}

    def column(self, model: Model, name: str) -> Column:
        """The sampled rows of a column."""
        return self._columns[id(model)][1][name]


class LearnableRows(Source):
    """The rows of a source without the bad ones, which are counted only in the first complete pass.

    counted: whether they have been counted already.
    """

    def __init__(self, source: Source, model: Model, label: Any, sample_weight: Any, *, counted: bool = False) -> None:
        self._source, self._model, self._label, self._weight = source, model, label, sample_weight
        self._are_counted = counted
        self.missing = source.missing

    def head(self) -> Table:
        """The first rows."""
        return self._source.head()

    def batches(self, wanted: Mapping[str, Kind | None] | None = None, *, keep: bool = False) -> Iterator[Table]:
        """The rows that the model can learn."""
        if wanted is not None and isinstance(self._weight, str):
            wanted = {**wanted, self._weight: "number"}  # rows with a bad weight are bad, also when scoring
        total, bad = self._source.bad, BadRows()
        self._source.bad = bad
        try:
            for table in self._source.batches(wanted, keep=keep):
                for part, _ in self._source.work_on_good_rows(table, self._learn):
                    yield part
        finally:
            self._source.bad = total
        if total is not None and not self._are_counted:
            total.count += bad.count
            total.examples += bad.examples
            self._are_counted = True

    def _learn(self, table: Table) -> None:
        model = Model(ModelState(self._model.schema, self._model.settings))
        model.learn(table, label=self._label, sample_weight=self._weight)


def _counts(state: ModelState) -> Floats:
    return np.maximum(state.statistics.class_rows.floats(), 0.0)


def sample_rows(
    source: Source, model: Model, label: Any, sample_weight: Any, *, n_rows: int, limit: int, seed: int
) -> Table:
    """At most `limit` of the `n_rows` rows of a source, drawn by `seed`, independently of the batches."""
    chosen = np.arange(n_rows)
    if n_rows > limit:
        chosen = np.sort(row_stream(seed, "sample").choice(n_rows, size=limit, replace=False))
    result, first = [], 0
    for table in source.batches(columns_to_read(model.schema, label, sample_weight)):
        rows = chosen[(chosen >= first) & (chosen < first + table.n_rows)] - first
        if len(rows):
            result.append(table if len(rows) == table.n_rows else table.take(rows))
        first += table.n_rows
    if not result:
        raise DataError("rows with a label", got=0)
    return concatenate_tables(result)
