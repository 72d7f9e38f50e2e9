"""Long answers, written a part at a time: each part is made in a thread when the client has taken those before it.

So an answer needs little memory however long it is, other threads do not wait while it is written, and it ends when its
request does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tallybayes.formatting import json_text
from tallybayes.server.events.event_rows import JSON
from tallybayes.server.http.answer import Answer, Headers, StreamedAnswer
from tallybayes.server.http.service import Service
from tallybayes.server.http.work_stop import check_stop

__all__ = ["ListParts", "answer_in_parts", "json_parts"]

_PART = 2**18  # bytes that are sent at once


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

    async def sent() -> AsyncIterator[bytes]:
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
