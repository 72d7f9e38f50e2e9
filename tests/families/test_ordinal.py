"""Ordered categories: the laws, and the histogram of ranks that they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.arrays.column import Codes, Reals
from tallybayes.errors import ParameterError
from tallybayes.families import Histogram, Ordinal, parse
from tallybayes.families.discrete.value_order import ValueOrder
from tallybayes.testing import check_family

ORDER = ("a", "b", "c", "d")


@pytest.mark.parametrize(
    "family", [Ordinal(ORDER), Ordinal(("<18", "18-64", "65+")), Ordinal(tuple("abcdefghij"))], ids=str
)
def test_the_laws_of_a_family(family):
    check_family(family)


@pytest.mark.parametrize("smoothing", [0, 1.0, np.inf])
def test_it_is_a_histogram_of_ranks(smoothing):
    rng = np.random.default_rng(0)
    ranks, codes = rng.integers(0, 4, 300), rng.integers(0, 3, 300).astype(np.int32)
    family, twin = Ordinal(ORDER), Histogram()
    own = family.observe(("x",), [Codes(ranks, ORDER)], codes, 3, None)
    other = twin.observe(("x",), [Reals(ranks.astype(float))], codes, 3, None)
    prior = family.prior(own, smoothing)
    found = family.plug_in(own) if smoothing == 0 else family.predictive(own, prior)
    expected = twin.plug_in(other) if smoothing == 0 else twin.predictive(other, prior)
    assert np.array_equal(found.log_prob([Codes(np.arange(4), ORDER)]), expected.log_prob([Reals(np.arange(4.0))]))
    if smoothing:
        assert family.evidence(own, prior) == pytest.approx(twin.evidence(other, prior))


def test_probabilities_add_up_and_unseen_values_take_the_nearest():
    column, codes = Codes(np.array([0, 0, 1, 3, 3, 3]), ORDER), np.array([0, 0, 0, 1, 1, 1], np.int32)
    family = Ordinal(ORDER)
    predictive = family.derive(family.observe(("x",), [column], codes, 2, None), "auto")
    log_p = predictive.log_prob([Codes(np.arange(6), ["a", "b", "d", "c", "z", "A "])])
    assert np.exp(log_p[:3]).sum(axis=0) == pytest.approx(1)
    assert log_p[3].tolist() in (log_p[1].tolist(), log_p[2].tolist())  # c is between b and d
    assert log_p[4].tolist() == [0, 0]
    assert log_p[5].tolist() == log_p[0].tolist()
    drawn = predictive.sample(np.random.default_rng(0), 0, 2000)[0]
    share = np.mean([value == "a" for value in drawn])
    assert share == pytest.approx(np.exp(log_p[0, 0]), abs=0.05)  # five standard errors


@given(st.lists(st.text("ab<>\\=, :1", min_size=1, max_size=4).map(str.strip).filter(bool), min_size=2, max_size=5))
def test_every_order_can_be_written_and_read(values):
    try:
        family = Ordinal(tuple(values))
    except ParameterError:
        assert len({value.casefold() for value in values}) < len(values)
        return
    assert ValueOrder.parse(ValueOrder.text(values)) == tuple(values)
    assert parse(str(family)) == family


@pytest.mark.parametrize("text", ["ordinal:a", "ordinal:a<A", "ordinal:a<b<"])
def test_orders_without_a_meaning(text):
    with pytest.raises(ParameterError):
        parse(text)


def test_charts_keep_the_order():
    from tallybayes.reporting.column_chart_data import column_chart_data

    table = {"size": ["M"] * 30 + ["S"] * 5 + ["L"] * 10, "y": ["a", "b", "b"] * 15}
    model = tb.fit(table, label="y", families={"size": "ordinal:S<M<L"})
    data = column_chart_data(model, "size")
    assert list(dict.fromkeys(row["value"] for row in data.rows)) == ["S", "M", "L"]
    assert [row["value"] for row in model.intervals().columns["size"] if row["class"] == "a"] == ["S", "M", "L"]
