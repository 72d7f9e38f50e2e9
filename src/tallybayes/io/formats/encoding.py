"""Bytes as text, whatever they are.

A text file does not name its encoding, and a mail may name a wrong one. So these are tried in turn: the byte order
mark, UTF-8 (other encodings are rarely valid UTF-8 by chance), the given encodings, Windows-1252, and Latin-1, which
has a character for every byte. The result can always be written as UTF-8: half of a surrogate pair becomes U+FFFD.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import IO

from tallybayes.errors import FileError

__all__ = ["MixedLines", "check_encoding", "cleaned", "decoded", "is_utf8", "table_encoding"]

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_LONE = re.compile("[\ud800-\udfff]")
_NO_CHARSETS = frozenset({"idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape"})  # though Python's


def decoded(data: bytes, *given: str | None) -> str:
    r"""Bytes as text with line ends \n; never fails.

    given: encodings to try, in this order, if the bytes are not UTF-8.

    >>> decoded("Grüße".encode()), decoded("Grüße".encode("latin-1")), decoded("мир".encode("koi8-r"), "koi8-r")
    ('Grüße', 'Grüße', 'мир')
    >>> decoded(b"two\r\nlines"), decoded(b"+2AA-", "utf-7")
    ('two\nlines', '\ufffd')
    """
    marked = next((encoding for mark, encoding in _MARKS.items() if data.startswith(mark)), None)
    plain = data.isascii()  # such as ISO-2022-JP, which uses only ASCII bytes
    for encoding in (marked, None if plain else "utf-8", *given, "utf-8", "cp1252"):
        if encoding is not None and (text := _attempt(data, encoding)) is not None:
            return cleaned(text)
    return cleaned(data.decode("latin-1"))


def cleaned(text: str) -> str:
    r"""A text that can become Arrow data: no half surrogate pairs, one kind of line end.

    >>> cleaned("a\udc80b\r\n")
    'a\ufffdb\n'
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    return _LONE.sub("\ufffd", text)


def check_encoding(given: str | None, name: str) -> None:
    """Refuse an encoding that does not exist, before anything is read."""
    try:
        b"a".decode(given or "utf-8", errors="replace")
    except (LookupError, ValueError) as error:
        raise FileError("an encoding that Python knows", got=given, file=name) from error


def _attempt(data: bytes, encoding: str) -> str | None:
    try:
        return None if codecs.lookup(encoding).name.replace("-", "_") in _NO_CHARSETS else data.decode(encoding)
    except (LookupError, ValueError):  # no such encoding, bytes that it does not have, NUL in its name
        return None


def table_encoding(sample: bytes, given: str | None, name: str) -> str:
    r"""That of a table: given, by the byte order mark, UTF-8 if some lines are in it, else Windows-1252 or Latin-1.

    >>> table_encoding(b"M\xfcller\n", None, "a.csv"), table_encoding(b"M\xfcller\nM\xc3\xbcller\n", None, "a.csv")
    ('iso8859-1', 'utf-8')
    """
    if given is not None:
        check_encoding(given, name)
        return codecs.lookup(given).name
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if sample.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    some_lines = (line for line in sample.splitlines() if not line.isascii())
    if is_utf8(sample) or any(_attempt(line, "utf-8") is not None for line in some_lines):
        return "utf-8"
    return "cp1252" if re.search(rb"[\x80-\x9f]", sample) else "iso8859-1"  # quotes and the euro sign of Windows


def is_utf8(sample: bytes) -> bool:
    """Whether bytes are valid UTF-8; they may end within a character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


class MixedLines:
    r"""Lines of a text, each in UTF-8 or else in Windows-1252, all in UTF-8.

    n_lines: so many were not in UTF-8; first: the number of the first of them, from 1.

    >>> import io
    >>> mixed = MixedLines()
    >>> b"".join(mixed.in_utf8(io.BytesIO(b"M\xc3\xbcller\nM\xfcller\n"))).decode(), mixed.n_lines, mixed.first
    ('Müller\nMüller\n', 1, 2)
    """

    def __init__(self) -> None:
        self.n_lines = 0
        self.first: int | None = None

    def in_utf8(self, text: IO[bytes]) -> Iterator[bytes]:
        """The text, part by part."""
        line = 0
        while part := text.read(2**20) + text.readline():
            lines = [] if is_utf8(part) else part.splitlines(keepends=True)
            wrong = [place for place, one in enumerate(lines) if _attempt(one, "utf-8") is None]
            if wrong:
                self.first = self.first or line + wrong[0] + 1
                self.n_lines += len(wrong)
                for place in wrong:
                    lines[place] = (_attempt(lines[place], "cp1252") or lines[place].decode("latin-1")).encode()
                part = b"".join(lines)
            line += len(part.splitlines()) if b"\r" in part else part.count(b"\n")
            yield part
