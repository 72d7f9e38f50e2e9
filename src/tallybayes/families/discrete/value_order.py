r"""The order of values: the rank of each, and the order as a text such as "S<M<L".

In the text, a value that begins with < may be written as it is ("<18<18-25<26+"); any other < in a value, and every
backslash, has a backslash before it.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tallybayes.arrays.array_types import Floats
from tallybayes.arrays.axis import rough_kind
from tallybayes.arrays.column import Codes, Key, Reals
from tallybayes.formatting import shown

__all__ = ["ValueOrder"]


@dataclass(frozen=True, eq=False)
class ValueOrder:
    """The rank of each value, whatever its case; without any values, numbers have their own size as their rank.

    >>> ValueOrder.of(("low", "high")).of_keys(["High", " low ", "other"]).tolist()
    [1.0, 0.0, nan]
    >>> ValueOrder.of(()).of_keys([3, 1.5, "x"]).tolist()
    [3.0, 1.5, nan]
    """

    ranks: Mapping[str, int]

    @classmethod
    def of(cls, values: tuple[str, ...]) -> ValueOrder:
        """From the values, the lowest first."""
        return _order(values)

    @staticmethod
    def is_number(key: Key) -> bool:
        """Whether a key is a number, which has an order of its own; decimals are.

        >>> [ValueOrder.is_number(key) for key in (3, decimal.Decimal("1.5"), "3")]
        [True, True, False]
        """
        return rough_kind(key) == "number" or isinstance(key, decimal.Decimal)

    def of_keys(self, keys: Sequence[Key]) -> Floats:
        """The ranks of keys, NaN for one that has none."""
        if self.ranks:
            ranks = [self.ranks.get(_fold(shown(key)), np.nan) for key in keys]
        else:
            ranks = [float(key) if self.is_number(key) else np.nan for key in keys]  # type: ignore[arg-type]
        result = np.array(ranks, np.float64)
        return np.where(np.isfinite(result), result, np.nan)

    def of_column(self, column: Codes) -> Reals:
        """The ranks of the rows of a column."""
        in_use = column.with_keys_in_use()
        ranks = np.append(self.of_keys(in_use.keys), np.nan)  # the last is of a missing value
        place = in_use.codes.astype(np.int64) - in_use.origin
        return Reals(ranks[np.where((place < 0) | (place >= len(in_use.keys)), len(in_use.keys), place)])

    @staticmethod
    def text(values: Sequence[str]) -> str:
        r"""The order as a text.

        >>> ValueOrder.text(["<18", "18-64", "65+"]), ValueOrder.text(["a<b", "c"])
        ('<18<18-64<65+', 'a\\<b<c')
        """
        parts = [value.replace("\\", "\\\\").replace("<", "\\<") for value in values]
        return "<".join(re.sub(r"^\\<(?!\\?<|$)", "<", part) for part in parts)

    @staticmethod
    def parse(text: str) -> tuple[str, ...]:
        r"""The values of a text.

        >>> ValueOrder.parse("S < M < L"), ValueOrder.parse("<18<18-64<65+"), ValueOrder.parse("a\\<b<c")
        (('S', 'M', 'L'), ('<18', '18-64', '65+'), ('a<b', 'c'))
        """
        parts = re.findall(r"(?:^|<)(<?(?:\\.|[^<\\])*)", text, re.DOTALL)
        return tuple(re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL).strip() for part in parts)


@lru_cache(maxsize=256)
def _order(values: tuple[str, ...]) -> ValueOrder:
    return ValueOrder({_fold(value): rank for rank, value in enumerate(values)})


def _fold(text: str) -> str:
    return text.strip().casefold()
