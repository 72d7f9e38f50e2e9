"""What DuckDB reads with types of its own: Parquet files, tables of its databases, queries."""

from __future__ import annotations

from tallybayes.data.formats.file_bytes import Disk
from tallybayes.data.formats.file_format import Reading
from tallybayes.data.formats.projection import Faults, Query, connect, first_line, path_text, quoted
from tallybayes.errors import DataError, FileError, did_you_mean

__all__ = ["Database", "Parquet", "Sql", "chosen"]


class _Typed(Query):
    """A relation that knows the types of its columns."""

    _from: str

    def _describe(self, reading: Reading) -> None:
        self.missing = reading.missing or ()
        try:
            found = self._sql(f"SELECT * FROM {self._from} LIMIT 0")
        except Exception as error:
            raise self.broken(error) from error
        types = zip(found.columns, map(str, found.types), strict=True)
        self.expressions = {name: (quoted(name), own) for name, own in types}

    def relation(self, faults: Faults = "stop") -> str:
        """The relation."""
        return self._from

    def n_expected(self) -> int | None:
        """Counted: Parquet files and tables know it."""
        if self.kind == "sql":
            return None
        return int(self._sql(f"SELECT count(*) FROM {self._from}").fetchall()[0][0])


class Parquet(_Typed):
    """A Parquet file."""

    kind = "parquet"

    def __init__(self, disk: Disk, reading: Reading) -> None:
        self.name, self.size = disk.name, disk.size
        self.connection = connect()
        self._from = f"read_parquet({path_text(disk.path)}, hive_partitioning=false)"
        self._describe(reading)
        import pyarrow.parquet

        names = pyarrow.parquet.read_schema(disk.path).names  # DuckDB renames those that differ only in case
        self.expressions = dict(zip(names, self.expressions.values(), strict=True))
        if len(self.expressions) < len(names):
            raise DataError("column names that differ", got=names, file=self.name)


class Database(_Typed):
    """A table of a DuckDB file, or a query on it."""

    kind = "duckdb"

    def __init__(self, disk: Disk, reading: Reading) -> None:
        self.name, self.size = disk.name, None
        self.connection = connect(disk.path)
        names = [name for (name,) in self._sql("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
        names += [name for (name,) in self._sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()]
        self._from = chosen(reading.table, names, disk.name)
        self._describe(reading)


class Sql(_Typed):
    """A query."""

    kind = "sql"

    def __init__(self, query: str, reading: Reading) -> None:
        self.name = "the query"
        self.connection = connect()
        self._from = f"({query.strip().rstrip(';')}\n)"
        self._describe(reading)

    def broken(self, error: BaseException) -> DataError:
        """What DuckDB says about it."""
        lines = [line for line in str(error).strip().splitlines() if line.strip()]
        return DataError(f"the query cannot be run: {first_line(error)}", hint=" ".join(lines[1:3]) or None)


def chosen(table: str | None, names: list[str], file: str) -> str:
    """The table of a database to read, as SQL: the one asked for, a query, or the only one there is."""
    if table is not None and table.split(maxsplit=1)[:1] and table.split()[0].lower() in ("select", "from", "with"):
        return f"({table.strip().rstrip(';')}\n)"
    if table is None and len(names) == 1:
        return quoted(names[0])
    if table in names:
        return quoted(table)
    wanted = f"a table of the database ({', '.join(names) or 'it has none'})"
    hint = "table= (--table) names it" if table is None else did_you_mean(table, names)
    raise FileError(wanted, got=table, file=file, hint=hint)
