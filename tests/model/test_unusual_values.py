"""Values that a column does not expect: integers beyond doubles, decimals, lists in columns that are not used."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import DataError, DataWarning

LABELS = ["a", "b", "a"] * 4


@pytest.mark.parametrize("number", [10**400, -(10**400)], ids=["large", "small"])
def test_an_integer_beyond_doubles_in_a_column_of_dates_is_missing(number):
    days = [datetime.date(2024, 1, 1 + i) for i in range(12)]
    model = tb.fit({"day": days, "y": LABELS}, label="y")
    with pytest.warns(DataWarning, match="1 cell is not a date"):
        proba = model.predict_proba({"day": [number]})
    assert np.array_equal(proba, model.predict_proba({"day": [None]}))
    with pytest.warns(DataWarning, match="1 cell is not a date"):
        assert model.predict_proba_one({"day": number}) == model.predict_proba_one({"day": None})
    with pytest.warns(DataWarning, match="1 cell is not a date"):
        fitted = tb.fit({"day": [*days[:-1], number], "y": LABELS}, label="y")
    assert fitted.same_counts(tb.fit({"day": [*days[:-1], None], "y": LABELS}, label="y"))


def test_decimals_in_an_ordinal_column_are_numbers():
    whole = {"size": [1, 2, 10] * 4, "y": LABELS}
    exact = {"size": [Decimal(1), Decimal(2), Decimal("10.0")] * 4, "y": LABELS}
    models = [tb.fit(table, label="y", families={"size": "ordinal"}) for table in (whole, exact)]
    expected = models[0].predict_proba({"size": [1, 2, 10, 4, None]})
    decimals = {"size": [Decimal(1), Decimal(2), Decimal(10), Decimal(4), None]}
    for model in models:
        assert np.array_equal(model.predict_proba(decimals), expected)


@pytest.mark.parametrize("name", ["b", "y"])
def test_a_list_in_a_column_that_is_not_used_is_a_column_of_a_table(name):
    model = tb.fit({"a": [1.5, 2.0, 3.0] * 4, "b": ["q", "r", "s"] * 4, "y": LABELS}, label="y", ignore=["b"])
    prior = model.predict_proba([{}])
    for _ in range(2):  # the second time the model is ready for single rows
        assert np.array_equal(model.predict_proba({name: [1, 2, 3]}), np.repeat(prior, 3, axis=0))
        assert np.array_equal(model.log_score({name: [1, 2, 3]}), np.repeat(model.log_score([{}]), 3, axis=0))
        assert model.predict({name: [1, 2, 3]}).tolist() == ["a", "a", "a"]
        with pytest.raises(DataError, match=r"column 'a': expected a column of values, got 1\.5"):
            model.predict_proba({"a": 1.5, name: [1, 2, 3]})
        assert model.predict_proba({"a": 1.5, name: "q"}).shape == (1, 2)
        assert model.predict_proba_one({"a": 1.5, name: [1, 2]}) == model.predict_proba_one({"a": 1.5})
