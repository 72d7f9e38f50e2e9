"""The river classifier: one row at a time, for streams of mixed features.

>>> from tallybayes.river import NaiveBayes
>>> model = NaiveBayes()
>>> model.learn_one({"colour": "red", "size": 3.1}, "apple")
>>> model.learn_one({"colour": "yellow", "size": 5.0, "ripe": True}, "banana")
>>> model.predict_one({"colour": "yellow"})
'banana'

River is an optional dependency: `pip install tallybayes[river]`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from tallybayes.columns.column_spec import SPECIFIED, ColumnSpec, Origin
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, Described, ParameterError
from tallybayes.families import parse
from tallybayes.families.family import Floats
from tallybayes.model.joint_columns import split_groups, with_groups
from tallybayes.model.model import Model
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.model_state import ModelState
from tallybayes.state.options import OPTIONS, SETTINGS, FitOptions, complete, with_options
from tallybayes.state.settings import Settings
from tallybayes.tables.input_kind import library_of

try:
    from river import base
except ImportError as error:
    raise ImportError("tallybayes.river needs river: pip install tallybayes[river]") from error

__all__ = ["NaiveBayes"]

Row = Mapping[Hashable, Any]

_BAG = "features"  # the one column of a model of bags

_DEFAULTS = {"smoothing": 1.0}  # without a choice by evidence, which would read all counts after every row
_LAG = 50  # where deriving takes milliseconds, it is done anew after a change of one row in so many
_OPTIONS = {
    name: replace(OPTIONS[name], default=_DEFAULTS.get(name, OPTIONS[name].default))
    for name in ("families", *SETTINGS)
    if name != "infer"  # a feature is counted by the type of its first value
}


@with_options(_OPTIONS)
class NaiveBayes(base.MiniBatchClassifier):
    """Naive Bayes for rows of mixed features, by exact counting.

    Features and labels may appear and disappear at any time. A feature that is absent, None or NaN contributes nothing.
    The type of its first value determines the family of a feature: numbers are histograms, texts are categories,
    booleans are flags, sets are tags, lists and dicts are bags of tokens. Rows can be forgotten exactly.

    The bins of histograms are chosen anew after one row in fifty; until then single rows are answered by the model as
    it was. `numeric="gaussian"` (Student's t) is the fastest, and always up to date.

    Parameters
    ----------
    {options}
    bag
        "counts", "presence" or "complement": the features of a row are the tokens of one bag with their amounts, as
        `feature_extraction.BagOfWords` returns them. Default: None, every feature is a column.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), NaiveBayes(), metrics.Accuracy())
    Accuracy: 90.95%
    """

    def __init__(self, *, bag: str | None = None, **options: Unpack[FitOptions]) -> None:
        values = complete(options, _OPTIONS)
        vars(self).update(values)
        self.bag = bag
        families = values.pop("families")
        if bag is not None and families is not None:
            raise ParameterError("families or bag, because the tokens of a bag have no families", got=Described("both"))
        if bag is not None:
            chosen = {_BAG: parse(f"multinomial:variant={bag}")}
        else:
            chosen = OPTIONS["families"].domain.check("families", families or {})
        chosen, groups = split_groups(chosen)
        fields = {name: ColumnSpec(name, family, SPECIFIED, origin=Origin.SPECIFIED) for name, family in chosen.items()}
        schema = with_groups(Schema(None, fields), groups)
        self._model = Model(ModelState(schema, Settings(**values, infer="type")))
        self._answers: Snapshot | None = None  # what answers, if that is the model of a few rows ago
        self._lags = False
        self._labels: set[Hashable] = set()
        self._n_rows = self._n_until = 0  # learned one by one; until so many, answers need not be derived anew
        self._n_own = self._n_others = 0  # changes of the model by single rows learned here; others when it answered

    def __getstate__(self) -> dict[str, Any]:
        """Without what is derived, which may hold more than the model."""
        return vars(self) | {"_answers": None, "_n_until": 0}

    @property
    def model(self) -> Model:
        """The model, which also explains, describes, saves and merges; answers follow its changes at once."""
        return self._model

    @property
    def _multiclass(self) -> bool:
        return True

    # One row

    def learn_one(self, x: Row, y: Hashable) -> None:
        """Add a row."""
        self._model.learn_one(x if self.bag is None else {_BAG: x}, y)
        self._n_rows += 1
        self._n_own += 1
        if y not in self._labels:
            self._labels.add(y)
            self._answers = None

    def forget_one(self, x: Row, y: Hashable) -> None:
        """Remove a row: exactly, for histograms on their present grid."""
        self._model.forget_one(x if self.bag is None else {_BAG: x}, y)
        self._labels.clear()  # the last row of a label may be gone
        self._answers, self._n_rows = None, max(self._n_rows - 1, 0)

    def predict_proba_one(self, x: Row, **kwargs: Any) -> dict[Any, float]:
        """P(label | row) of every label learned so far; features that have not been learned are ignored."""
        proba: dict[Any, float] | None = self._ask(x, self._model.predict_proba_one, Snapshot.by_class)
        return {} if proba is None else proba

    def predict_one(self, x: Row, **kwargs: Any) -> Any:
        """The label of a row by the decision rule of the model (default: the most probable); None before any row."""
        return self._ask(x, self._model.predict_one, Snapshot.answer)

    def _ask(self, x: Row, ask: Callable[[Row], Any], finish: Callable[[Snapshot, Floats], Any]) -> Any:
        """What the model answers for a row, by the conventions of river.

        That is None before any row has been learned; features that have not been learned are ignored, even if a row has
        no others.
        """
        row: Row = x if self.bag is None else {_BAG: x}
        answers = self._lagging()
        try:
            return ask(row) if answers is None else finish(answers, answers.proba(row, is_row=True))
        except DataError:
            if not self._model.classes:
                return None
            known = self._model.schema.columns
            if isinstance(row, Mapping) and not any(str(name) in known for name in row):
                return ask({})
            if answers is None:
                raise
            return ask(row)  # its features are new in the last rows, or the error is the same

    def _lagging(self) -> Snapshot | None:
        """The model as it was a few rows ago, at most one in fifty; None if it derives quickly after every row.

        Histograms choose their bins by evidence, from all counts: that takes milliseconds.
        """
        n_others = self._model._current.n_changes - self._n_own
        if self._n_rows >= self._n_until or n_others != self._n_others or (self._lags and self._answers is None):
            self._n_others = n_others
            self._n_until = self._n_rows + 1 + self._n_rows // _LAG
            self._lags = ModelState(self._model.schema, self._model.settings).selects_from_data
            self._answers = self._model.snapshot() if self._lags else None
        return self._answers

    # Many rows

    def learn_many(self, X: Any, y: Any) -> None:
        """Add the rows of a data frame; the result is that of `learn_one` for each row."""
        self._model.learn(self._rows(X), label=y)

    def predict_proba_many(self, X: Any) -> Any:
        """P(label | row) as a frame of the same library, with a column for every label."""
        classes = self._model.classes
        scores = self._model.predict_proba(self._rows(X)) if classes else np.zeros((len(X), 0))
        return _frame(scores, classes, X)

    def predict_many(self, X: Any) -> Any:
        """The most probable label of every row as a series of the same library."""
        return _series(self._model.predict(self._rows(X)) if self._model.classes else np.zeros(0), X)

    def _rows(self, X: Any) -> Any:
        """A data frame, or its rows as bags."""
        if self.bag is None:
            return X
        library = library_of(X)
        rows = X.to_dict("records") if library == "pandas" else X.to_dicts() if library == "polars" else X
        return {_BAG: rows.to_pylist() if isinstance(rows, (pa.Table, pa.RecordBatch)) else list(rows)}


def _frame(scores: Floats, classes: list[Any], like: Any) -> Any:
    library = library_of(like)
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame(scores, index=like.index, columns=classes)
    table = pa.table({str(label): scores[:, c] for c, label in enumerate(classes)})  # names of columns are text
    if library == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table


def _series(labels: Any, like: Any) -> Any:
    library = library_of(like)
    if library == "pandas":
        import pandas as pd

        return pd.Series(labels, index=like.index if len(labels) else None)
    if library == "polars":
        import polars as pl

        return pl.Series(labels.tolist())
    return pa.array(labels.tolist())
