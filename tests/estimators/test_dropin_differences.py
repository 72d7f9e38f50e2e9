"""The documented differences of the drop-ins from scikit-learn, and their behaviour after errors."""

import copy
import itertools
import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from dropins import NAMES, pair, table
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from tallybayes import RuledOutWarning
from tallybayes import dropin as ours

# Defects of scikit-learn


@pytest.mark.parametrize("name", ["BernoulliNB", "CategoricalNB", "ComplementNB", "MultinomialNB"])
@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
def test_a_label_outside_the_classes_is_an_error_and_changes_nothing(name, classes):
    one = getattr(ours, name)().partial_fit([[1, 0]], [0], classes=classes)
    before = one.class_count_.tolist()
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        one.partial_fit([[1, 0], [0, 1]], [0, 99])
    assert one.class_count_.tolist() == before
    assert one.classes_.tolist() == classes


def test_partial_fit_equals_fit():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [3.5, 5.0], [7.0, 5.0]])
    y = np.array([0, 0, 1, 1])
    whole = ours.GaussianNB(var_smoothing=0.1).fit(X, y)
    parts = ours.GaussianNB(var_smoothing=0.1).partial_fit(X[2:], y[2:], classes=[0, 1]).partial_fit(X[:2], y[:2])
    rows = ours.GaussianNB(var_smoothing=0.1)
    for i in (3, 0, 2, 1):
        rows.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    for one in (parts, rows):
        assert np.array_equal(one.var_, whole.var_)
        assert np.array_equal(one.epsilon_, whole.epsilon_)
        assert np.array_equal(one.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("name", NAMES)
@given(cuts=st.lists(st.integers(0, 200), max_size=4), seed=st.integers(0, 99))
def test_any_batches_give_the_same_bits(name, cuts, seed):
    X, y = table(name, np.random.default_rng(seed), kind="dense" if name == "CategoricalNB" else "fractions")
    whole = getattr(ours, name)().fit(X, y)
    parts = getattr(ours, name)()
    ends = [0, *sorted(cuts), len(y)]
    for start, stop in itertools.pairwise(ends):
        if start < stop:
            parts.partial_fit(X[start:stop], y[start:stop], classes=["a", "b", "c"])
    assert np.array_equal(parts.predict_joint_log_proba(X), whole.predict_joint_log_proba(X))


def test_a_feature_in_large_units_does_not_dominate_the_others():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = np.column_stack([y + rng.normal(size=400) * 0.01, rng.normal(size=400) * 1e6])
    mine, other = (one.fit(X, y).predict_proba(X)[np.arange(400), y] for one in pair("GaussianNB"))
    assert np.median(other) < 0.6
    assert np.median(mine) > 0.99


def test_unseen_and_huge_categories():
    one = ours.CategoricalNB().fit([[0, 1], [1, 2]], ["a", "b"])
    assert np.isfinite(one.predict_log_proba([[7, 1]])).all()
    assert np.isclose(np.exp(one.predict_joint_log_proba([[7, 1]]))[0, 0], 0.5 * 1 / 4 * 2 / 4)
    one.partial_fit([[0, 0]], ["a"])
    assert one.n_categories_.tolist() == [2, 3]
    tracemalloc.start()
    one.partial_fit([[2**40, 0]], ["b"])
    assert one.predict([[2**40, 2]]).tolist() == ["b"]
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_zero_or_tiny_alpha_gives_no_nan():
    X, y = np.array([[3, 0], [0, 1], [1, 1]]), np.array([0, 1, 1])
    for name in ("BernoulliNB", "ComplementNB", "MultinomialNB", "CategoricalNB"):
        for data in (X, sp.csr_matrix(X))[: 1 if name == "CategoricalNB" else 2]:
            for alpha in (0.0, 5e-324, 1e-300):
                one = getattr(ours, name)(alpha=alpha).fit(data, y)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuledOutWarning)
                    assert not np.isnan(one.predict_proba(data)).any()
                    assert not np.isnan(one.predict_proba([[5, 5], [0, 0]])).any()


def test_large_counts_neither_overflow_nor_lose_increments():
    big = np.array([[2**62]])
    assert ours.MultinomialNB().fit(np.concatenate([big, big]), [0, 0]).feature_count_.tolist() == [[2.0**63]]
    assert ours.MultinomialNB().fit(sp.csr_matrix(np.concatenate([big, big])), [0, 0]).feature_count_[0, 0] == 2.0**63
    one = ours.MultinomialNB().fit([[2.0**53]], [0])
    one.partial_fit([[1.0]], [0]).partial_fit([[1.0]], [0])
    assert one.feature_count_[0, 0] == 2.0**53 + 2


def test_many_classes_need_little_memory():
    rng = np.random.default_rng(0)
    X, y = sp.random_array((20_000, 50), density=0.1, format="csr", rng=rng), rng.integers(0, 2000, 20_000)
    X.data[:] = 1
    tracemalloc.start()
    ours.MultinomialNB().fit(X, y)
    assert tracemalloc.get_traced_memory()[1] < 64_000_000
    tracemalloc.stop()


def test_extreme_numbers():
    constant = ours.GaussianNB().fit([[5.0], [5.0], [5.0]], [0, 0, 1])
    assert np.allclose(constant.predict_proba([[5.0], [9.0]]), [[2 / 3, 1 / 3]] * 2)
    for scale in (1e200, 1e-310):
        X = np.array([[1.0], [2.0], [8.0], [9.0]]) * scale
        assert ours.GaussianNB().fit(X, [0, 0, 1, 1]).predict(X).tolist() == [0, 0, 1, 1]
    far = ours.GaussianNB().fit([[1.0], [2.0], [8.0], [10.0]], [0, 0, 1, 1])
    assert far.predict([[1e200], [-1e200]]).tolist() == [1, 1]  # the wider one
    assert not np.isnan(far.predict_proba([[1e200]])).any()
    offset = np.array([1e15, 1e15 + 0.25, 1e15 + 0.125, 1e15 + 0.375])
    assert ours.GaussianNB(var_smoothing=0).fit(offset[:, None], [0] * 4).var_[0, 0] == 0.01953125


def test_float32_is_computed_in_double():
    X = (np.random.default_rng(0).normal(size=(1000, 3)) + 1e4).astype(np.float32)
    y = np.arange(1000) % 2
    one = ours.GaussianNB(var_smoothing=0).fit(X, y)
    assert one.var_.dtype == one.predict_proba(X).dtype == np.float32
    np.testing.assert_allclose(one.var_[0], X[y == 0].astype(np.float64).var(axis=0), rtol=1e-6)


# Copies, pickles and feature names


@pytest.mark.parametrize("name", NAMES)
def test_copies_and_pickles_are_equal_and_independent(name):
    X, y = table(name, np.random.default_rng(3))
    one = getattr(ours, name)().fit(X[:100], y[:100])
    expected = one.predict_proba(X)
    for other in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        other.partial_fit(X, y)
        assert np.array_equal(one.predict_proba(X), expected)
        assert other.class_count_.sum() == 300
    assert not hasattr(clone(one), "classes_")
    with pytest.raises(AttributeError, match="derived from the sums"):
        one.class_count_ = 1


def test_names_of_features_are_checked():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0]})
    one = ours.GaussianNB().fit(frame, [0, 1, 1])
    assert one.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        one.predict(frame[["b", "a"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        one.predict(frame.to_numpy())


# Errors change nothing, and results are not NaN


@pytest.mark.parametrize("name", NAMES)
def test_a_failing_fit_changes_nothing(name):
    X, y = np.array([[0.0, 1], [1, 0], [5, 6], [6, 5]]), list("aabb")
    one = getattr(ours, name)().fit(X, y)
    before, state = one.predict_proba(X), set(vars(one))
    wrong = [
        lambda: one.fit(np.where(X == 0, np.nan, X), list("xyzz")),
        lambda: one.fit(X[:, :1], list("xyzz"), sample_weight=[1, 2]),
        lambda: one.fit(X, list("abc")),
        lambda: one.fit(X, ["a", None, "b", "b"]),
        lambda: one.partial_fit(X, list("aabz")),
        lambda: one.partial_fit(X, list("aabb"), classes=["a", "b", "b"]),
    ]
    for work in wrong:
        with pytest.raises(ValueError, match=r"."):
            work()
        assert set(vars(one)) == state
        assert one.classes_.tolist() == ["a", "b"]
        assert np.array_equal(one.predict_proba(X), before)


def test_a_count_overflow_changes_nothing():
    one = ours.CategoricalNB()
    with pytest.raises(OverflowError):
        one.partial_fit([[0], [0]], [0, 1], classes=[0, 1], sample_weight=[2.0**62, 2.0**64])
    assert not hasattr(one, "classes_")


def test_bernoulli_without_binarize_allows_zero_probabilities():
    X = np.array([[0, 1], [0, 1], [1, 0], [1, 0]])
    for data in (X, sp.csr_matrix(X)):
        one = ours.BernoulliNB(alpha=0, binarize=None).fit(data, [0, 0, 1, 1])
        assert one.predict_proba(data).tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    counts = ours.BernoulliNB(binarize=None).fit([[3, 0], [0, 2]], [0, 1])
    assert np.isfinite(counts.predict_joint_log_proba([[3, 0], [0, 2]])).all()


def test_invalid_priors_are_refused():
    for prior in ([np.nan, 0.5], [-1, 1], [np.inf, 0]):
        with pytest.raises(ValueError, match="Priors must be non-negative"):
            ours.MultinomialNB(class_prior=prior).fit([[3, 1], [2, 0]], [0, 1])


def test_sums_beyond_the_range_of_doubles():
    for name in ("MultinomialNB", "ComplementNB"):
        one = getattr(ours, name)().fit([[1e308, 1e308], [1e308, 0]] * 2, [0, 1, 0, 1])
        assert not np.isnan(one.predict_log_proba([[1, 0], [0, 1]])).any()
        assert one.predict([[0, 1]]).tolist() == [0]
    shares = np.exp(ours.MultinomialNB().fit([[1e308, 1e308], [1e308, 0]] * 2, [0, 1, 0, 1]).feature_log_prob_[0])
    np.testing.assert_allclose(shares, 0.5)


def test_integers_beyond_the_precision_of_doubles():
    X = np.array([[2**53 + 1], [1]])
    assert [int(ours.MultinomialNB().fit(f(X), [0, 0]).feature_count_[0, 0]) for f in (np.asarray, sp.csr_matrix)] == [
        2**53 + 2
    ] * 2


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "u4", "u8", "?"])
def test_matrices_of_every_dtype(dtype):
    X = np.array([[1, 0], [0, 1], [1, 1]], dtype)
    for name in NAMES:
        kinds = [X] if name in ("GaussianNB", "CategoricalNB") else [X, sp.csr_matrix(X)]
        for data in kinds:
            mine, other = (one.fit(data, [0, 1, 1]) for one in pair(name))
            np.testing.assert_allclose(mine.predict_proba(data), other.predict_proba(data), rtol=1e-3)


def test_huge_category_codes_have_no_fitted_tables():
    one = ours.CategoricalNB().fit([[0], [2**40]], [0, 1])
    assert not hasattr(one, "feature_log_prob_")
    assert ours.CategoricalNB().fit([[0], [2**63 - 1]], [0, 1]).n_categories_.tolist() == [2**63 - 1]


def test_fitted_attributes_are_read_only_and_text_labels_stay_text():
    X, y = np.array([[1.0, 0], [0, 1]]), np.array(["x", "y"], object)
    one, other = (model.fit(X, y) for model in pair("MultinomialNB"))
    assert one.classes_.dtype == other.classes_.dtype
    with pytest.raises(ValueError, match="read-only"):
        one.feature_log_prob_[0] = 1
    frame = pd.DataFrame(X.astype(np.float32), columns=["a", "b"])
    gaussian = ours.GaussianNB().fit(frame, y)
    assert gaussian.predict_proba(frame).dtype == np.float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="Input X contains NaN"):
            gaussian.fit(frame.replace(1.0, np.nan), y)
