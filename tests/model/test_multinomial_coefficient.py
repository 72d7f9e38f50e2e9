"""log p(x) with the multinomial coefficient is that of the multinomial distribution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multinomial

import tallybayes as tb
from tallybayes.errors import DataError, ParameterError

WORDS = ["cash", "lunch", "noon", "prize"]
counts = st.lists(st.integers(0, 9), min_size=4, max_size=4)


def fitted(kind, bags, labels):
    families = {"bag": tb.Text("counts", tf="count") if kind == "text" else "multinomial"}
    return tb.fit({"bag": bags, "y": labels}, "y", families=families, smoothing=0.5, class_smoothing=0)


def bag_of(kind, row):
    if kind == "matrix":
        return dict(zip(WORDS, row, strict=True))
    words = [word for word, n in zip(WORDS, row, strict=True) for _ in range(n)]
    return " ".join(words) if kind == "text" else words


@pytest.mark.parametrize("kind", ["text", "lists", "matrix"])
@given(learned=st.lists(counts, min_size=2, max_size=6), new=st.lists(counts, min_size=1, max_size=5))
def test_it_is_that_of_scipy(kind, learned, new):
    """P(token | class) from the counts; column weights are no part of it. Every token was learned."""
    learned = [*learned, [1, 1, 1, 1]]
    labels = ["pq"[i % 2] for i in range(len(learned))]
    model = fitted(kind, [bag_of(kind, row) for row in learned], labels)
    table = {"bag": [bag_of(kind, row) for row in new]}
    n = np.array([np.sum([row for row, y in zip(learned, labels, strict=True) if y == c], axis=0) for c in "pq"])
    p = (n + 0.5) / (n + 0.5).sum(axis=1, keepdims=True)
    expected = np.array([[multinomial.logpmf(row, sum(row), share) for share in p] for row in new])
    found = model.log_likelihood(table, coefficient=True)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    joint = model.log_prior() + expected
    np.testing.assert_allclose(model.log_joint(table, coefficient=True), joint, rtol=1e-9, atol=1e-9)
    marginal = logsumexp(joint, axis=1)
    np.testing.assert_allclose(model.log_marginal(table, coefficient=True), marginal, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.log_likelihood(table, coefficient=False), model.log_likelihood(table))


def test_the_probabilities_of_all_bags_of_a_size_sum_to_one():
    model = fitted("matrix", [bag_of("matrix", [3, 1, 0, 2]), bag_of("matrix", [0, 1, 4, 1])], ["p", "q"])
    sizes = [(a, b, c) for a in range(6) for b in range(6 - a) for c in range(6 - a - b)]
    rows = [bag_of("matrix", [*size, 5 - sum(size)]) for size in sizes]
    total = np.exp(model.log_likelihood({"bag": rows}, coefficient=True)).sum(axis=0)
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_columns_without_a_coefficient_and_tokens_never_learned():
    """Presence, numbers, missing bags and unknown tokens add nothing."""
    table = {
        "bag": [["a", "b"], ["b"], None],
        "tags": ["a|b", "b", "c"],
        "text": ["win cash", "lunch", "noon"],
        "x": [0.5, 1.5, 2.5],
        "y": ["p", "q", "q"],
    }
    families = {"bag": "multinomial", "tags": "tags", "text": tb.Text("presence")}
    model = tb.fit(table, "y", families=families, smoothing=1)
    rows = {name: values for name, values in table.items() if name != "y"}
    more = model.log_likelihood(rows, coefficient=True) - model.log_likelihood(rows)
    np.testing.assert_allclose(more, np.log([[2, 2], [1, 1], [1, 1]]), atol=1e-12)
    unknown = {"bag": [["a", "never", "never"]]}
    np.testing.assert_array_equal(model.log_likelihood(unknown, coefficient=True), model.log_likelihood(unknown))


def test_amounts_that_are_not_whole_are_refused():
    model = fitted("matrix", [{"a": 1.5}, {"a": 2, "b": 0.25}], ["p", "q"])
    with pytest.raises(DataError, match=r"expected whole amounts, for a multinomial coefficient, got 0.25") as caught:
        model.log_likelihood({"bag": [{"a": 1}, {"b": 0.25}]}, coefficient=True)
    assert (caught.value.column, caught.value.row) == ("bag", 1)
    assert np.isfinite(model.log_likelihood({"bag": [{"a": 1}, {"b": 0.25}]})).all()
    logarithms = {"t": tb.Text("counts", tf="log", unit=False)}
    logs = tb.fit({"t": ["a1 a1", "b1"], "y": ["p", "q"]}, "y", families=logarithms, smoothing=1)
    with pytest.raises(DataError, match="whole amounts"):
        logs.log_marginal({"t": ["a1 a1"]}, coefficient=True)
    with pytest.raises(ParameterError, match="coefficient: True or False"):
        model.log_joint({"bag": [{"a": 1}]}, coefficient="yes")
