"""Leave-one-out scores of bags and documents, in closed form.

For counts and complement a kernel computes them. With one Bernoulli per token, a class without one of its bags has one
bag fewer for every token there is; so the score of an empty bag is computed once for every weight, and corrected for
the tokens that the bag has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.array_types import Codes32, Integers
from tallybayes.arrays.axis import distinct_numbers
from tallybayes.arrays.column import Bag
from tallybayes.families.family import Floats, Score
from tallybayes.families.leave_one_out_scores import never_learned
from tallybayes.families.shrinkage import by_group
from tallybayes.families.tokens.token_options import KIND_OF, TokenOptions
from tallybayes.families.tokens.token_weights import TokenWeights, integer_amounts
from tallybayes.tally import Vocabulary
from tallybayes.tally.slot_sums import SlotSums

__all__ = ["LeaveOneOutBags", "Presence", "bag_score", "check_learned", "in_rows"]

_SLACK = 2e-9  # just above the share of a token from which the kernel takes it for gone


@dataclass(frozen=True, eq=False)
class Presence:
    """One Bernoulli per token: the bags with each token by class, and all bags by class."""

    klass: Integers  # of every (token, class) that has bags
    n: Floats
    n_tokens: int
    bags: Floats  # (classes,)
    keeps_tokens: bool = False  # a token without any bag stays one: the tokens were declared

    def absent(self, bags: Floats, k: float) -> Floats:
        """Log probability of an empty bag, (classes,)."""
        log_no = np.log((np.maximum(bags[self.klass] - self.n, 0.0) + k) / (bags[self.klass] + 2 * k))
        n_never = self.n_tokens - np.bincount(self.klass, minlength=len(bags))
        return by_group(self.klass, log_no, len(bags)) + n_never * np.log((bags + k) / (bags + 2 * k))

    def scores(self, table: Floats, bag: Bag, codes: Codes32, weights: Floats, k: float) -> Floats:
        """Log P(bag | class), (bags, classes), each without itself; table: the bags with each token, by class."""
        every, n_rows, lengths = self.absent(self.bags, k), len(codes), np.diff(bag.indptr)
        class_bags = self.bags[codes] - weights
        without = {
            (code, weight): self.absent(np.maximum(self.bags - weight, 0.0), k)[code]
            for code, weight in set(zip(codes.tolist(), weights.tolist(), strict=True))
        }
        row = np.repeat(np.arange(n_rows), lengths)
        at = (np.arange(len(row)), codes[row])
        seen = table[bag.indices]
        log_before = np.log((np.maximum(class_bags[row] - seen[at], 0.0) + k) / (class_bags[row] + 2 * k))
        seen[at] -= weights[row]
        known = (seen.sum(axis=1) > 1e-9) | self.keeps_tokens
        bags = np.repeat(self.bags[None], len(row), axis=0)
        bags[at] = class_bags[row]
        yes, no = seen + k, np.maximum(bags - seen, 0.0) + k
        n_gone = np.bincount(row, ~known, n_rows)
        result = every[None] - n_gone[:, None] * np.log((self.bags + k) / (self.bags + 2 * k))
        log_without = np.array([without[pair] for pair in zip(codes.tolist(), weights.tolist(), strict=True)])
        log_class_no = np.where(known, np.log(no[at] / (class_bags[row] + 2 * k)), 0.0)
        result[np.arange(n_rows), codes] = log_without + np.bincount(row, log_class_no - log_before, n_rows)
        odds = np.where(known[:, None], np.log(yes) - np.log(no), 0.0)
        return result + np.stack([np.bincount(row, part, n_rows) for part in odds.T], axis=1)


@dataclass(frozen=True, eq=False)
class LeaveOneOutBags:
    """Bags to be left out one at a time: their classes and weights, the sums of their tokens, and of all rows."""

    words: Vocabulary
    n_rows: Floats
    bag: Bag
    codes: Codes32
    weights: Floats
    sums: SlotSums  # of the bags' tokens
    added: Floats | None = None  # of tf "log", what every token of a bag has added to the sums; None: computed
    amounts: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)  # by tf, computed once

    def scores(self, column: TokenWeights, factor: Floats | None, start: int = 0, stop: int | None = None) -> Floats:
        """The scores of the bags from start to stop, each by the sums without itself, (bags, classes).

        column: how sums become weights; factor: what the counts and weights of the bags' tokens are multiplied with.
        """
        rows, options = slice(start, len(self.codes) if stop is None else stop), column.options
        bag = self.bag if rows == slice(0, len(self.codes)) else in_rows(self.bag, rows)
        codes, weights = self.codes[rows], self.weights[rows]
        if options.variant == "presence":
            return self._presence().scores(self.table("documents"), bag, codes, weights, column.k)
        first, last = int(self.bag.indptr[rows.start]), int(self.bag.indptr[rows.stop])
        added, amounts = (part[first:last] for part in self._amounts(options))
        kind, (totals, n_keys) = self.words.kind(KIND_OF[options.tf]), column.totals
        counts, whole = self.sums.counts(kind), self.sums.whole(kind)
        if factor is not None:
            added, amounts = added * factor[bag.indices], amounts * factor[bag.indices]
            by_entry = factor[self.sums.row]
            counts = np.where(by_entry > 0, counts * by_entry, 1.0)  # with an amount of 0: silent, not lost
            whole = self.sums.summed(counts)
        if self.words.has_declared:  # something is left of every token, too little to count
            whole = whole * (1 + _SLACK) + _SLACK * added.max(initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores: Floats = kernels.active.score_documents_leave_one_out(
                self.sums.starts,
                self.sums.classes,
                counts,
                whole,
                totals,
                float(n_keys),
                bag.indptr,
                bag.indices,
                added,
                amounts,
                codes,
                weights,
                column.k,
                options.variant == "complement",
            )
        scores = np.where(np.isnan(scores), 0.0, scores)  # where no token remains at all, nothing is contributed
        return scores if column.scales.scale is None else scores * column.scales.scale

    def table(self, kind: str) -> Floats:
        """The sums of one kind, (tokens, classes)."""
        return self.sums.table(self.words.kind(kind))

    def _amounts(self, options: TokenOptions) -> tuple[Floats, Floats]:
        """The amount that every token of a bag has added to the sums, and the amount it is scored with."""
        if options.tf not in self.amounts:
            counts = np.ones(len(self.bag.indices)) if self.bag.amounts is None else self.bag.amounts.astype(np.float64)
            if options.tf == "log":
                self.amounts["log"] = self._logs(options.unit)
            else:
                self.amounts[options.tf] = (counts if options.tf == "count" else np.ones_like(counts),) * 2
        return self.amounts[options.tf]

    def _logs(self, unit: bool) -> tuple[Floats, Floats]:
        """Logarithms; they are scored only for the tokens that other documents have too."""
        bag, counts, added = self.bag, integer_amounts(self.bag), self.added
        if added is None:
            added = kernels.active.log_amounts(bag.indptr, counts, unit) * 2.0**-30
        documents = self.sums.whole("documents")
        if self.words.has_declared:
            known = np.ones(len(counts), bool)
        elif (self.weights == 1).all():
            known = (documents > 1 + 1e-9)[bag.indices]
        else:
            known = documents[bag.indices] - np.repeat(self.weights, np.diff(bag.indptr)) > 1e-9
        return added, kernels.active.log_amounts(bag.indptr, counts * known, unit) * 2.0**-30

    def _presence(self) -> Presence:
        words = self.words
        return Presence(*words.named_entries("documents"), len(words.named()), self.n_rows, words.has_declared)


def bag_score(name: str, column: TokenWeights, bag: Bag, codes: Codes32, weights: Floats) -> Score:
    """The leave-one-out scores of the bags of a column, with k above 0 and weights that depend on no other token."""
    words, bag = column.words, bag.expanded()
    if not words.has_pooled():  # pooled tokens have no slot
        _check_known(name, column.counted, bag)
    known, factor, logs = column.known(bag), column.scales.factor, None
    if column.options.tf == "log" and column.counted is not words:  # n-grams that are not scored were counted too
        ends = np.ascontiguousarray(bag.indptr, np.int64)
        logs = kernels.active.log_amounts(ends, integer_amounts(bag), column.options.unit) * 2.0**-30
        logs = logs[column.find_entries(bag)[1]]
    used, indices = distinct_numbers(known.indices, words.n_slots)
    amounts = np.ones(len(indices)) if column.is_presence or known.amounts is None else known.amounts
    plain = Bag(np.ascontiguousarray(known.indptr, np.int64), indices, amounts, (), bag.present)
    left = LeaveOneOutBags(words, column.n_rows, plain, codes, weights, SlotSums(words.store, used), logs)
    check_learned(name, plain, amounts, left.table("documents" if column.is_presence else "counts"), codes, weights)
    used_factor = None if factor is None else factor[used]
    left.scores(column, used_factor, 0, 0)  # fills what all threads need

    def score(out: Floats, start: int, stop: int) -> None:
        part = left.scores(column, used_factor, start, stop)
        out[start:stop] += part if bag.present is None else np.where(bag.present[start:stop, None], part, 0.0)

    return score


def in_rows(bag: Bag, rows: slice) -> Bag:
    """Consecutive rows of a bag, without a copy."""
    first, last = int(bag.indptr[rows.start]), int(bag.indptr[rows.stop])
    amounts = None if bag.amounts is None else bag.amounts[first:last]
    ends = np.ascontiguousarray(bag.indptr[rows.start : rows.stop + 1] - first, np.int64)
    return Bag(ends, bag.indices[first:last], amounts, bag.keys)


def check_learned(name: str, bag: Bag, added: NDArray[Any], table: Floats, codes: Codes32, weights: Floats) -> None:
    """Raise if some bag has more of a token than its class."""
    lengths = np.diff(bag.indptr)
    place = bag.indices * np.int64(table.shape[1]) + np.repeat(codes, lengths)
    added = added if (weights == 1).all() else added * np.repeat(weights, lengths)
    lacking = (table * (1 + 1e-9)).take(place) < added
    if lacking.any():
        raise never_learned(name, int(np.searchsorted(bag.indptr, np.argmax(lacking), side="right")) - 1)


def _check_known(name: str, words: Vocabulary, bag: Bag) -> None:
    """Raise if some bag has a token that was never counted."""
    unknown = ~words.store.has(words.index.slots_of(bag.keys, bag.indices))
    unknown &= True if bag.amounts is None else bag.amounts[: len(unknown)] != 0
    if unknown.any():
        raise never_learned(name, int(np.searchsorted(bag.indptr, np.argmax(unknown), side="right")) - 1)
