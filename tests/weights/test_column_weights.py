"""Weights of columns: a score stays a sum, whatever the weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from models import round_trip
from tables import FAMILIES, LABEL, mixed_frame
from tallybayes.errors import ParameterError

TABLE = mixed_frame(60)
CLASSES = ["class 0", "class 1", "class 2"]
numbers = st.floats(0, 3)
weights = st.dictionaries(
    st.sampled_from(sorted(FAMILIES)), st.one_of(numbers, st.fixed_dictionaries(dict.fromkeys(CLASSES, numbers)))
)
offsets = st.one_of(st.just({}), st.fixed_dictionaries({label: st.floats(-2, 2) for label in CLASSES}))


def fitted(without=()):
    families = {name: family for name, family in FAMILIES.items() if name not in without}
    return tb.fit(TABLE, label=LABEL, families=families, ignore=without, smoothing=1.0, column_weights=None)


@settings(max_examples=25, deadline=None)
@given(weights=weights, offsets=offsets)
def test_a_score_is_the_weighted_sum_of_what_the_columns_say(weights, offsets):
    plain, model = fitted(), fitted()
    model.column_weights = tb.ColumnWeights(weights, offsets)
    log_prior = plain.log_prior()
    log_shares = log_prior.copy()
    for one, other in zip(plain.explain(TABLE)[:9], model.explain(TABLE)[:9], strict=True):
        total = log_prior + [offsets.get(label, 0.0) for label in CLASSES]
        for name, part in one.log_evidence.items():
            own = weights.get(name, 1.0)
            row = np.array([own[label] for label in CLASSES]) if isinstance(own, dict) else np.full(3, own)
            if (row != row[0]).any():
                part = part - np.log(np.exp(part + log_shares).sum())
            total = total + row * part
        expected = np.exp(total - total.max()) / np.exp(total - total.max()).sum()
        np.testing.assert_allclose(other.probabilities, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            np.exp(other.log_score - other.log_score.max()), expected / expected.max(), atol=1e-12
        )


@settings(max_examples=10, deadline=None)
@given(weights=weights, offsets=offsets)
def test_one_row_scores_as_in_a_batch_and_explanations_add_up(weights, offsets):
    model = fitted()
    model.column_weights = tb.ColumnWeights(weights, offsets)
    together, joint = model.predict_proba(TABLE), model.log_score(TABLE)
    for row in range(0, 60, 13):
        one = {name: values[row] for name, values in TABLE.items() if name != LABEL}
        assert np.array_equal(model.predict_proba([one])[0], together[row])
        explained = model.explain([one])[0]
        np.testing.assert_allclose(explained.log_score, joint[row], rtol=1e-12, atol=1e-12)
        for name, words in explained.words.items():
            if isinstance(weights.get(name, 1.0), float):  # with weights per class, the average is no word's
                total = sum((word.log_evidence for word in words), np.zeros(3))
                np.testing.assert_allclose(total, explained.log_evidence[name], atol=1e-9)


def test_weights_are_held_when_a_row_is_left_out():
    options = {"label": "y", "families": {"x": "gaussian", "c": "categorical"}, "smoothing": 1.0}
    table = {"x": [1.0, 2.0, 4.0, 5.0, 1.5, 3.0], "c": list("abbaab"), "y": list("ppqqqp")}
    for own in ({"x": 0.4, "c": 1.7}, {"x": {"p": 0.5, "q": 1.0}}):
        model = tb.fit(table, **options, column_weights=None)
        model.column_weights = tb.ColumnWeights(own, {"p": 0.3, "q": -0.3})
        left = model.leave_one_out(table)
        for row in range(6):
            rest = tb.fit({name: v[:row] + v[row + 1 :] for name, v in table.items()}, **options, column_weights=None)
            rest.column_weights = model.column_weights
            one = {name: [v[row]] for name, v in table.items() if name != "y"}
            np.testing.assert_allclose(np.exp(left[row]), rest.predict_proba(one)[0], rtol=1e-9)


def test_a_weight_of_nothing_is_as_good_as_no_column():
    model, without = fitted(), fitted(without=["real", "words"])
    model.column_weights = tb.ColumnWeights({"real": 0, "words": 0.0})
    np.testing.assert_allclose(model.predict_proba(TABLE), without.predict_proba(TABLE), rtol=1e-9)


def test_a_class_ruled_out_by_a_column_of_weight_nothing_is_not_ruled_out():
    table = {"x": ["a", "b"], "z": ["c", "d"], "y": ["p", "q"]}
    model = tb.fit(table, label="y", estimate="mle", column_weights=None)
    model.column_weights = tb.ColumnWeights({"x": {"p": 0.0, "q": 1.0}, "z": 0.0})
    assert np.isfinite(model.predict_proba(table)).all()


def test_column_weights_are_saved_and_described():
    model = fitted()
    model.column_weights = tb.ColumnWeights({"real": 0.25, "kind": {"class 0": 2.0}}, {"class 1": 0.5}, model_rows=60)
    again = round_trip(model)
    assert again.column_weights == model.column_weights
    assert np.array_equal(again.predict_proba(TABLE), model.predict_proba(TABLE))
    assert "weight 0.25" in str(again.describe())
    assert "weights 1 to 2" in str(again.describe())
    assert again.stale == []
    again.learn({name: values[:1] for name, values in TABLE.items()})
    assert again.stale == ["column_weights"]
    again.column_weights = None
    assert np.array_equal(again.copy().predict_proba(TABLE), again.predict_proba(TABLE))


def test_likelihoods_and_samples_are_those_without_weights():
    model = fitted(without=["note"])
    before = model.log_marginal(TABLE), model.objective(TABLE).total
    model.column_weights = tb.ColumnWeights({"real": 0.5})
    assert (model.log_marginal(TABLE).tolist(), model.objective(TABLE).total) == (before[0].tolist(), before[1])
    assert model.sample(3, seed=0).num_rows == 3


@pytest.mark.parametrize("wrong", [{"x": -1.0}, {"x": float("nan")}, {"x": float("inf")}, {"x": {"p": -0.1}}])
def test_wrong_weights_are_refused(wrong):
    with pytest.raises(ParameterError, match="a weight of at least 0"):
        tb.ColumnWeights(wrong)


def test_wrong_kinds_are_refused():
    with pytest.raises(ParameterError, match="ColumnWeights, or None"):
        fitted().column_weights = {"real": 1.0}
    with pytest.raises(ParameterError, match="finite offsets"):
        tb.ColumnWeights({}, {"p": float("nan")})


def test_weights_of_what_there_is_not_are_refused():
    for wrong in (
        tb.ColumnWeights({"nosuch": 0.5}),
        tb.ColumnWeights({"real": {"class 9": 1.0}}),
        tb.ColumnWeights({}, {"class 9": 1.0}),
    ):
        with pytest.raises(ParameterError, match="of the model"):
            fitted().column_weights = wrong
    for wrong in ("much", None, True):
        with pytest.raises(ParameterError, match="a weight of at least 0"):
            tb.ColumnWeights({"real": wrong})
