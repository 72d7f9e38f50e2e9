"""Columns that tell the label nearly by themselves: what a row can know only after the label is known.

Measured on the held-out rows that column weights are fitted on, one column at a time: the share of rows that the class
prior and this column alone predict right. A column is a possible leak if it leaves at most a tenth of the errors of
always predicting the most frequent class, and

* is right in at least 99.5 % of the rows; or
* is right in at least 95 % by the mere presence of a value: a lifeboat is recorded for those who were saved.

A column that is the only one, a text and a column computed from others are exempt: they may well tell the label. There
must be enough rows: 200, of which 20 are not of the most frequent class. The odour of a mushroom (98.5 %) and the
petals of an iris (96 %) are honest columns below these limits.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from tallybayes.arrays.array_types import Floats
from tallybayes.doubts import doubt, ignored
from tallybayes.weights.held_out_evidence import HeldOutEvidence

__all__ = ["warn_of_leaks"]

_ROWS, _OTHER_ROWS = 200, 20  # all, and those that are not of the most frequent class
_ACCURACY, _ACCURACY_OF_GAPS = 0.995, 0.95
_ERRORS = 0.1  # of those of the most frequent class


def warn_of_leaks(held_out: HeldOutEvidence, scales: Floats, *, exempt: Collection[str] = ()) -> None:
    """Warn of every column that may be a leak.

    scales: factors of the evidence of the columns, in the order of their names; exempt: columns that may well tell the
    label, because they are computed from several others or are texts.
    """
    weights = held_out.weights
    total = float(weights.sum())
    rows = np.bincount(held_out.codes, weights=weights) if len(weights) else np.zeros(1)
    others = total - float(rows.max())
    if held_out.is_sum or len(held_out.names) < 2 or total < _ROWS or others < _OTHER_ROWS:
        return

    def accuracy(evidence: Floats) -> float:
        predicted = np.argmax(held_out.log_prior + evidence, axis=1)
        return float(weights[predicted == held_out.codes].sum()) / total

    least = 1 - _ERRORS * others / total
    gaps = dict(zip(held_out.gaps, held_out.missing, strict=True))
    for name, evidence, scale in zip(held_out.names, held_out.evidence, scales, strict=False):
        if name in exempt:
            continue
        if name in gaps and (share := accuracy(gaps[name])) >= max(_ACCURACY_OF_GAPS, least):
            _warn(name, "whether it has a value", share)
        elif (share := accuracy(evidence * scale + gaps.get(name, 0.0))) >= max(_ACCURACY, least):
            _warn(name, "the column", share)


def _warn(name: str, what: str, accuracy: float) -> None:
    text = f"{what} alone predicts {100 * accuracy:.1f} % of held-out rows right"
    hint = f"if it is known only after the label, exclude it: {ignored(name)}"
    doubt("possible leak", f"possible leak: {text}", column=name, hint=hint)
