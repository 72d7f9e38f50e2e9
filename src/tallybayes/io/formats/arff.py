"""ARFF, the format of Weka: declared attributes, then rows of values between commas, or sparse rows in braces.

    @relation weather
    @attribute outlook {sunny, 'partly cloudy', rainy}
    @attribute temperature numeric
    @data
    sunny, 85
    {0 rainy, 1 71}

The rows are copied as CSV and read like it. Numeric attributes are numbers; nominal and string attributes are text,
whatever their values look like, except that true and false are booleans; dates are text in their own form. `?` without
quotes is missing, and no other word is unless it is told. In a sparse row, an attribute that is not named is 0, or the
first value of a nominal attribute. Relational attributes are refused.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Self

from tallybayes.cells.missing_words import MissingWords
from tallybayes.errors import Described, FileError
from tallybayes.io.formats.delimited import Delimited
from tallybayes.io.formats.delimited_text import CsvCopy
from tallybayes.io.formats.file_format import ReadOptions
from tallybayes.io.formats.input_file import InputFile

__all__ = ["Arff", "is_arff"]

_ITEM = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"|[^,'"\s][^,]*|"""  # in single quotes, in double quotes, bare, or empty
_VALUE = re.compile(rf"\s*({_ITEM})\s*(,|$)")
_NAME = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.*)""", re.IGNORECASE)
_INDEX = re.compile(r"\s*(\d+)\s+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SIGNS = {"n": "\n", "r": "\r", "t": "\t"}
_NUMERIC = ("numeric", "real", "integer")


@dataclass(frozen=True)
class _Attribute:
    """A declared column; `zero` is what a sparse row means by not naming it."""

    name: str
    is_inferred: bool  # numbers, and the nominal values true and false
    zero: str


class Arff(Delimited):
    """An ARFF file."""

    kind = "arff"

    def __init__(self, file: InputFile, options: ReadOptions) -> None:
        text = io.TextIOWrapper(file.opened(), options.encoding or "utf-8", errors="surrogateescape")
        with text:
            self._attributes, n_lines = _header(text, file.name)
            copy = CsvCopy.of(_rows(text, self._attributes, n_lines))
        csv_options = ReadOptions(
            format="arff", delimiter=",", missing=options.missing or MissingWords(only=True), comment="none"
        )
        super().__init__(file, csv_options, copy)

    def with_header(self, names: Sequence[str]) -> Self:
        """The file itself: its columns are declared."""
        return self

    def is_inferred(self, name: str) -> bool:
        """Whether a column is declared as numbers or booleans."""
        return self._declared[name].is_inferred

    @cached_property
    def _declared(self) -> dict[str, _Attribute]:
        """The attributes by the names of the columns, which are numbered where attributes have one name."""
        return dict(zip(self.expressions, self._attributes, strict=True))


def is_arff(start: bytes) -> bool:
    r"""Whether a file begins like ARFF: comments, then @relation.

    >>> is_arff(b"% weather\n@RELATION weather\n"), is_arff(b"@relative,y\n")
    (True, False)
    """
    return re.match(rb"(\xef\xbb\xbf)?(\s*%[^\r\n]*[\r\n]+)*\s*@relation\s", start, re.IGNORECASE) is not None


def _header(text: IO[str], file: str) -> tuple[list[_Attribute], int]:
    """The attributes, and the number of lines up to @data."""
    found: list[_Attribute] = []
    number = 0
    for number, line in enumerate(text, 1):
        line = line.lstrip("\ufeff").strip()
        word = line.split(maxsplit=1)[0].lower() if line else ""
        if word == "@data":
            if not found:
                break
            return found, number
        if word == "@attribute":
            found.append(_attribute(line, file, number))
        elif word and not word.startswith("%") and word != "@relation":
            raise FileError("@attribute or @data", got=line, file=file, line=number)
    expected = "attributes and a line @data" if not found else "a line @data after the attributes"
    raise FileError(expected, got=Described("the end of the file"), file=file, line=number or None)


def _attribute(line: str, file: str, number: int) -> _Attribute:
    declared = _NAME.fullmatch(line)
    kind = declared[2].strip() if declared else ""
    word = kind.split(maxsplit=1)[0].lower() if kind else ""
    if declared is None or not (kind.startswith("{") or word in (*_NUMERIC, "string", "date")):
        hint = "relational attributes cannot be read" if word == "relational" else None
        expected = "@attribute NAME and numeric, {values}, string or date"
        raise FileError(expected, got=line, file=file, line=number, hint=hint)
    if not kind.startswith("{"):
        return _Attribute(_bare(declared[1]), word in _NUMERIC, "0" if word in _NUMERIC else "")
    values = _values(kind[1:-1]) if kind.endswith("}") else None
    if values is None:
        raise FileError("a closing brace and closing quotes", got=line, file=file, line=number)
    return _Attribute(_bare(declared[1]), {value.lower() for value in values} <= {"true", "false"}, values[0])


def _rows(text: IO[str], attributes: list[_Attribute], n_lines: int) -> Iterator[tuple[int, list[str]]]:
    """The lines and cells of the names and the rows; one that cannot be divided has a wrong number of cells."""
    yield 1, [attribute.name for attribute in attributes]
    for number, content in enumerate(text, n_lines + 1):
        content = content.strip()
        if content and not content.startswith("%"):
            cells = _sparse(content, attributes) if content.startswith("{") else _values(content)
            yield number, cells if cells is not None else [content, *["?"] * len(attributes)]


def _values(content: str) -> list[str] | None:
    r"""The values of a row, `?` as an empty one; None if a quote is not closed.

    >>> _values(r"5.1, ?, 'it\'s, here', '?'"), _values("'open")
    (['5.1', '', "it's, here", '?'], None)
    """
    if not ("'" in content or '"' in content):
        return ["" if cell == "?" else cell for cell in map(str.strip, content.split(","))]
    cells, place = [], 0
    while found := _VALUE.match(content, place):
        item = found[1].strip()
        cells.append("" if item == "?" else _bare(item))
        place = found.end()
        if found[2] == "":
            return cells
    return None


def _sparse(content: str, attributes: list[_Attribute]) -> list[str] | None:
    """The values of a sparse row."""
    if not content.endswith("}"):
        return None
    cells = [attribute.zero for attribute in attributes]
    inner = content[1:-1].strip()
    place = 0
    while place < len(inner):
        index = _INDEX.match(inner, place)
        value = _VALUE.match(inner, index.end()) if index else None
        if index is None or value is None or int(index[1]) >= len(cells):
            return None
        item = value[1].strip()
        cells[int(index[1])] = "" if item == "?" else _bare(item)
        place = value.end()
    return cells


def _bare(item: str) -> str:
    """A name or value without its quotes."""
    if len(item) < 2 or item[0] not in "'\"":
        return item
    return _ESCAPED.sub(lambda found: _SIGNS.get(found[1], found[1]), item[1:-1])
