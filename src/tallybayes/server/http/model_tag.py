"""ETags of models: "NAME-VERSION.FILE", where FILE stands for the file that the log of the model is about.

A model that is removed and uploaded again has the same name and begins at version 0 again: without the last part, a
client that has kept the old model would be told that nothing has changed. If-Match also takes "NAME-VERSION", for
clients that know only the number of a version.
"""

from __future__ import annotations

import functools
import hashlib
import os
import weakref
from urllib.parse import quote

from tallybayes.server.live.change_request import Applied
from tallybayes.server.live.live_model import LiveModel, Published

__all__ = ["attachment", "etag", "is_among", "named_version", "parse_number", "version_headers"]

_DIGITS = 18  # of a version: the numbers of events have 64 bits
_MARKS: weakref.WeakKeyDictionary[LiveModel, str] = weakref.WeakKeyDictionary()


@functools.lru_cache(1024)
def _in_header(name: str) -> str:
    """The name of a model as it is written in headers: in ASCII, whatever the name of its file is.

    >>> _in_header("pets"), _in_header("caf\u00e9, 2")
    ('pets', 'caf%C3%A9%2C%202')
    """
    return quote(name, safe="")


def etag(live: LiveModel, at: Published | Applied) -> str:
    """The ETag of a model at one version."""
    return f'"{_in_header(live.name)}-{at.version}.{_mark(live)}"'


def version_headers(live: LiveModel, at: Published | Applied) -> list[tuple[bytes, bytes]]:
    """The headers that say which version has answered."""
    return [(b"etag", etag(live, at).encode()), (b"x-model-version", str(at.version).encode())]


def attachment(live: LiveModel, ending: str) -> tuple[bytes, bytes]:
    """The header that names a downloaded file."""
    return b"content-disposition", f'attachment; filename="{_in_header(live.name)}{ending}"'.encode()


def is_among(tag: str, header: str) -> bool:
    """Whether an ETag is among those of If-None-Match.

    >>> is_among('"pets-7.ab"', 'W/"pets-6.ab", "pets-7.ab"'), is_among('"pets-7.ab"', "*"), is_among('"a"', "a")
    (True, True, False)
    """
    return header.strip() == "*" or tag in _tags(header)


def named_version(live: LiveModel, header: str) -> int | None:
    """The version that If-Match names, the current one if it is among several; None: any; -1: none of this model."""
    if header.strip() == "*":
        return None
    start, current = f'"{_in_header(live.name)}-', live.current.version
    versions = [_version(tag[len(start) : -1], live) for tag in _tags(header) if tag.startswith(start)]
    known = [version for version in versions if version is not None]
    return current if current in known else next(iter(known), -1)


def _version(text: str, live: LiveModel) -> int | None:
    """The version of a tag without its name; None if it is not one of this model."""
    number, dot, mark = text.partition(".")
    return None if dot and mark != _mark(live) else parse_number(number)


def parse_number(text: str) -> int | None:
    """The number of an event or a version, or another one of at least 0; None if the text is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else None


def _tags(header: str) -> list[str]:
    return [tag.strip().removeprefix("W/") for tag in header.split(",")]


def _mark(live: LiveModel) -> str:
    """What tells the file of a model from others of the same name, also after the server was started again."""
    mark = _MARKS.get(live)
    if mark is None:
        try:
            facts = os.stat(live.files.base)
        except OSError:  # it was removed while the request was on its way
            return "removed"
        mark = hashlib.sha256(f"{facts.st_ino} {facts.st_mtime_ns}".encode()).hexdigest()[:8]
        _MARKS[live] = mark
    return mark
