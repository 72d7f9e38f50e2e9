"""Rows that belong to several classes, each with a share: counted once for each class, with the share as its weight.

Shares are multiples of 2**-20 that add up to exactly 1. So sums of shares are short exact numbers, a share that is next
to nothing costs nothing, and what is pooled over the classes does not depend on how rows are divided among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Floats
from tallybayes.arrays.column import Column
from tallybayes.columns.schema import Schema
from tallybayes.families.family import SHARE_UNIT
from tallybayes.state.statistics import SufficientStatistics

__all__ = ["count_shares", "round_shares", "round_weight"]


def round_shares(proba: Floats, weight: float = 1.0) -> Floats:
    """P(class | row) times the weight of a row, as multiples of 2**-20 that add up to the rounded weight.

    The rest goes to the most probable class.

    >>> shares = round_shares(np.array([[1 / 3, 1 / 3, 1 / 3], [1.0, 1e-9, 0.0]]))
    >>> shares.sum(axis=1).tolist(), shares[1].tolist()
    ([1.0, 1.0], [1.0, 0.0, 0.0])
    """
    shares = np.round(proba * (weight / SHARE_UNIT)) * SHARE_UNIT
    best = proba.argmax(axis=1)
    shares[np.arange(len(shares)), best] += round_weight(weight) - shares.sum(axis=1)  # sums of few bits are exact
    return np.asarray(shares)


def round_weight(weight: float) -> float:
    """A weight as a multiple of 2**-20, and at least that.

    >>> round_weight(0.25), round_weight(1e-9) == 2**-20
    (0.25, True)
    """
    return max(1.0, round(weight / SHARE_UNIT)) * SHARE_UNIT


def count_shares(
    columns: Mapping[str, Column], shares: Floats, weights: Floats | None, classes: Sequence[Any], schema: Schema
) -> SufficientStatistics:
    """The sums of rows with shares (rows, classes), times the weight of each row.

    >>> from tallybayes.arrays.column import Flags
    >>> from tallybayes.columns.column_spec import ColumnSpec
    >>> from tallybayes.families import Bernoulli
    >>> schema, columns = Schema("y", {"x": ColumnSpec("x", Bernoulli(), "")}), {"x": Flags(np.array([1, 0]))}
    >>> sums = count_shares(columns, np.array([[0.25, 0.75], [0.0, 1.0]]), None, ["a", "b"], schema)
    >>> sums.class_rows.floats().tolist()
    [0.25, 1.75]
    """
    used = shares if weights is None else shares * weights[:, None]
    return SufficientStatistics.observe_shares(columns, used, list(classes), schema)
