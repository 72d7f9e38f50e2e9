"""Errors as answers: application/problem+json (RFC 9457) with the facts of the library's errors.

type        urn:tallybayes:error:DataError, the class of the error; `tallybayes.client` raises it again
title       what kind of error it is
status      the HTTP status
detail      the whole message
expected, got, hint, column, row, line     its parts, where they are known
request_id  as in the header X-Request-Id and in the log of the server
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallybayes.errors import CountError, ForgetError, ParameterError, TallyError, shorten
from tallybayes.formatting import json_text
from tallybayes.server.events.event import UnknownEventError
from tallybayes.server.events.model_history import UndoError
from tallybayes.server.live.change_request import NotWritableError, VersionError
from tallybayes.server.live.model_folder import NameTakenError

__all__ = ["PROBLEM_TYPE", "HttpError", "as_problem"]

PROBLEM_TYPE = "application/problem+json"
_TYPE = "urn:tallybayes:error:"
_TITLES = {
    400: "The request cannot be read",
    401: "A key is needed",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    406: "No answer in this format",
    408: "The request took too long to arrive",
    409: "The change does not fit the model",
    412: "The model has another version",
    413: "The request is too large",
    415: "The format of the body is not supported",
    421: "The server has another name",
    422: "The data does not fit",
    429: "Too many requests",
    500: "The server failed",
    503: "The server cannot do this now",
}
# The first class that an error is an instance of decides; others are 422.
_STATUS: tuple[tuple[type[TallyError], int], ...] = (
    (VersionError, 412),
    (UnknownEventError, 404),
    (UndoError, 409),
    (NotWritableError, 503),
    (NameTakenError, 409),
    (ForgetError, 409),
    (CountError, 409),
)


class HttpError(Exception):
    """An answer that reports an error: its status, the error, and headers such as Retry-After."""

    def __init__(self, status: int, error: TallyError, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(str(error))
        self.status, self.error, self.headers = status, error, dict(headers or {})

    @classmethod
    def of(cls, status: int, expected: str, *, headers: Mapping[str, str] | None = None, **facts: Any) -> HttpError:
        r"""A problem of the request itself, worded as all errors: expected, got, hint.

        >>> str(HttpError.of(404, "a model of this server", got="pet", hint="did you mean 'pets'?"))
        "expected a model of this server, got 'pet'\nhint: did you mean 'pets'?"
        """
        return cls(status, ParameterError(expected, **facts), headers)

    def body(self, request_id: str) -> bytes:
        """The problem as JSON."""
        error = self.error
        facts: dict[str, Any] = {
            "type": _TYPE + type(error).__name__,
            "title": _TITLES.get(self.status, "Error"),
            "status": self.status,
            "detail": str(error),
            "expected": error.expected,
        }
        if error.got is not None:
            facts["got"] = shorten(error.got)
        for name in ("hint", "column", "row", "line"):
            if (value := getattr(error, name)) is not None:
                facts[name] = value
        return json_text(facts | {"request_id": request_id}).encode()


def as_problem(error: Exception) -> HttpError:
    """The answer to an error; 500 for one that nobody has expected.

    >>> as_problem(ForgetError("a label that was learned", got="cow")).status
    409
    """
    if isinstance(error, HttpError):
        return error
    if not isinstance(error, TallyError):
        hint = "the log of the server has the details, under the request id"
        return HttpError.of(500, "the server could not answer because of an error of its own", hint=hint)
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 422)
    return HttpError(status, error, {"Retry-After": "5"} if status == 503 else None)
