"""`NaiveBayesClassifier()` on raw data frames beside scikit-learn's naive Bayes pipelines: accuracy, log loss, time.

    python -m bench.pipelines [--folds 10] [--runs 2] [NAME ...]

Cross-validation on nine data sets, stratified and shuffled with a fixed seed, the same folds for everybody. Every row
is judged once, by a model that did not learn from its fold. Ours has no parameters and no preprocessing: it gets the
frame as it was read. Theirs are the recipes of `bench.recipes` and four more that a demanding user knows: GaussianNB
on ordinal codes; MultinomialNB and ComplementNB on bins; GaussianNB for the numbers times CategoricalNB for the
categories, for which scikit-learn has no class.

Time is that of fit and predict_proba, summed over the folds, with one thread for everybody. Reading, splitting,
building the pipeline and, for the recipes, bringing the columns into the types they are quickest with are not in it.
Labels are whole numbers for both sides, since scikit-learn takes long to sort text. All of it is done `--runs` times:
scores must not change, and of the times the least counts. Who fails on a fold has failed on the data set.
"""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.utils.extmath import softmax
from threadpoolctl import threadpool_limits

from bench.accuracy import TASKS
from bench.recipes import OURS, RECIPES, binned, judge, median, one_hot, ordinal, recipe, table
from tallybayes import NaiveBayesClassifier

SEED = 0
MEASURES = {"accuracy": (".2%", max), "log loss": (".3f", min), "seconds": (".3f", min)}
Scores = tuple[float, float, float]  # in this order; NaN for who failed

FILES = {task.name: task for task in TASKS if task.name in ("adult", "titanic", "mushroom", "votes", "german_credit")}
FILES["titanic"] = replace(FILES["titanic"], text=("name", "ticket", "cabin", "home.dest"))  # as ours finds by itself
LOADERS = {"wine": load_wine, "iris": load_iris, "digits": load_digits, "breast_cancer": load_breast_cancer}


class Product(ClassifierMixin, BaseEstimator):
    """P(class | numbers) P(class | categories) / P(class): two naive Bayes models as one."""

    def __init__(self, parts: list[tuple[pd.Index, Pipeline]]):
        self.parts = parts

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "Product":
        """Fit each pipeline to its columns."""
        for names, pipeline in self.parts:
            pipeline.fit(X[names], y)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.log_prior_ = np.log(counts / len(y))
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """The product, normalised."""
        logs = [pipeline.predict_log_proba(X[names]) for names, pipeline in self.parts]
        return softmax(np.sum(logs, axis=0) - (len(logs) - 1) * self.log_prior_)


def product(frame: pd.DataFrame) -> BaseEstimator:
    """GaussianNB for the numbers times CategoricalNB for the categories; one of them, where there is only one kind."""
    numbers = frame.select_dtypes("number")
    kinds = {"GaussianNB": numbers, "CategoricalNB, 10 bins": frame.drop(columns=numbers.columns)}
    parts = [(part.columns, RECIPES[name](part)) for name, part in kinds.items() if part.shape[1]]
    return Product(parts) if len(parts) > 1 else parts[0][1]


MORE = {
    "GaussianNB, ordinal": recipe(GaussianNB(), "passthrough", ordinal(), fill=median()),
    "GaussianNB x CategoricalNB": product,
    "MultinomialNB, 10 bins": recipe(MultinomialNB(), binned(10), one_hot()),
    "ComplementNB, 10 bins": recipe(ComplementNB(), binned(10), one_hot()),
}
THEIRS = dict(sorted((RECIPES | MORE).items()))
NAMES = [*THEIRS, OURS]


def read(name: str) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """The frame as ours gets it, the frame as the recipes get it, and the labels as 0, 1, ..."""
    if name in LOADERS:
        data = LOADERS[name](as_frame=True)
        return data.data, data.data, data.target.to_numpy()
    frame, label = FILES[name].read()
    return frame, FILES[name].for_sklearn(frame), pd.factorize(label, sort=True)[0]


def contestants(name: str) -> Iterator[tuple[str, pd.DataFrame, Callable[[], BaseEstimator]]]:
    """Everybody's name, frame and way to make a classifier."""
    raw, plain, _ = read(name)
    for their, build in THEIRS.items():
        yield their, plain, partial(build, plain)
    yield OURS, raw, NaiveBayesClassifier


def timed(model: BaseEstimator, train: pd.DataFrame, label: np.ndarray, test: pd.DataFrame) -> tuple[np.ndarray, float]:
    """Probabilities for the rows of the test, and the seconds it took to learn and to tell them."""
    start = time.perf_counter()
    probability = model.fit(train, label).predict_proba(test)
    return probability, time.perf_counter() - start


def crossed(make: Callable[[], BaseEstimator], frame: pd.DataFrame, label: np.ndarray, folds: int) -> Scores:
    """Cross-validated scores of one contestant."""
    splits = StratifiedKFold(folds, shuffle=True, random_state=SEED).split(frame, label)
    classes = np.unique(label)
    probability, seconds = np.empty((len(label), len(classes))), 0.0
    for train, test in splits:
        probability[test], took = timed(make(), frame.iloc[train], label[train], frame.iloc[test])
        seconds += took
    return *judge(label, probability, classes), seconds


def compare(name: str, folds: int, runs: int) -> dict[str, Scores]:
    """Scores by contestant, with the least of the times."""
    label = read(name)[2]
    scores: dict[str, list[Scores]] = {who: [] for who in NAMES}
    for _ in range(runs):
        for who, frame, make in contestants(name):
            try:
                scores[who].append(crossed(make, frame, label, folds))
            except Exception as error:
                print(f"{who} fails on {name}: {error}", file=sys.stderr)
                scores[who].append((np.nan,) * 3)
    for who, found in scores.items():
        same = all(np.array_equal(one[:2], found[0][:2], equal_nan=True) for one in found)
        assert same, f"{who} on {name}: scores change from run to run: {found}"
    return {who: min(found, key=lambda one: one[2]) for who, found in scores.items()}


def verdict(results: dict[str, dict[str, Scores]]) -> Iterator[str]:
    """The mean of ours beside that of the best recipe, over the data sets that everybody got through."""
    whole = [result for result in results.values() if not np.isnan(list(result.values())).any()]
    for i, (measure, (form, best)) in enumerate(MEASURES.items()):
        mean = {who: float(np.mean([result[who][i] for result in whole])) for who in NAMES}
        first = best(THEIRS, key=mean.__getitem__)
        yield f"Mean {measure}: {OURS} {mean[OURS]:{form}}; the best recipe, {first}, {mean[first]:{form}}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*FILES, *LOADERS, []], default=[])
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--runs", type=int, default=2)
    asked = parser.parse_args()
    os.environ["TALLYBAYES_THREADS"] = "1"
    warnings.filterwarnings("ignore", message="Bins whose width are too small|Feature .* is constant")
    with threadpool_limits(1):
        results = {name: compare(name, asked.folds, asked.runs) for name in asked.names or [*FILES, *LOADERS]}
    for i, (title, (form, best)) in enumerate(MEASURES.items()):
        rows = {name: [scores[i] for scores in result.values()] for name, result in results.items()}
        print(table(title, NAMES, rows, form, best), end="\n\n")
    print("\n".join(verdict(results)))


if __name__ == "__main__":
    main()
