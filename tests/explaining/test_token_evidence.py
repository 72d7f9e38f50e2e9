"""What the tokens of texts, tags and lists add: the parts of a column add up to its evidence, whatever its options."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from command_line import tally
from tallybayes.errors import ParameterError, UnsupportedError
from tallybayes.state.token_corrections import CorrectionTable, TokenCorrections

WORDS = ["cash", "prize", "win", "lunch", "office", "note"]
FAMILIES = [
    "tags",
    "multinomial",
    "multinomial:presence",
    "multinomial:complement",
    "text:counts",
    "text:presence",
    "text:complement,tf=log",
    "text:counts,tf=once,k=0",
    "text:presence,k=0",
    "text:presence,min_count=2",
    "text:counts,cap=1,top=2",
    "text:counts,buckets=5,key=00112233445566778899aabbccddeeff",
]
CLASSES = ["a", "b", "c"]


def rows_of(family, lists):
    """Lists of tokens as cells of a column, missing where there is none."""
    if family.startswith("text"):
        return [None if tokens is None else " ".join(tokens) for tokens in lists]
    return [None if tokens is None else sorted(set(tokens)) if "multi" not in family else tokens for tokens in lists]


bags = st.lists(st.one_of(st.none(), st.lists(st.sampled_from(WORDS), max_size=6)), min_size=6, max_size=14)
weight = st.floats(0.0, 2.0)
column_weights = st.one_of(st.none(), weight, st.fixed_dictionaries(dict.fromkeys(CLASSES, weight)))


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=15, deadline=None)
@given(lists=bags, weights=column_weights, is_evidence=st.booleans(), is_corrected=st.booleans(), data=st.data())
def test_the_parts_of_a_column_add_up_to_its_evidence(family, lists, weights, is_evidence, is_corrected, data):
    lists = [*lists, ["cash"], ["lunch", "lunch"], None]
    table = {"x": rows_of(family, lists), "y": [CLASSES[i % 3] for i in range(len(lists))]}
    options = {"smoothing": 1.0, "column_weights": None, "missing_as_value": is_evidence}
    model = tb.fit(table, "y", families={"x": family}, **options)
    if weights is not None:
        model.column_weights = tb.ColumnWeights({"x": weights})
    if is_corrected and "buckets" not in family:
        values = np.array([[0.5, -0.25, 0.0], [0.0, 1.0, -1.0]])
        corrections = TokenCorrections({"x": CorrectionTable(("cash", "note"), tuple(CLASSES), values)})
        state = model.snapshot().state
        model = tb.Model(replace(state, settings=replace(state.settings, token_corrections=corrections)))
    new = data.draw(st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=5))
    for one, tokens in zip(model.explain({"x": rows_of(family, [*lists, new])}), [*lists, new], strict=True):
        if tokens is None:
            assert "x" not in one.words
            continue
        parts = [part.log_evidence for part in one.words["x"]]
        total = np.sum(parts, axis=0) if parts else np.zeros(3)
        size = np.abs(np.nan_to_num(np.array(parts), neginf=0.0)).sum(axis=0) if parts else np.zeros(3)
        whole = one.log_evidence["x"]
        assert np.array_equal(np.isneginf(total), np.isneginf(whole))
        there = np.isfinite(whole)
        assert (np.abs(total - whole)[there] <= 1e-12 * np.maximum(size[there], 1.0)).all()
        assert {part.token for part in one.words["x"] if not part.rest} <= set(tokens) | pairs(tokens)


def pairs(tokens):
    return {f"{a} {b}" for a, b in itertools.pairwise(tokens)}


def test_tags_by_hand():
    """k = 1: P(war | a) = 3/4, P(love | a) = 1/4, P(war | b) = 1/4, P(love | b) = 3/4."""
    table = {"g": ["war", "war", "love", "love"], "y": ["a", "a", "b", "b"]}
    model = tb.fit(table, "y", families={"g": "tags"}, smoothing=1, column_weights=None)
    (one,) = model.explain({"g": ["war"]})
    war, absent = one.words["g"]
    assert (war.token, war.amount, war.rest, absent.rest) == ("war", 1.0, "", "absent tokens")
    np.testing.assert_allclose(np.exp(war.log_evidence), [3 / 4, 1 / 4])
    np.testing.assert_allclose(np.exp(absent.log_evidence), [3 / 4, 1 / 4])  # love is absent
    assert [[part["word"], part.get("rest")] for part in one.to_dict()["words"]["g"]] == [
        ["war", None],
        [None, "absent tokens"],
    ]
    assert "token of g" in str(one)
    assert "(absent tokens)" in str(one)


def test_a_list_of_amounts_by_hand():
    table = {"x": [{"p": 2, "q": 1}, {"q": 3}], "y": ["a", "b"]}
    model = tb.fit(table, "y", families={"x": "multinomial"}, smoothing=1, column_weights=None)
    (one,) = model.explain({"x": [{"p": 2.5, "r": 9}]})
    (part,) = one.words["x"]
    assert (part.token, part.amount) == ("p", 2.5)
    np.testing.assert_allclose(part.log_evidence, 2.5 * np.log([3 / 5, 1 / 5]))
    (both,) = model.explain({"x": [{"p": 1, "q": 1}]})  # 3/5 2/5 against 1/5 4/5
    assert str(both.flip(words="x")) == "without the word p it would be b"


def test_tokens_depend_on_each_other_where_classes_have_different_weights():
    table = {"x": [["p"], ["q"], ["q"]] * 4, "y": ["a", "b", "b"] * 4}
    model = tb.fit(table, "y", families={"x": "multinomial"}, column_weights=None)
    assert model.explain({"x": [["p"]]})[0].flip(words="x").words == ("p",)
    model.column_weights = tb.ColumnWeights({"x": {"a": 0.5, "b": 1.0}})
    with pytest.raises(UnsupportedError, match=r"one\s+column weight for all classes"):
        model.explain({"x": [["p"]]})[0].flip(words="x")


def test_all_tokens_are_shown_on_request():
    words = [f"w{i:02}" for i in range(30)]
    table = {"x": [" ".join(words), "other"], "y": ["a", "b"]}
    one = tb.fit(table, "y", families={"x": "text:counts,ngrams=1"}).explain({"x": [" ".join(words)]})[0]
    assert "(20 more)" in one.shown()
    assert "more)" not in one.shown(all=True)
    assert all(word in one.shown(all=True) for word in words)
    with pytest.raises(ParameterError, match="top or all=True"):
        one.shown(top=3, all=True)


def test_the_command_shows_all_tags(tmp_path):
    tags = "|".join(f"t{i:02}" for i in range(15))
    (tmp_path / "d.csv").write_text(f"g,y\n{tags},a\nt01|t20,b\n" * 6)
    tally("fit", "d.csv", "--label", "y", "-o", "m.tally", "--as", "g=tags", cwd=tmp_path)
    assert "more)" in tally("explain", "m.tally", "d.csv", "--row", "0", cwd=tmp_path).stdout
    every = tally("explain", "m.tally", "d.csv", "--row", "0", "--all", cwd=tmp_path).stdout
    assert all(f"t{i:02}" in every for i in range(15))
    assert "(absent tokens)" in every
    assert "more)" not in every
    (facts,) = json.loads(tally("explain", "m.tally", "d.csv", "--row", "0", "--json", cwd=tmp_path).stdout)
    total = np.sum([part["log_evidence"] for part in facts["words"]["g"]], axis=0)
    np.testing.assert_allclose(total, facts["log_evidence"]["g"], rtol=1e-12)
