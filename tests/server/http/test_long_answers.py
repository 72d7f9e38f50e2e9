"""Answers with a cell for every row and class: limited, written in parts, and given up when nobody waits for them."""

import csv
import io
import json
import os
import socket
import time

import httpx2
import numpy as np
import pyarrow as pa
import pytest
from running_server import RunningServer

import tallybayes as tb

N_CLASSES = 500
N = 10_000_000 // N_CLASSES  # rows whose answer has as many cells as are allowed
JSON = {"Content-Type": "application/json"}


def many_classes(n_classes):
    rows = range(n_classes * 3)
    table = {"weight": [i % 7 + i / 1000 for i in rows], "kind": ["abc"[i % 3] for i in rows]}
    return tb.fit({**table, "y": [f"class {i % n_classes}" for i in rows]}, label="y", column_weights=None)


@pytest.fixture(scope="module")
def model():
    return many_classes(N_CLASSES)


@pytest.fixture(scope="module")
def server(tmp_path_factory, model):
    folder = tmp_path_factory.mktemp("models")
    model.save(folder / "wide.tally")
    with RunningServer(folder, "--log-level", "warning") as running:
        yield running


def peak(server):
    """The most memory that the process has had, in MB."""
    with open(f"/proc/{server.process.pid}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def post(server, path, body, kind="application/json", **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx2.post(f"{server.url}{path}", content=content, headers={"Content-Type": kind, **headers}, timeout=120)


def arrow(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


PREDICT = "/v1/models/wide/predict"
TENSOR = {"name": "weight", "datatype": "FP64"}


@pytest.mark.parametrize(
    ("path", "kind", "body", "most"),
    [
        (PREDICT, "application/json", lambda n: {"rows": [{}] * n}, N),
        (PREDICT, "application/json", lambda n: {"rows": [{}] * n, "interval": 0.9}, N // 50),
        (PREDICT, "application/x-ndjson", lambda n: b"{}\n" * n, N),
        (PREDICT, "text/csv", lambda n: b"weight,kind\n" + b"1,a\n" * n, N),
        (PREDICT, "application/vnd.apache.arrow.stream", lambda n: arrow(pa.table({"weight": [1.0] * n})), N),
        ("/v1/models/wide/evaluate", "application/json", lambda n: {"rows": [{"y": "class 1"}] * n}, N),
        ("/v1/models/wide/explain", "application/json", lambda n: {"rows": [{}] * n, "interval": 0.9}, N // 50),
        (
            "/v2/models/wide/infer",
            "application/json",
            lambda n: {"inputs": [{**TENSOR, "shape": [n], "data": [1] * n}]},
            N,
        ),
        ("/invocations", "application/json", lambda n: {"dataframe_records": [{}] * n, "params": {"proba": True}}, N),
    ],
    ids=lambda own: own if isinstance(own, str) else "",
)
def test_more_cells_than_are_allowed_are_refused(server, path, kind, body, most):
    before = peak(server)
    found = post(server, path, body(most + 1), kind)
    assert found.status_code == 413, found.text[:200]
    assert f"at most {most:,} rows with" in found.text
    assert peak(server) < before + 100


def test_answers_alone_have_no_such_limit(server):
    found = post(server, PREDICT, {"rows": [{"kind": "b"}] * (N + 1), "probabilities": False}).json()
    assert len(found["predictions"]) == N + 1
    assert "probabilities" not in found
    given = {"inputs": [{**TENSOR, "shape": [N + 1], "data": [1] * (N + 1)}], "outputs": [{"name": "predict"}]}
    assert len(post(server, "/v2/models/wide/infer", given).json()["outputs"][0]["data"]) == N + 1
    given = {"dataframe_records": [{"weight": 1}] * (N + 1)}
    assert len(post(server, "/invocations", given).json()["predictions"]) == N + 1


def rows_of(n):
    """Rows of which some lack columns, and some have others."""
    rng = np.random.default_rng(5)
    rows = []
    for i in range(n):
        row = {"weight": float(rng.normal()), "kind": "abcd"[i % 4], "other": i, f"name {i}": 1}
        rows.append({name: value for name, value in row.items() if rng.random() < 0.8})
    return rows


def test_a_long_answer_is_that_of_the_library_in_every_format(server, model):
    rows = rows_of(3000)
    expected, labels = model.predict_proba(rows), model.predict(rows).tolist()
    found = post(server, PREDICT, {"rows": rows})
    assert "content-length" not in found.headers  # it is sent in parts
    assert found.json()["predictions"] == labels
    assert found.json()["probabilities"] == expected.tolist()
    body = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    lines = post(server, PREDICT, body, "application/x-ndjson").text.splitlines()
    assert [list(json.loads(line)["probabilities"].values()) for line in lines] == expected.tolist()
    table = list(csv.reader(io.StringIO(post(server, PREDICT, {"rows": rows}, Accept="text/csv").text)))
    assert [row[0] for row in table] == ["prediction", *labels]
    assert np.array_equal(np.array(table[1:])[:, 2:].astype(float), expected)
    kind = "application/vnd.apache.arrow.stream"
    found = pa.ipc.open_stream(post(server, PREDICT, {"rows": rows}, Accept=kind).content).read_all()
    assert found["prediction"].to_pylist() == labels
    assert np.array_equal(np.column_stack([found[name] for name in found.column_names[2:]]), expected)
    given = {"dataframe_records": rows, "params": {"proba": True}}
    found = post(server, "/invocations", given).json()["predictions"]
    assert [list(own.values()) for own in found] == expected.tolist()
    weights = [row.get("weight") for row in rows]
    given = {"inputs": [{**TENSOR, "shape": [len(rows)], "data": weights}]}
    found = post(server, "/v2/models/wide/infer", given).json()["outputs"][1]
    assert found["shape"] == [3000, N_CLASSES]
    assert found["data"] == model.predict_proba({"weight": weights}).ravel().tolist()


def test_the_largest_answer_needs_little_memory(server):
    before = peak(server)
    with httpx2.stream("POST", f"{server.url}{PREDICT}", json={"rows": [{}] * N}, timeout=120) as found:
        n_bytes = sum(map(len, found.iter_bytes()))
    assert found.status_code == 200
    assert n_bytes > 6 * 10**7
    assert peak(server) < before + 300


def test_an_error_late_in_the_rows_names_its_row(server):
    rows = [{"weight": 1.0}] * 5000 + [{"weight": [1, 2]}]
    found = post(server, PREDICT, {"rows": rows})
    assert (found.status_code, found.json()["row"], found.json()["column"]) == (422, 5000, "weight")


def test_many_different_names_cost_no_more_than_they_are_long(server):
    """A table of all rows and all names would have 1.6 billion cells."""
    rows = [{f"name {i} {j}": 1 for j in range(400)} for i in range(2000)]
    rows[-1]["kind"] = "a"
    before = peak(server)
    assert post(server, PREDICT, {"rows": rows}).status_code == 200
    assert post(server, "/v1/models/wide/evaluate", {"rows": [*rows, {"y": "class 1"}]}).status_code == 200
    assert post(server, "/v1/models/wide/explain", {"rows": rows[-900:]}).status_code == 200
    assert peak(server) < before + 700


def test_a_file_of_very_many_names_is_refused(server):
    rows = [{f"name {i} {j}": 1 for j in range(100)} for i in range(11)]
    for body in (json.dumps(rows).encode(), b"".join(json.dumps(row).encode() + b"\n" for row in rows)):
        found = post(server, "/v1/models/wide/read", body, "application/octet-stream")
        assert found.status_code == 422
        assert "at most 1,000 columns that the model does not have" in found.json()["detail"]
    found = post(server, "/v1/models/wide/read", json.dumps(rows[:2]).encode(), "application/octet-stream")
    assert len(found.json()["columns"]) == 200


def test_explanations_of_long_texts_are_limited(tmp_path):
    texts = [" ".join(f"w{j}" for j in range(i, i + 3000)) for i in range(0, 60_000, 300)]
    given = {"note": texts, "y": [f"c{i % 100}" for i in range(len(texts))]}
    tb.fit(given, label="y", families={"note": "text:counts"}, column_weights=None).save(tmp_path / "text.tally")
    with RunningServer(tmp_path / "text.tally", "--log-level", "warning") as server:
        before = peak(server)
        found = post(server, "/v1/models/text/explain", {"rows": [{"note": text} for text in texts]})
        assert found.status_code == 413, found.text[:200]
        assert "3,000,000 contributions" in found.json()["detail"]
        assert peak(server) < before + 500
        assert post(server, "/v1/models/text/explain", {"row": {"note": texts[0]}}).status_code == 200


def test_a_row_with_very_many_columns_does_not_hold_up_others(server):
    row = {f"name {i}": 1 for i in range(200_000)}
    assert post(server, PREDICT, {"row": {**row, "kind": "a"}}).status_code == 200
    assert post(server, PREDICT, {"row": row}).status_code == 422


def test_a_sample_of_a_wide_model_is_limited(tmp_path):
    table = {f"x{i}": [i, i + 1.5] for i in range(2000)} | {"y": ["p", "q"]}
    tb.fit(table, label="y", numeric="gaussian", column_weights=None).save(tmp_path / "columns.tally")
    with RunningServer(tmp_path / "columns.tally", "--log-level", "warning") as server:
        address = f"{server.url}/v1/models/columns/sample"
        found = httpx2.get(address, params={"n": 10_000}, timeout=60)
        assert found.status_code == 413
        assert "at most 5,000 rows of 2,000 columns" in found.json()["detail"]
        assert len(httpx2.get(address, params={"n": 3}).json()["rows"]) == 3


# Work that nobody waits for: eight billion cells, which take minutes

LONG = json.dumps({"rows": [{"weight": 1, "kind": "a"}] * 1_000_000, "probabilities": False}).encode()


@pytest.fixture
def slow(tmp_path):
    many_classes(8000).save(tmp_path / "wide.tally")

    def started(*options):
        return RunningServer(tmp_path / "wide.tally", "--max-body", "64M", "--log-level", "warning", *options)

    return started


def processor_time(server):
    """Seconds of processor time that a process has taken."""
    with open(f"/proc/{server.process.pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def becomes_idle(server, deadline=25):
    """Whether a server stops working before a deadline that is shorter than its work."""
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        before = processor_time(server)
        time.sleep(1)
        if processor_time(server) - before < 0.1:
            return True
    return False


def begun(server, seconds):
    """A connection whose request is being worked on: it has taken some seconds of processor time."""
    plain = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    head = f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    before, end = processor_time(server), time.monotonic() + 40
    plain.sendall(head.encode() + b"Content-Length: %d\r\n\r\n" % len(LONG) + LONG)
    while processor_time(server) < before + seconds and time.monotonic() < end:
        time.sleep(0.05)
    return plain


def test_work_ends_when_its_client_hangs_up(slow):
    with slow() as server:
        begun(server, 4).close()
        assert becomes_idle(server)
        assert httpx2.get(f"{server.url}/health/live").status_code == 200
        assert not [line for line in server.log() if line["level"] == "error"]


def test_work_ends_with_the_time_limit_of_its_request(slow):
    with slow("--timeout", "5") as server:
        found = httpx2.post(f"{server.url}{PREDICT}", content=LONG, headers=JSON, timeout=60)
        assert found.status_code == 503
        assert "5 seconds" in found.json()["detail"]
        assert becomes_idle(server)


def test_a_server_stops_within_its_time_while_it_works(slow):
    with slow("--timeout", "6") as server, begun(server, 1):
        assert server.stop(timeout=40) == 0
