"""Texts with a vocabulary that is given: only its tokens are counted."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

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


@pytest.mark.parametrize(
    ("variant", "other"), [("counts", MultinomialNB), ("presence", BernoulliNB), ("complement", ComplementNB)]
)
def test_words_that_never_occur_are_outcomes_as_in_scikit_learn(variant, other):
    vocabulary = ["cash", "lunch", "zebra", "gnu", "noon prize team"]
    train, new = documents(), documents(30, seed=1)
    new["note"][:2] = ["zebra", "zebra cash gnu"]
    vectoriser = CountVectorizer(vocabulary=vocabulary, ngram_range=(1, 3), binary=variant == "presence")
    expected = other(alpha=0.7).fit(vectoriser.transform(train["note"]), train["y"])
    family = Text(variant, tf="auto" if variant == "presence" else "count", vocabulary=vocabulary)
    model = tb.fit(train, "y", families={"note": family}, smoothing=0.7, column_weights=None, class_smoothing=0)
    assert {row["token"] for row in model.describe("note", all=True).columns["note"]} == set(vocabulary)
    assert model.describe("note", all=True).cut == {}
    if variant == "complement":  # scikit-learn's has no class prior
        score = vectoriser.transform(new["note"]) @ expected.feature_log_prob_.T + np.log([0.5, 0.5])
        shares = np.log(np.array(list(model.class_counts.values())) / 200)
        odds = np.diff(model.predict_log_proba({"note": new["note"]}) - shares, axis=1)
        np.testing.assert_allclose(odds, np.diff(score, axis=1), rtol=1e-9, atol=1e-9)
        return
    proba = expected.predict_proba(vectoriser.transform(new["note"]))
    np.testing.assert_allclose(model.predict_proba({"note": new["note"]}), proba, rtol=1e-9)
    for text, row in zip(new["note"], proba.tolist(), strict=True):
        assert list(model.predict_proba_one({"note": text}).values()) == pytest.approx(row, rel=1e-9)


@pytest.mark.parametrize("variant", ["counts", "presence", "complement"])
@pytest.mark.parametrize("tf", ["count", "once", "log"])
def test_a_row_that_is_left_out_takes_no_outcome_away(variant, tf):
    """By forgetting: words that only this row has are still outcomes."""
    if variant == "presence" and tf != "count":
        return
    family = Text(variant, tf=tf if variant != "presence" else "auto", vocabulary=["cash", "zebra", "gnu", "noon"])
    table = {"note": ["cash now", "cash lunch", "noon", "zebra zebra", "zebra cash", "none"], "y": list("ababab")}
    model = tb.fit(table, "y", families={"note": family}, preset="textbook")
    scores = model.leave_one_out(table)
    for i in range(6):
        row = {name: [values[i]] for name, values in table.items()}
        other = model.copy()
        other.forget(row)
        np.testing.assert_allclose(scores[i], other.predict_log_proba({"note": row["note"]})[0], atol=1e-7)


def test_the_evidence_counts_every_outcome():
    table = {"note": ["cash now", "Cash lunch", "lunch free money"] * 5, "y": ["a", "b", "a"] * 5}
    family = Text("counts", ngrams=1, vocabulary=["cash", "zebra"])
    model = tb.fit(table, "y", families={"note": family}, preset="textbook")
    shown = {(row["class"], row["token"]): row["P(token)"] for row in model.describe("note").columns["note"]}
    expected = {("a", "cash"): 6 / 7, ("a", "zebra"): 1 / 7, ("b", "cash"): 6 / 7, ("b", "zebra"): 1 / 7}
    assert shown == pytest.approx(expected)
    assert model.log_evidence()["note"] == pytest.approx(
        2 * np.log(1 / 6)
    )  # of five times "cash" under Dirichlet(1, 1)
    assert model.n_parameters.columns["note"] == 2


def test_a_token_that_favours_no_class_is_shown():
    for family, value in (("text:counts", "cash"), ("tags", ["cash"])):
        model = tb.fit({"t": [value, value], "y": ["p", "q"]}, "y", families={"t": family})
        assert {row["token"] for row in model.describe("t").columns["t"]} == {"cash"}


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
