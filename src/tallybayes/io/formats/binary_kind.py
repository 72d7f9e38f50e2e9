"""What a file that is not text seems to be, by its first bytes: for errors."""

from __future__ import annotations

import codecs
import re

from tallybayes.errors import Described, FileError

__all__ = ["check_text"]

_KINDS = (  # patterns of the first bytes
    (rb"%PDF-", "a PDF document"),
    (rb"\xff\xd8\xff", "a JPEG picture"),
    (rb"\x89PNG\r\n", "a PNG picture"),
    (rb"GIF8[79]a", "a GIF picture"),
    (rb"(?s:RIFF.{4}WEBP)", "a WebP picture"),
    (rb"(?:II\*\x00|MM\x00\*)", "a TIFF picture"),
    (rb"\x80[\x02-\x05][\x80-\x95}\](c]", "a pickle of Python"),
    (rb"\x93NUMPY", "an array of NumPy"),
    (rb"\x89HDF\r\n", "an HDF5 file"),
    (rb"\x7fELF|MZ[\x00-\x1f\x80-\xff]", "a program"),
    (rb"7z\xbc\xaf|Rar!", "an archive"),
    (rb"RD[AX][23]\n", "a file of R"),
    (rb"(?i:\s*(?:<!doctype html|<html))", "a web page"),
    (rb"\s*<\?xml", "an XML document"),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_FEW, _SHARE = 8, 0.02  # control characters that text may have, and their share


def check_text(start: bytes, name: str) -> None:
    r"""Raise a FileError that says what a file seems to be, unless it begins like text in some encoding.

    >>> check_text(b"%PDF-1.7 ...", "a.csv")
    Traceback (most recent call last):
        ...
    tallybayes.errors.FileError: a.csv: expected a file of text, got what seems to be a PDF document
    """
    kind = next((kind for pattern, kind in _KINDS if re.match(pattern, start)), None)
    hint = None
    is_binary = len(_CONTROL.findall(start)) > max(_SHARE * len(start), _FEW)
    if kind is None and is_binary and (encoding := _wide_encoding(start)) is not None:
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return
        kind, hint = f"text in {encoding} without a mark", f"encoding='{encoding}' (--encoding {encoding})"
    if kind is not None:
        raise FileError("a file of text", got=Described(f"what seems to be {kind}"), file=name, hint=hint)
    if is_binary:
        hint = "name its format or encoding: format= (--format), encoding= (--encoding)"
        got = Described(f"bytes that are not text ({start[:16]!r})")
        raise FileError("a file of text", got=got, file=name, hint=hint)


def _wide_encoding(start: bytes) -> str | None:
    """UTF-16, if every other byte of its first ones is zero."""
    halves = {"utf-16-le": start[1:200:2], "utf-16-be": start[0:200:2]}
    return next((name for name, half in halves.items() if half.count(0) > 0.8 * len(half)), None)
