"""Texts with a vocabulary that is given: only its tokens are counted."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

import tallybayes as tb
from tallybayes.errors import DataError, ParameterError
from tallybayes.families import Text
from tallybayes.families.registry import parse

WORDS = ["cash", "prize", "lunch", "noon", "team", "Prix", "É", "free"]
VOCABULARY = ["cash", "lunch", "cash prize", "noon"]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join), min_size=1, max_size=12)


def documents(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["ham", "spam"], n)
    spam, ham = [0.3, 0.3, 0.05, 0.05, 0.1, 0.1, 0.05, 0.05], [0.05, 0.05, 0.3, 0.3, 0.1, 0.1, 0.05, 0.05]
    return {"note": [" ".join(rng.choice(WORDS, 5, p=spam if c == "spam" else ham)) for c in y], "y": y.tolist()}


def fitted(vocabulary, table=None, **options):
    families = {"note": Text("counts", tf="count", vocabulary=vocabulary, **options)}
    table = table or documents()
    return tb.fit(table, "y", families=families, smoothing=0.7, column_weights=None, class_smoothing=0)


@pytest.mark.parametrize(("vocabulary", "ngrams"), [(["cash", "lunch", "noon"], 1), (VOCABULARY, 2)])
def test_probabilities_are_those_of_scikit_learn(vocabulary, ngrams):
    """All tokens of the list occur in the training documents: V is the same."""
    train, new = documents(), documents(seed=1)
    vectoriser = CountVectorizer(vocabulary=vocabulary, ngram_range=(1, ngrams))
    other = MultinomialNB(alpha=0.7).fit(vectoriser.transform(train["note"]), train["y"])
    expected = other.predict_proba(vectoriser.transform(new["note"]))
    np.testing.assert_allclose(fitted(vocabulary).predict_proba({"note": new["note"]}), expected, rtol=1e-9)


@given(first=texts, more=texts)
def test_other_tokens_have_no_effect(first, more):
    """Texts of the tokens alone give the same sums, whatever else was in them; and sums can be taken back."""
    vocabulary, y = ["cash", "lunch", "noon"], ["p", "q"]
    labels = [y[i % 2] for i in range(len(first))]
    model = fitted(vocabulary, {"note": first, "y": labels})
    kept = [" ".join(word for word in text.split() if word in vocabulary) for text in first]
    assert model.same_counts(fitted(vocabulary, {"note": kept, "y": labels}))
    later = model.copy()
    later.learn({"note": more, "y": ["p"] * len(more)})
    whole = fitted(vocabulary, {"note": first + more, "y": labels + ["p"] * len(more)})
    assert later.same_counts(whole)
    later.forget({"note": more, "y": ["p"] * len(more)})
    assert later.same_counts(model)
    one = model.copy()
    for text in more:
        one.learn_one({"note": text}, "p")
    assert one.same_counts(whole)
    for text in more:
        np.testing.assert_array_equal(
            [one.predict_proba_one({"note": text})[label] for label in one.classes],
            one.predict_proba({"note": [text]})[0],
        )


def test_it_is_saved_and_shown_and_merged_with_the_same_only(tmp_path):
    model = fitted(VOCABULARY)
    model.save(tmp_path / "model.tally")
    loaded = tb.load(tmp_path / "model.tally")
    assert loaded == model
    loaded.learn({"note": ["cash unknown words"], "y": ["spam"]})
    assert {row["token"] for row in loaded.describe().columns["note"]} == set(VOCABULARY)
    assert sum(loaded.merge(fitted(VOCABULARY[::-1])).class_counts.values()) == 401
    with pytest.raises(DataError, match="vocabulary"):
        model.merge(fitted(["cash"]))
    with pytest.raises(DataError, match="family"):
        model.merge(tb.fit(documents(), "y", families={"note": Text("counts", tf="count")}, smoothing=0.7))
    long = Text(vocabulary=[f"word{i}" for i in range(100)])
    assert "vocabulary=(100 tokens)" in long.display_name()


def test_one_form_of_equal_vocabularies():
    """In order, each once, as tokens are made from texts; n-grams as long as the longest."""
    one = Text(vocabulary=["Lunch", "cash prize", "CASH", "cash"])
    assert one.vocabulary == "cash|cash prize|lunch"
    assert (one.ngrams, one.longest) == (2, 2)
    assert one == Text(vocabulary="lunch|cash|cash prize")
    assert eval(repr(one), {"Text": Text}) == one == parse(str(one)) == one
    assert one.counted == one.counted.counted
    assert Text(vocabulary=["cash"]).ngrams == 1
    assert Text(vocabulary=["Cash"], case="keep").vocabulary == "Cash"
    characters = Text(vocabulary=["ab", "Abc"], tokens="characters")
    assert (characters.vocabulary, characters.ngrams) == ("ab|abc", 3)
    assert Text(vocabulary="") == Text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabulary": []}, "at least one token"),
        ({"vocabulary": ["!"]}, "tokens that a text can have"),
        ({"vocabulary": ["a"]}, "tokens that a text can have"),
        ({"vocabulary": ["cash", ""]}, "tokens that a text can have"),
        ({"vocabulary": ["the"], "stop": "the"}, "tokens that a text can have"),
        ({"vocabulary": ["cash prize"], "ngrams": 1}, "at most 1 words"),
        ({"vocabulary": ["cash cash cash"], "ngrams": 2}, "at most 2 words"),
        ({"vocabulary": ["cash"], "ngrams": 2, "shortest": 2}, "at least shortest=2 words"),
        ({"vocabulary": [3]}, "vocabulary of text: tokens, got 3"),
        ({"vocabulary": 3}, "vocabulary of text: tokens, got 3"),
        ({"vocabulary": ["a=b"], "tokens": "characters"}, "without any of"),
        ({"vocabulary": ["cash"], "buckets": 16}, "vocabulary or buckets"),
        ({"vocabulary": ["cash"], "max_tokens": 16}, "vocabulary or max_tokens"),
    ],
)
def test_vocabularies_that_make_no_sense(options, message):
    with pytest.raises(ParameterError, match=message):
        Text(**options)


def test_the_variants_are_selected_among_its_tokens():
    model = tb.fit(documents(400), "y", families={"note": Text(vocabulary=VOCABULARY)})
    assert "selected from" in model.schema.columns["note"].reason
    assert tb.evaluate(model, documents(400, 1)).accuracy > 0.8
    printed = str(model.explain({"note": "cash prize team"})[0])
    assert [line.rsplit(maxsplit=2)[0] for line in printed.splitlines()[-2:]] == ["cash prize", "cash"]


def test_on_the_command_line(tmp_path):
    table = documents()
    (tmp_path / "notes.csv").write_text(
        "note,y\n" + "".join(f"{a},{b}\n" for a, b in zip(*table.values(), strict=True))
    )
    option = "note=text:variant=counts,tf=count,vocabulary=cash|lunch|cash prize"
    command = [sys.executable, "-m", "tallybayes.cli.main", "fit", "notes.csv", "--label", "y", "--as", option]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    model = tb.load(tmp_path / "notes.tally")
    assert {row["token"] for row in model.describe().columns["note"]} == {"cash", "lunch", "cash prize"}
