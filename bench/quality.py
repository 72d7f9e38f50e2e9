"""Predictive quality of tallybayes beside others, over many tables, on the same folds.

    python -m bench.quality [NAME ...] [--folds 5] [--tables FOLDER] [--systems plain,default] [--write]

Ours: `plain` (column_weights=None), `default` (no options) and `tuned` (`tb.tune`). Theirs: scikit-learn's naive
Bayes with usual preprocessing, logistic regression (scaled, one-hot), LightGBM and Khiops with their defaults; one
that is not installed is reported as absent. Every system gets the same frames with gaps; all use one thread, and
seconds are those of the processor. Log losses are capped at 20 nats per row. The tables are also reported in two
halves, every other one in the order of their names, so that a design can be chosen on one and judged on the other.
`--write` puts the tables and the picture into docs/.
"""

import os

os.environ |= {"TALLYBAYES_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import datetime
import importlib.util
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tallybayes as tb
from bench.recipes import RECIPES, median, missing_apart, one_hot

ROOT = Path(__file__).parents[1]
TABLES = ROOT.parent / "shared" / "data" / "tables"
COLOURS = ("#0072b2", "#999999")  # ours and theirs
BINS = 10  # of the expected calibration error of the answer
DRAWS = 20

Fitted = tuple[list, Callable[[pd.DataFrame], np.ndarray]]  # classes, and P(class | row) of a frame
System = Callable[[pd.DataFrame, np.ndarray], Fitted]


def ours(**options: object) -> System:
    def fit(frame: pd.DataFrame, label: np.ndarray) -> Fitted:
        model = tb.fit(frame, label=label, **options)
        return model.classes, model.predict_proba

    return fit


def tuned(frame: pd.DataFrame, label: np.ndarray) -> Fitted:
    model = tb.tune(frame, label=label).model
    return model.classes, model.predict_proba


def scikit_learn(make: Callable[[pd.DataFrame], object]) -> System:
    def fit(frame: pd.DataFrame, label: np.ndarray) -> Fitted:
        model = make(plain_types(frame)).fit(plain_types(frame), label)
        return list(model.classes_), lambda rows: model.predict_proba(plain_types(rows))

    return fit


def logistic(frame: pd.DataFrame) -> object:
    numbers, others = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    scaled, coded = make_pipeline(median(), StandardScaler()), make_pipeline(missing_apart(), one_hot())
    return make_pipeline(make_column_transformer((scaled, numbers), (coded, others)), LogisticRegression(max_iter=1000))


def lightgbm(frame: pd.DataFrame, label: np.ndarray) -> Fitted:
    from lightgbm import LGBMClassifier

    kinds = {name: pd.CategoricalDtype(frame[name].dropna().unique()) for name in text_columns(frame)}
    model = LGBMClassifier(n_jobs=1, verbose=-1).fit(frame.astype(kinds), label)
    return list(model.classes_), lambda rows: model.predict_proba(rows.astype(kinds))


def khiops(frame: pd.DataFrame, label: np.ndarray) -> Fitted:
    from khiops.sklearn import KhiopsClassifier

    model = KhiopsClassifier(n_trees=0).fit(frame, label)
    return list(model.classes_), model.predict_proba


def text_columns(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]


def plain_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as doubles and the rest as text, gaps as NaN."""
    texts = text_columns(frame)
    columns = {name: frame[name].astype(object) if name in texts else frame[name].astype(float) for name in frame}
    return pd.DataFrame({name: column.where(column.notna(), np.nan) for name, column in columns.items()})


SYSTEMS: dict[str, tuple[System, str]] = {
    "plain": (ours(column_weights=None), "tallybayes"),
    "default": (ours(), "tallybayes"),
    "tuned": (tuned, "tallybayes"),
    "GaussianNB": (scikit_learn(RECIPES["GaussianNB"]), "sklearn"),
    "CategoricalNB": (scikit_learn(RECIPES["CategoricalNB, 10 bins"]), "sklearn"),
    "logistic regression": (scikit_learn(logistic), "sklearn"),
    "LightGBM": (lightgbm, "lightgbm"),
    "Khiops": (khiops, "khiops"),
}


def calibration_error(top: np.ndarray, right: np.ndarray) -> float:
    """The expected calibration error of answers, given their probabilities and whether they are right."""
    number = np.minimum((top * BINS).astype(int), BINS - 1)
    return sum(abs((right - top)[number == b].sum()) for b in range(BINS)) / len(top)


def judged(system: System, frame: pd.DataFrame, label: np.ndarray, folds: int) -> list[float]:
    """Error, log loss and seconds in the mean over the folds, and the calibration error over all rows.

    Last, the calibration error that the same probabilities would have if they were right, which is not 0 for so few
    rows: the mean of draws of the answers.
    """
    results, tops, rights = [], [], []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(frame, label):
        began = time.process_time()
        classes, proba = system(frame.iloc[train].reset_index(drop=True), label[train])
        p = np.asarray(proba(frame.iloc[test].reset_index(drop=True)), np.float64)
        seconds = time.process_time() - began
        at = {one: i for i, one in enumerate(classes)}
        true = np.array([at[one] for one in label[test]])
        own, top, right = p[np.arange(len(p)), true], p.max(axis=1), p.argmax(axis=1) == true
        results.append([1 - right.mean(), -np.log(np.maximum(own, np.exp(-20))).mean(), seconds])
        tops.append(top)
        rights.append(right)
    top, rng = np.concatenate(tops), np.random.default_rng(0)
    best = np.mean([calibration_error(top, rng.random(len(top)) < top) for _ in range(DRAWS)])
    return [*np.mean(results, axis=0).tolist(), calibration_error(top, np.concatenate(rights)), float(best)]


def summary(results: dict[str, dict[str, list[float]]], systems: list[str]) -> str:
    """The means over the tables that every system has finished, mean ranks and wins by log loss, as Markdown."""
    whole = {name: own for name, own in results.items() if all(system in own for system in systems)}
    values = np.array([[own[system] for system in systems] for own in whole.values()])
    lines = [
        "| system | error | log loss | ECE | ECE if calibrated | seconds | rank, error | rank, log loss | wins |",
        "|---" * 9 + "|",
    ]
    ranks = values.argsort(axis=1).argsort(axis=1) + 1
    wins = np.bincount(values[:, :, 1].argmin(axis=1), minlength=len(systems))
    for i, system in enumerate(systems):
        error, loss, seconds, ece, best = values[:, i].mean(axis=0)
        rank_error, rank_loss = ranks[:, i, :2].mean(axis=0)
        figures = (
            f"{error:.4f} | {loss:.4f} | {ece:.4f} | {best:.4f} | {seconds:.3f} | {rank_error:.2f} | {rank_loss:.2f}"
        )
        lines.append(f"| {system} | {figures} | {wins[i]} |")
    return "\n".join([f"{len(whole)} tables", "", *lines])


def picture(results: dict[str, dict[str, list[float]]], systems: list[str]) -> None:
    """Mean log loss and error of every system."""
    import altair as alt

    whole = [own for own in results.values() if all(system in own for system in systems)]
    means = {system: np.mean([own[system] for own in whole], axis=0) for system in systems}
    data = pd.DataFrame([{"system": s, "mean error": m[0], "mean log loss": m[1]} for s, m in means.items()])

    def dots(measure: str, axis: alt.Axis | None) -> alt.LayerChart:
        base = alt.Chart(data).encode(
            x=alt.X(f"{measure}:Q").scale(type="log", domain=[data[measure].min() * 0.9, data[measure].max() * 1.3]),
            y=alt.Y("system:N", sort=systems, title=None, axis=axis),
        )
        ours = alt.condition(alt.FieldOneOfPredicate("system", ["plain", "default", "tuned"]), *map(alt.value, COLOURS))
        text = base.mark_text(align="left", dx=9).encode(text=alt.Text(f"{measure}:Q", format=".3f"))
        return (base.mark_circle(size=110, opacity=1).encode(color=ours) + text).properties(width=300, height=190)

    title = f"Mean of {len(whole)} tables; less is better"
    chart = alt.hconcat(dots("mean error", alt.Axis()), dots("mean log loss", None)).properties(title=title)
    chart.save(ROOT / "docs" / "quality.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--tables", type=Path, default=TABLES)
    parser.add_argument("--systems", default=",".join(SYSTEMS), type=lambda text: [s.strip() for s in text.split(",")])
    parser.add_argument("--write", action="store_true", help="write docs/quality.svg and bench/results/quality.json")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    absent = [s for s in asked.systems if s in SYSTEMS and importlib.util.find_spec(SYSTEMS[s][1]) is None]
    systems = [s for s in SYSTEMS if s in asked.systems and s not in absent]
    names = asked.names or sorted(path.stem for path in asked.tables.glob("*.parquet"))
    results: dict[str, dict[str, list[float]]] = {}
    for number, name in enumerate(names):
        frame = pd.read_parquet(asked.tables / f"{name}.parquet")
        label = frame.pop("label").to_numpy()
        results[name] = {}
        for system in systems:
            try:
                results[name][system] = judged(SYSTEMS[system][0], frame, label, asked.folds)
            except Exception as error:  # one system that fails on a table must not end the benchmark
                print(f"{name}: {system}: {type(error).__name__}: {error}")
        cells = ", ".join(f"{s} {own[0]:.3f}/{own[1]:.3f}" for s, own in results[name].items())
        print(f"{number + 1}/{len(names)} {name} {frame.shape}: {cells}", flush=True)
    print(f"\n{datetime.date.today()}, {asked.folds} folds; absent: {', '.join(absent) or 'none'}\n")
    for title, half in (("All", names), ("First half", names[::2]), ("Second half", names[1::2])):
        print(f"## {title}\n\n{summary({name: results[name] for name in half}, systems)}\n")
    if asked.write:
        picture(results, systems)
        (ROOT / "bench" / "results").mkdir(exist_ok=True)
        (ROOT / "bench" / "results" / "quality.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
