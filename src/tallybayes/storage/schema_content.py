"""Schema and settings of a model as JSON facts, and back; families by their string form, labels by their text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tallybayes.cells.date_format import DateFormat
from tallybayes.columns.readers.reader_registry import reader_from_dict
from tallybayes.columns.schema import Schema
from tallybayes.errors import FileError, shorten
from tallybayes.families import FAMILIES, Family, parse
from tallybayes.state.option_domains import (
    CLASS_PRIOR,
    CLASS_WEIGHTS,
    COLUMN_PRIORS,
    FAMILY,
    STRENGTH,
    STRENGTHS,
    Domain,
)
from tallybayes.state.options import SETTINGS
from tallybayes.state.prior_values import Dirichlet
from tallybayes.state.settings import FITTED, Settings
from tallybayes.storage.container import object_of, unique
from tallybayes.storage.fitted_settings import fitted_from_json, fitted_to_json
from tallybayes.storage.keys import key_text, text_key
from tallybayes.storage.prior_content import prior_from_json, prior_to_json
from tallybayes.tally.exact import require

__all__ = ["family_of", "family_text", "schema_from_json", "schema_to_json", "settings_from_json", "settings_to_json"]

_ALWAYS = {"smoothing", "numeric", "class_prior", "class_smoothing", "estimate", "unseen"}  # others: if not default
_STORED = {"class_prior": "prior", "class_smoothing": "prior_smoothing"}  # keys in files that differ from the option


def family_text(family: Family) -> str:
    """The canonical string form of a family."""
    require(family.name in FAMILIES, f"the family {family} is not registered; see tallybayes.register_family")
    again = parse(str(family))
    require(again == family, f"the family {family!r} is not determined by its string form")
    return str(again)


def family_of(text: Any) -> Family:
    """The family of a string form; a FileError with a hint if it is unknown."""
    require(isinstance(text, str), f"a family that is not text: {shorten(text)}")
    if (name := text.partition(":")[0]) not in FAMILIES:
        hint = "register it before loading: tallybayes.register_family(TheFamily)"
        raise FileError(f"the file uses the unknown family {shorten(name)}", hint=hint)
    return parse(text)


def schema_to_json(schema: Schema) -> dict[str, Any]:
    """A schema as plain values."""
    content, texts = schema.to_dict(), {family: family_text(family) for family in set(schema.families.values())}
    for name, family in schema.families.items():
        content["columns"][name]["family"] = texts[family]
    return content


def schema_from_json(content: Any) -> Schema:
    """The inverse of `schema_to_json`, every value checked."""
    require(isinstance(content, dict) and isinstance(content.get("columns"), dict), "a schema without columns")
    texts = [_column_facts(column)["family"] for column in content["columns"].values()]
    for text in dict.fromkeys(text for text in texts if isinstance(text, str) and not DateFormat.is_text(text)):
        family_of(text)  # raises an error with a hint if it is unknown
    schema = Schema.from_dict(content)
    inputs = {column_input.column for spec in schema.columns.values() for column_input in spec.reader.inputs}
    unknown = sorted(inputs - schema.columns.keys())
    require(not unknown, f"inputs that are not columns: {shorten(unknown)}")
    return schema


_FACTS = ("status", "origin", "reader", "selected_on")


def _column_facts(content: Any) -> dict[str, Any]:
    """The family and the reason of a column, and the other facts that are written only where there are any."""
    more = [name for name in _FACTS if isinstance(content, dict) and name in content]
    facts = object_of(content, "family", "reason", *more)
    if "reader" in more:
        reader = facts["reader"]
        require(reader_from_dict(reader).to_dict() == reader, f"the reader of a column: {shorten(reader)}")
    return facts


def settings_to_json(settings: Settings) -> dict[str, Any]:
    """Settings as plain values."""
    facts = {}
    for name, option in SETTINGS.items():
        value = getattr(settings, name)
        if name in _ALWAYS or value != option.default:
            facts[_STORED.get(name, name)] = _option_to_json(option.domain, value)
    return facts | fitted_to_json(settings)


def settings_from_json(content: Any) -> Settings:
    """The inverse of `settings_to_json`, every value checked."""
    keys = {name: _STORED.get(name, name) for name in (*SETTINGS, *FITTED)}
    present = [name for name in keys if name in _ALWAYS or (isinstance(content, dict) and keys[name] in content)]
    facts = object_of(content, *(keys[name] for name in present))
    settings = [name for name in present if name in SETTINGS]
    options = {name: _option_from_json(SETTINGS[name].domain, facts.pop(keys[name])) for name in settings}
    return Settings(**options, **fitted_from_json(facts))


def _option_to_json(domain: Domain, value: Any) -> Any:
    """The value of an option as JSON, by its domain."""
    if domain is FAMILY:
        return family_text(value)
    if domain is COLUMN_PRIORS:
        return {name: prior_to_json(prior) for name, prior in sorted((value or {}).items())}
    if isinstance(value, Dirichlet):
        return prior_to_json(value)
    if domain in (CLASS_PRIOR, CLASS_WEIGHTS) and isinstance(value, Mapping):
        return sorted([key_text(label), p] for label, p in value.items())
    if domain is STRENGTHS and isinstance(value, Mapping):
        return {name: _strength_to_json(k) for name, k in sorted(value.items())}
    return _strength_to_json(value) if domain in (STRENGTH, STRENGTHS) else value


def _option_from_json(domain: Domain, value: Any) -> Any:
    """The inverse of `_option_to_json`; the domain checks what it returns."""
    if domain is FAMILY:
        return family_of(value)
    if domain is COLUMN_PRIORS:
        require(isinstance(value, dict), f"priors of columns: {shorten(value)}")
        return {name: prior_from_json(prior) for name, prior in value.items()}
    if domain is CLASS_PRIOR and isinstance(value, dict):
        return prior_from_json(value)
    if domain in (CLASS_PRIOR, CLASS_WEIGHTS):
        what = "a prior" if domain is CLASS_PRIOR else "class weights"
        require(isinstance(value, (str, list)), f"{what}: {shorten(value)}")
        if isinstance(value, str):
            return value
        require(all(isinstance(pair, list) and len(pair) == 2 for pair in value), f"{what}: not a list of pairs")
        require(all(isinstance(c, str) and type(p) is float for c, p in value), f"{what}: no labels or numbers")
        return unique([(text_key(c), p) for c, p in value])
    if domain is STRENGTHS and isinstance(value, dict):
        return {name: _strength_from_json(k) for name, k in value.items()}
    return _strength_from_json(value) if domain in (STRENGTH, STRENGTHS) else value


def _strength_to_json(k: float | str) -> float | str:
    """A strength of smoothing; JSON has no infinity."""
    return "inf" if k == math.inf else k


def _strength_from_json(value: Any) -> Any:
    require(type(value) is float or value in ("auto", "inf"), f"a strength of smoothing: {shorten(value)}")
    return math.inf if value == "inf" else value
