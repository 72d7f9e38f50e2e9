"""The likelihoods of columns add up to that of the row, and Bayes' rule holds in numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb

ROW = st.tuples(st.sampled_from("abc"), st.floats(-5, 5), st.sampled_from(["u|v", "u", ""]), st.sampled_from("pq"))


@given(st.lists(ROW, min_size=6, max_size=20))
def test_columns_add_up_to_the_row_and_the_posterior_follows(rows):
    x, number, tags, y = map(list, zip(*rows, strict=True))
    table = {"x": x, "n": number, "tags": tags, "y": ["p", "q", *y[2:]]}
    families = {"x": "categorical", "n": "gaussian", "tags": "tags"}
    model = tb.fit(table, label="y", families=families, smoothing=1)
    parts, prior = model.log_likelihood_by_column(table), model.log_prior()
    assert set(parts) <= set(families)
    total = sum(parts.values())
    assert np.allclose(total, model.log_likelihood(table), rtol=1e-12, atol=1e-12)
    posterior = np.exp(total + prior - model.log_marginal(table)[:, None])
    assert np.allclose(posterior, model.plain().predict_proba(table), atol=1e-12)


def test_a_missing_value_contributes_nothing():
    model = tb.fit({"x": ["a", "b", "a"], "y": ["p", "q", "q"]}, label="y", smoothing=1)
    assert model.log_likelihood_by_column([{"x": None}, {"x": "a"}])["x"][0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("k", [0.5, 1.0, "auto"])
@pytest.mark.parametrize("weights", [None, "auto"])
def test_a_declared_boolean_without_any_value_has_probability_one_half(k, weights):
    """The mean of Beta(k, k); the class does not matter, and what comes later is counted as ever."""
    table = {"x": [None] * 6, "z": ["p", "q", "q"] * 2, "y": ["a", "b", "a"] * 2}
    options = {"families": {"x": "bernoulli"}, "smoothing": k, "column_weights": weights}
    model = tb.fit(table, "y", **options)
    without = tb.fit({name: table[name] for name in ("z", "y")}, "y", smoothing=k, column_weights=weights)
    for value in (True, False):
        row = {"x": value, "z": "p"}
        assert model.log_likelihood_by_column([row])["x"] == pytest.approx(np.log([[0.5, 0.5]]))
        assert model.predict_proba([row]) == pytest.approx(without.predict_proba([{"z": "p"}]))
        assert model.predict_proba_one(row)["a"] == pytest.approx(without.predict_proba([{"z": "p"}])[0, 0])
    assert [row["P(yes)"] for row in model.describe().columns["x"]] == pytest.approx([0.5, 0.5])
    more = {"x": [True, False, True], "z": ["p", "q", "q"], "y": ["a", "b", "a"]}
    learned = tb.fit({name: table[name] + more[name] for name in table}, "y", **options | {"column_weights": None})
    model.column_weights = tb.ColumnWeights()
    model.learn(more)
    assert model.same_counts(learned)


def test_by_maximum_likelihood_such_a_column_says_nothing():
    table = {"x": [None] * 4, "z": ["p", "q"] * 2, "y": ["a", "b"] * 2}
    model = tb.fit(table, "y", families={"x": "bernoulli"}, estimate="mle")
    assert model.describe().columns.get("x", []) == []
    assert "x" not in model.log_likelihood_by_column([{"x": True, "z": "p"}])


def test_parts_with_the_coefficient_add_up():
    table = {"bag": [["a", "a", "b"], ["b"], ["a"]], "t": ["cash cash now", "now", "cash"], "y": ["p", "q", "p"]}
    families = {"bag": "multinomial", "t": "text:variant=counts,tf=count,ngrams=1"}
    model = tb.fit(table, "y", families=families, smoothing=1, column_weights=None)
    plain, parts = (model.log_likelihood_by_column(table, coefficient=with_it) for with_it in (False, True))
    np.testing.assert_allclose(sum(parts.values()), model.log_likelihood(table, coefficient=True), rtol=1e-12)
    np.testing.assert_allclose(parts["bag"] - plain["bag"], np.log([[3.0] * 2, [1] * 2, [1] * 2]), atol=1e-12)
