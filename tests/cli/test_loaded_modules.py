"""What one prediction loads: most of the time of a short command is spent on imports."""

import json
import os
import subprocess
import sys

import pytest

from command_line import fine, tally

RUN = """
import json, os, sys
sys.argv = ["tally", *sys.argv[1:]]
from tallybayes.cli.main import main
try:
    main()
finally:
    print(json.dumps([sorted(sys.modules), os.environ["OPENBLAS_THREAD_TIMEOUT"]]), file=sys.stderr)
"""
HEAVY = ("duckdb", "pandas", "polars", "pydantic", "rich", "river", "scipy", "sklearn", "tkinter", "matplotlib")


def loaded(here, *words, stdin=None):
    (here / "one.csv").write_text("name,kilos,likes\nx,4,fish\n")
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words], cwd=here, input=stdin, capture_output=True, text=True, check=True
    )
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (["predict", "pets.tally", "one.csv"], None),
        (["predict", "pets.tally", "one.csv", "-o", "out.csv", "--proba", "--id", "name"], None),
        (["predict", "pets.tally", "-"], "kilos,likes\n4,fish\n"),
    ],
    ids=["file", "output", "standard input"],
)
def test_a_prediction_of_one_row_loads_nothing_that_it_does_not_need(here, words, stdin):
    modules, _ = loaded(here, *words, stdin=stdin)
    assert {name.partition(".")[0] for name in modules} & {*HEAVY} == set()
    assert not {"pyarrow.parquet", "pyarrow.dataset", "tallybayes.weights", "tallybayes.tuning"} & {*modules}
    assert len([name for name in modules if name.startswith("tallybayes")]) <= 250  # of 430
    assert len(modules) <= 600


def test_cells_with_units_need_no_pandas_either(here):
    (here / "units.csv").write_text("share,price,y\n" + "".join(f"{i}%,€{i},{'uv'[i % 2]}\n" for i in range(40)))
    fine("fit", "units.csv", "--label", "y", "--column-weights", "none", cwd=here)
    (here / "one.csv").write_text("share,price\n7%,€9\n")
    done = subprocess.run(
        [sys.executable, "-c", RUN, "predict", "units.tally", "one.csv"],
        cwd=here,
        capture_output=True,
        text=True,
        check=True,
    )
    modules, _ = json.loads(done.stderr.splitlines()[-1])
    assert {name.partition(".")[0] for name in modules} & {*HEAVY} == set()


def test_threads_of_blas_do_not_wait_in_a_loop(here, monkeypatch):
    monkeypatch.delenv("OPENBLAS_THREAD_TIMEOUT", raising=False)
    assert loaded(here, "--version")[1] == "4"
    monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", "20")
    assert loaded(here, "--version")[1] == os.environ["OPENBLAS_THREAD_TIMEOUT"]


def test_options_that_are_not_text_are_converted(here):
    (here / "one.csv").write_text("title\nname,kilos\nx,4\n")
    words = ("one.csv", "--interval", "0.9", "--id", "name", "--id", "kilos", "--skip-lines", "1")
    lines = fine("predict", "pets.tally", *words, cwd=here).splitlines()
    assert lines[0] == "name,kilos,predicted,probability,low,high"
    done = tally("predict", "pets.tally", "one.csv", "--skip-lines", "x", cwd=here)
    assert (done.returncode, "expected an integer, got 'x'" in done.stderr) == (2, True)
