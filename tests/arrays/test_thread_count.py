"""How many threads work at once."""

import os

import pytest

from tallybayes.arrays.chunks import n_threads
from tallybayes.errors import ParameterError
from tallybayes.io.formats.duckdb_connection import connect


def test_without_a_list_of_cores_all_of_the_machine_are_used(monkeypatch):
    """As on macOS and Windows."""
    monkeypatch.delenv("TALLYBAYES_THREADS", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "process_cpu_count", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert n_threads() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert n_threads() == 1


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system has no list of cores")
def test_only_the_cores_that_the_process_may_use_are_used(monkeypatch):
    monkeypatch.delenv("TALLYBAYES_THREADS", raising=False)
    assert n_threads() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(("text", "n"), [("3", 3), ("0", 1), ("-2", 1)])
def test_the_environment_sets_the_number(monkeypatch, text, n):
    monkeypatch.setenv("TALLYBAYES_THREADS", text)
    assert n_threads() == n


@pytest.mark.parametrize("text", ["abc", "1.5", "2 threads"])
def test_a_number_of_threads_that_is_no_number_is_an_error(monkeypatch, tmp_path, text):
    monkeypatch.setenv("TALLYBAYES_THREADS", text)
    words = f"expected a number of threads in the environment variable TALLYBAYES_THREADS, got '{text}'"
    with pytest.raises(ParameterError, match=words):
        n_threads()
    with pytest.raises(ParameterError, match=words):
        connect(str(tmp_path / "data.duckdb"))
