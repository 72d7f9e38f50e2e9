"""The time of `tb.tune` and of the default `tb.fit`, beside LightGBM with its defaults, on one thread.

    python -m bench.tune_cost [NAME ...] [--repeats 3]

Made-up tables of 10,000 rows (numbers, mixed with gaps, categories) and real ones. Seconds are those of the processor,
the least of several runs that take turns. LightGBM gets columns of text as categories; making them is not counted.
"""

import os

os.environ |= {"TALLYBAYES_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier

import tallybayes as tb
from bench.quality import TABLES, text_columns
from bench.work import categories, mixed, numbers

ROWS = 10_000
SHAPES = [(columns, classes) for columns in (8, 20) for classes in (2, 4, 8)]
KINDS = {"numbers": numbers, "mixed": mixed, "categories": categories}
REAL = ("credit_card_default", "acs_employment", "optdigits", "wine_quality", "credit_approval", "minneapolis_stops")


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A table and its labels, by a name like "mixed 20x4" or that of a real one."""
    kind, _, shape = name.partition(" ")
    if kind in KINDS:
        n_columns, n_classes = map(int, shape.split("x"))
        X, y = KINDS[kind](np.random.default_rng(0), ROWS, n_classes, n_columns)
        frame = pd.DataFrame(X) if isinstance(X, np.ndarray) else X
        return frame.set_axis([f"x{j}" for j in range(n_columns)], axis=1), y
    frame = pd.read_parquet(TABLES / f"{name}.parquet")
    return frame, frame.pop("label").to_numpy()


def seconds(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The least processor time of each of several pieces of work, which take turns."""
    least = dict.fromkeys(works, float("inf"))
    for _ in range(repeats):
        for what, work in works.items():
            began = time.process_time()
            work()
            least[what] = min(least[what], time.process_time() - began)
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[f"{k} {a}x{b}" for k in KINDS for a, b in SHAPES] + [*REAL])
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")
    print(
        f"{'ms':24s} {'LightGBM':>9s} {'plain':>7s} {'default':>8s} {'tune':>7s} {'def/plain':>10s} {'tune/LGBM':>10s}"
    )
    for name in asked.names:
        frame, label = table(name)
        coded = frame.astype(dict.fromkeys(text_columns(frame), "category"))
        works: dict[str, Callable[[], object]] = {
            "LightGBM": lambda: LGBMClassifier(n_jobs=1, verbose=-1).fit(coded, label),  # noqa: B023 - called at once
            "plain": lambda: tb.fit(frame, label=label, column_weights=None),  # noqa: B023
            "default": lambda: tb.fit(frame, label=label),  # noqa: B023
            "tune": lambda: tb.tune(frame, label=label),  # noqa: B023
        }
        theirs, plain, default, tuned = (1e3 * own for own in seconds(works, asked.repeats).values())
        figures = (
            f"{theirs:9.0f} {plain:7.1f} {default:8.1f} {tuned:7.0f} {default / plain:10.1f} {tuned / theirs:10.2f}"
        )
        print(f"{name:24s} {figures}", flush=True)


if __name__ == "__main__":
    main()
