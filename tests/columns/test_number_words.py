"""Words among numbers: a column of their own where they are frequent, missing and said where they are rare."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tallybayes as tb
from pets import csv_file
from tallybayes.cells.number_detection import detect_numbers
from tallybayes.columns.readers.reader_registry import reader_from_dict
from tallybayes.columns.readers.word_reader import NUMBER_KEY
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataWarning, ParameterError

N = 400


def cells(seed=0):
    """Numbers, two frequent words that tell the class, and gaps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, N)
    values = np.where(rng.random(N) < 0.1 + 0.4 * y, "unlimited", (15 + 5 * y + rng.integers(0, 9, N)).astype(str))
    values = np.where((y == 0) & (rng.random(N) < 0.2), "never", values)
    values = np.where(rng.random(N) < 0.05, "", values)
    return values.tolist(), ["ab"[code] for code in y]


VALUES, LABELS = cells()
ROWS = "".join(f"{value},{label}\n" for value, label in zip(VALUES, LABELS, strict=True))


@pytest.fixture(scope="module")
def model():
    return tb.fit(csv_file("limit,y\n" + ROWS), label="y")


def test_frequent_words_are_a_column(model):
    assert sorted(model.schema.families) == ["limit", "limit.word"]
    assert model.schema.columns["limit.word"].reader.words == ("unlimited", "never")
    assert model.schema.columns_in_use == ["limit"]
    keys = {row["value"] for row in model.describe().columns["limit.word"]}
    assert keys == {NUMBER_KEY, "unlimited", "never"}
    never, unlimited = model.predict_proba({"limit": ["never", "unlimited"]})[:, 0]
    assert never > 0.9 > 0.3 > unlimited


def test_that_a_number_is_missing_is_counted_once(model):
    weights = model.settings.column_weights
    assert weights is not None
    assert "limit" not in weights.missing
    given = tb.fit(csv_file("limit,y\n" + ROWS), label="y", missing_as_value=True)
    evidence = given.explain({"limit": ["never"]})[0].log_evidence
    np.testing.assert_array_equal(evidence["limit"], 0.0)


def test_every_source_gives_one_model(model, tmp_path):
    mixed = [None if not value else value if value.isalpha() else int(value) for value in VALUES]
    assert tb.fit({"limit": mixed, "y": LABELS}, label="y").same_counts(model)
    text = [f"${value}" if value.isdigit() else value or None for value in VALUES]
    pq.write_table(pa.table({"limit": text, "y": LABELS}), tmp_path / "a.parquet")
    with_unit = tb.fit(tmp_path / "a.parquet", label="y")
    assert with_unit.same_counts(model)
    half = 380  # the first rows have all words
    streamed = tb.fit(
        iter([{"limit": mixed[:half], "y": LABELS[:half]}, {"limit": mixed[half:], "y": LABELS[half:]}]), label="y"
    )
    assert streamed.same_counts(model)


@pytest.mark.parametrize("value", ["unlimited", "never", "25", 25, 25.0, None, "", "lost"])
@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")
def test_one_row_is_scored_as_in_a_table(model, value):
    expected = model.predict_proba({"limit": [value, "never"]})[0].tolist()
    assert list(model.predict_proba_one({"limit": value}).values()) == expected
    assert model.predict_proba([{"limit": value}])[0].tolist() == expected
    if value is not None:
        assert model.predict_proba(csv_file(f'limit,z\n"{value}",1\n'))[0].tolist() == expected


def test_learning_and_forgetting_words_is_exact(model):
    before, changed = model.copy(), model.copy()
    changed.learn({"limit": ["unlimited", "30", None], "y": ["a", "b", "b"]})
    changed.learn_one({"limit": 30}, "b")
    changed.learn_one({"limit": "never"}, "b")
    assert not changed.same_counts(before)
    changed.forget(csv_file("limit,y\nnever,b\n30,b\n30,b\nunlimited,a\n,b\n"))
    assert changed.same_counts(before)


def test_rare_and_new_words_are_missing_and_said(model):
    with pytest.warns(DataWarning, match=r"'limit': 3 cells are not numbers .*: refused \(3\)"):
        fitted = tb.fit(csv_file("limit,y\n" + ROWS + "refused,a\n" * 3), label="y")
    assert fitted.schema.columns["limit.word"].reader.words == ("unlimited", "never")
    assert fitted.predict_proba({"limit": ["refused"]}).tolist() == fitted.predict_proba({"limit": [None]}).tolist()
    with pytest.warns(DataWarning, match=r"1 cell is not a number .* lost \(1\)"):
        model.predict({"limit": ["lost"]})
    few = "limit,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(40)) + "never,a\n" * 20
    with pytest.warns(DataWarning, match=r"20 cells are not numbers"):
        assert "limit.word" not in tb.fit(csv_file(few), label="y").schema.columns


def test_columns_are_chosen_by_name():
    text = "limit,z,y\n" + "".join(f"{v},{i % 7},{c}\n" for i, (v, c) in enumerate(zip(VALUES, LABELS, strict=True)))
    used = lambda **options: sorted(tb.fit(csv_file(text), label="y", **options).schema.families)  # noqa: E731
    assert used() == ["limit", "limit.word", "z"]
    assert used(only=["limit.word"]) == ["limit.word"]
    assert used(only=["limit"]) == ["limit", "limit.word"]
    assert used(ignore=["limit.word"]) == ["limit", "z"]
    assert used(ignore=["limit"]) == ["z"]
    assert used(families={"limit": "categorical"}) == ["limit", "z"]
    assert used(families={"limit": "gaussian"}) == ["limit", "limit.word", "z"]
    with pytest.raises(ParameterError, match="a reader of what the family"):
        used(families={"limit.word": "gaussian"})


def test_schema_and_file_keep_the_words(model, tmp_path):
    model.schema.save(tmp_path / "s.json")
    again = tb.fit(csv_file("limit,y\n" + ROWS), label="y", schema=Schema.load(tmp_path / "s.json"))
    assert again.same_counts(model)
    model.save(tmp_path / "m.tally")
    assert tb.load(tmp_path / "m.tally") == model
    for facts in (
        {"kind": "word", "column": "a"},
        {"kind": "word", "column": 1, "words": []},
        {"kind": "word", "x": 1},
    ):
        with pytest.raises(ParameterError):
            reader_from_dict(facts)


def test_samples_have_a_number_or_a_word(model):
    for row in model.sample(200).to_pylist():
        assert (row["limit"] is None) == (row["limit.word"] != NUMBER_KEY)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")
def test_evaluation_dependence_and_report_work():
    source = csv_file(
        "limit,z,y\n" + "".join(f"{v},{i % 7},{c}\n" for i, (v, c) in enumerate(zip(VALUES, LABELS, strict=True)))
    )
    model = tb.fit(source, label="y")
    assert tb.evaluate(model, source).accuracy > 0.6
    assert "limit.word" in str(tb.fit(source, label="y", dependence="one").describe())
    assert "limit.word" in tb.report(model, source)


def test_limits_among_many_numbers_are_words():
    numbers = [f"{i / 7:.3f}" for i in range(300)]
    reading = detect_numbers({"a": pa.array([*numbers, *["<0.5"] * 60, ">100"])})["a"]
    assert reading.is_numeric
    assert reading.frequent_words == ("<0.5",)
    assert "treated as missing: >100 (1)" in reading.all_doubts("a")[0].text
    few = detect_numbers({"a": pa.array([*[str(i) for i in range(1, 10)] * 10, *["<1"] * 20])})["a"]
    assert not few.is_numeric  # an order of ten values


def test_a_quarter_of_diverse_numbers_beside_frequent_words_are_numbers():
    words = ["unlimited", "never"]
    table = pa.array([str(i % 89) if i % 5 < 2 else words[i % 2] for i in range(400)])
    assert detect_numbers({"limit": table})["limit"].frequent_words == ("never", "unlimited")
    few = pa.array([str(i % 7) if i % 5 < 2 else words[i % 2] for i in range(400)])  # numbered categories
    assert not detect_numbers({"limit": few})["limit"].is_numeric
    rare = pa.array([str(i % 89) if i % 5 < 2 else "lost" if i % 50 == 3 else words[i % 2] for i in range(400)])
    assert not detect_numbers({"limit": rare})["limit"].is_numeric
