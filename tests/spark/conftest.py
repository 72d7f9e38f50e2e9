"""One Spark session for all tests in this folder: two threads on this machine, no web page, few partitions.

With `pytest -n 2 --dist loadgroup` all these tests run in one process (tests/conftest.py), so that one Java machine
starts.
"""

import os
import shutil
import subprocess
import sys

import pytest

CONFIG = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.log.level": "OFF",
}


def java_version():
    """The major version of Java on this machine, 0 if there is none."""
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if program is None:
        return 0
    try:
        text = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
        return int(text.split('"')[1].split(".")[0])
    except (OSError, subprocess.SubprocessError, IndexError, ValueError):
        return 0


@pytest.fixture(scope="session")
def java():
    """Skips the test where Spark cannot run."""
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install tallybayes[spark]")
    if java_version() < 17:
        pytest.skip("Java 17 or newer is not on this machine, and Spark needs it")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # Short programs: half the time goes to compilers that would pay off later.
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def spark(java, tmp_path_factory):
    """The session at local[2]."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("tallybayes tests")
    for name, value in CONFIG.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    session = builder.getOrCreate()
    yield session
    session.stop()
