"""Vowpal Wabbit: one pass of online logistic regression over texts."""

from typing import Any

import vowpalwabbit

from bench.steps import Steps, fit_and_score
from bench.work import Data

PACKAGE = "vowpalwabbit"
ONE_THREAD = True


def text(data: Data) -> Steps:
    n_classes = int(data.y.max()) + 1
    labelled = [f"{label + 1} |t {words}" for label, words in zip(data.y.tolist(), data.X, strict=True)]
    plain = [f"|t {words}" for words in data.X]

    def fit() -> Any:
        model = vowpalwabbit.Workspace(f"--oaa {n_classes} --probabilities --loss_function logistic --quiet -b 18")
        for line in labelled:
            model.learn(line)
        return model

    return fit_and_score(fit, lambda model: [model.predict(line) for line in plain])


CASES = {"text": text}
