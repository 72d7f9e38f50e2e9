"""How sums become probabilities: every choice that is not a sum, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Unpack

import numpy as np

from tallybayes.arrays.array_types import Floats
from tallybayes.columns.inference import Inference
from tallybayes.errors import ParameterError
from tallybayes.families import Family, Histogram, Smoothing
from tallybayes.families.family import Unseen
from tallybayes.state.calibration import Calibration
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.decision import Decision
from tallybayes.state.options import SETTINGS, SettingOptions
from tallybayes.state.prior_values import ColumnPrior, Dirichlet
from tallybayes.state.token_corrections import TokenCorrections

__all__ = ["FITTED", "Settings"]

FITTED = ("column_weights", "token_corrections", "calibration", "decision")  # after counting


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of `fit` that a model keeps (`SettingOptions`), and what is fitted afterwards.

    Fitted afterwards: `column_weights`, a weight for each column; `token_corrections` of words; `calibration` of the
    probabilities; `decision`, the rule that turns probabilities into an answer.

    >>> Settings(smoothing=1).smoothing, Settings().class_prior
    (1.0, 'empirical')
    """

    smoothing: Smoothing | Mapping[str, Smoothing] = "auto"
    numeric: Family = field(default_factory=Histogram)  # its text form is parsed
    column_priors: Mapping[str, ColumnPrior] | None = None
    class_prior: Literal["empirical", "uniform"] | Mapping[Any, float] | Dirichlet = "empirical"
    class_smoothing: float = 1.0
    estimate: Literal["bayes", "mle"] = "bayes"
    unseen: Unseen = "prior"
    missing_as_value: bool | Literal["auto"] | Mapping[str, bool | Literal["auto"]] = "auto"
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None
    infer: Literal["data", "type"] = "data"
    column_weights: ColumnWeights | None = None
    token_corrections: TokenCorrections | None = None
    calibration: Calibration | None = None
    decision: Decision | None = None

    def __post_init__(self) -> None:
        for name, option in SETTINGS.items():
            object.__setattr__(self, name, option.domain.check(name, getattr(self, name)))
        if self.estimate == "mle" and (self.column_priors or isinstance(self.class_prior, Dirichlet)):
            hint = "maximum likelihood has no prior: leave estimate='bayes', the default"
            raise ParameterError("estimate 'bayes' beside priors of columns or classes", got="mle", hint=hint)

    def prior_of(self, column: str) -> ColumnPrior | None:
        """The prior that was given for a column."""
        return None if self.column_priors is None else self.column_priors.get(column)

    @property
    def has_class_prior(self) -> bool:
        """Whether the class prior is more than the class frequencies."""
        return self.class_prior != "empirical"

    def class_pseudo_counts(self, labels: Sequence[Any]) -> Floats:
        """The rows that are added to those of each class for its share."""
        if isinstance(self.class_prior, Dirichlet):
            return np.array([self.class_prior.count_of(label) for label in labels], np.float64)
        return np.full(len(labels), self.class_smoothing)

    def smoothing_of(self, column: str) -> Smoothing:
        """The strength for one column."""
        if self.estimate == "mle":
            return 0.0
        prior = self.prior_of(column)
        if prior is not None and prior.smoothing is not None:
            return prior.smoothing
        k: Smoothing | Mapping[str, Smoothing] = self.smoothing
        return k.get(column, "auto") if isinstance(k, Mapping) else k

    def missing_columns(self, columns: Iterable[str]) -> list[str]:
        """Those of some columns whose missing values are evidence."""
        switches = self.missing_as_value
        fitted = self.column_weights.missing if self.column_weights is not None else {}
        if not isinstance(switches, Mapping):
            if switches == "auto":
                return [name for name in columns if name in fitted] if fitted else []
            return list(columns) if switches else []
        by_column = {name: switches.get(name, "auto") for name in columns}
        return [name for name, switch in by_column.items() if (name in fitted if switch == "auto" else switch)]

    def with_options(self, **options: Unpack[SettingOptions]) -> Settings:
        """The same settings but for these options."""
        changes: dict[str, Any] = dict(options)
        return replace(self, **changes)

    def changed(self, **changes: Any) -> Settings:
        """Other settings; column weights that were fitted under these are marked as stale, if it matters to them."""
        weights = self.column_weights
        if (
            weights is not None
            and weights.fitted_on
            and not {"class_prior", "class_weight", "column_weights"} >= changes.keys()
        ):
            changes = {"column_weights": replace(weights, model_rows=-1.0)} | changes
        return replace(self, **changes)

    def plain(self) -> Settings:
        """The settings without what is fitted afterwards, and without class weights."""
        none: dict[str, Any] = dict.fromkeys([*FITTED, "class_weight"])
        return self if all(getattr(self, name) is None for name in none) else replace(self, **none)

    @property
    def inference(self) -> Inference:
        """How these settings want columns to be inferred."""
        return Inference(self.numeric, self.infer == "type", self.unseen)
