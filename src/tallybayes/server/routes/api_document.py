"""The OpenAPI document, and the parts of it that routes share: bodies of rows, answers, problems.

Each route has its part as it is added (`http/endpoint.py`); the schemas are in `api_schemas.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tallybayes.server.events.event_rows import ARROW, JSON, MODEL
from tallybayes.server.http.endpoint import Endpoint
from tallybayes.server.http.http_problem import PROBLEM_TYPE
from tallybayes.server.http.request_rows import CSV, NDJSON, TSV
from tallybayes.server.routes.api_schemas import PARAMETERS, SCHEMAS
from tallybayes.version import __version__

__all__ = [
    "IDEMPOTENCY_KEY",
    "IF_MATCH",
    "IF_NONE_MATCH",
    "answers",
    "file_answer",
    "file_body",
    "json_answers",
    "json_body",
    "openapi_document",
    "path_parameter",
    "query",
    "rows_body",
    "rows_or_table",
    "text_answer",
]

IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH = (
    {"$ref": f"#/components/parameters/{name}"} for name in ("IdempotencyKey", "IfMatch", "IfNoneMatch")
)

_DESCRIPTION = """
Naive Bayes models that answer and learn. Every change is an event of a durable log and can be taken back; it is
answered after the durable commit.

Rows are objects of JSON, lines of JSON, CSV or Arrow. Errors are `application/problem+json` with what was expected,
what was given and a hint. Answers have the version of the model in `ETag` and `X-Model-Version`.
""".strip()
_TEXT = {"type": "string"}
_BYTES = {"type": "string", "format": "binary"}
_MEANING = {
    201: "It was added.",
    204: "Done. The answer has no body.",
    304: "The sender has this version already.",
    400: "The body cannot be read: it is not strict JSON, not Arrow.",
    401: "There is no key, or none that this server knows.",
    403: "The key does not include this, the server is read-only, or the page is of another origin.",
    404: "There is no such model or event.",
    405: "The path has other methods.",
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
    "X-Model-Version": {"description": "The version of the model.", "schema": {"type": "string"}},
    "X-Request-Id": {"description": "As in the log of the server.", "schema": _TEXT},
}


def _ref(schema: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{schema}"}


def json_body(schema: str, example: Any) -> dict[str, Any]:
    """A body of JSON."""
    return {"required": True, "content": {JSON: {"schema": _ref(schema), "example": example}}}


def rows_body(schema: str, example: Any) -> dict[str, Any]:
    """A body of rows, as JSON or lines of JSON."""
    body = json_body(schema, example)
    body["content"][NDJSON] = {"schema": _TEXT, "example": '{"weight": 4.2}\n'}
    return body


def rows_or_table(schema: str, example: Any) -> dict[str, Any]:
    """A body of rows in any format."""
    body = rows_body(schema, example)
    body["content"][CSV] = {"schema": _TEXT, "example": "weight,likes\n4.2,fish\n"}
    body["content"][TSV] = {"schema": _TEXT, "example": "weight\tlikes\n4.2\tfish\n"}
    body["content"][ARROW] = {"schema": _BYTES}
    return body


def file_body() -> dict[str, Any]:
    """A body that is a model file."""
    return {"required": True, "content": {"application/octet-stream": {"schema": _BYTES}, MODEL: {"schema": _BYTES}}}


def answers(schema: str | None, *more: int, formats: Sequence[str] = ()) -> dict[str, Any]:
    """The answers of a route: JSON by a schema or tables in some formats, and the problems it may answer with."""
    content: dict[str, Any] = {} if schema is None else {JSON: {"schema": _ref(schema)}}
    content |= {kind: {"schema": _BYTES if kind == ARROW else _TEXT} for kind in formats}
    return _responses(content, more)


def file_answer(media_type: str, *more: int) -> dict[str, Any]:
    """The answers of a route that sends a file."""
    return _responses({media_type: {"schema": _BYTES}}, more)


def text_answer(media_type: str = "text/plain", *more: int) -> dict[str, Any]:
    """The answers of a route that sends text."""
    return _responses({media_type: {"schema": _TEXT}}, more)


def json_answers(schema: str, error: str, *more: int) -> dict[str, Any]:
    """The answers of a route of another protocol, with its own errors."""
    result = _responses({JSON: {"schema": _ref(schema)}}, more)
    for status, response in result.items():
        if int(status) >= 400:
            response["content"] = {JSON: {"schema": _ref(error)}}
    return result


def _responses(content: dict[str, Any], more: tuple[int, ...]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if content and 204 not in more:
        result["200"] = {"description": "The answer.", "content": content, "headers": _HEADERS}
    for status in sorted({*more, *_ALWAYS}):
        response: dict[str, Any] = {"description": _MEANING[status]}
        if status == 201:
            response |= {"content": content, "headers": _HEADERS}
        if status >= 400:
            response["content"] = {PROBLEM_TYPE: {"schema": _ref("Problem")}}
        result[str(status)] = response
    return result


def query(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter of the query."""
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


def path_parameter(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter of the path."""
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema}


def openapi_document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The OpenAPI document of routes."""
    paths: dict[str, Any] = {}
    names: Counter[str] = Counter()
    for endpoint in endpoints:
        if endpoint.operation is None:
            continue
        name = endpoint.handler.__name__  # with a number, if the handler has several routes
        names[name] += 1
        identifier = name if names[name] == 1 else f"{name}_{names[name]}"
        model = [{"$ref": "#/components/parameters/Model"}] if "{model}" in endpoint.path else []
        operation = endpoint.operation | {
            "operationId": identifier,
            "parameters": [*model, *endpoint.operation.get("parameters", ())],
        }
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    key = {"type": "http", "scheme": "bearer", "description": "A key that `tally key` has made."}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tallybayes", "description": _DESCRIPTION, "version": __version__},
        "paths": paths,
        "components": {"schemas": SCHEMAS, "parameters": PARAMETERS, "securitySchemes": {"key": key}},
        "security": [{}, {"key": []}],
    }
