"""Which rows a hosted model does not learn although they could be counted: they would hold up others.

The limit is for requests. Events that are in a log were accepted once and are replayed whatever they are.
"""

from __future__ import annotations

from tallybayes.data.schema import Schema
from tallybayes.errors import DataError, Described
from tallybayes.server.event_rows import EventData

__all__ = ["MAX_NEW_COLUMNS", "check_rows_to_learn"]

MAX_NEW_COLUMNS = 1_000  # of one request; the family of each is inferred, which takes about half a millisecond


def check_rows_to_learn(data: EventData, schema: Schema) -> None:
    """Raise a DataError for rows that are not to be learned."""
    names = set().union(*data) if isinstance(data, list) else set(data.column_names)
    n_new = len(names.difference(schema.fields, (schema.label, schema.weight)))
    if n_new > MAX_NEW_COLUMNS:
        hint = "send the values in one column, as a list or an object, or fit the model with these columns"
        got = Described(f"{n_new:,}")
        raise DataError(f"at most {MAX_NEW_COLUMNS:,} new columns in one request", got=got, hint=hint)
