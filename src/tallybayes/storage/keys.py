"""Labels, categories and tokens as text: a letter for the type, then the value.

    t text    i integer    r real    b boolean    x bytes    n None    ( tuple of keys
    d date    m date and time    c time of day    s duration    f decimal    u UUID

Every type is restored. NumPy scalars and subclasses of Python types (such as enumerations) are restored as the plain
value that they equal. Other types are an error when a model is saved, because a file must not name code.

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
_ALIKE = 100  # more different keys with the same hash are an attack that makes a dict slow


def _tuple_text(key: tuple[Any, ...]) -> str:
    return json.dumps([key_text(part) for part in key], separators=(",", ":"))


def _text_tuple(text: str) -> tuple[Any, ...]:
    parts = json.loads(text)
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError("a tuple that is not a list of keys")
    return tuple(text_key(part) for part in parts)


def _int_text(key: int) -> str:
    return str(key) if key.bit_length() <= 64 else hex(key)  # Python limits the length of decimal integers


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
    """Return the text of a key; a ValueError if it cannot be restored (an unknown type, or NaN)."""
    value = plain(key)
    tag = _TAGS.get(type(value))
    if tag is None:
        raise ValueError(f"a key of type {type(key).__name__} cannot be saved: {shorten(key)}")
    _, write, read = _FORMS[tag]
    text = write(value)
    if tag not in "tib" and not _equal(read(text), value):
        raise ValueError(f"a key that cannot be restored cannot be saved: {shorten(key)}")
    return tag + text


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except ArithmeticError:  # a decimal's signalling NaN
        return False


def text_key(text: str) -> Key:
    """Return the key of a text; a ValueError unless it is what `key_text` returns."""
    try:
        key: Key = _FORMS[text[:1]][2](text[1:])
        if text[:1] == "t" or key_text(key) == text:
            return key
    except (KeyError, ValueError, ArithmeticError):  # decimals and durations raise other errors when they overflow
        pass
    raise ValueError(f"not a key: {shorten(text)}")


def pack_keys(keys: Sequence[Key]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return keys as bytes (UTF-8 with lone surrogates), and the end of each key."""
    if all(type(key) is str for key in keys):  # vocabularies have millions
        parts = [b"t" + key.encode("utf-8", "surrogatepass") for key in keys]  # type: ignore[attr-defined]
    else:
        parts = [key_text(key).encode("utf-8", "surrogatepass") for key in keys]
    return np.frombuffer(b"".join(parts), np.uint8), np.cumsum([len(part) for part in parts], dtype=np.int64)


def unpack_keys(blob: NDArray[np.uint8], ends: NDArray[np.int64]) -> list[Any]:
    """Return the keys from the result of `pack_keys`; a ValueError for anything else.

    >>> unpack_keys(*pack_keys(["a", 2, None]))
    ['a', 2, None]
    """
    bounds = [0, *ends.tolist()]
    if blob.ndim != 1 or ends.ndim != 1 or bounds != sorted(bounds) or bounds[-1] != len(blob):
        raise ValueError("keys with invalid ends")
    data = blob.tobytes()
    texts = [data[start:stop].decode("utf-8", "surrogatepass") for start, stop in itertools.pairwise(bounds)]
    if all(text[:1] == "t" for text in texts):  # Python's hashes of texts cannot be foreseen
        return [text[1:] for text in texts]
    known = {text: text_key(text) for text in dict.fromkeys(texts)}
    if len(known) > _ALIKE and np.unique([hash(key) for key in known.values()], return_counts=True)[1].max() > _ALIKE:
        raise ValueError("too many keys with the same hash")
    return [known[text] for text in texts]
