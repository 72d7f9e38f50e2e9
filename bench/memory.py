"""What fitting adds over its input: the peak of resident memory during `fit`, each case in a process of its own.

    python -m bench.memory

Linux only: the kernel's high-water mark is reset before the fit.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import tallybayes as tb

CASES = {
    "gaussian": ("1,000,000 x 20 float64, gaussian", 64),
    "histogram": ("1,000,000 x 20 float64, histogram", 64),
    "categorical": ("1,000,000 x 20 int8, categorical", 64),
    "bernoulli": ("1,000,000 x 20 float64, bernoulli", 64),
    "multinomial": ("CSR 100,000 x 50,000, 10M non-zeros, 20 classes", 64),
    "classes": ("CSR 1,000,000 x 50,000, 5M non-zeros, 5,000 classes", 1024),
}


def data(name: str) -> tuple[object, np.ndarray, dict[str, object]]:
    """The input of a case: table, labels, options."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    if name in ("gaussian", "histogram"):
        return rng.normal(size=(n, 20)), rng.integers(0, 2, n), {"numeric": name}
    if name == "categorical":
        return rng.integers(0, 12, (n, 20), np.int8), rng.integers(0, 2, n), {"families": name}
    if name == "bernoulli":
        return rng.integers(0, 2, (n, 20)).astype(float), rng.integers(0, 2, n), {"families": name}
    rows, per_row, classes = (n // 10, 100, 20) if name == "multinomial" else (n, 5, 5_000)
    indices = np.sort(rng.integers(0, 50_000, (rows, per_row), np.int32), axis=1).ravel()
    indptr = np.arange(0, rows * per_row + 1, per_row, dtype=np.int32)
    matrix = sp.csr_array((np.ones(rows * per_row), indices, indptr), shape=(rows, 50_000))
    matrix.sum_duplicates()
    return matrix, rng.integers(0, classes, rows), {}


def resident(field: str) -> float:
    """A figure of /proc/self/status in MB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def measure(name: str) -> None:
    table, labels, options = data(name)
    tb.fit(table[:100], labels[:100], **options)  # load everything that is loaded on first use
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    tb.fit(table, labels, **options)
    title, limit = CASES[name]
    print(f"{title:<55} {resident('VmHWM') - before:6.0f} MB   at most {limit}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1])
    else:
        for case in CASES:
            subprocess.run([sys.executable, "-m", "bench.memory", case], check=True)
