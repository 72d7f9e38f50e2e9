"""The limit on the rows of a request, for rows whose number is known only when they have been read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tallybayes.data.source import Kind, Source
from tallybayes.data.table import Table
from tallybayes.errors import Described
from tallybayes.server.http_problem import HttpError

__all__ = ["LimitedSource", "too_many_rows"]


class LimitedSource(Source):
    """Another source; a problem (413) as soon as it has too many rows."""

    def __init__(self, source: Source, most: int) -> None:
        self._source, self._most = source, most
        self.bad, self.missing = source.bad, source.missing

    def head(self) -> Table:
        """The first rows of the other source."""
        self._source.bad, self._source.missing = self.bad, self.missing
        return self._source.head()

    def batches(self, wanted: Mapping[str, Kind | None] | None = None, *, keep: bool = False) -> Iterator[Table]:
        """The rows of the other source."""
        self._source.bad, self._source.missing = self.bad, self.missing
        n_rows = 0
        for table in self._source.batches(wanted, keep=keep):
            n_rows += table.n_rows
            if n_rows > self._most:
                raise too_many_rows(self._most, None)
            yield table


def too_many_rows(most: int, n_rows: int | None) -> HttpError:
    """The problem of a request with so many rows, or with more than are allowed."""
    hint = "send the rows in several requests, or start the server with a larger --max-rows"
    return HttpError.of(413, f"at most {most:,} rows", got=Described("more") if n_rows is None else n_rows, hint=hint)
