"""Data in, tuned model out.

What can be tuned: the smoothing (one k for all columns, or one for each), the family of columns of numbers, the variant
of texts, the strength of the class prior, which columns to keep, and how far to trust each. By default all of it, each
by exact leave-one-out: every row of a sample is scored by the sums of all rows but itself.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Literal

from tallybayes.data.schema import Field
from tallybayes.data.source import Source, Stream, Whole, as_columns, to_source
from tallybayes.errors import DataError, ParameterError, check_integer, did_you_mean
from tallybayes.model import Model
from tallybayes.model.fit import check_value, planned
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.tuning.by_evidence import by_evidence
from tallybayes.tuning.by_validation import by_validation
from tallybayes.tuning.candidate import only, other_families
from tallybayes.tuning.column_evidence import Evidence, Good, sampled
from tallybayes.tuning.search import Search, Tell
from tallybayes.tuning.tuning_result import Tuning

__all__ = ["WHAT", "as_columns", "tune"]

WHAT = ("smoothing", "families", "text", "prior", "columns", "weights")
_LEAST = 10  # rows to tune on
_PRIORS = (0.0, 0.1, 10.0, 100.0)  # strengths of the class prior besides its own


def tune(
    data: Any,
    label: Any = None,
    *,
    what: Collection[str] | str = WHAT,
    by: Literal["leave-one-out", "evidence", "validation"] = "leave-one-out",
    rows: int = 5000,
    strengths: int = 50,
    seed: int = 0,
    progress: Tell | None = None,
    **options: Any,
) -> Tuning:
    """The model of some data, with all that can be chosen chosen well.

    what: some of "smoothing", "families", "text", "prior", "columns", "weights".
    by: "leave-one-out"; "evidence", which chooses the smoothing of each column from the sums alone; or "validation":
    three parts of the rows, k over a grid learned on the first and judged on the second, and the last touched once.
    rows: how many are left out one by one (drawn by `seed`); the sums are those of all. strengths: how many k to try.
    progress: is told what is being tried and the share of it that is done.
    The other options are those of `tallybayes.fit`; families, and options of text, that are asked for stay.

    >>> import tallybayes as tb
    >>> x = ["a", "a", "b", "b", "a", "b"] * 20
    >>> rows = {"x": x, "again": x, "and again": x, "y": ["p", "p", "q", "q", "q", "p"] * 20}
    >>> tuned = tb.tune(rows, label="y", what="weights")
    >>> tuned.log_loss[0] > tuned.log_loss[1], {n: round(w, 2) for n, w in tuned.model.column_weights.weights.items()}
    (True, {'again': 0.38, 'and again': 0.38, 'x': 0.38})
    """
    chosen = _checked(what, by, rows, strengths, seed)
    if by != "leave-one-out" and chosen not in (WHAT, ("smoothing",)):
        raise ParameterError(f"what='smoothing' for by={by!r}: it chooses nothing else", got=what)
    source, apart = to_source(data), {"label": label, "weight": options.get("weight")}
    if isinstance(source, Stream):
        hint = "give a table or a path"
        raise ParameterError("data that can be read more than once, to tune on", got=type(data).__name__, hint=hint)
    source, label, options["weight"] = as_columns(source, label, options.get("weight"))
    model, label = planned(source, label, **options)
    weight, asked = model.schema.weight, model.schema.families
    change = model.learn(source, label=label, weight=weight)
    check_value(model, label, source)
    if len(model.classes) < 2:
        raise DataError("rows of at least two classes to tune on", got=model.classes)
    if change.rows < _LEAST:
        raise DataError(f"at least {_LEAST} rows with a label to tune on", got=change.rows)
    if model.settings.estimate == "mle":
        if by != "leave-one-out" or chosen == ("smoothing",):
            raise ParameterError("estimate='bayes' to choose the smoothing: maximum likelihood has none", got="mle")
        chosen = tuple(name for name in chosen if name != "smoothing")
    if source.bad is not None:
        source = Good(source, model, label, weight)
    tell: Tell = progress or (lambda what, share: None)
    if by == "evidence":
        return _without_names(by_evidence(model), apart)
    if by == "validation":
        found = by_validation(source, model, label, strengths=strengths, seed=seed, tell=tell)
        return _without_names(found, apart)
    n_rows = change.rows + change.skipped
    tables = sampled(source, model, label, weight, n_rows=n_rows, limit=rows, seed=seed)
    evidence = Evidence(model, tables, label, weight)
    search = Search.of(evidence, model, asked, tell)
    before = after = search.log_loss()
    _run(search, chosen, source, label, strengths, seed)
    if search.steps:
        after = search.steps[-1].after if search.weights is not None else search.log_loss()
    found = Tuning(_built(search, source, label), search.steps, search.curve, (before, after), len(evidence.codes))
    return _without_names(found, apart)


def _without_names(found: Tuning, given: dict[str, Any]) -> Tuning:
    """A model whose label and weight were given as arrays has no columns of that name, as if fitted with them."""
    for word, own in given.items():
        if own is not None and not isinstance(own, (str, int, float)):
            setattr(found.model._schema, word, None)
    return found


def _checked(what: Any, by: Any, rows: Any, strengths: Any, seed: Any) -> tuple[str, ...]:
    """What is to be tuned, in order."""
    if not isinstance(what, (str, Collection)):
        raise ParameterError("what: something that can be tuned", got=what, hint=f"one of {', '.join(WHAT)}")
    names = [what] if isinstance(what, str) else list(what)
    for name in names:
        if name not in WHAT:
            hint = did_you_mean(str(name), WHAT) or f"one of {', '.join(WHAT)}"
            raise ParameterError("what: something that can be tuned", got=name, hint=hint)
    if by not in ("leave-one-out", "evidence", "validation"):
        raise ParameterError("by: 'leave-one-out', 'evidence' or 'validation'", got=by)
    for name, value, least in (("rows", rows, _LEAST), ("strengths", strengths, 2), ("seed", seed, 0)):
        check_integer(name, value, at_least=least)
    return tuple(name for name in WHAT if name in names)


def _run(search: Search, what: Collection[str], source: Source, label: Any, strengths: int, seed: int) -> None:
    """The steps, in their order; where weights follow, columns are compared at the best temperature."""

    def warm() -> None:
        if "weights" in what:
            search.warm()

    warm()
    if "smoothing" in what:
        search.one_strength(strengths)
        warm()
    if "families" in what:
        search.families(_other_models(search, source, label))
        warm()
    if "smoothing" in what:
        search.strengths()
        warm()
    if "text" in what:
        search.texts()
        warm()
    if "prior" in what and search.model.settings.prior == "empirical":
        search.prior([(f"k = {k:g}", _with_prior(search.model, k)) for k in _PRIORS])
        warm()
    if "columns" in what:
        search.columns()
        warm()
    if "weights" in what:
        search.fit_weights(seed)


def _with_prior(model: Model, k: float) -> Model:
    """The same sums with another strength of the class prior."""
    result = model.copy()
    result._settings = replace(model.settings, prior_smoothing=k)
    return result


def _other_models(search: Search, source: Source, label: Any) -> dict[str, list[Model]]:
    """Models that have counted columns of numbers by other families, by column."""
    base = search.evidence.model
    result: dict[str, list[Model]] = {}
    others = other_families(base.schema, search.evidence.numbers(), from_file=not isinstance(source, Whole))
    for i, (family, names) in enumerate(others.items()):
        search.tell("families of columns", i / len(others))
        model = Model(only(base.schema, family, names), base.settings)
        try:
            model.learn(source, label=label)
        except DataError:  # a row outside the sample has a value that the family cannot count
            continue
        for name in names:
            result.setdefault(name, []).append(model)
    return result


def _built(search: Search, source: Source, label: Any) -> Model:
    """The model of what was chosen: the same sums where they will do, counted anew where families have changed."""
    base, schema, settings = search.evidence.model, search.evidence.model.schema.copy(), search.model.settings
    strengths = {name: own.smoothing for name, own in search.now.items() if own.smoothing is not None}
    if strengths:
        told = {name: settings.smoothing_of(name) for name in search.now}
        settings = replace(settings, smoothing={**told, **strengths})
    same = True
    for name, own in search.now.items():
        if own.family != schema.fields[name].family:
            same = same and own.family.counted == base.schema.families[name].counted
            schema.fields[name] = Field(name, own.family, f"{schema.fields[name].reason}; chosen by tuning")
    for name in search.left_out:
        schema.fields[name] = Field(name, None, "left out by tuning: without it rows left out are told apart better")
    if same and not search.left_out:
        result = base.copy()
        result._schema, result._settings = schema, settings
    else:
        search.tell("fitting", 0.0)
        result = Model(schema, settings)
        result.learn(source, label=label)
    if search.weights is not None and search.weights.kind != "none":
        result.column_weights = _column_weights(search, result)
    return result


def _column_weights(search: Search, model: Model) -> ColumnWeights:
    """The weights that were found, by the names of columns and classes."""
    found = search.weights
    assert found is not None
    weights = {
        name: dict(zip(model.classes, own.tolist(), strict=True)) if found.kind == "per class" else float(own[0])
        for name, own in zip(search.now, found.weights, strict=True)
    }
    offsets = dict(zip(model.classes, found.offsets.tolist(), strict=True))
    return ColumnWeights(weights, offsets, sum(model.class_counts.values()))
