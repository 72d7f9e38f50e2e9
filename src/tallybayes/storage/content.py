"""The content of a model file: the state of a model as JSON facts and named arrays.

    schema, settings    JSON objects; families by their string form, labels by their text (`storage/keys.py`)
    total               labels, class_rows, and a block for every family with counts: the numbers of its columns that
                        have any (block0.columns), and the canonical arrays of its tally (block0.x, ...)
    written             instead of total, for given probabilities: values and log probabilities of every column
                        (column0.values, column0.log_p, ...)

Equal statistics, schema and settings give equal facts and arrays. Reading trusts nothing: the family determines which
arrays are required, sizes are taken from the arrays themselves, and sums that no rows can have are an error. So a
forged file cannot crash a program, exhaust its memory or produce NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import rough_kind, sort_keys
from tallybayes.arrays.column import Codes
from tallybayes.data.date_format import DateFormat
from tallybayes.data.encode import empty_column
from tallybayes.data.schema import Field, Schema
from tallybayes.errors import FileError, shorten
from tallybayes.families import FAMILIES, Family, parse
from tallybayes.state.given_probabilities import GivenProbabilities, GivenTables
from tallybayes.state.model_state import ModelState
from tallybayes.state.option_domains import CLASS_PRIOR, FAMILY, STRENGTH, STRENGTHS, Domain
from tallybayes.state.options import SETTINGS
from tallybayes.state.settings import Settings
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.storage.container import Tensors, object_of, unique
from tallybayes.storage.fitted_settings import FITTED, fitted_from_json, fitted_to_json
from tallybayes.storage.keys import key_text, pack_keys, text_key, unpack_keys
from tallybayes.tally import Exact, Tally
from tallybayes.tally.exact import check_amounts, require
from tallybayes.tally.tally import Arrays

__all__ = ["assemble", "serialise"]

_LABELS = {"text", "number", "boolean", "bytes"}
_CLASSES = 2**24  # the limit of the cells of `tally.Counts`
_CHUNK = 2**18  # digits compared at a time
_ALWAYS = {"smoothing", "numeric", "prior", "prior_smoothing", "estimate", "unseen"}  # others: if not default


def serialise(state: ModelState) -> tuple[dict[str, Any], Tensors]:
    """Return the facts and arrays of a state; a ValueError if a key or family cannot be written."""
    facts = {
        "schema": _schema_to_json(state.schema),
        "settings": _settings_to_json(state.settings),
        "skipped": state.skipped,
    }
    tensors: Tensors = {}
    if state.given is None:
        return facts | {"total": _write_total(tensors, state.statistics, state.schema)}, tensors
    for i, (values, log_p) in enumerate(state.given.tables.tables):
        tensors[f"column{i}.log_p"] = np.ascontiguousarray(log_p)
        _write_keys(tensors, f"column{i}.values", values)
    return facts | {"written": True}, tensors


def assemble(facts: dict[str, Any], tensors: Tensors) -> ModelState:
    """Return the state from facts and arrays; a ValueError or FileError if they are not those of a model."""
    content = "written" if "written" in facts else "total"
    object_of(facts, "schema", "settings", "skipped", content)
    schema, settings = _schema_from_json(facts["schema"]), _settings_from_json(facts["settings"])
    require(
        type(skipped := facts["skipped"]) is int and 0 <= skipped < 2**63,
        f"the number of skipped rows is {shorten(skipped)}",
    )
    left, prior = dict(tensors), settings.prior
    if content == "total":
        statistics = _read_total(left, facts["total"], schema)
        require(not isinstance(prior, Mapping) or set(statistics.labels) <= prior.keys(), "labels without a prior")
        state = ModelState(schema, settings, statistics, skipped)
    else:
        require(facts["written"] is True and isinstance(prior, Mapping) and prior, "no class prior")
        given = _read_written(left, schema, dict(prior))
        state = ModelState(schema, settings, skipped=skipped, given=given)
    require(not left, f"unexpected arrays: {shorten(sorted(left))}")
    return state


# Sums


def _write_total(tensors: Tensors, total: SufficientStatistics, schema: Schema) -> dict[str, Any]:
    total = total.aligned(total.in_use())
    _write_keys(tensors, "labels", total.labels)
    class_rows = total.class_rows.trimmed()
    tensors["class_rows"] = class_rows.digits
    blocks: list[dict[str, Any]] = []
    names = _names_by_family(schema)
    for text, family in sorted((_family_text(family), family) for family in total.blocks):
        arrays = total.blocks[family].arrays()
        if not arrays.features:
            continue
        block, index = f"block{len(blocks)}", {name: i for i, name in enumerate(names[family])}
        tensors[f"{block}.columns"] = np.array([index[name] for name in arrays.features], np.int64)
        tensors |= {f"{block}.{name}": sums.digits for name, sums in arrays.sums.items()}
        tensors |= {f"{block}.{name}": places for name, places in arrays.places.items()}
        for name, keys in arrays.keys.items():
            _write_keys(tensors, f"{block}.{name}", keys)
        blocks.append({"family": text, "low": {name: sums.low for name, sums in sorted(arrays.sums.items())}})
    return {"low": class_rows.low, "blocks": blocks}


def _read_total(tensors: Tensors, given: Any, schema: Schema) -> SufficientStatistics:
    facts = object_of(given, "low", "blocks")
    labels = _read_keys(tensors, "labels")
    require(len(labels) < _CLASSES and len(set(labels)) == len(labels), "duplicate labels")
    require(sort_keys(labels) == labels, "labels out of order")
    require(
        len(kinds := {rough_kind(label) for label in labels}) <= 1 and kinds <= _LABELS, "labels of different types"
    )
    class_rows = _read_sums(tensors, "class_rows", facts["low"])
    require(class_rows.shape == (len(labels),) and class_rows.nonzero().all(), "labels without rows")
    check_amounts(class_rows, "class_rows")
    require(isinstance(facts["blocks"], list), "blocks that are not a list")
    blocks: dict[Family, Tally] = {}
    names, before = _names_by_family(schema), ""
    for i, one in enumerate(facts["blocks"]):
        block = object_of(one, "family", "low")
        family = _family(block["family"])
        require(before < block["family"] == _family_text(family), "families out of order")
        before, own = block["family"], names.get(family, [])
        columns = _take(tensors, f"block{i}.columns", np.int64)
        require(columns.ndim == 1 and len(columns) and len(labels), f"{family.name}: no columns")
        require(columns[0] >= 0 and columns[-1] < len(own) and (np.diff(columns) > 0).all(), f"{family.name}: columns")
        features = tuple(own[j] for j in columns.tolist())
        like = _empty_tally(family, [schema.fields[name] for name in features])
        blocks[family] = _read_tally(tensors, f"block{i}", family, like, features, len(labels), block["low"])
        _check_rows(class_rows, blocks[family].rows_seen(), family)
    return SufficientStatistics(labels, class_rows, blocks)


def _empty_tally(family: Family, fields: list[Field]) -> Tally:
    """A tally without any rows; of derived columns, with the cells of their inputs."""
    sizes = {field.name: tuple(own.n_cells for own in field.inputs) for field in fields if field.inputs} or {"": ()}
    columns = [empty_column(family.column, 0, own) for own in sizes.values()]
    tally: Tally = family.observe(tuple(sizes), columns, np.zeros(0, np.int32), 1, None)
    return tally


def _read_tally(
    tensors: Tensors, block: str, family: Family, like: Tally, features: tuple[str, ...], n_classes: int, given: Any
) -> Tally:
    """Read a tally; its type and arrays are determined by the family, not by the file."""
    required: Arrays = like.arrays()
    low = object_of(given, *required.sums)
    arrays = Arrays(
        features,
        {name: _read_sums(tensors, f"{block}.{name}", low[name]) for name in required.sums},
        {name: _take(tensors, f"{block}.{name}", np.int64) for name in required.places},
        {name: _read_keys(tensors, f"{block}.{name}") for name in required.keys},
    )
    try:
        tally: Tally = type(like).from_arrays(arrays, n_classes, like)
    except ValueError as error:
        raise ValueError(f"{family.name}: {error}") from error
    return tally


def _check_rows(class_rows: Exact, seen: Exact, family: Family) -> None:
    """Raise if a column has more values in a class than the class has rows; in chunks of columns, to save memory."""
    step = max(1, _CHUNK // class_rows.digits.size)
    for start in range(0, len(seen), step):
        left = class_rows[None] - seen[start : start + step]
        require(not left.negative().any(), f"{family.name}: more values than rows")


def _read_written(tensors: Tensors, schema: Schema, prior: dict[Any, float]) -> GivenProbabilities:
    classes, features = sort_keys(prior), tuple(schema.families)
    require(len({rough_kind(label) for label in classes}) == 1, "labels of different types")
    tables = []
    for i, (name, family) in enumerate(schema.families.items()):
        require(family.column is Codes, f"column {name!r}: not a table of categories")
        values = _read_keys(tensors, f"column{i}.values")
        require(
            len(set(values)) == len(values) and sort_keys(values) == values, f"column {name!r}: values out of order"
        )
        log_p = _take(tensors, f"column{i}.log_p", np.float64)
        require(
            log_p.shape == (len(values), len(classes)), f"column {name!r}: expected one probability per value and class"
        )
        p = np.exp(np.where(log_p < 1e-8, log_p, np.nan))
        require((np.abs(p.sum(axis=0) - 1) < 1e-8).all(), f"column {name!r}: probabilities do not add up to 1")
        tables.append((values, log_p))
    with np.errstate(divide="ignore"):
        log_prior = np.log(np.array([prior[label] for label in classes], np.float64))
    return GivenProbabilities(tuple(classes), log_prior, GivenTables(features, len(classes), tuple(tables)))


# Arrays


def _take(tensors: Tensors, name: str, dtype: type[np.generic]) -> NDArray[Any]:
    require(name in tensors, f"the array {name} is missing")
    require(tensors[name].dtype == dtype, f"{name}: numbers of type {tensors[name].dtype}")
    return tensors.pop(name)


def _read_sums(tensors: Tensors, name: str, low: Any) -> Exact:
    require(type(low) is int, f"{name}: the position of the lowest digit is missing")
    try:
        return Exact.from_digits(_take(tensors, name, np.int64), low)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _write_keys(tensors: Tensors, name: str, keys: list[Any]) -> None:
    tensors[name], tensors[f"{name}.ends"] = pack_keys(keys)


def _read_keys(tensors: Tensors, name: str) -> list[Any]:
    return unpack_keys(_take(tensors, name, np.uint8), _take(tensors, f"{name}.ends", np.int64))


# Schema, families, settings


def _names_by_family(schema: Schema) -> dict[Family, list[str]]:
    """The names of the columns of each family, sorted."""
    result: dict[Family, list[str]] = {}
    for name, family in schema.families.items():
        result.setdefault(family.counted, []).append(name)
    return result


def _family_text(family: Family) -> str:
    """The canonical string form of a family."""
    require(family.name in FAMILIES, f"the family {family} is not registered; see tallybayes.register_family")
    again = parse(str(family))
    require(again == family, f"the family {family!r} is not determined by its string form")
    return str(again)


def _family(text: Any) -> Family:
    require(isinstance(text, str), f"a family that is not text: {shorten(text)}")
    if (name := text.partition(":")[0]) not in FAMILIES:
        hint = "register it before loading: tallybayes.register_family(TheFamily)"
        raise FileError(f"the file uses the unknown family {shorten(name)}", hint=hint)
    return parse(text)


def _schema_to_json(schema: Schema) -> dict[str, Any]:
    given, texts = schema.to_dict(), {family: _family_text(family) for family in set(schema.families.values())}
    for name, family in schema.families.items():
        given["columns"][name]["family"] = texts[family]
    return given


def _schema_from_json(given: Any) -> Schema:
    require(isinstance(given, dict) and isinstance(given.get("columns"), dict), "a schema without columns")
    texts = [_column_facts(column)["family"] for column in given["columns"].values()]
    for text in dict.fromkeys(text for text in texts if isinstance(text, str) and not DateFormat.is_text(text)):
        _family(text)  # raises an error with a hint if it is unknown
    return Schema.from_dict(given)


def _column_facts(given: Any) -> dict[str, Any]:
    """The family and the reason of a column, and the other facts that are written only where there are any."""
    more = [name for name in ("inputs", "part", "whole") if isinstance(given, dict) and name in given]
    facts = object_of(given, "family", "reason", *more)
    require("inputs" not in more or facts["inputs"], "a derived column without inputs")
    return facts


def _settings_to_json(settings: Settings) -> dict[str, Any]:
    facts = {}
    for name, option in SETTINGS.items():
        value = getattr(settings, name)
        if name in _ALWAYS or value != option.default:
            facts[name] = _option_to_json(option.domain, value)
    return facts | fitted_to_json(settings)


def _settings_from_json(given: Any) -> Settings:
    present = [name for name in (*SETTINGS, *FITTED) if name in _ALWAYS or (isinstance(given, dict) and name in given)]
    facts = object_of(given, *present)
    options = {name: _option_from_json(SETTINGS[name].domain, facts.pop(name)) for name in present if name in SETTINGS}
    return Settings(**options, **fitted_from_json(facts))


def _option_to_json(domain: Domain, value: Any) -> Any:
    """The value of an option as JSON, by its domain."""
    if domain is FAMILY:
        return _family_text(value)
    if domain is CLASS_PRIOR and isinstance(value, Mapping):
        return sorted([key_text(label), p] for label, p in value.items())
    if domain is STRENGTHS and isinstance(value, Mapping):
        return {name: _strength_to_json(k) for name, k in sorted(value.items())}
    return _strength_to_json(value) if domain in (STRENGTH, STRENGTHS) else value


def _option_from_json(domain: Domain, given: Any) -> Any:
    """The inverse of `_option_to_json`; the domain checks what it returns."""
    if domain is FAMILY:
        return _family(given)
    if domain is CLASS_PRIOR:
        require(isinstance(given, (str, list)), f"a prior: {shorten(given)}")
        if isinstance(given, str):
            return given
        require(all(isinstance(pair, list) and len(pair) == 2 for pair in given), "a prior that is not a list of pairs")
        require(all(isinstance(c, str) and type(p) is float for c, p in given), "a prior without labels or numbers")
        return unique([(text_key(c), p) for c, p in given])
    if domain is STRENGTHS and isinstance(given, dict):
        return {name: _strength_from_json(k) for name, k in given.items()}
    return _strength_from_json(given) if domain in (STRENGTH, STRENGTHS) else given


def _strength_to_json(k: float | str) -> float | str:
    """A strength of smoothing; JSON has no infinity."""
    return "inf" if k == math.inf else k


def _strength_from_json(given: Any) -> Any:
    require(type(given) is float or given in ("auto", "inf"), f"a strength of smoothing: {shorten(given)}")
    return math.inf if given == "inf" else given
