"""What is known about the machine: processor, cores, caches, memory, instruction sets."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

__all__ = ["INSTRUCTION_SETS", "description", "instruction_sets", "kind_of", "machine_facts"]

INSTRUCTION_SETS = ("plain", "avx2", "avx512")  # of our kernels, each includes those before it


def machine_facts() -> dict[str, Any]:
    """Facts that figures depend on."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*: (.*)", info)
    return {
        "processor": model[1] if model else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "caches": _caches(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB",
        "instruction sets": instruction_sets(),
        "python": platform.python_version(),
    }


def instruction_sets() -> list[str]:
    """Those of our kernels that the processor has, the widest last; the NumPy kernels have one, "reference"."""
    from tallybayes import kernels

    used = getattr(kernels.active, "INSTRUCTION_SET", kernels.IMPLEMENTATION)
    return list(INSTRUCTION_SETS[: INSTRUCTION_SETS.index(used) + 1]) if used in INSTRUCTION_SETS else [used]


def _caches() -> dict[str, str]:
    folder = Path("/sys/devices/system/cpu/cpu0/cache")
    found = {}
    for cache in sorted(folder.glob("index*")) if folder.exists() else ():
        level, kind, size = ((cache / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found


def kind_of(facts: dict[str, Any]) -> str:
    """A name for machines of the same kind, as a file name.

    >>> kind_of({"processor": "AMD EPYC", "cores": 2, "caches": {"L2": "1024K"}})
    'amd-epyc-2-cores-l2-1024k'
    """
    text = f"{facts['processor']} {facts['cores']} cores L2 {facts['caches'].get('L2', 'unknown')}"
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def description(facts: dict[str, Any]) -> str:
    """The facts in a line."""
    caches = ", ".join(f"{size} {level}" for level, size in facts["caches"].items()) or "unknown caches"
    return (
        f"{facts['processor']}, {facts['cores']} cores, {caches}, {facts['memory']} of memory, "
        f"{', '.join(facts['instruction sets'])}; Python {facts['python']}"
    )
