"""LightGBM, gradient-boosted trees, which many take for tables."""

from lightgbm import LGBMClassifier

from bench.steps import Steps, fit_and_score
from bench.work import Data

PACKAGE = "lightgbm"


def _steps(data: Data) -> Steps:
    frame = data.X
    if hasattr(frame, "select_dtypes"):
        words = frame.select_dtypes(include=["object", "string"]).columns
        frame = frame.astype(dict.fromkeys(words, "category"))
    return fit_and_score(
        lambda: LGBMClassifier(verbose=-1, n_jobs=data.threads).fit(frame, data.y),
        lambda fitted: fitted.predict_proba(frame),
    )


CASES = {"numbers": _steps, "default": _steps, "tuned": lambda data: {"fit": _steps(data)["fit"]}}
