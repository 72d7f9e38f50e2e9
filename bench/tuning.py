"""Does tuning help on rows it has not seen? Tables split in folds; defaults and `tune` beside each other.

    python -m bench.tuning [NAME ...] [--folds 5] [--what column_weights]
    python -m bench.tuning --cost        # what leaving out and tuning cost, beside scoring

Every fold is tuned on its training rows alone; figures are means over the folds, on the rows kept apart.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

import tallybayes as tb

DATA = Path(__file__).parents[1].parent / "shared" / "data"
TABLES = {
    "adult": ("class", ["split"]),
    "german_credit": ("class", []),
    "heart_disease": ("num", []),
    "votes": ("Class", []),
    "titanic": ("survived", ["boat", "body"]),
    "mushroom": ("class", []),
    "car": ("class", []),
    "wine": ("class", []),
    "sms_spam": ("label", []),
}


def judged(name: str, folds: int, what: list[str]) -> tuple[np.ndarray, list[str]]:
    label, ignore = TABLES[name]
    frame = pd.read_parquet(DATA / f"{name}.parquet").drop(columns=ignore)
    rows, choices = [], []
    split = StratifiedKFold(folds, shuffle=True, random_state=0).split(frame, frame[label].astype(str))
    for train, test in split:
        plain = tb.evaluate(tb.fit(frame.iloc[train], label=label), frame.iloc[test])
        began = time.perf_counter()
        tuned = tb.tune(frame.iloc[train], label=label, **({"what": what} if what else {}))
        seconds = time.perf_counter() - began
        after = tb.evaluate(tuned.model, frame.iloc[test])
        rows.append([plain.log_loss, after.log_loss, 1 - plain.accuracy, 1 - after.accuracy, *tuned.log_loss, seconds])
        choices = [
            f"{step.name}: {step.choice[:70]}" for step in tuned.steps if step.choice not in ("unchanged", "all")
        ]
    return np.mean(rows, axis=0), choices


def best(work, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def cost() -> None:
    print("leave_one_out over predict_proba, the scorer derived")
    for name in ("adult", "mushroom", "sms_spam", "car"):
        label, ignore = TABLES[name]
        frame = pd.read_parquet(DATA / f"{name}.parquet").drop(columns=ignore)
        model = tb.fit(frame, label=label)
        model.leave_one_out(frame)
        score, left = best(lambda: model.predict_proba(frame)), best(lambda: model.leave_one_out(frame))  # noqa: B023
        print(f"{name:34s} {score * 1e3:8.1f} ms {left * 1e3:8.1f} ms {left / score:6.2f} x")
    rng = np.random.default_rng(0)
    for n_columns, n_classes in ((20, 2), (5, 2), (20, 10)):
        X, y = rng.normal(size=(100_000, n_columns)), rng.integers(0, n_classes, 100_000)
        for estimate in ("bayes", "mle"):
            model = tb.fit(X, label=y, families="gaussian", estimate=estimate)
            model.leave_one_out(X, label=y)
            score = best(lambda: model.predict_proba(X))  # noqa: B023
            left = best(lambda: model.leave_one_out(X, label=y))  # noqa: B023
            what = f"gaussian {estimate}, 100,000 x {n_columns}, {n_classes} classes"
            print(f"{what:34s} {score * 1e3:8.1f} ms {left * 1e3:8.1f} ms {left / score:6.2f} x")
    frame = pd.read_parquet(DATA / "adult.parquet").drop(columns="split")
    once = best(lambda: tb.fit(frame, label="class").predict_proba(frame))
    tb.tune(frame[:1000], label="class", strengths=3)
    for what in (["smoothing"], ["column_weights"], None):
        took = best(lambda: tb.tune(frame, label="class", **({"what": what} if what else {})), 3)  # noqa: B023
        told = "50 values of k" if what == ["smoothing"] else what[0] if what else "everything"
        print(f"tune adult, {told:22s} {once * 1e3:8.1f} ms {took * 1e3:8.1f} ms {took / once:6.1f} x fit and predict")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--what", action="append", default=[])
    parser.add_argument("--choices", action="store_true", help="what was chosen in the last fold")
    parser.add_argument("--cost", action="store_true", help="time instead of quality")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.cost:
        cost()
        return
    print("table          log loss: defaults   tuned  change    error: defaults  tuned   by leave-one-out     seconds")
    for name in given.names or TABLES:
        (before, after, wrong, tuned, inside, told, seconds), choices = judged(name, given.folds, given.what)
        print(
            f"{name:14s} {before:18.4f} {after:7.4f} {after / before - 1:+7.1%} {wrong:18.4f} {tuned:6.4f}"
            f"   {inside:.4f} -> {told:.4f} {seconds:9.2f}",
            flush=True,
        )
        for choice in choices if given.choices else ():
            print(f"    {choice}")


if __name__ == "__main__":
    main()
