"""The model: what users hold.

A model is a facade. Its state (`state/model_state.py`) is schema, settings and sufficient statistics; everything it
answers is derived from a snapshot of that state (`scoring/snapshot.py`), and changes are made by `model/update.py`.

Threads: any number of threads may read while others change the model. A reader works on the snapshot that was current
when it began. A writer counts its rows apart, and then changes the statistics in place if no reader uses them, or else
a copy of them; the new snapshot replaces the old one at once. Writers take turns.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.label import find_labels
from tallybayes.data.schema import Schema
from tallybayes.data.source import to_source
from tallybayes.errors import DataError, ParameterError, UnsupportedError, check_integer
from tallybayes.explaining.description import Description, described_with_intervals
from tallybayes.explaining.explanation import Explanation, explain
from tallybayes.explaining.objective import Objective, objective
from tallybayes.explaining.sampling import sample
from tallybayes.families.family import Floats, Predictive
from tallybayes.model.fitted_rules import choose_threshold, fit_calibration
from tallybayes.model.single_row import SingleRowLearner
from tallybayes.model.update import CountedRows, add_rows, change_notes, merge_states, subtract_rows
from tallybayes.scoring.posterior import log_marginal
from tallybayes.scoring.snapshot import Snapshot, checked_row
from tallybayes.scoring.weighted_predictive import unweighted
from tallybayes.state.calibration import Calibration
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.decision import Decision
from tallybayes.state.model_state import ModelState
from tallybayes.state.settings import Settings
from tallybayes.storage.model_file import write_state

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

    def __init__(self, state: ModelState) -> None:
        self._snapshot = Snapshot(state)
        self._lock = threading.Lock()  # guards the current snapshot and the number of its readers
        self._writing = threading.RLock()  # one change at a time
        self._row_learner: SingleRowLearner | None = None

    # What the model holds

    def snapshot(self) -> Snapshot:
        """The model at this moment, for reading; it stays as it is whatever the model learns afterwards."""
        with self._lock:
            self._snapshot.state.statistics.is_shared = True
            return self._snapshot

    def reading(self) -> _Reading:
        """A context with the current snapshot: `with model.reading() as snapshot`.

        Unlike `snapshot()`, it costs a later change nothing: the statistics are copied only if they change inside.
        """
        return _Reading(self)

    @property
    def classes(self) -> list[Any]:
        """The labels in sorted order, of their own type."""
        return self._snapshot.classes

    @property
    def schema(self) -> Schema:
        """The family of every column and the reason for it; print it."""
        return self._snapshot.state.schema.copy()

    @property
    def settings(self) -> Settings:
        """Every choice that is not a statistic: smoothing, class prior, column weights, calibration, decision."""
        return self._snapshot.state.settings

    @property
    def skipped(self) -> int:
        """The number of rows without a label that were met while learning."""
        return self._snapshot.state.skipped

    @property
    def class_counts(self) -> dict[Any, float]:
        """Rows (or their weight) learned per label."""
        with self.reading() as snapshot:
            snapshot.state.require_learned("class_counts")
            return snapshot.state.class_counts

    @property
    def is_given(self) -> bool:
        """Whether the model was made from given probabilities instead of learned."""
        return self._snapshot.state.given is not None

    @property
    def decision(self) -> Decision:
        """The rule that turns probabilities into an answer; it can be set, and is saved with the model."""
        return self.settings.decision or Decision()

    @decision.setter
    def decision(self, decision: Decision | None) -> None:
        """Set another rule; None is the most probable label."""
        if decision is not None:
            if not isinstance(decision, Decision):
                raise ParameterError("a Decision, or None for the most probable label", got=decision)
            decision.check(self.classes)
        self._set(decision=None if decision == Decision() else decision)

    @property
    def column_weights(self) -> ColumnWeights:
        """The weights of columns and offsets of classes; they can be set, and are saved with the model."""
        return self.settings.column_weights or ColumnWeights()

    @column_weights.setter
    def column_weights(self, weights: ColumnWeights | None) -> None:
        """Set other weights; None is 1 for all columns."""
        state = self._snapshot.state
        state.require_learned("column_weights")
        if weights is not None and not isinstance(weights, ColumnWeights):
            raise ParameterError("ColumnWeights, or None for weights of 1", got=weights)
        if weights is not None:
            weights.check(state.schema.families, self.classes)
        stale = {name: _stale(getattr(state.settings, name)) for name in ("calibration", "decision")}
        self._set(column_weights=weights, **stale)

    @property
    def calibration(self) -> Calibration | None:
        """The calibration of the probabilities; None: they are not calibrated."""
        return self.settings.calibration

    @calibration.setter
    def calibration(self, calibration: Calibration | None) -> None:
        """Set another calibration; None removes it."""
        if calibration is not None and not isinstance(calibration, Calibration):
            raise ParameterError("a Calibration or None", got=calibration)
        self._set(calibration=calibration, decision=_stale(self.settings.decision))

    @property
    def stale(self) -> list[str]:
        """Which of column_weights, calibration and decision were fitted on other rows, or under other probabilities."""
        with self.reading() as snapshot:
            return snapshot.state.stale

    def __repr__(self) -> str:
        classes = ", ".join(map(repr, self.classes[:5])) + (", ..." if len(self.classes) > 5 else "")
        return f"<Model of {len(self.schema.families)} columns, classes {classes}>"

    def __eq__(self, other: object) -> bool:
        """Whether two models hold the same statistics."""
        if not isinstance(other, Model):
            return NotImplemented
        with self.reading() as mine, other.reading() as theirs:
            return mine.state.same(theirs.state)

    __hash__ = None  # type: ignore[assignment]

    # Answers

    def predict(self, data: Any) -> NDArray[Any]:
        """The label of every row: the most probable one, or the answer of `decision`; None where it abstains.

        Ties go to the label first in sorted order.
        """
        with self.reading() as snapshot:
            if not snapshot.classes:
                raise DataError("the model has not learned any row yet")
            return snapshot.posterior.answers(snapshot.proba(data))

    def predict_proba(self, data: Any, *, calibrated: bool = True) -> Floats:
        """P(class | row), (rows, classes), the classes as in `classes`; calibrated, if the model is."""
        with self.reading() as snapshot:
            return snapshot.proba(data, calibrated=calibrated)

    def predict_one(self, row: Mapping[Any, Any]) -> Any:
        """The label of a single row, a dict; None where `decision` abstains or nothing has been learned.

        >>> import tallybayes as tb
        >>> tb.fit([{"fever": 1}, {"fever": 0}], label=["ill", "well"]).predict_one({"fever": 1})
        'ill'
        """
        with self.reading() as snapshot:
            if not snapshot.classes:
                return None
            (code,) = snapshot.posterior.answer_codes(snapshot.proba_of_row(row)).tolist()
            return None if code < 0 else snapshot.classes[code]

    def predict_proba_one(self, row: Mapping[Any, Any]) -> dict[Any, float]:
        """P(class | row) of a single row, by label; columns that the model does not have are ignored.

        >>> import tallybayes as tb
        >>> model = tb.fit([{"fever": 1}, {"fever": 0}], label=["ill", "well"])
        >>> model.predict_proba_one({"cough": True})
        {'ill': 0.5, 'well': 0.5}
        """
        with self.reading() as snapshot:
            classes = snapshot.scorer.classes
            if not classes:
                return {}
            return dict(zip(classes, snapshot.proba_of_row(row)[0].tolist(), strict=True))

    def predict_interval(self, data: Any, level: float = 0.95, *, seed: int = 0, calibrated: bool = True) -> Floats:
        """Credible intervals of P(class | row), (rows, classes, 2); they become narrower with the number of rows.

        >>> import tallybayes as tb
        >>> rows = {"fever": [1, 1, 0, 0, 0], "ill": ["yes", "yes", "no", "no", "yes"]}
        >>> few, many = (tb.fit({k: v * n for k, v in rows.items()}, label="ill", smoothing=1) for n in (1, 100))
        >>> [model.predict_interval({"fever": 1})[0, 1].round(2).tolist() for model in (few, many)]
        [[0.26, 0.99], [0.98, 1.0]]
        """
        with self.reading() as snapshot:
            batches = snapshot.interval_batches(data, level, seed=seed, calibrated=calibrated)
            parts = [ends for _, (_, ends) in batches]
            return parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros((0, len(snapshot.classes), 2))])

    def log_joint(self, data: Any) -> Floats:
        """Log P(class, row), (rows, classes)."""
        with self.reading() as snapshot:
            return snapshot.log_joint(data)

    def log_marginal(self, data: Any) -> Floats:
        """Log p(row): low for rows unlike anything learned."""
        with self.reading() as snapshot:
            snapshot.state.require_likelihoods("log_marginal")
            return log_marginal(snapshot.log_joint(data))

    def leave_one_out(self, data: Any, *, label: Any = None, weight: Any = None, calibrated: bool = True) -> Floats:
        """Log P(class | row) of rows that were learned, each by the model without it, (rows, classes).

        In closed form, at about the cost of scoring. Rows without a label or of weight 0 were never learned and are
        scored by the model as it is.

        >>> import tallybayes as tb
        >>> rows = {"fever": [1, 1, 0, 0, 0], "ill": ["yes", "yes", "no", "no", "yes"]}
        >>> model = tb.fit(rows, label="ill", smoothing=1)
        >>> [round(float(p), 3) for p in np.exp(model.leave_one_out(rows)[:, 1])]
        [0.667, 0.667, 0.545, 0.545, 0.25]
        """
        with self.reading() as snapshot:
            batches = snapshot.log_proba_batches(
                data, label=label, weight=weight, leave_one_out=True, calibrated=calibrated
            )
            parts = [part for _, part in batches]
            return parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros((0, len(snapshot.classes)))])

    def explain(self, data: Any) -> list[Explanation]:
        """For every row the prior, the contribution of each column and the posterior.

        The parts add up to log P(class, row).
        """
        with self.reading() as snapshot:
            batches = snapshot.evidence_batches(data)
            return [one for table, parts in batches for one in explain(snapshot, parts, table)]

    def objective(self, data: Any, *, label: Any = None) -> Objective:
        """The negative log likelihood of labelled data, split into a part for the prior and one per column."""
        with self.reading() as snapshot:
            snapshot.state.require_likelihoods("objective")
            label = snapshot.label_or_default(label)
            total = Objective(0.0, {})
            for table, parts in snapshot.evidence_batches(data, label=label):
                total += objective(snapshot.scorer, parts, find_labels(table, label))
            return total

    def sample(self, n: int, *, seed: int | None = None) -> Any:
        """Rows drawn from the model, as a pyarrow Table with the label in the last column."""
        if seed is not None:
            check_integer("seed", seed, at_least=0)
        with self.reading() as snapshot:
            snapshot.state.require_likelihoods("sample")
            return sample(snapshot.scorer, n, snapshot.state.schema, np.random.default_rng(seed))

    # Parameters

    def log_prior(self) -> Floats:
        """Log P(class), the classes as in `classes`."""
        with self.reading() as snapshot:
            return snapshot.scorer.log_prior.copy()

    def predictives(self, *, weighted: bool = False) -> dict[str, Predictive]:
        """The predictive of every column by name: P(value | class), with column weights if `weighted`."""
        with self.reading() as snapshot:
            return {
                name: (predictive if weighted else unweighted(predictive)).part(number)
                for predictive in snapshot.scorer.predictives
                for number, name in enumerate(predictive.features)
            }

    def describe(self) -> Description:
        """The parameters of every column per class, to be printed or read as rows."""
        with self.reading() as snapshot:
            state = snapshot.state
            return Description.of(snapshot.scorer, state.schema, None if state.given else state.class_counts)

    def intervals(self, level: float = 0.95) -> Description:
        """The parameters with equal-tailed credible intervals from their posteriors.

        With smoothing "auto" the model of categories and booleans is P(class | value), at the class shares of the
        column, so their intervals are of P(class | value), averaged over strengths. Those of a histogram are too, at
        eight values.

        >>> import tallybayes as tb
        >>> model = tb.fit({"fever": [1, 1, 0], "ill": ["yes", "yes", "no"]}, label="ill", smoothing=1)
        >>> {name: round(model.intervals(0.9).columns["fever"][1][name], 3) for name in ("P(yes)", "low", "high")}
        {'P(yes)': 0.75, 'low': 0.368, 'high': 0.983}
        """
        with self.reading() as snapshot:
            state = snapshot.state
            state.require_learned("intervals")
            return described_with_intervals(snapshot.scorer, state.schema, state.settings, state.class_counts, level)

    def log_evidence(self) -> dict[str, float]:
        """Log marginal likelihood of every column's statistics under its prior, in closed form.

        For comparing smoothing strengths within a family, not families with each other: histograms, and categories
        with smoothing "auto", model the classes given the values, the others the values given the classes.
        """
        with self.reading() as snapshot:
            state = snapshot.state
            state.require_likelihoods("log_evidence")
            state.require_learned("log_evidence")
            result: dict[str, float] = {}
            for tally in state.statistics.aligned(state.statistics.in_use()).blocks.values():
                for name in tally.features:
                    family, k = state.schema.families[name], state.settings.smoothing_of(name)
                    if k == 0:
                        raise UnsupportedError("smoothing above 0: maximum likelihood has no prior", column=name)
                    part = tally.only((name,))
                    result[name] = float(family.evidence(part, family.prior(part, k))[0])
            return dict(sorted(result.items()))

    # Changes

    def learn(self, data: Any, *, label: Any = None, weight: Any = None) -> Change:
        """Add rows, all or nothing; new labels, categories and columns are added to the model."""
        if label is None and weight is None and type(data) is dict:
            name = self._snapshot.state.schema.label
            if name is not None and self._learn_row(data, data.get(name)):
                return _ONE_ROW
        return self._change(data, label, weight, 1)

    def learn_one(self, row: Mapping[Any, Any], label: Any) -> Change:
        """Add a single row, a dict without its label, and its label.

        >>> import tallybayes as tb
        >>> model = tb.fit([{"fever": 1}, {"fever": 0}], label=["ill", "well"])
        >>> model.learn_one({"fever": 1}, "ill").rows, model.class_counts
        (1, {'ill': 2, 'well': 1})
        """
        if type(row) is dict and self._learn_row(row, label):
            return _ONE_ROW
        return self._change([checked_row(row)], [label], None, 1)

    def forget_one(self, row: Mapping[Any, Any], label: Any) -> Change:
        """Take back a single row and its label."""
        return self._change([checked_row(row)], [label], None, -1)

    def forget(self, data: Any, *, label: Any = None, weight: Any = None) -> Change:
        """Take rows back, all or nothing: the result is the model that never saw them."""
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
        """Calibrate the probabilities, on rows that the model has learned (by leave-one-out), or else on new ones.

        The calibration is saved with the model; `calibration = None` removes it.

        >>> import tallybayes as tb
        >>> rows = {"x": ["a", "a", "b", "b", "a"] * 8, "y": ["p", "p", "q", "q", "q"] * 8}
        >>> model = tb.fit({**rows, "again": rows["x"], "too": rows["x"]}, label="y")
        >>> str(model.calibrate({**rows, "again": rows["x"], "too": rows["x"]}))
        'temperature, T = 2.61, fitted on 40 rows'
        """
        with self.reading() as snapshot:
            snapshot.state.require_learned("calibrate")
            found = fit_calibration(snapshot, data, method, label=label, weight=weight, leave_one_out=leave_one_out)
        self.calibration = found
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
        """Choose the threshold for an answer by a constraint on rows that the model has learned (by leave-one-out).

        Rows of the class `answer` with another answer are false negatives, other rows with this answer are false
        positives: at most so many, or such a share of them. leave_one_out=False: the rows are new. The rule is saved
        with the model and used by `predict`; other rules are set by `model.decision = tb.Decision(...)`.

        >>> import tallybayes as tb
        >>> rows = {"x": ["a", "a", "a", "b", "b", "b"] * 5, "y": ["G", "G", "R", "R", "R", "G"] * 5}
        >>> model = tb.fit(rows, label="y")
        >>> print(model.decide(rows, "R", false_negatives=0).constraint)
        at most 0 false negatives: 0 of 15 missed, 15 of 15 others taken for it
        """
        with self.reading() as snapshot:
            found = choose_threshold(
                snapshot,
                data,
                answer,
                label=label,
                weight=weight,
                leave_one_out=leave_one_out,
                false_negatives=false_negatives,
                false_positives=false_positives,
            )
        self.decision = found
        return found

    # Other models

    def merge(self, other: Model) -> Model:
        """A new model with the sums of both, and the settings of this one."""
        if not isinstance(other, Model):
            raise ParameterError("another model", got=other)
        with self.reading() as mine, other.reading() as theirs:
            for snapshot in (mine, theirs):
                snapshot.state.require_learned("merge")
            return Model(merge_states(mine.state, theirs.state))

    def copy(self) -> Model:
        """An independent model with the same state; cheap, because statistics are copied when one of them changes."""
        return Model(self.snapshot().state)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self.copy()

    def with_settings(self, **changes: Any) -> Model:
        """A model with the same statistics and other settings, such as smoothing=1.0 (names as in `Settings`).

        >>> import tallybayes as tb
        >>> model = tb.fit({"x": ["a", "b"], "y": ["p", "q"]}, label="y", smoothing=1)
        >>> [round(float(model.with_settings(smoothing=k).predict_proba({"x": "a"})[0, 0]), 2) for k in (0.5, 1, 10)]
        [0.75, 0.67, 0.52]
        """
        state = self.snapshot().state
        return Model(replace(state, settings=replace(state.settings, **changes)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file (`*.tally`), all or nothing; `tallybayes.load` reads it."""
        with self.reading() as snapshot:
            write_state(snapshot.state, path)

    def __reduce__(self) -> Any:
        """What is pickled: the state."""
        return Model, (self.snapshot().state,)

    # Details

    def _set(self, **settings: Any) -> None:
        """Change settings; the statistics stay."""
        with self._writing, self._lock:
            state = self._snapshot.state
            self._snapshot = Snapshot(replace(state, settings=replace(state.settings, **settings)))

    def _learn_row(self, row: dict[Any, Any], label: Any) -> bool:
        """Learn a row by the fast path; False, with nothing changed, if the general path is needed."""
        with self._writing, self._lock:
            snapshot = self._snapshot
            if not snapshot.state.statistics.may_change:
                return False
            if self._row_learner is None:
                self._row_learner = SingleRowLearner(snapshot.state)
            if not self._row_learner.learn(row, label):
                return False
            self._snapshot = Snapshot(snapshot.state, snapshot.small_batches)
            return True

    def _change(self, data: Any, label: Any, weight: Any, sign: int) -> Change:
        """Add (1) or subtract (-1) rows."""
        apply = add_rows if sign > 0 else subtract_rows
        with self._writing:
            snapshot = self._snapshot
            state = snapshot.state
            state.require_learned("learn" if sign > 0 else "forget")
            source = to_source(data)
            weight = state.schema.weight if weight is None else weight
            counted = CountedRows(state, snapshot.label_or_default(label), weight, grows=sign > 0)
            counted.count(source)
            if self._snapshot is not snapshot:
                raise ParameterError("data that does not change the model while it is read", got="a changed model")
            with self._lock:
                in_place = state.statistics.may_change
                if in_place:
                    self._snapshot = Snapshot(apply(state, counted))
            if not in_place:
                changed = Snapshot(apply(replace(state, statistics=state.statistics.copy()), counted))
                with self._lock:
                    self._snapshot = changed
            self._row_learner = None
            notes = change_notes(self._snapshot.state.statistics, sign)
        n_bad = 0 if source.bad is None else source.bad.count
        return Change(counted.n_rows - counted.n_missing, counted.n_missing, notes, n_bad)


class _Reading:
    """Holds the current snapshot of a model while it is read."""

    __slots__ = ("_model", "_snapshot")

    def __init__(self, model: Model) -> None:
        self._model = model

    def __enter__(self) -> Snapshot:
        with self._model._lock:
            self._snapshot = self._model._snapshot
            self._snapshot.state.statistics.n_readers += 1
        return self._snapshot

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._model._lock:
            self._snapshot.state.statistics.n_readers -= 1


def _stale(fitted: Any) -> Any:
    """A calibration or decision marked as fitted under other probabilities; what was set by hand stays."""
    return replace(fitted, model_rows=-1.0) if fitted is not None and fitted.model_rows else fitted
