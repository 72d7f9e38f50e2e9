"""What JSON holds that is no cell of a table: lists of objects, objects that are nested too deep or irregular.

It is not read, and said, with the query that reaches it. The same in cells of a file of text is read as text, and said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tallybayes.cells.arrow import pc
from tallybayes.doubts import Doubt, ignored
from tallybayes.errors import shorten
from tallybayes.io.formats.duckdb_connection import sql_name, sql_text
from tallybayes.tables.nested_values import DEPTH, Path, path_name
from tallybayes.tables.raw_values import is_number

__all__ = ["mixed_doubt", "objects_in_text", "unread_doubt"]

_OBJECT = r"""(?s)^\s*(?P<list>\[)?\s*\{\s*(?P<quote>["'])(?P<key>[^"']+)["']\s*:.*\}\s*\]?\s*$"""  # or a list of some
_EMPTY = r"^\s*(\[\s*\]|\{\s*\})\s*$"
_MOST = 0.9  # share of the cells that are such, from which a column is one of them
_SOME = 1000  # cells that are looked at


def unread_doubt(path: Path, values: Sequence[Any], file: str, source: str | None = None) -> Doubt | None:
    """That a column of nested values is not read, if it holds what is no cell.

    source: what a query is from, of a file that is not JSON; "": no query can read it.
    """
    found = _unread(path, values)
    if found is None:
        return None
    text, reached = found
    hint = f"{ignored(path_name(path))} leaves it out"
    if source != "":
        is_whole = len(path) == 1  # a part of a record cannot be left out by a query
        others = f"* EXCLUDE ({_name(path[0])})" if is_whole else "*"
        query = f"SELECT {others}, {reached} FROM {source or f'read_json({sql_text(file)})'}"
        hint = f"{'' if is_whole else f'{hint}; '}a query as the data reaches it: {query}"
    return Doubt("file", f"{file}: {text}", path_name(path), hint)


def _unread(path: Path, values: Sequence[Any]) -> tuple[str, str] | None:
    """What is not read, in words, and how a query reaches it."""
    there = [value for value in values if value is not None]
    objects = [value for value in there if isinstance(value, Mapping)]
    items = [item for value in there if isinstance(value, list) for item in value if isinstance(item, (Mapping, list))]
    if items:
        records = [item for item in items if isinstance(item, Mapping)]
        if not records:
            deeper = max(map(_depth, items))
            reached = f"{'flatten(' * deeper}{_reached(path)}{')' * deeper} AS {_alias(path, 'values')}"
            return "lists of lists are not read", reached
        key = next((key for item in records for key in item), None)
        item = "item" if key is None else f"item.{_name(str(key))}"
        reached = f"[{item} for item in {_reached(path)}] AS {_alias(path, key)}"
        return "lists of objects are not read", reached
    if objects and not _are_amounts(objects):
        if len(path) < DEPTH:
            reached = f"json_keys({_reached(path)}::JSON) AS {_alias(path, 'keys')}"
            return "objects whose keys nearly all differ are not read", reached
        key = next((key for value in objects for key in value), None)
        reached = f"{_reached(path if key is None else (*path, str(key)))} AS {_alias(path, key)}"
        return f"what is nested more than {DEPTH} levels deep is not read", reached
    return None


def _depth(value: Any, most: int = DEPTH) -> int:
    """How many lists are within each other, at most so many."""
    return 1 + max((_depth(item, most - 1) for item in value), default=0) if isinstance(value, list) and most else 0


def _are_amounts(objects: Sequence[Mapping[Any, Any]]) -> bool:
    """Whether objects are bags, which are read."""
    return all(value is None or is_number(value) for one in objects for value in one.values())


def _reached(path: Path) -> str:
    """A path in SQL."""
    return ".".join(map(_name, path))


def _name(name: str) -> str:
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else sql_name(name)


def _alias(path: Path, key: Any) -> str:
    """A name for what a query gives."""
    return re.sub(r"\W+", "_", "_".join([path[-1], *([] if key is None else [str(key)])])).lower()


def objects_in_text(name: str, cells: Any, file: str) -> Doubt | None:
    """That cells of text are objects of JSON or Python, or lists of them; cells: an Arrow array without missing words.

    >>> import pyarrow as pa
    >>> print(objects_in_text("genres", pa.array(["[{'id': 28, 'name': 'Action'}]", "[]"]), "a.csv").text)
    a.csv: lists of objects were read as text
    """
    there = cells[:_SOME].drop_null()
    there = there.filter(pc.invert(pc.match_substring_regex(there, _EMPTY)))
    parts = pc.extract_regex(there, _OBJECT).drop_null()
    if not len(parts) or len(parts) < _MOST * len(there):
        return None
    is_list, quote, first_key = (parts[0].as_py()[group] for group in ("list", "quote", "key"))
    of_text = re.search(r"""["']([^"']+)["']\s*:\s*["']""", there[0].as_py())
    key = first_key if of_text is None else of_text[1]
    text = _name(name)
    if quote == "'":
        text = f"""replace({text}, '\'\'', '"')"""
    path = sql_text(f"${'[*]' if is_list else ''}.{_name(key)}")
    reached = f"json_extract_string(TRY_CAST({text} AS JSON), {path}) AS {_alias((name,), key)}"
    query = f"SELECT * EXCLUDE ({_name(name)}), {reached} FROM {sql_text(file)}"
    what = "lists of objects" if is_list else "objects"
    return Doubt("file", f"{file}: {what} were read as text", name, f"a query as the data divides them: {query}")


def mixed_doubt(name: str, values: Sequence[Any], file: str) -> Doubt | None:
    """That some values are no objects or lists though most are, or the other way round: such values may be lost.

    >>> print(mixed_doubt("meta", [{"k": 1}, "none", {"k": 2}], "a.json"))
    column 'meta': a.json: 1 value is not an object like the others, such as 'none', and may be read as missing
    hint: ignore=['meta'] (--ignore meta) leaves it out
    >>> print(mixed_doubt("tags", [["a", "b"], "a", ["b"]], "a.json").text)
    a.json: 1 value is not a list like the others, such as 'a', and is read as a list of one value
    """
    shapes = Counter(_shape(value) for value in values if value is not None)
    if len(shapes) < 2:
        return None
    (usual, n_usual), *_ = shapes.most_common()
    n = shapes.total() - n_usual
    example = shorten(next(value for value in values if value is not None and _shape(value) != usual))
    verb = "value is" if n == 1 else "values are"
    how = "may be read as missing"
    if usual == "a list" and "a single value" in shapes:
        how = "is read as a list of one value" if n == 1 else "are read as lists of one value"
    text = f"{n:,} {verb} not {usual} like the others, such as {example}, and {how}"
    return Doubt("odd cells", f"{file}: {text}", name, f"{ignored(name)} leaves it out")


def _shape(value: Any) -> str:
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a single value"
