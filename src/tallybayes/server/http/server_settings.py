"""What a server allows: limits, keys, origins.

Limits that cannot be set, such as that of the numbers in an answer (rows x classes), are in `row_source.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tallybayes.errors import ParameterError, check_integer, is_real_number
from tallybayes.server.http.api_key import KeyRing

__all__ = ["ServerSettings"]


@dataclass(frozen=True)
class ServerSettings:
    """The settings of a server; each can be given to `tally serve`.

    read_only: refuse all changes.
    max_body: bytes of a request body; max_rows: rows of one.
    timeout: seconds for a request to arrive, and for its answer.
    concurrency: requests at the same time, further ones get 503; max_streams: streams of events besides.
    rate: requests per second and key (or address, without keys), on average; further ones get 429. None: no limit.
    cors: origins whose pages may use the server; none by default.
    hosts: names of this server that a browser may use; checked where no key protects it. None: any.
    examples: rows without a label by model, to work through on the page.
    """

    read_only: bool = False
    max_body: int = 32 * 2**20
    max_rows: int = 1_000_000
    timeout: float = 60.0
    concurrency: int = 128
    max_streams: int = 100
    rate: float | None = None
    cors: tuple[str, ...] = ()
    hosts: frozenset[str] | None = frozenset({"localhost", "127.0.0.1", "[::1]"})
    keys: KeyRing = field(default_factory=KeyRing)
    examples: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("max_body", "max_rows", "concurrency", "max_streams"):
            check_integer(name, getattr(self, name), at_least=1)
        for name in ("timeout", "rate"):
            value = getattr(self, name)
            if value is not None and not (is_real_number(value) and 0 < value < float("inf")):
                raise ParameterError(f"{name}: a number greater than 0", got=value)
        for origin in self.cors:
            if origin == "*" or not origin.startswith(("http://", "https://")) or origin.count("/") != 2:
                hint = "an origin has no path: https://example.org"
                raise ParameterError("an origin such as https://example.org", got=origin, hint=hint)
