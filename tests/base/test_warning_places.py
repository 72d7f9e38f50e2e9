"""Every warning names the line of the user, however deep it was given."""

import pytest

import tallybayes as tb
from tallybayes import engines
from tallybayes.dropin import BernoulliNB
from tallybayes.errors import DataWarning


def place_of(category, call):
    with pytest.warns(category) as found:
        call()
    return {warning.filename for warning in found if issubclass(warning.category, category)}


def test_rows_that_every_class_rules_out():
    model = tb.fit({"c": ["a", "b"] * 3, "y": ["p", "q"] * 3}, label="y", smoothing=0.0, column_weights=None)
    rows = {"c": ["a", "z"]}
    assert place_of(tb.RuledOutWarning, lambda: model.predict(rows)) == {__file__}
    assert place_of(tb.RuledOutWarning, lambda: model.predict_proba(rows)) == {__file__}
    assert place_of(tb.RuledOutWarning, lambda: model.predict_log_proba(rows)) == {__file__}


def test_parameters_of_the_drop_ins():
    model = BernoulliNB(alpha=0, force_alpha=False)
    assert place_of(UserWarning, lambda: model.fit([[0], [1]], [0, 1])) == {__file__}
    assert place_of(UserWarning, lambda: model.partial_fit([[0], [1]], [0, 1])) == {__file__}


def test_an_estimator_without_a_column():
    table = pytest.importorskip("pandas").DataFrame({"name": [f"number-{i}" for i in range(30)]})
    assert place_of(UserWarning, lambda: tb.NaiveBayesClassifier().fit(table, ["a", "b"] * 15)) == {__file__}


def test_a_possible_leak():
    rows = {"x": [0, 1] * 200, "z": [0, 0, 1, 0] * 100, "y": ["p", "q"] * 200}
    assert place_of(DataWarning, lambda: tb.fit(rows, label="y")) == {__file__}


def test_doubts_of_partial_sums():
    rows = {"when": ["2024-01-01", "2024-02-03"] * 20, "y": ["p", "q"] * 20}
    plan = engines.plan_fit(rows, label="y")
    part = engines.partial([rows, {"when": ["later"], "y": ["p"]}], plan.to_bytes())
    assert place_of(DataWarning, lambda: engines.fitted(plan, part)) == {__file__}
