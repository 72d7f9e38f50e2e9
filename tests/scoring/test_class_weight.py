"""class_weight: factors of the class prior, kept in the model, exact under learning and merging."""

import numpy as np
import pytest

import tallybayes as tb
from models import opened, round_trip
from tallybayes.errors import ParameterError
from tallybayes.model.saved_model import dumps

RNG = np.random.default_rng(0)
Y = RNG.choice(["a", "b", "c"], 300, p=[0.8, 0.15, 0.05])
ROWS = {"x": RNG.normal(size=300) + (Y == "b") + 2 * (Y == "c"), "z": RNG.choice(["u", "v"], 300), "y": Y}


@pytest.mark.parametrize("weights", ["auto", None])
def test_the_odds_are_multiplied_by_the_weights(weights):
    plain, weighted = (
        tb.fit(ROWS, "y", column_weights=weights, class_weight=given) for given in (None, {"b": 3.0, "c": 0.5})
    )
    p = plain.predict_proba(ROWS) * [1.0, 3.0, 0.5]
    np.testing.assert_allclose(weighted.predict_proba(ROWS), p / p.sum(axis=1, keepdims=True), rtol=1e-9)
    assert weighted.class_counts == plain.class_counts


@pytest.mark.parametrize("class_smoothing", [0.0, 1.0])
def test_balanced_is_a_uniform_prior(class_smoothing):
    options = {"column_weights": None, "class_smoothing": class_smoothing}
    balanced, uniform = (
        tb.fit(ROWS, "y", **options, **given) for given in ({"class_weight": "balanced"}, {"class_prior": "uniform"})
    )
    np.testing.assert_allclose(balanced.predict_proba(ROWS), uniform.predict_proba(ROWS), rtol=1e-9)
    found = [tb.cross_validate(ROWS, "y", **given).balanced_accuracy for given in ({}, {"class_weight": "balanced"})]
    assert found[1] > found[0]


def test_it_equals_weights_of_the_rows_without_smoothing():
    """The sense of the definition: weighting the rows of a class changes the class prior and nothing else."""
    by_class = {"a": 1.0, "b": 4.0, "c": 8.0}
    options = {"estimate": "mle", "class_smoothing": 0, "column_weights": None, "families": {"x": "gaussian"}}
    by_rows = tb.fit(ROWS, "y", sample_weight=np.array([by_class[y] for y in Y]), **options)
    by_prior = tb.fit(ROWS, "y", class_weight=by_class, **options)
    np.testing.assert_allclose(by_rows.predict_proba(ROWS), by_prior.predict_proba(ROWS), rtol=1e-9)


@pytest.mark.parametrize("given", ["balanced", {"a": 2.0, "b": 3.0}])
def test_it_survives_saving_learning_and_merging(given):
    whole = tb.fit(ROWS, "y", column_weights=None, class_weight=given)
    again = round_trip(whole)
    assert again.settings.class_weight == given
    assert again.same_counts(whole)
    first, second = ({name: column[part] for name, column in ROWS.items()} for part in (slice(150), slice(150, None)))
    model = tb.fit(first, "y", column_weights=None, class_weight=given, schema=whole.schema)
    model.learn(second)
    assert model.same_counts(whole)
    parts = [
        tb.fit(part, "y", column_weights=None, class_weight=given, schema=whole.schema) for part in (first, second)
    ]
    assert parts[0].merge(parts[1]).same_counts(whole)


@pytest.mark.parametrize("weights", ["auto", None])
def test_leave_one_out_multiplies_the_odds_too(weights):
    plain, weighted = (
        tb.fit(ROWS, "y", column_weights=weights, class_weight=given) for given in (None, {"b": 3.0, "c": 0.5})
    )
    p = np.exp(plain.leave_one_out(ROWS)) * [1.0, 3.0, 0.5]
    np.testing.assert_allclose(np.exp(weighted.leave_one_out(ROWS)), p / p.sum(axis=1, keepdims=True), rtol=1e-9)


def test_a_model_without_it_has_the_file_it_had():
    header, _ = opened(dumps(tb.fit(ROWS, "y")))
    assert "class_weight" not in header["settings"]


@pytest.mark.parametrize("given", [{}, {"a": 0.0}, {"a": -1}, {"a": np.inf}, {"a": "much"}, "even", 2.0, {"a": True}])
def test_wrong_weights_are_refused(given):
    with pytest.raises(ParameterError, match="class_weight to be None, 'balanced', or a dict"):
        tb.fit(ROWS, "y", class_weight=given)


def test_weights_of_other_classes_are_refused():
    with pytest.raises(ParameterError, match=r"class_weight for classes of the data, got 'd'"):
        tb.fit(ROWS, "y", class_weight={"d": 2.0})


def test_intervals_have_no_uncertainty_of_a_weighted_prior():
    model = tb.fit(ROWS, "y", class_weight="balanced")
    low, high = np.moveaxis(model.predict_interval({"x": [0.0]}, 0.9), 2, 0)
    assert (low < high).all()
    assert "low" not in model.intervals().classes[0]
