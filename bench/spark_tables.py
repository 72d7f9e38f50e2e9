"""Tables for `bench.spark`, written as Parquet files, chunk by chunk, so that memory does not grow with the rows."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = [f"x{i}" for i in range(10)]
CLASSES = np.array(["low", "middle", "high"])
ROWS_PER_FILE = 500_000


def write_numbers(folder: Path, rows: int) -> str:
    """Ten columns of doubles and a label of three words; the means of the columns differ by class."""
    rng = np.random.default_rng(0)
    return _write(folder, rows, lambda n: _numbers(rng, n))


def write_documents(folder: Path, rows: int, *, words: int = 50, vocabulary: int = 50_000) -> str:
    """Texts of `words` words each, whose frequencies follow Zipf's law, and a label of three words."""
    rng = np.random.default_rng(0)
    return _write(folder, rows, lambda n: _documents(rng, n, words, vocabulary))


def _write(folder: Path, rows: int, table: object) -> str:
    folder.mkdir(parents=True)
    for number, n in enumerate(_parts(rows)):
        pq.write_table(table(n), folder / f"part-{number:05}.parquet")  # type: ignore[operator]
    return str(folder)


def _parts(rows: int) -> Iterator[int]:
    """Sizes of the files: at least four, so that two cores have something to do."""
    size = min(ROWS_PER_FILE, -(-rows // 4))
    for start in range(0, rows, size):
        yield min(size, rows - start)


def _numbers(rng: np.random.Generator, n: int) -> pa.Table:
    codes = rng.integers(0, len(CLASSES), n)
    columns = {name: rng.normal(0.1 * i * codes, 1.0) for i, name in enumerate(COLUMNS)}
    return pa.table({**columns, "label": CLASSES[codes]})


def _documents(rng: np.random.Generator, n: int, words: int, vocabulary: int) -> pa.Table:
    codes = rng.integers(0, len(CLASSES), n)
    names = np.array([f"word{i}" for i in range(vocabulary)])
    ranks = np.minimum(rng.zipf(1.3, (n, words)), vocabulary) - 1
    shifted = np.where(rng.random((n, words)) < 0.1, (ranks + 100 * codes[:, None]) % vocabulary, ranks)
    return pa.table({"text": [" ".join(row) for row in names[shifted]], "label": CLASSES[codes]})
