"""Logarithms: sums of the logarithms of counts by class, and log gamma."""

import numpy as np

from tallybayes.arrays.array_types import Floats, Integers
from tallybayes.arrays.special import gammaln
from tallybayes.kernels.contract import checked

_UNIT = 2.0**28  # logarithms are integers in units of one over this, so that their sum does not depend on their order


@checked("tokens, classes, counts: entries; classes: entries | below classes; counts: entries | counts; k: | counts")
def sum_log_counts(
    tokens: Integers, classes: Integers, counts: Floats, n_classes: int, k: float, complement: bool
) -> tuple[Integers, Integers]:
    """The sums of log(count + k) by class, in units of 2**-28, and how many were infinite and count as 0.

    Cells of a token are consecutive. With `complement` the count is that of all other classes together, also for the
    classes that have none of a token.

    >>> tokens, classes, counts = np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1.0, 3.0, 5.0])
    >>> sums, _ = sum_log_counts(tokens, classes, counts, 2, 1.0, True)
    >>> np.exp(sums / 2**28).round(3).tolist()  # (3 + 1) (5 + 1) and (1 + 1) (0 + 1)
    [24.0, 2.0]
    """
    sums = np.zeros(n_classes, np.int64)
    with np.errstate(divide="ignore"):
        if complement:
            _, token = np.unique(tokens, return_inverse=True)
            whole = np.bincount(token, counts)
            log_whole = _in_units(np.log(whole + k))
            logs = np.log(np.maximum(whole[token] - counts, 0.0) + k)
            cells = _in_units(logs) - log_whole[token]
            sums += log_whole.sum()
        else:
            logs = np.log(counts + k)
            cells = _in_units(logs)
    np.add.at(sums, classes, cells)
    return sums, np.bincount(classes[np.isinf(logs)], minlength=n_classes)


def _in_units(logs: Floats) -> Integers:
    return np.rint(np.where(np.isinf(logs), 0.0, logs) * _UNIT).astype(np.int64)


@checked("values: entries | normal")
def log_gamma(values: Floats) -> Floats:
    """Log gamma of finite numbers from the smallest normal double on.

    >>> log_gamma(np.array([1.0, 5.0])).tolist() == [0.0, np.log(24)]
    True
    """
    return np.asarray(gammaln(values), np.float64)
