"""Scores of hundreds of nats, as of many n-grams, are held out as they are: with a bound they tell something else."""

import numpy as np
import pytest

import tallybayes as tb
from tallybayes import kernels


def tweets(n, rng, words, usual, other):
    """Short texts of two classes, 1:2, with little that tells them apart."""
    y = (rng.random(n) < 1 / 3).astype(int)
    docs = [" ".join(rng.choice(words, rng.integers(8, 35), p=other if own else usual)) for own in y]
    return docs, np.array(["other", "offence"])[y]


@pytest.mark.slow
@pytest.mark.skipif(kernels.IMPLEMENTATION != "native", reason="takes long with the reference kernels")
def test_n_grams_of_characters_of_short_texts_are_not_worse_than_class_shares():
    """Differences of more than 100 nats were cut, so that weights were fitted to other scores: P(offence) was .24."""
    rng = np.random.default_rng(0)
    letters, share = list("enisratdhulcgmobwfkzpvjyxq"), 1 / np.arange(1, 27) ** 0.8
    words = ["".join(rng.choice(letters, rng.integers(2, 12), p=share / share.sum())) for _ in range(30_000)]
    usual = 1 / np.arange(1, 30_001)
    other = usual * np.exp(0.2 * rng.normal(size=30_000))
    facts, rng = (words, usual / usual.sum(), other / other.sum()), np.random.default_rng(0)
    (docs, labels), (new, truth) = tweets(3000, rng, *facts), tweets(2000, rng, *facts)
    family = "text:counts,tf=count,balanced=True,k=1,tokens=characters,shortest=2,ngrams=5"
    model = tb.fit({"text": docs}, label=labels, families={"text": family})
    found = tb.evaluate(model, {"text": new}, truth)
    share = float((truth == "offence").mean())
    assert found.log_loss < -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert model.predict_proba({"text": new})[:, 0].mean() == pytest.approx(share, abs=0.04)


def test_a_point_mass_at_the_largest_double():
    largest = np.finfo(float).max
    model = tb.fit({"x": [largest, largest, 0.0, 1.0]}, label=["a", "a", "b", "b"], numeric="gaussian", estimate="mle")
    assert model.predict({"x": [largest, 0.5]}).tolist() == ["a", "b"]
