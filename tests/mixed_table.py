"""A table with a column of every kind that a file or a cluster may hold, and pieces of it."""

import itertools

import numpy as np
import pyarrow as pa

WORDS = ["cash", "lunch", "free", "win", "hello", "dear", "meeting", "offer", "now", "later", "tomorrow"]


def mixed_table(n, seed=0):
    """A table with a column of every kind that a file or a cluster may hold."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    counts = [list(zip(rng.choice(WORDS, 2, replace=False).tolist(), [1, 2], strict=True)) for _ in range(n)]
    return pa.table(
        {
            "size": rng.normal(y, 1, n),
            "visits": rng.poisson(3 + y),
            "member": rng.random(n) < 0.3 + 0.2 * y,
            "kind": np.array(["a", "b", "c", "d"])[rng.integers(0, 4, n)],
            "genres": ["|".join(rng.choice(["x", "y", "z"], rng.integers(0, 3), replace=False)) for _ in range(n)],
            "words": pa.array(counts, pa.map_(pa.string(), pa.int64())),
            "note": [" ".join(rng.choice(WORDS, 8)) + (" special" if c == 1 else " usual thing") for c in y],
            "when": pa.array(rng.integers(0, 10**15, n), pa.timestamp("us")),
            "customer_id": np.arange(n),
            "gap": pa.array([None if rng.random() < 0.3 else float(rng.normal()) for _ in range(n)]),
            "yes_no": np.array(["yes", "no", "Yes"])[rng.integers(0, 3, n)],
            "w": rng.integers(0, 4, n),
            "y": pa.array([None if rng.random() < 0.02 else "pqr"[c] for c in y]),
        }
    )


def cut(table, n_parts, seed=0):
    """Pieces of a table, of very different sizes, some of them empty."""
    rng = np.random.default_rng(seed)
    cuts = [0, *np.sort((table.num_rows * rng.random(n_parts - 1) ** 3).astype(int)).tolist(), table.num_rows]
    return [table.slice(a, b - a) for a, b in itertools.pairwise(cuts)]
