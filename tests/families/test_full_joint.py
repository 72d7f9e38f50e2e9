"""Full joint distributions: against counting with fractions, sums over all combinations, and scipy's evidence."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import tallybayes as tb
from tallybayes.arrays.column import Cells
from tallybayes.errors import ForgetError, ParameterError
from tallybayes.families.together.full_joint import STRENGTHS

SIZES = (2, 3, 1, 2)
FULL = tb.FullJoint()
cells = st.tuples(*(st.integers(-1, size - 1) for size in SIZES))
labelled = st.lists(st.tuples(cells, st.integers(0, 2)), max_size=20)
EVERY = list(itertools.product(*(range(-1, size) for size in SIZES)))
COMPLETE = list(itertools.product(*map(range, SIZES)))


def column(rows):
    return Cells(np.array(rows, np.int16).reshape(-1, len(SIZES)), SIZES)


def observed(data, weights=None):
    codes = np.array([code for _, code in data], np.int32)
    return FULL.observe(("x",), [column([row for row, _ in data])], codes, 3, weights)


def oracle(data, row, label, k):
    """P(row | label) by counting complete rows and adding up those that agree with the row; None where it is 0 / 0."""
    own = [other for other, code in data if code == label and min(other) >= 0]
    agree = [x for x in COMPLETE if all(b in (-1, a) for a, b in zip(x, row, strict=True))]
    total = len(own) + k * len(COMPLETE)
    return sum(own.count(x) + k for x in agree) / total if total else None


@given(labelled, st.sampled_from([Fraction(1), Fraction(1, 3), Fraction(0), Fraction(5)]))
def test_probabilities_are_counted_combinations(data, k):
    found = FULL.derive(observed(data), float(k)).log_prob([column(EVERY)])
    for row, scores in zip(EVERY, np.exp(found).tolist(), strict=True):
        for label, score in enumerate(scores):
            expected = oracle(data, row, label, k)
            assert score == pytest.approx(1.0 if expected is None else float(expected), rel=1e-12, abs=1e-300)


@given(labelled, st.sampled_from(["auto", 1.0, 0.01, math.inf]))
def test_they_add_up_to_one_over_all_combinations_of_any_inputs(data, k):
    predictive = FULL.derive(observed(data), k)
    for kept in itertools.product([False, True], repeat=len(SIZES)):
        probe = column(COMPLETE).with_inputs(np.array(kept))
        probe = Cells(np.unique(probe.codes, axis=0), SIZES)
        np.testing.assert_allclose(np.exp(predictive.log_prob([probe])).sum(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(predictive.outcomes(0)).sum(axis=0), 1.0, rtol=1e-12)


@given(labelled, st.floats(0.01, 20))
def test_evidence_is_that_of_a_dirichlet_multinomial(data, k):
    """scipy's probability of the counts, without the number of orders in which rows can come."""
    tally = observed(data)
    expected = 0.0
    for label in range(3):
        own = [row for row, code in data if code == label and min(row) >= 0]
        counts = np.array([own.count(row) for row in COMPLETE])
        if len(own):
            expected += stats.dirichlet_multinomial(np.full(len(counts), k), len(own)).logpmf(counts)
            expected -= math.lgamma(len(own) + 1) - sum(math.lgamma(n + 1) for n in counts)
    assert FULL.evidence(tally, FULL.prior(tally, k))[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    best = FULL.prior(tally, "auto").strengths[0]
    evidences = [FULL.evidence(tally, FULL.prior(tally, one))[0] for one in STRENGTHS]
    assert FULL.evidence(tally, FULL.prior(tally, best))[0] == max(evidences)


def test_incomplete_rows_are_not_counted_but_known():
    data = [((0, 1, 0, 1), 0), ((0, -1, 0, 1), 0), ((-1, -1, -1, -1), 1), ((1, 2, 0, -1), 1)]
    tally = observed(data)
    assert tally.incomplete_rows() == {"x": 2.0}
    assert tally.rows_seen().floats().tolist() == [[1.0, 0.0, 0.0]]
    assert tally.combination_table("x").sum() == 1
    tally.prepare(observed(data[1:2]), -1)()
    assert tally.incomplete_rows() == {"x": 1.0}
    with pytest.raises(ForgetError, match="not learned together that often"):
        tally.prepare(observed(data[1:2]), -1)
    with pytest.raises(ForgetError, match="not learned together that often"):
        tally.prepare(observed([((1, 1, 0, 1), 0)]), -1)


def test_samples_have_the_probabilities():
    rng = np.random.default_rng(0)
    data = [(tuple(rng.integers(0, SIZES).tolist()), 0) for _ in range(30)]
    predictive = FULL.derive(observed(data), 1.0)
    (drawn,) = predictive.sample(rng, 0, 20_000)
    p = np.exp(predictive.outcomes(0)[:, 0])
    counts = np.bincount(np.ravel_multi_index(tuple(drawn.T), SIZES), minlength=len(p))
    assert stats.chisquare(counts, p * 20_000).pvalue > 1e-4


def test_leave_one_out_needs_rows_that_were_learned():
    tally = observed([((0, 1, 0, 1), 0)])
    new = column([(1, 1, 0, 1)])
    with pytest.raises(ForgetError, match="a row that was learned"):
        FULL.leave_one_out(tally, FULL.prior(tally, 1.0), [new], np.zeros(1, np.int32), None)


def test_tables_list_what_occurred_or_everything():
    predictive = FULL.derive(observed([((0, 1, 0, 1), 0), ((1, 0, 0, 0), 1)]), 1.0)
    assert len(predictive.table()) == 3 * 2
    assert len(predictive.listing_all().table()) == 3 * len(COMPLETE)
    assert predictive.table()[0]["value"] == ((0, 0), (1, 1), (2, 0), (3, 1))
    assert predictive.note(0) == "2 of 12 combinations occurred"
    assert predictive.n_parameters(0) == 3 * 11
    assert len(FULL.derive(observed([]), 1.0).table()) == 3 * len(COMPLETE)  # nothing occurred


def test_too_many_combinations_are_refused_with_their_number():
    wide = Cells(np.zeros((1, 30), np.int16), (2,) * 30)
    with pytest.raises(ParameterError, match=r"of 30 columns, got 3,221,225,469, where naive Bayes has 90"):
        FULL.observe(("x",), [wide], np.zeros(1, np.int32), 3, None)
    largest = Cells(np.zeros((1, 22), np.int16), (2,) * 22)
    tally = FULL.observe(("x",), [largest], np.zeros(1, np.int32), 1, None)
    assert tally.combination_table("x").shape == (2**22, 1)


def test_counts_that_no_rows_can_have_are_refused():
    tally = observed([((0, 1, 0, 1), 0), ((0, -1, 0, 1), 2)])
    arrays = tally.arrays()
    assert type(tally).from_arrays(arrays, 3, observed([])).same(tally)
    arrays.keys["keys"][-1] = len(COMPLETE) + 1
    with pytest.raises(ValueError, match="keys that are not combinations of cells"):
        type(tally).from_arrays(arrays, 3, observed([]))
