"""The likelihoods of columns add up to that of the row, and Bayes' rule holds in numbers."""

import numpy as np
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
