"""Labels, categories and tokens as text, one text for each key: a letter for the type, then the value.

    t text    i whole number    r real    b yes/no    x bytes    n None    ( tuple of keys
    d date    m date and time    c time of day    s span of time    f decimal fraction    u UUID

Every type comes back as it went in; NumPy's numbers and texts, and subclasses of Python's (enumerations), come back as
the plain value they equal. A type that is not listed here is an error when a model is saved: a file must not name code.

>>> [key_text(key) for key in ("red", 3, 0.5, True, (1, "a"))]
['tred', 'i3', 'r0x1.0000000000000p-1', 'b1', '(["i1","ta"]']
>>> text_key("i3"), text_key("d2024-02-29")
(3, datetime.date(2024, 2, 29))
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import json
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.column import Key
from tallybayes.errors import shorten
from tallybayes.tally.tally import plain

__all__ = ["key_text", "pack_keys", "text_key", "unpack_keys"]

_MICROSECOND = datetime.timedelta(microseconds=1)
_ALIKE = 100  # different keys with one hash: more than so many are meant to make a dict slow


def _tuple_text(key: tuple[Any, ...]) -> str:
    return json.dumps([key_text(part) for part in key], separators=(",", ":"))


def _text_tuple(text: str) -> tuple[Any, ...]:
    parts = json.loads(text)
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError("a tuple that is no list of keys")
    return tuple(text_key(part) for part in parts)


def _int_text(key: int) -> str:
    return str(key) if key.bit_length() <= 64 else hex(key)  # Python limits the digits of long decimal numbers


_FORMS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "t": (str, str, str),
    "i": (int, _int_text, lambda text: int(text, 16 if "x" in text else 10)),
    "r": (float, float.hex, float.fromhex),
    "b": (bool, lambda key: "01"[key], lambda text: text == "1"),
    "x": (bytes, bytes.hex, bytes.fromhex),
    "n": (type(None), lambda key: "", lambda text: None),
    "(": (tuple, _tuple_text, _text_tuple),
    "d": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "m": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "c": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "s": (datetime.timedelta, lambda key: str(key // _MICROSECOND), lambda text: int(text) * _MICROSECOND),
    "f": (decimal.Decimal, str, decimal.Decimal),
    "u": (uuid.UUID, str, uuid.UUID),
}
_TAGS = {kind: tag for tag, (kind, _, _) in _FORMS.items()}


def key_text(key: Key) -> str:
    """The text of a key; a ValueError if its type has none, or if it would not come back (NaN is not equal to NaN)."""
    value = plain(key)
    tag = _TAGS.get(type(value))
    if tag is None:
        raise ValueError(f"a key of type {type(key).__name__} cannot be saved: {shorten(key)}")
    _, write, read = _FORMS[tag]
    text = write(value)
    if tag not in "tib" and not _equal(read(text), value):
        raise ValueError(f"a key that would not come back the same cannot be saved: {shorten(key)}")
    return tag + text


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except ArithmeticError:  # a decimal's signalling NaN
        return False


def text_key(text: str) -> Key:
    """The key of a text; a ValueError unless it is the text that `key_text` gives."""
    try:
        key: Key = _FORMS[text[:1]][2](text[1:])
        if text[:1] == "t" or key_text(key) == text:
            return key
    except (KeyError, ValueError, ArithmeticError):  # decimals and spans of time overflow in their own ways
        pass
    raise ValueError(f"a key that is written {shorten(text)}")


def pack_keys(keys: Sequence[Key]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Keys as bytes (UTF-8, lone surrogates and all), and the place where each key ends."""
    parts = [key_text(key).encode("utf-8", "surrogatepass") for key in keys]
    return np.frombuffer(b"".join(parts), np.uint8), np.cumsum([len(part) for part in parts], dtype=np.int64)


def unpack_keys(blob: NDArray[np.uint8], ends: NDArray[np.int64]) -> list[Any]:
    """Keys from what `pack_keys` gives; a ValueError if it did not give this.

    >>> unpack_keys(*pack_keys(["a", 2, None]))
    ['a', 2, None]
    """
    bounds = [0, *ends.tolist()]
    if blob.ndim != 1 or ends.ndim != 1 or bounds != sorted(bounds) or bounds[-1] != len(blob):
        raise ValueError("keys that end before they begin")
    data = blob.tobytes()
    texts = [data[start:stop].decode("utf-8", "surrogatepass") for start, stop in itertools.pairwise(bounds)]
    known = {text: text_key(text) for text in dict.fromkeys(texts)}
    if len(known) > _ALIKE and np.unique([hash(key) for key in known.values()], return_counts=True)[1].max() > _ALIKE:
        raise ValueError("keys chosen to be hard to tell apart")
    return [known[text] for text in texts]
