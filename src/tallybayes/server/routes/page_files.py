"""The files of the page: their types, tags for caching, and the content security policy.

All scripts and styles are files of this package. The policy allows no inline script or style, and no other address.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

__all__ = ["PAGE_POLICY", "PageFile", "page_files"]

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
    return dict(_found(files("tallybayes.server").joinpath("page"), ""))


def _found(folder: Traversable, before: str) -> list[tuple[str, PageFile]]:
    result = []
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            result += _found(entry, f"{before}{entry.name}/")
        elif (kind := _TYPES.get(f".{entry.name.rpartition('.')[2]}")) is not None:
            content = entry.read_bytes()
            tag = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
            result.append((before + entry.name, PageFile(content, kind, tag)))
    return result
