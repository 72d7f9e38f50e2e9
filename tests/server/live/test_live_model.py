"""The writer of a hosted model: groups, refusals, idempotency keys, versions, readers and the folder of models."""

import io
import threading
import time

import pyarrow as pa
import pytest
from hosting import bytes_of, change, fitted_at_once, forget, learn, opened, saved_base, try_all, undo

import models
from tallybayes.errors import DataError, FileError, ForgetError, ParameterError, TallyError
from tallybayes.model.saved_model import dumps
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.event_rows import ARROW
from tallybayes.server.live.change_request import Applied, ChangeRequest, KeyReuseError, NotWritableError, VersionError
from tallybayes.server.live.live_model import LiveModel
from tallybayes.server.live.model_folder import ModelFolder


def row(i, **more):
    return {"kind": f"kind {i % 3}", "real": i / 4, "note": f"cash {i % 5}", "y": "pq"[i % 2]} | more


@pytest.fixture
def path(tmp_path):
    return saved_base(tmp_path)


def test_a_bad_request_in_a_group_fails_alone(path):
    bad = [
        learn([row(3, real="many")]),
        forget([row(1, kind="never")]),
        learn([{"nothing": 1}]),
        learn([row(5, flag="perhaps")]),
    ]
    good = [learn([row(i)]) for i in range(20)]
    mixed = [*good[:7], bad[0], *good[7:9], bad[1], bad[2], *good[9:], bad[3]]
    with opened(path) as live:
        results = try_all(live, mixed)
        refused = [result for result in results if isinstance(result, TallyError)]
        assert [type(error) for error in refused[:2]] == [DataError, ForgetError]
        assert len(refused) == 4
        accepted = [
            request.data[0] for request, result in zip(mixed, results, strict=True) if isinstance(result, Applied)
        ]
        assert [event.id for event in live.log.page(after=0, limit=100)] == list(range(1, len(accepted) + 1))
        assert bytes_of(live) == fitted_at_once(path, accepted)


def test_the_same_key_is_applied_once_and_answered_again(path):
    with opened(path) as live:
        results = try_all(live, [learn([row(1)], key="a")] * 3 + [learn([row(2)], key="a"), learn([row(2)], key="b")])
        assert [result.event for result in (*results[:3], results[4])] == [1, 1, 1, 2]
        assert [result.repeated for result in results[:3]] == [False, True, True]
        assert isinstance(results[3], KeyReuseError)
        assert "another change" in str(results[3])
    with opened(path) as live:
        assert change(live, learn([row(1)], key="a")) == Applied(1, 1, "learn", 1, repeated=True)
        with pytest.raises(KeyReuseError):
            change(live, forget([row(1)], key="a"))
        with pytest.raises(KeyReuseError):
            change(live, undo(1, key="a"))
        assert change(live, undo(1, key="u")).event == 3
        assert change(live, undo(1, key="u")) == Applied(3, 3, "undo", repeated=True)
        assert live.log.last_id == 3


def test_a_refused_change_does_not_use_up_its_key(path):
    with opened(path) as live:
        with pytest.raises(DataError):
            change(live, learn([row(1, real="many")], key="a"))
        assert change(live, learn([row(1)], key="a")).event == 1


def test_versions_that_differ_are_refused(path):
    with opened(path) as live:
        results = try_all(live, [learn([row(1)]), learn([row(2)], if_version=0), learn([row(3)], if_version=1)])
        assert [type(result) for result in results] == [Applied, VersionError, Applied]
        with pytest.raises(VersionError, match="expected a model of version 1, got 2"):
            change(live, undo(1, if_version=1))
        assert change(live, undo(1, if_version=2)).version == 3


def test_arrow_and_json_rows_are_the_same(path):
    table = pa.Table.from_pylist([row(i) for i in range(30)])
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    with opened(path) as live:
        applied = change(live, ChangeRequest("learn", stream.getvalue(), ARROW))
        assert applied.rows == 30
        assert bytes_of(live) == fitted_at_once(path, [row(i) for i in range(30)])
        assert live.log.get(1).row_values() == [row(i) for i in range(30)]
        with pytest.raises(DataError, match="not an Arrow stream"):
            change(live, ChangeRequest("learn", b"nonsense", ARROW))
        with pytest.raises(ParameterError, match="expected rows of type"):
            change(live, ChangeRequest("learn", b"[]", "text/plain"))


def test_nothing_is_visible_before_it_is_committed(path, monkeypatch):
    """While the disk is busy with the commit, readers see the model before it."""
    waiting, go_on = threading.Event(), threading.Event()
    append = EventLog.append

    def slow(self, events):
        waiting.set()
        assert go_on.wait(30)
        return append(self, events)

    with opened(path) as live:
        before = bytes_of(live)
        monkeypatch.setattr(EventLog, "append", slow)
        future = live.submit(learn([row(1)]))
        assert waiting.wait(30)
        time.sleep(0.05)
        assert (bytes_of(live), live.current.version, future.done()) == (before, 0, False)
        go_on.set()
        assert future.result(30).event == 1
        assert live.current.version == 1


def test_an_error_that_nobody_expected_hits_one_request_only(path, monkeypatch):
    from tallybayes.server.events.hosted_state import HostedState

    own = HostedState.learn_together

    def failing(self, rows):
        if any(row["kind"] == "kind 2" for row in rows):
            raise RuntimeError("a mistake in the program")
        own(self, rows)

    monkeypatch.setattr(HostedState, "learn_together", failing)
    with opened(path) as live:
        futures = [live.submit(learn([row(i)])) for i in range(6)]
        failed = [isinstance(future.exception(30), RuntimeError) for future in futures]
        assert failed == [False, False, True, False, False, True]
        assert bytes_of(live) == fitted_at_once(path, [row(i) for i in (0, 1, 3, 4)])


def test_closing_finishes_what_was_accepted_and_refuses_the_rest(path):
    live = LiveModel.open(path)
    futures = [live.submit(learn([row(i)])) for i in range(50)]
    live.close()
    assert all(future.result(0).event for future in futures)
    with pytest.raises(NotWritableError, match="being closed"):
        change(live, learn([row(1)]))
    with opened(path) as live:
        assert live.log.last_id == 50


def test_readers_see_versions_in_order_while_the_writer_works(path):
    seen, stop = [], threading.Event()

    def read(live):
        while not stop.is_set():
            published = live.current
            rows = sum(published.model.class_counts.values())
            published.model.predict_proba_one({"kind": "kind 1", "real": 0.5})
            seen.append((published.version, rows))

    with opened(path) as live:
        first = sum(live.current.model.class_counts.values())
        thread = threading.Thread(target=read, args=(live,))
        thread.start()
        for i in range(30):
            change(live, learn([row(i)]))
        stop.set()
        thread.join()
    assert seen == sorted(seen)
    assert all(rows == first + version for version, rows in seen)


def test_subscribers_are_told_after_each_publication(path):
    told = []
    with opened(path) as live:
        unsubscribe = live.subscribe(lambda published, events: told.append((published.version, [e.id for e in events])))
        live.subscribe(lambda published, events: 1 / 0)  # one that fails hinders nobody
        change(live, learn([row(1)]))
        change(live, learn([row(2)]))
        unsubscribe()
        change(live, learn([row(3)]))
    assert told == [(1, [1]), (2, [2])]


def test_a_folder_of_models(tmp_path):
    saved_base(tmp_path, name="one")
    with ModelFolder.open(tmp_path) as folder:
        assert list(folder) == ["one"]
        with pytest.raises(FileError, match=r"the folder .* that no other server uses"):
            ModelFolder.open(tmp_path)
        folder.add("two", dumps(models.tiny())).result(30)
        assert folder["two"].current.version == 0
        change(folder["two"], learn([{"x": 1.0, "y": "a"}]))
        applied = folder.add("one", dumps(models.tiny())).result(30)
        assert (applied.kind, applied.event) == ("replace", 1)
        assert folder["one"].current.model.classes == ["a", "b"]
        for name in ("../three", "", ".hidden", "a/b"):
            with pytest.raises(ParameterError, match="a name of letters"):
                folder.add(name, dumps(models.tiny()))
        with pytest.raises(FileError):
            folder.add("three", b"not a model")
        with pytest.raises(ParameterError, match="did you mean 'two'"):
            folder.find("tow")
    with ModelFolder.open(tmp_path) as folder:
        assert {name: live.current.version for name, live in folder.items()} == {"one": 1, "two": 1}
        folder.remove("two")
        assert sorted(own.name for own in tmp_path.iterdir() if own.name.startswith("two")) == []
        folder.add("two", dumps(models.tiny())).result(30)
        assert folder["two"].current.version == 0
    with ModelFolder.open(tmp_path / "one.tally") as single, pytest.raises(FileError, match="a single model"):
        single.add("three", dumps(models.tiny()))


def test_a_model_of_given_probabilities_is_served_read_only(tmp_path):
    path = saved_base(tmp_path, models.written())
    with opened(path) as live:
        assert bytes_of(live) == path.read_bytes()
        assert live.current.model.predict({"test": "+"}).tolist() == models.written().predict({"test": "+"}).tolist()
        with pytest.raises(NotWritableError, match="is read-only: it was made from given probabilities"):
            change(live, learn([{"test": "+", "ill": 1}]))
        live.stream_summary()
