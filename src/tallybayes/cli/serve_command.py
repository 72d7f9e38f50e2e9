"""tally serve: models over HTTP; tally key: a key for them."""

from __future__ import annotations

import contextlib
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tallybayes.cli.messages import note, print_result
from tallybayes.cli.shared_options import JSON, argument, flag, option

__all__ = ["key", "serve"]

_SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_PORT = 8000


def serve(
    path: str | None = argument("[MODEL_OR_FOLDER]", "A model file, or a folder of them.", None),
    *,
    demo: bool = flag("--demo", help="Serve a spam filter and a table of pets, in a temporary folder."),
    host: str = option("ADDRESS", "The address to listen on; others than this machine need --keys.", "127.0.0.1"),
    port: int = option("N", "The port; 0 takes a free one.", _PORT),
    keys: str | None = option("FILE", "Keys that `tally key` has made. [the variable TALLY_KEYS]"),
    read_only: bool = flag("--read-only", help="Refuse all changes."),
    max_body: str = option("SIZE", "The largest body of a request in bytes, or as 64M.", "32M"),
    max_rows: int = option("N", "The most rows of a request.", 1_000_000),
    timeout: float = option("SECONDS", "The time for a request to arrive, and for its answer.", 60.0),
    concurrency: int = option("N", "Requests at the same time; further ones are refused with 503.", 128),
    rate: float | None = option("N", "Requests per second and key (or address); further ones get 429. [no limit]"),
    cors: list[str] | None = option("ORIGIN", "Let pages of this origin use the server (repeatable). [none]"),
    allow_host: list[str] | None = option("NAME", "One more name of this server in the header Host (repeatable)."),
    tls_cert: str | None = option("FILE", "A certificate (PEM), to serve HTTPS."),
    tls_key: str | None = option("FILE", "The key of the certificate."),
    log_level: str = option("LEVEL", "debug, info (a line per request), warning or error.", "info"),
) -> None:
    """Serve models over HTTP: predict, explain, learn, forget, undo.

    Every change is stored in a log beside the model before it is answered. The reference of the API is at /docs. Stop
    the server by Ctrl-C or SIGTERM: it finishes what it has accepted. SIGHUP reads the file of keys anew and
    looks for new models in the folder.

        tally serve pets.tally                       # http://127.0.0.1:8000, this machine only
        tally serve --demo                           # example models and mails to correct
        tally serve models/ --port 9000              # every model of a folder
        tally serve models/ --host 0.0.0.0 --keys keys.txt --tls-cert cert.pem --tls-key key.pem
    """
    _require_packages()
    from tallybayes.errors import NONE, Described, ParameterError, check_integer
    from tallybayes.server.demo_models import demo_rows
    from tallybayes.server.http.api_key import KeyRing
    from tallybayes.server.http.request_log import LEVELS
    from tallybayes.server.http.server_settings import ServerSettings
    from tallybayes.server.live.model_folder import ModelFolder
    from tallybayes.server.serving import bind, tls_context
    from tallybayes.server.serving import serve as run

    if log_level not in LEVELS:
        raise ParameterError(f"--log-level {', '.join(LEVELS)}", got=log_level)
    if not 0 <= check_integer("--port", port, at_least=0) < 2**16:
        raise ParameterError("--port from 0 to 65535", got=port)
    if tls_key is not None and tls_cert is None:
        raise ParameterError("--tls-cert with --tls-key", got=tls_key)
    if (path is None) is not demo:
        got = NONE if path is None else Described(f"--demo and {path}")
        raise ParameterError("a model file, a folder of them, or --demo", got=got, hint="tally serve pets.tally")
    default = ServerSettings()
    shown = f"[{host}]" if ":" in host else host
    settings = ServerSettings(
        examples=demo_rows() if demo else {},
        read_only=read_only,
        max_body=_size(max_body),
        max_rows=max_rows,
        timeout=timeout,
        concurrency=concurrency,
        rate=rate,
        cors=tuple(cors or ()),
        hosts=(default.hosts or frozenset()) | {name.lower() for name in (shown, *(allow_host or ()))},
        keys=KeyRing.read(keys),
    )
    tls = None if tls_cert is None else tls_context(tls_cert, tls_key)
    with (
        bind(host, port, settings) as listening,
        _provide_models(path) as served,
        ModelFolder.open(served, read_only=read_only) as folder,
    ):
        names = ", ".join(sorted(folder)) or "no models yet"
        print_result(f"{'http' if tls is None else 'https'}://{shown}:{listening.getsockname()[1]}")
        sys.stdout.flush()  # whoever has started the server waits for the address
        note(f"serving {names}; open the address in a browser; stop with Ctrl-C")
        run(folder, settings, listening, log_level=log_level, tls=tls)


@contextlib.contextmanager
def _provide_models(path: str | None) -> Iterator[str]:
    """The models to be served; without a path, those of the demo in a temporary folder."""
    if path is not None:
        yield path
        return
    from tallybayes.server.demo_models import write_demo_models

    with tempfile.TemporaryDirectory(prefix="tally-demo-") as folder:
        write_demo_models(Path(folder))
        yield folder


def key(
    *,
    scope: str = option("SCOPE", "predict, learn (also learn, forget, undo) or admin (all).", "predict"),
    model: list[str] | None = option("NAME", "Only this model, or a pattern such as 'shop-*' (repeatable). [all]"),
    name: str = option("TEXT", "Who has the key; the log of events shows it.", ""),
    json: bool = JSON,
) -> None:
    """Make a key for `tally serve --keys`.

    Prints the key, which is shown only this once, and the line for the file of keys, which has only its hash.

        tally key --scope learn --model pets --name 'the shop'
        tally key --scope admin --json
    """
    from tallybayes.server.http.api_key import new_key

    secret, api_key = new_key(scope, model or ["*"], name)
    if json:
        print_result({"key": secret, "line": api_key.line()})
        return
    note("the key, for the client; it is not stored anywhere:")
    print_result(secret)
    note("the line for the file of keys:")
    print_result(api_key.line())


def _require_packages() -> None:
    """Raise an error with the command to install what the server needs, if it is missing."""
    from importlib.util import find_spec

    from tallybayes.errors import FileError

    missing = [name for name in ("starlette", "uvicorn", "httptools", "prometheus_client") if find_spec(name) is None]
    if missing:
        hint = "pip install 'tallybayes[server]'"
        raise FileError(f"tally serve needs packages that are not installed: {', '.join(missing)}", hint=hint)


def _size(text: str) -> int:
    """A number of bytes, such as 33554432 or 32M."""
    from tallybayes.errors import ParameterError

    match: Any = re.fullmatch(r"(\d{1,12})([KMG]?)B?", text.strip().upper())
    if match is None:
        raise ParameterError("--max-body in bytes, or as 64M", got=text)
    return int(match[1]) * _SIZES[match[2]]
