"""Integer weights equal repeated rows, where options are selected from the data too."""

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb

WORDS = ["cash", "win", "lunch", "noon", "at"]
CELLS = {
    "text": st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join),
    "kind": st.sampled_from(["a", "b", "c"]),
    "size": st.one_of(st.none(), st.floats(-3, 3), st.sampled_from([0.5, 1.5])),
    "flag": st.one_of(st.none(), st.booleans()),
}
FAMILIES = {"text": "text", "kind": "categorical", "size": "histogram", "flag": "bernoulli"}
ROW = st.fixed_dictionaries({**CELLS, "y": st.sampled_from(["p", "q"])})


def table(rows):
    return {name: [row[name] for row in rows] for name in (*CELLS, "y")}


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(ROW, st.integers(0, 5)), min_size=1, max_size=9).filter(lambda rows: any(n for _, n in rows)))
def test_integer_weights_equal_repeated_rows(weighted):
    rows, times = [row for row, _ in weighted], [n for _, n in weighted]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few classes and rows
        repeated = tb.fit(table([row for row, n in weighted for _ in range(n)]), label="y", families=FAMILIES)
        model = tb.fit(table(rows), label="y", sample_weight=times, families=FAMILIES)
    assert model.same_counts(repeated)
    assert model.schema.families == repeated.schema.families
    assert np.array_equal(model.predict_proba(table(rows)), repeated.predict_proba(table(rows)))
