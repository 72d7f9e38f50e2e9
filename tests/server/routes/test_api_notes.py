"""What is doubtful about the rows of a request is said in the answer."""

import httpx2
import pytest
from running_server import RunningServer

import tallybayes as tb

VISITS = {
    "day": [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(60)],
    "took": [float(i % 7) for i in range(60)],
    "ill": ["yes", "no"] * 30,
}
ROWS = "day,took,ill\nsoon,3,yes\n2024-05-01,abc,n/a\n2024-05-02,4,no\n"
DATES = "column 'day': 1 cell is not a date, such as 'soon': read as missing"
NUMBERS = "column 'took': 1 cell is not a number and was treated as missing: abc (1); the first is in the rows, line 3"
LABELS = "column 'ill': words that were read as a missing label: 'n/a' (1)"


@pytest.fixture
def url(tmp_path):
    tb.fit(VISITS, label="ill", column_weights=None).save(tmp_path / "visits.tally")
    with RunningServer(tmp_path, "--log-level", "warning") as running:
        yield f"{running.url}/v1/models/visits"


def post(url, path, body, **headers):
    headers = {"Content-Type": "text/csv"} | headers
    answer = httpx2.post(f"{url}/{path}", content=body, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def first_lines(notes):
    return [note.splitlines()[0] for note in notes]


def test_learning_and_forgetting_a_table(url):
    for verb in ("learn", "forget"):
        change = post(url, verb, ROWS)
        assert (change["rows"], change["skipped"]) == (2, 1)
        assert sorted(first_lines(change["notes"]))[:3] == sorted([DATES, NUMBERS, LABELS])
    assert post(url, "learn", "day,took,ill\n2024-05-01,3,yes\n")["notes"] == []


def test_a_repeated_request_has_the_notes_of_the_first(url):
    changes = [post(url, "learn", ROWS, **{"Idempotency-Key": "a"}) for _ in range(2)]
    assert changes[1]["repeated"]
    assert changes[0]["notes"] == changes[1]["notes"]
    assert len(changes[0]["notes"]) == 3


def test_learning_objects(url):
    answer = httpx2.post(f"{url}/learn", json={"rows": [{"day": "soon", "took": 3.0, "ill": "yes"}]}, timeout=60)
    assert first_lines(answer.json()["notes"]) == [DATES]


def test_predictions_in_json(url):
    found = post(url, "predict", ROWS, Accept="application/json")
    assert sorted(first_lines(found["notes"])) == sorted([DATES, NUMBERS])
    for n, words in ((1, "1 cell is not a date"), (2, "2 cells are not dates")):
        answer = httpx2.post(f"{url}/predict", json={"rows": [{"day": "soon"}] * n}, timeout=60).json()
        assert words in answer["notes"][0]
    assert "notes" not in httpx2.post(f"{url}/predict", json={"row": {"day": "2024-05-01"}}, timeout=60).json()


def test_a_file_that_was_dropped_on_the_page(url):
    found = post(url, "read", ROWS)
    assert sorted(first_lines(found["notes"])) == sorted([DATES, NUMBERS, LABELS])
