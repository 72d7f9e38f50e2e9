"""Kernels that number and count integers against their definitions."""

import numpy as np
import pytest
from compared import active, native
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.kernels import reference

pytestmark = native


@given(
    st.lists(st.integers(-128, 127), max_size=40),
    st.sampled_from([np.int8, np.int16, np.int32, np.int64]),
    st.sampled_from([-(2**63), -128, -3, 0, 100]),
    st.sampled_from([0, 1, 7, 256, 2000]),
    st.booleans(),
)
def test_coding_integers(values, dtype, low, n_counts, apart):
    values = np.repeat(np.array(values, dtype), 2)[::2] if apart else np.array(values, dtype)
    found = []
    for module in (active, reference):
        counts, codes = np.ones(n_counts, np.int64), np.full(len(values), 5, np.int32)
        ends = module.code_integers(values, low, counts, codes, len(values) // 3, len(values))
        found.append((ends, counts.tolist(), codes.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("span", [3, 5000])
def test_coding_many_integers_and_extreme_ones(span):
    values = np.random.default_rng(span).integers(-2, span, 10_000)
    values[4321], values[4322] = -(2**63), 2**63 - 1
    found = []
    for module in (active, reference):
        counts, codes = np.zeros(span, np.int64), np.zeros(len(values), np.int32)
        found.append((module.code_integers(values, -2, counts, codes, 0, 10_000), counts.tolist(), codes.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("layout", ["rows", "columns", "unlike"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_counting_many_bytes(layout, dtype):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.integers(0, 256, (4000, 5)).astype(dtype), order="F" if layout == "columns" else "C")
    columns = [X[:, j].copy() if layout == "unlike" and j == 2 else X[:, j] for j in range(5)]
    codes = rng.integers(-1, 3, 4000).astype(np.int32)
    origins, sizes = np.array([-128, 0, 100, -(2**63), 250]), np.array([256, 300, 0, 9, 20])
    arguments = (columns, origins, sizes, codes, 3, 7, 3999)
    assert np.array_equal(active.count_values(*arguments), reference.count_values(*arguments))
