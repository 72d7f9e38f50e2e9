"""Nested values as columns: what an object holds is a column by its path, such as `location.address.state`.

A column of objects is divided if they are records: they hold texts, booleans, lists or objects; or there are 20 of
them or more, and nearly all have the same keys (`{"age": 26, "visits": 0}`); or fewer, all with the same keys, and a
number is negative. Objects of amounts whose keys differ (`{"good": 2}`, `{"bad": 1}`) are bags, and stay one column.
Lists stay lists. What is nested deeper than `DEPTH`, and objects nearly all of whose keys differ, stay as they are. A
model may name what the values alone would not say: `Table.with_names` looks names up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tallybayes.cells.arrow import pc
from tallybayes.errors import DataError
from tallybayes.tables.raw_values import is_missing, is_number

__all__ = ["DEPTH", "FIELDS", "Path", "divide_columns", "divide_objects", "path_name", "values_at"]

DEPTH = 6  # names of a path
FIELDS = 100  # of records that Arrow or DuckDB declare; a frame of bags has thousands
_KEYS, _SHARE = 50, 0.1  # more keys than this are a record only if an object has this share of them

_ALIKE = 20  # objects of numbers with the same keys that are records, whatever the numbers
_MOST = 0.9  # share of the objects that have the same keys, or of the keys that the objects have

Path = tuple[str, ...]


def path_name(path: Path) -> str:
    """The name of the column of a path."""
    return ".".join(path)


def divide_objects(columns: Mapping[str, Sequence[Any]]) -> dict[Path, Sequence[Any]]:
    """Columns of values by path, those of records divided.

    >>> divide_objects({"a": [{"b": "x", "c": {"d": True}}, None], "e": [{"one": 1}, {"two": 2}]})
    {('a', 'b'): ['x', None], ('a', 'c', 'd'): [True, None], ('e',): [{'one': 1}, {'two': 2}]}
    """
    result: dict[Path, Sequence[Any]] = {}
    for name, values in columns.items():
        for path, part in _divided((name,), values):
            if len(path) == 1 or path_name(path) not in columns:
                result[path] = part
    return result


def _divided(path: Path, values: Sequence[Any]) -> Iterator[tuple[Path, Sequence[Any]]]:
    if len(path) >= DEPTH or not _are_records(values):
        yield path, values
        return
    objects = [_by_text(value) if isinstance(value, Mapping) else {} for value in values]
    for key in dict.fromkeys(key for one in objects for key in one):
        yield from _divided((*path, key), [one.get(key) for one in objects])


def _are_records(values: Sequence[Any]) -> bool:
    """Whether values are objects whose keys are names of columns."""
    if not _may_hold_objects(values):
        return False
    there = [value for value in values if isinstance(value, Mapping) or not is_missing(value)]
    objects = [value for value in there if isinstance(value, Mapping)]
    keys = {key for one in objects for key in one}
    n_values = sum(map(len, objects))
    if (
        not keys
        or len(objects) * 2 < len(there)
        or (len(keys) > _KEYS and n_values < _SHARE * len(keys) * len(objects))
    ):
        return False
    numbers = [value for one in objects for value in one.values() if value is not None]
    if not all(is_number(value) and not isinstance(value, bool) for value in numbers):
        return True
    if len(objects) >= _ALIKE:
        return _have_same_keys(objects, keys)
    are_alike = n_values == len(keys) * len(objects) and len(keys) > 1 < len(objects)
    finite = [value for value in numbers if isinstance(value, int) or math.isfinite(value)]
    return are_alike and any(value < 0 for value in finite)


def _have_same_keys(objects: Sequence[Mapping[Any, Any]], keys: Collection[Any]) -> bool:
    """Whether objects of numbers have few keys, and nearly all the same: names, where other objects count tokens."""
    if len(keys) > _KEYS:
        return False
    if sum(map(len, objects)) >= _MOST * len(keys) * len(objects):
        return True
    return max(Counter(map(frozenset, objects)).values()) >= _MOST * len(objects)


def divide_columns(columns: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns by name, those of records divided; and the ones that were divided, as they were."""
    if not any(map(_may_hold_objects, columns.values())):
        return columns, {}
    result: dict[str, Any] = {}
    parts: dict[str, Any] = {}  # whose names are columns too: one row has them in an object, another by their path
    for name, raw in columns.items():
        for path, part in _divided_column(name, raw):
            is_new = len(path) == 1 or path_name(path) not in columns
            (result if is_new else parts)[path_name(path)] = part
    for name, part in parts.items():
        if isinstance(part, list) and isinstance(own := result.get(name), list):
            result[name] = [b if is_missing(a) else a for a, b in zip(own, part, strict=True)]
    return result, {name: raw for name, raw in columns.items() if name not in result}


def _may_hold_objects(raw: Any) -> bool:
    if isinstance(raw, list):
        return any(issubclass(kind, Mapping) for kind in set(map(type, raw)))
    return isinstance(raw, (pa.Array, pa.ChunkedArray)) and pa.types.is_struct(raw.type)


def _divided_column(name: str, raw: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        return _divided_struct((name,), raw)
    return _divided((name,), raw) if _may_hold_objects(raw) else iter([((name,), raw)])


def _divided_struct(path: Path, raw: Any) -> Iterator[tuple[Path, Any]]:
    names = [field.name for field in raw.type] if pa.types.is_struct(raw.type) else []
    if len(path) >= DEPTH or not 0 < len(names) <= FIELDS or len(set(names)) < len(names):
        yield path, raw
        return
    for place, field in enumerate(raw.type):
        yield from _divided_struct((*path, field.name), pc.struct_field(raw, [place]))


def values_at(columns: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The columns of some names that are paths into columns of objects; names that lead nowhere are absent.

    >>> values_at({"a": [{"b": {"c": 1}}, {}], "d": [2, 3]}, ["a.b.c", "d.e", "f.g"])
    {'a.b.c': [1, None]}
    """
    inner = [name for name in names if "." in name and name not in columns]
    objects = {name: raw for name, raw in columns.items() if _may_hold_objects(raw)} if inner else {}
    result = {}
    for name in inner:
        start = max((top for top in objects if name.startswith(f"{top}.")), key=len, default=None)
        if start is not None:
            raw = objects[start]
            values = raw.to_pylist() if hasattr(raw, "to_pylist") else raw
            result[name] = [_value_at(value, name[len(start) + 1 :]) for value in values]
    return result


def _by_text(value: Mapping[Any, Any]) -> Mapping[str, Any]:
    """An object whose keys are texts; an error if two of them are the same then."""
    if all(type(key) is str for key in value):
        return value
    result = {str(key): inner for key, inner in value.items()}
    if len(result) < len(value):
        raise DataError("keys of an object that differ as text", got=sorted(map(repr, value)))
    return result


def _value_at(value: Any, path: str) -> Any:
    """What an object holds at a path; keys may have dots themselves."""
    if not isinstance(value, Mapping):
        return None
    value = _by_text(value)
    if path in value:
        return value[path]
    for place, sign in enumerate(path):
        if sign == "." and (inner := _value_at(value.get(path[:place]), path[place + 1 :])) is not None:
            return inner
    return None
