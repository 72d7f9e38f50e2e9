"""Text of which longer n-grams are counted than scored: scores are those of the shorter ones alone."""

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.tables.table import to_table

WORDS = ["cash", "prize", "lunch", "office", "win", "see you", "naïve", "2026", "don't", "www.x.org"]


@pytest.mark.parametrize("family", ["text:complement,tf=log,k=1", "text:counts,tf=once,k=1", "text:presence,k=1"])
def test_texts_to_be_scored_are_cut_into_the_tokens_that_are_scored(family):
    texts = [" ".join(WORDS[(i * j) % len(WORDS)] for j in range(i % 9)) for i in range(60)]
    model = tb.fit({"text": texts}, [i % 3 for i in range(60)], families={"text": f"{family},ngrams=3,scored_ngrams=2"})
    snapshot, table = model.snapshot(), to_table({"text": texts})
    every, scored = (snapshot.encode(table, scored=only)["text"] for only in (False, True))
    assert 0 < len(scored.indices) < len(every.indices)
    joint = snapshot.scorer.log_score({"text": every}, len(texts))
    assert np.array_equal(model.log_score({"text": texts}), joint)


@pytest.mark.parametrize(
    "family",
    ["text:counts,tf=count,k=1", "text:complement,tf=once,k=1,idf=True", "text:presence,k=1", "text:counts,k=0"],
)
@pytest.mark.parametrize("caps", ["", ",cap=0.5,length=9", ",top=3"])
def test_words_among_many_longer_tokens_score_as_if_they_were_alone(family, caps):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{number}" for number in rng.integers(10, 50, 12)) for _ in range(200)]
    labels = [i % 3 for i in range(200)]
    options = f"{family}{'' if 'presence' in family else caps}"
    longer, words = (
        tb.fit({"text": texts}, labels, families={"text": f"{options},{ngrams}"}, column_weights=None)
        for ngrams in ("ngrams=4,scored_ngrams=1", "ngrams=1")
    )
    for n in (3, 200, 200):  # of few rows, of many, and of many again
        assert np.array_equal(longer.log_score({"text": texts[:n]}), words.log_score({"text": texts[:n]}))


@pytest.mark.parametrize("family", ["text:buckets=64", "text:max_tokens=20", "text:tokens=characters"])
def test_a_variant_that_is_still_open_scores_all_tokens_that_cannot_be_told_apart(family):
    model = tb.fit({"t": ["cash now", "run now"] * 2, "y": ["a", "b"] * 2}, label="y", families={"t": family})
    assert model.predict([{"t": "cash"}]).tolist() == ["a"]


def test_samples_have_no_tokens_that_are_too_rare_to_be_scored():
    table = {"t": ["aa aa bb", "aa cc", "dd dd aa"] * 2 + ["rare"], "y": ["p", "q"] * 3 + ["p"]}
    model = tb.fit(table, label="y", families={"t": "text:counts,ngrams=1,min_count=2"}, column_weights=None)
    words = {word for text in model.sample(300, seed=0)["t"].to_pylist() for word in text.split()}
    assert words == {"aa", "bb", "cc", "dd"}
