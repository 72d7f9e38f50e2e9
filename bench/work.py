"""The pieces of work that all systems do on the same data: what is made up for each, by size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["WORKS", "Data", "Work", "made"]

COLUMNS = 20
COLOURS = np.array(["red", "green", "blue", "black", "white"])
WORDS = 30_000  # of the made-up language of texts, the frequency of a word is about 1 / its number
TEXT_WORDS = 120  # of a text, in the mean


@dataclass(frozen=True)
class Data:
    """Rows and labels, and what else a piece of work needs."""

    X: Any
    y: NDArray[Any]
    n_bytes: int  # that have to be read once
    folder: Path = field(default_factory=Path)
    threads: int = 1


@dataclass(frozen=True)
class Work:
    """A piece of work: what it is, how its data is made, and how many rows and classes it has unless told."""

    what: str
    make: Callable[[np.random.Generator, int, int, int], tuple[Any, NDArray[Any]]]
    rows: int = 1_000_000
    classes: int = 2
    in_files: bool = False


def numbers(rng: np.random.Generator, rows: int, classes: int, columns: int) -> tuple[Any, NDArray[Any]]:
    y = rng.integers(0, classes, rows)
    return rng.normal(size=(rows, columns)) + 0.1 * (y % 7)[:, None], y


def categories(rng: np.random.Generator, rows: int, classes: int, columns: int) -> tuple[Any, NDArray[Any]]:
    return rng.integers(0, 12, (rows, columns)).astype(np.int8), rng.integers(0, classes, rows)


def flags(rng: np.random.Generator, rows: int, classes: int, columns: int) -> tuple[Any, NDArray[Any]]:
    return (rng.random((rows, columns)) < 0.3).astype(float), rng.integers(0, classes, rows)


def counts(rng: np.random.Generator, rows: int, classes: int, columns: int) -> tuple[Any, NDArray[Any]]:
    import scipy.sparse as sp

    X = sp.csr_array(sp.random_array((rows, 50_000), density=0.002, format="csr", rng=rng))
    X.data = np.ceil(X.data * 3)
    return X, rng.integers(0, classes, rows)


def mixed(rng: np.random.Generator, rows: int, classes: int, columns: int) -> tuple[Any, NDArray[Any]]:
    import pandas as pd

    y = rng.integers(0, classes, rows)
    n = columns // 4
    frame: dict[str, Any] = {f"real{j}": rng.normal(size=rows) + 0.3 * y for j in range(n)}
    frame |= {f"age{j}": rng.integers(0, 80, rows).astype(float) for j in range(n)}
    frame |= {f"colour{j}": COLOURS[(rng.integers(0, 4, rows) + (y == j)) % 5].astype(object) for j in range(n)}
    frame |= {f"flag{j}": rng.random(rows) < 0.3 + 0.1 * (y == j) for j in range(columns - 3 * n)}
    for name, values in frame.items():
        if not name.startswith("flag"):
            values[rng.random(rows) < 0.05] = None if values.dtype == object else np.nan
    return pd.DataFrame(frame), y


def text(rng: np.random.Generator, rows: int, classes: int, columns: int) -> tuple[Any, NDArray[Any]]:
    y = rng.integers(0, classes, rows)
    names = np.array([f"w{number:05d}" for number in range(WORDS)], object)
    lengths = rng.poisson(TEXT_WORDS, rows) + 1
    drawn = np.minimum((WORDS ** rng.random(lengths.sum())).astype(np.int64), WORDS - 1)
    own = rng.random(len(drawn)) < 0.05  # words that the class prefers
    drawn[own] = (drawn[own] * 31 + np.repeat(y, lengths)[own] * 97) % WORDS
    words, ends = names[drawn], np.cumsum(lengths)
    return [" ".join(words[end - n : end]) for end, n in zip(ends, lengths, strict=True)], y


def rows_of_numbers(rng: np.random.Generator, rows: int, classes: int, columns: int) -> tuple[Any, NDArray[Any]]:
    X, y = numbers(rng, rows, classes, columns)
    return [dict(zip([f"x{j}" for j in range(columns)], row, strict=True)) for row in X.tolist()], y


WORKS = {
    "numbers": Work("dense numbers", numbers),
    "numbers20": Work("dense numbers, 20 classes", numbers, classes=20),
    "categories": Work("categories of 12 values, int8", categories),
    "flags": Work("flags as floats", flags),
    "counts": Work("sparse counts, 50,000 tokens, 20 classes", counts, rows=100_000, classes=20),
    "mixed": Work("mixed columns with gaps", mixed, rows=200_000),
    "text": Work("raw text, a list of str, 20 classes", text, rows=10_000, classes=20),
    "csv": Work("mixed columns, CSV end to end", mixed, rows=500_000, in_files=True),
    "parquet": Work("mixed columns, Parquet end to end", mixed, rows=500_000, in_files=True),
    "stream": Work("rows one at a time, as dicts", rows_of_numbers, rows=3_000),
    "tuned": Work("mixed columns, the best each system does by itself", mixed, rows=10_000),
    "left_out": Work("honest scores of all rows: leave-one-out, or 10-fold cross-validation", numbers, rows=100_000),
}


def made(name: str, folder: Path, *, rows: int, classes: int, columns: int = COLUMNS, threads: int = 1) -> Data:
    """The data of a piece of work: the same for every system."""
    X, y = WORKS[name].make(np.random.default_rng(0), rows, classes, columns)
    if not WORKS[name].in_files:
        return Data(X, y, _n_bytes(X), folder, threads)
    path = folder / f"{name}-{rows}-{classes}-{columns}.{name}"
    if not path.exists():
        frame = X.assign(label=np.array([f"class{c}" for c in range(classes)], object)[y])
        if name == "csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path)
    return Data(str(path), y, path.stat().st_size, folder, threads)


def _n_bytes(X: Any) -> int:
    if isinstance(X, np.ndarray):
        return X.nbytes
    if hasattr(X, "indptr"):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    if hasattr(X, "memory_usage"):
        return int(X.memory_usage(deep=False).sum())
    return sum(map(len, X)) if isinstance(X[0], str) else 8 * len(X) * len(X[0])
