"""Folds by group and by time, and a hold-out: what is scored by a model of what."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

import tallybayes as tb
from tallybayes.errors import DataError, ParameterError
from tallybayes.evaluation.evaluate import plan_fits
from tallybayes.evaluation.fold_plan import FoldRequest, plan_folds
from tallybayes.evaluation.row_times import row_times
from tallybayes.tables.table import to_table

RNG = np.random.default_rng(0)
N = 400
Y = RNG.choice(["a", "b", "c"], N, p=[0.6, 0.3, 0.1])
ROWS = {
    "x": RNG.normal(size=N).round(1) + (Y == "a"),
    "who": np.array([f"p{i}" for i in RNG.integers(0, 30, N)]),
    "when": RNG.integers(0, 100, N),
    "y": Y,
}


def parts_of(rows, **request):
    """The part of every row, by a column that numbers the rows."""
    numbered = {**rows, "number": np.arange(len(rows["y"]))}
    source, fits = plan_fits(numbered, "y", {"ignore": ["who", "number"]}, "")
    plan, label = (
        plan_folds(FoldRequest(**request), source, fits.empty_model(), fits.counting.label),
        fits.counting.label,
    )
    found = np.full(len(rows["y"]), -9)
    for part, table in plan.tables(source, label):
        found[np.asarray(table.columns["number"])] = part
    return found, plan


def test_a_group_is_in_one_fold_and_folds_have_about_the_same_size():
    parts, plan = parts_of(ROWS, folds=5, group="who")
    assert all(len(set(parts[ROWS["who"] == who])) == 1 for who in set(ROWS["who"]))
    sizes = np.bincount(parts, minlength=5)
    assert (sizes.max() - sizes.min(), plan.tested) == (pytest.approx(0, abs=15), range(5))
    other, _ = parts_of(ROWS, folds=5, group="who", seed=1)
    assert (other != parts).any()


def test_blocks_of_time_are_scored_by_the_past_only():
    parts, plan = parts_of(ROWS, folds=4, time="when")
    assert (plan.n_parts, plan.tested, plan.forward) == (5, range(1, 5), True)
    for block in range(1, 5):
        assert ROWS["when"][parts < block].max() < ROWS["when"][parts == block].min()
    assert np.bincount(parts).min() > N / 5 - 15


def test_the_hold_out_is_stratified_and_does_not_depend_on_the_order():
    parts, _ = parts_of(ROWS, holdout=0.25)
    for label in "abc":
        own = parts[ROWS["y"] == label]
        assert own.sum() == round(0.25 * len(own))
    order = RNG.permutation(N)
    shuffled, _ = parts_of({name: column[order] for name, column in ROWS.items()}, holdout=0.25)
    rows = {name: ROWS[name] for name in ("x", "when", "y")}  # the columns that are hashed: copies are exchangeable

    def held(parts, rows):
        return sorted(zip(*(np.asarray(column)[parts == 1].tolist() for column in rows.values()), strict=True))

    numbered = {name: column[order] for name, column in rows.items()}
    assert held(parts, rows) == held(shuffled, numbered)


def test_copies_of_a_row_are_on_both_sides():
    """Few categories: equal rows by chance must not all be held out."""
    rows = {"x": np.array(["u", "v"] * 200), "y": np.array(["a", "a", "b", "b"] * 100)}
    source, fits = plan_fits(rows, "y", {}, "")
    plan, label = (
        plan_folds(FoldRequest(holdout=0.2), source, fits.empty_model(), fits.counting.label),
        fits.counting.label,
    )
    found = {part: set(map(str, table.columns["x"])) for part, table in plan.tables(source, label)}
    assert found == {0: {"u", "v"}, 1: {"u", "v"}}


def test_a_hold_out_of_groups_and_of_the_last_in_time():
    parts, _ = parts_of(ROWS, holdout=0.2, group="who")
    assert all(len(set(parts[ROWS["who"] == who])) == 1 for who in set(ROWS["who"]))
    assert 0.15 < parts.mean() < 0.3
    parts, _ = parts_of(ROWS, holdout=0.2, time="when")
    assert ROWS["when"][parts == 0].max() < ROWS["when"][parts == 1].min()
    assert 0.15 < parts.mean() < 0.25
    late = {**ROWS, "when": np.where(np.arange(N) < 10, 0, 1)}  # the last time has nearly all rows
    parts, _ = parts_of(late, holdout=0.2, time="when")
    assert parts.sum() == N - 10


def test_evaluations_are_those_of_models_fitted_by_hand():
    """A block is scored by the model of the blocks before it, a hold-out by the model of the other rows."""
    for request, train in (({"folds": 3, "time": "when"}, lambda p, k: p < k), ({"holdout": 0.3}, lambda p, k: p != k)):
        options = {"ignore": ["who"], "column_weights": None, "families": {"x": "gaussian", "when": "poisson"}}
        parts, plan = parts_of(ROWS, **request)
        total = tb.Evaluation()
        for part in plan.tested:
            fitted = tb.fit({n: c[train(parts, part)] for n, c in ROWS.items()}, "y", **options)
            total += tb.evaluate(fitted, {n: c[parts == part] for n, c in ROWS.items()})
        found = tb.cross_validate(ROWS, "y", **options, **request)
        assert found.confusion == total.confusion
        assert found.log_loss == pytest.approx(total.log_loss)


def test_a_group_is_not_a_column_of_the_model_and_may_be_an_array():
    by_name = tb.cross_validate(ROWS, "y", group="who", folds=5)
    rest = {name: column for name, column in ROWS.items() if name != "who"}
    by_array = tb.cross_validate(rest, "y", group=ROWS["who"], folds=5)
    assert by_name.log_loss == by_array.log_loss
    assert by_name.split == "30 groups, each in one of 5 folds"
    timed = tb.cross_validate({n: c for n, c in rest.items() if n != "when"}, "y", time=ROWS["when"], folds=5)
    assert "5 blocks in the order of time" in str(timed)


def test_rows_without_a_group_are_one_group_and_rows_without_a_label_are_skipped():
    who, y = ROWS["who"].tolist(), ROWS["y"].tolist()
    who[:20], y[30:40] = [None] * 20, [None] * 10
    rows = {"x": ROWS["x"], "who": who, "when": ROWS["when"], "y": y}
    parts, _ = parts_of(rows, folds=5, group="who")
    assert len(set(parts[:20])) == 1
    assert (parts[30:40] == -1).all()
    for request in ({"holdout": 0.2}, {"time": "when"}, {"group": "who"}):
        assert tb.cross_validate(rows, "y", **request).skipped == 10


@pytest.mark.parametrize(
    ("request_", "error", "says"),
    [
        ({"group": "whom"}, ParameterError, "group: the name of a column, got 'whom'\nhint: did you mean 'who'?"),
        ({"time": "then"}, ParameterError, "time: the name of a column"),
        ({"group": "who", "time": "when"}, ParameterError, "group or time, got both"),
        ({"folds": 3, "holdout": 0.2}, ParameterError, "folds or holdout, got both"),
        ({"holdout": 1.0}, ParameterError, "between 0 and 1"),
        ({"holdout": True}, ParameterError, "between 0 and 1"),
        ({"holdout": "0.2"}, ParameterError, "between 0 and 1"),
        ({"group": "who", "folds": 31}, DataError, "at least 31 groups, got 30"),
        ({"time": "who"}, DataError, "column 'who', row 0: expected a time, got"),
        ({"time": "constant"}, DataError, "at least 2 different times, got 1"),
        ({"time": "gaps"}, DataError, "column 'gaps', row 1: expected a time in every row"),
        ({"positive": "d"}, ParameterError, "positive: a class, got 'd'"),
        ({"holdout": 0.0001}, DataError, "enough rows for both parts"),
    ],
)
def test_what_is_refused(request_, error, says):
    rows = {**ROWS, "constant": np.ones(N), "gaps": [1.0, None] * (N // 2)}
    with pytest.raises(error) as found:
        tb.cross_validate(rows, "y", **request_)
    assert says in str(found.value)


@pytest.mark.parametrize(
    "column",
    [
        ["2024-03-31", "2024-04-01T00:00", "2024-04-01T06:00+02:00"],
        ["3", "4.5", " 1e3"],
        np.array(["2024-03-31", "2024-04-01", "2024-04-02"], "datetime64[D]"),
        [datetime.date(2024, 3, 31), datetime.date(2024, 4, 1), datetime.date(2024, 4, 2)],
        pa.array([1001, 2001, 3001], pa.timestamp("ns", "UTC")),
        np.array([1.5, 2.5, 3.5]),
    ],
    ids=["iso", "numbers as text", "numpy", "dates", "arrow", "reals"],
)
def test_times_of_every_kind_are_in_order(column):
    times = row_times(to_table({"t": column}), "t")
    assert (np.diff(times) > 0).all()


@pytest.mark.parametrize("column", [["31.03.2024", "x"], ["2024-03-31", "5"], [["a"], ["b"]], [True, False]])
def test_what_is_no_time_is_refused(column):
    with pytest.raises(DataError, match="time"):
        row_times(to_table({"t": column}), "t")


def test_a_file_is_divided_like_its_rows_in_any_batches(tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"{x},{who},{when},{y}" for x, who, when, y in zip(*ROWS.values(), strict=True)]
    path.write_text("x,who,when,y\n" + "\n".join(lines))
    for request in ({"holdout": 0.2}, {"group": "who", "folds": 4}, {"time": "when", "folds": 4}):
        assert tb.cross_validate(path, "y", **request).n_rows == tb.cross_validate(ROWS, "y", **request).n_rows


def test_metrics_of_the_positive_class_and_the_mean_cost():
    model = tb.fit(ROWS, "y", ignore=["who"])
    model.decision = tb.Decision(costs={"a": {"b": 5.0}, "c": {"a": 7.0}})
    found = tb.evaluate(model, ROWS, positive="b", leave_one_out=False)
    table = model.decision.cost_table(model.classes)
    codes = {label: code for code, label in enumerate(model.classes)}
    costs = [table[codes[t], codes[p]] for t, p in zip(ROWS["y"], model.predict(ROWS), strict=True)]
    assert found.mean_cost == pytest.approx(np.mean(costs))
    own = found.to_dict()["positive"]
    per_class = next(row for row in found.per_class() if row["class"] == "b")
    assert {name: own[name] for name in per_class} == per_class
    others = ROWS["y"] != "b"
    assert own["specificity"] == pytest.approx(np.mean(model.predict(ROWS)[others] != "b"))
    assert "cost  " in str(found)
    assert "positive   b: precision" in str(found)
    assert "mean_cost" not in tb.evaluate(tb.fit(ROWS, "y"), ROWS).to_dict()
    assert (found + found).mean_cost == pytest.approx(found.mean_cost)
