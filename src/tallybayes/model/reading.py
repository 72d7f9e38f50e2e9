"""Data read and scored batch by batch, with errors that say where."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import to_array
from tallybayes.arrays.column import Column, Flags
from tallybayes.data.batch import check_kinds, encode_columns
from tallybayes.data.infer import ONLY_BITS
from tallybayes.data.label import find_labels, find_weights
from tallybayes.data.source import Kind, Source, Whole, to_source
from tallybayes.data.table import Table
from tallybayes.errors import DataError, shorten
from tallybayes.families.family import Codes32, Floats
from tallybayes.model.known import Known
from tallybayes.model.update import Learning
from tallybayes.scoring.interval import Uncertain
from tallybayes.scoring.leave_one_out import LeaveOneOut, in_classes
from tallybayes.scoring.scorer import log_normalised
from tallybayes.state.decision import Decision

__all__ = ["Reading"]


class Reading(Known):
    """A model that reads data: tables encoded by its schema, scored as they are or each row left out."""

    def wanted(self, label: Any = None, weight: Any = None) -> dict[str, Kind | None]:
        """The columns that scoring needs (label and weight, if asked for), and as what they are to be read."""
        return Learning(self._schema, self._settings, self._total, label or "", weight, False).wanted()

    def scored(self, data: Any, *, label: Any = None, keep: bool = False) -> Iterator[tuple[Table, Floats]]:
        """Data batch by batch, each with log P(class, row).

        label: a column (or "column=value") that is to be read as well; keep: whether cells are kept as they were.
        """
        return self._worked(data, self._derived().log_joint, label=label, keep=keep)

    def left_out(
        self, data: Any, *, label: Any = None, weight: Any = None, calibrated: bool = True
    ) -> Iterator[tuple[Table, Floats]]:
        """Data that was learned, batch by batch, each with `leave_one_out`."""
        label, weight = self.label_for(label), self._schema.weight if weight is None else weight
        left, plain = self.without_rows(), self._derived()

        def work(table: Table) -> Floats:
            columns, codes, weights = self.labelled(table, label, weight)
            learned = codes >= 0 if weights is None else (codes >= 0) & (weights > 0)
            if learned.all():
                return left.log_proba(columns, codes, weights)
            result = np.empty((table.n_rows, len(self.classes)))
            new, old = np.flatnonzero(~learned), np.flatnonzero(learned)
            own = {name: column.take(old) for name, column in columns.items()}
            result[old] = left.log_proba(own, codes[old], None if weights is None else weights[old])
            others = {name: column.take(new) for name, column in columns.items()}
            result[new] = log_normalised(plain.log_joint(others, len(new)), plain.log_prior)
            return result

        for source, table in self._batches(data, label, weight):
            for part, log_proba in source.good(table, work):
                yield part, self._calibrated(log_proba) if calibrated else log_proba

    def labelled(self, table: Table, label: Any, weight: Any) -> tuple[dict[str, Column], Codes32, Floats | None]:
        """A table that was learned as columns, codes of `classes` (-1: no label) and weights."""
        labels, weights = find_labels(table, label), find_weights(table, weight)
        keys = self.own_labels(labels.keys, from_file=table.is_from_file)
        own = labels.codes if weights is None else np.where(weights > 0, labels.codes, -1)  # others were never learned
        codes = in_classes(own, keys, {label: code for code, label in enumerate(self.classes)})
        return self._encoded(table), codes, None if weights is None or (weights == 1).all() else weights

    def without_rows(self) -> LeaveOneOut:
        """The sums, ready to score rows that are in them."""
        self._only_learned("leave_one_out")
        total = self._total.aligned(self._total.in_use())
        return LeaveOneOut(self._derived(), self._settings, total.class_rows.floats())

    def log_proba(self, log_joint: Floats, *, calibrated: bool = True) -> Floats:
        """Log P(class | row) of log P(class, row), calibrated if the model is; what is ruled out gets the prior."""
        log_proba = log_normalised(log_joint, self._derived().log_prior)
        return self._calibrated(log_proba) if calibrated else log_proba

    def answered(self, log_proba: Floats) -> NDArray[np.int64]:
        """The code of the label that `predict` gives, by log P(class | row); -1 where it abstains."""
        return (self._settings.decision or Decision()).chosen(log_proba, self.classes)

    def labels_of(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """Labels by their codes, None for -1."""
        labels = np.asarray(to_array(self.classes))
        if (codes >= 0).all():
            return np.asarray(labels[codes])
        return np.array([None if code < 0 else labels[code] for code in codes.tolist()], object)

    def with_intervals(
        self, data: Any, level: float = 0.95, *, seed: int = 0, calibrated: bool = True, keep: bool = False
    ) -> Iterator[tuple[Table, tuple[Floats, Floats]]]:
        """Data batch by batch, each with log P(class, row) and `predict_interval`."""
        self._only_learned("predict_interval")
        rows = np.array(list(self.class_counts.values()), np.float64)
        return self._worked(data, Uncertain(self._derived(), self._settings, rows, level, seed, calibrated), keep=keep)

    def _calibrated(self, log_proba: Floats) -> Floats:
        calibration = self._settings.calibration
        return log_proba if calibration is None else calibration.applied(log_proba, self.classes)

    def _put_right(self, p: Floats) -> Floats:
        if self._settings.calibration is None:
            return p
        with np.errstate(divide="ignore"):
            return np.exp(self._calibrated(np.log(p)))

    def _encoded(self, table: Table) -> dict[str, Column]:
        columns = encode_columns(table, self._schema, self._derived().lexicons)
        check_kinds(columns, self._known_key, from_file=table.is_from_file)
        return columns

    def _check_names(self, names: Collection[str]) -> None:
        """Refuse data that has none of the model's columns."""
        known = {*self._schema.fields, self._schema.label}
        if names and self._schema.fields and not known & {*names}:
            raise DataError(f"columns that the model knows ({shorten(list(self._schema.fields))})", got=list(names))

    def _worked(
        self, data: Any, work: Callable[..., Any], *, label: Any = None, keep: bool = False
    ) -> Iterator[tuple[Table, Any]]:
        """Data batch by batch, each with what `work(columns, rows)` makes of it; errors say where."""
        for source, table in self._batches(data, label, keep=keep):
            yield from source.good(table, lambda part: self._tolerant(part, work))

    def _batches(
        self, data: Any, label: Any = None, weight: Any = None, *, keep: bool = False
    ) -> Iterator[tuple[Source, Table]]:
        """The batches of some data, with no more columns than are needed."""
        source = to_source(data)
        source.missing = self._schema.missing if source.missing is None else source.missing
        self._check_names(source.head().columns)
        wanted = None if isinstance(source, Whole) else self.wanted(label, weight)
        for table in source.batches() if wanted is None else source.batches(wanted, keep=keep):
            yield source, table

    def _tolerant(self, table: Table, work: Callable[..., Any]) -> Any:
        """What `work(columns, rows)` makes of a table. Numbers were only guessed to be yes and no: others are gaps."""
        columns = self._encoded(table)
        while True:
            try:
                return work(columns, table.n_rows)
            except DataError as error:
                name = error.column or ""
                column, field = columns.get(name), self._schema.fields.get(name)
                if not isinstance(column, Flags) or field is None or field.reason != ONLY_BITS:
                    raise
                if error.got in (np.inf, -np.inf):
                    raise
                values = column.values.astype(np.float64)
                columns[name] = Flags(np.where((values == 0) | (values == 1), values, np.nan))

    def _scored(self, data: Any, work: Callable[..., Floats]) -> Floats:
        parts = [scores for _, scores in self._worked(data, work)]
        return parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros((0, len(self.classes)))])
