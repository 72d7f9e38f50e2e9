"""tally tune, calibrate, decide: what they print, write and refuse."""

import json
import subprocess
import sys

import numpy as np
import pytest

import tallybayes as tb


def tally(*words, where, code=0, given=None):
    command = [sys.executable, "-m", "tallybayes.cli.main", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=where, input=given)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("films")
    rng = np.random.default_rng(0)
    rating = rng.choice(["PG: 13", "R"], 200)
    lines = ["deaths,again,genre,rating"]
    for one in rating:
        deaths = rng.poisson(40 if one == "R" else 25)
        lines.append(f"{deaths},{deaths},{rng.choice(['war', 'love'])},{one}")
    (where / "films.csv").write_text("\n".join(lines))
    tally("fit", "films.csv", "--label", "rating", "--numeric", "gaussian", where=where)
    return where


def test_tune_writes_a_better_model_and_says_why(folder):
    out = tally("tune", "films.csv", "--label", "rating", "-o", "tuned.tally", where=folder)
    assert "column weights" in out
    assert "by leave-one-out on 200 rows" in out
    facts = json.loads(tally("tune", "films.csv", "--label", "rating", "--json", "-o", "t.tally", where=folder))
    assert facts["after"] <= facts["before"]
    assert facts["estimate"]["log_loss"] == facts["after"]
    assert tb.load(folder / "t.tally").column_weights == tb.load(folder / "tuned.tally").column_weights


def test_one_step_only_and_the_other_ways(folder):
    out = tally("tune", "films.csv", "--label", "rating", "-o", "w.tally", "--what", "weights", where=folder)
    assert (out.count("column weights"), out.count("interactions")) == (1, 0)
    assert "test part, " in tally(
        "tune", "films.csv", "--label", "rating", "-o", "v.tally", "--by", "validation", "--strengths", 3, where=folder
    )
    assert "-log evidence" in tally(
        "tune", "films.csv", "--label", "rating", "-o", "e.tally", "--by", "evidence", where=folder
    )


def test_unknown_tuning_targets_are_errors(folder):
    assert "--label COL" in tally("tune", "films.csv", where=folder, code=2)
    assert "a hyperparameter" in tally("tune", "films.csv", "--label", "rating", "--what", "luck", where=folder, code=2)
    (folder / "one.csv").write_text("x,y\n1,a\n2,a\n")
    assert "two classes" in tally("tune", "one.csv", "--label", "y", where=folder, code=1)
    assert not (folder / "one.tally").exists()


def test_calibrating_changes_probabilities_and_can_be_undone(folder):
    before = tally("predict", "films.tally", "films.csv", where=folder)
    assert "temperature, T = " in tally("calibrate", "films.tally", "films.csv", where=folder)
    after = tally("predict", "films.tally", "films.csv", where=folder)
    assert before != after
    assert tally("predict", "films.tally", "films.csv", "--raw", where=folder) == before
    assert (
        json.loads(tally("calibrate", "films.tally", "films.csv", "--method", "isotonic", "--json", where=folder))[
            "calibration"
        ]
        == "isotonic"
    )
    assert "not calibrated" in tally("calibrate", "films.tally", "--method", "none", where=folder)
    assert tally("predict", "films.tally", "films.csv", where=folder) == before
    assert "DATA to calibrate on" in tally("calibrate", "films.tally", where=folder, code=2)
    assert "'temperature' or 'isotonic'" in tally(
        "calibrate", "films.tally", "films.csv", "--method", "x", where=folder, code=2
    )


def test_a_constraint_holds_and_is_shown(folder):
    out = tally("decide", "films.tally", "films.csv", "--class", "R", "--false-negatives", "0", where=folder)
    assert "at most 0 false negatives: 0 of" in out
    judged = json.loads(tally("evaluate", "films.tally", "films.csv", "--leave-one-out", "--json", where=folder))
    assert judged["confusion"][1][0] == 0
    assert tally("decide", "films.tally", where=folder) == out
    share = tally("decide", "films.tally", "films.csv", "--class", "R", "--false-positives", "5%", where=folder)
    assert "false positives" in share
    assert json.loads(tally("decide", "films.tally", "--json", where=folder))["class"] == "R"
    assert "most probable" in tally("decide", "films.tally", "--most-probable", where=folder)


def test_costs_and_no_answer(folder):
    assert "least expected cost" in tally(
        "decide", "films.tally", "--cost", "PG: 13:R=0", "--abstain", "0.2", where=folder
    )
    lines = tally("predict", "films.tally", "films.csv", "--id", "genre", where=folder).splitlines()[1:]
    assert {line.split(",")[1] for line in lines} <= {"R", ""}  # an R costs nothing
    tally("decide", "films.tally", "--abstain", "0.999", where=folder)
    lines = tally("predict", "films.tally", "films.csv", "--id", "genre", where=folder).splitlines()[1:]
    assert any(line.endswith(",,") for line in lines)
    tally("decide", "films.tally", "--most-probable", where=folder)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--class", "X", "--threshold", "0.5"], "a class of the model"),
        (["--threshold", "0.5"], "--class"),
        (["--class", "R", "--threshold", "1.5"], "a threshold from 0 to 1"),
        (["--class", "R", "--false-negatives", "0"], "DATA to select the threshold on"),
        (["films.csv", "--class", "R", "--false-negatives", "few"], "a number of rows"),
        (["films.csv", "--class", "R", "--false-negatives", "0", "--threshold", "0.5"], "one of --threshold"),
        (["--cost", "R:X=3"], "TRUE:ANSWER=COST"),
        (["--cost", "R:PG: 13=much"], "COST with a number"),
        (["--cost", "R:PG: 13=-3"], "costs that are finite numbers of at least 0, got -3.0"),
        (["nothing.csv", "--class", "R", "--threshold", "0.5"], "data only for --false-negatives or"),
        (["films.csv"], "data only for --false-negatives or"),
        (["--abstain", "7"], "abstain"),
        (["--class", "R"], "for --class"),
        (["--most-probable", "--abstain", "0.5"], "--most-probable without other options"),
        (["films.csv", "--class", "R", "--false-negatives", "100%"], "below 100%"),
        (["films.csv", "--class", "R", "--false-negatives", "inf"], "a number of rows from 0 on"),
    ],
)
def test_invalid_rules_are_errors_and_change_nothing(folder, words, says):
    before = (folder / "films.tally").read_bytes()
    assert says in tally("decide", "films.tally", *words, where=folder, code=2)
    assert (folder / "films.tally").read_bytes() == before


def test_rows_that_were_not_learned_need_to_be_called_new(folder):
    (folder / "new.csv").write_text("deaths,again,genre,rating\n900,900,opera,R\n1,1,war,PG: 13\n")
    words = ("decide", "films.tally", "new.csv", "--class", "R", "--false-negatives", "0")
    assert "a row that was learned" in tally(*words, where=folder, code=1)
    assert "0 of 1 missed" in tally(*words, "--new", where=folder)
    tally("decide", "films.tally", "--most-probable", where=folder)


def test_the_curve_goes_into_the_report(folder):
    pytest.importorskip("altair")
    (folder / "tuning.json").write_text(
        tally(
            *("tune", "films.csv", "--label", "rating", "--json", "-o", "r.tally", "--what", "smoothing"),
            *("--strengths", 4),
            where=folder,
        )
    )
    tally("report", "r.tally", "films.csv", "--leave-one-out", "--tuning", "tuning.json", "-o", "r.html", where=folder)
    assert "chart-tuning" in (folder / "r.html").read_text()
    (folder / "bad.json").write_text("[]")
    assert "tally tune --json" in tally("report", "r.tally", "films.csv", "--tuning", "bad.json", where=folder, code=1)
