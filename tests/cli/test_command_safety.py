"""Commands that change files: all or nothing, and true messages about it."""

import stat
import subprocess
import sys
import textwrap

import pytest

import tallybayes as tb
from command_line import TALLY, fine, tally


@pytest.mark.filterwarnings(
    "ignore:texts that hardly repeat, excluded as identifiers. name:tallybayes.errors.DataWarning"
)
def test_learn_and_forget_are_exact(here):
    before = (here / "pets.tally").read_bytes()
    fine("learn", "pets.tally", "correction.csv", cwd=here)
    assert (here / "pets.tally").read_bytes() != before
    fine("forget", "pets.tally", "correction.csv", cwd=here)
    assert tb.load(here / "pets.tally") == tb.fit(here / "pets.csv", label="pet")


def test_an_update_that_fails_leaves_the_file_alone(here):
    before = (here / "pets.tally").read_bytes()
    (here / "bad.csv").write_text("kilos,pet\n4,cat\ninf,dog\n")
    done = tally("learn", "pets.tally", "bad.csv", cwd=here)
    assert (done.returncode, done.stdout) == (1, "")
    assert "bad.csv, line 3, column 'kilos': expected a finite number, got inf" in done.stderr
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
    (here / "bad.csv").write_text("kilos,pet\n" + "4,cat\n" * 20 + "inf,dog\n")
    assert tally("predict", "pets.tally", "bad.csv", "-o", "out.csv", cwd=here).returncode == 1
    assert (here / "out.csv").read_text() == "as it was"
    assert not list(here.glob(".*"))


@pytest.mark.filterwarnings(
    "ignore:texts that hardly repeat, excluded as identifiers. name:tallybayes.errors.DataWarning"
)
def test_two_commands_learn_into_one_file(here):
    (here / "more.csv").write_text("kilos,pet\n" + "5,cat\n" * 50)
    running = [
        subprocess.Popen([*TALLY, "learn", "pets.tally", "more.csv"], cwd=here, stdout=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert [process.wait() for process in running] == [0] * 4
    model = tb.load(here / "pets.tally")
    assert model.class_counts["cat"] == tb.fit(here / "pets.csv", label="pet").class_counts["cat"] + 200


def test_a_reader_that_has_seen_enough(here):
    lines = (here / "pets.csv").read_text().splitlines()
    (here / "long.csv").write_text("\n".join([lines[0], *lines[1:] * 200]) + "\n")
    command = f"{' '.join(TALLY)} predict pets.tally long.csv | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=here, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("name,kilos")
    assert done.stderr == ""


def interrupted(before, *arguments, cwd):
    """A command that receives Ctrl-C just before it calls a function."""
    script = f"""
        import os, signal, sys
        import {before.rpartition(".")[0]} as module
        call = module.{before.rpartition(".")[2]}
        def interrupt(*arguments, **options):
            os.kill(os.getpid(), signal.SIGINT)
            return call(*arguments, **options)
        module.{before.rpartition(".")[2]} = interrupt
        from tallybayes.cli.main import main
        sys.argv[0] = "tally"
        main()
    """
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.crash
@pytest.mark.parametrize("before", ["tallybayes.io.read.read", "os.replace"])
def test_an_interrupt_before_the_file_is_replaced_changes_nothing(here, before):
    content = (here / "pets.tally").read_bytes()
    done = interrupted(before, "learn", "pets.tally", "correction.csv", cwd=here)
    assert (done.returncode, done.stderr) == (130, "error: interrupted; nothing was changed\n")
    assert (here / "pets.tally").read_bytes() == content
    assert not list(here.glob(".*"))


@pytest.mark.crash
def test_an_interrupt_after_the_file_is_replaced_names_the_file(here):
    content = (here / "pets.tally").read_bytes()
    done = interrupted("tallybayes.atomic_file.sync_directory", "learn", "pets.tally", "correction.csv", cwd=here)
    assert (done.returncode, done.stderr) == (130, f"error: interrupted; already written: {here}/pets.tally\n")
    assert (here / "pets.tally").read_bytes() != content


def test_an_error_after_a_file_is_written_names_the_file(here):
    done = tally("fit", "pets.csv", "--label", "pet", "--save-schema", "nowhere/schema.json", cwd=here)
    assert done.returncode == 1
    assert "nowhere/schema.json: the schema cannot be written: No such file or directory" in done.stderr
    assert f"already written: {here}/pets.tally" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["predict", "pets.tally", "new.csv"], "out.csv"),
        (["predict", "pets.tally", "new.csv"], "out.parquet"),
        (["sample", "pets.tally"], "out.jsonl"),
        (["report", "pets.tally", "pets.csv"], "out.html"),
    ],
)
def test_an_output_file_keeps_its_mode_and_symbolic_links(here, arguments, name):
    (here / "real").touch(mode=0o600)
    (here / name).symlink_to("real")
    fine(*arguments, "-o", name, cwd=here)
    assert (here / name).is_symlink()
    assert stat.S_IMODE((here / "real").stat().st_mode) == 0o600
    assert (here / "real").stat().st_size > 0


def test_an_output_can_be_a_pipe(here):
    command = f"{' '.join(TALLY)} predict pets.tally new.csv -o /dev/stdout | cat"
    done = subprocess.run(["bash", "-c", command], cwd=here, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("name,kilos")


def test_columns_that_come_and_go_leave_no_trace(here):
    before = (here / "pets.tally").read_bytes()
    (here / "new_column.csv").write_text("kilos,whiskers,pet\n4,long,cat\n")
    done = tally("learn", "pets.tally", "new_column.csv", cwd=here)
    assert "new columns, added to the model: whiskers" in done.stderr
    fine("forget", "pets.tally", "new_column.csv", cwd=here)
    assert (here / "pets.tally").read_bytes() == before


def test_nothing_is_written_over_data(here):
    before = (here / "pets.csv").read_bytes()
    for arguments in (["fit", "pets.csv", "--label", "pet"], ["predict", "pets.tally", "pets.csv"]):
        assert tally(*arguments, "-o", "pets.csv", cwd=here).returncode == 2
    (here / "keep.csv").write_text("notes")
    for arguments in (
        ["fit", "pets.csv", "--label", "pet"],
        ["merge", "pets.tally", "pets.tally"],
        ["report", "pets.tally", "pets.csv"],
    ):
        done = tally(*arguments, "-o", "keep.csv", cwd=here)
        assert (done.returncode, done.stdout) == (1, "")
        assert "to replace, got a file of another kind" in done.stderr
    assert (here / "keep.csv").read_text() == "notes"
    assert (here / "pets.csv").read_bytes() == before


def test_an_earlier_result_is_replaced(here):
    same_time = {"SOURCE_DATE_EPOCH": "1700000000"}  # a page has the minute when it was made
    n_cats = tb.load(here / "pets.tally").class_counts["cat"]
    for _ in range(2):
        fine("merge", "pets.tally", "pets.tally", "-o", "pets.tally", cwd=here)
    assert tb.load(here / "pets.tally").class_counts["cat"] == 4 * n_cats
    fine("report", "pets.tally", "pets.csv", "-o", "out.html", cwd=here, **same_time)
    report = (here / "out.html").read_text()
    (here / "out.html").write_text(report + "<!-- earlier -->")
    fine("report", "pets.tally", "pets.csv", "-o", "out.html", cwd=here, **same_time)
    assert (here / "out.html").read_text() == report
