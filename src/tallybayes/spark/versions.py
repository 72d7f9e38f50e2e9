"""Which versions of Spark are served."""

from __future__ import annotations

import re

__all__ = ["check_version"]

_LEAST = (4, 1)  # the first whose grouped Arrow functions take an iterator, and that has Arrow functions of columns
_HINT = "pip install tallybayes[spark]"


def check_version(found: str | None = None) -> None:
    """Raise an ImportError unless pyspark is new enough; found: its version, by default that which is installed.

    >>> check_version("3.5.1")
    Traceback (most recent call last):
        ...
    ImportError: tallybayes.spark needs pyspark 4.1 or newer, got 3.5.1: pip install tallybayes[spark]
    """
    if found is None:
        try:
            import pyspark
        except ImportError as error:
            raise ImportError(f"tallybayes.spark needs pyspark: {_HINT}") from error
        found = pyspark.__version__
    numbers = re.findall(r"\d+", found)[:2]
    if tuple(map(int, numbers)) < _LEAST:
        needed = ".".join(map(str, _LEAST))
        raise ImportError(f"tallybayes.spark needs pyspark {needed} or newer, got {found}: {_HINT}")
