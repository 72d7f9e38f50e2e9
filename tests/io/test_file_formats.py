"""Every file format, compression, stream and batch size gives the model of the same table in memory."""

import bz2
import gzip
import lzma
import subprocess
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet
import pytest

import tallybayes as tb
from pets import KINDS, TABLE, N, csv_file, file_with
from tallybayes.errors import DataError, FileError
from tallybayes.io.read import read
from tallybayes.tables.source import Source

IN_MEMORY = tb.fit(TABLE, label="pet")


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_gives_the_model_of_the_table(files, kind):
    model = tb.fit(str(files[kind]), label="pet")
    assert model.same_counts(IN_MEMORY)
    assert {name: str(family) for name, family in model.schema.families.items()} == {
        "age": "histogram",
        "income": "histogram",
        "city": "categorical",
        "member": "bernoulli",
        "likes": "tags",
    }
    assert model.predict_proba(files[kind]).tolist() == IN_MEMORY.predict_proba(TABLE).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_reads_every_other_format(files, kind):
    """What a model is learned from does not tie it to a format: its own types are asked for."""
    for fitted in ("csv", "parquet"):
        model = tb.fit(files[fitted], label="pet")
        assert model.predict(files[kind]).tolist() == IN_MEMORY.predict(TABLE).tolist()
        change = model.forget(files[kind])
        assert change.rows == N
        assert model.classes == []


def test_compressed_files_are_read(files, tmp_path):
    content = files["csv"].read_bytes()
    lines = files["jsonl"].read_bytes()
    for name, pack in {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}.items():
        for path, data in ((tmp_path / f"a.csv.{name}", content), (tmp_path / f"a.jsonl.{name}", lines)):
            path.write_bytes(pack(data))
            assert tb.fit(path, label="pet").same_counts(IN_MEMORY)
    with pa.output_stream(str(tmp_path / "a.csv.zst"), compression="zstd") as out:
        out.write(content)
    assert tb.fit(tmp_path / "a.csv.zst", label="pet").same_counts(IN_MEMORY)
    (tmp_path / "unnamed").write_bytes(gzip.compress(content))  # told by its bytes
    assert tb.fit(tmp_path / "unnamed", label="pet").same_counts(IN_MEMORY)


def test_files_globs_and_queries(files, tmp_path):
    half = N // 2
    for i, part in enumerate((TABLE.slice(0, half), TABLE.slice(half))):
        pa.parquet.write_table(part, tmp_path / f"part{i}.parquet")
    assert tb.fit(str(tmp_path / "part*.parquet"), label="pet").same_counts(IN_MEMORY)
    assert tb.fit([tmp_path / "part1.parquet", tmp_path / "part0.parquet"], label="pet").same_counts(IN_MEMORY)
    query = f"SELECT * FROM '{files['parquet']}' WHERE age < 50"
    assert tb.fit(query, label="pet").same_counts(tb.fit(TABLE.filter(pc.field("age") < 50), label="pet"))
    assert tb.fit(read(files["duckdb"], table="SELECT * FROM pets"), label="pet").same_counts(IN_MEMORY)
    assert tb.fit(read(files["sqlite"], table="pets"), label="pet").same_counts(IN_MEMORY)
    with pytest.raises(FileError, match=r"a table of the database \(pets\), got 'pest'\nhint: did you mean 'pets'"):
        tb.fit(read(files["sqlite"], table="pest"), label="pet")
    with pytest.raises(DataError, match=r"the query cannot be run.*agee"):
        tb.fit(f"SELECT agee FROM '{files['parquet']}'", label="pet")
    with pytest.raises(FileError, match=r"got 'nothing\.csv'"):
        tb.fit("nothing.csv", label="pet")
    with pytest.raises(FileError, match=r"expected a file, got a folder"):
        tb.fit(tmp_path, label="pet")


def test_a_column_that_one_file_lacks_is_missing_there(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,p\n2,q\n")
    (tmp_path / "b.csv").write_text("y,z\np,red\nq,blue\n")
    model = tb.fit([tmp_path / "a.csv", tmp_path / "b.csv"], label="y")
    assert model.same_counts(
        tb.fit([{"x": 1, "y": "p"}, {"x": 2, "y": "q"}, {"z": "red", "y": "p"}, {"z": "blue", "y": "q"}], "y")
    )


@pytest.mark.slow
def test_standard_input(files):
    code = "import tallybayes as tb; print(tb.fit('-', label='pet').class_counts)"
    for kind in ("csv", "jsonl", "parquet"):
        with open(files[kind], "rb") as file:
            done = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str(IN_MEMORY.class_counts)


def test_streams_of_every_kind():
    batches = TABLE.to_batches(max_chunksize=30)
    relation = duckdb.connect()
    relation.register("t", TABLE)
    streams = {
        "reader": lambda: pa.RecordBatchReader.from_batches(TABLE.schema, batches),
        "dataset": lambda: pa.dataset.dataset(TABLE),
        "lazy frame": lambda: pl.from_arrow(TABLE).lazy(),
        "relation": lambda: relation.sql("SELECT * FROM t"),
        "batches": lambda: iter(batches),
        "frames": lambda: (pl.from_arrow(batch) for batch in batches),
        "rows": lambda: iter(TABLE.to_pylist()),
    }
    for name, stream in streams.items():
        model = tb.fit(stream(), label="pet", families={"city": "categorical"})
        assert model.same_counts(tb.fit(TABLE, label="pet", families={"city": "categorical"})), name
        assert model.predict_proba(stream()).tolist() == IN_MEMORY.predict_proba(TABLE).tolist(), name
    stream = read(iter(batches))
    assert isinstance(stream, Source)
    tb.fit(stream, label="pet")
    with pytest.raises(DataError, match="only once"):
        tb.fit(stream, label="pet")


def test_errors_in_streams_count_rows_on():
    rows = [{"x": 1.0, "y": "a"}] * 10
    parts = [rows, rows, [{"x": 1.0, "y": "a"}, {"x": float("inf"), "y": "b"}]]
    with pytest.raises(DataError, match=r"column 'x', row 21: expected a finite number"):
        tb.fit(iter(parts), label="y")


def test_batches_do_not_show(files, monkeypatch):
    from tallybayes.io.formats import duckdb_format

    monkeypatch.setattr(duckdb_format, "_BATCH_ROWS", (1, 2048))  # DuckDB's smallest batch
    big = pa.concat_tables([TABLE] * 20)
    path = file_with(b"", "big.parquet")
    pa.parquet.write_table(big, path)
    assert len(list(read(path).batches())) > 1
    assert tb.fit(path, label="pet").same_counts(tb.fit(big, label="pet"))


def test_progress_is_told(files):
    seen = []
    tb.fit(read(files["csv"], progress=lambda *what: seen.append(what)), label="pet")
    assert seen[-1][0] == N
    assert 0 < seen[-1][1] <= 1
    assert seen[-1][2] == files["csv"].stat().st_size


def test_many_files_share_one_reader(tmp_path):
    for i in range(60):
        (tmp_path / f"{i:03}.csv").write_text(f"x,y\n{i},{'pq'[i % 2]}\n")
    assert tb.fit(str(tmp_path / "*.csv"), label="y").class_counts == {"p": 30, "q": 30}


def test_columns_without_values_at_first_are_decided_by_the_first_that_come(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + ",a\n" * 3)
    (tmp_path / "b.csv").write_text("x,y\n1.5,a\n2.5,b\n")
    assert str(tb.fit([tmp_path / "a.csv", tmp_path / "b.csv"], label="y").schema.families["x"]) == "histogram"
    late = csv_file("x,y\n" + ",a\n" * 25_000 + "1.5,b\n")
    assert str(tb.fit(late, label="y").schema.families["x"]) == "histogram"


def test_tokens_of_json_lists_keep_their_type():
    path = file_with(b'{"t": [1, 2], "y": "a"}\n{"t": [2, 3], "y": "b"}\n', "t.jsonl")
    assert tb.fit(path, label="y").same_counts(tb.fit([{"t": [1, 2], "y": "a"}, {"t": [2, 3], "y": "b"}], label="y"))
    flags = file_with(b'{"x": 1, "y": true}\n{"x": 2, "y": false}\n', "f.jsonl")
    assert tb.fit(flags, label="y").classes == [False, True]


def test_queries_with_comments_and_parquet_with_odd_names(tmp_path):
    table = pa.table({"x": [1, 2], "X": [3, 4], "y": ["a", "b"]})
    path = tmp_path / "year=2020" / "d.parquet"
    path.parent.mkdir()
    pa.parquet.write_table(table, path)
    assert tb.fit(path, label="y").same_counts(tb.fit(table, label="y"))
    assert tb.fit(f"SELECT y, 1 AS z FROM '{path}' -- all of it", label="y").class_counts == {"a": 1, "b": 1}


def test_a_model_meets_its_labels_and_categories_in_other_types():
    text = tb.fit(csv_file("k,y\n1,True\n2,False\n1,True\n"), label="y", families={"k": "categorical"})
    typed = pa.table({"k": [1, 2, 1], "y": [True, False, True]})
    path = file_with(b"", "typed.parquet")
    pa.parquet.write_table(typed, path)
    assert text.forget(path).rows == 3
    assert text.classes == []
    model = tb.fit(typed, label="y", families={"k": "categorical"})
    assert model.forget(csv_file("k,y\n1,True\n2,false\n1,true\n")).rows == 3
    with pytest.raises(DataError, match=r"a.csv, line 2, column 'k': expected number, as learned before, got 'x'"):
        tb.fit(typed, label="y", families={"k": "categorical"}).learn(csv_file("k,y\nx,true\n"))


def test_whole_numbers_beyond_doubles_stay_apart():
    model = tb.fit({"x": [1.0, 2.0], "y": [2**60, 2**60 + 1]}, label="y")
    model.learn(csv_file(f"x,y\n1,{2**60 + 1}\n"))
    assert model.class_counts == {2**60: 1, 2**60 + 1: 2}


def test_zeros_and_ones_with_a_point_are_flags():
    same = tb.fit({"x": [0, 1, None, 1], "y": list("abab")}, label="y", families={"x": "bernoulli"})
    for words in ("0.0 1.0 NA 1.0", "0 1 NA 1", "false TRUE NA true", "no yes NA y"):
        text = "x,y\n" + "".join(f"{x},{y}\n" for x, y in zip(words.split(), "abab", strict=True))
        assert tb.fit(csv_file(text), label="y", families={"x": "bernoulli"}).same_counts(same)
    with pytest.raises(DataError, match=r"line 3, column 'x': expected a boolean \(0, 1, true, false\), got 2"):
        tb.fit(csv_file("x,y\n0,a\n2,b\n"), label="y", families={"x": "bernoulli"})
    with pytest.raises(DataError, match="expected a boolean"):
        tb.fit("SELECT 0.5 AS f, 'a' AS y", label="y", families={"f": "bernoulli"})
