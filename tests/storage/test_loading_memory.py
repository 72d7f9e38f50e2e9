"""Loading a model file takes memory in proportion to its size."""

import tracemalloc

import pytest

import tallybayes as tb
from tables import LABEL
from tallybayes.model.saved_model import dumps, loads


@pytest.mark.parametrize(
    "table",
    [
        {"x": [1.0] * 9, "t": [[str(i)] for i in range(9)], LABEL: range(9), "w": [10.0**-i for i in range(300, 309)]},
        {f"c{i}": [i] for i in range(300)} | {LABEL: ["p"], "w": [1e-300]},
        {f"r{i}": [0.1 * i, 1e-300] for i in range(100)} | {LABEL: ["p", "q"], "w": [1.5, 1e-300]},
        {LABEL: [*range(2000)] * 2, "c": range(4000), "w": [1.0] * 4000},
    ],
    ids=["weights", "categories", "reals", "classes"],
)
def test_loading_takes_memory_in_proportion_to_the_file(table):
    families = {name: "categorical" if name[0] == "c" else "gaussian" for name in table if name[0] in "crx"}
    data = dumps(tb.fit(table, label=LABEL, sample_weight="w", families=families))
    loads(data)
    tracemalloc.start()
    try:
        loads(data)
        assert tracemalloc.get_traced_memory()[1] < 200_000 + 16 * len(data)
    finally:
        tracemalloc.stop()
