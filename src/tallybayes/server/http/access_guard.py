"""Which requests are let in: the name of the server, the origin of a page, the key, the rate.

A server on the own machine without keys is open to every program there, and a page in a browser is such a program. Two
checks keep foreign pages out. The header Host must name this machine, because a foreign name that resolves to 127.0.0.1
(DNS rebinding) makes a foreign page look like our own. A request that can change something and has an Origin must come
from a page of this server or of an origin that was allowed. There are no cookies, so no request is authorised by
accident; and bodies must have a content type that a foreign page cannot send without asking first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from tallybayes.errors import Described
from tallybayes.server.http.api_key import ApiKey
from tallybayes.server.http.call import no_key
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.server_settings import ServerSettings

__all__ = ["PREFLIGHT_HEADERS", "RateLimit", "check_origin", "cors_headers", "find_key"]

_SAFE = ("GET", "HEAD", "OPTIONS")
_ALLOWED = b"Authorization, Content-Type, Accept, Idempotency-Key, If-Match, If-None-Match, X-Request-Id"
PREFLIGHT_HEADERS = [  # the answer to a browser that asks whether a page may send a request
    (b"access-control-allow-methods", b"GET, POST, PUT, DELETE"),
    (b"access-control-allow-headers", _ALLOWED),
    (b"access-control-max-age", b"86400"),  # a day
]
_EXPOSED = b"ETag, X-Model-Version, X-Request-Id, Retry-After"
_SINGLE = (b"host", b"authorization", b"content-type", b"content-length", b"idempotency-key", b"if-match", b"origin")
_SECONDS = 2.0  # of requests that may come at once
_SWEEP = 10_000  # buckets before full ones are dropped

Fields = Mapping[bytes, bytes]


def check_origin(scope: Mapping[str, Any], fields: Fields, settings: ServerSettings) -> None:
    """Refuse a request under a foreign name, or from a page of a foreign origin."""
    if len(fields) < len(scope["headers"]):
        names = [name for name, _ in scope["headers"]]
        for name in _SINGLE:
            if names.count(name) > 1:
                raise HttpError.of(400, f"one header {name.decode()}", got=Described("several"))
    host = fields.get(b"host", b"").decode("latin-1")
    if settings.hosts is not None and not len(settings.keys) and _without_port(host) not in settings.hosts:
        hint = "tally serve --allow-host NAME accepts another name"
        raise HttpError.of(421, f"a name of this server ({', '.join(sorted(settings.hosts))})", got=host, hint=hint)
    origin = fields.get(b"origin")
    if origin is None or scope["method"] in _SAFE:
        return
    page = origin.decode("latin-1")
    if page not in settings.cors and page not in (f"http://{host}", f"https://{host}"):
        hint = "tally serve --cors ORIGIN allows the pages of another origin"
        raise HttpError.of(403, "a page of this server", got=Described(f"the origin {page}"), hint=hint)


def _without_port(host: str) -> str:
    name, _, port = host.rpartition(":")
    return (name if name and port.isdecimal() else host).lower()


def find_key(fields: Fields, settings: ServerSettings) -> ApiKey | None:
    """The key of a request; None if it has none, or if the server has no keys."""
    header = fields.get(b"authorization")
    if header is None or not len(settings.keys):
        return None
    kind, _, secret = header.decode("latin-1").partition(" ")
    key = settings.keys.find(secret.strip()) if kind.lower() == "bearer" else None
    if key is None:
        raise no_key()
    return key


def cors_headers(fields: Fields, settings: ServerSettings) -> list[tuple[bytes, bytes]]:
    """The headers that let a page of an allowed origin read an answer."""
    origin = fields.get(b"origin")
    if origin is None or origin.decode("latin-1") not in settings.cors:
        return []
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", _EXPOSED),
        (b"vary", b"Origin"),
    ]


class RateLimit:
    """Requests per second and client: a token bucket for each.

    A bucket holds the requests of two seconds and is refilled at the rate; a request takes one token. Buckets that are
    full again are dropped, so that memory is bounded by the number of clients that were active in the last two seconds.

    >>> now = [0.0]
    >>> limit = RateLimit(1.0, clock=lambda: now[0])
    >>> [limit.wait("me") for _ in range(3)]
    [0.0, 0.0, 1.0]
    >>> now[0] = 1.0
    >>> limit.wait("me")
    0.0
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._most = max(rate * _SECONDS, 1.0)
        self._buckets: dict[Hashable, tuple[float, float]] = {}  # tokens, and when they were counted

    def wait(self, client: Hashable) -> float:
        """Take a token: 0.0, or the seconds after which there is one."""
        now = self._clock()
        tokens, then = self._buckets.get(client, (self._most, now))
        tokens = min(tokens + (now - then) * self._rate, self._most)
        if tokens < 1:
            self._buckets[client] = tokens, now
            return (1 - tokens) / self._rate
        if len(self._buckets) >= _SWEEP:
            self._drop_full(now)
        self._buckets[client] = tokens - 1, now
        return 0.0

    def _drop_full(self, now: float) -> None:
        self._buckets = {
            client: (tokens, then)
            for client, (tokens, then) in self._buckets.items()
            if tokens + (now - then) * self._rate < self._most
        }
