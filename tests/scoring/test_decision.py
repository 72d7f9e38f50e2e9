"""Decision rules: constraints hold on the rows they were chosen on, costs are minimised."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import tallybayes as tb
from models import round_trip
from tallybayes.errors import DataError, ParameterError
from tallybayes.state.threshold_choice import best_threshold, threshold_by_budget

shares = arrays.arrays(np.float64, st.tuples(st.integers(1, 30), st.just(3)), elements=st.floats(0.001, 1.0))
LABELS = ["G", "PG", "R"]


def log_shares(p):
    return np.log(p / p.sum(axis=1, keepdims=True))


@settings(deadline=None)
@given(p=shares, data=st.data(), asked=st.one_of(st.integers(0, 5), st.floats(0, 0.5)))
def test_a_threshold_satisfies_its_constraint_on_the_rows_it_was_chosen_on(p, data, asked):
    log_p = log_shares(p)
    codes = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=len(p), max_size=len(p))), np.int32)
    mine, others = codes == 2, (codes >= 0) & (codes != 2)
    if mine.any():
        rule = tb.Decision.with_constraint(np.exp(log_p), codes, LABELS, "R", false_negatives=asked)
        missed = np.count_nonzero(rule.answer_codes(np.exp(log_p), LABELS)[mine] != 2)
        allowed = asked if asked >= 1 else int(asked * mine.sum() + 1e-9)
        assert missed <= allowed
        stricter = replace(rule, threshold=min(1.0, rule.threshold * (1 + 1e-6)))
        more = np.count_nonzero(stricter.answer_codes(np.exp(log_p), LABELS)[mine] != 2)
        assert more > allowed or rule.threshold == 1.0 or allowed >= mine.sum()  # no greater one would do
    if others.any() and np.exp(log_p[others, 2]).max() < 1 - 1e-6:
        rule = tb.Decision.with_constraint(np.exp(log_p), codes, LABELS, "R", false_positives=asked)
        wrong = np.count_nonzero(rule.answer_codes(np.exp(log_p), LABELS)[others] == 2)
        assert wrong <= (asked if asked >= 1 else int(asked * others.sum() + 1e-9))


@settings(deadline=None)
@given(p=shares, costs=arrays.arrays(np.float64, (3, 3), elements=st.integers(0, 20).map(float)))
def test_the_answer_of_least_cost_is_that(p, costs):
    log_p = log_shares(p)
    rule = tb.Decision(costs={t: {a: costs[i, j] for j, a in enumerate(LABELS)} for i, t in enumerate(LABELS)})
    for row, code in zip(np.exp(log_p), rule.answer_codes(np.exp(log_p), LABELS), strict=True):
        expected = [sum(row[t] * costs[t, a] for t in range(3)) for a in range(3)]
        assert expected[code] <= min(expected) + 1e-12


def test_without_a_rule_the_most_probable_wins_and_ties_go_to_the_first():
    log_p = np.log([[0.4, 0.4, 0.2], [0.2, 0.3, 0.5]])
    assert tb.Decision().answer_codes(np.exp(log_p), LABELS).tolist() == [0, 2]
    assert tb.Decision(costs={}).answer_codes(np.exp(log_p), LABELS).tolist() == [0, 2]
    assert tb.Decision(abstain=0.45).answer_codes(np.exp(log_p), LABELS).tolist() == [-1, 2]


def test_costs_may_be_pairs():
    assert tb.Decision(costs={("R", "G"): 10, ("G", "R"): 2}) == tb.Decision(costs={"R": {"G": 10.0}, "G": {"R": 2.0}})


ROWS = {"x": ["a", "a", "a", "b", "b", "b"] * 5, "y": ["G", "G", "R", "R", "R", "G"] * 5}


def test_a_model_goes_by_its_rule_and_keeps_it():
    model = tb.fit(ROWS, label="y", smoothing=1)
    assert set(model.predict(ROWS)) == {"G", "R"}
    model.decide(ROWS, "R", false_negatives=0)
    assert (model.predict({"x": ["a", "b"]}) == "R").all()
    again = round_trip(model)
    assert again.decision == model.decision
    assert "at most 0 false negatives: 0 of 15 missed" in str(again.decision)
    model.decision = tb.Decision(abstain=0.99)
    assert model.predict({"x": ["a"]}).tolist() == [None]
    model.decision = None
    assert model.predict({"x": ["a"]}).tolist() == ["G"]
    assert model.settings == tb.fit(ROWS, label="y", smoothing=1).settings


def test_the_constraint_holds_for_predict_on_new_rows_it_was_chosen_on():
    """Probabilities of predict are worked out in another way than those the threshold was chosen by."""
    rng = np.random.default_rng(0)
    y = rng.choice(["G", "R"], 400)
    table = {f"x{j}": rng.normal(size=400) + (y == "R") for j in range(5)} | {"y": y}
    model = tb.fit({name: values[:200] for name, values in table.items()}, label="y", families="gaussian")
    for asked in (0, 1, 7):
        model.decide(table, "R", false_negatives=asked, leave_one_out=False)
        assert np.count_nonzero(model.predict(table)[y == "R"] == "G") == asked
        model.decide(table, "R", false_positives=asked, leave_one_out=False)
        assert np.count_nonzero(model.predict(table)[y == "G"] == "R") == asked


def test_it_is_chosen_on_calibrated_probabilities_of_rows_left_out():
    model = tb.fit(ROWS, label="y", smoothing=1)
    model.calibrate(ROWS)
    rule = model.decide(ROWS, "R", false_negatives=2)
    chosen = rule.answer_codes(np.exp(model.leave_one_out(ROWS)), model.classes)
    assert np.count_nonzero((np.array(ROWS["y"]) == "R") & (chosen != 1)) <= 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"positive": "R"}, "positive and threshold together"),
        ({"positive": "R", "threshold": 1.5}, "a threshold from 0 to 1"),
        ({"abstain": -0.1}, "abstain"),
        ({"costs": {"R": 3}}, "true: .answered"),
        ({"costs": {"R": {"G": "much"}}}, "costs that are finite numbers"),
        ({"costs": {"R": {"G": -3}}}, "costs that are finite numbers of at least 0"),
    ],
)
def test_wrong_rules_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        tb.Decision(**given)


def test_rules_about_other_labels_and_impossible_constraints_are_refused():
    model = tb.fit(ROWS, label="y", smoothing=1)
    with pytest.raises(ParameterError, match="a label of the model"):
        model.decision = tb.Decision(positive="X", threshold=0.5)
    with pytest.raises(ParameterError, match="a label of the model"):
        model.decide(ROWS, "X", false_negatives=0)
    with pytest.raises(ParameterError, match="one of false_negatives, false_positives"):
        model.decide(ROWS, "R")
    with pytest.raises(ParameterError, match="share below 1"):
        model.decide(ROWS, "R", false_negatives=1.5)
    with pytest.raises(ParameterError, match="a Decision"):
        model.decision = 0.5
    with pytest.raises(DataError, match="rows of the class, for the constraint"):
        model.decide({"x": ["a"], "y": ["G"]}, "R", false_negatives=0)
    assert model.decision == tb.Decision()


def test_classes_that_are_told_apart_without_doubt_have_a_threshold_too():
    log_p = np.array([[0.0, -np.inf], [0.0, -2000.0], [-2000.0, 0.0]])
    rule = tb.Decision.with_constraint(np.exp(log_p), np.array([0, 0, 1]), ["ham", "spam"], "spam", false_positives=0)
    assert rule.answer_codes(np.exp(log_p), ["ham", "spam"]).tolist() == [0, 0, 1]


def test_no_answer_is_no_wrong_answer():
    """A constraint also holds when the rule may abstain."""
    rng = np.random.default_rng(0)
    log_p = log_shares(rng.random((200, 3)) + 0.01)
    codes = rng.integers(0, 3, 200)
    rule = tb.Decision.with_constraint(np.exp(log_p), codes, LABELS, "R", false_negatives=3)
    rule = replace(rule, abstain=0.6)
    chosen = rule.answer_codes(np.exp(log_p), LABELS)
    assert np.count_nonzero((codes == 2) & (chosen != 2) & (chosen >= 0)) <= 3


def test_labels_that_the_model_does_not_know_count_as_others():
    model = tb.fit(ROWS, label="y", smoothing=1)
    new = {"x": ["a"] * 5 + ["b"] * 5, "y": ["zz"] * 9 + ["R"]}
    model.decide(new, "R", false_positives=0, leave_one_out=False)
    assert (model.predict(new)[:9] != "R").all()


def test_a_constraint_that_was_chosen_under_other_probabilities_is_stale():
    model = tb.fit(ROWS, label="y", smoothing=1)
    model.decide(ROWS, "R", false_negatives=0)
    assert model.stale == []
    model.calibrate(ROWS)
    assert model.stale == ["decision"]
    model.decide(ROWS, "R", false_negatives=0)
    assert model.stale == []
    model.column_weights = tb.ColumnWeights({"x": 0.5})
    assert model.stale == ["calibration", "decision"]
    assert round_trip(model).stale == ["calibration", "decision"]


def test_explanations_tell_the_answer_by_the_rule():
    model = tb.fit(ROWS, label="y", smoothing=1)
    model.decide(ROWS, "R", false_negatives=0)
    (one,) = model.explain({"x": ["a"]})
    assert one.answer == model.predict({"x": ["a"]})[0] == "R"
    assert "answer: R, by the decision rule: R if its probability is at least" in str(one)
    assert one.to_dict()["predicted"] == "R"


def test_the_wrappers_go_by_the_rule_too():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": ROWS["x"]})
    classifier = tb.NaiveBayesClassifier(smoothing=1).fit(frame, ROWS["y"])
    classifier.model_.decide({"x": ROWS["x"]}, "R", false_negatives=0, label=ROWS["y"])
    assert (classifier.predict(frame) == "R").all()
    classifier.model_.decision = tb.Decision(abstain=0.999)
    assert set(classifier.predict(frame)) == {None}
    classifier.model_.calibrate(frame, label=ROWS["y"])
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(frame)), classifier.predict_proba(frame))


def test_the_best_threshold_is_the_best_of_all_thresholds():
    """Compared with every threshold tried one by one, with ties among the probabilities."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = int(rng.integers(2, 40))
        proba = rng.dirichlet([1, 1, 1], n).round(1)
        proba /= proba.sum(axis=1, keepdims=True)
        codes = rng.integers(-1, 4, n).astype(np.int32)
        codes[0] = 1
        classes, costs = ["a", "b", "c"], {"a": {"b": 4.0}, "b": {"a": 2.5}}
        table = np.vstack([tb.Decision(costs=costs).cost_table(classes), np.ones(3)])

        def f1(answers, codes=codes):
            rows = codes >= 0
            right = np.count_nonzero((answers == 1) & (codes == 1))
            return 2 * right / (np.count_nonzero(answers[rows] == 1) + np.count_nonzero(codes == 1))

        def cost(answers, codes=codes, table=table):
            return -table[codes[codes >= 0], answers[codes >= 0]].mean()

        for value, by in ((f1, {"maximise": "f1"}), (cost, {"costs": costs})):
            found = best_threshold(proba, codes, classes, "b", **by)
            tried = [
                value(tb.Decision(positive="b", threshold=t).answer_codes(proba, classes))
                for t in [*np.unique(proba[:, 1]), *(np.unique(proba[:, 1]) + 1e-9).clip(0, 1)]
            ]
            assert value(found.answer_codes(proba, classes)) == pytest.approx(max(tried))


def test_no_best_threshold_without_rows_of_the_class():
    with pytest.raises(DataError, match="rows of the class"):
        best_threshold(np.array([[0.5, 0.5]]), np.array([0], np.int32), ["a", "b"], "b", maximise="f1")
    with pytest.raises(ParameterError, match="maximise: 'f1'"):
        best_threshold(np.array([[0.5, 0.5]]), np.array([0], np.int32), ["a", "b"], "b", maximise="recall")


def test_a_threshold_chosen_by_costs_keeps_them_and_evaluate_has_the_mean_cost(tmp_path):
    model = tb.fit(ROWS, label="y", smoothing=1)
    rule = model.decide(ROWS, "R", costs={"R": {"G": 5}})
    assert rule.costs == {"R": {"G": 5.0}}
    model.save(tmp_path / "m.tally")
    loaded = tb.load(tmp_path / "m.tally")
    assert loaded.decision == rule
    found = tb.evaluate(loaded, ROWS)
    assert found.to_dict()["mean_cost"] == pytest.approx(float(rule.constraint.split(", ")[1].split(":")[0]), abs=1e-4)
    assert "R answered G: 5" in str(rule)
    proba = model.predict_proba(ROWS)
    by_threshold = tb.Decision(positive="R", threshold=rule.threshold)
    assert rule.answer_codes(proba, model.classes).tolist() == by_threshold.answer_codes(proba, model.classes).tolist()


@pytest.mark.parametrize("budget", [1, 5, 0.2, 10_000])
def test_a_budget_flags_at_most_so_many_rows_and_tells_precision_and_recall(budget):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.3, "R", "G")
    table = {"x": rng.normal(size=300) + (y == "R"), "y": np.where(np.arange(300) < 10, None, y)}
    model = tb.fit({name: values[:150] for name, values in table.items()}, label="y", numeric="gaussian")
    rule = model.decide(table, "R", budget=budget, leave_one_out=False)
    flagged = model.predict_proba(table)[:, 1] >= rule.threshold
    allowed = min(300, int(300 * budget) if budget < 1 else budget)
    assert np.count_nonzero(flagged) == allowed  # no two rows are equal; rows without a label are flagged too
    known = table["y"] != None  # noqa: E711
    right = np.count_nonzero(flagged & (table["y"] == "R"))
    precision, recall = right / np.count_nonzero(flagged & known), right / np.count_nonzero(table["y"] == "R")
    assert f"{allowed:,} flagged" in rule.constraint
    assert f"precision {precision:.4g}, recall {recall:.4g}" in rule.constraint


def test_equal_probabilities_are_flagged_together_or_not_at_all():
    rows = {"x": ["a"] * 6 + ["b"] * 6, "y": ["R"] * 5 + ["G"] * 7}
    model = tb.fit(rows, label="y", smoothing=1, column_weights=None)
    for budget, n in ((5, 0), (6, 6), (11, 6), (12, 12)):
        assert np.count_nonzero(model.predict_proba(rows)[:, 1] >= _threshold(model, rows, budget)) == n
    with pytest.raises(DataError, match="more than 1 row with probability 1"):
        threshold_by_budget(np.array([[0.0, 1.0]] * 2), np.array([1, 1]), ["G", "R"], "R", budget=1)
    with pytest.raises(ParameterError, match="a number of rows"):
        model.decide(rows, "R", budget=-1)


def _threshold(model, rows, budget):
    proba = model.predict_proba(rows)
    codes = np.array([model.classes.index(label) for label in rows["y"]], np.int32)
    return threshold_by_budget(proba, codes, model.classes, "R", budget=budget).threshold
