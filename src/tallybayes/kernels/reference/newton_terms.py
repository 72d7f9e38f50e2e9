"""The log loss at a temperature, with the slopes and the curvature that a step of Newton's method needs."""

import numpy as np

from tallybayes.arrays.array_types import Codes32, Floats
from tallybayes.kernels.contract import checked


@checked(
    "scores, base: classes, rows; codes: rows; row_weights: rows; codes: rows | own_codes classes; "
    "scores, base: classes, rows | finite; row_weights: rows | counts"
)
def newton_terms(
    scores: Floats, base: Floats, codes: Codes32, row_weights: Floats, temperature: float, by_class: bool
) -> tuple[float, Floats, Floats]:
    """Log loss of P(class | row), proportional to exp(base + temperature * score), summed over the rows.

    Returns it with its slopes and its curvature by the temperature and, if `by_class`, by an offset of each class that
    would be added to its base: (1 + classes,) and (1 + classes, 1 + classes). Arrays are finite.

    >>> scores = np.log([[0.5, 0.25], [0.25, 0.5]])  # two classes, two rows
    >>> loss, slopes, _ = newton_terms(scores, np.zeros((2, 2)), np.array([0, 1]), np.ones(2), 1.0, True)
    >>> round(loss / 2, 4), slopes.round(3).tolist()
    (0.4055, [-0.462, 0.0, 0.0])
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
