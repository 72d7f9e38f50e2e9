"""The page /docs, which draws the OpenAPI document, and the document itself. Nothing is loaded from elsewhere."""

from __future__ import annotations

import functools
from importlib import resources

from tallybayes.formatting import json_text
from tallybayes.server.events.event_rows import JSON
from tallybayes.server.http.answer import Answer
from tallybayes.server.http.call import Call
from tallybayes.server.http.direct_route import Endpoint
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.routes.api_document import answers, text_answer

__all__ = ["ENDPOINTS"]

_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
_FILES = ("reference.html", "reference.js", "reference.css")


@functools.cache
def _content(name: str) -> bytes:
    return (resources.files("tallybayes.server") / "reference" / name).read_bytes()


def _file(name: str) -> Answer:
    media_type = _TYPES[name.rpartition(".")[2]]
    return Answer(_content(name), media_type, headers=[(b"content-security-policy", _POLICY)])


async def docs(call: Call) -> Answer:
    """Show the reference of the API."""
    return _file(_FILES[0])


async def docs_file(call: Call) -> Answer:
    """Send a file of the page."""
    name = call.path_params["file"]
    if name not in _FILES[1:]:
        raise HttpError.of(404, f"a file of the page ({', '.join(_FILES[1:])})", got=name)
    return _file(name)


async def openapi(call: Call) -> Answer:
    """Send the OpenAPI document."""
    return Answer(json_text(call.app.openapi()).encode(), JSON)


_TAG = "Reference"
ENDPOINTS = [
    Endpoint(
        "GET",
        "/docs",
        docs,
        None,
        {
            "tags": [_TAG],
            "summary": "This reference as a page",
            "description": "",
            "responses": text_answer("text/html"),
        },
    ),
    Endpoint(
        "GET",
        "/openapi.json",
        openapi,
        None,
        {
            "tags": [_TAG],
            "summary": "This reference as an OpenAPI document",
            "description": "",
            "responses": answers("Document"),
        },
    ),
    Endpoint("GET", "/docs/{file}", docs_file, None, {"tags": [_TAG]}, is_documented=False),
]
