"""Where columns are cut into coarse cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import doubles
from tallybayes.arrays.column import Bag, Codes, Flags, Reals
from tallybayes.columns.cell_cuts import coarse_inputs


def codes_of(values):
    return np.asarray(values, np.int32)


def test_numbers_are_cut_where_the_classes_change():
    rng = np.random.default_rng(0)
    x = rng.random(3000)
    edges = coarse_inputs({"x": Reals(x)}, codes_of((x > 0.3) & (x < 0.9)))["x"].edges
    for change in (0.3, 0.9):
        assert min(abs(edge - change) for edge in edges) < 1 / 64
    assert len(edges) <= 7


@given(st.lists(st.tuples(doubles, st.integers(-1, 2)), min_size=1, max_size=200), st.integers(2, 8))
def test_cells_of_any_numbers(rows, n_cells):
    values, codes = np.array([x for x, _ in rows]), codes_of([c for _, c in rows])
    found = coarse_inputs({"x": Reals(values)}, codes, n_cells=n_cells)
    labelled = values[codes >= 0]
    if "x" not in found:
        assert len(np.unique(labelled)) < 2 or len(labelled) < 4
        return
    own = found["x"]
    n = np.bincount(own.cells(Reals(labelled)), minlength=own.n_cells)
    assert 2 <= own.n_cells <= n_cells
    assert n.min() >= (1 if len(np.unique(labelled)) <= n_cells else min(20, len(labelled) / 10))
    order = np.random.default_rng(0).permutation(len(values))
    assert coarse_inputs({"x": Reals(values[order])}, codes[order], n_cells=n_cells) == found


def test_noise_is_cut_into_equal_parts_and_no_cell_is_large():
    rng = np.random.default_rng(0)
    x, codes = rng.normal(size=4000), codes_of(rng.integers(0, 3, 4000))
    own = coarse_inputs({"x": Reals(x)}, codes)["x"]
    assert np.bincount(own.cells(Reals(x))).tolist() == [1000] * 4


def test_few_distinct_numbers_are_a_cell_each():
    x = np.array([3.0, 1.0, -0.0, np.nan, 7.0])
    assert coarse_inputs({"x": Reals(x)}, codes_of([0, 1, 0, 1, -1]))["x"].edges == (1.0, 3.0)


def test_categories_are_kept_if_they_are_few_and_otherwise_if_they_are_frequent():
    few = Codes(np.arange(12), [f"v{i:02d}" for i in range(12)])
    assert len(coarse_inputs({"x": few}, codes_of([0, 1] * 6))["x"].keys) == 12
    counts = [50, 30, 10, *[1] * 20]
    many = Codes(np.repeat(np.arange(23), counts), [f"v{i:02d}" for i in range(23)])
    codes = codes_of(np.arange(sum(counts)) % 2)
    assert coarse_inputs({"x": many}, codes)["x"].keys == ("v00", "v01")  # a tenth of the rows, 11, is enough
    assert coarse_inputs({"x": many}, codes)["x"].missing is False
    rare = Codes(np.arange(40), [f"v{i}" for i in range(40)])
    assert coarse_inputs({"x": rare}, codes_of([0, 1] * 20)) == {}


@pytest.mark.parametrize("missing", [False, True])
def test_columns_that_have_no_cells_are_left_out(missing):
    bag = Bag(np.array([0, 1, 1]), np.array([0]), None, ["a"])
    columns = {
        "bag": bag,
        "constant": Reals(np.ones(2)),
        "flag": Flags(np.array([0.0, 1.0])),
        "one": Codes(np.zeros(2, np.int32), ["a"]),
        "bytes": Codes(np.arange(2), [b"a", b"b"]),
        "numbers": Codes(np.array([5, 7]), range(5, 8)),
    }
    found = coarse_inputs(columns, codes_of([0, 1]), missing=missing)
    assert list(found) == ["flag", "numbers"]
    assert found["numbers"].keys == (5, 7)
    assert all(own.missing is missing for own in found.values())
