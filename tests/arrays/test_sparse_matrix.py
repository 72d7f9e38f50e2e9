"""Sparse matrices whose indices do not fit their shape are refused before anything reads them."""

import numpy as np
import pytest
from scipy import sparse

from tallybayes.arrays.sparse_matrix import check_csr, is_sparse
from tallybayes.errors import DataError


def csr(rows: int = 3, columns: int = 4) -> sparse.csr_array:
    """A matrix with one entry more in each row."""
    return sparse.csr_array(np.tril(np.ones((rows, columns))))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_every_format_becomes_the_same_rows(kind: str) -> None:
    assert (check_csr(csr().asformat(kind)).toarray() == csr().toarray()).all()


@pytest.mark.parametrize(("index", "got"), [(4, "4"), (-1, "-1"), (2**31 - 1, "2147483647")])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_column_index_out_of_range_is_named_with_its_row(index: int, got: str, dtype: type) -> None:
    matrix = csr()
    matrix.indices, matrix.indptr = matrix.indices.astype(dtype), matrix.indptr.astype(dtype)
    matrix.indices[2] = index
    with pytest.raises(DataError, match=rf"column 'x', row 1: expected a column index from 0 to 3, got {got}"):
        check_csr(matrix, "x")


@pytest.mark.parametrize(
    ("indptr", "message"),
    [
        ([0, 3, 1, 6], "expected an indptr that does not decrease, got '3 then 1 at row 1'"),
        ([0, 1, 3], r"expected an indptr of 4 .* got '\(3,\), \(6,\) and 6 values'"),
        ([0, 1, 3, 6, 6], r"expected an indptr of 4 .* got '\(5,\), \(6,\) and 6 values'"),
        ([0, 1, 3, 9], "expected an indptr from 0 to 6, the number of values, got '0 to 9'"),
        ([-1, 1, 3, 6], "expected an indptr from 0 to 6, the number of values, got '-1 to 6'"),
        ([0, 1, 9, 6], "expected an indptr that does not decrease, got '9 then 6 at row 2'"),
    ],
)
def test_a_wrong_indptr_is_refused(indptr: list[int], message: str) -> None:
    matrix = csr()
    matrix.indptr = np.array(indptr, np.int32)
    with pytest.raises(DataError, match=message):
        check_csr(matrix)


def test_values_and_indices_of_different_lengths_are_refused() -> None:
    matrix = csr()
    matrix.data = matrix.data[:-1]
    with pytest.raises(DataError, match="as many indices as values"):
        check_csr(matrix)


def test_indices_that_are_not_integers_are_refused() -> None:
    matrix = csr()
    matrix.indices = matrix.indices.astype(np.float64)
    with pytest.raises(DataError, match="expected int32 or int64 indices, got int32 and float64"):
        check_csr(matrix)


def test_other_formats_are_checked_before_they_are_converted() -> None:
    by_column, by_block, triples = csr().tocsc(), csr(4, 4).tobsr((2, 2)), csr().tocoo()
    by_column.indices[0] = 3
    with pytest.raises(DataError, match="a row index from 0 to 2, got 3"):
        check_csr(by_column)
    by_block.indices[0] = 2
    with pytest.raises(DataError, match="a block column index from 0 to 1, got 2"):
        check_csr(by_block)
    triples.coords[0][0] = -1
    with pytest.raises(DataError, match="a row index from 0 to 2, got -1"):
        check_csr(triples)


def test_a_sparse_vector_is_not_a_matrix() -> None:
    with pytest.raises(DataError, match="a matrix of rows and columns"):
        check_csr(sparse.coo_array(np.ones(3)))


def test_a_matrix_without_rows_or_columns_is_fine() -> None:
    for shape in ((0, 3), (3, 0), (0, 0)):
        assert check_csr(sparse.csr_array(shape)).shape == shape


def test_only_matrices_of_scipy_are_sparse() -> None:
    class Frame:
        tocsr = format = "a column"

    assert is_sparse(csr())
    assert not is_sparse(Frame())
    assert not is_sparse([[0.0]])
