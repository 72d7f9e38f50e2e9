"""The native kernels that leave rows out against their definition, and arguments that make no sense to them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import kernels
from tallybayes.arrays.column import Reals
from tallybayes.families import Gaussian
from tallybayes.families.family import Family
from tallybayes.families.leave_one_out_scores import combine_scores
from tallybayes.families.numbers.gaussian_predictive import moments_of
from tallybayes.kernels import reference
from tallybayes.kernels.binning_runs import shares_at

pytestmark = pytest.mark.skipif(kernels.IMPLEMENTATION != "native", reason="built without a C++ compiler")
active = kernels.active
SIDES = (active, reference)
seeds = st.integers(0, 2**32 - 1)


def close(a, b, tolerance=1e-12):
    assert np.array_equal(np.isnan(a), np.isnan(b))
    assert np.allclose(
        a, b, rtol=tolerance, atol=tolerance * (1 + np.abs(b[np.isfinite(b)]).max(initial=0)), equal_nan=True
    )


def in_some_layout(rng, matrix):
    """The same numbers, lying differently in memory."""
    layout = rng.choice(["C", "F", "strided", "reversed"])
    if layout == "strided":
        wide = np.zeros((2 * len(matrix), 3 * matrix.shape[1]), matrix.dtype)
        wide[::2, ::3] = matrix
        return wide[::2, ::3]
    return matrix[::-1, ::-1].copy()[::-1, ::-1] if layout == "reversed" else np.asarray(matrix, order=layout)


KINDS = {
    "normal": lambda rng, x: x,
    "offset": lambda rng, x: 1e9 + x,
    "whole": lambda rng, x: np.round(3 * x),
    "huge": lambda rng, x: 1e200 * x,
    "tiny": lambda rng, x: 1e-310 * x,
    "constant": lambda rng, x: np.full_like(x, 3.5),
    "gaps": lambda rng, x: np.where(rng.random(len(x)) < 0.3, np.nan, x),
    "outlier": lambda rng, x: np.where(np.arange(len(x)) == rng.integers(0, len(x) + 1), 1e6, x),
    "pairs": lambda rng, x: np.where(np.arange(len(x)) % 2, x, np.roll(x, 1)),
    "nothing": lambda rng, x: np.full_like(x, np.nan),
}


def table_of(seed, kinds, n_rows, n_classes, weighted, dtype=np.float64):
    """Columns, codes, weights, and the facts of their sums as `add_student_leave_one_out` takes them."""
    rng = np.random.default_rng(seed)
    columns = [KINDS[kind](rng, rng.normal(size=n_rows) * 2.0 ** rng.integers(-9, 9)) for kind in kinds]
    matrix = np.array(columns).reshape(len(kinds), n_rows).T.astype(dtype)
    matrix = in_some_layout(rng, matrix)
    columns, codes = [matrix[:, j] for j in range(len(kinds))], rng.integers(0, n_classes, n_rows).astype(np.int32)
    weights = rng.choice([0.5, 1.0, 2.0, 3.7], n_rows) if weighted else None
    names, reals = tuple(map(str, range(len(kinds)))), [Reals(column) for column in columns]
    tally = Gaussian().observe(names, reals, codes, n_classes, weights)
    prior = Gaussian().prior(tally, "auto")
    facts = (prior.units, np.ascontiguousarray(prior.moments), tally["n"].floats(), moments_of(tally, prior.units))
    return columns, codes, weights, *facts


kinds_of_double = st.lists(st.sampled_from(sorted(KINDS)), max_size=25)
kinds_of_float = st.lists(st.sampled_from(sorted(set(KINDS) - {"huge", "tiny", "offset"})), max_size=5)


@given(seeds, kinds_of_double, st.integers(0, 200), st.integers(1, 10), st.booleans(), st.booleans(), st.data())
@settings(max_examples=200)
def test_students_t_without_the_row(seed, kinds, n_rows, n_classes, weighted, shared, data):
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    if dtype == np.float32:
        kinds = data.draw(kinds_of_float)
    given = (*table_of(seed, kinds, n_rows, n_classes, weighted, dtype), 3.0, 5.0, shared)
    start = data.draw(st.integers(0, n_rows))
    stop = data.draw(st.integers(start, n_rows))
    before = np.random.default_rng(seed).normal(size=(n_rows, n_classes))
    both = [before.copy() for _ in SIDES]
    found, wanted = (
        module.add_student_leave_one_out(*given, out, start, stop) for module, out in zip(SIDES, both, strict=True)
    )
    assert found.dtype == wanted.dtype == np.int64
    assert np.array_equal(found, wanted)
    close(*both)
    for row in range(start, min(stop, start + 3)):  # a row alone, bit for bit
        alone = before.copy()
        active.add_student_leave_one_out(*given, alone, row, row + 1)
        assert np.array_equal(alone[row], both[0][row])
        assert np.array_equal(np.delete(alone, row, axis=0), np.delete(before, row, axis=0))


@given(seeds, kinds_of_double, st.integers(0, 200), st.integers(1, 10), st.booleans(), st.booleans(), st.data())
@settings(max_examples=200)
def test_the_normal_density_without_the_row(seed, kinds, n_rows, n_classes, weighted, shared, data):
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    if dtype == np.float32:
        kinds = data.draw(kinds_of_float)
    columns, codes, weights, units, _, n, moments = table_of(seed, kinds, n_rows, n_classes, weighted, dtype)
    given = (columns, codes, weights, units, n, moments, shared)
    start = data.draw(st.integers(0, n_rows))
    stop = data.draw(st.integers(start, n_rows))
    before = np.random.default_rng(seed).normal(size=(n_rows, n_classes))
    both = [before.copy() for _ in SIDES]
    found, wanted = (
        module.add_normal_leave_one_out(*given, out, start, stop) for module, out in zip(SIDES, both, strict=True)
    )
    assert found.dtype == wanted.dtype == np.int64
    assert np.array_equal(found, wanted)
    close(*both)
    for row in range(start, min(stop, start + 3)):  # a row alone, bit for bit
        alone = before.copy()
        active.add_normal_leave_one_out(*given, alone, row, row + 1)
        assert np.array_equal(alone[row], both[0][row])
        assert np.array_equal(np.delete(alone, row, axis=0), np.delete(before, row, axis=0))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("module", SIDES, ids=["native", "reference"])
def test_the_normal_density_of_rows_that_are_not_in_the_sums(module, shared):
    """Too far out, infinite, or beside the only value of a column; places are `row * n_columns + column`."""
    columns, codes, _, units, _, n, moments = table_of(0, ["normal", "normal", "constant"], 100, 2, False)
    strange, out = [column.copy() for column in columns], np.zeros((100, 2))
    strange[0][[3, 70]], strange[1][5], strange[2][8] = [1e300, np.inf], -np.inf, 4.0
    places = module.add_normal_leave_one_out(strange, codes, None, units, n, moments, shared, out, 0, 100)
    assert places.tolist() == [9, 16, 26, 210]
    assert np.isfinite(out).all()


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("module", SIDES, ids=["native", "reference"])
def test_the_normal_density_without_the_row_is_that_of_the_other_rows(module, shared):
    rng = np.random.default_rng(0)
    x, codes, weights, out = rng.normal(7, 3, 50), np.arange(50, dtype=np.int32) % 3, rng.choice([0.5, 2], 50), []
    kept = np.zeros((50, 3))
    tally = Gaussian().observe(("x",), [Reals(x)], codes, 3, weights)
    units = Gaussian().prior(tally, "auto").units
    given = ([x], codes, weights, units, tally["n"].floats(), moments_of(tally, units), shared)
    assert not len(module.add_normal_leave_one_out(*given, kept, 0, 50))
    for row in range(50):
        w = np.where(np.arange(50) == row, 0.0, weights)[:, None] * (codes[:, None] == np.arange(3))
        mean = (w * x[:, None]).sum(axis=0) / w.sum(axis=0)
        squares = (w * (x[:, None] - mean) ** 2).sum(axis=0)
        variance = squares.sum() / w.sum() if shared else squares / w.sum(axis=0)
        out.append(-0.5 * np.log(2 * np.pi * variance) - 0.5 * (x[row] - mean) ** 2 / variance)
    assert np.allclose(kept, out, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("family", [Gaussian(), Gaussian(shared=True), Gaussian(log=True)], ids=str)
def test_columns_with_point_masses_and_gaps_go_together_as_one_by_one(family):
    rng = np.random.default_rng(0)
    codes, x = rng.integers(0, 3, 60).astype(np.int32), np.abs(rng.normal(size=(3, 60))) + 1
    values = [x[0], np.where(codes == 0, 3.0, x[1]), codes + 1.0, np.where(x[2] > 2, np.nan, x[2]), np.full(60, 2.5)]
    columns, names = [Reals(column) for column in values], tuple("abcde")
    given = (family.observe(names, columns, codes, 3, None), None, columns, codes, None)
    (together,) = combine_scores(family.leave_one_out(*given))
    together(quick := np.zeros((60, 3)), 0, 60)
    defined = np.zeros((60, 3))
    for score in Family.leave_one_out(family, *given):
        score(defined, 0, 60)
    assert np.isneginf(defined).any()
    np.testing.assert_allclose(quick, defined, rtol=1e-9, atol=1e-9)


def test_students_t_of_rows_that_are_not_in_the_sums():
    columns, codes, _, *facts = table_of(0, ["normal", "normal"], 100, 2, False)
    strange = [column.copy() for column in columns]
    strange[0][[3, 70]], strange[1][5] = [1e300, np.inf], -np.inf
    out = np.zeros((100, 2))
    assert active.add_student_leave_one_out(strange, codes, None, *facts, 3.0, 5.0, False, out, 0, 100).tolist() == [
        6,
        11,
        140,
    ]
    assert np.isfinite(out).all()


def test_students_t_of_many_columns_far_out():
    """All rows are in a class with some spread, and far from one that has none: products leave the range of doubles."""
    x, codes = np.random.default_rng(0).normal(size=(40, 20)), np.zeros(40, np.int32)
    x[::3] *= 1e-9  # near
    pooled, n, moments = np.zeros((3, 20)), np.full((20, 2), 1e35), np.zeros((3, 20, 2))
    pooled[2], moments[2, :, 0] = 1e-19, 1e-19
    given = (list(x.T), codes, None, np.zeros(20, np.int64), pooled, n, moments, 3.0, 5.0, False)
    both = [np.zeros((40, 2)) for _ in SIDES]
    for module, out in zip(SIDES, both, strict=True):
        assert not len(module.add_student_leave_one_out(*given, out, 0, 40))
    assert np.isfinite(both[1]).all()
    close(*both)


@given(seeds, st.sampled_from([np.int8, np.int16, np.int32, np.int64, np.uint8]), st.integers(1, 40), st.booleans())
@settings(max_examples=200)
def test_pairs_of_a_value_and_a_class(seed, dtype, n_classes, marks):
    rng = np.random.default_rng(seed)
    n_rows, n_values, origin = int(rng.integers(0, 150)), int(rng.integers(0, 9)), int(rng.integers(-3, 4))
    low = 0 if dtype == np.uint8 else -5
    column = in_some_layout(rng, rng.integers(low, 12, (n_rows, 1)).astype(dtype))[:, 0]
    codes, table = (
        rng.integers(0, n_classes, n_rows).astype(np.int32),
        rng.normal(size=(n_values * n_classes, n_classes)),
    )
    if marks and len(table):
        table[rng.integers(0, len(table))] = np.nan
    start, stop = sorted(rng.integers(0, n_rows + 1, 2).tolist())
    both = [np.ones((n_rows, n_classes)) for _ in SIDES]
    given = (column, origin, codes, table)
    found, wanted = (module.add_pairs(*given, out, start, stop) for module, out in zip(SIDES, both, strict=True))
    assert found == wanted
    assert np.array_equal(*both, equal_nan=True)


@given(seeds, st.sampled_from([np.float64, np.float32]), st.integers(1, 9), st.sampled_from([0, 1, 2, 5, 128, 3000]))
@settings(max_examples=200)
def test_pairs_of_a_step_and_a_class(seed, dtype, n_classes, n_edges):
    rng = np.random.default_rng(seed)
    n_rows, scale = int(rng.integers(0, 150)), rng.choice([1.0, 1e200, 1e-310]) if dtype == np.float64 else 1.0
    edges = np.sort(np.round(rng.normal(size=n_edges), 2) * scale)
    values = np.round(rng.normal(size=(n_rows, 1)), 2) * scale
    values[rng.random(n_rows) < 0.1] = rng.choice([np.nan, np.inf, -np.inf])
    column = in_some_layout(rng, values.astype(dtype))[:, 0]
    codes, table = (
        rng.integers(0, n_classes, n_rows).astype(np.int32),
        rng.normal(size=(n_edges * n_classes, n_classes)),
    )
    if len(table):
        table[rng.integers(0, len(table))] = np.nan
    start, stop = sorted(rng.integers(0, n_rows + 1, 2).tolist())
    both = [np.ones((n_rows, n_classes)) for _ in SIDES]
    given = (column, edges, codes, table)
    found, wanted = (module.add_step_pairs(*given, out, start, stop) for module, out in zip(SIDES, both, strict=True))
    assert found == wanted
    assert np.array_equal(*both, equal_nan=True)


@given(seeds, st.integers(1, 5), st.integers(1, 40), st.booleans())
@settings(max_examples=100)
def test_binnings_without_a_row(seed, n_classes, n_buckets, fractional):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.exponential(20, (n_buckets, n_classes))).astype(float)
    counts[rng.integers(0, n_buckets)] += 1  # every class is there
    if fractional:
        counts *= rng.random()
    lines = int(rng.integers(0, 6))
    codes, weights = rng.integers(0, n_classes, lines), rng.choice([1.0, 0.5, 2.0, 7.3], lines)
    given = (
        counts,
        counts.sum(axis=0) / counts.sum(),
        float(rng.choice([1.0, 3.0, 30.0])),
        float(rng.uniform(0.003, 0.3)),
    )
    found, wanted = (module.binnings_leave_one_out(*given, codes, weights) for module in SIDES)
    assert found.shape == wanted.shape == (lines, n_buckets, n_classes)
    for one, other, code, weight in zip(found, wanted, codes, weights, strict=True):
        there = counts[:, code] >= weight  # the others are to be ignored
        assert np.allclose(one[there], other[there], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("module", SIDES, ids=["native", "reference"])
@pytest.mark.parametrize("weight", [1.0, 3.0, 1000.0, 1e5])
def test_binnings_without_a_row_are_those_of_the_counts_without_it(module, weight):
    rng = np.random.default_rng(0)
    counts = (rng.poisson(3, (20, 3)) + 1) * weight
    p, a, rho = counts.sum(axis=0) / counts.sum(), 3.0, 0.03
    table = module.binnings_leave_one_out(counts, p, a, rho, np.array([0, 2]), np.full(2, weight))
    for line, code in enumerate([0, 2]):
        for bucket in range(20):
            left = counts.copy()
            left[bucket, code] -= weight
            share = shares_at(left, p, a, rho)
            wanted = np.log(share[bucket]) - np.log(left.sum(axis=1) / left.sum() @ share)
            assert np.allclose(table[line, bucket], wanted, rtol=1e-7, atol=1e-7)


@given(seeds, st.integers(1, 30), st.integers(0, 40))
def test_logs_of_shares(seed, n_classes, n_rows):
    rng = np.random.default_rng(seed)
    out = rng.normal(size=(n_rows, n_classes)) * 10.0 ** rng.integers(0, 4, (n_rows, 1))
    out[rng.random(out.shape) < 0.2] = -np.inf
    both = [out.copy() for _ in SIDES]
    found, wanted = (module.log_softmax(own, 0, n_rows) for module, own in zip(SIDES, both, strict=True))
    assert found == wanted == np.isneginf(out).all(axis=1).sum()
    assert np.allclose(*both, rtol=1e-13, atol=1e-13)


X, CODES, OUT = np.array([0.5, 1.5, 2.5]), np.array([0, 1, 1], np.int32), np.zeros((3, 2))
FACTS = (np.zeros(1, np.int64), np.ones((3, 1)), np.ones((1, 2)), np.ones((3, 1, 2)))
SUMS = (FACTS[0], *FACTS[2:])
WRONG = {
    "add_normal_leave_one_out": [
        ([X], CODES, None, *SUMS, False, OUT, 0, 4),
        ([X], CODES, None, *SUMS, False, OUT, -1, 3),
        ([X], CODES, None, *SUMS, False, OUT, 2, 1),
        ([X[:2]], CODES, None, *SUMS, False, OUT, 0, 3),
        ([X, X], CODES, None, *SUMS, False, OUT, 0, 3),
        ([X], CODES[:2], None, *SUMS, False, OUT, 0, 3),
        ([X], CODES + 1, None, *SUMS, False, OUT, 0, 3),
        ([X], CODES - 1, None, *SUMS, False, OUT, 0, 3),
        ([X], CODES, np.ones(2), *SUMS, False, OUT, 0, 3),
        ([X], CODES, None, *SUMS, False, np.zeros((3, 3)), 0, 3),
        ([X], CODES, None, *SUMS, False, np.zeros((2, 2)), 0, 3),
        ([X], CODES, None, np.array([5000]), *SUMS[1:], False, OUT, 0, 3),
        ([X.astype(np.int64)], CODES, None, *SUMS, False, OUT, 0, 3),
    ],
    "add_student_leave_one_out": [
        ([X], CODES, None, *FACTS, 3.0, 5.0, False, OUT, 0, 4),
        ([X], CODES, None, *FACTS, 3.0, 5.0, False, OUT, -1, 3),
        ([X], CODES, None, *FACTS, 3.0, 5.0, False, OUT, 2, 1),
        ([X[:2]], CODES, None, *FACTS, 3.0, 5.0, False, OUT, 0, 3),
        ([X, X], CODES, None, *FACTS, 3.0, 5.0, False, OUT, 0, 3),
        ([X], CODES[:2], None, *FACTS, 3.0, 5.0, False, OUT, 0, 3),
        ([X], CODES + 1, None, *FACTS, 3.0, 5.0, False, OUT, 0, 3),
        ([X], CODES - 1, None, *FACTS, 3.0, 5.0, False, OUT, 0, 3),
        ([X], CODES, np.ones(2), *FACTS, 3.0, 5.0, False, OUT, 0, 3),
        ([X], CODES, None, *FACTS, 3.0, 5.0, False, np.zeros((3, 3)), 0, 3),
        ([X], CODES, None, *FACTS, 3.0, 5.0, False, np.zeros((2, 2)), 0, 3),
        ([X], CODES, None, *FACTS, 0.0, 5.0, False, OUT, 0, 3),
        ([X], CODES, None, np.array([5000]), *FACTS[1:], 3.0, 5.0, False, OUT, 0, 3),
        ([X.astype(np.int64)], CODES, None, *FACTS, 3.0, 5.0, False, OUT, 0, 3),
    ],
    "add_pairs": [
        (CODES, 0, CODES, np.zeros((4, 2)), OUT, 0, 4),
        (CODES, 0, CODES, np.zeros((4, 2)), OUT, -1, 3),
        (CODES, 0, CODES[:2], np.zeros((4, 2)), OUT, 0, 3),
        (CODES, 0, CODES + 1, np.zeros((4, 2)), OUT, 0, 3),
        (CODES, 0, CODES - 1, np.zeros((4, 2)), OUT, 0, 3),
        (CODES, 0, CODES, np.zeros((3, 2)), OUT, 0, 3),
        (CODES, 0, CODES, np.zeros((4, 3)), OUT, 0, 3),
        (CODES, 0, CODES, np.zeros((4, 2)), OUT[:2], 0, 3),
        (X, 0, CODES, np.zeros((4, 2)), OUT, 0, 3),
    ],
    "add_step_pairs": [
        (X, X[:2], CODES, np.zeros((4, 2)), OUT, 0, 4),
        (X, X[:2], CODES, np.zeros((2, 2)), OUT, 0, 3),
        (X, X[:2], CODES + 1, np.zeros((4, 2)), OUT, 0, 3),
        (X, X[:2], CODES - 1, np.zeros((4, 2)), OUT, 0, 3),
        (X, X[:2], CODES[:2], np.zeros((4, 2)), OUT, 0, 3),
        (CODES, X[:2], CODES, np.zeros((4, 2)), OUT, 0, 3),
    ],
    "binnings_leave_one_out": [
        (np.ones((4, 2)), np.ones(3) / 3, 1.0, 0.1, np.array([0]), np.ones(1)),
        (np.ones((4, 2)), np.ones(2) / 2, 1.0, 0.1, np.array([2]), np.ones(1)),
        (np.ones((4, 2)), np.ones(2) / 2, 1.0, 0.1, np.array([-1]), np.ones(1)),
        (np.ones((4, 2)), np.ones(2) / 2, 1.0, 0.1, np.array([0]), np.ones(2)),
        (np.ones((4, 2)), np.ones(2) / 2, 1.0, 0.1, np.array([0]), np.zeros(1)),
        (np.ones((4, 2)), np.ones(2) / 2, 0.0, 0.1, np.array([0]), np.ones(1)),
        (np.ones((4, 2)), np.ones(2) / 2, 1.0, 1.0, np.array([0]), np.ones(1)),
    ],
}


@pytest.mark.parametrize(("kernel", "number"), [(name, i) for name, cases in WRONG.items() for i in range(len(cases))])
def test_arguments_that_do_not_fit_are_refused(kernel, number):
    with pytest.raises((ValueError, TypeError)):
        getattr(active, kernel)(*WRONG[kernel][number])
    assert not OUT.any()
