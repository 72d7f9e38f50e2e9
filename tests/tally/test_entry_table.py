"""Entries replaced in a table: the same as in a dict, whatever is new, known or gone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tallybayes.tally.entry_store import EntryTable
from tallybayes.tally.exact import Exact

CELLS = st.dictionaries(st.integers(0, 30), st.integers(1, 9), max_size=20)
CHANGES = st.dictionaries(st.integers(0, 30), st.integers(0, 9), max_size=20)


def table_of(entries, scale):
    keys = np.array(sorted(entries), np.int64)
    values = np.array([entries[key] for key in keys.tolist()], np.float64) * scale
    sums = Exact.whole(values.astype(np.int64)) if scale == 1 else Exact.of(values)
    return EntryTable(keys, {"counts": sums})


@given(CELLS, CHANGES, st.sampled_from([1.0, 0.1]), st.booleans())
def test_replaced_entries_are_those_of_a_dict(before, change, scale, known_only):
    change = {key: value for key, value in change.items() if key in before} if known_only else change
    table, part = table_of(before, scale), table_of(change, scale)
    kept = table.sums["counts"].floats().tolist()
    found = table.with_sums(part.entries, part.sums)
    expected = {key: value for key, value in (before | change).items() if value}
    assert found.entries.tolist() == sorted(expected)
    assert found.sums["counts"] == table_of(expected, scale).sums["counts"]
    assert table.sums["counts"].floats().tolist() == kept  # tables never change
