"""Rows that were counted apart, put into a model: for engines, which count where the rows are."""

from tallybayes.model.model import Change, Model
from tallybayes.state.counted_rows import CountedRows

__all__ = ["apply_counted"]


def apply_counted(model: Model, counted: CountedRows, sign: int) -> Change:
    """Let a model learn (1) or forget (-1) rows that were counted for it, all or nothing."""
    return model._current.apply(counted, sign)
