"""NaiveBayesClassifier: scikit-learn's checks, and every form of input."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn
from mixed_frame import mixed
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import tallybayes as tb
from tallybayes import NaiveBayesClassifier


@parametrize_with_checks([NaiveBayesClassifier(), NaiveBayesClassifier(numeric="gaussian", smoothing=1.0)])
def test_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


FRAMES = {
    "pandas": lambda frame: frame,
    "pandas with Arrow types": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "pandas with nullable types": lambda frame: frame.convert_dtypes(dtype_backend="numpy_nullable"),
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "pyarrow batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_library_give_the_same_model(kind):
    frame, y = mixed()
    expected = NaiveBayesClassifier().fit(frame, y)
    assert expected.score(frame, y) > 0.8
    data = FRAMES[kind](frame)
    one = NaiveBayesClassifier().fit(data, y)
    assert one.model_.same_counts(expected.model_)
    assert one.n_features_in_ == 6
    assert list(one.feature_names_in_) == list(frame.columns)
    assert np.array_equal(one.predict_proba(data), expected.predict_proba(frame))
    assert np.array_equal(one.predict_proba(data[:1]), expected.predict_proba(frame)[:1])


@pytest.mark.parametrize(
    "as_y", [list, np.array, pd.Series, lambda y: pd.Series(y, dtype="category"), pl.Series, pa.array]
)
def test_labels_of_every_type(as_y):
    frame, y = mixed()
    one = NaiveBayesClassifier().fit(frame, as_y(list(y)))
    assert one.classes_.tolist() == ["cat", "dog", "rabbit"]
    assert (one.predict(frame) == NaiveBayesClassifier().fit(frame, y).predict(frame)).all()


def test_the_estimator_fits_the_model_that_fit_returns():
    frame, y = mixed()
    options = {"families": {"kilos": "gaussian"}, "ignore": ["legs"], "smoothing": 2.0, "class_prior": "uniform"}
    one = NaiveBayesClassifier(**options).fit(frame, y)
    model = tb.fit(frame, y, **options)
    assert one.model_ == model
    assert one.model_.schema == model.schema
    assert np.array_equal(one.predict_proba(frame), model.predict_proba(frame))
    assert np.array_equal(one.predict_joint_log_proba(frame), model.log_joint(frame))
    assert np.array_equal(one.predict_log_proba(frame), model.predict_log_proba(frame))
    assert np.array_equal(one.score_samples(frame), model.log_marginal(frame))
    np.testing.assert_allclose(np.exp(one.predict_log_proba(frame)), model.predict_proba(frame), atol=1e-12)
    assert one.class_count_.tolist() == [model.class_counts[label] for label in one.classes_]


def test_numpy_and_sparse_matrices():
    X, y = load_iris(return_X_y=True)
    for data in (X, X.astype(np.float32), np.asfortranarray(X), X.tolist()):
        assert NaiveBayesClassifier().fit(data, y).score(data, y) > 0.93
    objects = np.array([["a", 1.5], ["b", None], ["a", 2.5], ["b", 7.0]], object)
    assert NaiveBayesClassifier().fit(objects, [0, 1, 0, 1]).predict([["a", 1.0], ["b", 7.5]]).tolist() == [0, 1]
    words = CountVectorizer().fit_transform(["cash now", "win cash", "lunch at noon", "lunch tomorrow"])
    for kind in (sp.csr_matrix, sp.csr_array, sp.csc_array, sp.coo_array):
        one = NaiveBayesClassifier().fit(kind(words), ["spam", "spam", "ham", "ham"])
        assert one.predict(kind(words)).tolist() == ["spam", "spam", "ham", "ham"]
        assert one.predict(words.toarray()).tolist() == ["spam", "spam", "ham", "ham"]


def test_frames_match_by_name_and_matrices_by_position():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    one = NaiveBayesClassifier(column_weights=None).fit(frame, y)
    expected = one.predict_proba(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        one.predict(frame.iloc[:, ::-1])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(one.predict_proba(frame.to_numpy()), expected)
    other = NaiveBayesClassifier(column_weights=None).fit(frame.to_numpy(), y)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        np.testing.assert_allclose(other.predict_proba(frame), expected)  # columns are added up in the order of names
    assert not hasattr(other, "feature_names_in_")
    with pytest.raises(ValueError, match="has 2 features, but NaiveBayesClassifier is expecting 4"):
        other.predict(frame.to_numpy()[:, :2])


# partial_fit


def test_partial_fit_equals_fit_and_accepts_new_labels():
    frame, y = mixed()
    order = np.argsort(y, kind="stable")  # one class after the other
    frame, y = frame.iloc[order], y[order]
    families = {
        "kilos": "gaussian",
        "legs": "poisson",
        "colour": "categorical",
        "home": "categorical",
        "tame": "bernoulli",
        "likes": "tags",
    }
    whole = NaiveBayesClassifier(families=families, column_weights=None).fit(frame, y)
    parts = NaiveBayesClassifier(families=families)
    for start in range(0, 300, 40):
        parts.partial_fit(frame[start : start + 40], y[start : start + 40])
    assert parts.classes_.tolist() == ["cat", "dog", "rabbit"]
    assert parts.model_.same_counts(whole.model_)
    assert np.array_equal(parts.predict_proba(frame), whole.predict_proba(frame))


def test_labels_outside_the_given_classes_are_refused():
    X, y = load_iris(return_X_y=True)
    one = NaiveBayesClassifier().partial_fit(X[:100], y[:100], classes=[0, 1, 2])
    assert one.classes_.tolist() == [0, 1, 2]
    assert one.predict_proba(X).shape == (150, 3)
    assert not one.predict_proba(X)[:, 2].any()
    assert np.isneginf(one.predict_joint_log_proba(X)[:, 2]).all()
    assert one.class_count_.tolist() == [50, 50, 0]
    before = one.predict_proba(X)
    with pytest.raises(ValueError, match=r"The target label\(s\) \[7\] in y do not exist"):
        one.partial_fit(X[:1], [7])
    with pytest.raises(ValueError, match="is not the same as on last call"):
        one.partial_fit(X[:1], [1], classes=[0, 1])
    assert np.array_equal(one.predict_proba(X), before)
    one.partial_fit(X[100:], y[100:])
    assert one.model_.same_counts(NaiveBayesClassifier().fit(X, y).model_)


def test_longer_new_labels_are_not_truncated():
    one = NaiveBayesClassifier().partial_fit([[1.0], [2.0]], ["a", "b"])
    one.partial_fit([[9.0]], ["a longer one"])
    assert one.classes_.tolist() == ["a", "a longer one", "b"]


def test_a_failing_partial_fit_changes_nothing():
    frame, y = mixed()
    one = NaiveBayesClassifier().partial_fit(frame, y)
    before, state = one.predict_proba(frame), one.classes_.copy()
    bad = frame.assign(kilos=np.inf)
    with pytest.raises(ValueError, match=r"column 'kilos', row 0: expected a finite number, got inf"):
        one.partial_fit(bad, np.full(300, "wolf"))
    assert one.classes_.tolist() == state.tolist()
    assert np.array_equal(one.predict_proba(frame), before)
    with pytest.raises(ValueError, match="finite"):
        NaiveBayesClassifier().partial_fit(bad, y)


# Weights


def test_an_integer_weight_equals_repeated_rows():
    frame, y = mixed()
    weight = np.random.default_rng(1).integers(0, 3, 300)
    one = NaiveBayesClassifier().fit(frame, y, sample_weight=weight)
    twice = NaiveBayesClassifier().fit(frame.loc[frame.index.repeat(weight)], y.repeat(weight))
    assert np.array_equal(one.predict_proba(frame), twice.predict_proba(frame))


def test_class_weights():
    X, y = load_iris(return_X_y=True)
    X, y = X[:120], y[:120]
    heavy = NaiveBayesClassifier(class_weight={2: 5}).fit(X, y)
    plain = NaiveBayesClassifier().fit(X, y)
    odds = [p[:, 2] / p[:, 1] for p in (one.predict_proba(X) for one in (plain, heavy))]
    np.testing.assert_allclose(odds[1], 5 * odds[0])
    assert heavy.class_count_.tolist() == plain.class_count_.tolist() == [50, 50, 20]
    alike = tb.fit(X, y, class_weight={2: 5})
    assert np.array_equal(heavy.predict_proba(X), alike.predict_proba(X))
    balanced = NaiveBayesClassifier(class_weight="balanced", column_weights=None)
    uniform = NaiveBayesClassifier(class_prior="uniform", column_weights=None).fit(X, y)
    for one in (balanced.fit(X, y), clone(balanced).partial_fit(X, y)):
        np.testing.assert_allclose(one.predict_proba(X), uniform.predict_proba(X))
    with pytest.raises(ValueError, match="class_weight"):
        NaiveBayesClassifier(class_weight={"x": 1}).fit(X, y)


# Invalid input


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"smoothing": -1}, "smoothing to be 'auto', 0, a number"),
        ({"numeric": "gausian"}, "did you mean 'gaussian'"),
        ({"families": {"kilo": "poisson"}}, "did you mean 'kilos'"),
        ({"estimate": "map"}, "estimate"),
        ({"families": {"home": "gaussian"}}, "column 'home'.*a number"),
    ],
)
def test_invalid_parameters_are_errors(options, words):
    frame, y = mixed()
    with pytest.raises(ValueError, match=words):
        NaiveBayesClassifier(**options).fit(frame, y)


def test_invalid_tables_are_errors():
    frame, y = mixed()
    with pytest.raises(ValueError, match="0 sample"):
        NaiveBayesClassifier().fit(frame[:0], y[:0])
    with pytest.raises(ValueError, match="0 feature"):
        NaiveBayesClassifier().fit(frame[[]], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        NaiveBayesClassifier().fit(frame, y[:-1])
    with pytest.raises(ValueError, match="requires y"):
        NaiveBayesClassifier().fit(frame, None)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        NaiveBayesClassifier().fit(frame, np.where(y == "cat", np.nan, 1.0))
    with pytest.raises(ValueError, match="not negative"):
        NaiveBayesClassifier().fit(sp.csr_matrix([[-1.0, 0.0], [1.0, 0.0]]), [0, 1])


def test_works_in_a_voting_classifier_with_others():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        voting = VotingClassifier([("nb", NaiveBayesClassifier()), ("lr", LogisticRegression(max_iter=1000))])
        assert voting.fit(frame, y).score(frame, y) > 0.95


def test_a_failing_fit_changes_nothing():
    frame, y = mixed()
    one = NaiveBayesClassifier().fit(frame, y)
    before = one.predict_proba(frame)
    for options, data, labels in (
        ({"smoothing": -1}, frame, np.where(y == "cat", "p", "q")),
        ({}, frame.assign(kilos=np.inf), np.where(y == "cat", "p", "q")),
        ({}, frame[["kilos"]], y[:-1]),
        ({"class_weight": "heavy"}, frame, y),
    ):
        with pytest.raises(ValueError, match=r"."):
            one.set_params(smoothing="auto", class_weight=None).set_params(**options).fit(data, labels)
        assert one.classes_.tolist() == ["cat", "dog", "rabbit"]
        assert np.array_equal(one.predict_proba(frame), before)


def test_columns_with_integer_names_match_by_name():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    frame = pd.DataFrame(np.column_stack([rng.normal(10 * y, 1), rng.normal(-10 * y, 1)]))
    one = NaiveBayesClassifier().fit(frame, y)
    assert one.score(frame[[1, 0]], y) == one.score(frame, y) == 1.0


def test_input_may_have_another_form_than_in_fit():
    X = np.abs(np.random.default_rng(0).normal(size=(40, 4)) * 2).round()
    y = (X[:, 0] > 1).astype(int)
    bags = NaiveBayesClassifier().fit(sp.csr_array(X), y)
    frame = pd.DataFrame(X).add_prefix("c")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # names where there were none
        assert np.array_equal(bags.predict_proba(frame), bags.predict_proba(X))
    for data in (X, sp.csr_array(X), frame, X.astype(np.float32)):
        for options in ({}, {"numeric": "gaussian"}, {"families": "categorical"} if not sp.issparse(data) else {}):
            one = NaiveBayesClassifier(**options).fit(data, y)
            whole = one.predict_proba(data), one.predict_joint_log_proba(data)
            for i in range(0, 40, 7):
                assert np.array_equal(one.predict_proba(data[i : i + 1]), whole[0][i : i + 1])
                assert np.array_equal(one.predict_joint_log_proba(data[i : i + 1]), whole[1][i : i + 1])


def test_other_numbers_in_a_column_fitted_on_0_and_1():
    X = np.array([[0.0, 1.5], [1.0, 2.5], [0.0, 3.5], [1.0, 0.5]])
    one = NaiveBayesClassifier().fit(X, [0, 1, 0, 1])
    assert np.isfinite(one.predict_log_proba(np.array([[3.0, 1.0]]))).all()
    with pytest.raises(ValueError, match="inf"):
        one.predict(np.array([[np.inf, 1.0]]))


def test_class_weights_of_labels_that_appear_later():
    one = NaiveBayesClassifier(class_weight={"a": 2, "b": 3}).partial_fit([[1.0], [2.0]], ["a", "c"])
    one.partial_fit([[3.0]], ["b"])
    same = NaiveBayesClassifier().partial_fit([[1.0], [2.0]], ["a", "c"]).partial_fit([[3.0]], ["b"])
    weighted = same.predict_proba([[2.5]]) * [2, 3, 1]
    np.testing.assert_allclose(one.predict_proba([[2.5]]), weighted / weighted.sum())
    with pytest.raises(ValueError, match="class_weight for classes of the data, got 'b'"):
        one.fit([[1.0], [2.0]], ["a", "c"])
    with pytest.raises(ValueError, match="Input y contains NaN"):
        one.fit([[1.0], [2.0]], ["a", None])


@pytest.mark.filterwarnings("ignore:texts that hardly repeat:tallybayes.errors.DataWarning")
def test_fitting_without_usable_rows_or_columns():
    names = pd.DataFrame({"name": [f"number-{i}" for i in range(30)]})
    with pytest.warns(UserWarning, match="no column is used:(.|\n)*identifier"):
        NaiveBayesClassifier().fit(names, np.arange(30) % 2)
    with pytest.raises(ValueError, match="2"):
        NaiveBayesClassifier().fit(np.arange(30.0), np.arange(30) % 2)
    with pytest.raises(ValueError, match="class_weight to be None, 'balanced', or a dict of weights above 0"):
        NaiveBayesClassifier(class_weight={0: -1}).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series, pa.array, lambda x: pa.chunked_array([x])])
def test_a_list_of_texts_is_a_column_of_text(make):
    texts = ["win cash now", "cash prize", "lunch at noon", "lunch with you"] * 15
    y = ["spam", "spam", "ham", "ham"] * 15
    clf = NaiveBayesClassifier().fit(make(texts), y)
    assert clf.predict(make(["cash", "lunch"])).tolist() == ["spam", "ham"]
    assert clf.n_features_in_ == 1
    assert clf.model_.schema.families["text"].name == "text"
    with pytest.raises(ValueError, match="fitted on texts"):
        clf.predict([[1.0]])
    given = NaiveBayesClassifier(families="text:complement,ngrams=2").fit(make(texts), y)
    assert given.model_.schema.families["text"].variant == "complement"
    clf.partial_fit(make(["bitcoin"]), ["spam"])
    assert clf.predict(make(["bitcoin"])).tolist() == ["spam"]


def test_groups_of_rows_by_argument_by_name_and_by_metadata_routing():
    rng = np.random.default_rng(2)
    host = rng.integers(0, 200, 900)
    street = np.char.add("s", rng.integers(0, 80, 200)[host].astype(str))
    X = pd.DataFrame({"street": street, "rate": rng.normal(size=900)})
    y = rng.choice(["no", "yes"], 200)[host]
    given = NaiveBayesClassifier().fit(X, y, groups=host)
    named = NaiveBayesClassifier(group="host").fit(X.assign(host=host), y)
    assert given.model_.column_weights == named.model_.column_weights
    assert given.model_.column_weights != NaiveBayesClassifier().fit(X, y).model_.column_weights
    assert (given.model_.schema.group, named.model_.schema.group) == (None, "host")
    assert given.predict(X).tolist() == named.predict(X.assign(host=host)).tolist()
    assert NaiveBayesClassifier(tune=True).fit(X, y, groups=host).predict(X).shape == (900,)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            NaiveBayesClassifier().set_fit_request(groups=True), {"smoothing": [1.0]}, cv=GroupKFold(3)
        ).fit(X, y, groups=host)
    assert (
        search.best_estimator_.model_.column_weights
        == NaiveBayesClassifier(smoothing=1.0).fit(X, y, groups=host).model_.column_weights
    )
    with pytest.raises(ValueError, match=r"groups or the parameter group: expected one of them, got both"):
        NaiveBayesClassifier(group="host").fit(X.assign(host=host), y, groups=host)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        NaiveBayesClassifier().fit(X, y, groups=host[:5])


def test_rows_without_a_label_as_in_semi_supervised_classifiers():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = pd.DataFrame({f"x{i}": rng.normal(y, 1) for i in range(4)})
    few = np.where(np.arange(600) < 20, y, -1)
    classifier = NaiveBayesClassifier(missing_labels="em", unlabelled_weight=1).fit(X, few)
    assert classifier.classes_.tolist() == [0, 1]
    assert classifier.class_count_.sum() == 20
    assert classifier.model_.unlabelled.rows == 580
    texts = np.array(["no", "yes"], object)[y]
    texts[20:] = None
    by_words = NaiveBayesClassifier(missing_labels="em", unlabelled_weight=1).fit(X, texts)
    apart = NaiveBayesClassifier(unlabelled=X[20:], unlabelled_weight=1).fit(X[:20], texts[:20])
    assert by_words.classes_.tolist() == ["no", "yes"]
    assert np.allclose(by_words.predict_proba(X), classifier.predict_proba(X))
    assert apart.model_.same_counts(by_words.model_)
    with pytest.raises(ValueError, match="labels for some rows"):
        NaiveBayesClassifier(missing_labels="em").fit(X, np.full(600, -1))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        NaiveBayesClassifier(missing_labels="em").fit(X, few[:10])
