"""Damage of the log or the snapshot is found: the model is right, or an error tells where it is."""

import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hosting import bytes_of, change, fitted_at_once, learn, opened, saved_base, try_all, undo

import tallybayes as tb
from tallybayes.errors import DataWarning, FileError
from tallybayes.model.saved_model import dumps
from tallybayes.server.events.event_log import FORMAT, EventLog
from tallybayes.server.events.log_proof import _compare_snapshot, prove
from tallybayes.server.events.model_files import ModelFiles
from tallybayes.server.events.model_history import ModelHistory, compact
from tallybayes.server.live.live_model import LiveModel


def row(i):
    return {"flag": i % 2 == 0, "kind": f"kind {i % 7}", "real": i / 4, "note": f"cash {i}", "y": "pq"[i % 2]}


@pytest.fixture(scope="module")
def hosted(tmp_path_factory):
    """A folder with a model, a log of 60 events and a snapshot; and the bytes of the model."""
    folder = tmp_path_factory.mktemp("hosted")
    path = saved_base(folder)
    with opened(path) as live:
        try_all(live, [learn([row(i)], key=f"key {i}", who="ann") for i in range(50)])
        change(live, undo(7))
    with opened(path) as live:
        try_all(live, [learn([row(i)]) for i in range(50, 59)])
        expected = bytes_of(live)
    return folder, expected


@pytest.fixture
def copied(hosted, tmp_path):
    """A copy of the hosted model to be damaged."""
    shutil.copytree(hosted[0], tmp_path, dirs_exist_ok=True)
    return tmp_path / "model.tally", hosted[1]


def damage(path, rng):
    """Flip, overwrite, cut or insert at a random place."""
    data = bytearray(path.read_bytes())
    place, kind = rng.randrange(len(data)), rng.choice(["bit", "byte", "zeros", "cut", "swap"])
    if kind == "bit":
        data[place] ^= 1 << rng.randrange(8)
    elif kind == "byte":
        data[place] = rng.randrange(256)
    elif kind == "zeros":
        data[place : place + 64] = bytes(len(data[place : place + 64]))
    elif kind == "cut":
        del data[place:]
    else:
        other = rng.randrange(len(data))
        data[place : place + 16], data[other : other + 16] = data[other : other + 16], data[place : place + 16]
    path.write_bytes(data)


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")
@pytest.mark.parametrize("suffix", [".log", ".snapshot", ".tally"])
def test_damage_anywhere_gives_the_right_model_or_an_error(hosted, tmp_path, suffix):
    rng, n_found = random.Random(suffix), 0
    for number in range(60 if suffix == ".log" else 15):
        folder = tmp_path / str(number)
        shutil.copytree(hosted[0], folder)
        path = folder / "model.tally"
        damage(path.with_suffix(suffix), rng)
        try:
            with opened(path) as live:
                assert bytes_of(live) == hosted[1]
                for event in live.log.page(after=0, limit=-1):
                    own = live.log.get(event.id)
                    assert own.kind == "undo" or own.row_values() == [row(event.id - 1 - (event.id > 51))]
                for i in range(0, 50, 5):  # a known key is still known: nothing is learned twice
                    assert change(live, learn([row(i)], key=f"key {i}", who="ann")).repeated
        except FileError:
            n_found += 1
        shutil.rmtree(folder)
    assert n_found > 5 or suffix == ".snapshot"


def test_a_damaged_snapshot_is_a_warning_and_the_log_is_replayed(copied):
    path, expected = copied
    snapshot = path.with_suffix(".snapshot")
    data = bytearray(snapshot.read_bytes())
    data[-100] ^= 1
    snapshot.write_bytes(data)
    with (
        pytest.warns(DataWarning, match="the snapshot is damaged: checksum mismatch; the log is replayed"),
        opened(path) as live,
    ):
        assert bytes_of(live) == expected
    with opened(path) as live:  # a new one was written
        assert bytes_of(live) == expected


def edit(path, statement, *values):
    with contextlib.closing(sqlite3.connect(path.with_suffix(".log"))) as connection:
        connection.execute(statement, values)
        connection.commit()


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        (
            "UPDATE events SET rows = CAST(replace(CAST(rows AS TEXT), 'kind 3', 'kind 4') AS BLOB) WHERE id = 18",
            "event 18: checksum mismatch",
        ),
        ("UPDATE events SET who = 'eve' WHERE id = 18", "event 18: checksum mismatch"),
        ("UPDATE events SET n_rows = 2 WHERE id = 18", "event 18: checksum mismatch"),
        ("DELETE FROM events WHERE id = 18", "event 18: the event is missing"),
        ("UPDATE events SET undoes = 8 WHERE id = 51", "event 51: checksum mismatch"),
        ("DELETE FROM events WHERE id > 55", "the log ends with event 55, but the snapshot has event 60"),
    ],
)
def test_a_forged_log_is_an_error_that_names_the_event(copied, statement, what):
    path, _ = copied
    edit(path, statement)
    path.with_suffix(".log-last" if "snapshot" in what else ".snapshot").unlink()
    with pytest.raises(FileError, match=what):
        LiveModel.open(path)
    if "snapshot" not in what:
        with pytest.raises(FileError, match=what):
            prove(ModelFiles.of(path))


def test_a_snapshot_that_a_server_writes_meanwhile_is_no_damage(copied):
    path, expected = copied
    files = ModelFiles.of(path)
    with contextlib.closing(EventLog(files.log, read_only=True)) as log, opened(path) as live:
        change(live, learn([row(100)]))
        change(live, undo(3))
        live._snapshot_task()()
        history = ModelHistory(files, log)
        assert dumps(tb.Model(history.load())) == expected
        assert _compare_snapshot(files, history, expected) == ("newer", 62)
        assert prove(files).facts["snapshot"] == "equal"


def test_a_log_that_lost_events_is_found_by_a_reader_too(copied):
    path, _ = copied
    edit(path, "DELETE FROM events WHERE id > 55")
    readers = (lambda: LiveModel.open(path, read_only=True), lambda: prove(ModelFiles.of(path)))
    for reader in readers:
        with pytest.raises(FileError, match="ends with event 55, but event 60 was acknowledged; 5 acknowledged events"):
            reader()
    path.with_suffix(".log-last").unlink()
    for reader in readers:
        with pytest.raises(FileError, match="the log ends with event 55, but the snapshot has event 60"):
            reader()


def test_a_base_that_was_changed_while_there_are_events_is_refused(copied):
    path, _ = copied
    with tb.edit_model_file(path) as model:
        model.learn([row(1)])
    with pytest.raises(FileError, match=r"(?s)expected the model that the log .* continues, .*hint: restore the file"):
        LiveModel.open(path)


def test_a_base_without_events_after_it_may_be_changed(tmp_path):
    path = saved_base(tmp_path)
    with opened(path):
        pass
    with tb.edit_model_file(path) as model:
        model.learn([row(1)])
    with opened(path) as live:
        assert bytes_of(live) == path.read_bytes()
        change(live, learn([row(2)]))
        assert bytes_of(live) == fitted_at_once(path, [row(2)])


def test_another_format_of_the_log_is_refused(copied):
    path, _ = copied
    edit(path, "UPDATE facts SET value = '99' WHERE name = 'format'")
    with pytest.raises(FileError, match=f"expected a log of format {FORMAT}, got 99"):
        LiveModel.open(path)


def test_the_clock_may_go_back(tmp_path, monkeypatch):
    path = saved_base(tmp_path)
    times = iter(["2026-05-05T12:00:00.000Z", "2026-05-05T11:00:00.000Z", "1999-01-01T00:00:00.000Z"])
    monkeypatch.setattr("tallybayes.server.live.live_model._now", lambda: next(times))
    with opened(path) as live:
        for i in range(3):
            change(live, learn([row(i)]))
        expected = bytes_of(live)
        assert [event.id for event in live.log.page(after=0)] == [1, 2, 3]
    path.with_suffix(".snapshot").unlink()
    with opened(path) as live:
        assert bytes_of(live) == expected


def test_a_read_only_disk_serves_and_refuses_changes(copied):
    path, expected = copied
    with LiveModel.open(path, read_only=True) as live:
        assert bytes_of(live) == expected
        with pytest.raises(FileError, match="the model 'model' is read-only: it was opened for reading only"):
            change(live, learn([row(1)]))
        assert live.log.get(3).row_values() == [row(2)]


FULL = """
import resource, signal, sys
sys.path[:0] = sys.argv[2:]
from hosting import bytes_of, change, fitted_at_once, learn, opened
from tallybayes.server.live.change_request import NotWritableError
path = sys.argv[1]
row = lambda i: {"kind": "k" * 2000 + str(i), "y": "p"}
with opened(path) as live:
    change(live, learn([row(0)]))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    done = 1
    for i in range(1, 400):
        try:
            change(live, learn([row(i)]))
            done += 1
        except NotWritableError as error:
            assert "cannot be stored" in str(error) and "nothing was changed" in str(error), error
            break
    else:
        raise SystemExit("the disk was never full")
    before = bytes_of(live)
    assert live.current.version == done
    live.current.model.predict({"kind": "x"})
    try:
        change(live, learn([row(999)]))
        raise SystemExit("a change was accepted that cannot be stored")
    except NotWritableError:
        assert bytes_of(live) == before
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    change(live, learn([row(done)]))
    assert live.current.version == done + 1
with opened(path) as live:
    assert bytes_of(live) == fitted_at_once(path, [row(i) for i in range(done + 1)])
print("fine", done)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of file sizes")
def test_a_full_disk_refuses_changes_loses_nothing_and_goes_on(tmp_path):
    path = saved_base(tmp_path)
    folders = [str(folder) for folder in Path(__file__).parents[1:3]]
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path), *folders], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.startswith("fine"), done.stdout + done.stderr


def test_a_disk_that_is_really_full(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk can be mounted by root only")
    try:
        path, big = saved_base(folder), [{"kind": "k" * 3000 + str(i), "y": "p"} for i in range(300)]
        with opened(path) as live:
            results = try_all(live, [learn([own]) for own in big[:1]])
            while not isinstance(results[-1], FileError):
                results += try_all(live, [learn([big[len(results)]])])
            n_done = len(results) - 1
            assert "full" in str(results[-1])
            assert bytes_of(live) == fitted_at_once(path, big[:n_done])
        with opened(path) as live:
            assert bytes_of(live) == fitted_at_once(path, big[:n_done])
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_two_processes_on_one_model_are_refused(tmp_path):
    path = saved_base(tmp_path)
    with (
        opened(path),
        pytest.raises(FileError, match=r"expected the model 'model' that no other server uses, but process \d+ has"),
    ):
        LiveModel.open(path)
    with opened(path):
        pass


def test_a_log_that_was_cut_while_it_was_created_is_begun_anew(tmp_path):
    path = saved_base(tmp_path)
    log = path.with_suffix(".log")
    with contextlib.closing(sqlite3.connect(log)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    with LiveModel.open(path, read_only=True) as live:
        assert dumps(live.current.model) == path.read_bytes()
    with opened(path) as live:
        assert change(live, learn([row(1)])).event == 1
    assert EventLog(log, read_only=True).last_id == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_log_and_snapshot_are_for_their_owner_only(tmp_path):
    path = saved_base(tmp_path)
    path.chmod(0o644)

    def modes():
        return {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir() if file.suffix != ".lock"}

    before = os.umask(0o022)
    try:
        with opened(path) as live:
            change(live, learn([row(1)]))
            assert modes() == {"model.tally": 0o644} | dict.fromkeys(
                ["model.log", "model.log-wal", "model.log-shm", "model.log-last"], 0o600
            )
        closed = {"model.tally": 0o644, "model.log": 0o600, "model.log-last": 0o600, "model.snapshot": 0o600}
        assert modes() == closed
        for end in (".log", ".snapshot"):
            path.with_suffix(end).chmod(0o640)  # the group may read them
        with opened(path) as live:
            change(live, learn([row(2)]))
        compact(ModelFiles.of(path), keep=1)
        with opened(path) as live:
            change(live, learn([row(3)]))
        assert modes() == closed | {"model.log": 0o640}
    finally:
        os.umask(before)
