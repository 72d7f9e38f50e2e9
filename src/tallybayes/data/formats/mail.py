"""A mail as a row: subject, from, to, date and text.

Headers and parts are found by Python's `email` package, with its older policy: that one reads any bytes, and reads them
about twenty times faster than the newer, which has a grammar for each header. Of the alternatives of a message the
plain one is taken, of HTML what one would see; several parts of text are joined, of attachments the names count.
Whatever is broken (encodings, boundaries, nesting) is read as far as it goes: a mail is never a bad row.
"""

from __future__ import annotations

import datetime
import email
import email.errors
import email.header
import email.parser
import email.utils
import re
from collections.abc import Iterator
from typing import Any

from tallybayes.data.formats.encoding import cleaned, decoded
from tallybayes.data.formats.html_text import is_html, visible

__all__ = ["HEADERS", "is_mail", "mail"]

HEADERS = ("subject", "from", "to", "date")

_DEEP = 50  # parts within parts; more is not looked at
_LONG = 2**16  # characters of a header that are looked at; standards end at 998 to a line
_WORD = r"=\?[^?\s]+\?[bq]\?[^?\n]*\?="
_ENCODED = re.compile(rf"{_WORD}(?:\s*{_WORD})*", re.IGNORECASE)  # words of one character set belong together
_HEADER = re.compile(rb"([!-9;-~]+):")
_USUAL = frozenset(
    b"from to subject date cc sender reply-to received return-path delivered-to message-id mime-version content-type"
    b" envelope-to newsgroups".split()
)


def mail(data: bytes, encoding: str | None = None) -> dict[str, Any]:
    r"""The cells of a message; what it lacks is None.

    encoding: of what does not say, if it is not UTF-8.

    >>> row = mail(b"From: ann@example.org\nSubject: =?utf-8?q?Caf=C3=A9?=\n\nAt five?\n")
    >>> row["from"], row["subject"], row["text"], row["to"]
    ('ann@example.org', 'Café', 'At five?', None)
    """
    try:
        message = email.message_from_bytes(data)
        text = "\n\n".join(part for part in _texts(message, encoding, _DEEP) if part)
    except Exception:  # the package has raised nearly everything on mail that nobody wrote: take the rest as it is
        message = email.parser.BytesHeaderParser().parsebytes(data)
        text = decoded(str(message.get_payload()).encode("utf-8", "surrogateescape"), encoding)
    cells: dict[str, Any] = {name: _header(message, name, encoding) for name in HEADERS}
    return cells | {"date": _date(cells["date"]), "text": cleaned(text.replace("\x00", " ")).strip()}


def is_mail(start: bytes) -> bool:
    r"""Whether a file begins with headers, two of them such as every mail has.

    >>> is_mail(b"Return-Path: <ann@example.org>\nReceived: from a\n  by b\nSubject: x\n\nhi"), is_mail(b"Note: buy\n")
    (True, False)
    """
    names: set[bytes] = set()
    for line in start.splitlines():
        found = _HEADER.match(line)
        if found is None and not (line[:1] in (b" ", b"\t") and names):
            break
        names |= {found[1].lower()} if found else set()
    return len(names & _USUAL) >= 2


def _texts(part: Any, encoding: str | None, deep: int) -> Iterator[str]:
    """The texts of a message and of the parts in it."""
    kind = part.get_content_type()
    inner = part.get_payload() if part.is_multipart() and deep else []
    name = part.get_filename()
    if part.get_content_disposition() == "attachment" or (name is not None and not kind.startswith("text/")):
        yield _unfolded(str(name or ""), encoding)
    elif kind == "multipart/alternative":
        found = [(one.get_content_type(), "\n\n".join(_texts(one, encoding, deep - 1))) for one in inner]
        plain = [text for own, text in found if own == "text/plain" and text.strip()]
        yield next(iter(plain or [text for _, text in found if text.strip()]), "")
    elif part.is_multipart():
        for one in inner:
            if kind == "message/rfc822":  # sent on: its subject says what it is about
                yield _header(one, "subject", encoding) or ""
            yield from _texts(one, encoding, deep - 1)
    elif kind.startswith(("text/", "multipart/")):  # parts without a boundary are one text
        text = decoded(part.get_payload(decode=True) or b"", part.get_content_charset(), encoding)
        yield visible(text) if kind == "text/html" or is_html(text) else text.strip()


def _header(message: Any, name: str, encoding: str | None) -> str | None:
    """A header as text; of several the first, but all to whom it went."""
    values = [str(value) for own, value in message.raw_items() if own.lower() == name]
    if not values:
        return None
    return ", ".join(_unfolded(value[:_LONG], encoding) for value in (values if name == "to" else values[:1]))


def _unfolded(value: str, encoding: str | None) -> str:
    """A header on one line, its encoded words read; bytes that should not be there are taken for text."""
    text = decoded(value.encode("utf-8", "surrogateescape"), encoding)
    text = _ENCODED.sub(lambda found: _words(found[0], encoding), text)
    return " ".join(cleaned(text).replace("\x00", " ").split())


def _words(encoded: str, encoding: str | None) -> str:
    try:
        parts = email.header.decode_header(" ".join(encoded.split()))
        return "".join(
            decoded(part, charset, encoding) if isinstance(part, bytes) else str(part) for part, charset in parts
        )
    except (email.errors.HeaderParseError, ValueError):
        return encoded


def _date(value: str | None) -> datetime.datetime | None:
    """When it was sent, in UTC and without saying so; None if that cannot be read."""
    try:
        found = email.utils.parsedate_to_datetime((value or "")[:100])
        return found if found.tzinfo is None else found.astimezone(datetime.UTC).replace(tzinfo=None)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
