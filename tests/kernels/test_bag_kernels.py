"""Kernels that count and sum the rows of sparse matrices against their definitions, bit for bit."""

import numpy as np
import pytest
from compared import active, close, native
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.kernels import reference
from tallybayes.tally import Exact

pytestmark = native


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.sampled_from(["f8", "f4", "i8", "i4", None]), st.booleans())
def test_bags(seed, n_classes, dtype, long):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 6, 30)
    index = np.int64 if long else np.int32
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
    indices = rng.integers(0, 12, lengths.sum()).astype(index)
    amounts = None if dtype is None else rng.integers(0, 4, lengths.sum()).astype(dtype)
    if dtype in ("f8", "f4") and seed % 5 == 0 and len(amounts):
        amounts[0] = 0.5
    codes = rng.integers(-1, n_classes, 30).astype(np.int32)
    arguments = (indptr, indices, amounts, codes, n_classes, 12, 3, 28)
    found, wanted = active.count_bags(*arguments), reference.count_bags(*arguments)
    assert (found is None) == (wanted is None)
    if wanted is not None:
        assert np.array_equal(found[0], wanted[0])
        assert np.array_equal(found[1], wanted[1])
    check_dense_bags(*arguments)
    table = rng.normal(size=(12, n_classes))
    table[rng.random(table.shape) < 0.1] = -np.inf
    both = [np.zeros((30, n_classes)) for _ in range(2)]
    active.add_bags(indptr, indices, amounts, table, both[0], 3, 28)
    reference.add_bags(indptr, indices, amounts, table, both[1], 3, 28)
    close(*both)


def check_dense_bags(*arguments):
    """The same table and lengths from both kernels, or none from either."""
    *bags, start, stop = arguments
    lengths = [np.full(len(bags[3]), -1.0) for _ in range(2)]
    found, wanted = (
        module.count_bags_dense(*bags, own, start, stop)
        for module, own in zip((active, reference), lengths, strict=True)
    )
    assert (found is None) == (wanted is None)
    if wanted is not None:
        assert np.array_equal(found, wanted)
        assert np.array_equal(*lengths)


@pytest.mark.parametrize("most", [3, 2**31, 2**50])
def test_dense_bags_of_long_rows_and_large_amounts(most):
    rng = np.random.default_rng(most)
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 700, 6))])
    indices, amounts = rng.integers(0, 9, indptr[-1]), rng.integers(0, 3, indptr[-1]).astype(float)
    amounts[::400] = most
    codes = np.array([1, 0, -1, 1, 2, 0], np.int32)
    check_dense_bags(indptr, indices, amounts, codes, 3, 9, 0, 6)
    check_dense_bags(indptr, indices, amounts.astype(np.int64), codes, 3, 9, 1, 5)
    check_dense_bags(indptr, indices, -amounts, codes, 3, 9, 0, 6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, None])
@pytest.mark.parametrize("weighted", [False, True])
@given(seed=st.integers(0, 99))
def test_sums_of_bags(dtype, weighted, seed):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 6, 20))]).astype(rng.choice([np.int32, np.int64]))
    indices = rng.integers(0, 7, indptr[-1]).astype(rng.choice([np.int32, np.int64]))
    amounts = None if dtype is None else (rng.normal(size=indptr[-1]) * 10.0 ** rng.integers(-9, 9)).astype(dtype)
    if dtype is np.int64:
        amounts = rng.integers(-(2**62), 2**62, len(amounts))
    codes = rng.integers(-1, 4, 20).astype(np.int32)
    first, last = sorted(rng.integers(0, 5, 2).tolist())
    arguments = (indptr, indices, amounts, rng.random(20) if weighted else None, codes, 7, first, last)
    a, b = (Exact(*module.sum_bags(*arguments)) for module in (active, reference))
    assert a.shape == b.shape == (last - first, 7)
    assert a.trimmed() == b.trimmed()
