"""What is known about the machine: processor, cores, caches, instruction sets."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

__all__ = ["kind_of", "machine_facts"]


def machine_facts() -> dict[str, Any]:
    """Facts that figures depend on."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"model name\s*: (.*)", info)
    flags = re.search(r"flags\s*: (.*)", info)
    known = set(flags[1].split()) if flags else set()
    return {
        "processor": model[1] if model else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "caches": _caches(),
        "instruction sets": [name for name in ("avx2", "avx512f") if name in known],
        "python": platform.python_version(),
    }


def _caches() -> dict[str, str]:
    folder = Path("/sys/devices/system/cpu/cpu0/cache")
    found = {}
    for cache in sorted(folder.glob("index*")) if folder.exists() else ():
        level, kind, size = ((cache / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found


def kind_of(facts: dict[str, Any], isa: str) -> str:
    """A name for machines of the same kind, as a file name.

    >>> kind_of({"processor": "AMD EPYC", "cores": 2, "caches": {"L2": "1024K"}}, "avx2")
    'amd-epyc-2-cores-l2-1024k-avx2'
    """
    text = f"{facts['processor']} {facts['cores']} cores L2 {facts['caches'].get('L2', 'unknown')} {isa}"
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
