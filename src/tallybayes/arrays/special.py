"""SciPy's special functions, imported when they are first called: counting does not need them, and they load slowly."""

from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["betaincinv", "digamma", "gammaincinv", "gammaln", "logsumexp", "ndtri", "polygamma", "stdtrit", "xlogy"]


@cache
def _special() -> Any:
    from scipy import special

    return special


def _imported_when_called(name: str) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(_special(), name)(*arguments, **options)

    return call


gammaln = _imported_when_called("gammaln")
digamma = _imported_when_called("psi")
polygamma = _imported_when_called("polygamma")
logsumexp = _imported_when_called("logsumexp")
xlogy = _imported_when_called("xlogy")
betaincinv = _imported_when_called("betaincinv")  # quantiles of the beta distribution
gammaincinv = _imported_when_called("gammaincinv")  # of the gamma distribution with rate 1
stdtrit = _imported_when_called("stdtrit")  # of Student's t
ndtri = _imported_when_called("ndtri")  # of the normal distribution
