"""scikit-learn: its five classes, and the pipelines that a careful user writes for mixed columns and text."""

from typing import Any

import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from bench.work import Data

PACKAGE = "scikit-learn"


def steps(make: Any, data: Data) -> dict[str, Any]:
    """Fit and predict_proba of an estimator."""
    fitted = make().fit(data.X, data.y)
    return {"fit": lambda: make().fit(data.X, data.y), "predict_proba": lambda: fitted.predict_proba(data.X)}


def table_pipeline(classifier: ClassifierMixin) -> Any:
    """Categories as zeros and ones, gaps filled, then a classifier."""
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    numbers = SimpleImputer(strategy="median")
    by_kind = make_column_transformer(
        (words, make_column_selector(dtype_include=[object, "string", "category"])),
        (numbers, make_column_selector(dtype_include=["number", "bool"])),
    )
    return make_pipeline(by_kind, classifier)


def file_steps(read: Any, make: Any) -> dict[str, Any]:
    """Fit and predict_proba of a pipeline, reading included."""

    def fit() -> Any:
        frame = read()
        return make().fit(frame.drop(columns="label"), frame["label"])

    fitted = fit()
    return {"fit": fit, "predict_proba": lambda: fitted.predict_proba(read().drop(columns="label"))}


def numbers(data: Data) -> dict[str, Any]:
    found = steps(GaussianNB, data)
    return found | {f"{name}, histogram": step for name, step in found.items()}  # it has no histograms


def mixed(data: Data) -> dict[str, Any]:
    return steps(lambda: table_pipeline(GaussianNB()), data)


def text(data: Data) -> dict[str, Any]:
    return steps(lambda: make_pipeline(CountVectorizer(), MultinomialNB()), data)


def left_out(data: Data) -> dict[str, Any]:
    return {"honest scores": lambda: cross_val_predict(GaussianNB(), data.X, data.y, cv=10, method="predict_proba")}


CASES = {
    "numbers": numbers,
    "numbers20": numbers,
    "categories": lambda data: steps(CategoricalNB, data),
    "flags": lambda data: steps(BernoulliNB, data),
    "counts": lambda data: steps(MultinomialNB, data),
    "mixed": mixed,
    "text": text,
    "csv": lambda data: file_steps(lambda: pd.read_csv(data.X), lambda: table_pipeline(GaussianNB())),
    "parquet": lambda data: file_steps(lambda: pd.read_parquet(data.X), lambda: table_pipeline(GaussianNB())),
    "left_out": left_out,
}
