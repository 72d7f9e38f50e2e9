"""The scores of rows before they are learned are the same for dicts, by the fast path, and for a table of them."""

import numpy as np
import pyarrow as pa
import pytest

import tallybayes as tb
from tallybayes.server.live.stream_metrics import score_rows

ROWS = [{"weight": float(i), "indoors": i % 3 == 0, "pet": ["cat", "dog", "cow"][i * i % 3]} for i in range(30)]
NEW = [
    {"weight": 3.5, "indoors": True, "pet": "cat"},
    {"weight": 20.0, "indoors": False, "pet": "dog"},
    {"weight": None, "indoors": None, "pet": None},
    {"weight": 1.0, "indoors": True, "pet": "newt"},
]


@pytest.mark.parametrize("label", ["pet", "pet=cat"])
@pytest.mark.parametrize("families", [{"weight": "gaussian"}, {"weight": "histogram"}])
def test_dicts_and_tables_have_the_same_scores(label, families):
    snapshot = tb.fit(ROWS, label=label, families=families).snapshot()
    assert snapshot.log_score_of_few(NEW) is not None
    dicts, table, parts = (
        score_rows(snapshot, data) for data in ([NEW], [pa.Table.from_pylist(NEW)], [[row] for row in NEW])
    )
    assert np.array_equal(dicts[0].scores, table[0].scores, equal_nan=True)
    assert dicts[0].labels == table[0].labels
    assert np.array_equal(np.concatenate([part.scores for part in parts]), dicts[0].scores, equal_nan=True)
    assert len(dicts[0].scores) == 3  # a row without a label has no score


def test_a_row_that_is_not_scored_does_not_spoil_others():
    snapshot = tb.fit(ROWS, label="pet").snapshot()
    scores = score_rows(snapshot, [[NEW[0]], [{"weight": "heavy", "pet": "cat"}], None, [NEW[1]]])
    assert [len(own.scores) for own in scores] == [1, 0, 0, 1]
