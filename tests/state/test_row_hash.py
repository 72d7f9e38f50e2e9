"""Values that are there never hash like a missing value: samples of rows would depend on the order of the rows."""

import numpy as np
import pyarrow as pa
import pytest

import tallybayes as tb
from tallybayes.model.saved_model import dumps
from tallybayes.state.row_hash import key_hashes


@pytest.mark.parametrize("key", ["", -1, 0, False, b"", 0.0, ()])
def test_no_key_has_the_hash_of_a_missing_value(key):
    assert key_hashes([key])[0] != 0
    assert key_hashes([key, "a"])[0] == key_hashes([key])[0]
    assert (key_hashes(range(-3, 3)) != 0).all()


@pytest.mark.parametrize("values", [["a", "b", "", None], [["a"], [""], [], None], [-1, 2, 3, None]])
def test_empty_values_do_not_make_weights_depend_on_the_order_of_rows(values):
    rng = np.random.default_rng(1)
    kinds, sizes, classes = rng.integers(0, 4, 400), rng.integers(0, 3, 400), rng.integers(0, 2, 400)
    table = pa.table({"d": [values[kind] for kind in kinds], "size": sizes, "y": ["pq"[code] for code in classes]})
    model = tb.fit(table, label="y", families={"d": "tags" if isinstance(values[0], list) else "categorical"})
    for seed in range(3):
        shuffled = table.take(np.random.default_rng(seed).permutation(400))
        assert dumps(tb.fit(shuffled, label="y", schema=model.schema)) == dumps(model)
