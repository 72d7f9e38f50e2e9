"""A server process: its socket, its signals, an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import ipaddress
import os
import signal
import socket
import ssl
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from tallybayes.errors import DataWarning, Described, FileError, ParameterError
from tallybayes.scoring.posterior import RuledOutWarning
from tallybayes.server.application import create_app
from tallybayes.server.http.http_connection import connection_with_timeout
from tallybayes.server.http.request_log import log_to_stderr, logger
from tallybayes.server.http.server_settings import ServerSettings
from tallybayes.server.http.service import Service
from tallybayes.server.live.model_folder import ModelFolder

__all__ = ["bind", "is_loopback", "serve", "tls_context"]

_BACKLOG = 2048  # connections that wait to be accepted
_KEEP_ALIVE = 75  # seconds that an idle connection stays open, as other servers
_GRACE = 30.0  # seconds for requests that have begun, when the server stops, if their time limit is not shorter


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int, settings: ServerSettings) -> socket.socket:
    """A socket that listens; a ParameterError if the address is open to others and no keys protect it."""
    if not is_loopback(host) and not len(settings.keys):
        hint = "tally key --scope admin makes a key; --keys FILE reads the file of keys"
        raise ParameterError("keys, to listen on an address that others can reach", got=host, hint=hint)
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = addresses[0]
        listening = socket.socket(family, kind, protocol)
    except (OSError, OverflowError) as error:
        raise _no_address(host, port, error) from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        raise _no_address(host, port, error) from error
    listening.setblocking(False)
    return listening


def _no_address(host: str, port: int, error: Exception) -> ParameterError:
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        got, hint = f"port {port}, which another program uses", "--port 0 takes a free one"
    elif number in (errno.EACCES, errno.EPERM):
        got, hint = f"port {port}, which only the administrator may use", "give a port above 1023"
    else:
        got, hint = f"{host} port {port}: {getattr(error, 'strerror', None) or error}", "127.0.0.1 is this machine"
    return ParameterError("an address to listen on", got=Described(got), hint=hint)


class _Server(uvicorn.Server):
    """uvicorn, with our signals and an end that streams of events notice."""

    def __init__(self, config: uvicorn.Config, service: Service, reload: Callable[[], None]) -> None:
        super().__init__(config)
        self._service, self._reload = service, reload
        self._reloading: asyncio.Task[None] | None = None
        self._must_reload = False

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what was accepted."""
        logger.info("stopping: finishing what was accepted")
        self._service.closing.set()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM, without raising them again afterwards; read keys and folder anew on SIGHUP."""
        loop, hang_up = asyncio.get_running_loop(), getattr(signal, "SIGHUP", None)
        handlers: dict[int, Any] = dict.fromkeys((signal.SIGINT, signal.SIGTERM), self.handle_exit)
        if hang_up is not None:  # a loop of Windows has no handlers of signals, and Windows has no SIGHUP
            loop.add_signal_handler(hang_up, self._ask_to_reload)
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if hang_up is not None:
                loop.remove_signal_handler(hang_up)

    def _ask_to_reload(self) -> None:
        """Read keys and folder anew, once more if that is being done already. Called by the loop, not in a signal."""
        self._must_reload = True
        if self._reloading is None or self._reloading.done():
            self._reloading = asyncio.ensure_future(self._reload_in_thread())

    async def _reload_in_thread(self) -> None:
        """Read the folder in a thread, because models take long to open; one thread at a time."""
        while self._must_reload:
            self._must_reload = False
            await asyncio.to_thread(self._reload)


def serve(
    folder: ModelFolder,
    settings: ServerSettings,
    listening: socket.socket,
    *,
    log_level: str = "info",
    tls: ssl.SSLContext | None = None,
) -> None:
    """Answer requests until a signal stops the process; then finish what was accepted, and close the models."""
    log_to_stderr(log_level)
    for category in (DataWarning, RuledOutWarning):  # each would be kept with its text, for ever
        warnings.simplefilter("ignore", category)
    service = Service(folder, settings)
    config = uvicorn.Config(
        create_app(service),
        http=connection_with_timeout(settings.timeout),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=min(_GRACE, settings.timeout),  # type: ignore[arg-type] # seconds of asyncio
    )
    config.load()
    config.ssl = tls

    def reload() -> None:
        try:  # first: a key may be revoked in a hurry, and models take long to open
            settings.keys.reload()
            logger.info("read the keys anew", extra={"facts": {"keys": len(settings.keys)}})
        except Exception as error:
            logger.error("the keys cannot be read anew, and stay as they were: %s", error)
        try:
            added = folder.reload()
            logger.info("read the folder anew", extra={"facts": {"added": added}})
        except Exception as error:  # the models that are open stay open
            logger.error("the folder cannot be read anew: %s", error)

    gc.collect()
    gc.freeze()  # a full collection of what is here for good would stop all answers for a tenth of a second
    try:
        _Server(config, service, reload).run([listening])
    finally:
        service.close()
        folder.close()


def tls_context(certificate: str, key: str | None) -> ssl.SSLContext:
    """TLS by the files of a certificate and its key."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    for path in (certificate, key):
        if path is not None and not os.path.isfile(path):
            raise FileError("a file for TLS", got=path)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise FileError(f"the certificate or its key cannot be used: {error}", file=certificate) from error
    return context
