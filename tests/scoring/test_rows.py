"""A few rows by the fast path score as in a table, bit for bit, or raise the same errors."""

import functools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.errors import DataError, DataWarning
from tallybayes.io.read import to_source

CELLS = {
    "age": st.integers(-5, 90) | st.floats(-9, 90),
    "city": st.sampled_from(["a", "b", "elsewhere"]),
    "rooms": st.sampled_from([1, 2, 2.0, 77, np.int8(3)]),
    "member": st.sampled_from([True, False, 0, 1.0]),
    "5": st.floats(-3, 3),
    "id": st.integers(0, 9),
    "y": st.sampled_from("pq"),
    "unknown": st.integers(0, 3) | st.just([1, 2]),
}
ODD = st.sampled_from([None, float("nan"), float("inf"), "heavy", "2", "yes", 10**20, 1e300, [1, 2], {1}, (), b"x"])
ROW = st.fixed_dictionaries({}, optional={name: cell | ODD for name, cell in CELLS.items()} | {5: st.floats(-3, 3)})
USUAL = st.fixed_dictionaries(
    {}, optional={name: cell | st.none() for name, cell in CELLS.items() if name != "unknown"}
)
FAMILIES = {"age": "gaussian", "city": "categorical", "rooms": "categorical", "member": "bernoulli", "5": "histogram"}


@functools.cache
def model(weights, calibrated=False):
    rng = np.random.default_rng(0)
    rows = [
        {
            "age": float(rng.normal(30 + 9 * (i % 2), 9)),
            "city": "ab"[int(rng.integers(2))],
            "rooms": int(rng.integers(1, 4)),
            "member": bool(rng.integers(2)),
            "5": float(rng.normal()),
            "id": f"i{i}",
            "y": "pq"[i % 2],
        }
        for i in range(60)
    ]
    made = tb.fit(rows, label="y", families=FAMILIES, column_weights=weights)
    if calibrated:
        made.calibrate(rows)
    return made


def outcome(work, *data):
    """What is returned, or the message of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            return work(*data)
        except DataError as error:
            return str(error)


def same(left, right):
    return left == right if isinstance(right, str) else np.array_equal(left, right)


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("weights", [None, "auto"])
@given(rows=st.lists(ROW, min_size=1, max_size=3) | st.lists(USUAL, min_size=1, max_size=12))
def test_any_rows_score_as_in_a_table(rows, weights, calibrated):
    own = model(weights, calibrated)

    def in_table(data):
        return outcome(lambda: own.predict_proba(to_source(data)))

    assert same(outcome(own.predict_proba, rows), in_table(rows))
    for row in rows:
        alone = outcome(own.predict_proba_one, row)
        assert same(alone if isinstance(alone, str) else [list(alone.values())], in_table([row]))
        assert same(outcome(own.predict_proba, row), in_table(row))
        assert same(outcome(own.log_joint, [row]), outcome(lambda row=row: own.log_joint(to_source([row]))))


@pytest.mark.parametrize("n_rows", [9, 10, 256, 257])
@pytest.mark.parametrize("form", [list, pd.DataFrame])
def test_a_column_without_a_known_value_is_warned_of_from_ten_rows_on(n_rows, form):
    own = tb.fit({"x0": [1, 2, 1, 2], "x1": ["u", "v", "u", "v"]}, label=[0, 1, 0, 1], families={"x0": "categorical"})
    rows = form([{"x0": 7, "x1": "u"}] * n_rows)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        own.predict(rows)
    assert [str(one.message).partition(":")[0] for one in caught] == ["column 'x0'"] * (n_rows >= 10)


def test_a_matrix_without_a_known_value_is_warned_of_too():
    own = tb.fit(np.array([[1, 2], [2, 1], [1, 1]]), label=[0, 1, 0], families="categorical")
    with pytest.warns(DataWarning, match="no value in 10 rows"):
        own.predict(np.full((10, 2), [7, 1]))
    assert len(own.predict(np.full((9, 2), [7, 1]))) == 9


def test_warnings_about_ruled_out_rows_name_the_line_of_the_caller():
    own = tb.fit({"x": ["u", "v", "w"], "y": [0, 1, 2]}, label="y", smoothing=0)
    for ask in (own.predict, own.predict_proba):
        for data in ({"x": "z"}, [{"x": "z"}], to_source([{"x": "z"}])):
            with pytest.warns(tb.RuledOutWarning) as caught:
                ask(data)
            assert caught[0].filename == __file__
