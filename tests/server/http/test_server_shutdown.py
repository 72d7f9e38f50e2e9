"""An orderly end under load, hot reload, and starting again: nothing acknowledged is lost, no request is dropped."""

import contextlib
import os
import signal
import threading
import time

import httpx2
from running_server import CAT, DOG, RunningServer, pets

from tallybayes.client import ServerError
from tallybayes.model.saved_model import dumps


def test_a_server_that_is_stopped_under_load_keeps_all_it_has_acknowledged(tmp_path):
    pets().save(tmp_path / "pets.tally")
    acknowledged, failed, lock = {}, [], threading.Lock()

    def work(server, number):
        with server.client(retries=0) as client:
            for i in range(10_000):
                key = f"{number}-{i}"
                try:
                    change = client.learn({**CAT, "weight": i, "pet": "cat"}, key=key)
                except (ServerError, OSError) as error:
                    with lock:
                        failed.append((key, error))
                    return
                with lock:
                    acknowledged[key] = change.event

    with RunningServer(tmp_path / "pets.tally", "--log-level", "warning") as server:
        threads = [threading.Thread(target=work, args=(server, number)) for number in range(6)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 60
        while len(acknowledged) < 100 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert server.stop() == 0
        for thread in threads:
            thread.join(30)
    assert len(acknowledged) >= 100
    with RunningServer(tmp_path / "pets.tally", "--log-level", "warning") as server, server.client() as client:
        found, after = {}, 0
        while events := client.events(after=after, limit=1000):
            found |= {event["key"]: event["event"] for event in events}
            after = events[-1]["event"]
        assert acknowledged.items() <= found.items()
        assert {*found} - {*acknowledged} <= {key for key, _ in failed}
        assert client.info()["rows"] == 6 + len(found)
        assert sorted(found.values()) == list(range(1, len(found) + 1))


def test_requests_that_have_begun_are_answered_before_the_end(tmp_path):
    pets().save(tmp_path / "pets.tally")
    with RunningServer(tmp_path / "pets.tally", "--log-level", "warning") as server:
        answers = []

        def work():
            rows = {"rows": [CAT] * 800, "interval": 0.9}
            answers.append(httpx2.post(f"{server.url}/v1/models/pets/explain", json=rows, timeout=60))

        thread = threading.Thread(target=work)
        thread.start()
        with httpx2.Client() as client:
            deadline = time.monotonic() + 20
            while "tally_requests_active 2.0" not in client.get(f"{server.url}/metrics").text:
                assert time.monotonic() < deadline
        assert server.stop() == 0
        thread.join()
        assert [answer.status_code for answer in answers] == [200]
        assert len(answers[0].json()["explanations"]) == 800


def test_streams_of_events_end_with_the_server(tmp_path):
    pets().save(tmp_path / "pets.tally")
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(RunningServer(tmp_path / "pets.tally", "--log-level", "warning"))
        stream = stack.enter_context(httpx2.stream("GET", f"{server.url}/v1/models/pets/live", timeout=30))
        lines = stream.iter_lines()
        assert next(lines) == "event: hello"
        started = time.monotonic()
        assert server.stop(signal.SIGINT) == 0
        assert time.monotonic() - started < 10
        with contextlib.suppress(httpx2.RemoteProtocolError):
            list(lines)


def test_no_request_fails_while_models_are_added_replaced_and_removed(tmp_path):
    pets().save(tmp_path / "pets.tally")
    wrong, n_answers, stop = [], [0], threading.Event()
    with RunningServer(tmp_path, "--log-level", "warning") as server:

        def work():
            with httpx2.Client(timeout=30) as client:
                while not stop.is_set():
                    found = client.post(f"{server.url}/v1/models/pets/predict", json={"rows": [CAT, DOG]})
                    n_answers[0] += 1
                    if found.status_code != 200 or found.json()["predictions"] != ["cat", "dog"]:
                        wrong.append(found.text)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        with server.client() as client:
            for _ in range(4):
                assert client.upload(dumps(pets()), "pets")["rows"] == 6  # replaces the model that is asked
                client.upload(dumps(pets()), "other")
                client.remove("other")
            pets().save(tmp_path / "late.tally")
            for _ in range(5):  # also while the first one is being answered
                os.kill(server.process.pid, signal.SIGHUP)
            deadline = time.monotonic() + 20
            while [one["name"] for one in client.models()] != ["late", "pets"]:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert n_answers[0] > 20


def test_hang_ups_while_the_folder_is_read(tmp_path):
    """Several SIGHUPs during a reload, which takes a while: requests are answered, and all models are found."""
    pets().save(tmp_path / "pets.tally")
    content = (tmp_path / "pets.tally").read_bytes()
    with RunningServer(tmp_path, "--log-level", "warning") as server, server.client(timeout=10, retries=0) as client:
        assert len(client.models()) == 1  # the server runs: before, SIGHUP would end it
        for i in range(60):
            (tmp_path / f"late{i}.tally").write_bytes(content)
        deadline = time.monotonic() + 60
        for _ in range(10):
            os.kill(server.process.pid, signal.SIGHUP)
            time.sleep(0.05)
        while len(client.models()) < 61:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert server.stop() == 0
