"""Routes: a handler takes a `Call` and returns an `Answer`; its decorator says which requests it answers.

    routes = Routes("Models", "/v1/models/{model}")

    @routes.add("GET", "/schema", needs="predict", summary="Read the schema", answer="Schema", by_version=True)
    async def read_schema(call: Call) -> Answer:
        ...

The docstring of a handler is the description of the route in the OpenAPI document, which is made from these facts
(`routes/api_document.py`). Every route says which scope of keys it `needs`: without that it cannot be added.

Starlette finds the route of a path. The parameters of FastAPI would not help, because bodies have several formats and
are read strictly; they would take 45 us per request, and a prediction takes 70 us of CPU time in all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from tallybayes.errors import Described
from tallybayes.server.http.answer import Answer
from tallybayes.server.http.call import Call
from tallybayes.server.http.http_problem import HttpError

__all__ = ["BodyFacts", "Endpoint", "Handler", "Register", "Routes", "create_router"]

Handler = Callable[[Call], Awaitable[Answer]]
Register = Callable[[Handler], Handler]  # a decorator


class BodyFacts(NamedTuple):
    """What the document says of a body: the schema and an example of JSON, and other media types."""

    schema: str | None
    example: Any = None
    formats: Sequence[str] = ()


@dataclass(frozen=True)
class Endpoint:
    """One method of one path; its last fields are for the OpenAPI document.

    needs: the scope of keys; None: open to all.
    changes: whether it is refused by a server that is read-only.
    creates: whether the model that the path names need not be there.
    streams: whether its answer has no end, and so no time limit.
    by_version: whether its answer depends on the version of the model only: 304 if the sender has it already.
    summary: without one it is not documented. parameters: names of shared ones, and those of the query.
    answer: the schema of JSON, or its name; formats: other media types of an answer.
    statuses: those that are not clear from the rest; error: the schema of errors, if it is not `Problem`.
    """

    method: str
    path: str
    handler: Handler
    needs: str | None
    changes: bool = False
    creates: bool = False
    streams: bool = False
    by_version: bool = False
    tag: str = ""
    summary: str = ""
    parameters: Sequence[str | dict[str, Any]] = ()
    body: BodyFacts | None = None
    answer: str | dict[str, Any] | None = None
    formats: Sequence[str] = ()
    statuses: Sequence[int] = ()
    error: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, if its key allows it."""
        call: Call = scope["tally.call"]
        call.route = self.path
        call.authorise(self.needs)
        if self.changes and call.service.settings.read_only:
            raise HttpError.of(403, "a request that changes nothing: this server is read-only", got=call.method)
        if not self.changes:
            call.task = asyncio.current_task()
        if "model" in call.path_params and not self.creates:
            _ = call.live  # whether it is there is asked first, whatever the body is
        answer = await (self._answer_by_version(call) if self.by_version else self.handler(call))
        if not self.streams or call.is_head:
            await answer(scope, receive, send)
            return
        call.deadline.reschedule(None)
        call.service.n_active -= 1  # streams have a limit of their own
        try:
            await answer(scope, receive, send)
        finally:
            call.service.n_active += 1

    async def _answer_by_version(self, call: Call) -> Answer:
        answer = Answer(b"", status=304) if call.has_current else await self.handler(call)
        answer.headers += [*call.version_headers, (b"cache-control", b"no-cache")]
        return answer


class Routes:
    """The endpoints of one part of the API, in the order in which they are added; shared: facts that all have."""

    def __init__(self, tag: str, prefix: str = "", **shared: Any) -> None:
        self.endpoints: list[Endpoint] = []
        self._prefix, self._shared = prefix, {"tag": tag, **shared}

    def add(self, method: str, path: str, *, needs: str | None, **facts: Any) -> Register:
        """Decorate a handler; facts: the other fields of an `Endpoint`."""

        def register(handler: Handler) -> Handler:
            facts_of_all = {**self._shared, **facts}
            self.endpoints.append(Endpoint(method, self._prefix + path, handler, needs, **facts_of_all))
            return handler

        return register


def create_router(endpoints: Iterable[Endpoint]) -> Router:
    """The ASGI application that passes a request to its endpoint."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    routes = [Route(path, _Methods(by_method)) for path, by_method in by_path.items()]
    return Router(routes, redirect_slashes=False, default=_refuse_path)


class _Methods:
    """The endpoints of one path by method."""

    def __init__(self, endpoints: dict[str, Endpoint]) -> None:
        self._endpoints, self._allowed = endpoints, ", ".join(sorted(endpoints))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoints.get(scope["method"])
        if endpoint is None:
            expected, headers = f"the method {self._allowed}", {"Allow": self._allowed}
            raise HttpError.of(405, expected, got=Described("another method"), headers=headers)
        await endpoint(scope, receive, send)


async def _refuse_path(scope: Scope, receive: Receive, send: Send) -> None:
    hint = "the routes are described at /docs"
    raise HttpError.of(404, "a route of this server", got=Described("another path"), hint=hint)
