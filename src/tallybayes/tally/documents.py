"""Columns of text: a vocabulary for each, and how long the documents were.

The lengths tell how many documents a class has had, and are what sampling draws a length from.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import merged
from tallybayes.arrays.column import Key
from tallybayes.tally.counts import Counts
from tallybayes.tally.exact import Exact, check_amounts, require
from tallybayes.tally.tally import Arrays, Commit, Tally, check_ends
from tallybayes.tally.vocabulary import KINDS, LOST, Vocabulary, lexicon_of

__all__ = ["Documents"]


class Documents(Tally):
    """Vocabularies by column, and documents by length; `limit` bounds the tokens of each (0: no limit)."""

    def __init__(self, words: dict[str, Vocabulary], lengths: Counts, limit: int = 0, buckets: Any = None) -> None:
        self.words, self.lengths, self.limit = words, lengths, limit
        self.buckets = buckets  # what hashes the tokens, if they are hashed

    @property
    def features(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the columns."""
        return self.lengths.features

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """How many classes there are."""
        return self.lengths.n_classes

    def n_documents(self, feature: str) -> Exact:
        """Documents per class."""
        return self.lengths.totals[feature]

    def _with(self, words: dict[str, Vocabulary], lengths: Counts) -> Documents:
        return Documents(words, lengths, self.limit, self.buckets)

    def copy(self) -> Documents:
        """A tally of its own with the same sums."""
        return self._with({name: part.copy() for name, part in self.words.items()}, self.lengths.copy())

    def with_classes(self, positions: NDArray[np.int64], n_classes: int) -> Documents:
        """The same sums with class c at positions[c]."""
        words = {name: part.with_classes(positions, n_classes) for name, part in self.words.items()}
        return self._with(words, self.lengths.with_classes(positions, n_classes))

    def only(self, features: tuple[str, ...]) -> Documents:
        """The sums of some of the columns, to be read; vocabularies are not copied."""
        if features == self.features:
            return self
        return self._with({name: self.words[name] for name in features}, self.lengths.only(features))

    @property
    def n_dead(self) -> int:
        """How many tokens and lengths have no counts any more."""
        return self.lengths.n_dead + sum(part.n_dead for part in self.words.values())

    def freed(self) -> Documents:
        """The same sums without the tokens and lengths that have no counts any more."""
        return self._with({name: part.freed() for name, part in self.words.items()}, self.lengths.freed())

    def has_lost(self) -> bool:
        """Whether tokens have lost their names."""
        return any(part.has_lost() for part in self.words.values())

    def change_notes(self, sign: int) -> tuple[str, ...]:
        """A bounded vocabulary depends on the order of the rows."""
        if not self.has_lost():
            return ()
        return ("more tokens than max_tokens: the rarest are counted together, and which depends on the order of rows",)

    def lexicon(self, feature: str) -> Any:
        """The lexicon of a column's vocabulary."""
        return self.words[feature].lexicon

    def bound(self) -> None:
        """Keep every vocabulary within the limit."""
        for part in self.words.values() if self.limit else ():
            part.bound(self.limit)

    def prepare(self, other: Documents, sign: int) -> Commit:
        """Check that `other` can be added or taken away; the function returned does it."""
        new = {name: self._empty() for name in other.features if name not in self.words}
        words = self.words | new
        commits = [words[name].prepare(part, sign, name) for name, part in other.words.items()]
        commits.append(self.lengths.prepare(other.lengths, sign))

        def commit() -> None:
            self.words = {name: words[name] for name in merged(tuple(self.words), tuple(new))}
            for step in commits:
                step()

        return commit

    def _empty(self) -> Vocabulary:
        return Vocabulary(self.n_classes, self.buckets)

    def rows_seen(self) -> Exact:
        """Documents per (column, class)."""
        return self.lengths.rows_seen()

    def same(self, other: Documents) -> bool:
        """Whether the sums are equal."""
        mine, theirs = self.arrays(), other.arrays()
        return (
            self.n_classes == other.n_classes
            and mine.features == theirs.features
            and mine.keys == theirs.keys
            and all(mine.sums[name] == theirs.sums[name] for name in mine.sums)
            and all(np.array_equal(mine.places[name], theirs.places[name]) for name in mine.places)
        )

    def arrays(self) -> Arrays:
        """The tokens of every column in order, their cells, and the lengths."""
        features = tuple(n for n in self.features if self.lengths.n_keys(n) or self.words[n].n_keys)
        lengths = self.lengths.arrays_of(features).named("lengths.")
        keys: list[Key] = []
        key_ends, cell_ends, classes = [], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        sums: dict[str, list[Exact]] = {kind: [Exact.zeros(0)] for kind in KINDS}
        for name in features:
            part = self.words[name]
            slot, klass = part.cells()
            own = sorted(zip(part.names(part.live()), part.live().tolist(), strict=True))
            rank = np.zeros(len(part.lexicon), np.int64)
            rank[[slot for _, slot in own]] = np.arange(len(own))
            order = np.lexsort((klass, rank[slot]))
            keys += [key for key, _ in own]
            key_ends.append(len(keys))
            cell_ends.append(np.bincount(rank[slot], minlength=len(own)))
            classes.append(klass[order])
            for kind in KINDS:
                sums[kind].append(part.sums(kind)[order])
        ends = np.cumsum(np.concatenate(cell_ends)).astype(np.int64)
        return Arrays(
            features,
            {kind: Exact.concatenate(parts).trimmed() for kind, parts in sums.items()} | lengths.sums,
            {"key_ends": np.array(key_ends, np.int64), "cell_ends": ends, "classes": np.concatenate(classes)}
            | lengths.places,
            {"keys": keys} | lengths.keys,
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_classes: int, like: Documents) -> Documents:
        """Documents that could come from rows, or a ValueError."""
        lengths = Counts.from_arrays(arrays.without("lengths."), n_classes, like.lengths)
        require(all(type(key) is int and 0 <= key <= 2**53 for key in lengths.key_of), "lengths of documents")
        features, keys, klass = arrays.features, arrays.keys["keys"], arrays.places["classes"]
        sums = {kind: arrays.sums[kind] for kind in KINDS}
        require(klass.ndim == 1 and all(part.shape == klass.shape for part in sums.values()), "sums for each cell")
        require(((klass >= 0) & (klass < n_classes)).all(), "classes out of range")
        check_amounts(sums["counts"], "counts")
        check_amounts(sums["documents"], "documents")
        require(all((part.floats() > 0).all() for part in sums.values()), "cells without a count")
        owner = check_ends(arrays.places["key_ends"], len(features), len(keys), "keys")
        slot = check_ends(arrays.places["cell_ends"], len(keys), len(klass), "cells")
        require((np.diff(slot * np.int64(2**24) + klass) > 0).all(), "classes out of order")
        require((np.bincount(slot, minlength=len(keys)) > 0).all(), "keys without a count")
        result = cls({}, lengths, like.limit, like.buckets)
        for i, name in enumerate(features):
            own, mine = np.flatnonzero(owner == i), owner[slot] == i
            names = keys[own[0] : own[-1] + 1] if len(own) else []
            result.words[name] = result._restored(
                names,
                slot[mine] - (own[0] if len(own) else 0),
                klass[mine],
                {kind: part[mine] for kind, part in sums.items()},
            )
            named = slot[mine] - (own[0] if len(own) else 0) >= len(lost := names[:1] if names[:1] == [LOST] else [])
            require(like.limit or not lost, f"column {name!r}: a token without a name")
            over = lengths.totals[name][klass[mine][named]] - sums["documents"][mine][named]
            require(not over.negative().any(), f"column {name!r}: more documents with a token than documents")
            times = sums["counts"][mine][named] - sums["documents"][mine][named]
            require(not times.negative().any(), f"column {name!r}: more documents with a token than occurrences")
        return result

    def _restored(self, keys: list[Any], slot: NDArray[np.int64], klass: NDArray[np.int64], sums: Any) -> Vocabulary:
        """A vocabulary from keys that are to be in order."""
        part = self._empty()
        kind, top = (int, len(part.lexicon)) if part.is_hashed else (str, None)
        require(all(type(key) is kind for key in keys), "tokens of the wrong type")
        require(all(a < b for a, b in itertools.pairwise(keys)), "tokens out of order")
        if part.is_hashed:
            require(not keys or (keys[0] >= 0 and keys[-1] < top), "buckets out of range")
            slot = np.array(keys, np.int64)[slot]
        else:
            part.lexicon = lexicon_of(keys)
        part.fill(slot << 24 | klass, sums)
        return part
