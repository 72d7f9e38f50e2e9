"""A model at one moment, ready to score data.

A snapshot never changes: it can be used in several threads while the model goes on learning. What is derived from the
state (the scorer, the posterior) is computed when it is first needed. Data is read batch by batch, so a data set of any
length is scored in bounded memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.column import Column, Flags
from tallybayes.columns.batch import columns_to_read, encode_columns, find_weights, names_to_find, with_parts
from tallybayes.columns.date_inference import check_later_files, check_order
from tallybayes.columns.label import Labels
from tallybayes.columns.readers.date_reader import UnreadDates
from tallybayes.columns.readers.reader import Purpose
from tallybayes.errors import DataError, ParameterError, did_you_mean, shorten
from tallybayes.families.family import Codes32, Floats
from tallybayes.io.read import to_source
from tallybayes.scoring.interval import IntervalScorer
from tallybayes.scoring.leave_one_out import LeaveOneOut, in_classes
from tallybayes.scoring.posterior import Posterior, answer_codes, answers, warn_ruled_out
from tallybayes.scoring.rows import RowScorer
from tallybayes.scoring.scorer import Scorer
from tallybayes.scoring.unseen_categories import LEAST_ROWS, UnseenCategories
from tallybayes.state.model_state import ModelState
from tallybayes.tables.source import Source, TableSource
from tallybayes.tables.table import Table, small_frame

__all__ = ["Snapshot", "check_row"]

_COMPARED = 5  # unknown names that are compared with those of the model, for a hint


class Snapshot:
    """The state of a model and what is derived from it; read-only.

    before: the snapshot of the same state before rows of its labels and columns were added to its sums in place. What
    does not depend on the sums is kept.
    """

    def __init__(self, state: ModelState, before: Snapshot | None = None) -> None:
        self.state = state
        self._scorer: Scorer | None = None  # two threads may both derive it: the results are equal
        self._posterior: Posterior | None = None
        self._plain: Snapshot | None = None
        self.is_used = False  # whether anything was derived from the sums as they are
        if before is None:
            self.rows, self._earlier = RowScorer(state.schema), None
        else:
            self.rows, self._earlier = before.rows, before._scorer or before._earlier

    @property
    def classes(self) -> list[Any]:
        """The labels in sorted order."""
        return self.state.classes

    @property
    def scorer(self) -> Scorer:
        """Log P(class) and the predictive of every block of columns."""
        if (scorer := self._scorer) is None:
            earlier, self._earlier = self._earlier, None
            self.is_used = True
            self._scorer = scorer = Scorer.of(self.state) if earlier is None else earlier.renew(self.state)
        return scorer

    @property
    def posterior(self) -> Posterior:
        """From the log score to probabilities and answers."""
        if (posterior := self._posterior) is None:
            scorer, settings = self.scorer, self.state.settings
            posterior = Posterior(scorer.classes, scorer.log_prior, settings.calibration, settings.decision)
            self._posterior = posterior
        return posterior

    def plain(self) -> Snapshot:
        """The snapshot of the generative model (`ModelState.plain`): there the log score is log P(class, row)."""
        if (plain := self._plain) is None:
            if (state := self.state.plain()) is self.state:
                return self
            self.is_used = True
            self._plain = plain = Snapshot(state)
        return plain

    @property
    def leave_one_out(self) -> LeaveOneOut:
        """The scores of learned rows by the model without them."""
        self.state.require_learned("leave_one_out")
        return LeaveOneOut(self.scorer, self.state.settings, self.state.class_rows)

    # What to read

    def label_or_default(self, label: Any = None) -> Any:
        """The label to look for in data: the one given, or else the model's."""
        if label is None and self.state.schema.label is None:
            hint = "this model was fitted with an array as its label"
            raise ParameterError("label=, an array of labels", got=None, hint=hint)
        return self.state.schema.label if label is None else label

    def batches(
        self, data: Any, label: Any = None, sample_weight: Any = None, *, keep: bool = False, also: Iterable[str] = ()
    ) -> Iterator[tuple[Source, Table]]:
        """The batches of some data, with the columns that the model needs.

        keep: all columns, as they are; also: other columns to read.
        """
        source = to_source(data)
        schema = self.state.schema
        source.use_words(schema.missing)
        source.look_for([*schema.columns, label])
        names = names_to_find(schema, label, sample_weight)
        head = source.head().with_names(names)
        self._check_names(head.columns)
        check_order(head, schema)
        if isinstance(source, TableSource):
            tables = source.batches()
        else:
            needed = columns_to_read(schema, label, sample_weight)
            tables = source.batches(dict.fromkeys(also) | needed, keep=keep)
        unread = UnreadDates()
        for table in check_later_files((one.with_names(names) for one in tables), schema):
            yield source, with_parts(table, schema, unread)
        unread.tell()

    def encode(self, table: Table, *, scored: bool = False) -> dict[str, Column]:
        """The columns of a table, encoded by the schema; scored: to be scored as new rows, not without themselves."""
        purpose = Purpose.SCORE if scored else Purpose.HELD_OUT
        return encode_columns(table, self.state.schema, self.scorer.lexicons, self._known_key, purpose=purpose)

    def labels(self, table: Table, label: Any = None) -> Labels:
        """The labels of a table in the type of the classes, cut into the bins of the schema."""
        return self.state.schema.label_spec.read(table, self.label_or_default(label), known=self.classes)

    def encode_labelled(
        self, table: Table, label: Any, sample_weight: Any
    ) -> tuple[dict[str, Column], Codes32, Floats | None]:
        """A table that was learned: columns, codes of its classes (-1: no label or no weight) and weights."""
        labels, weights = self.labels(table, label), find_weights(table, sample_weight)
        # a row without weight was never learned
        label_codes = labels.codes if weights is None else np.where(weights > 0, labels.codes, -1)
        codes = in_classes(label_codes, labels.keys, {label: code for code, label in enumerate(self.classes)})
        return self.encode(table), codes, None if weights is None or (weights == 1).all() else weights

    # Scores of any data

    def log_score(self, data: Any) -> Floats:
        """The log score of every class, (rows, classes)."""
        data = small_frame(data)
        if (log_score := self.log_score_of_few(data)) is not None:
            return log_score
        return self.join(scores for _, scores in self.map_batches(data, self.scorer.log_score))

    def log_likelihood(self, data: Any) -> Floats:
        """The log scores of the columns alone, (rows, classes): log p(row | class) in the generative model."""
        return self.join(scores for _, scores in self.map_batches(data, self.scorer.without_prior().log_score))

    def log_proba(self, data: Any, *, calibrated: bool = True) -> Floats:
        """Log P(class | row), (rows, classes)."""
        self.require_classes()
        result = self.log_score(data)
        warn_ruled_out(self.posterior_for(calibrated).write_log_proba(result, 0, len(result)), len(result))
        return result

    def proba(self, data: Any, *, calibrated: bool = True, is_row: bool = False) -> Floats:
        """P(class | row), (rows, classes); is_row: data is a single row, even if there are lists among its values."""
        data, posterior = small_frame(data), self.posterior_for(calibrated)
        if (proba := self.log_score_of_few(data, is_row=is_row)) is not None:
            n_ruled_out = posterior.write_proba(proba, 0, len(proba))
        else:
            self.require_classes()
            rows, finish = [check_row(data)] if is_row else data, posterior.write_proba
            parts = list(self.map_batches(rows, lambda columns, n: self.scorer.score_and_finish(columns, n, finish)))
            proba = self.join(part for _, (part, _) in parts)
            n_ruled_out = sum(n for _, (_, n) in parts)
        warn_ruled_out(n_ruled_out, len(proba))
        return proba

    def log_score_of_few(self, data: Any, *, is_row: bool = False) -> Floats | None:
        """The log score of every class for a few rows by `scoring/rows.py`; None if the general path is needed."""
        return self.rows.score(data, self.scorer, is_row=is_row)

    def proba_if_ready(self, row: dict[Any, Any], *, calibrated: bool, is_row: bool) -> Floats | None:
        """P(class | row) of a dict, (1, classes), if nothing else must be derived for it; None: `proba` computes it."""
        if calibrated and self.state.settings.calibration is not None:
            return None
        if (scorer := self._scorer) is not None:
            scores = self.rows.score(row, scorer, is_row=is_row)
        else:
            self.is_used = True
            scores = self.rows.score_in_stream(row, self._earlier, self.state, self, is_row=is_row)
        return None if scores is None or kernels.active.softmax(scores, 0, 1) else scores

    # Answers, from P(class | row)

    def answers(self, proba: Floats) -> NDArray[Any]:
        """The labels of rows by the decision rule; None where it abstains."""
        return answers(proba, self.classes, self.state.settings.decision)

    def answer(self, proba: Floats) -> Any:
        """The label of a single row by the decision rule; None where it abstains."""
        classes = self.classes
        (code,) = answer_codes(proba, classes, self.state.settings.decision).tolist()
        return None if code < 0 else classes[code]

    def by_class(self, proba: Floats) -> dict[Any, float]:
        """P(class | row) of a single row, by label."""
        return dict(zip(self.classes, proba[0].tolist(), strict=True))

    # Scores batch by batch

    def log_proba_batches(
        self,
        data: Any,
        *,
        label: Any = None,
        calibrated: bool = True,
        also: Iterable[str] = (),
        are_held_out: bool = False,
    ) -> Iterator[tuple[Table, Floats]]:
        """Data batch by batch, each with log P(class | row).

        label: a column (or "column=value") to read as well; also: other columns.
        are_held_out: whether the model is one without these rows of its data, for which new values are no surprise.
        """
        posterior = self.posterior_for(calibrated)
        warns: Literal["columns", "nothing"] = "nothing" if are_held_out else "columns"
        batches = self.map_batches(data, self.scorer.log_score, label=label, also=also, warns_of=warns)
        return ((table, posterior.log_proba(log_score)) for table, log_score in batches)

    def evidence_batches(self, data: Any, *, label: Any = None) -> Iterator[tuple[Table, dict[str, Floats]]]:
        """Data batch by batch, each with the contribution of every column to the log score, (rows, classes)."""
        return self.map_batches(data, self.scorer.evidence, label=label, warns_of="columns")

    def interval_batches(
        self, data: Any, level: float, *, seed: int = 0, calibrated: bool = True
    ) -> Iterator[tuple[Table, tuple[Floats, Floats]]]:
        """Data batch by batch, each with the log score and the intervals of P(class | row), (rows, classes, 2)."""
        return self.map_batches(data, self.interval_scorer(level, seed=seed, calibrated=calibrated))

    def interval_scorer(self, level: float, *, seed: int = 0, calibrated: bool = True) -> IntervalScorer:
        """What computes the log score and the intervals of P(class | row) of encoded columns."""
        self.state.require_learned("predict_interval")
        rows, posterior = self.state.class_rows, self.posterior_for(calibrated)
        return IntervalScorer(self.scorer, posterior, self.state.settings, rows, level, seed)

    def map_batches(
        self,
        data: Any,
        work: Callable[..., Any],
        *,
        label: Any = None,
        keep: bool = False,
        also: Iterable[str] = (),
        warns_of: Literal["values", "columns", "nothing"] = "values",
    ) -> Iterator[tuple[Table, Any]]:
        """Data batch by batch, each with the result of `work(columns, n_rows)`; errors name file, line and column.

        warns_of: whether to warn of single categories that the model does not know, or of columns in which it knows
        none; a model that is judged may well be one of many that are tried.
        """
        unseen = self.unseen_categories()
        for source, table in self.batches(data, label, keep=keep, also=also):
            are_few = isinstance(source, TableSource) and table.n_rows < LEAST_ROWS
            yield from self.map_parts(source, table, work, None if are_few else unseen)
        if warns_of != "nothing":
            unseen.warn(of_values=warns_of == "values")

    def unseen_categories(self) -> UnseenCategories:
        """What collects the categories that the model does not know, batch by batch."""
        return UnseenCategories(self._known_amounts)

    def map_parts(
        self, source: Source, table: Table, work: Callable[..., Any], unseen: UnseenCategories | None = None
    ) -> Iterator[tuple[Table, Any]]:
        """The good rows of one batch, in parts, each with the result of `work(columns, n_rows)`."""
        return source.work_on_good_rows(table, lambda part: self._apply(part, work, unseen))

    def leave_one_out_batches(
        self,
        data: Any,
        label: Any = None,
        sample_weight: Any = None,
        *,
        calibrated: bool = True,
        also: Iterable[str] = (),
    ) -> Iterator[tuple[Table, Floats]]:
        """Rows that were learned batch by batch, each with log P(class | row) by the model without it."""
        posterior, label = self.posterior_for(calibrated), self.label_or_default(label)
        sample_weight = self.state.schema.weight if sample_weight is None else sample_weight

        def work(table: Table) -> Floats:
            columns, codes, weights = self.encode_labelled(table, label, sample_weight)
            if (codes >= 0).all():
                return self.leave_one_out.log_proba(columns, codes, weights, posterior)
            result = np.empty((table.n_rows, len(self.classes)))
            new, old = np.flatnonzero(codes < 0), np.flatnonzero(codes >= 0)
            others, learned = ({name: column.take(rows) for name, column in columns.items()} for rows in (new, old))
            learned_weights = None if weights is None else weights[old]
            result[old] = self.leave_one_out.log_proba(learned, codes[old], learned_weights, posterior)
            result[new] = posterior.log_proba(self.scorer.log_score(others, len(new)))
            return result

        for source, table in self.batches(data, label, sample_weight, also=also):
            yield from source.work_on_good_rows(table, work)

    # Details

    def posterior_for(self, calibrated: bool) -> Posterior:
        """The posterior, with or without the calibration."""
        return self.posterior if calibrated else self.posterior.uncalibrated()

    def join(self, parts: Iterator[Floats], *more: int) -> Floats:
        """The arrays of batches, (rows, classes, ...), as one; `more` are the sizes after the classes."""
        arrays = list(parts)
        return arrays[0] if len(arrays) == 1 else np.concatenate([*arrays, np.zeros((0, len(self.classes), *more))])

    def _known_key(self, name: str) -> Any:
        """One category learned in a column, or None."""
        return self.state.statistics.any_key(self.state.schema.family_of(name), name)

    def _known_amounts(self, name: str) -> Mapping[Any, float]:
        """The categories learned in a column, and how often."""
        family = self.state.schema.family_of(name)
        tally = self.state.statistics.blocks.get(family.counted) if family is not None else None
        return tally.key_amounts(name) if tally is not None and tally.has_keys and name in tally.features else {}

    def require_classes(self) -> None:
        """Raise an error if the model has not learned any row."""
        if not self.classes:
            raise DataError("the model has not learned any row yet")

    def _check_names(self, names: Collection[str]) -> None:
        """Refuse data that has none of the model's columns: they are misspelt, or the data is for another model."""
        schema = self.state.schema
        if names and schema.columns and not {*schema.columns, schema.label, schema.weight} & {*names}:
            near = (did_you_mean(name, schema.columns) for name in itertools.islice(names, _COMPARED))
            hint = next((hint for hint in near if hint is not None), None)
            raise DataError(f"columns of the model ({shorten(list(schema.columns))})", got=list(names), hint=hint)

    def _apply(self, table: Table, work: Callable[..., Any], unseen: UnseenCategories | None = None) -> Any:
        """The result of `work(columns, n_rows)` for a table.

        A column that was taken for boolean because it held only 0 and 1 may hold other numbers: these are missing.
        """
        columns = self.encode(table, scored=True)
        if unseen is not None:
            unseen.add(columns)
        while True:
            try:
                return work(columns, table.n_rows)
            except DataError as error:
                name = error.column or ""
                column, spec = columns.get(name), self.state.schema.columns.get(name)
                if not isinstance(column, Flags) or spec is None or not spec.reader.only_bits:
                    raise
                if error.got in (np.inf, -np.inf):
                    raise
                values = column.values.astype(np.float64)
                columns[name] = Flags(np.where((values == 0) | (values == 1), values, np.nan))


def check_row(row: Any) -> Mapping[Any, Any]:
    """A single row, if it is a mapping of column names to values."""
    if not isinstance(row, Mapping):
        raise DataError("a row: a dict of column names and values", got=row)
    return row
