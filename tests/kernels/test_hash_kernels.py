"""The native kernels that hash rows against their definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes import kernels
from tallybayes.arrays.token_rules import packed
from tallybayes.kernels import reference

pytestmark = pytest.mark.skipif(kernels.IMPLEMENTATION != "native", reason="built without a C++ compiler")
active = kernels.active


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.int64, np.bool_, np.uint64])
def test_hashes_of_rows(dtype):
    rng = np.random.default_rng(0)
    matrix = rng.integers(0 if dtype == np.uint64 else -1, 3, (500, 4)).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        matrix[rng.random(matrix.shape) < 0.2] = np.nan
        matrix[0] = -0.0
    salts = rng.integers(0, 2**63, 4).astype(np.uint64)
    for columns in (matrix, list(np.asfortranarray(matrix).T)):
        own, defined = (kernel.hash_columns(columns, salts, 3, 500) for kernel in (kernels.active, reference))
        assert own.tolist() == defined.tolist()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64])
def test_hashes_of_codes(dtype):
    rng = np.random.default_rng(0)
    matrix = rng.integers(0 if dtype == np.uint8 else -2, 6, (500, 3)).astype(dtype)
    table, offsets = rng.integers(0, 2**63, 7).astype(np.uint64), np.array([0, 3, 3, 7])
    origins = np.array([0, 0, 1])
    for columns in (matrix, list(np.asfortranarray(matrix).T)):
        own, defined = (side.hash_codes(columns, table, offsets, origins, 3, 500) for side in (active, reference))
        assert np.array_equal(own, defined)
        assert own.dtype == defined.dtype == np.uint64
    assert len(np.unique(own)) > 12


@pytest.mark.parametrize("amounts", [None, np.float64, np.float32, np.int64, np.int32])
@pytest.mark.parametrize("known", [False, True])
def test_hashes_of_bags(amounts, known):
    rng = np.random.default_rng(0)
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 5, 200))])
    indices = rng.integers(0, 9, indptr[-1]).astype(np.int32)
    given = None if amounts is None else rng.integers(1, 4, indptr[-1]).astype(amounts)
    tokens = rng.integers(0, 2**63, 9).astype(np.uint64) if known else None
    own, defined = (side.hash_bags(indptr, indices, given, tokens, 9, 3, 200) for side in (active, reference))
    assert np.array_equal(own, defined)
    assert own.dtype == defined.dtype == np.uint64


@given(st.lists(st.binary(max_size=30), max_size=20))
def test_hashes_of_texts(texts):
    own, defined = (side.hash_texts(*packed(texts)) for side in (active, reference))
    assert np.array_equal(own, defined)
    assert len(set(own.tolist())) == len(set(texts))
