"""The content of a model file: the state of a model as JSON facts and named arrays.

    schema, settings    JSON objects; families by their string form, labels by their text (`storage/keys.py`)
    total               labels, class_rows, and a block for every family with counts: the numbers of its columns that
                        have any (block0.columns), and the canonical arrays of its tally (block0.x, ...)
    written             instead of total, for given probabilities: values and log probabilities of every column
                        (column0.values, column0.log_p, ...)

Equal statistics, schema and settings give equal facts and arrays. Reading trusts nothing: the family determines which
arrays are required, sizes are taken from the arrays themselves, and sums that no rows can have are an error. So a
forged file cannot crash a program, exhaust its memory or produce NaN.

A file is accepted only if saving its state again would give the same bytes. To do that at every load would take longer
than loading. So the container compares its own form, the facts are written again and compared, and the arrays are
checked to be canonical where they are read; the tests compare this with the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tallybayes.arrays.axis import rough_kind, sort_keys
from tallybayes.arrays.column import Codes
from tallybayes.columns.schema import Schema
from tallybayes.errors import FileError, shorten
from tallybayes.state.given_probabilities import GivenProbabilities, GivenTables
from tallybayes.state.model_state import ModelState
from tallybayes.storage.container import Tensors, json_text, object_of
from tallybayes.storage.schema_content import schema_from_json, schema_to_json, settings_from_json, settings_to_json
from tallybayes.storage.statistics_content import read_keys, read_total, take_array, write_keys, write_total
from tallybayes.tally.exact import require

__all__ = ["assemble", "serialise"]


def serialise(state: ModelState) -> tuple[dict[str, Any], Tensors]:
    """Return the facts and arrays of a state; a ValueError if a key or family cannot be written."""
    facts, tensors = _plain_facts(state), Tensors()
    if state.given is None:
        return facts | {"total": write_total(tensors, state.statistics, state.schema)}, tensors
    for i, (values, log_p) in enumerate(state.given.tables.tables):
        tensors[f"column{i}.log_p"] = np.ascontiguousarray(log_p)
        write_keys(tensors, f"column{i}.values", values)
    return facts | {"written": True}, tensors


def assemble(facts: dict[str, Any], tensors: Tensors) -> ModelState:
    """Return the state from facts and arrays; a ValueError or FileError if they are not those of a model."""
    if "content" in facts:
        raise FileError(f"expected a model, got a {shorten(facts['content'])[1:-1]}")
    content = "written" if "written" in facts else "total"
    object_of(facts, "schema", "settings", "skipped", content)
    schema, settings = schema_from_json(facts["schema"]), settings_from_json(facts["settings"])
    require(
        type(skipped := facts["skipped"]) is int and 0 <= skipped < 2**63,
        f"the number of skipped rows is {shorten(skipped)}",
    )
    left, prior = dict(tensors), settings.class_prior if isinstance(settings.class_prior, Mapping) else None
    if content == "total":
        statistics = read_total(left, facts["total"], schema)
        require(prior is None or set(statistics.labels) <= prior.keys(), "labels without a prior")
        state = ModelState(schema, settings, statistics, skipped)
    else:
        require(facts["written"] is True and bool(prior), "no class prior")
        written = _read_written(left, schema, dict(prior or {}))
        state = ModelState(schema, settings, skipped=skipped, given=written)
    require(not left, f"unexpected arrays: {shorten(sorted(left))}")
    for name, again in (_plain_facts(state) | {content: _order(facts[content])}).items():
        require(json_text(facts[name]) == json_text(again), f"{name}: not as this library writes it")
    require([*facts] == ["schema", "settings", "skipped", content], "facts out of order")
    return state


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
    classes, features = sort_keys(prior), tuple(schema.families)
    require(len({rough_kind(label) for label in classes}) == 1, "labels of different types")
    tables = []
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
        tables.append((values, log_p))
    with np.errstate(divide="ignore"):
        log_prior = np.log(np.array([prior[label] for label in classes], np.float64))
    return GivenProbabilities(tuple(classes), log_prior, GivenTables(features, len(classes), tuple(tables)))
