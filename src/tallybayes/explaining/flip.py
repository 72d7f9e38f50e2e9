"""The smallest change that would have given another answer.

What a row's columns add to the log odds of the winner w against a rival r are numbers d_j; the rival wins once

    log P(w) / P(r) + sum over the columns that are left of d_j

is below 0 (or 0, if the rival is first in order). So the fewest columns that must go are the ones with the greatest
d_j, as many as it takes; the smallest set is the least over the rivals. The same holds for the words of a text, whose
parts add up to that of their column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.families.family import Floats
from tallybayes.formatting import finite_json, shown

__all__ = ["Flip", "smallest_flip"]


@dataclass(frozen=True)
class Flip:
    """Columns (or words of one column) without which another label would win.

    `predicted` is the answer, `label` what it would be without them, `log_odds` those of `predicted` against `against`
    (the label, unless another was asked for) before and after.
    """

    columns: tuple[str, ...]
    predicted: Any
    label: Any
    against: Any
    log_odds: tuple[float, float]
    words: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; odds without end are None."""
        odds = finite_json(self.log_odds)
        named = {"columns": list(self.columns)} | ({"words": list(self.words)} if self.words else {})
        return {**named, "label": self.label, "against": self.against, "log_odds": odds}

    def __str__(self) -> str:
        names = self.words or self.columns
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        without = f"without the word{'s' * (len(names) > 1)} {listed}" if self.words else f"without {listed}"
        if self.label == self.against:
            return f"{without} it would be {shown(self.label)}"
        ahead = f"{shown(self.against)} would be ahead of {shown(self.predicted)}"
        return f"{without} {ahead} (and {shown(self.label)} first)"


def smallest_flip(
    classes: Sequence[Any], parts: Mapping[str, Floats], fixed: Floats, against: Any = None
) -> tuple[tuple[str, ...], Any, Any, tuple[float, float]] | None:
    """The names of the fewest parts to take away, the label then, the rival and the log odds before and after.

    parts: what can be taken away, (classes,) each; fixed: the sum of what cannot. Of sets of one size the one that
    takes the most from the odds is chosen, then the first by names. None if there is none.
    """
    names, table = list(parts), np.array([*parts.values()]).reshape(len(parts), len(classes))
    scores = _added_up(fixed, table)
    winner = int(scores.argmax())
    if np.isneginf(scores[winner]):  # every class is ruled out: the answer is the prior, whatever the columns say
        return None
    best: tuple[int, float, tuple[str, ...], int] | None = None
    for rival in range(len(classes)):
        if rival != winner and (against is None or classes[rival] == against):
            found = _against(names, table, fixed, winner, rival)
            if found is not None and (best is None or (found[0], -found[1], found[2]) < (best[0], -best[1], best[2])):
                best = (*found, rival)
    if best is None:
        return None
    gone = set(best[2])
    left = _added_up(fixed, table[[name not in gone for name in names]])
    label = classes[int(left.argmax())]
    rival = classes.index(label) if against is None else best[3]
    odds = tuple(float(part[winner] - part[rival]) for part in (scores, left))
    return best[2], label, classes[rival], (odds[0], odds[1])


def _against(
    names: list[str], table: Floats, fixed: Floats, winner: int, rival: int
) -> tuple[int, float, tuple[str, ...]] | None:
    """How many parts must go for a rival to win, what they took from the odds, and their names, the greatest first."""
    odds = _odds(table, winner, rival)
    order = sorted((i for i in range(len(names)) if odds[i] > 0), key=lambda i: (-odds[i], names[i]))
    pair = [winner, rival]

    def wins(count: int) -> bool:
        kept = np.ones(len(names), bool)
        kept[order[:count]] = False
        own, other = _added_up(fixed[pair], table[kept][:, pair])
        return bool(other > own or (other == own and rival < winner))

    if np.isneginf(fixed[rival]) or not wins(len(order)):
        return None
    low, high = 0, len(order)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if wins(middle) else (middle, high)
    return high, float(odds[order[:high]].sum()), tuple(names[i] for i in order[:high])


def _odds(table: Floats, winner: int, rival: int) -> Floats:
    """What parts add to the log odds; nothing where both are ruled out."""
    own, other = table[:, winner], table[:, rival]
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(own) & np.isneginf(other), 0.0, own - other)


def _added_up(fixed: Floats, table: Floats) -> Floats:
    """The sum of parts, one after the other as a model adds them."""
    return np.asarray(np.cumsum(np.concatenate([fixed[None], table]), axis=0)[-1])
