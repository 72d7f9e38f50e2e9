"""The threshold of a class that is best on some rows: by the F1 of the class, by the mean cost, or within a budget.

The rows are sorted by the probability of the class. A threshold takes the first m of them; equal probabilities are
taken together. F1 and cost of every m follow from cumulative sums,

    F1(m) = 2 tp(m) / (m + rows of the class),    cost(m) = sum of the costs of the answers, with the class for m rows

and the threshold lies midway between the last probability that is taken and the next one. Of equal values the greatest
threshold is chosen. A constraint on mistakes is chosen by `Decision.with_constraint`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import NONE, DataError, Described, ParameterError
from tallybayes.families.family import Codes32, Floats
from tallybayes.formatting import number, rows_of
from tallybayes.state.decision import Decision, allowed_rows, describe_errors

__all__ = ["best_threshold", "threshold_by_budget"]


def best_threshold(
    proba: Floats,
    codes: Codes32,
    classes: Sequence[Any],
    positive: Any,
    *,
    maximise: Literal["f1"] | None = None,
    costs: Mapping[Any, Any] | None = None,
) -> Decision:
    """The threshold with the largest F1 of a class, or with the lowest mean cost.

    proba: P(class | row), (rows, classes); codes: true classes, -1 for rows to ignore, the number of classes for a
    label that is not a class. costs: as in `Decision`.

    >>> proba = np.array([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
    >>> print(best_threshold(proba, np.array([0, 1, 0, 1]), ["PG", "R"], "R", maximise="f1"))
    R if its probability is at least 0.2 (largest F1, 0.8: 0 of 2 missed, 1 of 2 others taken for it)
    >>> best_threshold(proba, np.array([0, 1, 0, 1]), ["PG", "R"], "R", costs={"PG": {"R": 3}}).constraint
    'lowest mean cost, 0.25: 1 of 2 missed, 0 of 2 others taken for it'
    """
    Decision(positive=positive, threshold=0.0).check(classes)
    if maximise not in (None, "f1"):
        raise ParameterError("maximise: 'f1'", got=maximise)
    if (maximise is None) == (costs is None):
        raise ParameterError("either maximise or costs", got=(maximise, costs))
    code = list(classes).index(positive)
    rows = codes >= 0
    p, true = proba[rows, code], codes[rows]
    mine = true == code
    if not mine.any():
        raise DataError("rows of the class, to choose its threshold", got=NONE)
    order = np.argsort(-p, kind="stable")
    sizes = _sizes(p[order])
    if costs is None:
        words, sign = "largest F1", 1
        value = 2 * np.cumsum(mine[order])[sizes - 1] / (sizes + mine.sum())
    else:
        words, sign = "lowest mean cost", -1
        sizes = np.append(0, sizes) if p[order[0]] < 1 else sizes  # no threshold excludes a probability of 1
        value = _mean_costs(proba[rows][order], true[order], code, Decision(costs=costs), classes)[sizes]
    at = int(np.argmax(sign * value))
    threshold = _between(p[order], int(sizes[at]))
    reason = f"{words}, {number(value[at], 4)}: {describe_errors(mine, p >= threshold)}"
    return Decision(positive=positive, threshold=threshold, costs=costs or {}, constraint=reason)


def threshold_by_budget(
    proba: Floats, codes: Codes32, classes: Sequence[Any], positive: Any, *, budget: float
) -> Decision:
    """The smallest threshold that at most so many rows reach, or such a share of them; with precision and recall.

    Rows without a label (-1) are rows too; precision and recall are those of the others.

    >>> proba = np.array([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
    >>> print(threshold_by_budget(proba, np.array([0, 1, 0, 1]), ["PG", "R"], "R", budget=2))
    R if its probability is at least 0.45 (at most 2 rows: 2 flagged, precision 0.5, recall 0.5)
    """
    Decision(positive=positive, threshold=0.0).check(classes)
    code, n = list(classes).index(positive), allowed_rows(budget, len(codes))
    p = np.sort(proba[:, code])[::-1]
    sizes = _sizes(p)
    m = int(sizes[sizes <= n].max(initial=0))
    if not m and len(p) and p[0] >= 1:
        got = Described(f"more than {rows_of(n)} with probability 1")
        raise DataError("a threshold that at most so many rows reach", got=got)
    threshold = _between(p, m)
    taken, mine = proba[:, code] >= threshold, codes == code
    right, n_known = np.count_nonzero(taken & mine), np.count_nonzero(taken & (codes >= 0))
    shares = [("precision", n_known), ("recall", np.count_nonzero(mine))]
    told = ", ".join(f"{name} {number(right / whole, 4) if whole else '-'}" for name, whole in shares)
    reason = f"at most {rows_of(n)}: {np.count_nonzero(taken):,} flagged, {told}"
    return Decision(positive=positive, threshold=threshold, constraint=reason)


def _sizes(p: Floats) -> NDArray[np.int64]:
    """How many rows a threshold can take, of probabilities in descending order: equal ones together."""
    return np.flatnonzero(np.append(p[1:] < p[:-1], True)[: len(p)]) + 1


def _mean_costs(proba: Floats, true: Codes32, code: int, rule: Decision, classes: Sequence[Any]) -> Floats:
    """The mean cost if the first m rows are answered by the class and the others by the best other one, (rows + 1,)."""
    rule.check(classes)
    table = np.vstack([rule.cost_table(classes), np.ones(len(classes))])  # any answer to an unknown label is wrong
    others = proba.copy()
    others[:, code] = -1.0
    with_class, without = table[true, code], table[true, others.argmax(axis=1)]
    total = without.sum() + np.append(0.0, np.cumsum(with_class - without))
    return np.asarray(total / len(true))


def _between(p: Floats, m: int) -> float:
    """A threshold that takes the first m of some probabilities in descending order."""
    above, below = p[m - 1] if m else 1.0, p[m] if m < len(p) else 0.0
    middle = float((above + below) / 2)
    return middle if below < middle <= above else float(above)  # neighbours have nothing between them
