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


@pytest.fixture(scope="session")
def page_browser(tmp_path_factory):
    """A headless browser for the page, or the reason why there is none."""
    from page_browser import started_browser

    browser = started_browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.quit()


@pytest.fixture(scope="session")
def demo_server():
    """`tally serve --demo`, shared by the tests of the page: each takes back what it teaches."""
    with RunningServer("--demo", "--log-level", "warning") as server:
        yield server


@pytest.fixture(scope="session")
def page(page_browser, demo_server):
    """The page of the demo."""
    from page_browser import PageInBrowser

    return PageInBrowser(page_browser, demo_server.url)


@pytest.fixture(scope="session")
def demo_client(demo_server):
    """A client of the demo, for its pets."""
    with demo_server.client(model="pets") as client:
        yield client
