"""Labels and categories that are named on the command line or in a file, in the type that they have in the data."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tallybayes.tables.source import Source

__all__ = ["known_keys"]


def known_keys(source: Source, column: str | None) -> dict[str, Any]:
    """The values of a column in the first rows by their text, as they are learned; true and false, too."""
    from tallybayes.columns.label_spec import LabelSpec
    from tallybayes.errors import DataError
    from tallybayes.formatting import shown

    keys: list[Any] = [False, True]
    if column is not None:
        head = source.head()
        as_learned = replace(head, columns={**head.columns, **head.texts})  # in a text file "1" is a text
        with contextlib.suppress(DataError):  # lists, or no such column: what is wrong is said where it is used
            keys += LabelSpec().read(as_learned, column).keys
    return {shown(key): key for key in keys}
