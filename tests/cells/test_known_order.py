"""Orders of values that are recognised, and those that are not; columns that have one."""

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.cells.known_order import known_order
from tallybayes.errors import DataWarning, ParameterError


@pytest.mark.parametrize(
    "order",
    [
        ("low", "medium", "high"),
        ("Low", "Med", "HIGH"),
        ("low", "med", "high", "vhigh"),
        ("small", "med", "big"),
        ("2", "3", "4", "5more"),
        ("XS", "S", "M", "L", "XXL"),
        ("never", "rarely", "sometimes", "often", "always"),
        ("Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"),
        ("first", "second", "third"),
        ("1st", "2nd", "10th"),
        ("<18", "18-25", "26-35", "65+"),
        ("under 18", "18 to 24", "65 and over"),
        ("1-5", "6-10", "11+"),
        ("1,000-1,999", "2,000-9,999", ">10,000"),
        ("$10k-$20k", "$20k-$30k", "$30k+"),
        ("0–9", "10–19", "20–29"),
        ("mild", "moderate", "severe"),
        ("< 1 year", "1 year", "2 years", "9 years", "10+ years"),
        ("-1 year", "1-3 years", "4-6 years", "10+ years"),
        ("0", "0+", "1+", "500+", "1,000+", "10,000+", "5,000,000+"),
        ("<5", "<10", "<20", "20+"),
        ("new", "1 to 2", "3 to 4", "5 to 7", "more than 7"),
        ("none", "1-2 days", "3-4 days", "more than 7 days"),
        ("unemployed", "<1", "1<=X<4", "4<=X<7", ">=7"),
        ("never", "1-2 times", "3+ times"),
        ("0%", "1 - 10%", "11 - 23%", "100%"),
        ("0-6 months", "7-12 months", "13+ months"),
        ("1", "2", "3", "more"),
    ],
)
def test_known_orders(order):
    rng = np.random.default_rng(0)
    for _ in range(3):
        assert known_order([order[i] for i in rng.permutation(len(order))]) == order


@pytest.mark.parametrize(
    "values",
    [
        ("low", "high"),
        ("low", "high", "blue"),
        ("a", "b", "c"),
        ("1", "2", "3"),
        ("3-2", "1-0", "2-1"),
        ("10-14", "12-18", "20-30"),
        ("555-1234", "555-2345", "555-0001"),
        ("med", "medium", "high"),
        ("S", "M", "D", "W"),
        ("Free", "1-2", "3-4"),
        ("no checking", "<0", "0<=X<200", ">=200"),
        ("1-2 days", "1-2 weeks", "3+ weeks"),
        ("1a", "2b", "3+"),
        ("none", "never", "1-2"),
        (),
    ],
)
def test_other_values_have_no_known_order(values):
    assert known_order(values) is None


def test_months_and_weekdays_have_their_whole_calendar():
    assert known_order(["FRI", "mon", "Tue"]) == ("mon", "Tue", "Wed", "Thu", "FRI", "Sat", "Sun")
    assert known_order(["May", "June", "January"])[:3] == ("January", "February", "March")


def test_recognition_is_overruled():
    table = {"risk": ["low", "medium", "high", "medium"] * 5, "y": [0, 1] * 10}
    model = tb.fit(table, label="y")
    assert str(model.schema.families["risk"]) == "ordinal:low<medium<high"
    assert model.schema.columns["risk"].reason == "ordered categories, 3 distinct values"
    assert str(tb.fit(table, label="y", families={"risk": "categorical"}).schema.families["risk"]) == "categorical"
    assert str(tb.fit(table, label="y", infer="type").schema.families["risk"]) == "categorical"
    assert tb.fit(table, label="y", families={"risk": "ordinal"}).schema.families == model.schema.families


def test_the_order_of_the_table_is_used():
    kinds = pd.CategoricalDtype(["ok", "broken", "lost"], ordered=True)
    frame = pd.DataFrame({"state": pd.Series(["lost", "ok", "broken", "ok"] * 5, dtype=kinds), "y": [0, 1] * 10})
    assert tb.fit(frame, label="y").schema.families["state"] == tb.Ordinal(order=("ok", "broken", "lost"))


def test_values_outside_the_order_are_said_and_silent():
    table = {"size": ["S", "M", "L", "huge"] * 5, "y": ["a", "b"] * 10}
    with pytest.warns(DataWarning, match=r"column 'size': values outside the order tell nothing: \['huge'\] in 5 rows"):
        model = tb.fit(table, label="y", families={"size": "ordinal:S<M<L"})
    assert np.array_equal(model.log_score({"size": "huge"}), model.log_score({"size": "gigantic"}))
    assert np.array_equal(model.log_score({"size": ["huge"]}), model.log_score({"size": [None]}))
    assert {*model.sample(50)["size"].to_pylist()} == {"S", "M", "L"}


def test_an_order_that_is_not_known_must_be_given():
    with pytest.raises(ParameterError, match="an order of values that are no numbers"):
        tb.fit({"c": ["red", "green", "blue"] * 4, "y": [0, 1] * 6}, label="y", families={"c": "ordinal"})
    model = tb.fit({"c": [1, 5, 3] * 4, "y": [0, 1] * 6}, label="y", families={"c": "ordinal"})
    assert [row["value"] for row in model.describe().columns["c"][:3]] == [1, 3, 5]


def test_a_model_of_categories_and_one_of_their_order_merge():
    few = tb.fit({"risk": ["low", "high"] * 5, "y": [0, 1] * 5}, label="y", column_weights=None)
    more = tb.fit({"risk": ["low", "medium", "high", "medium"] * 5, "y": [0, 1] * 10}, label="y", column_weights=None)
    merged = more.merge(few)
    assert str(merged.schema.families["risk"]) == "ordinal:low<medium<high"
    assert sum(merged.class_counts.values()) == 30


def test_a_few_odd_cells_do_not_hide_an_order():
    """A shifted row: its value is outside the order, tells nothing, and is said."""
    installs = ["1,000+", "5,000+", "10,000+", "500,000+"] * 200
    table = {"x": [*installs, "Free"], "y": [*["a", "b"] * 400, "a"]}
    with pytest.warns(DataWarning, match=r"values outside the order tell nothing: \['Free'\] in 1 row"):
        model = tb.fit(table, label="y", column_weights=None)
    assert model.schema.families["x"].order == ("1,000+", "5,000+", "10,000+", "500,000+")
    frequent = {"x": [*installs, *["Free"] * 20], "y": [*["a", "b"] * 400, *["a"] * 20]}
    assert tb.fit(frequent, label="y", column_weights=None).schema.families["x"].name == "categorical"
