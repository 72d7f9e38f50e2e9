"""The pages of the server: `/`, and the reference of the API at `/docs`; their files, with tags for caching.

All scripts and styles are files of this package. The policy allows no inline script or style, and no other address: so
pages work without a connection to the internet, which the pages of FastAPI for an OpenAPI document do not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from typing import Any

from tallybayes.errors import NONE
from tallybayes.reporting.chart_style import altair
from tallybayes.server.http.answer import Answer
from tallybayes.server.http.call import Call
from tallybayes.server.http.endpoint import Routes
from tallybayes.server.http.http_problem import HttpError

__all__ = ["PAGE_POLICY", "PageFile", "has_charts", "page_files", "routes"]

routes = Routes("Reference")

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class PageFile:
    """The bytes of a file, its media type, and its entity tag."""

    content: bytes
    media_type: str
    etag: str


@cache
def page_files() -> dict[str, PageFile]:
    """The files of the page by their paths, such as "views/try_view.js".

    >>> page_files()["index.html"].media_type
    'text/html; charset=utf-8'
    """
    shared = files("tallybayes.reporting").joinpath("assets", "nomogram_sum.js")
    return {
        **dict(_list_files(files("tallybayes.server").joinpath("page"))),
        "logic/nomogram_sum.js": _page_file(shared, _TYPES[".js"]),
    }


def _list_files(folder: Traversable, before: str = "") -> Iterator[tuple[str, PageFile]]:
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.is_dir():
            yield from _list_files(entry, f"{before}{entry.name}/")
        elif (kind := _TYPES.get(f".{entry.name.rpartition('.')[2]}")) is not None:
            yield before + entry.name, _page_file(entry, kind)


def _page_file(entry: Traversable, media_type: str) -> PageFile:
    content = entry.read_bytes()
    return PageFile(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:20]}"')


@routes.add("GET", "/docs", needs=None, summary="This reference as a page", formats=["text/html"])
async def docs(call: Call) -> Answer:
    """The routes of the OpenAPI document, each with a form to try it."""
    return _file(call, "reference/reference.html")


@routes.add("GET", "/", needs=None)
async def page(call: Call) -> Answer:
    """Show the page."""
    return _file(call, "index.html")


def has_charts() -> bool:
    """Whether the packages that draw larger charts are installed, those of the extra `report`."""
    return all(find_spec(name) is not None for name in ("altair", "vl_convert"))


@cache
def _chart_script() -> bytes:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    altair()
    import vl_convert

    library: Any = vl_convert  # its types want a snippet, without which the whole bundle is meant
    return str(library.javascript_bundle()).encode()


@routes.add("GET", "/page/vega.js", needs=None)
async def vega_script(call: Call) -> Answer:
    """Send the script that draws larger charts, if the packages that bring it are installed."""
    if not has_charts():
        raise HttpError.of(404, "packages that draw charts", got=NONE, hint="pip install 'tallybayes[report]'")
    content = await call.service.in_thread(_chart_script)
    headers = [(b"content-security-policy", PAGE_POLICY.encode()), (b"cache-control", b"max-age=3600")]
    return Answer(content, "text/javascript; charset=utf-8", headers=headers)


@routes.add("GET", "/page/{file:path}", needs=None)
async def page_file(call: Call) -> Answer:
    """Send a script or a style of a page."""
    return _file(call, call.path_params["file"])


def _file(call: Call, path: str) -> Answer:
    """A file of the pages; 304 if the browser has it already."""
    file = page_files().get(path)
    if file is None:
        raise HttpError.of(404, "a file of the page", got=path)
    headers = [
        (b"content-security-policy", PAGE_POLICY.encode()),
        (b"cache-control", b"no-cache"),  # asked for each time, and answered by 304 if nothing has changed
        (b"etag", file.etag.encode()),
    ]
    if file.etag in (call.field(b"if-none-match") or ""):
        return Answer(b"", file.media_type, status=304, headers=headers)
    return Answer(file.content, file.media_type, headers=headers)
