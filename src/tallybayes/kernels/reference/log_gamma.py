"""Log gamma of positive numbers."""

import numpy as np

from tallybayes.arrays.array_types import Floats
from tallybayes.arrays.special import gammaln
from tallybayes.kernels.contract import checked


@checked("values: entries | normal")
def log_gamma(values: Floats) -> Floats:
    """Log gamma of finite numbers from the smallest normal double on.

    >>> log_gamma(np.array([1.0, 5.0])).tolist() == [0.0, np.log(24)]
    True
    """
    return np.asarray(gammaln(values), np.float64)
