"""Install the peers of the benchmark, each that can be installed.

    python -m bench.install_peers

They go to environments of their own under build/peers, since not all agree on the versions of what they need; the
benchmark finds them there. A peer that cannot be installed is named with the reason, and absent from the benchmark.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv

from bench.system_process import ROOT

__all__ = ["interpreters"]

FOLDER = ROOT / "build" / "peers"
EXTRAS = ("peers", "khiops")  # of pyproject.toml; an environment for each


def interpreters() -> list[str]:
    """The interpreters of the environments that exist."""
    return [str(path) for extra in EXTRAS if (path := FOLDER / extra / "bin" / "python").exists()]


def main() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in EXTRAS:
        python = FOLDER / extra / "bin" / "python"
        if not python.exists():
            venv.create(python.parents[1], with_pip=True)
        for package in known[extra]:
            command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
            done = subprocess.run(command, capture_output=True, text=True)
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            result = "installed" if done.returncode == 0 else f"cannot be installed: {reason}"
            print(f"{package}: {result}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
