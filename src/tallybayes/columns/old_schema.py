"""Schemas of the first format, in which the reason of a column said what its status and its origin are now.

A file that `Schema.save` wrote has a format since the second one; a schema that a person wrote may have none, and its
columns then say what they have to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tallybayes.cells.date_format import DateFormat
from tallybayes.columns.column_spec import Origin, Status
from tallybayes.errors import ParameterError

__all__ = ["SCHEMA_FORMAT", "upgraded_schema"]

SCHEMA_FORMAT = 2  # of a saved schema
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


def upgraded_schema(given: Any) -> Any:
    """The content of a saved schema, as the present format has it.

    >>> upgraded_schema({"label": "y", "columns": {"a": {"family": None, "reason": "no values yet"}}})["columns"]
    {'a': {'family': None, 'reason': 'no values yet', 'status': 'no values yet'}}
    """
    if not isinstance(given, Mapping) or not isinstance(given.get("columns"), Mapping):
        return given
    if "format" not in given:
        inputs = set(_inputs(given["columns"]))
        columns = {name: _upgraded(facts, is_input=name in inputs) for name, facts in given["columns"].items()}
        return {**given, "columns": columns}
    if given["format"] != SCHEMA_FORMAT:
        raise ParameterError(f"a schema of format {SCHEMA_FORMAT}", got=given["format"])
    return {name: value for name, value in given.items() if name != "format"}


def _inputs(columns: Mapping[str, Any]) -> Iterator[Any]:
    """The names of the inputs of derived columns."""
    for facts in columns.values():
        inputs = facts.get("inputs") if isinstance(facts, Mapping) else None
        for own in inputs if isinstance(inputs, list) else ():
            if isinstance(own, Mapping):
                yield own.get("column")


def _upgraded(given: Any, *, is_input: bool) -> Any:
    """The facts of a column with its status and origin, if they are not usual, after family and reason."""
    if not isinstance(given, Mapping) or not isinstance(reason := given.get("reason"), str) or "status" in given:
        return given
    family, found = given.get("family"), dict[str, Any]()
    known = reason.removeprefix("new column; ")
    if family is None:
        found["status"] = _first(_STATUS, known, Status.INPUT if is_input else Status.BY_USER).value
    origin = _first(_ORIGIN, reason, Origin.INFERRED)
    if origin is Origin.BY_TYPE and (family is None or DateFormat.is_text(family)):
        origin = Origin.INFERRED
    found |= {"origin": origin.value} if origin is not Origin.INFERRED else {}
    rest = {name: value for name, value in given.items() if name not in ("family", "reason")}
    bits = {"only_bits": True} if family == "bernoulli" and reason == "only 0 and 1" else {}
    last = {"selected_on": rest.pop("selected_on")} if "selected_on" in rest else {}
    return {"family": family, "reason": reason, **found, **rest, **bits, **last}


def _first(rules: list[tuple[str, Any]], reason: str, usual: Any) -> Any:
    return next((found for pattern, found in rules if re.match(pattern, reason)), usual)
