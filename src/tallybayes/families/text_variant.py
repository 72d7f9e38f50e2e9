"""Selection of variant, tf and k for a column of text, by leave-one-out log loss on a sample of documents.

Every document of the sample is scored by the sums without itself, in closed form. A candidate is evaluated by its mean
conditional log loss, -log P(class | document). The sample depends only on the content of the documents, so the
selection does not depend on the order of the rows.

There are three rounds: every variant with a few values of k on a small part of the sample; the best of these and
neighbouring k on a larger part; the last few on the whole sample. Among candidates as good as the best, the simplest
with the most usual k is preferred. In the last round a candidate is as good as the best if the difference of their log
losses is below its standard error.

The presence variant is never selected automatically. There absent tokens contribute to the score, so that it depends
on the length of a document; documents of unusual length would be misclassified, which a sample of usual documents does
not show.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tallybayes.arrays.array_types import Codes32, Integers
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag
from tallybayes.families.bag_leave_one_out import LeaveOneOutBags
from tallybayes.families.family import Floats, Smoothing
from tallybayes.families.text import Text
from tallybayes.tally import Vocabulary

__all__ = ["DOCUMENTS", "LEAST_DOCUMENTS", "PAIRS", "VariantChoice", "choose"]

LEAST_DOCUMENTS = 10  # documents needed for a selection
_STRENGTHS = (4.0, 0.25, 2.0**-6, 2.0**-10)  # evaluated first; then those a factor of 4 away from the better ones
PAIRS = 48_000  # (document, token) pairs of the sample, unless documents are few
DOCUMENTS = 300  # at least this many documents are in the sample, however long they are
_USUAL = 0.25  # k: with more, rare tokens favour the class with fewer tokens; with less, one token may decide alone
_NEGLIGIBLE = 0.5  # nats over all documents: a smaller difference does not count against the simpler candidate
_ROUNDS = ((8, 4), (4, 3), (1, 1))  # of each round: one over the share of the sample, candidates that remain
_CELLS = 2**22  # (token, class) pairs of the sample at most, to limit memory

Candidate = tuple[Text, float]  # a family with variant and tf, and k


@dataclass(frozen=True)
class VariantChoice:
    """The selected family, its log loss, and the number of documents and candidates."""

    family: Text
    log_loss: float
    n_documents: int
    n_tried: int

    def __str__(self) -> str:
        loss = f"leave-one-out log loss {self.log_loss:.3g} on a sample of {self.n_documents} documents"
        return f"selected from {self.n_tried} candidates by {loss}"


@dataclass(frozen=True, eq=False)
class _Trial(LeaveOneOutBags):
    """Candidates evaluated on the documents of a sample."""

    def some(self, share: int) -> _Trial:
        """The first documents: one over `share` of the sample."""
        n = max(-(-DOCUMENTS // share), int(np.searchsorted(self.bag.indptr, PAIRS // share, side="right")) - 1)
        if n >= len(self.codes):
            return self
        bag = self.bag.take(np.arange(n))
        used, indices = np.unique(bag.indices, return_inverse=True)
        bag = Bag(bag.indptr, indices.astype(np.int32), bag.amounts, range(len(used)))
        tables = {kind: table[used] for kind, table in self.tables.items()}
        return _Trial(self.words, self.n_rows, bag, self.codes[:n], self.weights[:n], tables)

    def best(self, candidates: list[Candidate], n: int) -> tuple[list[Candidate], float, int]:
        """The n best candidates, the log loss of the first, and the number of documents."""
        by_document = np.array(in_threads(lambda i, _: self.losses(*candidates[i]), len(candidates), size=1, small=0))
        share = self.weights / self.weights.sum()
        mean = np.where(np.isnan(by_document).any(axis=1), np.inf, (by_document * share).sum(axis=1))
        least = int(np.argmin(mean))
        as_good = mean <= mean[least] + _NEGLIGIBLE / len(share)
        if n == 1:
            with np.errstate(invalid="ignore"):
                worse = by_document - by_document[least]
                spread = np.sqrt((share * (worse - (worse * share).sum(axis=1, keepdims=True)) ** 2).sum(axis=1))
            as_good |= mean <= mean[least] + spread / np.sqrt(len(share))
        order = np.argsort(np.where(as_good, -1.0, mean), kind="stable")[:n]
        return [candidates[i] for i in order], float(mean[order[0]]), len(self.codes)

    def losses(self, family: Text, k: float) -> Floats:
        """-log P(class | document) of every document."""
        own = np.zeros((len(self.codes), len(self.n_rows)))
        own[np.arange(len(own)), self.codes] = self.weights
        prior = np.log(np.maximum(self.n_rows - own, 0.0) + 1.0)
        with np.errstate(all="ignore"):  # a candidate whose scores are not numbers is discarded
            scores = prior + self.scores(family.options, k)
            scores -= scores.max(axis=1, keepdims=True)
            return np.asarray(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(scores)), self.codes])


def choose(
    family: Text,
    words: Vocabulary,
    n_documents: Floats,
    bag: Bag,
    codes: Codes32,
    weights: Floats,
    slots: Integers,
    smoothing: Smoothing,
) -> VariantChoice:
    """The family with variant, tf and k selected.

    words, n_documents: the sums of all documents, (classes); bag, codes, weights: the sample; slots: of its keys.
    """
    n = len(codes)
    while (found := _used(bag, slots, n, len(n_documents))) is None:
        n //= 2
    own, used = found
    trial = _Trial(words, n_documents, own, codes[:n], weights[:n], words.store.tables(used))
    families = [
        dataclasses.replace(family, variant=variant, tf="count" if tf == "auto" else tf)
        for variant, tf in family.variants()
    ]
    left = [(one, k) for one in families for k in _strengths(one, smoothing)]
    fixed, tried = family.k != "auto" or smoothing != "auto", set(left)
    for i, (share, n_left) in enumerate(_ROUNDS):
        if i == 1 and not fixed:
            left = list(dict.fromkeys((one, k * factor) for one, k in left for factor in (1.0, 4.0, 0.25)))
            tried |= set(left)
        left.sort(key=lambda pair: (families.index(pair[0]), abs(np.log(pair[1] / _USUAL))))  # the simplest first
        left, log_loss, n = trial.some(share).best(left, n_left)
    decided, k = left[0]
    return VariantChoice(decided if fixed else dataclasses.replace(decided, k=k), log_loss, n, len(tried))


def _used(bag: Bag, slots: Integers, n: int, n_classes: int) -> tuple[Bag, Integers] | None:
    """The first n documents with the slots of their tokens; None if these have too many sums."""
    bag = bag.take(np.arange(n))
    named = slots[bag.indices] >= 0  # tokens of a limited vocabulary may be pooled
    used, indices = np.unique(bag.indices[named], return_inverse=True)
    if len(used) * n_classes > _CELLS and n > LEAST_DOCUMENTS:
        return None
    ends = np.concatenate([[0], np.cumsum(named)])[bag.indptr].astype(np.int64)
    return Bag(ends, indices.astype(np.int32), np.asarray(bag.amounts)[named], ()), slots[used]


def _strengths(family: Text, smoothing: Smoothing) -> tuple[float, ...]:
    if smoothing != "auto":
        return (float(smoothing),)
    return _STRENGTHS if family.k == "auto" else (float(family.k),)
