"""The distribution of a column in each class as rows for a chart: steps or curves, bars of values, or top words.

The values are those of the predictive distribution, so the chart shows the model, not the data. Where one value has
nearly all of the probability, the log odds of each value are shown instead of shares.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tallybayes.arrays.column import Bag, Reals
from tallybayes.errors import ParameterError, did_you_mean
from tallybayes.explaining.explanation import shorten_word
from tallybayes.families.predictive import Floats, Predictive, Steps
from tallybayes.formatting import shown
from tallybayes.model import Model

__all__ = [
    "CLASSES",
    "OTHERS",
    "ColumnChartData",
    "most_frequent_classes",
    "pickable_classes",
    "predictive_of",
    "value_grid",
]

CLASSES = 7  # classes drawn at most: as many as there are colours
OTHERS = "other classes"  # beside a class that is picked
_PICKED = 40  # classes that can be picked
_SPIKE = 0.8  # share of one value or bin above which log odds are drawn: the others would be invisible
_REACH = 8.0  # log odds drawn at most
_BINS = 40
_POINTS = 160
_WHOLE = 60  # range up to which each integer has its own bin
_VALUES = 12  # bars per class; rarer values are omitted
_WORDS = 20  # words of all classes
_MOST_LOG_ODDS = 50.0  # log odds drawn for a word that excludes a class
_DRAWS = 400  # samples per class, to find the range of a density
_SKEW = 30.0  # a range so many times the interquartile range is drawn on a logarithmic axis
_LONG = 60
_DAY = 86_400_000.0  # milliseconds
_LEAST_PROBABILITY = 1e-5  # probability of a value or bin below which its log odds are those of smoothing only


@dataclass(frozen=True, eq=False)
class ColumnChartData:
    """The rows of a chart.

    kind: "steps" (`x`, `x2`, `p`), "curve" (`x`, `p`), "values" (`value`, `p`) or "words" (`word`, `lead`), each with a
    `class`; `of`: of the other classes, the class that they are beside.
    what: the quantity shown.
    constant: of a symmetric logarithmic axis, None for a linear one; ticks: its values.
    is_date: whether numbers are milliseconds since 1970, for an axis of dates.
    """

    column: str
    family: str
    kind: Literal["steps", "curve", "values", "words"]
    rows: list[dict[str, Any]]
    classes: list[str]
    what: str
    constant: float | None = None
    ticks: Sequence[float] = ()
    note: str = ""
    is_date: bool = False


def predictive_of(model: Model, column: str) -> Predictive:
    """The predictive of one column, without its column weight."""
    if (predictive := model.predictives().get(column)) is not None:
        return predictive
    raise ParameterError("a column of the model", got=column, hint=did_you_mean(column, model.schema.families))


def most_frequent_classes(model: Model, n: int = CLASSES) -> list[int]:
    """The codes of the classes with the most rows (of given probabilities, the largest prior), in ascending order."""
    rows = model.log_prior() if model.is_given else model.snapshot().state.class_rows
    return sorted(np.argsort(-rows, kind="stable")[:n].tolist())


def pickable_classes(model: Model) -> list[str]:
    """The classes that can be picked in the charts of columns."""
    return [shown(model.classes[code]) for code in most_frequent_classes(model, _PICKED)]


def column_chart_data(
    model: Model, column: str, rows: list[dict[str, Any]] | None = None, *, every: bool = False
) -> ColumnChartData:
    """The chart data of a column; `rows` are its rows in `model.describe()`, if already computed.

    every: of more classes than there are colours, all that can be picked, each with rows of the other classes, `of` it.
    """
    part = predictive_of(model, column)
    family = model.schema.families[column].display_name()
    codes = most_frequent_classes(model, _PICKED if every else CLASSES)
    chart = _ClassChart(column, family, codes, [shown(label) for label in model.classes], np.exp(model.log_prior()))
    is_date = model.schema.columns[column].reader.shows_dates
    if (steps := part.steps()) is not None:
        return _on_dates(_steps(steps, chart, is_date=is_date)) if is_date else _steps(steps, chart)
    if model.schema.families[column].column is Reals:
        return _on_dates(_curve(part, chart)) if is_date else _curve(part, chart)
    rows = model.describe().columns.get(column, []) if rows is None else rows
    rows = [{**row, "class": shown(row["class"])} for row in rows]
    if rows and "token" in rows[0]:
        return _words(part, rows, chart)
    rows = [row for row in rows if "input" not in row]  # there is no chart of a joint density
    return _values(rows, chart, is_ordered=model.schema.families[column].is_ordered)


@dataclass(frozen=True, eq=False)
class _ClassChart:
    """A column and the classes that are drawn, by code."""

    column: str
    family: str
    codes: list[int]
    names: list[str]
    prior: Floats

    def data(self, kind: Any, items: list[dict[str, Any]], p: Floats, what: str, **more: Any) -> ColumnChartData:
        """The chart of items, such as bins, with their shares or densities, (items, classes)."""
        codes = self.codes
        if what == "share of the class" and len(self.names) > 1 and (p @ self.prior).max(initial=0.0) >= _SPIKE:
            p, what = self._log_odds(p), "log odds against the other classes"
            codes = codes if len(self.names) > 2 else [int(np.argmin(self.prior))]  # the other is its mirror image
        picked = [
            {**item, "class": self.names[code], "p": float(p[i, code])}
            for code in codes
            for i, item in enumerate(items)
            if np.isfinite(p[i, code])
        ]
        if len(self.names) > CLASSES < len(codes) and what in ("share of the class", "density", "probability"):
            for code in codes:
                pooled = self._others(p, code)
                picked += [
                    {**item, "class": OTHERS, "of": self.names[code], "p": float(pooled[i])}
                    for i, item in enumerate(items)
                ]
        names = [self.names[code] for code in codes]
        return ColumnChartData(self.column, self.family, kind, picked, names, what, **more)

    def _others(self, p: Floats, code: int) -> Floats:
        """The mean of the other classes by their prior."""
        weights = np.where(np.arange(len(self.prior)) == code, 0.0, self.prior)
        return np.asarray(np.nan_to_num(p) @ weights / max(float(weights.sum()), 1e-300))

    def _log_odds(self, p: Floats) -> Floats:
        """The log odds of each class against the others; 0 where no class has noticeable probability."""
        others = np.stack([self._others(p, code) for code in range(p.shape[1])], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.clip(np.nan_to_num(np.log(p) - np.log(others)), -_REACH, _REACH)
        return np.where((p @ self.prior)[:, None] > _LEAST_PROBABILITY, odds, 0.0)


def value_grid(part: Predictive, n: int = _POINTS) -> Floats:
    """Values over the range of a predictive; only integers if its distribution is discrete."""
    rng = np.random.default_rng(0)
    drawn = np.concatenate([np.asarray(part.sample(rng, code, _DRAWS)[0], float) for code in range(part.n_classes)])
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return np.zeros(1)
    low, high = np.quantile(drawn, [0.002, 0.998]).tolist()
    if np.all(drawn == np.floor(drawn)):
        step = max(1, int(np.ceil((high - low + 1) / (2 * n))))
        return np.arange(np.floor(low), np.ceil(high) + 1, step)
    if not high > low:
        return np.array([low])
    step = (high - low) / n
    size = 10.0 ** np.floor(np.log10(step))
    step = size * next(factor for factor in (1, 2, 5, 10) if factor * size >= step)  # values with few digits
    grid = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    return np.asarray(np.round(grid, int(np.clip(-np.log10(size), 0, 300))))


def _curve(part: Predictive, chart: _ClassChart) -> ColumnChartData:
    grid = value_grid(part)
    out = np.zeros((len(grid), part.n_classes))
    part.bind([Reals(grid)])(out, 0, len(grid))
    what = "probability" if np.all(grid == np.floor(grid)) else "density"
    return chart.data("curve", [{"x": x} for x in grid.tolist()], np.exp(out), what)


def _on_dates(data: ColumnChartData) -> ColumnChartData:
    """A chart of days since 1970 with milliseconds instead, which an axis of dates has."""
    rows = [{key: value * _DAY if key in ("x", "x2") else value for key, value in row.items()} for row in data.rows]
    return replace(data, rows=rows, is_date=True)


def _steps(steps: Steps, chart: _ClassChart, *, is_date: bool = False) -> ColumnChartData:
    edges, constant = _bins(steps.values, steps.p.mean(axis=1), steps.n_rows, may_bend=not is_date)
    place = np.clip(np.searchsorted(edges, steps.values, side="right") - 1, 0, len(edges) - 2)
    share = np.zeros((len(edges) - 1, steps.p.shape[1]))
    np.add.at(share, place, steps.p)
    items = [{"x": low, "x2": high} for low, high in itertools.pairwise(edges.tolist())]
    ticks = _ticks(edges) if constant is not None else ()
    return chart.data("steps", items, share, "share of the class", constant=constant, ticks=ticks)


def _bins(values: Floats, weights: Floats, n_rows: float, *, may_bend: bool = True) -> tuple[Floats, float | None]:
    """The edges of bins of equal width on a linear or logarithmic axis, and the constant of that axis."""
    low, high = float(values[0]), float(values[-1])
    whole = bool(np.all(values == np.floor(values)))
    n_bins = int(np.clip(2 * np.cbrt(n_rows), 8, _BINS))
    if high == low:
        return np.array([low - 0.5, low + 0.5]), None
    below = np.cumsum(weights) / weights.sum()
    place = np.minimum(np.searchsorted(below, [0.25, 0.75]), len(values) - 1)
    q1, q3 = values[place].tolist()
    if not may_bend or high - low <= max(_SKEW * (q3 - q1), _WHOLE if whole else 0.0):
        if not whole:
            return np.linspace(low, high, n_bins + 1), None
        # the same number of integers in each bin
        width = 1 if high - low <= _WHOLE else np.ceil((high - low + 1) / n_bins)
        return np.arange(low, high + width + 1, width) - 0.5, None
    sizes = np.abs(values[values != 0])
    constant = float(np.clip(np.quantile(sizes, 0.05), 1e-300, 1e300))
    ends = _symlog(np.array([low, high]), constant)
    flat = np.linspace(ends[0], ends[1], n_bins + 1)
    edges = np.sign(flat) * constant * np.expm1(np.abs(flat))
    edges[0], edges[-1] = low, high
    return edges, constant


def _symlog(x: Floats, constant: float) -> Floats:
    return np.asarray(np.sign(x) * np.log1p(np.abs(x) / constant))


def _ticks(edges: Floats) -> list[float]:
    """Zero and powers of ten within the edges, about six of them."""
    powers = 10.0 ** np.arange(-300, 301)
    both = np.concatenate([-powers[::-1], [0.0], powers])
    sizes = np.abs(edges[edges != 0])
    inside = both[(both >= edges[0]) & (both <= edges[-1]) & ((both == 0) | (np.abs(both) >= sizes.min()))]
    return [float(tick) for tick in inside[:: max(1, len(inside) // 6)]]


def _values(rows: list[dict[str, Any]], chart: _ClassChart, *, is_ordered: bool) -> ColumnChartData:
    """Bars of the most frequent values, in their own order if they have one; two for a boolean column."""
    what, key = "share of the class", "P(value)"
    if rows and "P(yes)" in rows[0]:
        both = [
            (row | {"value": "yes", key: row["P(yes)"]}, row | {"value": "no", key: 1 - row["P(yes)"]}) for row in rows
        ]
        rows = [row for pair in both for row in pair]
    elif rows and "score" in rows[0]:
        rows, what = [row | {key: float(np.exp(row["score"]))} for row in rows], "factor of the odds"
    place = {value: i for i, value in enumerate(dict.fromkeys(shown(row["value"]) for row in rows))}
    code_of = {name: code for code, name in enumerate(chart.names)}
    p = np.zeros((len(place), len(chart.names)))
    for row in rows:
        p[place[shown(row["value"])], code_of[row["class"]]] += row[key]
    total = p[:, chart.codes].sum(axis=1)
    order = np.argsort(-total, kind="stable")
    kept = order if len(order) <= _VALUES + 1 else order[:_VALUES]
    kept = np.sort(kept) if is_ordered else kept
    values = list(place)
    note = f"the {len(kept)} most frequent of {len(order)} values" if len(kept) < len(order) else ""
    return chart.data("values", [{"value": _short(values[i])} for i in kept], p[kept], what, note=note)


def _words(part: Predictive, rows: list[dict[str, Any]], chart: _ClassChart) -> ColumnChartData:
    """The words with the strongest evidence for each class: log odds against the mean of the other classes."""
    codes, names = chart.codes, chart.names
    tokens = list(dict.fromkeys(row["token"] for row in rows))
    adds = token_weights(part, tokens)
    best, each = adds.argmax(axis=1), max(2, _WORDS // max(len(codes), 1))
    each = each if len(codes) <= CLASSES else _VALUES  # of these the first, as long as no class is picked
    bars = []
    for code in codes:
        others = np.delete(adds, code, axis=1).mean(axis=1) if len(names) > 1 else 0.0
        lead = np.clip(np.nan_to_num(adds[:, code] - others), -_MOST_LOG_ODDS, _MOST_LOG_ODDS)
        words = sorted(np.flatnonzero(best == code).tolist(), key=lambda i: -lead[i])[:each]
        bars += [
            {"word": _short(shorten_word(shown(tokens[i]))), "class": names[code], "lead": float(lead[i]), "rank": rank}
            for rank, i in enumerate(words)
        ]
    few, what = [names[code] for code in codes], "log odds against the other classes"
    return ColumnChartData(chart.column, chart.family, "words", bars, few, what)


def token_weights(part: Predictive, tokens: Sequence[Any]) -> Floats:
    """The contribution of each token to the score of an empty bag, (tokens, classes)."""
    n = len(tokens)
    indptr = np.array([0, *range(n + 1)], np.int64)  # the first bag is empty
    out = np.zeros((n + 1, part.n_classes))
    part.bind([Bag(indptr, np.arange(n, dtype=np.int64), np.ones(n, np.int32), list(tokens))])(out, 0, n + 1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nan_to_num(out[1:] - out[:1], nan=0.0, posinf=np.inf, neginf=-np.inf))


def _short(text: str) -> str:
    return text if len(text) <= _LONG else text[: _LONG - 3] + "..."
