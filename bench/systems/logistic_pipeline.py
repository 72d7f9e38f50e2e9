"""Logistic regression of scikit-learn, which many take instead of naive Bayes."""

from typing import Any

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bench.pandas_script import table_pipeline
from bench.steps import Steps
from bench.systems.sklearn_bayes import steps
from bench.work import Data

PACKAGE = "scikit-learn"


def _classifier() -> Any:
    return make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=300))


def mixed(data: Data) -> Steps:
    return steps(lambda: table_pipeline(_classifier()), data)


def text(data: Data) -> Steps:
    return steps(lambda: make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=300)), data)


CASES = {
    "numbers": lambda data: steps(_classifier, data),
    "default": mixed,
    "text": text,
    "tuned": lambda data: {"fit": mixed(data)["fit"]},
}
