"""One row of numbers at a time, at the speed of the row.

A dict of numbers for a model whose columns are all gaussian goes straight into the sums and straight through the
scorer, by two kernels; everything unusual (a new name, text, an infinity, a digit that does not fit) is left to the
general way, which gives the same result.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.axis import kind_of
from tallybayes.data.schema import Schema
from tallybayes.families import Gaussian
from tallybayes.families.base import Floats
from tallybayes.families.gaussian import GaussianPredictive
from tallybayes.model.scorer import Scorer
from tallybayes.model.total import Total
from tallybayes.tally import Exact, Sums

__all__ = ["SingleRows"]


class SingleRows:
    """The quick way for a model, until its shape changes; where there is none, it always says so."""

    def __init__(self, schema: Schema, total: Total) -> None:
        labels, class_rows, blocks = total.labels, total.class_rows, total.blocks
        family, tally = next(iter(blocks.items()), (None, None))
        self._possible = (
            len(blocks) == 1
            and schema.weight is None
            and isinstance(family, Gaussian)
            and isinstance(tally, Sums)
            and class_rows.is_whole
            and tally["n"].is_whole
            and set(tally.features) == set(schema.families)
        )
        if not self._possible or not isinstance(tally, Sums):
            return
        self._label = schema.label
        self._codes = {label: code for code, label in enumerate(labels)}
        self._kind = type(labels[0]) if labels and kind_of(labels[0]) in ("text", "yes/no", "whole number") else None
        self._index = {name: -2 for name, field in schema.fields.items() if field.family is None}
        self._index |= {name: j for j, name in enumerate(tally.features)}
        if schema.label is not None:
            self._index[schema.label] = -2
        # room for a few digits on either side, so that most rows fit
        tally.statistics["x"] = x = _with_room(tally["x"], 2)
        tally.statistics["xx"] = xx = _with_room(tally["xx"], 4)
        self._sums = (tally["n"].digits[..., 0], x.digits, x.low, xx.digits, xx.low)
        self._class_rows = class_rows.digits[:, 0]
        self._values = np.empty(len(tally.features))
        self._read, self._add = kernels.active.read_row, kernels.active.add_row
        self._local = threading.local()

    def learn(self, row: dict[Any, Any]) -> bool:
        """Add a row that holds its label to the sums; False, with nothing changed, if the general way must be taken."""
        if not self._possible:
            return False
        label = row.get(self._label)
        if type(label) is not self._kind or (code := self._codes.get(label, -1)) < 0:
            return False
        values = self._values
        if self._read(row, self._index, values) < 0 or not self._add(*self._sums, values, code, 1):
            return False
        self._class_rows[code] += 1
        return True

    def predict_proba(self, row: dict[Any, Any], scorer: Scorer) -> Floats | None:
        """P(class | row), (1, classes), or None if the general way must be taken."""
        if not self._possible:
            return None
        local = self._local
        if getattr(local, "scorer", None) is not scorer:
            predictives = scorer.predictives
            if len(predictives) != 1 or not isinstance(predictives[0], GaussianPredictive):
                return None
            values = np.empty((1, len(self._values)))
            local.scorer, local.values = scorer, values[0]
            local.score = predictives[0].bind_arrays(values)
            local.log_prior = scorer.log_prior[None]
        if self._read(row, self._index, local.values) < 0:
            return None
        out: Floats = local.log_prior.copy()
        local.score(out, 0, 1)
        return None if kernels.active.softmax(out, 0, 1) else out


def _with_room(sums: Exact, room: int) -> Exact:
    return sums.widened(sums.low - room, sums.low + sums.digits.shape[-1] + room)
