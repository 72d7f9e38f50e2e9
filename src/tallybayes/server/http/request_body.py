"""The body of a request, read whole within the limits of size and time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from starlette.types import Receive

from tallybayes.errors import Described
from tallybayes.server.http.http_problem import HttpError

__all__ = ["BodyBudget", "BodyShare", "ClientGoneError", "read_body"]

_BODIES = 8  # bodies of the greatest size that may be in the memory


class ClientGoneError(Exception):
    """The client has hung up before its request was complete."""


class BodyBudget:
    """The memory for bodies, of all requests together, from their arrival until they are answered."""

    def __init__(self, max_body: int) -> None:
        self.max_body = max_body
        self.left = max_body * _BODIES

    @contextmanager
    def share(self) -> Iterator[BodyShare]:
        """The memory of one request, which is given back at the end of the block."""
        share = BodyShare(self)
        try:
            yield share
        finally:
            self.left += share.taken


class BodyShare:
    """What one request has taken of a budget."""

    def __init__(self, budget: BodyBudget) -> None:
        self.max_body, self.taken, self._budget = budget.max_body, 0, budget

    def hold(self, n_bytes: int) -> None:
        """Reserve memory for so many bytes altogether; a problem (503) if there is none."""
        if n_bytes - self.taken > self._budget.left:
            text = "too many large requests at the same time: there is no memory for this one"
            raise HttpError.of(503, text, headers={"Retry-After": "1"})
        self._budget.left -= n_bytes - self.taken
        self.taken = n_bytes


async def read_body(receive: Receive, fields: Mapping[bytes, bytes], share: BodyShare) -> bytes:
    """The whole body; a problem (413) as soon as it is known to be too large, whatever its header says."""
    length = fields.get(b"content-length")
    if length is None and b"transfer-encoding" not in fields:
        return b""
    if b"content-encoding" in fields:
        got = Described(fields[b"content-encoding"].decode("latin-1"))
        raise HttpError.of(415, "a body without Content-Encoding", got=got)
    if length is not None and int(length) > share.max_body:  # the parser of HTTP lets only digits through
        raise _too_large(share.max_body, f"{int(length):,} bytes")
    parts: list[bytes] = []
    n_bytes, is_whole = 0, False
    while not is_whole:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        parts.append(message.get("body", b""))
        n_bytes += len(parts[-1])
        is_whole = not message.get("more_body", False)
        if n_bytes > share.max_body:
            raise _too_large(share.max_body, "more")
        share.hold(n_bytes)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(limit: int, got: str) -> HttpError:
    hint = "send the rows in several requests, or start the server with a larger --max-body"
    return HttpError.of(413, f"a body of at most {limit:,} bytes", got=Described(got), hint=hint)
