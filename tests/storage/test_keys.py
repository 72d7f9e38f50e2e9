"""Labels, categories and tokens as text in a file."""

import decimal
from enum import StrEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.errors import DataError, FileError
from tallybayes.model.saved_model import dumps
from tallybayes.storage.keys import key_text, text_key


class Colour(StrEnum):
    RED = "red"


def unfolded(time):
    return time.replace(fold=0)  # which of two equal times it is, when daylight saving time ends


@given(
    st.recursive(
        st.text()
        | st.text(st.characters(categories=["Cs"]))
        | st.integers()
        | st.floats(allow_nan=False)
        | st.booleans()
        | st.binary()
        | st.none()
        | st.dates()
        | st.datetimes().map(unfolded)
        | st.times().map(unfolded)
        | st.timedeltas()
        | st.uuids()
        | st.decimals(allow_nan=False)
        | st.integers(min_value=2**64).map(lambda n: n**50),
        lambda part: st.tuples(part, part),
        max_leaves=4,
    )
)
def test_a_key_has_one_text_and_is_restored_from_it(key):
    try:
        text = key_text(key)
    except ValueError:  # halves of a surrogate pair side by side, which JSON takes for the whole
        assert isinstance(key, tuple)
        return
    again = text_key(text)
    assert again == key
    assert type(again) is type(key)
    assert repr(again) == repr(key)


@given(
    st.text() | st.tuples(st.sampled_from("tirbxn(dmcsfu"), st.text('0123456789abcdefx.p+-:T[]",ti _E')).map("".join)
)
def test_no_other_text_is_a_key(text):
    try:
        key = text_key(text)
    except ValueError:
        return
    assert key_text(key) == text


def test_an_integer_may_have_more_digits_than_python_prints():
    assert text_key(key_text(-(10**5000))) == -(10**5000)


def test_enumerations_and_numpy_scalars_are_restored_as_the_plain_values_they_equal():
    for key, text in ((Colour.RED, "tred"), (np.float32(0.5), "r0x1.0000000000000p-1"), (np.bool_(True), "b1")):
        assert key_text(key) == text
        assert text_key(text) == key


@pytest.mark.parametrize("key", [float("nan"), decimal.Decimal("NaN"), (1, float("nan")), np.datetime64(1, "s")])
def test_keys_that_cannot_be_restored_are_refused_when_saving(key, tmp_path):
    model = tb.fit([{"t": {key: 1.0}, "y": "p"}], label="y")
    path = tmp_path / "m.tally"
    with pytest.raises(FileError, match=r"m\.tally: the model cannot be saved: a key") as raised:
        model.save(path)
    assert raised.value.file == str(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", [object(), 1j, frozenset("a"), (1, object())])
def test_keys_of_other_types_are_refused_when_fitting(key):
    with pytest.raises(DataError, match="column 't', row 0: expected a token"):
        tb.fit([{"t": {key: 1.0}, "y": "p"}], label="y")


def test_keys_that_cannot_be_sorted_are_refused_when_saving():
    model = tb.fit([{"t": {(1, "a"): 1.0, (1, 2): 1.0}, "y": "p"}], label="y")
    with pytest.raises(FileError, match="cannot be sorted"):
        dumps(model)
