"""What the tokens of one column add to the score of each class.

The score of a bag or document is the sum over its tokens of amount * weight[token, class]. Weights are computed for the
tokens that a batch has, or once for all tokens where a batch is large:

    counts      weight = log P(t | c),  P(t | c) = (n_tc + k) / (n_c + k V)
    complement  weight = -log P(t | not c), the same with the counts of all other classes together
    presence    weight = log P(t | c) - log(1 - P(t | c)),  P(t | c) = (n_tc + k) / (n_c + 2 k) with n_c rows;
                a row without any token has the score `Absence.log_none`. Without smoothing P may be 1, if all rows of
                a class have the token; such tokens are counted instead, and a row that lacks one rules out the class

With k = 0 these are frequencies. 0/0 contributes nothing (weight 0). A token of which one class has all occurrences
rules out the other classes, also in the complement variant, where the weight of that class would be infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Booleans, Indices, Integers, Integers32
from tallybayes.arrays.axis import distinct_numbers
from tallybayes.arrays.column import Bag, Key
from tallybayes.families.credible import absence_cumulants, bag_cumulants, check_posterior, presence_cumulants
from tallybayes.families.family import Floats, Score
from tallybayes.families.shrinkage import by_group
from tallybayes.families.tokens.bag_scores import Absence, score_bags
from tallybayes.families.tokens.token_options import (
    KIND_OF,
    TokenOptions,
    TokenScales,
    balance,
    inverse_frequency,
    multiply_totals,
)
from tallybayes.kernels.densities import laplace
from tallybayes.tally import DeclaredTokens, Vocabulary

__all__ = ["TokenWeights", "integer_amounts", "over_classes"]

_TIMES_FEWER = 4  # where a batch has this many times fewer tokens than the vocabulary, only their weights are computed

Slots = Integers


def over_classes(n: Floats) -> Floats:
    """The sums of rows (tokens, classes), added in the order of the classes however many rows there are."""
    return n.cumsum(axis=1)[:, -1:] if n.shape[1] else np.zeros((len(n), 1))


def integer_amounts(bag: Bag) -> Integers32:
    """How often each token occurs, as integers."""
    if bag.amounts is None:
        return np.ones(len(bag.indices), np.int32)
    if bag.amounts.dtype == np.int32:
        return np.ascontiguousarray(bag.amounts)
    return np.asarray(bag.amounts, np.float64).round().astype(np.int32)


class TokenWeights:
    """The weights of the tokens of one column, derived from its sums.

    n_rows: rows per class, (classes,). declared: tokens that exist, whether they have been seen or not.
    """

    def __init__(
        self,
        words: Vocabulary,
        n_rows: Floats,
        options: TokenOptions,
        k: float,
        held: TokenScales | None = None,
        declared: Sequence[str] = (),
    ) -> None:
        self.counted = words
        self.words = words.up_to(options.scored_ngrams) if options.scored_ngrams else words
        if declared and k > 0:  # frequencies of what was never seen are 0 / 0
            self.words = DeclaredTokens(self.words, declared)
        self.n_rows, self.options, self.k, self._held = n_rows, options, k, held
        self.is_presence = options.variant == "presence"
        self.kind = "documents" if self.is_presence else KIND_OF[options.tf]
        self.weight = 1.0  # of the column
        self._corrections: tuple[Slots, Floats] | None = None  # slots in order, and what is added to their weights
        self._n_scored = 0

    def with_weight(self, weight: float) -> TokenWeights:
        """The same with a column weight: scores are multiplied by it."""
        return self._changed(weight=weight)

    def with_corrections(self, tokens: Sequence[Key], corrections: Floats) -> TokenWeights:
        """The same with corrections (tokens, classes) added to the weights of some tokens."""
        slots = self.words.index.find(tokens)
        used = np.flatnonzero(self.words.store.has(slots))
        used = used[np.argsort(slots[used])]
        return self._changed(_corrections=(slots[used], corrections[used]))

    def _changed(self, **changes: Any) -> TokenWeights:
        """A copy with other values, and a table of its own."""
        result = copy(self)
        result.__dict__.pop("_table", None)
        result.__dict__.update(changes)
        return result

    # Weights

    def of(self, slots: Slots) -> Floats:
        """The weights of slots, (slots, classes); 0 for tokens without counts."""
        return self._weights(self.words.rows(self.kind, slots), slots)

    @cached_property
    def scales(self) -> TokenScales:
        """What the weights are multiplied with."""
        if self._held is not None:
            return self._held
        factor = self._factor
        if not self.options.balanced or np.isinf(self.k):
            return TokenScales(factor, None)
        is_complement = self.options.variant == "complement"
        return TokenScales(factor, balance(self.words, self.kind, factor, self.k, *self.totals, is_complement))

    @cached_property
    def _factor(self) -> Floats | None:
        words, options = self.words, self.options
        if self._held is not None:
            return self._held.factor
        if not (options.idf or options.min_count > 1):
            return None
        factor = self._often().astype(np.float64) if options.min_count > 1 else np.ones(words.n_slots)
        return factor * inverse_frequency(words, self.n_rows) if options.idf else factor

    @cached_property
    def totals(self) -> tuple[Floats, int]:
        """The sum of the amounts times the factors, (classes,), and the number of tokens."""
        if self._factor is None:
            return self.words.total(self.kind), self.words.n_keys
        return multiply_totals(self.words, self.kind, self._factor)

    def _weights(self, n: Floats, slots: Slots) -> Floats:
        """The weights of counts (tokens, classes)."""
        known = self.words.store.has(slots)[:, None]
        factor: Any = self.scales.factor
        if factor is not None:
            factor = np.concatenate([factor, [0.0]])[np.where(slots < len(factor), slots, -1)][:, None]
            known &= factor > 0
        if self.is_presence:
            log_yes, log_no = self.log_presence(n)
            return np.where(known, log_yes - np.where(np.isinf(log_no), 0.0, log_no), 0.0)
        total, n_keys = self.totals
        n = n if factor is None else n * factor
        if self.options.variant != "complement":
            weights = np.where(known, laplace(n, total, self.k, n_keys), 0.0)
        else:
            log_p = laplace(np.maximum(over_classes(n) - n, 0.0), total.sum() - total, self.k, n_keys)
            only_here = np.isinf(log_p)  # with k = 0: no other class has the token
            rules_out = only_here.any(axis=1, keepdims=True)
            weights = np.where(known, np.where(rules_out, np.where(only_here, 0.0, -np.inf), -log_p), 0.0)
        if self.scales.scale is not None:
            weights = weights * self.scales.scale
        return weights * factor if self.options.idf else weights

    def named_slots(self) -> Slots:
        """The slots of the tokens that have a name and are scored."""
        slots = self.words.named()
        return slots if self.options.min_count == 1 else slots[self._often()[slots]]

    def _often(self) -> Booleans:
        """Which slots have a name and enough counts."""
        words = self.words
        often = np.bincount(words.store.table().slots, words.floats("counts"), words.n_slots) >= self.options.min_count
        if words.has_pooled():
            often[words.index.pooled_slot :][:1] = False
        return np.asarray(often)

    def log_presence(self, n: Floats) -> tuple[Floats, Floats]:
        """Log probability that a row has a token and that it does not, (tokens, classes), from rows with it."""
        return laplace(n, self.n_rows, self.k, 2), laplace(np.maximum(self.n_rows - n, 0.0), self.n_rows, self.k, 2)

    @cached_property
    def _no_token(self) -> tuple[Floats, Floats]:
        """The score of a row without any token, but for tokens that all rows of a class have had, and how many."""
        words, rows = self.words, self.n_rows
        klass, n = words.named_entries("documents")
        n_keys = len(words.named()) if words.has_pooled() else words.n_keys
        if self.options.min_count > 1:
            often, slot = self._often(), words.store.table().slots
            kept = often[slot[slot != words.index.pooled_slot]]
            klass, n, n_keys = klass[kept], n[kept], int(np.count_nonzero(often))
        seen = laplace(np.maximum(rows[klass] - n, 0.0), rows[klass], self.k, 2)
        certain = np.isinf(seen)
        total = by_group(klass, np.where(certain, 0.0, seen), len(rows))
        n_never = n_keys - np.bincount(klass, minlength=len(rows))
        n_certain = np.bincount(klass, weights=certain, minlength=len(rows)).astype(np.float64)
        return total + n_never * laplace(rows, rows, self.k, 2), n_certain

    def _absence(self, slots: Slots) -> Absence:
        """What absent tokens contribute, for bags that have tokens of slots."""
        (log_none, n_certain), certain = self._no_token, None
        if n_certain.any():
            certain = np.isinf(self.log_presence(self.words.rows("documents", slots))[1]).astype(np.float64)
        return Absence(log_none * self.weight, n_certain, certain)

    # Scores

    def find_entries(self, bag: Bag) -> tuple[Indices, Booleans]:
        """The slot of every entry of bags, and whether its token has been counted and is scored."""
        slots = self.words.index.slots_of(bag.keys, bag.indices)
        kept = self.words.store.has(slots)
        if self.options.min_count > 1:
            kept[kept] = self._often()[slots[kept]]
        if bag.amounts is not None:
            kept &= bag.amounts[: len(kept)] != 0
        return slots, kept

    def known(self, bag: Bag) -> Bag:
        """The bags with the tokens that have been counted and are scored, by their slots."""
        bag = bag.expanded()
        slots, kept = self.find_entries(bag)
        slots = np.ascontiguousarray(slots, np.int32)
        if kept.all():
            return Bag(bag.indptr, slots, bag.amounts, (), bag.present)
        ends = np.concatenate([[0], np.cumsum(kept)])[bag.indptr]
        amounts = None if bag.amounts is None else bag.amounts[: len(kept)][kept]
        return Bag(ends, slots[kept], amounts, (), bag.present)

    def bind(self, bag: Bag) -> Score:
        """Get ready to score bags."""
        bag, index = bag.expanded(), self.words.index
        if index.lexicon is not None or len(bag.indices) < len(bag.keys):
            return self.bind_known(self.known(bag))
        table, slots = self._table, index.find(bag.keys)  # of a matrix each key is looked up once, not each entry
        slots = np.where(self.words.store.has(slots), slots, -1)  # the index is shared, and may have other keys
        weights = np.concatenate([table, np.zeros((1, table.shape[1]))])[slots]  # 0 for tokens without counts
        if not self.is_presence:
            return score_bags(bag, bag.indices, bag.amounts, weights)
        amounts = None if bag.amounts is None else (bag.amounts != 0).astype(np.float64)
        return score_bags(bag, bag.indices, amounts, weights, self._absence(slots))

    def bind_known(self, bag: Bag) -> Score:
        """The same for bags whose indices are slots of tokens that have been counted."""
        amounts, (slots, place) = self._amounts(bag), self._used
        indices: Indices
        self._n_scored += len(bag.indices)  # small batches after each other pay for the whole table, too
        if self.options.has_caps or ("_table" not in vars(self) and self._n_scored * _TIMES_FEWER < len(slots)):
            slots, indices = distinct_numbers(bag.indices, self.words.n_slots)
            table, amounts = self.weights_and_amounts(bag, indices, slots)
            table = table * self.weight
        else:
            indices, table = bag.indices if place is None else place[bag.indices], self._table
        return score_bags(bag, indices, amounts, table, self._absence(slots) if self.is_presence else None)

    @cached_property
    def _table(self) -> Floats:
        """What amounts of tokens are multiplied with, of all slots in use."""
        return self._scored_weights(self._used[0]) * self.weight

    @cached_property
    def _used(self) -> tuple[Slots, Integers32 | None]:
        """The slots of the table, and where each slot is in it: those in use, if most tokens are not scored."""
        words = self.words
        if words.index.lexicon is None or words.n_keys * _TIMES_FEWER >= words.n_slots:
            return np.arange(words.n_slots), None
        used = words.slots_in_use()
        place = np.zeros(words.n_slots, np.int32)
        place[used] = np.arange(len(used))
        return used, place

    @property
    def _unit(self) -> float:
        """The unit of amounts."""
        return 2.0**-30 if self.options.tf == "log" and not self.is_presence else 1.0

    def _scored_weights(self, slots: Slots) -> Floats:
        """The weights of slots with their corrections, in the unit of amounts."""
        weights = self.of(slots)
        if self._corrections is not None:
            corrected, rows = self._corrections
            place = np.searchsorted(corrected, slots)
            there = np.append(corrected, -2)[place] == slots
            weights[there] += rows[place[there]]
        return weights * self._unit

    def weights_and_amounts(self, bag: Bag, indices: Any, slots: Slots) -> tuple[Floats, Any]:
        """The weights of slots, and the amount of each token of a bag (None: one each), after the caps."""
        weights, amounts = self._scored_weights(slots), self._amounts(bag)
        return weights, self._cap_amounts(bag, indices, amounts, weights) if self.options.has_caps else amounts

    def row_evidence(self, bag: Bag) -> Floats:
        """What the tokens of a single bag of known ones add to its score, (tokens, classes); presence: log P(t | c)."""
        slots = bag.indices.astype(np.int64)
        weights, amounts = self.weights_and_amounts(bag, np.arange(len(slots)), slots)
        used = np.ones((len(slots), 1)) if amounts is None else np.asarray(amounts, np.float64)[:, None]
        added = np.where(used == 0, 0.0, used * weights)
        if self.is_presence:
            log_no = self.absence(slots)
            added += np.where((used == 0) | np.isinf(log_no), 0.0, log_no)
        return np.asarray(added)

    def absence(self, slots: Slots) -> Floats:
        """Log P(absent | class) of tokens, (tokens, classes); 0 for those that are not scored."""
        n = self.words.rows(self.kind, slots)
        scored = self.words.store.has(slots) if self.options.min_count == 1 else self._often()[slots]
        return np.where(scored[:, None], self.log_presence(n)[1], 0.0)

    def scored_amounts(self, bag: Bag) -> tuple[Indices, Indices, Floats]:
        """Where each bag ends, the slots of its tokens, and the amounts they are scored with."""
        known = self.known(bag)
        amounts = self._amounts(known)
        scaled = np.ones(len(known.indices)) if amounts is None else np.asarray(amounts, np.float64) * self._unit
        return known.indptr, known.indices, scaled

    def _amounts(self, bag: Bag) -> Any:
        """The amount of each token of a bag before the caps; None: one each."""
        if self.is_presence or self.options.tf == "once":
            return None
        if self.options.tf == "count":
            return bag.amounts
        return kernels.active.log_amounts(
            np.ascontiguousarray(bag.indptr, np.int64), integer_amounts(bag), self.options.unit
        )

    def _cap_amounts(self, bag: Bag, indices: Any, amounts: Any, weights: Floats) -> Floats:
        """Amounts after the caps."""
        options = self.options
        result = np.ones(len(indices)) if amounts is None else amounts.astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = weights.max(axis=1, initial=-np.inf) - weights.min(axis=1, initial=np.inf)
            reach = np.where(np.isnan(spread), 0.0, np.maximum(spread, 0.0))[indices]
            if options.cap:  # a token with the same weight in all classes is not capped
                result = np.minimum(result, options.cap / reach)
        lengths = np.diff(bag.indptr)
        row = np.repeat(np.arange(len(lengths)), lengths)
        if options.top and lengths.max(initial=0) > options.top:
            order = np.lexsort((np.arange(len(row)), -(result * reach), row))
            rank = np.empty(len(row), np.int64)
            rank[order] = np.arange(len(row)) - np.repeat(bag.indptr[:-1], lengths)
            result = np.where(rank < options.top, result, 0.0)
        if options.length:
            scale = 1.0 if amounts is None or options.tf != "log" else 2.0**-30
            size = np.bincount(row, result, len(lengths)) * scale
            result = result * np.minimum(1.0, options.length / np.maximum(size, 1e-300))[row]
        return result

    # The posterior of the probabilities

    def posterior(self, slots: Slots, column: str) -> tuple[Floats, Floats]:
        """The alpha of tokens, (tokens, classes), and the sum of all alpha (presence: of yes and no), (classes,)."""
        check_posterior(self.k > 0, column)
        words = self.words
        n, total, n_keys = words.rows(self.kind, slots), words.total(self.kind), words.n_keys
        if self.is_presence:
            total, n_keys = self.n_rows, 2
        elif self.options.variant == "complement":
            n, total = np.maximum(over_classes(n) - n, 0.0), total.sum() - total
        return n + self.k, total + self.k * n_keys

    def cumulants(self, bag: Bag, column: str) -> Floats:
        """Cumulants of the scores of bags, (3, bags, classes)."""
        words = self.words
        if np.isinf(self.k):
            return np.zeros((3, len(bag), words.n_classes))
        bag = self.known(bag)
        slots, indices = np.unique(bag.indices.astype(np.int64), return_inverse=True)
        alpha, total = self.posterior(slots, column)
        amounts = self.weights_and_amounts(bag, indices, slots)[1]
        amounts = np.ones(len(indices)) if amounts is None else np.asarray(amounts, np.float64)
        if self.is_presence:
            klass, n = words.named_entries("documents")
            absent = absence_cumulants(n, klass, len(words.named()), self.n_rows, self.k)
            return presence_cumulants(bag, indices, amounts, alpha, total, absent)
        unit = 2.0**-30 if self.options.tf == "log" else 1.0
        cumulants = bag_cumulants(bag, indices, amounts * unit, alpha, total)
        return cumulants * [[[-1]], [[1]], [[-1]]] if self.options.variant == "complement" else cumulants
