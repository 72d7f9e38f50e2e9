"""The rule that turns probabilities into an answer.

Without a rule the answer is the most probable class. A rule can be

    a threshold   the class is the answer if its probability is at least the threshold, else the best of the others
    costs         the cost of answering g where t is true; the answer has the least expected cost
    abstain       there is no answer (None) if its probability is below this value

A threshold can be chosen by a constraint on some rows: at most so many false negatives (rows of the class with another
answer), or false positives. The constraint holds on the rows that the threshold was chosen on. An abstention is not a
wrong answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans
from tallybayes.arrays.axis import sort_keys
from tallybayes.errors import NONE, DataError, ParameterError, did_you_mean, is_real_number
from tallybayes.families.family import Codes32, Floats
from tallybayes.formatting import shown

__all__ = ["Decision", "allowed_rows", "describe_errors"]

_TINY = 1e-300  # just above a probability of 0
_ROUNDING = 1e-9  # relative: the same probability computed on another path may differ by less than this


@dataclass(frozen=True)
class Decision:
    """A decision rule; the default is the most probable class.

    positive, threshold: this class is the answer if its probability is at least the threshold.
    costs: {true: {answered: cost}}, or {(true, answered): cost}; the default is 0 for right and 1 for wrong answers.
    Beside a threshold, which may have been chosen by them, they do not change the answers; `evaluate` uses them.
    abstain: the smallest probability of an answer.
    constraint: the constraint that the threshold was chosen by, in words.

    >>> rule = Decision(positive="R", threshold=0.2)
    >>> rule.answer_codes(np.array([[0.75, 0.25], [0.85, 0.15]]), ["PG", "R"]).tolist()
    [1, 0]
    """

    positive: Any = None
    threshold: float | None = None
    costs: Mapping[Any, Mapping[Any, float]] = field(default_factory=dict)
    abstain: float = 0.0
    constraint: str = ""
    model_rows: float = 0.0  # rows in the model when it was chosen; below 0: chosen under other probabilities

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", _nest_costs(self.costs))
        if (self.positive is None) != (self.threshold is None):
            raise ParameterError("positive and threshold together", got=(self.positive, self.threshold))
        if self.threshold is not None and not (is_real_number(self.threshold) and 0 <= self.threshold <= 1):
            raise ParameterError("a threshold from 0 to 1", got=self.threshold)
        if not (is_real_number(self.abstain) and 0 <= self.abstain <= 1):
            raise ParameterError("abstain: a probability from 0 to 1", got=self.abstain)

    def check(self, classes: Sequence[Any]) -> None:
        """Raise an error if the rule names a label that is not a class."""
        named = [] if self.positive is None else [self.positive]
        named += [label for true, by_answer in self.costs.items() for label in (true, *by_answer)]
        for label in named:
            if label not in classes:
                hint = did_you_mean(str(label), [str(name) for name in classes])
                raise ParameterError("a label of the model", got=label, hint=hint)

    def answer_codes(self, proba: Floats, classes: Sequence[Any]) -> NDArray[np.int64]:
        """The code of the answer for P(class | row), (rows, classes); -1: no answer. Ties go to the first class."""
        if not len(classes):
            return np.full(len(proba), -1, np.int64)
        best = proba.argmax(axis=1)
        if self.costs and self.threshold is None:
            best = self._expected_costs(proba, classes).argmin(axis=1)
        elif self.threshold is not None and self.positive in classes:
            code = list(classes).index(self.positive)
            others = proba.copy()
            others[:, code] = -1.0
            best = np.where(proba[:, code] >= self.threshold, code, others.argmax(axis=1) if len(classes) > 1 else -1)
        sure = np.where(best >= 0, proba[np.arange(len(proba)), best], 0.0) >= self.abstain
        return np.asarray(np.where(sure, best, -1), np.int64)

    def _expected_costs(self, proba: Floats, classes: Sequence[Any]) -> Floats:
        """The expected cost of every answer, (rows, classes); class by class, so that a row is the same alone."""
        result = np.zeros_like(proba)
        for column, costs in zip(proba.T, self.cost_table(classes), strict=True):
            result += column[:, None] * costs
        return result

    def cost_table(self, classes: Sequence[Any]) -> Floats:
        """The cost of an answer (columns) where a class is true (rows), (classes, classes)."""
        table = 1.0 - np.eye(len(classes))
        index = {label: code for code, label in enumerate(classes)}
        for true, by_answer in self.costs.items():
            for answered, cost in by_answer.items():
                if true in index and answered in index:
                    table[index[true], index[answered]] = cost
        return table

    @classmethod
    def with_constraint(
        cls,
        proba: Floats,
        codes: Codes32,
        classes: Sequence[Any],
        positive: Any,
        *,
        false_negatives: float | None = None,
        false_positives: float | None = None,
    ) -> Decision:
        """The threshold for a class that satisfies a constraint on rows with these probabilities and true classes.

        false_negatives: the greatest threshold that misses at most so many rows of the class; false_positives: the
        smallest threshold that gives the class to at most so many other rows. An integer is a number of rows, a
        fraction below 1 a share of the rows of the class (of the other rows).

        >>> proba = np.array([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
        >>> print(Decision.with_constraint(proba, np.array([0, 1, 0, 1]), ["PG", "R"], "R", false_negatives=0))
        R if its probability is at least 0.3 (at most 0 false negatives: 0 of 2 missed, 1 of 2 others taken for it)
        """
        cls(positive=positive, threshold=0.0).check(classes)
        if (false_negatives is None) == (false_positives is None):
            amounts = (false_negatives, false_positives)
            raise ParameterError("either false_negatives or false_positives", got=amounts)
        code = list(classes).index(positive)
        known = codes >= 0
        p = proba[known, code]
        mine = codes[known] == code
        if false_negatives is not None:
            counted, what, words = p[mine], "the class", "negatives"
        else:
            counted, what, words = p[~mine], "other classes", "positives"
        n = allowed_rows(false_negatives if false_negatives is not None else false_positives, len(counted))
        if not len(counted):
            raise DataError(f"rows of {what}, for the constraint on false {words}", got=NONE)
        counted = np.sort(counted)
        if false_negatives is not None:
            threshold = float(counted[n]) * (1 - _ROUNDING) if n < len(counted) else 1.0
        else:
            threshold = min(float(counted[-1 - n]) * (1 + _ROUNDING) + _TINY, 1.0) if n < len(counted) else 0.0
            if n < len(counted) and np.count_nonzero(counted >= threshold) > n:
                got = f"more than {n} rows of other classes with probability 1"
                raise DataError("a threshold that satisfies the constraint", got=got)
        reason = f"at most {n:,} false {words}: {describe_errors(mine, p >= threshold)}"
        return cls(positive=positive, threshold=threshold, constraint=reason)

    def __str__(self) -> str:
        parts = []
        if self.threshold is not None:
            reason = f" ({self.constraint})" if self.constraint else ""
            parts.append(f"{shown(self.positive)} if its probability is at least {self.threshold:.6g}{reason}")
        if self.costs:
            pairs = [
                f"{shown(true)} answered {shown(answered)}: {cost:g}"
                for true, by_answer in self.costs.items()
                for answered, cost in by_answer.items()
            ]
            parts.append(f"{'least expected cost' if self.threshold is None else 'costs'} ({', '.join(pairs)})")
        if self.abstain:
            parts.append(f"no answer below probability {self.abstain:g}")
        return "; ".join(parts) or "the most probable class"


def describe_errors(is_class: Booleans, is_taken: Booleans) -> str:
    """How many rows of a class a threshold misses, and how many others it takes for it.

    >>> describe_errors(np.array([True, True, False]), np.array([True, False, False]))
    '1 of 2 missed, 0 of 1 others taken for it'
    """
    missed = f"{np.count_nonzero(is_class & ~is_taken):,} of {np.count_nonzero(is_class):,} missed"
    return (
        f"{missed}, {np.count_nonzero(~is_class & is_taken):,} of {np.count_nonzero(~is_class):,} others taken for it"
    )


def allowed_rows(amount: Any, n_rows: int) -> int:
    """The number of rows that a constraint allows: an integer, or a share of the rows."""
    if not is_real_number(amount) or not 0 <= amount < np.inf:
        raise ParameterError("a number of rows from 0 on, or a share below 1", got=amount)
    if amount >= 1 and amount != int(amount):
        raise ParameterError("an integer number of rows, or a share below 1", got=amount)
    return int(amount) if amount >= 1 else int(np.floor(amount * n_rows + 1e-9))


def _nest_costs(costs: Mapping[Any, Any]) -> dict[Any, dict[Any, float]]:
    """Costs by true label and answer, in the order of the labels."""
    pairs: dict[Any, dict[Any, float]] = {}
    for key, value in dict(costs).items():
        by_answer = value if isinstance(value, Mapping) else None
        if by_answer is None and not (isinstance(key, tuple) and len(key) == 2):
            raise ParameterError("costs: {true: {answered: cost}}", got=dict(costs))
        for true, answered, cost in (
            [(key, a, c) for a, c in by_answer.items()] if by_answer is not None else [(*key, value)]
        ):
            if not is_real_number(cost) or not 0 <= cost < np.inf:
                raise ParameterError("costs that are finite numbers of at least 0", got=cost)
            pairs.setdefault(true, {})[answered] = float(cost)
    return {true: {a: pairs[true][a] for a in sort_keys(pairs[true])} for true in sort_keys(pairs)}
