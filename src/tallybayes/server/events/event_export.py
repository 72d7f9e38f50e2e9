"""The events of a log as a table: one line for each, the rows as JSON, written as Parquet in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import pyarrow as pa

from tallybayes.formatting import json_text
from tallybayes.server.events.event import Event
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.replay import live_events

__all__ = ["EVENT_COLUMNS", "event_batches", "write_parquet"]

EVENT_COLUMNS = pa.schema(
    [
        ("event", pa.int64()),
        ("kind", pa.string()),
        ("time", pa.string()),
        ("who", pa.string()),
        ("key", pa.string()),
        ("rows", pa.int64()),
        ("skipped", pa.int64()),
        ("undoes", pa.int64()),
        ("undone_by", pa.int64()),
        ("folded", pa.bool_()),
        ("summary", pa.string()),
        ("settings", pa.string()),
        ("data", pa.large_string()),
    ]
)


def event_batches(log: EventLog) -> Iterator[pa.RecordBatch]:
    """All events in order, some thousand at a time; `data` has the rows as JSON, unless they were folded."""
    undone = live_events(log.undoing())[0]
    for batch in log.after(0):
        yield pa.RecordBatch.from_pylist([_line(event, undone) for event in batch], schema=EVENT_COLUMNS)


def write_parquet(log: EventLog, file: BinaryIO) -> int:
    """Write all events to a file; returns how many."""
    import pyarrow.parquet as pq

    n_events = 0
    with pq.ParquetWriter(file, EVENT_COLUMNS) as writer:
        for batch in event_batches(log):
            writer.write_batch(batch)
            n_events += batch.num_rows
    return n_events


def _line(event: Event, undone: Mapping[int, int]) -> dict[str, Any]:
    facts = event.to_dict() | {"undone_by": undone.get(event.id)}
    has_rows = event.rows is not None and event.kind != "replace"
    facts["data"] = json_text(event.row_values()) if has_rows else None
    facts["settings"] = None if event.settings is None else json_text(event.settings)
    return {name: facts[name] for name in EVENT_COLUMNS.names}
