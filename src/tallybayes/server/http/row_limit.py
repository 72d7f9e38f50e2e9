"""The limits on the rows of a request: on their number, and on the cells of the answer, rows x classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tallybayes.arrays.chunks import split
from tallybayes.errors import Described
from tallybayes.server.http.http_problem import HttpError
from tallybayes.server.http.work_stop import check_stop
from tallybayes.tables.source import Kind, Source
from tallybayes.tables.table import Table

__all__ = ["INTERVAL_COST", "MAX_CELLS", "LimitedSource", "RowLimit", "too_many_rows"]

MAX_CELLS = 10_000_000  # of an answer: 80 MB of numbers, 200 MB of JSON, some ten seconds
INTERVAL_COST = 50  # cells that an interval counts for: 500 draws take 20 us
_PIECE_CELLS = 2**18  # of the rows that are scored at once, in about a tenth of a second
_PIECE_ROWS = 8192


@dataclass(frozen=True)
class RowLimit:
    """How many rows a request may have.

    most: the limit of the server; n_classes: the cells of a row; cost: what each counts for, 0 if none is answered.
    hint: what else helps than fewer rows.

    >>> RowLimit(1_000_000).rows, RowLimit(1_000_000, n_classes=150, cost=1).rows
    (1000000, 66666)
    """

    most: int
    n_classes: int = 1
    cost: int = 0
    hint: str = ""

    @property
    def rows(self) -> int:
        """The most rows."""
        return min(self.most, MAX_CELLS // (self.n_classes * self.cost)) if self.cost else self.most

    @property
    def piece(self) -> int:
        """Rows to be scored at once, so that the work can be stopped."""
        return max(1, min(_PIECE_ROWS, _PIECE_CELLS // (self.n_classes * max(self.cost, 1))))

    def check(self, n_rows: int | None) -> None:
        """Refuse so many rows (413), if they are too many; None: more than the limit."""
        if n_rows is not None and n_rows <= self.rows:
            return
        if self.rows == self.most:
            raise too_many_rows(self.most, n_rows)
        what = "intervals" if self.cost > 1 else "probabilities"
        expected = f"at most {self.rows:,} rows with {what} of {self.n_classes:,} classes"
        hint = ", ".join(["send the rows in several requests", *filter(None, [self.hint])])
        raise HttpError.of(413, expected, got=Described("more") if n_rows is None else n_rows, hint=hint)


class LimitedSource(Source):
    """Another source in pieces, between which the work may be stopped; a problem (413) if it has too many rows."""

    def __init__(self, source: Source, limit: RowLimit) -> None:
        self._source, self._limit = source, limit
        self.bad, self.missing = source.bad, source.missing

    def head(self) -> Table:
        """The first rows of the other source."""
        self._source.bad, self._source.missing = self.bad, self.missing
        return self._source.head()

    def batches(self, wanted: Mapping[str, Kind | None] | None = None, *, keep: bool = False) -> Iterator[Table]:
        """The rows of the other source."""
        self._source.bad, self._source.missing = self.bad, self.missing
        n_rows, most = 0, self._limit.rows
        for table in self._source.batches(wanted, keep=keep):
            n_rows += table.n_rows
            if n_rows > most:
                self._limit.check(None)
            for start, stop in split(table.n_rows, self._limit.piece):
                check_stop()
                yield table if stop - start == table.n_rows else table.part(start, stop)


def too_many_rows(most: int, n_rows: int | None) -> HttpError:
    """The problem of a request with so many rows, or with more than are allowed."""
    hint = "send the rows in several requests, or start the server with a larger --max-rows"
    return HttpError.of(413, f"at most {most:,} rows", got=Described("more") if n_rows is None else n_rows, hint=hint)
