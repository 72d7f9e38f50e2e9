"""A query reads data and cannot write: a single SELECT statement, in DuckDB and in SQLite."""

import pytest

import tallybayes as tb
from pets import TABLE
from tallybayes.errors import DataError, FileError, ParameterError
from tallybayes.io.read import read

COUNTS = tb.fit(TABLE, label="pet").class_counts


@pytest.mark.parametrize(
    ("query", "got"),
    [
        ("SELECT 1 AS y; COPY (SELECT 1) TO '{out}'", "'SELECT; COPY'"),
        ("SELECT 1 AS y; ATTACH '{out}' AS a", "'SELECT; ATTACH'"),
        ("SELECT 1 AS y; SET threads = 1", "'SELECT; SET'"),
        ("SELECT 1 AS y; PRAGMA version", "'SELECT; PRAGMA'"),
        ("SELECT 1 AS y; SELECT 2 AS y", "'SELECT; SELECT'"),
        ("WITH a AS (SELECT 1) INSERT INTO t FROM a", "'INSERT'"),
    ],
)
def test_a_query_must_be_a_single_select(query, got, tmp_path, files):
    out = tmp_path / "out"
    for data in (query.format(out=out), read(files["duckdb"], table=query.format(out=out))):
        with pytest.raises(ParameterError, match=f"expected a query that is a single SELECT statement, got {got}"):
            tb.fit(data, label="y")
    assert not out.exists()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS y) ; COPY (SELECT 1) TO '{out}'; SELECT * FROM (SELECT 1",
        "WITH a AS (COPY (SELECT 1 AS y) TO '{out}') SELECT * FROM a",
        "SELECT 1 AS y FROM enable_logging(storage='file', storage_config={{'path': '{out}'}})",
        "SELECT 1 AS y FROM enable_profiling(format='json', save_location='{out}')",
        "SELECT * FROM query('COPY (SELECT 1) TO ''{out}''')",
    ],
)
def test_a_select_cannot_write_files(query, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(DataError, match="the query cannot be run"):
        tb.fit(query.format(out=out), label="y")
    assert not out.exists()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 AS y; ATTACH '{out}' AS a",
        "SELECT 1); ATTACH '{out}' AS a; SELECT (1",
        "WITH a AS (SELECT 1) DELETE FROM pets",
    ],
)
def test_a_query_on_sqlite_only_reads(query, files, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(FileError, match=r"pets.sqlite: cannot be read: .*\nhint: .*a single SELECT statement"):
        tb.fit(read(files["sqlite"], table=query.format(out=out)), label="pet")
    assert not out.exists()
    assert tb.fit(read(files["sqlite"], table="SELECT * FROM pets WHERE age >= 0;"), label="pet").class_counts == COUNTS


def test_queries_with_a_semicolon_or_a_comment_at_the_end():
    for query in (
        "SELECT 1 AS a, 'p' AS y;",
        "SELECT 1 AS a, 'p' AS y -- all of it",
        "  from (values (1, 'p')) t(a, y)",
    ):
        assert tb.fit(query, label="y").class_counts == {"p": 1}
