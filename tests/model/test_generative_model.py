"""The probabilities of the generative model obey Bayes' rule; scores add up to what `explain` says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import tallybayes as tb
from tables import FAMILIES, LABEL, mixed_frame, row, rows
from tallybayes.errors import UnsupportedError

CLASSES = ["class 0", "class 1", "class 2"]
LIKELIHOODS = FAMILIES | {"note": "text:counts,k=0.5"}
TABLE = mixed_frame(60)
weight = st.floats(0, 3)
by_class = st.fixed_dictionaries(dict.fromkeys(CLASSES, weight))
offsets = st.fixed_dictionaries({label: st.floats(-2, 2) for label in CLASSES})
column_weights = st.builds(
    tb.ColumnWeights, st.dictionaries(st.sampled_from(sorted(FAMILIES)), st.one_of(weight, by_class)), offsets
)
class_prior = st.one_of(
    st.sampled_from(["empirical", "uniform"]),
    st.sampled_from([(0.2, 0.3, 0.5), (0.0, 0.5, 0.5), (1e-12, 0.5, 0.5 - 1e-12)]).map(
        lambda shares: dict(zip(CLASSES, shares, strict=True))
    ),
)
class_weight = st.one_of(st.none(), st.just("balanced"), st.fixed_dictionaries({CLASSES[0]: st.floats(0.1, 10)}))
smoothing = st.sampled_from(["auto", 1.0, 0.01])


def cells(table):
    return [{name: value for name, value in one.items() if name != LABEL} for one in table]


def close(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def assert_bayes_rule(model, probe):
    prior, likelihood = model.log_prior(), model.log_likelihood(probe)
    joint, marginal = model.log_joint(probe), model.log_marginal(probe)
    close(joint, prior + likelihood)
    close(marginal, logsumexp(joint, axis=1))
    plain = model.plain()
    close(np.exp(joint - marginal[:, None]), plain.predict_proba(probe))
    assert np.array_equal(plain.log_score(probe), joint)
    assert np.array_equal(plain.log_prior(), prior)
    assert plain.plain() == plain


def assert_explanations_add_up(model, probe):
    for one, score in zip(model.explain(probe), model.log_score(probe), strict=True):
        close(one.log_score, score)
        close(one.log_prior + sum(one.log_evidence.values()), score)
    close(np.exp(model.predict_log_proba(probe)), model.predict_proba(probe))


@settings(deadline=None)
@given(rows, st.lists(row, min_size=1, max_size=4))
def test_bayes_rule_of_any_table(table, probe):
    model = tb.fit({name: [] for name in LIKELIHOODS} | {LABEL: []}, label=LABEL, families=LIKELIHOODS)
    if table:
        model.learn(table)
    if model.classes:
        assert_bayes_rule(model, cells(table + probe))
        assert_explanations_add_up(model, cells(table + probe))


@settings(deadline=None, max_examples=30)
@given(column_weights, class_prior, class_weight, smoothing, st.lists(row, max_size=4))
def test_bayes_rule_whatever_the_settings(weights, prior, class_weight, smoothing, probe):
    model = tb.fit(
        TABLE, label=LABEL, families=LIKELIHOODS, smoothing=smoothing, column_weights=None, class_prior=prior
    )
    before = model.log_prior(), model.log_joint(TABLE)
    model = model.with_settings(class_weight=class_weight, column_weights=weights)
    model.calibration, model.decision = tb.Calibration("temperature", 2.0), tb.Decision(abstain=0.9)
    some = [{name: values[i] for name, values in TABLE.items() if name != LABEL} for i in range(0, 60, 13)]
    assert_bayes_rule(model, some + cells(probe))
    assert_explanations_add_up(model, some + cells(probe))
    assert np.array_equal(before[0], model.log_prior())
    assert np.array_equal(before[1], model.log_joint(TABLE))
    if isinstance(prior, dict):
        np.testing.assert_allclose(np.exp(model.log_prior()), list(prior.values()), rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_bayes_rule_with_fitted_weights_missing_values_and_corrections(seed):
    table = mixed_frame(400, seed=seed)
    for options in ({}, {"missing_as_value": True}, {"dependence": "one"}, {"class_weight": "balanced"}):
        model = tb.fit(table, label=LABEL, **options)
        some = {name: values[:20] for name, values in table.items() if name != LABEL}
        assert_bayes_rule(model, some)
        assert_explanations_add_up(model, some)


def test_one_row_has_the_bits_of_a_batch():
    model = tb.fit(TABLE, label=LABEL, families=LIKELIHOODS)
    whole = [model.log_likelihood(TABLE), model.log_joint(TABLE), model.log_marginal(TABLE)]
    one = {name: values[7] for name, values in TABLE.items() if name != LABEL}
    alone = [model.log_likelihood([one]), model.log_joint([one]), model.log_marginal([one])]
    assert [part[7].tolist() for part in whole] == [part[0].tolist() for part in alone]


def test_derived_columns_that_correct_others_are_not_part_of_the_generative_model():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 3000))
    table = {"a": a.astype(str), "b": b.astype(str), "y": np.where(rng.random(3000) < 0.9, a ^ b, 1 - (a ^ b))}
    model = tb.tune(table, label="y").model
    assert model.schema.derived
    plain = model.plain()
    assert not plain.schema.derived
    assert plain.settings.column_weights is None
    assert_bayes_rule(model, {"a": ["0", "1", None], "b": ["0", "0", "1"]})
    before = model.copy()
    plain.learn({"a": ["0"], "b": ["1"], "y": [1]})  # the tallies are shared until one of the two changes
    assert model == before
    assert not plain.same_counts(before.plain())


def test_samples_are_drawn_from_the_generative_model():
    model = tb.fit({"x": ["a", "b"] * 50, "y": ["p"] * 80 + ["q"] * 20}, label="y", class_weight={"q": 1000})
    drawn = model.sample(2000, seed=0).column("y").to_pylist()
    assert drawn.count("q") / 2000 == pytest.approx(np.exp(model.log_prior()[1]), abs=0.03)
    assert model.predict({"x": "a"}).tolist() == ["q"]


@pytest.mark.parametrize("verb", ["log_likelihood", "log_joint", "log_marginal", "objective"])
def test_scores_that_are_no_likelihoods_are_refused(verb):
    table = {"text": ["cash now", "lunch now"] * 5, "y": ["spam", "ham"] * 5}
    model = tb.fit(table, label="y", families={"text": "text:variant=complement"})
    with pytest.raises(UnsupportedError, match=f"{verb} needs likelihoods; .* are not likelihoods"):
        getattr(model, verb)(table)
    assert np.isfinite(model.log_score(table)).all()
    assert np.isfinite(model.predict_log_proba(table)).all()
    assert np.exp(model.log_prior()).tolist() == pytest.approx([0.5, 0.5])


def test_a_model_of_given_probabilities():
    tests = {"ill": {"+": 0.9, "-": 0.1}, "well": {"+": 0.2, "-": 0.8}}
    model = tb.from_probabilities({"ill": 0.1, "well": 0.9}, {"test": tests})
    assert_bayes_rule(model, {"test": ["+", "-", None]})
    assert np.exp(model.log_likelihood({"test": "+"}))[0].tolist() == pytest.approx([0.9, 0.2])


def test_log_probabilities_do_not_underflow_and_can_be_uncalibrated():
    model = tb.fit({"x": [0.0, 1.0] * 50, "y": ["p", "q"] * 50}, label="y", families="gaussian", column_weights=None)
    model = model.with_settings(column_weights=tb.ColumnWeights({"x": 2000.0}))
    model.calibration = tb.Calibration("temperature", 2.0)
    one, raw = model.predict_log_proba({"x": 0.0}), model.predict_log_proba({"x": 0.0}, calibrated=False)
    assert one[0, 1] == pytest.approx(raw[0, 1] / 2)
    assert raw[0, 1] < -1000
    assert model.predict_proba({"x": 0.0}, calibrated=False)[0, 1] == 0
