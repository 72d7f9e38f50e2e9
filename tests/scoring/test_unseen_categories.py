"""Which unseen categories are warned of: those that may be mistakes, not those that are ordinary in their column."""

import warnings

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import DataWarning

MODEL = tb.fit({"c": ["no", "yes"] * 300, "y": ["p", "q"] * 300}, label="y")


def names(n, start=0):
    """Names most of which occur once."""
    return [
        f"{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10 % 10]}{'uvwxyzabcd'[i // 100]} son"
        for i in range(start, start + n)
    ]


def test_no_known_value_in_a_column_is_a_warning():
    with pytest.warns(DataWarning, match="column 'c': no value in 100 rows is known to the model: 'ja'"):
        MODEL.predict({"c": ["ja", "nein"] * 50})
    MODEL.predict({"c": ["ja"] * 5})


def test_a_value_that_is_spelt_like_a_known_one_is_warned_of():
    with pytest.warns(
        DataWarning, match=r"1 of 100 rows has a value that the model has not learned: 'yse' \(like 'yes'\)"
    ):
        MODEL.predict({"c": ["no"] * 99 + ["yse"]})


def test_a_column_of_mostly_new_values_is_warned_of():
    with pytest.warns(DataWarning, match=r"99 of 100 rows have a value that the model has not learned: 'ja'\n"):
        MODEL.predict({"c": ["ja"] * 99 + ["no"]})


def test_some_new_values_that_are_like_no_known_one_are_not_warned_of():
    MODEL.predict({"c": ["yes"] * 20 + ["perhaps"] * 10})


def test_new_values_are_ordinary_where_most_values_are_different():
    known = names(400)
    rows = {"name": known + known[:40], "y": ["p", "q"] * 220}
    model = tb.fit(rows, label="y", families={"name": "categorical"})
    model.predict({"name": names(400, 400)})
    model.predict({"name": [*known[:20], *names(30, 500), "aku sno"]})


@pytest.mark.filterwarnings("ignore:column .code.* look like rows of one group:tallybayes.errors.DataWarning")
def test_new_values_are_a_surprise_where_some_values_come_again():
    rows = {"code": [f"{i % 300:05}" for i in range(1000)], "y": ["p", "q"] * 500}
    model = tb.fit(rows, label="y", families={"code": "categorical"})
    with pytest.warns(DataWarning, match="no value in 20 rows is known to the model: '0000001'"):
        model.predict({"code": ["0000001"] * 20})  # written in another way


def test_codes_are_not_taken_for_words():
    model = tb.fit({"zone": ["A12", "B7"] * 300, "y": ["p", "q"] * 300}, label="y")
    model.predict({"zone": ["A12"] * 999 + ["A13"]})


def test_a_file_of_one_row_is_looked_at_too(tmp_path):
    (tmp_path / "one.csv").write_text("c,more\nyess,1\n")
    with pytest.warns(DataWarning, match="1 of 1 row has a value that the model has not learned: 'yess'"):
        MODEL.predict(str(tmp_path / "one.csv"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MODEL.predict_one({"c": "yess"})  # a single row may come a thousand times a second


def test_a_warning_names_the_line_of_the_user():
    with pytest.warns(DataWarning) as found:
        MODEL.predict({"c": ["ja"] * 30})
    assert found[0].filename == __file__


def test_a_model_that_is_judged_warns_of_whole_columns_only():
    tb.evaluate(MODEL, {"c": ["ja"] * 99 + ["no"], "y": ["p"] * 100})
    with pytest.warns(DataWarning, match="no value in 100 rows is known"):
        tb.evaluate(MODEL, {"c": ["ja"] * 100, "y": ["p"] * 100})


def test_rows_that_were_held_out_of_the_same_data_are_not_warned_of():
    rng = np.random.default_rng(0)
    kinds = ["Room in hotel", "Room in aparthotel", "Entire home", "Entire guest suite"]
    rows = {
        "kind": [kinds[i] for i in np.where(rng.random(300) < 0.98, rng.integers(0, 2, 300) * 2, [1, 3] * 150)],
        "host": [f"h{i // 10}" for i in range(300)],
        "about": [" ".join(rng.choice(["near", "quiet", "old", "large", "sunny", "dear"], 6)) for _ in range(300)],
        "y": rng.integers(0, 2, 300),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tb.tune(rows, label="y", what=("text", "column_weights"))
        model = tb.fit({**rows, "near": rows["host"]}, label="y", group="host")
        tb.evaluate(model, {**rows, "near": rows["host"]}, leave_one_out=True)
