"""A mail as a row: subject, from, to, date and text; and the mails of an mbox.

Headers and parts are parsed by Python's `email` package with its older policy, which accepts any bytes and is about
twenty times faster than the newer one with a grammar for each header. Of alternatives the plain text is used, of HTML
the visible text, of attachments the names; several parts of text are joined. Broken mail (encodings, boundaries,
nesting) is read as far as possible: a mail is never a bad row.

An mbox has its messages one after the other, each after a line that begins with "From ". Such a line starts a message
if it is the first or follows a blank line, and if it contains a time or is followed by a header: a sentence in a
message may begin with "From " too. Python's `mailbox` module reads the whole file first to index the messages; here
they are found while reading, so that the file may be of any size, compressed, or a pipe.
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
from typing import IO, Any

from tallybayes.io.formats.encoding import cleaned, decoded
from tallybayes.io.formats.html_text import is_html, visible

__all__ = ["HEADERS", "LONGEST", "is_mail", "is_mbox", "mail", "messages"]

HEADERS = ("subject", "from", "to", "date")
LONGEST = 2**26  # bytes of a message that are read: the rest is an attachment

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

_PIECE = 2**16  # bytes of a line read at once
_TIMED = re.compile(rb"From \S.*\d:\d\d")
_HEADER_OR_QUOTED = re.compile(rb">?[!-9;-~]+:")
_QUOTED = re.compile(rb">+From ")


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


def messages(file: IO[bytes], longest: int = LONGEST) -> Iterator[bytes]:
    r"""The messages of a file, without the "From " line of each; ">From " in them becomes "From " again.

    >>> import io
    >>> one = b"From ann@example.org Tue Apr  6 11:45:20 2004\nSubject: a\n\nFrom me.\n\nFrom now on\nand ever.\n\n"
    >>> list(messages(io.BytesIO(one + b"From bob@example.org\nSubject: b\n\n>From you.\n")))
    [b'Subject: a\n\nFrom me.\n\nFrom now on\nand ever.\n\n', b'Subject: b\n\nFrom you.\n']
    """
    held: list[bytes] = []
    n_bytes, begun, after_blank, at_start = 0, False, True, True  # begun: whether there was a "From " line
    following = file.readline(_PIECE)
    while line := following:
        following = file.readline(_PIECE)
        if at_start and after_blank and _begins(line, following, first=not begun and not held):
            if begun or held:
                yield b"".join(held)
            held, n_bytes, begun = [], 0, True
        elif n_bytes < longest and (begun or line.strip()):
            line = line[1:] if at_start and _QUOTED.match(line) else line
            held.append(line)
            n_bytes += len(line)
        after_blank = at_start and not line.strip(b"\r\n")
        at_start = line.endswith(b"\n")
    if begun or held:
        yield b"".join(held)


def is_mbox(start: bytes) -> bool:
    r"""Whether a file begins like an mbox.

    >>> is_mbox(b"From ann@example.org Tue Apr  6 11:45:20 2004\nTo: bob@example.org\n"), is_mbox(b"From now on\n")
    (True, False)
    """
    first, _, rest = start.lstrip(b"\r\n").partition(b"\n")
    return _TIMED.match(first) is not None and (not rest or _HEADER_OR_QUOTED.match(rest) is not None)


def _begins(line: bytes, following: bytes, *, first: bool) -> bool:
    return line.startswith(b"From ") and bool(first or _TIMED.match(line) or _HEADER_OR_QUOTED.match(following))
