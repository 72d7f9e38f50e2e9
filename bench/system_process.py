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
MINUTES = 5  # at most, for one system on one piece of work
THREADS = ("TALLYBAYES_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Result = dict[str, Any]


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
        self._known: dict[str, tuple[str, list[str]]] = {}  # by system: its interpreter, and the works it can do

    def results(self, system: str, work: str, sizes: dict[str, int], **more: Any) -> list[Result]:
        """A record for each step; none if the system is absent, fails or cannot do this work."""
        interpreter, works = self._known.get(system, ("", [work]))
        if work not in works or self.versions.get(system, "").startswith("absent"):
            return []
        isa = more.pop("isa", None)
        asked = {"work": work, "system": system, "folder": self.folder, "repeats": self.repeats, "long": self.long}
        found, reasons = Result(), list[str]()
        for candidate in [interpreter] if interpreter else self._interpreters:
            found = _run(
                [candidate, "-W", "ignore", "-m", "bench.one_system"], asked | sizes | more, sizes["threads"], isa
            )
            interpreter = candidate
            if "absent" not in found:
                break
            reasons.append(found["absent"])
        if "absent" in found:
            self.versions[system] = f"absent ({'; '.join(dict.fromkeys(reasons))})"
            return []
        if "failed" in found:
            self.failures.append(f"{work}, {system}, {sizes}: {found['failed']}")
            return []
        self.versions[system] = found["version"]
        self._known[system] = interpreter, found["works"]
        same = {"work": work, "system": system, **sizes, "isa": found.get("isa"), "read": found.get("read")}
        return [same | {"step": step} | figures for step, figures in found["steps"].items()]


def _run(command: list[str], asked: Result, threads: int, isa: str | None) -> Result:
    """The answer of `bench.one_system`; `failed` says why there is none."""
    environment = os.environ | dict.fromkeys(THREADS, str(threads)) | ({"TALLYBAYES_ISA": isa} if isa else {})
    environment["PATH"] = f"{Path(command[0]).parent}{os.pathsep}{environment['PATH']}"  # Khiops has programs there
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen([*command, json.dumps(asked)], env=environment, cwd=ROOT, **pipes) as process:
        try:
            out, err = process.communicate(timeout=60 * MINUTES)
        except subprocess.TimeoutExpired:
            return {"failed": f"more than {MINUTES} minutes"}
        finally:
            if process.poll() is None:  # with all processes that it has started
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        return {"failed": (err.strip().splitlines() or [f"exit code {process.returncode}"])[-1]}
    answer: Result = json.loads(out.strip().splitlines()[-1])
    return answer
