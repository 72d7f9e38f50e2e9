"""Limits: size, rows, rate, concurrency, time; clients that are slow, hang up, or are many."""

import contextlib
import json
import resource
import select
import socket
import threading
import time

import httpx2
import pytest
from running_server import CAT, RunningServer, pets

from tallybayes.server.http.api_key import new_key

JSON = {"Content-Type": "application/json"}
HEAD = b"POST /v1/models/pets/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = json.dumps({"row": CAT}).encode()


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limited")
    pets().save(folder / "pets.tally")
    options = ["--max-body", "20K", "--max-rows", "50", "--timeout", "3", "--log-level", "warning"]
    with RunningServer(folder, *options) as server:
        yield server


def connected(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=20)


def received(plain, until=b"\r\n\r\n"):
    """What a server sends before it closes the connection, or until a text."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while until not in found and (part := plain.recv(65536)):
            found += part
    return found


def predict(server, **options):
    return httpx2.post(f"{server.url}/v1/models/pets/predict", **options)


def test_a_body_that_is_too_large(limited):
    found = predict(limited, content=b" " * 30_000, headers=JSON)
    assert found.status_code == 413
    assert "20,480 bytes" in found.json()["detail"]
    assert predict(limited, content=BODY + b" " * (20_480 - len(BODY)), headers=JSON).status_code == 200


def test_a_chunked_body_that_is_too_large(limited):
    assert predict(limited, content=iter([b" " * 8_000] * 4), headers=JSON).status_code == 413
    assert predict(limited, content=iter([BODY[:10], BODY[10:]]), headers=JSON).status_code == 200


def test_a_chunked_body_without_an_end_is_cut_off(limited):
    with connected(limited) as plain:
        plain.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
        started, sent = time.monotonic(), 0
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while time.monotonic() - started < 15:
                plain.sendall(chunk)
                sent += len(chunk)
                time.sleep(0.02)
        assert time.monotonic() - started < 12


def test_a_length_that_is_a_lie(limited):
    with connected(limited) as plain:
        plain.sendall(HEAD + b"Content-Length: 99999999999999999999\r\n\r\n")
        assert received(plain).startswith(b"HTTP/1.1 400")  # not a number of 64 bits
    with connected(limited) as plain:
        plain.sendall(HEAD + b"Content-Length: 9999999999999999999\r\n\r\n")
        assert received(plain).startswith(b"HTTP/1.1 413")
    with connected(limited) as plain:
        plain.sendall(HEAD + b"Content-Length: -5\r\n\r\n")
        assert received(plain).startswith(b"HTTP/1.1 400")


def test_a_compressed_body_is_refused(limited):
    found = predict(limited, content=b"x" * 50, headers=JSON | {"Content-Encoding": "gzip"})
    assert found.status_code == 415


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", json.dumps({"rows": [{"weight": 1}] * 51}).encode()),
        ("application/x-ndjson", b'{"weight": 1}\n' * 51),
        ("text/csv", b"weight\n" + b"1\n" * 52),
        ("text/csv", b"weight\r" + b"1\r" * 52),
    ],
)
def test_too_many_rows(limited, kind, body):
    for verb in ("predict", "learn"):
        found = httpx2.post(f"{limited.url}/v1/models/pets/{verb}", content=body, headers={"Content-Type": kind})
        assert found.status_code == 413
        assert "50 rows" in found.json()["detail"]


def test_headers_that_never_end_are_cut_off(limited):
    with connected(limited) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # where the answer comes before the last ones
            for i in range(70):  # just above the limit: a reset because of unread bytes could overtake the reply
                plain.sendall(b"X-%d: %s\r\n" % (i, b"y" * 1000))
        assert received(plain).startswith(b"HTTP/1.1 431")
    assert predict(limited, json={"row": CAT}).status_code == 200


def test_a_body_that_arrives_too_slowly(limited):
    with connected(limited) as plain:
        plain.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
        started = time.monotonic()
        answer = b""
        while time.monotonic() - started < 10 and not answer:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                plain.sendall(b" ")
            if select.select([plain], [], [], 0.3)[0]:
                answer = received(plain, b"}")
        assert answer.startswith(b"HTTP/1.1 408")
        assert time.monotonic() - started < 8


def test_slow_clients_do_not_keep_others_out(limited):
    """Slow headers and slow bodies, more of them than the server answers at once."""
    with contextlib.ExitStack() as stack:
        for i in range(200):
            plain = stack.enter_context(connected(limited))
            plain.sendall(b"POST /v1/mod" if i % 2 else HEAD + b"Content-Length: 1000\r\n\r\n{")
        started = time.monotonic()
        for _ in range(5):
            assert predict(limited, json={"row": CAT}).status_code == 200
        assert time.monotonic() - started < 5


def test_headers_that_arrive_too_slowly(limited):
    """The time limit of headers is ten seconds, or that of requests if it is shorter."""
    with connected(limited) as plain:
        started = time.monotonic()
        plain.sendall(b"GET /v1/models HTT")
        assert received(plain).startswith(b"HTTP/1.1 408")
        assert 2 < time.monotonic() - started < 9


def test_clients_that_hang_up_in_the_middle(limited):
    for part in (b"", b"POST", HEAD, HEAD + b"Content-Length: 50\r\n\r\n{", HEAD + b"Content-Length: 2\r\n\r\n{}"):
        with connected(limited) as plain:
            plain.sendall(part)
    assert predict(limited, json={"row": CAT}).status_code == 200
    assert not [line for line in limited.log() if line["level"] == "error"]


def test_a_client_that_hangs_up_after_a_change_has_made_it(limited):
    before = httpx2.get(f"{limited.url}/v1/models/pets").json()["version"]
    body = json.dumps({"row": {**CAT, "pet": "cat"}}).encode()
    with connected(limited) as plain:
        head = HEAD.replace(b"predict", b"learn") + b"Idempotency-Key: gone\r\n"
        plain.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    deadline = time.monotonic() + 10
    while httpx2.get(f"{limited.url}/v1/models/pets").json()["version"] == before:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    again = httpx2.post(
        f"{limited.url}/v1/models/pets/learn", content=body, headers=JSON | {"Idempotency-Key": "gone"}
    ).json()
    assert again["repeated"] is True


@pytest.mark.parametrize(
    "garbage",
    [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n", b"\x00" * 100, b"GET / HTTP/9.9\r\n\r\n"],
)
def test_what_is_not_http(limited, garbage):
    with connected(limited) as plain:
        plain.sendall(garbage)
        assert received(plain).startswith(b"HTTP/1.1 400")


def test_several_requests_at_once_on_one_connection(limited):
    """Pipelined: with a body, without one (HEAD, 304), refused, and one that asks to continue first."""
    get = b"GET /v1/models/pets/schema HTTP/1.1\r\nHost: localhost\r\n"
    with connected(limited) as plain:
        plain.sendall(get + b"\r\n")
        etag = next(line for line in received(plain, b"}}").split(b"\r\n") if line.startswith(b"etag: "))[6:]
    predict = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    head = get.replace(b"GET", b"HEAD") + b"\r\n"
    not_modified = get + b"If-None-Match: " + etag + b"\r\n\r\n"
    wrong = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with connected(limited) as plain:
        plain.sendall(head + predict + not_modified + predict + wrong)
        found = received(plain, b"no such text")
    statuses = [part[:3] for part in found.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"200", b"304", b"200", b"404"]
    assert found.count(b'"predictions": ["cat"]') == 2
    with connected(limited) as plain:
        plain.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        assert received(plain) == b"HTTP/1.1 100 Continue\r\n\r\n"
        plain.sendall(BODY)
        assert received(plain, b'"predictions": ["cat"]').startswith(b"HTTP/1.1 200")


WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


@pytest.mark.parametrize("place", [20, WHOLE.index(b"{"), len(WHOLE) - 5], ids=["headers", "no body", "body"])
def test_a_second_request_that_pauses_while_the_first_is_answered(limited, place):
    """The time that a client has to read a refusal is not the time of the next request."""
    with connected(limited) as plain:
        plain.sendall(WHOLE + WHOLE[:place])
        time.sleep(2.4)  # longer than 2 seconds, and shorter than the time limit of this server
        plain.sendall(WHOLE[place:])
        found = b""
        while found.count(b'"predictions": ["cat"]') < 2 and (part := plain.recv(65536)):
            found += part
    assert [part[:3] for part in found.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200"]


@pytest.mark.parametrize("method", [b"GET", b"HEAD", b"OPTIONS"])
def test_the_body_of_a_request_that_has_none_is_not_read(limited, method):
    """It is answered before the body comes: a GET with a body takes no memory, whatever its size."""
    with connected(limited) as plain:
        start = method + b" /v1/models HTTP/1.1\r\nHost: localhost\r\n"
        plain.sendall(start + b"Content-Length: 10000000000\r\n\r\nabc")
        plain.settimeout(2)  # less than the time limit of the server
        status = received(plain)[9:12]
    assert status == (b"405" if method == b"OPTIONS" else b"200")


def test_wrong_keys_have_a_limit_too(tmp_path):
    pets().save(tmp_path / "pets.tally")
    secret, made = new_key("predict", ["*"], "")
    (tmp_path / "keys.txt").write_text(made.line() + "\n")
    options = ["--keys", str(tmp_path / "keys.txt"), "--rate", "2"]
    with RunningServer(tmp_path / "pets.tally", *options) as server, httpx2.Client(base_url=server.url) as client:
        wrong = {"Authorization": "Bearer guess"}
        statuses = [client.get("/v1/models", headers=wrong).status_code for _ in range(20)]
        assert set(statuses) == {401, 429}
        assert statuses[0] == 401
        right = {"Authorization": f"Bearer {secret}"}
        assert client.get("/v1/models", headers=right).status_code == 200  # its own limit


def test_the_rate_of_requests(tmp_path):
    pets().save(tmp_path / "pets.tally")
    with RunningServer(tmp_path / "pets.tally", "--rate", "5") as server, httpx2.Client() as client:
        found = [client.get(f"{server.url}/v1/models") for _ in range(25)]
        statuses = [one.status_code for one in found]
        assert statuses[:10] == [200] * 10
        assert statuses.count(429) >= 5
        refused = next(one for one in found if one.status_code == 429)
        assert int(refused.headers["retry-after"]) >= 1
        assert "5 requests per second" in refused.json()["detail"]
        with server.client() as own:  # waits as long as it is told to
            assert own.predict([CAT]).tolist() == ["cat"]


def test_requests_at_the_same_time(tmp_path):
    pets().save(tmp_path / "pets.tally")
    rows = {"rows": [CAT] * 20_000}  # tags: the general path, long enough to overlap
    with RunningServer(tmp_path / "pets.tally", "--concurrency", "2") as server:
        body, found = json.dumps(rows).encode(), []

        def send():
            found.append(predict(server, content=body, headers=JSON, timeout=60))

        threads = [threading.Thread(target=send) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        statuses = [one.status_code for one in found]
        assert set(statuses) == {200, 503}
        refused = next(one for one in found if one.status_code == 503)
        assert refused.headers["retry-after"] == "1"
        with server.client() as own:
            assert own.predict([CAT]).tolist() == ["cat"]


def test_an_answer_that_takes_too_long(tmp_path):
    pets().save(tmp_path / "pets.tally")
    with RunningServer(tmp_path / "pets.tally", "--timeout", "0.2") as server:
        body = json.dumps({"rows": [CAT] * 900, "interval": 0.95}).encode()
        found = httpx2.post(f"{server.url}/v1/models/pets/explain", content=body, headers=JSON, timeout=60)
        assert found.status_code == 503
        assert "0.2 seconds" in found.json()["detail"]
        assert httpx2.get(f"{server.url}/health/live").status_code == 200


def test_streams_of_events_have_a_limit_and_leave_nothing_when_their_client_hangs_up(tmp_path):
    pets().save(tmp_path / "pets.tally")
    request = b"GET /v1/models/pets/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with RunningServer(tmp_path / "pets.tally") as server:

        def follow(stack):
            plain = stack.enter_context(connected(server))
            plain.sendall(request)
            return received(plain, until=b"\n")

        for _ in range(2):  # the second time, those of the first are gone
            with contextlib.ExitStack() as stack:
                answers = [follow(stack) for _ in range(101)]
                assert [b" 200 " in answer for answer in answers] == [True] * 100 + [False]
                assert b" 503 " in answers[-1]
            time.sleep(1.0)
    assert not [line for line in server.lines if "destroyed" in str(line)]


N_CONNECTIONS = 10_000


def test_ten_thousand_open_connections(tmp_path):
    """Each has asked once and stays open; then old and new connections are still answered."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = N_CONNECTIONS + 500
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"the limit of open files is {hard}, and cannot be raised to {needed}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    pets().save(tmp_path / "pets.tally")
    request = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    try:
        with (
            RunningServer(tmp_path / "pets.tally", "--log-level", "warning") as server,
            contextlib.ExitStack() as stack,
        ):
            plain = []
            for i in range(N_CONNECTIONS):
                plain.append(stack.enter_context(connected(server)))
                plain[-1].sendall(request)
                if i % 500 == 499:  # not more at once than wait to be accepted
                    for one in plain[-500:]:
                        assert received(one).startswith(b"HTTP/1.1 200")
            started = time.monotonic()
            assert predict(server, json={"row": CAT}, timeout=20).status_code == 200
            assert time.monotonic() - started < 5
            for one in plain[::997]:
                one.sendall(request)
                assert received(one, b'"live"}').startswith((b"HTTP/1.1 200", b'{"status"'))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_short_requests_do_not_wait_for_long_ones(tmp_path):
    pets().save(tmp_path / "pets.tally")
    body = json.dumps({"rows": [CAT] * 100_000}).encode()
    with RunningServer(tmp_path / "pets.tally", "--log-level", "warning") as server, httpx2.Client() as client:
        found = []
        thread = threading.Thread(
            target=lambda: found.append(predict(server, content=body, headers=JSON, timeout=120).status_code)
        )
        thread.start()
        n_short = 0
        while thread.is_alive():
            assert client.post(f"{server.url}/v1/models/pets/predict", json={"row": CAT}, timeout=60).status_code == 200
            n_short += 1
        thread.join()
    assert found == [200]
    assert n_short >= 20
