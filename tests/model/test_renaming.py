"""Renaming classes or columns renames the answers: folds are dealt by the values of the rows, not by names."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb

NAMES = st.lists(st.text("abcxyz", min_size=1, max_size=3), min_size=5, max_size=5, unique=True)


def table(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    columns = [
        rng.normal(size=n) + y,
        rng.choice(list("xyz"), n),
        np.round(rng.normal(size=n) + 0.5 * y, 2),
        np.where(rng.random(n) < 0.3 + 0.4 * y, "u", "v"),
        rng.poisson(3 + y),
    ]
    return columns, y


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), names=NAMES, classes=NAMES, n=st.sampled_from([60, 150, 400]))
def test_renaming_columns_and_classes_changes_no_probability(seed, names, classes, n):
    columns, y = table(n, seed)
    answers = []
    for own, labels in ((list("abcde"), ["no", "yes"]), (names, sorted(classes[:2]))):
        data = dict(zip(own, columns, strict=True))
        families = dict(zip(own, ["histogram", "categorical", "histogram", "categorical", "histogram"], strict=True))
        model = tb.fit(data, label=np.array(labels)[y], families=families)
        answers.append(model.predict_proba(data)[:, model.classes.index(labels[1])])
    np.testing.assert_allclose(*answers, atol=1e-4)  # weights are rounded to six digits


@pytest.mark.parametrize("seed", range(6))
def test_renaming_classes_selects_the_same_variant_of_text(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 80)
    words = np.where(y[:, None] == 1, rng.integers(0, 60, (80, 12)), rng.integers(20, 90, (80, 12)))
    docs = [" ".join(f"w{i}" for i in row) for row in words.tolist()]
    models = [
        tb.fit({"t": docs}, label=np.array(labels)[y], families={"t": "text"}, column_weights=None)
        for labels in (["a", "b"], ["no", "yes"], ["ham", "spam"])
    ]
    assert len({str(model.schema.families["t"]) for model in models}) == 1
