"""tally evaluate and tally compare: what they take, what they answer, what they refuse."""

import json
import re

import numpy as np
import pytest
import typer

import tallybayes as tb
from command_line import fine
from tallybayes.cli.main import app
from tallybayes.errors import ParameterError


@pytest.fixture
def tally(here, monkeypatch, capsys):
    """What the command prints, run in the folder of the files; errors as they are raised."""
    monkeypatch.chdir(here)

    def run(*arguments):
        typer.main.get_command(app).main([*map(str, arguments)], standalone_mode=False)
        return capsys.readouterr().out

    return run


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    where = tmp_path_factory.mktemp("judged")
    rng = np.random.default_rng(0)
    y = rng.choice(["no", "yes"], 120)
    x = rng.normal(size=120) + (y == "yes")
    lines = [f"{a:.6f},{w},{b}" for a, w, b in zip(x, rng.integers(1, 4, 120), y, strict=True)]
    (where / "t.csv").write_text("x,w,y\n" + "\n".join(lines) + "\n")
    tb.fit(where / "t.csv", label="y", ignore=["w"], numeric="gaussian").save(where / "t.tally")
    tb.fit(where / "t.csv", label="y", sample_weight="w", numeric="gaussian").save(where / "heavy.tally")
    return where


def test_leave_one_out_is_that_of_the_library(here, tally):
    for name in ("t", "heavy"):
        found = json.loads(tally("evaluate", f"{name}.tally", "t.csv", "--leave-one-out", "--json"))
        model = tb.load(here / f"{name}.tally")
        assert found["log_loss"] == pytest.approx(tb.evaluate(model, here / "t.csv", leave_one_out=True).log_loss)
        assert found == json.loads(tally("evaluate", f"{name}.tally", "t.csv", "--json"))  # the rows are recognised
        with_themselves = tb.evaluate(model, here / "t.csv", leave_one_out=False)
        assert found["log_loss"] > with_themselves.log_loss
    told = json.loads(tally("evaluate", "heavy.tally", "t.csv", "--leave-one-out", "--sample-weight", "w", "--json"))
    assert told["log_loss"] == found["log_loss"]


@pytest.mark.parametrize(
    ("rule", "optimistic"), [(["t.csv", "--false-negatives", "0"], True), (["--threshold", "0.5"], False)]
)
def test_a_threshold_that_was_selected_on_the_same_rows_is_named(tally, capsys, rule, optimistic):
    command = typer.main.get_command(app)
    tally("decide", "t.tally", "--in-place", "--positive", "yes", *rule)
    command.main(["evaluate", "t.tally", "t.csv", "--leave-one-out"], standalone_mode=False)
    assert ("slightly optimistic: decision threshold" in capsys.readouterr().err) == optimistic
    tally("decide", "t.tally", "--in-place", "--most-probable")


def test_intervals_stand_beside_the_figures(here, tally):
    found = json.loads(tally("evaluate", "t.csv", "--label", "y", "--bootstrap", 200, "--seed", 3, "--json"))
    judged = tb.cross_validate(here / "t.csv", label="y", seed=3)
    assert found["intervals"] == {name: pytest.approx(pair) for name, pair in judged.bootstrap(200, 3).items()}
    low, high = found["intervals"]["accuracy"]
    out = tally("evaluate", "t.csv", "--label", "y", "--bootstrap", 200, "--seed", 3)
    assert f"{low:.4f} to {high:.4f}" in out


def test_a_stream_is_tested_then_learned(here, tally):
    found = json.loads(
        tally("evaluate", "t.csv", "--label", "y", "--ignore", "w", "--prequential", "--every", 30, "--json")
    )
    assert [row["rows"] for row in found["curve"]] == [60, 90, 120]
    expected = tb.prequential(here / "t.csv", label="y", ignore=["w"], every=30)
    assert (found["accuracy"], found["log_loss"]) == (expected.accuracy, pytest.approx(expected.log_loss))
    out = tally("evaluate", "t.csv", "--label", "y", "--prequential")
    assert out.startswith("rows   accuracy   log loss")


def test_compare_answers_in_words_and_in_json(here, tally):
    arguments = ["compare", "t.csv", "--label", "y", "--ignore", "w", "--sizes", "20,60", "--folds", "3"]
    found = json.loads(tally(*arguments, "--json"))
    assert (found["rows"], found["folds"], found["sizes"]) == (120, 3, [20, 60])
    assert {row["model"] for row in found["curves"]} == {"tallybayes", "logistic", "majority"}
    out = tally(*arguments)
    assert out.startswith("error\nrows   tallybayes ")
    assert "(mean of 3 folds ± its standard error)" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["evaluate", "t.csv", "--label", "y", "--leave-one-out"], "a model and the data it has learned"),
        (["evaluate", "t.tally", "t.csv", "--prequential"], "without a model"),
        (["evaluate", "t.csv", "--label", "y", "--every", "5"], "--every only with --prequential"),
        (["evaluate", "t.csv", "--label", "y", "--sample-weight", "w"], "--sample-weight only with --leave-one-out"),
        (["evaluate", "t.csv", "--label", "y", "--bootstrap", "1"], "--bootstrap to be an integer of at least 100"),
        (["evaluate", "t.tally", "t.csv", "--folds", "5"], "--folds only for cross-validation of data, got a model"),
        (["evaluate", "t.csv", "--label", "y", "--prequential", "--folds", "3"], "--folds only .*, got --prequential"),
        (["evaluate", "t.csv", "--label", "y", "--folds", "1"], "--folds to be an integer of at least 2"),
        (["evaluate", "t.tally", "t.csv", "--numeric", "gaussian"], "options of fit only with data"),
        (["fit", "t.csv", "--label", "y", "--table", "t"], r"a database, a workbook or a zip archive .*, got 't.csv'"),
        (["explain", "t.tally", "t.csv", "--positive", "no", "--against", "no"], "different classes, got 'no'"),
        (["evaluate", "t.csv", "--label", "y", "--prequential", "--every", "0"], "every to be an integer"),
        (["compare", "t.csv"], "--label COL"),
        (["compare", "t.csv", "--label", "y", "--sizes", "a,b"], "--sizes: integers"),
        (["compare", "t.csv", "--label", "y", "--sizes", "5000"], "training rows of a fold"),
    ],
)
def test_mistakes_are_errors(tally, arguments, words):
    with pytest.raises(ParameterError, match=words):
        tally(*arguments)


def test_the_rows_that_a_model_has_learned_are_recognised(tmp_path):
    lines = [f"{i % 7}.5,{'uvw'[i % 3]},{'ab'[i % 5 > 2]}" for i in range(80)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,k,y", *lines]))
    (tmp_path / "mixed.csv").write_text("\n".join(["x,k,y", *lines[::-1]]))
    (tmp_path / "part.csv").write_text("\n".join(["x,k,y", *lines[:60]]))
    fine("fit", "rows.csv", "--label", "y", cwd=tmp_path)
    found, given = (
        json.loads(fine("evaluate", "rows.tally", "--json", *more, cwd=tmp_path))
        for more in (["mixed.csv"], ["mixed.csv", "--leave-one-out"])
    )
    assert found == given
    assert found["split"] == "training rows, scored by folds: each by a model without it"
    assert "split" not in json.loads(fine("evaluate", "rows.tally", "part.csv", "--json", cwd=tmp_path))


def listings(where):
    """A file of listings whose label is that of their host, who lives in a street of his own."""
    rng = np.random.default_rng(1)
    host = rng.integers(0, 150, 700)
    street, label = rng.integers(0, 200, 150), rng.choice(["no", "yes"], 150)
    lines = [f"{h * 37},{street[h]} Main St,{rng.integers(30, 300)},{label[h]}" for h in host]
    (where / "listings.csv").write_text("\n".join(["host_id,street,price,superhost", *lines]) + "\n")
    return where / "listings.csv"


def test_groups_on_the_command_line(tally, tmp_path):
    data, model = listings(tmp_path), tmp_path / "m.tally"
    printed = tally("fit", data, "--label", "superhost", "--group", "host_id", "-o", model)
    assert "--as host_id=categorical uses it" in printed
    assert tb.load(model).schema.group == "host_id"
    assert "different rows, whole groups of host_id at a time)" in printed
    own = json.loads(tally("evaluate", model, data, "--json"))
    assert own["split"].startswith("training rows, scored by folds of whole groups (host_id)")
    by_folds = json.loads(tally("evaluate", data, "--label", "superhost", "--group", "host_id", "--json"))
    assert by_folds["log_loss"] == pytest.approx(own["log_loss"], abs=0.1)
    assert by_folds["log_loss"] > 0.6
    assert "whole groups (host_id)" in tally("evaluate", model, data, "--group", "host_id")
    assert "log loss" in tally("tune", data, "--label", "superhost", "--group", "host_id", "-o", tmp_path / "t.tally")


def test_a_doubt_about_groups_comes_with_the_grouped_figure(tally, tmp_path):
    data = listings(tmp_path)
    printed = tally("evaluate", data, "--label", "superhost")
    assert re.search(r"grouped    accuracy .*groups \(host_id\), each in one of 10 folds", printed)


def test_figures_by_subgroup_on_the_command_line(tally, tmp_path):
    data, model = listings(tmp_path), tmp_path / "m.tally"
    tally("fit", data, "--label", "superhost", "--group", "host_id", "-o", model)
    table = tally("evaluate", model, data, "--by", "price")
    assert re.search(r"^price +rows +accuracy +log loss", table, re.MULTILINE)
    facts = json.loads(tally("evaluate", data, "--label", "superhost", "--group", "host_id", "--by", "price", "--json"))
    assert facts["by"]["subgroups"][0]["rows"] == 700
    with pytest.raises(ParameterError, match="--by without --prequential, got both"):
        tally("evaluate", data, "--label", "superhost", "--prequential", "--by", "price")
