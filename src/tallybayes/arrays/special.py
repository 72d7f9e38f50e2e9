"""SciPy's special functions, imported when they are first called: counting does not need them, and they load slowly."""

from __future__ import annotations

from functools import cache
from typing import Any

__all__ = ["betaincinv", "digamma", "gammaincinv", "gammaln", "logsumexp", "ndtri", "polygamma", "stdtrit", "xlogy"]


@cache
def _special() -> Any:
    from scipy import special

    return special


def gammaln(x: Any) -> Any:
    """Log of the gamma function."""
    return _special().gammaln(x)


def logsumexp(a: Any, axis: int | None = None) -> Any:
    """Log of the sum of exponentials."""
    return _special().logsumexp(a, axis=axis)


def xlogy(x: Any, y: Any) -> Any:
    """The product of x and log y, 0 where x is 0."""
    return _special().xlogy(x, y)


def betaincinv(a: Any, b: Any, q: Any) -> Any:
    """Quantile q of the beta distribution."""
    return _special().betaincinv(a, b, q)


def gammaincinv(shape: Any, q: Any) -> Any:
    """Quantile q of the gamma distribution of rate 1."""
    return _special().gammaincinv(shape, q)


def stdtrit(nu: Any, q: Any) -> Any:
    """Quantile q of Student's t."""
    return _special().stdtrit(nu, q)


def ndtri(q: Any) -> Any:
    """Quantile q of the normal distribution."""
    return _special().ndtri(q)


def digamma(x: Any) -> Any:
    """The derivative of the log of the gamma function."""
    return _special().psi(x)


def polygamma(n: int, x: Any) -> Any:
    """The n-th derivative of the digamma function."""
    return _special().polygamma(n, x)
