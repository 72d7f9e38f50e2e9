"""The report of a model as one HTML page: its columns, their importance, its evaluation, and a nomogram."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from tallybayes.atomic_file import write_file
from tallybayes.doubts import tell_together
from tallybayes.model import Model
from tallybayes.reporting.chart_style import altair
from tallybayes.reporting.column_sections import add_column_charts
from tallybayes.reporting.diagnostic_sections import add_dependence, add_drift, add_missing, add_mistakes
from tallybayes.reporting.evaluation_sections import add_evaluation, add_threshold, add_tuning
from tallybayes.reporting.html_page import Page
from tallybayes.reporting.model_sections import add_importance, add_model, add_nomogram, head
from tallybayes.reporting.report_data import collect
from tallybayes.typing import GroupLike, LabelLike, TableLike
from tallybayes.version import __version__

__all__ = ["is_report", "report", "write_report"]

_BEFORE_TUNING = (
    *(add_model, add_evaluation, add_threshold, add_mistakes),  # what it is, and how good it is
    *(add_importance, add_dependence, add_column_charts),  # what matters, and the columns
    *(add_missing, add_drift),
)


def report(
    model: Model,
    data: TableLike,
    *,
    label: LabelLike = None,
    leave_one_out: bool | None = None,
    rows: int | None = None,
    group: GroupLike = None,
    by: str | None = None,
    tuning: Any = None,
    title: str | None = None,
    provenance: Mapping[str, str] | None = None,
) -> str:
    """Create a page about a model and labelled data: one HTML document without external resources.

    leave_one_out: whether the data is the training data, so that each row is scored by a model without that row; by
    default, if it has the sums of the model.
    rows: evaluate only the first rows, at most so many.
    group: a column or an array, if it is not the column of groups that the model was fitted with.
    by: a column, whose values get figures of their own.
    tuning: the result of `tallybayes.tune`, or rows with `k` and `log_loss`, for its curve.
    provenance: facts about where the model and the data come from, such as {"model": "a.tally", "data": "new.csv"};
    the model is named so in the command that sets a threshold. Date and version are added.

    >>> import tallybayes as tb
    >>> data = {"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}
    >>> report(tb.fit(data, label="ill"), data, leave_one_out=True)[:15]
    '<!doctype html>'
    """
    altair()
    title = title or f"Predicting {model.schema.label or 'a label'}"
    with tell_together() as doubts:
        collected = collect(model, data, label=label, leave_one_out=leave_one_out, rows=rows, group=group, by=by)
    facts = dict(provenance or {}) | {"date": _date(), "made by": f"tallybayes {__version__}"}
    collected.provenance, page = facts, Page(title)
    for add in _BEFORE_TUNING:
        add(page, collected)
    add_tuning(page, getattr(tuning, "curve", tuning))
    add_nomogram(page, collected)
    top = head(collected, title, dict.fromkeys([*model.doubts, *doubts]))
    return page.render(top, f"Made by tallybayes {__version__}. This page loads no other files.")


def _date() -> str:
    """Now; or the time in SOURCE_DATE_EPOCH, by which builds are made reproducible."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(int(seconds) if seconds.isdigit() else None))


def is_report(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like an HTML page."""
    with open(path, "rb") as file:
        return file.read(15).lower() == b"<!doctype html>"


def write_report(path: str | os.PathLike[str], html: str) -> None:
    """Write a page to a file, which is replaced as a whole."""
    write_file(path, html.encode("utf-8", "replace"), "the report")
