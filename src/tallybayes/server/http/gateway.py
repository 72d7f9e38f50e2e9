"""The outermost layer of the server: what happens to every request before and after its route.

Request id, origin and key, limits (rate, size, time, concurrency), headers of the answer, problems instead of
exceptions, a line of the log, measurements. One plain ASGI application instead of a stack of them: each layer would
cost as much as scoring a row.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
import secrets
import sys
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tallybayes.errors import Described
from tallybayes.server.http.access_guard import PREFLIGHT_HEADERS, RateLimit, check_origin, cors_headers, find_key
from tallybayes.server.http.answer import Answer
from tallybayes.server.http.call import Call, no_key
from tallybayes.server.http.http_problem import PROBLEM_TYPE, HttpError, as_problem
from tallybayes.server.http.request_body import BodyBudget, BodyShare, ClientGoneError, read_body
from tallybayes.server.http.request_log import json_line, logger
from tallybayes.server.http.service import Service

__all__ = ["Gateway"]

_REQUEST_ID = re.compile(rb"[\w.-]{1,64}", re.ASCII)
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_DEFAULTS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
_OPEN_METHODS = ("GET", "HEAD", "OPTIONS")


class Gateway:
    """An ASGI application around the routes."""

    def __init__(self, router: ASGIApp, service: Service) -> None:
        self._router, self._service = router, service
        self._budget = BodyBudget(service.settings.max_body)
        self._rate = None if service.settings.rate is None else RateLimit(service.settings.rate)
        self._prefix, self._numbers = secrets.token_hex(4), itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; the server sends nothing else, neither web sockets nor a lifespan."""
        started = time.perf_counter()
        call = Call(scope, receive)
        call.service, call.content = self._service, b""
        call.fields = dict(scope["headers"])
        request_id = call.fields.get(b"x-request-id")
        valid = request_id is not None and _REQUEST_ID.fullmatch(request_id)
        call.request_id = request_id.decode() if request_id and valid else f"{self._prefix}-{next(self._numbers):x}"
        scope["tally.call"] = call
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message["headers"]
                names = [name for name, _ in headers]
                headers += _HEADERS
                headers += [(name, value) for name, value in _DEFAULTS if name not in names]
                headers.append((b"x-request-id", call.request_id.encode()))
                headers += cors_headers(call.fields, self._service.settings)
            await send(message)

        try:
            with self._budget.share() as share:
                await self._answer_call(call, share, scope, receive, send_with_headers)
        except ClientGoneError:
            status = status or 499  # as other servers log it: the client has closed the request
        except asyncio.CancelledError:
            if not call.is_gone:
                raise
            status = status or 499
        except Exception as error:
            problem = as_problem(error)
            if problem.status == 500:
                logger.error("unexpected error", exc_info=error, extra={"facts": {"id": call.request_id}})
            if status:  # the answer has begun: it can only be cut off
                raise
            await _answer(call, problem)(scope, receive, send_with_headers)
        finally:
            seconds = time.perf_counter() - started
            self._service.metrics.observe_request(call.method, call.route or "none", status, seconds)
            if logger.isEnabledFor(logging.INFO):
                _log(call, scope, status, seconds)

    async def _answer_call(self, call: Call, share: BodyShare, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the route of a request answer it, within the limits."""
        service, settings = self._service, self._service.settings
        check_origin(scope, call.fields, settings)
        if scope["method"] == "OPTIONS" and cors_headers(call.fields, settings):
            await Answer(b"", status=204, headers=PREFLIGHT_HEADERS)(scope, receive, send)
            return
        try:
            call.api_key = find_key(call.fields, settings)
        finally:  # wrong keys have a limit too, that of their address
            if self._rate is not None:
                client = scope["client"][0] if call.api_key is None and scope["client"] else call.api_key
                if (wait := self._rate.wait(client)) > 0:
                    retry = {"Retry-After": str(int(wait) + 1)}
                    expected = f"at most {settings.rate:g} requests per second"
                    raise HttpError.of(429, expected, got=Described("more"), headers=retry)
        if len(settings.keys) and call.api_key is None and scope["method"] not in _OPEN_METHODS:
            raise no_key()  # before its body takes any memory
        if scope["method"] == "HEAD":  # answered as GET; the connection leaves the body out
            call.is_head, call.scope = True, {**scope, "method": "GET"}
            scope = call.scope
        arrived = False
        try:
            async with asyncio.timeout(settings.timeout) as call.deadline:
                if scope["method"] not in _OPEN_METHODS:
                    call.content = await read_body(receive, call.fields, share)
                arrived = True
                if service.n_active >= settings.concurrency:
                    got = Described("more")
                    expected = f"at most {settings.concurrency} requests at the same time"
                    raise HttpError.of(503, expected, got=got, headers={"Retry-After": "1"})
                service.n_active += 1
                try:
                    await self._router(scope, receive, send)
                finally:
                    service.n_active -= 1
        except TimeoutError:
            if not arrived:
                got = Described("only a part of it")
                expected = f"the whole request within {settings.timeout:g} seconds"
                raise HttpError.of(408, expected, got=got, headers={"Connection": "close"}) from None
            hint = "a change may still be made: repeat it with the same Idempotency-Key, or ask for fewer rows"
            expected = f"an answer within {settings.timeout:g} seconds"
            retry = {"Retry-After": "1"}
            raise HttpError.of(503, expected, got=Described("none yet"), hint=hint, headers=retry) from None


def _answer(call: Call, problem: HttpError) -> Answer:
    """A problem in the words of the protocol of the request."""
    headers = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in problem.headers.items()]
    path = call.scope["path"]
    options: dict[str, Any] = {"status": problem.status, "headers": headers}
    if path == "/v2" or path.startswith("/v2/"):
        return Answer.of({"error": str(problem)}, **options)
    if path == "/invocations":
        return Answer.of({"error_code": "BAD_REQUEST", "message": str(problem)}, **options)
    return Answer(problem.body(call.request_id), PROBLEM_TYPE, **options)


def _log(call: Call, scope: Scope, status: int, seconds: float) -> None:
    """Write the line of a request; directly, because a log record costs as much as the request."""
    facts: dict[str, Any] = {
        "id": call.request_id,
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "ms": round(seconds * 1000, 3),
        "bytes": len(call.content),
    }
    if scope["client"]:
        facts["client"] = scope["client"][0]
    if call.api_key is not None:
        facts["key"] = call.api_key.name
    sys.stderr.write(json_line(time.time(), "info", "request", facts) + "\n")
