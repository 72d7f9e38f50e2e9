"""Rows that a hosted model refuses although they could be counted."""

import contextlib

import pytest
from hosting import bytes_of, change, learn, opened, replayed, saved_base

import models
from tallybayes.data.table import Table
from tallybayes.errors import DataError
from tallybayes.model.row_counter import grown_schema
from tallybayes.server.event import NewEvent
from tallybayes.server.event_log import EventLog
from tallybayes.server.event_rows import JSON, write_rows
from tallybayes.server.model_files import ModelFiles
from tallybayes.server.row_admission import MAX_NEW_COLUMNS
from tallybayes.state.counting_plan import CountingPlan


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
    grown = grown_schema(state.schema, Table(1, columns), plan)
    assert len(grown.fields) == len(state.schema.fields) + 100
    assert columns.n_walks < 5
