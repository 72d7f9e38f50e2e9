"""The content of a model file: the state of a model as JSON facts and named arrays.

    schema, settings    JSON objects; families by their string form, labels by their text (`storage/keys.py`)
    total               labels, class_rows, and a block for every family with counts: the numbers of its columns that
                        have any (block0.columns), and the canonical arrays of its tally (block0.x, ...)
    written             instead of total, for given probabilities: values and log probabilities of every column
                        (column0.values, column0.log_p, ...)
    base                the strength and the total of a base that lies beneath the sums (arrays base.labels, ...)
    unlabelled          the total of unlabelled rows that were divided among the classes, with their number and weight,
                        the labelled rows at that time and the objective of each round (arrays unlabelled.labels, ...)

Equal statistics, schema and settings give equal facts and arrays. Reading trusts nothing: the family determines which
arrays are required, sizes are taken from the arrays themselves, and sums that no rows can have are an error. So a
forged file cannot crash a program, exhaust its memory or produce NaN.

A file is accepted only if saving its state again would give the same bytes. To do that at every load would take longer
than loading. So the container compares its own form, the facts are written again and compared, and the arrays are
checked to be canonical where they are read; the tests compare this with the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import rough_kind, sort_keys
from tallybayes.arrays.column import Codes
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.readers.reader import ReadContext
from tallybayes.columns.readers.reader_registry import reader_of_kind
from tallybayes.columns.schema import Schema
from tallybayes.errors import shorten
from tallybayes.families import Family
from tallybayes.state.given_probabilities import GivenProbabilities
from tallybayes.state.model_state import BaseSums, ModelState
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.state.unlabelled_sums import UnlabelledSums
from tallybayes.storage.container import Tensors, json_text, object_of
from tallybayes.storage.keys import pack_keys, unpack_keys
from tallybayes.storage.schema_content import (
    family_of,
    family_text,
    schema_from_json,
    schema_to_json,
    settings_from_json,
    settings_to_json,
)
from tallybayes.tally import Exact, Tally
from tallybayes.tally.exact import check_amounts, require
from tallybayes.tally.tally import Arrays

__all__ = ["assemble", "read_keys", "read_total", "serialise", "take_array", "write_keys", "write_total"]

_LABELS = {"text", "number", "boolean", "bytes"}
_CLASSES = 2**24  # the limit of the cells of `tally.Counts`
_CHUNK = 2**18  # digits compared at a time


def serialise(state: ModelState) -> tuple[dict[str, Any], Tensors]:
    """Return the facts and arrays of a state; a ValueError if a key or family cannot be written."""
    facts, tensors = _plain_facts(state), Tensors()
    if state.given is None:
        facts["total"] = write_total(tensors, state.learned(), state.schema)
        for name, part in (("base", state.base), ("unlabelled", state.unlabelled)):
            if part is not None:
                apart = Tensors()
                total = write_total(apart, part.statistics, state.schema)
                facts[name] = _facts_of(part) | {"total": total}
                tensors |= {f"{name}.{array_name}": array for array_name, array in apart.items()}
        return facts, tensors
    for i, (values, log_p) in enumerate(state.given.tables.tables):
        tensors[f"column{i}.log_p"] = np.ascontiguousarray(log_p)
        write_keys(tensors, f"column{i}.values", values)
    return facts | {"written": True}, tensors


def assemble(facts: dict[str, Any], tensors: Tensors) -> ModelState:
    """Return the state from facts and arrays; a ValueError or FileError if they are not those of a model."""
    content = "written" if "written" in facts else "total"
    more = [name for name in _BENEATH if content == "total" and name in facts]
    object_of(facts, "schema", "settings", "skipped", content, *more)
    schema, settings = schema_from_json(facts["schema"]), settings_from_json(facts["settings"])
    require(
        type(skipped := facts["skipped"]) is int and 0 <= skipped < 2**63,
        f"the number of skipped rows is {shorten(skipped)}",
    )
    left, prior = dict(tensors), settings.class_prior if isinstance(settings.class_prior, Mapping) else None
    if content == "total":
        statistics = read_total(left, facts["total"], schema)
        beneath: dict[str, Any] = {name: _BENEATH[name](left, facts[name], schema) for name in more}
        state = ModelState(schema, settings, skipped=skipped, **beneath)
        state = replace(state, statistics=state.with_beneath(statistics))
        require(prior is None or set(state.statistics.labels) <= prior.keys(), "labels without a prior")
    else:
        require(facts["written"] is True and bool(prior), "no class prior")
        written = _read_written(left, schema, dict(prior or {}))
        state = ModelState(schema, settings, skipped=skipped, given=written)
    require(not left, f"unexpected arrays: {shorten(sorted(left))}")
    written_again = _plain_facts(state) | {content: _order(facts[content])}
    for name in more:
        written_again[name] = _facts_of(getattr(state, name)) | {"total": _order(facts[name]["total"])}
    for name, again in written_again.items():
        require(json_text(facts[name]) == json_text(again), f"{name}: not as this library writes it")
    require([*facts] == ["schema", "settings", "skipped", content, *more], "facts out of order")
    return state


def _facts_of(part: BaseSums | UnlabelledSums) -> dict[str, Any]:
    """The facts about sums that lie beneath those of a model."""
    if isinstance(part, BaseSums):
        return {"strength": part.strength}
    return part.to_dict()


def _read_base(tensors: Tensors, content: Any, schema: Schema) -> BaseSums:
    """Take the sums of a base out of `tensors`."""
    facts = object_of(content, "strength", "total")
    require(_is_above_0(facts["strength"]), "a strength of the base above 0")
    return BaseSums(_read_beneath(tensors, "base", facts["total"], schema), facts["strength"])


def _read_unlabelled(tensors: Tensors, content: Any, schema: Schema) -> UnlabelledSums:
    """Take the sums of unlabelled rows out of `tensors`."""
    facts = object_of(content, "rows", "weight", "labelled_rows", "objective", "total")
    rows, labelled, objective = facts["rows"], facts["labelled_rows"], facts["objective"]
    require(type(rows) is int and 0 <= rows < 2**63, "the number of unlabelled rows")
    require(_is_above_0(facts["weight"]), "a weight of unlabelled rows above 0")
    require(type(labelled) is float and 0 <= labelled < np.inf, "the number of labelled rows")
    is_list = isinstance(objective, list) and all(type(value) is float and np.isfinite(value) for value in objective)
    require(is_list, "the objective of each round")
    statistics = _read_beneath(tensors, "unlabelled", facts["total"], schema)
    return UnlabelledSums(statistics, rows, facts["weight"], labelled, tuple(objective))


_BENEATH: dict[str, Callable[[Tensors, Any, Schema], Any]] = {  # in the order in which they are written
    "base": _read_base,
    "unlabelled": _read_unlabelled,
}


def _is_above_0(value: Any) -> bool:
    return type(value) is float and 0 < value < np.inf


def _read_beneath(tensors: Tensors, prefix: str, content: Any, schema: Schema) -> SufficientStatistics:
    """Take the sums whose arrays have a prefix out of `tensors`."""
    names = [name for name in tensors if name.startswith(f"{prefix}.")]
    apart = {name.removeprefix(f"{prefix}."): tensors.pop(name) for name in names}
    result = read_total(apart, content, schema)
    require(not apart, f"unexpected arrays of {prefix}: {shorten(sorted(apart))}")
    result.is_shared = True
    return result


def _plain_facts(state: ModelState) -> dict[str, Any]:
    """The facts of a state that take no arrays."""
    return {
        "schema": schema_to_json(state.schema),
        "settings": settings_to_json(state.settings),
        "skipped": state.skipped,
    }


def _order(content: Any) -> Any:
    """The facts about statistics, whose values are checked where they are read, with their names in order."""
    if content is True:
        return content
    blocks = [{"family": block["family"], "low": dict(sorted(block["low"].items()))} for block in content["blocks"]]
    return {"low": content["low"], "blocks": blocks}


def _read_written(tensors: Tensors, schema: Schema, prior: dict[Any, float]) -> GivenProbabilities:
    classes = sort_keys(prior)
    require(len({rough_kind(label) for label in classes}) == 1, "labels of different types")
    tables = {}
    for i, (name, family) in enumerate(schema.families.items()):
        require(family.column is Codes, f"column {name!r}: not a table of categories")
        values = read_keys(tensors, f"column{i}.values")
        require(
            len(set(values)) == len(values) and sort_keys(values) == values, f"column {name!r}: values out of order"
        )
        log_p = take_array(tensors, f"column{i}.log_p", np.float64)
        require(
            log_p.shape == (len(values), len(classes)), f"column {name!r}: expected one probability per value and class"
        )
        p = np.exp(np.where(log_p < 1e-8, log_p, np.nan))
        require((np.abs(p.sum(axis=0) - 1) < 1e-8).all(), f"column {name!r}: probabilities do not add up to 1")
        tables[name] = values, log_p
    return GivenProbabilities.of(prior, tables)


def write_total(tensors: Tensors, total: SufficientStatistics, schema: Schema) -> dict[str, Any]:
    """Put the arrays of statistics into `tensors`; returns the facts about them."""
    total = total.aligned(total.in_use())
    write_keys(tensors, "labels", total.labels)
    class_rows = total.class_rows.trimmed()
    tensors["class_rows"] = class_rows.digits
    blocks: list[dict[str, Any]] = []
    names = _names_by_family(schema)
    for text, family in sorted((family_text(family), family) for family in total.blocks):
        arrays = total.blocks[family].arrays()
        if not arrays.features:
            continue
        block, index = f"block{len(blocks)}", {name: i for i, name in enumerate(names[family])}
        tensors[f"{block}.columns"] = np.array([index[name] for name in arrays.features], np.int64)
        tensors |= {f"{block}.{name}": sums.digits for name, sums in arrays.sums.items()}
        tensors |= {f"{block}.{name}": places for name, places in arrays.places.items()}
        for name, keys in arrays.keys.items():
            write_keys(tensors, f"{block}.{name}", keys)
        blocks.append({"family": text, "low": {name: sums.low for name, sums in sorted(arrays.sums.items())}})
    return {"low": class_rows.low, "blocks": blocks}


def read_total(tensors: Tensors, content: Any, schema: Schema) -> SufficientStatistics:
    """Take the arrays of statistics out of `tensors`; a ValueError if no rows can have such sums."""
    facts = object_of(content, "low", "blocks")
    labels = read_keys(tensors, "labels")
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
    for i, block_facts in enumerate(facts["blocks"]):
        block = object_of(block_facts, "family", "low")
        family = family_of(block["family"])
        require(before < block["family"] == family_text(family), "families out of order")
        before, columns_of = block["family"], names.get(family, [])
        columns = take_array(tensors, f"block{i}.columns", np.int64)
        require(columns.ndim == 1 and len(columns) and len(labels), f"{family.name}: no columns")
        in_order = (columns[1:] > columns[:-1]).all()  # differences might overflow
        require(columns[0] >= 0 and columns[-1] < len(columns_of) and in_order, f"{family.name}: columns")
        features = tuple(columns_of[j] for j in columns.tolist())
        like = _empty_tally(family, [schema.columns[name] for name in features])
        blocks[family] = _read_tally(tensors, f"block{i}", family, like, features, len(labels), block["low"])
        _check_rows(class_rows, blocks[family].rows_seen(), family)
    return SufficientStatistics(labels, class_rows, blocks)


def _empty_tally(family: Family, fields: list[ColumnSpec]) -> Tally:
    """A tally without any rows; of derived columns, with the cells of their inputs."""
    derived = {spec.name: spec.reader for spec in fields if spec.reader.inputs}
    columns = [
        reader.encode({cell_input: np.zeros(0, np.int16) for cell_input in reader.inputs}, ReadContext(name, 0))
        for name, reader in derived.items()
    ] or [reader_of_kind(family.column).encode({}, ReadContext("", 0))]
    tally: Tally = family.observe(tuple(derived) or ("",), columns, np.zeros(0, np.int32), 1, None)
    return tally


def _read_tally(
    tensors: Tensors, block: str, family: Family, like: Tally, features: tuple[str, ...], n_classes: int, content: Any
) -> Tally:
    """Read a tally; its type and arrays are determined by the family, not by the file."""
    required: Arrays = like.arrays()
    low = object_of(content, *required.sums)
    arrays = Arrays(
        features,
        {name: _read_sums(tensors, f"{block}.{name}", low[name]) for name in required.sums},
        {name: take_array(tensors, f"{block}.{name}", np.int64) for name in required.places},
        {name: read_keys(tensors, f"{block}.{name}") for name in required.keys},
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


def _names_by_family(schema: Schema) -> dict[Family, list[str]]:
    """The names of the columns of each family, sorted."""
    result: dict[Family, list[str]] = {}
    for name, family in schema.families.items():
        result.setdefault(family.counted, []).append(name)
    return result


def take_array(tensors: Tensors, name: str, dtype: type[np.generic]) -> NDArray[Any]:
    """Take an array of this type out of `tensors`."""
    require(name in tensors, f"the array {name} is missing")
    require(tensors[name].dtype == dtype, f"{name}: numbers of type {tensors[name].dtype}")
    return tensors.pop(name)


def _read_sums(tensors: Tensors, name: str, low: Any) -> Exact:
    require(type(low) is int, f"{name}: the position of the lowest digit is missing")
    try:
        return Exact.from_digits(take_array(tensors, name, np.int64), low)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def write_keys(tensors: Tensors, name: str, keys: list[Any]) -> None:
    """Put keys into `tensors`, as two arrays."""
    tensors[name], tensors[f"{name}.ends"] = pack_keys(keys)


def read_keys(tensors: Tensors, name: str) -> list[Any]:
    """Take keys out of `tensors`."""
    return unpack_keys(take_array(tensors, name, np.uint8), take_array(tensors, f"{name}.ends", np.int64))
