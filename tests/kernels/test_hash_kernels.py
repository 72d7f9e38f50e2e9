"""The native kernels that hash rows against their definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes import kernels
from tallybayes.arrays.token_rules import pack_strings
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


def test_numbers_of_nearly_equal_bags():
    rng = np.random.default_rng(0)
    lengths = np.concatenate([rng.integers(0, 40, 200), [300]])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.concatenate([rng.permutation(400)[:n] for n in lengths])
    tokens = rng.integers(0, 2**63, 400).astype(np.uint64)
    for dtype in (np.int32, np.int64):
        arguments = indptr, indices.astype(dtype), tokens, 400
        own, defined = (side.sign_bags(*arguments, 3, 201) for side in (active, reference))
        assert np.array_equal(own, defined)
        assert ((own == 0) == (lengths[3:] < 8)).all()


def test_the_hash_of_a_bag_has_all_bits_of_its_amounts():
    """Amounts that differ in the last bit, or two amounts that change places, make another bag."""
    tokens = np.random.default_rng(0).integers(0, 2**63, 2).astype(np.uint64)
    pairs = [(a, b) for a in range(1, 40) for b in range(1, 40)] + [(np.nextafter(0.1, k), 1.0) for k in range(2)]
    amounts = np.array(pairs, np.float64).ravel()
    indptr, indices = np.arange(0, len(amounts) + 1, 2), np.tile([0, 1], len(pairs)).astype(np.int32)
    hashes = active.hash_bags(indptr, indices, amounts, tokens, 2, 0, len(pairs))
    assert len(set(hashes.tolist())) == len(pairs)


@given(st.lists(st.binary(max_size=30), max_size=20))
def test_hashes_of_texts(texts):
    own, defined = (side.hash_texts(*pack_strings(texts)) for side in (active, reference))
    assert np.array_equal(own, defined)
    assert len(set(own.tolist())) == len(set(texts))
