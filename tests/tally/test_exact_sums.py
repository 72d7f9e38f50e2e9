"""Exact numbers against Python's fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import doubles
from tallybayes.tally import Exact

arrays = st.lists(doubles, min_size=1, max_size=8)


def fractions(numbers: Exact) -> list[Fraction]:
    return [Fraction(int(i)) * Fraction(2) ** (32 * numbers.low) for i in numbers.integers().ravel()]


@given(arrays)
def test_doubles_are_held_as_they_are(values):
    assert fractions(Exact.of(np.array(values))) == [Fraction(v) for v in values]
    assert Exact.of(np.array(values)).floats().tolist() == [v + 0.0 for v in values]


@given(st.data(), arrays)
def test_sums_and_differences_are_exact(data, values):
    others = data.draw(st.lists(doubles, min_size=len(values), max_size=len(values)))
    a, b = Exact.of(np.array(values)), Exact.of(np.array(others))
    assert fractions(a + b) == [Fraction(x) + Fraction(y) for x, y in zip(values, others, strict=True)]
    assert fractions(a - b) == [Fraction(x) - Fraction(y) for x, y in zip(values, others, strict=True)]
    assert a + b - b == a
    assert a + b == b + a
    assert (a == b) == (values == others)


@given(arrays)
def test_equal_numbers_have_equal_bytes(values):
    a = Exact.of(np.array(values))
    shifted = a + Exact.of(np.full(len(values), 1e300)) - Exact.of(np.full(len(values), 1e300))
    assert shifted.low == a.trimmed().low
    assert shifted.digits.tobytes() == a.trimmed().digits.tobytes()


@given(arrays, st.data())
def test_grouped_sums_are_exact(values, data):
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))
    weights = data.draw(st.lists(doubles, min_size=len(values), max_size=len(values)))
    wanted = [sum((Fraction(v) for v, g in zip(values, groups, strict=True) if g == k), Fraction()) for k in range(3)]
    group = np.array(groups)
    assert fractions(Exact.summed(np.array(values), group, 3)) == wanted
    assert fractions(Exact.of(np.array(values)).grouped(group, 3)) == wanted
    products = [Fraction(v) * Fraction(w) for v, w in zip(values, weights, strict=True)]
    wanted = [sum((p for p, g in zip(products, groups, strict=True) if g == k), Fraction()) for k in range(3)]
    assert fractions(Exact.summed(np.array(values), group, 3, weights=np.array(weights))) == wanted


@given(arrays)
def test_rounding_is_correct(values):
    total = Exact.of(np.array(values)).sum(axis=0)
    exact = sum((Fraction(v) for v in values), Fraction())
    try:
        wanted = float(exact)
    except OverflowError:
        wanted = float("inf") if exact > 0 else float("-inf")
    assert total.floats() == wanted


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**62])
def test_whole_numbers_that_leave_64_bits_go_on_exactly(value):
    numbers = Exact.whole(np.array([value]))
    double = numbers + numbers
    assert fractions(double) == [Fraction(2 * value)]
    assert double - numbers == numbers
