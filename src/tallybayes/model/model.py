"""The model: what users hold.

A facade: answers come from snapshots (`scoring/`), changes from `update.py`; `current_state.py` keeps threads apart.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import NDArray

from tallybayes.columns.schema import Schema
from tallybayes.doubts import Doubt
from tallybayes.errors import ParameterError, check_integer
from tallybayes.families.family import Floats
from tallybayes.formatting import shown
from tallybayes.model.current_state import ONE_ROW, Change, CurrentState
from tallybayes.model.fitted_rules import choose_threshold, fit_calibration, marked_stale
from tallybayes.model.generative_model import GenerativeModel
from tallybayes.model.model_summary import summary_parts
from tallybayes.model.update import merge_states
from tallybayes.notebook_view import ResultView, TextGrid
from tallybayes.scoring.prior_rows import check_priors
from tallybayes.scoring.snapshot import Snapshot, check_row
from tallybayes.state.calibration import Calibration
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.decision import Decision
from tallybayes.state.model_state import ModelState
from tallybayes.state.prior_values import check_labels
from tallybayes.state.settings import Settings
from tallybayes.state.unlabelled_sums import UnlabelledSums
from tallybayes.storage.model_file import write_state
from tallybayes.typing import LabelLike, RowLike, TableLike, WeightLike

if TYPE_CHECKING:
    from tallybayes.explaining.explanation import Explanation

__all__ = ["Change", "Model"]


class Model(GenerativeModel, ResultView):
    """A naive Bayes model. Made by `tallybayes.fit` or `tallybayes.from_probabilities`.

    >>> import tallybayes as tb
    >>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill")
    >>> model.predict({"fever": 1}).tolist()
    ['yes']
    >>> model.learn({"fever": 1, "ill": "no"})
    Change(rows=1, skipped=0, notes=(), bad=0)
    """

    def __init__(self, state: ModelState) -> None:
        self._current = CurrentState(state)

    # What the model holds

    def snapshot(self) -> Snapshot:
        """The model at this moment, for reading; it stays as it is whatever the model learns afterwards."""
        return self._current.share()

    @property
    def classes(self) -> list[Any]:
        """The labels in sorted order, of their own type."""
        return self._current.snapshot.classes

    @property
    def schema(self) -> Schema:
        """The family of every column and the reason for it; print it."""
        return self._current.snapshot.state.schema.copy()

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """What was dropped, guessed or changed when the data was read, each with what to do to have it otherwise."""
        return self._current.snapshot.state.schema.doubts

    @property
    def settings(self) -> Settings:
        """Every choice that is not a statistic: smoothing, class prior, column weights, calibration, decision."""
        return self._current.snapshot.state.settings

    @property
    def skipped(self) -> int:
        """The number of rows without a label that were met while learning."""
        return self._current.snapshot.state.skipped

    @property
    def unlabelled(self) -> UnlabelledSums | None:
        """What unlabelled rows have added to the model: how many, how much each counts, the objective of each round."""
        return self._current.snapshot.state.unlabelled

    @property
    def class_counts(self) -> dict[Any, float]:
        """Rows (or their weight) learned per label."""
        with self.reading() as snapshot:
            snapshot.state.require_learned("class_counts")
            return snapshot.state.class_counts

    @property
    def is_given(self) -> bool:
        """Whether the model was made from given probabilities instead of learned."""
        return self._current.snapshot.state.given is not None

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
        self._current.set(decision=None if decision == Decision() else decision)

    @property
    def column_weights(self) -> ColumnWeights:
        """The weights of columns and offsets of classes; they can be set, and are saved with the model."""
        return self.settings.column_weights or ColumnWeights()

    @column_weights.setter
    def column_weights(self, weights: ColumnWeights | None) -> None:
        """Set other weights; None is 1 for all columns."""
        state = self._current.snapshot.state
        state.require_learned("column_weights")
        if weights is not None and not isinstance(weights, ColumnWeights):
            raise ParameterError("ColumnWeights, or None for weights of 1", got=weights)
        if weights is not None:
            weights.check(state.schema.families, self.classes)
            weights.check_families(state.schema.families)
        old = {name: marked_stale(getattr(state.settings, name)) for name in ("calibration", "decision")}
        self._current.set(column_weights=weights, **old)

    @property
    def calibration(self) -> Calibration | None:
        """The calibration of the probabilities; None: they are not calibrated."""
        return self.settings.calibration

    @calibration.setter
    def calibration(self, calibration: Calibration | None) -> None:
        """Set another calibration; None removes it."""
        if calibration is not None and not isinstance(calibration, Calibration):
            raise ParameterError("a Calibration or None", got=calibration)
        self._current.set(calibration=calibration, decision=marked_stale(self.settings.decision))

    @property
    def stale(self) -> list[str]:
        """What was fitted or selected on other rows, or under other probabilities, such as column_weights."""
        with self.reading() as snapshot:
            return snapshot.state.stale

    def __repr__(self) -> str:
        known = [repr(label) if isinstance(label, str) else shown(label) for label in self.classes[:5]]
        classes = ", ".join(known) + (", ..." if len(self.classes) > 5 else "")
        return f"<Model of {len(self.schema.families)} columns, classes {classes}>"

    def __eq__(self, other: object) -> bool:
        """Whether two models hold the same sums, and read and answer in the same way: families, readers, settings.

        Reasons, origins, skipped rows, and the rows that settings were fitted on are not compared.
        """
        if not isinstance(other, Model):
            return NotImplemented
        with self.reading() as mine, other.reading() as theirs:
            return mine.state.same(theirs.state)

    __hash__ = None  # type: ignore[assignment]

    def same_counts(self, other: Model) -> bool:
        """Whether two models hold the same sums, whatever their settings and what is derived from the sums.

        >>> import tallybayes as tb
        >>> model = tb.fit({"x": ["a", "b"], "y": ["p", "q"]}, label="y")
        >>> other = model.with_settings(smoothing=1)
        >>> model.same_counts(other), model == other
        (True, False)
        """
        if not isinstance(other, Model):
            raise ParameterError("another model", got=other)
        with self.reading() as mine, other.reading() as theirs:
            return mine.state.same_counts(theirs.state)

    def _parts(self) -> list[str | TextGrid]:
        with self.reading() as snapshot:
            return summary_parts(snapshot)

    # Answers

    def predict(self, data: TableLike) -> NDArray[Any]:
        """The label of every row: the most probable one (the first of a tie), or by `decision`; None: it abstains."""
        return self._current.answer(data, Snapshot.answers)

    def predict_proba(self, data: TableLike, *, calibrated: bool = True) -> Floats:
        """P(class | row), (rows, classes), the classes as in `classes`; calibrated, if the model is."""
        return self._current.answer(data, _unchanged, calibrated=calibrated)

    def predict_log_proba(self, data: TableLike, *, calibrated: bool = True) -> Floats:
        """Log P(class | row), (rows, classes): where probabilities underflow, their logs do not."""
        with self.reading() as snapshot:
            return snapshot.log_proba(data, calibrated=calibrated)

    def predict_one(self, row: RowLike) -> Any:
        """The label of a single row, a dict; None where `decision` abstains."""
        return self._current.answer(row, Snapshot.answer, is_row=True)

    def predict_proba_one(self, row: RowLike) -> dict[Any, float]:
        """P(class | row) of a single row, by label; a column that is absent is missing.

        >>> import tallybayes as tb
        >>> model = tb.fit([{"fever": 1}, {"fever": 0}], label=["ill", "well"])
        >>> model.predict_proba_one({})
        {'ill': 0.5, 'well': 0.5}
        """
        return self._current.answer(row, Snapshot.by_class, is_row=True)

    def predict_interval(
        self, data: TableLike, level: float = 0.95, *, seed: int = 0, calibrated: bool = True
    ) -> Floats:
        """Credible intervals of P(class | row), (rows, classes, 2); they become narrower with the number of rows."""
        seed = check_integer("seed", seed, at_least=0)
        with self.reading() as snapshot:
            batches = snapshot.interval_batches(data, level, seed=seed, calibrated=calibrated)
            return snapshot.join((ends for _, (_, ends) in batches), 2)

    def log_score(self, data: TableLike) -> Floats:
        """What `explain` adds up to, (rows, classes): log prior and evidence with all weights and corrections.

        Without them (`plain`) it is `log_joint`. Normalised and calibrated it is `predict_log_proba`.
        """
        with self.reading() as snapshot:
            return snapshot.log_score(data)

    def leave_one_out(
        self, data: TableLike, *, label: LabelLike = None, sample_weight: WeightLike = None, calibrated: bool = True
    ) -> Floats:
        """Log P(class | row) of rows that were learned, each by the model without it, (rows, classes).

        In closed form: what was chosen from the data (strengths, buckets, column weights) is kept; `evaluate` and
        `calibrate` choose it anew. Rows without a label or of weight 0 are scored by the whole model.

        >>> import tallybayes as tb
        >>> rows = {"fever": [1, 1, 0, 0, 0], "ill": ["yes", "yes", "no", "no", "yes"]}
        >>> model = tb.fit(rows, label="ill", smoothing=1)
        >>> model.leave_one_out(rows)[:, 1].round(3).tolist()
        [-0.405, -0.405, -0.606, -0.606, -1.386]
        """
        with self.reading() as snapshot:
            batches = snapshot.leave_one_out_batches(data, label, sample_weight, calibrated=calibrated)
            return snapshot.join(part for _, part in batches)

    def explain(self, data: TableLike) -> list[Explanation]:
        """For every row the prior and the contribution of each column, which add up to `log_score`."""
        from tallybayes.explaining.explain_rows import explain

        with self.reading() as snapshot:
            return explain(snapshot, data)

    # Changes

    def learn(self, data: TableLike, *, label: LabelLike = None, sample_weight: WeightLike = None) -> Change:
        """Add rows, all or nothing; new labels, categories and columns are added to the model."""
        return self._current.learn(data, label, sample_weight)

    def learn_one(self, row: RowLike, label: Any) -> Change:
        """Add a single row, a dict without its label, and its label.

        >>> import tallybayes as tb
        >>> model = tb.fit([{"fever": 1}, {"fever": 0}], label=["ill", "well"])
        >>> model.learn_one({"fever": 1}, "ill").rows, model.class_counts
        (1, {'ill': 2, 'well': 1})
        """
        if type(row) is dict and self._current.learn_row(row, label):
            return ONE_ROW
        return self._current.change([check_row(row)], [label], None, 1)

    def forget_one(self, row: RowLike, label: Any) -> Change:
        """Take back a single row and its label."""
        return self._current.change([check_row(row)], [label], None, -1)

    def forget(self, data: TableLike, *, label: LabelLike = None, sample_weight: WeightLike = None) -> Change:
        """Subtract rows, all or nothing, bit for bit (histograms on their present grid, see `Change.notes`)."""
        return self._current.change(data, label, sample_weight, -1)

    def calibrate(
        self,
        data: TableLike,
        method: Literal["temperature", "isotonic"] = "temperature",
        *,
        label: LabelLike = None,
        sample_weight: WeightLike = None,
        leave_one_out: bool = True,
    ) -> Calibration:
        """Calibrate the probabilities on learned rows (by leave-one-out) or new ones; `calibration=None` undoes it."""
        with self.reading() as snapshot:
            snapshot.state.require_learned("calibrate")
            calibration = fit_calibration(snapshot, data, method, label, sample_weight, leave_one_out=leave_one_out)
        self.calibration = calibration
        return calibration

    def decide(
        self,
        data: TableLike,
        positive: Any,
        *,
        false_negatives: float | None = None,
        false_positives: float | None = None,
        maximise: Literal["f1"] | None = None,
        costs: Mapping[Any, Any] | None = None,
        budget: float | None = None,
        label: LabelLike = None,
        sample_weight: WeightLike = None,
        leave_one_out: bool = True,
    ) -> Decision:
        """Choose the threshold for the class `positive` on rows that the model has learned (by leave-one-out).

        By a constraint: at most so many (or such a share) of the rows of the class may get another answer
        (false_negatives), of the other rows this answer (false_positives), or of all rows (budget). Or the best one:
        with the largest F1 (maximise="f1") or lowest mean cost (costs as in `Decision`). leave_one_out=False: new rows.

        >>> import tallybayes as tb
        >>> rows = {"x": ["a", "a", "a", "b", "b", "b"] * 5, "y": ["G", "G", "R", "R", "R", "G"] * 5}
        >>> model = tb.fit(rows, label="y")
        >>> print(model.decide(rows, "R", false_negatives=0).constraint)
        at most 0 false negatives: 0 of 15 missed, 15 of 15 others taken for it
        """
        by: dict[str, Any] = {"false_negatives": false_negatives, "false_positives": false_positives}
        by |= {"maximise": maximise, "costs": costs, "budget": budget, "leave_one_out": leave_one_out}
        with self.reading() as snapshot:
            decision = choose_threshold(snapshot, data, positive, label=label, sample_weight=sample_weight, **by)
        self.decision = decision
        return decision

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
        """An independent model with the same state; statistics are copied when one of them changes."""
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
        settings = state.settings.changed(**changes)
        if "column_priors" in changes:
            families = state.schema.families
            keys = {name: state.statistics.any_key(family, name) for name, family in families.items()}
            check_priors(settings, state.schema, keys)
            check_labels(settings.column_priors or {}, settings.class_prior, state.classes)
        return Model(replace(state, settings=settings))

    def plain(self) -> Model:
        """The generative model alone: without fitted settings (weights, corrections, calibration, decision).

        Class weights, and derived columns that correct other columns, are gone too; all other sums are the same.
        There `log_score` is `log_joint`, and answers follow from Bayes' rule.

        >>> import tallybayes as tb
        >>> model = tb.fit({"x": ["a", "a", "b"], "y": ["p", "p", "q"]}, label="y", smoothing=1)
        >>> model.column_weights = tb.ColumnWeights({"x": 0.5})
        >>> [one.predict_proba({"x": "b"}).round(3).tolist() for one in (model, model.plain())]
        [[[0.479, 0.521]], [[0.36, 0.64]]]
        """
        return Model(self.snapshot().state.plain())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file (`*.tally`), all or nothing; `tallybayes.load` reads it."""
        with self.reading() as snapshot:
            write_state(snapshot.state, path)

    def __reduce__(self) -> Any:
        """What is pickled: the state."""
        return Model, (self.snapshot().state,)


def _unchanged(snapshot: Snapshot, proba: Floats) -> Floats:
    """P(class | row) as it is."""
    return proba
