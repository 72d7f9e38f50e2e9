"""Blocks of columns, and comparisons of native kernels with their definitions."""

import numpy as np
import pytest
from hypothesis import strategies as st

from tables import doubles
from tallybayes import kernels
from tallybayes.kernels import reference

native = pytest.mark.skipif(kernels.IMPLEMENTATION != "native", reason="built without a C++ compiler")
active = kernels.active
SIDES = (kernels.active, reference)

gappy = st.one_of(doubles, st.just(float("nan")))
flag_cells = st.sampled_from([0.0, 1.0, 0.0, 1.0, float("nan")])
whole = st.integers(-3, 9)


@st.composite
def blocks(draw, values=gappy, dtypes=(np.float64, np.float32)):
    """Columns in any memory layout, codes with rows left out, and a range of rows."""
    n_rows, n_columns, n_classes = draw(st.integers(0, 40)), draw(st.integers(0, 6)), draw(st.integers(1, 5))
    dtype = draw(st.sampled_from(dtypes))
    flat = draw(st.lists(values, min_size=n_rows * n_columns, max_size=n_rows * n_columns))
    with np.errstate(over="ignore"):
        matrix = np.array(flat).reshape(n_rows, n_columns).astype(dtype)
    if np.dtype(dtype).kind == "f":
        matrix[np.isinf(matrix)] = 3.0  # a double may be too large for float32
    layout = draw(st.sampled_from(["C", "F", "strided", "reversed", "columns"]))
    if layout == "F":
        matrix = np.asfortranarray(matrix)
    elif layout == "strided":
        wide = np.zeros((2 * n_rows, 3 * n_columns), dtype)
        wide[::2, ::3] = matrix
        matrix = wide[::2, ::3]
    elif layout == "reversed":
        matrix = matrix[::-1, ::-1].copy()[::-1, ::-1]
    columns = [matrix[:, j] for j in range(n_columns)]
    if layout == "columns":
        columns = [column.copy() for column in columns]
    codes = np.array(draw(st.lists(st.integers(-1, n_classes - 1), min_size=n_rows, max_size=n_rows)), np.int32)
    start = draw(st.integers(0, n_rows))
    return columns, codes, n_classes, start, draw(st.integers(start, n_rows))


def close(a, b):
    assert np.array_equal(np.isfinite(a), np.isfinite(b))
    assert not np.isnan(a).any()
    there = np.isfinite(b)
    assert np.allclose(a[there], b[there], rtol=1e-13, atol=1e-11)


def scores(kernel, arguments, out, start, stop):
    own = out.copy()
    return getattr(kernel, arguments[0])(*arguments[1:], own, start, stop), own


def alike(arguments, out, start, stop):
    found, wanted = (scores(kernel, arguments, out, start, stop) for kernel in (active, reference))
    assert found[0] == wanted[0]
    close(found[1], wanted[1])
    for row in range(start, min(stop, start + 3)):  # a row alone, bit for bit
        assert np.array_equal(scores(active, arguments, out, row, row + 1)[1][row], found[1][row])
