"""Interactions found by tuning, and the laws of the tuned model."""

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.model.saved_model import dumps, loads


def xor(n, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.choice(["r", "s"], n), rng.choice(["u", "v"], n)
    y = np.where(((a == "r") == (b == "u")) ^ (rng.random(n) < 0.05), "yes", "no")
    return {"a": a, "b": b, "x": rng.normal(size=n), "z": rng.choice(list("klm"), n), "y": y}


@pytest.fixture(scope="module")
def tuned():
    return tb.tune(xor(600, 0), label="y")


def test_an_interaction_is_found_that_fit_cannot_see(tuned):
    new = xor(2000, 1)
    assert "a x b" in tuned.model.schema.families
    assert tb.evaluate(tuned.model, new).accuracy > 0.93
    assert tb.evaluate(tb.fit(xor(600, 0), label="y"), new).accuracy < 0.6


def test_no_terms_are_tried_where_no_pair_of_columns_interacts():
    rng, steps = np.random.default_rng(0), []
    y = rng.choice(["p", "q"], 600)
    table = {f"x{j}": (y == "p") * 0.5 + rng.normal(size=600) for j in range(5)} | {"y": y}
    tuned = tb.tune(table, label="y", progress=lambda step, _: steps.append(step))
    assert [(step.name, step.choice) for step in tuned.steps[1:]] == [("other terms", "none needed: no pair interacts")]
    assert tuned.steps[-1].candidates == 10
    assert "counting" not in steps
    assert tuned.model.column_weights is not None


def test_the_laws_hold_for_a_tuned_model(tuned):
    table, more, before = xor(600, 0), xor(30, 2), dumps(tuned.model)
    model = loads(before)
    assert dumps(model) == before
    model.learn(more)
    model.forget(more)
    assert dumps(model) == before
    order = np.random.default_rng(1).permutation(600)
    assert dumps(tb.tune({name: v[order] for name, v in table.items()}, label="y").model) == before
    probe = {name: values for name, values in more.items() if name != "y"}
    together = model.predict_proba(probe)
    for i in range(30):
        row = {name: values[i] for name, values in probe.items()}
        assert model.predict_proba([row]).tobytes() == together[i].tobytes()
        assert list(model.predict_proba_one(row).values()) == together[i].tolist()
    for one, scores in zip(model.explain(probe), model.log_score(probe), strict=True):
        np.testing.assert_allclose(one.log_prior + sum(one.log_evidence.values()), scores, atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_the_estimate_agrees_with_new_rows_of_noise(seed):
    def noise(n, seed):
        rng = np.random.default_rng(seed)
        return {f"x{i}": rng.normal(size=n) for i in range(10)} | {"y": rng.choice(["p", "q"], n)}

    found = tb.tune(noise(1000, seed), label="y")
    loss = tb.evaluate(found.model, noise(5000, seed + 100)).log_loss
    assert abs(loss - found.estimate.log_loss) < 3 * found.estimate.error + 0.003


def test_weights_that_are_worse_than_none_on_other_rows_are_not_used():
    """Independent columns, as naive Bayes assumes: their evidence needs no weights."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    rows = {f"x{j}": np.where(rng.random(200) < 0.75, y, 1 - y).astype(str).tolist() for j in range(8)}
    tuned = tb.tune({**rows, "y": y.tolist()}, label="y")
    assert (tuned.steps[-1].name, tuned.steps[-1].choice) == ("no column weights", "used")
    assert tuned.model.column_weights.weights == {}
    assert tuned.estimate.log_loss == tuned.log_loss[1] < tuned.log_loss[0]
    assert not tuned.is_default
    plain = tb.fit({**rows, "y": y.tolist()}, label="y", column_weights=None)
    assert tuned.model.predict_proba(rows).tolist() == plain.predict_proba(rows).tolist()
