"""From the first rows of a table to the specifications of its columns, step by step.

    what the cells are           text that holds numbers, and how these are written    `with_readings`
    which family counts them     the table of rules                                    family_rules.py
    how its reader reads them    format, whole numbers, form of keys, order of values  `Inference`
    which parts a date has       those that vary                                       date_inference.py
    words among numbers          a column of their own, if they are frequent           word_reader.py

A new column that comes while a model is learning goes the same way. Files of text are examined and parsed where they
are read (`io/formats`). `with_readings` does the same for text in memory, in databases and in other files with types:
there, text of plain digits stays text, because it was given as text, unless a family of numbers is wanted. If it has so
many different values that a CSV file would give numbers, that is doubtful, and said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.cells.arrow import to_list
from tallybayes.cells.key_form import KeyForm
from tallybayes.cells.known_order import known_order
from tallybayes.cells.list_cell import are_lists
from tallybayes.cells.missing_words import MissingWords
from tallybayes.cells.number_detection import detect_numbers
from tallybayes.cells.number_reading import NumberReading, lack_unit, without_unit
from tallybayes.columns.column_doubts import doubt_values_outside
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.date_inference import infer_date_parts
from tallybayes.columns.family_rules import SAMPLE, propose, propose_by_type
from tallybayes.columns.identifier import named_as_identifier
from tallybayes.columns.readers.bag_reader import BagReader
from tallybayes.columns.readers.date_reader import part_name
from tallybayes.columns.readers.flag_reader import FlagReader
from tallybayes.columns.readers.key_reader import KeyReader, as_codes
from tallybayes.columns.readers.number_reader import NumberReader
from tallybayes.columns.readers.reader import DatePart, is_array, is_plain_number, text_of
from tallybayes.columns.readers.word_reader import WORD_PART, WordReader
from tallybayes.doubts import Doubt, as_family
from tallybayes.errors import DataError, ParameterError
from tallybayes.families import Categorical, Family, Multinomial, Ordinal, Tags
from tallybayes.families.discrete.value_order import ValueOrder
from tallybayes.families.family import Unseen
from tallybayes.formatting import listed, shown
from tallybayes.tables.raw_values import are_whole
from tallybayes.tables.source import HEAD
from tallybayes.tables.table import Raw, Table

__all__ = ["Inference", "with_readings"]

_MANY_DIGITS, _SOME_DIGITS = 20, 10  # different numbers that are given as text, from which on that is said


@dataclass(frozen=True)
class Inference:
    """How columns are inferred.

    numeric: the family of columns of numbers; by_type: from the types of values alone, the same for any batches;
    unseen: how families treat categories that they have never seen.

    >>> from tallybayes.families import Histogram
    >>> inference = Inference(Histogram())
    >>> inference.propose("age", [31, 45, 60])
    ColumnSpec(name='age', family=Histogram(), reason='integers, 3 distinct values')
    >>> inference.with_key_form(inference.propose("smokes", ["no", "yes", "no"]), ["no", "yes", "no"]).reader
    KeyReader(form=KeyForm(words=('no', 'yes')))
    """

    numeric: Family
    by_type: bool = False
    unseen: Unseen = "prior"

    def propose(self, name: str, raw: Raw, reading: NumberReading | None = None) -> ColumnSpec:
        """A family for a column, why, and the format of its numbers; reading: what was found out about these."""
        spec = (propose_by_type if self.by_type else propose)(name, raw, self.numeric)
        return self.with_format(self.with_unseen(spec), reading)

    def with_unseen(self, spec: ColumnSpec) -> ColumnSpec:
        """The column with a family that treats unseen values as it should."""
        family = None if spec.family is None else spec.family.with_unseen(self.unseen)
        return spec if family is spec.family else replace(spec, family=family)

    def with_format(self, spec: ColumnSpec, reading: NumberReading | None) -> ColumnSpec:
        """The column with the format of its numbers, and what there is to say about its cells."""
        if reading is None:
            return spec
        reader = spec.reader
        is_numeric = isinstance(reader, (NumberReader, FlagReader))
        remark = reading.remark if is_numeric == reading.is_numeric else ""
        reason = f"{spec.reason}; {remark}" if remark else spec.reason
        if isinstance(reader, (NumberReader, FlagReader)):
            reader = replace(reader, format=reading.needed_format)
        return replace(spec, reason=reason, reader=reader)

    def with_values(self, spec: ColumnSpec, raw: Raw) -> ColumnSpec:
        """The column with what its values tell: the order of categories, brackets of lists, whether numbers are whole.

        >>> column = ColumnSpec("size", Ordinal(), "specified")
        >>> Inference(Ordinal()).with_values(column, ["L", "S", "M", "S"]).family
        Ordinal(order=('S', 'M', 'L'))
        """
        spec = _with_order(spec, spec.family, raw) if isinstance(spec.family, Ordinal) else spec
        reader = spec.reader
        if isinstance(spec.family, (Tags, Multinomial)) and not reader.has_brackets and _has_lists(raw):
            return replace(spec, reader=BagReader(has_brackets=True))
        if spec.family is None or not isinstance(reader, NumberReader) or reader.is_whole or not are_whole(raw):
            return spec
        return replace(spec, reader=replace(reader, is_whole=True))

    def with_key_form(self, spec: ColumnSpec, raw: Raw) -> ColumnSpec:
        """A column of categories with the form of those in the first rows; a form that is known stays."""
        has_keys = spec.family is not None and isinstance(spec.reader, KeyReader)
        if self.by_type or not has_keys or spec.reader.form is not None:
            return spec
        try:
            form = KeyForm.of(list(as_codes(spec.name, raw[:SAMPLE]).key_counts()))
        except DataError:  # learning names the row, or skips it
            return spec
        return spec if form is None else replace(spec, reader=KeyReader(form))

    def with_parts(
        self, spec: ColumnSpec, raw: Raw, wanted: Iterable[str] = (), *, reading: NumberReading | None = None
    ) -> dict[str, ColumnSpec]:
        """The column and its parts: of dates those that vary or are wanted, of numbers the words among them, if any.

        >>> from tallybayes.families import Histogram
        >>> cells = pa.array([*["1", "2"] * 50, *["unlimited"] * 40])
        >>> found, inference = detect_numbers({"limit": cells})["limit"], Inference(Ordinal())
        >>> spec = ColumnSpec("limit", Histogram(), "integers")
        >>> inference.with_parts(spec, cells, reading=found)["limit.word"].reason
        'words among the numbers of limit: unlimited'
        """
        if spec.reader.dates is None:
            return {spec.name: spec} | self._words(spec, reading)
        return infer_date_parts(spec, raw, numeric=self.numeric, wanted=wanted, all_parts=self.by_type)

    def _words(self, spec: ColumnSpec, reading: NumberReading | None) -> dict[str, ColumnSpec]:
        """The words among the numbers of a column, as a column, if they are frequent."""
        words = () if reading is None else reading.frequent_words
        if not words or spec.family is None or not isinstance(spec.reader, (NumberReader, FlagReader)):
            return {}
        name = part_name(spec.name, WORD_PART)
        reader = WordReader(DatePart(spec.name, WORD_PART), words)
        reason = f"words among the numbers of {spec.name}: {listed(words)}"
        return {name: self.with_unseen(ColumnSpec(name, Categorical(), reason, reader))}


def _has_lists(raw: Raw) -> bool:
    """Whether cells of text are lists with brackets."""
    text = text_of(raw, SAMPLE)
    return text is not None and are_lists(to_list(text.drop_null()))


def _with_order(spec: ColumnSpec, family: Ordinal, raw: Raw) -> ColumnSpec:
    """The column with an order; a warning if some of its values are outside it, an error if none is known."""
    counts = as_codes(spec.name, raw).key_counts()
    keys = list(counts)
    if not family.order and not all(map(ValueOrder.is_number, keys)):
        order = known_order({shown(key) for key in keys})
        if order is None:
            hint = "give the values from the lowest to the highest: ordinal:low<medium<high"
            expected = "an order of values that are no numbers"
            raise ParameterError(expected, got=[shown(key) for key in keys], column=spec.name, hint=hint)
        family = Ordinal(order)
        spec = replace(spec, family=family)
    doubt_values_outside(spec, counts)
    return spec


def with_readings(
    table: Table,
    names: Collection[str],
    wanted: Mapping[str, bool] | None = None,
    *,
    decimal: str | None = None,
    thousands: str | None = None,
) -> Table:
    """A table whose columns of text are numbers where that is how they are written.

    wanted: of columns whose family is given, whether it is one of numbers: then plain digits are numbers too.
    decimal, thousands: the signs of numbers, where they were given.

    >>> from tallybayes.tables.table import to_table
    >>> table = with_readings(to_table({"price": ["$5", "$1,200"], "code": ["1", "2"]}), ["price", "code"])
    >>> table.columns["price"].to_pylist(), table.columns["code"]
    ([5.0, 1200.0], ['1', '2'])
    """
    known = wanted or {}
    new = {name: raw for name in names if name not in table.readings and not is_array(raw := table.columns[name])}
    if not new:
        return table
    first = {name: text_of(raw, HEAD) for name, raw in new.items() if not _is_dictionary(raw)}
    cells = {name: MissingWords().clean(text) for name, text in first.items() if text is not None}
    readings = {
        name: _as_given(name, reading, cells[name], True if _is_mixed(table.columns[name]) else known.get(name))
        for name, reading in detect_numbers(cells, decimal=decimal, thousands=thousands).items()
        if reading.is_numeric or known.get(name)
    }
    texts = {name: MissingWords().clean(text_of(table.columns[name])) for name in readings if readings[name].is_numeric}
    numbers = {name: readings[name].format.parse(text) for name, text in texts.items()}
    for name in (name for name in texts if readings[name].all_have_unit and len(texts[name]) > HEAD):
        unit = readings[name].format.unit
        if n := lack_unit(texts[name], numbers[name], unit).true_count:
            readings[name] = replace(readings[name], doubts=(*readings[name].doubts, without_unit(n, unit)))
    return replace(table, columns={**table.columns, **numbers}, readings={**table.readings, **readings})


def _as_given(name: str, reading: NumberReading, cells: Any, is_wanted: bool | None) -> NumberReading:
    """The reading of a column that was given as text: plain digits are numbers only if these are wanted.

    is_wanted: None if nobody has said it.
    """
    if reading.example is not None or is_wanted:
        return replace(reading, is_numeric=True, is_plain=False)  # text needs a format, also a plain one
    n_values = len(cells.unique()) - bool(cells.null_count)
    is_diverse = n_values > _MANY_DIGITS or (n_values > _SOME_DIGITS and 2 * n_values > reading.n_cells)
    if not is_diverse or is_wanted is False or named_as_identifier(name):
        return replace(reading, is_numeric=False, has_codes=True)  # nothing to say
    hint = f"{as_family(name, 'histogram')} reads them as numbers"
    text = f"{n_values:,} different numbers are given as text and were taken for text"
    return replace(reading, is_numeric=False, doubts=(Doubt("odd cells", text, hint=hint),))


def _is_dictionary(raw: Raw) -> bool:
    """Whether a column was given as categories."""
    return isinstance(raw, (pa.Array, pa.ChunkedArray)) and pa.types.is_dictionary(raw.type)


def _is_mixed(raw: Raw) -> bool:
    """Whether a column has numbers besides text."""
    return isinstance(raw, (list, np.ndarray)) and any(is_plain_number(value) for value in raw)
