"""Who may do what: keys and scopes, names of the server, origins of pages, read-only servers."""

import json
import signal
import time

import httpx2
import pytest
from running_server import CAT, PETS, RunningServer, pets

from tallybayes.model.saved_model import dumps
from tallybayes.server.application import ENDPOINTS
from tallybayes.server.http.api_key import KeyRing, new_key

ROW = {**CAT, "pet": "cat"}
OCTETS = {"Content-Type": "application/octet-stream"}

# method, path, body, the scope it needs
REQUESTS = [
    ("GET", "/v1/models", None, "predict"),
    ("GET", "/v1/models/pets", None, "predict"),
    ("GET", "/v1/models/pets/schema", None, "predict"),
    ("GET", "/v1/models/pets/stream", None, "predict"),
    ("GET", "/v1/models/pets/sample?n=1", None, "predict"),
    ("POST", "/v1/models/pets/predict", {"row": CAT}, "predict"),
    ("POST", "/v1/models/pets/explain", {"row": CAT}, "predict"),
    ("POST", "/v1/models/pets/evaluate", {"rows": PETS}, "predict"),
    ("GET", "/v1/models/pets/columns", None, "predict"),
    ("GET", "/v1/models/pets/nomogram", None, "predict"),
    ("GET", "/v1/models/pets/importance", None, "predict"),
    ("GET", "/v1/models/pets/chart", None, "predict"),
    ("GET", "/v1/models/pets/examples", None, "predict"),
    ("POST", "/v1/models/pets/read", {"rows": []}, "predict"),
    ("GET", "/v2/models/pets", None, "predict"),
    ("GET", "/v2/models/pets/ready", None, "predict"),
    (
        "POST",
        "/v2/models/pets/infer",
        {"inputs": [{"name": "weight", "shape": [1], "datatype": "FP64", "data": [4]}]},
        "predict",
    ),
    ("POST", "/invocations", {"instances": [CAT], "params": {"model": "pets"}}, "predict"),
    ("GET", "/metrics", None, "predict"),
    ("POST", "/v1/models/pets/learn", {"row": ROW}, "learn"),
    ("POST", "/v1/models/pets/forget", {"row": ROW}, "learn"),
    ("POST", "/v1/models/pets/undo", {"event": 1}, "learn"),
    ("GET", "/v1/models/pets/events", None, "learn"),
    ("GET", "/v1/models/pets/events/1", None, "learn"),
    ("GET", "/v1/models/pets/events.parquet", None, "learn"),
    ("GET", "/v1/models/pets/download", None, "learn"),
    ("POST", "/v1/models/pets/calibrate", {"rows": PETS}, "admin"),
    ("PUT", "/v1/models/pets/decision", {}, "admin"),
    ("PUT", "/v1/models/added", dumps(pets()), "admin"),
    ("DELETE", "/v1/models/added", None, "admin"),
]
OPEN = [
    "/health/live",
    "/health/ready",
    "/health",
    "/ping",
    "/version",
    "/v2",
    "/v2/health/live",
    "/v2/health/ready",
    "/docs",
]
SCOPES = ("predict", "learn", "admin")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server with keys of every scope, one for another model, and their secrets."""
    folder = tmp_path_factory.mktemp("guarded")
    for name in ("pets", "other"):
        pets().save(folder / f"{name}.tally")
    made = {scope: new_key(scope, name=f"the {scope} key") for scope in SCOPES}
    made["elsewhere"] = new_key("admin", ["other", "oth-*"], "elsewhere")
    keys = folder / "keys.txt"
    keys.write_text("# keys of the tests\n\n" + "\n".join(key.line() for _, key in made.values()) + "\n")
    with RunningServer(folder, "--keys", str(keys)) as server:
        yield server, {name: secret for name, (secret, _) in made.items()}


def send(server, method, path, body, secret):
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    if isinstance(body, bytes):
        return httpx2.request(method, server.url + path, content=body, headers=headers | OCTETS, timeout=30)
    return httpx2.request(
        method, server.url + path, headers=headers, timeout=30, **({"json": body} if body is not None else {})
    )


@pytest.mark.parametrize(("method", "path", "body", "needs"), REQUESTS, ids=lambda value: str(value)[:40])
def test_every_route_by_every_key(guarded, method, path, body, needs):
    server, secrets = guarded
    assert send(server, method, path, body, None).status_code == 401
    assert send(server, method, path, body, "tally_" + "x" * 43).status_code == 401
    for scope in SCOPES:
        found = send(server, method, path, body, secrets[scope])
        if SCOPES.index(scope) < SCOPES.index(needs):
            assert found.status_code == 403, (scope, found.text)
        else:
            assert found.status_code not in (401, 403), (scope, found.text)
    if "pets" in path or "added" in path or "invocations" in path:
        assert send(server, method, path, body, secrets["elsewhere"]).status_code == 403


def test_every_route_is_in_the_table_of_scopes():
    known = {(method, path.partition("?")[0]) for method, path, _, _ in REQUESTS}
    known |= {("GET", path) for path in OPEN}
    for facts in ENDPOINTS:
        paths = {facts.path.replace("{model}", name).replace("{event}", "1") for name in ("pets", "added")}
        if facts.needs is None or "{version}" in facts.path or facts.streams:
            continue
        scopes = {
            needs for method, path, _, needs in REQUESTS if method == facts.method and path.partition("?")[0] in paths
        }
        assert scopes == {facts.needs}, facts.path
        assert known & {(facts.method, path) for path in paths}


@pytest.mark.parametrize("path", OPEN)
def test_what_is_open_to_all(guarded, path):
    assert send(guarded[0], "GET", path, None, None).status_code == 200


def test_a_key_sees_only_its_models(guarded):
    server, secrets = guarded
    names = [one["name"] for one in send(server, "GET", "/v1/models", None, secrets["elsewhere"]).json()["models"]]
    assert names == ["other"]
    assert send(server, "GET", "/v1/models/nothing", None, secrets["elsewhere"]).status_code == 403
    assert send(server, "GET", "/v1/models/nothing", None, secrets["admin"]).status_code == 404
    for method, path, body in (
        ("GET", "/metrics", None),
        ("GET", "/v1/models/oth-er", None),
        ("POST", "/invocations", {"instances": [CAT], "params": {"model": "oth-er"}}),
    ):
        assert "pets" not in send(server, method, path, body, secrets["elsewhere"]).text
    assert send(server, "GET", "/metrics", None, secrets["elsewhere"]).status_code == 403
    assert send(server, "POST", "/invocations", {"instances": [CAT]}, secrets["elsewhere"]).status_code == 200


def test_the_log_of_events_names_the_key(guarded):
    server, secrets = guarded
    send(server, "POST", "/v1/models/other/learn", {"row": ROW}, secrets["learn"])
    (event,) = send(server, "GET", "/v1/models/other/events", None, secrets["learn"]).json()["events"]
    assert event["who"] == "the learn key"
    assert send(server, "GET", "/v1/models/other/events?who=nobody", None, secrets["learn"]).json()["events"] == []


def test_other_schemes_and_forms_of_a_key(guarded):
    server, secrets = guarded
    get = lambda value: httpx2.get(f"{server.url}/v1/models", headers={"Authorization": value})  # noqa: E731
    found = get(f"Basic {secrets['admin']}")
    assert (found.status_code, found.headers["www-authenticate"]) == (401, "Bearer")
    assert get(f"bearer {secrets['admin']}").status_code == 200
    assert get("Bearer").status_code == 401
    assert get(b"Bearer \xe9").status_code == 401


def test_secrets_are_neither_stored_nor_logged(guarded):
    server, secrets = guarded
    send(server, "GET", "/v1/models", None, secrets["admin"])
    text = (server.path / "keys.txt").read_text() + "".join(server.lines)
    assert not any(secret in text for secret in secrets.values())
    assert "the admin key" in "".join(server.lines)


def test_keys_from_the_environment(tmp_path):
    pets().save(tmp_path / "pets.tally")
    secret, key = new_key("predict")
    with RunningServer(tmp_path / "pets.tally", environment={"TALLY_KEYS": key.line()}) as server:
        assert send(server, "GET", "/v1/models", None, None).status_code == 401
        assert send(server, "GET", "/v1/models", None, secret).status_code == 200


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("secret predict", "sha256:HASH"),
        ("sha256:12 predict", "64 hexadecimal"),
        (f"sha256:{'0' * 64} predikt", "did you mean 'predict'"),
        (f"sha256:{'0' * 64}", "SCOPES"),
    ],
)
def test_wrong_lines_of_keys(line, words):
    from tallybayes.errors import FileError

    with pytest.raises(FileError, match=r"keys\.txt, line 2") as error:
        KeyRing.parse(["# keys", line], "keys.txt")
    assert words in str(error.value)


HOSTS = [
    ("127.0.0.1:{port}", 200),
    ("localhost:{port}", 200),
    ("LOCALHOST", 200),
    ("[::1]:{port}", 200),
    ("my.name:{port}", 200),
    ("evil.example", 421),
    ("evil.example:{port}", 421),
    ("127.0.0.1.evil.example", 421),
    ("localhost.evil.example:{port}", 421),
    ("", 421),
]


@pytest.fixture(scope="module")
def loopback(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loopback")
    pets().save(folder / "pets.tally")
    with RunningServer(folder, "--allow-host", "my.name", "--cors", "https://good.example") as server:
        yield server


@pytest.mark.parametrize(("host", "status"), HOSTS)
def test_a_foreign_name_that_resolves_to_this_machine_is_refused(loopback, host, status):
    found = httpx2.get(f"{loopback.url}/v1/models", headers={"Host": host.format(port=loopback.port)})
    assert found.status_code == status


def test_two_names_are_refused(loopback):
    import socket

    with socket.create_connection(("127.0.0.1", loopback.port)) as plain:
        plain.sendall(b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
        assert plain.recv(100).startswith(b"HTTP/1.1 400")


ORIGINS = [
    (None, 200),
    ("{url}", 200),
    ("https://good.example", 200),
    ("https://evil.example", 403),
    ("http://good.example", 403),
    ("null", 403),
    ("http://127.0.0.1:1", 403),
]


@pytest.mark.parametrize(("origin", "status"), ORIGINS)
def test_pages_of_foreign_origins_change_nothing(loopback, origin, status):
    headers = {} if origin is None else {"Origin": origin.format(url=loopback.url)}
    body = {"row": {**CAT, "pet": "cat"}}
    found = httpx2.post(f"{loopback.url}/v1/models/pets/learn", json=body, headers=headers)
    assert found.status_code == status
    allowed = found.headers.get("access-control-allow-origin")
    assert allowed == ("https://good.example" if origin == "https://good.example" else None)


def test_a_browser_that_asks_first(loopback):
    ask = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    url = f"{loopback.url}/v1/models/pets/learn"
    good = httpx2.options(url, headers=ask | {"Origin": "https://good.example"})
    assert good.status_code == 204
    assert good.headers["access-control-allow-origin"] == "https://good.example"
    assert "POST" in good.headers["access-control-allow-methods"]
    assert "Content-Type" in good.headers["access-control-allow-headers"]
    evil = httpx2.options(url, headers=ask | {"Origin": "https://evil.example"})
    assert evil.status_code == 405
    assert "access-control-allow-origin" not in evil.headers


def test_a_server_that_is_read_only(tmp_path):
    pets().save(tmp_path / "pets.tally")
    before = (tmp_path / "pets.tally").read_bytes()
    with RunningServer(tmp_path, "--read-only") as server:
        for method, path, body, needs in REQUESTS:
            found = send(server, method, path, body, None)
            changes = method != "GET" and needs != "predict"
            assert (found.status_code == 403) == changes, (path, found.text)
            if changes:
                assert "read-only" in json.loads(found.content)["detail"]
        assert send(server, "GET", "/v1/models/pets", None, None).json()["read_only"] is True
    assert (tmp_path / "pets.tally").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["pets.tally"]


def test_a_key_that_is_removed_is_refused_after_a_signal(tmp_path):
    pets().save(tmp_path / "pets.tally")
    (kept, kept_key), (revoked, revoked_key) = (new_key("learn", ["*"], name) for name in ("ann", "eve"))
    keys = tmp_path / "keys.txt"
    keys.write_text(f"{kept_key.line()}\n{revoked_key.line()}\n")

    def bearer(secret):
        return {"Authorization": f"Bearer {secret}"}

    with RunningServer(tmp_path / "pets.tally", "--keys", str(keys)) as server:

        def status(secret):
            return httpx2.get(f"{server.url}/v1/models/pets", headers=bearer(secret)).status_code

        def tell_server(text, message):
            keys.write_text(text)
            server.process.send_signal(signal.SIGHUP)
            deadline = time.monotonic() + 20
            while not any(message in line["message"] for line in server.log()):
                assert time.monotonic() < deadline, server.lines
                time.sleep(0.02)

        assert [status(kept), status(revoked)] == [200, 200]
        with httpx2.stream("GET", f"{server.url}/v1/models/pets/live", headers=bearer(revoked), timeout=20) as stream:
            news = stream.iter_lines()
            assert next(news) == "event: hello"
            tell_server(f"{kept_key.line()}\n", "read the keys anew")
            assert [status(kept), status(revoked)] == [200, 401]
            assert "event: published" not in list(news)  # it ends
        tell_server("nonsense\n", "the keys cannot be read anew")
        assert [status(kept), status(revoked)] == [200, 401]
