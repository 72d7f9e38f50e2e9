"""Special functions: those of SciPy, imported when they are first called because they load slowly, and `logsumexp`."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["betaincinv", "digamma", "gammaincinv", "gammaln", "logsumexp", "ndtri", "polygamma", "stdtrit"]


@cache
def _special() -> Any:
    from scipy import special

    return special


def _import_when_called(name: str) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(_special(), name)(*arguments, **options)

    return call


gammaln = _import_when_called("gammaln")
digamma = _import_when_called("psi")
polygamma = _import_when_called("polygamma")
betaincinv = _import_when_called("betaincinv")  # quantiles of the beta distribution
gammaincinv = _import_when_called("gammaincinv")  # of the gamma distribution with rate 1
stdtrit = _import_when_called("stdtrit")  # of Student's t
ndtri = _import_when_called("ndtri")  # of the normal distribution


def logsumexp(values: ArrayLike, axis: int | None = None) -> Any:
    """Log of the sum of exponentials; minus infinity where all values are. The largest value is not rounded.

    >>> round(float(logsumexp([0.0, 0.0])), 6), logsumexp([[0.0, -np.inf], [-np.inf, -np.inf]], axis=1).tolist()
    (0.693147, [0.0, -inf])
    """
    array = np.asarray(values, np.float64)
    array = array.reshape(-1) if axis is None else np.moveaxis(array, axis, -1)
    if not array.shape[-1]:
        return np.full(array.shape[:-1], -np.inf)[()]
    best = array.argmax(-1)[..., None]
    most = np.take_along_axis(array, best, -1)
    rest = np.exp(array - np.where(np.isfinite(most), most, 0.0))
    np.put_along_axis(rest, best, 0.0, -1)
    return (most[..., 0] + np.log1p(rest.sum(-1)))[()]
