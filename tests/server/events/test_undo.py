"""An undone event leaves the model with the bytes of one that never saw it."""

import json

import numpy as np
import pytest
from hosting import bytes_of, change, fitted_at_once, forget, learn, opened, replayed, saved_base, try_all, undo

import tallybayes as tb
from tallybayes.errors import TallyError
from tallybayes.server.events.event import UnknownEventError
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.model_history import UndoError, compact
from tallybayes.server.live.change_request import Applied, ChangeRequest, NotWritableError

ROW = {"flag": True, "kind": "red", "real": 0.25, "level": 2.0, "events": 1, "note": "cash", "y": "p"}


def of(number, **more):
    return ROW | {"real": float(number), "y": "pq"[number % 2]} | more


@pytest.fixture
def path(tmp_path):
    return saved_base(tmp_path)


def test_any_event_however_old(path):
    with opened(path) as live:
        try_all(live, [learn([of(i)]) for i in range(40)])
        for event in (7, 1, 40):
            change(live, undo(event))
        assert bytes_of(live) == fitted_at_once(path, [of(i) for i in range(40) if i + 1 not in (7, 1, 40)])
        listed = {event.id: event.undone_by for event in live.log.page(limit=100)}
        assert [listed[event] for event in (7, 1, 40, 2)] == [41, 42, 43, None]


def test_undo_of_an_undo_of_an_undo(path):
    with opened(path) as live:
        change(live, learn([of(1)]))
        with_it = bytes_of(live)
        change(live, undo(1))
        without = bytes_of(live)
        for event in range(2, 7):
            change(live, undo(event))
            assert bytes_of(live) == (with_it if event % 2 == 0 else without)
            assert replayed(path) == bytes_of(live)


def test_twice_unknown_and_refused(path):
    with opened(path) as live:
        change(live, learn([of(1)]))
        change(live, undo(1))
        with pytest.raises(UndoError, match=r"event 1 has been undone already, by event 2\nhint: .*undo event 2"):
            change(live, undo(1))
        for unknown in (3, 0, -1):
            with pytest.raises(UnknownEventError, match="the last event is 2"):
                change(live, undo(unknown))
        assert live.log.last_id == 2


def test_forgotten_rows_are_learned_again(path):
    rows = [of(1), of(2), {"y": None}]
    with opened(path) as live:
        change(live, learn(rows))
        before = bytes_of(live)
        change(live, forget(rows))
        change(live, undo(2))
        assert bytes_of(live) == before == replayed(path)


def test_a_learn_event_whose_rows_were_forgotten_since_is_refused_with_the_reason(path):
    with opened(path) as live:
        change(live, learn([of(1, kind="violet")]))
        change(live, forget([of(1, kind="violet")]))
        change(live, learn([of(1, kind="violet")]))
        before = bytes_of(live)
        with pytest.raises(
            UndoError, match=r"event 1 cannot be undone: event 2 could not .*\nhint: undo event 2 first"
        ):
            change(live, undo(1))
        assert bytes_of(live) == before
        change(live, undo(2))
        change(live, undo(1))
        assert bytes_of(live) == fitted_at_once(path, [of(1, kind="violet")])


def test_a_column_that_an_undone_event_brought_is_read_anew(path):
    with opened(path) as live:
        change(live, learn([of(1, size=1)]))  # a column of numbers
        change(live, learn([of(2, size=1)]))
        assert live.current.model.schema.family_name("size") == "histogram"
        change(live, undo(1))
        change(live, undo(2))
        change(live, learn([of(3, size="large")]))
        assert live.current.model.schema.family_name("size") == "categorical"
        with pytest.raises(UndoError, match="event 5 could not be applied"):
            change(live, undo(3))  # the column would be one of numbers again
        assert bytes_of(live) == fitted_at_once(path, [of(3, size="large")])


def test_a_column_returns_with_the_event_that_brought_it(path):
    with opened(path) as live:
        change(live, learn([of(1, extra="a")]))
        with_it = bytes_of(live)
        change(live, undo(1))
        change(live, undo(2))
        assert bytes_of(live) == with_it == replayed(path)


def test_a_label_returns_with_the_event_that_brought_it(path):
    with opened(path) as live:
        change(live, learn([of(1, y="new")]))
        with_it = bytes_of(live)
        change(live, undo(1))
        change(live, undo(2))
        assert bytes_of(live) == with_it == replayed(path)
        change(live, learn([of(2, y="new")]))
        change(live, undo(3))
        assert bytes_of(live) == replayed(path) == fitted_at_once(path, [of(2, y="new")])


def test_rows_that_were_forgotten_again_are_known_to_be_forgotten(path):
    with opened(path) as live:
        change(live, learn([of(1, kind="violet")]))
        change(live, forget([of(1, kind="violet")]))
        without = bytes_of(live)
        change(live, undo(2))
        change(live, undo(3))  # forgotten again
        assert bytes_of(live) == without == replayed(path)
        with pytest.raises(UndoError, match="event 2 could not be applied without it"):
            change(live, undo(1))


def test_a_column_without_counts_stays_when_another_event_is_undone(path):
    with opened(path) as live:
        change(live, learn([of(1), of(2, extra=1, y=None)]))  # the column comes with a row that is skipped
        before = bytes_of(live)
        change(live, learn([of(3)]))
        change(live, undo(2))
        assert bytes_of(live) == before == replayed(path)


def test_an_undo_that_cannot_be_stored_changes_nothing(path):
    with opened(path) as live:
        change(live, learn([of(1, extra="a")]))
        before, formative = bytes_of(live), list(live._history.formative)
        live.log._writer.execute("PRAGMA query_only = ON")
        with pytest.raises(NotWritableError, match="attempt to write a readonly database"):
            change(live, undo(1))
        live.log._writer.execute("PRAGMA query_only = OFF")
        assert (bytes_of(live), live._history.formative) == (before, formative) == (replayed(path), [1])
        change(live, learn([of(2)]))
        change(live, undo(1))
        assert bytes_of(live) == replayed(path) == fitted_at_once(path, [of(2)])


def test_a_histogram_becomes_fine_again(tmp_path):
    rng = np.random.default_rng(0)
    rows = [{"x": float(x), "y": "pq"[i % 2]} for i, x in enumerate(rng.normal(size=1500))]
    path = saved_base(tmp_path, tb.fit(rows[:20], label="y", families={"x": "histogram"}))
    with opened(path) as live:
        change(live, learn(rows[20:1000]))
        fine = bytes_of(live)
        change(live, learn(rows[1000:]))  # more than 1,024 different values: the grid becomes coarser
        change(live, undo(2))
        assert bytes_of(live) == fine


def test_a_limited_vocabulary_gets_its_names_back(tmp_path):
    families = {"note": "text:counts,tf=count,k=1,max_tokens=4"}
    rows = [{"note": note, "y": "pq"[i % 2]} for i, note in enumerate(["a b", "b c", "c d e", "f g h i", "a a", "z"])]
    path = saved_base(tmp_path, tb.fit(rows[:2], label="y", families=families))
    with opened(path) as live:
        try_all(live, [learn([row]) for row in (rows[2], rows[4], rows[5])])
        expected = bytes_of(live)
        change(live, undo(3))
        change(live, undo(2))
        change(live, undo(1))
        try_all(live, [learn([row]) for row in rows[2:]])
        change(live, undo(8))
        assert bytes_of(live) == expected == replayed(path, group_rows=1)


def test_column_weights_of_a_label_that_was_forgotten_return(tmp_path):
    rows = [{"x": "ab"[i % 2], "z": float(i), "y": "pqr"[i % 3]} for i in range(60)]
    path = saved_base(tmp_path, tb.fit(rows, label="y"))
    with opened(path) as live:
        before = bytes_of(live)
        change(live, forget([row for row in rows if row["y"] == "r"]))
        assert live.current.model.classes == ["p", "q"]
        change(live, undo(1))
        assert bytes_of(live) == before


def test_decisions_and_calibrations_return_to_what_they_were(tmp_path):
    rows = [{"x": "ab"[i % 2], "y": "pq"[i % 3 == 0]} for i in range(60)]
    path = saved_base(tmp_path, tb.fit(rows, label="y"))
    with opened(path) as live:
        change(live, ChangeRequest("decide", settings={"positive": "q", "threshold": 0.25}))
        change(live, ChangeRequest.of_rows("calibrate", rows, settings={"method": "temperature"}))
        after = bytes_of(live)
        assert live.current.model.calibration.method == "temperature"
        change(live, learn(rows[:1]))
        change(live, ChangeRequest("decide", settings={"positive": "q", "threshold": 0.75}))
        change(live, undo(4))
        change(live, undo(3))
        assert bytes_of(live) == after
        change(live, undo(2))
        assert live.current.model.calibration is None
        assert live.current.model.decision.threshold == 0.25
        change(live, undo(1))
        assert bytes_of(live) == path.read_bytes()
        change(live, undo(8))  # the decision again
        assert live.current.model.decision.threshold == 0.25
        assert replayed(path) == bytes_of(live)


def test_a_model_that_was_replaced_returns(path, tmp_path):
    other = tb.fit([of(i) for i in range(6)], label="y", families={"kind": "categorical"})
    other.save(tmp_path / "other.tally")
    data = (tmp_path / "other.tally").read_bytes()
    with opened(path) as live:
        change(live, learn([of(1)]))
        change(live, ChangeRequest("replace", data, "application/vnd.tallybayes.model"))
        assert bytes_of(live) == data
        change(live, learn([of(2)]))
        change(live, undo(2))
        assert bytes_of(live) == fitted_at_once(path, [of(1), of(2)])
    with opened(path) as live:
        assert bytes_of(live) == fitted_at_once(path, [of(1), of(2)])


def test_folded_events_cannot_be_undone_and_say_so(path):
    with opened(path) as live:
        try_all(live, [learn([of(i)], key=f"key {i}") for i in range(10)])
        change(live, undo(3))
        before = bytes_of(live)
    result = compact(ModelFiles.of(path), keep=4)
    assert (result.folded, result.last, result.left) == (7, 7, 4)
    with opened(path) as live:
        assert bytes_of(live) == before
        for event in (3, 7, 11):  # 11 undid event 3, which was folded
            with pytest.raises(TallyError, match=r"folded into the base|has been undone"):
                change(live, undo(event))
        change(live, undo(9))
        assert bytes_of(live) == fitted_at_once(path, [of(7), of(9)])
        again = change(live, learn([of(2)], key="key 2"))  # the key of a folded event is still known
        assert again == Applied(3, 3, "learn", 1, 0, (), repeated=True)
        with pytest.raises(TallyError, match="folded into the base"):
            live.log.get(2).row_values()
        assert live.log.get(2).summary == "learned 1 row"


def test_undo_from_a_snapshot_and_from_the_base_agree(path):
    with opened(path) as live:
        try_all(live, [learn([of(i, extra=i % 3)]) for i in range(5)])
    with opened(path) as live:  # the snapshot is after event 5
        try_all(live, [learn([of(i, later=i % 2)]) for i in range(5, 10)])
        change(live, undo(7))
        assert replayed(path) == bytes_of(live)
        change(live, undo(2))
        assert replayed(path) == bytes_of(live)
        now = bytes_of(live)
    with opened(path) as live:
        assert bytes_of(live) == now


def test_events_are_listed_with_their_rows(path):
    with opened(path) as live:
        change(live, learn([of(1)], who="ann", key="k"))
        event = live.log.get(1)
        assert event.row_values() == [of(1)]
        facts = event.to_dict()
        assert (facts["event"], facts["kind"], facts["who"], facts["rows"]) == (1, "learn", "ann", 1)
        assert (facts["key"], facts["undone_by"], facts["summary"]) == ("k", None, "learned 1 row")
        json.dumps(facts)
