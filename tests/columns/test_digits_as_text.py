"""Numbers that are given as text, where types are known: in lists, frames and Parquet."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tallybayes as tb
from tallybayes.errors import DataWarning

N = 240
NUMBERS = np.random.default_rng(0).normal(5000, 900, N).astype(int)
LABELS = ["a" if number > 5000 else "b" for number in NUMBERS]
TEXTS = [str(number) for number in NUMBERS]


@pytest.mark.parametrize("kind", ["dict", "frame", "parquet"])
def test_many_numbers_given_as_text_are_said(kind, tmp_path):
    table = {"x": TEXTS, "y": LABELS}
    data = {"dict": table, "frame": pd.DataFrame(table), "parquet": tmp_path / "a.parquet"}[kind]
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    text = rf"'x': {len(set(TEXTS))} different numbers are given as text .*\n.*\"x\": \"histogram\".*--as x=histogram"
    with pytest.warns(DataWarning, match=text):
        model = tb.fit(data, label="y")
    assert "240 of 240 cells are numbers" in model.schema.columns["x"].reason
    numeric = tb.fit(data, label="y", families={"x": "histogram"}, column_weights=None)
    assert numeric.same_counts(tb.fit({"x": NUMBERS, "y": LABELS}, label="y", column_weights=None))
    expected = numeric.predict_proba({"x": [5100]})
    np.testing.assert_array_equal(numeric.predict_proba({"x": ["5100"]}), expected)
    assert list(numeric.predict_proba_one({"x": "5100"}).values()) == expected[0].tolist()


def test_texts_that_are_categories_are_not_doubtful():
    codes = [str(i % 20) for i in range(N)]
    assert tb.fit({"x": codes, "y": LABELS}, label="y").schema.families["x"].name == "categorical"
    tb.fit({"x": TEXTS, "y": LABELS}, label="y", families={"x": "categorical"})
    assert "order_id" not in tb.fit({"order_id": TEXTS, "y": LABELS}, label="y").schema.families
    zeros = [f"{i:03}" for i in range(N)]
    assert "x" not in tb.fit({"x": zeros, "y": LABELS}, label="y").schema.families


@pytest.mark.parametrize("kind", ["frame", "parquet", "json"])
def test_ages_given_as_text_are_said(kind, tmp_path):
    """43 of them: a CSV file gives a histogram."""
    table = {"age": [str(18 + i * 7 % 43) for i in range(N)], "y": LABELS}
    frame = pd.DataFrame(table)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    data = {"frame": frame, "parquet": tmp_path / "a.parquet", "json": tmp_path / "a.jsonl"}[kind]
    with pytest.warns(DataWarning, match="'age': 43 different numbers are given as text and were taken for text"):
        tb.fit(data, label="y", column_weights=None)


def test_numbers_and_texts_of_numbers_mixed_are_numbers():
    mixed = [int(text) if i % 3 else text for i, text in enumerate(TEXTS)]
    model = tb.fit({"x": mixed, "y": LABELS}, label="y", column_weights=None)
    assert model.same_counts(tb.fit({"x": NUMBERS, "y": LABELS}, label="y", column_weights=None))


def test_a_report_places_numbers_in_cells_of_text():
    table = {"x": [f"${text}" for text in TEXTS], "z": list(range(N)), "y": LABELS}
    model = tb.fit(table, label="y", families={"x": "gaussian"})
    assert "nomogram" in tb.report(model, table)
