"""Averaged one-dependence estimators: against fractions worked out by hand, sums over all cells, and refitting."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.arrays.column import Cells
from tallybayes.errors import ForgetError, ParameterError, UnsupportedError
from tallybayes.families.family import Family

SIZES = (2, 3, 2)


def rows(n, seed=0, missing=0.1, n_classes=2):
    """Cells that depend on each other, with gaps, and classes."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n).astype(np.int32)
    first = rng.integers(0, 2, n)
    cells = np.stack([first, (first + codes + (rng.random(n) < 0.3)) % 3, rng.integers(0, 2, n) & first], axis=1)
    return Cells(np.where(rng.random(cells.shape) < missing, -1, cells).astype(np.int16), SIZES), codes


def observed(column, codes, weights=None):
    return tb.OneDependence().observe(("x",), [column], codes, int(codes.max()) + 1, weights)


def oracle(data, codes, row, label, k=1):
    """P(row | label) with fractions, straight from the formulas."""
    k, own = Fraction(k), [x for x, c in zip(data, codes, strict=True) if c == label]
    there = [i for i, cell in enumerate(row) if cell >= 0]

    def p(i):
        total = [x for x in own if x[i] >= 0]
        n = sum(x[i] == row[i] for x in total)
        return (n + k / SIZES[i]) / (len(total) + k)

    def given(i, j):
        both = [x for x in own if x[j] == row[j] and x[i] >= 0]
        return (sum(x[i] == row[i] for x in both) + 5 * k * p(i)) / (len(both) + 5 * k)

    parents = [j for j in there if sum(x[j] == row[j] for x in data) >= 20]
    if not parents:
        return math.prod((p(i) for i in there), start=Fraction(1))
    terms = [p(j) * math.prod(given(i, j) for i in there if i != j) for j in parents]
    return sum(terms, Fraction(0)) / len(parents)


@pytest.mark.parametrize("n", [15, 45, 120])
@pytest.mark.parametrize("k", [1, 3])
def test_scores_are_those_of_the_formulas(n, k):
    column, codes = rows(n)
    tally = observed(column, codes)
    data = column.codes.tolist()
    every = [list(row) for row in itertools.product(*[range(-1, size) for size in SIZES])]
    probe = Cells(np.array(every, np.int16), SIZES)
    found = tb.OneDependence().derive(tally, "auto" if k == 1 else float(k)).log_prob([probe])
    for row, scores in zip(every, found, strict=True):
        for label in (0, 1):
            assert scores[label] == pytest.approx(math.log(oracle(data, codes, row, label, k)), rel=1e-12, abs=1e-12)


def test_probabilities_add_up_to_one_where_the_parents_are_the_same():
    column, codes = rows(2000)
    every = Cells(np.array(list(itertools.product(*map(range, SIZES))), np.int16), SIZES)
    assert observed(column, codes).pair_table("x").sum(axis=2).diagonal().min() >= 20
    p = np.exp(tb.OneDependence().derive(observed(column, codes), "auto").log_prob([every]))
    np.testing.assert_allclose(p.sum(axis=0), 1.0, rtol=1e-12)
    one = np.exp(tb.OneDependence().derive(observed(column, codes), "auto").log_prob([some([0, -1, -1], [1, -1, -1])]))
    np.testing.assert_allclose(one.sum(axis=0), 1.0, rtol=1e-12)


def some(*cells):
    return Cells(np.array(cells, np.int16), SIZES)


def test_a_row_without_values_says_nothing():
    column, codes = rows(100)
    assert tb.OneDependence().derive(observed(column, codes), "auto").log_prob([some([-1, -1, -1])]).tolist() == [
        [0, 0]
    ]


@pytest.mark.parametrize("smoothing", ["auto", 0.25, 0.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_refitting_also_with_parents(smoothing, weighted):
    column, codes = rows(150, n_classes=3)
    weights = np.random.default_rng(1).random(150) * 2 if weighted else None
    family, tally = tb.OneDependence(), observed(column, codes, weights)
    prior = None if smoothing == 0 else family.prior(tally, smoothing)
    given = (tally, prior, [column], codes, weights)
    fast, defined = np.zeros((150, 3)), np.zeros((150, 3))
    family.leave_one_out(*given)[0](fast, 0, 150)
    Family.leave_one_out(family, *given)[0](defined, 0, 150)
    np.testing.assert_allclose(fast, defined, rtol=1e-9, atol=1e-9)
    part = np.zeros((150, 3))
    family.leave_one_out(*given)[0](part, 40, 41)
    assert np.array_equal(part[40], fast[40])


def test_leave_one_out_refuses_rows_that_were_not_learned():
    column, codes = rows(30, missing=0.0)
    tally = observed(column.take(np.arange(1, 30)), codes[1:])
    new = some([1, 2, 1])
    tally = tally.with_classes(np.array([0, 1]), 3)
    score = tb.OneDependence().leave_one_out(tally, None, [new], np.array([2], np.int32), None)[0]
    with pytest.raises(ForgetError, match="a row that was learned"):
        score(np.zeros((1, 3)), 0, 1)


def test_samples_have_the_probabilities_of_the_scores():
    column, codes = rows(3000, missing=0.0)
    predictive = tb.OneDependence().derive(observed(column, codes), "auto")
    n = 40_000
    (drawn,) = predictive.sample(np.random.default_rng(3), 1, n)
    every = np.array(list(itertools.product(*map(range, SIZES))))
    p = np.exp(predictive.log_prob([Cells(every.astype(np.int16), SIZES)])[:, 1])
    share = np.array([(drawn == row).all(axis=1).mean() for row in every])
    assert np.abs(share - p).max() < 5 * np.sqrt(p.max() / n)  # fails by chance once in a million


def test_what_it_cannot_do_is_an_error():
    column, codes = rows(30)
    tally = observed(column, codes)
    with pytest.raises(UnsupportedError, match="an evidence in closed form, got one_dependence"):
        tb.OneDependence().evidence(tally, tb.OneDependence().prior(tally, 1.0))
    wide = Cells(np.zeros((1, 2), np.int16), (20_000, 20_000))
    with pytest.raises(
        ParameterError, match=r"at most 1 GiB for pairs of cells, got 11.9 GiB \(40,000 cells, 1 class\)"
    ):
        observed(wide, np.zeros(1, np.int32))
