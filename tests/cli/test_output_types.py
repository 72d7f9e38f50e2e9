"""Formats with types: what text of a CSV file becomes in Parquet and in a workbook."""

import datetime
import sys

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import fine, tally
from tallybayes.cli import workbook_output
from tallybayes.cli.column_types import ColumnTypes
from tallybayes.cli.output import write_tables
from tallybayes.errors import DataError, FileError
from tallybayes.io.read import read

MIXED = """kilos,code,whole,real,flag,born,at,instant,price,word,empty,note
4,007,3,1.5,true,2024-01-31,2024-01-31 10:00,2024-01-31T10:00:00Z,"1,234.50",12,,=1+1
5,012,NA,2,FALSE,2023-02-01,2024-01-31 11:30:05,2024-01-31T10:00:00+02:00,"2,000.00",unknown,,plain
"""
TYPES = {
    "kilos": pa.int64(),
    "code": pa.string(),
    "whole": pa.int64(),
    "real": pa.float64(),
    "flag": pa.bool_(),
    "born": pa.date32(),
    "at": pa.timestamp("us"),
    "instant": pa.timestamp("us", "UTC"),
    "price": pa.float64(),
    "word": pa.string(),
    "empty": pa.string(),
    "note": pa.string(),
}


def written(here, text, name="out.parquet", *more):
    (here / "in.csv").write_text(text)
    done = tally("predict", "pets.tally", "in.csv", "-o", name, *more, cwd=here)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_columns_have_the_types_that_the_reader_gave_them(here):
    written(here, MIXED)
    found = pq.read_table(here / "out.parquet")
    assert {name: found.schema.field(name).type for name in TYPES} == TYPES
    row = found.to_pylist()[1]
    assert (row["whole"], row["real"], row["flag"], row["price"]) == (None, 2.0, False, 2000.0)
    assert (row["code"], row["word"], row["born"]) == ("012", "unknown", datetime.date(2023, 2, 1))
    assert row["instant"] == datetime.datetime(2024, 1, 31, 8, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1234567890123456789", "1234567890123456790"], [1234567890123456789, 1234567890123456790]),
        (["91234567890123456789", "91234567890123456790"], ["91234567890123456789", "91234567890123456790"]),
        (["0.30000000000000004", "2"], [0.30000000000000004, 2.0]),
    ],
)
def test_long_integers_are_not_rounded(here, cells, expected):
    written(here, "kilos,card\n" + "".join(f"4,{cell}\n" for cell in cells))
    assert pq.read_table(here / "out.parquet")["card"].to_pylist() == expected


def test_dates_are_read_as_the_model_reads_them(here):
    rows = "".join(f"{i}/{i % 12 + 1}/2024,{'cat' if i % 2 else 'dog'}\n" for i in range(1, 29))
    (here / "dates.csv").write_text("born,pet\n" + rows)
    fine("fit", "dates.csv", "--label", "pet", "-o", "dates.tally", cwd=here)
    (here / "new.csv").write_text("born\n1/2/2024\n")  # by itself it would be the 2nd of January
    fine("predict", "dates.tally", "new.csv", "-o", "out.parquet", cwd=here)
    assert pq.read_table(here / "out.parquet")["born"].to_pylist() == [datetime.date(2024, 2, 1)]


def test_a_later_cell_that_contradicts_is_empty_and_said_to_be(here):
    text = "kilos,born\n" + "3,2024-01-01\n" * 21_000 + "4.5,2024-01-02 10:00\n"
    notes = written(here, text)
    row = pq.read_table(here / "out.parquet").slice(21_000).to_pylist()[0]
    assert (row["kilos"], row["born"]) == (None, None)
    assert "column 'kilos': 1 cell does not fit the first rows of the column, which are integers, " in notes
    assert "empty in out.parquet: 2024-01-02 10:00 (1)\nhint: -o with a name that ends in .csv" in notes
    assert "does not fit" not in written(here, text, "out.csv")


def test_a_unit_that_is_not_written_is_said(here):
    notes = written(here, "kilos,size\n3,5 cm\n4,6 cm\n")
    assert "column 'size': the numbers in out.parquet are without their unit, cm" in notes
    assert "unit" not in written(here, "kilos,size\n3,5 cm\n4,6 cm\n", "out.parquet", "--id", "kilos")


def test_values_of_json_have_one_type_in_all_batches(tmp_path, recwarn):
    field = pa.field("a", pa.string(), metadata={"kind": "json"})
    parts = [pa.table([pa.array(cells, pa.string())], pa.schema([field])) for cells in (["null"], ["1", "2"], ["1.5"])]
    write_tables(parts, str(tmp_path / "o.parquet"), "parquet")
    assert pq.read_table(tmp_path / "o.parquet").to_pydict() == {"a": [None, "1", "2", "1.5"]}
    write_tables(parts[1:], str(tmp_path / "o.parquet"), "parquet")
    assert pq.read_table(tmp_path / "o.parquet").to_pydict() == {"a": [1, 2, None]}
    assert "1 cell does not fit the first rows of the column, which are integers" in str(recwarn.pop().message)


def test_a_column_that_one_of_the_files_lacks_is_empty(here):
    (here / "a.csv").write_text("kilos,likes\n4,fish\n")
    (here / "b.csv").write_text("name,kilos\nx,5\n")
    lines = fine("predict", "pets.tally", "a.csv", "b.csv", cwd=here).splitlines()
    assert [line.rsplit(",", 2)[0] for line in lines] == ["kilos,likes,name", "4,fish,", "5,,x"]
    fine("predict", "pets.tally", "a.csv", "b.csv", "-o", "o.parquet", cwd=here)
    found = pq.read_table(here / "o.parquet").select(["kilos", "likes", "name"])
    assert found.to_pylist() == [{"kilos": 4, "likes": "fish", "name": None}, {"kilos": 5, "likes": None, "name": "x"}]


def test_files_of_other_types_are_refused_and_nothing_is_written(here):
    (here / "a.csv").write_text("kilos\n4\n")
    pq.write_table(pa.table({"kilos": [4.5]}), here / "b.parquet")
    done = tally("predict", "pets.tally", "a.csv", "b.parquet", "-o", "o.parquet", cwd=here)
    assert (done.returncode, (here / "o.parquet").exists()) == (1, False)
    assert "expected the same columns and types in all rows of o.parquet" in done.stderr


def test_a_workbook_has_numbers_dates_and_texts(here):
    written(here, MIXED, "out.xlsx")
    sheet = openpyxl.load_workbook(here / "out.xlsx").active
    header, first, second = ([cell.value for cell in row] for row in sheet)
    row = dict(zip(header, second, strict=True))
    assert (row["kilos"], row["code"], row["flag"], row["whole"]) == (5, "012", False, None)
    assert (row["born"], row["instant"]) == (datetime.datetime(2023, 2, 1), "2024-01-31 08:00:00+00:00")
    assert {type(value) for value in first} == {int, str, float, bool, datetime.datetime, type(None)}
    formula = sheet.cell(2, header.index("note") + 1)
    assert (formula.value, formula.data_type) == ("=1+1", "s")


def test_a_later_cell_that_contradicts_is_text_in_a_workbook(here):
    notes = written(here, "kilos\n" + "3\n" * 20_001 + "x\n", "out.xlsx")
    assert "does not fit" not in notes
    assert openpyxl.load_workbook(here / "out.xlsx").active.cell(20_003, 1).value == "x"


def test_what_a_sheet_cannot_hold_is_text(tmp_path, recwarn):
    cells = {
        "large": [10**15, 10**15 - 1],
        "old": [datetime.date(1815, 6, 18), datetime.date(1990, 1, 1)],
        "real": [float("inf"), 0.5],
        "list": [["a", "b"], []],
        "text": ["a\x01b", "x" * 40_000],
    }
    write_tables([pa.table(cells)], str(tmp_path / "o.xlsx"), "xlsx")
    first, second = list(openpyxl.load_workbook(tmp_path / "o.xlsx").active.values)[1:]
    assert first == (str(10**15), "1815-06-18", None, "a|b", "a\ufffdb")
    assert second[:3] == (10**15 - 1, datetime.datetime(1990, 1, 1), 0.5)
    assert len(second[4]) == 32_767
    assert "column 'text': 2 cells are changed in" in str(recwarn.pop().message)


def test_more_rows_than_a_sheet_holds_are_refused_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook_output, "_MOST_ROWS", 5)
    path = str(tmp_path / "o.xlsx")
    write_tables([pa.table({"a": [1, 2]})] * 2, path, "xlsx")
    before = (tmp_path / "o.xlsx").read_bytes()
    with pytest.raises(DataError, match="at most 4 rows below the header, as a sheet can hold, got more"):
        write_tables([pa.table({"a": [1, 2]})] * 3, path, "xlsx")
    assert (tmp_path / "o.xlsx").read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["o.xlsx"]


def test_a_workbook_needs_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(FileError, match=r"openpyxl, which writes workbooks, got none\nhint: pip install 'tallybayes\["):
        write_tables([pa.table({"a": [1]})], str(tmp_path / "o.xlsx"), "xlsx")
    assert list(tmp_path.iterdir()) == []


CELLS = st.one_of(
    st.integers(-(10**18), 10**18).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["", "NA", "true", "no", "2024-01-31", "31.1.2024 10:00", "10:00", "007", "1,5", "5 kg", "x"]),
)


@given(st.lists(CELLS, min_size=1, max_size=30))
def test_no_cell_of_the_first_rows_is_lost(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("cells") / "a.csv"
    path.write_text("a;b\n" + "".join(f'"{cell}";1\n' for cell in cells))
    source = read(path)
    column = ColumnTypes(source.head()).apply(pa.table({"a": cells}))["a"]
    are_there = [cell not in ("", "NA") for cell in cells]
    if column.type == pa.string():
        assert column.to_pylist() == cells
    else:
        assert [value is not None for value in column.to_pylist()] == are_there


def test_dates_in_json_stay_text(here):
    (here / "in.jsonl").write_text('{"kilos": 3, "born": "2024-01-31"}\n')
    fine("predict", "pets.tally", "in.jsonl", "-o", "o.parquet", cwd=here)
    assert pq.read_table(here / "o.parquet").select(["kilos", "born"]).to_pylist() == [
        {"kilos": 3, "born": "2024-01-31"}
    ]
