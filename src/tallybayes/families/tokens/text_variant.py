"""Selection of the options of a column of text, by leave-one-out on a sample of documents.

Every document of the sample is scored by the sums without itself, in closed form. A candidate is evaluated at its best
temperature and class offsets: the column weights that are fitted afterwards correct over-confidence, and the plain log
loss would prefer the variants that are least confident to those that separate the classes best. What counts is the
product of the mean log loss, -log P(class | document), and the error rate: the complement variant has fewer errors than
its log loss tells. The sample depends only on the content of the documents, so the selection does not depend on the
order of the rows.

Candidates differ in the n-grams that are scored (words, or words and pairs), variant, tf, k, balanced and idf. There
are four rounds, on larger and larger parts of the sample: (1) every variant and tf for words alone, with two k; (2) the
best of them with pairs and with other k; (3) the best with balanced weights and with idf; (4) the last few, with k in
between. Among candidates that are as good as the best within two standard errors, the usual one is preferred:
complement, tf=log and single words, without balanced and idf. With two classes, where complement is the same as counts,
it is counts, tf=once with balanced weights: these make up for classes of different sizes.

The presence variant is never selected automatically. There absent tokens contribute to the score, so that it depends
on the length of a document; documents of unusual length would be misclassified, which a sample of usual documents does
not show.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.array_types import Booleans, Codes32, Floats, Integers
from tallybayes.arrays.axis import distinct_numbers
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.column import Bag
from tallybayes.families.sampled_documents import SampledDocuments
from tallybayes.families.temperature import Tempered, temper_scores
from tallybayes.families.tokens.bag_leave_one_out import LeaveOneOutBags
from tallybayes.families.tokens.token_options import KIND_OF, TokenOptions
from tallybayes.families.tokens.token_weights import TokenWeights, integer_amounts
from tallybayes.tally import TokenTally, Vocabulary
from tallybayes.tally.slot_sums import SlotSums

__all__ = ["DOCUMENTS", "LEAST_DOCUMENTS", "PAIRS", "ScoringCandidate", "VariantChoice", "VariantEvaluation", "choose"]

LEAST_DOCUMENTS = 10  # documents needed for a selection
PAIRS = 250_000  # (document, token) pairs of the sample, unless documents are few
DOCUMENTS = 300  # at least this many documents are in the sample, however long they are
_STRENGTHS = (1.0, 2.0**-4)  # k that are evaluated first
_USUAL = 0.125  # k: in the middle of those that were best on a dozen corpora
_USUAL_BALANCED = 2.0**-6  # the same for balanced weights
_SHARES = (4, 4, 2, 1)  # of each round: one over the share of the pairs
_ROUNDS = ((200, 400), (200, 400), (300, 800), (300, 2000))  # documents of each round, at least and at most
_LEFT = (3, 4, 3)  # candidates that remain after a round
_NEAR = 2.0  # standard errors within which candidates are as good as the best
_MEMORY = 2**22  # (token, class) pairs of the sample at most, to limit memory
_ERRORS = 10.0  # added to the number of errors: a few errors more or less among few are chance


@dataclass(frozen=True)
class VariantChoice:
    """The selected options and k, their log loss without column weights, and the number of documents and candidates."""

    options: TokenOptions
    k: float
    log_loss: float
    n_documents: int
    n_tried: int

    def __str__(self) -> str:
        return f"selected from {self.n_tried} candidates by leave-one-out on a sample of {self.n_documents} documents"


def choose(
    tally: TokenTally,
    name: str,
    documents: SampledDocuments,
    structures: Sequence[TokenOptions],
    k: float | None,
    *,
    toggles: bool,
) -> VariantChoice | None:
    """The best of some options with k; None if there are too few documents.

    structures: what is tried first, the simplest first; k: given, or None; toggles: whether balanced and idf are tried.
    """
    n_rows, words = tally.n_rows(name).floats(), tally.tokens[name]
    if len(documents.codes) < LEAST_DOCUMENTS or np.count_nonzero(n_rows >= 2) < 2 or not words.n_keys:
        return None
    slots, in_use = documents.slots(words), np.flatnonzero(n_rows > 0)
    if len(in_use) < len(n_rows):
        words = words.with_classes(np.where(n_rows > 0, np.cumsum(n_rows > 0) - 1, -1), len(in_use))
    codes = np.searchsorted(in_use, documents.codes).astype(np.int32)
    evaluation = VariantEvaluation(words, n_rows[in_use], documents.bag, codes, documents.weights, slots)
    order, two_classes = list(structures), len(in_use) == 2
    if two_classes:  # words before pairs, and log last
        order.sort(key=lambda options: (options.scored_ngrams != structures[0].scored_ngrams, options.tf == "log"))
    return _Rounds(evaluation, order, k, toggles=toggles, two_classes=two_classes).run()


@dataclass(eq=False)
class _Rounds:
    """The rounds of a selection."""

    evaluation: VariantEvaluation
    structures: list[TokenOptions]
    k: float | None
    toggles: bool = field(kw_only=True)
    two_classes: bool = field(kw_only=True)

    def run(self) -> VariantChoice:
        """The best of all that is tried."""
        shortest = [options for options in self.structures if options.scored_ngrams == self.structures[0].scored_ngrams]
        strengths = _STRENGTHS if self.k is None else (self.k,)
        candidates = [ScoringCandidate(options, k) for options in shortest for k in strengths]
        tried: set[ScoringCandidate] = set()
        for number, share in enumerate(_SHARES):
            tried |= set(candidates)
            candidates = sorted(dict.fromkeys(candidates), key=self._order)
            part = self.evaluation.first(PAIRS // share, *_ROUNDS[number])
            results = part.evaluate(candidates)
            ranked = _rank(results, part)
            if number < len(_SHARES) - 1:
                best = [candidates[i] for i in ranked]
                candidates = [*best[: _LEFT[number]], *(self._widen, self._toggle, self._refine)[number](best)]
        winner = candidates[_prefer_usual(results, ranked[0], part)]
        log_loss = part.mean(part.losses(winner))
        return VariantChoice(winner.options, winner.k, log_loss, len(part), len(tried))

    def _widen(self, ranked: list[ScoringCandidate]) -> list[ScoringCandidate]:
        """The best candidates with longer n-grams, and with other k."""
        best = list({candidate.options: candidate for candidate in ranked[::-1]}.values())[::-1][:2]
        longer = [
            ScoringCandidate(options, candidate.k)
            for candidate in best
            for options in self.structures
            if options != candidate.options
            and options == replace(candidate.options, scored_ngrams=options.scored_ngrams)
        ]
        return [*longer, *self._with_k([*best, *longer[:1]], 4.0, 0.25)]

    def _toggle(self, ranked: list[ScoringCandidate]) -> list[ScoringCandidate]:
        """The best candidates with balanced weights, which go well with smaller k, and with idf, with larger ones.

        Balanced weights are tried for every tf if there are two classes, and otherwise for the best candidate.
        """
        if not self.toggles:
            return []
        best = ranked[:1]
        if self.two_classes:
            by_tf = {(each.options.tf, each.options.scored_ngrams): each for each in ranked[::-1]}
            best = list(by_tf.values())
        balanced = [ScoringCandidate(replace(candidate.options, balanced=True), candidate.k) for candidate in best]
        larger = 8.0 if self.k is None else 1.0
        idf = ScoringCandidate(replace(ranked[0].options, idf=True), ranked[0].k * larger)
        smaller = self._with_k(balanced, 0.25, 2.0**-4) if self.two_classes else []
        return [*balanced, *smaller, idf]

    def _refine(self, ranked: list[ScoringCandidate]) -> list[ScoringCandidate]:
        """The best candidate with neighbouring k."""
        return self._with_k(ranked[:1], 0.5, 2.0)

    def _with_k(self, candidates: Sequence[ScoringCandidate], *factors: float) -> list[ScoringCandidate]:
        """Candidates with multiples of their k; none if k was given."""
        if self.k is not None:
            return []
        return [replace(candidate, k=candidate.k * factor) for candidate in candidates for factor in factors]

    def _order(self, candidate: ScoringCandidate) -> tuple[int, int, float, float]:
        """The order of preference: without what was added, in the order of the structures, with a usual k."""
        options = candidate.options
        usual_balance = options.balanced == (self.two_classes and self.toggles)
        plain = replace(options, balanced=False, idf=False) if options not in self.structures else options
        place = self.structures.index(plain) if plain in self.structures else len(self.structures)
        k = _USUAL_BALANCED if options.balanced else _USUAL
        distance = abs(np.log(candidate.k / k)) if candidate.k > 0 else 0.0
        return int(options.idf) + int(not usual_balance), place, distance, candidate.k


def _rank(results: list[Tempered], evaluation: VariantEvaluation) -> list[int]:
    """The numbers of the candidates, the best first, by the product of log loss and error rate."""
    log_loss = np.array([evaluation.mean(result.losses) for result in results])
    error = np.array([evaluation.mean(result.errors) for result in results])
    product = log_loss * (error + _ERRORS / len(evaluation))
    order: list[int] = np.argsort(np.where(np.isnan(product), np.inf, product), kind="stable").tolist()
    return order


def _prefer_usual(results: list[Tempered], best: int, evaluation: VariantEvaluation) -> int:
    """The first candidate, in the order of preference, that is as good as the best within two standard errors.

    Log losses and errors are taken relative to those of the best: their sum changes as the logarithm of the product.
    """
    log_loss = evaluation.mean(results[best].losses) + 1e-9
    error = evaluation.mean(results[best].errors) + _ERRORS / len(evaluation)
    for i, result in enumerate(results):
        worse = (result.losses - results[best].losses) / log_loss
        worse = worse + (result.errors.astype(float) - results[best].errors) / error
        mean = evaluation.mean(worse)
        if mean <= _NEAR * np.sqrt(evaluation.mean((worse - mean) ** 2) / len(evaluation)):
            return i
    return best


@dataclass(frozen=True)
class ScoringCandidate:
    """A way of scoring: options and k."""

    options: TokenOptions
    k: float


@dataclass(frozen=True, eq=False)
class _Scored:
    """The documents with the n-grams that are scored: their sums, and what is scored without a document."""

    words: Vocabulary
    slots: Integers  # of the tokens of the documents
    bags: LeaveOneOutBags


class VariantEvaluation:
    """Candidates evaluated on documents; those that are unlikely to win, on the first documents only.

    All parts of a sample share its arrays, and nothing is evaluated twice on the same part.

    words, n_rows: the sums of all documents, and documents by class, (classes,); bag, codes, weights: of the sample;
    slots: of its keys, -1 for tokens without a name of their own.
    """

    def __init__(
        self, words: Vocabulary, n_rows: Floats, bag: Bag, codes: Codes32, weights: Floats, slots: Integers
    ) -> None:
        self._words, self._n_rows, self._slots = words, n_rows, slots
        self._bag, self._n = bag, len(codes)
        while self._n > 1 and self._n_tokens(self._n) * len(n_rows) > _MEMORY:
            self._n //= 2
        if self._n < len(codes):
            self._bag = bag.take(np.arange(self._n))
        self._every_code, self._every_weight = codes[: self._n], weights[: self._n]
        self._scored: dict[tuple[int, bool], _Scored] = {}
        self._results: dict[int, dict[ScoringCandidate, Tempered]] = {}  # by the number of documents

    def __len__(self) -> int:
        return self._n

    def first(self, n_pairs: int, least: int, most: int) -> VariantEvaluation:
        """The first documents with so many (document, token) pairs, from `least` to `most`, as far as there are."""
        n = max(least, int(np.searchsorted(self._bag.indptr, n_pairs, side="right")) - 1)
        part = copy(self)
        part.__dict__.pop("_log_prior", None)
        part._n = min(n, most, len(self._every_code))
        return part

    def _n_tokens(self, n: int) -> int:
        return int(np.count_nonzero(np.bincount(self._bag.indices[: int(self._bag.indptr[n])])))

    @property
    def _codes(self) -> Codes32:
        return self._every_code[: self._n]

    @property
    def _weights(self) -> Floats:
        return self._every_weight[: self._n]

    def evaluate(self, candidates: list[ScoringCandidate]) -> list[Tempered]:
        """Every candidate at its best temperature."""
        known = self._results.setdefault(self._n, {})
        new = [candidate for candidate in dict.fromkeys(candidates) if candidate not in known]
        for candidate in new:
            self._prepare(candidate.options).bags.sums.whole(KIND_OF[candidate.options.tf])  # which threads share
        results = in_threads(lambda i, _: self._evaluate_one(new[i]), len(new), size=1, small=0) if new else []
        known.update(zip(new, results, strict=True))
        return [known[candidate] for candidate in candidates]

    def mean(self, losses: Floats | Booleans) -> float:
        """The mean of losses or errors over the documents, with their weights."""
        return float((losses * self._weights).sum() / self._weights.sum())

    def losses(self, candidate: ScoringCandidate) -> Floats:
        """-log P(class | document) of every document, without a temperature."""
        scores = self._log_prior + self.scores(candidate)
        scores -= scores.max(axis=1, keepdims=True)
        return np.asarray(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(scores)), self._codes])

    def scores(self, candidate: ScoringCandidate) -> Floats:
        """Every document scored by the sums without itself, (documents, classes)."""
        scored = self._prepare(candidate.options)
        column = TokenWeights(scored.words, self._n_rows, replace(candidate.options, scored_ngrams=0), candidate.k)
        factor = column.scales.factor
        return scored.bags.scores(column, None if factor is None else factor[scored.slots], 0, self._n)

    def _evaluate_one(self, candidate: ScoringCandidate) -> Tempered:
        with np.errstate(all="ignore"):  # scores that are not numbers count as 0
            return temper_scores(self._log_prior, self.scores(candidate), self._codes, self._weights)

    @cached_property
    def _log_prior(self) -> Floats:
        removed = np.zeros((len(self), len(self._n_rows)))
        removed[np.arange(len(removed)), self._codes] = self._weights
        return np.asarray(np.log(np.maximum(self._n_rows - removed, 0.0) + 1.0))

    def _prepare(self, options: TokenOptions) -> _Scored:
        """The documents with the n-grams that these options score."""
        key = options.scored_ngrams, options.unit
        if key not in self._scored:
            words = self._words.up_to(key[0]) if key[0] else self._words
            kept = words.store.has(self._slots)[self._bag.indices]
            counts, ends = integer_amounts(self._bag), np.ascontiguousarray(self._bag.indptr, np.int64)
            logs = kernels.active.log_amounts(ends, counts, options.unit)[kept] * 2.0**-30
            used, indices = distinct_numbers(self._bag.indices[kept], len(self._slots))
            scored_ends = np.concatenate([[0], np.cumsum(kept)])[ends].astype(np.int64)
            bag, slots = Bag(scored_ends, indices, counts[kept], ()), self._slots[used]
            sums = words, self._n_rows, bag, self._every_code, self._every_weight, SlotSums(words.store, slots), logs
            self._scored[key] = _Scored(words, slots, LeaveOneOutBags(*sums))
        return self._scored[key]
