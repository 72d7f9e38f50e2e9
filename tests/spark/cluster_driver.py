"""Fits on a cluster where things go wrong, run as a program: cluster_driver.py MASTER FOLDER.

Prints a line of JSON: for each mishap whether it happened, and whether the model equals that of a fit on one machine.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from mixed_rows import mixed_rows
from pyspark.sql import SparkSession

import tallybayes as tb
import tallybayes.spark as tbs
from tallybayes.model.saved_model import dumps

CONFIG = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "600m",
    "spark.executor.cores": "1",
    "spark.log.level": "OFF",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "500ms",
}
MISHAPS = ("none", "executor killed", "task failed", "task copied")
WATCHED = 1  # the partition that has a mishap
WAIT = 60  # seconds


def with_mishap(frame, mishap, folder, at):
    """The same rows; the watched partition has a mishap when it is computed for the `at`-th time."""

    def passed(batches):
        from pyspark import TaskContext

        number = claimed(folder) if TaskContext.get().partitionId() == WATCHED else 0
        for position, batch in enumerate(batches):
            yield batch
            if number == at and position == 0:
                act(mishap, folder, number)
        if number:
            (folder / f"finished-{number}").touch()

    return frame.mapInArrow(passed, frame.schema)


def claimed(folder):
    """How often the watched partition has been computed, this time included."""
    for number in range(1, 100):
        try:
            (folder / f"started-{number}").touch(exist_ok=False)
            return number
        except FileExistsError:
            continue
    raise RuntimeError("the partition was computed a hundred times")


def act(mishap, folder, number):
    """What goes wrong in the worker, after it has passed on some rows."""
    if mishap == "task failed":
        raise RuntimeError("this task fails once")
    if mishap == "executor killed":
        daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
        executor = daemon.rpartition(")")[2].split()[1]  # the process that started the Python daemon
        (folder / "executor.part").write_text(executor)
        (folder / "executor.part").rename(folder / "executor")
        wait_for(folder / "never")
    if mishap == "task copied":
        wait_for(folder / f"finished-{number + 1}")


def wait_for(path):
    """Wait for a file, for a bounded time."""
    for _ in range(WAIT * 20):
        if path.exists():
            return
        time.sleep(0.05)


def kill_executor(folder):
    """Kill the executor whose process number is in a file."""
    wait_for(folder / "executor")
    if (folder / "executor").exists():
        os.kill(int((folder / "executor").read_text()), signal.SIGKILL)


def main():
    master, folder = sys.argv[1], Path(sys.argv[2])
    builder = SparkSession.builder.master(master).appName("mishaps")
    for name, value in CONFIG.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    rows = mixed_rows()
    frame = spark.createDataFrame(rows).repartition(6)
    answers, last = {}, 0
    for mishap in MISHAPS:
        own = folder / mishap.replace(" ", "-")
        own.mkdir()
        killer = threading.Thread(target=kill_executor, args=(own,), daemon=True)
        if mishap == "executor killed":
            killer.start()
        model = tbs.fit(with_mishap(frame, mishap, own, last), label="pet", weight="copies")
        started, finished = (len(list(own.glob(f"{word}-*"))) for word in ("started", "finished"))
        last = started if mishap == "none" else last  # the last time is the one that counts rows
        alone = tb.fit(rows, label="pet", weight="copies", schema=model.schema)
        answers[mishap] = {"started": started, "finished": finished, "equal": dumps(model) == dumps(alone)}
    print(json.dumps(answers), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
