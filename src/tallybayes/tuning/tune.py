"""Fit a model with hyperparameters selected by leave-one-out.

Tuned are the smoothing (one k for all columns, or one for each), the families of numeric columns, the variants of text
columns, the smoothing of the class prior, the set of columns, and the column weights. By default all of them, each by
exact leave-one-out: every row of a sample is scored by the sums of all other rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Literal, Unpack

from tallybayes.data.read import to_source
from tallybayes.data.source import Stream, as_columns
from tallybayes.errors import DataError, ParameterError, check_integer, did_you_mean
from tallybayes.model import Model
from tallybayes.model.fit import check_value, planned
from tallybayes.state.options import UNWEIGHTED, FitOptions, complete, with_options
from tallybayes.tuning.by_evidence import by_evidence
from tallybayes.tuning.by_leave_one_out import by_leave_one_out
from tallybayes.tuning.by_validation import by_validation
from tallybayes.tuning.column_evidence import ColumnEvidence, LearnableRows, sampled
from tallybayes.tuning.correction_fit import corrected
from tallybayes.tuning.search import Progress, Search
from tallybayes.tuning.tuning_result import Tuning

__all__ = ["WHAT", "tune"]

WHAT = ("smoothing", "families", "text", "prior", "columns", "weights")
_LEAST = 10  # rows to tune on


@with_options(UNWEIGHTED)
def tune(
    data: Any,
    label: Any = None,
    *,
    what: Collection[str] | str = WHAT,
    by: Literal["leave-one-out", "evidence", "validation"] = "leave-one-out",
    rows: int = 5000,
    strengths: int = 50,
    seed: int = 0,
    progress: Progress | None = None,
    weight: Any = None,
    **options: Unpack[FitOptions],
) -> Tuning:
    """Fit a model with hyperparameters selected by leave-one-out.

    what: some of "smoothing", "families", "text", "prior", "columns", "weights".
    by: "leave-one-out"; "evidence" selects the smoothing of each column by its marginal likelihood, without the rows;
    "validation" splits the rows into three parts: each k of a grid is fitted on the first and evaluated on the second,
    and the third is used once, to evaluate the result.
    rows: the size of the leave-one-out sample, drawn by `seed`; the sums are those of all rows.
    strengths: the number of values of k to evaluate.
    progress: called with the name of the current step and the completed share of it.
    weight: the weights of the rows: the name of a column, or an array.

    The other options are those of `fit`. Families and options of text given there are not changed.

    {options}

    >>> import tallybayes as tb
    >>> x = ["a", "a", "b", "b", "a", "b"] * 20
    >>> rows = {"x": x, "again": x, "and again": x, "y": ["p", "p", "q", "q", "q", "p"] * 20}
    >>> tuned = tb.tune(rows, label="y", what="weights")
    >>> tuned.log_loss[0] > tuned.log_loss[1], {n: round(w, 2) for n, w in tuned.model.column_weights.weights.items()}
    (True, {'again': 0.37, 'and again': 0.37, 'x': 0.37})
    """
    chosen = _checked(what, by, rows, strengths, seed)
    complete({name: value for name, value in options.items() if (name, value) != ("weights", None)}, UNWEIGHTED)
    if by != "leave-one-out" and chosen not in (WHAT, ("smoothing",)):
        raise ParameterError(f"what='smoothing' with by={by!r}, which selects nothing else", got=what)
    source, given = to_source(data), {"label": label, "weight": weight}
    if isinstance(source, Stream):
        hint = "give a table or a path"
        raise ParameterError("data that can be read more than once, to tune on", got=type(data).__name__, hint=hint)
    source, label, weight = as_columns(source, label, weight)
    model, label = planned(source, label, options, weight=weight)
    weight, families = model.schema.weight, model.schema.families
    if model.settings.estimate == "mle":
        if by != "leave-one-out" or chosen == ("smoothing",):
            raise ParameterError("estimate='bayes' to tune the smoothing: maximum likelihood has none", got="mle")
        chosen = tuple(name for name in chosen if name != "smoothing")
    report = progress or (lambda step, share: None)
    if by == "validation":
        if source.bad is not None:
            source = LearnableRows(source, model, label, weight)
        found = by_validation(source, model, label, strengths=strengths, seed=seed, progress=report)
        return _without_names(found, given)
    change = model.learn(source, label=label, weight=weight)
    check_value(model, label, source)
    if len(model.classes) < 2:
        raise DataError("rows of at least two classes to tune on", got=model.classes)
    if change.rows < _LEAST:
        raise DataError(f"at least {_LEAST} rows with a label to tune on", got=change.rows)
    if by == "evidence":
        return _without_names(by_evidence(model), given)
    if source.bad is not None:
        source = LearnableRows(source, model, label, weight, counted=True)
    n_rows = change.rows + change.skipped
    tables = sampled(source, model, label, weight, n_rows=n_rows, limit=rows, seed=seed)
    search = Search.of(ColumnEvidence(model, tables, label, weight), model, families, report)
    found = by_leave_one_out(search, chosen, source, label, strengths=strengths, seed=seed)
    if "text" in chosen:
        found = corrected(found, source, label, weight, n_rows=n_rows, seed=seed)
    return _without_names(found, given)


def _without_names(found: Tuning, given: dict[str, Any]) -> Tuning:
    """The result without column names for label and weight if these were given as arrays, as `fit` leaves them."""
    for word, own in given.items():
        if own is not None and not isinstance(own, (str, int, float)):
            state = found.model.snapshot().state
            schema = state.schema.copy()
            setattr(schema, word, None)
            found = replace(found, model=Model(replace(state, schema=schema)))
    return found


def _checked(what: Any, by: Any, rows: Any, strengths: Any, seed: Any) -> tuple[str, ...]:
    """The hyperparameters to tune, in the order of the steps."""
    names = list(what) if isinstance(what, Collection) and not isinstance(what, str) else [what]
    for name in names:
        if name not in WHAT:
            hint = did_you_mean(str(name), WHAT) or f"one of {', '.join(WHAT)}"
            raise ParameterError("what: a hyperparameter", got=name, hint=hint)
    if by not in ("leave-one-out", "evidence", "validation"):
        raise ParameterError("by: 'leave-one-out', 'evidence' or 'validation'", got=by)
    for name, value, least in (("rows", rows, _LEAST), ("strengths", strengths, 2), ("seed", seed, 0)):
        check_integer(name, value, at_least=least)
    return tuple(name for name in WHAT if name in names)
