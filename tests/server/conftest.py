import httpx2
import pytest
from running_server import RunningServer, pets


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
def fresh(tmp_path):
    """A server of its own for a test that changes the model."""
    pets().save(tmp_path / "pets.tally")
    with RunningServer(tmp_path / "pets.tally") as server:
        yield server
