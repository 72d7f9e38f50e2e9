"""Vowpal Wabbit: one pass of online logistic regression over texts."""

from typing import Any

import vowpalwabbit

from bench.work import Data

PACKAGE = "vowpalwabbit"


def text(data: Data) -> dict[str, Any]:
    n_classes = int(data.y.max()) + 1
    labelled = [f"{label + 1} |t {words}" for label, words in zip(data.y.tolist(), data.X, strict=True)]
    plain = [f"|t {words}" for words in data.X]

    def fit() -> Any:
        model = vowpalwabbit.Workspace(f"--oaa {n_classes} --quiet -b 18")
        for line in labelled:
            model.learn(line)
        return model

    fitted = fit()
    return {"fit": fit, "predict_proba": lambda: [fitted.predict(line) for line in plain]}


CASES = {"text": text}
