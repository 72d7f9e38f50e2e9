"""The fast path for few rows of a request gives what the general path gives, bit for bit, errors included."""

import functools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running_server import pets

import tallybayes as tb
from tallybayes.errors import DataError, DataWarning
from tallybayes.io.read import to_source
from tallybayes.server.live.predicted_rows import FEW_ROWS, PredictedRows

WORDS = ["cash", "lunch", "prize", "meeting"]
ODD = st.none() | st.sampled_from(["heavy", 1e300, True, [1, 2]])
COLUMNS = {
    "pets": {"weight": st.floats(0, 50), "likes": st.sampled_from(["fish", "sun|walks", ""]), "indoors": st.booleans()},
    "mixed": {
        "age": st.integers(-5, 90),
        "city": st.sampled_from(["a", "b", "elsewhere"]),
        "member": st.booleans(),
        "note": st.text(max_size=20) | st.sampled_from(WORDS),
    },
    "numbers": {"a": st.integers(-3, 9) | st.floats(-9, 9), "b": st.sampled_from("xyzw"), "other": st.none()},
}


@functools.cache
def fitted(name):
    if name == "pets":
        return pets()
    if name == "numbers":
        return tb.fit([{"a": i % 5, "b": "xyz"[i % 3], "y": i % 2} for i in range(40)], label="y")
    rows = [
        {"age": i % 7, "city": "ab"[i % 2], "member": i % 3 == 0, "note": " ".join(WORDS[: i % 5]), "y": "pq"[i % 2]}
        for i in range(60)
    ]
    return tb.fit(rows, label="y", families={"age": "gaussian", "note": "text", "city": "categorical"})


@pytest.fixture(scope="module", autouse=True)
def _forget_models():
    yield
    fitted.cache_clear()


def outcome(work):
    """What is returned, or the message of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            return work()
        except DataError as error:
            return str(error)


@pytest.mark.parametrize("name", COLUMNS)
@given(data=st.data())
def test_few_rows_score_as_in_a_table(name, data):
    columns = {key: own | ODD for key, own in COLUMNS[name].items()}
    rows = data.draw(st.lists(st.fixed_dictionaries({}, optional=columns), min_size=1, max_size=3))
    snapshot = fitted(name).snapshot()
    source = to_source(rows)  # takes the general path
    expected, few = (outcome(work) for work in (lambda: snapshot.proba(source), lambda: predict_few(snapshot, rows)))
    if few is not None:
        assert few == expected if isinstance(expected, str) else np.array_equal(few, expected)


def predict_few(snapshot, rows):
    few = PredictedRows.of_few(snapshot, rows)
    return None if few is None else few.proba[0]


def test_what_is_left_to_another_thread():
    snapshot = pets().snapshot()
    assert predict_few(snapshot, []).shape == (0, len(snapshot.classes))
    assert predict_few(snapshot, [{"weight": 1.0}] * (FEW_ROWS + 1)) is None
    assert predict_few(snapshot, [{"likes": "x" * 10_000}]) is None
    assert predict_few(snapshot, [{"likes": "fish"}] * 2) is None
    assert predict_few(snapshot, [{"likes": "fish"}]) is not None
    with pytest.raises(DataError, match="columns of the model"):
        predict_few(snapshot, [{"colour": "red"}])
