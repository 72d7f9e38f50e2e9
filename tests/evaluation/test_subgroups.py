"""Figures for each value of a column: what they are, which rows they are of, and where they are shown."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

import tallybayes as tb
from tallybayes.errors import ParameterError, UnsupportedError

RNG = np.random.default_rng(5)
N = 600
REGION = RNG.choice(["north", "south", "west", "isle"], N, p=[0.5, 0.3, 0.195, 0.005])
ROWS = pd.DataFrame(
    {"x": RNG.normal(size=N), "region": np.where(RNG.random(N) < 0.1, None, REGION), "age": RNG.integers(18, 90, N)}
)
ROWS["y"] = np.where(ROWS["x"] + RNG.normal(size=N) * np.where(REGION == "south", 3, 0.5) > 0, "yes", "no")
MODEL = tb.fit(ROWS[:300], "y", only=["x"])
NEW = ROWS[300:].reset_index(drop=True)


def figures(evaluation):
    return {row["value"]: row for row in evaluation.subgroups()}


def test_the_figures_are_those_of_the_rows_of_each_value():
    found = figures(tb.evaluate(MODEL, NEW, by="region"))
    p, answer = MODEL.predict_proba(NEW)[:, 1], MODEL.predict(NEW)
    assert next(iter(found)) == "all"
    for value in ("north", "south", "west", "missing"):
        at = (NEW["region"].isna() if value == "missing" else NEW["region"] == value).to_numpy()
        row, true = found[value], (NEW["y"] == "yes").to_numpy()[at]
        assert row["rows"] == at.sum()
        assert row["accuracy"] == pytest.approx((answer[at] == NEW["y"][at]).mean())
        assert row["log_loss"] == pytest.approx(log_loss(true, p[at]))
        assert row["share"] == pytest.approx(true.mean())
        assert row["predicted"] == pytest.approx((answer[at] == "yes").mean())
        assert row["probability"] == pytest.approx(p[at].mean())
        assert row["false_positive"] == pytest.approx((answer[at] == "yes")[~true].mean())
        assert row["false_negative"] == pytest.approx((answer[at] == "no")[true].mean())
        assert sum(point["rows"] for point in row["calibration"]) == at.sum()
    assert found["south"]["accuracy"] < found["north"]["accuracy"]


def test_the_subgroups_are_all_rows_whatever_the_column():
    rows = NEW.assign(
        one="a", different=[f"v{i}" for i in range(len(NEW))], flag=NEW["x"] > 0, text=NEW["age"].astype(str)
    )
    for by in ("region", "age", "one", "different", "flag", "text", "y", "x"):
        every, *parts = tb.evaluate(MODEL, rows, by=by).subgroups()
        assert sum(row["rows"] for row in parts) == every["rows"] == len(rows)
        assert len(parts) <= 22
    by_number, by_text = (tb.evaluate(MODEL, rows, by=by).subgroups() for by in ("age", "text"))
    assert by_number == by_text
    assert len(by_number) == 6
    assert [row["value"] for row in tb.evaluate(MODEL, rows, by="different").subgroups()] == ["all", "other"]
    assert {row["value"] for row in tb.evaluate(MODEL, rows, by="flag").subgroups()} == {"all", "true", "false"}


def test_rare_values_are_pooled_and_a_value_named_other_stays_apart():
    values = ["other"] * 100 + ["b"] * 100 + ["c"] * 80 + [f"rare{i}" for i in range(20)]
    found = tb.evaluate(MODEL, NEW.assign(v=values), by="v").subgroups()
    assert [(row["value"], row["rows"]) for row in found[1:]] == [("b", 100), ("other", 100), ("c", 80), ("other_", 20)]


def test_new_rows_training_rows_and_folds_from_tables_and_files(tmp_path):
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    model = tb.fit(ROWS, "y", only=["x"])
    for data in (ROWS, tmp_path / "rows.csv"):
        own, folds = (
            tb.evaluate(model, data, by="region"),
            tb.cross_validate(data, "y", only=["x"], by="region", folds=4),
        )
        assert own.leave_one_out
        for evaluation in (own, folds):
            rows = {value: row["rows"] for value, row in figures(evaluation).items()}
            assert rows == {"all": N, **ROWS["region"].value_counts(), "missing": ROWS["region"].isna().sum()}
            assert figures(evaluation)["all"]["log_loss"] == pytest.approx(evaluation.log_loss)
            assert figures(evaluation)["all"]["accuracy"] == pytest.approx(evaluation.accuracy)
    plain = tb.fit(ROWS, "y", only=["x"], numeric="gaussian", smoothing=1, column_weights=None)
    assert tb.evaluate(plain, tmp_path / "rows.csv", by="region").split.startswith(
        "training rows, scored by leave-one-out"
    )


def test_several_classes_have_no_rates_unless_one_is_positive():
    rows = NEW.assign(y=np.where(NEW["age"] > 70, "old", NEW["y"]))
    model = tb.fit(rows[:150], "y", only=["x", "age"])
    assert "share" not in tb.evaluate(model, rows[150:], by="region").subgroups()[0]
    of_old = tb.evaluate(model, rows[150:], by="region", positive="old").subgroups()[0]
    assert of_old["share"] == pytest.approx((rows["y"][150:] == "old").mean())


def test_the_table_is_printed_in_json_and_in_a_frame():
    evaluation = tb.evaluate(MODEL, NEW, by="region")
    assert "region    rows   accuracy   log loss" in str(evaluation)
    facts = json.loads(json.dumps(evaluation.to_dict()))["by"]
    assert facts["column"] == "region"
    assert [row["value"] for row in facts["subgroups"]] == evaluation.subgroup_frame()["value"].tolist()
    assert "by" not in tb.evaluate(MODEL, NEW).to_dict()
    assert tb.evaluate(MODEL, NEW).subgroups() == []


def test_rows_without_a_label_are_in_no_subgroup_and_unknown_labels_are_wrong():
    rows = NEW.assign(y=[None] * 10 + ["perhaps"] * 5 + NEW["y"].tolist()[15:])
    every, *parts = tb.evaluate(MODEL, rows, by="region").subgroups()
    assert every["rows"] == sum(row["rows"] for row in parts) == len(NEW) - 10
    assert every["accuracy"] == tb.evaluate(MODEL, rows).accuracy
    assert every["log_loss"] == pytest.approx(tb.evaluate(MODEL, rows).log_loss)


def test_a_column_that_is_not_there_is_refused():
    for evaluate in (lambda: tb.evaluate(MODEL, NEW, by="regin"), lambda: tb.cross_validate(NEW, "y", by="regin")):
        with pytest.raises(
            ParameterError, match=r"by: the name of a column, got 'regin'\nhint: did you mean 'region'?"
        ):
            evaluate()


def test_too_many_rows_to_keep_have_no_subgroups(monkeypatch):
    monkeypatch.setattr("tallybayes.evaluation.scores.LIMIT", 100)
    evaluation = tb.evaluate(MODEL, NEW, by="region")
    assert "by" not in evaluation.to_dict()
    assert "too many rows to keep" in str(evaluation)
    with pytest.raises(UnsupportedError, match="too many rows to keep"):
        evaluation.subgroups()
