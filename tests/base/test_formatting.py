"""Text for people: tables and terminals never receive control characters."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.formatting import DECIBANS, finite_json, printable, signed, text_table


@given(st.text(st.characters(), max_size=20))
def test_printable_text_has_no_control_characters(text):
    assert all(ord(c) >= 32 and not 0x7F <= ord(c) < 0xA0 for c in printable(text))


@pytest.mark.parametrize("text", ["Grüße", "a b", "日本語", "👩‍👩‍👧", "no\u00a0break", "\u3000"])
def test_ordinary_text_is_unchanged(text):
    assert printable(text) == text


def test_escape_sequences_are_shown_as_text():
    assert printable("\x1b[31m\u202e\x9b\ud800") == r"\x1b[31m\u202e\x9b\ud800"
    assert printable("a\nb\x1b", keep="\n") == "a\nb\\x1b"


def test_a_table_has_one_line_per_row_whatever_is_in_the_cells():
    assert text_table(["a\nb"], [["\x1b[2J"], ["x\u2028y"]]).splitlines() == [r"a\nb", r"\x1b[2J", r"x\u2028y"]


def test_numbers_that_are_not_finite_are_null_in_json():
    value = {"a": [1.5, math.inf, (math.nan,)], "b": {True: -math.inf}, b"c": 1}
    assert (
        json.dumps(finite_json(value), allow_nan=False)
        == '{"a": [1.5, null, [null]], "b": {"true": null}, "b\'c\'": 1}'
    )


def test_signed_numbers_have_no_negative_zero():
    assert [signed(x) for x in (0.26, -0.26, -0.01, math.inf)] == ["+0.3", "-0.3", "+0.0", "+inf"]
    assert DECIBANS * math.log(10) == pytest.approx(10)
