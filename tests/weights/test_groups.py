"""Rows of a group are held out together: where weights are fitted, and where training rows are scored."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes import engines
from tallybayes.columns.schema import Schema
from tallybayes.errors import ParameterError
from tallybayes.weights.held_out_evidence import held_out_evidence


def hosts(n_hosts, seed, start=0):
    """Listings of hosts: the label is the host's, a street tells who he is, and a rate tells a little of the label."""
    rng = np.random.default_rng(seed)
    host = np.repeat(np.arange(n_hosts), 1 + rng.poisson(3, n_hosts))
    quality = rng.normal(size=n_hosts)
    label = np.where(0.6 * quality + rng.normal(size=n_hosts) > 0.3, "yes", "no")
    rows = {
        "host": host * 97 + start,
        "street": np.array([f"street {i}" for i in rng.integers(0, n_hosts // 3, n_hosts)])[host],
        "rate": np.round(quality[host] + rng.normal(size=len(host)), 2),
        "beds": rng.poisson(2, len(host)),
        "label": label[host],
    }
    return pd.DataFrame(rows).sample(frac=1, random_state=seed).reset_index(drop=True)


def fit_alone(rows=None):
    """A model without groups, and a doubt."""
    with pytest.warns(tb.DataWarning, match=r"(?s)'host': rows with the same value.*group='host' \(--group host\)"):
        return tb.fit(ROWS if rows is None else rows, "label", ignore=["host"])


ROWS, NEW = hosts(400, 1), hosts(400, 2, start=10**6)
WHOLE = tb.fit(ROWS, "label", group="host")


def test_weights_fitted_on_whole_groups_are_better_for_new_groups():
    alone, grouped = fit_alone(), tb.fit(ROWS, "label", group="host")
    figures = [tb.evaluate(model, NEW).log_loss for model in (alone, grouped)]
    assert figures[1] < figures[0] - 0.1
    assert figures[1] < tb.evaluate(grouped, NEW).prior_log_loss


def test_the_estimates_with_groups_are_those_of_new_groups():
    model = tb.fit(ROWS, "label", group="host")
    new = tb.evaluate(model, NEW).log_loss
    own, folds = tb.evaluate(model, ROWS), tb.cross_validate(ROWS, "label", group="host")
    assert own.split == "training rows, scored by folds of whole groups (host): each by a model without its group"
    assert own.log_loss == pytest.approx(new, abs=0.06)
    assert folds.log_loss == pytest.approx(new, abs=0.06)
    tuned = tb.tune(ROWS, "label", group="host")
    assert tuned.estimate.log_loss == pytest.approx(tb.evaluate(tuned.model, NEW).log_loss, abs=0.06)


def test_where_rows_look_like_groups_the_grouped_figure_is_beside_the_other():
    model = fit_alone()
    new = tb.evaluate(model, NEW).log_loss
    for evaluate in (
        lambda: tb.evaluate(model, ROWS),
        lambda: tb.cross_validate(ROWS, "label", ignore=["host"]),
        lambda: tb.tune(ROWS, "label", ignore=["host"], what="column_weights"),
    ):
        with pytest.warns(tb.DataWarning, match="look like rows of one group"):
            found = evaluate()
        assert getattr(found, "estimate", found).log_loss < new - 0.1
        assert found.grouped.log_loss == pytest.approx(new, abs=0.12)
        assert f"accuracy {found.grouped.accuracy:.4f}, log loss {found.grouped.log_loss:.4f}" in str(found)
        assert "(host)" in found.grouped.split
        assert found.to_dict()["grouped"]["log_loss"] == found.grouped.log_loss
    with pytest.warns(tb.DataWarning, match="look like rows of one group"):
        held_out = tb.cross_validate(ROWS, "label", ignore=["host"], holdout=0.3)
    assert re.search(r"rows held out: [0-9]+ of 400 groups \(host\)$", held_out.grouped.split)


def test_a_model_without_groups_can_be_evaluated_with_them():
    model = fit_alone()
    by_name, by_array = (tb.evaluate(model, ROWS, group=group) for group in ("host", ROWS["host"].to_numpy()))
    assert by_name.log_loss == by_array.log_loss > 0.1 + tb.evaluate(model, ROWS.drop(columns="host")).log_loss
    with pytest.raises(ParameterError, match=r"group: the name of a column, got 'hots'\nhint: did you mean 'host'?"):
        tb.evaluate(model, ROWS, group="hots")


def test_no_group_is_on_both_sides_of_the_rows_that_weights_are_fitted_on():
    plan_rows = ROWS.assign(label=np.where(np.arange(len(ROWS)) % 5 == 0, "rare", ROWS["label"]))
    model = tb.fit(plan_rows, "label", group="host")
    sample = engines.plan_fit(plan_rows, "label", group="host")
    part = engines.partial_sums.combine_sums(engines.partial([plan_rows], sample.to_bytes()))
    divided = held_out_evidence(model.snapshot().state, part.counted.sample.rows()).rows
    folds_of = pd.DataFrame({"group": divided.rows.signatures[divided.row], "fold": divided.fold})
    assert folds_of.groupby("group")["fold"].nunique().max() == 1
    assert divided.n_folds > 1
    assert folds_of["group"].nunique() == ROWS["host"].nunique()


def test_a_group_is_not_a_column_unless_it_is_given_a_family():
    model = tb.fit(ROWS, "label", group="host")
    assert "host" not in model.schema.families
    assert "--as host=categorical uses it" in model.schema.columns["host"].reason
    assert "host" in tb.fit(ROWS, "label", group="host", families={"host": "categorical"}).schema.families
    assert (
        "host"
        not in tb.fit(ROWS[["host", "rate", "label"]], "label", group="host", families="gaussian").schema.families
    )
    assert model.predict(NEW.drop(columns="host")).tolist() == model.predict(NEW).tolist()


@given(st.data())
@settings(max_examples=5, deadline=None)
def test_order_batches_and_the_names_of_groups_do_not_matter(data):
    whole = WHOLE
    rows = ROWS.sample(frac=1, random_state=data.draw(st.integers(0, 1000)))
    cut = data.draw(st.integers(1, len(rows) - 1))
    streamed = tb.fit(iter([rows[:cut], rows[cut:]]), schema=whole.schema)
    assert (streamed, streamed.column_weights) == (whole, whole.column_weights)
    plan = engines.plan_fit(ROWS, "label", group="host")
    parts = [engines.partial([rows[start:stop]], plan.to_bytes()) for start, stop in ((0, cut), (cut, len(rows)))]
    combined = engines.fitted(plan, engines.combine(*parts[::-1]))
    assert (combined, combined.column_weights) == (whole, whole.column_weights)
    renamed = rows.assign(host=rows["host"].map(lambda host: f"h{host}"))
    assert tb.fit(renamed, "label", group="host").column_weights == whole.column_weights


def test_files_and_tables_give_the_same_weights(tmp_path):
    whole = tb.fit(ROWS, "label", group="host").column_weights
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    ROWS.to_parquet(tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        model = tb.fit(tmp_path / name, "label", group="host")
        assert model.column_weights == whole
        assert tb.evaluate(model, tmp_path / name).split.startswith("training rows, scored by folds of whole groups")
    by_array = tb.fit(ROWS.drop(columns="host"), "label", group=ROWS["host"])
    assert by_array.column_weights == whole
    assert by_array.schema.group is None
    assert list(by_array.schema.columns) == ["street", "rate", "beds"]


def test_a_model_remembers_its_group_and_a_file_without_one_has_none(tmp_path):
    model = tb.fit(ROWS, "label", group="host")
    model.save(tmp_path / "m.tally")
    assert tb.load(tmp_path / "m.tally").schema.group == "host"
    assert Schema.from_dict(model.schema.to_dict()).group == "host"
    assert "group" not in tb.fit(NEW[:50], "label", ignore=["street"]).schema.to_dict()
    again = tb.fit(ROWS, schema=model.schema)
    assert again.schema.group == "host"
    assert again.column_weights == model.column_weights
    with pytest.raises(ParameterError, match="the name of a column as the group of a schema, got 7"):
        Schema.from_dict(model.schema.to_dict() | {"group": 7})


def test_without_the_column_of_groups_training_rows_are_scored_alone_and_that_is_said():
    model = tb.fit(ROWS, "label", group="host")
    with pytest.warns(tb.DataWarning, match="the column of groups 'host' is not in the data"):
        assert tb.evaluate(model, ROWS.drop(columns="host")).split.endswith("each by a model without it")


def test_what_cannot_be_a_group_is_refused():
    for group, expected in (
        ("hots", r"group: the name of a column, got 'hots'\nhint: did you mean 'host'?"),
        ("label", "a group that is neither the label nor the weight, got 'label'"),
        (3.5, "expected group to be the name of a column, an array, or None, got 3.5"),
    ):
        with pytest.raises(ParameterError, match=expected):
            tb.fit(ROWS, "label", group=group)
    with pytest.raises(ParameterError, match="the group as the name of a column"):
        tb.fit(iter([ROWS]), "label", group=ROWS["host"].to_numpy())
    with pytest.raises(ParameterError, match="no group, for prequential evaluation"):
        tb.prequential(ROWS, "label", group="host")


def test_a_row_in_two_groups_is_two_rows_and_groups_are_one_whatever_their_type():
    rows = pd.concat([ROWS.assign(host=ROWS["host"] + shift) for shift in (0, 10**7)])
    by_type = [rows, rows.astype({"host": float}), rows.astype({"host": str})]
    first, *others = (tb.fit(part, "label", group="host") for part in by_type)
    assert first.column_weights.fitted_on > fit_alone(rows).column_weights.fitted_on
    assert all(other.column_weights == first.column_weights for other in others)


def test_the_standard_error_of_tuning_is_that_of_groups():
    copies = pd.concat([ROWS] * 4)
    tuned = tb.tune(copies, "label", group="host")
    alone = tb.tune(ROWS, "label", group="host")
    assert tuned.estimate.error == pytest.approx(alone.estimate.error, rel=0.25)


def test_comparison_keeps_groups_together():
    rows = ROWS[:400]
    alone = tb.compare(rows.drop(columns="host"), "label", folds=3, sizes=[200])
    grouped = tb.compare(rows, "label", folds=3, sizes=[200], group="host")
    assert grouped.rows[0]["log_loss"] > alone.rows[0]["log_loss"] + 0.05


def large_groups(n_groups, size, seed, start=0):
    """Groups with a label: numbers and a place that tell the group, and one number that tells a little of the label."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), size)
    label = rng.integers(0, 2, n_groups)
    rows = {f"x{j}": rng.normal(size=n_groups)[group] + rng.normal(size=len(group)) / 3 for j in range(5)}
    rows |= {"good": (rng.normal(size=n_groups) + label)[group] + rng.normal(size=len(group))}
    rows |= {"place": rng.integers(0, 10**6, n_groups)[group].astype(str)}
    return pd.DataFrame(rows | {"g": group + start, "y": np.where(label, "yes", "no")[group]})


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")  # the place is a possible leak
def test_large_groups_are_cut_and_do_not_help_to_score_themselves():
    rows, new = large_groups(50, 300, 3), large_groups(300, 4, 4, start=1000)
    alone, grouped = (tb.fit(rows, "y", ignore=["g"]), tb.fit(rows, "y", group="g"))
    figures = [tb.evaluate(model, new) for model in (alone, grouped)]
    assert figures[1].log_loss < figures[0].log_loss - 0.05
    assert figures[1].log_loss < figures[1].prior_log_loss + 0.05
    assert grouped.column_weights.fitted_on == 50 * 60
    plan = engines.plan_fit(rows, "y", group="g")
    parts = [engines.partial([rows[start::3]], plan.to_bytes()) for start in range(3)]
    assert engines.fitted(plan, engines.combine(*parts)).column_weights == grouped.column_weights
    tuned = tb.tune(rows, "y", group="g")
    assert tb.evaluate(tuned.model, new).log_loss < figures[1].prior_log_loss + 0.1


def test_calibration_on_training_rows_keeps_groups_together():
    options = {"numeric": "gaussian", "smoothing": 1.0, "column_weights": None}
    grouped, alone = (
        tb.fit(ROWS, "label", group="host", **options),
        tb.fit(ROWS.drop(columns="host"), "label", **options),
    )
    before = tb.evaluate(alone, NEW).log_loss
    figures = []
    for model in (alone, grouped):
        model.calibrate(ROWS if model is grouped else ROWS.drop(columns="host"))
        figures.append(tb.evaluate(model, NEW).log_loss)
    assert figures[1] < figures[0] - 0.05
    assert figures[1] < before
