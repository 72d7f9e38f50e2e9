"""Bad rows stop the reading with file, line, column and value, or are skipped and counted."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import tallybayes as tb
from pets import csv_file, file_with
from tallybayes.errors import DataError
from tallybayes.io.formats import delimited
from tallybayes.io.read import read

BAD = "age,city,y\n1,Ulm,p\n2,Bonn,q\n-inf,Ulm,p\n4,Ulm\n5,Bonn,q\ninf,Ulm,p\n7,Ulm,q\n"


def test_bad_rows_stop_with_file_line_column_and_value():
    cases = {
        "age,y\n" + "1.5,p\n" * 20 + '"2,5",p\n': (
            r"a.csv, line 22, column 'age': expected a number written like 1234.5, got '2,5'"
        ),
        "age,y\n1,p\n2\n3,q\n": r"a.csv, line 3: expected 2 cells, got 1\nhint: the line is '2'",
        "age,y\n1,p\n2,q,r\n3,q\n": r"a.csv, line 3: expected 2 cells, got 3\nhint: the line is '2,q,r'",
        "age,y\n1,p\n2,q\n\n-inf,p\n": r"a.csv, line 5, column 'age': expected a finite number, got -inf",
        'age,note,y\n1,"two\nlines",p\n2,x,q\ninf,x,p\n': (
            r"a.csv, line 5, column 'age': expected a finite number, got inf"
        ),
    }
    for text, words in cases.items():
        with pytest.raises(DataError, match=words):
            tb.fit(csv_file(text), label="y")
    with pytest.raises(DataError, match=r"a.csv, line 3.*quote"):
        tb.fit(csv_file('age,y\n1,p\n2,"q\n3,r\n'), label="y")


@pytest.mark.filterwarnings("ignore:(?s).* could not be read and w:tallybayes.errors.DataWarning")
def test_bad_rows_can_be_skipped_and_are_counted():
    source = csv_file(BAD, skip_bad=True)
    model = tb.fit(source, label="y")
    assert model.same_counts(
        tb.fit({"age": [1, 2, 5, 7], "city": ["Ulm", "Bonn", "Bonn", "Ulm"], "y": list("pqqq")}, label="y")
    )
    assert source.bad.count == 3
    assert sorted((error.line, error.column or "") for error in source.bad.examples) == [
        (4, "age"),
        (5, ""),
        (7, "age"),
    ]
    judged = tb.evaluate(model, csv_file(BAD, skip_bad=True))
    assert (judged.n_rows, judged.bad) == (4, 3)


@pytest.mark.filterwarnings("ignore:(?s).* could not be read and w:tallybayes.errors.DataWarning")
def test_bad_rows_in_json_lines():
    good = [{"x": 1.5, "t": ["a"], "y": "p"}, {"x": 2.5, "t": ["b", "a"], "y": "q"}, {"x": 3, "t": [], "y": "p"}]
    lines = [json.dumps(row) for row in good]
    broken = [*lines[:1], "", '{"x": 2,', lines[1], "[1]", lines[2], '{"x": "1,5", "y": "q"}']
    path = file_with("\n".join(broken).encode(), "a.jsonl")
    with pytest.raises(DataError, match=r"a.jsonl, line 3: expected a JSON object, got"):
        tb.fit(path, label="y")
    source = read(path, skip_bad=True)
    model = tb.fit(source, label="y", families={"x": "histogram"})
    assert source.bad.count == 3
    assert model.same_counts(tb.fit(good, label="y", families={"x": "histogram"}))
    path = file_with("\n".join([*lines * 20, '{"x": "1,5", "y": "q"}']).encode(), "a.jsonl")
    with pytest.raises(
        DataError, match=r"a.jsonl, line 61, column 'x': expected a number written like 1234.5, got '1,5'"
    ):
        tb.fit(path, label="y", families={"x": "histogram"})


@pytest.mark.filterwarnings("ignore:(?s).* could not be read and w:tallybayes.errors.DataWarning")
def test_bad_rows_in_memory_can_be_skipped_too():
    rows = {"x": [1.0, np.inf, 3.0, 4.0, -np.inf], "y": ["a", "a", "b", "b", "a"]}
    source = read(rows, skip_bad=True)
    assert tb.fit(source, label="y").same_counts(tb.fit({"x": [1.0, 3.0, 4.0], "y": ["a", "b", "b"]}, label="y"))
    assert source.bad.count == 2
    assert [error.row for error in source.bad.examples] == [1, 4]


def test_an_update_that_fails_changes_nothing():
    model = tb.fit({"age": [1.0, 2.0], "city": ["Ulm", "Bonn"], "y": ["p", "q"]}, label="y")
    before = model.copy()
    text = "age,city,y\n" + "1,Ulm,p\n" * 300_000 + '"1,5",Ulm,p\n'
    with pytest.raises(DataError, match="line 300002, column 'age'"):
        model.learn(csv_file(text))
    assert model == before
    assert model.schema.columns == before.schema.columns


def test_lines_are_counted_as_duckdb_does():
    with pytest.raises(DataError, match=r"line 5, column 'x'"):
        tb.fit(csv_file("\n\nx,y\n1,a\ninf,b\n3,a\n4,b\n"), label="y")
    with pytest.raises(DataError, match=r"line 4, column 'x'"):
        tb.fit(csv_file("x,y\n1,a\n2,b,\ninf,b\n3,a\n"), label="y")


@pytest.mark.filterwarnings("ignore:(?s).* could not be read and w:tallybayes.errors.DataWarning")
@pytest.mark.slow
def test_bad_rows_among_many_are_found_quickly():
    rows = "".join(f"{'inf' if i % 500 == 7 else i},{'pq'[i % 2]}\n" for i in range(50_000))
    source = csv_file("x,y\n" + rows, skip_bad=True)
    tb.fit(source, label="y")
    assert source.bad.count == 100
    assert source.bad.examples[0].line == 9
    judged = tb.cross_validate(csv_file("x,y\n" + rows + "1,\n", skip_bad=True), label="y", folds=3)
    assert (judged.bad, judged.skipped, judged.n_rows) == (100, 1, 49_900)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_fitting_a_file_without_rows_is_an_error(name, tmp_path):
    path = tmp_path / name
    if name == "a.csv":
        path.write_text("x,y\n")
    else:
        pyarrow.parquet.write_table(pa.table({"x": [1.0], "y": ["p"]})[:0], path)
    with pytest.raises(DataError, match=rf"{name}: expected rows to learn from, got 0\nhint: the file has no rows"):
        tb.fit(path, label="y")
    assert tb.fit({"x": [], "y": []}, label="y").classes == []  # a table in memory may start a stream


def test_fitting_a_file_of_bad_rows_alone_is_an_error():
    with pytest.raises(DataError, match="expected rows to learn from, got 0"):
        tb.fit(csv_file("x,y\n1,p,q\n", skip_bad=True), label="y")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["\n", ""])
@pytest.mark.parametrize("n_bytes", [2_500_000, 40_000_000])
def test_long_lines_are_read_however_the_file_ends(n_bytes, ending):
    text = f"a,y\n1,p\n{'x' * n_bytes},q{ending}"
    table = pa.concat_tables(table.kept for table in csv_file(text).batches(keep=True))
    assert [len(cell) for cell in table.column("a").to_pylist()] == [1, n_bytes]
    assert table.column("y").to_pylist() == ["p", "q"]


def test_a_line_of_many_megabytes_is_refused(monkeypatch):
    monkeypatch.setattr(delimited, "_LONGEST_LINE", 3 * 2**20)
    with pytest.raises(DataError, match=r"a.csv: expected lines of at most 3 MB, got a line of 4 MB"):
        tb.fit(csv_file(f"a,y\n1,p\n{'x' * 2**22},q"), label="y")


def test_an_open_quote_before_many_bytes_is_an_error():
    with pytest.raises(DataError, match="quote"):
        tb.fit(csv_file('a,y\n1,p\n"' + "x" * 40_000_000 + ",q"), label="y")


def test_a_line_of_spaces_is_shown_as_it_is():
    with pytest.raises(DataError, match=r"line 3: expected 2 cells, got 1\nhint: the line is '   ';"):
        tb.fit(csv_file("x,y\n1,a\n   \n2,b\n"), label="y")
