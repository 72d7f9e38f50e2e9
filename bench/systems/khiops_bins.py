"""Khiops: selective naive Bayes over optimal bins."""

from khiops.sklearn import KhiopsClassifier

from bench.steps import Steps, fit_and_score
from bench.work import Data

PACKAGE = "khiops"


def _steps(data: Data) -> Steps:
    return fit_and_score(
        lambda: KhiopsClassifier(n_trees=0).fit(data.X, data.y), lambda fitted: fitted.predict_proba(data.X)
    )


CASES = {"default": _steps, "tuned": lambda data: {"fit": _steps(data)["fit"]}}
