"""The OpenAPI document, made from what each route says when it is added (`http/endpoint.py`).

The schemas are in `api_schemas.py`. Statuses and parameters that follow from the rest of a route are added here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tallybayes.server.events.event_rows import ARROW, JSON, MODEL
from tallybayes.server.http.endpoint import BodyFacts, Endpoint
from tallybayes.server.http.http_problem import PROBLEM_TYPE
from tallybayes.server.http.request_rows import CSV, NDJSON, TSV
from tallybayes.server.routes.api_schemas import PARAMETERS, SCHEMAS, schema_of
from tallybayes.version import __version__

__all__ = ["openapi_document"]

_DESCRIPTION = """
Naive Bayes models that answer and learn. Every change is an event of a durable log and can be taken back; it is
answered after the durable commit.

Rows are objects of JSON, lines of JSON, CSV or Arrow. Errors are `application/problem+json` with what was expected,
what was given and a hint. Answers have the version of the model in `ETag` and `X-Model-Version`.
""".strip()
_TEXT = schema_of("text")
_BINARY = (ARROW, MODEL, "application/octet-stream", "application/vnd.apache.parquet")
_EXAMPLES = {NDJSON: '{"weight": 4.2}\n', CSV: "weight,likes\n4.2,fish\n", TSV: "weight\tlikes\n4.2\tfish\n"}
_MEANING = {
    201: "It was added.",
    204: "Done. The answer has no body.",
    304: "The sender has this version already.",
    400: "The body cannot be read: it is not strict JSON, not Arrow.",
    401: "There is no key, or none that this server knows.",
    403: "The key does not include this, the server is read-only, or the page is of another origin.",
    404: "There is no such model or event.",
    406: "There is no answer in a format that is accepted.",
    408: "The request did not arrive in time.",
    409: "The change does not fit: rows that were not learned, an event that was undone, a name that a file has.",
    412: "The model has another version than If-Match says.",
    413: "Too many bytes or rows.",
    415: "The content type is not supported.",
    421: "The header Host has another name than the server.",
    422: "The content of the request has no meaning for this model.",
    429: "Too many requests; Retry-After says when to come again.",
    503: "Too many requests at the same time, or the log cannot be written; Retry-After says when to come again.",
}
# Any request may be refused for these.
_ALWAYS = (400, 401, 403, 408, 421, 429, 503)
_HEADERS = {
    "ETag": {"description": "The model and its version.", "schema": _TEXT},
    "X-Model-Version": {"description": "The version of the model.", "schema": _TEXT},
    "X-Request-Id": {"description": "As in the log of the server.", "schema": _TEXT},
}


def openapi_document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The OpenAPI document of routes."""
    paths: dict[str, Any] = {}
    names: Counter[str] = Counter()
    for endpoint in endpoints:
        if not endpoint.summary:
            continue
        name = endpoint.handler.__name__  # with a number, if the handler has several routes
        names[name] += 1
        identifier = name if names[name] == 1 else f"{name}_{names[name]}"
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = {
            "operationId": identifier,
            **_operation(endpoint),
        }
    key = {"type": "http", "scheme": "bearer", "description": "A key that `tally key` has made."}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tallybayes", "description": _DESCRIPTION, "version": __version__},
        "paths": paths,
        "components": {"schemas": SCHEMAS, "parameters": PARAMETERS, "securitySchemes": {"key": key}},
        "security": [{}, {"key": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    """What the document says of a route."""
    paragraphs = (endpoint.handler.__doc__ or "").split("\n\n")
    in_path = [name.title() for name in re.findall(r"{(\w+)}", endpoint.path)]
    names = [*in_path, *endpoint.parameters, *(["IfNoneMatch"] if endpoint.by_version else [])]
    operation = {
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "description": "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs),
        "parameters": [
            {"$ref": f"#/components/parameters/{name}"} if isinstance(name, str) else name for name in names
        ],
        "responses": _responses(endpoint),
    }
    return operation if endpoint.body is None else operation | {"requestBody": _request_body(endpoint.body)}


def _request_body(body: BodyFacts) -> dict[str, Any]:
    content = {} if body.schema is None else {JSON: {"schema": schema_of(body.schema), "example": body.example}}
    for kind in body.formats:
        content[kind] = _content(kind) | ({"example": _EXAMPLES[kind]} if kind in _EXAMPLES else {})
    return {"required": True, "content": content}


def _content(media_type: str) -> dict[str, Any]:
    """A text or a file."""
    return {"schema": _TEXT | ({"format": "binary"} if media_type in _BINARY else {})}


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    answer, error = endpoint.answer, endpoint.error
    content = {} if answer is None else {JSON: {"schema": schema_of(answer) if isinstance(answer, str) else answer}}
    content |= {kind: _content(kind) for kind in endpoint.formats}
    problem = (
        {PROBLEM_TYPE: {"schema": schema_of("Problem")}} if error is None else {JSON: {"schema": schema_of(error)}}
    )
    result: dict[str, Any] = {}
    if content:
        result["200"] = {"description": "The answer.", "content": content, "headers": _HEADERS}
    for status in sorted(_statuses(endpoint)):
        result[str(status)] = {"description": _MEANING[status]}
        if status == 201:
            result["201"] |= {"content": content, "headers": _HEADERS}
        if status >= 400:
            result[str(status)]["content"] = problem
    return result


def _statuses(endpoint: Endpoint) -> set[int]:
    """The statuses that a route may answer with, but for 200."""
    statuses = {*_ALWAYS, *endpoint.statuses}
    if "{" in endpoint.path:
        statuses.add(404)
    if endpoint.by_version:
        statuses.add(304)
    if endpoint.answer is not None and endpoint.formats:
        statuses.add(406)
    if "IfMatch" in endpoint.parameters:
        statuses.add(412)
    if endpoint.body is not None:
        statuses |= {413, 422}
    return statuses
