"""Rows about animals with columns of every family, for the tests of the report."""

import numpy as np


def mixed(n=240, seed=3):
    """Rows with columns of every family, missing values, and different degrees of information."""
    rng = np.random.default_rng(seed)
    species = rng.choice(["cat", "dog", "fox"], n, p=[0.5, 0.3, 0.2])
    code = np.searchsorted(["cat", "dog", "fox"], species)
    words = {"cat": ["purr", "sofa", "milk"], "dog": ["bark", "walk", "ball"], "fox": ["den", "night", "hen"]}
    rows = []
    for s, c in zip(species.tolist(), code.tolist(), strict=True):
        own = [*rng.choice(words[s], 3), *rng.choice(["the", "and", "very", "quiet", "house"], 4)]
        row = {
            "kilos": float(rng.normal(4 + 6 * c, 2)),
            "litter": int(rng.poisson(2 + 2 * c)),
            "colour": str(rng.choice(["red", "black", "white"], p=[[0.2, 0.4, 0.4], [0.3, 0.4, 0.3], [1, 0, 0]][c])),
            "tame": bool(rng.random() < [0.9, 0.95, 0.05][c]),
            "likes": "|".join(sorted({str(w) for w in own[:2]})),
            "story": " ".join(map(str, own)),
            "length": float(rng.gamma(2, 10 * (c + 1))),
            "species": s,
        }
        gap = rng.choice(["kilos", "colour", "tame", "likes", "story", "none"], p=[0.1, 0.1, 0.1, 0.05, 0.05, 0.6])
        rows.append({**row, **({gap: None} if gap != "none" else {})})
    return rows


FAMILIES = {"kilos": "gaussian", "litter": "poisson", "likes": "tags", "story": "text:counts", "tame": "bernoulli"}
