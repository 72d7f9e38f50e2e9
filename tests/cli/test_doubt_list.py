"""What is to be checked stands above the result; --strict makes it an error, --yes silences it."""

import json

import pytest

from command_line import fine, tally


@pytest.fixture
def log(tmp_path):
    lines = [f"{i * 7 % 200},{'ok' if i % 9 else 'bad'},{'?' if i % 10 == 0 else 'pq'[i % 2]}" for i in range(200)]
    (tmp_path / "log.csv").write_text("\n".join(["x,state,y", *lines]) + "\n")
    return tmp_path


EXPECTED = [
    "please check:",
    "- column 'y': 20 of 200 rows have no label and were left out; words that were read as a missing label: '?' (20)",
    '  hint: missing_only=["NA"] (--missing-only NA) says which words mean a missing value',
    "- numbers that hardly repeat, excluded as identifiers: x",
    '  hint: families={"x": "histogram"} (--as x=histogram) uses it',
]


@pytest.mark.parametrize("verb", ["fit", "tune", "evaluate"])
def test_the_list_stands_above_the_result(log, verb):
    done = tally(verb, "log.csv", "--label", "y", cwd=log)
    assert done.returncode == 0
    assert done.stderr.splitlines()[:5] == EXPECTED
    assert done.stderr.count("please check") == 1
    quiet = tally(verb, "log.csv", "--label", "y", "--yes", cwd=log)
    assert "please check" not in quiet.stderr
    assert quiet.stdout == done.stdout


@pytest.mark.parametrize("verb", ["fit", "tune", "evaluate"])
def test_strict_is_an_error_and_nothing_is_written(log, verb):
    done = tally(verb, "log.csv", "--label", "y", "--strict", cwd=log)
    assert done.returncode == 1
    assert done.stderr.startswith("error: --strict: please check:\n- column")
    assert done.stdout == ""
    assert [path.name for path in log.iterdir()] == ["log.csv"]
    settled = ["--ignore", "x", "--missing-only", "NA", "--strict"]
    assert fine(verb, "log.csv", "--label", "y", *settled, cwd=log)


def test_the_list_as_data(log):
    facts = json.loads(fine("fit", "log.csv", "--label", "y", "--json", cwd=log))
    assert [one["kind"] for one in facts["doubts"]] == ["excluded column", "labels"]
    facts = json.loads(fine("evaluate", "log.tally", "log.csv", "--json", cwd=log))
    assert [one["kind"] for one in facts["doubts"]] == ["labels"]


def test_the_report_begins_with_the_list(log):
    fine("fit", "log.csv", "--label", "y", cwd=log)
    fine("report", "log.tally", "log.csv", cwd=log)
    page = (log / "report.html").read_text()
    assert page.index("Please check") < page.index("20 of 200 rows have no label") < page.index("accuracy")
