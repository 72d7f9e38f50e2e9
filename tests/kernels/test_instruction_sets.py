"""Models, scores and weights are the same, bit for bit, whatever the instruction set and the number of threads."""

import os
import subprocess
import sys

import pytest

from tallybayes import kernels

WORK = """
import hashlib, numpy as np, scipy.sparse as sp, tallybayes as tb
from tallybayes import kernels
from tallybayes.model.saved_model import dumps
rng = np.random.default_rng(0)
n = 3000
y = rng.integers(0, 3, n)
words = np.array(["red", "green", "blue", "grey", "pink"])
X = {
    "size": rng.normal(size=n) + y, "age": rng.integers(0, 80, n), "flag": rng.random(n) < 0.2 + 0.2 * y,
    "colour": words[(y + rng.integers(0, 3, n)) % 5],
    "note": [" ".join(words[rng.integers(0, 5, 6)]) for _ in range(n)],
}
bag = sp.random_array((n, 500), density=0.02, format="csr", rng=rng)
bag.data = np.ceil(bag.data * 3)
models = [
    (X, tb.fit(X, y)),
    (X, tb.fit(X, y, numeric="gaussian", column_weights=None)),
    (X, tb.fit(X, y, families={"age": "poisson"}, dependence="one")),
    (bag, tb.fit(bag, y)),
]
digest = hashlib.sha256()
for data, model in models:
    digest.update(dumps(model))
    digest.update(model.predict_proba(data).tobytes())
    digest.update(model.leave_one_out(data, label=y).tobytes())
print(kernels.active.INSTRUCTION_SET, digest.hexdigest())
"""


def digest(isa: str, threads: int) -> tuple[str, str]:
    environment = os.environ | {"TALLYBAYES_ISA": isa, "TALLYBAYES_THREADS": str(threads)}
    done = subprocess.run([sys.executable, "-c", WORK], env=environment, capture_output=True, text=True, check=True)
    used, found = done.stdout.split()
    return used, found


@pytest.mark.slow
@pytest.mark.skipif(kernels.IMPLEMENTATION != "native", reason="the reference kernels have no instruction sets")
def test_instruction_sets_and_threads_give_the_same_bits():
    found = {(isa, threads): digest(isa, threads) for isa, threads in (("plain", 1), ("avx2", 2), ("avx512", 1))}
    used = [name for name, _ in found.values()]
    assert used[0] == "plain"
    assert used[1] in ("avx2", "plain")  # what the processor has
    assert len({own for _, own in found.values()}) == 1, found
