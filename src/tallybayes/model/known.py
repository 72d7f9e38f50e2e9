"""What a model holds and what it says of itself: schema, settings, sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tallybayes.data.schema import Schema
from tallybayes.errors import ParameterError, UnsupportedError
from tallybayes.families.family import Floats
from tallybayes.model.single_row import SingleRowLearner
from tallybayes.model.text_samples import Samples
from tallybayes.model.update import own_kind
from tallybayes.scoring.scorer import Scorer
from tallybayes.scoring.small_batch import SmallBatchScorer
from tallybayes.state.calibration import Calibration
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.decision import Decision
from tallybayes.state.settings import Settings
from tallybayes.state.statistics import SufficientStatistics

__all__ = ["Known"]


class Known:
    """The state of a model: what it was told, what it has counted, and what is derived from that when asked for."""

    def __init__(self, schema: Schema, settings: Settings) -> None:
        self._schema = schema
        self._settings = settings
        self._total = SufficientStatistics.empty()
        self._scorer: Scorer | None = None
        self._single: SingleRowLearner | None = None
        self._few: SmallBatchScorer | None = None
        self._written: Scorer | None = None
        self._samples = Samples()
        self._decides = True
        self.skipped = 0

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
        """Another rule; None is the most probable label."""
        if decision is not None:
            if not isinstance(decision, Decision):
                raise ParameterError("a Decision, or None for the most probable label", got=decision)
            decision.check(self.classes)
        self._settings = replace(self._settings, decision=None if decision == Decision() else decision)

    @property
    def column_weights(self) -> ColumnWeights:
        """The weights of columns and offsets of classes; it can be set, and is kept in the model file."""
        return self._settings.column_weights or ColumnWeights()

    @column_weights.setter
    def column_weights(self, column_weights: ColumnWeights | None) -> None:
        """Other weights; None is 1 for all."""
        self._only_learned("column_weights")
        if column_weights is not None and not isinstance(column_weights, ColumnWeights):
            raise ParameterError("a ColumnWeights, or None for weights of 1", got=column_weights)
        if column_weights is not None:
            column_weights.check(self._schema.families, self.classes)
        self._settings = _outdated(replace(self._settings, column_weights=column_weights), "calibration", "decision")
        self._scorer = self._few = None

    @property
    def calibration(self) -> Calibration | None:
        """How probabilities are put right, if they are; None takes it off."""
        return self._settings.calibration

    @calibration.setter
    def calibration(self, calibration: Calibration | None) -> None:
        """Another calibration; None takes it off."""
        if calibration is not None and not isinstance(calibration, Calibration):
            raise ParameterError("a Calibration or None", got=calibration)
        self._settings = _outdated(replace(self._settings, calibration=calibration), "decision")

    @property
    def stale(self) -> list[str]:
        """What was found on other rows than the model has now, or under other probabilities.

        Of "column_weights", "calibration" and "decision" (one that keeps a promise).
        """
        if self._written is not None:
            return []
        rows = float(self._total.class_rows.floats().sum())
        found = {name: getattr(self._settings, name) for name in ("column_weights", "calibration", "decision")}
        return [name for name, own in found.items() if own is not None and own.rows not in (0, rows)]

    @property
    def class_counts(self) -> dict[Any, float]:
        """Rows (or their weight) learned per label."""
        self._only_learned("class_counts")
        counts = zip(self._total.labels, self._total.class_rows.floats().tolist(), strict=True)
        return {label: int(n) if n.is_integer() else n for label, n in counts if n > 0}

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied: the sums, and nothing that is derived from them."""
        return self.__dict__ | {"_scorer": None, "_single": None, "_few": None}

    def __repr__(self) -> str:
        classes = ", ".join(map(repr, self.classes[:5])) + (", ..." if len(self.classes) > 5 else "")
        return f"<Model of {len(self._schema.families)} columns, classes {classes}>"

    def log_prior(self) -> Floats:
        """Log P(class), the classes as in `classes`."""
        return self._derived().log_prior.copy()

    def label_for(self, label: Any = None) -> Any:
        """The label to look for in data: the one given, or the model's own."""
        if label is None and self._schema.label is None:
            raise ParameterError(
                "label=, an array of labels", got=None, hint="this model was fitted with an array as its label"
            )
        return self._schema.label if label is None else label

    def own_labels(self, labels: Sequence[Any], *, from_file: bool = False) -> list[Any]:
        """Labels in the type of the model's own: 1 and 1.0 are one; other types are refused, but for a file's."""
        return own_kind(self.classes, labels, from_file=from_file)

    def _known_key(self, name: str) -> Any:
        """One category learned so far in a column, or None."""
        return self._total.any_key(self._schema.families.get(name), name)

    def _derived(self) -> Scorer:
        """The scorer for the present sums."""
        if self._written is not None:
            return self._written
        if self._scorer is None:
            self._scorer = Scorer.of(self._total.aligned(self._total.in_use()), self._settings, self._schema.families)
        return self._scorer

    def _only_learned(self, verb: str) -> None:
        if self._written is not None:
            raise UnsupportedError(f"{verb} needs a model that was learned; this one was written down")

    def _only_likelihoods(self, verb: str) -> None:
        if self._settings.column_weights is not None and verb != "sample":
            raise UnsupportedError(
                f"{verb} needs likelihoods; this model weighs its columns", hint="model.column_weights = None"
            )
        for name, family in self._schema.families.items():
            if not family.is_likelihood:
                raise UnsupportedError(
                    f"{verb} needs likelihoods; {family.told()} is only a way of scoring",
                    column=name,
                    hint="fit with the 'counts' or 'presence' variant",
                )


def _outdated(settings: Settings, *names: str) -> Settings:
    """Settings whose calibration or decision was found under other probabilities than the model gives now."""
    found = {name: own for name in names if (own := getattr(settings, name)) is not None and own.rows}
    return replace(settings, **{name: replace(own, rows=-1.0) for name, own in found.items()})
