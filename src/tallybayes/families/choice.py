"""Which variant, which tf and how much smoothing suit a column of text: decided by documents left out.

Every document of a sample is scored by the sums without itself, in closed form, and what counts is the plain
conditional log loss, -log P(class | document), averaged over them. The sample is taken by what the documents say, so
the choice does not depend on the order of the rows. Candidates are many and documents long, so it goes in rounds:
every variant with strengths far apart on a few documents, the better ones and their neighbours on more, the last few on
the whole sample. Of those that are as good as the best, the simplest, with the most usual k, goes first; at the end
those are as good whose difference is below its standard error.

Presence has to be asked for: what a document does not say speaks as well, so that short ones are judged by their
length, which left-out documents of the usual length do not show.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag
from tallybayes.families.base import Floats, Smoothing
from tallybayes.families.shrinkage import by_group
from tallybayes.families.text import Text
from tallybayes.families.words import KIND_OF, whole_amounts
from tallybayes.tally import Vocabulary

__all__ = ["DOCUMENTS", "LEAST", "PAIRS", "Choice", "choose"]

LEAST = 10  # documents from which on a choice is made
_STRENGTHS = (4.0, 0.25, 2.0**-6, 2.0**-10)  # tried first; then those a factor of 4 away from the better ones
PAIRS = 48_000  # (document, token) pairs that are looked at, unless documents are few
DOCUMENTS = 300  # that are looked at, however long they are
_USUAL = 0.25  # k: with more, a rare word speaks for the class with fewer words; with less, a word may decide alone
_NOTHING = 0.5  # nats over all documents, which are no reason to leave the simpler candidate for another
_ROUNDS = ((8, 4), (4, 3), (1, 1))  # the share of these that is looked at (1 / 8), candidates left after it
_CELLS = 2**22  # (token, class) pairs of the sample, so that many classes do not fill the memory

Candidate = tuple[Text, float]  # a family with variant and tf, and k


@dataclass(frozen=True)
class Choice:
    """A family that is decided, and what it was chosen by."""

    family: Text
    log_loss: float
    n_documents: int
    n_tried: int

    def __str__(self) -> str:
        return f"log loss {self.log_loss:.3g} on {self.n_documents} documents left out, the best of {self.n_tried}"


@dataclass(frozen=True, eq=False)
class _Trial:
    """Documents to be left out: the bags and classes of a sample, the sums of their tokens, and of all."""

    words: Vocabulary
    n_documents: Floats
    bag: Bag
    codes: NDArray[np.int32]
    weights: Floats
    tables: dict[str, Floats]  # the sums of the documents' tokens, (tokens, classes), by kind
    amounts: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)  # by tf, worked out once

    def some(self, share: int) -> _Trial:
        """The first documents, of all that may be looked at so many times fewer."""
        n = max(-(-DOCUMENTS // share), int(np.searchsorted(self.bag.indptr, PAIRS // share, side="right")) - 1)
        if n >= len(self.codes):
            return self
        bag = self.bag.take(np.arange(n))
        used, indices = np.unique(bag.indices, return_inverse=True)
        bag = Bag(bag.indptr, indices.astype(np.int32), bag.amounts, range(len(used)))
        tables = {kind: table[used] for kind, table in self.tables.items()}
        return _Trial(self.words, self.n_documents, bag, self.codes[:n], self.weights[:n], tables)

    def best(self, candidates: list[Candidate], n: int) -> tuple[list[Candidate], float, int]:
        """The n best candidates, the log loss of the best one, and the documents it was found on."""
        by_document = np.array(in_threads(lambda i, _: self.losses(*candidates[i]), len(candidates), size=1, small=0))
        share = self.weights / self.weights.sum()
        mean = np.where(np.isnan(by_document).any(axis=1), np.inf, (by_document * share).sum(axis=1))
        least = int(np.argmin(mean))
        as_good = mean <= mean[least] + _NOTHING / len(share)
        if n == 1:
            with np.errstate(invalid="ignore"):
                worse = by_document - by_document[least]
                spread = np.sqrt((share * (worse - (worse * share).sum(axis=1, keepdims=True)) ** 2).sum(axis=1))
            as_good |= mean <= mean[least] + spread / np.sqrt(len(share))
        order = np.argsort(np.where(as_good, -1.0, mean), kind="stable")[:n]
        return [candidates[i] for i in order], float(mean[order[0]]), len(self.codes)

    def losses(self, family: Text, k: float) -> Floats:
        """-log P(class | document) of every document."""
        own = np.zeros((len(self.codes), len(self.n_documents)))
        own[np.arange(len(own)), self.codes] = self.weights
        prior = np.log(np.maximum(self.n_documents - own, 0.0) + 1.0)
        with np.errstate(all="ignore"):  # what is no number is no candidate
            scores = prior + (self._presence(k) if family.variant == "presence" else self._tokens(family, k))
            scores -= scores.max(axis=1, keepdims=True)
            return np.asarray(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(scores)), self.codes])

    def _tokens(self, family: Text, k: float) -> Floats:
        kind = KIND_OF[family.tf]
        own, amounts = self._amounts(family)
        table = self.tables[kind]
        scores: Floats = kernels.active.left_out(
            table, table.sum(axis=1), self.words.total(kind), float(self.words.n_keys), self.bag.indptr,
            self.bag.indices, own, amounts, self.codes, self.weights, k, family.variant == "complement",
        )  # fmt: skip
        return scores

    def _amounts(self, family: Text) -> tuple[Floats, Floats]:
        """What every token of a document has added, and what it counts when it is scored."""
        if family.tf not in self.amounts:
            counts = whole_amounts(self.bag).astype(np.float64)
            if family.tf == "log":
                self.amounts["log"] = self._logs(family.unit)
            else:
                self.amounts[family.tf] = (counts if family.tf == "count" else np.ones_like(counts),) * 2
        return self.amounts[family.tf]

    def _logs(self, unit: bool) -> tuple[Floats, Floats]:
        """Logarithms: what is scored are those of the tokens that are still known."""
        bag, counts = self.bag, whole_amounts(self.bag)
        own = kernels.active.log_amounts(bag.indptr, counts, unit) * 2.0**-30
        documents = self.tables["documents"].sum(axis=1)[bag.indices]
        known = documents - np.repeat(self.weights, np.diff(bag.indptr)) > 1e-9
        amounts = np.zeros_like(own)
        ends = np.concatenate([[0], np.cumsum(known)])[bag.indptr]
        amounts[known] = kernels.active.log_amounts(ends, counts[known], unit) * 2.0**-30
        return own, amounts

    def _presence(self, k: float) -> Floats:
        """One Bernoulli per token. Without a document its class has one fewer, which changes all its tokens."""
        slot, klass = self.words.cells()
        named, n_classes = np.isin(slot, self.words.named()), len(self.n_documents)
        klass, n, n_keys = klass[named], self.words.floats("documents")[named], len(self.words.named())

        def absent(documents: Floats) -> Floats:
            log_no = np.log((np.maximum(documents[klass] - n, 0.0) + k) / (documents[klass] + 2 * k))
            n_never = n_keys - np.bincount(klass, minlength=n_classes)
            return by_group(klass, log_no, n_classes) + n_never * np.log((documents + k) / (documents + 2 * k))

        every = absent(self.n_documents)
        without = {weight: absent(np.maximum(self.n_documents - weight, 0.0)) for weight in set(self.weights.tolist())}
        table = self.tables["documents"]
        result = np.repeat(every[None], len(self.codes), axis=0)
        for row, (code, weight) in enumerate(zip(self.codes.tolist(), self.weights.tolist(), strict=True)):
            seen = table[self.bag.indices[self.bag.indptr[row] : self.bag.indptr[row + 1]]]
            documents = self.n_documents.copy()
            documents[code] -= weight
            before = np.log((np.maximum(documents[code] - seen[:, code], 0.0) + k) / (documents[code] + 2 * k))
            seen = seen.copy()
            seen[:, code] -= weight
            known = seen.sum(axis=1) > 1e-9
            never = np.log((self.n_documents + k) / (self.n_documents + 2 * k))
            result[row] -= np.count_nonzero(~known) * never  # tokens that only this document had
            yes, no = seen[known] + k, np.maximum(documents - seen[known], 0.0) + k
            result[row, code] = without[weight][code] - before.sum()
            result[row, code] += np.log(no[:, code] / (documents[code] + 2 * k)).sum()
            result[row] += (np.log(yes) - np.log(no)).sum(axis=0)
        return result


def choose(
    family: Text,
    words: Vocabulary,
    n_documents: Floats,
    bag: Bag,
    codes: NDArray[np.int32],
    weights: Floats,
    slots: NDArray[np.int64],
    smoothing: Smoothing,
) -> Choice:
    """The family with variant, tf and k decided.

    words, n_documents: the sums of all documents, (classes); bag, codes, weights: the sample; slots: of its keys.
    """
    n = len(codes)
    while (found := _used(bag, slots, n, len(n_documents))) is None:
        n //= 2
    own, used = found
    trial = _Trial(words, n_documents, own, codes[:n], weights[:n], words.tables(used))
    families = list(_candidates(family))
    left = [(one, k) for one in families for k in _strengths(one, smoothing)]
    fixed, tried = family.k != "auto" or smoothing != "auto", set(left)
    for i, (share, n_left) in enumerate(_ROUNDS):
        if i == 1 and not fixed:
            left = list(dict.fromkeys((one, k * factor) for one, k in left for factor in (1.0, 4.0, 0.25)))
            tried |= set(left)
        left.sort(key=lambda pair: (families.index(pair[0]), abs(np.log(pair[1] / _USUAL))))  # the simplest first
        left, log_loss, n = trial.some(share).best(left, n_left)
    decided, k = left[0]
    return Choice(decided if fixed else dataclasses.replace(decided, k=k), log_loss, n, len(tried))


def _used(bag: Bag, slots: NDArray[np.int64], n: int, n_classes: int) -> tuple[Bag, NDArray[np.int64]] | None:
    """The first n documents with the slots of their tokens; None if the sums of these would be too many."""
    bag = bag.take(np.arange(n))
    named = slots[bag.indices] >= 0  # a bounded vocabulary may have lost the names of some
    used, indices = np.unique(bag.indices[named], return_inverse=True)
    if len(used) * n_classes > _CELLS and n > LEAST:
        return None
    ends = np.concatenate([[0], np.cumsum(named)])[bag.indptr].astype(np.int64)
    return Bag(ends, indices.astype(np.int32), np.asarray(bag.amounts)[named], ()), slots[used]


def _candidates(family: Text) -> Iterator[Text]:
    """What the variants and tf may be: the simpler ones first."""
    variants = ("counts", "complement") if family.variant == "auto" else (family.variant,)
    tfs = ("count", "once", "log") if family.tf == "auto" and family.variant != "presence" else (family.tf,)
    for variant, tf in itertools.product(variants, tfs):
        yield dataclasses.replace(family, variant=variant, tf="count" if tf == "auto" else tf)


def _strengths(family: Text, smoothing: Smoothing) -> tuple[float, ...]:
    if smoothing != "auto":
        return (float(smoothing),)
    return _STRENGTHS if family.k == "auto" else (float(family.k),)
