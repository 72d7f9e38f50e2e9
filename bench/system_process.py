"""Systems in processes of their own: which interpreter has which, what is absent and why, results as flat records."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "Result", "SystemProcesses"]

ROOT = Path(__file__).parents[1]
MINUTES = 2  # at most, for one system on one piece of work
THREADS = ("TALLYBAYES_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Result = dict[str, Any]
Sizes = dict[str, int]


class SystemProcesses:
    """Runs systems, each on one piece of work in a process of its own.

    A system that this interpreter does not have is looked for in the `others`, since not all peers can be installed
    together. `versions` has the version of every system that has run, or why it is absent; `failures` what went wrong.
    """

    def __init__(self, folder: str, *, repeats: int, long: float, others: Sequence[str] = ()) -> None:
        self.folder, self.repeats, self.long = folder, repeats, long
        self.versions: dict[str, str] = {}
        self.failures: list[str] = []
        self._interpreters = [sys.executable, *others]
        self._interpreter: dict[str, str] = {}
        self._facts: dict[str, Result] = {}  # what each system has said of itself
        self._of_one_thread: dict[tuple[object, ...], list[Result]] = {}

    def results(self, system: str, work: str, sizes: Sizes, *, isa: str | None = None, **more: Any) -> list[Result]:
        """A record for each step; none if the system is absent, fails or cannot do this work."""
        facts = self._facts.get(system, {"works": [work]})
        if work not in facts["works"] or self.versions.get(system, "").startswith("absent"):
            return []
        place = system, work, *(sizes[name] for name in sizes if name != "threads")
        if place in self._of_one_thread:  # what uses one thread anyway is not measured again with two
            return [own | {"threads": sizes["threads"]} for own in self._of_one_thread[place]]
        asked = {"work": work, "system": system, "folder": self.folder, "repeats": self.repeats, "long": self.long}
        lines = self._lines(system, asked | sizes | more, sizes["threads"], isa)
        if not lines or "version" not in lines[0]:
            return []
        facts = self._facts[system] = lines[0]
        self.versions[system] = facts["version"]
        same = {"work": work, "system": system, **sizes, "isa": facts["isa"], "read": facts.get("read")}
        found = [same | line for line in lines[1:]]
        if facts["one thread"]:
            self._of_one_thread[place] = found
        return found

    def _lines(self, system: str, asked: Result, threads: int, isa: str | None) -> list[Result]:
        """What `bench.one_system` has printed, with the first interpreter that has the system."""
        known = self._interpreter.get(system)
        reasons: list[str] = []
        for interpreter in [known] if known else self._interpreters:
            lines, failure = _run([interpreter, "-W", "ignore", "-m", "bench.one_system"], asked, threads, isa)
            if failure:
                self.failures.append(f"{asked['work']}, {system}, {threads} thread(s): {failure}")
            if not lines or "absent" not in lines[0]:
                self._interpreter[system] = interpreter
                return lines
            reasons.append(lines[0]["absent"])
        self.versions[system] = f"absent ({'; '.join(dict.fromkeys(reasons))})"
        return []


def _run(command: list[str], asked: Result, threads: int, isa: str | None) -> tuple[list[Result], str]:
    """The lines that were printed, and why there are no more, if there should be."""
    environment = os.environ | dict.fromkeys(THREADS, str(threads)) | ({"TALLYBAYES_ISA": isa} if isa else {})
    environment["PATH"] = f"{Path(command[0]).parent}{os.pathsep}{environment['PATH']}"  # Khiops has programs there
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen([*command, json.dumps(asked)], env=environment, cwd=ROOT, **pipes) as process:
        try:
            out, err = process.communicate(timeout=60 * MINUTES)
            failure = (
                (err.strip().splitlines() or [f"exit code {process.returncode}"])[-1] if process.returncode else ""
            )
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with all processes that it has started
            out, _ = process.communicate()
            failure = f"stopped after {MINUTES} minutes"
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return [json.loads(line) for line in out.splitlines()], failure
