"""The model: a schema, settings and a sum.

Everything else is derived. `learn` and `forget` change the sums in place, all or nothing: the batch is counted into
tallies of its own, every sum is checked, and only then anything changes. `merge` and `copy` give new models.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import merged, rough_kind, to_array
from tallybayes.arrays.column import Column, Flags
from tallybayes.data.infer import NO_VALUES, ONLY_BITS
from tallybayes.data.label import find_labels, find_weights
from tallybayes.data.schema import Schema
from tallybayes.data.source import Kind, Source, Whole, to_source
from tallybayes.data.table import Table, to_table
from tallybayes.errors import DataError, ForgetError, ParameterError, UnsupportedError, shorten
from tallybayes.families.base import Codes32, Floats
from tallybayes.model.answers import calibration_on, decision_on
from tallybayes.model.batch import check_kinds, encode_columns
from tallybayes.model.calibration import Calibration
from tallybayes.model.choosing import Samples, decided, is_open
from tallybayes.model.decision import Decision
from tallybayes.model.describe import Description
from tallybayes.model.explain import Explanation, explain
from tallybayes.model.few import ROWS, FewRows
from tallybayes.model.interval import Uncertain, described
from tallybayes.model.learning import NEW_COLUMN, Learning, own_kind
from tallybayes.model.leave_one_out import LeftOut, in_classes
from tallybayes.model.objective import Objective, objective
from tallybayes.model.sample import sample
from tallybayes.model.scorer import Scorer, log_marginal, log_normalised, most_probable
from tallybayes.model.settings import Settings
from tallybayes.model.single import SingleRows
from tallybayes.model.total import Total
from tallybayes.model.trust import Trust
from tallybayes.tally import Documents, Grid

__all__ = ["Change", "Model"]


@dataclass(frozen=True)
class Change:
    """What `learn` or `forget` did: rows counted, rows without a label, notes, bad rows that were skipped."""

    rows: int
    skipped: int = 0
    notes: tuple[str, ...] = ()
    bad: int = 0


_ONE_ROW = Change(1)


class Model:
    """A naive Bayes model. Made by `tallybayes.fit` or `tallybayes.from_probabilities`.

    >>> import tallybayes as tb
    >>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill")
    >>> model.predict({"fever": 1}).tolist()
    ['yes']
    >>> model.learn({"fever": 1, "ill": "no"})
    Change(rows=1, skipped=0, notes=(), bad=0)
    """

    def __init__(self, schema: Schema, settings: Settings) -> None:
        self._schema = schema
        self._settings = settings
        self._total = Total.empty()
        self._scorer: Scorer | None = None
        self._single: SingleRows | None = None
        self._few: FewRows | None = None
        self._written: Scorer | None = None
        self._samples = Samples()
        self._decides = True
        self.skipped = 0

    # What the model knows

    @property
    def classes(self) -> list[Any]:
        """The labels in sorted order, of their own type."""
        return self._total.in_use() if self._written is None else list(self._written.classes)

    @property
    def schema(self) -> Schema:
        """The family of every column and why; print it."""
        return self._schema.copy()

    @property
    def settings(self) -> Settings:
        """How sums become probabilities."""
        return self._settings

    @property
    def decision(self) -> Decision:
        """How `predict` makes an answer of probabilities; it can be set, and is kept in the model file."""
        return self._settings.decision or Decision()

    @decision.setter
    def decision(self, decision: Decision | None) -> None:
        if decision is not None:
            if not isinstance(decision, Decision):
                raise ParameterError("a Decision, or None for the most probable label", came=decision)
            decision.check(self.classes)
        self._settings = replace(self._settings, decision=None if decision == Decision() else decision)

    @property
    def trust(self) -> Trust:
        """The weights of columns and offsets of classes; it can be set, and is kept in the model file."""
        return self._settings.trust or Trust()

    @trust.setter
    def trust(self, trust: Trust | None) -> None:
        self._only_learned("trust")
        if trust is not None and not isinstance(trust, Trust):
            raise ParameterError("a Trust, or None for weights of 1", came=trust)
        self._settings = replace(self._settings, trust=trust)
        self._scorer = self._few = None

    @property
    def calibration(self) -> Calibration | None:
        """How probabilities are put right, if they are; None takes it off."""
        return self._settings.calibration

    @calibration.setter
    def calibration(self, calibration: Calibration | None) -> None:
        if calibration is not None and not isinstance(calibration, Calibration):
            raise ParameterError("a Calibration or None", came=calibration)
        self._settings = replace(self._settings, calibration=calibration)

    @property
    def stale(self) -> list[str]:
        """What was found on other rows than the model has now: "trust", "calibration"."""
        if self._written is not None:
            return []
        rows = float(self._total.class_rows.floats().sum())
        found = {"trust": self._settings.trust, "calibration": self._settings.calibration}
        return [name for name, own in found.items() if own is not None and own.rows not in (0, rows)]

    @property
    def class_counts(self) -> dict[Any, float]:
        """Rows (or their weight) learned per label."""
        self._only_learned("class_counts")
        counts = zip(self._total.labels, self._total.class_rows.floats().tolist(), strict=True)
        return {label: int(n) if n.is_integer() else n for label, n in counts if n > 0}

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

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied: the sums, and nothing that is derived from them."""
        return self.__dict__ | {"_scorer": None, "_single": None, "_few": None}

    def __repr__(self) -> str:
        classes = ", ".join(map(repr, self.classes[:5])) + (", ..." if len(self.classes) > 5 else "")
        return f"<Model of {len(self._schema.families)} columns, classes {classes}>"

    # Scoring

    def predict(self, data: Any) -> NDArray[Any]:
        """The label of every row: the most probable one, or what `decision` says; None where it abstains.

        Ties go to the label first in sorted order.
        """
        if not self.classes:
            raise DataError("the model has not learned any row yet")
        p = self.predict_proba(data)
        if self._settings.decision is None:
            return np.asarray(to_array(self.classes)[most_probable(p)])
        with np.errstate(divide="ignore"):
            return self.labels_of(self._settings.decision.chosen(np.log(p), self.classes))

    def predict_proba(self, data: Any, *, calibrated: bool = True) -> Floats:
        """P(class | row), (rows, classes), the classes as in `classes`; calibrated, if the model is."""
        if (found := self._scored_few(data, normalise=True)) is None:
            found = self._scored(data, partial(self._derived().log_joint, normalise=True))
        return self._put_right(found) if calibrated else found

    def predict_proba_one(self, row: Mapping[Any, Any]) -> dict[Any, float]:
        """P(class | row) of a single row, by label; what the model does not know says nothing.

        >>> import tallybayes as tb
        >>> model = tb.fit([{"fever": 1}, {"fever": 0}], label=["ill", "well"])
        >>> model.predict_proba_one({"cough": True})
        {'ill': 0.5, 'well': 0.5}
        """
        scorer = self._derived()
        scores = self._scored_few(row, normalise=True) if type(row) is dict else None
        if scores is None and scorer.classes:
            known = to_table(
                [{name: value for name, value in _checked_row(row).items() if str(name) in self._schema.families}]
            )
            scores = self._tolerant(known, partial(scorer.log_joint, normalise=True))
        if scores is None:
            return {}
        return dict(zip(scorer.classes, self._put_right(scores)[0].tolist(), strict=True))

    def log_joint(self, data: Any) -> Floats:
        """Log P(class, row), (rows, classes)."""
        if (found := self._scored_few(data, normalise=False)) is not None:
            return found
        return self._scored(data, self._derived().log_joint)

    def log_marginal(self, data: Any) -> Floats:
        """Log p(row): low for rows unlike anything learned."""
        self._only_likelihoods("log_marginal")
        return log_marginal(self.log_joint(data))

    def leave_one_out(self, data: Any, *, label: Any = None, weight: Any = None, calibrated: bool = True) -> Floats:
        """Log P(class | row) of rows that were learned, each by the model that never saw it, (rows, classes).

        In closed form, at about the cost of scoring; rows without a label or of weight 0, which were never learned,
        are just scored.

        >>> import tallybayes as tb
        >>> rows = {"fever": [1, 1, 0, 0, 0], "ill": ["yes", "yes", "no", "no", "yes"]}
        >>> model = tb.fit(rows, label="ill", smoothing=1)
        >>> [round(float(p), 3) for p in np.exp(model.leave_one_out(rows)[:, 1])]
        [0.667, 0.667, 0.545, 0.545, 0.25]
        """
        self._only_learned("leave_one_out")
        parts = [part for _, part in self.left_out(data, label=label, weight=weight, calibrated=calibrated)]
        return parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros((0, len(self.classes)))])

    def explain(self, data: Any) -> list[Explanation]:
        """For every row the prior, what each column added and the posterior; the parts add up to log P(class, row)."""
        evidence = self._derived().evidence
        return [
            one
            for table, parts in self._worked(data, evidence)
            for one in explain(self._derived(), parts, table, self._settings.calibration)
        ]

    def objective(self, data: Any, *, label: Any = None) -> Objective:
        """The negative log likelihood of labelled data, split into a part for the prior and one per column."""
        self._only_likelihoods("objective")
        total = Objective(0.0, {})
        for table, parts in self._worked(data, self._derived().evidence, label=(label := self.label_for(label))):
            total += objective(self._derived(), parts, find_labels(table, label))
        return total

    def sample(self, n: int, *, seed: int | None = None) -> Any:
        """Rows drawn from the model, as a pyarrow Table with the label in the last column."""
        self._only_likelihoods("sample")
        if seed is not None and (not isinstance(seed, (int, np.integer)) or seed < 0):
            raise ParameterError("a seed (a whole number from 0 on)", came=seed)
        return sample(self._derived(), n, self._schema, np.random.default_rng(seed))

    def describe(self) -> Description:
        """The parameters of every column per class, to be printed or read as rows."""
        return Description.of(self._derived(), self._schema, None if self._written else self.class_counts)

    def intervals(self, level: float = 0.95) -> Description:
        """The same with credible intervals from the posteriors, leaving out the same share on both sides.

        With smoothing "auto" what is learned of categories and yes/no is P(class | value), at the class shares of the
        column; so these rows are of that, averaged over strengths. Those of a histogram are too, at eight values.

        >>> import tallybayes as tb
        >>> model = tb.fit({"fever": [1, 1, 0], "ill": ["yes", "yes", "no"]}, label="ill", smoothing=1)
        >>> {name: round(model.intervals(0.9).columns["fever"][1][name], 3) for name in ("P(yes)", "low", "high")}
        {'P(yes)': 0.75, 'low': 0.368, 'high': 0.983}
        """
        self._only_learned("intervals")
        return described(self._derived(), self._schema, self._settings, self.class_counts, level)

    def predict_interval(self, data: Any, level: float = 0.95, *, seed: int = 0, calibrated: bool = True) -> Floats:
        """Intervals of P(class | row), (rows, classes, 2): how far the rows that were learned leave it open.

        >>> import tallybayes as tb
        >>> rows = {"fever": [1, 1, 0, 0, 0], "ill": ["yes", "yes", "no", "no", "yes"]}
        >>> few, many = (tb.fit({k: v * n for k, v in rows.items()}, label="ill", smoothing=1) for n in (1, 100))
        >>> [model.predict_interval({"fever": 1})[0, 1].round(2).tolist() for model in (few, many)]
        [[0.26, 0.99], [0.98, 1.0]]
        """
        parts = [ends for _, (_, ends) in self.with_intervals(data, level, seed=seed, calibrated=calibrated)]
        return parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros((0, len(self.classes), 2))])

    def log_evidence(self) -> dict[str, float]:
        """Log marginal likelihood of every column's tally under its prior, in closed form.

        For comparing strengths within a family, not families with each other: a histogram and the "auto" smoothing of
        categories weigh the classes given the values, the others the values given the classes.
        """
        self._only_likelihoods("log_evidence")
        self._only_learned("log_evidence")
        result: dict[str, float] = {}
        for tally in self._total.aligned(self._total.in_use()).blocks.values():
            for name in tally.features:
                family = self._schema.families[name]
                k = self._settings.smoothing_of(name)
                if k == 0:
                    raise UnsupportedError("smoothing above 0: maximum likelihood has no prior", column=name)
                part = tally.only((name,))
                result[name] = float(family.evidence(part, family.prior(part, k))[0])
        return dict(sorted(result.items()))

    # Changing

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
        return self._change([_checked_row(row)], [label], None, 1)

    def forget_one(self, row: Mapping[Any, Any], label: Any) -> Change:
        """Take back a single row and its label."""
        return self._change([_checked_row(row)], [label], None, -1)

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
        'temperature, T = 3.31, learned from 40 rows'
        """  # fmt: skip
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
        leave_one_out: bool = True,
    ) -> Decision:
        """Choose the threshold for an answer by what it promises on rows the model has learned (each left out).

        Rows of `answer` that are not answered so are false negatives, others that are false positives: at most so many,
        or such a share. leave_one_out=False: on new rows. The rule is kept in the model and its file; other rules are
        set by `model.decision = tb.Decision(...)`.

        >>> import tallybayes as tb
        >>> rows = {"x": ["a", "a", "a", "b", "b", "b"] * 5, "y": ["G", "G", "R", "R", "R", "G"] * 5}
        >>> model = tb.fit(rows, label="y")
        >>> str(model.decide(rows, "R", false_negatives=0))
        'R from probability 0.306 on (at most 0 false negatives on 30 rows)'
        """  # fmt: skip
        promise = {"false_negatives": false_negatives, "false_positives": false_positives}
        self.decision = found = decision_on(self, data, answer, label=label, leave_one_out=leave_one_out, **promise)
        return found

    def merge(self, other: Model) -> Model:
        """A new model with the sums of both."""
        if not isinstance(other, Model):
            raise ParameterError("another model", came=other)
        for model in (self, other):
            model._only_learned("merge")
        if self._schema.label != other._schema.label:
            raise DataError(f"a model with the label {self._schema.label!r}", came=other._schema.label)
        mine, theirs = self._schema.fields, other._schema.fields
        for name in sorted(mine.keys() & theirs.keys()):
            a, b = (field.family and field.family.counted for field in (mine[name], theirs[name]))
            if a != b and NO_VALUES not in (mine[name].reason, theirs[name].reason):
                shown = [family.told() if family else "left out" for family in (a, b)]
                hint = "give both fits the same families= and ignore="
                if shown[0] == shown[1]:
                    hint = "the keys of their hashes differ: give the second fit the schema of the first"
                raise DataError(f"the same family in both models ({shown[0]})", came=shown[1], column=name, hint=hint)
            known = [model._known_key(name) for model in (self, other)]
            if None not in known and rough_kind(known[0]) != rough_kind(known[1]):
                raise DataError(f"{rough_kind(known[0])} in both models", came=known[1], column=name)
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
        from tallybayes.model.store import save

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
            self._schema, self._settings, self._total, self.label_for(label), weight, sign > 0,
            samples=self._samples.copy(),
        )  # fmt: skip
        learning.count(source)
        change = learning.total or Total.empty()
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

    def _without_undone(self, total: Total) -> Schema:
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

    def _check_labels(self, batch: Total, sign: int) -> None:
        """Refuse to forget labels never learned, and to learn labels that a given prior leaves out."""
        for label in batch.in_use():
            if sign < 0 and label not in self._total.labels:
                raise ForgetError("a label that was learned", came=label, hint="nothing was changed")
            if isinstance(self._settings.prior, Mapping) and label not in self._settings.prior:
                raise ParameterError("a prior probability for every label", came=f"none for {label!r}")

    # Inside

    def _known_key(self, name: str) -> Any:
        """One category learned so far in a column, or None."""
        return self._total.any_key(self._schema.families.get(name), name)

    def wanted(self, label: Any = None, weight: Any = None) -> dict[str, Kind | None]:
        """The columns that scoring needs (label and weight, if asked for), and as what they are to be read."""
        return Learning(self._schema, self._settings, self._total, label or "", weight, False).wanted()

    def scored(self, data: Any, *, label: Any = None, keep: bool = False) -> Iterator[tuple[Table, Floats]]:
        """Data batch by batch, each with log P(class, row).

        label: a column (or "column=value") that is to be read as well; keep: whether cells are kept as they were.
        """
        return self._worked(data, self._derived().log_joint, label=label, keep=keep)

    def with_intervals(
        self, data: Any, level: float = 0.95, *, seed: int = 0, calibrated: bool = True, keep: bool = False
    ) -> Iterator[tuple[Table, tuple[Floats, Floats]]]:
        """Data batch by batch, each with log P(class, row) and `predict_interval`."""
        self._only_learned("predict_interval")
        rows = np.array(list(self.class_counts.values()), np.float64)
        return self._worked(data, Uncertain(self._derived(), self._settings, rows, level, seed, calibrated), keep=keep)

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
        codes = in_classes(labels.codes, keys, {label: code for code, label in enumerate(self.classes)})
        return self._encoded(table), codes, None if weights is None or (weights == 1).all() else weights

    def without_rows(self) -> LeftOut:
        """The sums, ready to score rows that are in them."""
        self._only_learned("leave_one_out")
        total = self._total.aligned(self._total.in_use())
        return LeftOut(self._derived(), self._settings, total.class_rows.floats())

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

    def _calibrated(self, log_proba: Floats) -> Floats:
        calibration = self._settings.calibration
        return log_proba if calibration is None else calibration.applied(log_proba, self.classes)

    def _put_right(self, p: Floats) -> Floats:
        if self._settings.calibration is None:
            return p
        with np.errstate(divide="ignore"):
            return np.exp(self._calibrated(np.log(p)))

    def log_prior(self) -> Floats:
        """Log P(class), the classes as in `classes`."""
        return self._derived().log_prior.copy()

    def label_for(self, label: Any = None) -> Any:
        """The label to look for in data: the one given, or the model's own."""
        if label is None and self._schema.label is None:
            raise ParameterError(
                "label=, an array of labels",
                came=None,
                hint="this model was fitted with an array as its label",
            )
        return self._schema.label if label is None else label

    def own_labels(self, labels: Sequence[Any], *, from_file: bool = False) -> list[Any]:
        """Labels in the type of the model's own: 1 and 1.0 are one; other types are refused, but for a file's."""
        return own_kind(self.classes, labels, from_file=from_file)

    def _encoded(self, table: Table) -> dict[str, Column]:
        columns = encode_columns(table, self._schema, self._derived().lexicons)
        check_kinds(columns, self._known_key, from_file=table.is_from_file)
        return columns

    def _check_names(self, names: Collection[str]) -> None:
        """Refuse data that has none of the model's columns."""
        known = {*self._schema.fields, self._schema.label}
        if names and self._schema.fields and not known & {*names}:
            raise DataError(f"columns that the model knows ({shorten(list(self._schema.fields))})", came=list(names))

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
                if error.came in (np.inf, -np.inf):
                    raise
                values = column.values.astype(np.float64)
                columns[name] = Flags(np.where((values == 0) | (values == 1), values, np.nan))

    def _scored(self, data: Any, work: Callable[..., Floats]) -> Floats:
        parts = [scores for _, scores in self._worked(data, work)]
        return parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros((0, len(self.classes)))])

    def _derived(self) -> Scorer:
        """The scorer for the present sums."""
        if self._written is not None:
            return self._written
        if self._scorer is None:
            self._scorer = Scorer.of(self._total.aligned(self._total.in_use()), self._settings, self._schema.families)
        return self._scorer

    def _scored_few(self, data: Any, *, normalise: bool) -> Floats | None:
        """The quick way for a dict or a small matrix; None if there is none."""
        kind = type(data)
        if kind is Table and data.matrix is not None:
            few = self._few or self._fews()
            return few.matrix(data.matrix, self._derived(), normalise=normalise, names=tuple(data.columns))
        if getattr(data, "format", None) == "csr" and data.shape[0] <= ROWS and len(data.shape) == 2:
            return (self._few or self._fews()).bags(data, self._derived(), normalise=normalise)
        if kind is not dict and (kind is not np.ndarray or len(data) > ROWS):
            return None
        few = self._few or self._fews()
        return (few.row if kind is dict else few.matrix)(data, self._derived(), normalise=normalise)

    def _fews(self) -> FewRows:
        self._few = FewRows(self._schema)
        return self._few

    def _singles(self) -> SingleRows:
        """The quick way to learn single rows."""
        self._single = SingleRows(self._schema, self._total)
        return self._single

    def _only_learned(self, verb: str) -> None:
        if self._written is not None:
            raise UnsupportedError(f"{verb} needs a model that was learned; this one was written down")

    def _only_likelihoods(self, verb: str) -> None:
        if self._settings.trust is not None and verb != "sample":
            raise UnsupportedError(
                f"{verb} needs likelihoods; this model weighs its columns", hint="model.trust = None"
            )
        for name, family in self._schema.families.items():
            if not family.is_likelihood:
                raise UnsupportedError(
                    f"{verb} needs likelihoods; {family.told()} is only a way of scoring", column=name,
                    hint="fit with the 'counts' or 'presence' variant",
                )  # fmt: skip


def _notes(total: Total, sign: int) -> tuple[str, ...]:
    """What a change could not do exactly."""
    coarse = sign < 0 and any(isinstance(t, Grid) and t.levels.any() for t in total.blocks.values())
    bounded = any(isinstance(t, Documents) and t.has_lost() for t in total.blocks.values())
    return (
        *(["histogram columns stay on the grid they have: resolution given up is not regained"] if coarse else []),
        *(["more tokens than max_tokens: the rarest are counted together, and which depends on the order of rows"]
          if bounded else []),
    )  # fmt: skip


def _checked_row(row: Any) -> Mapping[Any, Any]:
    if not isinstance(row, Mapping):
        raise DataError("a row: a dict of column names and values", came=row)
    return row
