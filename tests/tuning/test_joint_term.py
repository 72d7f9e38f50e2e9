"""A joint Gaussian in place of the columns of numbers, where held-out rows gain by it."""

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import ParameterError


def pairs(n=800, seed=0, **more):
    """Two numbers that go together in one class only, and one that tells nothing."""
    rng = np.random.default_rng(seed)
    good, a = rng.random(n) < 0.5, rng.normal(size=n)
    b = np.where(good, a + 0.4 * rng.normal(size=n), rng.normal(size=n))
    table = {"a": a, "b": b, "c": rng.normal(size=n), "word": rng.choice(["u", "v"], n), "y": np.where(good, "p", "q")}
    return table | {name: value(rng, n) for name, value in more.items()}


WHAT = ["column_weights", "joint"]


def test_the_group_takes_the_place_of_its_members():
    table, new = pairs(), pairs(seed=1)
    tuned = tb.tune(table, "y", what=WHAT)
    assert tuned.steps[-1].choice == "used: 3 columns, a covariance of each class"
    families = tuned.model.schema.families
    assert {name: family.name for name, family in families.items()} == {
        "a,b,c": "joint_gaussian",
        "word": "categorical",
    }
    default = tb.fit(table, "y")
    found = tb.evaluate(tuned.model, new).log_loss
    assert found < tb.evaluate(default, new).log_loss - 0.1
    assert found == pytest.approx(tuned.estimate.log_loss, abs=4 * tuned.estimate.error)


def test_its_sums_are_those_of_a_model_that_was_fitted_with_the_group(tmp_path):
    """So it learns, forgets, merges and is saved like that."""
    table, more = pairs(), pairs(100, seed=2)
    model = tb.tune(table, "y", what=WHAT).model
    by_hand = tb.fit(table, "y", families={("a", "b", "c"): "joint_gaussian"})
    assert model.same_counts(by_hand)
    np.testing.assert_allclose(model.plain().predict_proba(more), by_hand.plain().predict_proba(more), rtol=1e-12)
    changed = model.copy()
    changed.learn(more)
    assert changed.same_counts(tb.fit({k: np.append(table[k], more[k]) for k in table}, "y", schema=model.schema))
    changed.forget(more)
    assert changed == model
    model.save(tmp_path / "model.tally")
    assert tb.load(tmp_path / "model.tally") == model
    row = {name: values[0] for name, values in more.items() if name != "y"}
    one = model.predict_proba_one(row)
    np.testing.assert_array_equal([one[label] for label in model.classes], model.predict_proba(more)[0])
    assert "a,b,c" in str(model.explain(row)[0])


def test_one_covariance_where_the_classes_share_it():
    """Many columns, few rows: a matrix for each class has too many parameters."""
    rng = np.random.default_rng(0)
    n, classes = 400, ["p", "q", "r", "s", "t", "u"]
    y, size = rng.integers(0, 6, n), 3 * rng.normal(size=n)
    table = {f"x{j}": size + rng.normal(size=n) + 1.5 * (y == j) for j in range(6)} | {"y": np.array(classes)[y]}
    step = tb.tune(table, "y", what=WHAT).steps[-1]
    assert step.choice == "used: 6 columns, a covariance of all classes"
    assert step.after < step.before


def test_independent_columns_stay_as_they_are():
    rng = np.random.default_rng(0)
    y = rng.choice(["p", "q"], 1000)
    table = {f"x{j}": rng.normal(size=1000) + (y == "q") * (j < 2) for j in range(4)} | {"y": y}
    tuned = tb.tune(table, "y")
    assert tuned.is_default
    assert tuned.model == tb.fit(table, "y")


def test_noise_does_not_look_like_a_group():
    """In at most one of 20 tables of noise."""
    used = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = {f"x{j}": rng.normal(size=300) for j in range(4)} | {"y": rng.choice(["p", "q"], 300)}
        used += tb.tune(table, "y", what=WHAT).steps[-1].choice.startswith("used")
    assert used <= 1


def test_columns_that_cannot_be_in_a_group():
    """Specified families stay, and a single number has no group."""
    kept = tb.tune(pairs(), "y", what=WHAT, families={"a": "histogram"})
    assert "a" in kept.model.schema.families
    alone = tb.tune({name: values for name, values in pairs().items() if name in ("a", "word", "y")}, "y", what=WHAT)
    assert [step.name for step in alone.steps[1:]] in ([], ["other terms"])
    with pytest.raises(ParameterError, match="hyperparameter"):
        tb.tune(pairs(), "y", what="joined")


def test_missing_values_and_groups_of_rows():
    table = pairs(1000)
    gaps = np.random.default_rng(3).random((3, 1000)) < 0.1
    for name, gap in zip("abc", gaps, strict=True):
        table[name] = np.where(gap, np.nan, table[name])
    tuned = tb.tune(table, "y")
    assert "a,b,c" in tuned.model.schema.families
    assert np.isfinite(tuned.model.predict_proba({"a": [np.nan, 0.0], "b": [np.nan, 1.0]})).all()
    grouped = tb.tune(table | {"g": np.arange(1000) // 5}, "y", group="g", what=WHAT)
    assert "a,b,c" in grouped.model.schema.families


def test_no_time_is_left_for_it():
    steps = tb.tune(pairs(), "y", what=WHAT, seconds=0).steps
    assert [step.name for step in steps] == ["column weights", "other terms"]
