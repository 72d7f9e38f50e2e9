"""tallybayes: naive Bayes by exact counting.

>>> import tallybayes as tb
>>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}, label="ill")
>>> model.classes, model.predict({"fever": 1}).tolist()
(['no', 'yes'], ['yes'])

The public names are listed in `__init__.pyi`. Each is imported when it is first used, so that `import tallybayes` is
fast.
"""

import ast
import importlib
import pkgutil
from typing import Any

_HOMES = {
    alias.name: str(node.module)
    for node in ast.parse(pkgutil.get_data(__name__, "__init__.pyi") or b"").body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}

__all__ = sorted(_HOMES.keys() - {"__version__"})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tallybayes' has no attribute {name!r}")
    home = _HOMES[name]
    value = (
        importlib.import_module(f"{home}.{name}") if home == __name__ else getattr(importlib.import_module(home), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOMES)
