"""Batches of 1, 10 and 100 rows, and tables of 10 to 1,000 rows: what a call costs where data is small, as in a server.

    python -m bench.small_batches [CASE ...] [--slower]

Every case has the same rows and labels for all systems: the peer (scikit-learn's class or pipeline; river for dicts),
`tallybayes.Model`, `NaiveBayesClassifier`, and the drop-in class where there is one. Times are microseconds of the
processor per call, the best of several turns; the ratio is the peer's time / ours: above 1 we are faster. `--slower`
shows only lines with a ratio below 1.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import sklearn.naive_bayes as theirs
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import tallybayes as tb
from bench.systems.sklearn_bayes import table_pipeline
from bench.work import categories, counts, flags, mixed, numbers, rows_of_numbers, text
from tallybayes import dropin

TRAINING, BATCHES, TABLES = 2_000, (1, 10, 100), (10, 100, 1_000)
TURNS, TURN_SECONDS = 5, 0.004

System = dict[str, Callable[..., Any]]  # by step: fit (X, y), learn (X, y), predict (X), predict_proba (X)


@dataclass(frozen=True)
class Case:
    """Rows in one form, and what each system makes of them; `peer` and `dropin` are made anew for every fit."""

    X: Any
    y: Any
    peer: Callable[[], Any]
    options: dict[str, Any] = field(default_factory=dict)  # of tallybayes
    dropin: Callable[[], Any] | None = None
    is_river: bool = False
    column: str | None = None  # the name of the only column of a model of texts


def cases(rows: int = TRAINING) -> dict[str, Callable[[], Case]]:
    """The cases by name; the data of each is made when it is asked for."""

    def of(make: Any, classes: int = 2) -> tuple[Any, Any]:
        return make(np.random.default_rng(0), rows, classes, 20)  # type: ignore[no-any-return]

    def array(make: Any, name: str, **options: Any) -> Case:
        return Case(*of(make), getattr(theirs, name), options, getattr(dropin, name))

    def frame(make: Any, name: str, **options: Any) -> Case:
        X, y = of(make)
        X = pd.DataFrame(X).add_prefix("x")
        return Case(X, y, getattr(theirs, name), options, getattr(dropin, name))

    def sparse() -> Case:
        X, y = counts(np.random.default_rng(0), rows, 20, 50_000)
        return Case(X, y, theirs.MultinomialNB, {"smoothing": 1.0}, dropin.MultinomialNB)

    def texts() -> Case:
        pipeline = lambda: make_pipeline(CountVectorizer(), theirs.MultinomialNB())  # noqa: E731
        return Case(*of(text, 20), pipeline, column="text")

    def dicts(make: Any, **options: Any) -> Case:
        from river.naive_bayes import GaussianNB

        return Case(*of(make), GaussianNB, options, is_river=True)

    gaussian = {"numeric": "gaussian", "smoothing": 1.0}
    return {
        "gaussian, array": lambda: array(numbers, "GaussianNB", **gaussian),
        "gaussian, frame": lambda: frame(numbers, "GaussianNB", **gaussian),
        "gaussian, dicts": lambda: dicts(rows_of_numbers, **gaussian),
        "histogram, array": lambda: array(numbers, "GaussianNB"),
        "histogram, frame": lambda: frame(numbers, "GaussianNB"),
        "histogram, dicts": lambda: dicts(rows_of_numbers),
        "categorical, array": lambda: array(categories, "CategoricalNB", families="categorical"),
        "categorical, frame": lambda: frame(categories, "CategoricalNB", families="categorical"),
        "bernoulli, array": lambda: array(flags, "BernoulliNB", families="bernoulli"),
        "bernoulli, frame": lambda: frame(flags, "BernoulliNB", families="bernoulli"),
        "mixed, frame": lambda: Case(*of(mixed), lambda: table_pipeline(theirs.GaussianNB())),
        "multinomial, CSR": sparse,
        "text, list": texts,
    }


def estimator(make: Callable[[], Any], X: Any, y: Any) -> System:
    """The steps of an estimator of scikit-learn."""
    one, learner = make().fit(X, y), make().fit(X, y)
    steps: System = {"predict": one.predict, "predict_proba": one.predict_proba}
    if hasattr(learner, "partial_fit"):
        classes = np.unique(y)
        learner = make().partial_fit(X, y, classes=classes)
        steps["learn"] = learner.partial_fit
    return steps | {"fit": lambda X, y: make().fit(X, y)}


def river_steps(make: Callable[[], Any], X: Any, y: Any) -> System:
    """The steps of a classifier of river, whose batches are data frames."""
    one, learner = make(), make()
    for model in (one, learner):
        model.learn_many(pd.DataFrame(X), pd.Series(y))
    return {
        "predict": lambda X: one.predict_many(pd.DataFrame(X)),
        "predict_proba": lambda X: one.predict_proba_many(pd.DataFrame(X)),
        "learn": lambda X, y: learner.learn_many(pd.DataFrame(X), pd.Series(y)),
        "fit": lambda X, y: make().learn_many(pd.DataFrame(X), pd.Series(y)),
    }


def model_steps(case: Case, X: Any, y: Any) -> System:
    """The steps of `tallybayes.Model`; column weights are for tables, not for a few rows."""
    options = case.options | {"column_weights": None}
    shaped = (lambda X: {case.column: X}) if case.column else (lambda X: X)
    one, learner = (tb.fit(shaped(X), y, **options) for _ in range(2))
    return {
        "predict": lambda X: one.predict(shaped(X)),
        "predict_proba": lambda X: one.predict_proba(shaped(X)),
        "learn": lambda X, y: learner.learn(shaped(X), label=y),
        "fit": lambda X, y: tb.fit(shaped(X), y, **options),
    }


def systems(case: Case) -> dict[str, System]:
    """The peer and ours, by name; all have learned the rows of the case."""
    X, y = case.X, case.y
    options = case.options | {"column_weights": None}
    found = {"peer": river_steps(case.peer, X, y) if case.is_river else estimator(case.peer, X, y)}
    found["Model"] = model_steps(case, X, y)
    if not case.is_river:
        found["NaiveBayesClassifier"] = estimator(lambda: tb.NaiveBayesClassifier(**options), X, y)
    if case.dropin is not None:
        found["drop-in"] = estimator(case.dropin, X, y)
    return found


def microseconds(works: list[Callable[[], Any]]) -> list[float]:
    """The processor time of each call, the best of several turns taken one after the other."""
    best, times = [np.inf] * len(works), []
    for work in works:
        work()
        start = time.process_time()
        work()
        times.append(max(1, int(TURN_SECONDS / max(time.process_time() - start, 1e-7))))
    for _ in range(TURNS):
        for i, (work, n) in enumerate(zip(works, times, strict=True)):
            start = time.process_time()
            for _ in range(n):
                work()
            best[i] = min(best[i], (time.process_time() - start) / n * 1e6)
    return best


def table_lines(names: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """A line for each case, step and number of rows: microseconds by system."""
    for name, make in cases().items():
        if names and not any(name.startswith(asked) for asked in names):
            continue
        case = make()
        all_steps = systems(case)
        for step in ("predict", "predict_proba", "learn", "fit"):
            here = {system: steps[step] for system, steps in all_steps.items() if step in steps}
            for rows in TABLES if step == "fit" else BATCHES:
                given = (case.X[:rows],) if step.startswith("predict") else (case.X[:rows], case.y[:rows])
                works = [lambda work=work, given=given: work(*given) for work in here.values()]
                times = dict(zip(here, microseconds(works), strict=True))
                yield {"case": name, "step": step, "rows": rows, "us": times}


def shown(line: dict[str, Any]) -> str:
    """A line of the table: times, and ratios behind ours."""
    peer = line["us"].get("peer")
    parts = [f"{line['case']:<20} {line['step']:<14}{line['rows']:>5}"]
    for system in ("peer", "Model", "NaiveBayesClassifier", "drop-in"):
        took = line["us"].get(system)
        text = "" if took is None else f"{took:.0f}"
        ratio = "" if took is None or peer is None or system == "peer" else f" {peer / took:.2f}x"
        parts.append(f"{text:>9}{ratio:>9}")
    return "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="the beginning of its name, such as gaussian")
    parser.add_argument("--slower", action="store_true", help="only what is slower than the peer")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    heads = "".join(f"{word:>18}" for word in ("peer, us", "Model, us", "estimator, us", "drop-in, us"))
    print(f"{'case':<20} {'step':<14}{'rows':>5}{heads}")
    for line in table_lines(asked.cases):
        ours = [took for system, took in line["us"].items() if system != "peer"]
        if not asked.slower or max(ours) > line["us"].get("peer", np.inf):
            print(shown(line), flush=True)


if __name__ == "__main__":
    main()
