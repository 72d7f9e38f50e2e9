"""Connections to DuckDB that read and never write, and names and texts in SQL.

Extensions are not downloaded, and the configuration is locked: functions such as `enable_logging` could write files
otherwise. A query of the user must be a single SELECT statement.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tallybayes.arrays.chunks import available_cores, requested_threads
from tallybayes.errors import DataError, FileError, ParameterError

if TYPE_CHECKING:
    import duckdb

__all__ = ["as_subquery", "connect", "duckdb_errors", "first_line", "refused_query", "sql_name", "sql_text"]

_THREADS = 8  # every thread has buffers of its own


def connect(path: str | None = None) -> duckdb.DuckDBPyConnection:
    """A connection to a database file, or without a path to the database in memory that all readers share."""
    import duckdb

    if path is None:
        return _without_progress_bar(_in_memory(os.getpid()).cursor())
    try:
        return _without_progress_bar(duckdb.connect(path, read_only=True, config=_config()))
    except duckdb.Error as error:
        raise FileError(f"the database cannot be opened: {first_line(error)}", file=path) from error


@cache
def _in_memory(process: int) -> duckdb.DuckDBPyConnection:
    """One for each process: threads do not survive a fork."""
    import duckdb

    return duckdb.connect(config=_config())


def _config() -> dict[str, Any]:
    return {
        "threads": requested_threads() or min(available_cores(), _THREADS),
        "autoinstall_known_extensions": False,
        "python_enable_replacements": False,  # a query sees files, not Python variables
        "lock_configuration": True,
        "allowed_configs": ["enable_progress_bar"],
    }


def _without_progress_bar(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    connection.execute("SET enable_progress_bar = false")  # it would mix with the data on standard output
    return connection


def as_subquery(query: str, connection: duckdb.DuckDBPyConnection) -> str:
    r"""A query in parentheses, to be selected from; anything but a single SELECT statement is refused.

    >>> as_subquery("SELECT 1;", connect())
    '(SELECT 1\n)'
    >>> as_subquery("SELECT 1; COPY (SELECT 1) TO 'a.csv'", connect())
    Traceback (most recent call last):
        ...
    tallybayes.errors.ParameterError: expected a query that is a single SELECT statement, got 'SELECT; COPY'
    hint: queries can only read data
    """
    try:
        found = [statement.type.name for statement in connection.extract_statements(query)]
    except duckdb_errors() as error:
        raise refused_query(error) from error
    if found != ["SELECT"]:
        expected = "a query that is a single SELECT statement"
        raise ParameterError(expected, got="; ".join(found), hint="queries can only read data")
    return f"({query.strip().rstrip(';')}\n)"


def refused_query(error: BaseException) -> DataError:
    """The error for a query that DuckDB cannot run, with the place that it names."""
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return DataError(f"the query cannot be run: {first_line(error)}", hint=" ".join(lines[1:3]) or None)


def sql_name(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def sql_text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"


def first_line(error: BaseException) -> str:
    """The first line of an error message."""
    return str(error).strip().partition("\n")[0]


def duckdb_errors() -> tuple[type[BaseException], ...]:
    """What reading through DuckDB may raise."""
    import duckdb

    return (duckdb.Error, pa.ArrowException, OSError)
