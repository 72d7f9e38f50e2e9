"""The memory that a step adds: the highest resident set while it runs, over the resident set before it.

The kernel of Linux keeps the highest resident set of every process and can be told to start again. Counted are this
process and the processes that it has started and that still run (Spark's Java machine); a step that starts a process
and waits for it returns `Ended`, and the peak of that process counts instead; of others that have ended (Khiops)
nothing is known. Memory that an allocator has kept from earlier steps is returned to the system before, as far as the
allocator does so on demand. Elsewhere than on Linux nothing is measured.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Ended", "added_memory", "ended"]

PROCESSES = Path("/proc")


@dataclass(frozen=True)
class Ended:
    """A process that has ended, and its highest resident set in MB."""

    peak: float


def ended(command: Sequence[str]) -> Ended:
    """Run a command to its end; what it prints is an error message if it fails."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        message = process.stderr.read() if process.stderr else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} failed: {message.strip()[-300:]}")
    return Ended(usage.ru_maxrss / 1024)


def added_memory(step: Callable[[], object]) -> float | None:
    """Run a step, and return the MB that it has added at its peak."""
    measurable = _start_again()
    before, spent = sum(_resident("VmRSS")), _spent_by_ended()
    result = step()
    if isinstance(result, Ended):
        return result.peak
    measurable &= _spent_by_ended() == spent
    return max(0.0, sum(_resident("VmHWM")) - before) if measurable else None


def _spent_by_ended() -> float:
    """The processor time of processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _start_again() -> bool:
    """Give free memory back, and let the kernel forget the highest resident sets; whether it can."""
    gc.collect()
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    with contextlib.suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
    try:
        for process in _family():
            (PROCESSES / str(process) / "clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _resident(name: str) -> list[float]:
    """A figure of /proc/PID/status in MB, for each process of the family."""
    found = []
    for process in _family():
        try:
            lines = (PROCESSES / str(process) / "status").read_text().splitlines()
        except OSError:
            continue  # ended meanwhile
        found += [int(line.split()[1]) / 1024 for line in lines if line.startswith(name)]
    return found


def _family() -> list[int]:
    """The processes that are counted: this one, those that it has started, and theirs."""
    found = [os.getpid()]
    for process in found:
        for thread in (PROCESSES / str(process) / "task").glob("*/children"):
            try:
                found += map(int, thread.read_text().split())
            except OSError:
                continue
    return found
