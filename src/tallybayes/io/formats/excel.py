"""Workbooks: Excel (.xlsx, .xlsm, .xlsb, .xls) and OpenDocument (.ods), read by python-calamine.

A sheet is read as if it had been saved as CSV, so that its cells mean what the cells of a CSV file do, whether a number
is stored as a number or as text. Dates are written as in ISO 8601; error cells (#N/A, #DIV/0!) are missing. Empty rows
are skipped, and columns without any cell. The value of cells that are merged is that of every row of them.
"""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

from tallybayes.doubts import Doubt
from tallybayes.errors import Described, FileError, check_integer
from tallybayes.formatting import listed
from tallybayes.io.formats.delimited import Delimited
from tallybayes.io.formats.delimited_text import CsvCopy
from tallybayes.io.formats.file_format import ReadOptions, import_reader
from tallybayes.io.formats.input_file import InputFile
from tallybayes.io.formats.relation import chosen_table

__all__ = ["Excel", "is_workbook"]

_Range = tuple[tuple[int, int], tuple[int, int]]  # row and column of the first and the last cell

_LISTED = 3  # merged cells
_WHOLE = 2.0**53  # up to here a whole number is written without a point
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the container of .xls, and of workbooks with a password


class Excel(Delimited):
    """A sheet of a workbook."""

    kind = "excel"

    def __init__(self, file: InputFile, options: ReadOptions) -> None:
        skip = check_integer("skip_lines", options.skip_lines, at_least=0)
        cells, merged = _cells(file, options.table)
        rows = [list(map(_text, row)) for row in cells]
        filled = _fill_merged(rows, merged)
        rows = rows[skip:]
        used = [any(cells) for cells in zip(*rows, strict=True)]
        numbered = ((number, list(compress(row, used))) for number, row in enumerate(rows, skip + 1) if any(row))
        comment = None if options.comment in (None, "none") else options.comment
        kept = (one for one in numbered if not comment or not one[1][0].startswith(comment))
        csv_options = replace(options, delimiter=",", quote='"', encoding="utf-8", skip_lines=0, comment="none")
        super().__init__(file, csv_options, CsvCopy.of(kept))
        self._given = file, options
        if filled:
            text = f"merged cells were read as if every row had their value: {listed(filled, _LISTED)}"
            self.doubts = (Doubt("file", text, hint="divide them in the workbook to have it otherwise"), *self.doubts)


def is_workbook(names: Sequence[str], start: bytes) -> bool:
    """Whether a zip archive with files of these names, or a file with these first bytes, is a workbook."""
    return (
        start.startswith(_OLE)
        or bool({"xl/workbook.xml", "xl/workbook.bin"} & {*names})
        or ("content.xml" in names and b"opendocument.spreadsheet" in start[:200])
    )


def _cells(file: InputFile, sheet: str | None) -> tuple[list[list[Any]], list[_Range]]:
    """The cells of a sheet, row by row, from its first row and column on; and those that are merged."""
    calamine = import_reader("python_calamine", "excel", file.name)
    try:
        with calamine.load_workbook(io.BytesIO(file.start(-1))) as book:
            found = [one for one in book.sheets_metadata if one.typ == calamine.SheetTypeEnum.WorkSheet]
            if sheet is None:  # hidden sheets, and those without cells, must be named
                found = [one for one in found if one.visible == calamine.SheetVisibleEnum.Visible]
                found = [one for one in found if book.get_sheet_by_name(one.name).height] or found
            names = [one.name for one in found]
            chosen = chosen_table(sheet, names, file.name, "sheet of the workbook")
            found_sheet = book.get_sheet_by_name(chosen)
            return list(found_sheet.to_python(skip_empty_area=False)), list(found_sheet.merged_cell_ranges or ())
    except calamine.PasswordError as error:
        raise FileError(
            "a workbook without a password", got=Described("one with a password"), file=file.name
        ) from error
    except (calamine.CalamineError, OSError, ValueError, zipfile.BadZipFile) as error:
        if isinstance(error, FileError):
            raise
        got = Described(f"one that cannot be read ({error})")
        raise FileError("a complete workbook", got=got, file=file.name) from error


def _fill_merged(rows: list[list[str]], merged: Sequence[_Range]) -> list[str]:
    """Fill cells that are merged with the one above them with its value, in rows with others; where, as in Excel.

    >>> rows = [["town", "n"], ["Ulm", "1"], ["", "2"], ["", ""]]
    >>> _fill_merged(rows, [((1, 0), (3, 0))]), rows
    (['A2:A4'], [['town', 'n'], ['Ulm', '1'], ['Ulm', '2'], ['', '']])
    """
    filled = []
    for (first, left), (last, _) in sorted(merged):
        within = [row for row in rows[first : last + 1] if len(row) > left]
        below = [row for row in within[1:] if any(row) and not row[left]]
        if not below or not within[0][left]:
            continue
        for row in below:
            row[left] = within[0][left]
        filled.append(f"{_letters(left)}{first + 1}:{_letters(left)}{last + 1}")
    return filled


def _letters(column: int) -> str:
    """The letters of a column.

    >>> _letters(0), _letters(25), _letters(26)
    ('A', 'Z', 'AA')
    """
    before, last = divmod(column, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)


def _text(cell: Any) -> str:
    """A cell as it would be in a CSV file.

    >>> [_text(cell) for cell in (3.0, 0.5, True, datetime.datetime(2024, 1, 2, 3, 4), " a ")]
    ['3', '0.5', 'true', '2024-01-02 03:04:00', ' a ']
    """
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _WHOLE:
        return str(int(cell))
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(sep=" ")
    if isinstance(cell, (datetime.date, datetime.time)):
        return cell.isoformat()
    return str(cell)
