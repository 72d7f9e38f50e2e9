"""What is doubtful about the columns of a table, said in words that name what to type to have it otherwise.

Of numbers: how they are written, and the cells that are none. Of words for missing values: those that may be values.
Of columns that are not used: those that most rows have a value of.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.arrays.column import Flags, Reals
from tallybayes.cells.arrow import combine_chunks, is_text_type, pc, word_counts
from tallybayes.cells.date_format import parse_date
from tallybayes.cells.missing_words import NONE, SIGNS, MissingWords, are_plus_and_minus, words_that_are_values
from tallybayes.cells.number_reading import NumberReading
from tallybayes.columns.column_spec import ColumnSpec, Status
from tallybayes.columns.identifier import named_as_code, named_as_identifier
from tallybayes.columns.label_spec import label_column
from tallybayes.columns.schema import Schema
from tallybayes.doubts import as_family, doubt, ignored, tell_doubts
from tallybayes.errors import did_you_mean, shorten
from tallybayes.families import Ordinal
from tallybayes.formatting import listed, shown
from tallybayes.tables.raw_values import is_missing, is_number
from tallybayes.tables.source import BadRows
from tallybayes.tables.table import Table, column_values

__all__ = [
    "doubt_absent_columns",
    "doubt_bad_rows",
    "doubt_exclusions",
    "doubt_labels",
    "doubt_large_integers",
    "doubt_late_words",
    "doubt_missing_words",
    "doubt_numbers",
    "doubt_numbers_like_dates",
    "doubt_values_outside",
    "find_sign_values",
    "words_for_no_label",
]

_SEVERAL = 0.02  # share of the cells from which None or a sign may be a category
_FREQUENT = 0.2  # the same for NA, which hardly ever is, and for None in a short table
_LEAST_SIGNS = 5  # cells of such a word
_MAY_BE_VALUES = ("na", "n/a")  # "not applicable"; NaN and null are written by programs alone
_DIFFERENT = 0.99  # share of the values that are different, from which hardly any repeats
_LISTED = 5  # names of columns, words
_SOME_ROWS = 1000  # whose values are looked at
_LARGE = 8  # bytes of integers that may be too large for a double
_FIRST = 10
_LEAST_DATES = 5  # different values
_FIRST_DATE, _LAST_DATE = 19000101, 21001231
_ONLY = 'missing_only=[""] (--missing-only "") reads all such words as values; a word in place of "" stays missing'
_USES = {  # columns that are not used, and the family that uses them, or what else to do with one of them
    Status.IDENTIFIER: ("texts that hardly repeat, excluded as identifiers", "text"),
    Status.NUMBER_IDENTIFIER: ("numbers that hardly repeat, excluded as identifiers", "histogram"),
    Status.SAME_DATE: ("dates and times whose parts are all the same, excluded", "categorical"),
    Status.NESTED: ("nested values, excluded", None),
    Status.REAL_LISTS: ("lists of real numbers, excluded", None),
    Status.NO_FAMILY: ("values of a type that no family takes, excluded", None),
}
_DIVIDED = (
    "give each number a column: in pandas frame.drop(columns={name!r}).join(pd.DataFrame(frame[{name!r}].tolist(), "
    'index=frame.index).add_prefix("{name}_")), in SQL SELECT * EXCLUDE ("{name}"), "{name}"[1] AS "{name}_1", ...'
)


def find_sign_values(table: Table, words: MissingWords | None, label: Any) -> MissingWords | None:
    """The words for missing values, without those signs that are values of a column by its first rows.

    table: the first rows of a file of text; words: those that were given.
    """
    values, label = {}, label_column(label, table.columns)[0]
    texts = {name for name in table.missing_words if is_text_type(table.columns[name].type)}
    among_numbers = {word for name, counts in table.missing_words.items() if name not in texts for word in counts}
    for name in (name for name in table.missing_words if name in texts):  # signs among numbers are no values
        counts = {word: n for word, n in table.missing_words[name].items() if word in SIGNS or _is_none(word)}
        counts = {word: n for word, n in counts.items() if not (_is_none(word) and word in among_numbers)}
        if counts:
            column = table.columns[name]
            others = word_counts(combine_chunks(column))
            if found := words_that_are_values(counts, others, are_labels=name == label):
                values[name] = found
    if not values:
        return words
    given = words or MissingWords()
    return MissingWords(given.words, given.only, tuple(values.items()))


def _is_none(word: str) -> bool:
    return word.lower() == NONE


def doubt_missing_words(table: Table, words: MissingWords | None, names: Iterable[str], label: str | None) -> None:
    """Say which signs were taken for values, and which words for missing values are so frequent that they may be.

    table: the first rows, read with these words; names: the columns that matter. Of the label only the first is said:
    its missing values are counted among all rows (`doubt_labels`).
    """
    values = dict(words.values) if words is not None else {}
    often: dict[str, list[str]] = {}  # columns in which a word that hardly ever is a value is frequent
    for name in (label, *names) if label is not None else names:
        counts, column_type = table.missing_words.get(name, {}), getattr(table.columns.get(name), "type", None)
        if name in values and name in table.columns:
            texts = word_counts(combine_chunks(table.columns[name]))
            if not are_plus_and_minus(texts):
                shown = ", ".join(f"{word!r} ({texts.get(word, 0):,} cells)" for word in values[name])
                word = values[name][0]
                hint = f'missing=["{word}"] (--missing {shlex.quote(word)}) reads it as a missing value'
                doubt("missing words", f"{shown} is a value here, not a missing value", column=name, hint=hint)
        holds_text = column_type is None or is_text_type(column_type) or pa.types.is_null(column_type)
        for word, n in counts.items() if name != label and holds_text else ():
            is_none = _is_none(word)
            if n < _SEVERAL * table.n_rows or (n < _LEAST_SIGNS and not (is_none and n >= _FREQUENT * table.n_rows)):
                continue
            if is_none or word in SIGNS[:-1]:
                text = f"{n:,} of {table.n_rows:,} cells are {word} and were read as missing"
                doubt("missing words", text, column=name, hint=_ONLY)
            elif word.lower() in _MAY_BE_VALUES and _FREQUENT * table.n_rows <= n and not _is_empty(table, name):
                often.setdefault(word, []).append(name)
    for word, columns in often.items():
        text = f"{word} fills a fifth of the cells or more, and was read as missing: {listed(columns, _LISTED)}"
        doubt("missing words", text, hint=_ONLY)


def _is_empty(table: Table, name: str) -> bool:
    """Whether a column has nothing but missing values."""
    return bool(table.columns[name].null_count == table.n_rows)


def doubt_late_words(head: Table, words: Mapping[str, Mapping[str, int]], n_rows: int) -> None:
    """Say which words for missing values are frequent among all rows, in columns that the first rows showed without.

    words: how many cells of a column are which words, among all rows.
    """
    doubt_missing_words(replace(head, n_rows=n_rows, missing_words=words), None, words, None)


def doubt_values_outside(spec: ColumnSpec, keys: Mapping[Any, float]) -> None:
    """Say which values of a column with an order are outside it; keys: all values, and the rows of each."""
    outside = [] if spec.family is None else spec.family.keys_without_effect(list(keys))
    if outside:
        n = sum(keys[key] for key in outside)
        rows = f"{n:,.15g} row{'' if n == 1 else 's'}"
        text = f"values outside the order tell nothing: {shorten([shown(key) for key in outside])} in {rows}"
        hint = f"{as_family(spec.name, 'categorical')} counts every value, without an order"
        doubt("categories", text, column=spec.name, hint=hint)


def words_for_no_label(table: Table, label: Any) -> Mapping[str, int]:
    """The words that were read as a missing label, by the first rows of a file of text."""
    column, _ = label_column(label, table.columns)
    return table.missing_words.get(column or "", {})


def doubt_labels(label: Any, n_skipped: int, n_rows: int, words: Mapping[str, int]) -> None:
    """Say that rows have no label; words: those that were read as a missing label."""
    if not n_skipped:
        return
    label = label if isinstance(label, str) else None
    text = f"{n_skipped:,} of {n_rows:,} rows have no label and were left out"
    if not words:
        doubt("rows", text, column=label, hint="give these rows a label, or take them out of the data")
        return
    shown = ", ".join(f"{word!r} ({n:,})" for word, n in list(words.items())[:_LISTED])
    doubt("labels", f"{text}; words that were read as a missing label: {shown}", column=label, hint=_ONLY)


def doubt_absent_columns(head: Table, schema: Schema) -> None:
    """Say which columns of a model some data does not have; mails and texts may lack any.

    head: its first rows, with the names that the model looks up.
    """
    names = head.columns
    absent = [name for name in schema.columns_in_use if name not in names and not head.holds_documents]
    if absent:
        text = f"columns of the model that are not in the data, treated as missing: {listed(absent, _LISTED)}"
        others = [name for name in names if name not in schema.columns and name != schema.label]
        near = (f"{name!r}: {meant}" for name in absent if (meant := did_you_mean(name, others)))
        hint = next(near, did_you_mean(absent[0], others, "other columns") or "check the names of the columns")
        doubt("file", text, hint=hint)


def doubt_bad_rows(bad: BadRows | None) -> None:
    """Say that rows were skipped because they could not be read, as the user had asked for."""
    if bad is not None and bad.count:
        text = "1 row could not be read and was skipped" if bad.count == 1 else ""
        text = text or f"{bad.count:,} rows could not be read and were skipped"
        doubt("rows", text, hint="without skip_bad=True (--skip-bad) the first of them is an error, with its place")


def doubt_numbers(spec: ColumnSpec, reading: NumberReading | None) -> None:
    """Say what was assumed about the numbers of a column."""
    if reading is None or (spec.family is None and not reading.doubts):
        return
    is_numeric = spec.family is not None and spec.family.column in (Reals, Flags)
    if is_numeric == reading.is_numeric and not isinstance(spec.family, Ordinal):  # an order has taken all its cells
        doubts = reading.all_doubts(spec.name)
        if spec.status is Status.IDENTIFIER:
            doubts = tuple(replace(one, text=f"{one.text}; excluded as an identifier") for one in doubts)
        tell_doubts(doubts)


def doubt_exclusions(specs: Iterable[ColumnSpec], table: Table) -> None:
    """Say which columns are not used though they have values that might tell something.

    Not identifiers by their name, the numbers of the rows, single words none of which repeats, and addresses of mails.
    Codes that repeat (`zip_code`) are said: they may classify the rows.
    """
    excluded: dict[Status, list[str]] = {}
    for spec in specs if not table.holds_documents else ():
        if spec.status in _USES and not _names_rows(spec, table) and not _tells_nothing(spec, table):
            excluded.setdefault(spec.status, []).append(spec.name)
    for status, names in excluded.items():
        text, family = _USES[status]
        hint = None if family is None else f"{as_family(names[0], family)} uses {'it' if len(names) == 1 else 'one'}"
        if status in (Status.NESTED, Status.NO_FAMILY):
            hint = f"{ignored(names[0])} leaves it out"
        elif status is Status.REAL_LISTS:
            hint = _DIVIDED.format(name=names[0])
        doubt("excluded column", f"{text}: {listed(names, _LISTED)}", hint=hint)


def _names_rows(spec: ColumnSpec, table: Table) -> bool:
    """Whether a column names the rows by its own name."""
    if not named_as_identifier(spec.name):
        return False
    return not named_as_code(spec.name) or _are_different(table.columns[spec.name])


def _are_different(raw: Any) -> bool:
    """Whether hardly any value of a column is there twice."""
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        n, n_distinct = len(raw) - raw.null_count, pc.count_distinct(raw).as_py()
    else:
        values = [value for value in column_values(raw) if not is_missing(value)]
        n, n_distinct = len(values), len(set(values))
    return bool(n_distinct >= _DIFFERENT * n)


def _tells_nothing(spec: ColumnSpec, table: Table) -> bool:
    """Whether an identifier counts the rows from 0 or 1 on, or is a single word that never repeats, by some values."""
    raw = table.columns[spec.name]
    raw = raw.drop_null() if isinstance(raw, (pa.Array, pa.ChunkedArray)) else raw
    values = [value for value in column_values(raw[:_SOME_ROWS]) if not is_missing(value)]
    if not values:
        return False
    if spec.status is Status.NUMBER_IDENTIFIER:
        return values[0] in (0, 1) and all(after == before + 1 for before, after in itertools.pairwise(values))
    if spec.status is Status.SAME_DATE:
        return len(set(map(str, values))) == 1
    are_words = spec.status is Status.IDENTIFIER and all(re.fullmatch(r"[\w@'-]+", str(value)) for value in values)
    return are_words and len(set(values)) == len(values) and _are_different(table.columns[spec.name])


def doubt_large_integers(specs: Iterable[ColumnSpec], table: Table) -> None:
    """Say which columns of whole numbers have some that a double cannot tell apart."""
    names = [spec.name for spec in specs if spec.family is not None and spec.family.column is Reals]
    large = [name for name in names if _has_large_integers(table.columns.get(name))]
    if large:
        text = f"whole numbers above 2**53, which are rounded: {listed(large, _LISTED)}"
        doubt("odd cells", text, hint=f"{as_family(large[0], 'categorical')} counts every one by itself")


def doubt_numbers_like_dates(specs: Iterable[ColumnSpec], table: Table) -> None:
    """Say which columns of numbers are dates such as 20241231, as far as some values show."""
    names = [spec.name for spec in specs if spec.family is not None and spec.family.column is Reals]
    for name in names:
        if name in table.columns and _are_like_dates(table.columns[name]):
            text = "numbers of eight digits that are dates such as 20241231 were read as numbers"
            doubt("dates", text, column=name, hint=f"{as_family(name, 'date')} reads them as dates")


def _are_like_dates(raw: Any) -> bool:
    for n in (_FIRST, _SOME_ROWS):  # a few rule out most columns
        there = [value for value in column_values(raw[:n]) if not is_missing(value)]
        if not all(is_number(v) and _FIRST_DATE <= v <= _LAST_DATE and parse_date(f"{v:.0f}") for v in there):
            return False
    return len(set(there)) >= _LEAST_DATES


def _has_large_integers(raw: Any) -> bool:
    if isinstance(raw, list):
        return any(type(value) is int and abs(value) > 2**53 for value in raw)
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "iu" and len(raw) and raw.dtype.itemsize == _LARGE:
        return max(abs(int(raw.min())), abs(int(raw.max()))) > 2**53
    if not isinstance(raw, (pa.Array, pa.ChunkedArray)) or raw.type not in (pa.int64(), pa.uint64()):
        return False
    ends = pc.min_max(raw).as_py()
    return ends["min"] is not None and max(abs(ends["min"]), abs(ends["max"])) > 2**53
