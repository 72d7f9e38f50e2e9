"""Log gamma by the kernels: SciPy's, which the reference kernel is, would take longer to load than a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tallybayes import kernels
from tallybayes.arrays.array_types import Floats

__all__ = ["log_gamma"]


def log_gamma(values: ArrayLike) -> Floats:
    """Log gamma of positive finite numbers, in any shape.

    >>> np.exp(log_gamma([[4.0, 5.0]])).round(12).tolist()
    [[6.0, 24.0]]
    """
    x = np.asarray(values, np.float64)
    result: Floats = kernels.active.log_gamma(np.ascontiguousarray(x).reshape(-1))
    return result.reshape(x.shape)
