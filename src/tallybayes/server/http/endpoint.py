"""Routes: a handler takes a `Call` and returns an `Answer`; its decorator says which requests it answers.

    routes = Routes("Models", "/v1/models/{model}")

    @routes.add("GET", "/schema", needs="predict", summary="Read the schema", responses=answers("Schema", 304, 404))
    async def read_schema(call: Call) -> Answer:
        ...

The docstring of a handler is the description of the route in the OpenAPI document. Every route says which scope of keys
it `needs`: without that it cannot be added.

Starlette finds the route of a path. The parameters of FastAPI would not help, because bodies have several formats and
are read strictly; they would take 45 us per request, and a prediction takes 70 us of CPU time in all.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from tallybayes.errors import Described
from tallybayes.server.http.answer import Answer, Headers
from tallybayes.server.http.call import Call
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.model_tag import version_headers
from tallybayes.server.live.live_model import LiveModel, Published

__all__ = ["Endpoint", "Handler", "Register", "Routes", "create_router", "unless_current"]

Handler = Callable[[Call], Awaitable[Answer]]
Register = Callable[[Handler], Handler]  # a decorator
VersionHandler = Callable[[Call, LiveModel, Published, Headers], Awaitable[Answer]]


@dataclass(frozen=True)
class Endpoint:
    """One method of one path."""

    method: str
    path: str
    handler: Handler
    needs: str | None  # the scope of keys; None: open to all
    changes: bool  # whether it is refused by a server that is read-only
    streams: bool  # whether its answer has no end, and so no time limit
    operation: dict[str, Any] | None  # its part of the OpenAPI document; None: not documented

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, if its key allows it."""
        call: Call = scope["tally.call"]
        call.route = self.path
        call.authorise(self.needs)
        if self.changes:
            call.refuse_if_read_only()
        elif not self.streams:
            call.task = asyncio.current_task()
        answer = await self.handler(call)
        if not self.streams or call.is_head:
            await answer(scope, receive, send)
            return
        call.deadline.reschedule(None)
        call.service.n_active -= 1  # streams have a limit of their own
        try:
            await answer(scope, receive, send)
        finally:
            call.service.n_active += 1


class Routes:
    """The endpoints of one part of the API, in the order in which they are added."""

    def __init__(self, tag: str, prefix: str = "") -> None:
        self.endpoints: list[Endpoint] = []
        self._tag, self._prefix = tag, prefix

    def add(
        self,
        method: str,
        path: str,
        *,
        needs: str | None,
        summary: str = "",
        changes: bool = False,
        streams: bool = False,
        **operation: Any,
    ) -> Register:
        """Decorate a handler; operation: parameters, body and answers. Without a summary it is not documented."""

        def register(handler: Handler) -> Handler:
            facts = {"tags": [self._tag], "summary": summary, "description": _description(handler), **operation}
            full_path = self._prefix + path
            document = facts if summary else None
            self.endpoints.append(Endpoint(method, full_path, handler, needs, changes, streams, document))
            return handler

        return register


def _description(handler: Handler) -> str:
    """The docstring of a handler: paragraphs without line breaks."""
    paragraphs = (handler.__doc__ or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def unless_current(handler: VersionHandler, more: Callable[[LiveModel], Headers] = lambda live: ()) -> Handler:
    """Decorate a handler whose answer depends on the version of the model only: 304 if the sender has it already.

    The handler is given the headers of its answer; more: further ones.
    """

    @functools.wraps(handler)
    async def answer(call: Call) -> Answer:
        """Answer 304, or as the handler does."""
        live = call.live
        published = live.current
        headers = [*version_headers(live, published), (b"cache-control", b"no-cache"), *more(live)]
        if call.has_current(live, published):
            return Answer(b"", status=304, headers=headers)
        return await handler(call, live, published, headers)

    return answer


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
