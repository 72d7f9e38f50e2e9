"""What is to be checked stands above the result; --strict makes it an error, --yes silences it."""

import json

import pytest

import tallybayes as tb
from command_line import fine, tally


@pytest.fixture
def log(tmp_path):
    lines = [f"{i * 7 % 200},{'ok' if i % 9 else 'bad'},{'?' if i % 10 == 0 else 'pq'[i % 2]}" for i in range(200)]
    (tmp_path / "log.csv").write_text("\n".join(["x,state,y", *lines]) + "\n")
    return tmp_path


EXPECTED = [
    "please check:",
    "- column 'y': 20 of 200 rows have no label and were left out; words that were read as a missing label: '?' (20)",
    '  hint: missing_only=[""] (--missing-only "") reads all such words as values; a word in place of "" stays missing',
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


@pytest.fixture
def orders(tmp_path):
    """Orders of which those that came back have a refund."""
    lines = [f"{20 + i * 37 % 397 / 4},{10 + i % 40 if i % 5 < 2 else ''},{'ny'[i % 5 < 2]}" for i in range(400)]
    (tmp_path / "orders.csv").write_text("\n".join(["amount,refund,returned", *lines]) + "\n")
    return tmp_path


@pytest.mark.parametrize("verb", ["fit", "tune", "evaluate"])
def test_a_leak_is_on_the_list_of_every_verb_that_fits(orders, verb):
    done = tally(verb, "orders.csv", "--label", "returned", "--strict", cwd=orders)
    assert done.returncode == 1
    assert "column 'refund': possible leak" in done.stderr
    assert fine(verb, "orders.csv", "--label", "returned", "--strict", "--ignore", "refund", cwd=orders)


def test_a_tuned_model_keeps_the_list(orders):
    facts = json.loads(fine("tune", "orders.csv", "--label", "returned", "--json", cwd=orders))
    assert [one["kind"] for one in facts["doubts"]] == ["possible leak"]
    fine("report", "orders.tally", "orders.csv", cwd=orders)
    assert "possible leak" in (orders / "report.html").read_text()


def test_a_report_on_rows_without_a_label_is_refused_under_strict(log):
    rows = (log / "log.csv").read_text().replace(",p\n", ",n/a\n")
    (log / "new.csv").write_text(rows)
    fine("fit", "log.csv", "--label", "y", "--missing-only", "NA", "--ignore", "x", cwd=log)
    done = tally("report", "log.tally", "new.csv", "--missing-only", "n/a", "--strict", cwd=log)
    assert done.returncode == 1
    assert "80 of 200 rows have no label and were left out" in done.stderr
    assert not (log / "report.html").exists()
    fine("report", "log.tally", "new.csv", "--missing-only", "n/a", cwd=log)
    page = (log / "report.html").read_text()
    assert page.index("Please check") < page.index("80 of 200 rows have no label") < page.index("accuracy")


def test_rows_that_were_skipped_are_on_the_list(log):
    rows = (log / "log.csv").read_text().replace("\n7,", "\n7,one cell too many,")
    (log / "bad.csv").write_text(rows)
    settled = ["--ignore", "x", "--missing-only", "NA"]
    for verb in ("fit", "tune", "evaluate"):
        done = tally(verb, "bad.csv", "--label", "y", *settled, "--skip-bad", "--strict", cwd=log)
        assert done.returncode == 1
        assert "1 row could not be read and was skipped" in done.stderr
    fine("fit", "bad.csv", "--label", "y", *settled, "--skip-bad", "-o", "m.tally", cwd=log)
    for verb in ("evaluate", "report"):
        done = tally(verb, "m.tally", "bad.csv", "--skip-bad", "--strict", cwd=log)
        assert done.returncode == 1
        assert "1 row could not be read and was skipped" in done.stderr
    assert tb.load(log / "m.tally").doubts[0].text == "1 row could not be read and was skipped"
