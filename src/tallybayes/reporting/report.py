"""The report of a model as one HTML page: its columns, their importance, its evaluation, and a nomogram."""

from __future__ import annotations

import os
from typing import Any

from tallybayes.atomic_file import write_file
from tallybayes.model import Model
from tallybayes.reporting.chart_style import altair
from tallybayes.reporting.evaluation_sections import add_evaluation, add_threshold, add_tuning
from tallybayes.reporting.html_page import Page
from tallybayes.reporting.model_sections import add_column_charts, add_columns, add_importance, add_prior, head
from tallybayes.reporting.nomogram_section import add_nomogram
from tallybayes.reporting.report_context import ReportContext
from tallybayes.reporting.report_data import collect
from tallybayes.version import __version__

__all__ = ["is_report", "report", "write_report"]


def report(
    model: Model,
    data: Any,
    *,
    label: Any = None,
    leave_one_out: bool = False,
    rows: int | None = None,
    tuning: Any = None,
    title: str | None = None,
) -> str:
    """Create a page about a model and labelled data: one HTML document without external resources.

    leave_one_out: the data is the training data; each row is scored by the model without that row.
    rows: evaluate only the first rows, at most so many.
    tuning: the result of `tallybayes.tune`, or rows with `k` and `log_loss`, for its curve.

    >>> import tallybayes as tb
    >>> data = {"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}
    >>> report(tb.fit(data, label="ill"), data, leave_one_out=True)[:15]
    '<!doctype html>'
    """
    altair()
    title = title or f"Predicting {model.schema.label or 'a label'}"
    found = collect(model, data, label=label, leave_one_out=leave_one_out, rows=rows)
    context, page = ReportContext(model, found, leave_one_out=leave_one_out), Page(title)
    for add in (add_columns, add_prior, add_importance, add_column_charts, add_evaluation, add_threshold):
        add(page, context)
    add_tuning(page, getattr(tuning, "curve", tuning))
    add_nomogram(page, context)
    return page.render(head(context, title), f"Made by tallybayes {__version__}. This page loads no other files.")


def is_report(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins like an HTML page."""
    with open(path, "rb") as file:
        return file.read(15).lower() == b"<!doctype html>"


def write_report(path: str | os.PathLike[str], html: str) -> None:
    """Write a page to a file, which is replaced as a whole."""
    write_file(path, html.encode("utf-8", "replace"), "the report")
