"""A plan to count rows as bytes, in the container of the model file.

content             "plan"
schema, settings    as in a model file
label, weight       names of columns
learns, draws       whether documents are sampled, and whether rows are
labels, keys        the classes of a model that exists already, and one category of each of its columns, as texts
"""

from __future__ import annotations

from typing import Any

from tallybayes.arrays.column import Codes
from tallybayes.errors import FileError, shorten
from tallybayes.state.counting import CountingPlan
from tallybayes.storage.container import Tensors, object_of, pack, read_content, unique
from tallybayes.storage.keys import key_text, text_key
from tallybayes.storage.schema_content import schema_from_json, schema_to_json, settings_from_json, settings_to_json
from tallybayes.tally.exact import require

__all__ = ["plan_from_bytes", "plan_to_bytes"]

_NAMES = ("content", "schema", "settings", "label", "weight", "learns", "draws", "labels", "keys")


def plan_to_bytes(plan: CountingPlan, *, draws: bool) -> bytes:
    """Serialise a plan; draws: whether a sample of the rows is drawn. Label and weight must be names of columns."""
    columns = [name for name, family in plan.schema.families.items() if family.column is Codes]
    keys = {name: plan.key_of(name) for name in columns}
    try:
        facts = {
            "content": "plan",
            "schema": schema_to_json(plan.schema),
            "settings": settings_to_json(plan.settings),
            "label": plan.label,
            "weight": plan.weight,
            "learns": plan.learns,
            "draws": draws,
            "labels": [key_text(label) for label in plan.labels],
            "keys": [[name, key_text(key)] for name, key in keys.items() if key is not None],
        }
        return pack(facts, {})
    except ValueError as error:
        raise FileError(f"the plan cannot be written: {error}") from error


def plan_from_bytes(data: bytes) -> tuple[CountingPlan, bool]:
    """The plan, and whether a sample of the rows is drawn; a FileError for bytes that `plan_to_bytes` did not write."""
    return read_content(data, "plan", _assemble, name="plan")


def _assemble(facts: dict[str, Any], tensors: Tensors) -> tuple[CountingPlan, bool]:
    object_of(facts, *_NAMES)
    require(not tensors, "unexpected arrays")
    for name in ("learns", "draws"):
        require(type(facts[name]) is bool, f"{name} is {shorten(facts[name])}")
    require(isinstance(facts["label"], str) and isinstance(facts["weight"], str | None), "no label")
    texts, pairs = facts["labels"], facts["keys"]
    require(isinstance(texts, list) and all(isinstance(text, str) for text in texts), "labels that are not text")
    require(
        isinstance(pairs, list)
        and all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair) for pair in pairs
        ),
        "keys that are not text",
    )
    keys = unique([(name, text_key(text)) for name, text in pairs])
    plan = CountingPlan(
        schema_from_json(facts["schema"]),
        settings_from_json(facts["settings"]),
        facts["label"],
        facts["weight"],
        facts["learns"],
        [text_key(text) for text in texts],
        keys.get,
    )
    return plan, facts["draws"]
