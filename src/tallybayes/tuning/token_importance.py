"""The importance of the tokens of a column, by the measures of columns (`tuning/importance.py`), as far as they apply.

    information   the mean over rows of log P(y | what the token adds) / P(y), for the token alone
    gain          the increase of the log loss of the model where the token adds nothing to any row

Each row is scored without itself, or without its fold where columns are. What the other tokens add stays as it is. With
one Bernoulli per token its absence adds something too; else a row without the token counts as it is. The Bayes factor
is that of a whole column.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tallybayes.arrays.column import Column, Key
from tallybayes.families.family import Codes32, Floats, Predictive
from tallybayes.formatting import shown
from tallybayes.scoring.missing_evidence import is_missing
from tallybayes.weights.held_out_evidence import FAR
from tallybayes.weights.weight_fit import losses_of

__all__ = ["TokenImportance", "TokenMeasure"]

_MOST_ABSENT = 4000  # tokens whose absence is scored in every row: those in the most rows


@dataclass(frozen=True)
class TokenImportance:
    """The importance of one token of a column.

    n_rows: how many of the rows have it; without absence, those whose token other rows have too.
    """

    token: Key
    n_rows: int
    information: float
    gain: float


@dataclass(eq=False)
class TokenMeasure:
    """The tokens of one column, measured row by row.

    log_prior: log P(class) of every row, (rows, classes); others: the log score without the column; losses: those of
    log scores (lines, classes) for classes; weigh: evidence (lines, classes) of a row with the weight of the column.
    """

    name: str
    codes: Codes32
    row_weights: Floats
    log_prior: Floats
    others: Floats
    losses: Callable[[Floats, Codes32], Floats]
    weigh: Callable[[int, Floats], Floats]
    _gain: defaultdict[Key, float] = field(default_factory=lambda: defaultdict(float), init=False)
    _information: defaultdict[Key, float] = field(default_factory=lambda: defaultdict(float), init=False)
    _n_rows: Counter[Key] = field(default_factory=Counter, init=False)
    _absent: list[Key] = field(default_factory=list, init=False)

    def look_for_absent(self, predictive: Predictive, column: Column) -> None:
        """Find the tokens whose absence is scored; none where absence adds nothing."""
        if predictive.absence_evidence(self.name, []) is None:
            return
        rows = Counter[Key]()
        for row in np.flatnonzero(~is_missing(column)):
            parts = predictive.token_evidence(self.name, column.take(np.array([row])))
            rows.update(part.token for part in parts if not part.rest)
        self._n_rows, self._absent = rows, [token for token, _ in rows.most_common(_MOST_ABSENT)]

    def add(self, rows: Sequence[int], column: Column, predictive: Predictive) -> None:
        """Measure rows by a predictive without them; column: with these rows only."""
        absent = predictive.absence_evidence(self.name, self._absent) if self._absent else None
        place = {token: i for i, token in enumerate(self._absent)}
        for i, (row, lacks) in enumerate(zip(rows, is_missing(column).tolist(), strict=True)):
            if lacks:
                continue
            one = column.take(np.array([i]))
            present = [part for part in predictive.token_evidence(self.name, one) if not part.rest]
            tokens, parts = [part.token for part in present], [part.log_evidence for part in present]
            if absent is None:
                self._n_rows.update(tokens)
            else:
                kept = np.ones(len(absent), bool)
                kept[[place[token] for token in tokens if token in place]] = False
                tokens += [self._absent[j] for j in np.flatnonzero(kept)]
                parts += list(absent[kept])
            if tokens:
                whole = np.zeros((1, predictive.n_classes))
                predictive.bind([one])(whole, 0, 1)
                self._add_row(row, tokens, np.array(parts), whole[0])

    def _add_row(self, row: int, tokens: Sequence[Key], parts: Floats, whole: Floats) -> None:
        """Measure the tokens of one row, (tokens, classes), that add to the score of a column, (classes,)."""
        n, weight = len(tokens), float(self.row_weights[row])
        codes = np.full(n + 1, self.codes[row], np.int32)
        scores = np.concatenate([[whole], _without_each(whole, parts)])
        losses = self.losses(self.others[row] + self.weigh(row, _bound(scores)), codes)
        prior = self.log_prior[row]
        alone = losses_of(np.concatenate([[prior], prior + _bound(parts)]), codes)
        for token, gain, information in zip(tokens, losses[1:] - losses[0], alone[0] - alone[1:], strict=True):
            self._gain[token] += weight * float(gain)
            self._information[token] += weight * float(information)

    def result(self) -> list[TokenImportance]:
        """The tokens in descending order of gain."""
        total = float(self.row_weights.sum())
        found = [
            TokenImportance(token, self._n_rows[token], self._information[token] / total, gain / total)
            for token, gain in self._gain.items()
        ]
        return sorted(found, key=lambda one: (-one.gain, -one.information, shown(one.token)))


def _without_each(whole: Floats, parts: Floats) -> Floats:
    """A sum (classes,) without each of its parts, (parts, classes), some of which may be minus infinity.

    >>> _without_each(np.array([-3.0, -np.inf]), np.array([[-1.0, -np.inf], [-2.0, -4.0]])).tolist()
    [[-2.0, -4.0], [-1.0, -inf]]
    """
    rules_out = np.isneginf(parts)
    finite, n = np.where(rules_out, 0.0, parts), rules_out.sum(axis=0)
    rest = np.where(n > 0, finite.sum(axis=0), whole) - finite
    return np.where(n - rules_out > 0, -np.inf, rest)


def _bound(scores: Floats) -> Floats:
    """Scores of lines minus the maximum of each; an impossible class has -FAR."""
    top: Any = scores.max(axis=1, keepdims=True)
    return np.maximum(scores - np.where(np.isneginf(top), 0.0, top), -FAR)
