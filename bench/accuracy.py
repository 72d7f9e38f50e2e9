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
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline

from bench.recipes import OURS, RECIPES, judge, table

DATA = Path(__file__).parents[2] / "shared" / "data"
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
    return judge(label.iloc[test].to_numpy(), pipeline.predict_proba(frame.iloc[test]), pipeline.classes_)


def compare(task: Task, repeats: int) -> dict[str, Scores]:
    """Mean scores over the repeats, by recipe."""
    frame, label = task.read()
    plain = task.for_sklearn(frame)
    scores: dict[str, list[Scores]] = {name: [] for name in [*RECIPES, OURS]}
    for repeat in range(repeats):
        split = train_test_split(np.arange(len(label)), test_size=1 / 3, stratify=label, random_state=repeat)
        for name, build in RECIPES.items():
            scores[name].append(theirs(build(plain, task.tags), plain, label, *split))
        scores[OURS].append(ours(task, *split))
    return {name: tuple(np.mean(values, axis=0).tolist()) for name, values in scores.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*(task.name for task in TASKS), []], default=[])
    parser.add_argument("--repeats", type=int, default=10)
    asked = parser.parse_args()
    results = {task.name: compare(task, asked.repeats) for task in TASKS if task.name in asked.names or not asked.names}
    for i, (title, form) in enumerate((("accuracy", ".2%"), ("log loss", ".3f"))):
        rows = {name: [scores[i] for scores in result.values()] for name, result in results.items()}
        print(table(title, [*RECIPES, OURS], rows, form), end="\n\n")
    mean = {name: float(np.mean([result[name][0] for result in results.values()])) for name in [*RECIPES, OURS]}
    best = max(RECIPES, key=mean.__getitem__)
    print(f"The best single recipe is {best} with a mean accuracy of {mean[best]:.2%}; {OURS} has {mean[OURS]:.2%}.")


if __name__ == "__main__":
    main()
