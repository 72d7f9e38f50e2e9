"""The body of a request, read whole within the limits of size and time."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import Receive

from tallybayes.errors import Described
from tallybayes.server.http_problem import HttpError

__all__ = ["BodyBudget", "ClientGoneError", "read_body"]

_BODIES = 8  # bodies of the greatest size that may be in the memory while they arrive


class ClientGoneError(Exception):
    """The client has hung up before its request was complete."""


class BodyBudget:
    """The memory for bodies that are arriving, of all requests together."""

    def __init__(self, max_body: int) -> None:
        self.max_body = max_body
        self._left = max_body * _BODIES

    def take(self, n_bytes: int) -> None:
        """Reserve memory; a problem (503) if there is none."""
        if n_bytes > self._left:
            got = Described("too many large requests at the same time")
            raise HttpError.of(503, "memory for the request", got=got, headers={"Retry-After": "1"})
        self._left -= n_bytes

    def give_back(self, n_bytes: int) -> None:
        """Free memory."""
        self._left += n_bytes


async def read_body(receive: Receive, fields: Mapping[bytes, bytes], budget: BodyBudget) -> bytes:
    """The whole body; a problem (413) as soon as it is known to be too large, whatever its header says."""
    length = fields.get(b"content-length")
    if length is None and b"transfer-encoding" not in fields:
        return b""
    if b"content-encoding" in fields:
        got = Described(fields[b"content-encoding"].decode("latin-1"))
        raise HttpError.of(415, "a body without Content-Encoding", got=got)
    if length is not None and int(length) > budget.max_body:  # the parser of HTTP lets only digits through
        raise _too_large(budget.max_body, f"{int(length):,} bytes")
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        if len(body) > budget.max_body:
            raise _too_large(budget.max_body, "more")
        return body
    parts, n_bytes, taken = [body], len(body), 0
    try:
        while True:
            if n_bytes > budget.max_body:
                raise _too_large(budget.max_body, "more")
            budget.take(n_bytes - taken)
            taken = n_bytes
            if not message.get("more_body", False):
                return b"".join(parts)
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            parts.append(message.get("body", b""))
            n_bytes += len(parts[-1])
    finally:
        budget.give_back(taken)


def _too_large(limit: int, got: str) -> HttpError:
    hint = "send the rows in several requests, or start the server with a larger --max-body"
    return HttpError.of(413, f"a body of at most {limit:,} bytes", got=Described(got), hint=hint)
