"""A small table with every common type of column, for drivers of clusters and of Spark Connect."""

import numpy as np
import pyarrow as pa

COLOURS = np.array(["red", "green", "blue", None], object)
WORDS = np.array(
    ["apple", "pear", "plum", "cherry", "river", "stone", "cloud", "engine", "paper", "window", "garden", "candle"]
)


def mixed_rows(n=1200):
    """Numbers, whole numbers, words, booleans, texts, nulls, weights and a label of three words."""
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 3, n)
    sizes = rng.normal(codes, 1.0)
    texts = [" ".join(rng.choice(WORDS[4 * code : 4 * code + 6], 8)) for code in np.minimum(codes, 1)]
    return pa.table(
        {
            "size": pa.array(sizes, mask=rng.random(n) < 0.1),
            "visits": rng.poisson(2 + codes),
            "colour": pa.array(COLOURS[(codes + rng.integers(0, 2, n)) % 4], pa.string()),
            "indoors": pa.array(rng.random(n) < 0.2 + 0.3 * codes),
            "note": texts,
            "copies": rng.integers(1, 4, n).astype(float),
            "pet": pa.array(np.array(["cat", "dog", "rabbit"])[codes]),
        }
    )
