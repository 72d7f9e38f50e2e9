"""Schemas of earlier formats, as the present one has them.

1   the reason of a column said what its status and its origin are now
2   what its reader is now was written in facts of the column: format, key_form, part, inputs, whole, only_bits

A file that `Schema.save` wrote has a format since the second one; a schema that a person wrote may have none, and its
columns then say what they have to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tallybayes.cells.date_format import DateFormat
from tallybayes.columns.column_spec import Origin, Status
from tallybayes.columns.readers.reader_registry import reader_for
from tallybayes.errors import ParameterError
from tallybayes.families import parse

__all__ = ["SCHEMA_FORMAT", "upgrade_schema"]

SCHEMA_FORMAT = 3  # of a saved schema
_STATUS = [  # the reasons of columns without a family
    (r"no values yet", Status.UNDECIDED),
    (r"excluded by the user", Status.BY_USER),
    (r"input of ", Status.INPUT),
    (r"not in the schema", Status.NOT_IN_SCHEMA),
    (r"identifier: (consecutive integers|[0-9,]+ distinct (whole numbers|codes))", Status.NUMBER_IDENTIFIER),
    (r"identifier: ", Status.IDENTIFIER),
    (r"origin of the row", Status.ROW_ORIGIN),
    (r"date of a mail", Status.MAIL_DATE),
    (r".*, all the same$", Status.SAME_DATE),
    (r"nested values", Status.NESTED),
    (r".*ha(s|ve) no family", Status.NO_FAMILY),
    (r".*(by|of) tuning", Status.BY_TUNING),
]
_ORIGIN = [
    (r"new column; ", Origin.NEW),
    (r"specified by the user", Origin.SPECIFIED),
    (r".*(found|selected) by tuning", Origin.TUNED),
    (r".*, no values yet$", Origin.BY_TYPE),
]


def upgrade_schema(schema: Any, number: int | None = None) -> Any:
    """The content of a saved schema, as the present format has it; number: of its format, if it is not in it.

    >>> upgrade_schema({"label": "y", "columns": {"a": {"family": None, "reason": "no values yet"}}})["columns"]
    {'a': {'family': None, 'reason': 'no values yet', 'status': 'no values yet'}}
    >>> upgrade_schema({"format": 2, "columns": {"b": {"family": "histogram", "whole": True}}})["columns"]
    {'b': {'family': 'histogram', 'reader': {'kind': 'number', 'whole': True}}}
    """
    if not isinstance(schema, Mapping) or not isinstance(schema.get("columns"), Mapping):
        return schema
    number = schema.get("format", 1) if number is None else number
    if number not in range(1, SCHEMA_FORMAT + 1):
        raise ParameterError(f"a schema of format {SCHEMA_FORMAT} or less", got=number)
    columns = schema["columns"]
    if number < 2:
        inputs = set(_inputs(columns))
        columns = {name: _with_status(facts, is_input=name in inputs) for name, facts in columns.items()}
    if number < 3:
        columns = {name: _with_reader(facts) for name, facts in columns.items()}
    return {name: value for name, value in schema.items() if name != "format"} | {"columns": columns}


def _inputs(columns: Mapping[str, Any]) -> Iterator[Any]:
    """The names of the inputs of derived columns."""
    for facts in columns.values():
        inputs = facts.get("inputs") if isinstance(facts, Mapping) else None
        for cell_input in inputs if isinstance(inputs, list) else ():
            if isinstance(cell_input, Mapping):
                yield cell_input.get("column")


def _with_status(facts: Any, *, is_input: bool) -> Any:
    """The facts of a column with its status and origin, if they are not usual, after family and reason."""
    if not isinstance(facts, Mapping) or not isinstance(reason := facts.get("reason"), str) or "status" in facts:
        return facts
    family, new = facts.get("family"), dict[str, Any]()
    known = reason.removeprefix("new column; ")
    if family is None:
        new["status"] = _first(_STATUS, known, Status.INPUT if is_input else Status.BY_USER).value
    origin = _first(_ORIGIN, reason, Origin.INFERRED)
    if origin is Origin.BY_TYPE and (family is None or DateFormat.is_text(family)):
        origin = Origin.INFERRED
    new |= {"origin": origin.value} if origin is not Origin.INFERRED else {}
    rest = {name: value for name, value in facts.items() if name not in ("family", "reason")}
    bits = {"only_bits": True} if family == "bernoulli" and reason == "only 0 and 1" else {}
    last = {"selected_on": rest.pop("selected_on")} if "selected_on" in rest else {}
    return {"family": family, "reason": reason, **new, **rest, **bits, **last}


def _first(rules: list[tuple[str, Any]], reason: str, usual: Any) -> Any:
    return next((value for pattern, value in rules if re.match(pattern, reason)), usual)


def _with_reader(facts: Any) -> Any:
    """The facts of a column with its reader, if that is not the usual one of its family."""
    if not isinstance(facts, Mapping) or "reader" in facts:
        return facts
    if "inputs" in facts:
        reader: dict[str, Any] = {"kind": "cells", "inputs": facts["inputs"]}
    else:
        reader = {"kind": _kind(facts)} | {new: facts[old] for old, new in _READER_FACTS.items() if old in facts}
        if reader["kind"] != "number":
            reader.pop("whole", None)
        if isinstance(part := facts.get("part"), Mapping):
            reader = {"kind": "date_part", **part, "values": reader}
    facts = {name: value for name, value in facts.items() if name not in (*_READER_FACTS, "inputs", "part")}
    if len(reader) == 1:
        return facts
    last = {"selected_on": facts.pop("selected_on")} if "selected_on" in facts else {}
    return {**facts, "reader": reader, **last}


_READER_FACTS = {"format": "format", "key_form": "form", "whole": "whole", "only_bits": "only_bits"}


def _kind(facts: Mapping[str, Any]) -> str:
    """The kind of reader that a column of the second format had: that of its family, or what its facts tell."""
    text = facts.get("family")
    if isinstance(text, str) and not DateFormat.is_text(text):
        try:
            return reader_for(parse(text)).kind
        except ParameterError:  # a family that is not known: reading the schema says so
            return "number"
    part = facts.get("part")
    if "key_form" in facts or (isinstance(part, Mapping) and part.get("part") not in ("elapsed", "year")):
        return "key"
    return "flag" if "only_bits" in facts else "number"
