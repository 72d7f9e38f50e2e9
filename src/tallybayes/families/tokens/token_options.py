"""How sums of tokens become weights, and weights scores: the options, and what two of them multiply weights with.

    idf       a factor for each token, log(documents / documents with the token), for its counts and for its weight
    balanced  a scale for each class, so that the weights of every class have the same sum of absolute values

Both are derived from the sums of all tokens. The sums over tokens below are added up as integers, in small units: so
they do not depend on the order of the tokens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tallybayes import kernels
from tallybayes.families.predictive import Floats
from tallybayes.tally import Vocabulary

__all__ = ["KIND_OF", "TokenOptions", "TokenScales", "balance", "inverse_frequency", "multiply_totals"]

KIND_OF = {"count": "counts", "once": "documents", "log": "logs"}  # the sums that an option tf uses
_LOGS = 2.0**28  # sums of logarithms are integers in units of one over this
_BITS = 61  # of the largest sum of counts times factors


@dataclass(frozen=True)
class TokenOptions:
    """How sums of tokens become weights, and weights scores; `families/tokens/text.py` explains the options."""

    variant: str = "counts"
    tf: str = "count"
    unit: bool = False
    idf: bool = False
    balanced: bool = False
    scored_ngrams: int = 0
    min_count: int = 1
    cap: float = 0.0
    top: int = 0
    length: int = 0

    @property
    def has_caps(self) -> bool:
        """Whether the amount of a token depends on its weight or on the other tokens of the document."""
        return bool(self.cap or self.top or self.length)

    @property
    def needs_all(self) -> bool:
        """Whether the weight of a token depends on the sums of all tokens."""
        return self.idf or self.balanced or self.min_count > 1

    @property
    def has_probabilities(self) -> bool:
        """Whether weights are logs of probabilities of tokens, of amounts that may be multiplied with idf."""
        return self.variant != "complement" and not (self.balanced or self.has_caps)

    @property
    def is_likelihood(self) -> bool:
        """Whether scores are log likelihoods."""
        return self.variant != "complement" and not (self.idf or self.balanced or self.has_caps)


@dataclass(frozen=True, eq=False)
class TokenScales:
    """What weights are multiplied with; None: nothing.

    Rows that are scored without themselves keep those of all rows, as they keep every strength.
    """

    factor: Floats | None  # (slots,): idf; 0 for tokens that are excluded
    scale: Floats | None  # (classes,): balanced


def inverse_frequency(words: Vocabulary, n_rows: Floats) -> Floats:
    """Log(documents / documents with the token), (slots,); 0 for tokens without documents."""
    documents = np.bincount(words.store.table().slots, words.floats("documents"), words.n_slots)
    result, used = np.zeros(words.n_slots), np.flatnonzero(documents > 0)
    share = n_rows.sum() / np.maximum(documents[used], 1e-300)
    result[used] = np.log(np.maximum(share, 1.0))
    return result


def multiply_totals(words: Vocabulary, kind: str, factor: Floats) -> tuple[Floats, int]:
    """The sums of counts times factors, (classes,), and the number of tokens whose factor is not 0."""
    table, factor = words.store.table(), factor[: words.n_slots]
    n_keys = int(np.count_nonzero((words.store.live > 0) & (factor > 0)))
    bound = float(words.total(kind).sum() * factor.max(initial=0.0))
    unit = 2.0 ** (_BITS - np.frexp(bound)[1])
    totals = np.zeros(words.n_classes, np.int64)
    np.add.at(totals, table.classes, np.rint(words.floats(kind) * factor[table.slots] * unit).astype(np.int64))
    return totals / unit, n_keys


def balance(
    words: Vocabulary, kind: str, factor: Floats | None, k: float, totals: Floats, n_keys: int, is_complement: bool
) -> Floats:
    """The mean over the classes of the sum of -log P(t | c), divided by the sum of each class, (classes,).

    totals, n_keys: with the factors. Infinite weights (of k = 0) are not part of the sums.
    """
    table, n = words.store.table(), words.floats(kind)
    slot, klass = table.slots, table.classes
    if factor is not None:
        n = n * factor[slot]
        slot, klass, n = slot[n > 0], klass[n > 0], n[n > 0]
    logs, n_infinite = kernels.active.sum_log_counts(slot, klass, n, words.n_classes, k, is_complement)
    n_finite = n_keys - n_infinite
    if is_complement:
        totals = totals.sum() - totals
        if factor is None and k > 0:  # tokens that were declared and never seen
            logs = logs + words.n_unseen * round(np.log(k) * _LOGS)
    else:
        n_without = n_keys - np.bincount(klass, minlength=words.n_classes)
        logs = logs + n_without * (round(np.log(k) * _LOGS) if k > 0 else 0)
        n_finite = n_finite - (n_without if k == 0 else 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = n_finite * np.log(totals + k * n_keys) - logs / _LOGS
    used = (size > 0) & np.isfinite(size)
    size = np.where(used, size, 1.0)
    mean = float(size[used].mean()) if used.any() else 1.0
    return np.where(used, mean / size, 1.0)
