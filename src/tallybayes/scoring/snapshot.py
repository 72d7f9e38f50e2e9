"""A model at one moment, ready to score data.

A snapshot never changes: it can be used in several threads while the model goes on learning. What is derived from the
state (the scorer, the posterior) is computed when it is first needed. Data is read batch by batch, so a data set of any
length is scored in bounded memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.column import Column, Flags
from tallybayes.columns.batch import columns_to_read, encode_columns, to_known_types
from tallybayes.columns.date_parts import UnreadDates, with_date_parts
from tallybayes.columns.label import Labels, find_labels, find_weights
from tallybayes.errors import DataError, ParameterError, shorten
from tallybayes.families.family import Codes32, Floats
from tallybayes.io.read import to_source
from tallybayes.scoring.interval import IntervalScorer
from tallybayes.scoring.leave_one_out import LeaveOneOut, in_classes
from tallybayes.scoring.posterior import Posterior, warn_ruled_out
from tallybayes.scoring.scorer import Scorer
from tallybayes.scoring.small_batch import ROWS, SmallBatchScorer
from tallybayes.scoring.unseen_categories import UnseenCategories
from tallybayes.state.model_state import ModelState
from tallybayes.tables.source import Source, Whole
from tallybayes.tables.table import Table, small_frame, to_table

__all__ = ["Snapshot", "checked_row"]


class Snapshot:
    """The state of a model and what is derived from it; read-only.

    before: the snapshot of the same state before rows of its labels and columns were added to its sums in place. What
    does not depend on the sums is kept.
    """

    def __init__(self, state: ModelState, before: Snapshot | None = None) -> None:
        self.state = state
        self._scorer: Scorer | None = None  # two threads may both derive it: the results are equal
        self._posterior: Posterior | None = None
        self.is_used = False  # whether anything was derived from the sums as they are
        if before is None:
            self.small_batches, self._earlier = SmallBatchScorer(state.schema), None
        else:
            self.small_batches, self._earlier = before.small_batches, before._scorer or before._earlier

    @property
    def classes(self) -> list[Any]:
        """The labels in sorted order."""
        return self.state.classes

    @property
    def scorer(self) -> Scorer:
        """Log P(class) and the predictive of every block of columns."""
        if (found := self._scorer) is None:
            earlier, self._earlier = self._earlier, None
            self.is_used = True
            self._scorer = found = Scorer.of(self.state) if earlier is None else earlier.renewed(self.state)
        return found

    @property
    def posterior(self) -> Posterior:
        """From log P(class, row) to probabilities and answers."""
        if (found := self._posterior) is None:
            scorer, settings = self.scorer, self.state.settings
            found = Posterior(scorer.classes, scorer.log_prior, settings.calibration, settings.decision)
            self._posterior = found
        return found

    def plain(self) -> Snapshot:
        """The snapshot without column weights and other corrections: its scores are likelihoods."""
        state = self.state.without_corrections()
        return self if state is self.state else Snapshot(state)

    @property
    def leave_one_out(self) -> LeaveOneOut:
        """The scores of learned rows by the model without them."""
        self.state.require_learned("leave_one_out")
        statistics = self.state.statistics.aligned(self.state.statistics.in_use())
        return LeaveOneOut(self.scorer, self.state.settings, statistics.class_rows.floats())

    # What to read

    def label_or_default(self, label: Any = None) -> Any:
        """The label to look for in data: the one given, or else the model's."""
        if label is None and self.state.schema.label is None:
            hint = "this model was fitted with an array as its label"
            raise ParameterError("label=, an array of labels", got=None, hint=hint)
        return self.state.schema.label if label is None else label

    def batches(
        self, data: Any, label: Any = None, sample_weight: Any = None, *, keep: bool = False
    ) -> Iterator[tuple[Source, Table]]:
        """The batches of some data, with the columns that the model needs; keep: all columns, as they are."""
        source = to_source(data)
        schema = self.state.schema
        source.missing = schema.missing if source.missing is None else source.missing
        self._check_names(source.head().columns)
        if isinstance(source, Whole):
            tables = source.batches()
        else:
            tables = source.batches(columns_to_read(schema, label, sample_weight), keep=keep)
        unread = UnreadDates()
        for table in tables:
            yield source, with_date_parts(table, schema, unread)
        unread.warn()

    def encoded(self, table: Table, *, scored: bool = False) -> dict[str, Column]:
        """The columns of a table, encoded by the schema; scored: to be scored as new rows, not without themselves."""
        columns = encode_columns(table, self.state.schema, self.scorer.lexicons, scored=scored)
        to_known_types(columns, self.state.schema, self._known_key)
        return columns

    def labels(self, table: Table, label: Any = None) -> Labels:
        """The labels of a table in the type of the classes, cut into the bins of the schema."""
        return find_labels(table, self.label_or_default(label), self.state.schema, known=self.classes)

    def labelled(
        self, table: Table, label: Any, sample_weight: Any
    ) -> tuple[dict[str, Column], Codes32, Floats | None]:
        """A table that was learned: columns, codes of its classes (-1: no label or no weight) and weights."""
        labels, weights = self.labels(table, label), find_weights(table, sample_weight)
        own = labels.codes if weights is None else np.where(weights > 0, labels.codes, -1)  # others were never learned
        codes = in_classes(own, labels.keys, {label: code for code, label in enumerate(self.classes)})
        return self.encoded(table), codes, None if weights is None or (weights == 1).all() else weights

    # Scores of any data

    def log_joint(self, data: Any) -> Floats:
        """Log P(class, row), (rows, classes)."""
        data = small_frame(data)
        if (found := self._small_batch(data)) is not None:
            return found
        return self.joined(scores for _, scores in self.log_joint_batches(data))

    def proba(self, data: Any, *, calibrated: bool = True) -> Floats:
        """P(class | row), (rows, classes)."""
        data = small_frame(data)
        if (found := self._small_batch(data)) is not None:
            return self._finished(found, calibrated=calibrated)
        finish = self.posterior_for(calibrated).write_proba
        parts = list(self.worked_batches(data, lambda columns, n: self.scorer.finished(columns, n, finish)))
        proba = self.joined(part for _, (part, _) in parts)
        warn_ruled_out(sum(n_ruled_out for _, (_, n_ruled_out) in parts), len(proba))
        return proba

    def quick_proba(self, row: dict[Any, Any]) -> Floats | None:
        """P(class | row) of a dict, (1, classes), if that takes microseconds; None: ask `proba`."""
        if self.state.settings.calibration is not None:
            return None
        if (scorer := self._scorer) is not None:
            scores = self.small_batches.row(row, scorer)
        else:
            self.is_used = True
            scores = self.small_batches.row_of_stream(row, self.state, self, self._earlier)
        return None if scores is None or kernels.active.softmax(scores, 0, 1) else scores

    def proba_of_row(self, row: Mapping[Any, Any], *, calibrated: bool = True) -> Floats:
        """P(class | row) of a single row, (1, classes); columns that the model does not have are ignored."""
        log_joint = self._small_batch(row) if type(row) is dict else None
        if log_joint is None:
            used = set(self.state.schema.columns_in_use)
            known = {name: value for name, value in checked_row(row).items() if str(name) in used}
            log_joint = self._worked(to_table([known]), self.scorer.log_joint)
        return self._finished(log_joint, calibrated=calibrated)

    def log_joint_batches(self, data: Any, *, label: Any = None, keep: bool = False) -> Iterator[tuple[Table, Floats]]:
        """Data batch by batch, each with log P(class, row).

        label: a column (or "column=value") to read as well; keep: keep all cells as they are.
        """
        return self.worked_batches(data, self.scorer.log_joint, label=label, keep=keep)

    def log_proba_batches(
        self, data: Any, *, label: Any = None, calibrated: bool = True
    ) -> Iterator[tuple[Table, Floats]]:
        """Data batch by batch, each with log P(class | row)."""
        posterior = self.posterior_for(calibrated)
        batches = self.log_joint_batches(data, label=label)
        return ((table, posterior.log_proba(log_joint)) for table, log_joint in batches)

    def evidence_batches(self, data: Any, *, label: Any = None) -> Iterator[tuple[Table, dict[str, Floats]]]:
        """Data batch by batch, each with the contribution of every column to log P(class, row), (rows, classes)."""
        return self.worked_batches(data, self.scorer.evidence, label=label)

    def interval_batches(
        self, data: Any, level: float, *, seed: int = 0, calibrated: bool = True, keep: bool = False
    ) -> Iterator[tuple[Table, tuple[Floats, Floats]]]:
        """Data batch by batch, each with log P(class, row) and the intervals of P(class | row), (rows, classes, 2)."""
        return self.worked_batches(data, self.interval_scorer(level, seed=seed, calibrated=calibrated), keep=keep)

    def interval_scorer(self, level: float, *, seed: int = 0, calibrated: bool = True) -> IntervalScorer:
        """What computes log P(class, row) and the intervals of P(class | row) of encoded columns."""
        self.state.require_learned("predict_interval")
        rows = np.array(list(self.state.class_counts.values()), np.float64)
        return IntervalScorer(self.scorer, self.posterior_for(calibrated), self.state.settings, rows, level, seed)

    def worked_batches(
        self, data: Any, work: Callable[..., Any], *, label: Any = None, keep: bool = False
    ) -> Iterator[tuple[Table, Any]]:
        """Data batch by batch, each with the result of `work(columns, n_rows)`; errors name file, line and column."""
        unseen = self.unseen_categories()
        for source, table in self.batches(data, label, keep=keep):
            yield from self.worked_parts(source, table, work, unseen)
        unseen.warn()

    def unseen_categories(self) -> UnseenCategories:
        """What collects the columns in which no value is known, batch by batch."""
        return UnseenCategories(self._known_keys)

    def worked_parts(
        self, source: Source, table: Table, work: Callable[..., Any], unseen: UnseenCategories
    ) -> Iterator[tuple[Table, Any]]:
        """The good rows of one batch, in parts, each with the result of `work(columns, n_rows)`."""
        return source.good(table, lambda part: self._worked(part, work, unseen))

    def leave_one_out_batches(
        self, data: Any, label: Any = None, sample_weight: Any = None, *, calibrated: bool = True
    ) -> Iterator[tuple[Table, Floats]]:
        """Rows that were learned batch by batch, each with log P(class | row) by the model without it."""
        posterior, label = self.posterior_for(calibrated), self.label_or_default(label)
        sample_weight = self.state.schema.weight if sample_weight is None else sample_weight

        def work(table: Table) -> Floats:
            columns, codes, weights = self.labelled(table, label, sample_weight)
            scores = self.leave_one_out
            learned = codes >= 0 if weights is None else (codes >= 0) & (weights > 0)
            if learned.all():
                return scores.log_proba(columns, codes, weights, posterior)
            result = np.empty((table.n_rows, len(self.classes)))
            new, old = np.flatnonzero(~learned), np.flatnonzero(learned)
            own = {name: column.take(old) for name, column in columns.items()}
            own_weights = None if weights is None else weights[old]
            result[old] = scores.log_proba(own, codes[old], own_weights, posterior)
            others = {name: column.take(new) for name, column in columns.items()}
            result[new] = posterior.log_proba(self.scorer.log_joint(others, len(new)))
            return result

        for source, table in self.batches(data, label, sample_weight):
            yield from source.good(table, work)

    # Details

    def posterior_for(self, calibrated: bool) -> Posterior:
        """The posterior, with or without the calibration."""
        return self.posterior if calibrated else self.posterior.uncalibrated()

    def _finished(self, log_joint: Floats, *, calibrated: bool) -> Floats:
        """P(class | row) in the place of log P(class, row)."""
        warn_ruled_out(self.posterior_for(calibrated).write_proba(log_joint, 0, len(log_joint)), len(log_joint))
        return log_joint

    def joined(self, parts: Iterator[Floats], *more: int) -> Floats:
        """The arrays of batches, (rows, classes, ...), as one; `more` are the sizes after the classes."""
        found = list(parts)
        return found[0] if len(found) == 1 else np.concatenate([*found, np.zeros((0, len(self.classes), *more))])

    def _small_batch(self, data: Any) -> Floats | None:
        """Log P(class, row) by the fast path for a dict or a small matrix; None if there is none."""
        kind = type(data)
        if kind is dict:
            return self.small_batches.row(data, self.scorer)
        if kind is np.ndarray:
            return self.small_batches.matrix(data, self.scorer) if len(data.shape) and len(data) <= ROWS else None
        if kind is Table:
            if data.matrix is None:
                return None
            return self.small_batches.matrix(data.matrix, self.scorer, names=tuple(data.columns))
        if kind.__name__ in ("csr_matrix", "csr_array") and len(data.shape) == 2 and data.shape[0] <= ROWS:
            return self.small_batches.bags(data, self.scorer)
        return None

    def _known_key(self, name: str) -> Any:
        """One category learned in a column, or None."""
        return self.state.statistics.any_key(self.state.schema.family_of(name), name)

    def _known_keys(self, name: str) -> Collection[Any]:
        """The categories learned in a column."""
        family = self.state.schema.family_of(name)
        tally = self.state.statistics.blocks.get(family.counted) if family is not None else None
        return tally.key_slots(name) if tally is not None and tally.has_keys and name in tally.features else ()

    def _check_names(self, names: Collection[str]) -> None:
        """Refuse data that has none of the model's columns."""
        schema = self.state.schema
        if names and schema.columns and not {*schema.columns, schema.label} & {*names}:
            raise DataError(f"columns of the model ({shorten(list(schema.columns))})", got=list(names))

    def _worked(self, table: Table, work: Callable[..., Any], unseen: UnseenCategories | None = None) -> Any:
        """The result of `work(columns, n_rows)` for a table.

        A column that was taken for boolean because it held only 0 and 1 may hold other numbers: these are missing.
        """
        columns = self.encoded(table, scored=True)
        if unseen is not None:
            unseen.add(columns)
        while True:
            try:
                return work(columns, table.n_rows)
            except DataError as error:
                name = error.column or ""
                column, field = columns.get(name), self.state.schema.columns.get(name)
                if not isinstance(column, Flags) or field is None or not field.only_bits:
                    raise
                if error.got in (np.inf, -np.inf):
                    raise
                values = column.values.astype(np.float64)
                columns[name] = Flags(np.where((values == 0) | (values == 1), values, np.nan))


def checked_row(row: Any) -> Mapping[Any, Any]:
    """A single row, if it is a mapping of column names to values."""
    if not isinstance(row, Mapping):
        raise DataError("a row: a dict of column names and values", got=row)
    return row
