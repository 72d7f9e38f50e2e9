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
    """The same rows; the watched partition has a mishap in the `at`-th stage that computes it, the first time it does.

    A stage computes a partition again when a task fails or is lost, and when Spark starts a copy of a slow one.
    """

    def passed(batches):
        from pyspark import TaskContext

        task = TaskContext.get()
        watched = task.partitionId() == WATCHED
        run = f"{task.stageId()}-{task.taskAttemptId()}"
        number = stage_number(folder, task.stageId()) if watched else None
        if watched:
            (folder / f"started-{run}").touch()
        for position, batch in enumerate(batches):
            yield batch
            if number is not None and number == at and position == 0:
                act(mishap, folder, task.stageId())
        if watched:
            (folder / f"finished-{run}").touch()

    return frame.mapInArrow(passed, frame.schema)


def stage_number(folder, stage):
    """The how-manieth stage this is, counted from 1, for the first to ask in that stage; None for the others."""
    try:
        (folder / f"stage-{stage}").touch(exist_ok=False)
    except FileExistsError:
        return None
    return len(list(folder.glob("stage-*")))


def act(mishap, folder, stage):
    """What goes wrong in the worker, after it has passed on some rows."""
    if mishap == "task failed":
        raise RuntimeError("this task fails once")
    if mishap == "executor killed":
        daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
        executor = daemon.rpartition(")")[2].split()[1]  # the process that started the Python daemon
        (folder / "executor.part").write_text(executor)
        (folder / "executor.part").rename(folder / "executor")
        wait_for(folder, "never")
    if mishap == "task copied":
        wait_for(folder, f"finished-{stage}-*")


def wait_for(folder, pattern):
    """Wait for a file of such a name, for a bounded time."""
    for _ in range(WAIT * 20):
        if any(folder.glob(pattern)):
            return
        time.sleep(0.05)


def kill_executor(folder):
    """Kill the executor whose process number is in a file."""
    wait_for(folder, "executor")
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
        model = tbs.fit(with_mishap(frame, mishap, own, last), label="pet", sample_weight="copies")
        seen = {word: len(list(own.glob(f"{word}-*"))) for word in ("stage", "started", "finished")}
        last = seen["stage"] if mishap == "none" else last  # the last stage is the one that counts rows
        alone = tb.fit(rows, label="pet", sample_weight="copies", schema=model.schema)
        answers[mishap] = {**seen, "equal": dumps(model) == dumps(alone)}
    print(json.dumps(answers), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
