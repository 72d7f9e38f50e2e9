"""tally log: listing, exporting, verifying and compacting; and what other commands do to a model with a log."""

import json
import warnings

import pyarrow.parquet as pq
import pytest
from hosting import bytes_of, change, learn, opened, saved_base, try_all, undo
from typer.testing import CliRunner

from tallybayes.cli.main import app
from tallybayes.errors import FileError


def tally(*arguments):
    """What a command prints; its error is raised."""
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def row(i):
    return {"kind": f"kind {i % 3}", "real": i / 4, "y": "pq"[i % 2]}


@pytest.fixture
def hosted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = saved_base(tmp_path, name="pets")
    with opened(path) as live:
        try_all(live, [learn([row(i)], who="ann", key=f"k{i}") for i in range(10)])
        change(live, undo(3, who="bob"))
        expected = bytes_of(live)
    return path, expected


def test_list(hosted):
    out = tally("log", "list", "pets.tally", "-n", "9")
    lines = out.splitlines()
    assert lines[0].split() == ["event", "time", "who", "change"]
    assert lines[1].split()[0] == "11"
    assert lines[1].endswith("bob   undid event 3")
    assert lines[9].endswith("learned 1 row (undone by event 11)")
    found = json.loads(tally("log", "list", "pets.tally", "--who", "bob", "--json"))
    assert [event["event"] for event in found["events"]] == [11]
    assert json.loads(tally("log", "list", "pets.tally", "--kind", "forget", "--json"))["events"] == []


def test_list_and_export_while_a_server_has_the_model(hosted, tmp_path):
    with opened(hosted[0]) as live:
        change(live, learn([row(11)]))
        assert "learned 1 row" in tally("log", "list", "pets.tally").splitlines()[1]
        tally("log", "export", "pets.tally", "-o", "events.parquet")
        with pytest.raises(FileError, match="that no other server uses, but process"):
            tally("log", "compact", "pets.tally")
    events = pq.read_table(tmp_path / "events.parquet").to_pylist()
    assert [event["event"] for event in events] == list(range(1, 13))
    assert json.loads(events[4]["data"]) == [row(4)]
    assert events[2]["undone_by"] == 11


def test_verify_says_what_it_proved(hosted):
    out = tally("log", "verify", "pets.tally")
    assert "log: 11 events; every checksum matches" in out
    assert "in large groups, then one event after the other: the same bytes" in out
    assert "the snapshot after event 11 and the events since: the same bytes" in out
    facts = json.loads(tally("log", "verify", "pets.tally", "--json"))
    assert (facts["events"], facts["undone"], facts["snapshot"]) == (11, 1, "equal")
    assert facts["bytes"] == len(hosted[1])


def test_compact_keeps_the_model_and_the_last_changes(hosted):
    out = tally("log", "compact", "pets.tally", "--keep", "3")
    assert out.startswith("folded 8 changes into pets.tally; 3 can still be undone")
    assert "11 events, 8 of them folded" in tally("log", "verify", "pets.tally")
    assert "learned 1 row (folded)" in tally("log", "list", "pets.tally")
    with opened(hosted[0]) as live:
        assert bytes_of(live) == hosted[1]
    out = tally("log", "compact", "pets.tally")
    assert out.startswith("folded 3 changes into pets.tally; 0 can still be undone")
    assert hosted[0].read_bytes() == hosted[1]
    assert "folded 0 changes" in tally("log", "compact", "pets.tally")


def test_other_commands_do_not_change_the_base_of_a_log(hosted, tmp_path):
    (tmp_path / "new.csv").write_text("kind,real,y\nkind 1,2.5,p\n")
    before = hosted[0].read_bytes()
    warnings.filterwarnings("ignore", "columns of the model that are not in the data")
    for command in (["learn", "pets.tally", "new.csv"], ["decide", "pets.tally", "--abstain", "0.5", "--in-place"]):
        with pytest.raises(FileError, match=r"without a log, got the base of a log of 11 changes\n.*tally log compact"):
            tally(*command)
    assert hosted[0].read_bytes() == before
    tally("log", "compact", "pets.tally")
    tally("learn", "pets.tally", "new.csv")
    with opened(hosted[0]) as live:
        assert bytes_of(live) == hosted[0].read_bytes() != hosted[1]
        with pytest.raises(FileError, match="that no other server uses"):
            tally("learn", "pets.tally", "new.csv")


def test_a_model_without_a_log_is_an_error_with_a_hint(tmp_path):
    path = saved_base(tmp_path, name="plain")
    with pytest.raises(FileError, match=r"a model with a log, got one without\nhint: tally serve begins a log"):
        tally("log", "list", path)
