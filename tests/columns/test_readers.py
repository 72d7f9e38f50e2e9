"""Every reader obeys the laws of readers, and the check finds readers that do not."""

from dataclasses import dataclass

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.arrays.column import Reals
from tallybayes.cells.date_format import DateFormat
from tallybayes.cells.key_form import KeyForm
from tallybayes.cells.number_format import NumberFormat
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.readers.bag_reader import BagReader
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.columns.readers.cells_reader import CellsReader
from tallybayes.columns.readers.date_reader import DatePartReader, DateReader
from tallybayes.columns.readers.flag_reader import FlagReader
from tallybayes.columns.readers.key_reader import KeyReader
from tallybayes.columns.readers.number_reader import NumberReader
from tallybayes.columns.readers.reader import UNREAD, DatePart, ReadContext
from tallybayes.columns.readers.reader_registry import READERS, reader_for, reader_from_dict
from tallybayes.columns.readers.text_reader import TextReader
from tallybayes.columns.readers.vector_reader import VectorReader
from tallybayes.columns.readers.word_reader import WordReader
from tallybayes.errors import DataError, ParameterError
from tallybayes.testing import READER_CHECKS, check_reader

CELLS = [
    (NumberReader(), [1, 2.5, None, float("nan"), -7], None),
    (NumberReader(is_whole=True), [1, 2, None], None),
    (NumberReader(NumberFormat(",", ".", unit="€")), ["1.234,50 €", None, "-2 €", "7"], None),
    (NumberReader(NumberFormat(unit="€", factors=True)), ["€254K", None, "-2.5M", "7"], None),
    (WordReader(DatePart("limit", "word"), ("never",)), ["never", None, "(number)"], None),
    (FlagReader(), [True, False, None], None),
    (FlagReader(), ["yes", "no", None, "TRUE"], None),
    (FlagReader(only_bits=True), [0, 1, None], None),
    (KeyReader(), ["a", None, "b", "a"], None),
    (KeyReader(), [3, None, 70_000, -2], None),
    (KeyReader(KeyForm(("no", "yes"))), ["yes", None, "no"], None),
    (BagReader(), [["a", "b"], None, [], ["a"]], tb.Multinomial()),
    (BagReader(), ["a;b", None, "", "b"], tb.Tags(";")),
    (BagReader(has_brackets=True), ["['a', 'b']", None, "[]", '["b"]'], tb.Tags(",")),
    (TextReader(), ["Cash! cash!", None, "", "lunch at one"], tb.Text(ngrams=1)),
]


@pytest.mark.parametrize(("reader", "cells", "family"), CELLS)
def test_every_reader_obeys_the_laws(reader, cells, family):
    check_reader(reader, cells, family=family)


def test_readers_of_every_kind_are_tried():
    others = {UNREAD, DateReader, CellsReader, VectorReader}  # read by other means: see their own tests
    others = {reader.kind for reader in others}
    assert {reader.kind for reader, _, _ in CELLS} | others == READERS.keys()


@dataclass(frozen=True)
class RanksOfBatches(NumberReader):
    """Reads a number as its rank in the batch: what it means depends on the others."""

    kind = "rank"

    def encode(self, inputs, context):
        values = super().encode(inputs, context).values
        return Reals(np.where(np.isnan(values), np.nan, np.argsort(np.argsort(values)).astype(float)))


@dataclass(frozen=True)
class ForgetfulReader(NumberReader):
    """Does not write its format."""

    kind = "forgetful"

    def to_dict(self):
        return {"kind": self.kind}


def test_the_check_finds_readers_that_break_a_law():
    with pytest.raises(AssertionError, match="RanksOfBatches: A cell is read alone as among others"):
        check_reader(RanksOfBatches(), [3, 1, 2, None])
    with pytest.raises(AssertionError, match="ForgetfulReader: The facts of a reader are plain values"):
        check_reader(ForgetfulReader(is_whole=True), [1, 2])
    assert len({check.__doc__ for check in READER_CHECKS}) == len(READER_CHECKS)


@pytest.mark.parametrize(
    "reader",
    [
        *(reader for reader, _, _ in CELLS),
        UNREAD,
        DateReader(DateFormat(day_first=True)),
        DatePartReader(DatePart("when", "weekday"), KeyReader()),
        DatePartReader(DatePart("when", "elapsed"), NumberReader(is_whole=True)),
        CellsReader((CellInput("age", edges=(25.0,)), CellInput("sex", keys=("f", "m")))),
    ],
)
def test_readers_are_written_and_read(reader):
    assert reader_from_dict(reader.to_dict()) == reader


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (3, "a reader: its kind"),
        ({"kind": "nothing"}, "a kind of reader"),
        ({"kind": "key", "whole": True}, "facts of a reader of kind key"),
        ({"kind": "number", "whole": 1}, "true or false: whether numbers are whole"),
        ({"kind": "cells", "inputs": []}, "at least one"),
        ({"kind": "date_part", "column": "when", "part": "century", "values": {"kind": "key"}}, "elapsed, year"),
        ({"kind": "date_part", "column": "when", "part": "year", "values": {"kind": "date"}}, "values of a part"),
    ],
)
def test_impossible_readers_are_refused(facts, text):
    with pytest.raises(ParameterError, match=text):
        reader_from_dict(facts)


def test_a_column_has_a_reader_of_what_its_family_counts():
    assert ColumnSpec("x", tb.Gaussian(), "").reader == NumberReader()
    assert reader_for(tb.Text()) == TextReader()
    with pytest.raises(ParameterError, match="column 'x': expected a reader of what the family gaussian counts"):
        ColumnSpec("x", tb.Gaussian(), "", KeyReader())
    spec = ColumnSpec("when.year", tb.Histogram(), "", DatePartReader(DatePart("when", "year"), NumberReader()))
    assert spec.with_family(tb.Categorical()).reader == DatePartReader(DatePart("when", "year"), KeyReader())
    assert ColumnSpec("x", tb.Tags(), "").with_family(tb.Text()).reader == TextReader()


def test_columns_that_are_not_read_say_so():
    for reader in (UNREAD, DateReader(DateFormat())):
        with pytest.raises(DataError, match="column 'x'"):
            reader.encode({"x": [1]}, ReadContext("x", 1))
