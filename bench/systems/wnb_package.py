"""wnb: Gaussian and categorical columns."""

from typing import Any

from wnb import Distribution, GeneralNB

from bench.work import Data

PACKAGE = "wnb"


def _steps(data: Data, kind: Any) -> dict[str, Any]:
    def make() -> Any:
        return GeneralNB(distributions=[kind] * data.X.shape[1])

    fitted = make().fit(data.X, data.y)
    return {"fit": lambda: make().fit(data.X, data.y), "predict_proba": lambda: fitted.predict_proba(data.X)}


CASES = {
    "numbers": lambda data: _steps(data, Distribution.NORMAL),
    "categories": lambda data: _steps(data, Distribution.CATEGORICAL),
}
