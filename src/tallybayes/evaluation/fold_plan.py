"""How the rows of some data are divided for evaluation: into parts, and which parts train the model of another.

    folds          stratified by class; the model of a fold is trained on all others
    group          folds of whole groups: the largest groups first, each to the smallest fold
    time           blocks in the order of time; the model of a block is trained on the blocks before it
    holdout        a share of the rows is scored by the model of the others: of every class the rows with the smallest
                   hashes, whole groups, or the last in time

Near copies of a text are in one fold, and on one side of a hold-out: form letters are no evidence of how other letters
are told apart.

The parts of the last three depend on all rows, so they take a pass over the data of their own. Hashes are of the
content of the rows (of equal rows: and of how many came before), so that the order of the rows does not matter.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.columns.batch import columns_to_read, read_batch
from tallybayes.columns.fold_assignment import FoldAssigner
from tallybayes.columns.label import Labels, encode_labels
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, Described, ParameterError, did_you_mean, is_real_number
from tallybayes.evaluation.row_times import row_times
from tallybayes.model import Model
from tallybayes.state.near_copies import NearCopies
from tallybayes.state.row_hash import Hashes, RowHashes
from tallybayes.tables.source import BadRows, Kind, Source
from tallybayes.tables.table import Table

__all__ = ["FoldPlan", "FoldRequest", "deal_groups", "plan_folds"]

Group = TypeVar("Group")

Parts = NDArray[np.int64]
Batches = Iterator[tuple[Table, Labels, NDArray[np.int64]]]  # with the rows that have a label

_MISSING = "\0missing"  # the group of all rows without one: they are never on both sides


@dataclass(frozen=True)
class FoldRequest:
    """What was asked for: folds (10 if it is None), a column of groups or times, or a share to hold out."""

    folds: int | None = None
    seed: int = 0
    group: str | None = None
    time: str | None = None
    holdout: float | None = None
    by: str | None = None  # a column that is only read

    def check(self) -> None:
        """Raise a ParameterError if it makes no sense."""
        if self.group is not None and self.time is not None:
            raise ParameterError("group or time", got=Described("both"))
        if self.holdout is None:
            return
        if self.folds is not None:
            raise ParameterError("folds or holdout", got=Described("both"))
        if not is_real_number(self.holdout) or not 0 < self.holdout < 1:
            raise ParameterError("holdout: a share of the rows between 0 and 1, such as 0.2", got=self.holdout)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read beside those of the model."""
        return tuple(name for name in (self.group, self.time, self.by) if name is not None)


@dataclass(frozen=True, eq=False)
class FoldPlan:
    """The parts of the rows: `n_parts` of them, of which `tested` are scored.

    assigner: for each pass over the data, a function that gives the parts of the next labels (-1: no label).
    forward: a part is scored by the model of the parts before it, not of all others.
    words: how the rows were divided, for people.
    """

    n_parts: int
    tested: range
    assigner: Callable[[], Callable[[Labels], Parts]]
    schema: Schema
    wanted: dict[str, Kind | None] = field(default_factory=dict)
    forward: bool = False
    words: str = ""

    def tables(self, source: Source, label: Any) -> Iterator[tuple[int, Table]]:
        """Every batch split by part; rows without a label have the part -1."""
        assign = self.assigner()
        for table in source.batches(self.wanted):
            part = assign(self.schema.label_spec.read(table, label))
            for number in range(-1, self.n_parts):
                rows = np.flatnonzero(part == number)
                if len(rows):
                    yield number, table.take(rows)


def plan_folds(request: FoldRequest, source: Source, model: Model, label: Any) -> FoldPlan:
    """The plan for some data; the model is empty and has its schema."""
    names = source.head().columns
    for name in request.columns:
        if name not in names:
            word = "group" if name == request.group else "time" if name == request.time else "by"
            hint = did_you_mean(name, names, "columns")
            raise ParameterError(f"{word}: the name of a column", got=name, hint=hint)
    wanted = columns_to_read(model.schema, label)
    for name in request.columns:
        wanted.setdefault(name, None)
    n = request.folds or 10
    has_texts = any(spec.is_text for spec in model.schema.columns.values())
    if (request.holdout, request.group, request.time) == (None, None, None) and not has_texts:
        return FoldPlan(n, range(n), lambda: FoldAssigner(n, request.seed), model.schema, wanted)
    bad, source.bad = source.bad, None if source.bad is None else BadRows()  # they are counted when they are learned
    batches = _labelled_batches(source, model, label, wanted)
    if request.group is not None:
        parts, words = _by_group(batches, request)
    elif request.time is not None:
        parts, words = _by_time(batches, request)
    elif request.holdout is not None:
        parts, words = _by_hash(batches, request, source, model.schema, label)
    else:
        parts, words = _by_class(batches, request, source, model.schema)
    source.bad = bad
    if request.holdout is not None:
        n_held = int((parts == 1).sum())
        words = f"{n_held:,} of {len(parts):,} rows held out{words}"
        return FoldPlan(2, range(1, 2), lambda: _deal_known(parts), model.schema, wanted, True, words)
    forward = request.time is not None
    n_parts = n + forward
    return FoldPlan(
        n_parts, range(int(forward), n_parts), lambda: _deal_known(parts), model.schema, wanted, forward, words
    )


def _labelled_batches(source: Source, model: Model, label: Any, wanted: Mapping[str, Kind | None]) -> Batches:
    """One pass over the data: tables, their labels, and which rows have one."""
    for table in source.batches(wanted):
        labels = model.schema.label_spec.read(table, label)
        yield table, labels, np.flatnonzero(labels.codes >= 0)


def _of_good_rows(source: Source, table: Table, result: NDArray[Any], work: Callable[[Table], Any]) -> NDArray[Any]:
    """What `work` gives for the rows of a table, (..., rows); `result` where they cannot be encoded and are skipped."""
    for part, values in source.work_on_good_rows(table, work):
        result[..., part.places_in(table.rows)] = values
    return result


def _deal_known(parts: Parts) -> Callable[[Labels], Parts]:
    """Parts that are known, in the order of the rows with a label."""
    done = 0

    def assign(labels: Labels) -> Parts:
        nonlocal done
        known = labels.codes >= 0
        result = np.full(len(known), -1, np.int64)
        n = int(known.sum())
        result[known] = parts[done : done + n]
        done += n
        return result

    return assign


def _by_class(batches: Batches, request: FoldRequest, source: Source, schema: Schema) -> tuple[Parts, str]:
    """Stratified folds with near-copied texts in one."""
    assign, together, parts = (
        FoldAssigner(request.folds or 10, request.seed),
        NearCopies(schema),
        [np.zeros(0, np.int64)],
    )
    for table, labels, known in batches:
        folds = assign(labels)
        parts.append(
            _of_good_rows(
                source,
                table,
                folds.copy(),
                lambda rows: together(rows, folds[rows.places_in(table.rows)]),  # noqa: B023
            )[known]
        )
    n_moved = together.n_moved
    words = f"near copies of a text are in one fold ({n_moved:,} rows were moved)" if n_moved else ""
    return np.concatenate(parts), words


def _by_group(batches: Batches, request: FoldRequest) -> tuple[Parts, str]:
    """Groups to folds, the largest first, each to the fold with the fewest rows; or some held out, by their hashes."""
    groups: list[Any] = []
    for table, _, known in batches:
        found = encode_labels(str(request.group), table.columns[str(request.group)])
        keys = [*found.keys, _MISSING]
        groups += [keys[code] for code in found.codes[known].tolist()]
    sizes = Counter(groups)
    shuffled = sorted(sizes, key=lambda group: _digest(group, request.seed))
    places: dict[Any, int] = {}
    if request.holdout is not None:
        _require(len(sizes), 2, "groups")
        left = max(request.holdout * len(groups), 1)
        for group in shuffled[:-1]:
            places[group] = int(left > 0)
            left -= sizes[group]
        places[shuffled[-1]] = 0
        held = sum(places.values())
        return np.array([places[group] for group in groups], np.int64), f": {held:,} of {len(sizes):,} groups"
    n = request.folds or 10
    _require(len(sizes), n, "groups", hint=f"folds={len(sizes)} (--folds {len(sizes)}) at most")
    places = deal_groups({group: sizes[group] for group in shuffled}, n)
    parts = np.array([places[group] for group in groups], np.int64)
    return parts, f"{len(sizes):,} groups, each in one of {n} folds"


def deal_groups(sizes: Mapping[Group, int], n_folds: int) -> dict[Group, int]:
    """The fold of each group, given their rows: the largest first, each to the fold with the fewest rows.

    >>> deal_groups({"a": 3, "b": 5, "c": 1, "d": 2}, 2)
    {'b': 0, 'a': 1, 'd': 1, 'c': 0}
    """
    rows, result = np.zeros(n_folds, np.int64), dict[Group, int]()
    for group in sorted(sizes, key=lambda group: -sizes[group]):
        result[group] = int(rows.argmin())
        rows[result[group]] += sizes[group]
    return result


def _by_time(batches: Batches, request: FoldRequest) -> tuple[Parts, str]:
    """Blocks of about equal size in the order of time; rows of the same time are in one block."""
    times = np.concatenate([np.zeros(0), *(row_times(table, str(request.time))[known] for table, _, known in batches)])
    _require(len(np.unique(times)), 2, "different times")
    before = np.searchsorted(np.sort(times), times, side="left")  # the rows that are earlier
    if request.holdout is not None:
        parts = (before >= round(len(times) * (1 - request.holdout))).astype(np.int64)
        if not parts.any():  # the last time has more rows than the share
            parts = (times == times.max()).astype(np.int64)
        return parts, ", the last in time"
    n = (request.folds or 10) + 1
    return before * n // len(times), f"{n - 1} blocks in the order of time, each scored by the model of those before it"


def _by_hash(batches: Batches, request: FoldRequest, source: Source, schema: Schema, label: Any) -> tuple[Parts, str]:
    """Of every class the share of its rows with the smallest hashes."""
    assert request.holdout is not None

    def hash_rows(rows: Table) -> tuple[Hashes, Hashes]:
        batch = read_batch(rows, schema, label, None)
        return RowHashes(batch, batch.labels.keys)(0, rows.n_rows)

    facts, row_labels = [np.zeros((2, 0), np.uint64)], list[Any]()
    for table, labels, known in batches:
        facts.append(_of_good_rows(source, table, np.zeros((2, table.n_rows), np.uint64), hash_rows)[:, known])
        row_labels += [labels.keys[code] for code in labels.codes[known].tolist()]
    hashes, signatures = np.concatenate(facts, axis=1)  # near copies of a text share signatures
    order = np.argsort(signatures, kind="stable")
    ordered = signatures[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else np.zeros(0, np.int64)
    copies = np.zeros(len(ordered), np.uint64)  # how many equal rows came before
    copies[order] = np.arange(len(ordered)) - np.repeat(first, np.diff(np.append(first, len(ordered))))
    salt = np.frombuffer(_digest("", request.seed), np.uint64)
    copies[hashes != signatures] = 0  # near-copied texts are all on one side
    mixed = _mix(_mix(signatures ^ salt) + copies)
    parts = np.zeros(len(mixed), np.int64)
    codes = {label: code for code, label in enumerate(dict.fromkeys(row_labels))}
    classes = np.array([codes[label] for label in row_labels], np.int64)
    for code in codes.values():
        members = np.flatnonzero(classes == code)
        n_held = round(request.holdout * len(members))
        parts[members] = (mixed[members] <= np.sort(mixed[members])[n_held - 1]) if n_held else 0
    if not parts.any() or parts.all():
        raise DataError("enough rows for both parts of the hold-out", got=Described(f"{len(parts)} rows"))
    return parts, ", of every class by the hashes of its rows"


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Each number scrambled (the finaliser of splitmix64, Steele, Lea and Flood 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def _digest(group: Any, seed: int) -> bytes:
    text = f"{seed}\0{type(group).__name__}\0{group}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _require(n: int, least: int, what: str, hint: str | None = None) -> None:
    if n < least:
        raise DataError(f"at least {least} {what}", got=n, hint=hint)
