"""The smallest set of columns, or words, without which the answer would be another one."""

import itertools
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tables import mixed_frame
from tallybayes import Calibration, Decision
from tallybayes.errors import ParameterError, UnsupportedError
from tallybayes.explaining.explanation import Explanation
from tallybayes.scoring.posterior import Posterior

halves = st.integers(-6, 6).map(lambda n: n / 2)  # whose sums are exact, so that ties are ties


@st.composite
def explanations(draw):
    n_classes, n_columns = draw(st.integers(2, 4)), draw(st.integers(0, 5))
    part = st.lists(st.one_of(halves, st.just(-np.inf)), min_size=n_classes, max_size=n_classes).map(np.array)
    prior = np.array(draw(st.lists(halves, min_size=n_classes, max_size=n_classes)))
    return Explanation(tuple(range(n_classes)), {}, prior, {f"x{i}": draw(part) for i in range(n_columns)})


def without(one, gone):
    """Log P(class, row) without some columns."""
    total = one.log_prior.copy()
    for name, part in one.log_evidence.items():
        if name not in gone:
            total = total + part
    return total


def subsets(names):
    return (set(some) for n in range(len(names) + 1) for some in itertools.combinations(names, n))


@settings(deadline=None, max_examples=300)
@given(explanations(), st.data())
def test_no_smaller_set_changes_the_answer(one, data):
    winner = int(one.log_score.argmax())
    rival = data.draw(st.sampled_from([None, *(c for c in range(len(one.classes)) if c != winner)]))
    if one.ruled_out:
        assert one.flip() is None
        return

    def flipped(scores):
        if rival is None:
            return scores.argmax() != winner
        return scores[rival] > scores[winner] or (scores[rival] == scores[winner] and rival < winner)

    sizes = [len(gone) for gone in subsets(one.log_evidence) if flipped(without(one, gone))]
    flip = one.flip(rival)
    if not sizes:
        assert flip is None
        return
    assert len(flip.columns) == min(sizes)
    left = without(one, flip.columns)
    assert flipped(left)
    assert flip.label == left.argmax()
    assert flip.against == (flip.label if rival is None else rival)
    before, after = flip.log_odds
    assert before == one.log_score[winner] - one.log_score[flip.against]
    assert after == left[winner] - left[flip.against]


@settings(deadline=None, max_examples=200)
@given(explanations())
def test_of_sets_of_one_size_the_one_that_takes_most_from_the_odds_is_told(one):
    flip = one.flip()
    if flip is None or not all(np.isfinite(part).all() for part in one.log_evidence.values()):
        return
    winner = one.log_score.argmax()

    def loss(gone, rival):
        return sum(one.log_evidence[name][winner] - one.log_evidence[name][rival] for name in gone)

    best = max(
        loss(gone, rival)
        for gone in subsets(one.log_evidence)
        if len(gone) == len(flip.columns)
        for rival, score in enumerate(without(one, gone))
        if rival != winner and (score, -rival) > (without(one, gone)[winner], -winner)
    )
    assert max(loss(flip.columns, rival) for rival in range(len(one.classes)) if rival != winner) >= best


FAMILIES = {"real": "gaussian", "words": "multinomial", "topics": "multinomial:presence"}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", ["auto", 1.0])
def test_the_model_itself_answers_otherwise_when_those_cells_are_missing(smoothing, weighted):
    frame = mixed_frame(60)
    model = tb.fit(frame, label="y", families=FAMILIES, smoothing=smoothing)
    if weighted:
        model.column_weights = tb.ColumnWeights(
            {"kind": 0.5, "real": dict.fromkeys(model.classes, 1.5) | {model.classes[0]: 0.3}}
        )
    rows = [{name: values[i] for name, values in frame.items() if name != "y"} for i in range(60)]
    n_flips = 0
    for row, one, label in zip(rows, model.explain(rows), model.predict(rows), strict=True):
        flip = one.flip()
        if flip is None:
            continue
        n_flips += 1
        assert flip.predicted == label
        assert all(row[name] is not None for name in flip.columns)
        if flip.log_odds[1] < -1e-9:
            (then,) = model.predict([row | dict.fromkeys(flip.columns)])
            assert then == flip.label != label
        for some in itertools.combinations(flip.columns, len(flip.columns) - 1):  # and no one of them is too many
            assert model.predict([row | dict.fromkeys(some)])[0] == label
    assert n_flips > 20


MAILS = {
    "text": ["cash prize cash now", "free prize now", "lunch at noon", "office lunch", "meeting at the office", "cash"],
    "y": ["spam", "spam", "ham", "ham", "ham", "spam"],
}


@pytest.mark.parametrize(
    "family", ["text:counts,tf=count,k=1", "text:counts,tf=once,k=1", "text:complement,tf=count,k=1"]
)
def test_the_words_that_would_have_to_be_absent(family):
    model = tb.fit(MAILS, label="y", families={"text": family})
    text = "free lunch and a cash prize cash now noon"
    (one,) = model.explain({"text": text})
    flip = one.flip(words="text")
    assert flip.columns == ("text",)
    words = text.split()

    def answer(gone):
        return model.predict({"text": " ".join(word for word in words if word not in gone)})[0]

    assert one.flip(words="text").predicted == answer(()) != answer(flip.words) == flip.label
    for some in subsets([word for word in dict.fromkeys(words) if len(word) > 1]):
        if len(some) < len(flip.words):
            assert answer(some) == flip.predicted


@pytest.mark.parametrize("family", ["text:presence,k=1", "text:counts,tf=log,k=1", "text:counts,tf=count,k=1,top=2"])
def test_words_that_depend_on_each_other_cannot_be_taken_away_one_by_one(family):
    (one,) = tb.fit(MAILS, label="y", families={"text": family}).explain({"text": "cash prize"})
    with pytest.raises(UnsupportedError, match="depends on the words around it"):
        one.flip(words="text")
    assert one.flip() is None or one.flip().columns == ("text",)


def test_a_label_that_cannot_be_the_rival_is_an_error():
    (one,) = tb.fit(MAILS, label="y", families={"text": "text"}).explain({"text": "cash prize"})
    for wrong in ("spam", "eggs"):
        with pytest.raises(ParameterError, match="a label other than the answer"):
            one.flip(wrong)
    with pytest.raises(ParameterError, match="a column of text"):
        one.flip(words="nothing")


def test_the_prior_alone_cannot_be_taken_away():
    model = tb.fit({"x": ["a", "b", "a"], "y": ["p", "p", "p"]}, label="y")
    assert model.explain({"x": "a"})[0].flip() is None
    model = tb.fit({"x": ["a", "b"] * 9 + ["a"], "y": ["p"] * 18 + ["q"]}, label="y")
    assert model.explain({"x": "a"})[0].flip() is None
    assert model.explain({"x": "a"})[0].to_dict()["flip"] is None


def test_a_tie_goes_to_the_label_first_in_order():
    parts = {"x": np.array([0.0, 1.0])}
    one = Explanation(("p", "q"), {}, np.zeros(2), parts)
    assert str(one.flip()) == "without x it would be p"
    assert Explanation(("p", "q"), {}, np.zeros(2), {"x": np.array([1.0, 0.0])}).flip() is None


rules = st.one_of(
    st.builds(lambda t: Decision(positive=0, threshold=t), st.sampled_from([0.1, 0.3, 0.7, 0.95])),
    st.builds(lambda c: Decision(costs={0: {1: c}}), st.sampled_from([0.2, 3.0, 20.0])),
    st.builds(lambda a: Decision(abstain=a), st.sampled_from([0.5, 0.8, 0.99])),
)


@settings(deadline=None, max_examples=200)
@given(explanations(), rules, st.sampled_from([None, Calibration("temperature", 3.0)]))
def test_no_smaller_set_changes_the_answer_of_a_decision_rule(one, rule, calibration):
    one = replace(one, posterior=Posterior(one.classes, one.log_prior, calibration, rule))
    if one.ruled_out:
        assert one.flip() is None
        return
    answers = {
        frozenset(gone): replace(one, log_evidence={n: p for n, p in one.log_evidence.items() if n not in gone}).answer
        for gone in subsets(one.log_evidence)
    }
    sizes = [len(gone) for gone, answer in answers.items() if answer != one.answer]
    flip = one.flip()
    if not sizes:
        assert flip is None
        return
    assert len(flip.columns) == min(sizes)
    assert (flip.predicted, flip.label) == (one.answer, answers[frozenset(flip.columns)])


def test_the_flip_of_a_model_follows_its_decision_rule():
    rows = {"x": ["a", "a", "a", "b", "b", "b"] * 5, "y": ["G", "G", "R", "R", "R", "G"] * 5}
    model = tb.fit(rows, label="y", smoothing=1)
    assert str(model.explain({"x": "b"})[0].flip()) == "without x it would be G"
    model.decision = tb.Decision(positive="R", threshold=0.2)
    (one,) = model.explain({"x": "a"})
    assert (one.answer, one.flip()) == ("R", None)  # P(R) is at least 0.2 with and without x
    model.decision = tb.Decision(positive="R", threshold=0.6)
    assert str(model.explain({"x": "b"})[0].flip()) == "without x it would be G"
    model.decision = tb.Decision(abstain=0.6)
    assert str(model.explain({"x": "b"})[0].flip()) == "without x there would be no answer"


def test_the_sentence_says_who_is_ahead_and_who_wins():
    parts = {"x": np.array([3.0, 0.0, 0.0]), "z": np.array([0.5, 0.0, 0.0])}
    one = Explanation(("p", "q", "r"), {}, np.array([0.0, 1.0, 2.0]), parts)
    assert str(one.flip()) == "without x it would be r"
    assert str(one.flip("q")) == "without x q would be ahead of p (and r first)"
    assert one.flip("q").to_dict() == {"columns": ["x"], "label": "r", "against": "q", "log_odds": [2.5, -0.5]}


@pytest.mark.slow
def test_the_command_says_it_under_the_table(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b,y\n" + "1,x,p\n1,y,q\n2,x,p\n2,y,q\n" * 8)
    model = tmp_path / "model.tally"
    tb.fit(str(table), label="y").save(model)

    def run(*options):
        verb = [sys.executable, "-m", "tallybayes.cli.main", "explain"]
        command = [*verb, str(model), str(table), "--row", "1", *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert run().splitlines()[-1] == "without b it would be p"
    assert run("--positive", "p", "--against", "q").splitlines()[-1] == "without b it would be p"
    assert json.loads(run("--json"))[0]["flip"]["columns"] == ["b"]


def test_the_flip_of_many_columns_starts_from_the_answer_of_the_rule_not_from_the_most_probable_class():
    """Of 40 columns only greedy sets are tried; they have to be those that take the answer away."""
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 400, p=[0.9, 0.1])
    rows = {f"x{i}": rng.normal(size=400) + 0.4 * (y == "yes") for i in range(40)} | {"y": y}
    model = tb.fit(rows, "y", numeric="gaussian", column_weights=None)
    model.decision = tb.Decision(positive="yes", threshold=0.05)
    p = model.predict_proba(rows)[:, 1]
    row = int(np.flatnonzero((p > 0.1) & (p < 0.4))[0])  # answered yes, but no is more probable
    one = {name: column[[row]] for name, column in rows.items() if name != "y"}
    flip = model.explain(one)[0].flip()
    assert (flip.predicted, flip.label) == ("yes", "no")
    assert len(flip.columns) <= 8
    missing = {name: [None] if name in flip.columns else column for name, column in one.items()}
    assert model.predict(missing).tolist() == ["no"]


def test_where_there_is_no_answer_a_set_may_give_one():
    rng = np.random.default_rng(1)
    y = rng.choice(["no", "yes"], 300)
    rows = {f"x{i}": rng.normal(size=300) + 0.5 * (y == "yes") for i in range(30)} | {"y": y}
    model = tb.fit(rows, "y", numeric="gaussian", column_weights=None)
    model.decision = tb.Decision(abstain=0.9)
    row = int(np.flatnonzero(model.predict_proba(rows).max(axis=1) < 0.7)[0])
    one = {name: column[[row]] for name, column in rows.items() if name != "y"}
    explained = model.explain(one)[0]
    flip = explained.flip()
    assert (explained.answer, flip.predicted) == (None, None)
    assert model.predict({n: [None] if n in flip.columns else c for n, c in one.items()}).tolist() == [flip.label]
