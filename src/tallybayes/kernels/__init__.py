"""The hot loops: each exists twice, as a plain NumPy definition and as a native twin.

`tallybayes.kernels.reference` defines what every kernel returns. `tallybayes.kernels._native` is the same in C++:
sums and counts equal bit for bit, scores to a few units in the last place. Which one serves is decided once,
on import:

>>> from tallybayes import kernels
>>> kernels.IMPLEMENTATION in ("native", "reference")
True

`TALLYBAYES_KERNELS=reference` in the environment asks for the definition even where the native module is there.

Common to all kernels: `columns` is a list of 1-d arrays of one dtype and length, with any stride; `codes` is int32,
the class of each row, negative where the row is to be left out; rows `start` to `stop` are looked at. A kernel that
can meet a value it has no meaning for returns the place of the first one as `row * n_columns + column`, or -1.
"""

import importlib
import os
from types import ModuleType

from tallybayes.kernels import reference


def _choose() -> tuple[str, ModuleType]:
    """The native module if it was built and nobody asked for the reference."""
    if os.environ.get("TALLYBAYES_KERNELS", "native") != "reference":
        try:
            native = importlib.import_module("tallybayes.kernels._native")
        except ImportError:
            pass  # built without a C++ compiler
        else:
            return "native", native
    return "reference", reference


IMPLEMENTATION, active = _choose()

__all__ = ["IMPLEMENTATION", "active", "reference"]
