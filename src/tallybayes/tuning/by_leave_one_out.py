"""Hyperparameters selected by leave-one-out: the order of the steps, and the model with the selected values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from tallybayes.columns.column_spec import Origin, Status
from tallybayes.errors import DataError
from tallybayes.model import Model
from tallybayes.state.model_state import ModelState
from tallybayes.tables.source import Source, TableSource
from tallybayes.tuning.candidate import only, other_families
from tallybayes.tuning.search import Search

__all__ = ["by_leave_one_out"]

_PRIORS = (0.0, 0.1, 10.0, 100.0)  # candidates for the smoothing of the class prior


def by_leave_one_out(search: Search, what: Collection[str], source: Source, label: Any, *, strengths: int) -> Model:
    """The model selected by a search over the hyperparameters in `what`, without column weights."""
    search.fit_temperature()
    if "smoothing" in what:
        search.one_strength(strengths)
        search.fit_temperature()
    if "families" in what:
        search.families(_other_models(search, source, label))
        search.fit_temperature()
    if "smoothing" in what:
        search.strengths()
        search.fit_temperature()
    if "text" in what:
        search.texts()
        search.fit_temperature()
    if "class_smoothing" in what and search.model.settings.class_prior == "empirical":
        search.prior([(f"k = {k:g}", search.model.with_settings(class_smoothing=k)) for k in _PRIORS])
        search.fit_temperature()
    if "columns" in what:
        search.columns()
    return _selected_model(search, source, label)


def _other_models(search: Search, source: Source, label: Any) -> dict[str, list[Model]]:
    """Models of numeric columns with other families, by column."""
    base = search.evidence.model
    result: dict[str, list[Model]] = {}
    others = other_families(base.schema, search.evidence.numbers(), from_file=not isinstance(source, TableSource))
    for i, (family, names) in enumerate(others.items()):
        search.progress("families of columns", i / len(others))
        model = Model(ModelState(only(base.schema, family, names), base.settings))
        try:
            model.learn(source, label=label)
        except DataError:  # a row outside the sample has a value outside the support of the family
            continue
        for name in names:
            result.setdefault(name, []).append(model)
    return result


def _selected_model(search: Search, source: Source, label: Any) -> Model:
    """The model with the selected hyperparameters; refitted if families or columns have changed."""
    base, schema, settings = search.evidence.model, search.evidence.model.schema.copy(), search.model.settings
    strengths = {name: candidate.smoothing for name, candidate in search.now.items() if candidate.smoothing is not None}
    if strengths:
        smoothing = {name: settings.smoothing_of(name) for name in search.now}
        settings = settings.with_options(smoothing={**smoothing, **strengths})
    same = True
    for name, candidate in search.now.items():
        if candidate.family != schema.columns[name].family:
            same = same and candidate.family.counted == base.schema.families[name].counted
            reason = f"{schema.columns[name].reason}; selected by tuning"
            schema.columns[name] = replace(
                schema.columns[name], family=candidate.family, origin=Origin.TUNED, reason=reason
            )
    for name in search.excluded:
        reason = "excluded by tuning: removing it lowers the leave-one-out log loss"
        schema.columns[name] = schema.columns[name].without_family(Status.BY_TUNING, reason)
    if same and not search.excluded:
        result = Model(replace(base.snapshot().state, schema=schema, settings=settings))
    else:
        search.progress("fitting", 0.0)
        result = Model(ModelState(schema, settings))
        result.learn(source, label=label)
    return result
