"""Compaction that is interrupted at any step leaves the model as it was, and can be repeated."""

import pytest
from hosting import bytes_of, change, learn, opened, saved_base, try_all, undo

from tallybayes.server.events import model_history
from tallybayes.server.events.event_log import EventLog
from tallybayes.server.events.log_proof import prove
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.model_history import compact


class Crash(BaseException):
    """The end of the process."""


def row(i):
    return {"kind": f"kind {i % 3}", "real": i / 4, "level": float(i), "y": "pq"[i % 2]}


@pytest.fixture
def hosted(tmp_path):
    path = saved_base(tmp_path)
    with opened(path) as live:
        try_all(live, [learn([row(i)], key=f"k{i}") for i in range(8)])
        change(live, undo(2))
        change(live, learn([row(9)]))
        expected = bytes_of(live)
    return path, expected


def crash(monkeypatch, target, name, when):
    own = getattr(target, name)

    def crashing(*arguments, **more):
        if when == "after":
            own(*arguments, **more)
        raise Crash

    monkeypatch.setattr(target, name, crashing)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", ["set_facts", "write_file", "drop_rows", "shrink"])
@pytest.mark.parametrize("keep", [0, 3])
def test_a_crash_at_any_step(hosted, monkeypatch, step, when, keep):
    path, expected = hosted
    with monkeypatch.context() as patched:
        crash(patched, model_history if step == "write_file" else EventLog, step, when)
        with pytest.raises(Crash):
            compact(ModelFiles.of(path), keep=keep)
    if when == "after":
        with opened(path, read_only=True) as live:
            assert bytes_of(live) == expected
    with opened(path) as live:
        assert bytes_of(live) == expected
        assert change(live, learn([row(3)], key="k3")).repeated
    assert prove(ModelFiles.of(path)).facts["events"] == 10
    compact(ModelFiles.of(path))
    assert path.read_bytes() == expected


def test_events_go_on_after_compaction_and_can_be_undone(hosted):
    path, expected = hosted
    compact(ModelFiles.of(path))
    with opened(path) as live:
        assert change(live, learn([row(20)])).event == 11
        change(live, undo(11))
        assert bytes_of(live) == expected
    assert prove(ModelFiles.of(path)).facts["folded"] == 10
