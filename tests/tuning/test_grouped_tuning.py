"""Hyperparameters are selected on rows that are scored without all rows of their group."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.errors import DataError, ParameterError

STEPS = ["smoothing", "families", "class_smoothing", "columns"]


def visits(n_groups, seed, start=0):
    """Near copies of a few rows: the label is the group's, a street and a shop are shared by few groups."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), 1 + rng.poisson(9, n_groups))
    label, quality = rng.integers(0, 2, n_groups), rng.normal(size=n_groups)
    rows = {f"street {i}": rng.integers(0, 30, n_groups)[group].astype(str) for i in range(3)}
    rows |= {"x": (quality + label)[group] + rng.normal(size=len(group)), "g": group + start}
    table = pd.DataFrame(rows | {"y": np.where(label, "yes", "no")[group]})
    return table.sample(frac=1, random_state=seed).reset_index(drop=True)


ROWS, NEW = visits(120, 1), visits(400, 2, start=10**6)
OPTIONS = {
    "families": {"street 0": "categorical", "street 1": "categorical", "street 2": "categorical", "x": "gaussian"}
}


def tune(rows=ROWS, what=STEPS, **options):
    return tb.tune(rows, "y", what=what, strengths=8, **(OPTIONS | options))


def test_near_copies_in_a_group_do_not_make_k_over_confident():
    alone, grouped = (tune(ROWS.drop(columns="g"), "smoothing"), tune(what="smoothing", group="g"))
    ks = [tuned.model.settings.smoothing_of("street 0") for tuned in (alone, grouped)]
    assert ks[0] < 0.1
    assert ks[1] == "auto" or ks[1] > 10 * ks[0]
    losses = [tb.evaluate(tuned.model, NEW).log_loss for tuned in (alone, grouped)]
    assert losses[1] < losses[0] - 0.2
    assert alone.log_loss[1] < losses[0] - 1  # row by row, the estimate is that of known groups
    assert grouped.log_loss[1] == pytest.approx(losses[1], abs=0.15)


def test_columns_that_tell_the_group_are_excluded_only_where_groups_are_known():
    alone, grouped = (
        tune(ROWS.drop(columns="g"), "columns", smoothing=0.1),
        tune(what="columns", smoothing=0.1, group="g"),
    )
    assert list(alone.model.schema.families) == ["street 0", "street 1", "street 2", "x"]
    assert len(grouped.model.schema.families) < 4
    assert "x" in grouped.model.schema.families
    assert tb.evaluate(grouped.model, NEW).log_loss < tb.evaluate(alone.model, NEW).log_loss - 0.1


def test_the_curve_is_the_log_loss_of_models_without_the_group():
    """Five groups are five folds; one of them is much larger than the sample of rows is for one group."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(5), [400, 30, 20, 25, 60])
    rows = pd.DataFrame({"a": rng.choice(["u", "v", "w"], len(group)), "b": rng.choice(["s", "t"], len(group))})
    rows = rows.assign(y=np.where(rng.random(len(group)) < 0.3, rows["b"], rng.choice(["s", "t"], len(group))), g=group)
    tuned = tb.tune(rows, "y", what="smoothing", strengths=3, group="g")
    for point in tuned.curve:
        losses = []
        for number in range(5):
            other = tb.fit(rows[group != number].drop(columns="g"), "y", smoothing=point["k"], column_weights=None)
            p = other.predict_proba(rows[group == number])
            codes = np.searchsorted(other.classes, rows["y"][group == number])
            losses += (-np.log(p[np.arange(len(p)), codes])).tolist()
        assert point["log_loss"] == pytest.approx(np.mean(losses), rel=1e-9)


@given(st.integers(0, 1000), st.sampled_from([60, 4000]))
@settings(max_examples=6, deadline=None)
def test_the_order_of_the_rows_and_the_type_of_groups_do_not_matter(seed, rows):
    whole = tb.tune(ROWS, "y", what=["smoothing", "columns"], strengths=4, rows=rows, group="g", **OPTIONS)
    shuffled = ROWS.sample(frac=1, random_state=seed).astype({"g": str})
    again = tb.tune(shuffled, "y", what=["smoothing", "columns"], strengths=4, rows=rows, group="g", **OPTIONS)
    assert again.to_dict() == whole.to_dict()
    assert again.model.settings == whole.model.settings


def test_files_and_arrays_of_groups_give_the_same(tmp_path):
    named = tune(group="g")
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    by_file = tune(tmp_path / "rows.csv", group="g")
    by_array = tune(ROWS.drop(columns="g"), group=ROWS["g"].to_numpy())
    assert by_array.model.schema.group is None
    assert by_array.steps == named.steps
    assert by_file.steps[0] == named.steps[0]  # families of numbers in a file are others than those of a table


def test_validation_keeps_groups_in_one_part():
    rows = ROWS.assign(g=ROWS["g"] % 7)  # few groups, so that the parts are seen to be unions of them
    tuned = tb.tune(rows, "y", by="validation", strengths=4, group="g", seed=3, **OPTIONS)
    sizes = rows["g"].value_counts().tolist()
    sums = {sum(size for i, size in enumerate(sizes) if mask >> i & 1) for mask in range(2**7)}
    assert {tuned.test.n_rows, tuned.n_rows, round(sum(tuned.model.class_counts.values()))} <= sums
    shuffled = tb.tune(rows[::-1], "y", by="validation", strengths=4, group="g", seed=3, **OPTIONS)
    assert shuffled.log_loss == pytest.approx(tuned.log_loss)


def test_what_groups_cannot_be_kept_together_for_is_refused():
    with pytest.raises(
        ParameterError, match=r"no group with by='evidence': it takes all rows for independent, got 'g'"
    ):
        tb.tune(ROWS, "y", by="evidence", group="g")
    with pytest.raises(DataError, match="column 'g': expected at least two groups to tune on, got 1"):
        tune(ROWS.assign(g=1), group="g")
    with pytest.raises(DataError, match="a class with rows of more than one group"):
        tune(ROWS.assign(g=ROWS["y"]), group="g")


def test_importance_is_that_for_new_groups():
    model = tb.fit(ROWS, "y", group="g", column_weights=None, smoothing=0.1, **OPTIONS)
    grouped, alone = (
        {one.column: one.information for one in tb.importance(model, rows).columns}
        for rows in (ROWS, ROWS.drop(columns="g"))
    )
    assert alone["street 0"] > 0.05 > 0 > grouped["street 0"]
    assert grouped["x"] == pytest.approx(alone["x"], abs=0.05)


def test_corrections_of_tokens_are_judged_on_other_groups():
    """Every group has phrases of its own; row by row they seem to tell the label."""
    rng = np.random.default_rng(5)
    label = rng.integers(0, 2, 60)
    words = [" ".join(f"w{i}" for i in rng.integers(0, 300, 12)) for _ in label]
    rows = pd.DataFrame({"g": np.repeat(np.arange(60), 8), "y": np.where(label, "yes", "no").repeat(8)})
    rows["text"] = [words[i] + " " + " ".join(f"v{j}" for j in rng.integers(0, 50, 6)) for i in rows["g"]]
    options = {"what": ["text", "column_weights"], "families": {"text": "text"}}
    alone, grouped = tb.tune(rows.drop(columns="g"), "y", **options), tb.tune(rows, "y", group="g", **options)
    assert grouped.estimate.log_loss > 0.6 > alone.estimate.log_loss
    assert grouped.model.settings.token_corrections is None
