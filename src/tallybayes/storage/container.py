r"""A header and arrays as signed bytes, and back: the outside of a model file.

The bytes are a safetensors file: eight bytes of length, a header of JSON, then arrays. The header has one entry of
metadata, "tallybayes", whose value is a text of JSON again that begins

    {"sha256": "...", "format": 1, "library": "0.1.0", ...

The SHA-256 is that of all bytes with its own 64 digits as zeros, so a flipped byte anywhere is an error. What a forger
may have signed is not trusted for that: see `tallybayes.storage.content`.

>>> facts, tensors = unpack(pack({"label": "y"}, {"rows": np.array([3])}))
>>> facts, tensors
({'label': 'y'}, {'rows': array([3])})
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from tallybayes.errors import FileError, shorten
from tallybayes.tally.exact import require
from tallybayes.version import __version__

__all__ = ["FORMAT", "START", "Tensors", "object_of", "pack", "unique", "unpack"]

FORMAT = 1  # raise it with every change that older versions cannot read; old numbers are read for ever
START = rb'{"__metadata__":{"tallybayes":"{\"sha256\":\"'  # how every file goes on after the eight bytes of length

_ZEROS = "0" * 64
_DIGEST = slice(8 + len(START), 8 + len(START) + len(_ZEROS))
_HEADER_LIMIT = 100_000_000  # bytes; safetensors' own
_DTYPES = {"I64": "<i8", "U8": "<u1", "F64": "<f8"}

Tensors = dict[str, NDArray[Any]]
Name = TypeVar("Name")
Value = TypeVar("Value")


def pack(facts: Mapping[str, Any], tensors: Tensors) -> bytes:
    """Facts (plain values, in their order) and arrays as bytes."""
    header = {"sha256": _ZEROS, "format": FORMAT, "library": __version__, **facts}
    text = json.dumps(header, separators=(",", ":"), allow_nan=False)
    require(r"\ud" not in text or json.loads(text) == header, "a name with halves of a character side by side")
    data = bytearray(safetensors.numpy.save(tensors, {"tallybayes": text}))
    require(int.from_bytes(data[:8], "little") <= _HEADER_LIMIT, "names of columns that take more than 100 MB")
    assert data[8 : _DIGEST.start] == START, "safetensors writes its header in another way"
    data[_DIGEST] = hashlib.sha256(data).hexdigest().encode()
    return bytes(data)


def unpack(data: bytes) -> tuple[dict[str, Any], Tensors]:
    """Facts and arrays from bytes; a FileError or ValueError if they are damaged or were not made by `pack`."""
    header = _header(data)
    digest = hashlib.sha256(data[: _DIGEST.start] + _ZEROS.encode())
    digest.update(memoryview(data)[_DIGEST.stop :])
    if digest.hexdigest().encode() != data[_DIGEST]:
        raise FileError("the file is damaged: its checksum does not fit")
    number = header.get("format")
    if type(number) is int and number > FORMAT:
        came = f"written by a newer version of tallybayes, format {shorten(number)}; this one reads up to {FORMAT}"
        raise FileError(came, hint="update tallybayes")
    require(type(number) is int and number == FORMAT, f"a format that never was: {shorten(number)}")
    require(isinstance(header.get("library"), str), "no version of the library")
    try:
        found = safetensors.deserialize(data)  # type: ignore[no-untyped-call]
    except safetensors.SafetensorError as error:
        raise ValueError(str(error)) from error
    own = ("sha256", "format", "library")
    return {k: v for k, v in header.items() if k not in own}, {name: _array(name, view) for name, view in found}


def _header(data: bytes) -> dict[str, Any]:
    """The text of JSON in the header, read."""
    length, start = int.from_bytes(data[:8], "little"), data[8 : _DIGEST.start]
    if not START.startswith(start) or (not start and length > _HEADER_LIMIT):
        raise FileError("this is not a model file of tallybayes")
    if len(data) < _DIGEST.stop:
        raise FileError(f"the file is cut short: it ends after {len(data)} bytes")
    if length > _HEADER_LIMIT or 8 + length > len(data):
        raise FileError(f"the file is damaged or cut short: {len(data)} bytes with a header of {length}")
    outer = _parsed(data[8 : 8 + length].decode("utf-8"))
    return _parsed(object_of(outer.get("__metadata__"), "tallybayes")["tallybayes"])


def _array(name: str, view: Mapping[str, Any]) -> NDArray[Any]:
    require(view["dtype"] in _DTYPES, f"{name}: numbers of type {view['dtype']}")
    dtype = np.dtype(_DTYPES[view["dtype"]])
    return np.frombuffer(view["data"], dtype).astype(dtype.newbyteorder("="), copy=False).reshape(view["shape"])


def _parsed(text: Any) -> dict[str, Any]:
    """An object of JSON in which no name comes twice and every number is finite."""
    require(isinstance(text, str), "a header that is no text")
    found = json.loads(text, object_pairs_hook=unique, parse_float=_finite, parse_constant=_finite)
    require(isinstance(found, dict), "a header that is no object")
    return dict(found)


def _finite(text: str) -> float:
    number = float(text)
    require(math.isfinite(number), f"a number that is not finite: {shorten(text)}")
    return number


def unique(pairs: list[tuple[Name, Value]]) -> dict[Name, Value]:
    """A dict of pairs; a ValueError if a name comes twice."""
    result = dict(pairs)
    require(len(result) == len(pairs), "a name that comes twice")
    return result


def object_of(given: Any, *names: str) -> dict[str, Any]:
    """An object of JSON with these names in it, no more and no less, or a ValueError.

    >>> object_of({"low": 1}, "low")
    {'low': 1}
    """
    require(isinstance(given, dict), f"{', '.join(names)} expected, got {shorten(given)}")
    require(given.keys() == set(names), f"{', '.join(names)} expected, got {shorten(list(given))}")
    return dict(given)
