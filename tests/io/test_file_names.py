"""File names are taken literally, whatever DuckDB, pyarrow or SQLite would make of them."""

import os

import pyarrow as pa
import pyarrow.parquet
import pytest

import tallybayes as tb
from pets import write_table
from tallybayes.errors import FileError

NAMES = [
    "~.csv",
    "a\\*b.csv",
    "a\\b.csv",
    "a[1].csv",
    "**.csv",
    "a?b.csv",
    "http:x.csv",
    "file:a.csv",
    "x'y.csv",
    "{a,b}.csv",
]


@pytest.mark.parametrize("name", NAMES)
def test_odd_names_of_text_files(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a1.csv").write_text("x,y\n1,wrong\n")
    (tmp_path / "\\.csv").write_text("x,y\n1,wrong\n")  # DuckDB finds no file by a pattern beside this one
    (tmp_path / name).write_text("x,y\n1,right\n2,right\n")
    for path in (name, str(tmp_path / name)):
        assert tb.fit(path, label="y").classes == ["right"]


@pytest.mark.parametrize("name", ["http:x.parquet", "~.parquet", "a[1].parquet", "s3:x.parquet"])
def test_odd_names_of_parquet_files(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pa.parquet.write_table(pa.table({"x": [1, 2], "y": ["right", "right"]}), tmp_path / "plain.parquet")
    os.rename("plain.parquet", name)
    assert tb.fit(name, label="y").classes == ["right"]


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_odd_names_of_databases(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (f"~.{kind}", f"http:x.{kind}", f"a?b#c%20.{kind}"):
        write_table(tmp_path / "plain", kind)
        os.rename("plain", name)
        assert tb.fit(name, label="pet").classes == ["cat", "dog"]


def test_a_name_that_is_not_text(tmp_path):
    path = os.fsencode(tmp_path) + b"/caf\xe9.csv"
    with open(path, "w") as file:
        file.write("x,y\n1,right\n")
    assert tb.fit(os.fsdecode(path), label="y").classes == ["right"]


def test_a_name_that_cannot_be_one():
    with pytest.raises(FileError, match="a file"):
        tb.fit("a\x00b.csv", label="y")
