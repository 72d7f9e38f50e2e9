"""The routes of the page: its files, and what it shows beyond the API for programs.

    GET  /                             the page
    GET  /page/...                     its scripts and styles
    GET  /v1/models/{name}/columns     fields of a form, and a picture of every column
    GET  /v1/models/{name}/nomogram    the contribution of every value to the score
    GET  /v1/models/{name}/importance  the importance of columns, from the model alone
    GET  /v1/models/{name}/examples    rows without a label to work through, if the server was given any
    POST /v1/models/{name}/read        a file or a pasted table as rows

Answers that depend on the model only are kept until the model changes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from tallybayes.formatting import json_text
from tallybayes.model import Model
from tallybayes.reporting.nomogram import nomogram
from tallybayes.server.expected_importance import expected_importance
from tallybayes.server.form_fields import form_fields
from tallybayes.server.page_files import PAGE_POLICY, page_files
from tallybayes.server.uploaded_rows import uploaded_rows

__all__ = ["PageModel", "page_router"]

_HEADERS = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # asked again each time, and answered by 304 if nothing has changed
}


class PageModel(Protocol):
    """A model at one version, as it is published for reading."""

    @property
    def model(self) -> Model:
        """The model, which does not change."""

    @property
    def version(self) -> int:
        """The number of the last event that changed it."""


def page_router(
    published: Callable[[Request, str], PageModel],
    *,
    examples: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    dependencies: Sequence[Any] = (),
) -> APIRouter:
    """The routes of the page.

    published: the current version of a model by its name, or an error that the application turns into an answer.
    examples: rows without a label by model. dependencies: of the routes under /v1, such as a check of keys.
    """
    router = APIRouter(tags=["page"])
    kept = _Kept()

    @router.get("/", include_in_schema=False)
    def page(request: Request) -> Response:
        return _file(request, "index.html")

    @router.get("/page/{path:path}", include_in_schema=False)
    def asset(request: Request, path: str) -> Response:
        return _file(request, path)

    def answer(request: Request, name: str, what: str) -> Response:
        found = published(request, name)
        text = kept.get(name, what, found)
        headers = {"ETag": f'"{name}-{found.version}"', "X-Model-Version": str(found.version)}
        return Response(text, media_type="application/json", headers=headers)

    @router.get("/v1/models/{name}/columns", dependencies=[*dependencies])
    def columns(request: Request, name: str) -> Response:
        """The columns of a row: how each is entered, its range or values, and its distribution in each class."""
        return answer(request, name, "columns")

    @router.get("/v1/models/{name}/nomogram", dependencies=[*dependencies])
    def rulers(request: Request, name: str) -> Response:
        """The contribution of each value of each column to log P(class, row)."""
        return answer(request, name, "nomogram")

    @router.get("/v1/models/{name}/importance", dependencies=[*dependencies])
    def importance(request: Request, name: str) -> Response:
        """The importance of each column, on rows drawn from the model."""
        return answer(request, name, "importance")

    @router.get("/v1/models/{name}/examples", dependencies=[*dependencies])
    def example_rows(request: Request, name: str) -> Response:
        """Rows without a label, as the server was given them at its start; often none."""
        published(request, name)
        rows = list((examples or {}).get(name, ()))
        return Response(json_text({"rows": rows}), media_type="application/json")

    @router.post("/v1/models/{name}/read", dependencies=[*dependencies])
    async def read_rows(request: Request, name: str, file: str = "") -> Response:
        """A body in any format that `tally` reads (text, mails, Parquet, Arrow) as rows, at most 5,000."""
        schema, body = published(request, name).model.schema, await request.body()
        kind = request.headers.get("content-type", "")
        found = await run_in_threadpool(uploaded_rows, body, schema, media_type=kind, name=file)
        return Response(json_text(found), media_type="application/json")

    return router


def _file(request: Request, path: str) -> Response:
    """A file of the page; 304 if the browser has it already."""
    found = page_files().get(path)
    if found is None:
        return Response("there is no such file\n", 404, _HEADERS, "text/plain")
    headers = {**_HEADERS, "ETag": found.etag}
    if found.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(found.content, headers=headers, media_type=found.media_type)


def _nomogram(model: Model) -> dict[str, Any]:
    """The rulers of a model, the most important columns first; without example rows."""
    order = [one["column"] for one in expected_importance(model)["columns"]]
    names = [name for name in (*order, *model.schema.families) if name in model.schema.families]
    return nomogram(model, list(dict.fromkeys(names)), [], model.describe().columns)


_ANSWERS: dict[str, Callable[[Model], dict[str, Any]]] = {
    "columns": form_fields,
    "nomogram": _nomogram,
    "importance": expected_importance,
}


class _Kept:
    """The latest answers by model and kind; computed once for each version."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[int, str]] = {}
        self._locks: dict[tuple[str, str], threading.Lock] = {}

    def get(self, name: str, what: str, found: PageModel) -> str:
        key = (name, what)
        with self._locks.setdefault(key, threading.Lock()):  # several pages ask at once after each change
            version, text = self._found.get(key, (-1, ""))
            if version != found.version:
                answer = {"model": name, "version": found.version, **_ANSWERS[what](found.model)}
                text = json_text(answer)
                self._found[key] = (found.version, text)
            return text
