"""Learning curves of naive Bayes and logistic regression on the same rows.

Both have linear decision boundaries (for most families): one models each class, the other the boundary. Ng and Jordan
(2002, "On discriminative vs. generative classifiers") show that the generative model approaches its lowest error with
far fewer rows, and that the discriminative one has at most the same error in the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from tallybayes.columns.batch import columns_to_read
from tallybayes.columns.fold_assignment import FoldAssigner
from tallybayes.columns.label import Labels
from tallybayes.doubts import tell_together
from tallybayes.errors import DataError, ParameterError, check_integer
from tallybayes.evaluation.evaluate import add_rows, plan_fits, score_table
from tallybayes.evaluation.evaluation_text import digits
from tallybayes.evaluation.logistic_baseline import Design, Logistic
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.formatting import finite_json
from tallybayes.model import Model
from tallybayes.model.fit import (
    check_value,
    learn_and_sample,
    rereads,
    sample_for,
    set_column_weights,
    with_text_selection,
)
from tallybayes.notebook_view import ResultView, TextGrid, data_frame
from tallybayes.state.column_weights import Weighting
from tallybayes.state.near_copies import NearCopies
from tallybayes.state.options import LABELLED, FitOptions, with_options
from tallybayes.tables.source import Source
from tallybayes.tables.table import Table, concatenate_tables
from tallybayes.typing import LabelLike, TableLike

__all__ = ["Comparison", "compare"]

MODELS = ("tallybayes", "logistic", "majority")
MEASURES = ("error", "log_loss")
_NAMES = {"tallybayes": "naive Bayes", "logistic": "logistic regression", "majority": "the majority-class baseline"}

_LEAST_ROWS = 10  # rows of the smallest default size

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(ResultView):
    """Learning curves: for each model and size the mean over the folds and its standard error. Print it.

    rows: dicts with model ("tallybayes", "logistic" or "majority"), size, error, error_se, error_by_fold, and the same
    three for log_loss. naive_bayes: which naive Bayes that is, in words.
    """

    rows: list[dict[str, Any]]
    n_rows: int
    folds: int
    naive_bayes: str = ""
    _heading: ClassVar[str] = "Comparison"

    @property
    def sizes(self) -> list[int]:
        """The numbers of training rows."""
        return list(dict.fromkeys(row["size"] for row in self.rows))

    def curve(self, model: str, measure: str = "error") -> list[float]:
        """The mean of a measure ("error" or "log_loss") of one model at every size."""
        for kind, names, name in (("a model", MODELS, model), ("a measure", MEASURES, measure)):
            if name not in names:
                raise ParameterError(f"{kind} ({', '.join(names)})", got=name)
        return [row[measure] for row in self.rows if row["model"] == model]

    def best(self, measure: str = "error") -> list[str | None]:
        """The model with the lowest value at every size; None where two share it or it is undefined."""
        best: list[str | None] = []
        for values in zip(*(self.curve(model, measure) for model in MODELS), strict=True):
            lowest = [model for model, value in zip(MODELS, values, strict=True) if value <= min(values)]
            best.append(lowest[0] if len(lowest) == 1 else None)
        return best

    def logistic_from(self, measure: str = "error") -> int | None:
        """The smallest size from which on logistic regression is always best; None if it is not at the largest."""
        return self._since(measure) if self.best(measure)[-1] == "logistic" else None

    def to_dict(self) -> dict[str, Any]:
        """All values as plain Python objects, for JSON."""
        return finite_json(  # type: ignore[no-any-return]
            {
                "rows": self.n_rows,
                "folds": self.folds,
                "naive_bayes": self.naive_bayes,
                "sizes": self.sizes,
                "curves": self.rows,
                "best": {measure: self.best(measure) for measure in MEASURES},
                "logistic_from": {measure: self.logistic_from(measure) for measure in MEASURES},
            }
        )

    def to_frame(self) -> Any:
        """A row for each model and size as a pandas DataFrame, with the means, standard errors and values by fold."""
        return data_frame(self.rows)

    def _parts(self) -> list[str | TextGrid]:
        tables = [self._table(measure) for measure in MEASURES]
        conclusions = [f"by {measure.replace('_', ' ')}: {self._conclusion(measure)}" for measure in MEASURES]
        about = [f"(mean of {self.folds} folds ± its standard error)"]
        return [*tables, "\n".join([*conclusions, *about, *([self.naive_bayes] if self.naive_bayes else [])])]

    def _table(self, measure: str) -> TextGrid:
        body = []
        for size, best in zip(self.sizes, self.best(measure), strict=True):
            by_model = {row["model"]: row for row in self.rows if row["size"] == size}
            cells = [f"{digits(by_model[m][measure])} ± {digits(by_model[m][f'{measure}_se'])}" for m in MODELS]
            body.append([str(size), *cells, best or "tie"])
        return TextGrid(["rows", *MODELS, "best"], body, title=measure.replace("_", " "))

    def _conclusion(self, measure: str) -> str:
        """Which model is best, and from which size on."""
        last = self.best(measure)[-1]
        if last is None:
            return f"no single model is best with {self.sizes[-1]} rows"
        since = self._since(measure)
        where = "at every size" if since == self.sizes[0] else f"from {since} rows on"
        unclear = [str(size) for size in self.sizes if size >= since and not self._is_clear(measure, size, last)]
        if not unclear:
            return f"{_NAMES[last]} is best {where}"
        near = f"with {', '.join(unclear)} rows by less than the standard error of the difference"
        return f"{_NAMES[last]} has the lowest mean {where}, {near}"

    def _is_clear(self, measure: str, size: int, best: str) -> bool:
        """Whether the model is better than each other by more than the standard error of the paired difference."""
        values = {row["model"]: np.array(row[f"{measure}_by_fold"]) for row in self.rows if row["size"] == size}
        with np.errstate(invalid="ignore"):
            differences = [values[model] - values[best] for model in MODELS if model != best]
        # an infinite loss has no standard error
        finite = [difference for difference in differences if np.isfinite(difference).all()]
        return all(difference.mean() > difference.std(ddof=1) / np.sqrt(len(difference)) for difference in finite)

    def _since(self, measure: str) -> int:
        """The smallest size from which on the best model does not change."""
        best = self.best(measure)
        n_same = next((i for i, model in enumerate(reversed(best)) if model != best[-1]), len(best))
        return self.sizes[-n_same]


@with_options(LABELLED)
@tell_together()
@rereads
def compare(
    data: TableLike,
    label: LabelLike = None,
    *,
    sizes: Iterable[int] | None = None,
    folds: int = 5,
    seed: int = 0,
    progress: Callable[[int, float | None, int], None] | None = None,
    **options: Unpack[FitOptions],
) -> Comparison:
    """Compute learning curves of naive Bayes, logistic regression and the majority class on the same rows.

    In each fold all models are trained on the same nested, stratified subsets of the training rows and evaluated on
    the same held-out rows. The error is the share of wrong predictions.

    sizes: numbers of training rows; by default 10, 20, 50, 100, ... up to all training rows of a fold.
    folds, seed: as for `tallybayes.cross_validate`.
    progress: called with the rows learned so far, their share of all, and 0.

    The data is held in memory. Logistic regression is scikit-learn's with its default penalty (C = 1).
    The other options are those of `fit`.

    {options}

    >>> import tallybayes as tb
    >>> rows = {"x": [1.0, 1.1, 0.9, 1.2, 3.0, 3.1, 2.9, 3.2] * 10, "y": ["a"] * 4 * 10 + ["b"] * 4 * 10}
    >>> tb.compare(rows, label="y", sizes=[16, 64], folds=5).sizes
    [16, 64]
    """
    folds = check_integer("folds", folds, at_least=2)
    check_integer("seed", seed, at_least=0)
    source, fits = plan_fits(data, label, options, "to compare models")
    label = fits.counting.label
    # Each model selects text variants on all of its training rows.
    empty = with_text_selection(fits.empty_model(), now=False)
    rows = _LabelledRows.read(source, empty, label)
    fold = FoldAssigner(folds, seed)(rows.labels)
    if empty.schema.group is not None:
        fold = NearCopies(empty.schema, empty.schema.group)(rows.table, fold)
    largest = len(fold) - int(np.bincount(fold, minlength=folds).max())
    if largest < 1 or len(np.unique(fold)) < folds:
        raise DataError(f"at least {folds} rows with a label, one for each fold", got=len(fold))
    steps = _sizes(sizes, largest)
    done, evaluations = 0, {(model, size): list[Evaluation]() for model in MODELS for size in steps}
    for number in range(folds):
        order = _nest(rows.labels.codes, np.flatnonzero(fold != number), np.random.default_rng([seed, number]))
        for size, by_model in _evaluate(rows, empty, fits.weights, order, np.flatnonzero(fold == number), steps):
            for model, evaluation in zip(MODELS, by_model, strict=True):
                evaluations[model, size].append(evaluation)
            done += size
            if progress is not None:
                progress(done, done / (folds * sum(steps)), 0)
    curves = [_row(model, size, evaluations[model, size]) for size in steps for model in MODELS]
    return Comparison(curves, len(fold), folds, _describe(options, has_weights=fits.weights is not None))


def _describe(options: Mapping[str, Any], *, has_weights: bool) -> str:
    """Which naive Bayes is compared."""
    fitted = "column weights" if has_weights else "no column weights"
    if options.get("preset") == "textbook":
        return f"tallybayes: preset='textbook', the naive Bayes of lectures, with {fitted}"
    return f"tallybayes: with {fitted}; preset='textbook' (--preset textbook) compares the naive Bayes of lectures"


@dataclass(frozen=True, eq=False)
class _LabelledRows:
    """The rows with a label, as a table and as the design matrices of logistic regression."""

    table: Table
    labels: Labels
    label: Any
    design: Design

    @classmethod
    def read(cls, source: Source, empty: Model, label: Any) -> _LabelledRows:
        """All rows of a source that have a label and can be counted."""
        tables = []
        for table in source.batches(columns_to_read(empty.schema, label)):
            for part, _ in source.work_on_good_rows(table, partial(_fit, empty, label)):
                tables.append(part.take(np.flatnonzero(empty.schema.label_spec.read(part, label).codes >= 0)))
        table = concatenate_tables(tables)
        labels = empty.schema.label_spec.read(table, label)
        if len(labels.keys) < 2:
            check_value(_fit(empty, label, table), label, source)
            raise DataError("rows of at least two classes", got=labels.keys)
        return cls(table, labels, label, Design(table, empty.schema))


def _fit(empty: Model, label: Any, table: Table) -> Model:
    model = empty.copy()
    model.learn(table, label=label)
    return model


def _sizes(requested: Iterable[int] | None, largest: int) -> list[int]:
    """The given sizes in ascending order, or by default 10, 20, 50, 100, ... and all rows."""
    if requested is None:
        steps = (first * 10**power for power in range(1, 12) for first in (1, 2, 5))
        return [*(size for size in steps if _LEAST_ROWS <= size <= largest * 0.8), largest]
    sizes = sorted({check_integer("each of the sizes", size, at_least=1) for size in requested})
    if not sizes or sizes[-1] > largest:
        raise ParameterError(f"sizes of at most {largest}, the number of training rows of a fold", got=sizes)
    return sizes


def _nest(codes: NDArray[np.int32], rows: Rows, rng: np.random.Generator) -> Rows:
    """Rows in an order in which the first n of them, for every n, are stratified by class."""
    rows = rng.permutation(rows)
    place = np.empty(len(rows))
    for code in np.unique(codes[rows]):
        members = np.flatnonzero(codes[rows] == code)
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return rows[np.argsort(place, kind="stable")]


def _evaluate(
    data: _LabelledRows, empty: Model, weights: Weighting, order: Rows, test: Rows, sizes: list[int]
) -> Iterator[tuple[int, tuple[Evaluation, ...]]]:
    """The three models evaluated on the test rows, for every size; naive Bayes only learns the rows that are new."""
    growing, start, sample = empty.copy(), 0, sample_for(weights, empty.schema)
    for size in sizes:
        learn_and_sample(growing, sample, data.table.take(order[start:size]), label=data.label)
        start = size
        model = set_column_weights(with_text_selection(growing, now=True), weights, sample, is_part=True).snapshot()
        scores = score_table(model, data.label, data.table.take(test))
        add_rows(evaluation := Evaluation(), model, *scores)
        codes = data.labels.codes
        logistic = Logistic(data.design, order[:size], codes)
        shares = np.bincount(codes[order[:size]], minlength=len(data.labels.keys))[logistic.classes] / size
        always = np.broadcast_to(np.log(shares), (len(test), len(shares)))
        others = (_evaluation(data, logistic.classes, p, test) for p in (logistic.log_proba(test), always))
        yield size, (evaluation, *others)


def _evaluation(data: _LabelledRows, classes: list[int], log_proba: Any, test: Rows) -> Evaluation:
    result, keys = Evaluation(), data.labels.keys
    result.add([keys[c] for c in classes], [keys[c] for c in data.labels.codes[test].tolist()], log_proba)
    return result


def _row(model: str, size: int, evaluations: list[Evaluation]) -> dict[str, Any]:
    """Both measures: the values of the folds, their mean, and the standard error of the mean."""
    row: dict[str, Any] = {"model": model, "size": size}
    errors, losses = (
        [1 - evaluation.accuracy for evaluation in evaluations],
        [evaluation.log_loss for evaluation in evaluations],
    )
    for measure, values in (("error", errors), ("log_loss", losses)):
        defined = np.array([value for value in values if not np.isnan(value)])
        has_error = len(defined) > 1 and bool(np.isfinite(defined).all())
        row[f"{measure}_by_fold"] = values
        row[measure] = float(defined.mean()) if len(defined) else float("nan")
        row[f"{measure}_se"] = float(defined.std(ddof=1) / np.sqrt(len(defined))) if has_error else float("nan")
    return row
