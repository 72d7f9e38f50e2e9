"""Kernels for pairs of coarse cells against their definitions: counts bit for bit, scores to a few ulp."""

import numpy as np
import pytest
from compared import SIDES, active, alike, native
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes.errors import DataError
from tallybayes.kernels import reference

pytestmark = native


@st.composite
def cell_blocks(draw):
    """Cells with gaps, sizes, codes, the number of classes and a range of rows."""
    n_rows, n_classes = draw(st.integers(0, 30)), draw(st.integers(1, 4))
    sizes = np.array(draw(st.lists(st.integers(1, 4), max_size=5)), np.int64)
    columns = [draw(st.lists(st.integers(-1, size - 1), min_size=n_rows, max_size=n_rows)) for size in sizes.tolist()]
    cells = np.array(columns, np.int16).reshape(len(sizes), n_rows).T.copy()
    codes = np.array(draw(st.lists(st.integers(-1, n_classes - 1), min_size=n_rows, max_size=n_rows)), np.int32)
    start = draw(st.integers(0, n_rows))
    return cells, sizes, codes, n_classes, start, draw(st.integers(start, n_rows))


@given(cell_blocks())
@settings(max_examples=200)
def test_counts_of_pairs(block):
    found, wanted = (kernel.count_cell_pairs(*block) for kernel in (active, reference))
    assert found.dtype == wanted.dtype == np.int64
    assert np.array_equal(found, wanted)


@given(cell_blocks(), st.integers(0, 2**32 - 1))
@settings(max_examples=200)
def test_scores_of_pairs(block, seed):
    cells, sizes, _, n_classes, start, stop = block
    rng = np.random.default_rng(seed)
    n_cells = int(sizes.sum())
    with np.errstate(divide="ignore"):
        single = np.log(rng.random((n_cells, n_classes)).round(1))  # now and then the log of 0
        pair = np.log(rng.random((n_cells, n_cells, n_classes)).round(1))
    arguments = ("add_one_dependence", cells, sizes, single, pair, rng.random(n_cells) < 0.5)
    alike(arguments, rng.normal(size=(len(cells), n_classes)), start, stop)


@given(cell_blocks(), st.integers(0, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=200)
def test_sums_over_pairs(block, n_values, seed):
    """Rows are added in order on both sides, so the sums have the same bits."""
    cells, sizes, *_, start, stop = block
    values = np.random.default_rng(seed).normal(size=(len(cells), n_values))
    found, wanted = (kernel.sum_cell_pairs(cells, sizes, values, start, stop) for kernel in (active, reference))
    assert found.shape == wanted.shape == (sizes.sum(), sizes.sum(), n_values)
    assert np.array_equal(found, wanted)


@given(cell_blocks())
@settings(max_examples=100)
def test_sums_of_ones_are_the_counts_of_pairs_of_different_inputs(block):
    cells, sizes, _, _, start, stop = block
    n_cells = int(sizes.sum())
    sums = active.sum_cell_pairs(cells, sizes, np.ones((len(cells), 1)), start, stop)[..., 0]
    counts = active.count_cell_pairs(cells, sizes, np.zeros(len(cells), np.int32), 1, start, stop)
    pairs = counts[:-1, 0].reshape(n_cells, n_cells)
    assert np.array_equal(sums, np.triu(pairs, 1))


@pytest.mark.parametrize("kernel", SIDES)
def test_a_cell_that_is_too_large_is_named_with_its_row(kernel):
    cells = np.array([[0, 0], [0, 2]], np.int16)
    with pytest.raises(DataError, match="row 1: expected a cell below 2, got 2"):
        kernel.count_cell_pairs(cells, np.array([1, 2]), np.zeros(2, np.int32), 1, 0, 2)
    with pytest.raises(DataError, match="sizes that add up to at most 65536, got 65536"):
        kernel.count_cell_pairs(cells, np.array([1, 65536]), np.zeros(2, np.int32), 1, 0, 2)
    with pytest.raises(DataError, match="row 1: expected a cell below 2, got 2"):
        kernel.sum_cell_pairs(cells, np.array([1, 2]), np.ones((2, 1)), 0, 2)
    with pytest.raises(DataError, match="sizes that add up to at most 65536, got 65536"):
        kernel.sum_cell_pairs(cells, np.array([1, 65536]), np.ones((2, 1)), 0, 2)
    tables = np.zeros((4, 1)), np.zeros((4, 4, 1)), np.ones(4, bool), np.zeros((2, 1))
    with pytest.raises(DataError, match="expected 3 cells in the tables, got 4"):
        kernel.add_one_dependence(cells, np.array([1, 2]), *tables, 0, 2)
