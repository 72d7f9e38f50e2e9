"""Any table in: every format gives the same model; what is odd in a file is found, told or refused with its place."""

import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.data.files import read
from tallybayes.data.source import Source
from tallybayes.errors import DataError, FileError, ParameterError, TallyError

rng = np.random.default_rng(0)
N = 400
ROWS = {
    "age": rng.integers(18, 90, N).tolist(),
    "income": [None if rng.random() < 0.1 else round(float(x), 2) for x in rng.normal(1000, 250, N)],
    "city": [["Ulm", "Köln", "Bonn, Rhein", 'the "Hague"', None][i] for i in rng.integers(0, 5, N)],
    "member": [bool(b) for b in rng.integers(0, 2, N)],
    "likes": [["a|b", "b", "c|a", None][i] for i in rng.integers(0, 4, N)],
    "pet": [["cat", "dog"][i] for i in rng.integers(0, 2, N)],
}
TABLE = pa.table(ROWS)
WHOLE = tb.fit(TABLE, label="pet")


def write(path, kind):
    con = duckdb.connect()
    con.register("t", TABLE)
    if kind == "duckdb":
        other = duckdb.connect(str(path))
        other.register("t", TABLE)
        other.execute("CREATE TABLE pets AS SELECT * FROM t")
        other.close()
    elif kind == "sqlite":
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE pets (age INTEGER, income REAL, city TEXT, member INTEGER, likes TEXT, pet TEXT)")
        other.executemany("INSERT INTO pets VALUES (?, ?, ?, ?, ?, ?)", list(zip(*ROWS.values(), strict=True)))
        other.commit()
    else:
        options = {
            "csv": "FORMAT csv, HEADER",
            "tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
            "jsonl": "FORMAT json",
            "json": "FORMAT json, ARRAY true",
            "parquet": "FORMAT parquet",
        }[kind]
        con.execute(f"COPY t TO '{path}' ({options})")
    return path


KINDS = ["csv", "tsv", "jsonl", "json", "parquet", "duckdb", "sqlite"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    return {kind: write(folder / f"pets.{kind}", kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_gives_the_model_of_the_table(files, kind):
    model = tb.fit(str(files[kind]), label="pet")
    assert model == WHOLE
    assert {name: str(family) for name, family in model.schema.families.items()} == {
        "age": "histogram",
        "income": "histogram",
        "city": "categorical",
        "member": "bernoulli",
        "likes": "tags",
    }
    assert model.predict_proba(files[kind]).tolist() == WHOLE.predict_proba(TABLE).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_reads_every_other_format(files, kind):
    """What a model is learned from does not tie it to a format: its own types are asked for."""
    for fitted in ("csv", "parquet"):
        model = tb.fit(files[fitted], label="pet")
        assert model.predict(files[kind]).tolist() == WHOLE.predict(TABLE).tolist()
        change = model.forget(files[kind])
        assert change.rows == N
        assert model.classes == []


def test_compressed_files_are_read(files, tmp_path):
    content = files["csv"].read_bytes()
    lines = files["jsonl"].read_bytes()
    for name, pack in {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}.items():
        for path, data in ((tmp_path / f"a.csv.{name}", content), (tmp_path / f"a.jsonl.{name}", lines)):
            path.write_bytes(pack(data))
            assert tb.fit(path, label="pet") == WHOLE
    with pa.output_stream(str(tmp_path / "a.csv.zst"), compression="zstd") as out:
        out.write(content)
    assert tb.fit(tmp_path / "a.csv.zst", label="pet") == WHOLE
    (tmp_path / "unnamed").write_bytes(gzip.compress(content))  # told by its bytes
    assert tb.fit(tmp_path / "unnamed", label="pet") == WHOLE


def test_files_globs_and_queries(files, tmp_path):
    half = N // 2
    for i, part in enumerate((TABLE.slice(0, half), TABLE.slice(half))):
        pa.parquet.write_table(part, tmp_path / f"part{i}.parquet")
    assert tb.fit(str(tmp_path / "part*.parquet"), label="pet") == WHOLE
    assert tb.fit([tmp_path / "part1.parquet", tmp_path / "part0.parquet"], label="pet") == WHOLE
    query = f"SELECT * FROM '{files['parquet']}' WHERE age < 50"
    assert tb.fit(query, label="pet") == tb.fit(TABLE.filter(pc.field("age") < 50), label="pet")
    assert tb.fit(read(files["duckdb"], table="SELECT * FROM pets"), label="pet") == WHOLE
    assert tb.fit(read(files["sqlite"], table="pets"), label="pet") == WHOLE
    with pytest.raises(FileError, match=r"a table of the database \(pets\), got 'pest'\nhint: did you mean 'pets'"):
        tb.fit(read(files["sqlite"], table="pest"), label="pet")
    with pytest.raises(DataError, match=r"the query cannot be run.*agee"):
        tb.fit(f"SELECT agee FROM '{files['parquet']}'", label="pet")
    with pytest.raises(FileError, match=r"got 'nothing\.csv'"):
        tb.fit("nothing.csv", label="pet")
    with pytest.raises(FileError, match=r"expected a file, got 'a folder'"):
        tb.fit(tmp_path, label="pet")


def test_a_column_that_one_file_lacks_is_missing_there(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,p\n2,q\n")
    (tmp_path / "b.csv").write_text("y,z\np,red\nq,blue\n")
    model = tb.fit([tmp_path / "a.csv", tmp_path / "b.csv"], label="y")
    assert model == tb.fit(
        [{"x": 1, "y": "p"}, {"x": 2, "y": "q"}, {"z": "red", "y": "p"}, {"z": "blue", "y": "q"}], "y"
    )


def test_standard_input(files):
    code = "import tallybayes as tb; print(tb.fit('-', label='pet').class_counts)"
    for kind in ("csv", "jsonl", "parquet"):
        with open(files[kind], "rb") as file:
            done = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str(WHOLE.class_counts)


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
        assert model == tb.fit(TABLE, label="pet", families={"city": "categorical"}), name
        assert model.predict_proba(stream()).tolist() == WHOLE.predict_proba(TABLE).tolist(), name
    stream = read(iter(batches))
    assert isinstance(stream, Source)
    tb.fit(stream, label="pet")
    with pytest.raises(DataError, match="only once"):
        tb.fit(stream, label="pet")


def test_errors_in_streams_count_rows_on():
    rows = [{"x": 1.0, "y": "a"}] * 10
    parts = [rows, rows, [{"x": 1.0, "y": "a"}, {"x": float("inf"), "y": "b"}]]
    with pytest.raises(DataError, match=r"column 'x', row 21: wanted a finite number"):
        tb.fit(iter(parts), label="y")


# What is found out about a file of text


def pets(text, in_="utf-8", **how):
    return read(io_path(text.encode(in_)), **how)


def io_path(data, name="a.csv"):
    import tempfile
    from pathlib import Path

    path = Path(tempfile.mkdtemp()) / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter):
    text = "name,size,y\nA,1.5,p\nB,2.5,q\nC,,p\n".replace(",", delimiter)
    assert list(pets(text).head().columns) == ["name", "size", "y"]
    assert pets(text).head().columns["size"].to_pylist() == [1.5, 2.5, None]


def test_the_decimal_comma_is_found_and_can_be_told():
    text = "size;y\n1,5;p\n-2,25;q\n3;p\n"
    assert pets(text).head().columns["size"].to_pylist() == [1.5, -2.25, 3.0]
    expected = tb.fit({"size": [1.5, -2.25, 3.0], "y": ["p", "q", "p"]}, label="y")
    assert tb.fit(pets(text), label="y") == expected
    assert tb.fit(pets(text.replace(";", "|"), decimal=","), label="y") == expected
    quoted = 'size,y\n"1,5",p\n"-2,25",q\n3,p\n'
    assert tb.fit(pets(quoted, decimal=","), label="y") == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_the_encoding_is_found(encoding):
    model = tb.fit(pets("größe,y\nklein,café\ngroß,thé\nklein,café\n", encoding), label="y")
    assert model.classes == ["café", "thé"]
    assert list(model.schema.fields) == ["größe"]


def test_the_encoding_can_be_told():
    text = "a,y\nпривет,да\nмир,нет\n"
    for encoding in ("cp1251", "koi8-r", "utf-16-le"):
        assert tb.fit(pets(text, encoding, encoding=encoding), label="y").classes == ["да", "нет"]
    with pytest.raises(FileError, match="an encoding that Python knows, got 'klingon'"):
        tb.fit(read(io_path(b"a,y\n1,2\n"), encoding="klingon"), label="y")


def test_bytes_in_another_encoding_are_told_with_their_line():
    lines = ["a,y"] + ["plain,p"] * 20_000 + ["caf\xe9,q", "plain,p"]
    path = io_path("\n".join(lines).encode("latin-1"))
    with pytest.raises(DataError, match=r"a.csv, line 20002: the text is not in utf-8") as caught:
        tb.fit(path, label="y")
    assert "--encoding" in caught.value.hint
    assert tb.fit(read(path, encoding="latin-1"), label="y").class_counts == {"p": 20001, "q": 1}


def test_words_for_missing_values():
    text = "x,city,y\n1,Ulm,p\nNA,?,q\n,null,p\n4,Bonn,q\n"
    model = tb.fit(pets(text), label="y")
    assert model == tb.fit({"x": [1, None, None, 4], "city": ["Ulm", None, None, "Bonn"], "y": list("pqpq")}, label="y")
    text = "x,city,y\n1,NA,p\n-,Ulm,q\n-9,Bonn,p\n"
    model = tb.fit(pets(text, missing=["-", "-9"]), label="y")
    assert model == tb.fit({"x": [1, None, None], "city": ["NA", "Ulm", "Bonn"], "y": list("pqp")}, label="y")
    assert model.schema.missing == ("-", "-9")
    assert model.predict(pets("x,city\n-,Ulm\n")).tolist() == model.predict({"city": "Ulm"}).tolist()  # remembered


def test_what_looks_like_numbers_and_is_not():
    text = "zip,flag,when,y\n" + "".join(
        f"0{i},{'TRUE' if i % 2 else 'false'},2024-01-{i + 10},{'pq'[i % 2]}\n" for i in range(9)
    )
    model = tb.fit(pets(text), label="y")
    families = {name: (str(field.family), field.reason) for name, field in model.schema.fields.items()}
    assert families["zip"][0] == "categorical"
    assert families["flag"] == ("bernoulli", "yes or no")
    assert families["when"] == ("None", "dates and times have no family")


def test_a_file_without_header():
    model = tb.fit(pets("1,a\n2,b\n", header=False), label="x1")
    assert model == tb.fit({"x0": [1, 2], "x1": ["a", "b"]}, label="x1")


def test_columns_that_differ_in_case_and_odd_names():
    text = 'a,A,"x ""y"",\'z",label\n1,2,u,p\n3,4,v,q\n'
    source = pets(text)
    assert list(source.head().columns) == ["a", "A", 'x "y",\'z', "label"]
    assert tb.fit(source, label="label").class_counts == {"p": 1, "q": 1}
    with pytest.raises(DataError, match=r"a.csv, line 1: expected column names that differ, got 'a'"):
        pets("a,a\n1,2\n").head()


# Bad rows


BAD = "age,city,y\n1,Ulm,p\n2,Bonn,q\nabc,Ulm,p\n4,Ulm\n5,Bonn,q\ninf,Ulm,p\n7,Ulm,q\n"


def test_bad_rows_stop_with_file_line_column_and_value():
    cases = {
        "age,y\n1,p\n2,q\nabc,p\n": r"a.csv, line 4, column 'age': expected a number, got 'abc'",
        "age,y\n1,p\n2\n3,q\n": r"a.csv, line 3: expected 2 cells, got 1\nhint: the line is '2'",
        "age,y\n1,p\n2,q,r\n3,q\n": r"a.csv, line 3: expected 2 cells, got 3\nhint: the line is '2,q,r'",
        "age,y\n1,p\n2,q\n\n-inf,p\n": r"a.csv, line 5, column 'age': expected a finite number, got -inf",
        'age,note,y\n1,"two\nlines",p\n2,x,q\nabc,x,p\n': r"a.csv, line 5, column 'age': expected a number, got 'abc'",
    }
    for text, words in cases.items():
        with pytest.raises(DataError, match=words):
            tb.fit(pets(text), label="y")
    with pytest.raises(DataError, match=r"a.csv, line 3.*quote"):
        tb.fit(pets('age,y\n1,p\n2,"q\n3,r\n'), label="y")


def test_bad_rows_can_be_skipped_and_are_counted():
    source = pets(BAD, skip_bad=True)
    model = tb.fit(source, label="y")
    assert model == tb.fit({"age": [1, 2, 5, 7], "city": ["Ulm", "Bonn", "Bonn", "Ulm"], "y": list("pqqq")}, label="y")
    assert source.bad.count == 3
    assert sorted((error.line, error.column or "") for error in source.bad.examples) == [
        (4, "age"),
        (5, ""),
        (7, "age"),
    ]
    judged = tb.evaluate(model, pets(BAD, skip_bad=True))
    assert (judged.n_rows, judged.bad) == (4, 3)


def test_bad_rows_in_json_lines():
    good = [{"x": 1.5, "t": ["a"], "y": "p"}, {"x": 2.5, "t": ["b", "a"], "y": "q"}, {"x": 3, "t": [], "y": "p"}]
    lines = [json.dumps(row) for row in good]
    broken = [*lines[:1], "", '{"x": 2,', lines[1], "[1]", lines[2], '{"x": "abc", "y": "q"}']
    path = io_path("\n".join(broken).encode(), "a.jsonl")
    with pytest.raises(DataError, match=r"a.jsonl, line 3: expected a JSON object, got"):
        tb.fit(path, label="y")
    source = read(path, skip_bad=True)
    model = tb.fit(source, label="y", families={"x": "histogram"})
    assert source.bad.count == 3
    assert model == tb.fit(good, label="y", families={"x": "histogram"})
    path = io_path("\n".join([*lines * 20, '{"x": "abc", "y": "q"}']).encode(), "a.jsonl")
    with pytest.raises(DataError, match=r"a.jsonl, line 61, column 'x': expected a number, got 'abc'"):
        tb.fit(path, label="y", families={"x": "histogram"})


def test_bad_rows_in_memory_can_be_skipped_too():
    rows = {"x": [1.0, np.inf, 3.0, 4.0, -np.inf], "y": ["a", "a", "b", "b", "a"]}
    source = read(rows, skip_bad=True)
    assert tb.fit(source, label="y") == tb.fit({"x": [1.0, 3.0, 4.0], "y": ["a", "b", "b"]}, label="y")
    assert source.bad.count == 2
    assert [error.row for error in source.bad.examples] == [1, 4]


def test_an_update_that_fails_changes_nothing():
    model = tb.fit({"age": [1.0, 2.0], "city": ["Ulm", "Bonn"], "y": ["p", "q"]}, label="y")
    before = model.copy()
    text = "age,city,y\n" + "1,Ulm,p\n" * 300_000 + "abc,Ulm,p\n"
    with pytest.raises(DataError, match="line 300002, column 'age'"):
        model.learn(pets(text))
    assert model == before
    assert model.schema.fields == before.schema.fields


# Labels and schemas


def test_a_label_of_yes_and_no():
    for data in (TABLE, ROWS):
        model = tb.fit(data, label="pet=dog")
        assert model.classes == [False, True]
        assert model.class_counts[True] == WHOLE.class_counts["dog"]
        assert "pet" not in model.schema.fields
    model.learn(TABLE)
    assert model.class_counts[True] == 2 * WHOLE.class_counts["dog"]
    with pytest.raises(DataError, match=r"wanted a row with the value 'dgo'.*\n.*did you mean 'dog'"):
        tb.fit(TABLE, label="pet=dgo")
    assert tb.fit({"x": [1, 2, 3], "n": [0, 1, 2]}, label="n=0").class_counts == {False: 2, True: 1}


def test_a_schema_is_saved_edited_and_given_back(tmp_path, files):
    model = tb.fit(files["csv"], label="pet")
    model.schema.save(tmp_path / "schema.json")
    text = json.loads((tmp_path / "schema.json").read_text())
    text["columns"]["age"]["family"] = "gaussian:nu=3"
    text["columns"]["likes"]["family"] = None
    del text["columns"]["city"]
    (tmp_path / "schema.json").write_text(json.dumps(text))
    again = tb.fit(files["csv"], schema=tb.Schema.load(tmp_path / "schema.json"))
    assert {name: str(family) for name, family in again.schema.families.items()} == {
        "age": "gaussian:nu=3.0",
        "income": "histogram",
        "member": "bernoulli",
    }
    assert again.schema.fields["city"].reason == "not in the schema"
    for nonsense in (
        "[]",
        "{",
        '{"columns": 3}',
        '{"columns": {"a": {"family": "gausian"}}}',
        '{"columns": {}, "x": 1}',
    ):
        (tmp_path / "bad.json").write_text(nonsense)
        with pytest.raises(FileError, match=r"bad\.json: a schema cannot be read"):
            tb.Schema.load(tmp_path / "bad.json")


def test_only_and_ignore(files):
    model = tb.fit(files["csv"], label="pet", only=["age", "city"])
    assert list(model.schema.families) == ["age", "city"]
    assert list(tb.fit(files["csv"], label="pet", ignore=["age"]).schema.families) == [
        "city",
        "income",
        "likes",
        "member",
    ]
    with pytest.raises(ParameterError, match=r"got 'agee'\nhint: did you mean 'age'"):
        tb.fit(files["csv"], label="pet", only=["agee"])


# Laws


cell = st.one_of(
    st.none(), st.text(max_size=6), st.sampled_from(["NA", "?", "1.5", "007", "true", "a|b", "2024-01-01"])
)


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(cell, cell, st.sampled_from(["p", "q"])), min_size=1, max_size=8),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    skip=st.booleans(),
)
def test_any_csv_file_gives_a_model_or_a_clear_error(rows, delimiter, skip):
    import csv

    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerows([["a", "b", "y"], *rows])
    data = text.getvalue().encode("utf-8", "replace")
    try:
        model = tb.fit(read(io_path(data), skip_bad=skip), label="y")
    except TallyError:
        return
    assert sum(model.class_counts.values()) <= len(rows)
    p = model.predict_proba({"a": ["x"], "b": [None]}) if model.classes and not model.schema.families.get("a") else None
    assert p is None or np.isfinite(p).all()


@settings(max_examples=60)
@given(
    data=st.binary(max_size=200), name=st.sampled_from(["a.csv", "a.jsonl", "a.parquet", "a.duckdb", "a.sqlite", "a"])
)
def test_any_bytes_give_a_model_or_a_clear_error(data, name):
    path = io_path(data, name)
    try:
        tb.fit(path, label="y")
    except TallyError:
        return


@given(rows=st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "a|b", "b|a|a", " c |", "d"])), max_size=30))
def test_text_with_tags_is_what_lists_of_tags_are(rows):
    """Arrow text is split once per different text; that must not show, neither in sums nor in scores."""
    y = ["p", "q", "q"] * 10
    lists = [
        None if text is None else [p for p in dict.fromkeys(map(str.strip, text.split("|"))) if p] for text in rows
    ]
    a, b = ({"t": t, "y": y[: len(rows)]} for t in (pa.array(rows, pa.string()), lists))
    models = [tb.fit(data, label="y", families={"t": "tags"}) for data in (a, b)]
    assert models[0] == models[1]
    if rows:
        assert models[0].log_joint(a).tolist() == models[0].log_joint(b).tolist()
    many = {name: pa.array(list(values) * 40, pa.string()) for name, values in {"t": rows, "y": y[: len(rows)]}.items()}
    assert tb.fit(many, label="y", families={"t": "tags"}) == tb.fit(
        {k: v.to_pylist() for k, v in many.items()}, "y", families={"t": "tags"}
    )


def test_batches_do_not_show(files, monkeypatch):
    from tallybayes.data.formats import query

    monkeypatch.setattr(query, "_BATCH_ROWS", (1, 2048))  # DuckDB's smallest batch
    big = pa.concat_tables([TABLE] * 20)
    path = io_path(b"", "big.parquet")
    pa.parquet.write_table(big, path)
    assert len(list(read(path).batches())) > 1
    assert tb.fit(path, label="pet") == tb.fit(big, label="pet")


def test_a_byte_order_mark_is_no_part_of_a_name():
    assert list(read(io_path(codecs.BOM_UTF8 + b"a,y\n1,p\n")).head().columns) == ["a", "y"]


def test_progress_is_told(files):
    seen = []
    tb.fit(read(files["csv"], progress=lambda *what: seen.append(what)), label="pet")
    assert seen[-1][0] == N
    assert 0 < seen[-1][1] <= 1
    assert seen[-1][2] == files["csv"].stat().st_size


# What once went wrong


def test_signs_of_a_glob_in_a_file_name_are_signs(tmp_path):
    (tmp_path / "a[1].csv").write_text("x,y\n1,right\n2,right\n")
    (tmp_path / "a1.csv").write_text("x,y\n1,wrong\n")
    assert tb.fit(str(tmp_path / "a[1].csv"), label="y").classes == ["right"]


def test_zeros_and_ones_with_a_point_are_flags():
    same = tb.fit({"x": [0, 1, None, 1], "y": list("abab")}, label="y", families={"x": "bernoulli"})
    for words in ("0.0 1.0 NA 1.0", "0 1 NA 1", "false TRUE NA true", "no yes NA y"):
        text = "x,y\n" + "".join(f"{x},{y}\n" for x, y in zip(words.split(), "abab", strict=True))
        assert tb.fit(pets(text), label="y", families={"x": "bernoulli"}) == same
    with pytest.raises(DataError, match=r"line 3, column 'x': expected yes or no \(0, 1, true, false\), got 2"):
        tb.fit(pets("x,y\n0,a\n2,b\n"), label="y", families={"x": "bernoulli"})
    with pytest.raises(DataError, match="wanted yes or no"):
        tb.fit("SELECT 0.5 AS f, 'a' AS y", label="y", families={"f": "bernoulli"})


def test_whole_numbers_beyond_doubles_stay_apart():
    model = tb.fit({"x": [1.0, 2.0], "y": [2**60, 2**60 + 1]}, label="y")
    model.learn(pets(f"x,y\n1,{2**60 + 1}\n"))
    assert model.class_counts == {2**60: 1, 2**60 + 1: 2}


def test_a_model_meets_its_labels_and_categories_in_other_types():
    text = tb.fit(pets("k,y\n1,True\n2,False\n1,True\n"), label="y", families={"k": "categorical"})
    typed = pa.table({"k": [1, 2, 1], "y": [True, False, True]})
    path = io_path(b"", "typed.parquet")
    pa.parquet.write_table(typed, path)
    assert text.forget(path).rows == 3
    assert text.classes == []
    model = tb.fit(typed, label="y", families={"k": "categorical"})
    assert model.forget(pets("k,y\n1,True\n2,false\n1,true\n")).rows == 3
    with pytest.raises(DataError, match=r"a.csv, line 2, column 'k': expected number, as learned before, got 'x'"):
        tb.fit(typed, label="y", families={"k": "categorical"}).learn(pets("k,y\nx,true\n"))


def test_columns_without_values_at_first_are_decided_by_the_first_that_come(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + ",a\n" * 3)
    (tmp_path / "b.csv").write_text("x,y\n1.5,a\n2.5,b\n")
    assert str(tb.fit([tmp_path / "a.csv", tmp_path / "b.csv"], label="y").schema.families["x"]) == "histogram"
    late = pets("x,y\n" + ",a\n" * 25_000 + "1.5,b\n")
    assert str(tb.fit(late, label="y").schema.families["x"]) == "histogram"


def test_many_files_share_one_reader(tmp_path):
    for i in range(60):
        (tmp_path / f"{i:03}.csv").write_text(f"x,y\n{i},{'pq'[i % 2]}\n")
    assert tb.fit(str(tmp_path / "*.csv"), label="y").class_counts == {"p": 30, "q": 30}


def test_tokens_of_json_lists_keep_their_type():
    path = io_path(b'{"t": [1, 2], "y": "a"}\n{"t": [2, 3], "y": "b"}\n', "t.jsonl")
    assert tb.fit(path, label="y") == tb.fit([{"t": [1, 2], "y": "a"}, {"t": [2, 3], "y": "b"}], label="y")
    flags = io_path(b'{"x": 1, "y": true}\n{"x": 2, "y": false}\n', "f.jsonl")
    assert tb.fit(flags, label="y").classes == [False, True]


def test_lines_are_counted_as_duckdb_does():
    with pytest.raises(DataError, match=r"line 5, column 'x'"):
        tb.fit(pets("\n\nx,y\n1,a\nbad,b\n3,a\n4,b\n"), label="y")
    with pytest.raises(DataError, match=r"line 4, column 'x'"):
        tb.fit(pets("x,y\n1,a\n2,b,\nbad,b\n3,a\n"), label="y")


def test_bad_rows_among_many_are_found_quickly():
    rows = "".join(f"{'inf' if i % 500 == 7 else i},{'pq'[i % 2]}\n" for i in range(50_000))
    source = pets("x,y\n" + rows, skip_bad=True)
    tb.fit(source, label="y")
    assert source.bad.count == 100
    assert source.bad.examples[0].line == 9
    judged = tb.cross_validate(pets("x,y\n" + rows + "1,\n", skip_bad=True), label="y", folds=3)
    assert (judged.bad, judged.skipped, judged.n_rows) == (100, 1, 49_900)


def test_dealing_rows_to_folds_does_not_depend_on_batches():
    from tallybayes.data.label import Labels
    from tallybayes.evaluation.cross_validation import Deal

    codes = rng.integers(0, 2, 1000).astype(np.int32)
    whole, parts = Deal(7, 1), Deal(7, 1)

    def labels(part):
        return Labels(["p", "q"], part, np.bincount(part, minlength=2))

    pieces = [parts(labels(codes[i : i + 13])) for i in range(0, 1000, 13)]
    assert np.concatenate(pieces).tolist() == whole(labels(codes)).tolist()


def test_text_from_windows():
    assert tb.fit(pets("a,y\n“quoted”,p\n€,q\n", "cp1252"), label="y").class_counts == {"p": 1, "q": 1}


def test_queries_with_comments_and_parquet_with_odd_names(tmp_path):
    table = pa.table({"x": [1, 2], "X": [3, 4], "y": ["a", "b"]})
    path = tmp_path / "year=2020" / "d.parquet"
    path.parent.mkdir()
    pa.parquet.write_table(table, path)
    assert tb.fit(path, label="y") == tb.fit(table, label="y")
    assert tb.fit(f"SELECT y, 1 AS z FROM '{path}' -- all of it", label="y").class_counts == {"a": 1, "b": 1}


def test_lines_that_end_in_different_ways(tmp_path):
    (tmp_path / "mixed.csv").write_bytes(b'kind,message\nham,hello there\nspam,win money\r\nham,"a\rb"\nspam,x\r\n')
    model = tb.fit(tmp_path / "mixed.csv", label="kind", families={"message": "text"})
    assert model.class_counts == {"ham": 2, "spam": 2}


def test_cells_over_several_lines_in_a_large_file(tmp_path):
    """DuckDB reads parts of a large file side by side and then takes lines within quotes for rows."""
    text = "a mail, of some lines\nthat says nothing, really, but is long\n" * 20
    rows = [{"text": f"{text}{i}", "label": "ab"[i % 2]} for i in range(8000)]
    with (tmp_path / "mail.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["text", "label"])
        writer.writeheader()
        writer.writerows(rows)
    model = tb.fit(tmp_path / "mail.csv", label="label", families={"text": "text:counts,k=1"})
    assert model.class_counts == {"a": 4000, "b": 4000}
    assert model == tb.fit(rows, label="label", families={"text": "text:counts,k=1"})
