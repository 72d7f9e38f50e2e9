"""A column that tells the label nearly by itself gets a warning, and stays."""

import warnings

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import DataWarning


def table(n=400, *, wrong=0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    told = y.copy()
    told[:wrong] = 1 - told[:wrong]
    return {"noise": rng.normal(size=n), "told": np.array(["open", "closed"])[told], "y": np.array(["n", "p"])[y]}


def leaks(data, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = tb.fit(data, label="y", **options)
    return [str(w.message) for w in caught if issubclass(w.category, DataWarning)], model


def test_a_column_that_is_the_label_in_other_words():
    (text,), model = leaks(table())
    assert text.startswith("column 'told': possible leak: the column alone predicts 100.0 % of held-out rows right")
    assert "ignore=['told'] (--ignore told)" in text
    assert "told" in model.schema.families


@pytest.mark.parametrize(("wrong", "n_warnings"), [(1, 1), (8, 0)])
def test_nearly_perfect_is_995_in_1000_or_more(wrong, n_warnings):
    assert len(leaks(table(wrong=wrong))[0]) == n_warnings


def test_numbers_leak_too():
    data = table(n=2000)
    data["told"] = np.where(data["y"] == "p", 5.0, 1.0) + np.random.default_rng(1).normal(size=2000) / 10
    (text,), _ = leaks(data)
    assert "possible leak: the column alone predicts 99." in text


def test_the_presence_of_a_value_leaks():
    data = table()
    rng = np.random.default_rng(1)
    there = (data["y"] == "p") ^ (rng.random(400) < 0.02)
    data["told"] = np.where(there, rng.integers(1, 20, 400).astype(float), np.nan)
    (text,), _ = leaks(data)
    assert "possible leak: whether it has a value alone predicts 9" in text


def test_small_tables_and_rare_classes_are_left_alone():
    assert leaks(table(n=100))[0] == []
    data = table()
    data["y"] = np.where(np.arange(400) < 5, "p", "n")
    data["told"] = data["y"]
    assert leaks(data)[0] == []


def test_a_rare_class_that_no_column_tells_is_no_leak():
    """Predicting the most frequent class is right in 99.6 % of the rows here, with any column."""
    rng = np.random.default_rng(0)
    n = 10_000
    data = {"x": rng.normal(size=n), "y": np.where(rng.random(n) < 0.004, "p", "n")}
    assert leaks(data)[0] == []


def test_a_derived_column_is_no_leak():
    """Each of two columns is useless alone; together they are the label, which is what dependence is for."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 400))
    data = {"a": np.array(["p", "q"])[a], "b": np.array(["r", "s"])[b], "y": np.array(["n", "p"])[a ^ b]}
    assert leaks(data, dependence="one")[0] == []


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        (tb.tune, {"what": "column_weights"}),
        (tb.tune, {"by": "validation", "strengths": 2}),
        (tb.tune, {"by": "evidence"}),
        (tb.cross_validate, {}),
        (tb.cross_validate, {"holdout": 0.3}),
    ],
)
def test_every_verb_that_fits_says_it(verb, options):
    with pytest.warns(DataWarning, match="column 'told': possible leak: the column alone predicts 100.0 %"):
        result = verb(table(n=800), label="y", **options)
    if verb is tb.tune:
        assert [(one.kind, one.column) for one in result.model.doubts] == [("possible leak", "told")]


def test_cross_validation_without_weights_has_no_held_out_rows_to_say_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tb.cross_validate(table(), label="y", column_weights=None)
