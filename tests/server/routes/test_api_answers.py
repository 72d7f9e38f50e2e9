"""Answers over HTTP are those of the model, in every format."""

import io
import json
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from running_server import CAT, DOG, PETS, pets

JSON, NDJSON, CSV, TSV = "application/json", "application/x-ndjson", "text/csv", "text/tab-separated-values"
ARROW = "application/vnd.apache.arrow.stream"
ROWS = [CAT, DOG, {"weight": 8.0}, {"likes": "unheard|sun", "indoors": None}]


def arrow(rows):
    table = pa.Table.from_pylist(rows)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def text(rows, delimiter=","):
    names = list(dict.fromkeys(name for row in rows for name in row))
    cell = {True: "true", False: "false", None: ""}
    body = [delimiter.join(names)]
    body += [delimiter.join(str(cell.get(value, value)) for value in map(row.get, names)) for row in rows]
    return ("\n".join(body) + "\n").encode()


BODIES = {
    JSON: lambda rows: json.dumps({"rows": rows}).encode(),
    NDJSON: lines,
    CSV: text,
    TSV: lambda rows: text(rows, "\t"),
    ARROW: arrow,
}


def predict(http, rows, kind=JSON, accept=None, **options):
    body = BODIES[kind](rows) if not options else json.dumps({"rows": rows, **options}).encode()
    headers = {"Content-Type": kind, **({"Accept": accept} if accept else {"Accept": "*/*"})}
    return http.post("/v1/models/pets/predict", content=body, headers=headers)


def test_predictions_are_those_of_the_model(http):
    found = predict(http, ROWS).json()
    model = pets()
    assert found["classes"] == model.classes
    assert found["predictions"] == model.predict(ROWS).tolist()
    assert np.array_equal(found["probabilities"], model.predict_proba(ROWS))
    assert (found["model"], found["version"]) == ("pets", 0)


def test_a_single_row_and_no_row_at_all(http):
    one = http.post("/v1/models/pets/predict", json={"row": CAT}).json()
    assert one["predictions"] == ["cat"]
    none = predict(http, []).json()
    assert (none["predictions"], none["probabilities"]) == ([], [])


def test_options_of_predict(http):
    assert "probabilities" not in predict(http, ROWS, probabilities=False).json()
    found = predict(http, ROWS, interval=0.9).json()
    assert np.allclose(found["intervals"], pets().predict_interval(ROWS, 0.9))
    assert found["predictions"] == pets().predict(ROWS).tolist()


@pytest.mark.parametrize("kind", [NDJSON, CSV, TSV, ARROW])
def test_every_format_of_a_request_gives_the_same_answer(http, kind):
    expected = predict(http, ROWS).json()
    found = predict(http, ROWS, kind, accept=JSON)
    assert found.headers["content-type"] == JSON
    assert found.json() == expected


@pytest.mark.parametrize("kind", [NDJSON, CSV, TSV, ARROW])
def test_an_answer_has_the_format_of_the_request(http, kind):
    expected = predict(http, ROWS).json()
    found = predict(http, ROWS, kind)
    assert found.headers["content-type"].split(";")[0] == kind
    assert found.headers["etag"].startswith('"pets-0.')
    rows = as_rows(found.content, kind)
    assert [row["prediction"] for row in rows] == expected["predictions"]
    for row, proba in zip(rows, expected["probabilities"], strict=True):
        own = row["probabilities"].values() if kind == NDJSON else [row["P(cat)"], row["P(dog)"]]
        assert list(own) == proba
        assert row["probability"] == max(proba)


def as_rows(content, kind):
    if kind == NDJSON:
        return [json.loads(line) for line in content.splitlines()]
    if kind == ARROW:
        return pa.ipc.open_stream(content).read_all().to_pylist()
    options = pa.csv.ParseOptions(delimiter="\t" if kind == TSV else ",")
    return pa.csv.read_csv(io.BytesIO(content), parse_options=options).to_pylist()


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (None, JSON),
        ("*/*", JSON),
        ("text/csv", CSV),
        ("text/*", CSV),
        ("image/png, text/csv;q=0.5", CSV),
        (f"{CSV};q=0.1, {ARROW};q=0.9", ARROW),
        ("text/csv;q=0, */*", JSON),
        ("image/png", None),
    ],
)
def test_the_header_accept(http, accept, kind):
    found = predict(http, ROWS, accept=accept)
    assert found.status_code == (406 if kind is None else 200)
    if kind is not None:
        assert found.headers["content-type"].split(";")[0] == kind


def test_explanations_are_those_of_the_model(http):
    found = http.post("/v1/models/pets/explain", json={"rows": ROWS, "interval": 0.95}).json()
    expected = [one.to_dict() for one in pets().explain(ROWS)]
    intervals = [one.pop("interval") for one in found["explanations"]]
    assert json.loads(json.dumps(expected)) == found["explanations"]
    assert np.allclose(intervals, pets().predict_interval(ROWS))
    assert http.post("/v1/models/pets/explain", json={"rows": []}).json()["explanations"] == []


def test_evaluation_is_that_of_the_model(http):
    import tallybayes as tb

    found = http.post("/v1/models/pets/evaluate", json={"rows": PETS}).json()
    assert found["accuracy"] == tb.evaluate(pets(), PETS).accuracy
    held_out = http.post("/v1/models/pets/evaluate", json={"rows": PETS, "leave_one_out": True}).json()
    assert held_out["log_loss"] == tb.evaluate(pets(), PETS, leave_one_out=True).log_loss


def test_samples_are_those_of_the_model(http):
    found = http.get("/v1/models/pets/sample?n=3&seed=7").json()["rows"]
    assert found == pets().sample(3, seed=7).to_pylist()
    assert len(http.get("/v1/models/pets/sample").json()["rows"]) == 10


def test_the_list_and_the_description_of_models(http):
    (one,) = http.get("/v1/models").json()["models"]
    assert one == {
        "name": "pets",
        "label": "pet",
        "classes": ["cat", "dog"],
        "rows": 6,
        "class_counts": [3, 3],
        "version": 0,
        "columns": 3,
        "stale": [],
        "read_only": False,
    }
    more = http.get("/v1/models/pets").json()
    assert one.items() <= more.items()
    assert (more["class_prior"], more["priors"], more["base"]) == (None, {}, None)
    assert (more["decision"], more["calibration"], more["column_weights"], more["events"]) == (
        None,
        None,
        {"fitted_on": 0},
        0,
    )


def test_schema_and_download(http, tmp_path):
    import tallybayes as tb

    assert http.get("/v1/models/pets/schema").json() == json.loads(json.dumps(pets().schema.to_dict()))
    found = http.get("/v1/models/pets/download")
    (tmp_path / "copy.tally").write_bytes(found.content)
    assert tb.load(tmp_path / "copy.tally") == pets()
    assert 'filename="pets.tally"' in found.headers["content-disposition"]


@pytest.mark.parametrize("path", ["", "/schema", "/download"])
def test_an_answer_that_the_sender_has_already(http, path):
    first = http.get(f"/v1/models/pets{path}")
    assert first.headers["etag"].startswith('"pets-0.')
    assert first.headers["x-model-version"] == "0"
    again = http.get(f"/v1/models/pets{path}", headers={"If-None-Match": f'"other-1", {first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert http.get(f"/v1/models/pets{path}", headers={"If-None-Match": '"pets-1"'}).status_code == 200


@pytest.mark.parametrize("path", ["/health/live", "/v1/models/pets", "/v1/models/pets/live", "/docs", "/nothing"])
def test_head_has_the_headers_of_get(http, path):
    found = http.head(path)
    assert found.status_code == (404 if path == "/nothing" else 200)
    assert found.content == b""
    assert found.headers["x-request-id"]
    if path in ("/health/live", "/docs"):
        assert found.headers["content-length"] == http.get(path).headers["content-length"]


def test_every_answer_has_a_request_id_and_security_headers(http):
    for found in (http.get("/v1/models"), http.get("/nothing"), http.get("/docs"), predict(http, ROWS)):
        assert found.headers["x-request-id"]
        assert found.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in found.headers["content-security-policy"]
        assert "unsafe" not in found.headers["content-security-policy"]
    given = http.get("/v1/models", headers={"X-Request-Id": "my-request.1"})
    assert given.headers["x-request-id"] == "my-request.1"
    forged = http.get("/v1/models", headers={"X-Request-Id": "a b\tc"})
    assert forged.headers["x-request-id"] != "a b\tc"


def test_every_request_has_a_line_of_the_log(served, http):
    http.get("/v1/models", headers={"X-Request-Id": "to-be-found"})
    deadline = time.monotonic() + 10
    while not (found := [line for line in served.log() if line.get("id") == "to-be-found"]):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    (line,) = found
    assert (line["method"], line["path"], line["status"], line["level"]) == ("GET", "/v1/models", 200, "info")
    assert line["ms"] > 0
