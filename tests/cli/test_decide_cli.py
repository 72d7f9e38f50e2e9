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
    assert "the default model of `fit`" in out
    assert "judged on 200 rows" in out
    facts = json.loads(tally("tune", "films.csv", "--label", "rating", "--json", "-o", "t.tally", where=folder))
    assert facts["after"] <= facts["before"]
    assert facts["estimate"]["log_loss"] == facts["after"]
    assert tb.load(folder / "t.tally").column_weights == tb.load(folder / "tuned.tally").column_weights


def test_one_step_only_and_the_other_ways(folder):
    out = tally("tune", "films.csv", "--label", "rating", "-o", "w.tally", "--what", "column_weights", where=folder)
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
    assert "temperature, T = " in tally("calibrate", "films.tally", "--in-place", "films.csv", where=folder)
    after = tally("predict", "films.tally", "films.csv", where=folder)
    assert before != after
    assert tally("predict", "films.tally", "films.csv", "--raw", where=folder) == before
    assert (
        json.loads(
            tally("calibrate", "films.tally", "--in-place", "films.csv", "--method", "isotonic", "--json", where=folder)
        )["calibration"]
        == "isotonic"
    )
    assert "not calibrated" in tally("calibrate", "films.tally", "--in-place", "--method", "none", where=folder)
    assert tally("predict", "films.tally", "films.csv", where=folder) == before
    assert "DATA to calibrate on" in tally("calibrate", "films.tally", where=folder, code=2)
    assert "'temperature' or 'isotonic'" in tally(
        "calibrate", "films.tally", "--in-place", "films.csv", "--method", "x", where=folder, code=2
    )


def test_a_constraint_holds_and_is_shown(folder):
    out = tally(
        "decide", "films.tally", "--in-place", "films.csv", "--positive", "R", "--false-negatives", "0", where=folder
    )
    assert "at most 0 false negatives: 0 of" in out
    judged = json.loads(tally("evaluate", "films.tally", "films.csv", "--leave-one-out", "--json", where=folder))
    assert judged["confusion"][1][0] == 0
    assert tally("decide", "films.tally", where=folder) == out
    share = tally(
        "decide", "films.tally", "--in-place", "films.csv", "--positive", "R", "--false-positives", "5%", where=folder
    )
    assert "false positives" in share
    assert json.loads(tally("decide", "films.tally", "--json", where=folder))["positive"] == "R"
    assert "most probable" in tally("decide", "films.tally", "--in-place", "--most-probable", where=folder)


def test_costs_and_no_answer(folder):
    assert "least expected cost" in tally(
        "decide", "films.tally", "--in-place", "--cost", "PG: 13:R=0", "--abstain", "0.2", where=folder
    )
    lines = tally("predict", "films.tally", "films.csv", "--id", "genre", where=folder).splitlines()[1:]
    assert {line.split(",")[1] for line in lines} <= {"R", ""}  # an R costs nothing
    tally("decide", "films.tally", "--in-place", "--abstain", "0.999", where=folder)
    lines = tally("predict", "films.tally", "films.csv", "--id", "genre", where=folder).splitlines()[1:]
    assert any(line.endswith(",,") for line in lines)
    tally("decide", "films.tally", "--in-place", "--most-probable", where=folder)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--positive", "X", "--threshold", "0.5"], "a class of the model"),
        (["--threshold", "0.5"], "--positive"),
        (["--positive", "R", "--threshold", "1.5"], "a threshold from 0 to 1"),
        (["--positive", "R", "--false-negatives", "0"], "DATA to select the threshold on"),
        (["films.csv", "--positive", "R", "--false-negatives", "few"], "a number of rows"),
        (["films.csv", "--positive", "R", "--false-negatives", "0", "--threshold", "0.5"], "one of --threshold"),
        (["--cost", "R:X=3"], "TRUE:ANSWER=COST"),
        (["--cost", "R:PG: 13=much"], "COST with a number"),
        (["--cost", "R:PG: 13=-3"], "costs that are finite numbers of at least 0, got -3.0"),
        (["nothing.csv", "--positive", "R", "--threshold", "0.5"], "data only for --false-negatives, "),
        (["films.csv"], "data only for --false-negatives, "),
        (["--abstain", "7"], "abstain"),
        (["--positive", "R"], "for --positive"),
        (["--most-probable", "--abstain", "0.5"], "--most-probable without other options"),
        (["films.csv", "--positive", "R", "--false-negatives", "100%"], "below 100%"),
        (["films.csv", "--positive", "R", "--false-negatives", "inf"], "a number of rows from 0 on"),
    ],
)
def test_invalid_rules_are_errors_and_change_nothing(folder, words, says):
    before = (folder / "films.tally").read_bytes()
    assert says in tally("decide", "films.tally", *words, "--in-place", where=folder, code=2)
    assert (folder / "films.tally").read_bytes() == before


@pytest.mark.parametrize(
    "words", [["--positive", "R", "--threshold", "0.25"], ["films.csv", "--positive", "R", "--maximise", "f1"]]
)
def test_a_rule_is_saved_only_where_that_is_asked_for(folder, words):
    before = (folder / "films.tally").read_bytes()
    command = [sys.executable, "-m", "tallybayes.cli.main", "decide", "films.tally", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True)
    assert done.stderr == "not saved: -o MODEL writes a new model file, --in-place changes films.tally\n"
    assert (folder / "films.tally").read_bytes() == before
    (folder / "ruled.tally").unlink(missing_ok=True)
    assert tally("decide", "films.tally", *words, "-o", "ruled.tally", where=folder) == done.stdout
    assert (folder / "films.tally").read_bytes() == before
    assert tally("decide", "ruled.tally", where=folder) == done.stdout
    assert "wrote" not in tally("calibrate", "films.tally", "films.csv", "-o", "c.tally", "-q", where=folder)
    assert tb.load(folder / "c.tally").calibration is not None
    assert (folder / "films.tally").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--most-probable", "-o", "films.tally"], 2, "hint: --in-place changes the model itself"),
        (["--most-probable", "-o", "films.csv"], 1, "a new file, or a model to replace"),
        (["--most-probable", "-o", "x.tally", "--in-place"], 2, "-o MODEL or --in-place, got both"),
        (["-o", "x.tally"], 2, "a rule to save, got none"),
        (["films.csv", "--positive", "R", "--maximise", "f2", "-o", "x.tally"], 2, "--maximise f1, got 'f2'"),
        (["--positive", "R", "--maximise", "f1", "-o", "x.tally"], 2, "DATA to select the threshold on"),
        (["--positive", "R", "--cost", "R:PG: 13=3", "-o", "x.tally"], 2, "DATA to select the threshold on"),
        (["films.csv", "--cost", "R:PG: 13=3", "-o", "x.tally"], 2, "--cost with --positive"),
    ],
)
def test_wrong_places_are_refused_and_nothing_is_written(folder, words, code, says):
    before = {path: path.read_bytes() for path in folder.glob("films.*")}
    assert says in tally("decide", "films.tally", *words, where=folder, code=code)
    assert before == {path: path.read_bytes() for path in folder.glob("films.*")}
    assert not (folder / "x.tally").exists()


def test_the_threshold_with_the_lowest_cost_moves_with_the_costs(folder):
    words = ("decide", "films.tally", "films.csv", "--positive", "R", "--json")
    cheap, dear = (
        json.loads(tally(*words, "--cost", f"PG: 13:R={cost}", where=folder))["threshold"] for cost in (0.1, 20)
    )
    assert cheap < 0.5 < dear


def test_rows_that_were_not_learned_need_to_be_called_new(folder):
    (folder / "new.csv").write_text("deaths,again,genre,rating\n900,900,opera,R\n1,1,war,PG: 13\n")
    words = ("decide", "films.tally", "--in-place", "new.csv", "--positive", "R", "--false-negatives", "0")
    assert "a row that was learned" in tally(*words, where=folder, code=1)
    assert "0 of 1 missed" in tally(*words, "--new", where=folder)
    tally("decide", "films.tally", "--in-place", "--most-probable", where=folder)


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


def test_a_budget_is_a_threshold_with_its_precision_and_recall(folder):
    out = tally("decide", "films.tally", "films.csv", "--positive", "R", "--budget", "20", where=folder)
    assert "at most 20 rows: 20 flagged, precision " in out
    facts = json.loads(
        tally("decide", "films.tally", "films.csv", "--positive", "R", "--budget", "10%", "--json", where=folder)
    )
    assert facts["constraint"] in out
    assert "DATA to select" in tally("decide", "films.tally", "--positive", "R", "--budget", "5", where=folder, code=2)


def test_costs_of_a_chosen_threshold_are_saved_and_evaluated(folder):
    words = ("--positive", "R", "--cost", "R:PG: 13=10", "-o", "costly.tally")
    assert "R answered PG: 13: 10" in tally("decide", "films.tally", "films.csv", *words, where=folder)
    assert tb.load(folder / "costly.tally").decision.costs == {"R": {"PG: 13": 10.0}}
    assert "\ncost  " in tally("evaluate", "costly.tally", "films.csv", where=folder)


def test_boolean_labels_are_written_as_everywhere_else():
    table = {"x": list("abab") * 10, "y": [True, False, True, True] * 10}
    model = tb.fit(table, "y")
    model.decision = model.decide(table, True, false_negatives=3)
    assert str(model.decision).startswith("true if its probability")
    assert "True" not in str(model) + str(model.explain({"x": "a"})[0])
    assert str(tb.Decision(costs={True: {False: 10}})) == "least expected cost (true answered false: 10)"
