"""Numbers in streams of the river classifier: histograms, whose answers are derived anew after one row in fifty."""

import math
import pickle

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import DataError
from tallybayes.river import NaiveBayes


def skewed(n, seed=0):
    """Rows whose numbers are no bells: amounts of which many are zero, and others over several magnitudes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    amount = np.where(rng.random(n) < np.where(y, 0.7, 0.3), 0.0, np.exp(rng.normal(size=n) * (1 + y)))
    return [({"amount": a}, label) for a, label in zip(amount.tolist(), y.tolist(), strict=True)]


def accuracy(model, rows):
    right = 0
    for x, y in rows:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    return right / len(rows)


def test_the_default_suits_numbers_that_are_no_bells():
    rows = skewed(1500)
    assert accuracy(NaiveBayes(), rows) > accuracy(NaiveBayes(numeric="gaussian"), rows) + 0.1


def test_an_answer_is_that_of_the_model_at_most_one_row_in_fifty_ago():
    model, past, asked = NaiveBayes(), [], {"amount": 2.0}
    for i, (x, y) in enumerate(skewed(300)):
        model.learn_one(x, y)
        past.append(model._model.predict_proba_one(asked))
        found = model.predict_proba_one(asked)
        assert found in past[-1 - (i + 1) // 50 :]
        if i < 49:
            assert found == past[-1]


def test_answers_are_derived_anew_seldom(monkeypatch):
    taken = []
    monkeypatch.setattr(tb.Model, "snapshot", lambda self, usual=tb.Model.snapshot: taken.append(1) or usual(self))
    accuracy(NaiveBayes(), skewed(2000))
    assert len(taken) < 52 + 2 + math.log(2000 / 50) / math.log(1.02)
    taken.clear()
    accuracy(NaiveBayes(numeric="gaussian"), skewed(100))
    assert not taken


def test_a_new_label_and_a_forgotten_row_are_known_at_once():
    model = NaiveBayes()
    rows = skewed(600)
    accuracy(model, rows)
    model.learn_one({"amount": 7.0}, 2)
    assert 2 in model.predict_proba_one({"amount": 7.0})
    model.forget_one({"amount": 7.0}, 2)
    assert 2 not in model.predict_proba_one({"amount": 7.0})
    model.learn_one({"amount": 7.0}, 2)  # again, after it was forgotten and asked about
    assert 2 in model.predict_proba_one({"amount": 7.0})
    model.forget_one({"amount": 7.0}, 2)
    assert model.predict_proba_one({"amount": 1.0}) == model._model.predict_proba_one({"amount": 1.0})
    model.learn_one(*rows[0])
    model.model.learn_one({"amount": 1.0}, 3)  # by another door
    assert 3 in model.predict_proba_one({"amount": 1.0})


@pytest.mark.parametrize(
    "change",
    [
        lambda inner: inner.learn_one({"amount": 1.0}, 3),
        lambda inner: inner.learn({"amount": [1.0, 2.0]}, label=[3, 3]),
        lambda inner: inner.forget_one(*skewed(1)[0]),
        lambda inner: setattr(inner, "decision", tb.Decision(threshold=0.999, positive=1)),
    ],
)
def test_a_model_that_was_taken_before_and_is_changed_later_answers_at_once(change):
    model = NaiveBayes()
    inner = model.model  # taken once, changed after other rows and answers
    accuracy(model, skewed(600))
    row = {"amount": 1.0}
    change(inner)
    assert (model.predict_proba_one(row), model.predict_one(row)) == (
        inner.predict_proba_one(row),
        inner.predict_one(row),
    )
    before = model._answers
    for x, y in skewed(5):
        model.learn_one(x, y)
        model.predict_one(x)
    assert model._answers is before  # own rows do not make it derive anew


def test_a_row_of_features_that_are_new_in_the_last_rows_is_answered():
    model = NaiveBayes()
    accuracy(model, skewed(600))
    before = model._answers
    model.learn_one({"new": 3.0}, 1)
    assert model.predict_one({"new": 3.0}) in (0, 1)
    assert model._answers is before
    assert model.predict_one({"never": 3.0}) in (0, 1)
    with pytest.raises(DataError):
        model.predict_one({"amount": "much"})


def test_what_answers_is_not_in_a_pickle():
    model = NaiveBayes()
    accuracy(model, skewed(200))
    assert model._answers is not None
    again = pickle.loads(pickle.dumps(model))
    assert again._answers is None
    assert again.predict_proba_one({"amount": 1.0}) == model._model.predict_proba_one({"amount": 1.0})
