"""Wrong requests: the status, and a problem that says what was expected."""

import bz2
import gzip
import io
import json
import lzma
import time

import pyarrow as pa
import pytest
from running_server import CAT, PETS

J = {"Content-Type": "application/json"}
DEEP = b'{"row": {"a": ' + b"[" * 100 + b"]" * 100 + b"}}"

# verb, body, status, words of the message
WRONG = [
    ("predict", b"", 400, "JSON"),
    ("predict", b"{", 400, "JSON"),
    ("predict", b'{"rows": [}', 400, "line 1"),
    ("predict", b"\xff\xfe", 400, "UTF-8"),
    ("predict", b"[1, 2]", 422, "object"),
    ("predict", b"{}", 422, "either rows"),
    ("predict", b'{"rows": [], "row": {}}', 422, "both"),
    ("predict", b'{"rows": {}}', 422, "list of objects"),
    ("predict", b'{"rows": [1]}', 422, "row 0"),
    ("predict", b'{"rows": [{}, "x"]}', 422, "row 1"),
    ("predict", b'{"rows": [], "intervall": 1}', 422, "did you mean 'interval'"),
    ("predict", b'{"rows": [{"weight": NaN}]}', 400, "finite"),
    ("predict", b'{"rows": [{"weight": Infinity}]}', 400, "finite"),
    ("predict", b'{"rows": [{"weight": 1e999}]}', 400, "finite"),
    ("predict", b'{"rows": [{"weight": 1' + b"0" * 400 + b"}]}", 400, "64 bits"),
    ("predict", b'{"rows": [{"weight": 1' + b"0" * 5000 + b"}]}", 400, "64 bits"),
    ("predict", b'{"rows": [{"weight": 1, "weight": 2}]}', 400, "twice"),
    ("predict", b'{"rows": [{"likes": "\\ud800"}]}', 400, "surrogate"),
    ("predict", b'{"rows": [{"\\ud800": 1}]}', 400, "surrogate"),
    ("predict", DEEP, 400, "levels"),
    ("predict", b"[" * 100_000, 400, "levels"),
    ("predict", b'{"rows": [{"weight": "heavy"}]}', 422, "number"),
    ("predict", b'{"rows": [{"weight": [1, 2]}]}', 422, "weight"),
    ("predict", b'{"rows": [{"colour": "red"}]}', 422, "columns of the model"),
    ("predict", b'{"rows": [{"weight": 1}], "interval": 2}', 422, "between 0 and 1"),
    ("predict", b'{"rows": [{"weight": 1}], "interval": "x"}', 422, "between 0 and 1"),
    ("predict", b'{"rows": [{"weight": 1}], "probabilities": 1}', 422, "true or false"),
    ("explain", b'{"rows": [{"weight": "heavy"}]}', 422, "number"),
    ("explain", json.dumps({"rows": [CAT] * 1001}).encode(), 413, "1,000"),
    ("evaluate", b'{"rows": []}', 422, "row"),
    ("evaluate", b'{"rows": [{"weight": 1}]}', 422, "pet"),
    ("evaluate", b'{"rows": [{"weight": 1, "pet": "cat"}], "leave_one_out": 1}', 422, "true or false"),
    ("learn", b'{"rows": []}', 422, "at least one row"),
    ("learn", b'{"rows": [{"weight": 1}]}', 422, "pet"),
    ("learn", b'{"rows": [{"weight": "x", "pet": "cat"}]}', 422, "number"),
    ("forget", b'{"rows": [{"weight": 999, "pet": "cat"}]}', 409, "forget"),
    ("forget", b'{"rows": [{"weight": 4, "pet": "cow"}]}', 409, "label"),
    ("undo", b"{}", 422, "event"),
    ("undo", b'{"event": "1"}', 422, "event"),
    ("undo", b'{"event": true}', 422, "event"),
    ("undo", b'{"event": 0}', 422, "event"),
    ("undo", b'{"event": 77}', 404, "event"),
    ("undo", b'{"event": 1, "x": 2}', 422, "keys"),
    ("calibrate", b'{"method": "magic", "rows": []}', 422, "method"),
    ("calibrate", b'{"method": "temperature"}', 422, "rows"),
    ("calibrate", b'{"method": "none", "rows": [{}]}', 422, "no rows"),
    ("calibrate", b'{"rows": [{"weight": 1, "pet": "cat"}], "new": 1}', 422, "new"),
]


@pytest.mark.parametrize(("verb", "body", "status", "words"), WRONG, ids=[f"{w[0]}-{i}" for i, w in enumerate(WRONG)])
def test_a_wrong_body(http, verb, body, status, words):
    found = http.post(f"/v1/models/pets/{verb}", content=body, headers=J)
    assert_problem(found, status, words)
    assert http.get("/v1/models/pets").json()["version"] == 0


def assert_problem(found, status, words):
    assert found.status_code == status, found.text
    assert found.headers["content-type"] == "application/problem+json"
    problem = found.json()
    assert problem["status"] == status
    assert words in problem["detail"], problem["detail"]
    assert problem["type"].startswith("urn:tallybayes:error:")
    assert problem["request_id"] == found.headers["x-request-id"]
    assert problem["title"]


DECISIONS = [
    ({"positive": "cow", "threshold": 0.5}, "class"),
    ({"positive": "cat"}, "threshold"),
    ({"threshold": 0.5}, "positive and threshold together"),
    ({"positive": "cat", "threshold": 2}, "threshold"),
    ({"abstain": 7}, "abstain"),
    ({"costs": 7}, "costs"),
    ({"costs": {"cat": 7}}, "costs"),
    ({"costs": {"cat": {"dog": -1}}}, "cost"),
    ({"maximise": "f2", "positive": "cat", "rows": PETS}, "f1"),
    ({"maximise": "f1", "positive": "cat"}, "rows"),
    ({"maximise": "f1", "rows": PETS}, "class"),
    ({"rows": PETS}, "rows"),
    ({"rows": PETS, "positive": "cat", "maximise": "f1", "false_negatives": 1}, "one of"),
    ({"thresold": 1}, "did you mean 'threshold'"),
]


@pytest.mark.parametrize(("body", "words"), DECISIONS)
def test_a_wrong_decision_rule(http, body, words):
    assert_problem(http.put("/v1/models/pets/decision", json=body), 422, words)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data", 415),
        ("text/plain", 415),
        (None, 415),
        ("application/json; charset=utf-8", 200),
        ("APPLICATION/JSON", 200),
    ],
)
def test_content_types_that_a_foreign_page_could_send_are_refused(http, kind, status):
    headers = {} if kind is None else {"Content-Type": kind}
    found = http.post("/v1/models/pets/predict", content=json.dumps({"row": CAT}).encode(), headers=headers)
    assert found.status_code == status


def packed_arrow(compression, *, dictionary=False):
    """A stream of which some batches, or only a dictionary, are compressed."""
    weights = pa.array(["4.2"] * 1000)
    table = pa.table({"weight": weights.dictionary_encode() if dictionary else weights})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue()


TABLES = [
    ("application/vnd.apache.arrow.stream", b"", 400, "Arrow"),
    ("application/vnd.apache.arrow.stream", b"no arrow at all", 400, "Arrow"),
    ("application/x-ndjson", b'{"weight": 1}\n{"weight": }\n', 400, "line 2"),
    ("application/x-ndjson", b"7\n", 422, "row 0"),
    ("text/csv", b"", 422, ""),
    ("text/csv", b'weight\n1.5\n2.5\n"1,5"\n', 422, "number"),
    ("text/csv", b"colour\nred\n", 422, "columns of the model"),
    ("text/csv", b"\xff\xfe\x00\x01\n", 422, ""),
    ("text/csv", gzip.compress(b"weight\n4.2\n", mtime=0), 415, "compressed"),
    ("text/csv", lzma.compress(b"weight\n4.2\n"), 415, "compressed"),
    ("text/csv", bz2.compress(b"weight\n4.2\n"), 415, "compressed"),
    ("text/csv", b"PK\x03\x04weight\n4.2\n", 415, "compressed"),
    ("application/vnd.apache.arrow.stream", packed_arrow("lz4"), 415, "compressed"),
    ("application/vnd.apache.arrow.stream", packed_arrow("zstd"), 415, "compressed"),
    ("application/vnd.apache.arrow.stream", packed_arrow("zstd", dictionary=True), 415, "compressed"),
]


@pytest.mark.parametrize(("kind", "body", "status", "words"), TABLES)
@pytest.mark.parametrize("verb", ["predict", "learn"])
def test_a_wrong_table(http, verb, kind, body, status, words):
    found = http.post(f"/v1/models/pets/{verb}", content=body, headers={"Content-Type": kind})
    assert found.status_code in (status, 422), found.text
    if verb == "predict" or status != 422:
        assert_problem(found, status, words)
    assert "/tmp" not in found.text, "paths of the server are not told"


PATHS = [
    ("GET", "/v1/models/pet", 404, "did you mean 'pets'"),
    ("POST", "/v1/models/pet/predict", 404, "did you mean 'pets'"),
    ("GET", "/v1/nothing", 404, "/docs"),
    ("DELETE", "/v1/models", 405, "GET"),
    ("GET", "/v1/models/pets/predict", 405, "POST"),
    ("GET", "/v1/models/pets/events/7", 404, "event"),
    ("GET", "/v1/models/pets/events/x", 404, "event"),
    ("GET", "/v1/models/pets/events?limit=0", 422, "limit"),
    ("GET", "/v1/models/pets/events?limit=x", 422, "limit"),
    ("GET", "/v1/models/pets/events?kind=no", 422, "kind"),
    ("GET", "/v1/models/pets/events?after=-1", 422, "after"),
    ("GET", f"/v1/models/pets/events?after={'9' * 5000}", 422, "after"),
    ("GET", f"/v1/models/pets/events/{'9' * 5000}", 404, "event"),
    ("GET", f"/v1/models/pets/sample?n={'9' * 5000}", 422, "n:"),
    ("GET", "/v1/models/pets/sample?n=-1", 422, "n:"),
    ("GET", "/v1/models/pets/sample?n=1000000", 413, "rows"),
    ("GET", "/v1/models/pets/sample?seed=x", 422, "seed"),
    ("GET", "/page/other.js", 404, "file"),
    ("PATCH", "/v1/models/pets", 405, "DELETE, GET, PUT"),
]


@pytest.mark.parametrize(("method", "path", "status", "words"), PATHS)
def test_a_wrong_path_or_query(http, method, path, status, words):
    body = {"json": {"row": CAT}} if method == "POST" else {}
    found = http.request(method, path, **body)
    assert_problem(found, status, words)
    if status == 405:
        assert words in found.headers["allow"]


def test_an_error_names_row_and_column(http):
    found = http.post("/v1/models/pets/predict", json={"rows": [CAT, {"weight": "heavy"}]}).json()
    assert (found["column"], found["row"], found["got"]) == ("weight", 1, "'heavy'")
    assert found["type"] == "urn:tallybayes:error:DataError"


def test_a_key_that_is_not_printable_is_refused(http):
    headers = {"Idempotency-Key": "x" * 300}
    found = http.post("/v1/models/pets/learn", json={"row": {**CAT, "pet": "cat"}}, headers=headers)
    assert_problem(found, 422, "255")


def test_a_key_twice_among_many_is_found_at_once(http):
    pairs = ", ".join(f'"k{i}": 1' for i in range(50_000))
    started = time.monotonic()
    found = http.post("/v1/models/pets/predict", content=f'{{"row": {{{pairs}, "k49999": 2}}}}', headers=J)
    assert_problem(found, 400, "twice")
    assert time.monotonic() - started < 5


def test_a_long_unknown_key_is_answered_at_once(http):
    started = time.monotonic()
    found = http.post("/v1/models/pets/predict", json={"rows": [], "x" * 3_000_000: 1})
    assert_problem(found, 422, "keys")
    assert time.monotonic() - started < 5
