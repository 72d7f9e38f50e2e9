"""The pieces of work that all systems do on the same data: what is made up for each, by size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SIZES", "WORKS", "Data", "Work", "made"]

SIZES = ("rows", "columns", "classes", "threads")
COLOURS = np.array(["red", "green", "blue", "black", "white"])
TOKENS_OF_A_ROW = 100  # of sparse counts
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
    """A piece of work: what it is, how its data is made, and its usual size."""

    what: str
    make: Callable[[np.random.Generator, int, int, int], tuple[Any, NDArray[Any]]]
    rows: int = 1_000_000
    columns: int = 20
    classes: int = 2
    file: str | None = None  # the format of the file that holds the data

    def sizes(self, **given: int | None) -> dict[str, int]:
        """Rows, columns and classes: the usual ones unless given; texts have one column always."""
        columns = 1 if self.columns == 1 else given.get("columns") or self.columns
        return {
            "rows": given.get("rows") or self.rows,
            "columns": columns,
            "classes": given.get("classes") or self.classes,
        }


def numbers(rng: np.random.Generator, rows: int, classes: int, columns: int) -> tuple[Any, NDArray[Any]]:
    y = rng.integers(0, classes, rows)
    return rng.normal(size=(rows, columns)) + 0.1 * (y % 7)[:, None], y


def categories(rng: np.random.Generator, rows: int, classes: int, columns: int) -> tuple[Any, NDArray[Any]]:
    return rng.integers(0, 12, (rows, columns), np.int8), rng.integers(0, classes, rows)


def flags(rng: np.random.Generator, rows: int, classes: int, columns: int) -> tuple[Any, NDArray[Any]]:
    return (rng.random((rows, columns)) < 0.3).astype(float), rng.integers(0, classes, rows)


def counts(rng: np.random.Generator, rows: int, classes: int, columns: int) -> tuple[Any, NDArray[Any]]:
    import scipy.sparse as sp

    n = min(TOKENS_OF_A_ROW, max(1, columns // 2))
    tokens = np.sort(rng.integers(0, columns, (rows, n), np.int32), axis=1).ravel()
    amounts = rng.integers(1, 4, rows * n).astype(float)
    X = sp.csr_array((amounts, tokens, np.arange(0, rows * n + 1, n, dtype=np.int32)), shape=(rows, columns))
    X.sum_duplicates()
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
    "numbers20": Work("dense numbers", numbers, classes=20),
    "categories": Work("categories of 12 values, int8", categories),
    "flags": Work("flags as floats", flags),
    "counts": Work("sparse counts", counts, rows=100_000, columns=50_000, classes=20),
    "complement": Work("sparse counts, complement", counts, rows=100_000, columns=50_000, classes=20),
    "mixed": Work("mixed columns with gaps", mixed, rows=200_000),
    "default": Work("mixed columns with gaps, column weights", mixed, rows=200_000),
    "text_counts": Work("raw text, counts of words", text, rows=10_000, columns=1, classes=20),
    "text": Work("raw text, default options", text, rows=10_000, columns=1, classes=20),
    "csv": Work("mixed columns, from CSV", mixed, rows=500_000, file="csv"),
    "parquet": Work("mixed columns, from Parquet", mixed, rows=500_000, file="parquet"),
    "command": Work("mixed columns, commands, CSV to CSV", mixed, rows=500_000, file="csv"),
    "stream": Work("rows one at a time, as dicts", rows_of_numbers, rows=3_000),
    "tuned": Work("mixed columns, tuned", mixed, rows=10_000),
    "left_out": Work("numbers, leave-one-out or 10 folds", numbers, rows=100_000),
}


def made(name: str, folder: Path, *, rows: int, columns: int, classes: int, threads: int = 1) -> Data:
    """The data of a piece of work: the same for every system."""
    work = WORKS[name]
    path = folder / f"{work.make.__name__}-{rows}-{columns}-{classes}.{work.file}"
    X, y = work.make(np.random.default_rng(0), rows, classes, columns)
    if work.file is None:
        return Data(X, y, _n_bytes(X), folder, threads)
    if not path.exists():
        frame = X.assign(label=np.array([f"class{c}" for c in range(classes)], object)[y])
        if work.file == "csv":
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
    return sum(len(one.encode()) for one in X) if isinstance(X[0], str) else 8 * len(X) * len(X[0])
