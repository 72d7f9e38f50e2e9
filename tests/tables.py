"""Random tables of mixed columns for the laws, and the families that count them."""

import numpy as np
from hypothesis import strategies as st

LABEL = "y"
FAMILIES = {
    "flag": "bernoulli",
    "kind": "categorical",
    "real": "gaussian",
    "level": "histogram",
    "events": "poisson",
    "genre": "tags",
    "words": "multinomial",
    "topics": "multinomial:presence",
    "note": "text:complement,tf=log,k=0.5",
    "hashed": "text:presence,k=0.5,buckets=8,key=000102030405060708090a0b0c0d0e0f",
}

doubles = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 5e-324, 1e-310, 1e200, -1e200, 1.7e308, 1e15 + 0.125, 1e15, 0.1]),
    st.integers(-1000, 1000).map(float),
)
words = st.sampled_from(["a", "b", "c", "d"])
notes = st.sampled_from(["cash", "Lunch", "naïve", "\u200bΟΔΟΣ", "x"])

cells = {
    "flag": st.booleans(),
    "kind": st.sampled_from(["red", "blue", "green"]),
    "real": doubles,
    "level": doubles,
    "events": st.integers(0, 50),
    "genre": st.lists(words, max_size=3, unique=True),
    "words": st.dictionaries(words, st.integers(1, 5), max_size=3),
    "topics": st.lists(words, max_size=4),
    "note": st.lists(notes, max_size=4).map(" ".join),
    "hashed": st.lists(notes, max_size=4).map(" ".join),
}

row = st.fixed_dictionaries(
    {LABEL: st.sampled_from(["p", "q", "r", None])},
    optional={name: st.one_of(st.none(), values) for name, values in cells.items()},
)
rows = st.lists(row, max_size=12)


def in_order(data, n):
    """A permutation of range(n)."""
    return data.draw(st.permutations(range(n)))


def pieces(data, items):
    """The items cut into consecutive batches, some of them empty."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(items)), max_size=4)))
    return [items[a:b] for a, b in zip([0, *cuts], [*cuts, len(items)], strict=True)]


def mixed_frame(n, seed=0):
    """A dict of lists with every kind of column and gaps in each."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    table = {
        "flag": rng.random(n) < 0.2 + 0.3 * y,
        "kind": np.array(["red", "blue", "green"])[(y + (rng.random(n) < 0.3)) % 3],
        "real": rng.normal(size=n) + y,
        "level": rng.exponential(size=n) * (1 + y),
        "events": rng.poisson(1 + 2 * y),
        "genre": [[w for w in "abcd" if rng.random() < 0.2 + 0.2 * c] for c in y],
        "words": [{w: int(rng.integers(1, 4)) for w in "abcd" if rng.random() < 0.4} for _ in y],
        "topics": [[w for w in "abcd" if rng.random() < 0.5] for _ in y],
        "note": [" ".join(rng.choice(["cash", "lunch", "prize", "noon"], size=3)) for _ in y],
        "hashed": [" ".join(rng.choice(["cash", "lunch", "prize", "noon"], size=3)) for _ in y],
    }
    result = {name: [None if rng.random() < 0.1 else v for v in list(values)] for name, values in table.items()}
    return result | {LABEL: [f"class {c}" for c in y]}
