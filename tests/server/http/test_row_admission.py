"""Rows that a hosted model refuses although they could be counted."""

import contextlib
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hosting import bytes_of, change, learn, opened, replayed, saved_base

import models
from tallybayes.errors import DataError
from tallybayes.model.row_counter import grow_schema
from tallybayes.server.events.event import NewEvent, write_parquet
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.event_rows import ARROW, JSON, write_rows
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.live.change_request import MAX_NEW_COLUMNS, ChangeRequest
from tallybayes.state.counting import CountingPlan
from tallybayes.tables.table import Table


def wide(n):
    return {f"new {i}": "a" for i in range(n)} | {"y": "p"}


@pytest.fixture
def path(tmp_path):
    return saved_base(tmp_path)


def test_a_request_brings_a_limited_number_of_new_columns(path):
    with opened(path) as live:
        before = bytes_of(live)
        rows = [{name: "a", "y": "p"} for name in wide(MAX_NEW_COLUMNS + 1)]  # one in each row
        for own in (rows, [wide(MAX_NEW_COLUMNS + 1)]):
            with pytest.raises(DataError, match="expected at most 1,000 new columns in one request, got 1,001"):
                change(live, learn(own))
        assert bytes_of(live) == before
        assert change(live, learn([wide(MAX_NEW_COLUMNS)])).event == 1
        assert change(live, learn([wide(MAX_NEW_COLUMNS + 1)])).event == 2  # one that is new


def test_an_event_with_more_new_columns_can_still_be_replayed(path):
    with opened(path):
        pass  # the log is begun
    with contextlib.closing(EventLog(ModelFiles.of(path).log)) as log:
        rows = write_rows([wide(MAX_NEW_COLUMNS + 1)])
        log.append([NewEvent("learn", "", media_type=JSON, rows=rows, n_rows=1)])
    with opened(path) as live:
        assert bytes_of(live) == replayed(path)


class CountedColumns(dict):
    """Columns that count how often all of them are looked at."""

    n_walks = 0

    def items(self):
        self.n_walks += 1
        return super().items()


def test_the_time_for_new_columns_grows_with_their_number():
    state = models.small().snapshot().state
    columns = CountedColumns((name, ["a"]) for name in wide(100) if name != "y")
    plan = CountingPlan.of(state, "y", None, learns=True)
    grown = grow_schema(state.schema, Table(1, columns), plan)
    assert len(grown.columns) == len(state.schema.columns) + 100
    assert columns.n_walks < 5


def times(numbers, kind):
    return pa.array(numbers, pa.int64()).cast(kind)


FAR = times([10**14], pa.timestamp("s"))
OUT_OF_RANGE = {
    "seconds": FAR,
    "a year of five digits": times([2**62], pa.timestamp("us")),
    "a time zone that leads to the year 10000": times([253_402_300_799], pa.timestamp("s", tz="+05:00")),
    "a time zone that nobody knows": times([0], pa.timestamp("s", tz="Nowhere/Land")),
    "days": pa.array([2**31 - 1], pa.int32()).cast(pa.date32()),
    "a duration": times([2**62], pa.duration("s")),
    "a dictionary": FAR.dictionary_encode(),
    "a list": pa.ListArray.from_arrays([0, 1], FAR),
    "a struct": pa.StructArray.from_arrays([FAR], ["inner"]),
}


def arrow_bytes(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("what", sorted(OUT_OF_RANGE))
def test_times_that_no_calendar_has_are_refused_and_old_events_can_be_listed(path, what):
    rows = arrow_bytes(pa.table({"when": OUT_OF_RANGE[what], "y": ["p"]}))
    with opened(path) as live, pytest.raises(DataError, match=r"column 'when': expected dates .* years 1 to 9999"):
        change(live, ChangeRequest("learn", rows, ARROW))
    with contextlib.closing(EventLog(ModelFiles.of(path).log)) as log:
        (event,) = log.append([NewEvent("learn", "", media_type=ARROW, rows=rows, n_rows=1)])
        assert [set(row) for row in event.row_values()] == [{"when", "y"}]
        file = io.BytesIO()
        assert write_parquet(log.after(0), file) == 1
        assert '"y": "p"' in pq.read_table(file)["data"].to_pylist()[0]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_usual_times_are_learned(path, unit):
    when = times([0, None, 1_700_000_000], pa.timestamp("s", tz="Europe/Berlin")).cast(pa.timestamp(unit, "UTC"))
    rows = arrow_bytes(pa.table({"when": when, "day": when.cast(pa.date32()), "y": ["p", "q", "p"]}))
    with opened(path) as live:
        assert change(live, ChangeRequest("learn", rows, ARROW)).rows == 3
        assert len(live.log.get(1).row_values()) == 3
