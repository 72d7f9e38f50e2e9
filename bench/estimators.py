"""Time the scikit-learn estimators beside scikit-learn's own and beside the core, in one run.

    python -m bench.estimators [--rows 1000000] [--repeats 5]

First the drop-ins and scikit-learn's classes on the same data (theirs / ours: above 1 we are faster), then what
`NaiveBayesClassifier` costs over `tallybayes.fit` and `Model.predict_proba` (ours / core: 1.15 is 15 % more), then the
prediction of a single row through each estimator, in microseconds.
"""

import argparse
import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import sklearn.naive_bayes as theirs

import tallybayes as tb
from tallybayes import dropin

Work = Callable[[], object]


def best(repeats: int, *works: Work) -> list[float]:
    """The shortest of several runs of each, taken in turns."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, own in zip(works, times, strict=True):
            gc.collect()
            start = time.perf_counter()
            work()
            own.append(time.perf_counter() - start)
    return [min(own) for own in times]


def again(work: Work, times: int = 200) -> None:
    for _ in range(times):
        work()


def tables(n: int) -> dict[str, tuple[Any, np.ndarray]]:
    """A table for each of scikit-learn's classes."""
    rng = np.random.default_rng(0)
    reals, y = rng.normal(size=(n, 20)), rng.integers(0, 2, n)
    bags = sp.random_array((n // 10, 50_000), density=0.002, format="csr", rng=rng)
    bags.data = np.ceil(bags.data * 3)
    y20 = rng.integers(0, 20, n // 10)
    return {
        "GaussianNB": (reals, y),
        "BernoulliNB": ((reals > 0.5).astype(float), y),
        "CategoricalNB": (rng.integers(0, 12, (n, 20)).astype(np.int8), y),
        "MultinomialNB": (bags, y20),
        "ComplementNB": (bags, y20),
        "MultinomialNB, tf-idf": (bags * 0.37, y20),
    }


def dropins(data: dict[str, tuple[Any, np.ndarray]], repeats: int) -> None:
    head("drop-in", "fit theirs", "ours", "ratio", "predict_proba", "ours", "ratio")
    for name, (X, y) in data.items():
        classes = [getattr(module, name.split(",")[0])() for module in (theirs, dropin)]
        a, b = best(repeats, *(partial(one.fit, X, y) for one in classes))
        c, d = best(repeats, *(partial(one.predict_proba, X) for one in classes))
        line(name, "ms", a * 1e3, b * 1e3, a / b, c * 1e3, d * 1e3, c / d)


def wrapper(data: dict[str, tuple[Any, np.ndarray]], repeats: int) -> None:
    families = {
        "GaussianNB": {"numeric": "gaussian"},
        "BernoulliNB": {"families": "bernoulli"},
        "CategoricalNB": {"families": "categorical"},
        "MultinomialNB": {"smoothing": 1.0},
    }
    cases = {name: (*data[name], options) for name, options in families.items()}
    reals, y = data["GaussianNB"]
    cases["histogram"] = (reals, y, {})
    cases["GaussianNB, data frame"] = (pd.DataFrame(reals).add_prefix("c"), y, {"numeric": "gaussian"})
    cases["GaussianNB, text labels"] = (reals, np.array(["ham", "spam"])[y], {"numeric": "gaussian"})
    head("NaiveBayesClassifier", "fit core", "ours", "ours/core", "predict_proba", "ours", "ours/core")
    for name, (X, labels, options) in cases.items():
        core, one = tb.fit(X, labels, **options), tb.NaiveBayesClassifier(**options).fit(X, labels)
        a, b = best(repeats, partial(tb.fit, X, labels, **options), partial(one.fit, X, labels))
        c, d = best(repeats, partial(core.predict_proba, X), partial(one.predict_proba, X))
        line(name, "ms", a * 1e3, b * 1e3, b / a, c * 1e3, d * 1e3, d / c)


def single(repeats: int) -> None:
    rng = np.random.default_rng(0)
    reals, y = rng.normal(size=(2000, 20)), rng.integers(0, 2, 2000)
    counts = np.abs(reals * 2).round()
    frame = pd.DataFrame(reals).add_prefix("c")
    head("one row", "predict theirs", "ours", "ratio", "predict_proba", "ours", "ratio")
    cases = [
        ("GaussianNB", "GaussianNB", reals, dropin.GaussianNB()),
        ("MultinomialNB", "MultinomialNB", counts, dropin.MultinomialNB()),
        ("MultinomialNB, CSR", "MultinomialNB", sp.csr_array(counts), dropin.MultinomialNB()),
        ("ComplementNB", "ComplementNB", counts, dropin.ComplementNB()),
        ("BernoulliNB", "BernoulliNB", counts, dropin.BernoulliNB()),
        ("CategoricalNB", "CategoricalNB", counts.astype(int), dropin.CategoricalNB()),
        ("GaussianNB, data frame", "GaussianNB", frame, dropin.GaussianNB()),
        ("NaiveBayesClassifier, histogram", "GaussianNB", reals, tb.NaiveBayesClassifier()),
        ("NaiveBayesClassifier, gaussian", "GaussianNB", reals, tb.NaiveBayesClassifier(numeric="gaussian")),
        ("NaiveBayesClassifier, bernoulli", "BernoulliNB", (counts > 0) * 1.0, tb.NaiveBayesClassifier()),
        (
            "NaiveBayesClassifier, categorical",
            "CategoricalNB",
            counts.astype(int),
            tb.NaiveBayesClassifier(families="categorical"),
        ),
        ("NaiveBayesClassifier, CSR", "MultinomialNB", sp.csr_array(counts), tb.NaiveBayesClassifier()),
        ("NaiveBayesClassifier, data frame", "GaussianNB", frame, tb.NaiveBayesClassifier()),
    ]
    for title, name, X, ours in cases:
        pair, row = (getattr(theirs, name)().fit(X, y), ours.fit(X, y)), X[:1]
        found = [
            seconds / 200 * 1e6
            for method in ("predict", "predict_proba")
            for seconds in best(repeats, *(partial(again, partial(getattr(one, method), row)) for one in pair))
        ]
        a, b, c, d = found
        line(title, "us", a, b, a / b, c, d, c / d)


def head(*words: str) -> None:
    print(f"\n{words[0]:<34}" + "".join(f" {word:>14}" for word in words[1:]))


def line(title: str, unit: str, *numbers: float) -> None:
    """Two times, their ratio, and the same again."""
    shown = [f"{n:.2f}" if i % 3 == 2 else f"{n:.1f} {unit}" for i, n in enumerate(numbers)]
    print(f"{title:<34}" + "".join(f" {text:>14}" for text in shown), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    data = tables(asked.rows)
    dropins(data, asked.repeats)
    wrapper(data, asked.repeats)
    single(asked.repeats)


if __name__ == "__main__":
    main()
