"""The rows of a table as lines of CSV, in the dialect of the input: delimiter, decimal sign, quotes, byte order mark.

Whole columns become text at once, and a kernel joins them. Written cell by cell in Python, the lines would take several
times as long as the predictions in them.
"""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tallybayes import kernels
from tallybayes.cells.arrow import (
    combine_chunks,
    is_text_type,
    pc,
    strings,
    text_buffers,
    to_numpy,
    valid_rows,
    wide_texts,
)
from tallybayes.formatting import finite_json, shown

__all__ = ["OutputDialect", "csv_header", "csv_lines", "dialect_of", "is_kind", "plain_values"]

_QUOTE = '"'
_QUOTING: Any = {"needed": csv.QUOTE_MINIMAL, "text": csv.QUOTE_NONNUMERIC, "all": csv.QUOTE_ALL}
_NUMBER = r"^([+-]?[0-9][0-9.,]*([eE][+-]?[0-9]+)?|(?i:true|false))?$"


@dataclass(frozen=True)
class OutputDialect:
    """The signs of a file of text.

    quotes: around all cells, around text, or only where they are needed; mark: a byte order mark at the beginning.
    """

    delimiter: str = ","
    decimal: str = "."
    quotes: Literal["needed", "text", "all"] = "needed"
    mark: bool = False


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


def csv_header(names: list[str], dialect: OutputDialect) -> bytes:
    """The line with the names of the columns."""
    file = io.StringIO()
    csv.writer(file, delimiter=dialect.delimiter, quoting=_QUOTING[dialect.quotes], lineterminator="\r\n").writerow(
        names
    )
    return file.getvalue()[:-2].encode("utf-8", "replace") + b"\n"


def csv_lines(table: pa.Table, dialect: OutputDialect) -> bytes:
    r"""The lines of the rows. Null is an empty cell; the members of a list are joined by a bar.

    >>> table = pa.table({"name": ["a,b", None], "size": [1, 2], "likes": [["x", "y"], []]})
    >>> csv_lines(table, OutputDialect())
    b'"a,b",1,x|y\n,2,\n'
    """
    if not table.num_rows:
        return b""
    columns = [_quote(_texts(field, column, dialect), dialect) for field, column in _columns(table)]
    if len(columns) == 1:
        columns = [
            pc.if_else(pc.equal(columns[0], _scalar("")), _scalar(_QUOTE * 2), columns[0])
        ]  # an empty line would be no row
    cells = pa.concat_arrays(columns)
    offsets, content, _ = text_buffers(cells)
    between = np.frombuffer(dialect.delimiter.encode(), np.uint8)
    return bytes(kernels.active.join_cells(offsets, content, len(columns), between))


def _columns(table: pa.Table) -> list[tuple[Any, Any]]:
    return [(table.field(i), combine_chunks(column)) for i, column in enumerate(table.columns)]


def _texts(field: Any, column: Any, dialect: OutputDialect) -> Any:
    """The cells of a column as text, null where they are null."""
    kind = column.type
    if is_kind(field, "json") or pa.types.is_nested(kind):
        return strings([None if value is None else _text(value) for value in plain_values(field, column)])
    if is_text_type(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return wide_texts(column)
    if pa.types.is_floating(kind):
        texts = _probabilities(column) if is_kind(field, "probability") else _numbers(column)
        return texts if dialect.decimal == "." else pc.replace_substring(texts, ".", dialect.decimal)
    return strings([None if value is None else shown(value) for value in column.to_pylist()])


def is_kind(field: Any, kind: str) -> bool:
    """Whether the metadata of a column say that it is of this kind."""
    return (field.metadata or {}).get(b"kind") == kind.encode()


def plain_values(field: Any, column: Any) -> list[Any]:
    """The cells of a column as Python values; those of a JSON file are parsed, maps are dicts."""
    parse = json.loads if is_kind(field, "json") else dict if pa.types.is_map(field.type) else None
    values: list[Any] = column.to_pylist()
    return values if parse is None else [None if value is None else parse(value) for value in values]


def _scalar(text: str) -> Any:
    """A text as an Arrow value; pyarrow's own conversion would import pandas."""
    return strings([text])[0]


def _numbers(column: Any) -> Any:
    """Real numbers as Python writes them; NaN and infinities are null."""
    return strings([None if value is None else repr(value) for value in finite_json(column.to_pylist())])


def _probabilities(column: Any) -> Any:
    """Probabilities with ten significant digits, as Python writes such numbers."""
    valid = valid_rows(column) if column.null_count else None
    ends, content = kernels.active.probability_texts(to_numpy(column, null=0.0))
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [bits, pa.py_buffer(ends), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.large_string(), len(column), buffers)


def _quote(texts: Any, dialect: OutputDialect) -> Any:
    """Texts with quotes around those that need them, or that the dialect quotes; none is null."""
    filled = pc.coalesce(texts, _scalar("")) if texts.null_count else texts
    special = dialect.delimiter + _QUOTE + "\r\n"
    if dialect.quotes == "needed":
        if not _contains(filled, special):
            return filled
        wanted = pc.match_substring_regex(
            filled, "[" + "".join(f"\\x{ord(character):02x}" for character in special) + "]"
        )
    elif dialect.quotes == "text":
        wanted = pc.invert(pc.match_substring_regex(filled, _NUMBER))
        wanted = pc.or_(wanted, pc.and_(pc.is_valid(texts), pc.equal(filled, _scalar(""))))
    else:
        wanted = pc.is_valid(filled)
    inside = pc.replace_substring(filled, _QUOTE, _QUOTE * 2) if _contains(filled, _QUOTE) else filled
    quote = _scalar(_QUOTE)
    return pc.if_else(wanted, pc.binary_join_element_wise(quote, inside, quote, _scalar("")), filled)


def _contains(texts: Any, characters: str) -> bool:
    """Whether any of the texts contains any of these ASCII characters; the bytes are searched, not text by text."""
    data = combine_chunks(texts).buffers()[2]
    if data is None:
        return False
    content = np.frombuffer(data, np.uint8)
    return any(bool((content == ord(character)).any()) for character in characters)


def _text(value: Any) -> str:
    """A value of a file of JSON or a nested one: lists joined by bars, objects as JSON."""
    if isinstance(value, list):
        return "|".join(map(shown, value))
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict) else shown(value)
