"""How a file of text was written, so that predictions can be written alike: delimiter, decimal sign, quotes, mark."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["OutputDialect", "dialect_of"]


@dataclass(frozen=True)
class OutputDialect:
    """The signs of a file of text.

    quotes: around all cells, around text, or only where they are needed; mark: a byte order mark at the beginning.
    """

    delimiter: str = ","
    decimal: str = "."
    quotes: Literal["needed", "text", "all"] = "needed"
    mark: bool = False

    @property
    def quoting(self) -> Literal[0, 1, 2]:
        """The quotes as the csv module calls them."""
        modes: dict[str, Literal[0, 1, 2]] = {
            "needed": csv.QUOTE_MINIMAL,
            "text": csv.QUOTE_NONNUMERIC,
            "all": csv.QUOTE_ALL,
        }
        return modes[self.quotes]


def dialect_of(source: Any) -> OutputDialect:
    """The dialect of the first file of a source; the usual one if it is not a file of text with a delimiter."""
    from tallybayes.io.formats.delimited import Delimited

    form = next(iter(getattr(source, "formats", ())), None)
    if not isinstance(form, Delimited):
        return OutputDialect()
    start = form.text.file.start().decode("utf-8", errors="replace")
    mark = form.encoding == "utf-8-sig"
    return OutputDialect(form.delimiter, form.decimal, _quotes(start.removeprefix("\ufeff"), form.delimiter), mark)


def _quotes(sample: str, delimiter: str) -> Literal["needed", "text", "all"]:
    r"""Which cells are in quotes, by the first two lines.

    >>> [_quotes(sample, ",") for sample in ('"a","b"\n"x","1"\n', '"a","b"\n"x",1\n', 'a,b\n"x, y",1\n')]
    ['all', 'text', 'needed']
    """
    lines = [line for line in sample.splitlines() if line.strip()][:2]
    cells = [re.findall(rf'(?:^|{re.escape(delimiter)})\s*("?)', line) for line in lines]
    if not cells or not all(cells[0]):
        return "needed"
    return "all" if len(cells) > 1 and all(cells[1]) else "text"
