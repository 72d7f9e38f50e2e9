"""Column weights, calibration and decision in model files: kept for labels of any type, and checked on loading."""

import json

import pytest
from test_forgery import signed

import tallybayes as tb
from models import opened, round_trip
from tallybayes.errors import FileError
from tallybayes.model.saved_model import dumps, loads


def settled(labels=("p", "q")):
    """A model with all that can be found out later."""
    table = {"x": ["a", "b", "b", "a"] * 3, "z": [1.0, 2.0, 3.0, 4.0] * 3, "y": [labels[0], labels[1]] * 6}
    model = tb.fit(table, label="y", families={"z": "gaussian"})
    model.column_weights = tb.ColumnWeights(
        {"x": 0.5, "z": dict.fromkeys(labels, 2.0)}, dict.fromkeys(labels, 0.25), 12
    )
    model.calibrate(table, "isotonic")
    model.decision = tb.Decision(costs={labels[0]: {labels[1]: 3}}, abstain=0.25, constraint="words")
    return model


@pytest.mark.parametrize("labels", [("p", "q"), (1, 2), (False, True), (0.5, 1.5), (b"p", b"q"), ("a=b", "a:b,[")])
def test_they_are_kept_for_labels_of_any_type(labels):
    model = settled(labels)
    again = round_trip(model)
    assert (again.column_weights, again.calibration, again.decision) == (
        model.column_weights,
        model.calibration,
        model.decision,
    )
    assert [type(label) for label in again.decision.costs] == [type(labels[0])]
    threshold = tb.Decision(positive=labels[1], threshold=0.3)
    model.decision = threshold
    assert round_trip(model).decision == threshold


FORGERIES = [
    ("column_weights", "weights", {"x": 1.0}),
    ("column_weights", "weights", [["x", -1.0]]),
    ("column_weights", "weights", [["x", 1.0], ["x", 2.0]]),
    ("column_weights", "weights", [["x", [["tp", "much"]]]]),
    ("column_weights", "weights", [["x"]]),
    ("column_weights", "offsets", [["tp", 1]]),
    ("column_weights", "model_rows", None),
    ("calibration", "method", "magic"),
    ("calibration", "method", ["isotonic"]),
    ("calibration", "temperature", -1.0),
    ("calibration", "steps", [["tp", [0.5, 0.1], [0.0, 1.0]]]),
    ("calibration", "steps", [["tp", [0.5], [0.0, 1.0]]]),
    ("calibration", "steps", [["tp", [], []]]),
    ("calibration", "steps", [["tp", [0.5], [2.0]]]),
    ("calibration", "steps", 3),
    ("decision", "threshold", 0.5),
    ("decision", "costs", [["tp", [["tq", "dear"]]]]),
    ("decision", "costs", {"tp": 1}),
    ("decision", "abstain", 2.0),
    ("decision", "label", 7),
    ("decision", "constraint", 7),
    ("decision", "more", 1),
]


@pytest.mark.parametrize(("what", "fact", "lie"), FORGERIES, ids=lambda one: json.dumps(one)[:30])
def test_a_forged_one_is_an_error(what, fact, lie):
    header, tensors = opened(dumps(settled()))
    header["settings"][what][fact] = lie
    with pytest.raises(FileError):
        loads(signed(header, tensors))


def test_files_without_them_are_what_they_were():
    plain = tb.fit({"x": ["a", "b"], "y": ["p", "q"]}, label="y")
    header, _ = opened(dumps(plain))
    assert not {"column_weights", "calibration", "decision"} & set(header["settings"])
