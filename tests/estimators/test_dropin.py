"""The drop-ins pass scikit-learn's own tests and give its results to the last digits."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from dropins import COUNTING, NAMES, pair, table
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from tallybayes import dropin as ours

SUITES = [
    "sklearn.tests.test_naive_bayes",
    "sklearn.tests.test_multiclass",
    "sklearn.tests.test_calibration",
    "sklearn.ensemble.tests.test_voting",
    "sklearn.model_selection.tests.test_search",
]


def run_suite(directory, plugins, suites=SUITES, only=""):
    """Passed, failed and skipped tests of scikit-learn, those for float32 and other array libraries included."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", directory]
    command += [word for plugin in plugins for word in ("-p", plugin)] + ["--pyargs", *suites, "-k", only]
    folders = os.pathsep.join([str(directory), str(Path(__file__).parent)])
    paths = {"PYTHONPATH": folders, "SKLEARN_RUN_FLOAT32_TESTS": "1", "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(command, cwd=directory, env=os.environ | paths, capture_output=True, text=True)
    found = {what: int(n) for n, what in re.findall(r"(\d+) (passed|failed|skipped|error)", done.stdout)}
    return found, done.stdout


@pytest.mark.slow
def test_the_test_suite_of_scikit_learn_passes(tmp_path):
    found, text = run_suite(tmp_path, ["swap_naive_bayes"])
    assert not {"failed", "error"} & set(found), text[-5000:]
    assert found["passed"] >= 86 + 47, text[-5000:]


@pytest.mark.slow
def test_the_test_suite_of_scikit_learn_detects_a_wrong_result(tmp_path):
    """A drop-in that is broken on purpose fails the suite: the plugin does replace the classes."""
    broken = "import tallybayes.dropin as d\nd.GaussianNB.predict = lambda self, X: self.classes_[[0] * len(X)]\n"
    (tmp_path / "broken_naive_bayes.py").write_text(broken)
    found, _ = run_suite(tmp_path, ["broken_naive_bayes", "swap_naive_bayes"], SUITES[:1], only="gnb")
    assert found["failed"] > 0


@parametrize_with_checks([getattr(ours, name)() for name in NAMES])
def test_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


# Equal results


@pytest.mark.parametrize("kind", ["dense", "sparse", "fractions"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_results_equal_those_of_scikit_learn(name, weighted, kind):
    if kind != "dense" and (name == "CategoricalNB" or (kind == "sparse" and name == "GaussianNB")):
        pytest.skip("scikit-learn does not take these either")
    rng = np.random.default_rng(0)
    X, y = table(name, rng, kind=kind)
    weight = rng.random(len(y)) if weighted else None
    mine, other = (one.fit(X, y, sample_weight=weight) for one in pair(name))
    for attribute in (
        "classes_",
        "class_count_",
        "class_log_prior_",
        "class_prior_",
        "feature_count_",
        "theta_",
        "var_",
        "feature_log_prob_",
        "category_count_",
        "n_categories_",
        "feature_all_",
        "n_features_in_",
    ):
        assert hasattr(mine, attribute) == hasattr(other, attribute), attribute
        if hasattr(other, attribute) and attribute != "classes_":
            mine_and_other = getattr(mine, attribute), getattr(other, attribute)
            if not isinstance(mine_and_other[1], list):
                mine_and_other = [[value] for value in mine_and_other]
            for a, b in zip(*mine_and_other, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    assert mine.classes_.tolist() == other.classes_.tolist() == ["a", "b", "c"]
    for method in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        np.testing.assert_allclose(getattr(mine, method)(X), getattr(other, method)(X), rtol=1e-8, atol=1e-8)
    assert (mine.predict(X) == other.predict(X)).all()


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_results_on_real_tables_equal_those_of_scikit_learn(load):
    X, y = load(return_X_y=True)
    for name in NAMES:
        if name == "GaussianNB" and load is load_breast_cancer:
            continue  # variances from 7e-6 to 3e5: its epsilon drowns the small ones, see test_3
        mine, other = (one.fit(X, y) for one in pair(name))
        np.testing.assert_allclose(mine.predict_proba(X), other.predict_proba(X), rtol=1e-6, atol=1e-9)


def test_results_on_tf_idf_equal_those_of_scikit_learn():
    texts = ["cash now", "win cash", "lunch at noon", "lunch tomorrow", "noon cash"] * 3
    X, y = TfidfVectorizer().fit_transform(texts), np.array([1, 1, 0, 0, 0] * 3)
    for name in COUNTING:
        for alpha in (1.0, 1e-5):
            mine, other = (one.fit(X, y) for one in pair(name, alpha=alpha))
            np.testing.assert_allclose(mine.predict_log_proba(X), other.predict_log_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", COUNTING)
@pytest.mark.parametrize(
    "options", [{"alpha": [0.5, 1, 2, 0.1, 3, 1]}, {"fit_prior": False}, {"class_prior": [0.2, 0.3, 0.5]}]
)
def test_parameters_have_the_meaning_of_scikit_learn(name, options):
    X, y = table(name, np.random.default_rng(1))
    if name == "BernoulliNB" and "alpha" in options:  # scikit-learn adds arrays of different lengths here
        one = ours.BernoulliNB(**options).fit(X, y)
        alpha, yes = np.array(options["alpha"]), (X > 0)[y == "a"]
        expected = (yes.sum(axis=0) + alpha) / (len(yes) + 2 * alpha)
        np.testing.assert_allclose(np.exp(one.feature_log_prob_[0]), expected)
        return
    mine, other = (one.fit(X, y) for one in pair(name, **options))
    np.testing.assert_allclose(mine.predict_log_proba(X), other.predict_log_proba(X), rtol=1e-9)


def test_complement_norm_and_bernoulli_binarize():
    X, y = table("ComplementNB", np.random.default_rng(2))
    for name, options in (
        ("ComplementNB", {"norm": True}),
        ("BernoulliNB", {"binarize": 1.5}),
        ("BernoulliNB", {"binarize": 0.3}),
    ):
        for data in (X, X.astype(float), sp.csr_matrix(X), (X > 1).astype(float)):
            mine, other = (one.fit(data, y) for one in pair(name, **options))
            np.testing.assert_allclose(mine.predict_log_proba(data), other.predict_log_proba(data), rtol=1e-9)
    shares = np.random.default_rng(2).random((50, 4))
    mine, other = (one.fit(shares, np.arange(50) % 2) for one in pair("BernoulliNB", binarize=None))
    np.testing.assert_allclose(mine.predict_log_proba(shares), other.predict_log_proba(shares), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_error_messages_are_those_of_scikit_learn(name):
    X, y = table(name, np.random.default_rng(0))
    nan, infinite = (np.where(X[3, 2] == X, bad, X) for bad in (np.nan, np.inf))
    wrong = {
        "nan": lambda one: one.fit(nan, y),
        "infinity": lambda one: one.fit(infinite, y),
        "nan to predict": lambda one: one.fit(X, y).predict(nan),
        "infinity to predict": lambda one: one.fit(X, y).predict_proba(infinite),
        "negative": lambda one: one.fit(-X - 1, y),
        "too few columns": lambda one: one.fit(X, y).predict(X[:, :2]),
        "one dimension": lambda one: one.fit(X[:, 0], y),
        "lengths": lambda one: one.fit(X, y[:-1]),
        "no rows": lambda one: one.fit(X[:0], y[:0]),
        "no labels": lambda one: one.fit(X, None),
        "reals for labels": lambda one: one.fit(X, np.linspace(0, 1, len(X))),
        "words": lambda one: one.fit(np.full(X.shape, "x"), y),
        "alpha": lambda one: type(one)(**({"alpha": -1} if hasattr(one, "alpha") else {"var_smoothing": -1})).fit(X, y),
        "not fitted": lambda one: one.predict(X),
        "unknown label": lambda one: one.partial_fit(X, y, classes=["a", "b"]),
    }
    for what, work in wrong.items():
        texts = []
        for one in pair(name):
            try:
                work(one)
            except (ValueError, NotFittedError) as error:
                texts.append(str(error).splitlines()[0])
            else:
                texts.append("fine")
        if what == "unknown label" and name != "GaussianNB":
            assert texts[0].startswith("The target label(s) ['c'] in y do not exist"), texts  # theirs counts it wrongly
        elif what == "reals for labels":
            assert all(text.startswith("Unknown label type: ") for text in texts), texts
        else:
            assert texts[0] == texts[1], what
