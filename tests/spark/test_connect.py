"""Everything works over Spark Connect, too, with a server on this machine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def found(java, tmp_path_factory):
    """What the driver has found."""
    pytest.importorskip("grpc", reason="Spark Connect is not installed: pip install pyspark[connect]")
    command = [sys.executable, "-W", "ignore", str(HERE / "connect_driver.py"), str(tmp_path_factory.mktemp("saved"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_the_session_is_one_of_spark_connect(found):
    assert found["class"] == "pyspark.sql.connect.dataframe"


@pytest.mark.parametrize("verb", ["fit", "learn", "forget", "predict", "evaluate"])
def test_verbs_equal_those_on_one_machine(found, verb):
    assert found[verb]


@pytest.mark.parametrize("what", ["fit", "transform", "save", "pipeline", "pipeline saved", "search"])
def test_the_spark_ml_estimator(found, what):
    assert found[f"ML {what}"]
