"""Long bodies are read and long answers are written in threads, so that short requests do not wait for them."""

import asyncio
import json
import threading

import httpx2
import pytest
from running_server import CAT, PETS, pets

from tallybayes.server.application import create_app
from tallybayes.server.http import answer, request_rows
from tallybayes.server.http.server_settings import ServerSettings
from tallybayes.server.http.service import Service
from tallybayes.server.live.model_folder import ModelFolder
from tallybayes.server.routes import change_routes, inference_protocol, mlflow_protocol

N = 2000
TENSOR = {"name": "weight", "datatype": "FP64"}
MODEL = "/v1/models/pets"
LONG = [
    ("POST", f"{MODEL}/predict", {"rows": [CAT] * N}),
    ("POST", f"{MODEL}/evaluate", {"rows": PETS * (N // 6)}),
    ("POST", f"{MODEL}/explain", {"rows": [{**CAT, "likes": "fish" * 40}] * 500}),
    ("POST", f"{MODEL}/learn", {"rows": PETS * (N // 6)}),
    ("POST", f"{MODEL}/calibrate", {"rows": PETS * (N // 6), "new": True}),
    ("PUT", f"{MODEL}/decision", {"rows": PETS * (N // 6), "positive": "cat", "maximise": "f1", "new": True}),
    ("POST", "/v2/models/pets/infer", {"inputs": [{**TENSOR, "shape": [20_000], "data": [4.25] * 20_000}]}),
    ("POST", "/invocations", {"dataframe_records": [CAT] * N}),
    ("POST", "/invocations", {"dataframe_split": {"columns": ["weight"], "data": [[4.25]] * 20_000}}),
]
SHORT = [
    (f"{MODEL}/predict", {"row": CAT}),
    ("/v2/models/pets/infer", {"inputs": [{**TENSOR, "shape": [1], "data": [4.25]}]}),
    ("/invocations", {"dataframe_records": [CAT]}),
]


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Ask a server in this process; the answer, and the threads in which JSON was read or written for it."""
    pets().save(tmp_path / "pets.tally")
    threads = []

    def watched(work):
        def same(*given, **named):
            threads.append(threading.current_thread())
            return work(*given, **named)

        return same

    for module, name in (
        (request_rows, "parse_json"),
        (inference_protocol, "parse_json"),
        (inference_protocol, "columns_of_tensors"),
        (mlflow_protocol, "parse_json"),
        (mlflow_protocol, "_rows"),
        (change_routes, "write_rows"),
        (answer, "_gather"),
    ):
        monkeypatch.setattr(module, name, watched(getattr(module, name)))
    monkeypatch.setattr(answer.Answer, "of", watched(answer.Answer.of))

    async def send(method, path, body):
        with ModelFolder.open(tmp_path) as folder:
            service = Service(folder, ServerSettings())
            transport = httpx2.ASGITransport(create_app(service))
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
                found = await client.request(
                    method, path, content=json.dumps(body), headers={"Content-Type": "application/json"}
                )
            service.close()
        return found

    def ask(method, path, body):
        threads.clear()
        return asyncio.run(send(method, path, body)), set(threads)

    return ask


@pytest.mark.parametrize(("method", "path", "body"), LONG, ids=[path for _, path, _ in LONG])
def test_a_long_body(asked, method, path, body):
    found, threads = asked(method, path, body)
    assert found.status_code == 200, found.text
    assert threads
    assert threading.main_thread() not in threads


@pytest.mark.parametrize(("path", "body"), SHORT, ids=[path for path, _ in SHORT])
def test_a_short_body_is_answered_at_once(asked, path, body):
    found, threads = asked("POST", path, body)
    assert found.status_code == 200, found.text
    assert threads == {threading.main_thread()}
