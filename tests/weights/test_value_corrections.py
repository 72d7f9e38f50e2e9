"""Corrections of the evidence by value and class: added to the score, saved, and checked."""

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.errors import ParameterError
from tallybayes.model.saved_model import dumps, loads
from tallybayes.state.column_weights import ValueCorrection

TABLE = {"x": [1.0, 2.0, 3.0, 4.0] * 6, "c": list("aabbab") * 4, "f": [True, False, True] * 8, "y": list("pqqp") * 6}
FAMILIES = {"x": "histogram", "c": "categorical", "f": "bernoulli"}
CORRECTIONS = {
    "x": ValueCorrection({"p": 0.5, "q": -0.25}, centre=2.0, scale=2.0),
    "c": ValueCorrection(cells=CellInput("c", keys=("a", "b")), table={"p": (0.3, -0.1)}),
    "f": ValueCorrection(cells=CellInput("f"), table={"q": (0.2, 0.7)}),
}


def model(corrections=None, **options):
    result = tb.fit(TABLE, label="y", families=FAMILIES, column_weights=None, **options)
    if corrections:
        result.column_weights = tb.ColumnWeights(corrections=corrections)
    return result


def expected(x, c, f):
    z = (x - 2.0) / 2.0
    return np.array([0.5 * z + {"a": 0.3, "b": -0.1}[c], -0.25 * z + (0.7 if f else 0.2)])


def test_a_score_is_the_score_without_and_the_correction():
    plain, own = model(), model(CORRECTIONS)
    probe = {name: TABLE[name] for name in FAMILIES}
    wanted = np.array([expected(*row) for row in zip(*probe.values(), strict=True)])
    np.testing.assert_allclose(own.log_score(probe) - plain.log_score(probe), wanted, atol=1e-12)


def test_corrections_are_saved_and_forgotten_classes_are_not_named():
    own = model(CORRECTIONS)
    assert loads(dumps(own)).column_weights == own.column_weights
    rows = [i for i, label in enumerate(TABLE["y"]) if label == "q"]
    own.forget({name: [values[i] for i in rows] for name, values in TABLE.items()})
    assert all("q" not in one.labels for one in own.column_weights.corrections.values())


def test_a_new_class_switches_fitted_corrections_off():
    own = model()
    own.column_weights = tb.ColumnWeights(
        {}, {"p": 0.0, "q": 0.0}, 24.0, 24.0, corrections=CORRECTIONS, temperature=1.0
    )
    plain, probe = model(), {name: TABLE[name] for name in FAMILIES}
    for one in (own, plain):
        one.learn({name: values[:1] for name, values in TABLE.items()} | {"y": ["r"]})
    np.testing.assert_allclose(own.log_score(probe), plain.log_score(probe), atol=1e-12)


def test_leave_one_out_includes_corrections():
    options = {"smoothing": 1.0}
    own, plain = model({"c": CORRECTIONS["c"]}, **options), model(**options)
    moved = own.leave_one_out(TABLE) - plain.leave_one_out(TABLE)
    wanted = np.array([0.3 if c == "a" else -0.1 for c in TABLE["c"]])
    np.testing.assert_allclose(moved[:, 0] - moved[:, 1], wanted, atol=1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        {"slopes": {"p": float("nan")}},
        {"scale": 0.0},
        {"scale": -1.0},
        {"table": {"p": (1.0,)}},
        {"cells": CellInput("f"), "table": {"p": (1.0, 2.0, 3.0)}},
    ],
)
def test_wrong_corrections_are_refused(wrong):
    with pytest.raises(ParameterError):
        ValueCorrection(**wrong)


@pytest.mark.parametrize("wrong", [{"nosuch": CORRECTIONS["x"]}, {"x": ValueCorrection({"r": 1.0})}])
def test_corrections_of_what_there_is_not_are_refused(wrong):
    with pytest.raises(ParameterError, match="of the model"):
        model(wrong)
