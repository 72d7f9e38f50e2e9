"""Everything a model holds and its file keeps: schema, settings, sufficient statistics. Nothing derived."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from tallybayes.arrays.array_types import Floats
from tallybayes.columns.column_spec import ColumnSpec, Origin, Status
from tallybayes.columns.schema import Schema
from tallybayes.errors import UnsupportedError
from tallybayes.families.family import Family
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.decision import Decision
from tallybayes.state.given_probabilities import GivenProbabilities
from tallybayes.state.settings import FITTED, Settings
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.state.text_samples import TextSamples
from tallybayes.state.unlabelled_sums import UnlabelledSums

__all__ = ["BaseSums", "ModelState"]

_COUNTED = (Status.USED, Status.INPUT)
_STALE = 0.2  # of the rows: weights fitted on a sample change little before that


@dataclass(frozen=True, eq=False)
class BaseSums:
    """The sums of another model that lie beneath those of a model, scaled by its strength; they cannot be forgotten."""

    statistics: SufficientStatistics
    strength: float

    @classmethod
    def of(cls, statistics: SufficientStatistics, strength: float) -> BaseSums:
        """Sums times the strength, exactly; a ValueError if counts leave the range of 64 bits."""
        result = cls(statistics.times(strength), strength)
        result.statistics.is_shared = True
        return result

    def only(self, names: Collection[str]) -> BaseSums:
        """The base of some columns."""
        return replace(self, statistics=self.statistics.only(names))

    def same(self, other: BaseSums | None) -> bool:
        """Whether two bases are equal."""
        return other is self or (
            other is not None and self.strength == other.strength and self.statistics.same(other.statistics)
        )


@dataclass(frozen=True, eq=False)
class ModelState:
    """One state of a model.

    statistics: the sums that everything is derived from, those of the base and of unlabelled rows included.
    base: the sums that the model began with, if it has a base.
    unlabelled: the sums of unlabelled rows that were divided among the classes, if there were any.
    skipped: rows without a label that were met while learning.
    text_samples: documents of text columns whose variant is not selected yet; selects_text: whether it may be.
    given: the tables of a model that was given instead of learned; its statistics are empty.
    """

    schema: Schema
    settings: Settings
    statistics: SufficientStatistics = field(default_factory=SufficientStatistics.empty)
    skipped: int = 0
    text_samples: TextSamples = field(default_factory=TextSamples)
    selects_text: bool = True
    given: GivenProbabilities | None = None
    base: BaseSums | None = None
    unlabelled: UnlabelledSums | None = None

    @cached_property
    def families(self) -> dict[str, Family]:
        """The family of every column that is used, in the order of their names."""
        return self.schema.families

    @property
    def classes(self) -> list[Any]:
        """The labels in sorted order, of their own type."""
        return self.statistics.in_use() if self.given is None else list(self.given.classes)

    @property
    def class_rows(self) -> Floats:
        """The rows of every class that everything is derived from, those of the base and unlabelled ones included."""
        return self.statistics.aligned(self.classes).class_rows.floats()

    @property
    def class_counts(self) -> dict[Any, float]:
        """Rows (or their weight) learned per label, without those that lie beneath."""
        rows = self.statistics.class_rows
        for beneath in self.beneath:
            rows = rows - beneath.aligned(self.statistics.labels).class_rows
        counts = zip(self.statistics.labels, rows.floats().tolist(), strict=True)
        return {label: int(n) if n.is_integer() else n for label, n in counts if n > 0}

    @property
    def beneath(self) -> list[SufficientStatistics]:
        """The sums that lie beneath those of the rows that were learned, and cannot be forgotten."""
        return [part.statistics for part in (self.base, self.unlabelled) if part is not None]

    def learned(self) -> SufficientStatistics:
        """The sums of the rows that were learned, without those that lie beneath; not to be changed."""
        result = self.statistics
        for beneath in self.beneath:
            result = (result.copy() if result is self.statistics else result).combined(beneath, -1)
        return result

    def with_beneath(self, learned: SufficientStatistics) -> SufficientStatistics:
        """Sums of learned rows, which may be changed, together with those that lie beneath."""
        for beneath in self.beneath:
            learned = learned.combined(beneath.copy(), 1)
        return learned

    @property
    def stale(self) -> list[str]:
        """Which fitted settings were fitted on other rows, or under other probabilities.

        Weights that `fit` has fitted are stale once the number of rows has changed by a fifth, or if there is none for
        a new class or column; so are variants of text that were selected on other rows.
        """
        if self.given is not None:
            return []
        rows = float(sum(self.class_counts.values()))
        fitted = {name: getattr(self.settings, name) for name in FITTED}
        result = [name for name, rule in fitted.items() if rule is not None and rule.model_rows not in (0, rows)]
        weights = self.settings.column_weights
        if weights is not None and weights.fitted_on:
            is_near = abs(rows - weights.model_rows) < _STALE * weights.model_rows
            is_fresh = is_near and weights.is_complete(self.schema.families, self.classes)
            result = [name for name in result if name != "column_weights"]
            result = result if is_fresh else ["column_weights", *result]
        if self.unlabelled is not None and self.unlabelled.labelled_rows != rows:
            result = ["unlabelled_rows", *result]
        on_own_rows = not self.beneath  # variants of a base were selected on its rows
        selected = [spec.selected_on for spec in self.schema.columns.values() if spec.selected_on and on_own_rows]
        return [*result, *(["text_variants"] if any(abs(rows - n) >= _STALE * n for n in selected) else [])]

    @property
    def selects_from_data(self) -> bool:
        """Whether strengths, buckets, variants of text or column weights are selected from the data."""
        weights = self.settings.column_weights
        if weights is not None and weights.fitted_on:
            return True
        return any(
            family.tokeniser is not None or family.derives_by_selection(self.settings.smoothing_of(name))
            for name, family in self.schema.families.items()
        )

    def plain(self) -> ModelState:
        """The generative model: without fitted settings, class weights, and derived columns that correct others.

        A derived column corrects the columns that it is computed from, if these are columns of the model too. What
        defines P(class) and P(value | class) stays: smoothing, the class prior, the estimate. The tallies are shared
        with this state; the statistics say so.
        """
        families = self.schema.families
        every = self.schema.derived.items()
        derived = {
            name for name, spec in every if any(cell_input.column in families for cell_input in spec.reader.inputs)
        }
        settings, schema, statistics = self.settings.plain(), self.schema, self.statistics
        if derived:
            schema = schema.with_columns({name: spec for name, spec in schema.columns.items() if name not in derived})
            statistics = statistics.only(schema.families)
        if settings is self.settings and schema is self.schema:
            return self
        base = self.base and self.base.only(schema.families)
        unlabelled = self.unlabelled and self.unlabelled.only(schema.families)
        return replace(self, settings=settings, schema=schema, statistics=statistics, base=base, unlabelled=unlabelled)

    def require_learned(self, verb: str) -> None:
        """Raise an error for a model that was given instead of learned."""
        if self.given is not None:
            raise UnsupportedError(f"{verb} needs a model that was learned; this one was made from given probabilities")

    def require_likelihoods(self, verb: str) -> None:
        """Raise an error unless the score of every column is a log likelihood."""
        for name, family in self.schema.families.items():
            if not family.is_likelihood:
                hint = "name the variant 'counts' or 'presence', such as text:variant=counts, without idf and balanced"
                text = f"{verb} needs likelihoods; the scores of {family.display_name()} are not likelihoods"
                raise UnsupportedError(text, column=name, hint=hint)

    def same(self, other: ModelState) -> bool:
        """Whether two states hold the same sums, read rows in the same way and turn sums into the same answers.

        Not compared is what only says how a model came about: reasons and origins of columns, the rows that something
        was fitted or selected on, the words of a constraint, rows that were skipped. Nor is a column without any value
        yet, which is as good as unknown; of an excluded column, that it is excluded, not why.
        """
        return (
            _same(self.settings, other.settings, _without_rows)
            and _same(self.schema, other.schema, _without_notes)
            and self.same_counts(other)
        )

    def same_counts(self, other: ModelState) -> bool:
        """Whether two states hold the same sums, or the same given tables."""
        pairs: list[tuple[Any, Any]] = [(self.base, other.base), (self.unlabelled, other.unlabelled)]
        if any(mine is not theirs and not (mine is not None and mine.same(theirs)) for mine, theirs in pairs):
            return False
        if self.given is not None and other.given is not None:
            return self.given.same(other.given)
        return self.given is other.given and self.statistics.same(other.statistics)


def _same(left: Any, right: Any, reduce: Callable[[Any], Any]) -> bool:
    """Whether two values are equal but for what `reduce` removes."""
    return bool(left == right or reduce(left) == reduce(right))


def _without_notes(schema: Schema) -> Schema:
    columns = {name: _reading(spec) for name, spec in schema.columns.items() if not spec.is_undecided}
    return schema.with_columns(columns)


def _reading(spec: ColumnSpec) -> ColumnSpec:
    """A column without its history; all that are excluded for any cause are alike."""
    if spec.status not in _COUNTED:
        return ColumnSpec.unused(spec.name, Status.BY_USER, "")
    return replace(spec, reason="", origin=Origin.INFERRED, selected_on=0.0)


def _without_rows(settings: Settings) -> Settings:
    """Settings without the rows that they were fitted on; rules that do nothing are None."""
    weights, corrections = settings.column_weights, settings.token_corrections
    calibration, decision = settings.calibration, settings.decision
    fitted: dict[str, Any] = {
        # whether weights were fitted matters beside new classes and columns, on how many rows does not
        "column_weights": weights and replace(weights, model_rows=0.0, fitted_on=float(weights.fitted_on > 0)),
        "token_corrections": corrections and replace(corrections, model_rows=0.0, fitted_on=0.0),
        "calibration": calibration and replace(calibration, model_rows=0.0, fitted_on=0.0),
        "decision": decision and replace(decision, model_rows=0.0, constraint=""),
    }
    nothing = {"column_weights": ColumnWeights(), "decision": Decision()}
    kept: dict[str, Any] = {name: None if rule == nothing.get(name) else rule for name, rule in fitted.items()}
    return replace(settings, **kept)
