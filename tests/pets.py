"""A table of pets in memory and in a file of every format, and files with given content, for the tests of reading."""

import sqlite3
import tempfile
import zipfile
from pathlib import Path

import duckdb
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyreadstat

from tallybayes.io.read import read

N = 400
KINDS = ["csv", "tsv", "jsonl", "json", "parquet", "duckdb", "sqlite", "xlsx", "feather", "arrow", "arff", "zip"]
STATISTICS = ["dta", "sav", "zsav", "xpt"]


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
    elif kind == "xlsx":
        write_workbook(path, {"pets": [list(COLUMNS), *zip(*COLUMNS.values(), strict=True)]})
    elif kind == "feather":
        pyarrow.feather.write_feather(TABLE, path)
    elif kind == "arrow":
        with pa.OSFile(str(path), "wb") as target, pa.ipc.new_stream(target, TABLE.schema) as stream:
            stream.write_table(TABLE, max_chunksize=100)
    elif kind == "arff":
        path.write_text(arff(), encoding="utf-8")
    elif kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(write_table(path.with_suffix(".inner.csv"), "csv"), "folder/pets.csv")
            archive.writestr("__MACOSX/folder/._pets.csv", b"\x00\x05")
    elif kind in STATISTICS:
        write = {"dta": "dta", "xpt": "xport"}.get(kind, "sav")
        frame = TABLE.to_pandas().assign(member=[float(one) for one in COLUMNS["member"]])
        getattr(pyreadstat, f"write_{write}")(frame, path, **({"compress": True} if kind == "zsav" else {}))
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


def write_workbook(path, sheets):
    """A workbook with rows of cells by the name of the sheet."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


def arff():
    """The table as ARFF: every second row is sparse."""
    kinds = {"age": "INTEGER", "income": "real", "city": "string", "member": "{false,true}", "likes": "string"}
    kinds["pet"] = "{cat, 'dog'}"
    lines = ["% pets", "@RELATION pets", "", *(f"@attribute {name} {kind}" for name, kind in kinds.items()), "@DATA"]
    for i, row in enumerate(zip(*COLUMNS.values(), strict=True)):
        cells = ["?" if cell is None else str(cell).lower() if isinstance(cell, bool) else cell for cell in row]
        quoted = [f"'{cell}'" if isinstance(cell, str) and cell != "?" else str(cell) for cell in cells]
        pairs = (f"{j} {cell}" for j, cell in enumerate(quoted) if cell not in ("false", "'cat'"))
        lines += ["% a comment", "{" + ", ".join(pairs) + "}" if i % 2 else " , ".join(quoted)]
    return "\n".join(lines)


def file_with(data, name="a.csv"):
    """A new file with these bytes."""
    path = Path(tempfile.mkdtemp()) / name
    path.write_bytes(data)
    return path


def csv_file(text, stored_as="utf-8", **options):
    """A new CSV file with this text, as a source."""
    return read(file_with(text.encode(stored_as)), **options)
