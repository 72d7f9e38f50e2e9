"""Native kernels that score against their definitions: a few units in the last place, and a row alone as in a batch."""

import math

import numpy as np
import pytest
from compared import SIDES, active, alike, blocks, flag_cells, native, scores, whole
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes.kernels import reference

pytestmark = native


@pytest.mark.slow
@given(blocks(), st.integers(0, 2**32 - 1), st.sampled_from(["equal", "few", "many", "some equal"]))
@settings(max_examples=300)
def test_scores_of_reals(block, seed, freedom):
    columns, codes, n_classes, start, stop = block
    rng = np.random.default_rng(seed)
    shape = (len(columns), n_classes)
    units = 2.0 ** rng.integers(-30, 30, len(columns))
    mean, low = rng.normal(size=shape), rng.normal(size=shape) * 1e-17 * rng.integers(0, 2)
    inverse = 10.0 ** rng.uniform(-3, 3, shape) * (rng.random(shape) < 0.9)
    half = np.full(shape, 7.5) if freedom == "equal" else rng.uniform(0, 50, shape)
    if freedom != "equal":
        half *= 1.0 if freedom == "few" else 10.0 ** rng.integers(0, 6)  # few terms of a series are enough
        inverse /= 1.0 if freedom == "few" else np.sqrt(2 * half + 1)
    half[:3] = half[:1] if freedom == "some equal" else half[:3]
    constant, out = rng.normal(size=shape), rng.normal(size=(len(codes), n_classes))
    alike(("add_student", columns, units, mean, low, inverse, half, constant), out, start, stop)
    alike(("add_normal", columns, units, mean, low, inverse, constant), out, start, stop)


@given(blocks(), st.integers(0, 2**32 - 1))
def test_scores_of_steps(block, seed):
    columns, codes, n_classes, start, stop = block
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 9, len(columns))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    pool = np.array([-np.inf, -1e308, -5.0, -0.0, 5e-324, 0.1, 1.0, 2.0, 100.0, 1e15, 1e200, 1.7e308])
    edges = np.concatenate([np.sort(rng.choice(pool, size, replace=False)) for size in sizes] or [np.zeros(0)])
    table, out = rng.normal(size=(offsets[-1], n_classes)), rng.normal(size=(len(codes), n_classes))
    alike(("add_steps", columns, offsets, edges, table), out, start, stop)


@given(blocks(whole, (np.int8, np.int16, np.int32, np.int64)), st.integers(0, 2**32 - 1))
def test_scores_of_codes(block, seed):
    columns, codes, n_classes, start, stop = block
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 9, len(columns)))]).astype(np.int64)
    origins = rng.integers(-3, 3, len(columns)).astype(np.int64)
    table, out = rng.normal(size=(offsets[-1], n_classes)), rng.normal(size=(len(codes), n_classes))
    table[rng.random(table.shape) < 0.1] = -np.inf
    alike(("add_codes", columns, origins, offsets, table), out, start, stop)


@pytest.mark.parametrize("n_classes", [0, 1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("layout", ["rows", "columns", "unlike"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_scores_of_many_bytes(n_classes, layout, dtype):
    rng = np.random.default_rng(n_classes)
    X = np.asarray(rng.integers(0, 256, (1501, 7)).astype(dtype), order="F" if layout == "columns" else "C")
    columns = [X[:, j].copy() if layout == "unlike" and j == 4 else X[:, j] for j in range(7)]
    offsets = np.array([0, 256, 256, 300, 301, 400, 500, 756])
    origins = np.array([-128 if dtype is np.int8 else 0, 0, -20, 5, 100, -90, 3])
    table, out = rng.normal(size=(756, n_classes)), rng.normal(size=(1501, n_classes))
    arguments = (columns, origins, offsets, table)
    both = [out.copy(), out.copy()]
    for module, own in zip((active, reference), both, strict=True):
        module.add_codes(*arguments, own, 3, 1500)
    assert np.array_equal(*both)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0.0, 0.5, math.inf]))
def test_scores_of_slots(seed, silent, k):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1, (9, 3)) * rng.integers(0, 2, (9, 1))
    slots = np.where(rng.random((6, 4)) < 0.2, np.nan, rng.integers(-1, 9, (6, 4)))
    out, totals, sizes = (
        rng.normal(size=(6, 3)),
        counts.max(axis=0) + rng.poisson(9, (4, 3)).astype(float),  # never fewer than any of its counts
        rng.integers(1, 9, 4).astype(float),
    )
    alike(("add_laplace", slots, counts, totals, k, sizes, silent), out, 1, 6)
    table, known = rng.normal(size=(13, 3)), rng.random(13) < 0.9
    found, wanted = (scores(module, ("add_slots", slots, known, table), out, 1, 6) for module in SIDES)
    assert found[0] == wanted[0]
    assert np.array_equal(found[1], wanted[1])
    alike(("add_slots", slots, known | True, table), out, 1, 6)


@given(
    blocks(st.one_of(st.integers(0, 300).map(float), st.just(float("nan")))), st.integers(0, 2**32 - 1), st.booleans()
)
def test_scores_of_events(block, seed, spoil):
    columns, codes, n_classes, start, stop = block
    rng = np.random.default_rng(seed)
    if spoil and columns and len(codes):
        columns[-1][len(codes) // 2] = rng.choice([0.5, -1.0, np.inf, 2.0**60])
    shape, rate = 1.0 + rng.poisson(40, (2, len(columns), n_classes))
    silent, out = rng.random(shape.shape) < 0.2, rng.normal(size=(len(codes), n_classes))
    shape[silent] = 0
    weights = rng.choice([0.0, 0.3, 1.0], silent.shape)
    for form in (shape, None):
        for own in (weights, None):
            alike(("add_events", columns, form, rate - (form is None), silent, own), out, start, stop)


def test_scores_of_many_events_are_those_of_few():
    rng = np.random.default_rng(0)
    x = rng.poisson(30, (500, 2)) * 10.0 ** rng.integers(0, 3, (500, 2))
    shape, rate, silent = (
        np.array([[3.0, 40.0], [1.0, 2.0]]),
        np.array([[0.5, 2.0], [1.0, 7.0]]),
        np.zeros((2, 2), bool),
    )
    alike(("add_events", [x[:, 0], x[:, 1]], shape, rate, silent, None), np.zeros((500, 2)), 0, 500)


@given(blocks(flag_cells), st.integers(0, 2**32 - 1))
def test_scores_of_flags(block, seed):
    columns, codes, n_classes, start, stop = block
    rng = np.random.default_rng(seed)
    log_no, log_yes = rng.normal(size=(2, len(columns), n_classes))
    out = rng.normal(size=(len(codes), n_classes))
    alike(("add_flags", columns, log_no, log_yes), out, start, stop)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(0, 40))
def test_softmax(seed, n_classes, n_rows):
    rng = np.random.default_rng(seed)
    out = rng.normal(size=(n_rows, n_classes)) * 10.0 ** rng.integers(0, 4, (n_rows, 1))
    out[rng.random(out.shape) < 0.2] = -np.inf
    alike(("softmax",), out, 0, n_rows)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.booleans())  # with one class all choices tie
@settings(max_examples=40)
def test_averaging_binnings(seed, n_classes, fractional):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 40, 3))]).astype(np.int64)
    counts = rng.poisson(rng.exponential(20, (offsets[-1], n_classes))).astype(float)
    if fractional:
        counts *= rng.random()
    arguments = (counts, offsets, np.array([1.0, 3.0, 10.0, 30.0]), np.array([0.003, 0.01, 0.03, 0.1, 0.3]))
    found, wanted = active.average_binnings(*arguments), reference.average_binnings(*arguments)
    assert np.allclose(found[3], wanted[3], rtol=1e-9, atol=1e-9)
    same = np.repeat((found[1] == wanted[1]) & (found[2] == wanted[2]), np.diff(offsets))  # near-ties may differ
    assert np.allclose(found[0][same], wanted[0][same], rtol=1e-8, atol=1e-300)
    assert same.mean() > 0.5 or not len(same)


@given(st.integers(0, 2**32 - 1), st.sampled_from([30, 3000, 300000]), st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=20)
def test_averaging_binnings_of_columns_with_equal_class_shares(seed, size, n_strengths, n_rates):
    """Log gammas come from tables that columns share, or not: a column alone has the same bits."""
    rng = np.random.default_rng(seed)
    first = rng.poisson(rng.exponential(size, (12, 2))).astype(float)
    first[0] += 1
    columns = [rng.permutation(first) for _ in range(3)] + [first + 1, first / 2]
    strengths = rng.choice([0.5, 1.0, 3.0, 10.0, 30.0, 100.0], n_strengths, replace=False)
    rates = rng.choice([0.003, 0.01, 0.03, 0.1, 0.3, 0.5], n_rates, replace=False)
    found = active.average_binnings(np.concatenate(columns), 12 * np.arange(6), strengths, rates)
    wanted = reference.average_binnings(np.concatenate(columns), 12 * np.arange(6), strengths, rates)
    assert np.allclose(found[3], wanted[3], rtol=1e-9, atol=1e-9)
    for j, counts in enumerate(columns):
        alone = active.average_binnings(counts, np.array([0, 12]), strengths, rates)
        assert np.array_equal(alone[0], found[0][12 * j : 12 * j + 12])
        assert [part[0] for part in alone[1:]] == [part[j] for part in found[1:]]
        if found[1][j] == wanted[1][j] and found[2][j] == wanted[2][j]:  # near-ties may differ
            assert np.allclose(alone[0], wanted[0][12 * j : 12 * j + 12], rtol=1e-8, atol=1e-300)
