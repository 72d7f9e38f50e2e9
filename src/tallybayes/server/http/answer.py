"""An answer to a request: status, headers, and a body that is known or made while it is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from starlette.types import Receive, Scope, Send

from tallybayes.formatting import json_text
from tallybayes.server.events.event_rows import JSON

__all__ = ["Answer", "Headers", "StreamedAnswer"]

Headers = Iterable[tuple[bytes, bytes]]


class Answer:
    """A complete answer. It is an ASGI application, as the responses of Starlette, with less work per request."""

    def __init__(self, body: bytes, media_type: str = JSON, *, status: int = 200, headers: Headers = ()) -> None:
        self.status, self.body = status, body
        self.headers = [(b"content-type", media_type.encode()), (b"content-length", str(len(body)).encode()), *headers]

    @classmethod
    def of(cls, value: Any, **options: Any) -> Answer:
        """A value as JSON; numbers that are not finite are null.

        >>> Answer.of({"p": float("nan")}).body
        b'{"p": null}'
        """
        return cls(json_text(value).encode(), **options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


class StreamedAnswer(Answer):
    """An answer whose parts are sent as they are made; it ends when the client hangs up."""

    def __init__(self, parts: AsyncIterator[bytes], media_type: str, *, headers: Headers = ()) -> None:
        super().__init__(b"", media_type, headers=headers)
        self.headers = [header for header in self.headers if header[0] != b"content-length"]
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the parts."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        if scope["tally.call"].is_head:
            await send({"type": "http.response.body", "body": b""})
            return
        async for part in self._parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
