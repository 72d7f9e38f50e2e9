"""Bodies of JSON, read strictly.

Refused are NaN and Infinity, numbers beyond the range of a double or of 64 bits, keys that occur twice in an object,
unpaired surrogates, values that are nested deeper than a limit, and more values than can be read while others wait:
the parser cannot be interrupted. `json` itself ends with a RecursionError long before the stack does, so that reading
first and measuring the depth afterwards is safe.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from tallybayes.errors import Described, shorten
from tallybayes.server.http.http_problem import HttpError

__all__ = ["MAX_DEPTH", "MAX_VALUES", "parse_json"]

MAX_DEPTH = 16  # the body, its rows, a row, a cell that is a list or a map: 4; some room for what others wrap around it
MAX_VALUES = 2**22  # in a body: about a second for the parser, 8 bytes for each in the largest body
_DEPTH, _DEEPER = f"JSON nested at most {MAX_DEPTH} levels deep", Described("deeper values")
_INTEGERS = range(-(2**63), 2**64)


def parse_json(body: bytes | str, *, line: int | None = None) -> Any:
    """A value of JSON; line: of a body of lines, the number of the line, from 1.

    >>> parse_json(b'{"rows": [{"age": 7}]}')
    {'rows': [{'age': 7}]}
    >>> parse_json(b'{"age": NaN}')
    Traceback (most recent call last):
        ...
    tallybayes.server.http.http_problem.HttpError: expected JSON, in which numbers are finite, got NaN
    """
    try:
        text = body if isinstance(body, str) else body.decode()
        _check_values(text)
        value = _DECODER.decode(text)
        if type(value) in (dict, list):
            _check(value, 1, "\\u" in text or "\\U" in text)
        return value
    except HttpError as error:
        raise HttpError(error.status, error.error.at(line=line)) from None
    except UnicodeDecodeError as error:
        got = Described(f"the byte 0x{error.object[error.start]:02x} at {error.start}")
        raise HttpError.of(400, "JSON in UTF-8", got=got, line=line) from None
    except RecursionError:
        raise HttpError.of(400, _DEPTH, got=_DEEPER, line=line) from None
    except json.JSONDecodeError as error:
        where = error.lineno if line is None else line
        got = Described(f"{error.msg[:1].lower()}{error.msg[1:]} at character {error.colno}")
        raise HttpError.of(400, "JSON", got=got, line=where) from None
    except ValueError:
        raise HttpError.of(400, "JSON with numbers of 64 bits", got=Described("a longer one"), line=line) from None


def _check(value: Any, depth: int, escapes: bool) -> None:
    """Refuse values that are nested too deep, and values that JSON can write and the model cannot take."""
    if depth > MAX_DEPTH:
        raise HttpError.of(400, _DEPTH, got=_DEEPER)
    if type(value) is dict:
        if escapes:
            for key in value:
                _check_text(key)
        value = value.values()
    for part in value:
        kind = type(part)
        if kind is str:
            if escapes:
                _check_text(part)
        elif kind is float:
            if not math.isfinite(part):
                raise HttpError.of(400, "JSON, in which numbers are finite", got=part)
        elif kind is int:
            if part not in _INTEGERS:
                raise HttpError.of(400, "integers of 64 bits", got=part)
        elif kind is dict or kind is list:
            _check(part, depth + 1, escapes)


def _check_values(text: str) -> None:
    """Refuse a text of too many values before it is parsed: each follows a comma or a bracket."""
    if len(text) > MAX_VALUES and (n := sum(map(text.count, ",[{"))) > MAX_VALUES:
        hint = "send fewer rows at a time, or rows as CSV, Arrow, Parquet or lines of JSON"
        got = Described(f"about {n:,}")
        raise HttpError.of(413, f"at most {MAX_VALUES:,} values of JSON", got=got, hint=hint)


def _check_text(text: str) -> None:
    """Refuse a single surrogate, which is not a character and cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise HttpError.of(400, "text in Unicode", got=Described("half of a surrogate pair")) from None


def _refuse_constant(name: str) -> NoReturn:
    raise HttpError.of(400, "JSON, in which numbers are finite", got=Described(name))


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        got = Described(f"{shorten(twice)} twice")
        raise HttpError.of(400, "keys that differ in an object of JSON", got=got)
    return result


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
