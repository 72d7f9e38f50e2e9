"""LightGBM, gradient-boosted trees, which many take for tables."""

from typing import Any

from lightgbm import LGBMClassifier

from bench.work import Data

PACKAGE = "lightgbm"


def _steps(data: Data) -> dict[str, Any]:
    frame = data.X
    if hasattr(frame, "select_dtypes"):
        words = frame.select_dtypes(include=["object", "string"]).columns
        frame = frame.astype(dict.fromkeys(words, "category"))

    def make() -> Any:
        return LGBMClassifier(verbose=-1, n_jobs=data.threads)

    fitted = make().fit(frame, data.y)
    return {"fit": lambda: make().fit(frame, data.y), "predict_proba": lambda: fitted.predict_proba(frame)}


CASES = {"numbers": _steps, "mixed": _steps, "tuned": lambda data: {"fit": _steps(data)["fit"]}}
