"""Descriptions: every token, tag and category on request, and how many there are where tables are cut."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from command_line import fine, table, tally
from tallybayes.errors import DataError, ParameterError

MANY = 60


@pytest.fixture
def model():
    words = [f"w{i}" for i in range(MANY)]
    rows = {
        "text": [" ".join(words[:40]), " ".join(words[20:]), "w0 w1"] * 3,
        "tags": ["|".join(words), "w3", "w4|w5"] * 3,
        "code": [f"c{i}" for i in range(9)],
        "n": [1.5, 2.5, 3.5] * 3,
        "y": ["a", "b", "c"] * 3,
    }
    families = {"text": "text:variant=counts", "tags": "tags", "code": "categorical", "n": "gaussian"}
    return tb.fit(rows, label="y", families=families, smoothing=1, column_weights=None)


@given(
    bags=st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True), min_size=3, max_size=8),
    k=st.sampled_from([0.5, 1.0, 3.0]),
    as_tags=st.booleans(),
)
def test_every_token_is_listed_once_for_each_class_with_its_probability(bags, k, as_tags):
    labels = ["p", "q"] * len(bags)
    family = "tags" if as_tags else "multinomial"
    rows = {"x": ["|".join(bag) if as_tags else dict.fromkeys(bag, 1) for bag in bags], "y": labels[: len(bags)]}
    model = tb.fit(rows, label="y", families={"x": family}, smoothing=k, column_weights=None)
    described = model.describe("x", all=True)
    found = {(row["token"], row["class"]): row["P(token)"] for row in described.columns["x"]}
    tokens = {token for bag in bags for token in bag}
    assert set(found) == {(token, label) for token in tokens for label in "pq"}
    for (token, label), p in found.items():
        n = sum(token in bag for bag, own in zip(bags, labels, strict=False) if own == label)
        rows_of_class = [bag for bag, own in zip(bags, labels, strict=False) if own == label]
        total = len(rows_of_class) + 2 * k if as_tags else sum(map(len, rows_of_class)) + k * len(tokens)
        assert p == pytest.approx((n + k) / total)
    assert not described.cut


def test_a_description_says_how_many_tokens_it_lists(model):
    described = model.describe()
    assert described.cut["text"]["of"] == described.cut["tags"]["of"] == MANY
    n_listed = len({row["token"] for row in described.columns["text"]})
    assert described.cut["text"]["listed"] == n_listed < MANY
    assert f"{n_listed} of 60 tokens; all=True or --all shows all" in str(described)
    assert described.to_dict()["cut"] == described.cut


def test_all_tokens_are_printed_the_most_telling_first(model):
    described = model.describe("text", all=True)
    text = str(described)
    assert all(f"w{i} " in text for i in range(MANY))
    assert "all=True" not in text
    assert "cut" not in described.to_dict()
    p = np.array([row["P(token)"] for row in described.columns["text"]]).reshape(3, MANY)
    spread = np.ptp(np.log(p), axis=0)
    assert (np.diff(spread) <= 1e-12).all()


def test_long_tables_of_categories_and_classes_say_how_many_rows_they_have():
    rows = {"x": [f"v{i}" for i in range(200)] * 2, "y": [f"c{i % 50}" for i in range(400)]}
    model = tb.fit(rows, label="y", families={"x": "categorical"}, smoothing=1, column_weights=None)
    text = str(model.describe())
    assert "40 of 50 classes; all=True or --all shows all" in text
    assert "40 of 10,000 rows; all=True or --all shows all" in text
    assert "all=True" not in str(model.describe(all=True))


def test_intervals_of_all_tokens(model):
    described = model.intervals(0.9, column="text", all=True)
    assert len(described.columns["text"]) == 3 * MANY
    assert all(row["low"] < row["P(token)"] < row["high"] for row in described.columns["text"])
    assert list(described.columns) == ["text"]


def test_rare_tokens_that_are_not_scored_are_not_listed():
    rows = {"text": ["aa aa bb", "aa cc", "bb bb dd"] * 2, "y": ["p", "q", "q"] * 2}
    model = tb.fit(rows, label="y", families={"text": "text:variant=counts,min_count=4"}, smoothing=1)
    assert {row["token"] for row in model.describe(all=True).columns["text"]} == {"aa", "bb"}
    assert not model.describe().cut


def test_columns_that_the_model_does_not_use_are_refused(model):
    for name in ("texd", "y", ""):
        with pytest.raises(ParameterError, match="expected a column that the model uses"):
            model.describe(name)
        with pytest.raises(ParameterError, match="expected a column that the model uses"):
            model.intervals(column=[name])


def test_tables_of_mixed_types_are_arrow_tables():
    rows = {"flag": [True, False, True], "n": [1, 2, 3], "word": ["a", "b", "a"], "y": [1, 2, 2]}
    families = {"flag": "bernoulli", "n": "categorical", "word": "categorical"}
    model = tb.fit(rows, label="y", families=families, smoothing=1, column_weights=None)
    arrow = model.describe().to_arrow()
    assert arrow.num_rows == len(model.describe().to_frame())
    assert set(arrow["value"].to_pylist()) >= {"1", "a"}
    assert set(arrow["class"].to_pylist()) == {1, 2}
    assert tb.fit({"y": ["a", "b"]}, label="y").describe().to_arrow().num_rows == 0


def test_the_command_lists_all_tokens_and_writes_them(model, tmp_path):
    model.save(tmp_path / "m.tally")
    cut = fine("inspect", "m.tally", "--column", "tags", cwd=tmp_path)
    assert " of 60 tokens; all=True or --all shows all" in cut
    assert all(f"\nw{i} " in fine("inspect", "m.tally", "--column", "tags", "--all", cwd=tmp_path) for i in range(5))
    for name in ("w.csv", "w.json", "w.parquet"):
        done = tally("inspect", "m.tally", "--column", "tags", "-o", name, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", f"wrote 180 rows to {name}\n")
    expected = model.describe("tags", all=True).columns["tags"]
    assert [row["token"] for row in table(tmp_path / "w.csv")] == [row["token"] for row in expected]
    assert json.loads((tmp_path / "w.json").read_text()) == [{"column": "tags", **row} for row in expected]
    assert pq.read_table(tmp_path / "w.parquet").to_pylist() == [{"column": "tags", **row} for row in expected]
    every = json.loads(fine("inspect", "m.tally", "--json", "--all", cwd=tmp_path))
    assert len(every["parameters"]["text"]) == 180
    for wrong in (["-o", "w.txt"], ["-o", "w.csv", "--json"], ["-o", "w.csv", "--column", "nothing"]):
        done = tally("inspect", "m.tally", *wrong, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert "error: expected" in done.stderr


def test_a_text_without_any_token_has_nothing_to_list():
    rows = {"text": ["!", "?", "! !"], "y": ["p", "q", "q"]}
    model = tb.fit(rows, label="y", families={"text": "text"}, smoothing=1, column_weights=None)
    assert not model.describe().cut
    assert not model.describe("text", all=True).columns["text"]


def test_more_rows_than_fit_into_memory_are_not_listed(monkeypatch):
    monkeypatch.setattr("tallybayes.explaining.description._MOST_LISTED", 7)
    rows = {"text": ["one two three", "four"], "y": ["a", "b"]}
    model = tb.fit(rows, "y", families={"text": "text:counts,ngrams=1"})
    with pytest.raises(DataError, match="at most 7 rows of tokens and classes to list, got 4 tokens with 2 classes"):
        model.describe(all=True)
    assert model.describe().columns
