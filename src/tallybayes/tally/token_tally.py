"""Columns of tokens: a vocabulary for each, and how long the bags or documents were.

The lengths count the rows of each class, and sampling draws a length from them. The length of a bag is its total
amount, rounded up so that fractional amounts (tf-idf) do not give every bag a length of its own.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Integers
from tallybayes.arrays.axis import merge_keys, sort_keys
from tallybayes.arrays.column import Key
from tallybayes.tally.counts import Counts
from tallybayes.tally.entry_store import (
    CLASS_BITS,
    CLASS_MASK,
    EntryStore,
    EntryTable,
    entries_from_arrays,
    entry_arrays,
)
from tallybayes.tally.exact import Exact, require
from tallybayes.tally.key_index import POOLED, LexiconIndex
from tallybayes.tally.tally import Arrays, Commit, Tally
from tallybayes.tally.vocabulary import BAG_KINDS, Vocabulary

__all__ = ["TokenTally"]

_BAG = "tokens."  # how the names of a bag's arrays begin in a file; those of text have no prefix


class TokenTally(Tally):
    """Vocabularies by column, and rows by length.

    model: an empty vocabulary of the type that new columns get. limit: the most tokens of a column (0: no limit).
    """

    def __init__(self, tokens: dict[str, Vocabulary], lengths: Counts, model: Vocabulary, limit: int = 0) -> None:
        self.tokens, self.lengths, self.model, self.limit = tokens, lengths, model, limit

    @property
    def features(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the columns."""
        return self.lengths.features

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """How many classes there are."""
        return self.lengths.n_classes

    def n_rows(self, feature: str) -> Exact:
        """Rows with a value per class."""
        return self.lengths.totals[feature]

    def rows_seen(self) -> Exact:
        """Rows with a value per (column, class)."""
        return self.lengths.rows_seen()

    def key_amounts(self, feature: str) -> dict[Key, float]:
        """The rounded amount of every token with a name; of a text, the documents that have it."""
        vocabulary = self.tokens[feature]
        slots = vocabulary.named()
        amounts = vocabulary.rows("documents", slots).sum(axis=1).tolist()
        return dict(zip(vocabulary.index.keys(slots), amounts, strict=True))

    def _with(self, tokens: dict[str, Vocabulary], lengths: Counts) -> TokenTally:
        return TokenTally(tokens, lengths, self.model, self.limit)

    def copy(self) -> TokenTally:
        """A tally with the same sums that can be changed independently."""
        return self._with({name: part.copy() for name, part in self.tokens.items()}, self.lengths.copy())

    def with_classes(self, positions: Integers, n_classes: int) -> TokenTally:
        """The same sums with class c at positions[c]."""
        tokens = {name: part.with_classes(positions, n_classes) for name, part in self.tokens.items()}
        return self._with(tokens, self.lengths.with_classes(positions, n_classes))

    def only(self, features: tuple[str, ...]) -> TokenTally:
        """The sums of some of the columns, to be read; vocabularies are not copied."""
        if features == self.features:
            return self
        return self._with({name: self.tokens[name] for name in features}, self.lengths.only(features))

    @property
    def n_dead(self) -> int:
        """How many tokens and lengths have no counts any more."""
        return self.lengths.n_dead + sum(part.n_dead for part in self.tokens.values())

    def freed(self) -> TokenTally:
        """The same sums without the tokens and lengths that have no counts any more."""
        return self._with({name: part.freed() for name, part in self.tokens.items()}, self.lengths.freed())

    def change_notes(self, sign: int) -> tuple[str, ...]:
        """Which tokens a limited vocabulary pools depends on the order of the rows."""
        if not any(part.has_pooled() for part in self.tokens.values()):
            return ()
        return ("more tokens than max_tokens: the rarest are counted together, and which depends on the order of rows",)

    def lexicon(self, feature: str) -> Any:
        """The lexicon of a column of text; None for bags."""
        return self.tokens[feature].index.lexicon

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit to the tokens of a column."""
        return bool(self.limit)

    def bound(self) -> None:
        """Keep every vocabulary within the limit."""
        for part in self.tokens.values() if self.limit else ():
            part.limit(self.limit)

    def prepare(self, other: TokenTally, sign: int) -> Commit:
        """Check that `other` can be added or subtracted; the function returned does it."""
        new = {name: self._new() for name in other.features if name not in self.tokens}
        tokens = self.tokens | new
        commits = [tokens[name].prepare(part, sign, name) for name, part in other.tokens.items()]
        commits.append(self.lengths.prepare(other.lengths, sign))

        def commit() -> None:
            self.tokens = {name: tokens[name] for name in merge_keys(tuple(self.tokens), tuple(new))}
            for step in commits:
                step()

        return commit

    def _new(self) -> Vocabulary:
        """A vocabulary for a new column."""
        return Vocabulary.empty(self.model.index.with_keys(()), self.n_classes, self.model.store.kinds)

    # The model file

    @property
    def _is_bag(self) -> bool:
        return self.model.store.kinds == BAG_KINDS

    def arrays(self) -> Arrays:
        """The tokens of every column in order, their entries, and the lengths."""
        features = tuple(n for n in self.features if self.lengths.n_keys(n) or self.tokens[n].n_keys)
        lengths = self.lengths.arrays_of(features).named("lengths.")
        keys: list[Any] = []
        key_ends, tables = [], [EntryStore(self.n_classes, self.model.store.kinds).table()]
        for name in features:
            column_keys, table = self.tokens[name].in_order()
            tables.append(EntryTable(table.entries + (len(keys) << CLASS_BITS), table.sums))
            keys += column_keys
            key_ends.append(len(keys))
        whole = EntryTable(
            np.concatenate([table.entries for table in tables]),
            {kind: Exact.concatenate([table.sums[kind] for table in tables]) for kind in self.model.store.kinds},
        )
        sums, places = entry_arrays(whole, len(keys))
        if self._is_bag:
            totals = [self.tokens[name].totals["amounts"][None] for name in features]
            sums["totals"] = Exact.concatenate([Exact.zeros((0, self.n_classes)), *totals]).trimmed()
        model_arrays = Arrays(features, sums, places | {"key_ends": np.array(key_ends, np.int64)}, {"keys": keys})
        model_arrays = model_arrays.named(_BAG) if self._is_bag else model_arrays
        return Arrays(
            features,
            model_arrays.sums | lengths.sums,
            model_arrays.places | lengths.places,
            model_arrays.keys | lengths.keys,
        )

    @classmethod
    def from_arrays(cls, arrays: Arrays, n_classes: int, like: TokenTally) -> TokenTally:
        """Bags or documents that rows can have, or a ValueError."""
        lengths = Counts.from_arrays(arrays.without("lengths."), n_classes, like.lengths)
        require(all(type(key) is int and 0 <= key <= 2**53 for key in lengths.key_of), "lengths of bags")
        model_arrays = arrays.without(_BAG) if like._is_bag else arrays
        _, table = entries_from_arrays(model_arrays, like.model.store.kinds, n_classes)
        result = cls({}, lengths, like.model, like.limit)
        key_ends = model_arrays.places["key_ends"].tolist()
        for name, first, last in zip(model_arrays.features, [0, *key_ends], key_ends, strict=False):
            start, stop = np.searchsorted(table.entries, [first << CLASS_BITS, last << CLASS_BITS])
            entries = table.entries[start:stop] - (first << CLASS_BITS)
            part = EntryTable(entries, {kind: sums[start:stop].trimmed() for kind, sums in table.sums.items()})
            result.tokens[name] = result._restore(name, model_arrays.keys["keys"][first:last], part, n_classes)
        return result

    def _restore(self, name: str, keys: list[Any], table: EntryTable, n_classes: int) -> Vocabulary:
        """A vocabulary from a file, checked."""
        index = self.model.index
        if self._is_bag:
            require(sort_keys(keys) == keys and len(set(keys)) == len(keys), f"column {name!r}: keys in order")
        else:
            kind = int if index.is_hashed else str
            require(all(type(key) is kind for key in keys), "tokens of the wrong type")
            require(all(a < b for a, b in itertools.pairwise(keys)), "tokens out of order")
            self._check_documents(name, keys, table)
        if index.is_hashed:
            require(not keys or (keys[0] >= 0 and keys[-1] < len(index)), "buckets out of range")
            table = table.mapped(np.array(keys, np.int64), None)
        return Vocabulary(index.with_keys(keys), EntryStore(n_classes, self.model.store.kinds, table))

    def _check_documents(self, name: str, keys: list[Any], table: EntryTable) -> None:
        """Raise unless documents can have these sums of tokens."""
        pooled = isinstance(self.model.index, LexiconIndex) and keys[:1] == [POOLED]
        require(self.limit or not pooled, f"column {name!r}: a token without a name")
        named = table.entries > CLASS_MASK if pooled else np.ones(len(table.entries), bool)
        counts, documents = table.sums["counts"][named], table.sums["documents"][named]
        more = (self.n_rows(name)[table.classes[named]] - documents).negative()
        require(not more.any(), f"column {name!r}: more documents with a token than documents")
        require(
            not (counts - documents).negative().any(), f"column {name!r}: more documents with a token than occurrences"
        )
