"""wnb: Gaussian and categorical columns."""

from typing import Any

from wnb import Distribution, GeneralNB

from bench.steps import Steps, fit_and_score
from bench.work import Data

PACKAGE = "wnb"
ONE_THREAD = True


def _steps(data: Data, kind: Any) -> Steps:
    return fit_and_score(
        lambda: GeneralNB(distributions=[kind] * data.X.shape[1]).fit(data.X, data.y),
        lambda fitted: fitted.predict_proba(data.X),
    )


CASES = {
    "numbers": lambda data: _steps(data, Distribution.NORMAL),
    "categories": lambda data: _steps(data, Distribution.CATEGORICAL),
}
