"""A damaged write-ahead log, of which SQLite drops the rest without a word: the loss is noticed and reported."""

import contextlib
import os
import shutil

import pytest
from hosting import bytes_of, change, learn, opened, saved_base
from running_server import RunningServer

from tallybayes.errors import FileError
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.last_event import LastEvent
from tallybayes.server.events.log_proof import prove
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.model_history import compact

N = 12


def row(i):
    return {"flag": i % 2 == 0, "kind": f"kind {i % 7}", "real": i / 4, "note": f"cash {i}", "y": "pq"[i % 2]}


@pytest.fixture
def crashed(tmp_path):
    """A folder as a crash leaves it: twelve acknowledged events, all in the write-ahead log; and the model's bytes."""
    path = saved_base(tmp_path)
    with opened(path) as live:
        for i in range(N):
            change(live, learn([row(i)]))
        shutil.copytree(tmp_path, tmp_path / "copy", ignore=lambda folder, names: ["copy"])
        expected = bytes_of(live)
    return tmp_path / "copy" / "model.tally", expected


def ahead_of(path):
    return path.with_suffix(".log-wal")


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("damage", [flip, cut, os.unlink])
def test_acknowledged_events_that_are_lost_are_reported_and_nothing_is_changed(crashed, damage):
    path, _ = crashed
    damage(ahead_of(path))
    before = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.suffix in (".log", ".log-wal")}
    left = EventLog(path.with_suffix(".log"), read_only=True).last_id if damage is not os.unlink else 0
    assert left < N
    what = rf"model\.log: the log is damaged: it ends with event {left}, but event {N} was acknowledged; {N - left} "
    what += r"acknowledged events? .{2,3} missing\nhint: restore .*-wal from a copy .* remove .*model\.log-last"
    files = ModelFiles.of(path)
    for use in (lambda: opened(path).__enter__(), lambda: prove(files), lambda: compact(files)):
        with pytest.raises(FileError, match=what):
            use()
    after = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.suffix in (".log", ".log-wal")}
    assert before.items() <= after.items()  # what can be rescued is still there
    with pytest.raises(RuntimeError, match=what):
        RunningServer(path)
    path.with_suffix(".log-last").unlink()  # as the hint says
    with opened(path) as live:
        assert live.log.last_id == left
        assert change(live, learn([row(99)])).event == left + 1


def test_a_log_of_other_events_is_reported(crashed, tmp_path):
    path, _ = crashed
    other = saved_base(tmp_path, name="other")
    with opened(other) as live:
        for i in range(N):
            change(live, learn([row(i + 1)]))
    shutil.copy(other.with_suffix(".log-last"), path.with_suffix(".log-last"))
    with pytest.raises(FileError, match=f"event {N} is not the acknowledged one"), opened(path):
        pass


def test_a_crash_before_the_event_is_noted_is_no_alarm(crashed):
    """Whatever is on the disk of the small file: an older record, a part of one, nothing, or no file."""
    path, expected = crashed
    note = path.with_suffix(".log-last")
    newest = note.read_bytes()
    with contextlib.closing(EventLog(path.with_suffix(".log"), read_only=True)) as log:
        older = log.get(3)
    LastEvent(str(path.with_suffix(".log"))).write(3, older.checksum)
    for content in (note.read_bytes(), newest[:40], newest[:-3] + b"0" * 3, b"", None):
        note.unlink(missing_ok=True)
        if content is not None:
            note.write_bytes(content)
        with opened(path) as live:
            assert bytes_of(live) == expected
        assert LastEvent(str(path.with_suffix(".log"))).read()[0] == N  # it is known again


def test_a_reader_beside_a_server_sees_no_loss(tmp_path):
    path = saved_base(tmp_path)
    with opened(path) as live:
        for i in range(20):
            change(live, learn([row(i)]))
            with opened(path, read_only=True) as reader:
                assert reader.log.last_id == i + 1
