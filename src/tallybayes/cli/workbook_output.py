"""Tables as a workbook (.xlsx) of one sheet, written row by row: openpyxl keeps the rows in a temporary file.

Text is written as text, also where it begins with an equals sign: no cell becomes a formula. What a sheet cannot hold
as it is (integers of more than 15 digits, dates before 1901, times with a zone) is written as text.
"""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, BinaryIO

from tallybayes.cli.column_types import ColumnTypes
from tallybayes.doubts import doubt
from tallybayes.errors import DataError, Described, FileError
from tallybayes.formatting import json_text, shown

__all__ = ["write_workbook"]

_MOST_ROWS, _MOST_COLUMNS, _LONGEST = 1_048_576, 16_384, 32_767  # of a sheet; characters of a cell
_LARGEST = 10**15  # integers below are exact: a sheet has 15 digits
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # characters that XML does not have
_FIRST_YEAR = 1901  # 1900 has a 29th of February there


def write_workbook(tables: Iterable[Any], types: ColumnTypes, file: BinaryIO, path: str) -> None:
    """Write tables with the same columns into one sheet, in these types."""
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
    except ImportError as error:
        hint = "pip install 'tallybayes[excel]'"
        raise FileError("openpyxl, which writes workbooks", got=Described("none"), file=path, hint=hint) from error
    book = Workbook(write_only=True)
    sheet = book.create_sheet("predictions")
    names: list[str] | None = None
    n_rows, cut = 1, Counter[str]()

    def cell(value: Any, name: str = "") -> Any:
        """A value as a cell: numbers, booleans and dates as such, everything else as text, which is no formula."""
        plain = _plain(value)
        if not isinstance(plain, str):
            return plain
        text = _CONTROL.sub("\ufffd", plain)[:_LONGEST]
        if text != plain:
            cut[name] += 1
        result = WriteOnlyCell(sheet, text)
        result.data_type = "s"
        return result

    try:
        for table in tables:
            if names is None:
                names = table.column_names
                _check(len(names) <= _MOST_COLUMNS, f"{_MOST_COLUMNS:,} columns", path)
                sheet.append([cell(name, name) for name in names])
            n_rows += table.num_rows
            _check(n_rows <= _MOST_ROWS, f"{_MOST_ROWS - 1:,} rows below the header", path)
            for row in zip(*types.values(table), strict=True):
                sheet.append(list(map(cell, row, names)))
    except BaseException:
        sheet.close()  # openpyxl removes its temporary file when the process ends
        raise
    book.save(file)
    for name, n in cut.items():
        cells = "1 cell is" if n == 1 else f"{n:,} cells are"
        text = f"{cells} changed in {path}: a sheet holds {_LONGEST:,} characters in a cell, and no control characters"
        doubt("odd cells", text, column=name, hint="write a .csv or a .parquet file instead")


def _check(fits: bool, most: str, path: str) -> None:
    """Raise a DataError unless the rows fit into a sheet."""
    if not fits:
        hint = "write a .csv or a .parquet file instead; nothing was written"
        raise DataError(f"at most {most}, as a sheet can hold", got=Described("more"), file=path, hint=hint)


def _plain(value: Any) -> Any:
    """A value as a sheet can hold it: a number, a boolean or a date, or a text."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and abs(value) < _LARGEST:
        return value
    if isinstance(value, datetime.date) and getattr(value, "tzinfo", None) is None and value.year >= _FIRST_YEAR:
        return value
    if isinstance(value, list):
        return "|".join(map(shown, value))
    return json_text(value) if isinstance(value, dict) else shown(value)
