"""--quiet and --verbose: what they silence and what they add."""

import re

from command_line import tally


def test_quiet_silences_notes_but_not_errors_and_results(here):
    (here / "few.csv").write_text("kilos,pet\n4,cat\n5,cat\n30,dog\n")
    usual = tally("fit", "few.csv", "--label", "pet", cwd=here)
    quiet = tally("fit", "few.csv", "--label", "pet", "--quiet", cwd=here)
    assert "no column weights" in usual.stderr
    assert (quiet.stdout, quiet.stderr) == (usual.stdout, "")
    wrong = tally("fit", "few.csv", "--label", "pett", "-q", cwd=here)
    assert (wrong.returncode, "did you mean 'pet'?" in wrong.stderr) == (1, True)


def test_verbose_says_what_was_detected_and_how_long_it_took(here):
    (here / "semicolon.csv").write_text("kilos;pet\n4,5;cat\n5,5;cat\n30;dog\n")
    done = tally("fit", "semicolon.csv", "--label", "pet", "--verbose", cwd=here)
    assert "detected: format 'csv', columns 2, delimiter ';', decimal ','" in done.stderr
    for step in ("reading the first rows", "fitting", "total"):
        assert re.search(rf"^{step}: \d+\.\d\d s$", done.stderr, re.MULTILINE), done.stderr
    done = tally("inspect", "pets.tally", "-v", cwd=here)
    assert "pets.tally: 3 classes, 4 columns, 300 rows" in done.stderr


def test_both_are_an_error(here):
    done = tally("inspect", "pets.tally", "-q", "-v", cwd=here)
    assert (done.returncode, done.stderr) == (2, "error: expected --quiet or --verbose, got both\n")
