"""A mail as a row: subject, from, to, date and text.

Headers and parts are parsed by Python's `email` package with its older policy, which accepts any bytes and is about
twenty times faster than the newer one with a grammar for each header. Of alternatives the plain text is used, of HTML
the visible text, of attachments the names; several parts of text are joined. Broken mail (encodings, boundaries,
nesting) is read as far as possible: a mail is never a bad row.
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

from tallybayes.io.formats.encoding import cleaned, decoded
from tallybayes.io.formats.html_text import is_html, visible

__all__ = ["HEADERS", "is_mail", "mail"]

HEADERS = ("subject", "from", "to", "date")

_DEEP = 50  # levels of nested parts that are read
_LONG = 2**16  # characters of a header that are read; the standard allows 998 in a line
_WORD = r"=\?[^?\s]+\?[bq]\?[^?\n]*\?="
# Adjacent words of one character set are decoded together.
_ENCODED = re.compile(rf"{_WORD}(?:\s*{_WORD})*", re.IGNORECASE)
_HEADER = re.compile(rb"([!-9;-~]+):")
_USUAL = frozenset(
    b"from to subject date cc sender reply-to received return-path delivered-to message-id mime-version content-type"
    b" envelope-to newsgroups".split()
)


def mail(data: bytes, encoding: str | None = None) -> dict[str, Any]:
    r"""The cells of a message; absent headers are None.

    encoding: of parts that name none and are not UTF-8.

    >>> row = mail(b"From: ann@example.org\nSubject: =?utf-8?q?Caf=C3=A9?=\n\nAt five?\n")
    >>> row["from"], row["subject"], row["text"], row["to"]
    ('ann@example.org', 'Café', 'At five?', None)
    """
    try:
        message = email.message_from_bytes(data)
        text = "\n\n".join(part for part in _texts(message, encoding, _DEEP) if part)
    except Exception:  # the package raises many kinds of errors on malformed mail: use the raw text
        message = email.parser.BytesHeaderParser().parsebytes(data)
        text = decoded(str(message.get_payload()).encode("utf-8", "surrogateescape"), encoding)
    cells: dict[str, Any] = {name: _header(message, name, encoding) for name in HEADERS}
    return cells | {"date": _date(cells["date"]), "text": cleaned(text.replace("\x00", " ")).strip()}


def is_mail(start: bytes) -> bool:
    r"""Whether a file begins with headers, at least two of them common in mails.

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
        plain = [text for kind, text in found if kind == "text/plain" and text.strip()]
        yield next(iter(plain or [text for _, text in found if text.strip()]), "")
    elif part.is_multipart():
        for one in inner:
            if kind == "message/rfc822":  # a forwarded mail: its subject is part of the text
                yield _header(one, "subject", encoding) or ""
            yield from _texts(one, encoding, deep - 1)
    elif kind.startswith(("text/", "multipart/")):  # a multipart without a boundary is one text
        text = decoded(part.get_payload(decode=True) or b"", part.get_content_charset(), encoding)
        yield visible(text) if kind == "text/html" or is_html(text) else text.strip()


def _header(message: Any, name: str, encoding: str | None) -> str | None:
    """A header as text: the first of several, but all recipients."""
    values = [str(value) for header, value in message.raw_items() if header.lower() == name]
    if not values:
        return None
    return ", ".join(_unfolded(value[:_LONG], encoding) for value in (values if name == "to" else values[:1]))


def _unfolded(value: str, encoding: str | None) -> str:
    """A header on one line, with encoded words and raw bytes decoded."""
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
    """The date in UTC, without a time zone; None if it cannot be parsed."""
    try:
        found = email.utils.parsedate_to_datetime((value or "")[:100])
        return found if found.tzinfo is None else found.astimezone(datetime.UTC).replace(tzinfo=None)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
