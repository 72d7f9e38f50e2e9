"""The printed explanation: every figure is rounded by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_booleans_are_written_as_in_tables_of_parameters():
    model = tb.fit({"x": [True, False], "y": ["a", "b"]}, label="y")
    assert "x        true" in str(model.explain({"x": True})[0])
    assert "x        false" in str(model.explain({"x": False})[0])


def test_a_class_is_not_compared_with_itself():
    one = tb.fit({"x": [0, 1], "y": ["a", "b"]}, label="y").explain({"x": 1})[0]
    with pytest.raises(ParameterError, match="two different classes"):
        one.shown("a", "a")


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize(("threshold", "answer"), [(0.01, "yes"), (0.999, "no")])
def test_under_a_threshold_the_explanation_is_about_the_answer_and_says_what_the_sum_has_to_reach(
    calibrated, threshold, answer
):
    rows = {"x": ["a", "a", "b", "b", "a"] * 8, "z": ["u", "v", "u", "v", "v"] * 8, "y": ["no", "yes"] * 20}
    model = tb.fit(rows, "y", column_weights=None)
    if calibrated:
        model.calibration = tb.Calibration("temperature", 2.0)
    model.decision = tb.Decision(positive="yes", threshold=threshold)
    one = model.explain({"x": ["a"], "z": ["u"]})[0]
    text = one.shown(units="log-odds")
    assert text.startswith(f"{answer} with probability")
    assert f"answer: {answer}, by the decision rule: yes if its probability is at least {threshold}" in text
    lines = {line.split()[0]: line.split()[-1] for line in text.splitlines() if line.startswith(("sum", "threshold"))}
    odds = np.log(threshold / (1 - threshold)) * (2 if calibrated else 1) * (1 if answer == "yes" else -1)
    assert float(lines["threshold"]) == pytest.approx(odds, abs=6e-4)
    assert float(lines["sum"]) > float(lines["threshold"])
    assert one.to_dict()["decision"] == str(model.decision)


def test_without_a_threshold_there_is_no_such_line():
    rows = {"x": ["a", "b", "c"] * 9, "y": ["p", "q", "r"] * 9}
    model = tb.fit(rows, "y")
    assert "threshold" not in str(model.explain({"x": ["a"]})[0])
    assert model.explain({"x": ["a"]})[0].to_dict()["decision"] is None
    model.decision = tb.Decision(positive="p", threshold=0.1)  # three classes: one number does not decide
    assert "\nthreshold" not in str(model.explain({"x": ["a"]})[0])


def test_the_largest_parts_and_the_sum_of_the_others_add_up():
    one = explanation(1.0, -5.0, 2.5, 0.3)
    lines = one.shown(top=2).splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["prior", "x1", "x2", "(2", "sum"]
    assert figures(one.shown("yes", top=2)) == ["+0.0", "-5.0", "+2.5", "+1.3", "-1.2"]
    assert one.shown(top=4) == one.shown(top=9) == one.shown()
    assert figures(one.shown("yes", top=0)) == ["+0.0", "-1.2", "-1.2"]


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=8), st.integers(0, 9))
def test_whatever_is_shown_adds_up(odds, top):
    one = explanation(*odds)
    facts = one.to_dict(top=top)
    parts = [facts["log_prior"], *facts["log_evidence"].values(), facts["more_columns"]["log_evidence"] or [0.0, 0.0]]
    assert np.sum(parts, axis=0) == pytest.approx(facts["log_score"], abs=1e-9)
    assert facts["more_columns"]["n"] == max(len(odds) - top, 0)
    shown = [abs(part[0] - part[1]) for part in facts["log_evidence"].values()]
    assert len(shown) == min(top, len(odds))
    others = [abs(value) / DECIBANS for i, value in enumerate(odds) if f"x{i}" not in facts["log_evidence"]]
    assert min(shown, default=np.inf) >= max(others, default=0.0) - 1e-9


def test_the_words_of_a_text_add_up_too():
    rows = {"text": ["win money now", "notes of the meeting"] * 6, "y": ["spam", "ham"] * 6}
    (one,) = tb.fit(rows, label="y", families={"text": "text:counts"}).explain({"text": "win win money of meeting"})
    facts = one.to_dict(top=1)
    assert facts["more_words"]["text"]["n"] == len(one.words["text"]) - 1
    total = np.array(facts["words"]["text"][0]["log_evidence"]) + facts["more_words"]["text"]["log_evidence"]
    assert total == pytest.approx(sum(word.log_evidence for word in one.words["text"]))
    assert "more)" in one.shown(top=1).splitlines()[-1]
    assert "more_columns" not in one.to_dict()


def test_the_others_of_a_frame_are_one_row():
    pytest.importorskip("pandas")
    frame = explanation(1.0, -5.0, 2.5).to_frame("yes", top=1)
    assert frame["column"].tolist() == ["prior", "x1", "(2 more)"]
    assert frame["decibans"].sum() == pytest.approx(-1.5)


def test_a_number_of_parts_is_not_negative():
    with pytest.raises(ParameterError, match="top to be an integer of at least 0"):
        explanation(1.0).shown(top=-1)


def test_infinite_parts_among_the_others_are_stated():
    one = explanation(1.0)
    one.log_evidence.update(x1=np.array([0.0, -np.inf]), x2=np.array([-np.inf, 0.0]))
    assert "both are ruled out" in one.shown("yes", "no", top=0).splitlines()[-2]


def test_the_value_of_an_interaction_is_missing_if_all_its_inputs_are():
    a, b = np.random.default_rng(0).integers(0, 2, (2, 2000))
    rows = {"a": np.where(a, "x", "y").tolist(), "b": np.where(b, "p", "q").tolist(), "y": (a ^ b).tolist()}
    model = tb.tune(rows, label="y", what="interactions").model
    both, one, neither = model.explain([{"a": "x", "b": "p"}, {"a": "x", "b": None}, {"a": None, "b": None}])
    assert [found.values["a x b"] for found in (both, one, neither)] == [["x", "p"], ["x", None], None]
    assert "a x b    (missing)" in neither.shown()
