"""Time tallybayes and its peers on the same data in the same run, and print the ratios.

    python -m bench [--rows 1000000] [--repeats 3] [NAME ...]

Each pair is timed alternately, the best of the repeats counts, and the ratio is theirs / ours: above 1 we are
faster. A benchmark is never a test: nothing fails when a number is small.
"""

import argparse
import gc
import platform
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import tallybayes as tb
from tallybayes import kernels

Pair = tuple[str, Callable[[], object], Callable[[], object], float, float]  # name, theirs, ours, at least, aim


def gaussian(n: int) -> Iterator[Pair]:
    from sklearn.naive_bayes import GaussianNB

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    y, y20 = rng.integers(0, 2, n), rng.integers(0, 20, n)
    theirs, ours = GaussianNB().fit(X, y), tb.fit(X, y, numeric="gaussian", weights=None)
    yield (
        "gaussian fit, 2 classes",
        lambda: GaussianNB().fit(X, y),
        lambda: tb.fit(X, y, numeric="gaussian", weights=None),
        10,
        18,
    )
    yield ("gaussian predict_proba, 2 classes", lambda: theirs.predict_proba(X), lambda: ours.predict_proba(X), 8, 20)
    theirs20, ours20 = GaussianNB().fit(X, y20), tb.fit(X, y20, numeric="gaussian", weights=None)
    yield (
        "gaussian predict_proba, 20 classes",
        lambda: theirs20.predict_proba(X),
        lambda: ours20.predict_proba(X),
        40,
        150,
    )


def histogram(n: int) -> Iterator[Pair]:
    from sklearn.naive_bayes import GaussianNB

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 20)), rng.integers(0, 2, n)
    theirs, ours = GaussianNB().fit(X, y), tb.fit(X, y, weights=None)
    yield "histogram fit (GaussianNB)", lambda: GaussianNB().fit(X, y), lambda: tb.fit(X, y, weights=None), 4, 8
    yield (
        "histogram predict_proba (GaussianNB)",
        lambda: theirs.predict_proba(X),
        lambda: ours.predict_proba(X),
        8,
        20,
    )
    yield (
        "histogram derive + predict_proba (GaussianNB)",
        lambda: theirs.predict_proba(X),
        lambda: ours.copy().predict_proba(X),
        8,
        20,
    )


def categorical(n: int) -> Iterator[Pair]:
    from sklearn.naive_bayes import CategoricalNB

    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 12, (n, 20)).astype(np.int8), rng.integers(0, 2, n)
    theirs, ours = CategoricalNB().fit(X, y), tb.fit(X, y, families="categorical", weights=None)
    yield (
        "categorical fit, 12 values",
        lambda: CategoricalNB().fit(X, y),
        lambda: tb.fit(X, y, families="categorical", weights=None),
        25,
        60,
    )
    yield "categorical predict_proba", lambda: theirs.predict_proba(X), lambda: ours.predict_proba(X), 15, 40


def bernoulli(n: int) -> Iterator[Pair]:
    from sklearn.naive_bayes import BernoulliNB

    rng = np.random.default_rng(0)
    X, y = (rng.random((n, 20)) < 0.3).astype(float), rng.integers(0, 2, n)
    theirs, ours = BernoulliNB().fit(X, y), tb.fit(X, y, families="bernoulli", weights=None)
    yield (
        "bernoulli fit, dense float",
        lambda: BernoulliNB().fit(X, y),
        lambda: tb.fit(X, y, families="bernoulli", weights=None),
        20,
        40,
    )
    yield "bernoulli predict_proba", lambda: theirs.predict_proba(X), lambda: ours.predict_proba(X), 10, 25


def multinomial(n: int) -> Iterator[Pair]:
    from sklearn.naive_bayes import MultinomialNB

    rng = np.random.default_rng(0)
    rows = n // 10
    X = sp.random_array((rows, 50_000), density=0.002, format="csr", rng=rng)
    X.data = np.ceil(X.data * 3)
    y = rng.integers(0, 20, rows)
    theirs, ours = MultinomialNB().fit(X, y), tb.fit(X, y, smoothing=1.0, weights=None)
    yield (
        f"multinomial fit, CSR {rows} x 50000, {X.nnz / 1e6:.0f}M non-zeros, 20 classes",
        lambda: MultinomialNB().fit(X, y),
        lambda: tb.fit(X, y, smoothing=1.0, weights=None),
        5,
        15,
    )
    yield "multinomial predict_proba", lambda: theirs.predict_proba(X), lambda: ours.predict_proba(X), 5, 15


def single(n: int) -> Iterator[Pair]:
    from river.naive_bayes import GaussianNB
    from sklearn.naive_bayes import GaussianNB as Matrices

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2_000, 20)), rng.integers(0, 2, 2_000).tolist()
    rows = [dict(zip([f"x{j}" for j in range(20)], row, strict=True)) for row in X.tolist()]
    yield from stream("20 numbers", rows, y, GaussianNB(), (3, 6), (15, 40), (2, 3))
    colours, kinds = (
        np.array(["red", "green", "blue"])[rng.integers(0, 3, 2_000)],
        rng.integers(0, 9, 2_000).astype(str),
    )
    mixed = [
        {"a": a, "b": b, "colour": colour, "kind": kind, "flag": flag}
        for a, b, colour, kind, flag in zip(
            *X[:, :2].T.tolist(), colours.tolist(), kinds.tolist(), (X[:, 2] > 0).tolist(), strict=True
        )
    ]
    yield from stream("2 numbers, 2 texts, 1 flag", mixed, y, one_hot_river(), (10, 20), (10, 20), (2, 3))
    theirs, ours = Matrices().fit(X, y), tb.fit(X, y, numeric="gaussian", weights=None)
    yield (
        "score a matrix of one row, 300 times (scikit-learn)",
        lambda: [theirs.predict_proba(X[i : i + 1]) for i in range(300)],
        lambda: [ours.predict_proba(X[i : i + 1]) for i in range(300)],
        5,
        10,
    )


def one_hot_river() -> Any:
    """River has no naive Bayes for mixed rows: text becomes zeros and ones, then all are taken for bell-shaped."""
    from river import compose, naive_bayes, preprocessing

    numbers, texts = compose.SelectType((float, bool)), compose.SelectType(str) | preprocessing.OneHotEncoder()
    return (numbers + texts) | naive_bayes.GaussianNB()


def stream(what: str, rows: list[Any], y: list[Any], theirs: Any, *aims: tuple[float, float]) -> Iterator[Pair]:
    """Learn, score, and both alternately, one dict after the other."""
    ours = tb.fit(rows[:100], y[:100], numeric="gaussian", smoothing=1.0, weights=None)
    for row, label in zip(rows[:100], y[:100], strict=True):
        theirs.learn_one(row, label)

    def both_theirs() -> None:
        for row, label in zip(rows[:300], y, strict=False):
            theirs.predict_proba_one(row)
            theirs.learn_one(row, label)

    def both_ours() -> None:
        for row, label in zip(rows[:300], y, strict=False):
            ours.predict_proba(row)
            ours.learn_one(row, label)

    yield (
        f"learn rows of {what} (river)",
        lambda: [theirs.learn_one(*pair) for pair in zip(rows, y, strict=True)],
        lambda: [ours.learn_one(*pair) for pair in zip(rows, y, strict=True)],
        *aims[0],
    )
    yield (
        f"score rows of {what} (river)",
        lambda: [theirs.predict_proba_one(row) for row in rows[:300]],
        lambda: [ours.predict_proba(row) for row in rows[:300]],
        *aims[1],
    )
    yield f"score and learn rows of {what} (river)", both_theirs, both_ours, *aims[2]


BENCHMARKS = {f.__name__: f for f in (gaussian, histogram, categorical, bernoulli, multinomial, single)}


def best(work: Callable[[], object], repeats: int) -> float:
    """The shortest of several runs."""
    times = []
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], default=[])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {kernels.IMPLEMENTATION}")
    print(f"{'work':<72} {'theirs':>9} {'ours':>9} {'ratio':>7} {'at least':>9} {'aim':>5}")
    for name in asked.names or BENCHMARKS:
        for title, theirs, ours, at_least, aim in BENCHMARKS[name](asked.rows):
            ours()  # both warm
            a, b = best(theirs, max(1, asked.repeats - 1)), best(ours, asked.repeats)
            print(f"{title:<72} {a * 1e3:7.1f}ms {b * 1e3:7.2f}ms {a / b:6.1f}x {at_least:8}x {aim:4}x", flush=True)


if __name__ == "__main__":
    main()
