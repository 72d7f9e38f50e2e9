"""Accuracy and log loss of tallybayes beside scikit-learn's naive Bayes recipes, on nine real tables.

    python -m bench.accuracy [--repeats 10] [NAME ...]

Every repeat is a stratified split, two thirds to learn from and one third to be judged by, the same for everybody.
Ours are two commands as a new user would type them, `tally fit train.parquet --label COL` and `tally evaluate
train.tally test.parquet`, with nothing else told (but for columns that leak the label: `--ignore`).

Theirs are pipelines with the usual preprocessing, each applied to all tables, and they are told by hand what ours
finds out or does without: which columns are free text or identifiers that the recipes cannot use (left out on their
side only), which whole numbers of heart_disease are codes of categories, and which text is a set of tags.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, MinMaxScaler, OneHotEncoder, OrdinalEncoder

DATA = Path(__file__).parents[2] / "shared" / "data"
OURS = "tallybayes"
Scores = tuple[float, float]  # accuracy, log loss


@dataclass(frozen=True)
class Task:
    """A table and what to predict from it; `against` makes the label one value against the rest."""

    name: str
    label: str
    against: object = None
    leaks: tuple[str, ...] = ()  # taken from both sides
    text: tuple[str, ...] = ()  # of no use to scikit-learn's recipes
    codes: tuple[str, ...] = ()  # numbers that scikit-learn is told are categories
    tags: str | None = None

    def read(self) -> tuple[pd.DataFrame, pd.Series]:
        """The features that both sides are given, and the labels."""
        frame = pd.read_parquet(DATA / f"{self.name}.parquet").drop(columns=list(self.leaks))
        label = frame.pop(self.label)
        return frame, label if self.against is None else (label == self.against).rename(f"{self.label}={self.against}")

    def for_sklearn(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Numbers as reals, categories as text, gaps as NaN."""
        frame = frame.drop(columns=list(self.text))
        for name in frame:
            if name in self.codes or not pd.api.types.is_numeric_dtype(frame[name]):
                there = frame[name].notna()
                frame[name] = frame[name].astype(str).astype(object).where(there, np.nan)
            else:
                frame[name] = frame[name].astype(float)
        return frame


TASKS = [
    Task("adult", "class", leaks=("split",)),
    Task("titanic", "survived", leaks=("boat", "body"), text=("name", "ticket", "cabin")),
    Task("mushroom", "class"),
    Task("votes", "Class"),
    Task("penguins", "species"),
    Task("car", "class"),
    Task("german_credit", "class"),
    Task("heart_disease", "num", 0, codes=("sex", "cp", "fbs", "restecg", "exang", "slope", "thal")),
    Task("movie_body_count", "MPAA_Rating", "R", text=("Film",), tags="Genre"),
]


class Bins(TransformerMixin, BaseEstimator):
    """Quantile bins 1, 2, ... of every column, and 0 for a gap."""

    def __init__(self, n_bins: int = 10):
        self.n_bins = n_bins

    def fit(self, X: pd.DataFrame, y: object = None) -> "Bins":
        """Learn the bins of each column from the values that are there."""
        bins = KBinsDiscretizer(self.n_bins, encode="ordinal", quantile_method="averaged_inverted_cdf")
        self.bins_ = [clone(bins).fit(X[[name]].dropna()) for name in X]
        return self

    def transform(self, X: pd.DataFrame) -> np.ndarray:
        """Number the bins."""
        codes = [bins.transform(X[[name]].fillna(0.0))[:, 0] + 1 for name, bins in zip(X, self.bins_, strict=True)]
        return np.where(X.isna(), 0.0, np.column_stack(codes))


def missing_apart() -> SimpleImputer:
    return SimpleImputer(strategy="constant", fill_value="missing")


def one_hot() -> Pipeline:
    return make_pipeline(missing_apart(), OneHotEncoder(handle_unknown="ignore"))


def ordinal() -> Pipeline:
    """Codes 1, 2, ...; a category never seen is 0, which every column of CategoricalNB then has room for."""
    return make_pipeline(
        missing_apart(),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        FunctionTransformer(lambda codes: codes + 1),
    )


def recipe(model: BaseEstimator, numbers: object, categories: Pipeline) -> Callable[[Task, pd.DataFrame], Pipeline]:
    """A pipeline for any task: numbers and categories each prepared in their way, tags as one column per tag."""

    def build(task: Task, frame: pd.DataFrame) -> Pipeline:
        numeric = frame.select_dtypes("number").columns
        others = frame.columns.difference([*numeric, task.tags], sort=False)
        parts = [("numbers", numbers, numeric), ("categories", categories, others)]
        if task.tags:
            parts.append(("tags", CountVectorizer(token_pattern=r"[^|]+", lowercase=False, binary=True), task.tags))
        parts = [part for part in parts if len(part[2])]
        return make_pipeline(ColumnTransformer(parts, sparse_threshold=0), model)

    return build


def binned(n_bins: int) -> Pipeline:
    return make_pipeline(Bins(n_bins), OneHotEncoder(handle_unknown="ignore"))


def scaled() -> Pipeline:
    return make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler(clip=True))


RECIPES = {
    "GaussianNB": recipe(GaussianNB(), SimpleImputer(strategy="median"), one_hot()),
    "CategoricalNB, 10 bins": recipe(CategoricalNB(), Bins(10), ordinal()),
    "CategoricalNB, 5 bins": recipe(CategoricalNB(), Bins(5), ordinal()),
    "BernoulliNB, 10 bins": recipe(BernoulliNB(), binned(10), one_hot()),
    "BernoulliNB, 5 bins": recipe(BernoulliNB(), binned(5), one_hot()),
    "MultinomialNB": recipe(MultinomialNB(), scaled(), one_hot()),
    "ComplementNB": recipe(ComplementNB(), scaled(), one_hot()),
}


def judge(truth: pd.Series, probability: np.ndarray, classes: np.ndarray) -> Scores:
    """Accuracy and mean log loss."""
    right = classes[probability.argmax(axis=1)] == truth.to_numpy()
    return float(right.mean()), float(log_loss(truth, probability, labels=classes))


def ours(task: Task, train: np.ndarray, test: np.ndarray) -> Scores:
    frame = pd.read_parquet(DATA / f"{task.name}.parquet")
    label = task.label if task.against is None else f"{task.label}={task.against}"
    ignored = [word for name in task.leaks for word in ("--ignore", name)]
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in {"train": train, "test": test}.items():
            frame.iloc[rows].to_parquet(Path(folder) / f"{name}.parquet", index=False)
        _run(folder, "fit", "train.parquet", "--label", label, *ignored)
        judged = json.loads(_run(folder, "evaluate", "train.tally", "test.parquet", "--json"))
    return judged["accuracy"], judged["log_loss"]


def _run(folder: str, *words: str) -> str:
    command = [sys.executable, "-m", "tallybayes.cli.main", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def theirs(pipeline: Pipeline, frame: pd.DataFrame, label: pd.Series, train: np.ndarray, test: np.ndarray) -> Scores:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Bins whose width are too small")
        pipeline.fit(frame.iloc[train], label.iloc[train])
    return judge(label.iloc[test], pipeline.predict_proba(frame.iloc[test]), pipeline.classes_)


def compare(task: Task, repeats: int) -> dict[str, Scores]:
    """Mean scores over the repeats, by recipe."""
    frame, label = task.read()
    plain = task.for_sklearn(frame)
    scores: dict[str, list[Scores]] = {name: [] for name in [*RECIPES, OURS]}
    for repeat in range(repeats):
        split = train_test_split(np.arange(len(label)), test_size=1 / 3, stratify=label, random_state=repeat)
        for name, build in RECIPES.items():
            scores[name].append(theirs(build(task, plain), plain, label, *split))
        scores[OURS].append(ours(task, *split))
    return {name: tuple(np.mean(values, axis=0).tolist()) for name, values in scores.items()}


def table(title: str, rows: dict[str, list[float]], form: str) -> str:
    """Markdown, with the mean of every column below."""
    names = [*RECIPES, OURS]
    rows = rows | {"mean": np.mean(list(rows.values()), axis=0).tolist()}
    lines = [f"| {title} | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    return "\n".join(lines + [f"| {row} | {' | '.join(format(x, form) for x in rows[row])} |" for row in rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*(task.name for task in TASKS), []], default=[])
    parser.add_argument("--repeats", type=int, default=10)
    asked = parser.parse_args()
    results = {task.name: compare(task, asked.repeats) for task in TASKS if task.name in asked.names or not asked.names}
    for i, (title, form) in enumerate((("accuracy", ".2%"), ("log loss", ".3f"))):
        rows = {name: [scores[i] for scores in result.values()] for name, result in results.items()}
        print(table(title, rows, form), end="\n\n")
    mean = {name: float(np.mean([result[name][0] for result in results.values()])) for name in [*RECIPES, OURS]}
    best = max(RECIPES, key=mean.__getitem__)
    print(f"The best single recipe is {best} with a mean accuracy of {mean[best]:.2%}; {OURS} has {mean[OURS]:.2%}.")


if __name__ == "__main__":
    main()
