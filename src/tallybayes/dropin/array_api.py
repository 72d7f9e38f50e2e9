"""Arrays of other libraries, by scikit-learn's array API dispatch: results are returned in the library of the input.

Sums are kept on the CPU; input and results are copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import get_config

__all__ = ["is_foreign", "like", "to_numpy"]


def is_foreign(X: Any) -> bool:
    """Whether an array belongs to another library, and scikit-learn's array API dispatch is on.

    >>> is_foreign(np.zeros(3))
    False
    """
    if isinstance(X, (np.ndarray, list, tuple)) or not get_config()["array_api_dispatch"]:
        return False
    from sklearn.utils._array_api import get_namespace

    return bool(get_namespace(X)[1]) and hasattr(X, "__dlpack__")


def to_numpy(X: Any) -> Any:
    """The array as a NumPy array if it is foreign, unchanged otherwise."""
    if not is_foreign(X):
        return X
    from sklearn.utils._array_api import move_to

    return move_to(X, xp=np, device="cpu")


def like(result: Any, model: Any) -> Any:
    """A result in the library and on the device of another array."""
    if model is None or not is_foreign(model):
        return result
    from sklearn.utils._array_api import get_namespace_and_device, move_to

    xp, _, device = get_namespace_and_device(model)
    return move_to(np.ascontiguousarray(result), xp=xp, device=device)
