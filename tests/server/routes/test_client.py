"""The client: the verbs and results of a model, retries, typed errors."""

import http.server
import json
import threading

import numpy as np
import pandas as pd
import pytest
from running_server import CAT, DOG, PETS, pets

import tallybayes as tb
from tallybayes.client import Client, RemoteChange, ServerError
from tallybayes.errors import DataError, ForgetError, ParameterError
from tallybayes.model.saved_model import dumps, loads

ROWS = [CAT, DOG]
NEW = [{**CAT, "pet": "cat"}, {**DOG, "pet": "dog"}]


@pytest.fixture
def client(api, served):
    with served.client(model=api.name) as own:
        yield own


def test_answers_are_those_of_the_model(client):
    model = pets()
    assert client.classes == model.classes
    assert client.class_counts == model.class_counts
    assert client.predict(ROWS).tolist() == model.predict(ROWS).tolist()
    assert client.predict(CAT).tolist() == ["cat"]
    assert np.array_equal(client.predict_proba(ROWS), model.predict_proba(ROWS))
    assert np.allclose(client.predict_interval(ROWS), model.predict_interval(ROWS))
    assert client.predict_one(CAT) == model.predict_one(CAT)
    assert client.predict_proba_one(CAT) == model.predict_proba_one(CAT)
    assert client.predict_proba([]).shape == (0, 2)
    assert client.sample(3, seed=5).equals(model.sample(3, seed=5))
    assert client.schema.to_dict() == model.schema.to_dict()
    assert client.explain_as_dicts(CAT)[0]["probabilities"] == model.explain([CAT])[0].probabilities.tolist()
    assert client.evaluate_as_dict(PETS)["accuracy"] == tb.evaluate(model, PETS).accuracy
    assert client.evaluate_as_dict(PETS, leave_one_out=False)["accuracy"] == 1.0


def test_data_frames_and_columns_are_sent_as_arrow(client):
    model = pets()
    frame = pd.DataFrame(ROWS)
    assert np.array_equal(client.predict_proba(frame), model.predict_proba(frame))
    columns = {"weight": [4.0, np.nan, 20.0], "indoors": [True, None, False]}
    assert np.array_equal(client.predict_proba(columns), model.predict_proba(columns))
    assert client.learn(pd.DataFrame(NEW)).rows == 2
    model.learn(pd.DataFrame(NEW))
    assert loads(client.download()) == model


def test_data_frames_with_options(client):
    model, frame = pets(), pd.DataFrame(PETS)
    assert np.allclose(client.predict_interval(frame), model.predict_interval(frame))
    assert (
        client.evaluate_as_dict(frame, leave_one_out=True)["log_loss"]
        == client.evaluate_as_dict(PETS, leave_one_out=True)["log_loss"]
    )
    client.calibrate(frame.iloc[1:], "isotonic", leave_one_out=False)
    model.calibrate(frame.iloc[1:], "isotonic", leave_one_out=False)
    assert client.info()["calibration"] == str(model.calibration)
    client.decide(frame, "dog", false_negatives=0)
    rule = model.decide(frame, "dog", false_negatives=0)
    assert loads(client.download()).decision == rule
    assert "false negatives" in client.info()["decision"]
    client.decide(frame, "dog", budget=1, leave_one_out=False)
    assert "at most 1 row: " in client.info()["decision"]


def test_changes(client):
    change = client.learn(NEW)
    assert change == RemoteChange(event=1, version=1, rows=2)
    assert client.version == 1
    assert client.forget(NEW[:1]).version == 2
    assert client.undo(2).version == 3
    assert client.undo(change.event).event == 4
    assert dumps(loads(client.download())) == dumps(pets())
    assert [event["kind"] for event in client.events()] == ["undo", "undo", "forget", "learn"]
    assert client.event(1)["data"] == NEW
    assert client.calibrate(PETS).rows >= 0
    assert client.info()["calibration"]
    client.calibrate(None, "none")
    for rule in (tb.Decision("dog", 0.01), tb.Decision(costs={("dog", "cat"): 100}), tb.Decision(abstain=0.999)):
        client.set_decision(rule)
        assert loads(client.download()).decision == rule
    assert client.predict_one({}) is None
    client.set_decision(None)
    assert client.predict_one(CAT) == "cat"
    assert client.stream()["version"] == client.version


def test_values_of_numpy_and_sets_are_sent(client):
    row = {"weight": np.float64(4.1), "likes": {"fish"}, "indoors": np.True_}
    assert client.predict_one(row) == pets().predict_one(row)
    with pytest.raises(DataError, match="finite"):
        client.predict([{"weight": float("nan")}])


def test_errors_are_those_of_the_library(client):
    with pytest.raises(DataError) as error:
        client.predict([CAT, {"weight": "heavy"}])
    assert (error.value.column, error.value.row) == ("weight", 1)
    assert error.value.status == 422
    assert "expected" in str(error.value)
    with pytest.raises(ForgetError):
        client.forget([{**CAT, "pet": "cow"}])
    with pytest.raises(ParameterError, match="event"):
        client.undo(99)
    with pytest.raises(ParameterError, match="version 7") as late:
        client.learn(NEW, if_version=7)
    assert late.value.status == 412
    client.learn(NEW, key="mine")
    with pytest.raises(ParameterError):
        client.learn(NEW[:1], key="mine")
    assert client.learn(NEW, key="mine").repeated


def test_the_only_model_need_not_be_named(served, api):
    with Client(served.url) as client, pytest.raises(ParameterError, match="name of a model") as error:
        client.predict([CAT])
    assert api.name in str(error.value)


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://x", "", "http://"])
def test_a_wrong_address(url):
    with pytest.raises(ParameterError, match="address of a server"):
        Client(url)


def test_a_server_that_is_not_there():
    with pytest.raises(ServerError, match="tally serve") as error:
        Client("http://127.0.0.1:9", model="pets", retries=1).predict([CAT])
    assert "Connection refused" in str(error.value)


def test_a_client_in_several_threads(client):
    found = []

    def work():
        found.append([client.predict_one(row) for row in ROWS * 20])
        client.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["cat", "dog"] * 20] * 4


class _Unreliable(http.server.BaseHTTPRequestHandler):
    """A real server on a real socket that fails before it answers, in ways that a list says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.headers.get("Idempotency-Key"), body))
        step = self.server.steps.pop(0)
        if step == "hang up":
            self.close_connection = True
            return
        content = json.dumps(
            {"event": 1, "version": 1, "rows": 1, "skipped": 0, "notes": [], "repeated": False, "expected": "x"}
        ).encode()
        self.send_response(step)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *given):
        pass


@pytest.fixture
def unreliable():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Unreliable) as server:
        server.daemon_threads, server.seen = True, []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("steps", [["hang up", 200], [503, 200], [429, 503, "hang up", 200]])
def test_a_change_is_repeated_with_the_same_key(unreliable, steps):
    unreliable.steps = list(steps)
    with Client(f"http://127.0.0.1:{unreliable.server_port}", model="pets") as client:
        assert client.learn(NEW[:1]).event == 1
    assert len(unreliable.seen) == len(steps)
    assert len({key for key, _ in unreliable.seen}) == 1
    assert unreliable.seen[0][0]


def test_other_errors_are_not_repeated(unreliable):
    unreliable.steps = [422, 500, 503, 503]
    with Client(f"http://127.0.0.1:{unreliable.server_port}", model="pets", retries=1) as client:
        for kind, n_requests in ((ParameterError, 1), (ServerError, 2), (ServerError, 4)):
            with pytest.raises(kind):
                client.learn(NEW[:1])
            assert len(unreliable.seen) == n_requests
