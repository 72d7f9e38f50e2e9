"""What all rows of a file say about columns that the first rows did not: values outside an order, words for missing.

Families and words are decided by the first rows. What came later is known from the sums once all rows are counted: the
values of a column, and in how many rows it is missing. Only where a column is missing much more often below the first
rows, or labels are, is the file read once more, to see whether its cells are words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallybayes.arrays.column import Codes
from tallybayes.columns.column_doubts import doubt_late_words, doubt_values_outside
from tallybayes.columns.label_spec import label_column
from tallybayes.model.fit_plan import Plan
from tallybayes.model.model import Change
from tallybayes.state.model_state import ModelState
from tallybayes.tables.raw_values import is_missing
from tallybayes.tables.source import Source, Stream, TableSource
from tallybayes.tables.table import Table, column_values

__all__ = ["doubt_later_rows", "missing_label_words"]

_MORE = 2  # times the share of the first rows, from which later rows are missing much more often
_SEVERAL = 0.02  # share of all rows, below which nothing is said about words for missing values


def doubt_later_rows(state: ModelState, plan: Plan, change: Change, source: Source) -> None:
    """Say what the rows of a model show about its columns that the first ones did not."""
    if plan.base is not None:  # whose rows were others
        return
    said = {one.column for one in plan.schema.doubts if one.kind == "categories"}
    for name, family in state.schema.families.items():
        if family.is_ordered and name not in said:
            tally = state.statistics.blocks.get(family.counted)
            if tally is not None and name in tally.features:
                doubt_values_outside(state.schema.columns[name], tally.key_amounts(name))
    if not isinstance(source, (TableSource, Stream)) and source.head().n_rows < change.rows + change.skipped:
        words = source.missing_words(_often_missing(state, plan, change, source.head()))
        doubt_late_words(source.head(), words, change.rows)


def missing_label_words(plan: Plan, n_skipped: int, source: Source) -> Mapping[str, int]:
    """The words that were read as a missing label, by all rows where the first ones have shown a part of them."""
    known, label = plan.no_label, plan.counting.label
    if sum(known.values()) >= n_skipped or not isinstance(label, str):
        return known
    if isinstance(source, (TableSource, Stream)):
        return known
    column, _ = label_column(label, source.head().columns)
    return known if column is None else source.missing_words([column]).get(column, known)


def _often_missing(state: ModelState, plan: Plan, change: Change, head: Table) -> list[str]:
    """The columns of categories that are missing much more often below the first rows than in them."""
    families, result = state.schema.families, list[str]()
    if plan.counting.weight is not None or not change.rows:
        return []
    for family, tally in state.statistics.blocks.items():
        names = [name for name in tally.features if name in head.columns and name in families]
        if family.column is not Codes or not names:
            continue
        seen = dict(zip(tally.features, tally.rows_seen().floats().sum(axis=1).tolist(), strict=True))
        for name in names:
            first = _n_missing(head.columns[name])
            later = change.rows - seen[name] - first
            share = later / max(change.rows - head.n_rows, 1)
            if later >= _SEVERAL * change.rows and share >= _MORE * first / max(head.n_rows, 1):
                result.append(name)
    return result


def _n_missing(raw: Any) -> int:
    return int(raw.null_count) if hasattr(raw, "null_count") else sum(map(is_missing, column_values(raw)))
