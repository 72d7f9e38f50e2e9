"""A table of mixed columns for the tests of the estimator."""

import numpy as np
import pandas as pd


def mixed(n=300, seed=0):
    """Numbers, categories, flags, tags, gaps, and a label that depends on them."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["cat", "dog", "rabbit"], n)
    kind = np.searchsorted(["cat", "dog", "rabbit"], y)
    frame = pd.DataFrame(
        {
            "kilos": np.where(rng.random(n) < 0.1, np.nan, rng.normal(4 + 8 * (kind == 1), 2)),
            "legs": rng.integers(3, 5, n),
            "colour": pd.Categorical.from_codes((kind + rng.integers(0, 2, n)) % 3, ["black", "brown", "white"]),
            "home": np.where(rng.random(n) < 0.1, None, np.where(rng.random(n) < 0.3 + 0.2 * kind, "in", "out")),
            "tame": rng.random(n) < 0.5 + 0.2 * (kind == 1),
            "likes": ["sun|" * int(k != 1) + "fetch" * int(k == 1) for k in kind],
        }
    )
    return frame, y
