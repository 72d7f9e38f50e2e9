"""Help, errors, exit codes and progress. What a successful command prints is tested by the documents in docs/."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tallybayes as tb
from command_line import TALLY, fine, table, tally
from tallybayes.cli import messages


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["fit", "pets.csv"], 2, "expected --label COL"),
        (["fit", "pets.csv", "--label", "pett"], 1, "did you mean 'pet'?"),
        (["fit", "pest.csv", "--label", "pet"], 1, "did you mean 'pets.csv'?"),
        (["fit", "pets.csv", "--label", "pet", "--as", "kilo=gaussian"], 2, "did you mean 'kilos'?"),
        (["fit", "pets.csv", "--label", "pet", "--as", "kilos=gausian"], 2, "did you mean 'gaussian'?"),
        (["fit", "pets.csv", "--label", "pet", "--ignore", "colours"], 2, "did you mean 'colour'?"),
        (["fit", "pets.csv", "--label", "pet=dgo"], 1, "did you mean 'dog'?"),
        (["fit", "pets.csv", "--label", "pet", "--smoothing", "much"], 2, "--smoothing: auto, a number"),
        (["fit", "pets.csv", "--label", "pet", "--class-prior", "cat=0.5"], 2, "that add up to 1"),
        (["fit", "pets.csv", "--label", "pet", "-o", "no/where.tally"], 1, "a folder to write a model to"),
        (["fit", "pets.csv", "--label", "pet", "--format", "parket"], 2, "did you mean 'parquet'?"),
        (["fti", "pets.csv"], 2, "Did you mean 'fit'?"),
        (["fit", "pets.csv", "--lable", "pet"], 2, "--label"),
        (["predict", "pets.csv", "new.csv"], 1, "pets.csv: not a model file of tallybayes"),
        (["predict", "none.tally", "new.csv"], 1, "none.tally"),
        (["predict", "pets.tally", "new.csv", "--id", "nam"], 2, "did you mean 'name'?"),
        (["evaluate", "pets.csv"], 2, "a model, or --label"),
        (["evaluate", "pets.tally"], 2, "data to evaluate the model on"),
        (["evaluate", "pets.tally", "new.csv"], 1, "the label column"),
        (["evaluate", "pets.csv", "--label", "pet", "--folds", "1"], 2, "--folds to be an integer of at least 2"),
        (["explain", "pets.tally", "new.csv", "--row", "7"], 2, "a row of the data (it has 2)"),
        (["explain", "pets.tally", "new.csv", "--positive", "cow"], 2, "a class of the model"),
        (["inspect", "pets.tally", "--column", "colours"], 2, "did you mean 'colour'?"),
        (["merge", "pets.tally", "-o", "x.tally"], 2, "two or more models"),
        (["merge", "pets.tally", "pets.tally", "-o", "."], 1, "a new file, or a model to replace, got a folder"),
        (
            ["forget", "pets.tally", "other.csv"],
            1,
            "other.csv, column 'pet': expected the label column in the data, got ['q",
        ),
        (["importance", "pets.tally", "other.csv"], 1, "expected the label column in the data, got ['q', 'r']"),
        (["fit", "nope.csv", "--label", "pet"], 1, "hint: there is no such file"),
        (["predict", "pets.tally", "new.csv", "--id", "zip"], 2, "hint: the columns are ['name', "),
        (
            ["explain", "pets.tally", "new.csv", "--positive", "cow"],
            2,
            "hint: the classes are ['cat', 'dog', 'rabbit']",
        ),
        (["inspect", "pets.tally", "--column", "zip"], 2, "hint: the columns are ["),
        (["tune", "pets.csv", "--label", "pet", "--what", "bogus"], 2, "hint: one of smoothing, families"),
        (["fit", "pets.csv"], 2, "the column to predict, got none"),
        (["evaluate", "pets.csv", "--label", "pet", "--folds", "x"], 2, "'--folds': expected an integer, got 'x'"),
        (["predict", "pets.tally", "new.csv", "--interval", "x"], 2, "'--interval': expected a number, got 'x'"),
        (["fit", "pets.csv", "--label", "pet", "--schema", "other.csv"], 1, "other.csv, line 1: expected a schema"),
        (
            ["fit", "other.csv", "--label", "q", "--sample-weight", "r"],
            1,
            "'r': expected rows with a weight above 0, got none",
        ),
        (["fit", "broken.parquet", "--label", "q"], 1, "broken.parquet: expected a complete parquet file, got one"),
        (["fit", "broken.csv", "--label", "q", "--encoding", "cp1252"], 1, "text in cp1252, got the byte 0x81"),
        (["sample", "pets.tally", "-n", "-1"], 2, "n to be an integer of at least 0"),
    ],
)
def test_mistakes_are_reported_in_a_few_lines(here, arguments, code, words):
    (here / "other.csv").write_text("q,r\na,0\n")
    (here / "broken.parquet").write_bytes(b"PAR1" + b"x" * 20)
    (here / "broken.csv").write_bytes(b"q,r\n\x81,0\n")
    done = tally(*arguments, cwd=here)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (here / "x.tally").exists()


def test_a_single_class_is_noted(tmp_path):
    (tmp_path / "one.csv").write_text("x,y\n1,cat\n2,cat\n,\ninf,cat\n")
    done = tally("fit", "one.csv", "--label", "y", "--as", "x=gaussian", "--skip-bad", cwd=tmp_path)
    assert "only one class, cat: every prediction is that class" in done.stderr
    assert "skipped 1 without a label, skipped 1 bad row;" in done.stdout


def test_an_empty_model_answers_nothing(here):
    fine("forget", "pets.tally", "pets.csv", cwd=here)
    for verb in ("predict", "explain"):
        done = tally(verb, "pets.tally", "new.csv", cwd=here)
        assert (done.returncode, done.stdout) == (1, "")
        assert "pets.tally: expected a model that has learned rows, got an empty model" in done.stderr


def test_a_file_without_rows_is_an_error_for_fit(tmp_path):
    (tmp_path / "empty.csv").write_text("x,y\n")
    done = tally("fit", "empty.csv", "--label", "y", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "rows" in done.stderr
    assert not (tmp_path / "empty.tally").exists()


def test_debug_shows_the_traceback(here):
    done = tally("fit", "pets.csv", "--label", "pett", "--debug", cwd=here)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


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
        assert "got a model, which is already fitted" in done.stderr


def on_a_terminal(arguments, cwd, stream="stderr", **env):
    """What a command writes to one of its streams if that is a terminal."""
    own, other = pty.openpty()
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | {stream: other}
    process = subprocess.Popen([*TALLY, *arguments], cwd=cwd, env=os.environ | {"TERM": "xterm"} | env, **streams)
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


def test_a_bar_counts_in_its_unit(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(messages, "_DELAY", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with messages.progress("verifying", unit="changes") as step:
        step(7, None, 0)
    printed = capsys.readouterr().err
    assert ("7 changes" in printed, "changes/s" in printed, "rows" in printed) == (True, True, False), printed


def test_a_bar_on_a_terminal_and_nothing_off_it(here):
    lines = (here / "pets.csv").read_text().splitlines()
    (here / "long.csv").write_text("\n".join([lines[0], *lines[1:] * 6000]) + "\n")
    seen = on_a_terminal(["fit", "long.csv", "--label", "pet"], here)
    assert "rows" in seen
    assert "MB/s" in seen
    assert tally("fit", "long.csv", "--label", "pet", "--group", "name", cwd=here).stderr == ""
    red = "\033[31m"
    assert red in on_a_terminal(["fit", "nothing.csv", "--label", "pet"], here)
    assert red not in on_a_terminal(["fit", "nothing.csv", "--label", "pet"], here, NO_COLOR="1")


def test_no_verb_shows_help(here):
    done = tally(cwd=here)
    assert "tally fit data.csv --label species" in done.stdout + done.stderr


def test_the_installed_command_is_the_same():
    command = Path(sys.executable).parent / "tally"
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"tally {tb.__version__}")


def test_columns_that_the_model_does_not_have(here):
    (here / "other.csv").write_text("a,b\n1,2\n")
    done = tally("predict", "pets.tally", "other.csv", cwd=here)
    assert (done.returncode, done.stdout) == (1, "")
    assert "expected columns of the model" in done.stderr
    (here / "part.csv").write_text("kilos,b\n1,2\n")
    assert (
        "not in the data, treated as missing: colour, indoors, likes"
        in tally("predict", "pets.tally", "part.csv", cwd=here).stderr
    )


ESCAPE = "a\x1b[31m\x9b\u202e"


@pytest.fixture
def hostile(tmp_path):
    """A model whose column, label and values hold escape sequences."""
    rows = [{ESCAPE: ESCAPE, "y": ESCAPE}, {ESCAPE: "b", "y": "q"}] * 5
    tb.fit(rows, label="y", families={ESCAPE: "categorical"}).save(tmp_path / "m.tally")
    (tmp_path / "new.jsonl").write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "m.tally"],
        ["explain", "m.tally", "new.jsonl", "--row", "0"],
        ["evaluate", "m.tally", "new.jsonl"],
        ["importance", "m.tally", "new.jsonl", "--rows", "10"],
        ["learn", "m.tally", "new.jsonl"],
        ["decide", "m.tally", "--positive", ESCAPE, "--threshold", "0.5"],
        ["explain", "m.tally", "new.jsonl", "--positive", ESCAPE + "?"],
        ["inspect", "m.tally", "--json"],
        ["predict", "m.tally", "new.jsonl"],
    ],
    ids=lambda arguments: " ".join(arguments[:1] + arguments[2:3]),
)
def test_no_control_characters_are_printed(hostile, arguments):
    done = tally(*arguments, cwd=hostile)
    printed = done.stdout + done.stderr
    assert "31m" in printed
    assert all(c == "\n" or c.isprintable() for c in printed)


def test_data_in_files_and_json_is_faithful(hostile):
    (first, *_) = fine("predict", "m.tally", "new.jsonl", cwd=hostile).splitlines()
    assert json.loads(first)["predicted"] == json.loads(first)[ESCAPE] == ESCAPE
    fine("predict", "m.tally", "new.jsonl", "-o", "out.csv", cwd=hostile)
    assert table(hostile / "out.csv")[0]["predicted"] == ESCAPE


def test_csv_on_a_terminal_has_no_control_characters(hostile):
    (hostile / "new.csv").write_text(f"{ESCAPE},z\nb,1\n")
    printed = on_a_terminal(["predict", "m.tally", "new.csv"], hostile, "stdout")
    assert "31m" in printed
    assert "\x1b[31m" not in printed
    assert "\x9b" not in printed


def test_many_columns_are_printed_in_a_few_lines(tmp_path):
    rng = np.random.default_rng(0)
    lines = [",".join([*(f"{x:.2f}" for x in rng.normal(size=60)), "ab"[i % 2]]) for i in range(60)]
    (tmp_path / "wide.csv").write_text(",".join([*(f"x{i}" for i in range(60)), "y"]) + "\n" + "\n".join(lines))
    out = fine("fit", "wide.csv", "--label", "y", cwd=tmp_path)
    assert "x0, x1, x2 and 57 more   histogram   real numbers" in out
    out = fine("fit", "wide.csv", "--label", "y", "--only", "x3", "--dry-run", cwd=tmp_path)
    assert "x0, x1, x2 and 56 more   excluded    excluded by the user" in out
    out = fine("tune", "wide.csv", "--label", "y", "--what", "column_weights", cwd=tmp_path)
    assert "weights of 60 columns: " in out
    assert len(out.splitlines()) < 12


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--group", "nam"], 2, "did you mean 'name'?"),
        (["--group", "name", "--time", "kilos"], 2, "--group or --time, got both"),
        (["--folds", "3", "--holdout", "0.2"], 2, "--folds or --holdout, got both"),
        (["--holdout", "2"], 2, "between 0 and 1"),
        (["--time", "colour"], 1, "column 'colour': expected a time, got"),
        (["--positive", "cow"], 2, "a class of the model, got 'cow'"),
        (["--class-weight", "dgo=2"], 2, "did you mean 'dog'?"),
        (["--class-weight", "dog=much"], 2, "--class-weight: balanced, or CLASS=W"),
        (["--class-weight", "even"], 2, "class_weight to be None, 'balanced'"),
        (["--prequential", "--holdout", "0.2"], 2, "--holdout only for data and --label, got --prequential"),
    ],
)
def test_wrong_options_of_evaluation(here, words, code, says):
    done = tally("evaluate", "pets.csv", "--label", "pet", *words, cwd=here)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr
