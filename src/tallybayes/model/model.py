"""The model: a schema, settings and a sum.

Everything else is derived. `learn` and `forget` change the sums in place, all or nothing: the batch is counted into
tallies of its own, every sum is checked, and only then anything changes. `merge` and `copy` give new models.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tallybayes.arrays.axis import merged, rough_kind
from tallybayes.data.infer import NO_VALUES
from tallybayes.data.schema import Schema
from tallybayes.data.source import to_source
from tallybayes.errors import DataError, ForgetError, ParameterError
from tallybayes.model.fitted_rules import calibration_on, decision_on
from tallybayes.model.scoring import Scoring, checked_row
from tallybayes.model.single_row import SingleRowLearner
from tallybayes.model.text_samples import Samples, decided, is_open
from tallybayes.model.update import NEW_COLUMN, Learning, own_kind
from tallybayes.state.calibration import Calibration
from tallybayes.state.decision import Decision
from tallybayes.state.statistics import SufficientStatistics

__all__ = ["Change", "Model"]


@dataclass(frozen=True)
class Change:
    """What `learn` or `forget` did: rows counted, rows without a label, notes, bad rows that were skipped."""

    rows: int
    skipped: int = 0
    notes: tuple[str, ...] = ()
    bad: int = 0


_ONE_ROW = Change(1)


class Model(Scoring):
    """A naive Bayes model. Made by `tallybayes.fit` or `tallybayes.from_probabilities`.

    >>> import tallybayes as tb
    >>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill")
    >>> model.predict({"fever": 1}).tolist()
    ['yes']
    >>> model.learn({"fever": 1, "ill": "no"})
    Change(rows=1, skipped=0, notes=(), bad=0)
    """

    def __eq__(self, other: object) -> bool:
        """Whether two models hold the same sums."""
        if not isinstance(other, Model):
            return NotImplemented
        if (self._written is None) != (other._written is None):
            return False  # one is written down, the other learned
        if self._written is not None and other._written is not None:
            return self._written.same(other._written)
        return self._total.same(other._total)

    __hash__ = None  # type: ignore[assignment]

    def learn(self, data: Any, *, label: Any = None, weight: Any = None) -> Change:
        """Add rows, in place and all or nothing; new labels, categories and columns are welcome."""
        if label is None and weight is None and type(data) is dict and (self._single or self._singles()).learn(data):
            self._scorer = None
            return _ONE_ROW
        return self._change(data, label, weight, 1)

    def learn_one(self, row: Mapping[Any, Any], label: Any) -> Change:
        """Add a single row, a dict without its label, and its label.

        >>> import tallybayes as tb
        >>> model = tb.fit([{"fever": 1}, {"fever": 0}], label=["ill", "well"])
        >>> model.learn_one({"fever": 1}, "ill").rows, model.class_counts
        (1, {'ill': 2, 'well': 1})
        """
        if type(row) is dict and (self._single or self._singles()).learn_one(row, label):
            self._scorer = None
            return _ONE_ROW
        return self._change([checked_row(row)], [label], None, 1)

    def forget_one(self, row: Mapping[Any, Any], label: Any) -> Change:
        """Take back a single row and its label."""
        return self._change([checked_row(row)], [label], None, -1)

    def forget(self, data: Any, *, label: Any = None, weight: Any = None) -> Change:
        """Take rows back, in place and all or nothing: what is left is the model that never saw them."""
        return self._change(data, label, weight, -1)

    def calibrate(
        self,
        data: Any,
        method: Literal["temperature", "isotonic"] = "temperature",
        *,
        label: Any = None,
        weight: Any = None,
        leave_one_out: bool = True,
    ) -> Calibration:
        """Learn to put probabilities right, from rows the model has learned (each left out), or else from new ones.

        It is kept in the model and its file. `calibration = None` takes it off.

        >>> import tallybayes as tb
        >>> rows = {"x": ["a", "a", "b", "b", "a"] * 8, "y": ["p", "p", "q", "q", "q"] * 8}
        >>> model = tb.fit({**rows, "again": rows["x"], "too": rows["x"]}, label="y")
        >>> str(model.calibrate({**rows, "again": rows["x"], "too": rows["x"]}))
        'temperature, T = 2.61, learned from 40 rows'
        """
        self._only_learned("calibrate")
        given = {"label": label, "weight": weight, "leave_one_out": leave_one_out}
        self.calibration = found = calibration_on(self, data, method, **given)
        return found

    def decide(
        self,
        data: Any,
        answer: Any,
        *,
        false_negatives: float | None = None,
        false_positives: float | None = None,
        label: Any = None,
        weight: Any = None,
        leave_one_out: bool = True,
    ) -> Decision:
        """Choose the threshold for an answer by what it promises on rows the model has learned (each left out).

        Rows of `answer` that get another answer are false negatives, others that get it false positives: at most so
        many, or such a share of them. leave_one_out=False: on new rows. The rule is kept in the model and its file,
        which answers by it from now on; other rules are set by `model.decision = tb.Decision(...)`.

        >>> import tallybayes as tb
        >>> rows = {"x": ["a", "a", "a", "b", "b", "b"] * 5, "y": ["G", "G", "R", "R", "R", "G"] * 5}
        >>> model = tb.fit(rows, label="y")
        >>> print(model.decide(rows, "R", false_negatives=0).promise)
        at most 0 false negatives: misses 0 of 15 rows of it, takes 15 of 15 others for it
        """
        self.decision = found = decision_on(
            self,
            data,
            answer,
            label=label,
            weight=weight,
            leave_one_out=leave_one_out,
            false_negatives=false_negatives,
            false_positives=false_positives,
        )
        return found

    def merge(self, other: Model) -> Model:
        """A new model with the sums of both."""
        if not isinstance(other, Model):
            raise ParameterError("another model", got=other)
        for model in (self, other):
            model._only_learned("merge")
        if self._schema.label != other._schema.label:
            raise DataError(f"a model with the label {self._schema.label!r}", got=other._schema.label)
        mine, theirs = self._schema.fields, other._schema.fields
        for name in sorted(mine.keys() & theirs.keys()):
            a, b = (field.family and field.family.counted for field in (mine[name], theirs[name]))
            if a != b and NO_VALUES not in (mine[name].reason, theirs[name].reason):
                shown = [family.told() if family else "left out" for family in (a, b)]
                hint = "give both fits the same families= and ignore="
                if shown[0] == shown[1]:
                    hint = "the keys of their hashes differ: give the second fit the schema of the first"
                raise DataError(f"the same family in both models ({shown[0]})", got=shown[1], column=name, hint=hint)
            known = [model._known_key(name) for model in (self, other)]
            if None not in known and rough_kind(known[0]) != rough_kind(known[1]):
                raise DataError(f"{rough_kind(known[0])} in both models", got=known[1], column=name)
        labels = merged(self._total.labels, own_kind(self._total.in_use(), other._total.in_use()))
        result = self.copy()
        result._total = result._total.aligned(labels)
        result._total.add(other.copy()._total.aligned(labels), 1)
        result._total.bound()
        chosen = {
            name: field
            for name, field in mine.items()
            if field.reason != NO_VALUES
            and not (
                name in theirs and is_open(field.family, self._settings, name) and theirs[name].family != field.family
            )
        }
        result._schema.fields = {**mine, **theirs, **chosen}
        result.skipped += other.skipped
        result._samples = self._samples.merged(other._samples)
        result.settle()
        return result

    def settle(self, *, now: bool | None = None) -> None:
        """Decide the columns of text that are open, if there are documents enough; `now` tells whether from now on."""
        self._decides = self._decides if now is None else now
        if self._decides:
            self._schema, self._samples = decided(self._schema, self._settings, self._total, self._samples)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into a file (`*.tally`), whole or not at all; `tallybayes.load` reads it."""
        from tallybayes.storage.model_file import save

        save(self, path)

    def copy(self) -> Model:
        """A model of its own with the same sums."""
        result = Model(self._schema.copy(), self._settings)
        result._total = self._total.copy()
        result.skipped, result._written = self.skipped, self._written
        result._samples, result._decides = self._samples.copy(), self._decides
        return result

    def _change(self, data: Any, label: Any, weight: Any, sign: int) -> Change:
        self._only_learned("learn" if sign > 0 else "forget")
        source = to_source(data)
        weight = self._schema.weight if weight is None else weight
        learning = Learning(
            self._schema,
            self._settings,
            self._total,
            self.label_for(label),
            weight,
            sign > 0,
            samples=self._samples.copy(),
        )
        learning.count(source)
        change = learning.total or SufficientStatistics.empty()
        self._check_labels(change, sign)
        labels = merged(self._total.labels, change.labels)
        total = self._total.aligned(labels)
        total.add(change.aligned(labels), sign)
        if sign < 0:
            total.free()
        else:
            total.bound()
        self._total = total
        if sign > 0:
            self._schema, self._samples = learning.schema, learning.samples
            self.settle()
        else:
            self._schema, self._samples = self._without_undone(total), Samples()  # documents may be gone
        self._scorer = self._single = self._few = None
        self.skipped += learning.n_missing * (sign > 0)
        n_bad = 0 if source.bad is None else source.bad.count
        return Change(learning.n_rows - learning.n_missing, learning.n_missing, _notes(total, sign), n_bad)

    def _without_undone(self, total: SufficientStatistics) -> Schema:
        """The schema without the columns that had come with rows which are all forgotten by now."""
        new = {name for name, field in self._schema.fields.items() if field.reason.startswith(NEW_COLUMN)}
        if not new:
            return self._schema
        used = {
            name
            for tally in total.blocks.values()
            for name, here in zip(tally.features, tally.rows_seen().nonzero(), strict=True)
            if here.any()
        }
        schema = self._schema.copy()
        schema.fields = {name: field for name, field in schema.fields.items() if name not in new or name in used}
        return schema

    def _check_labels(self, batch: SufficientStatistics, sign: int) -> None:
        """Refuse to forget labels never learned, and to learn labels that a given prior leaves out."""
        for label in batch.in_use():
            if sign < 0 and label not in self._total.labels:
                raise ForgetError("a label that was learned", got=label)
            if isinstance(self._settings.prior, Mapping) and label not in self._settings.prior:
                raise ParameterError("a prior probability for every label", got=f"none for {label!r}")

    def _singles(self) -> SingleRowLearner:
        """The quick way to learn single rows."""
        self._single = SingleRowLearner(self._schema, self._total)
        return self._single


def _notes(total: SufficientStatistics, sign: int) -> tuple[str, ...]:
    """What a change could not do exactly."""
    return tuple(dict.fromkeys(note for tally in total.blocks.values() for note in tally.change_notes(sign)))
