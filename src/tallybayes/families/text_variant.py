"""Selection of the options of a column of text, by leave-one-out on a sample of documents.

Every document of the sample is scored by the sums without itself, in closed form. A candidate is evaluated at its best
temperature and class offsets: the column weights that are fitted afterwards correct over-confidence, and the plain log
loss would prefer the variants that are least confident to those that separate the classes best. What counts is the
product of the mean log loss, -log P(class | document), and the error rate: the complement variant has fewer errors than
its log loss tells. The sample depends only on the content of the documents, so the selection does not depend on the
order of the rows.

Candidates differ in the n-grams that are scored (words, or words and pairs), variant, tf, k, balanced and idf. There
are four rounds, on larger and larger parts of the sample: (1) every combination of the first three with a few k; (2)
the best of them, and the best of each tf with balanced weights and smaller k; (3) the best with neighbouring k and with
idf; (4) the last few. Among candidates as good as the best within one standard error, the usual one is preferred:
complement, tf=log and single words, without balanced and idf.

The presence variant is never selected automatically. There absent tokens contribute to the score, so that it depends
on the length of a document; documents of unusual length would be misclassified, which a sample of usual documents does
not show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tallybayes.families.document_trial import DocumentTrial, ScoringCandidate
from tallybayes.families.sampled_documents import SampledDocuments
from tallybayes.families.temperature import Tempered
from tallybayes.families.token_options import TokenOptions
from tallybayes.tally import TokenTally

__all__ = ["DOCUMENTS", "LEAST_DOCUMENTS", "PAIRS", "VariantChoice", "choose"]

LEAST_DOCUMENTS = 10  # documents needed for a selection
PAIRS = 400_000  # (document, token) pairs of the sample, unless documents are few
DOCUMENTS = 300  # at least this many documents are in the sample, however long they are
_STRENGTHS = (1.0, 0.25, 2.0**-4, 2.0**-6)  # k that are evaluated first
_USUAL = 0.125  # k: in the middle of those that were best on a dozen corpora
_SHARES = (6, 3, 2, 1)  # of each round: one over the share of the pairs
_ROUNDS = ((200, 400), (300, 600), (300, 1000), (300, 2000))  # documents of each round, at least and at most
_LEFT = (10, 6, 4)  # candidates that remain after a round
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
        loss = f"its log loss is {self.log_loss:.3g} on a sample of {self.n_documents} documents"
        return f"selected from {self.n_tried} candidates by leave-one-out; {loss}"


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
    trial = DocumentTrial(words, n_rows[in_use], documents.bag, codes, documents.weights, slots)
    return _Rounds(trial, k is None, toggles).chosen(
        [ScoringCandidate(options, own) for options in structures for own in (_STRENGTHS if k is None else (k,))]
    )


@dataclass(eq=False)
class _Rounds:
    """The rounds of a selection."""

    trial: DocumentTrial
    any_k: bool
    toggles: bool

    def chosen(self, candidates: list[ScoringCandidate]) -> VariantChoice:
        """The best of the candidates and of what is tried after them."""
        structures = list(dict.fromkeys(one.options for one in candidates))
        tried: set[ScoringCandidate] = set()
        for number, share in enumerate(_SHARES):
            tried |= set(candidates)
            candidates = sorted(dict.fromkeys(candidates), key=lambda one: _order(one, structures))
            part = self.trial.first(PAIRS // share, *_ROUNDS[number])
            found = part.evaluated(candidates)
            ranked = _ranked(found, part)
            if number < len(_SHARES) - 1:
                best = [candidates[i] for i in ranked]
                left = best[: _LEFT[number]]
                candidates = [*left, *(self._balanced(best), self._neighbours(left[:2]), ())[number]]
        at = _as_good(found, ranked[0], part)
        best_one = candidates[at]
        log_loss = part.mean(part.losses(best_one))
        return VariantChoice(best_one.options, best_one.k, log_loss, len(part), len(tried))

    def _balanced(self, ranked: list[ScoringCandidate]) -> list[ScoringCandidate]:
        """The best candidate of each tf with balanced weights, which go well with small k."""
        best = {one.options.tf: one for one in ranked[::-1]} if self.toggles else {}
        factors = (1.0, 0.25, 2.0**-4) if self.any_k else (1.0,)
        return [
            ScoringCandidate(replace(one.options, balanced=True), one.k * f) for one in best.values() for f in factors
        ]

    def _neighbours(self, best: list[ScoringCandidate]) -> list[ScoringCandidate]:
        """Candidates with other k, and with idf."""
        factors = (0.5, 2.0, 0.25, 4.0) if self.any_k else ()
        strengths = [ScoringCandidate(one.options, one.k * factor) for one in best for factor in factors]
        return strengths + [ScoringCandidate(replace(one.options, idf=True), one.k) for one in best if self.toggles]


def _order(one: ScoringCandidate, structures: list[TokenOptions]) -> tuple[int, int, float, float]:
    """The order of preference: without balanced and idf, in the order of the structures, with a usual k."""
    added = int(one.options not in structures) + int(one.options.idf)
    plain = one.options if not added else replace(one.options, balanced=False, idf=False)
    place = structures.index(plain) if plain in structures else len(structures)
    return added, place, abs(np.log(one.k / _USUAL)) if one.k > 0 else 0.0, one.k


def _ranked(found: list[Tempered], trial: DocumentTrial) -> list[int]:
    """The numbers of the candidates, the best first, by the product of log loss and error rate."""
    log_loss = np.array([trial.mean(one.losses) for one in found])
    error = np.array([trial.mean(one.errors) for one in found])
    product = log_loss * (error + _ERRORS / len(trial))
    order: list[int] = np.argsort(np.where(np.isnan(product), np.inf, product), kind="stable").tolist()
    return order


def _as_good(found: list[Tempered], best: int, trial: DocumentTrial) -> int:
    """The first candidate, in the order of preference, that is as good as the best within one standard error.

    Log losses and errors are taken relative to those of the best: their sum changes as the logarithm of the product.
    """
    log_loss = trial.mean(found[best].losses) + 1e-9
    error = trial.mean(found[best].errors) + _ERRORS / len(trial)
    for i, one in enumerate(found):
        worse = (one.losses - found[best].losses) / log_loss
        worse = worse + (one.errors.astype(float) - found[best].errors) / error
        mean = trial.mean(worse)
        if mean <= np.sqrt(trial.mean((worse - mean) ** 2) / len(trial)):
            return i
    return best
