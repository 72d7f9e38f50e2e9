"""Counting in known cells and cutting buckets into cells: native kernels equal the reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.arrays.column import Reals
from tallybayes.errors import DataError, ForgetError
from tallybayes.families import Histogram
from tallybayes.kernels import active, reference

SEEDS = st.integers(0, 2**32 - 1)


def numbers(rng, n_rows, n_columns, dtype):
    """Columns with few or many different values, gaps and both zeros."""
    columns = [rng.normal(size=n_rows).round(int(rng.integers(0, 6))).astype(dtype) for _ in range(n_columns)]
    for column in columns:
        column[rng.random(n_rows) < 0.1] = np.nan
        column[rng.random(n_rows) < 0.05] = -0.0
    return columns


@given(SEEDS, st.integers(0, 80), st.integers(0, 4), st.integers(1, 3), st.sampled_from([np.float64, np.float32]))
def test_counting_in_known_cells(seed, n_rows, n_columns, n_classes, dtype):
    rng = np.random.default_rng(seed)
    columns, codes = numbers(rng, n_rows, n_columns, dtype), rng.integers(-1, n_classes, n_rows).astype(np.int32)
    levels, offsets, cells, table, _ = reference.count_cells(columns, codes, n_classes, 12, 0, n_rows)
    facts = n_classes, levels, offsets, cells
    whole = [kernels.count_known_cells(columns, codes, *facts, 0, n_rows) for kernels in (active, reference)]
    for found, unknown in whole:
        assert np.array_equal(found, table)
        assert unknown == -1
    kept = rng.random(len(cells)) < 0.7  # some cells become unknown
    kept_offsets = np.concatenate([[0], np.cumsum(kept)])[offsets]
    start = int(rng.integers(0, n_rows + 1))
    args = columns, codes, n_classes, levels, kept_offsets, cells[kept], start, n_rows
    (mine, place), (theirs, other) = active.count_known_cells(*args), reference.count_known_cells(*args)
    assert np.array_equal(mine, theirs)
    assert place == other


def test_an_infinity_is_in_no_cell():
    columns, codes = [np.array([1.0, np.inf]), np.array([2.0, 2.0])], np.zeros(2, np.int32)
    facts = 1, np.full(2, 54), np.array([0, 2, 3]), np.array([255, 511, 256])
    for kernels in (active, reference):
        table, place = kernels.count_known_cells(columns, codes, *facts, 0, 2)
        assert table.tolist() == [[1], [0], [2]]
        assert place == 2


@given(SEEDS, st.integers(1, 60), st.integers(1, 4))
def test_a_histogram_without_some_of_its_rows(seed, n_rows, n_classes):
    rng = np.random.default_rng(seed)
    columns = [Reals(own) for own in numbers(rng, n_rows, 3, np.float64)]
    codes, some = rng.integers(-1, n_classes, n_rows).astype(np.int32), np.flatnonzero(rng.random(n_rows) < 0.5)
    family, part = Histogram(), [own.take(some) for own in columns]
    tally = family.observe(("a", "b", "c"), columns, codes, n_classes, None)
    rest = tally.copy()
    rest.prepare(family.observe(("a", "b", "c"), part, codes[some], n_classes, None), -1)()
    found = family.without(tally, part, codes[some], None)
    assert found.same(rest)
    assert np.array_equal(found.levels, rest.levels)
    assert found.features == rest.features
    weights = np.ones(len(some))
    assert family.without(tally, part, codes[some], weights).same(rest)


def test_rows_that_were_not_counted_are_refused():
    family, codes = Histogram(), np.zeros(2, np.int32)
    tally = family.observe(("a",), [Reals(np.array([1.0, 2.0]))], codes, 2, None)
    for values, own in (([3.0], 0), ([1.0], 1), ([1.0, 1.0], 0)):
        with pytest.raises(ForgetError, match="'a'"):
            family.without(tally, [Reals(np.array(values))], np.full(len(values), own, np.int32), None)


@given(SEEDS, st.integers(0, 40), st.integers(1, 4), st.integers(1, 9))
def test_cutting_buckets(seed, n_buckets, n_classes, n_cells):
    rng = np.random.default_rng(seed)
    buckets = rng.integers(0, int(rng.integers(1, 30)), (n_buckets, n_classes)) * rng.integers(0, 2, (n_buckets, 1))
    number = np.arange(int(buckets.sum()) + 1)
    args = buckets, number * np.log(np.maximum(number, 1)), n_cells, 0.25 * number[-1]
    for least, cost in ((0.0, 0.0), (3.0, 2.5)):
        cuts = active.cut_buckets(*args, least, cost)
        assert np.array_equal(cuts, reference.cut_buckets(*args, least, cost))
        assert len(cuts) < n_cells
        assert len(set(cuts.tolist())) == len(cuts)


def test_terms_for_every_number_of_rows_are_needed_to_cut():
    for kernels in (active, reference):
        with pytest.raises(DataError, match="fewer rows than terms, got 4"):
            kernels.cut_buckets(np.full((2, 1), 2), np.zeros(4), 2, 1.0, 1.0, 1.0)


@given(SEEDS, st.integers(0, 40), st.integers(0, 70), st.sampled_from([np.float64, np.float32]))
def test_finding_steps(seed, n_rows, n_edges, dtype):
    rng = np.random.default_rng(seed)
    edges = np.sort(rng.integers(-20, 20, n_edges) / 4)
    values = (rng.integers(-24, 24, n_rows) / 4).astype(dtype)
    values[rng.random(n_rows) < 0.2] = rng.choice([np.nan, np.inf, -np.inf, -0.0])
    assert np.array_equal(active.find_steps(values, edges), reference.find_steps(values, edges))
