"""Names of models that are not plain ASCII, in headers and paths; and numbers that are too long."""

from urllib.parse import quote

import httpx2
import pytest
from running_server import CAT, RunningServer, pets

from tallybayes.client import Client
from tallybayes.errors import ParameterError

NAMES = ["\u00fcber", "caf\u00e9, 2", 'a "quoted" name', "\u732b", "50%", "pets-1.0", "pets"]


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    folder = tmp_path_factory.mktemp("named")
    for name in NAMES:
        pets().save(folder / f"{name}.tally")
    with RunningServer(folder, "--log-level", "warning") as server:
        yield server


@pytest.mark.parametrize("name", NAMES)
def test_conditions_work_for_every_name(named, name):
    root = f"{named.url}/v1/models/{quote(name, safe='')}"
    etag = httpx2.get(root).headers["etag"]
    assert etag.isascii()
    assert httpx2.get(root, headers={"If-None-Match": etag}).status_code == 304
    assert httpx2.get(root, headers={"If-None-Match": f'"x, y-1", {etag}'}).status_code == 304
    first = httpx2.post(f"{root}/learn", json={"row": {**CAT, "pet": "cat"}}, headers={"If-Match": etag})
    assert (first.status_code, first.json().get("version")) == (200, 1)
    assert httpx2.post(f"{root}/predict", json={"row": CAT}, headers={"If-Match": etag}).status_code == 412
    with Client(named.url, model=name) as client:
        assert client.learn({**CAT, "pet": "cat"}, if_version=1).version == 2
        with pytest.raises(ParameterError, match="version 1"):
            client.learn({**CAT, "pet": "cat"}, if_version=1)


@pytest.mark.parametrize("number", ["9" * 19, "9" * 5000, "-1", "1.5", "\u0663", "1e3", ""])
@pytest.mark.parametrize("query", ["after", "before", "limit"])
def test_a_number_that_is_too_long_is_a_problem(named, query, number):
    found = httpx2.get(f"{named.url}/v1/models/pets/events", params={query: number})
    assert found.status_code == 422, found.text
    assert len(found.text) < 1000


@pytest.mark.parametrize("number", ["9" * 19, "9" * 5000, "-1", "\u0663"])
def test_an_event_with_a_number_that_is_too_long(named, number):
    assert httpx2.get(f"{named.url}/v1/models/pets/events/{number}").status_code == 404


def test_a_file_name_that_is_too_long(named):
    found = httpx2.post(
        f"{named.url}/v1/models/pets/read",
        params={"file": "\u6f22" * 100 + ".csv"},
        content=b"weight\n4.5\n",
        headers={"Content-Type": "text/csv"},
    )
    assert (found.status_code, found.json()["rows"]) == (200, [{"weight": 4.5}])
