"""The grid of a histogram: how it is coarsened, and in what sense subtracting rows is exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.arrays.column import Reals
from tallybayes.arrays.float_order import ordered
from tallybayes.model.saved_model import dumps, loads
from tallybayes.tally import Grid
from tallybayes.tally.histogram_grid import LIMIT


def counted(values: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> Grid:
    """The tally of one column named x, of two classes."""
    return tb.Histogram().observe(("x",), [Reals(values)], codes.astype(np.int32), 2, weights)


def lowest_level(values: np.ndarray) -> int:
    """The definition: the lowest level at which at most LIMIT cells are in use."""
    cells, level = np.unique(ordered(values)), 0
    while len(cells) > LIMIT:
        cells, level = np.unique(cells >> 1), level + 1
    return level


@pytest.mark.parametrize("n", [1, LIMIT, LIMIT + 1, 3000])
@pytest.mark.parametrize("kind", ["normal", "integers", "mixed signs"])
def test_the_level_is_the_lowest_that_fits(n, kind):
    rng = np.random.default_rng(n)
    values = {
        "normal": rng.normal(size=n),
        "integers": np.arange(n) + 1e9,
        "mixed signs": rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-300, 300, n),
    }[kind]
    codes, level = rng.integers(0, 2, n), lowest_level(values)
    at_once = counted(values, codes)
    in_parts = counted(values[: n // 2], codes[: n // 2])
    in_parts.prepare(counted(values[n // 2 :], codes[n // 2 :]), 1)()
    assert at_once.levels.tolist() == in_parts.levels.tolist() == [level]
    assert at_once.same(in_parts)
    assert counted(values, codes, np.full(n, 0.5)).levels.tolist() == [level]


@given(st.integers(900, 1300), st.integers(1, 400), st.integers(0, 2**31))
def test_subtracting_leaves_the_remaining_rows_on_the_present_grid(n, n_more, seed):
    rng = np.random.default_rng(seed)
    values, codes = rng.normal(size=n + n_more), rng.integers(0, 2, n + n_more)
    total = counted(values, codes)
    total.prepare(counted(values[n:], codes[n:]), -1)()
    remaining = counted(values[:n], codes[:n])
    assert (total.levels >= remaining.levels).all()
    assert total.same(remaining.at_levels(total.levels).summed(coarsen=False))


def test_forgetting_is_exact_where_no_more_than_1024_different_values_were_learned():
    rng = np.random.default_rng(0)
    values, labels = rng.normal(size=LIMIT), rng.integers(0, 2, LIMIT)
    model = tb.fit({"x": values[1:]}, labels[1:])
    before = model.copy()
    model.learn({"x": values[:1]}, label=labels[:1])
    change = model.forget({"x": values[:1]}, label=labels[:1])
    assert model == before
    assert not change.notes


def test_forgetting_with_more_different_values_is_noted():
    rng = np.random.default_rng(0)
    values, labels = rng.normal(size=LIMIT + 1), rng.integers(0, 2, LIMIT + 1)
    model = tb.fit({"x": values[1:]}, labels[1:])
    model.learn({"x": values[:1]}, label=labels[:1])
    change = model.forget({"x": values[:1]}, label=labels[:1])
    assert any("more than 1,024 different values" in note for note in change.notes)


def test_an_emptied_column_starts_again_at_the_finest_level():
    rng = np.random.default_rng(0)
    values, codes = rng.normal(size=3000), rng.integers(0, 2, 3000)
    total = counted(values, codes)
    total.prepare(counted(values, codes), -1)()
    assert total.levels.tolist() == [0]
    total.prepare(counted(values[:5], codes[:5]), 1)()
    assert total.same(counted(values[:5], codes[:5]))


def test_an_emptied_column_is_stored_as_it_is():
    rng = np.random.default_rng(0)
    values, labels = rng.normal(size=3000), rng.integers(0, 2, 3000)
    model = tb.fit({"x": values, "y": np.zeros(3000)}, labels)
    model.forget({"x": values, "y": np.zeros(3000)}, label=labels)
    again = loads(dumps(model))
    for one in (model, again):
        one.learn({"x": values[:5], "y": np.zeros(5)}, label=labels[:5])
    assert again == model
