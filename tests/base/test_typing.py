"""The types of the public functions, which editors show."""

from typing import get_type_hints

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.client import Client
from tallybayes.typing import LabelLike, RowLike, TableLike, WeightLike


@pytest.mark.parametrize(
    "function", [tb.fit, tb.tune, tb.evaluate, tb.cross_validate, tb.compare, tb.prequential, tb.importance, tb.report]
)
def test_functions_say_what_they_take(function):
    hints = get_type_hints(function)
    assert (hints["data"], hints["label"]) == (TableLike, LabelLike)
    assert hints.get("sample_weight", WeightLike) == WeightLike


@pytest.mark.parametrize("owner", [tb.Model, Client])
def test_methods_say_what_they_take(owner):
    for name in ("predict", "predict_proba", "learn", "forget"):
        assert get_type_hints(getattr(owner, name))["data"] == TableLike, name
    for name in ("predict_one", "predict_proba_one"):
        assert get_type_hints(getattr(owner, name))["row"] == RowLike, name


def test_the_types_are_public():
    assert tb.typing.TableLike is TableLike
    assert {"LabelLike", "RowLike", "TableLike"} <= {*tb.typing.__all__}
    model = tb.fit({"x": np.array([1.0, 2.0])}, label=("a", "b"), sample_weight=(1, 2))
    assert model.class_counts == {"a": 1, "b": 2}
