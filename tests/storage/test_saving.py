"""Model files on disk: replaced whole or not at all, locked while they are edited."""

import os
import subprocess
import sys
import textwrap
import threading

import pytest

from models import small, tiny
from tables import LABEL
from tallybayes.errors import FileError
from tallybayes.model.saved_model import dumps, edit_model_file, load


def run(script, *arguments, **options):
    """A script in a process of its own; its last line of output."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.tally"
    tiny().save(path)
    return path


def test_a_file_can_be_saved_and_loaded(path):
    assert path.read_bytes() == dumps(tiny())
    assert load(path) == load(str(path)) == tiny()
    small().save(path)
    assert load(path) == small()
    assert [p.name for p in path.parent.iterdir()] == ["model.tally"]


@pytest.mark.parametrize("act", [load, lambda path: edit_model_file(path).__enter__()], ids=["load", "edit_model_file"])
def test_what_cannot_be_read_is_an_error_that_names_it(act, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty").touch()
    (tmp_path / "loop").symlink_to("loop")
    for name, words in (
        ("nothing", "No such file"),
        ("", "directory"),
        ("pipe", "a pipe"),
        ("loop", "symbolic links"),
        ("text.csv", "not a model file"),
        ("empty", "truncated"),
        ("a\0b", "null"),
        ("text.csv/x", "Not a directory"),
    ):
        with pytest.raises(FileError, match=rf"(?s){name if chr(0) not in name else ''}.*{words}"):
            act(tmp_path / name)
    with pytest.raises(FileError, match="a device"):
        load("/dev/zero")


def test_a_large_file_of_another_kind_is_not_read(tmp_path):
    with open(tmp_path / "large.bin", "wb") as file:
        file.truncate(10**13)
    with pytest.raises(FileError, match="not a model file"):
        load(tmp_path / "large.bin")


def test_a_link_stays_a_link_to_the_file_that_is_replaced(path):
    link, broken = path.parent / "link", path.parent / "broken"
    link.symlink_to("model.tally")
    broken.symlink_to("new.tally")
    small().save(link)
    small().save(broken)
    assert link.is_symlink()
    assert broken.is_symlink()
    assert load(path) == load(link) == load(path.parent / "new.tally") == small()
    with edit_model_file(link) as model:
        model.learn({LABEL: "p"})
    assert load(path).class_counts["p"] == 2
    assert link.is_symlink()


def test_permission_denied_is_an_error_and_the_old_file_is_left(path):
    if not hasattr(os, "seteuid"):
        pytest.skip("no users to be")
    print_error = """
        import os, sys, tempfile
        import tallybayes as tb
        from tallybayes.model.saved_model import *
        model = tb.fit({"x": [1.5], "y": [1]}, label="y")
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "m.tally")
            model.save(path)
            os.chmod(path, 0o400)
            os.chmod(directory, 0o555)
            if os.geteuid() == 0:
                os.seteuid(65534)  # to whom everything is allowed, nothing is denied
            said = []
            for act in (lambda: model.save(path), lambda: edit_model_file(path).__enter__()):
                try:
                    act()
                except tb.errors.FileError as error:
                    said.append(str(error))
            if os.getuid() == 0:
                os.seteuid(0)
            os.chmod(directory, 0o755)
            assert os.listdir(directory) == ["m.tally"]
            assert load(path) == model
        print(said)
    """
    said = run(print_error)
    assert said.count("m.tally: the model cannot be") == 2
    assert said.count("Permission denied") == 2


def test_two_processes_that_learn_into_one_file_lose_nothing(path):
    script = """
        import sys
        from tallybayes.model.saved_model import edit_model_file
        path, me, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
        waited = []
        print("ready", flush=True)
        sys.stdin.readline()
        for i in range(rounds):
            with edit_model_file(path, on_wait=lambda: waited.append(i)) as model:
                model.learn({"x": me + i / 8, "y": "ab"[i % 2]})
        print(len(waited))
    """
    rounds, command = 100, [sys.executable, "-c", textwrap.dedent(script), str(path)]
    both = [
        subprocess.Popen([*command, str(me), str(rounds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for me in (10, 20)
    ]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("go\n")
        process.stdin.flush()
    waited = [int(process.communicate(timeout=60)[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    expected = tiny()
    expected.learn([{"x": me + i / 8, "y": "ab"[i % 2]} for me in (10, 20) for i in range(rounds)])
    assert path.read_bytes() == dumps(expected)
    assert sum(waited) > 0
    assert [p.name for p in path.parent.iterdir()] == ["model.tally"]


def test_whoever_edits_second_waits_is_told_so_once_and_sees_what_the_first_did(path):
    inside, go_on, told = threading.Event(), threading.Event(), []

    def first():
        with edit_model_file(path) as model:
            model.learn({"x": 1.0, "y": "a"})
            inside.set()
            go_on.wait(10)

    def on_wait():
        told.append("waiting")
        go_on.set()

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(10)
    with edit_model_file(path, on_wait=on_wait) as model:
        assert model.class_counts == {"a": 2, "b": 2}
    thread.join()
    assert told == ["waiting"]


def test_an_exception_while_editing_leaves_the_file_and_frees_it(path):
    def fail(model):
        model.learn({"x": 1.0, "y": "a"})
        raise ZeroDivisionError

    before = path.stat()
    with pytest.raises(ZeroDivisionError), edit_model_file(path) as model:
        fail(model)
    assert path.read_bytes() == dumps(tiny())
    assert path.stat().st_ino == before.st_ino
    with edit_model_file(path, on_wait=lambda: pytest.fail("the lock is still held")):
        pass


def test_a_working_directory_that_changes_while_editing_does_not_matter(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    with edit_model_file("model.tally") as model:
        monkeypatch.chdir("/")
        model.learn({"x": 1.0, "y": "a"})
    assert load(path).class_counts == {"a": 2, "b": 2}
