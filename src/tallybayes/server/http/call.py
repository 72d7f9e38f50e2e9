"""One request, as routes see it: its body, the model it is about, who sends it."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import Any

from starlette.requests import Request

from tallybayes.errors import Described, did_you_mean
from tallybayes.server.http.api_key import ApiKey
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.model_tag import etag, is_among, named_version, parse_number, version_headers
from tallybayes.server.http.service import Service
from tallybayes.server.live.live_model import LiveModel, Published

__all__ = ["Call", "no_key"]


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
    task: asyncio.Task[Any] | None = None  # what answers it, if that may be given up
    is_gone: bool = False  # whether the client has hung up before the answer was complete

    def hang_up(self) -> None:
        """Note that nobody waits for the answer any more, and stop answering unless something is being changed."""
        self.is_gone = True
        if self.task is not None:
            self.task.cancel()

    def field(self, name: bytes) -> str | None:
        """A header as text."""
        value = self.fields.get(name)
        return None if value is None else value.decode("latin-1")

    def integer(self, name: str, default: Any = None) -> Any:
        """A number of the query, if it is there; a problem (422) unless it is an integer of at least 0."""
        text = self.query_params.get(name)
        if text is None:
            return default
        if (number := parse_number(text)) is None:
            raise HttpError.of(422, f"{name}: an integer of at least 0", got=text)
        return number

    @property
    def who(self) -> str:
        """The sender, for the log of events."""
        return "" if self.api_key is None else self.api_key.name

    @property
    def media_type(self) -> str:
        """The type of the body, by its header, without parameters."""
        return (self.field(b"content-type") or "").partition(";")[0].strip().lower()

    @cached_property
    def live(self) -> LiveModel:
        """The model that the path names; a problem (404) if there is none."""
        name, folder = self.path_params["model"], self.service.folder
        if (live := folder.get(name)) is None:
            hint = did_you_mean(name, [known for known in folder if self.may_see(known)], "models")
            raise HttpError.of(404, "a model of this server", got=name, hint=hint)
        return live

    @cached_property
    def published(self) -> Published:
        """The version of the model that answers: the one that is current when it is first asked for."""
        return self.live.current

    @property
    def model_version(self) -> dict[str, Any]:
        """The model and its version, with which most answers begin."""
        return {"model": self.live.name, "version": self.published.version}

    @property
    def version_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers that say which version has answered."""
        return version_headers(self.live, self.published)

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

    @property
    def has_valid_key(self) -> bool:
        """Whether the key of the sender, if any, is still one of the server's: it may be revoked during a stream."""
        return self.api_key is None or self.api_key in self.service.settings.keys

    def may_see(self, model: str) -> bool:
        """Whether a model is listed for this sender."""
        return not len(self.service.settings.keys) or (
            self.api_key is not None and self.api_key.allows("predict", model)
        )

    def require_version(self) -> None:
        """Refuse the request (412) if its If-Match names another version than the one that answers."""
        wanted = self.if_version()
        if wanted is not None and wanted != self.published.version:
            hint = "the model has changed: read it again, then repeat the request with its ETag"
            got = Described(self.field(b"if-match") or "")
            raise HttpError.of(412, f"If-Match: {etag(self.live, self.published)}", got=got, hint=hint)

    def if_version(self) -> int | None:
        """The version that a change is meant for, by If-Match; None: any. The writer compares it.

        It looks for the idempotency key first, so that a change that was made can be repeated.
        """
        header = self.field(b"if-match")
        return None if header is None else named_version(self.live, header)

    @property
    def has_current(self) -> bool:
        """Whether If-None-Match says that the sender has this version already."""
        header = self.field(b"if-none-match")
        return header is not None and is_among(etag(self.live, self.published), header)


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
