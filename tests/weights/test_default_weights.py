"""Column weights that `fit` finds by default: they help, they are reproducible, and they obey the laws of a model."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits

import tallybayes as tb
from tables import FAMILIES, LABEL, mixed_frame
from tallybayes.errors import ParameterError
from tallybayes.model.saved_model import dumps, loads

INFERRED = {name: family for name, family in FAMILIES.items() if name != "note"}


def table(n=300, seed=0):
    frame = mixed_frame(n, seed)
    return {name: list(frame[name]) for name in (*INFERRED, LABEL)}


def fitted(data, **options):
    return tb.fit(data, label=LABEL, families=INFERRED, **options)


def rows_of(data, order):
    return {name: [values[i] for i in order] for name, values in data.items()}


def copies(n, times, seed):
    """A label that is right three times out of four, in several equal columns."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["p", "q"], n)
    x = np.where(rng.random(n) < 0.75, y, np.where(y == "p", "q", "p"))
    return {f"x{i}": x for i in range(times)} | {"y": y}


def test_copies_of_a_column_do_not_make_it_certain():
    train, new = copies(1000, 10, 0), copies(1000, 10, 1)
    model, plain = tb.fit(train, label="y"), tb.fit(train, label="y", column_weights=None)
    assert model.predict_proba({f"x{i}": "p" for i in range(10)})[0, 0] == pytest.approx(0.75, abs=0.05)
    assert tb.evaluate(model, new).log_loss < 0.6 < tb.evaluate(plain, new).log_loss


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_correlated_columns_are_predicted_better_than_by_plain_naive_bayes(load):
    X, y = load(return_X_y=True)
    train, test = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    default, plain = (
        tb.evaluate(tb.fit(X[train], y[train], **o), X[test], y[test]) for o in ({}, {"column_weights": None})
    )
    assert default.log_loss < plain.log_loss / 2
    assert default.accuracy > plain.accuracy


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 1000))
def test_the_order_of_the_rows_does_not_matter(seed, order):
    data = table(120, seed)
    shuffled = rows_of(data, np.random.default_rng(order).permutation(120))
    one, other = fitted(data), fitted(shuffled)
    assert one.column_weights == other.column_weights
    assert one.predict_proba(data).tobytes() == other.predict_proba(data).tobytes()


def test_the_order_does_not_matter_if_only_a_sample_is_used():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=8000), "b": rng.integers(0, 5, 8000).astype(str)})
    frame["y"] = np.where(frame.a + rng.normal(size=8000) > 0, "p", "q")
    model = tb.fit(frame, label="y")
    assert model.column_weights.fitted_on == 3000
    assert tb.fit(frame.sample(frac=1, random_state=1), label="y").column_weights == model.column_weights


def test_batches_do_not_matter():
    data = pa.table(table(400))
    whole = fitted(data)
    for size in (60, 399):
        assert fitted(iter(data.to_batches(max_chunksize=size))).column_weights == whole.column_weights


def test_the_order_of_the_columns_does_not_matter():
    data = table(200)
    assert fitted(dict(reversed(data.items()))).column_weights == fitted(data).column_weights


def test_integer_weights_equal_repeated_rows_and_weight_zero_equals_absence():
    data, times = table(120), np.random.default_rng(0).integers(0, 4, 120)
    repeated = rows_of(data, np.repeat(np.arange(120), times))
    assert fitted(data, sample_weight=times.astype(float)).column_weights == fitted(repeated).column_weights


def test_rows_that_occur_many_times_are_spread_over_the_folds():
    """A row is not scored as if none of its copies had been seen: the frequencies of two columns are learned."""
    rng = np.random.default_rng(0)
    y = rng.choice(["p", "q"], 20_000)
    x = np.where(rng.random(20_000) < 0.9, y, np.where(y == "p", "q", "p"))
    model = tb.fit({"x": x, "y": y}, label="y")
    assert model.column_weights.fitted_on == 4  # different rows
    assert model.predict_proba({"x": "p"})[0, 0] == pytest.approx(0.9, abs=0.01)


def test_a_row_scores_alone_as_in_a_batch():
    data = table()
    model = fitted(data)
    together = model.predict_proba(data)
    for i in (0, 7, 150):
        alone = {name: values[i] for name, values in data.items() if name != LABEL}
        assert model.predict_proba([alone]).tobytes() == together[i : i + 1].tobytes()
        assert list(model.predict_proba_one(alone).values()) == together[i].tolist()


def test_explanations_add_up_to_the_score():
    data = table()
    model = fitted(data)
    why = model.explain(rows_of(data, range(5)))
    joint = model.log_score(rows_of(data, range(5)))
    for one, scores in zip(why, joint, strict=True):
        np.testing.assert_allclose(one.log_prior + sum(one.log_evidence.values()), scores, rtol=1e-9)


def test_weights_are_saved_and_survive_learning_and_forgetting():
    data = table()
    model = fitted(data)
    assert loads(dumps(model)).column_weights == model.column_weights
    assert dumps(loads(dumps(model))) == dumps(model)
    weights, before = model.column_weights, model.predict_proba(data)
    few, many = rows_of(data, range(20)), rows_of(data, range(100))
    model.learn(few)
    assert (model.column_weights, model.stale) == (weights, [])
    model.forget(few)
    model.learn(many)
    assert (model.column_weights, model.stale) == (weights, ["column_weights"])
    model.forget(many)
    assert model.predict_proba(data).tobytes() == before.tobytes()


def test_nothing_of_the_rows_is_kept_in_the_file():
    data = table(100)
    secret = {**data, "kind": ["xyzzy-4711", *data["kind"][1:]]}
    model = fitted(secret)
    model.forget(rows_of(secret, [0]))
    assert b"xyzzy-4711" not in dumps(model)


@pytest.mark.parametrize("options", [{"n": 40}, {"one": True}])
def test_few_rows_or_one_class_have_no_weights(options):
    data = table(options.get("n", 100))
    if "one" in options:
        data[LABEL] = ["p"] * len(data[LABEL])
    assert fitted(data).column_weights == tb.ColumnWeights()


def test_a_given_class_prior_is_kept():
    data = table()
    prior = dict(zip(sorted(set(data[LABEL]) - {None}), (0.2, 0.5, 0.3), strict=True))
    model = fitted(data, class_prior=prior)
    np.testing.assert_allclose(np.exp(model.log_prior()), list(prior.values()))
    assert model.column_weights.weights.keys() == INFERRED.keys()


def test_weights_can_be_given_or_switched_off():
    data = table(80)
    assert fitted(data, column_weights=None).column_weights == tb.ColumnWeights()
    assert fitted(data, column_weights={"kind": 0.5}).column_weights.weights == {"kind": 0.5}
    given_weights = tb.ColumnWeights({"kind": {"class 0": 2.0}})
    assert fitted(data, column_weights=given_weights).column_weights == given_weights


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"kin": 1.0}, "weights for columns of the model, got 'kin'\nhint: did you mean 'kind'"),
        ({"kind": -1.0}, "column 'kind': expected a weight of at least 0, got -1.0"),
        ({"kind": float("nan")}, "a weight of at least 0, got nan"),
        ({"kind": {"nobody": 1.0}}, "labels of the model, got 'nobody'"),
        ("always", "weights to be 'auto', None, or a dict of weights by column, got 'always'"),
        (0.5, "weights to be 'auto', None, or a dict"),
    ],
)
def test_wrong_weights_are_errors(weights, words):
    with pytest.raises(ParameterError, match=words):
        fitted(table(80), column_weights=weights)


def test_the_estimator_fits_weights_and_partial_fit_does_not():
    X, y = load_breast_cancer(return_X_y=True)
    assert tb.NaiveBayesClassifier().fit(X, y).model_.column_weights.fitted_on == len(y)
    assert tb.NaiveBayesClassifier().partial_fit(X, y).model_.column_weights == tb.ColumnWeights()
    assert tb.NaiveBayesClassifier(column_weights=None).fit(X, y).model_.column_weights == tb.ColumnWeights()


def test_cross_validation_fits_weights_of_its_own_in_each_fold():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    default, plain = tb.cross_validate(X, y, folds=5), tb.cross_validate(X, y, folds=5, column_weights=None)
    assert default.log_loss < plain.log_loss / 2


# Unusual input


@pytest.mark.filterwarnings("ignore:column .* possible leak:tallybayes.errors.DataWarning")
def test_polars_frames_with_lists_and_structures():
    y = np.arange(200) % 2
    tags = [["a", "b"] if v else ["b", "c"] for v in y]
    frame = pl.DataFrame({"tags": tags, "odd": [{"s": "x"}] * 200, "y": y})
    model = tb.fit(frame, label="y")
    assert model.column_weights.fitted_on == 2  # different rows
    assert tb.evaluate(model, frame, leave_one_out=True).accuracy == 1


def test_batches_in_which_a_sparse_column_is_absent():
    rng = np.random.default_rng(0)
    matrix, y = sp.random(400, 20, 0.2, format="csr", random_state=0), rng.integers(0, 2, 400)
    matrix.data[:] = 1

    def batches():
        yield {"x": matrix[:200], "y": y[:200]}
        yield {"z": rng.normal(size=200), "y": y[200:]}

    different = len(np.unique(np.column_stack([matrix[:200].toarray(), y[:200]]), axis=0)) + 200
    weights = tb.fit(batches(), label="y", families={"x": "multinomial"}).column_weights
    assert weights.weights.keys() == {"x", "z"}
    assert weights.fitted_on == different


def test_fractional_weights_are_subtracted_exactly():
    data, rng = table(200), np.random.default_rng(0)
    weight = rng.choice([0.1, 0.3, 1.0, 2.0, 1 / 3], 200)
    twice = {name: [*values, *values] for name, values in data.items()}
    weights = fitted(twice, sample_weight=[*weight, *weight]).column_weights
    assert weights.fitted_on == 200
    backwards = rows_of(twice, range(399, -1, -1))
    assert fitted(backwards, sample_weight=[*weight[::-1], *weight[::-1]]).column_weights == weights
    balanced = tb.NaiveBayesClassifier(class_weight="balanced").fit(*small()).model_
    assert balanced.column_weights.fitted_on == len(np.unique(np.column_stack(small()), axis=0))


def small():
    X, y = load_breast_cancer(return_X_y=True)
    return np.round(X[:, :3] / X[:, :3].max(axis=0), 1), y  # many equal rows


def test_classes_and_columns_that_were_forgotten_are_not_named():
    data = table(200)
    secret = {name: values[:3] for name, values in data.items()} | {LABEL: ["secret class"] * 3}
    model = fitted({name: [*data[name], *secret[name]] for name in data})
    model.forget(secret)
    assert b"secret class" not in dumps(model)


def test_a_new_class_has_the_mean_weight_of_the_others():
    def rows(n, seed):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 3, n)
        x = rng.normal(size=n) + 1.2 * y
        return pd.DataFrame({f"x{j}": x + rng.normal(size=n) * 0.05 for j in range(8)} | {"y": y})

    train, test = rows(3000, 1), rows(3000, 2)
    model = tb.fit(train[train.y < 2], label="y")
    model.learn(train[train.y == 2])
    assert model.stale == ["column_weights"]
    assert tb.evaluate(model, test).log_loss < 0.8


def test_another_prior_is_the_prior_and_another_smoothing_makes_weights_stale():
    data = table()
    model = fitted(data)
    assert np.ptp(model.with_settings(class_prior="uniform").log_prior()) == 0
    assert model.with_settings(class_prior="uniform").stale == []
    assert model.with_settings(smoothing=3.0).stale == ["column_weights"]


def test_given_weights_of_a_class_that_a_fold_lacks():
    data = table(100)
    data[LABEL][0] = "rare"
    weights = {"kind": {"rare": 0.5}}
    with pytest.warns(tb.DataWarning, match="the class 'rare' has a single row"):
        assert tb.cross_validate(data, LABEL, families=INFERRED, column_weights=weights).n_rows == 100


@pytest.mark.slow
def test_many_columns_and_classes_take_bounded_time_and_memory():
    rng = np.random.default_rng(0)
    wide = tb.fit(rng.normal(size=(60, 5000)), rng.integers(0, 2, 60), numeric="gaussian")
    assert len(set(map(str, wide.column_weights.weights.values()))) == 1  # one temperature
    many = pd.DataFrame({f"c{i}": rng.integers(0, 5, 4000).astype(str) for i in range(30)})
    assert tb.fit(many, rng.integers(0, 800, 4000)).column_weights.weights.keys() == set(many)
