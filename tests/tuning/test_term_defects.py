"""Tuned models in unusual circumstances: gaps, repeated rows, many categories, merging, equal names, zero weights."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import tallybayes as tb
from tallybayes.errors import DataError, ParameterError
from tallybayes.state.column_weights import ValueCorrection


def exclusive_or(n, seed=0, noise=0.0, **more):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (2, n))
    y = np.where(rng.random(n) < noise, 1 - (a ^ b), a ^ b)
    return pd.DataFrame({"a": a.astype(str), "b": b.astype(str), "y": y} | more)


def test_missing_values_as_evidence_do_not_count_derived_columns():
    data = exclusive_or(600)
    gone = np.random.default_rng(1).random(600) < 0.1
    data["a"] = data["a"].astype(object).where(~gone, None)
    data.loc[gone, "y"] = 2  # a is missing in this class only
    model = tb.tune(data, label="y").model.with_settings(missing_as_value=True)
    assert model.predict_proba({"b": "0"})[0, 2] > 0.9
    one = model.explain([{"b": "0"}])[0]
    np.testing.assert_allclose(one.log_score, model.log_score([{"b": "0"}])[0], atol=1e-9)


@pytest.mark.parametrize("labels", ["yn", "pq", "ab", "uv"])
def test_repeated_rows_are_in_both_halves_whatever_the_labels_are_called(labels):
    data = exclusive_or(1500, seed=2, noise=0.42)
    data["y"] = np.array(list(labels))[data["y"]]
    tuned = tb.tune(data, label="y")
    assert tuned.estimate.log_loss == pytest.approx(0.683, abs=0.02)
    assert len(tuned.model.schema.derived) > 0


def test_columns_with_many_categories_interact_though_rows_repeat():
    rng = np.random.default_rng(0)
    k, b = rng.integers(0, 14, 3000), rng.integers(0, 2, 3000)
    data = pd.DataFrame({"k": [f"k{i:02}" for i in k], "b": np.where(b, "t", "f"), "y": (k % 2) ^ b})
    assert tb.tune(data, label="y").estimate.accuracy > 0.95


def test_a_model_with_derived_columns_does_not_merge_with_one_without():
    data = exclusive_or(800)
    tuned, plain = tb.tune(data[:400], label="y").model, tb.fit(data[400:], label="y")
    for one, other in ((tuned, plain), (plain, tuned)):
        with pytest.raises(DataError, match="the same derived columns in both models"):
            one.merge(other)


def test_pairs_of_columns_whose_names_join_to_the_same_name():
    rng = np.random.default_rng(0)
    p, q, r, s = rng.integers(0, 2, (4, 400)).astype(str)
    y = (p != q) * 2 + (r != s)
    tuned = tb.tune(pd.DataFrame({"a": p, "b x c": q, "a x b": r, "c": s, "y": y}), label="y", what="interactions")
    names = [name for name in tuned.model.schema.derived if name == "a x b x c"]
    assert len(names) == 1  # the other pair has no name of its own


def test_the_estimator_does_not_tune_a_class_of_weight_zero():
    X, y = load_iris(return_X_y=True)
    fitted = tb.NaiveBayesClassifier(tune=True).fit(X, y > 0, sample_weight=np.where(y > 0, 0.0, 1.0))
    assert len(fitted.model_.classes) == 1


def test_corrections_of_a_family_without_tables_are_refused():
    model = tb.fit({"x": [1.0, 2.0, 3.0, 4.0], "y": [0, 0, 1, 1]}, label="y", numeric="gaussian", column_weights=None)
    with pytest.raises(ParameterError, match="corrections for columns whose family has tables"):
        model.column_weights = tb.ColumnWeights(corrections={"x": ValueCorrection({0: 1.0, 1: -1.0}, 2.5, 1.0)})
