"""Measurements, health, and the page of the API."""

import re

import httpx2
from prometheus_client.parser import text_string_to_metric_families
from running_server import CAT, DOG, ROOT, Api

import tallybayes as tb


def measured(http):
    found = http.get("/metrics")
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = {}
    for family in text_string_to_metric_families(found.text):
        assert family.documentation
        for sample in family.samples:
            samples[sample.name, *sorted(sample.labels.items())] = sample.value
    return samples


def test_measurements_can_be_read_by_prometheus(served, http):
    before = measured(http)
    with Api(f"{served.url}/v1/models/pets") as api:
        for _ in range(3):
            api.post("/predict", json={"row": CAT})
        api.post("/predict", content=b"{", headers={"Content-Type": "application/json"})
        api.post("/learn", json={"rows": [{**CAT, "pet": "cat"}, {**DOG, "pet": "dog"}]})
        api.get("/nothing")
    after = measured(http)
    route = ("route", "/v1/models/{model}/predict")
    grown = lambda *key: after[key] - before.get(key, 0)  # noqa: E731
    assert grown("tally_requests_total", ("method", "POST"), route, ("status", "200")) == 3
    assert grown("tally_requests_total", ("method", "POST"), route, ("status", "400")) == 1
    assert grown("tally_requests_total", ("method", "GET"), ("route", "none"), ("status", "404")) == 1
    assert grown("tally_request_seconds_count", route) == 4
    assert grown("tally_request_seconds_bucket", ("le", "+Inf"), route) == 4
    assert grown("tally_events_total", ("kind", "learn"), ("model", "pets")) == 1
    assert grown("tally_rows_total", ("kind", "learn"), ("model", "pets")) == 2
    assert grown("tally_commit_seconds_count") == 1
    assert after["tally_model_version", ("model", "pets")] == 1
    assert after["tally_model_rows", ("model", "pets")] == 8
    assert after["tally_queue_length", ("model", "pets")] == 0
    assert after["tally_requests_active",] >= 1


def test_paths_that_do_not_exist_make_no_new_series(http):
    measured(http)
    seen = set()
    for i in range(20):
        http.get(f"/v1/{i}")
        http.get(f"/v1/models/{i}")
        seen.add(frozenset(measured(http)))
    assert len(seen) == 1  # one series for each route, not for each path


def test_health(http):
    assert http.get("/health/live").json() == {"status": "live"}
    assert http.get("/health/ready").json() == {"status": "ready"}


def test_the_page_of_the_api_loads_nothing_from_elsewhere(http):
    page = http.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "connect-src 'self'" in policy
    files = re.findall(r'(?:href|src)="(/page/reference/[^"]+)"', page.text)
    assert len(files) == 2
    for path in files:
        assert http.get(path).status_code == 200
    texts = [page.text, *(http.get(path).text for path in files)]
    assert not any(re.search(r"https?://(?!www\.w3\.org)", text) for text in texts)
    assert "<script>" not in page.text
    assert "style=" not in page.text


def test_the_document_is_complete(http):
    found = http.get("/openapi.json").json()
    assert found["info"]["version"] == tb.__version__
    for path, item in found["paths"].items():
        for method, operation in item.items():
            assert operation["summary"], (method, path)
            assert operation["tags"], (method, path)
            assert {"400", "401", "403"} <= operation["responses"].keys(), (method, path)
            named = set(re.findall(r"{(\w+)}", path))
            parameters = [_resolved(found, one) for one in operation["parameters"]]
            assert named == {one["name"] for one in parameters if one["in"] == "path"}, (method, path)
    text = httpx2.get(f"{http.base_url}/openapi.json").text
    for name in re.findall(r'"#/components/(\w+)/(\w+)"', text):
        assert name[1] in found["components"][name[0]]


def _resolved(document, part):
    for name in part.get("$ref", "").removeprefix("#/").split("/") if "$ref" in part else ():
        document = document[name]
    return document if "$ref" in part else part


def test_the_files_of_the_page_are_in_the_package():
    folder = ROOT / "src" / "tallybayes" / "server" / "page" / "reference"
    assert {path.name for path in folder.iterdir()} == {"reference.html", "reference.css", "reference.js"}
