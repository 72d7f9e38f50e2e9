"""On a real cluster, an executor that dies, a task that fails and a task that runs twice change no bit of the model."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def fits(java, tmp_path_factory):
    """What the driver says about each fit."""
    from standalone_cluster import standalone_cluster

    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc to find the process of an executor")
    folder = tmp_path_factory.mktemp("cluster")
    with standalone_cluster(folder) as master:
        command = [sys.executable, "-W", "ignore", str(HERE / "cluster_driver.py"), master, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_fit_on_two_workers_equals_the_fit_on_one_machine(fits):
    assert fits["none"]["equal"]
    assert fits["none"]["finished"] >= fits["none"]["stage"] > 0


@pytest.mark.parametrize("mishap", ["executor killed", "task failed"])
def test_rows_that_are_computed_again_are_counted_once(fits, mishap):
    assert fits[mishap]["started"] > fits[mishap]["stage"] == fits["none"]["stage"]
    assert fits[mishap]["finished"] < fits[mishap]["started"]
    assert fits[mishap]["equal"]


def test_rows_of_a_task_that_runs_twice_at_the_same_time_are_counted_once(fits):
    assert fits["task copied"]["finished"] > fits["task copied"]["stage"] == fits["none"]["stage"]
    assert fits["task copied"]["equal"]
