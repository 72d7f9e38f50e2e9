"""Files are replaced as a whole or not at all, and nothing is left behind."""

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading

import pytest

from tallybayes import atomic_file
from tallybayes.atomic_file import replaced_files, replacing, write_file
from tallybayes.errors import FileError


def run(script, *arguments):
    """Run a script in a process of its own."""
    command = [sys.executable, "-c", "from tallybayes.atomic_file import *\n" + textwrap.dedent(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    return path


def names(path):
    return sorted(other.name for other in path.parent.iterdir())


def test_a_file_is_created_and_replaced(path):
    for data in (b"new", b"", b"x" * 10**6):
        write_file(path, data, "the file")
        assert path.read_bytes() == data
        assert names(path) == ["file"]


def test_readers_of_the_old_file_are_not_disturbed(path):
    with open(path, "rb") as reader:
        write_file(path, b"new", "the file")
        assert reader.read() == b"old"


def test_an_exception_in_the_body_leaves_the_old_file_and_nothing_else(path):
    def fail(file):
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), replacing(path, "the file") as file:
        fail(file)
    assert path.read_bytes() == b"old"
    assert names(path) == ["file"]
    assert str(path) not in replaced_files()


def test_errors_name_the_file_and_leave_nothing_behind(path):
    (path.parent / "directory").mkdir()
    (path.parent / "loop").symlink_to("loop")
    for name, words in (
        ("nowhere/file", "No such file or directory"),
        ("directory", "Is a directory"),
        ("a\0b", "null"),
        ("file/file", "Not a directory"),
        ("loop", "symbolic links"),
        ("m" * 300, "too long"),
    ):
        with pytest.raises(FileError, match=f"the file cannot be written: .*{words}") as raised:
            write_file(path.parent / name, b"new", "the file")
        assert raised.value.file == str(path.parent / name)
    assert names(path) == ["directory", "file", "loop"]


def test_the_mode_is_kept_and_new_files_have_the_default_mode(path):
    mask = os.umask(0o027)
    try:
        write_file(path.parent / "new", b"", "the file")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((path.parent / "new").stat().st_mode) == 0o640
    for mode in (0o600, 0o444, 0o664):
        path.chmod(mode)
        write_file(path, b"new", "the file")
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_private_file_is_never_readable_by_others_while_it_is_replaced(path):
    path.chmod(0o600)
    with replacing(path, "the file"):
        (temporary,) = path.parent.glob(".tallybayes-*.tmp")
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600


def test_symbolic_links_are_followed(path):
    for name, target in (("link", "file"), ("dangling", "new")):
        link = path.parent / name
        link.symlink_to(target)
        write_file(link, b"new", "the file")
        assert link.is_symlink()
        assert (path.parent / target).read_bytes() == b"new"


def test_a_pipe_is_written_to_and_stays_a_pipe(path):
    pipe, received = path.parent / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"data", "the file")
    reader.join(10)
    assert received == [b"data"]
    assert pipe.is_fifo()


def test_a_full_disk_leaves_the_old_file_and_nothing_else(path):
    script = """
        import resource, signal, sys
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        try:
            write_file(sys.argv[1], bytes(10000), "the file")
        except ValueError as error:
            print(error, error.__cause__.errno)
    """
    assert run(script, str(path)).stdout == f"{path}: the file cannot be written: File too large {errno.EFBIG}\n"
    assert path.read_bytes() == b"old"
    assert names(path) == ["file"]


@pytest.mark.crash
def test_the_temporary_file_of_a_killed_process_is_removed_by_the_next_write(path):
    script = """
        import os, signal, sys
        with replacing(sys.argv[1], "the file") as file:
            file.write(b"half")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run(script, str(path)).returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    assert len(names(path)) == 2
    write_file(path.parent / "another", b"", "the file")
    assert names(path) == ["another", "file"]


def test_temporary_files_in_use_and_other_files_are_not_removed(path):
    for other in (".tallybayes-0123.tmp", ".0123456789abcdef.tmp", "tallybayes.tmp"):
        (path.parent / other).touch()
    before = set(names(path))
    with replacing(path, "the file") as file:
        file.write(b"new")
        write_file(path.parent / "another", b"", "the file")
    assert path.read_bytes() == b"new"
    assert set(names(path)) == before | {"another"}


def test_a_temporary_file_taken_for_stale_before_it_is_locked_is_made_again(path, monkeypatch):
    lock, calls = atomic_file.fcntl.flock, []

    def removed_first(file, operation):
        calls.append(operation)
        if len(calls) == 1:
            (temporary,) = path.parent.glob(".tallybayes-*.tmp")
            temporary.unlink()
        lock(file, operation)

    monkeypatch.setattr(atomic_file.fcntl, "flock", removed_first)
    write_file(path, b"new", "the file")
    assert path.read_bytes() == b"new"
    assert names(path) == ["file"]


@pytest.mark.crash
def test_processes_that_are_killed_at_any_time_leave_the_old_content_or_the_new(path):
    script = """
        import itertools, sys
        for i in itertools.count():
            write_file(sys.argv[1], b"%d\\n" % (i % 10) * 100_000, "the file")
            print(i, flush=True)
    """
    command = [sys.executable, "-c", "from tallybayes.atomic_file import *\n" + textwrap.dedent(script), str(path)]
    for rounds in range(1, 8):
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        for _ in range(rounds):
            process.stdout.readline()
        process.kill()
        process.communicate()
        content = path.read_bytes()
        assert content == content[:2] * 100_000
    write_file(path, b"new", "the file")
    assert names(path) == ["file"]


def test_replaced_files_are_those_whose_rename_took_place(path, monkeypatch):
    def fail(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, b"new", "the file")
    assert str(path) not in replaced_files()
    monkeypatch.undo()
    write_file(path, b"new", "the file")
    assert str(path) in replaced_files()
