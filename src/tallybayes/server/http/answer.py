"""An answer to a request: status, headers, and a body that is known or made while it is sent.

Long answers are written a part at a time: each part is made in a thread when the client has taken those before it. So
an answer needs little memory however long it is, other threads do not wait while it is written, and it ends when its
request does.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Any, NamedTuple

from starlette.types import Receive, Scope, Send

from tallybayes.formatting import json_text
from tallybayes.server.events.event_rows import JSON
from tallybayes.server.http.service import Service, check_stop

__all__ = ["Answer", "Headers", "ListParts", "StreamedAnswer", "answer_in_parts", "json_parts"]

_PART = 2**18  # bytes that are sent at once

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

    def __init__(self, parts: AsyncGenerator[bytes], media_type: str, *, headers: Headers = ()) -> None:
        super().__init__(b"", media_type, headers=headers)
        self.headers = [header for header in self.headers if header[0] != b"content-length"]
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the parts."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        if scope["tally.call"].is_head:
            await send({"type": "http.response.body", "body": b""})
            return
        async with aclosing(self._parts) as parts:
            async for part in parts:
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class ListParts(NamedTuple):
    """A list whose members come some at a time; write: a list as JSON."""

    parts: Iterable[list[Any]]
    write: Callable[[list[Any]], str] = json_text


def json_parts(value: Any) -> Iterator[bytes]:
    """A value as JSON, in parts; lists within objects may be `ListParts`.

    >>> b"".join(json_parts({"n": 3, "outputs": [{"data": ListParts(iter([[1, 2], [], [3]]))}]}))
    b'{"n": 3, "outputs": [{"data": [1, 2, 3]}]}'
    """
    if isinstance(value, ListParts):
        yield b"["
        comma = ""
        for part in value.parts:
            if part:
                yield f"{comma}{value.write(part)[1:-1]}".encode()
                comma = ", "
        yield b"]"
    elif isinstance(value, dict):
        for i, (name, part) in enumerate(value.items()):
            yield f"{', ' if i else '{'}{json_text(name)}: ".encode()
            yield from json_parts(part)
        yield b"}" if value else b"{}"
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for i, part in enumerate(value):
            yield b", " if i else b"["
            yield from json_parts(part)
        yield b"]"
    else:
        yield json_text(value).encode()


def answer_in_parts(service: Service, parts: Iterator[bytes], media_type: str = JSON, headers: Headers = ()) -> Answer:
    """An answer of some parts; a short one is sent whole, with its length."""
    first = _gather(parts)
    second = _gather(parts)
    if not second:
        return Answer(first, media_type, headers=headers)

    async def sent() -> AsyncGenerator[bytes]:
        """The parts, one after the other."""
        yield first
        part = second
        while part:
            yield part
            part = await service.in_thread(_gather, parts)

    return StreamedAnswer(sent(), media_type, headers=headers)


def _gather(parts: Iterator[bytes]) -> bytes:
    """Parts of a useful length together; none at the end."""
    gathered: list[bytes] = []
    n_bytes = 0
    for part in parts:
        check_stop()
        gathered.append(part)
        n_bytes += len(part)
        if n_bytes >= _PART:
            break
    return b"".join(gathered)
