"""Corrections of tokens: the kernel, what they do to scores and explanations, and that they are settings."""

from dataclasses import replace

import numpy as np
import pytest

import tallybayes as tb
from tallybayes import kernels
from tallybayes.state.token_corrections import CorrectionTable, TokenCorrections


def reviews(n, seed=0):
    """Reviews with a reliable word and a set phrase that says less, which naive Bayes counts word by word."""
    rng = np.random.default_rng(seed)
    is_up = rng.random(n) < 0.5
    word = np.where((rng.random(n) < 0.85) == is_up, "good", "bad")
    phrase = np.where((rng.random(n) < 0.7) == is_up, "the very best film of all", "some plot or other this time")
    texts = [f"{a} {b}" for a, b in zip(word.tolist(), phrase.tolist(), strict=True)]
    return {"text": texts, "label": np.where(is_up, "up", "down").tolist()}


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_native_gradient_is_the_reference(n_classes):
    rng = np.random.default_rng(n_classes)
    ends = np.array([0, 3, 3, 7, 9])
    given = (
        rng.normal(size=(6, n_classes)),
        rng.normal(size=(4, n_classes)) * 10,
        ends,
        rng.integers(0, 6, 9).astype(np.int32),
        rng.random(9),
        rng.integers(0, n_classes, 4).astype(np.int32),
        rng.random(4) + 0.5,
    )
    loss, slope = kernels.active.correction_gradient(*given)
    expected, wanted = kernels.reference.correction_gradient(*given)
    assert loss == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(slope, wanted, rtol=1e-10, atol=1e-14)
    for at in [(0, 0), (3, 1)]:  # the gradient is the slope of the loss
        ahead, behind = given[0].copy(), given[0].copy()
        ahead[at] += 1e-6
        behind[at] -= 1e-6
        difference = kernels.active.correction_gradient(ahead, *given[1:])[0]
        difference -= kernels.active.correction_gradient(behind, *given[1:])[0]
        assert slope[at] == pytest.approx(difference / 2e-6, abs=1e-6)


def with_corrections(model, **columns):
    state = model.snapshot().state
    found = TokenCorrections(columns, float(sum(model.class_counts.values())), 10.0)
    return tb.Model(replace(state, settings=replace(state.settings, token_corrections=found)))


@pytest.mark.parametrize("weights", [None, {"text": 0.5}])
@pytest.mark.parametrize("family", ["text:counts,k=1", "text:complement,tf=log,k=0.5,ngrams=2"])
def test_corrections_add_to_the_weights_of_tokens(family, weights, tmp_path):
    data = reviews(60)
    plain = tb.fit(data, label="label", families={"text": family}, column_weights=weights)
    table = CorrectionTable(("good", "never seen"), ("down", "up"), np.array([[0.25, -1.5], [9.0, 9.0]]))
    model = with_corrections(plain, text=table)
    new = {"text": ["very good plot", "bad film", ""]}
    added = model.log_score(new) - plain.log_score(new)
    assert added[1:] == pytest.approx(np.zeros((2, 2)), abs=1e-12)
    ratio = added[0] / np.array([0.25, -1.5])
    assert ratio[0] == pytest.approx(ratio[1], rel=1e-9)
    if family == "text:counts,k=1":
        assert ratio[0] == pytest.approx(1.0 if weights is None else 0.5, rel=1e-9)
    why = model.explain({"text": [new["text"][0]]})[0]
    words = sum(value for _, value in why.word_odds("text", "up", "down"))
    prior = model.log_score({"text": [None]})[0]
    joint = model.log_score({"text": [new["text"][0]]})[0]
    assert words == pytest.approx((joint - prior)[1] - (joint - prior)[0], rel=1e-9)
    model.save(tmp_path / "m.tally")
    again = tb.load(tmp_path / "m.tally")
    assert again.settings == model.settings
    assert np.array_equal(again.log_score(new), model.log_score(new))
    assert np.array_equal(model.log_score({"text": [new["text"][0]]})[0], model.log_score(new)[0])
    before = model.leave_one_out(data)
    assert not np.allclose(before, plain.leave_one_out(data))
    model.learn(reviews(30, seed=2))
    assert "token_corrections" in model.stale


def test_tuning_finds_them_where_they_help_and_not_elsewhere():
    data, new = reviews(1500), reviews(500, seed=1)
    given = {"text": "text:counts,tf=once,k=1"}
    tuned = tb.tune(data, label="label", what=["text", "column_weights"], families=given, rows=500)
    assert tuned.steps[-1].name == "corrections of tokens"
    assert tuned.steps[-1].after < tuned.steps[-1].before
    plain = tb.fit(data, label="label", families=given)
    assert tb.evaluate(tuned.model, new).log_loss < tb.evaluate(plain, new).log_loss
    assert tb.evaluate(tuned.model, new).accuracy > tb.evaluate(plain, new).accuracy
    rng = np.random.default_rng(0)
    noise = {**data, "label": rng.choice(["down", "up"], 1500).tolist()}
    useless = tb.tune(noise, label="label", what=["text", "column_weights"], families=given, rows=500)
    assert useless.model.settings.token_corrections is None
