"""One connection: limits on the time and size of headers, and on clients that do not read or do not stop sending.

uvicorn waits for a request without a limit. Here a connection is closed if the headers of a request are not complete in
time, or too large, and if the body of a request goes on long after the answer (which is then an error).
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["HttpConnection", "connection_with_timeout"]

_HEADER_BYTES = 64 * 2**10  # as other servers
_LINGER = 2.0  # seconds in which a client that is still sending can read why it was refused


def connection_with_timeout(seconds: float) -> type[HttpConnection]:
    """Connections that wait at most so many seconds for headers."""
    return type("HttpConnection", (HttpConnection,), {"header_seconds": min(seconds, HttpConnection.header_seconds)})


class HttpConnection(HttpToolsProtocol):
    """A connection of uvicorn with limits."""

    header_seconds = 10.0

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._patience: asyncio.TimerHandle | None = None
        self._in_headers, self._n_header_bytes, self._is_receiving = False, 0, False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting, and stop the work for an answer that nobody waits for."""
        self._stop_waiting()
        super().connection_lost(exc)
        if self.cycle is not None and not self.cycle.response_complete:
            call: Any = self.cycle.scope.get("tally.call")
            if call is not None:
                call.hang_up()

    def data_received(self, data: bytes) -> None:
        """Take some bytes, and refuse headers that have no end."""
        if self._in_headers or not self._is_receiving:
            self._n_header_bytes += len(data)
        if self._patience is None and not self._is_receiving:
            self._wait_for_headers()  # the next request of a connection that was idle
        super().data_received(data)
        if self._in_headers and self._n_header_bytes > _HEADER_BYTES and not self.transport.is_closing():
            self._refuse(b"431 Request Header Fields Too Large")

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._in_headers, self._is_receiving = True, True

    def on_headers_complete(self) -> None:
        """The headers have come."""
        self._in_headers, self._n_header_bytes = False, 0
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The whole request has come."""
        self._is_receiving = False
        if self.cycle is not None and self.cycle.response_complete:
            self._stop_waiting()
        super().on_message_complete()
        if not self.pipeline:  # reading pauses within a long body; without it, nobody notices that the client hangs up
            self.flow.resume_reading()

    def on_response_complete(self) -> None:
        """The answer is sent: a client that is still sending has some time to read it."""
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._in_headers:  # of the next request
            if self._patience is None:
                self._wait_for_headers()
        elif self._is_receiving and self.cycle.response_complete:
            self._stop_waiting()
            self._patience = self.loop.call_later(_LINGER, self.transport.close)

    def _wait_for_headers(self) -> None:
        self._patience = self.loop.call_later(self.header_seconds, self._refuse, b"408 Request Timeout")

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _refuse(self, status: bytes) -> None:
        """Close the connection, with a status."""
        self._stop_waiting()
        if not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            self.transport.close()
