"""The command as people and programs use it: what goes where, exit codes, safety. What it prints is in docs/."""

import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import tallybayes as tb

TALLY = [sys.executable, "-m", "tallybayes.cli.main"]


def tally(*arguments, cwd, stdin=None, **env):
    own = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    return subprocess.run(
        [*TALLY, *map(str, arguments)], cwd=cwd, input=stdin, env=own | env, capture_output=True, text=True, check=False
    )


def fine(*arguments, cwd, **rest):
    done = tally(*arguments, cwd=cwd, **rest)
    assert done.returncode == 0, done.stderr
    return done.stdout


def table(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pets")
    fine("demo", "--keep", folder, cwd=folder)
    return folder


@pytest.fixture
def here(pets, tmp_path):
    for name in ("pets.csv", "new.csv", "correction.csv", "pets.tally"):
        (tmp_path / name).write_bytes((pets / name).read_bytes())
    return tmp_path


def test_fit_does_what_the_library_does(here):
    report = json.loads(fine("fit", "pets.csv", "--label", "pet", "--json", cwd=here))
    model = tb.load(here / "pets.tally")
    assert model == tb.fit(here / "pets.csv", label="pet")
    assert report["rows"] == sum(model.class_counts.values())
    assert report["model"] == "pets.tally"
    assert [c["class"] for c in report["classes"]] == model.classes
    assert {c["column"]: c["family"] for c in report["columns"]}["likes"] == "tags"


def test_options_of_fit_reach_the_model(here):
    fine(
        "fit",
        "pets.csv",
        "--label",
        "pet",
        "-o",
        "m.tally",
        "--as",
        "kilos=gaussian:nu=3",
        "--ignore",
        "colour",
        "--smoothing",
        "2",
        "--smoothing",
        "likes=0.5",
        "--prior",
        "cat=0.2",
        "--prior",
        "dog=0.5",
        "--prior",
        "rabbit=0.3",
        "--unseen",
        "missing",
        "--numeric",
        "poisson",
        cwd=here,
    )
    model = tb.load(here / "m.tally")
    assert str(model.schema.families["kilos"]) == "gaussian:nu=3.0"
    assert "colour" not in model.schema.families
    assert model.settings.smoothing_of("likes") == 0.5
    assert model.settings.smoothing_of("kilos") == 2.0
    assert model.settings.prior == {"cat": 0.2, "dog": 0.5, "rabbit": 0.3}
    assert np.exp(model.log_prior()).round(3).tolist() == [0.2, 0.5, 0.3]
    fine("fit", "pets.csv", "--label", "pet", "-o", "m.tally", "--estimate", "mle", "--prior", "uniform", cwd=here)
    assert tb.load(here / "m.tally").settings.estimate == "mle"
    (here / "w.csv").write_text("x,w,pet\n1,2,cat\n2,0.5,dog\n")
    fine("fit", "w.csv", "--label", "pet", "-o", "m.tally", "--weight", "w", "--prior-smoothing", "0", cwd=here)
    assert tb.load(here / "m.tally").class_counts == {"cat": 2, "dog": 0.5}


def test_nothing_is_written_by_a_dry_run(here):
    fine("fit", "pets.csv", "--label", "pet", "-o", "dry.tally", "--dry-run", cwd=here)
    assert not (here / "dry.tally").exists()


def test_predictions_keep_the_input(here):
    model = tb.load(here / "pets.tally")
    out = list(csv.DictReader(io.StringIO(fine("predict", "pets.tally", "pets.csv", cwd=here))))
    given = table(here / "pets.csv")
    assert [{name: row[name] for name in given[0]} for row in out] == given
    assert [row["predicted"] for row in out] == model.predict(here / "pets.csv").tolist()
    only = list(csv.reader(io.StringIO(fine("predict", "pets.tally", "pets.csv", "--id", "name", "--proba", cwd=here))))
    assert only[0] == ["name", "predicted", "probability", "P(cat)", "P(dog)", "P(rabbit)"]
    p = np.array([row[3:] for row in only[1:]], float)
    assert np.allclose(p, model.predict_proba(here / "pets.csv"), rtol=1e-9, atol=0)


def test_formats_go_in_and_out(here):
    rows = [
        {"kilos": 2.5, "likes": "carrots", "note": {"a": [1, "x"]}},
        {"kilos": None, "likes": "walks", "note": None},
    ]
    (here / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = [json.loads(line) for line in fine("predict", "pets.tally", "a.jsonl", cwd=here).splitlines()]
    assert [{name: row[name] for name in rows[0]} for row in out] == rows
    assert [row["predicted"] for row in out] == ["rabbit", "dog"]
    piped = fine("predict", "pets.tally", "-", cwd=here, stdin=(here / "a.jsonl").read_text())
    assert [json.loads(line) for line in piped.splitlines()] == out
    for name in ("o.csv", "o.tsv", "o.jsonl", "o.parquet"):
        fine("predict", "pets.tally", "new.csv", "-o", name, cwd=here)
    assert pyarrow.parquet.read_table(here / "o.parquet").column("predicted").to_pylist() == ["cat", "dog"]
    assert (here / "o.tsv").read_text().splitlines()[0].split("\t")[0] == "name"
    assert [json.loads(line)["predicted"] for line in (here / "o.jsonl").read_text().splitlines()] == ["cat", "dog"]
    again = fine("predict", "pets.tally", "o.tsv", cwd=here)
    assert again.splitlines()[0].split("\t")[-2:] == ["predicted_", "probability_"]
    as_csv = fine("predict", "pets.tally", "o.parquet", cwd=here)
    assert as_csv.splitlines()[1].startswith("Mimi,3.9,grey,fish|sun,true,cat")
    as_json = fine("predict", "pets.tally", "new.csv", "--json", cwd=here)
    assert json.loads(as_json.splitlines()[1])["kilos"] is None


def test_evaluate_agrees_with_scikit_learn(here):
    from sklearn.metrics import (
        accuracy_score,
        brier_score_loss,
        confusion_matrix,
        log_loss,
        precision_recall_fscore_support,
    )

    judged = json.loads(fine("evaluate", "pets.tally", "pets.csv", "--json", cwd=here))
    model = tb.load(here / "pets.tally")
    p = model.predict_proba(here / "pets.csv")
    truth = [row["pet"] for row in table(here / "pets.csv")]
    said = model.predict(here / "pets.csv")
    assert judged["accuracy"] == accuracy_score(truth, said)
    assert judged["log_loss"] == pytest.approx(log_loss(truth, p, labels=model.classes), rel=1e-12)
    assert judged["brier"] == pytest.approx(
        brier_score_loss(truth, p, labels=model.classes, scale_by_half=False), rel=1e-12
    )
    assert judged["confusion"] == confusion_matrix(truth, said, labels=model.classes).tolist()
    precision, recall, f1, rows = precision_recall_fscore_support(truth, said, labels=model.classes)
    for name, values in {"precision": precision, "recall": recall, "f1": f1, "rows": rows}.items():
        assert [row[name] for row in judged["per_class"]] == pytest.approx(values.tolist()), name


def test_cross_validation_is_fitting_on_the_other_folds(here):
    from tallybayes.data.label import find_labels
    from tallybayes.data.table import to_table
    from tallybayes.evaluation.cross_validation import Deal

    rows = table(here / "pets.csv")
    for row in rows:
        row["kilos"] = float(row["kilos"]) if row["kilos"] else None
        row["likes"] = row["likes"] or None
        row["indoors"] = row["indoors"] == "true"
    fold = Deal(5, 3)(find_labels(to_table(rows), "pet"))
    assert np.bincount(fold).max() - np.bincount(fold).min() <= 3
    right, schema = 0, tb.fit(rows, label="pet").schema
    for number in range(5):
        model = tb.fit([row for row, f in zip(rows, fold, strict=True) if f != number], schema=schema)
        held_out = [row for row, f in zip(rows, fold, strict=True) if f == number]
        right += sum(model.predict(held_out) == np.array([row["pet"] for row in held_out]))
    judged = json.loads(fine("evaluate", "pets.csv", "--label", "pet", "--folds", 5, "--seed", 3, "--json", cwd=here))
    assert judged["accuracy"] == right / len(rows)
    assert len(judged["folds"]) == 5


def test_explanations_add_up(here):
    for one in json.loads(fine("explain", "pets.tally", "pets.csv", "-n", 20, "--json", cwd=here)):
        for c in range(3):
            total = one["log_prior"][c]
            for part in one["log_evidence"].values():
                total += part[c]
            assert total == one["log_joint"][c]  # to the last bit
        odds = np.exp(np.array(one["log_joint"]) - max(one["log_joint"]))
        assert np.allclose(odds / odds.sum(), one["probabilities"], rtol=1e-12)
    text = fine("explain", "pets.tally", "pets.csv", "-n", 20, cwd=here)
    for block in text.strip().split("\n\n"):
        *parts, total = [float(line.split()[-1]) for line in block.splitlines()[2:-1]]  # the last line is a sentence
        assert round(sum(parts), 1) == total  # and as it is shown


def test_learn_and_forget_are_exact(here):
    before = (here / "pets.tally").read_bytes()
    fine("learn", "pets.tally", "correction.csv", cwd=here)
    assert (here / "pets.tally").read_bytes() != before
    fine("forget", "pets.tally", "correction.csv", cwd=here)
    assert tb.load(here / "pets.tally") == tb.fit(here / "pets.csv", label="pet")


def test_an_update_that_fails_leaves_the_file_alone(here):
    before = (here / "pets.tally").read_bytes()
    (here / "bad.csv").write_text("kilos,pet\n4,cat\nheavy,dog\n")
    done = tally("learn", "pets.tally", "bad.csv", cwd=here)
    assert (done.returncode, done.stdout) == (1, "")
    assert "bad.csv, line 3, column 'kilos': expected a number, got 'heavy'" in done.stderr
    assert tally("forget", "pets.tally", "correction.csv", cwd=here).returncode == 1  # never learned
    assert (here / "pets.tally").read_bytes() == before
    assert sorted(path.name for path in here.iterdir()) == [
        "bad.csv",
        "correction.csv",
        "new.csv",
        "pets.csv",
        "pets.tally",
    ]


def test_an_output_that_fails_leaves_nothing(here):
    (here / "out.csv").write_text("as it was")
    (here / "bad.csv").write_text("kilos,pet\n" + "4,cat\n" * 20 + "heavy,dog\n")
    assert tally("predict", "pets.tally", "bad.csv", "-o", "out.csv", cwd=here).returncode == 1
    assert (here / "out.csv").read_text() == "as it was"
    assert not list(here.glob("*.part"))


def test_two_commands_learn_into_one_file(here):
    (here / "more.csv").write_text("kilos,pet\n" + "5,cat\n" * 50)
    running = [
        subprocess.Popen([*TALLY, "learn", "pets.tally", "more.csv"], cwd=here, stdout=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert [process.wait() for process in running] == [0] * 4
    model = tb.load(here / "pets.tally")
    assert model.class_counts["cat"] == tb.fit(here / "pets.csv", label="pet").class_counts["cat"] + 200


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["fit", "pets.csv"], 2, "wanted --label COL"),
        (["fit", "pets.csv", "--label", "pett"], 1, "did you mean 'pet'?"),
        (["fit", "pest.csv", "--label", "pet"], 1, "did you mean 'pets.csv'?"),
        (["fit", "pets.csv", "--label", "pet", "--as", "kilo=gaussian"], 2, "did you mean 'kilos'?"),
        (["fit", "pets.csv", "--label", "pet", "--as", "kilos=gausian"], 2, "did you mean 'gaussian'?"),
        (["fit", "pets.csv", "--label", "pet", "--ignore", "colours"], 2, "did you mean 'colour'?"),
        (["fit", "pets.csv", "--label", "pet=dgo"], 1, "did you mean 'dog'?"),
        (["fit", "pets.csv", "--label", "pet", "--smoothing", "much"], 2, "--smoothing: auto, a number"),
        (["fit", "pets.csv", "--label", "pet", "--prior", "cat=0.5"], 2, "that add up to 1"),
        (["fit", "pets.csv", "--label", "pet", "-o", "no/where.tally"], 1, "a folder to write the model to"),
        (["fit", "pets.csv", "--label", "pet", "--format", "parket"], 2, "did you mean 'parquet'?"),
        (["fti", "pets.csv"], 2, "Did you mean 'fit'?"),
        (["fit", "pets.csv", "--lable", "pet"], 2, "--label"),
        (["predict", "pets.csv", "new.csv"], 1, "pets.csv: this is not a model file of tallybayes"),
        (["predict", "none.tally", "new.csv"], 1, "none.tally"),
        (["predict", "pets.tally", "new.csv", "--id", "nam"], 2, "did you mean 'name'?"),
        (["evaluate", "pets.csv"], 2, "a model, or --label"),
        (["evaluate", "pets.tally"], 2, "data to evaluate the model on"),
        (["evaluate", "pets.tally", "new.csv"], 1, "the label column"),
        (["evaluate", "pets.csv", "--label", "pet", "--folds", "1"], 2, "folds to be an integer of at least 2"),
        (["explain", "pets.tally", "new.csv", "--row", "7"], 2, "a row of the data (it has 2)"),
        (["explain", "pets.tally", "new.csv", "--for", "cow"], 2, "a class of the model"),
        (["inspect", "pets.tally", "--column", "colours"], 2, "did you mean 'colour'?"),
        (["merge", "pets.tally", "-o", "x.tally"], 2, "two models or more"),
        (["sample", "pets.tally", "-n", "-1"], 2, "n to be an integer of at least 0"),
    ],
)
def test_mistakes_are_told_in_a_few_lines(here, arguments, code, words):
    done = tally(*arguments, cwd=here)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (here / "x.tally").exists()


def test_debug_shows_the_traceback(here):
    done = tally("fit", "pets.csv", "--label", "pett", "--debug", cwd=here)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_a_reader_that_has_seen_enough(here):
    lines = (here / "pets.csv").read_text().splitlines()
    (here / "long.csv").write_text("\n".join([lines[0], *lines[1:] * 200]) + "\n")
    command = f"{' '.join(TALLY)} predict pets.tally long.csv | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=here, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("name,kilos")
    assert done.stderr == ""


def test_version_names_the_kernels(here):
    assert fine("--version", cwd=here).split()[:2] == ["tally", tb.__version__]
    assert "(reference kernels)" in fine("--version", cwd=here, TALLYBAYES_KERNELS="reference")


def test_completion_is_there(here):
    """The shell asks the command itself what may come next."""
    command = Path(sys.executable).parent / "tally"
    env = os.environ | {"_TALLY_COMPLETE": "complete_bash", "COMP_WORDS": "tally pre", "COMP_CWORD": "1"}
    assert subprocess.run([command], env=env, capture_output=True, text=True, check=False).stdout.split() == ["predict"]


def test_options_for_fitting_are_refused_beside_a_model(here):
    for option in (["--as", "kilos=gaussian"], ["--numeric", "gaussian"], ["--smoothing", "1"]):
        done = tally("evaluate", "pets.tally", "pets.csv", *option, cwd=here)
        assert done.returncode == 2
        assert "this model is fitted already" in done.stderr


def on_a_terminal(arguments, cwd, **env):
    """What a command writes to standard error if that is a terminal."""
    own, other = pty.openpty()
    process = subprocess.Popen(
        [*TALLY, *arguments], cwd=cwd, stdout=subprocess.DEVNULL, stderr=other, env=os.environ | {"TERM": "xterm"} | env
    )
    os.close(other)
    seen = b""
    while True:
        try:
            part = os.read(own, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    process.wait()
    os.close(own)
    return seen.decode()


def test_a_bar_on_a_terminal_and_nothing_off_it(here):
    lines = (here / "pets.csv").read_text().splitlines()
    (here / "long.csv").write_text("\n".join([lines[0], *lines[1:] * 6000]) + "\n")
    seen = on_a_terminal(["fit", "long.csv", "--label", "pet"], here)
    assert "rows" in seen
    assert "MB/s" in seen
    assert tally("fit", "long.csv", "--label", "pet", cwd=here).stderr == ""
    red = "\033[31m"
    assert red in on_a_terminal(["fit", "nothing.csv", "--label", "pet"], here)
    assert red not in on_a_terminal(["fit", "nothing.csv", "--label", "pet"], here, NO_COLOR="1")


def test_interrupted_it_says_so_and_changes_nothing(here):
    before = (here / "pets.tally").read_bytes()
    lines = (here / "pets.csv").read_text().splitlines()
    (here / "long.csv").write_text("\n".join([lines[0], *lines[1:] * 20000]) + "\n")
    process = subprocess.Popen([*TALLY, "learn", "pets.tally", "long.csv"], cwd=here, stderr=subprocess.PIPE, text=True)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=60)
    assert "Traceback" not in words
    assert process.returncode in (0, 130)  # it may have been quicker
    if process.returncode == 130:
        assert "stopped; nothing was changed" in words
        assert (here / "pets.tally").read_bytes() == before


def test_no_verb_shows_help(here):
    done = tally(cwd=here)
    assert "tally fit data.csv --label species" in done.stdout + done.stderr


def test_the_installed_command_is_the_same():
    command = Path(sys.executable).parent / "tally"
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"tally {tb.__version__}")


def test_columns_that_come_and_go_leave_no_trace(here):
    before = (here / "pets.tally").read_bytes()
    (here / "new_column.csv").write_text("kilos,whiskers,pet\n4,long,cat\n")
    done = tally("learn", "pets.tally", "new_column.csv", cwd=here)
    assert "new columns, from now on part of the model: whiskers" in done.stderr
    fine("forget", "pets.tally", "new_column.csv", cwd=here)
    assert (here / "pets.tally").read_bytes() == before


def test_nothing_is_written_over_data(here):
    before = (here / "pets.csv").read_bytes()
    for arguments in (["fit", "pets.csv", "--label", "pet"], ["predict", "pets.tally", "pets.csv"]):
        assert tally(*arguments, "-o", "pets.csv", cwd=here).returncode == 2
    assert tally("fit", "pets.csv", "--label", "pet", "-o", "new.csv", cwd=here).returncode == 1  # not a model
    assert (here / "pets.csv").read_bytes() == before


def test_words_for_missing_values_are_remembered(here):
    (here / "m.csv").write_text("kilos,pet\n4,cat\n-,dog\n30,dog\n")
    fine("fit", "m.csv", "--label", "pet", "--missing", "-", cwd=here)
    for verb in (["predict"], ["explain"], ["evaluate"], ["learn"], ["forget"]):
        fine(*verb, "m.tally", "m.csv", cwd=here)
    assert fine("predict", "m.tally", "m.csv", cwd=here).splitlines()[2].startswith("-,dog,")  # as it was


def test_data_that_does_not_fit_the_model(here):
    (here / "other.csv").write_text("a,b\n1,2\n")
    done = tally("predict", "pets.tally", "other.csv", cwd=here)
    assert (done.returncode, done.stdout) == (1, "")
    assert "wanted columns that the model knows" in done.stderr
    (here / "part.csv").write_text("kilos,b\n1,2\n")
    assert (
        "not in the data (missing): colour, indoors, likes"
        in tally("predict", "pets.tally", "part.csv", cwd=here).stderr
    )


def test_no_rows_in_no_rows_out(here):
    (here / "none.csv").write_text("kilos,colour\n")
    assert fine("predict", "pets.tally", "none.csv", cwd=here) == "kilos,colour,predicted,probability\n"
    fine("predict", "pets.tally", "none.csv", "-o", "none.parquet", cwd=here)
    assert pyarrow.parquet.read_table(here / "none.parquet").num_rows == 0


def test_numbers_without_a_json_form(here):
    table = pyarrow.table({"kilos": [1.0, 2.0], "note": [float("nan"), float("inf")]})
    pyarrow.parquet.write_table(table, here / "odd.parquet")
    rows = [json.loads(line) for line in fine("predict", "pets.tally", "odd.parquet", "--json", cwd=here).splitlines()]
    assert [row["note"] for row in rows] == [None, None]


def test_a_carriage_return_in_a_cell_is_quoted_when_written(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'id,x,y\n"1\r",1.5,a\n"2",2.5,b\n')
    fine("fit", "a.csv", "--label", "y", "--as", "x=gaussian", "--ignore", "id", "-o", "m.tally", cwd=tmp_path)
    fine("predict", "m.tally", "a.csv", "-o", "o.csv", cwd=tmp_path)
    with (tmp_path / "o.csv").open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["1\r", "2"]
