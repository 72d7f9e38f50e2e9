"""How sums become probabilities: every choice that is not a sum, checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tallybayes.data.infer import propose, propose_by_type
from tallybayes.data.schema import Field
from tallybayes.data.table import Raw
from tallybayes.errors import ParameterError
from tallybayes.families import Family, Histogram, Smoothing, parse
from tallybayes.families.family import Unseen
from tallybayes.state.calibration import Calibration
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.decision import Decision

__all__ = ["Settings"]

_HISTOGRAM = Histogram()


@dataclass(frozen=True)
class Settings:
    """What `fit` was told, besides the data.

    `smoothing` is Laplace's k: "auto", a number from 0 (maximum likelihood) to infinity (uniform), or a dict of these
    by column ("auto" for the rest). `prior` is "empirical" (with its own strength `prior_smoothing`), "uniform" or a
    dict of probabilities by label. `infer` is what the family of a column that nobody chose one for goes by: its data,
    or the type of its values alone.

    Fitted afterwards: `column_weights`, a weight for each column; `calibration` of the probabilities; `decision`, the
    rule that turns probabilities into an answer.
    """

    smoothing: Smoothing | Mapping[str, Smoothing] = "auto"
    numeric: Family = _HISTOGRAM
    prior: Literal["empirical", "uniform"] | Mapping[Any, float] = "empirical"
    prior_smoothing: float = 1.0
    estimate: Literal["bayes", "mle"] = "bayes"
    unseen: Unseen = "prior"
    infer: Literal["data", "type"] = "data"
    column_weights: ColumnWeights | None = None
    calibration: Calibration | None = None
    decision: Decision | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "numeric", parse(self.numeric))
        for name in ("smoothing", "prior"):
            if isinstance(given := getattr(self, name), Mapping):
                object.__setattr__(self, name, dict(given))  # the caller's may change
        for k in self.smoothing.values() if isinstance(self.smoothing, Mapping) else [self.smoothing]:
            _check_strength("smoothing", k, auto=True)
        _check_strength("prior_smoothing", self.prior_smoothing)
        _check_choice("estimate", self.estimate, ("bayes", "mle"))
        _check_choice("unseen", self.unseen, ("prior", "missing"))
        _check_choice("infer", self.infer, ("data", "type"))
        if isinstance(self.prior, Mapping):
            if not all(isinstance(p, (int, float, np.number)) for p in self.prior.values()):
                raise ParameterError("prior probabilities", got=dict(self.prior))
            total = sum(self.prior.values())
            if any(p < 0 for p in self.prior.values()) or not np.isclose(total, 1.0, rtol=0, atol=1e-9):
                raise ParameterError("prior probabilities that add up to 1", got=dict(self.prior))
        else:
            _check_choice("prior", self.prior, ("empirical", "uniform"), "or a dict of probabilities by label")

    def smoothing_of(self, column: str) -> Smoothing:
        """The strength for one column."""
        if self.estimate == "mle":
            return 0.0
        if isinstance(self.smoothing, Mapping):
            return self.smoothing.get(column, "auto")
        return self.smoothing

    def propose(self, name: str, raw: Raw) -> Field:
        """A family for a column, and why."""
        found = (propose_by_type if self.infer == "type" else propose)(name, raw, self.numeric)
        return self.with_unseen(found)

    def with_unseen(self, field: Field) -> Field:
        """A column whose family is told what to do with unseen values."""
        return field if field.family is None else replace(field, family=field.family.with_unseen(self.unseen))


def _check_strength(name: str, k: Any, *, auto: bool = False) -> None:
    if auto and k == "auto":
        return
    if isinstance(k, (bool, str)) or not isinstance(k, (int, float, np.number)) or not k >= 0:
        words = "'auto' or a number" if auto else "a number"
        raise ParameterError(f"{name}: {words} from 0 to infinity", got=k)


def _check_choice(name: str, value: Any, choices: tuple[str, ...], more: str = "") -> None:
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(f"{name}: {' or '.join(map(repr, choices))} {more}".rstrip(), got=value)
