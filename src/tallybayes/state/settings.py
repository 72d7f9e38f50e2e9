"""How sums become probabilities: every choice that is not a sum, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, make_dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.date_parts import date_fields
from tallybayes.columns.infer import propose, propose_by_type
from tallybayes.families import Smoothing
from tallybayes.state.calibration import Calibration
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.decision import Decision
from tallybayes.state.options import SETTINGS, SettingOptions
from tallybayes.state.token_corrections import TokenCorrections
from tallybayes.tables.table import Raw

__all__ = ["FITTED", "Settings"]

FITTED = ("column_weights", "token_corrections", "calibration", "decision")  # after counting

_Chosen: Any = make_dataclass(
    "_Chosen", [(name, Any, option.default) for name, option in SETTINGS.items()], frozen=True
)


@dataclass(frozen=True, kw_only=True)
class Settings(_Chosen):  # type: ignore[misc]  # the fields come from the declarations of the options
    """The options of `fit` that a model keeps (`SettingOptions`), and what is fitted afterwards.

    Fitted afterwards: `column_weights`, a weight for each column; `token_corrections` of words; `calibration` of the
    probabilities; `decision`, the rule that turns probabilities into an answer.

    >>> Settings(smoothing=1).smoothing, Settings().prior
    (1.0, 'empirical')
    """

    column_weights: ColumnWeights | None = None
    token_corrections: TokenCorrections | None = None
    calibration: Calibration | None = None
    decision: Decision | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            column_weights: ColumnWeights | None = None,
            token_corrections: TokenCorrections | None = None,
            calibration: Calibration | None = None,
            decision: Decision | None = None,
            **options: Unpack[SettingOptions],
        ) -> None: ...

    def __post_init__(self) -> None:
        for name, option in SETTINGS.items():
            object.__setattr__(self, name, option.domain.check(name, getattr(self, name)))

    def smoothing_of(self, column: str) -> Smoothing:
        """The strength for one column."""
        if self.estimate == "mle":
            return 0.0
        k: Smoothing | Mapping[str, Smoothing] = self.smoothing
        return k.get(column, "auto") if isinstance(k, Mapping) else k

    def missing_is_value(self, column: str) -> bool:
        """Whether a missing value of a column is evidence; "auto": if there is a fitted weight for it."""
        return bool(self.missing_columns([column]))

    def missing_columns(self, columns: Iterable[str]) -> list[str]:
        """Those of some columns whose missing values are evidence."""
        switches: Any = self.missing_as_value
        fitted = self.column_weights.missing if self.column_weights is not None else {}
        if not isinstance(switches, Mapping):
            if switches == "auto":
                return [name for name in columns if name in fitted] if fitted else []
            return list(columns) if switches else []
        own = {name: switches.get(name, "auto") for name in columns}
        return [name for name, switch in own.items() if (name in fitted if switch == "auto" else switch)]

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
            and not {"prior", "class_weight", "column_weights"} >= changes.keys()
        ):
            changes = {"column_weights": replace(weights, model_rows=-1.0)} | changes
        return replace(self, **changes)

    def plain(self) -> Settings:
        """The settings without what is fitted afterwards, and without class weights."""
        none = dict.fromkeys([*FITTED, "class_weight"])
        return self if all(getattr(self, name) is None for name in none) else replace(self, **none)

    def propose(self, name: str, raw: Raw) -> ColumnSpec:
        """A family for a column, and why."""
        found = (propose_by_type if self.infer == "type" else propose)(name, raw, self.numeric)
        return self.with_unseen(found)

    def with_parts(self, field: ColumnSpec, raw: Raw, wanted: Iterable[str] = ()) -> dict[str, ColumnSpec]:
        """The column, and the parts of a column of dates: those that vary, and those that are wanted."""
        if field.dates is None:
            return {field.name: field}
        every = self.infer == "type"  # whatever the first rows are
        return date_fields(field.name, raw, field, numeric=self.numeric, wanted=wanted, all_parts=every)

    def with_unseen(self, field: ColumnSpec) -> ColumnSpec:
        """The column with a family that treats unseen values as these settings do."""
        family = None if field.family is None else field.family.with_unseen(self.unseen)
        return field if family is field.family else replace(field, family=family)
