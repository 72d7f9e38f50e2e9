"""A standalone Spark cluster on this machine: a master and two workers with one core each, all on the loopback address.

The workers have different names of the same host ("localhost" and "127.0.0.1"): Spark starts a speculative copy of a
task only on another host.
"""

import contextlib
import os
import re
import subprocess
import time
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
WAIT = 60  # seconds


@contextlib.contextmanager
def standalone_cluster(folder):
    """The address of the master; every process is ended afterwards."""
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(_process(folder, "master", "master.Master", "--port", "0", "--webui-port", "0"))
        address = _wait_for(log, r"spark://127\.0\.0\.1:\d+")
        for host in ("localhost", "127.0.0.1"):
            place = ("--host", host, "--webui-port", "0", "--cores", "1", "--memory", "1g")
            directory = ("--work-dir", str(folder / host))
            stack.enter_context(_process(folder, f"worker-{host}", "worker.Worker", *place, *directory, address))
        yield address  # a driver waits for the workers


@contextlib.contextmanager
def _process(folder, name, module, *arguments):
    """The log file of a Java process that runs meanwhile, in a process group of its own."""
    log = folder / f"{name}.log"
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java"
    command = [java, "-cp", f"{HOME}/conf:{HOME}/jars/*", "-Xmx256m", f"org.apache.spark.deploy.{module}", *arguments]
    environment = {**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SCALA_VERSION": "2.13"}
    with open(log, "wb") as file:
        process = subprocess.Popen(
            [*map(str, command)], stdout=file, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    try:
        yield log
    finally:
        process.terminate()  # a worker ends its executors
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(log, pattern):
    """What the pattern matches in the log, waited for."""
    for _ in range(WAIT * 10):
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[0]
        time.sleep(0.1)
    raise TimeoutError(f"{pattern!r} is not in the log:\n{log.read_text(errors='replace')[-4000:]}")
