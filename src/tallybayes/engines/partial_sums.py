"""Partial sums: rows counted apart, as bytes, and added to each other.

The bytes are those of `storage/partial_content.py`. Combining is associative and commutative, and the partial sum of no
rows is neutral. A vocabulary with a limit (`max_tokens`) is the exception, as it is for `fit`: which tokens are kept
depends on the order in which they come.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from tallybayes.doubts import collect_doubts
from tallybayes.errors import DataError, FileError
from tallybayes.io.read import to_source
from tallybayes.model.row_counter import RowCounter
from tallybayes.state.counting import CountingPlan
from tallybayes.state.row_sample import RowSample
from tallybayes.storage.partial_content import PartialSum, first_doubts, partial_from_bytes, partial_to_bytes
from tallybayes.storage.plan_content import plan_from_bytes
from tallybayes.tables.source import Source, Stream

__all__ = ["combine", "combine_sums", "partial"]


def partial(batches: Any, plan: bytes) -> bytes:
    """The rows of some batches, counted by a plan, as a partial sum.

    batches: an iterable of tables of any kind, such as Arrow record batches, or any data that `fit` takes.
    """
    counting, draws, digest = _plan(plan)
    counter = RowCounter(counting, grows=False, sample=RowSample.of(counting.schema) if draws else None)
    source = Stream(iter(batches)) if isinstance(batches, (list, tuple)) else to_source(batches)
    with collect_doubts() as doubts:
        counted = counter.count(source) if _has_rows(source) else counter.rows
    return partial_to_bytes(PartialSum(digest, counted, counting.learns, first_doubts(doubts)))


def combine(*parts: bytes | Iterable[bytes]) -> bytes:
    """The sum of partial sums of the same plan: several of them, or an iterable of them.

    They are read one after the other, so that no more than two sums are in memory.
    """
    return partial_to_bytes(combine_sums(*parts))


def combine_sums(*parts: bytes | Iterable[bytes]) -> PartialSum:
    """The sum of partial sums, before it becomes bytes."""
    total: PartialSum | None = None
    for data in _each(parts):
        part = partial_from_bytes(data)
        total = part if total is None else _add(total, part)
    if total is None:
        raise DataError("one or more partial sums", got=0)
    return total


def _add(total: PartialSum, part: PartialSum) -> PartialSum:
    if part.plan != total.plan:
        hint = "count all pieces by the bytes of one plan"
        raise DataError("partial sums of the same plan", got=part.plan, hint=hint)
    mine, theirs = total.counted, part.counted
    mine.add(theirs)
    if total.learns:
        mine.statistics.bound()
    return replace(total, doubts=first_doubts([*total.doubts, *part.doubts]))


def _each(parts: Iterable[bytes | Iterable[bytes]]) -> Iterator[bytes]:
    for part in parts:
        if isinstance(part, (bytes, bytearray, memoryview)):
            yield bytes(part)
        else:
            yield from part


def _has_rows(source: Source) -> bool:
    """Whether a source has any rows or columns: a piece without any is the neutral element."""
    head = source.head()
    return bool(head.n_rows or head.columns)


@lru_cache(maxsize=4)
def _plan(data: bytes) -> tuple[CountingPlan, bool, str]:
    """The plan, whether rows are sampled, and its digest; a worker counts many pieces by one plan."""
    if not isinstance(data, bytes):
        raise FileError("expected the bytes of a plan: Plan.to_bytes()")
    return *plan_from_bytes(data), hashlib.sha256(data).hexdigest()
