"""The temperature of scores and the offsets of classes with the least log loss."""

import numpy as np

from tallybayes.arrays.array_types import Codes32, Floats
from tallybayes.kernels.contract import checked

_LEAST = 1e-6  # a temperature is above 0


@checked(
    "scores, base: classes, rows; codes: rows; row_weights: rows; codes: rows | own_codes classes; "
    "scores, base: classes, rows | finite; row_weights: rows | counts; weak: | counts; n_steps: | up_to 1000; "
    "n_halvings: | up_to 1000; enough: | counts"
)
def fit_temperature(
    scores: Floats,
    base: Floats,
    codes: Codes32,
    row_weights: Floats,
    weak: float,
    by_class: bool,
    n_steps: int,
    n_halvings: int,
    enough: float,
) -> Floats:
    """The temperature and the offsets, (1 + classes,), with the least log loss and shrinkage, by Newton's method.

    P(class | row) is proportional to exp(base + offset + temperature * score). The shrinkage is half the sum of the
    squared offsets, and `weak` times that of the temperature. Without `by_class` the offsets are 0. A step is halved up
    to `n_halvings` times until it lowers the loss; the last one gains less than `enough` per row.

    >>> scores = np.array([[2.0, 0.0, 2.0, 0.0], [0.0, 2.0, 0.0, 2.0]])  # two classes, four rows, one misclassified
    >>> rows = scores, np.zeros((2, 4)), np.array([0, 1, 1, 1], np.int32), np.ones(4)
    >>> fit_temperature(*rows, 0.1, True, 12, 8, 1e-4).round(2).tolist()
    [0.61, -0.42, 0.42]
    """
    at = np.zeros(1 + len(scores))
    at[0] = 1.0
    shrinkage = np.array([weak, *np.ones(len(scores) if by_class else 0)])

    def terms(at: Floats) -> tuple[float, Floats, Floats]:
        offset_scores = base + at[1:, None]
        loss, slopes, curvature = _newton_terms(scores, offset_scores, codes, row_weights, float(at[0]), by_class)
        used = at[: len(slopes)]
        loss += 0.5 * float(shrinkage @ used**2)
        return loss, slopes + shrinkage * used, curvature + np.diag(shrinkage)

    loss, slopes, curvature = terms(at)
    for _ in range(n_steps):
        step = np.zeros_like(at)
        step[: len(slopes)] = -np.linalg.solve(curvature, slopes)
        for halving in range(n_halvings):
            new = at + step * 0.5**halving
            new[0] = max(new[0], _LEAST)
            result = terms(new)
            if result[0] < loss:
                break
        else:
            break
        gain, at, (loss, slopes, curvature) = loss - result[0], new, result
        if gain < enough * len(codes):
            break
    return at


def _newton_terms(
    scores: Floats, base: Floats, codes: Codes32, row_weights: Floats, temperature: float, by_class: bool
) -> tuple[float, Floats, Floats]:
    """Log loss of P(class | row), proportional to exp(base + temperature * score), summed over the rows.

    Returns it with its slopes and its curvature by the temperature and, if `by_class`, by an offset of each class that
    would be added to its base: (1 + classes,) and (1 + classes, 1 + classes).
    """
    joint, row = base + temperature * scores, np.arange(len(codes))
    joint = joint - joint.max(axis=0)
    p = np.exp(joint)
    whole = p.sum(axis=0)
    loss = float(row_weights @ (np.log(whole) - joint[codes, row]))
    p /= whole
    mean = (p * scores).sum(axis=0)
    slopes, curvature = np.zeros(1 + len(p)), np.zeros((1 + len(p), 1 + len(p)))
    slopes[0] = row_weights @ (mean - scores[codes, row])
    slopes[1:] = p @ row_weights - np.bincount(codes, row_weights, len(p))
    curvature[0, 0] = row_weights @ ((p * scores**2).sum(axis=0) - mean**2)
    curvature[0, 1:] = curvature[1:, 0] = (p * (scores - mean)) @ row_weights
    curvature[1:, 1:] = np.diag(p @ row_weights) - (p * row_weights) @ p.T
    n = len(slopes) if by_class else 1
    return loss, slopes[:n], curvature[:n, :n]
