"""The inner loops. Each kernel exists twice: a plain NumPy definition, and the same in C++.

`kernels.reference` defines what every kernel returns. `kernels._native` (from `native/`) equals it: sums and counts bit
for bit, scores to a few units in the last place. Which one is used is decided once, on import:

>>> from tallybayes import kernels
>>> kernels.IMPLEMENTATION in ("native", "reference")
True

The environment variable TALLYBAYES_KERNELS selects another: "reference", or the path of a native module. TALLYBAYES_ISA
("plain", "avx2" or "avx512") makes the native kernels use a narrower instruction set than the processor has; the
results are the same, bit for bit.

Common to all kernels: `columns` is a list of 1-d arrays of one dtype and length, with any stride, or a matrix; `codes`
is int32, the class of each row, negative where the row is not counted; rows `start` to `stop` are used. A kernel that
can meet an invalid value returns the place of the first one as `row * n_columns + column`, or -1. Arguments that do not
fit together are a DataError (`kernels/contract.py`). Formulas that the reference kernels and the families share are in
`digits.py`, `densities.py`, `binning_runs.py`, `integer_hash.py` and `token_spans.py`.
"""

import importlib
import os
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType


def _choose() -> tuple[str, ModuleType]:
    """The native module if it was built, unless the environment selects another."""
    selected = os.environ.get("TALLYBAYES_KERNELS", "native")
    if selected.endswith(".so"):
        loader = ExtensionFileLoader("tallybayes.kernels._native", selected)
        loader.exec_module(module := module_from_spec(spec_from_loader(loader.name, loader)))  # type: ignore[arg-type]
        sys.modules[loader.name] = module  # pickles look their classes up there
        return "native", module
    if selected != "reference":
        try:
            return "native", importlib.import_module("tallybayes.kernels._native")
        except ImportError:
            pass  # built without a C++ compiler
    return "reference", importlib.import_module("tallybayes.kernels.reference")


IMPLEMENTATION, active = _choose()

__all__ = ["IMPLEMENTATION", "active", "reference"]


def __getattr__(name: str) -> ModuleType:
    """The reference kernels, imported when they are used."""
    if name == "reference":
        return importlib.import_module("tallybayes.kernels.reference")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
