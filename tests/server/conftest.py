import itertools

import httpx2
import pytest
from running_server import Api, RunningServer, pets

from tallybayes.model.saved_model import dumps

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server with one model, shared by the tests of a module that do not depend on what it has learned."""
    folder = tmp_path_factory.mktemp("models")
    pets().save(folder / "pets.tally")
    with RunningServer(folder) as server:
        yield server


@pytest.fixture(scope="module")
def http(served):
    """Plain HTTP to the shared server."""
    with httpx2.Client(base_url=served.url) as client:
        yield client


@pytest.fixture
def api(served):
    """Requests about a new model on the shared server, for a test that changes it."""
    name = f"pets{next(NUMBERS)}"
    with served.client() as client:
        client.upload(dumps(pets()), name)
    with Api(f"{served.url}/v1/models/{name}", name) as own:
        yield own
