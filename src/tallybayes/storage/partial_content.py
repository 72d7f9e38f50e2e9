"""A partial sum as bytes: rows that were counted by a plan, in the container of the model file.

    content             "partial sum", so that it is never taken for a model
    plan, learns        SHA-256 of the plan by which the rows were counted; whether they are to be learned
    schema, total       as in a model file
    rows, missing       how many rows there were, and how many of them without a label
    rewritten, unread   labels that are written otherwise in the data; cells of columns of dates that are no dates
    warnings            what was doubtful about the data
    texts, sample       samples of documents, and of rows with their cells; null if no rows are sampled

Equal partial sums give equal bytes. Reading trusts nothing, as for a model file (`storage/content.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.column import Bag
from tallybayes.columns.readers.date_reader import UnreadDates
from tallybayes.columns.schema import Schema
from tallybayes.doubts import Doubt
from tallybayes.errors import FileError, shorten
from tallybayes.state.counting import CountedRows
from tallybayes.state.row_sample import RowSample, SampledRows
from tallybayes.state.text_samples import DocumentSample, TextSamples
from tallybayes.storage.cell_content import cells_from_bytes, cells_to_bytes
from tallybayes.storage.container import Tensors, object_of, pack, read_content, unique
from tallybayes.storage.content import read_keys, read_total, take_array, write_keys, write_total
from tallybayes.storage.schema_content import schema_from_json, schema_to_json
from tallybayes.tally.exact import require

__all__ = ["PARTIAL_SUM", "PartialSum", "first_doubts", "partial_from_bytes", "partial_to_bytes"]

PARTIAL_SUM = "partial sum"

_LIMITS = ("limit", "if_rare")  # of a sample of rows
_NAMES = (
    "content",
    "plan",
    "learns",
    "schema",
    "rows",
    "missing",
    "rewritten",
    "unread",
    "warnings",
    "total",
    "texts",
    "sample",
)
_DOUBTS = 20  # that are kept
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, eq=False)
class PartialSum:
    """Counted rows, the SHA-256 of their plan, whether they are to be learned, and `first_doubts` about them."""

    plan: str
    counted: CountedRows
    learns: bool = True
    doubts: tuple[Doubt, ...] = ()


def first_doubts(doubts: Iterable[Doubt]) -> tuple[Doubt, ...]:
    """Those that a partial sum keeps: each once, in alphabetical order, and not too many."""
    return tuple(sorted(set(doubts), key=str)[:_DOUBTS])


def partial_to_bytes(part: PartialSum) -> bytes:
    """Serialise a partial sum; a FileError if one of its keys cannot be written."""
    counted, tensors = part.counted, Tensors()
    try:
        facts = {
            "content": PARTIAL_SUM,
            "plan": part.plan,
            "learns": part.learns,
            "schema": schema_to_json(counted.schema),
            "rows": counted.n_rows,
            "missing": counted.n_missing,
            "rewritten": sorted([old, new] for old, new in counted.rewritten.items()),
            "unread": counted.unread_dates.to_rows(),
            "warnings": [one.to_dict() for one in part.doubts],
            "total": write_total(tensors, counted.statistics, counted.schema),
            "texts": _write_texts(tensors, counted.text_samples),
            "sample": _write_sample(tensors, counted.sample),
        }
        return pack(facts, tensors)
    except (ValueError, OverflowError) as error:
        raise FileError(f"the partial sum cannot be written: {error}") from error


def partial_from_bytes(data: bytes) -> PartialSum:
    """Return the partial sum from the bytes of `partial_to_bytes`; a FileError for any others."""
    return read_content(data, PARTIAL_SUM, _assemble, name=PARTIAL_SUM)


def _assemble(facts: dict[str, Any], tensors: Tensors) -> PartialSum:
    object_of(facts, *_NAMES)
    require(isinstance(facts["plan"], str) and _DIGEST.fullmatch(facts["plan"]), "no digest of the plan")
    require(type(facts["learns"]) is bool, "whether the rows are to be learned")
    n_rows, n_missing = _count(facts["rows"]), _count(facts["missing"])
    require(n_missing <= n_rows, "more rows without a label than rows")
    schema, left = schema_from_json(facts["schema"]), dict(tensors)
    rewritten = unique([(old, new) for old, new in _rows_of(facts["rewritten"], str, str)])
    unread = [(name, _count(n), example) for name, n, example in _rows_of(facts["unread"], str, int, str)]
    dates = UnreadDates.from_rows(unread)
    require(len(unread) == len(dates.found) + len(dates.swapped), "cells that are no dates are there twice")
    require(isinstance(facts["warnings"], list), "warnings that are not a list")
    doubts = tuple(map(Doubt.from_dict, facts["warnings"]))
    require(doubts == first_doubts(doubts), "warnings out of order")
    statistics = read_total(left, facts["total"], schema)
    texts, sample = _read_texts(left, facts["texts"]), _read_sample(left, facts["sample"], schema)
    require(not left, f"unexpected arrays: {shorten(sorted(left))}")
    counted = CountedRows(schema, statistics, n_rows, n_missing, rewritten, dates, texts, sample)
    return PartialSum(facts["plan"], counted, facts["learns"], doubts)


def _write_texts(tensors: Tensors, samples: TextSamples) -> list[str]:
    names = []
    for i, (name, sample) in enumerate(samples.items()):
        ordered = sample.in_order()
        tensors[f"text{i}.signatures"] = ordered.signatures.view(np.int64)
        tensors[f"text{i}.hashes"] = ordered.hashes.view(np.int64)
        tensors[f"text{i}.weights"] = np.ascontiguousarray(ordered.weights, np.float64)
        tensors[f"text{i}.indptr"] = np.asarray(ordered.bag.indptr, np.int64)
        tensors[f"text{i}.indices"] = np.asarray(ordered.bag.indices, np.int64)
        tensors[f"text{i}.amounts"] = np.asarray(ordered.bag.amounts, np.int64)
        write_keys(tensors, f"text{i}.labels", ordered.labels)
        write_keys(tensors, f"text{i}.tokens", list(ordered.bag.keys))
        names.append(name)
    return names


def _read_texts(tensors: Tensors, names: Any) -> TextSamples:
    require(isinstance(names, list) and all(isinstance(name, str) for name in names), "samples of texts without names")
    require(names == sorted(set(names)), "samples of texts out of order")
    result = {}
    for i, name in enumerate(names):
        signatures = _hashes(tensors, f"text{i}.signatures")
        hashes = take_array(tensors, f"text{i}.hashes", np.int64).view(np.uint64)
        require(hashes.shape == signatures.shape, "a hash for each sampled text")
        labels, tokens = read_keys(tensors, f"text{i}.labels"), read_keys(tensors, f"text{i}.tokens")
        weights = _amounts(tensors, f"text{i}.weights", len(signatures))
        indptr, indices, amounts = (
            take_array(tensors, f"text{i}.{part}", np.int64) for part in ("indptr", "indices", "amounts")
        )
        require(indptr.ndim == indices.ndim == amounts.ndim == 1 and len(indices) == len(amounts), "a sampled text")
        require(len(labels) == len(signatures) == len(indptr) - 1, "a label for each sampled text")
        require(indptr[0] == 0 and indptr[-1] == len(indices) and (np.diff(indptr) >= 0).all(), "lengths of texts")
        inside = not len(indices) or (indices.min() >= 0 and indices.max() < len(tokens))
        require(inside and (not len(amounts) or (amounts.min() > 0 and amounts.max() < 2**31)), "tokens of texts")
        bag = Bag(indptr, indices, amounts.astype(np.int32), tokens)
        result[name] = DocumentSample(signatures, hashes, labels, weights, bag, None)
    return TextSamples(result)


def _write_sample(tensors: Tensors, sample: RowSample | None) -> dict[str, int] | None:
    if sample is None:
        return None
    if (rows := sample.kept_rows()) is not None:
        tensors["sample.hashes"] = rows.hashes.view(np.int64)
        tensors["sample.signatures"] = rows.signatures.view(np.int64)
        tensors["sample.counts"], tensors["sample.tokens"] = rows.counts, rows.n_tokens
        tensors["sample.weights"] = np.ascontiguousarray(rows.weights, np.float64)
        write_keys(tensors, "sample.labels", rows.labels)
        tensors["sample.cells"] = np.frombuffer(cells_to_bytes(rows.table), np.uint8)
    return dict(zip(_LIMITS, sample.limits, strict=True))


def _read_sample(tensors: Tensors, content: Any, schema: Schema) -> RowSample | None:
    if content is None:
        return None
    object_of(content, *_LIMITS)
    limits = _count(content["limit"]), _count(content["if_rare"])
    require(limits[0] <= limits[1], "fewer sampled rows where a class is rare")
    if "sample.hashes" not in tensors:
        return RowSample.restore(None, limits, schema)
    hashes = take_array(tensors, "sample.hashes", np.int64).view(np.uint64)
    signatures = _hashes(tensors, "sample.signatures")
    require(hashes.shape == signatures.shape, "sampled rows of different lengths")
    is_next = (hashes[1:] > hashes[:-1]) | (signatures[1:] > signatures[:-1])
    require(bool(is_next.all()) and len(np.unique(hashes)) == len(hashes), "sample.hashes: out of order or a duplicate")
    counts, tokens = (take_array(tensors, f"sample.{part}", np.int64) for part in ("counts", "tokens"))
    require(counts.shape == tokens.shape == hashes.shape and len(hashes), "sampled rows of different lengths")
    require((counts >= 0).all() and (tokens >= 0).all(), "sampled rows with a negative count")
    labels = read_keys(tensors, "sample.labels")
    require(len(labels) == len(hashes), "a label for each sampled row")
    weights = _amounts(tensors, "sample.weights", len(hashes))
    cells = cells_from_bytes(take_array(tensors, "sample.cells", np.uint8).tobytes(), len(hashes))
    rows = SampledRows(hashes, signatures, counts, labels, weights, tokens, cells)
    return RowSample.restore(rows, limits, schema)


def _hashes(tensors: Tensors, name: str) -> NDArray[np.uint64]:
    """Hashes in order."""
    hashes: NDArray[np.uint64] = take_array(tensors, name, np.int64).view(np.uint64)
    require(hashes.ndim == 1 and bool((hashes[1:] >= hashes[:-1]).all()), f"{name} out of order")
    return hashes


def _amounts(tensors: Tensors, name: str, n: int) -> NDArray[np.float64]:
    """Positive finite numbers."""
    amounts: NDArray[np.float64] = take_array(tensors, name, np.float64)
    require(amounts.shape == (n,) and bool(((amounts > 0) & (amounts < np.inf)).all()), f"{name}: not positive numbers")
    return amounts


def _count(value: Any) -> int:
    require(type(value) is int and 0 <= value < 2**63, f"expected a count, got {shorten(value)}")
    return int(value)


def _rows_of(content: Any, *types: type) -> list[Any]:
    """Lists with values of these types."""
    require(isinstance(content, list), f"expected a list, got {shorten(content)}")
    for row in content:
        is_row = isinstance(row, list) and [type(value) for value in row] == [*types]
        require(is_row, f"expected lists of {len(types)} values, got {shorten(row)}")
    return list(content)
