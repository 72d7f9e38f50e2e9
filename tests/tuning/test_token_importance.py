"""Importance of tokens: against models without the token, against formulas, and against that of the column."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from command_line import fine
from tallybayes.state.token_corrections import CorrectionTable, TokenCorrections

WORDS = ["cash", "prize", "win", "lunch", "office"]


def lists(n=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b"], n)
    p = {"a": [0.4, 0.3, 0.1, 0.1, 0.1], "b": [0.1, 0.1, 0.1, 0.3, 0.4]}
    return {"x": [rng.choice(WORDS, rng.integers(0, 6), p=p[label]).tolist() for label in y], "y": y.tolist()}


def log_softmax(scores):
    return scores - np.logaddexp.reduce(scores)


def brute_force(table, token, k, score):
    """Gain and information by counting anew without each row: score(bag, counts by class, rows by class, kept)."""
    n, gain, information = len(table["y"]), 0.0, 0.0
    for i in range(n):
        rest = [(set_or_list, y) for j, (set_or_list, y) in enumerate(zip(*table.values(), strict=True)) if j != i]
        bags = {c: [bag for bag, y in rest if y == c] for c in ("a", "b")}
        known = {word for bag, _ in rest for word in bag}
        prior = np.log([len(bags[c]) + 1 for c in ("a", "b")])
        code = ["a", "b"].index(table["y"][i])
        parts = {word: score(word, table["x"][i], bags, known, k) for word in known}
        whole = prior + sum(parts.values())
        without = whole - parts.get(token, 0.0)
        gain += log_softmax(whole)[code] - log_softmax(without)[code]
        information += log_softmax(prior + parts.get(token, 0.0))[code] - log_softmax(prior)[code]
    return gain / n, information / n


def counts_score(word, bag, bags, known, k):
    n = {c: sum(other.count(word) for other in bags[c]) for c in bags}
    total = {c: sum(map(len, bags[c])) for c in bags}
    return bag.count(word) * np.log([(n[c] + k) / (total[c] + k * len(known)) for c in ("a", "b")])


def presence_score(word, bag, bags, known, k):
    p = np.array([(sum(word in other for other in bags[c]) + k) / (len(bags[c]) + 2 * k) for c in ("a", "b")])
    return np.log(p if word in bag else 1 - p)


@pytest.mark.parametrize(
    ("family", "score"),
    [("multinomial", counts_score), ("multinomial:presence", presence_score), ("tags", presence_score)],
)
def test_gain_and_information_equal_brute_force(family, score):
    table = lists()
    if family == "tags":
        table["x"] = [sorted(set(bag)) for bag in table["x"]]
    model = tb.fit(table, "y", families={"x": family}, smoothing=0.7, column_weights=None)
    found = tb.importance(model, table, tokens=True).tokens["x"]
    assert {one.token for one in found} == set(WORDS)
    assert [one.gain for one in found] == sorted((one.gain for one in found), reverse=True)
    for one in found:
        gain, information = brute_force(table, one.token, 0.7, score)
        assert one.gain == pytest.approx(gain, abs=1e-12)
        assert one.information == pytest.approx(information, abs=1e-12)
        assert one.n_rows == sum(one.token in bag for bag in table["x"])


weight = st.floats(0.1, 2.0)


@settings(max_examples=10, deadline=None)
@given(
    weights=st.one_of(weight, st.fixed_dictionaries({"a": weight, "b": weight})),
    smoothing=st.sampled_from(["auto", 0.5, 0]),
    grouped=st.booleans(),
)
def test_of_a_column_with_one_tag_it_is_the_importance_of_the_column(weights, smoothing, grouped):
    rng = np.random.default_rng(3)
    y = rng.choice(["a", "b"], 60)
    tags = [["t"] if rng.random() < (0.7 if label == "a" else 0.3) else [] for label in y]
    table = {"x": tags, "z": rng.choice(["u", "v"], 60).tolist(), "y": y.tolist(), "g": (np.arange(60) // 3).tolist()}
    group = {"group": "g"} if grouped else {"ignore": ["g"]}
    options = {"families": {"x": "tags", "z": "categorical"}, "column_weights": None, **group}
    model = tb.fit(table, "y", smoothing=smoothing, **options)
    model.column_weights = tb.ColumnWeights({"x": weights})
    result = tb.importance(model, table, tokens=True)
    column = next(one for one in result.columns if one.column == "x")
    (token,) = result.tokens["x"]
    assert (token.token, token.n_rows) == ("t", sum(map(len, tags)))
    assert token.gain == pytest.approx(column.gain, abs=1e-9)
    assert token.information == pytest.approx(column.information, abs=1e-9)


@pytest.mark.parametrize(
    "family", ["text:counts,ngrams=1", "text:complement,tf=log", "text:presence", "text:counts,top=2"]
)
def test_a_word_of_every_row_is_not_the_most_important(family):
    table = lists(80)
    table["x"] = [" ".join(["same", *words]) for words in table["x"]]
    model = tb.fit(table, "y", families={"x": family})
    model.calibration = tb.Calibration("temperature", 1.5)
    result = tb.importance(model, table, tokens=True)
    gains = {one.token: one.gain for one in result.tokens["x"]}
    assert abs(gains["same"]) < max(gains.values())
    assert "token of x" in str(result)
    assert result.tokens_to_frame()["token"].tolist() == [one.token for one in result.tokens["x"]]


def test_corrections_of_tokens_are_part_of_the_importance_of_their_column():
    table = lists(60)
    plain = tb.fit(table, "y", families={"x": "multinomial"}, smoothing=1.0, column_weights=None)
    state = plain.snapshot().state
    corrections = TokenCorrections({"x": CorrectionTable(("win",), ("a", "b"), np.array([[1.0, -1.0]]))})
    model = tb.Model(replace(state, settings=replace(state.settings, token_corrections=corrections)))
    log_proba = model.leave_one_out(table)
    codes = np.searchsorted(["a", "b"], table["y"])
    result = tb.importance(model, table, tokens=True)
    assert result.log_loss == pytest.approx(-log_proba[np.arange(60), codes].mean(), abs=1e-9)
    before = {one.token: one.gain for one in tb.importance(plain, table, tokens=True).tokens["x"]}
    after = {one.token: one.gain for one in result.tokens["x"]}
    assert after["win"] < before["win"]  # a wrong correction makes the word worse


def test_the_command_ranks_tokens(tmp_path):
    table = lists(30)
    lines = [f"{'|'.join(sorted(set(bag)))},{y}" for bag, y in zip(*table.values(), strict=True)]
    (tmp_path / "d.csv").write_text("\n".join(["x,y", *lines, ""]))
    fine("fit", "d.csv", "--label", "y", "-o", "m.tally", "--as", "x=tags", "--smoothing", "1", cwd=tmp_path)
    assert "token of x" in fine("importance", "m.tally", "d.csv", "--tokens", cwd=tmp_path)
    assert "token of x" not in fine("importance", "m.tally", "d.csv", cwd=tmp_path)
    facts = json.loads(fine("importance", "m.tally", "d.csv", "--tokens", "--json", cwd=tmp_path))
    assert {one["token"] for one in facts["tokens"]["x"]} == set(WORDS)
    assert set(facts["tokens"]["x"][0]) == {"token", "n_rows", "information", "gain"}
