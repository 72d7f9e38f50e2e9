"""A missing value is missing wherever it is given: None, NaN of any type, NaT, NA, masked."""

import decimal

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb

Y = ["a", "b", "a", "b", "a", "a"]
COLUMNS = {
    "categorical": ["u", "v", "u", "v", "u", "w"],
    "categorical:": [1, 2, 2, 1, 1, 2],
    "gaussian": [0.5, 1.5, 0.5, 2.5, 0.5, 0.5],
    "histogram": [0.5, 1.5, 0.5, 2.5, 0.5, 0.5],
    "poisson": [1, 2, 2, 1, 1, 2],
    "bernoulli": [True, False, True, False, True, True],
    "tags": ["a|b", "b", "a", "c", "a", "b"],
    "text:counts,k=1": ["hello you", "world now", "hello me", "now now", "you and me", "what"],
}
MISSING = [
    float("nan"),
    np.float64("nan"),
    np.float32("nan"),
    np.float16("nan"),
    np.longdouble("nan"),
    pd.NA,
    pd.NaT,
    np.datetime64("NaT"),
    np.timedelta64("NaT"),
    decimal.Decimal("NaN"),
    decimal.Decimal("sNaN"),
    np.ma.masked,
]


@pytest.mark.parametrize("family", COLUMNS)
@pytest.mark.parametrize("value", MISSING, ids=lambda value: f"{type(value).__name__}-{value}")
def test_every_missing_value_contributes_nothing(family, value):
    model = tb.fit({"x": COLUMNS[family], "y": Y}, label="y", families={"x": family.rstrip(":")})
    expected = model.log_score({"x": None})[0].tolist()
    for data in ({"x": value}, [{"x": value}], {"x": [value]}, [{"x": value}] * 300):
        assert model.log_score(data)[0].tolist() == expected
    for rows in ({"x": value, "y": "a"}, [{"x": value, "y": "a"}], {"x": [value], "y": ["a"]}):
        learned = model.copy()
        learned.learn(rows)
        assert learned.forget({"x": None, "y": "a"}).rows == 1
        assert learned.same_counts(model)


def test_a_column_of_missing_values_of_every_type_has_no_values_yet():
    model = tb.fit({"x": MISSING, "y": ["a", "b"] * 6}, label="y")
    assert model.schema.columns["x"].reason == "no values yet"


def test_masked_arrays():
    values = np.ma.array([1.5, 2.5, 9.5, 3.5], mask=[False, False, True, False])
    expected = tb.fit({"x": [1.5, 2.5, None, 3.5], "y": list("abab")}, label="y")
    assert tb.fit({"x": values, "y": list("abab")}, label="y").same_counts(expected)


@pytest.mark.parametrize("unit", ["ns", "us", "s", "D"])
def test_dates_are_not_numbers(unit):
    dates = np.array(["2020-01-01", "NaT", "2021-01-01"], f"M8[{unit}]")
    with pytest.raises(tb.errors.DataError, match=r"column 'x', row 0: expected a number, got datetime"):
        tb.fit({"x": dates, "y": list("aba")}, label="y", families={"x": "histogram"})
    spans = np.array([3, "NaT", 5], "m8[s]")
    with pytest.raises(tb.errors.DataError, match=r"column 'x', row 0: expected a number"):
        tb.fit({"x": spans, "y": list("aba")}, label="y", families={"x": "histogram"})
    by_day = tb.fit({"x": dates, "y": list("aba")}, label="y", families={"x": "categorical"})
    assert by_day.same_counts(tb.fit({"x": list(dates), "y": list("aba")}, label="y", families={"x": "categorical"}))
