"""From probabilities to an answer.

Without a decision rule the answer is the most probable class. A rule can be

    a threshold   the class is answered whenever its probability reaches the threshold, else the best of the others
    costs         what it costs to answer g where t is true; the answer costs least on average
    abstain       below this probability of the answer there is none (None)

A threshold can be chosen by what it promises on some rows: at most so many false negatives (rows of the class that get
another answer), or false positives. The promise holds on the rows it was chosen on; where there is no answer, it is not
a wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import sort_keys
from tallybayes.errors import DataError, ParameterError, did_you_mean
from tallybayes.families.family import Codes32, Floats

__all__ = ["Decision"]

_TINY = 1e-300  # above a probability of 0
_ROUNDING = 1e-9  # probabilities that are worked out in another way may differ by less: a promise holds for them too


@dataclass(frozen=True)
class Decision:
    """A rule; what is not told has no say.

    label, threshold: the class that is answered from this probability on.
    costs: {true: {answered: cost}}, or {(true, answered): cost}; if not told, a right answer costs 0, a wrong one 1.
    abstain: the least probability of an answer.

    >>> rule = Decision(label="R", threshold=0.2)
    >>> rule.chosen(np.log([[0.75, 0.25], [0.85, 0.15]]), ["PG", "R"]).tolist()
    [1, 0]
    """

    label: Any = None
    threshold: float | None = None
    costs: Mapping[Any, Mapping[Any, float]] = field(default_factory=dict)
    abstain: float = 0.0
    promise: str = ""  # what the threshold was chosen for, in words
    rows: float = 0.0  # that the model had when it was chosen; below 0: it was chosen under other probabilities

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", _nested(self.costs))
        if (self.label is None) != (self.threshold is None):
            raise ParameterError("label and threshold together", got=(self.label, self.threshold))
        if self.threshold is not None and not (_is_number(self.threshold) and 0 <= self.threshold <= 1):
            raise ParameterError("a threshold from 0 to 1", got=self.threshold)
        if not (_is_number(self.abstain) and 0 <= self.abstain <= 1):
            raise ParameterError("abstain: a probability from 0 to 1", got=self.abstain)
        if self.threshold is not None and self.costs:
            raise ParameterError("a threshold or costs, not both", got=(self.threshold, self.costs))

    def check(self, classes: Sequence[Any]) -> None:
        """Raise if the rule is about labels that there are not."""
        named = [] if self.label is None else [self.label]
        named += [label for true, own in self.costs.items() for label in (true, *own)]
        for label in named:
            if label not in classes:
                hint = did_you_mean(str(label), [str(one) for one in classes])
                raise ParameterError("a label of the model", got=label, hint=hint)

    def chosen(self, log_proba: Floats, classes: Sequence[Any]) -> NDArray[np.int64]:
        """The class of every row by its code, -1 where there is no answer; ties go to the class that is first."""
        if not len(classes):
            return np.full(len(log_proba), -1, np.int64)
        p = np.exp(log_proba)
        best = p.argmax(axis=1)
        if self.costs:
            best = (p @ self.cost_table(classes)).argmin(axis=1)
        elif self.threshold is not None and self.label in classes:
            own = list(classes).index(self.label)
            others = p.copy()
            others[:, own] = -1.0
            best = np.where(p[:, own] >= self.threshold, own, others.argmax(axis=1) if len(classes) > 1 else -1)
        sure = np.where(best >= 0, p[np.arange(len(p)), best], 0.0) >= self.abstain
        return np.asarray(np.where(sure, best, -1), np.int64)

    def cost_table(self, classes: Sequence[Any]) -> Floats:
        """What it costs to answer (columns) where something is true (rows), (classes, classes)."""
        table = 1.0 - np.eye(len(classes))
        index = {label: code for code, label in enumerate(classes)}
        for true, own in self.costs.items():
            for answered, cost in own.items():
                if true in index and answered in index:
                    table[index[true], index[answered]] = cost
        return table

    @classmethod
    def promising(
        cls,
        log_proba: Floats,
        codes: Codes32,
        classes: Sequence[Any],
        label: Any,
        *,
        false_negatives: float | None = None,
        false_positives: float | None = None,
    ) -> Decision:
        """The threshold for a class that keeps a promise on rows with these probabilities and classes.

        false_negatives: the greatest threshold with at most so many rows of the class missed; false_positives: the
        least with at most so many others answered with it. A whole number is a number of rows, a fraction below 1 a
        share of the rows of the class (of the others).

        >>> log_p = np.log([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
        >>> print(Decision.promising(log_p, np.array([0, 1, 0, 1]), ["PG", "R"], "R", false_negatives=0))
        R from probability 0.3 on (at most 0 false negatives: misses 0 of 2 rows of it, takes 1 of 2 others for it)
        """
        cls(label=label, threshold=0.0).check(classes)
        if (false_negatives is None) == (false_positives is None):
            raise ParameterError(
                "false_negatives or false_positives, one of them", got=(false_negatives, false_positives)
            )
        own, there = list(classes).index(label), codes >= 0
        p = np.exp(log_proba[there, own])
        mine = codes[there] == own
        asked, what = (false_negatives, mine) if false_negatives is not None else (false_positives, ~mine)
        n = _allowed(asked, int(np.count_nonzero(what)))
        words = "negatives" if false_negatives is not None else "positives"
        if not what.any():
            raise DataError(
                f"rows of {'the class' if words == 'negatives' else 'other classes'} to keep the promise on"
            )
        p = np.sort(p[what])
        if words == "negatives":
            threshold = float(p[n]) * (1 - _ROUNDING) if n < len(p) else 1.0
        else:
            threshold = min(float(p[len(p) - 1 - n]) * (1 + _ROUNDING) + _TINY, 1.0) if n < len(p) else 0.0
        answered = np.exp(log_proba[there, own]) >= threshold
        missed, wrong = np.count_nonzero(mine & ~answered), np.count_nonzero(~mine & answered)
        n_mine, n_others = np.count_nonzero(mine), np.count_nonzero(~mine)
        price = f"misses {missed:,} of {n_mine:,} rows of it, takes {wrong:,} of {n_others:,} others for it"
        promise = f"at most {n:,} false {words}: {price}"
        if words == "positives" and n < len(p) and np.count_nonzero(p >= threshold) > n:
            raise DataError("a threshold that keeps the promise", got=f"more than {n} rows of other classes have P = 1")
        return cls(label=label, threshold=threshold, promise=promise)

    def with_(self, **changes: Any) -> Decision:
        """The rule with some of it changed."""
        return replace(self, **changes)

    def __str__(self) -> str:
        parts = []
        if self.threshold is not None:
            told = f" ({self.promise})" if self.promise else ""
            parts.append(f"{self.label} from probability {self.threshold:.6g} on{told}")
        if self.costs:
            pairs = [
                f"{true} answered {one}: {cost:g}" for true, own in self.costs.items() for one, cost in own.items()
            ]
            parts.append(f"least cost ({', '.join(pairs)})")
        if self.abstain:
            parts.append(f"no answer below probability {self.abstain:g}")
        return "; ".join(parts) or "the most probable class"


def _allowed(asked: Any, n_rows: int) -> int:
    """How many rows: a whole number, or a share of the rows."""
    if not _is_number(asked) or not 0 <= asked < np.inf:
        raise ParameterError("a number of rows from 0 on, or a share below 1", got=asked)
    if asked >= 1 and asked != int(asked):
        raise ParameterError("a whole number of rows, or a share below 1", got=asked)
    return int(asked) if asked >= 1 else int(np.floor(asked * n_rows + 1e-9))


def _nested(costs: Mapping[Any, Any]) -> dict[Any, dict[Any, float]]:
    """Costs by what is true and what is answered, in the order of the labels."""
    pairs: dict[Any, dict[Any, float]] = {}
    for key, value in dict(costs).items():
        given = value if isinstance(value, Mapping) else None
        if given is None and not (isinstance(key, tuple) and len(key) == 2):
            raise ParameterError("costs: {true: {answered: cost}}", got=dict(costs))
        for true, answered, cost in [(key, a, c) for a, c in given.items()] if given is not None else [(*key, value)]:
            if not _is_number(cost) or not np.isfinite(cost):
                raise ParameterError("costs that are numbers", got=cost)
            pairs.setdefault(true, {})[answered] = float(cost)
    return {true: {a: pairs[true][a] for a in sort_keys(pairs[true])} for true in sort_keys(pairs)}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
