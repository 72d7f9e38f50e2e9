"""Lines of CSV, written column by column, are what Python's csv module writes and reads."""

import csv
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.cli.csv_lines import OutputDialect, csv_header, csv_lines

CELLS = st.one_of(st.none(), st.text(alphabet='ab,;"\r\n é\t1.', max_size=6))
PROBABILITY = {"kind": "probability"}


def read(data: bytes, dialect: OutputDialect) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=dialect.delimiter))


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8), st.sampled_from(",;\t|"))
def test_cells_are_quoted_where_python_quotes_them(rows, delimiter):
    columns = list(zip(*rows, strict=True))
    table = pa.table({"a": pa.array(columns[0], pa.string()), "b": pa.array(columns[1], pa.large_string())})
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    lines = csv_lines(table, OutputDialect(delimiter)).decode()
    expected = [["" if cell is None else cell for cell in row] for row in rows]
    assert read(lines.encode(), OutputDialect(delimiter)) == expected
    assert len(lines) == len(file.getvalue()) - len(rows)  # the same quotes; lines end in one character instead of two


@pytest.mark.parametrize("quotes", ["needed", "text", "all"])
@given(rows=st.lists(st.tuples(CELLS, st.integers(-5, 5), st.booleans()), min_size=1, max_size=5))
def test_every_style_of_quotes_is_read_back(quotes, rows):
    dialect = OutputDialect(";", ",", quotes)
    texts, numbers, flags = zip(*rows, strict=True)
    table = pa.table({"t": pa.array(texts, pa.string()), "n": numbers, "f": flags})
    expected = [[text or "", str(number), str(flag).lower()] for text, number, flag in rows]
    assert read(csv_lines(table, dialect), dialect) == expected


def test_styles_of_quotes_differ_where_they_should():
    table = pa.table({"t": ["x", None, "", "1.5"], "n": [0.5, 2.0, None, -1.0]})
    assert csv_lines(table, OutputDialect()) == b"x,0.5\n,2.0\n,\n1.5,-1.0\n"
    assert csv_lines(table, OutputDialect(quotes="text")) == b'"x",0.5\n,2.0\n"",\n1.5,-1.0\n'
    assert csv_lines(table, OutputDialect(";", ",", "all")) == b'"x";"0,5"\n"";"2,0"\n"";""\n"1.5";"-1,0"\n'
    assert csv_header(["a", "b;c"], OutputDialect(";")) == b'a;"b;c"\n'


@pytest.mark.parametrize("n_rows", [9, 5000])  # few rows are formatted by Python, many by DuckDB
def test_probabilities_have_ten_digits_as_python_writes_them(n_rows):
    p = np.resize([0.0, 1.0, 0.5, 1 / 3, 1e-5, 1.23456789012e-4, 1e-300, 0.99999999999, 2**-40], n_rows)
    p[9:] = np.random.default_rng(0).random(max(n_rows - 9, 0))
    field = pa.field("p", pa.float64(), metadata=PROBABILITY)
    table = pa.table([pa.array(p)], schema=pa.schema([field]))
    expected = [repr(float(f"{own:.10g}")) for own in p.tolist()]
    assert csv_lines(table, OutputDialect()).decode().split() == expected


def test_a_row_of_a_single_empty_cell_is_not_an_empty_line():
    assert csv_lines(pa.table({"a": ["", "x"]}), OutputDialect()) == b'""\nx\n'


def test_lists_and_objects():
    table = pa.table({"likes": [["a", "b"], None], "size": [{"x": 1}, {"x": None}]})
    assert csv_lines(table, OutputDialect()) == b'a|b,"{""x"": 1}"\n,"{""x"": null}"\n'
