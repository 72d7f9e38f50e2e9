"""One request, as routes see it: its body, the model it is about, who sends it."""

from __future__ import annotations

import asyncio
import functools
from urllib.parse import quote

from starlette.requests import Request

from tallybayes.errors import Described
from tallybayes.server.api_key import ApiKey
from tallybayes.server.change_request import Applied
from tallybayes.server.http_problem import HttpError
from tallybayes.server.live_model import LiveModel, Published
from tallybayes.server.service import Service

__all__ = ["Call", "etag", "in_header", "no_key", "version_headers"]


class Call(Request):
    """A request whose body has been read, whose sender is known."""

    service: Service
    content: bytes  # the whole body
    fields: dict[bytes, bytes]  # the headers by lower-case name
    request_id: str
    api_key: ApiKey | None = None
    deadline: asyncio.Timeout  # when it must be answered
    is_head: bool = False  # whether only the headers of the answer are asked for
    route: str = ""  # the path of the route, for logs and measurements

    def field(self, name: bytes) -> str | None:
        """A header as text."""
        value = self.fields.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def who(self) -> str:
        """The sender, for the log of events."""
        return "" if self.api_key is None else self.api_key.name

    @property
    def live(self) -> LiveModel:
        """The model that the path names."""
        return self.service.model(self.path_params["model"], self.may_see)

    def authorise(self, scope: str | None) -> None:
        """Refuse the request unless its key includes the scope, for the model that the path names, if any."""
        if scope is None or not len(self.service.settings.keys):
            return
        model = self.path_params.get("model")
        if self.api_key is None:
            raise no_key()
        if not self.api_key.allows(scope, model):
            about = "" if model is None else f" for the model {model!r}"
            got = Described(f"a key with the scope {self.api_key.scope} for {', '.join(self.api_key.models)}")
            raise HttpError.of(403, f"a key with the scope {scope}{about}", got=got)

    def may_see(self, model: str) -> bool:
        """Whether a model is listed for this sender."""
        return not len(self.service.settings.keys) or (
            self.api_key is not None and self.api_key.allows("predict", model)
        )

    def refuse_if_read_only(self) -> None:
        """Refuse changes of a server that was started with --read-only."""
        if self.service.settings.read_only:
            raise HttpError.of(403, "a request that changes nothing: this server is read-only", got=self.method)

    def wanted_version(self, live: LiveModel) -> int | None:
        """The version that If-Match asks for; a problem (412) if the model has another one now. None: any."""
        given = self.field(b"if-match")
        if given is None or given.strip() == "*":
            return None
        current = live.current
        if etag(live, current) not in _tags(given):
            hint = "the model has changed: read it again, then repeat the request with its ETag"
            raise HttpError.of(412, f"If-Match: {etag(live, current)}", got=Described(given), hint=hint)
        return current.version

    def if_version(self, live: LiveModel) -> int | None:
        """The version that a change is meant for, by If-Match; None: any. The writer compares it.

        It looks for the idempotency key first, so that a change that was made can be repeated.
        """
        given = self.field(b"if-match")
        if given is None or given.strip() == "*":
            return None
        current, tags = live.current, _tags(given)
        if etag(live, current) in tags:
            return current.version
        start = f'"{in_header(live.name)}-'
        named = [tag[len(start) : -1] for tag in tags if tag.startswith(start)]
        return next((int(text) for text in named if text.isdecimal() and len(text) < 19), -1)

    def has_current(self, live: LiveModel, published: Published) -> bool:
        """Whether If-None-Match says that the sender has this version already."""
        given = self.field(b"if-none-match")
        return given is not None and (given.strip() == "*" or etag(live, published) in _tags(given))


def no_key() -> HttpError:
    """The problem of a request without a key that is known."""
    hint = "send the header Authorization: Bearer KEY"
    return HttpError.of(
        401,
        "a key of this server",
        got=Described("none that it knows"),
        hint=hint,
        headers={"WWW-Authenticate": "Bearer"},
    )


@functools.cache
def in_header(name: str) -> str:
    """The name of a model as it is written in headers: in ASCII, whatever the name of its file is.

    >>> in_header("pets"), in_header("caf\u00e9, 2")
    ('pets', 'caf%C3%A9%2C%202')
    """
    return quote(name, safe="")


def etag(live: LiveModel, at: Published | Applied) -> str:
    """The ETag of a model at one version."""
    return f'"{in_header(live.name)}-{at.version}"'


def version_headers(live: LiveModel, at: Published | Applied) -> list[tuple[bytes, bytes]]:
    """The headers that say which version has answered."""
    return [(b"etag", etag(live, at).encode()), (b"x-model-version", str(at.version).encode())]


def _tags(given: str) -> list[str]:
    return [tag.strip().removeprefix("W/") for tag in given.split(",")]
