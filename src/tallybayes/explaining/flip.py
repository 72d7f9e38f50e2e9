"""The smallest set of columns without which the answer would be another one.

The contributions of a row's columns to the log odds of the winner w against a rival r are numbers d_j; the rival wins
when

    log P(w) / P(r) + sum over the remaining columns of d_j

is below 0 (or 0, if the rival is first in order). So the fewest columns to remove are those with the greatest d_j, as
many as needed; the smallest set is the least over the rivals. The same holds for the words of a text, whose
contributions add up to that of their column.

Under a decision rule (or an isotonic calibration) the answer is not simply the greatest sum. Then sets are tried in
order of size: all of them up to `_SETS`, which covers 16 columns, and beyond that the greedy sets of each rival only,
whose smallest one is a small set but not provably the smallest. The same is done where columns interact (derived
columns): then the score without a set is computed anew, and the contributions only say which sets to try first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.families.family import Floats
from tallybayes.formatting import finite_json, shown

__all__ = ["Flip", "smallest_flip", "smallest_flip_by_rule"]

Sums = Callable[[NDArray[np.bool_]], Floats]  # the log score with the parts that are kept, (sets, parts)
Removed = tuple[tuple[str, ...], Any, Any, tuple[float, float]]  # names, the label then, the rival, the log odds

_SETS = 2**16  # sets of columns that are tried
_CHUNK = 4096  # sets at a time


@dataclass(frozen=True)
class Flip:
    """Columns (or words of one column) without which the answer would be another one.

    `predicted` is the answer and `label` the answer without them (None: no answer); `log_odds` are those of `predicted`
    against `against`, before and after.
    """

    columns: tuple[str, ...]
    predicted: Any
    label: Any
    against: Any
    log_odds: tuple[float, float]
    words: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; infinite odds are None."""
        odds = finite_json(self.log_odds)
        named = {"columns": list(self.columns)} | ({"words": list(self.words)} if self.words else {})
        return {**named, "label": self.label, "against": self.against, "log_odds": odds}

    def __str__(self) -> str:
        names = self.words or self.columns
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        without = f"without the word{'s' * (len(names) > 1)} {listed}" if self.words else f"without {listed}"
        if self.label is None:
            return f"{without} there would be no answer"
        if self.label == self.against:
            return f"{without} it would be {shown(self.label)}"
        ahead = f"{shown(self.against)} would be ahead of {shown(self.predicted)}"
        return f"{without} {ahead} (and {shown(self.label)} first)"


def smallest_flip(
    classes: Sequence[Any], parts: Mapping[str, Floats], fixed: Floats, against: Any = None
) -> Removed | None:
    """The fewest parts to remove so that another class has the greatest sum; None if no set does it.

    parts: what can be removed, (classes,) each; fixed: the sum of what cannot. Of sets of one size the one that takes
    most from the odds is chosen, then the first by names.
    """
    names, table = list(parts), np.array([*parts.values()]).reshape(len(parts), len(classes))
    scores = _add_up(fixed, table)
    winner = int(scores.argmax())
    if np.isneginf(scores[winner]):  # every class is ruled out: the answer is the prior, whatever the columns say
        return None
    best: tuple[int, float, tuple[str, ...], int] | None = None
    for rival in range(len(classes)):
        if rival != winner and (against is None or classes[rival] == against):
            flip = _flip_to(names, table, fixed, winner, rival)
            if flip is not None and (best is None or (flip[0], -flip[1], flip[2]) < (best[0], -best[1], best[2])):
                best = (*flip, rival)
    if best is None:
        return None
    gone = set(best[2])
    left = _add_up(fixed, table[[name not in gone for name in names]])
    label = classes[int(left.argmax())]
    rival = classes.index(label) if against is None else best[3]
    odds = tuple(float(part[winner] - part[rival]) for part in (scores, left))
    return best[2], label, classes[rival], (odds[0], odds[1])


def smallest_flip_by_rule(
    answer_codes: Callable[[Floats], Any],
    classes: Sequence[Any],
    parts: Mapping[str, Floats],
    fixed: Floats,
    against: Any,
    *,
    sums_of: Sums | None = None,
) -> Removed | None:
    """The same where `answer_codes` gives the answers for the log score, (sets, classes); -1 is no answer.

    sums_of: the log score of sets of parts that are kept, if it is not the sum of the parts.
    """
    if sums_of is None:

        def sums_of(sets: NDArray[np.bool_]) -> Floats:
            return np.stack([_add_up(fixed, table[kept]) for kept in sets])

    names = list(parts)
    table = np.array([*parts.values()]).reshape(len(parts), len(classes))
    (whole,) = sums_of(np.ones((1, len(names)), bool))
    if np.isneginf(whole).all():
        return None
    (predicted,) = answer_codes(whole[None]).tolist()
    for sets in _sets_by_size(table, predicted if predicted >= 0 else int(whole.argmax()), both=predicted < 0):
        sums = sums_of(sets)
        codes = answer_codes(sums)
        flipped = codes != predicted if against is None else codes == classes.index(against)
        if flipped.any():
            at = int(np.argmax(flipped))
            label = classes[codes[at]] if codes[at] >= 0 else None
            rival = codes[at] if codes[at] >= 0 else int(sums[at].argmax())
            both = (whole, sums[at])
            odds = tuple(float(score[predicted] - score[rival]) if predicted >= 0 else np.nan for score in both)
            gone = tuple(name for name, stays in zip(names, sets[at], strict=True) if not stays)
            return gone, label, classes[rival], (odds[0], odds[1])
    return None


def _sets_by_size(table: Floats, winner: int, *, both: bool = False) -> Iterator[NDArray[np.bool_]]:
    """Sets of parts to keep, (sets, parts), the fewest removed first; of one size, the greatest loss of odds first.

    both: also the greatest gain of odds first. Where there is no answer, one may come from more certainty.
    """
    n = len(table)
    rivals = [rival for rival in range(table.shape[1]) if rival != winner]
    orders = [np.argsort(-_odds(table, winner, rival), kind="stable") for rival in rivals]
    orders += [np.argsort(_odds(table, winner, rival), kind="stable") for rival in rivals if both]
    budget = _SETS
    for size in range(1, n + 1):
        greedy = [tuple(sorted(order[:size].tolist())) for order in orders]
        every = math.comb(n, size)
        others = itertools.combinations(range(n), size) if every <= budget else iter(())
        budget -= every
        for some in _in_chunks(itertools.chain(greedy, others)):
            kept = np.ones((len(some), n), bool)
            for row, gone in zip(kept, some, strict=True):
                row[list(gone)] = False
            yield kept


def _in_chunks(sets: Iterator[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    while some := list(itertools.islice(sets, _CHUNK)):
        yield some


def _flip_to(
    names: list[str], table: Floats, fixed: Floats, winner: int, rival: int
) -> tuple[int, float, tuple[str, ...]] | None:
    """How many parts must go for a rival to win, what they took from the odds, and their names, the greatest first."""
    odds = _odds(table, winner, rival)
    order = sorted((i for i in range(len(names)) if odds[i] > 0), key=lambda i: (-odds[i], names[i]))
    pair = [winner, rival]

    def wins(count: int) -> bool:
        kept = np.ones(len(names), bool)
        kept[order[:count]] = False
        score, other = _add_up(fixed[pair], table[kept][:, pair])
        return bool(other > score or (other == score and rival < winner))

    if np.isneginf(fixed[rival]) or not wins(len(order)):
        return None
    low, high = 0, len(order)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if wins(middle) else (middle, high)
    return high, float(odds[order[:high]].sum()), tuple(names[i] for i in order[:high])


def _odds(table: Floats, winner: int, rival: int) -> Floats:
    """What parts add to the log odds; nothing where both are ruled out."""
    score, other = table[:, winner], table[:, rival]
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(score) & np.isneginf(other), 0.0, score - other)


def _add_up(fixed: Floats, table: Floats) -> Floats:
    """The sum of parts, one after the other as a model adds them."""
    return np.asarray(np.cumsum(np.concatenate([fixed[None], table]), axis=0)[-1])
