"""Khiops: selective naive Bayes over optimal bins."""

from typing import Any

from khiops.sklearn import KhiopsClassifier

from bench.work import Data

PACKAGE = "khiops"


def _steps(data: Data) -> dict[str, Any]:
    fitted = KhiopsClassifier(n_trees=0).fit(data.X, data.y)
    return {
        "fit": lambda: KhiopsClassifier(n_trees=0).fit(data.X, data.y),
        "predict_proba": lambda: fitted.predict_proba(data.X),
    }


CASES = {"mixed": _steps, "tuned": lambda data: {"fit": _steps(data)["fit"]}}
