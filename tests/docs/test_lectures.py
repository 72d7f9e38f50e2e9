"""The worked examples of the lectures come out; where a lecture's arithmetic is wrong, the right value stands here."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp

import tallybayes as tb

WORDS = ["it", "is", "puppy", "cat", "pen", "a", "this"]
SENTENCES = [
    ("it is a puppy", 1),
    ("it is a kitten", 1),
    ("it is a cat", 1),
    ("that is a dog and this is a pen", 1),
    ("it is a matrix", 0),
]


def presence(sentence):
    return {word: int(word in sentence.split()) for word in WORDS}


def sentences(**options):
    rows = [presence(text) | {"animal": label} for text, label in SENTENCES]
    return tb.fit(rows, label="animal", families=dict.fromkeys(WORDS, "bernoulli"), **options, column_weights=None)


def test_a_sentence_by_maximum_likelihood():
    model = sentences(estimate="mle", class_smoothing=0)
    joint = np.exp(model.log_joint(presence("it is a random sentence"))[0])
    assert joint == pytest.approx([0.2, float(Fraction(4, 5) * Fraction(3, 4) ** 5)])
    assert model.predict_proba(presence("it is a random sentence"))[0, 1] == pytest.approx(0.487, abs=5e-4)


def test_a_sentence_that_maximum_likelihood_rules_out():
    model = sentences(estimate="mle", class_smoothing=0)
    with pytest.warns(tb.RuledOutWarning):
        p = model.predict_proba([presence("that dog was my puppy")])
    assert p[0] == pytest.approx([1 / 5, 4 / 5])


def test_a_sentence_with_laplace():
    model = sentences(smoothing=1.0, class_smoothing=1.0)
    joint = np.exp(model.log_joint(presence("this dog was my puppy"))[0])
    assert joint[1] == pytest.approx(0.00032, abs=1e-5)  # the notes cut their digits off
    assert joint[0] == pytest.approx(0.00052, abs=1e-5)
    assert model.predict_proba(presence("this dog was my puppy"))[0, 0] == pytest.approx(0.615, abs=5e-4)


def test_the_same_sentences_as_a_bag_of_words():
    """Multinomial counts: theta is the share of a word among all words of the class."""
    bags = {"text": [text.split() for text, _ in SENTENCES], "animal": [label for _, label in SENTENCES]}
    model = tb.fit(
        bags, label="animal", estimate="mle", class_smoothing=0, families={"text": "multinomial"}, column_weights=None
    )
    n_words = sum(len(text.split()) for text, label in SENTENCES if label == 1)
    log_is = model.log_joint({"text": [["is"]]})[0, 1] - model.log_joint({"text": [[]]})[0, 1]
    assert math.exp(log_is) == pytest.approx(5 / n_words)


def test_the_cancer_test():
    """The notes print p(+) = .189 and p(yes | +) = .08; .009 + .0495 is .0585 and the posterior .154."""
    model = tb.from_probabilities(
        {"yes": 0.01, "no": 0.99}, {"test": {"yes": {"+": 0.9, "-": 0.1}, "no": {"+": 0.05, "-": 0.95}}}
    )
    assert math.exp(model.log_marginal({"test": "+"})[0]) == pytest.approx(0.0585)
    assert model.predict_proba({"test": "+"})[0, 1] == pytest.approx(0.009 / 0.0585)


def test_laplace_and_the_sunrise():
    """Laplace's day by day: a Bernoulli with k = 1 after 1,826,213 sunrises."""
    model = tb.fit({"sun": [True], "y": [0]}, label="y", sample_weight=[1_826_213], smoothing=1.0, column_weights=None)
    p = math.exp(model.log_joint({"sun": True})[0, 0])
    assert p == pytest.approx(1_826_214 / 1_826_215, rel=1e-15)


def test_the_smoothed_estimate_runs_from_frequency_to_uniform():
    data = {"x": ["a", "a", "b"], "y": [0, 0, 0]}
    for k, wanted in [(0, 2 / 3), (1, 3 / 5), (100, 102 / 203), (math.inf, 1 / 2)]:
        model = tb.fit(data, label="y", smoothing=k, column_weights=None)
        assert math.exp(model.log_joint({"x": "a"})[0, 0]) == pytest.approx(wanted)


def test_maximum_likelihood_minimises_the_objective_and_the_objective_splits():
    """E(pi, theta) = E(pi) + sum over columns of E(theta_j); each part is least at the frequencies."""
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.3).astype(int)
    data = {"f": (rng.random(200) < 0.2 + 0.5 * y).astype(int), "x": rng.normal(size=200) + y, "y": y}
    best = tb.fit(
        data, label="y", numeric="gaussian", estimate="mle", class_smoothing=0, column_weights=None
    ).objective(data)
    pi = y.mean()
    assert best.prior == pytest.approx(-(y * np.log(pi) + (1 - y) * np.log(1 - pi)).sum())
    assert best.total == pytest.approx(best.prior + best.columns["f"] + best.columns["x"])
    for k in (0.5, 2.0, 10.0):
        other = tb.fit(
            data, label="y", numeric="gaussian", smoothing=k, class_smoothing=k, column_weights=None
        ).objective(data)
        assert other.prior > best.prior
        assert other.columns["f"] > best.columns["f"]
        assert other.columns["x"] > best.columns["x"]


def test_gaussian_maximum_likelihood_is_the_mean_and_variance_by_n():
    x = [1.0, 2.0, 4.0]
    (row,) = tb.fit({"x": x, "y": [0] * 3}, label="y", numeric="gaussian", column_weights=None).describe().columns["x"]
    assert row["mean"] == pytest.approx(7 / 3)
    assert row["sd"] ** 2 == pytest.approx(np.var(x))


def test_log_sum_exp_does_not_underflow_at_a_thousand_features():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = (rng.random((100, 1000)) < 0.5 + 0.02 * y[:, None]).astype(int)
    model = tb.fit(X, label=y, families="bernoulli", smoothing=1.0, column_weights=None)
    log_joint = model.log_joint(X)
    assert log_joint.max() < -600
    direct = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
    assert np.allclose(model.predict_proba(X), direct, rtol=1e-12)
    assert np.allclose(model.log_marginal(X), logsumexp(log_joint, axis=1), rtol=1e-12)


def test_the_film_data(shared_data):
    """R-rated or not, from year, body count and genres: with whole training rows in every average."""
    import pyarrow.parquet as pq

    films = pq.read_table(shared_data / "movie_body_count.parquet").to_pandas()
    films["R"] = films.pop("MPAA_Rating") == "R"
    films = films.sample(frac=1, random_state=0)
    columns = ["Year", "Body_Count", "Genre", "R"]
    model = tb.fit(
        films[columns][:200],
        label="R",
        families={"Genre": "tags", "Year": "gaussian"},
        smoothing=1.0,
        column_weights=None,
    )
    test = films[columns][200:]
    accuracy = (model.predict(test) == test["R"].to_numpy()).mean()
    assert accuracy > test["R"].mean()  # better than calling every film R


def test_iris():
    from sklearn.datasets import load_iris

    iris = load_iris()
    model = tb.fit(iris.data[:, :2], label=iris.target, numeric="gaussian", estimate="mle", column_weights=None)
    assert (model.predict(iris.data[:, :2]) == iris.target).mean() == pytest.approx(0.78, abs=0.01)
