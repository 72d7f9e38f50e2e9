"""What predict writes: the rows, types and dialect of the input, in the format that is asked for."""

import gzip
import json
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import fine, table, tally
from tallybayes.cli.csv_lines import OutputDialect, csv_lines
from tallybayes.cli.output import form_of, write_tables
from tallybayes.errors import ParameterError

BAD = """kilos;likes;name
3,9;x
4,1;fish;"a;b"
heavy;walks;x
3,9;fish
inf;fetch;y
2,0;carrots;z
30,5;walks;w;more
3,5;fish;v
28,5;walks;u
"""


def test_a_bad_row_has_a_line_without_a_prediction(here):
    (here / "bad.csv").write_text(BAD)
    done = tally("predict", "pets.tally", "bad.csv", "--skip-bad", cwd=here)
    assert done.stdout.splitlines()[:6] == [
        "kilos;likes;name;predicted;probability",
        "3,9;x;;;",
        '4,1;fish;"a;b";cat;0,9825298086',
        "heavy;walks;x;dog;0,9337507619",
        "3,9;fish;;;",
        "inf;fetch;y;;",
    ]
    assert done.stdout.splitlines()[6].startswith("2,0;carrots;z;rabbit;0,99")
    assert done.stdout.splitlines()[7] == "30,5;walks;w;;"
    assert "no prediction for 4 bad rows:" in done.stderr
    assert "1 cell is not a number and was treated as missing: heavy (1)" in done.stderr
    everything = fine("predict", "pets.tally", "bad.csv", "--skip-bad", "--proba", "--interval", 0.9, cwd=here)
    assert [line.count(";") for line in everything.splitlines()] == [9, 9, 10, 9, 9, 9, 9, 9, 9, 9]
    (here / "all-bad.csv").write_text("kilos;likes;name\ninf;x;y\n1;2\n")
    done = tally("predict", "pets.tally", "all-bad.csv", "--skip-bad", cwd=here)
    assert done.stdout.splitlines()[1:] == ["inf;x;y;;", "1;2;;;"]
    done = tally("predict", "pets.tally", "bad.csv", "-o", "out.csv", cwd=here)
    assert (done.returncode, (here / "out.csv").exists()) == (1, False)


def test_bad_rows_of_many_batches_and_files_keep_their_places(here):
    lines = [f"{i},{'inf' if i % 7 == 0 else i % 30}" + (",more" if i % 1000 == 3 else "") for i in range(9000)]
    for name, part in (("a.csv", lines[:5000]), ("b.csv", lines[5000:])):
        (here / name).write_text("number,kilos\n" + "\n".join(part) + "\n")
    fine("predict", "pets.tally", "a.csv", "b.csv", "--skip-bad", "-o", "out.csv", cwd=here)
    rows = table(here / "out.csv")
    assert [int(row["number"]) for row in rows] == list(range(9000))
    empty = {int(row["number"]) for row in rows if not row["predicted"]}
    assert empty == {i for i in range(9000) if i % 7 == 0 or i % 1000 == 3}


def test_json_lines_that_are_no_objects_have_empty_answers(here):
    (here / "odd.jsonl").write_text('{"kilos": 3}\nnonsense\n{"kilos": "1e999"}\n{"kilos": 5}\n')
    found = fine("predict", "pets.tally", "odd.jsonl", "--skip-bad", cwd=here).splitlines()
    assert [json.loads(line)["predicted"] for line in found] == ["rabbit", None, None, "cat"]


def test_the_name_of_the_file_says_the_form(here):
    for name in ("o.json", "o.jsonl", "o.csv.gz", "o.jsonl.gz"):
        fine("predict", "pets.tally", "new.csv", "-o", name, cwd=here)
    rows = json.loads((here / "o.json").read_text())
    assert [row["predicted"] for row in rows] == ["cat", "dog"]
    lines = (here / "o.jsonl").read_text()
    assert [json.loads(line) for line in lines.splitlines()] == rows
    assert gzip.decompress((here / "o.jsonl.gz").read_bytes()).decode() == lines
    assert gzip.decompress((here / "o.csv.gz").read_bytes()).decode().startswith("name,kilos,")
    (here / "in.json").write_text('[{"kilos": 3}, {"kilos": 5}]')
    assert len(json.loads(fine("predict", "pets.tally", "in.json", cwd=here))) == 2  # an array as the input
    fine("sample", "pets.tally", "-n", 0, "-o", "none.json", cwd=here)
    assert json.loads((here / "none.json").read_text()) == []


@pytest.mark.parametrize("name", ["o.txt", "o.gz", "o.parquet.gz", "o.csv.bz2"])
def test_other_names_are_refused(name):
    with pytest.raises(ParameterError, match=r"a file that ends in|a \.parquet file without \.gz"):
        form_of(name)


def test_parquet_keeps_its_types(here):
    columns = {
        "kilos": pa.array([3, 4], pa.int8()),
        "colour": pa.array(["grey", "brown"]).dictionary_encode(),
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
        "when": pa.array([datetime(2024, 1, 5), None], pa.timestamp("ms", "Europe/Berlin")),
        "likes": pa.array([["fish"], []], pa.list_(pa.string())),
        "text": pa.array(["a", "b"], pa.large_string()),
    }
    pq.write_table(pa.table(columns), here / "in.parquet")
    fine("predict", "pets.tally", "in.parquet", "-o", "out.parquet", cwd=here)
    found = pq.read_table(here / "out.parquet")
    assert {name: found.schema.field(name).type for name in columns} == {
        name: one.type for name, one in columns.items()
    }
    assert found.select(list(columns)).to_pylist() == pa.table(columns).to_pylist()
    assert found.column_names[-2:] == ["predicted", "probability"]


@pytest.mark.parametrize(
    "text",
    [
        'a;kilos\nx;"3,5"\n',
        '"a","kilos"\n"x",3.5\n"y, z",4\n',
        '"a","kilos"\n"x","3.5"\n',
        "a|kilos\nx|3.5\n",
        "a\tkilos\nx y\t3.5\n",
        "\ufeffa;kilos\nä;3,5\n",
    ],
    ids=["semicolon", "R", "all quoted", "bar", "tab", "Excel"],
)
def test_the_dialect_is_that_of_the_input(here, text):
    (here / "in.csv").write_text(text, encoding="utf-8")
    fine("predict", "pets.tally", "in.csv", "-o", "out.tsv" if "\t" in text else "out.csv", cwd=here)
    out = (here / ("out.tsv" if "\t" in text else "out.csv")).read_text(encoding="utf-8")
    for given, written in zip(text.splitlines(), out.splitlines(), strict=True):
        assert written.startswith(given.replace('"3,5"', "3,5"))
    probability = out.splitlines()[1].split(text.strip("\ufeff")[1 if text[0] != '"' else 3])[-1]
    assert (";" in text) == ("," in probability)


def test_numbers_are_told_from_text_where_text_is_quoted():
    cells = pa.table({"a": ["-1.5e3", "1 a", None], "b": ["1", "2", "true"]})
    assert csv_lines(cells, OutputDialect(quotes="text")) == b'-1.5e3,1\n"1 a",2\n,true\n'


def test_a_threshold_for_one_prediction(here):
    before = (here / "pets.tally").read_bytes()
    words = ("predict", "pets.tally", "new.csv", "--id", "name")
    found = fine(*words, "--threshold", 0.0001, "--positive", "rabbit", cwd=here)
    assert [line.split(",")[1] for line in found.splitlines()[1:]] == ["cat", "rabbit"]
    assert (here / "pets.tally").read_bytes() == before
    fine("fit", "pets.csv", "--label", "pet=dog", "-o", "dog.tally", cwd=here)
    done = tally("predict", "dog.tally", "new.csv", "--threshold", 0, "--id", "name", cwd=here)
    assert [line.split(",")[1] for line in done.stdout.splitlines()[1:]] == ["true", "true"]
    assert "the threshold is for the class true" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--threshold", "0.5"], "--positive CLASS for --threshold, got none\nhint: the classes are cat, dog, rabbit"),
        (["--positive", "cat"], "--threshold P for --positive"),
        (["--threshold", "2", "--positive", "cat"], "a threshold from 0 to 1"),
        (["--threshold", "0.5", "--positive", "cats"], "did you mean 'cat'?"),
        (["--threshold", "x", "--positive", "cat"], "'--threshold': expected a number, got 'x'"),
    ],
)
def test_wrong_thresholds_are_errors_of_usage(here, words, says):
    done = tally("predict", "pets.tally", "new.csv", "-o", "out.csv", *words, cwd=here)
    assert (done.returncode, says in done.stderr, (here / "out.csv").exists()) == (2, True, False), done.stderr


def test_an_interrupted_array_is_not_left_behind(tmp_path):
    with pytest.raises(KeyError):
        _interrupted(str(tmp_path / "o.json"))
    assert list(tmp_path.iterdir()) == []


def _interrupted(path):
    def tables():
        yield pa.table({"a": [1]})
        raise KeyError

    write_tables(tables(), path, "json")
