"""mixed-naive-bayes: numbers as Gaussians, categories by their numbers."""

from typing import Any

import numpy as np
from mixed_naive_bayes import MixedNB

from bench.steps import Steps, fit_and_score
from bench.work import Data

PACKAGE = "mixed-naive-bayes"
ONE_THREAD = True


def _steps(data: Data, categorical: Any = None) -> Steps:
    X = np.asarray(data.X, np.float64)
    return fit_and_score(
        lambda: MixedNB(categorical_features=categorical).fit(X, data.y), lambda fitted: fitted.predict_proba(X)
    )


CASES = {"numbers": _steps, "categories": lambda data: _steps(data, "all")}
