"""A table of pets in memory and in a file of every format, and files with given content, for the tests of reading."""

import sqlite3
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from tallybayes.data.read import read

N = 400
KINDS = ["csv", "tsv", "jsonl", "json", "parquet", "duckdb", "sqlite"]


def _columns(rng):
    return {
        "age": rng.integers(18, 90, N).tolist(),
        "income": [None if rng.random() < 0.1 else round(float(x), 2) for x in rng.normal(1000, 250, N)],
        "city": [["Ulm", "Köln", "Bonn, Rhein", 'the "Hague"', None][i] for i in rng.integers(0, 5, N)],
        "member": [bool(b) for b in rng.integers(0, 2, N)],
        "likes": [["a|b", "b", "c|a", None][i] for i in rng.integers(0, 4, N)],
        "pet": [["cat", "dog"][i] for i in rng.integers(0, 2, N)],
    }


COLUMNS = _columns(np.random.default_rng(0))
TABLE = pa.table(COLUMNS)


def write_table(path, kind):
    """The table in a file of a format."""
    if kind == "duckdb":
        with duckdb.connect(str(path)) as database:
            database.register("t", TABLE)
            database.execute("CREATE TABLE pets AS SELECT * FROM t")
    elif kind == "sqlite":
        database = sqlite3.connect(path)
        database.execute(
            "CREATE TABLE pets (age INTEGER, income REAL, city TEXT, member INTEGER, likes TEXT, pet TEXT)"
        )
        database.executemany("INSERT INTO pets VALUES (?, ?, ?, ?, ?, ?)", list(zip(*COLUMNS.values(), strict=True)))
        database.commit()
        database.close()
    else:
        options = {
            "csv": "FORMAT csv, HEADER",
            "tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
            "jsonl": "FORMAT json",
            "json": "FORMAT json, ARRAY true",
            "parquet": "FORMAT parquet",
        }[kind]
        with duckdb.connect() as memory:
            memory.register("t", TABLE)
            memory.execute(f"COPY t TO '{path}' ({options})")
    return path


def file_with(data, name="a.csv"):
    """A new file with these bytes."""
    path = Path(tempfile.mkdtemp()) / name
    path.write_bytes(data)
    return path


def csv_file(text, stored_as="utf-8", **options):
    """A new CSV file with this text, as a source."""
    return read(file_with(text.encode(stored_as)), **options)
