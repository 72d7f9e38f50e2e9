"""Files with many columns: the queries, and the work, grow linearly with their number."""

import numpy as np
import pytest

import tallybayes as tb
from pets import csv_file
from tallybayes.errors import DataError, DataWarning
from tallybayes.io.formats import csv_blocks, delimited, duckdb_format
from tallybayes.tables.source import BadRows
from tallybayes.tally.histogram_grid import LIMIT


def wide_csv(n_rows, n_columns, bad_cell=None):
    """Rows of numbers and a label, with a word in the last column of the last row if given."""
    rng = np.random.default_rng(n_columns)
    cells = rng.normal(size=(n_rows, n_columns)).round(3).astype(str)
    if bad_cell is not None:
        cells[-1, -1] = bad_cell
    names = ",".join([*(f"x{j}" for j in range(n_columns)), "y"])
    return "\n".join([names, *(",".join([*row, "pq"[i % 2]]) for i, row in enumerate(cells.tolist()))])


def queries_of(monkeypatch, n_columns, *, keep, bad):
    """The SQL that reading a file with so many columns runs where Arrow does not read it."""
    seen = []
    original = duckdb_format.DuckDBFormat._select

    def select(self, *arguments):
        relation = original(self, *arguments)
        seen.append(relation.sql_query())
        return relation

    source = csv_file(wide_csv(5, n_columns))
    source.head()
    with monkeypatch.context() as patch:
        patch.setattr(duckdb_format.DuckDBFormat, "_select", select)
        patch.setattr(delimited.Delimited, "_blocks", lambda self: None)
        source.bad = BadRows() if bad else None
        wanted = {f"x{j}": "number" for j in range(n_columns)}
        assert sum(table.n_rows for table in source.batches(wanted, keep=keep)) == 5
    return "".join(seen)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("bad", [False, True])
def test_queries_grow_linearly_with_the_columns(monkeypatch, keep, bad):
    few, many = (queries_of(monkeypatch, n, keep=keep, bad=bad) for n in (40, 400))
    assert len(many) < 15 * len(few)
    assert many.count("CASE") == many.count(" IN ") == 0  # DuckDB makes a join of each list of words


@pytest.mark.slow
def test_two_thousand_columns_are_read_scored_and_kept():
    text = wide_csv(20, 2000)
    model = tb.fit(csv_file(text), label="y", numeric="gaussian")
    assert len(model.schema.families) == 2000
    cells = [line.split(",") for line in text.splitlines()[1:]]
    table = next(csv_file(text).batches(dict.fromkeys(model.schema.families, "number"), keep=True))
    assert table.columns["x1999"].to_pylist() == [float(row[1999]) for row in cells]
    assert table.kept.column("x1999").to_pylist() == [row[1999] for row in cells]
    matrix = {f"x{j}": [float(row[j]) for row in cells] for j in range(2000)}
    assert model.predict_proba(csv_file(text)).tolist() == model.predict_proba(matrix).tolist()


@pytest.mark.filterwarnings("ignore:.* could not be read and w:tallybayes.errors.DataWarning")
@pytest.mark.slow
def test_the_bad_cell_among_two_thousand_columns_is_named():
    text = wide_csv(30, 2000, bad_cell='"1,5"')
    expected = r"a.csv, line 31, column 'x1999': expected a number written like 1234.5, got '1,5'"
    with pytest.raises(DataError, match=expected):
        tb.fit(csv_file(text), label="y")
    source = csv_file(text, skip_bad=True)
    assert tb.fit(source, label="y").class_counts == {"p": 15, "q": 14}
    assert (source.bad.count, source.bad.examples[0].column) == (1, "x1999")


def test_words_for_missing_values_among_cells_that_are_kept():
    text = "a,b,y\n1,-9,p\n-,2,q\n?,-9,p\n"
    source = csv_file(text, missing=["-", "-9", "?"])
    table = next(source.batches({"a": "number", "b": "number"}, keep=True))
    assert table.columns["a"].to_pylist() == [1, None, None]
    assert table.columns["b"].to_pylist() == [None, 2, None]
    assert table.kept.column("b").to_pylist() == ["-9", "2", "-9"]
    text = text.replace("-,", "lost,")
    with pytest.warns(DataWarning, match=r"'a': 1 cell is not a number .* lost \(1\); the first is in .*a.csv, line 3"):
        (table,) = csv_file(text).batches({"a": "number"}, keep=True)
    assert table.columns["a"].to_pylist() == [1, None, None]


def test_columns_without_values_at_first_are_filled_in_one_pass(monkeypatch):
    names = [f"x{j}" for j in range(50)]
    empty, last = "," * 50 + "p\n", ",".join(str(j + 0.5) for j in range(50)) + ",q\n"
    source = csv_file(",".join([*names, "y"]) + "\n" + empty * 25_000 + last)
    seen = []
    original = csv_blocks.CsvBlocks.batches
    monkeypatch.setattr(csv_blocks.CsvBlocks, "batches", lambda *given: seen.append(given) or original(*given))
    assert [source.head().columns[name].to_pylist() for name in names] == [[j + 0.5] for j in range(50)]
    assert len(seen) == 1


def test_a_grid_is_coarsened_to_the_finest_level_that_fits():
    """Sums of two wide parts equal those of the whole; one level finer would be too many cells."""
    values = np.random.default_rng(0).normal(size=(3 * LIMIT, 3)) * [1.0, 1e-200, 1e200]
    y = np.arange(len(values)) % 3
    whole = tb.fit(values, label=y)
    parts = tb.fit(values[:LIMIT], label=y[:LIMIT])
    parts.learn(values[LIMIT:], label=y[LIMIT:])
    assert parts.same_counts(whole)


def test_a_wide_file_is_the_model_of_its_frame():
    text = wide_csv(60, 700)
    frame = {name: list(cells) for name, *cells in zip(*(line.split(",") for line in text.splitlines()), strict=True)}
    columns = {name: cells if name == "y" else list(map(float, cells)) for name, cells in frame.items()}
    assert tb.fit(csv_file(text), label="y").same_counts(tb.fit(columns, label="y"))
