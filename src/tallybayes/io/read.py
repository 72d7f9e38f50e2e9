"""Any data as a source: `to_source`, and `read` with the options for files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tallybayes.cells.missing_words import MissingWords
from tallybayes.cells.number_format import NumberFormat
from tallybayes.errors import ParameterError
from tallybayes.tables.input_kind import has_attribute, library_of
from tallybayes.tables.source import BATCH, BadRows, ConstantColumns, Progress, Source, Stream, TableSource
from tallybayes.tables.table import to_table

__all__ = ["are_paths", "read", "to_source"]


def read(
    data: Any,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] | None = None,
    missing_only: Sequence[str] | None = None,
    header: bool = True,
    table: str | None = None,
    skip_lines: int = 0,
    comment: str | None = None,
    quote: str | None = None,
    skip_bad: bool = False,
    given: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Source:
    r"""Data to fit, learn from or score, read batch by batch, with options for reading it.

    data: a path, a glob, several of them, "-" for standard input, a query; or any other data, for `decimal`,
    `thousands`, `skip_bad` and `given`.
    format: csv, tsv, json, parquet, arrow, excel, arff, sas, stata, spss, duckdb, sqlite, text, mail or mbox; detected
    by default, as are `delimiter`, `decimal` (the comma of 1,5), `thousands` (the comma of 5,201) and `encoding`.
    missing: words that mean a missing value in text, besides the usual ones (NA, null, -, ? and a few more).
    missing_only: the words that mean a missing value, instead of the usual ones; an empty cell is always missing.
    header: whether the first line has the names of the columns.
    table: the table of a database file or a query on it, the sheet of a workbook, the file in a zip archive.
    skip_lines: lines at the beginning of text that are no part of the table, such as a title.
    comment: what comment lines begin with; by default lines with # are skipped before the header only ("none": never).
    quote: the character around cells that contain the delimiter, or "none".
    skip_bad: skip rows that cannot be read instead of stopping; `bad` of the result counts them.
    given: columns that have the same value in every row, by name: {"label": "ham"} for a mail to be learned.
    progress: called after every batch with the rows read so far, their share of all rows (None if unknown), and the
    size of the files in bytes.

    >>> import pathlib, tempfile, tallybayes as tb
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pets.csv"
    >>> _ = path.write_text("weight;pet\n4,5;cat\nlost;cat\n30;dog\n")
    >>> source = tb.read(path, missing=["lost"])
    >>> tb.fit(source, label="pet").class_counts
    {'cat': 2, 'dog': 1}
    """
    from tallybayes.io.files import Files, find_paths
    from tallybayes.io.formats.file_format import ReadOptions

    words = _missing_words(missing, missing_only)
    if decimal is not None or thousands is not None:
        NumberFormat(decimal or ("," if thousands == "." else "."), thousands or "")  # checks them
    options = ReadOptions(
        format, delimiter, decimal, encoding, words, header, table, thousands, skip_lines, comment, quote
    )
    if isinstance(data, Source):
        raise ParameterError("data that is not the result of read()", got=data)
    if not are_paths(data) and options != ReadOptions(decimal=decimal, thousands=thousands):
        hint = "a table in memory takes decimal=, thousands=, skip_bad= and given=; for missing words, give None"
        raise ParameterError("a path, a query or '-', for options of files", got=type(data).__name__, hint=hint)
    source = Files(find_paths(data), options, progress) if are_paths(data) else to_source(data)
    source.bad, source.signs = BadRows() if skip_bad else None, {"decimal": decimal, "thousands": thousands}
    return ConstantColumns(source, given) if given else source


def _missing_words(missing: Sequence[str] | None, missing_only: Sequence[str] | None) -> MissingWords | None:
    """The words that were given, checked."""
    if missing is not None and missing_only is not None:
        hint = "missing_only= (--missing-only) replaces the usual words, missing= (--missing) adds to them"
        raise ParameterError("missing or missing_only, not both", got=[*missing, *missing_only], hint=hint)
    for name, words in (("missing", missing), ("missing_only", missing_only)):
        if isinstance(words, str) or not all(isinstance(word, str) for word in words or ()):
            raise ParameterError(f"a list of words for {name}", got=words)
    if missing is None and missing_only is None:
        return None
    return MissingWords(tuple(missing or missing_only or ()), only=missing_only is not None)


def to_source(data: Any) -> Source:
    """Any data as a source.

    >>> [table.columns for table in to_source({"a": [1, 2]}).batches()]
    [{'a': [1, 2]}]
    """
    if isinstance(data, Source):
        return data
    if are_paths(data):
        from tallybayes.io.files import Files, find_paths

        return Files(find_paths(data))
    if has_attribute(data, "collect_batches"):  # a Polars lazy frame
        return Stream(data.collect_batches(chunk_size=BATCH, lazy=True))
    if has_attribute(data, "scanner") and has_attribute(data, "to_batches"):  # a pyarrow dataset
        return Stream(data.to_batches())
    if isinstance(data, pa.RecordBatchReader):
        return Stream(data)
    if has_attribute(data, "__arrow_c_stream__") and library_of(data) not in ("pandas", "polars", "pyarrow"):
        return Stream(pa.RecordBatchReader.from_stream(data))
    if isinstance(data, Iterator):
        return Stream(data)
    return TableSource(to_table(data))


def are_paths(data: Any) -> bool:
    """Whether data is a path, a glob or a query, or several of them."""
    if isinstance(data, (str, os.PathLike)):
        return True
    return isinstance(data, (list, tuple)) and bool(data) and all(isinstance(p, (str, os.PathLike)) for p in data)
