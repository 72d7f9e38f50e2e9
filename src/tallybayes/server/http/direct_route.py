"""Routes of FastAPI that are documented by it, and called without its analysis of parameters.

A handler takes a `Call` and returns an `Answer`. FastAPI resolves parameters and validates answers in about 0.1 ms per
request, twice what the fastest of these handlers need; they read their bodies themselves. Every handler says which
scope of keys it needs (`needs`): a route without that cannot be added.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from tallybayes.server.http.answer import Answer
from tallybayes.server.http.call import Call

__all__ = ["DirectRoute", "Endpoint", "add_endpoints"]

Handler = Callable[[Call], Awaitable[Answer]]


class Endpoint(NamedTuple):
    """A route: method, path, handler, the scope that it needs (None: open to all), and its part of OpenAPI."""

    method: str
    path: str
    handler: Handler
    needs: str | None
    document: dict[str, Any]
    changes: bool = False  # whether it is refused by a server that is read-only
    streams: bool = False  # whether its answer has no end, and so no time limit
    is_documented: bool = True


class DirectRoute(APIRoute):
    """A route whose handler is called directly."""

    endpoint_facts: Endpoint

    def attach(self, facts: Endpoint) -> None:
        """Replace FastAPI's handling of the request by a direct call."""
        self.endpoint_facts = facts
        handler, needs, path = facts.handler, facts.needs, self.path
        changes, streams = facts.changes, facts.streams

        async def direct(scope: Scope, receive: Receive, send: Send) -> None:
            """Answer without the layers that FastAPI puts around a route."""
            call: Call = scope["tally.call"]
            call.route = path
            call.authorise(needs)
            if changes:
                call.refuse_if_read_only()
            elif not streams:
                call.task = asyncio.current_task()
            answer = await handler(call)
            if not streams or call.is_head:
                await answer(scope, receive, send)
                return
            call.deadline.reschedule(None)
            call.service.n_active -= 1  # streams have a limit of their own
            try:
                await answer(scope, receive, send)
            finally:
                call.service.n_active += 1

        self.app = direct


def add_endpoints(app: FastAPI, endpoints: list[Endpoint]) -> None:
    """Add routes to an application."""
    for facts in endpoints:
        document = {"summary": "", "description": "", "tags": [], **facts.document}
        route = DirectRoute(
            facts.path,
            facts.handler,
            methods=[facts.method],
            summary=document.pop("summary"),
            description=document.pop("description"),
            tags=document.pop("tags"),
            operation_id=_operation_id(app, facts),
            response_model=None,
            include_in_schema=facts.is_documented,
            openapi_extra=document,
        )
        route.attach(facts)
        app.router.routes.append(route)


def _operation_id(app: FastAPI, facts: Endpoint) -> str:
    """The name of the handler; with a number, if it has several routes."""
    name = facts.handler.__name__
    own = [route for route in app.router.routes if isinstance(route, DirectRoute)]
    n_before = sum(route.endpoint_facts.handler is facts.handler for route in own)
    return f"{name}_{n_before + 1}" if n_before else name
