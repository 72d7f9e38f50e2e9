"""Labels and categories meet across sources, whatever types these have."""

import itertools
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.cells.key_form import KeyForm, as_number, to_key_type
from tallybayes.columns.label import Labels
from tallybayes.errors import DataError, DataWarning, ParameterError

CODES = np.random.default_rng(0).integers(0, 2, 120)
WRONG = np.random.default_rng(1).random(120) < 0.1
KINDS = {
    "zero and one": CODES,
    "integers": CODES + 1,
    "reals": CODES + 1.0,
    "halves": CODES + 0.5,
    "booleans": CODES.astype(bool),
    "yes and no": np.array(["no", "yes"])[CODES],
    "words": np.array(["cat", "dog"])[CODES],
    "digits": np.array(["007", "010"])[CODES],
}


def written(frame, folder):
    """The same table in every format, in memory, as a query, and with all cells as text."""
    frame.to_csv(folder / "pandas.csv", index=False)
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM frame")
        connection.execute(f"COPY t TO '{folder}/duck.csv'")
    frame.to_parquet(folder / "t.parquet")
    frame.to_json(folder / "t.jsonl", orient="records", lines=True)
    connection = sqlite3.connect(folder / "t.sqlite")
    frame.to_sql("t", connection, index=False)
    connection.close()
    names = ["pandas.csv", "duck.csv", "t.duckdb", "t.parquet", "t.jsonl", "t.sqlite"]
    return {name: str(folder / name) for name in names} | {
        "query": f"SELECT * FROM '{folder}/t.parquet'",
        "frame": frame,
        "frame of texts": frame.astype(str),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_fitted_on_any_source_evaluated_on_any_other(kind, tmp_path):
    values = KINDS[kind]
    frame = pd.DataFrame({"c": np.where(WRONG, values[::-1], values), "y": values})
    sources = written(frame, tmp_path)
    models = {
        name: tb.fit(source, label="y", families={"c": "categorical"}, column_weights=None)
        for name, source in sources.items()
    }
    found = {
        (one, other): tb.evaluate(models[one], sources[other]).accuracy
        for one, other in itertools.product(models, sources)
    }
    assert set(found.values()) == {found["frame", "frame"]}
    assert found["frame", "frame"] > 0.8


@pytest.mark.parametrize("kind", ["booleans", "zero and one"])
def test_columns_of_booleans_meet_too(kind, tmp_path):
    frame = pd.DataFrame({"c": np.where(WRONG, 1 - CODES, CODES), "y": KINDS["words"]})
    frame["c"] = frame["c"].astype(bool) if kind == "booleans" else frame["c"]
    sources = written(frame, tmp_path)
    models = {name: tb.fit(source, label="y", column_weights=None) for name, source in sources.items()}
    found = {
        (one, other): tb.evaluate(models[one], sources[other]).accuracy
        for one, other in itertools.product(models, sources)
    }
    assert set(found.values()) == {found["frame", "frame"]}


def test_what_a_model_answers_has_the_type_that_it_knows():
    model = tb.fit({"c": ["a", "b"] * 30, "y": ["0", "1"] * 30}, label="y")
    model.learn({"c": ["a", "b"], "y": [False, True]})
    model.learn({"c": ["a", "b"], "y": [0.0, 1.0]})
    model.learn_one({"c": "a"}, 0)
    assert model.class_counts == {"0": 33, "1": 32}
    assert model.predict({"c": ["a"]}).tolist() == ["0"]


def test_a_new_number_is_a_new_class_in_the_form_of_the_others():
    model = tb.fit({"c": ["a", "b"] * 30, "y": ["1.0", "2.0"] * 30}, label="y")
    assert model.learn({"c": ["a"], "y": [3]}).notes == ("new class '3.0': 1 row",)


@pytest.mark.parametrize(
    ("labels", "other"),
    [(["cat", "dog"], 3), (["cat", "dog"], True), ([1, 2], "x"), ([1, 2], True), ([1, 2], 1.5), ([True, False], 2)],
)
def test_a_label_that_cannot_be_converted_is_an_error(labels, other):
    model = tb.fit({"c": ["a", "b"] * 30, "y": labels * 30}, label="y")
    before = model.copy()
    with pytest.raises(DataError, match="labels of one type"):
        model.learn({"c": ["a"], "y": [other]})
    assert model == before


def test_a_single_row_is_treated_like_a_table():
    rows = {"c": ["no", "yes"] * 30, "y": ["p", "q"] * 30}
    model = tb.fit(rows, label="y")
    for value in (True, "True", 1, "yes", "YES"):
        assert model.predict_one({"c": value}) == "q"
        assert np.array_equal(model.log_score({"c": value}), model.log_score([{"c": value}] * 70)[:1])
    other = model.copy()
    model.learn_one({"c": "True"}, "q")
    other.learn([{"c": "yes", "y": "q"}])
    assert model.same_counts(other)


def test_texts_for_a_column_of_booleans():
    model = tb.fit({"c": [True, False] * 30, "y": ["p", "q"] * 30}, label="y")
    assert model.predict({"c": ["yes", "False", "0", None]}).tolist()[:3] == ["p", "q", "q"]
    with pytest.raises(DataError, match="column 'c', row 1: expected a boolean"):
        model.predict({"c": ["yes", "perhaps"]})


def test_the_form_is_in_the_schema_and_in_the_file(tmp_path):
    model = tb.fit({"c": ["no", "yes"] * 30, "y": ["1", "2"] * 30}, label="y")
    model.save(tmp_path / "m.tally")
    loaded = tb.load(tmp_path / "m.tally")
    assert loaded.schema.label_spec.form == KeyForm(("1",))
    assert loaded.schema.columns["c"].reader.form == KeyForm(("no", "yes"))
    assert tb.Schema.from_dict(model.schema.to_dict()) == model.schema
    plain = tb.fit({"c": ["x", "y"] * 30, "y": ["p", "q"] * 30}, label="y").schema.to_dict()
    assert "label_form" not in plain
    assert "reader" not in plain["columns"]["c"]


@pytest.mark.parametrize("words", [[], ["maybe"], ["no", "true"], ["yes", "no"], ["1", "1.0", "2"], "no", [1]])
def test_a_form_that_is_none_is_refused(words):
    with pytest.raises(ParameterError):
        tb.Schema.from_dict({"label": "y", "label_form": words, "columns": {}})


def test_a_schema_makes_batches_equal():
    """What decides how a key is written is in the schema, so that it does not matter how rows are divided."""
    rows = [
        {"c": c, "y": y} for c, y in zip(["1", "1.0", "2", "2.0"] * 20, ["no", "True", "0", "YES"] * 20, strict=True)
    ]
    schema = tb.fit([{"c": "1", "y": "no"}, {"c": "2", "y": "yes"}], label="y", families={"c": "categorical"}).schema
    with pytest.warns(DataWarning, match="read in the form of the others"):
        whole = tb.fit(rows, schema=schema, column_weights=None)
    with pytest.warns(DataWarning, match="read in the form of the others"):
        parts = tb.fit(iter([rows[:1], rows[1:7], rows[7:]]), schema=schema, column_weights=None)
    assert whole.same_counts(parts)
    assert whole.class_counts == {"no": 40, "yes": 40}


def test_no_known_label_in_an_evaluation_is_a_warning():
    model = tb.fit({"c": ["no", "yes"] * 30, "y": ["p", "q"] * 30}, label="y")
    with pytest.warns(DataWarning, match=r"none of the labels is a class of the model: \['a', 'b'\]"):
        assert tb.evaluate(model, {"c": ["no", "yes"], "y": ["a", "b"]}).accuracy == 0


def test_equal_labels_become_one():
    labels = Labels(["1", "1.0", "2"], np.array([0, 1, 2, -1], np.int32), np.array([1, 1, 1]))
    found = labels.in_type([2, 1])
    assert (found.keys, found.codes.tolist(), found.counts.tolist()) == ([1, 2], [0, 0, 1, -1], [2, 1])


numbers = st.integers(-(2**52), 2**52) | st.floats(-1e12, 1e12, allow_nan=False)


@given(numbers)
def test_a_number_comes_back_from_its_text(x):
    for style in ("1", "1.0"):
        text = KeyForm((style,)).text(x)
        assert as_number(text) == x
        assert KeyForm((style,)).text(text) == text


@given(st.lists(st.text(max_size=4), min_size=1, max_size=4, unique=True))
def test_the_form_of_texts_leaves_them_as_they_are(texts):
    form = KeyForm.of(texts)
    assert form is None or [to_key_type(text, texts[0], form) for text in texts] == texts


@given(st.sampled_from(["0", "1", "7", "1.5", "2.0", "no", "YES", "True", "f", "cat"]), st.data())
def test_to_convert_twice_is_to_convert_once(key, data):
    words = data.draw(st.sampled_from([("no", "yes"), ("False", "True"), ("0", "1"), ("1",), ("1.0",)]))
    form = KeyForm(words)
    assert form.text(form.text(key)) == form.text(key)


def test_decimals_of_sql_are_numbers():
    query = "SELECT x, {} AS y FROM (SELECT range % 2 AS x FROM range(80))"
    model = tb.fit(query.format("x + 1.0"), label="y", families={"x": "categorical"}, column_weights=None)
    assert model.classes == [1.0, 2.0]
    for other in ("x + 1", "(x + 1)::VARCHAR", "(x + 1)::FLOAT", "(x + 1)::DECIMAL(9, 4)"):
        assert tb.evaluate(model, query.format(other)).accuracy == 1
