"""The sum that a model is: rows per label, and one tally for every block of columns.

Everything a model learns is in its `SufficientStatistics`; settings and schema are not part of it. Labels are sorted,
class codes are positions among them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Codes32, Floats
from tallybayes.arrays.axis import merge_keys, positions
from tallybayes.arrays.column import Column
from tallybayes.arrays.memory_budget import check_budget
from tallybayes.columns.batch import Batch
from tallybayes.columns.schema import Schema
from tallybayes.errors import ForgetError
from tallybayes.families import Family
from tallybayes.tally import Exact, Tally
from tallybayes.tally.exact import check_counts
from tallybayes.tally.tally import Commit

__all__ = ["SufficientStatistics"]

_DEAD = 256  # keys without counts from which on it is worth the time to let go of them


class SufficientStatistics:
    """Labels, rows per label (exact), and a tally per family, in the order of their names."""

    def __init__(self, labels: list[Any], class_rows: Exact, blocks: dict[Family, Tally]) -> None:
        self.labels = labels
        self.class_rows = class_rows
        self.blocks = _in_order(blocks)
        self.n_readers = 0  # threads that read these sums at the moment; they may be changed in place only if 0
        self.is_shared = False  # held by more than one model or snapshot: never changed in place again

    @property
    def may_change(self) -> bool:
        """Whether the sums may be changed in place: nobody else sees them."""
        return not self.n_readers and not self.is_shared

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the sums."""
        return self.__dict__ | {"n_readers": 0, "is_shared": False}

    @classmethod
    def empty(cls) -> SufficientStatistics:
        """No rows yet."""
        return cls([], Exact.zeros(0), {})

    @classmethod
    def observe(cls, batch: Batch, keys: list[Any], labels: list[Any], schema: Schema) -> SufficientStatistics:
        """Count a batch whose labels are `keys`, over a list of labels that holds them."""
        codes, class_rows = _count_rows(batch, keys, labels)
        check_budget(len(batch.columns), len(labels), "columns", cell_bytes=64)  # sums of reals: some eight digits
        blocks = {
            family: family.observe(tuple(names), [batch.columns[n] for n in names], codes, len(labels), batch.weights)
            for family, names in _by_family(batch.columns, schema).items()
        }
        return cls(labels, class_rows, blocks)

    @classmethod
    def observe_shares(
        cls, columns: Mapping[str, Column], shares: Floats, labels: list[Any], schema: Schema
    ) -> SufficientStatistics:
        """Count rows that belong to every label with a share, (rows, labels)."""
        check_budget(len(columns), len(labels), "columns", cell_bytes=64)
        rows, codes = np.nonzero(shares)
        class_rows = Exact.summed(shares[rows, codes], codes, len(labels))
        blocks = {
            family: family.observe_shares(tuple(names), [columns[name] for name in names], shares)
            for family, names in _by_family(columns, schema).items()
        }
        return cls(list(labels), class_rows, blocks)

    def without(self, batch: Batch, keys: list[Any], schema: Schema) -> SufficientStatistics:
        """The sums without a batch of rows that they hold, whose labels are `keys`."""
        codes, class_rows = _count_rows(batch, keys, self.labels)
        blocks = {family: tally.copy() for family, tally in self.blocks.items()}
        for family, names in _by_family(batch.columns, schema).items():
            tally, columns = blocks[family], [batch.columns[name] for name in names]
            if tally.features == (*names,):
                blocks[family] = family.without(tally, columns, codes, batch.weights)
            else:
                tally.prepare(family.observe((*names,), columns, codes, len(self.labels), batch.weights), -1)()
        return SufficientStatistics(list(self.labels), (self.class_rows - class_rows).trimmed(), blocks)

    def in_use(self) -> list[Any]:
        """The labels that have rows.

        A label whose rows were all forgotten stays in `labels` with a count of 0: it is no class of the model, and is
        not saved.
        """
        if self.class_rows.all_nonzero():
            return list(self.labels)
        return [label for label, here in zip(self.labels, self.class_rows.nonzero(), strict=True) if here]

    def any_key(self, family: Family | None, name: str) -> Any:
        """One category counted in a column, or None."""
        tally = self.blocks.get(family.counted) if family is not None else None
        return None if tally is None else tally.any_key(name)

    def copy(self) -> SufficientStatistics:
        """Sums of its own."""
        class_rows = Exact(self.class_rows.digits.copy(), self.class_rows.low)
        return SufficientStatistics(
            list(self.labels), class_rows, {family: tally.copy() for family, tally in self.blocks.items()}
        )

    def aligned(self, labels: list[Any]) -> SufficientStatistics:
        """The same sums over other labels; itself if they are its own."""
        if labels == self.labels:
            return self
        where = positions(self.labels, labels)
        kept = where >= 0
        class_rows = self.class_rows[kept].placed(0, where[kept], len(labels)).trimmed()
        blocks = {family: tally.with_classes(where, len(labels)) for family, tally in self.blocks.items()}
        return SufficientStatistics(list(labels), class_rows, blocks)

    def only(self, names: Collection[str]) -> SufficientStatistics:
        """The sums of some columns; tallies are shared where all of their columns are kept."""
        blocks = {}
        for family, tally in self.blocks.items():
            if kept := tuple(name for name in tally.features if name in names):
                blocks[family] = tally if kept == tally.features else tally.only(kept)
        result = SufficientStatistics(list(self.labels), self.class_rows, blocks)
        result.is_shared = True
        return result

    def times(self, factor: float) -> SufficientStatistics:
        """The sums of the same rows with their weights multiplied by a number above 0, exactly."""
        total = self.aligned(self.in_use())
        blocks = {family: tally.times(factor) for family, tally in total.blocks.items()}
        return SufficientStatistics(list(total.labels), total.class_rows.times(factor).trimmed(), blocks)

    def same(self, other: SufficientStatistics) -> bool:
        """Whether the sums are equal; labels, columns and keys without any rows do not matter."""
        if self.in_use() != other.in_use():
            return False
        a, b = self.aligned(self.in_use()), other.aligned(other.in_use())
        return a.class_rows == b.class_rows and all(
            (a.blocks.get(family) or _empty_like(b.blocks[family])).same(
                b.blocks.get(family) or _empty_like(a.blocks[family])
            )
            for family in {*a.blocks, *b.blocks}
        )

    def add(self, other: SufficientStatistics, sign: int) -> None:
        """Add or take away sums over the same labels; raises before anything is changed."""
        class_rows = self.class_rows + other.class_rows if sign > 0 else self.class_rows - other.class_rows
        check_counts(class_rows)
        if class_rows.negative().any():
            label = self.labels[int(np.argmax(class_rows.negative()))]
            raise ForgetError(f"the label {label!r} was not learned that often")
        if sign < 0:
            self._check_whole_rows(class_rows, other)
        commits: list[Commit] = []
        new: dict[Family, Tally] = {}
        for family, tally in other.blocks.items():
            if family in self.blocks:
                commits.append(self.blocks[family].prepare(tally, sign))
            elif sign > 0:  # no column has more rows than the classes, which were checked
                new[family] = tally
            else:
                _empty_like(tally).prepare(tally, sign)  # raises unless there is nothing in it
        for commit in commits:
            commit()
        self.blocks = _in_order(self.blocks | new) if new else self.blocks
        self.class_rows = class_rows.trimmed()

    def combined(self, part: SufficientStatistics, sign: int) -> SufficientStatistics:
        """The sums with others added (1) or taken away (-1), over the labels of both; either may be changed."""
        labels = merge_keys(self.labels, part.labels)
        result = self.aligned(labels)
        result.add(part.aligned(labels), sign)
        return result

    def bound(self) -> None:
        """Keep vocabularies within their limits."""
        for tally in self.blocks.values():
            tally.bound()

    def free(self) -> None:
        """Let go of keys that were all taken back, once they are many: what was forgotten is not kept for ever."""
        for family, tally in self.blocks.items():
            if tally.n_dead > _DEAD:
                self.blocks[family] = tally.freed()

    def _check_whole_rows(self, class_rows: Exact, taken: SufficientStatistics) -> None:
        """Refuse to leave a column with more values in a class than the class has rows: part of a row was forgotten."""
        for family, tally in self.blocks.items():
            left = tally.rows_seen()
            if family in taken.blocks:
                part = taken.blocks[family]
                where: NDArray[np.int64] = positions(part.features, tally.features)
                known = where >= 0
                left = left - part.rows_seen()[known].placed(0, where[known], len(tally.features))
            lacking = (class_rows[None] - left).negative()
            if lacking.any():
                raise ForgetError(
                    "rows were to be taken back without the values that they had here",
                    column=tally.features[int(np.argwhere(lacking)[0][0])],
                )


def _count_rows(batch: Batch, keys: list[Any], labels: list[Any]) -> tuple[Codes32, Exact]:
    """The places of the labels of a batch among others, and its rows per label; rows of weight 0 do not count."""
    codes = batch.labels.codes
    if labels != keys:
        codes = np.append(positions(keys, labels), -1).astype(np.int32)[codes]
    if batch.weights is None:
        return codes, Exact.whole(batch.labels.counts).placed(0, positions(keys, labels), len(labels))
    codes = np.where(batch.weights > 0, codes, np.int32(-1)).astype(np.int32)
    counted = codes >= 0
    return codes, Exact.summed(batch.weights[counted], codes[counted].astype(np.int64), len(labels))


def _by_family(columns: Iterable[str], schema: Schema) -> dict[Family, list[str]]:
    """The names of the columns by the family that counts them."""
    families, result = schema.families, dict[Family, list[str]]()
    for name in sorted(columns):
        result.setdefault(families[name].counted, []).append(name)
    return result


def _in_order(blocks: dict[Family, Tally]) -> dict[Family, Tally]:
    return dict(sorted(blocks.items(), key=lambda block: str(block[0]))) if len(blocks) > 1 else blocks


def _empty_like(tally: Tally) -> Tally:
    """A tally of the same kind without any rows."""
    result = tally.copy()
    result.prepare(tally, -1)()
    return result
