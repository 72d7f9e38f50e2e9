"""Charts for notebooks: each function returns an Altair chart, which can be displayed or saved: `save("x.png")`.

They are the charts of the page that `tally report` writes. Altair is installed by `pip install 'tallybayes[report]'`
and imported with the first chart.

>>> import tallybayes as tb
>>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill")
>>> type(densities(model, "fever")).__name__
'Chart'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.columns.readers.number_reader import as_reals
from tallybayes.errors import ParameterError, did_you_mean
from tallybayes.evaluation import Comparison, Evaluation
from tallybayes.explaining.explanation import Explanation
from tallybayes.families.family import Floats
from tallybayes.formatting import DECIBANS, shown
from tallybayes.model import Model
from tallybayes.reporting import evaluation_charts, model_charts
from tallybayes.reporting.chart_style import Chart, colour_order
from tallybayes.reporting.column_chart_data import CLASSES, column_chart_data
from tallybayes.reporting.threshold_curves import precision_recall_rows, reliability_rows, roc_rows
from tallybayes.tables.input_kind import is_frame
from tallybayes.tables.table import to_table
from tallybayes.tuning import Importance, Tuning
from tallybayes.typing import LabelLike, TableLike

__all__ = [
    "BoundaryDisplay",
    "DensitiesDisplay",
    "boundary",
    "confusion",
    "densities",
    "evidence",
    "importance",
    "learning_curves",
    "precision_recall",
    "reliability",
    "roc",
    "tuning",
]

_COLUMNS = 30  # bars of an explanation
_POINTS = 2_000  # rows drawn on a boundary
_CELLS = 90  # of a boundary in each direction
_MARGIN = 0.06  # around the data, as a share of its range


def densities(model: Model, column: str) -> Chart:
    """The distribution of a column in each class: densities of numbers, bars of values, words with most evidence."""
    chart = column_chart_data(_model(model), column)
    return model_charts.column_chart(
        chart, colour_order([shown(label) for label in _model(model).classes], chart.classes)
    )


def evidence(explanation: Explanation, positive: Any = None, against: Any = None) -> Chart:
    """The evidence of every column of a row for one class against another, in decibans; the strongest first.

    >>> import tallybayes as tb
    >>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill")
    >>> chart = evidence(model.explain({"fever": 1})[0])
    >>> chart.data.values[1]["column"]
    'fever'
    """
    best, other = explanation.sides(positive, against)
    parts = explanation.log_odds(best, other)
    names = ["", *sorted((name for name in parts if name), key=lambda name: -abs(parts[name]))]
    rows = [
        {"column": name or "prior", "value": shown(explanation.values.get(name)), "decibans": parts[name] * DECIBANS}
        for name in names[:_COLUMNS]
    ]
    return model_charts.evidence(rows, shown(best), shown(other))


def confusion(evaluation: Evaluation) -> Chart:
    """The confusion matrix of an evaluation."""
    chart = evaluation_charts.confusion([shown(label) for label in evaluation.classes], evaluation.matrix().tolist())
    return chart.properties(width=max(200, (110 if len(evaluation.classes) <= 6 else 40) * len(evaluation.classes)))


def reliability(evaluation: Evaluation, positive: Any = None, *, bins: int = 10) -> Chart:
    """The reliability curve of one class, or of every class (the second of two)."""
    labels = _labels(evaluation, positive)
    return evaluation_charts.reliability(reliability_rows(evaluation, labels, bins), *_name_classes(evaluation, labels))


def roc(evaluation: Evaluation, positive: Any = None) -> Chart:
    """The ROC curve of one class, or of every class (the second of two)."""
    labels = _labels(evaluation, positive)
    return evaluation_charts.roc(roc_rows(evaluation, labels), *_name_classes(evaluation, labels))


def precision_recall(evaluation: Evaluation, positive: Any = None) -> Chart:
    """The precision-recall curve of one class, or of every class (the second of two)."""
    labels = _labels(evaluation, positive)
    return evaluation_charts.precision_recall(
        precision_recall_rows(evaluation, labels), *_name_classes(evaluation, labels)
    )


def importance(found: Importance | Mapping[str, float], measure: str = "gain") -> Chart:
    """Bars of the importance of columns: the "gain" or "information" of `tallybayes.importance`, or given numbers.

    >>> [row["column"] for row in importance({"age": 0.1, "sex": 0.4}).data.values]
    ['sex', 'age']
    """
    if measure not in ("gain", "information"):
        raise ParameterError("measure 'gain' or 'information'", got=measure)
    values = (
        {column.column: getattr(column, measure) for column in found.columns}
        if isinstance(found, Importance)
        else found
    )
    order = sorted(values, key=lambda name: -values[name])
    return model_charts.importance([{"column": str(name), "importance": float(values[name])} for name in order])


def tuning(steps: Tuning | Iterable[Mapping[str, Any]]) -> Chart:
    """The log loss for every evaluated k: the result of `tallybayes.tune`, or rows with `k` and `log_loss`."""
    rows = [dict(row) for row in (steps.curve if isinstance(steps, Tuning) else steps)]
    if not rows:
        raise ParameterError("a tuning with a curve of k", got=[], hint="histogram columns have no k")
    return evaluation_charts.tuning(rows)


def learning_curves(comparison: Comparison | Iterable[Mapping[str, Any]], measure: str = "error") -> Chart:
    """A measure ("error" or "log_loss") against the number of training rows, a line for each model."""
    curves = comparison.rows if isinstance(comparison, Comparison) else comparison
    rows = [{"model": row["model"], "rows": row["size"], "value": row[measure]} for row in curves]
    return evaluation_charts.learning_curves(rows, measure.replace("_", " "))


def boundary(model: Any, data: TableLike, *, x: str, y: str, label: LabelLike = None) -> Chart:
    """The most probable class by two columns alone; the rows as dots, the mean of each class as a cross.

    model: a model, or a fitted `NaiveBayesClassifier`. Its other columns are treated as missing.
    label: a column or an array, if it is not the one the model was fitted with.
    """
    model, table = _model(model), to_table(data)
    for name in (x, y):
        if name not in table.columns:
            raise ParameterError("a column of the data", got=name, hint=did_you_mean(name, table.columns))
    labels = model.snapshot().labels(table, label)
    names = [shown(key) for key in labels.keys]
    points = np.stack([as_reals(name, table.columns[name]).values.astype(np.float64) for name in (x, y)], axis=1)
    return _draw_boundary(
        lambda grid: model.predict_proba({x: grid[:, 0], y: grid[:, 1]}),
        [shown(label) for label in model.classes],
        points,
        [names[code] if code >= 0 else None for code in labels.codes.tolist()],
        (x, y),
    )


class _Display:
    """A chart in the form of scikit-learn's displays."""

    def __init__(self, chart: Chart) -> None:
        self.chart_ = chart

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        return self.chart_._repr_mimebundle_(*args, **kwargs)


class BoundaryDisplay(_Display):
    """The decision boundary of two features, like scikit-learn's displays; `chart_` is the chart."""

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, features: Sequence[Any] = (0, 1)) -> Self:
        """Create it from a fitted classifier with `predict_proba`; other features are passed as missing.

        features: two names or positions of columns of X.
        """
        frame = X if is_frame(X) else None
        values = np.asarray(X)
        names = list(frame.columns) if frame is not None else list(range(values.shape[1]))
        places = [names.index(name) if name in names else int(name) for name in features]
        points = values[:, places].astype(np.float64)

        def proba(grid: Floats) -> Floats:
            full = np.full((len(grid), values.shape[1]), np.nan)
            full[:, places] = grid
            points_of_grid = full if frame is None else type(frame)(full, columns=frame.columns)
            return np.asarray(estimator.predict_proba(points_of_grid))

        classes = [shown(label) for label in np.asarray(estimator.classes_).tolist()]
        titles = tuple(str(names[place]) if frame is not None else f"x{place}" for place in places)
        labels = [shown(label) for label in np.asarray(y).tolist()]
        return cls(_draw_boundary(proba, classes, points, labels, (titles[0], titles[1])))


class DensitiesDisplay(_Display):
    """The distribution of a feature in each class, like scikit-learn's displays; `chart_` is the chart."""

    @classmethod
    def from_estimator(cls, estimator: Any, column: str) -> Self:
        """Create it from a fitted `NaiveBayesClassifier`."""
        return cls(densities(_model(estimator), column))


def _model(fitted: Any) -> Model:
    model = getattr(fitted, "model_", fitted)
    if not isinstance(model, Model):
        raise ParameterError("a model, or a fitted NaiveBayesClassifier", got=fitted)
    return model


def _labels(evaluation: Evaluation, positive: Any) -> list[Any]:
    """The classes to draw: the given one, the second of two, or the most frequent of several."""
    if positive is not None:
        return [positive]
    if len(evaluation.classes) == 2:
        return evaluation.classes[1:]
    rows = {row["class"]: row["rows"] for row in evaluation.per_class()}
    most = sorted(rows, key=lambda label: -rows[label])[:CLASSES]
    return [label for label in evaluation.classes if label in most and rows[label]]


def _name_classes(evaluation: Evaluation, labels: Sequence[Any]) -> tuple[list[str], list[str]]:
    names = [shown(label) for label in labels]
    return names, colour_order([shown(label) for label in evaluation.classes], names)


def _draw_boundary(
    proba: Any, classes: list[str], points: Floats, labels: Sequence[str | None], names: tuple[str, str]
) -> Chart:
    """The chart of a boundary: P(class) on a grid over the points, the points and the means of their classes."""
    there = np.isfinite(points).all(axis=1) & np.array([label is not None for label in labels])
    points, kept_labels = points[there], [label for label, kept in zip(labels, there, strict=True) if kept]
    if not len(points):
        raise ParameterError("rows with a label and values of both columns", got=0)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = np.where(high > low, (high - low) * _MARGIN, 0.5)
    edges = np.linspace(low - margin, high + margin, _CELLS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    grid = np.stack(np.meshgrid(middle[:, 0], middle[:, 1], indexing="ij"), axis=-1).reshape(-1, 2)
    p = proba(grid)
    cells = _runs(p.argmax(axis=1).reshape(_CELLS, _CELLS), p.max(axis=1).reshape(_CELLS, _CELLS), edges, classes)
    picked = np.unique(np.linspace(0, len(points) - 1, min(len(points), _POINTS)).astype(np.int64))
    dots = [{"x": float(points[i, 0]), "y": float(points[i, 1]), "class": kept_labels[i]} for i in picked]
    means = []
    for name in dict.fromkeys(kept_labels):
        x, y = points[np.array([label == name for label in kept_labels])].mean(axis=0).tolist()
        means.append({"x": x, "y": y, "class": name})
    return model_charts.boundary(cells, dots, means, x=names[0], y=names[1], classes=classes)


def _runs(best: NDArray[np.intp], p: Floats, edges: Floats, classes: Sequence[str]) -> list[dict[str, Any]]:
    """Cells as rectangles; vertical neighbours of the same class and shade are one rectangle."""
    shade = np.round(p, 1)
    rows = []
    for i in range(best.shape[0]):
        new = np.flatnonzero((np.diff(best[i]) != 0) | (np.diff(shade[i]) != 0)) + 1
        for start, stop in zip([0, *new.tolist()], [*new.tolist(), best.shape[1]], strict=True):
            rows.append(
                {
                    "x": float(edges[i, 0]),
                    "x2": float(edges[i + 1, 0]),
                    "y": float(edges[start, 1]),
                    "y2": float(edges[stop, 1]),
                    "class": classes[best[i, start]],
                    "p": float(shade[i, start]),
                }
            )
    return rows
