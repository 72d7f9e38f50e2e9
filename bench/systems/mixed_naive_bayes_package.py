"""mixed-naive-bayes: numbers as Gaussians, categories by their numbers."""

from typing import Any

import numpy as np
from mixed_naive_bayes import MixedNB

from bench.work import Data

PACKAGE = "mixed-naive-bayes"


def _steps(data: Data, categorical: Any = None) -> dict[str, Any]:
    X = np.asarray(data.X, np.float64)
    fitted = MixedNB(categorical_features=categorical).fit(X, data.y)
    return {
        "fit": lambda: MixedNB(categorical_features=categorical).fit(X, data.y),
        "predict_proba": lambda: fitted.predict_proba(X),
    }


CASES = {"numbers": _steps, "categories": lambda data: _steps(data, "all")}
