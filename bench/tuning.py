"""Does tuning help on rows it has not seen? Tables split in folds; defaults and `tune` beside each other.

    python -m bench.tuning [NAME ...] [--folds 5] [--what weights]

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
        choices = [f"{step.what}: {step.choice[:70]}" for step in tuned.steps if step.choice not in ("as it was", "all")]
    return np.mean(rows, axis=0), choices


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--what", action="append", default=[])
    parser.add_argument("--choices", action="store_true", help="what was chosen in the last fold")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
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
