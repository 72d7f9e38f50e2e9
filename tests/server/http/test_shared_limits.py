"""What requests share: memory for bodies, threads, the queue of the writer. A few clients cannot use them up."""

import asyncio
import contextlib
import threading

import pytest
from running_server import CAT, pets

from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.request_body import BodyBudget, read_body
from tallybayes.server.http.server_settings import ServerSettings
from tallybayes.server.http.service import Service
from tallybayes.server.live.change_request import ChangeRequest
from tallybayes.server.live.model_folder import ModelFolder
from tallybayes.server.routes.page_routes import _Kept


@pytest.fixture
def folder(tmp_path):
    pets().save(tmp_path / "pets.tally")
    with ModelFolder.open(tmp_path) as opened:
        yield opened


def arriving(*parts):
    """A body that comes in some parts."""
    messages = [{"type": "http.request", "body": part, "more_body": i < len(parts) - 1} for i, part in enumerate(parts)]

    async def receive():
        return messages.pop(0)

    return receive


@pytest.mark.parametrize("parts", [[b"x" * 1000], [b"x" * 400] * 2 + [b"x" * 200]], ids=["whole", "in parts"])
def test_bodies_take_memory_until_they_are_answered(parts):
    budget, fields = BodyBudget(1000), {b"content-length": b"1000"}

    def read(share):
        return asyncio.run(read_body(arriving(*parts), fields, share))

    with contextlib.ExitStack() as others:
        for _ in range(8):
            assert read(others.enter_context(budget.share())) == b"x" * 1000
        with budget.share() as share, pytest.raises(HttpError, match="no memory for this one") as caught:
            read(share)
        assert caught.value.status == 503
    with budget.share() as share:
        assert len(read(share)) == 1000


def test_pages_that_wait_for_the_same_answer_share_a_thread(folder):
    may_end, n_computed = threading.Event(), []

    def compute(model):
        n_computed.append(model)
        assert may_end.wait(20)
        return {"columns": []}

    async def work():
        service, live, kept = Service(folder, ServerSettings()), folder["pets"], _Kept(compute)
        pages = [asyncio.ensure_future(kept.answer(service, live, live.current)) for _ in range(20)]
        await asyncio.sleep(0.1)
        assert await asyncio.wait_for(service.in_thread(lambda: "free"), 10) == "free"
        pages[0].cancel()  # it was the first to ask; the others still get the answer
        may_end.set()
        found = await asyncio.gather(*pages[1:])
        assert set(found) == {b'{"model": "pets", "version": 0, "columns": []}'}
        assert await kept.answer(service, live, live.current) == found[0]
        service.close()

    asyncio.run(work())
    assert len(n_computed) == 1


def test_an_answer_that_could_not_be_computed_is_computed_again(folder):
    results = [ValueError("once"), {"columns": [1]}]

    def compute(model):
        found = results.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    async def work():
        service, live, kept = Service(folder, ServerSettings()), folder["pets"], _Kept(compute)
        with pytest.raises(ValueError, match="once"):
            await kept.answer(service, live, live.current)
        assert b'"columns": [1]' in await kept.answer(service, live, live.current)
        service.close()

    asyncio.run(work())


def test_changes_whose_senders_are_gone_do_not_fill_the_memory(folder):
    """The writer is held up; requests end by their time limit, but their changes wait."""
    may_end, live = threading.Event(), folder["pets"]
    live.subscribe(lambda published, events: may_end.wait(30))
    row = {**CAT, "pet": "cat"}

    def change():
        return ChangeRequest.of_rows("learn", [row])

    async def work():
        service = Service(folder, ServerSettings(concurrency=1))
        first = live.submit(change())
        waiting = [live.submit(change()) for _ in range(2500)]
        with pytest.raises(HttpError, match="changes that wait") as caught:
            await service.change(live, change())
        assert (caught.value.status, caught.value.headers["Retry-After"]) == (503, "5")
        may_end.set()
        assert first.result(60).event == 1
        assert waiting[-1].result(60).event == 2501
        assert (await service.change(live, change())).event == 2502
        service.close()

    asyncio.run(work())
