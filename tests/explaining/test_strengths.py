"""How strongly columns are smoothed, as `describe`, `inspect` and printed models say it."""

import json
import subprocess
import sys

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.families import FAMILIES
from tallybayes.families.discrete.discrete_family import DiscretePrior
from tallybayes.families.shrinkage import STRENGTHS
from tallybayes.families.tokens.multinomial import STRENGTHS as BAG_STRENGTHS
from tallybayes.families.tokens.token_family import TokenPrior


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["p", "q"], n)
    same = rng.random(n) < 0.6
    x = np.where(same, y, rng.choice(["p", "q", "r"], n))
    bags = [list(rng.choice(["a", "b", "c"] if label == "p" else ["b", "c", "d"], 3)) for label in y]
    return {"x": x, "f": (x == "p").astype(int), "z": rng.choice(["u", "v", "w"], n), "bag": bags, "y": y}


FAMILY_OF = {"x": "categorical", "f": "bernoulli", "z": "categorical", "bag": "multinomial"}


def test_the_strength_by_evidence_has_the_greatest_evidence():
    """By brute force over the candidates."""
    model = tb.fit(table(), "y", families=FAMILY_OF, column_weights=None)
    found = model.describe().strengths
    assert found.keys() == FAMILY_OF.keys()
    for block in model.snapshot().scorer.blocks:
        for name in block.tally.features:
            part, strength = block.tally.only((name,)), found[name]
            assert strength.is_selected
            if block.family.name == "multinomial":
                evidence = {k: block.family.evidence(part, TokenPrior(np.array([k])))[0] for k in BAG_STRENGTHS}
            else:
                evidence = {a: block.family.evidence(part, DiscretePrior(None, np.array([a])))[0] for a in STRENGTHS}
            assert evidence[strength.value] == max(evidence.values())
    assert found["z"].value > found["x"].value  # noise is shrunk, what tells the class is not


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("smoothing", ["auto", 0.5, 3.0])
def test_every_family_names_a_k_that_gives_the_same_scores(name, smoothing):
    """Laplace's k, given or by evidence; a strength of another kind is that of "auto" only, or is the given one."""
    family = FAMILIES[name]()
    rng = np.random.default_rng(0)
    column, codes = family.example(rng, 80), rng.integers(0, 2, 80).astype(np.int32)
    tally = family.observe(("x",), [column], codes, 2, None)
    found = family.strengths(tally, smoothing)
    assert len(found) == (1 if family.takes_smoothing else 0)
    for strength in found:
        if smoothing != "auto":
            assert (strength.value, strength.is_selected) == (smoothing, False)
        if strength.name == "k" or smoothing != "auto":
            one, other = (family.derive(tally, k).log_prob([column]) for k in (strength.value, smoothing))
            np.testing.assert_array_equal(one, other)


def test_a_selected_k_is_kept_and_shown(tmp_path):
    two = {name: table()[name] for name in ("x", "z", "y")}
    tuned = tb.tune(two, "y", by="validation", smoothing=5000.0, strengths=5)
    k = min(tuned.curve, key=lambda point: point["log_loss"])["k"]
    assert set(tuned.model.settings.smoothing.values()) == {k}
    tuned.model.save(tmp_path / "model.tally")
    loaded = tb.load(tmp_path / "model.tally")
    assert f"smoothing        k = {k:g}" in str(loaded)
    assert {name: strength.value for name, strength in loaded.describe().strengths.items()} == {"x": k, "z": k}
    command = [sys.executable, "-m", "tallybayes.cli.main", "inspect", str(tmp_path / "model.tally")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"smoothing: k = {k:g}" in printed
    assert printed.count(f"k = {k:g})") == 2
    found = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
    assert found["strengths"] == {name: {"k": k, "by_evidence": False} for name in "xz"}


def test_a_model_with_several_k_says_of_which_columns():
    model = tb.fit(table(), "y", families=FAMILY_OF, smoothing={"x": 2.0, "z": 2.0})
    assert "k = 2 of x, z" in str(model)
    assert "by evidence of f, bag" in str(model) or "by evidence of bag, f" in str(model)
    assert "smoothing" not in str(tb.fit(table(), "y", families=FAMILY_OF))
    assert tb.fit(table(), "y", families=FAMILY_OF, estimate="mle").describe().strengths["x"].value == 0
    numbers = tb.fit({"x": [0.5, 1.5, 2.5], "y": ["p", "q", "q"]}, "y", numeric="gaussian")
    assert numbers.describe().strengths == {}
    assert "strengths" not in numbers.describe().to_dict()
