"""Readers of formats that need a package of their own, which comes with an extra of this one."""

from __future__ import annotations

import importlib
from typing import Any

from tallybayes.errors import FileError

__all__ = ["optional_package"]


def optional_package(name: str, extra: str, file: str) -> Any:
    """A package that reads a file, imported only now; without it, an error that says how to install it.

    >>> optional_package("no_such_reader", "excel", "a.xlsx")
    Traceback (most recent call last):
        ...
    tallybayes.errors.FileError: a.xlsx: this format needs a package that is not installed (no_such_reader)
    hint: pip install 'tallybayes[excel]'
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        text = f"this format needs a package that is not installed ({error.name})"
        raise FileError(text, file=file, hint=f"pip install 'tallybayes[{extra}]'") from error
