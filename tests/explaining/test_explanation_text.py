"""The printed explanation: every figure is rounded by itself."""

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import ParameterError
from tallybayes.explaining.explanation import Explanation
from tallybayes.formatting import DECIBANS


def explanation(*odds):
    """An explanation of two classes whose columns add these decibans to the log odds of the first."""
    log_evidence = {f"x{i}": np.array([value / DECIBANS, 0.0]) for i, value in enumerate(odds)}
    return Explanation(["yes", "no"], {}, np.zeros(2), log_evidence)


def figures(text):
    """The last cell of every line of the table."""
    return [line.split()[-1] for line in text.splitlines()[2:]]


def test_each_figure_is_rounded_by_itself_and_the_sum_is_the_rounded_true_sum():
    assert figures(explanation(0.26, 0.26, 0.26).shown()) == ["+0.0", "+0.3", "+0.3", "+0.3", "+0.8"]


def test_a_part_that_rules_out_one_class_gives_an_infinite_sum():
    ruled_out = explanation(1.0)
    ruled_out.log_evidence["x1"] = np.array([0.0, -np.inf])
    assert figures(ruled_out.shown()) == ["+0.0", "+inf", "+1.0", "+inf"]


def test_both_classes_ruled_out_is_stated_instead_of_a_sum():
    one = explanation(1.0)
    one.log_evidence["x1"] = np.array([-np.inf, -np.inf])
    assert one.shown("yes", "no").splitlines()[-1].endswith("both are ruled out")


def test_a_calibrated_probability_is_called_calibrated():
    rows = {"x": [0, 0, 1, 1, 1] * 6, "y": ["a", "b", "b", "b", "a"] * 6}
    model = tb.fit(rows, label="y")
    assert "calibrated" not in str(model.explain({"x": 1})[0])
    model.calibrate(rows)
    assert f"the probability is calibrated, the sum is not: {model.calibration}" in str(model.explain({"x": 1})[0])


def test_a_class_is_not_compared_with_itself():
    one = tb.fit({"x": [0, 1], "y": ["a", "b"]}, label="y").explain({"x": 1})[0]
    with pytest.raises(ParameterError, match="two different classes"):
        one.shown("a", "a")
