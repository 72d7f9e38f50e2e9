r"""The container of a model file: a JSON header and arrays, with a checksum.

The bytes are a safetensors file: the length of the header in eight bytes, the header as JSON, then the arrays. The
header has one entry of metadata, "tallybayes". Its value is again JSON, which begins

    {"sha256": "...", "format": FORMAT, "library": "...", ...

The SHA-256 is computed over all bytes with its own 64 digits replaced by zeros, so any flipped byte is an error. A
forger can compute it too, so the content is checked as well: see `tallybayes.storage.content`.

Facts of files that earlier versions wrote become those of the present format:

1   the status and origin of a column were told by its reason; a sample of rows had one limit
2   how the cells of a column are read was written in facts of the column, not in those of its reader

>>> facts, tensors = unpack(pack({"label": "y"}, {"rows": np.array([3])}))
>>> facts, tensors
({'label': 'y'}, {'rows': array([3])})
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from tallybayes.columns.old_schema import SCHEMA_FORMAT, upgrade_schema
from tallybayes.errors import FileError, TallyError, shorten
from tallybayes.tally.exact import require
from tallybayes.version import __version__

__all__ = ["FORMAT", "START", "Tensors", "json_text", "object_of", "pack", "read_content", "unique", "unpack"]

FORMAT = 3  # increase it with every change that older versions cannot read; older formats stay readable
START = rb'{"__metadata__":{"tallybayes":"{\"sha256\":\"'  # the first bytes of every file, after the length

_ZEROS = "0" * 64
_DIGEST = slice(8 + len(START), 8 + len(START) + len(_ZEROS))
_HEADER_LIMIT = 100_000_000  # bytes; the limit of safetensors
_DTYPES = {"I64": "<i8", "U8": "<u1", "F64": "<f8"}

Tensors = dict[str, NDArray[Any]]
Name = TypeVar("Name")
Value = TypeVar("Value")
Content = TypeVar("Content")


def pack(facts: Mapping[str, Any], tensors: Tensors) -> bytes:
    """Serialise facts (plain values, in order) and arrays."""
    header = {"sha256": _ZEROS, "format": FORMAT, "library": __version__, **facts}
    text = json_text(header)
    require(r"\ud" not in text or json.loads(text) == header, "a name with two halves of a surrogate pair")
    data = bytearray(safetensors.numpy.save(tensors, {"tallybayes": text}))
    require(int.from_bytes(data[:8], "little") <= _HEADER_LIMIT, "column names of more than 100 MB")
    assert data[8 : _DIGEST.start] == START, "safetensors has changed the form of its header"
    data[_DIGEST] = hashlib.sha256(data).hexdigest().encode()
    return bytes(data)


def unpack(data: bytes) -> tuple[dict[str, Any], Tensors]:
    """Parse the bytes of `pack`; a FileError or ValueError if they are damaged or something else."""
    header = _header(data)
    digest = hashlib.sha256(data[: _DIGEST.start] + _ZEROS.encode())
    digest.update(memoryview(data)[_DIGEST.stop :])
    if digest.hexdigest().encode() != data[_DIGEST]:
        raise FileError("checksum mismatch: the file is damaged")
    number = header.get("format")
    if type(number) is int and number > FORMAT:
        message = f"written in format {shorten(number)} by a newer version of tallybayes; this one reads up to {FORMAT}"
        raise FileError(message, hint="update tallybayes")
    if type(number) is not int or number < 1:
        raise FileError(f"an unknown format: {shorten(number)}")
    require(isinstance(header.get("library"), str), "the version of the library is missing")
    try:
        views = safetensors.deserialize(data)  # type: ignore[no-untyped-call]
    except safetensors.SafetensorError as error:
        raise ValueError(str(error)) from error
    first, tensors = ("sha256", "format", "library"), {name: _array(name, view) for name, view in views}
    require(tuple(header)[:3] == first, f"expected {', '.join(first)} first, got {shorten(list(header)[:3])}")
    require(safetensors.numpy.save(tensors, {"tallybayes": json_text(header)}) == data, "not as this library writes it")
    return _upgrade({k: v for k, v in header.items() if k not in first}, number), tensors


def read_content(
    data: bytes,
    kind: str,
    assemble: Callable[[dict[str, Any], Tensors], Content],
    *,
    name: str,
    what: str = "bytes are",
) -> Content:
    """What `assemble` makes of the facts and arrays of a kind of content; a FileError that names `name` for others."""
    try:
        facts, tensors = unpack(bytes(data))
        if (content := facts.get("content", "model")) != kind:
            raise FileError(f"expected a {kind}, got a {content if isinstance(content, str) else shorten(content)}")
        return assemble(facts, tensors)
    except FileError as error:
        raise error.at(file=name) from error.__cause__
    except (ValueError, TypeError, ArithmeticError, RecursionError, TallyError) as error:
        raise FileError(f"the {what} damaged or forged: {error}", file=name) from error


def _upgrade(facts: dict[str, Any], number: int) -> dict[str, Any]:
    """The facts of a file of format `number`; what is not as expected stays, and is refused where it is read."""
    if "schema" in facts and number < SCHEMA_FORMAT:  # schemas have the number of the file that holds them
        facts = facts | {"schema": upgrade_schema(facts["schema"], number)}
    if number < 2 and isinstance(sample := facts.get("sample"), dict) and "limit" in sample:
        facts = facts | {"sample": {"limit": sample["limit"], "if_rare": sample["limit"]}}
    return facts


def json_text(value: Any) -> str:
    """Return plain values as JSON, as it is written to files; equal texts are equal values of equal types in order."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _header(data: bytes) -> dict[str, Any]:
    """Parse the JSON of the header."""
    length, start = int.from_bytes(data[:8], "little"), data[8 : _DIGEST.start]
    if not START.startswith(start) or (not start and length > _HEADER_LIMIT):
        raise FileError("not a model file of tallybayes")
    if len(data) < _DIGEST.stop:
        raise FileError(f"the file is truncated: it has {len(data)} bytes")
    if length > _HEADER_LIMIT or 8 + length > len(data):
        raise FileError(f"the file is damaged or truncated: it has {len(data)} bytes and a header of {length}")
    outer = _parse(data[8 : 8 + length].decode("utf-8"))
    return _parse(object_of(outer.get("__metadata__"), "tallybayes")["tallybayes"])


def _array(name: str, view: Mapping[str, Any]) -> NDArray[Any]:
    require(view["dtype"] in _DTYPES, f"{name}: numbers of type {view['dtype']}")
    dtype = np.dtype(_DTYPES[view["dtype"]])
    return np.frombuffer(view["data"], dtype).astype(dtype.newbyteorder("="), copy=False).reshape(view["shape"])


def _parse(text: Any) -> dict[str, Any]:
    """Parse a JSON object with unique names and finite numbers."""
    require(isinstance(text, str), "a header that is not text")
    header = json.loads(text, object_pairs_hook=unique, parse_float=_finite, parse_constant=_finite)
    require(isinstance(header, dict), "a header that is not an object")
    return dict(header)


def _finite(text: str) -> float:
    number = float(text)
    require(math.isfinite(number), f"not a finite number: {shorten(text)}")
    return number


def unique(pairs: list[tuple[Name, Value]]) -> dict[Name, Value]:
    """Return pairs as a dict; a ValueError if a name is duplicate."""
    result = dict(pairs)
    require(len(result) == len(pairs), "a duplicate name")
    return result


def object_of(content: Any, *names: str) -> dict[str, Any]:
    """Return a JSON object, or raise a ValueError unless it has exactly these names.

    >>> object_of({"low": 1}, "low")
    {'low': 1}
    """
    require(isinstance(content, dict), f"expected {', '.join(names)}, got {shorten(content)}")
    require(content.keys() == set(names), f"expected {', '.join(names)}, got {shorten(list(content))}")
    return dict(content)
