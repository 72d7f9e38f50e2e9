"""What a person wants to know about a model: label, classes, columns by family, and what was fitted afterwards."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from tallybayes.columns.schema import Schema
from tallybayes.families.family import Smoothing
from tallybayes.formatting import number, rows_of, several, shown
from tallybayes.notebook_view import TextGrid
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.column_weights import ColumnWeights
from tallybayes.state.model_state import ModelState
from tallybayes.state.settings import Settings

__all__ = ["class_prior_words", "given_facts", "setting_rows", "smoothing_words", "summary_parts"]

_CLASSES = 30  # listed; of more classes the most frequent
_WIDTH = 80  # characters of a line with names of columns


def summary_parts(snapshot: Snapshot) -> list[str | TextGrid]:
    """The classes with their rows and shares, the columns by family, and what was fitted afterwards.

    >>> import tallybayes as tb
    >>> model = tb.fit({"fever": [1, 1, 0], "ill": ["yes", "yes", "no"]}, label="ill", numeric="gaussian")
    >>> print(summary_parts(model.snapshot())[0])
    naive Bayes model of ill: 2 classes, 1 column
    fitted on 3 rows
    """
    state = snapshot.state
    parts: list[str | TextGrid] = [_title(state)]
    parts += [_classes(snapshot)] if snapshot.classes else []
    parts += [TextGrid(["family", "columns", "names"], _families(state.schema))] if state.schema.columns else []
    return [*parts, TextGrid(["setting", "value"], setting_rows(state))]


def _title(state: ModelState) -> str:
    sizes = f"{several(len(state.classes), 'class', 'es')}, {several(len(state.schema.families), 'column')}"
    label = shown(state.schema.label) or "a label given as an array"
    return f"naive Bayes model of {label}: {sizes}\n{_origin(state)}"


def _origin(state: ModelState) -> str:
    if state.given is not None:
        return "made from given probabilities"
    total = sum(state.class_counts.values())
    weighted = f", weighted by {state.schema.weight}" if state.schema.weight is not None else ""
    skipped = f" ({rows_of(state.skipped)} without a label skipped)" if state.skipped else ""
    return f"fitted on {rows_of(total)}{weighted}{skipped}"


def _classes(snapshot: Snapshot) -> TextGrid:
    """The classes with their rows and their share of the rows; of a model from given probabilities, with P(class)."""
    state = snapshot.state
    if state.given is not None:
        shares = dict(zip(snapshot.classes, np.exp(state.given.log_prior).tolist(), strict=True))
        header, counts = ["class", "P(class)"], None
    else:
        counts = state.class_counts
        total = sum(counts.values())
        shares = {label: n / total for label, n in counts.items()}
        header = ["class", "rows", "share, %"]
    most = sorted(shares, key=lambda label: -shares[label])[:_CLASSES]
    rows = [_class_row(label, shares[label], counts) for label in shares if label in set(most)]
    more = f"... {len(shares) - len(most)} less frequent classes" if len(shares) > len(most) else ""
    return TextGrid(header, rows, foot=more, bar=len(header) - 1)


def _class_row(label: Any, share: float, counts: Mapping[Any, float] | None) -> list[str]:
    if counts is None:
        return [shown(label), number(share, 4)]
    return [shown(label), number(counts[label], 12), f"{100 * share:.1f}"]


def _families(schema: Schema) -> list[list[str]]:
    """The families with their columns; columns that are not used last."""
    by_family: dict[str, list[str]] = {}
    for name in schema.columns:
        by_family.setdefault(schema.family_name(name), []).append(name)
    unused = [name for name in ("input", "excluded") if name in by_family]
    order = [*(name for name in by_family if name not in unused), *unused]
    return [[family, str(len(by_family[family])), _list_names(by_family[family])] for family in order]


def _list_names(names: list[str]) -> str:
    """The names of the first columns, as many as fit on a line.

    >>> _list_names([f"column{i}" for i in range(20)])
    'column0, column1, column2, column3, column4, column5, column6, column7, ...'
    """
    ends = itertools.accumulate(len(name) + 2 for name in names)
    n = max(1, sum(end <= _WIDTH for end in ends))
    return ", ".join([*names[:n], *(["..."] if n < len(names) else [])])


def setting_rows(state: ModelState) -> list[list[str]]:
    """Smoothing, column weights, calibration, decision and variants of text in words, and whether they are stale."""
    settings, stale = state.settings, state.stale
    fitted = {} if (smoothing := smoothing_words(state)) is None else {"smoothing": ("smoothing", smoothing)}
    if (class_prior := class_prior_words(state.settings)) is not None:
        fitted["class prior"] = ("class_prior", class_prior)
    if state.settings.column_priors:
        told = "; ".join(f"{name}: {prior}" for name, prior in state.settings.column_priors.items())
        fitted["priors"] = ("priors", told)
    if state.base is not None:
        n = float(state.base.statistics.class_rows.floats().sum()) / state.base.strength
        fitted["base"] = ("base", f"{rows_of(n)} of another model, each as {number(state.base.strength)} rows")
    if (unlabelled := state.unlabelled) is not None:
        fitted["unlabelled rows"] = ("unlabelled_rows", str(unlabelled))
    fitted |= {
        "column weights": ("column_weights", _weights(settings.column_weights)),
        "calibration": ("calibration", "none" if settings.calibration is None else str(settings.calibration)),
        "decision": ("decision", str(settings.decision or "the most probable class")),
    }
    selected = [spec.selected_on for spec in state.schema.columns.values() if spec.selected_on]
    if selected:
        fitted["text variants"] = ("text_variants", f"selected on {rows_of(selected[0])}")
    note = " (stale: the model has changed since)"
    return [[name, text + (note if key in stale else "")] for name, (key, text) in fitted.items()]


def given_facts(state: ModelState) -> dict[str, Any]:
    """The class prior, the priors of columns and the base that were given, for programs; None and {} without them."""
    prior, base = class_prior_words(state.settings), state.base
    rows = 0.0 if base is None else round(float(base.statistics.class_rows.floats().sum()) / base.strength, 6)
    return {
        "class_prior": None if state.given is not None else prior,
        "priors": {name: str(one) for name, one in (state.settings.column_priors or {}).items()},
        "base": None if base is None else {"rows": rows, "strength": base.strength},
        "unlabelled": None if state.unlabelled is None else state.unlabelled.to_dict(),
    }


def class_prior_words(settings: Settings) -> str | None:
    """The class prior that was given; None if it is the class frequencies."""
    if not settings.has_class_prior:
        return None
    prior = settings.class_prior
    if isinstance(prior, Mapping):
        return ", ".join(f"{shown(label)} {number(p)}" for label, p in prior.items())
    return str(prior)


def smoothing_words(state: ModelState) -> str | None:
    """The k of the columns that are smoothed; None if all are "auto", by evidence."""
    names: dict[Smoothing, list[str]] = {}
    for name, family in state.schema.families.items():
        prior = state.settings.prior_of(name)
        if family.takes_smoothing and (prior is None or prior.smoothing is None):
            names.setdefault(state.settings.smoothing_of(name), []).append(name)
    if names.keys() <= {"auto"}:
        return None
    shown_k = {k: "by evidence" if k == "auto" else f"k = {number(k)}" for k in names}
    if len(names) == 1:
        return shown_k[next(iter(names))]
    return "; ".join(f"{shown_k[k]} of {_list_names(columns)}" for k, columns in names.items())


def _weights(weights: ColumnWeights | None) -> str:
    """The range of all weights, and the rows that they were fitted on."""
    if weights is None or not weights.weights:
        return "none"
    every = [
        amount
        for weight in weights.weights.values()
        for amount in (weight.values() if isinstance(weight, Mapping) else [weight])
    ]
    low, high = f"{min(every):.3g}", f"{max(every):.3g}"
    text = low if low == high else f"{low} to {high}"
    return f"{text}, fitted on {number(weights.fitted_on, 12)} held-out rows" if weights.fitted_on else f"{text}, given"
