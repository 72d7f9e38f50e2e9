"""scikit-learn: its five classes, and the pipelines that a careful user writes for mixed columns and text."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from bench.pandas_script import table_pipeline
from bench.peak_memory import ended
from bench.steps import Steps, fit_and_score
from bench.work import Data

PACKAGE = "scikit-learn"


def steps(make: Callable[[], Any], data: Data) -> Steps:
    """Fit and predict_proba of an estimator."""
    return fit_and_score(lambda: make().fit(data.X, data.y), lambda fitted: fitted.predict_proba(data.X))


def file_steps(read: Callable[[], Any]) -> Steps:
    """Fit and predict_proba of a pipeline, reading included."""

    def fit() -> Any:
        frame = read()
        return table_pipeline(GaussianNB()).fit(frame.drop(columns="label"), frame["label"])

    return fit_and_score(fit, lambda fitted: fitted.predict_proba(read().drop(columns="label")))


def mixed(data: Data) -> Steps:
    return steps(lambda: table_pipeline(GaussianNB()), data)


def text(data: Data) -> Steps:
    return steps(lambda: make_pipeline(CountVectorizer(), MultinomialNB()), data)


def command(data: Data) -> Steps:
    model, answers = (str(data.folder / name) for name in ("command.pickle", "answers.csv"))
    script = [sys.executable, "-W", "ignore", "-m", "bench.pandas_script"]
    return {
        "fit": lambda: ended([*script, "fit", data.X, model]),
        "predict": lambda: ended([*script, "predict", model, data.X, answers]),
    }


def tuned(data: Data) -> Steps:
    """Five folds over nine strengths of smoothing, as a careful user would have them."""
    grid = {"gaussiannb__var_smoothing": np.logspace(-9, -1, 9)}
    search = GridSearchCV(table_pipeline(GaussianNB()), grid, scoring="neg_log_loss", n_jobs=data.threads)
    return {"fit": lambda: search.fit(data.X, data.y)}


def left_out(data: Data) -> Steps:
    scores = {"cv": 10, "method": "predict_proba", "n_jobs": data.threads}
    return {"scores of all rows": lambda: cross_val_predict(GaussianNB(), data.X, data.y, **scores)}


CASES = {
    "numbers": lambda data: steps(GaussianNB, data),
    "numbers20": lambda data: steps(GaussianNB, data),
    "categories": lambda data: steps(CategoricalNB, data),
    "flags": lambda data: steps(BernoulliNB, data),
    "counts": lambda data: steps(MultinomialNB, data),
    "complement": lambda data: steps(ComplementNB, data),
    "mixed": mixed,
    "default": mixed,
    "text_counts": text,
    "text": text,
    "csv": lambda data: file_steps(lambda: pd.read_csv(data.X)),
    "parquet": lambda data: file_steps(lambda: pd.read_parquet(data.X)),
    "command": command,
    "tuned": tuned,
    "left_out": left_out,
}
