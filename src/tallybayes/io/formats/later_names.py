"""What first comes below the first rows of JSON: names that no object had, and values of names that were always null.

DuckDB collects the names, in one pass over the rows; only objects that have such a value are read again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from tallybayes.doubts import Doubt
from tallybayes.io.formats.duckdb_connection import duckdb_errors, sql_text
from tallybayes.tables.nested_values import Path, divide_objects, path_name

__all__ = ["later_columns", "pointer", "too_many_names"]

_ROWS = 20_000  # objects that are read again at once
_ROUNDS = 5
_NAMES = 100  # names that are added
_ROOT = "$"


def pointer(path: Path) -> str:
    """A path as a JSON pointer."""
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)


def later_columns(
    query: Callable[[str], list[tuple[Any, ...]]], objects: str, known: dict[Path, Sequence[Any]]
) -> tuple[dict[Path, list[Any]], list[Path]]:
    """Values of columns by path that the first rows do not have, and the paths that are too many to be looked up.

    query: runs SQL; objects: the relation whose column json has the objects; known: the columns of the first rows.
    """
    try:
        empty = [path for path, values in known.items() if all(value is None for value in values)]
        new = list(_new_paths(query, objects, known.keys() - set(empty), set(empty)))
        wanted, too_many = [*empty, *new[:_NAMES]], new[_NAMES:]
        rows = _rows_with(query, objects, wanted)
    except duckdb_errors():  # it is read once more, and said then
        return {}, []
    values_of = {name: [row.get(name) for row in rows] for name in {path[0]: None for path in wanted}}
    found = {
        path: there
        for path, values in divide_objects(values_of).items()
        if any(path[: len(one)] == one for one in wanted) and (there := [one for one in values if one is not None])
    }
    return found, too_many


def _new_paths(
    query: Callable[[str], list[tuple[Any, ...]]], objects: str, known: Collection[Path], empty: Collection[Path]
) -> Iterator[Path]:
    """Paths that no column has: names of the objects themselves, and of the records in them."""
    paths = {*known, *empty}
    records = list(dict.fromkeys([(), *sorted(path[:i] for path in paths for i in range(1, len(path)))]))
    pointers = ", ".join(sql_text(pointer(path) or _ROOT) for path in records)
    names = f"SELECT unnest(range({len(records)})) AS place, unnest(json_keys(json, [{pointers}])) AS names"
    found = query(f"SELECT DISTINCT place, unnest(names) AS name FROM ({names} FROM {objects}) ORDER BY 1, 2")
    for place, name in found:
        path = (*records[place], name)
        if not any(one[: len(path)] == path for one in paths):
            yield path


def _rows_with(
    query: Callable[[str], list[tuple[Any, ...]]], objects: str, wanted: Sequence[Path]
) -> list[dict[str, Any]]:
    """Objects that have a value at some of the paths, until every path that has any has one."""
    rows: list[dict[str, Any]] = []
    left = list(wanted)
    for _ in range(_ROUNDS):
        if not left:
            break
        there = " OR ".join(f"coalesce(json_type(json, {sql_text(pointer(path))}), 'NULL') <> 'NULL'" for path in left)
        more = [json.loads(text) for (text,) in query(f"SELECT json FROM {objects} WHERE {there} LIMIT {_ROWS}")]
        rows += more
        if len(more) < _ROWS:
            break
        left = [path for path in left if not any(_has(row, path) for row in more)]
    return rows


def _has(row: Any, path: Path) -> bool:
    for name in path:
        row = row.get(name) if isinstance(row, dict) else None
    return row is not None


def too_many_names(paths: Sequence[Path], file: str, n_rows: int) -> Doubt | None:
    """That names are not read, if there are any.

    >>> print(too_many_names([("a",), ("b", "c")], "a.jsonl", 20_000))
    a.jsonl: 2 names that first come after 20,000 rows are not read, such as 'a'
    hint: a query reads all names: SELECT * FROM read_json('a.jsonl', sample_size=-1, map_inference_threshold=-1)
    """
    if not paths:
        return None
    text = f"{len(paths):,} names that first come after {n_rows:,} rows are not read, such as {path_name(paths[0])!r}"
    query = f"SELECT * FROM read_json({sql_text(file)}, sample_size=-1, map_inference_threshold=-1)"
    return Doubt("file", f"{file}: {text}", hint=f"a query reads all names: {query}")
