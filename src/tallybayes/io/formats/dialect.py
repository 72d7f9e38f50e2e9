"""How a file of text is divided into cells, which lines at its beginning are no part of the table, names of columns.

A first line `sep=;`, as Excel writes it, names the delimiter. Lines that begin with # before the header are skipped;
one without a space after the #, and with as many cells as the next line, is the header itself. Within the data nothing
is guessed: a cell may begin with # there.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tallybayes.doubts import Doubt
from tallybayes.errors import ParameterError, check_integer, shorten
from tallybayes.io.formats.file_format import ReadOptions

__all__ = ["DELIMITERS", "Dialect", "header_names", "text_lines"]


_NONE = "none"  # the word for no quote, and for no comments

DELIMITERS = ",;\t|"
_NAMED = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
_MARK = "#"
_RISING, _FALLING = 3, 10  # numbers in order, from which on they are names though they have decimals
_LARGEST_CELL = 2**31 - 1  # characters; the csv module's own limit is 128 kB a cell, and one for the whole process


_COMMENT_HINT = "comment='none' (--comment none) reads them, comment='#' skips such lines in the data too"


@dataclass(frozen=True)
class Dialect:
    r"""Delimiter, quote (None: there are no quotes), the start of comment lines, and the lines before the table.

    skip: how many lines at the beginning are not read.
    doubts: what was assumed.

    >>> Dialect.of("sep=;\n\na;b\n1,5;2\n", ReadOptions())
    Dialect(delimiter=';', quote='"', comment=None, skip=1, doubts=())
    """

    delimiter: str
    quote: str | None
    comment: str | None
    skip: int
    doubts: tuple[Doubt, ...] = ()

    @classmethod
    def of(cls, sample: str, options: ReadOptions) -> Dialect:
        """The dialect of a file by its beginning; what the options say is not detected."""
        quote = _quote(options.quote)
        comment = None if options.comment in (None, _NONE, "") else options.comment
        skip = check_integer("skip_lines", options.skip_lines, at_least=0)
        lines = text_lines(sample)
        named = _NAMED.fullmatch(lines[0].strip("\r\n")) if lines else None
        skip = max(skip, 1) if named else skip
        rest, doubts = lines[skip:], list[Doubt]()
        if comment is not None:
            rest = [line for line in rest if not line.startswith(comment)]
        given = options.delimiter or (named[1] if named else None)
        if options.comment is None:
            start = _comments(rest, given, quote)
            if n_comments := sum(line.startswith(_MARK) for line in rest[:start]):
                text = f"lines before the header that begin with # were skipped: {n_comments}"
                doubts.append(Doubt("file", text, hint=_COMMENT_HINT))
            skip, rest = skip + start, rest[start:]
        delimiter = given or _delimiter(rest, quote)
        if given is None and options.header and (sign := _sign_after_title(rest, quote)) is not None:
            first = shorten(next(line.strip() for line in rest if line.strip()))
            text = f"{first} is taken for the name of the only column, but all lines after it have {sign!r}"
            doubts.append(Doubt("file", text, hint="if it is a title: skip_lines= (--skip-lines)"))
        _check(delimiter, quote, comment)
        return cls(delimiter, quote, comment, skip, tuple(doubts))

    def rows(self, lines: Iterable[str]) -> Any:
        """The csv module's reader of some lines, which takes cells of any length."""
        csv.field_size_limit(_LARGEST_CELL)
        if self.quote is None:
            return csv.reader(lines, delimiter=self.delimiter, quoting=csv.QUOTE_NONE)
        return csv.reader(lines, delimiter=self.delimiter, quotechar=self.quote)


def header_names(cells: Sequence[str], line: int) -> tuple[list[str], list[Doubt]]:
    """The names of the columns by the cells of a header, all different, and what was doubtful about them.

    Names that repeat get a number, those that are empty the number of their column. Both depend on the header alone, so
    that the same file has the same names when a model is fitted and when it predicts.

    line: the line of the header, for messages.

    >>> names, doubts = header_names(["size", "", "size", "size.2", " age "], 1)
    >>> names
    ['size', 'column1', 'size.3', 'size.2', 'age']
    >>> [one.text for one in doubts]
    ["line 1: column names that repeat were numbered: ['size.3']", "line 1: columns without a name: ['column1']"]
    """
    written = [cell.strip() for cell in cells]
    filled = [name or f"column{i}" for i, name in enumerate(written)]
    taken = {name for name in written if name}
    names: list[str] = []
    seen: dict[str, int] = {}
    for cell, name in zip(written, filled, strict=True):
        number = seen.get(name, 1 if cell or name not in taken else 2)
        while number > 1 and f"{name}.{number}" in taken:
            number += 1
        names.append(name if number == 1 else f"{name}.{number}")
        seen[name] = number + 1
    doubts: list[Doubt] = []
    if renamed := [new for new, old in zip(names, filled, strict=True) if new != old]:
        hint = "rename them in the file; if the first line is data: header=False (--no-header)"
        text = f"line {line}: column names that repeat were numbered: {shorten(renamed, 200)}"
        doubts.append(Doubt("file", text, hint=hint))
    if (example := _number_of_data(written)) is not None:
        text = f"line {line}: names of columns that are numbers, such as {example!r}: it may be data"
        doubts.append(Doubt("file", text, hint="if it is: header=False (--no-header), columns are x0, x1, ..."))
    unnamed = [new for new, old in zip(names, written, strict=True) if not old]
    if unnamed and (len(unnamed) > 1 or unnamed[0] != names[0]):  # a first column without a name numbers the rows
        hint = "if this line is a title and the names come later: skip_lines= (--skip-lines)"
        text = f"line {line}: columns without a name: {shorten(unnamed, 200)}"
        doubts.append(Doubt("file", text, hint=hint))
    return names, doubts


def _number_of_data(names: Sequence[str]) -> str | None:
    """A number among names that would be none; years, numbers of columns and wavelengths are names, and in order.

    >>> _number_of_data(["5.1", "3.5", "1.4", "setosa"]), _number_of_data(["39", "State-gov", "77516", "13"])
    ('5.1', '39')
    >>> _number_of_data(["town", "2023", "2024"]), _number_of_data(["350.5", "351.5", "352.5", "kind"])
    (None, None)
    """
    numbers = [name for name in names if re.fullmatch(r"[+-]?\d+(?:\.\d+)?", name)]
    values = list(map(float, numbers))
    rising = sorted(set(values))
    unusual = [name for name in numbers if not name.isdigit()]
    if values in (rising, rising[::-1]) and (not unusual or len(values) >= (_RISING if values == rising else _FALLING)):
        return None
    return next(iter(unusual or numbers), None)


def text_lines(text: str) -> list[str]:
    r"""The lines of a text with their ends, divided as Python's csv module does.

    >>> text_lines("a\r\nb\rc\u2028d\n")
    ['a\r\n', 'b\r', 'c\u2028d\n']
    """
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)


def _quote(given: str | None) -> str | None:
    if given in (None, ""):
        return '"' if given is None else None
    if given != _NONE and (len(given) != 1 or given in "\r\n" or not given.isascii()):
        raise ParameterError("quote to be one ASCII character or none", got=given)
    return None if given == _NONE else given


def _check(delimiter: str, quote: str | None, comment: str | None) -> None:
    if len(delimiter) != 1 or delimiter in "\r\n" or delimiter == quote:
        raise ParameterError("a delimiter of one character", got=delimiter)
    if comment is not None and (re.search(r"[\r\n]", comment) or comment[0] in (delimiter, quote)):
        raise ParameterError("comment, what comment lines begin with, not the delimiter or the quote", got=comment)


def _comments(lines: Sequence[str], delimiter: str | None, quote: str | None) -> int:
    """How many lines come before the table, if there are comments among them: comments and blank lines."""
    marked = list(itertools.takewhile(lambda i: not lines[i].strip() or lines[i].startswith(_MARK), range(len(lines))))
    comments = [i for i in marked if lines[i].startswith(_MARK)]
    if not comments:
        return 0
    last, rest = comments[-1], lines[len(marked) :]
    if re.match(r"#[^\s#]", lines[last]) and len(marked) == last + 1:  # it may be the header: #chrom,start,end
        sign = delimiter or _delimiter(rest or lines[last:], quote)
        widths = [len(line.split(sign)) for line in (lines[last], *rest[:1])]
        if widths[0] == widths[-1] > 1:
            return last if len(comments) > 1 else 0
    return len(marked)


def _sign_after_title(lines: Sequence[str], quote: str | None) -> str | None:
    """The delimiter of all lines but the first, if that has none, and there are enough lines to say so."""
    shown = [line for line in lines if line.strip()][:50]
    if len(shown) < 3:
        return None
    widths = {sign: _widths(shown, sign, quote) for sign in DELIMITERS}
    divided = (sign for sign, n_cells in widths.items() if len(set(n_cells[1:])) == 1 and n_cells[1] > 1)
    return next(divided, None) if all(n_cells[0] == 1 for n_cells in widths.values()) else None


def _widths(lines: Sequence[str], delimiter: str, quote: str | None) -> list[int]:
    """The number of cells of every row."""
    dialect = Dialect(delimiter, quote if quote != delimiter else None, None, 0)
    return [len(row) for row in dialect.rows(lines)] or [1]


def _delimiter(sample: Sequence[str], quote: str | None = '"') -> str:
    r"""The delimiter that the first line has most of, preferring one that later lines have as often.

    >>> _delimiter(["a;b;c\n", "1,5;2,5;x\n"]), _delimiter(["name\n", "Smith, John\n"])
    (';', ';')
    """
    lines = [line for line in sample if line.strip()][:50]
    lines = lines[:-1] if len(lines) > 1 and not sample[-1].endswith("\n") else lines

    def fitness(delimiter: str) -> tuple[bool, int]:
        widths = _widths(lines, delimiter, quote)
        alike = sum(width == widths[0] for width in widths)
        return widths[0] > 1, widths[0] * alike

    return max(DELIMITERS, key=fitness)
