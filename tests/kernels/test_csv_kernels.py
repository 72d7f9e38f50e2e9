"""Cells as lines of text: native kernels give the bytes of their definitions."""

import numpy as np
import pytest

from tallybayes import kernels
from tallybayes.kernels import reference

pytestmark = pytest.mark.skipif(kernels.IMPLEMENTATION != "native", reason="built without a C++ compiler")


def test_probabilities_have_the_digits_that_python_gives_them():
    rng = np.random.default_rng(1)
    decades = np.array([1.0, 0.1, 0.01, 0.001, 1e-4])
    values = np.concatenate(
        [
            rng.random(20_000),
            10.0 ** -rng.uniform(0, 12, 20_000),
            1 - 10.0 ** -rng.uniform(0, 17, 5000),
            (rng.integers(10**9, 10**10, 5000) * 2 + 1) / 2e10,  # near the middle between two texts
            (rng.integers(1, 2**33, 5000) * 2 + 1) / 2**34,
            decades,
            np.nextafter(decades, 0),
            np.nextafter(decades, 2),
            [0.0, -0.5, 5e-324, 0.99999999995, 0.099999999999, 123456789012.5],
        ]
    )
    for native, plain in zip(
        kernels.active.probability_texts(values), reference.probability_texts(values), strict=True
    ):
        assert np.array_equal(native, plain)


@pytest.mark.parametrize("longest", [0, 3, 20, 200])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(0, 2), (1, 1), (1, 3), (50, 14), (200, 2)])
@pytest.mark.parametrize("between", [b",", b"", "¦".encode()])
def test_cells_are_joined_to_lines(n_rows, n_columns, longest, between):
    rng = np.random.default_rng(n_rows)
    ends = np.cumsum([3, *rng.integers(0, longest + 1, n_rows * n_columns)])
    data = rng.integers(0, 256, ends[-1] + int(rng.integers(20))).astype(np.uint8)
    given = ends.astype(np.int64), data, n_columns, np.frombuffer(between, np.uint8)
    assert np.array_equal(kernels.active.join_cells(*given), reference.join_cells(*given))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_marks_of_cells_are_equal(dtype):
    rng = np.random.default_rng(2)
    for n_cells in (0, 1, 300):
        lengths = rng.integers(0, 6, n_cells)
        offsets = np.concatenate([[3], 3 + np.cumsum(lengths)]).astype(dtype)
        data = rng.integers(0, 256, int(offsets[-1]) + 2).astype(np.uint8)
        first, last = rng.integers(0, 4, (2, 256)).astype(np.uint8)
        for longest in (0, 3):
            found = kernels.active.mark_cells(offsets, data, first, last, longest)
            assert np.array_equal(found, reference.mark_cells(offsets, data, first, last, longest))
