"""The importance of columns from a model alone, without data: on rows that are drawn from the model.

    information   the mean over drawn rows of log P(class | column alone) / P(class)
    gain          the mean over drawn rows of log P(class | row) / P(class | row without the column)

in nats per row. If the model were true, these would be the values on new rows; where it is too certain, they are too
large. `tallybayes.importance` measures the same on data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.arrays.axis import positions
from tallybayes.cells.arrow import to_list
from tallybayes.errors import TallyError
from tallybayes.formatting import finite_json
from tallybayes.model import Model
from tallybayes.reporting.held_out_importance import HeldOutImportance

__all__ = ["expected_importance"]

_ROWS = 1_000  # drawn: the standard error is about 0.03 nats


def expected_importance(model: Model, n_rows: int = _ROWS) -> dict[str, Any]:
    """The columns in descending order of information, as plain values.

    A model whose scores are not likelihoods cannot be sampled: then there are no columns, and `reason` says why.

    >>> import tallybayes as tb
    >>> table = {"fever": [1, 1, 1, 0, 0, 0] * 20, "coin": [0, 1] * 60, "ill": [*["yes"] * 2, *["no"] * 4] * 20}
    >>> [one["column"] for one in expected_importance(tb.fit(table, label="ill"))["columns"]]
    ['fever', 'coin']
    """
    if len(model.classes) < 2:
        return {"rows": 0, "columns": [], "reason": "a model of one class"}
    importance = HeldOutImportance()
    try:
        drawn = model.sample(n_rows, seed=0)
        labels = to_list(drawn.column(drawn.num_columns - 1))
        codes, first = positions(labels, model.classes), 0
        for table, evidence in model.snapshot().evidence_batches(drawn):
            importance.add(model, evidence, np.asarray(codes[first : first + table.n_rows], np.int64))
            first += table.n_rows
    except TallyError as error:
        return {"rows": 0, "columns": [], "reason": str(error)}
    columns = [
        {"column": column.column, "family": column.family, "information": column.information, "gain": column.gain}
        for column in sorted(importance.columns(model), key=lambda column: -column.information)
    ]
    p = np.exp(model.log_prior())
    entropy = float(-(p * np.where(p > 0, model.log_prior(), 0.0)).sum())
    return {"rows": n_rows, "entropy": entropy, "columns": finite_json(columns), "reason": None}
