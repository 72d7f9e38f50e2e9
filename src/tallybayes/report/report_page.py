"""The report of a model: what it is, what it believes, how good it is, and a nomogram to try it by hand."""

from __future__ import annotations

import os
from typing import Any

from tallybayes.atomic_file import write_file
from tallybayes.model import Model
from tallybayes.report.findings import gather
from tallybayes.report.html_page import Page
from tallybayes.report.model_sections import add_columns, add_pictures, add_prior, add_ranking, head
from tallybayes.report.nomogram_section import add_nomogram
from tallybayes.report.palette import altair
from tallybayes.report.quality_sections import add_quality, add_threshold, add_tuning
from tallybayes.report.section_context import Subject
from tallybayes.version import __version__

__all__ = ["report", "write"]


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
    """A page about a model and labelled data, as HTML that needs nothing else.

    leave_one_out: the model has learned these rows, so that each is scored without itself.
    rows: judge at most so many, from the first on.
    tuning: what `tallybayes.tune` found, or rows with `k` and `log_loss`, for its curve.

    >>> import tallybayes as tb
    >>> data = {"fever": [1, 1, 0, 0], "ill": ["yes", "yes", "no", "no"]}
    >>> report(tb.fit(data, label="ill"), data, leave_one_out=True)[:15]
    '<!doctype html>'
    """
    altair()
    title = title or f"Predicting {model.schema.label or 'a label'}"
    found = gather(model, data, label=label, leave_one_out=leave_one_out, rows=rows)
    about, page = Subject(model, found, leave_one_out=leave_one_out), Page(title)
    for add in (add_columns, add_prior, add_ranking, add_pictures, add_quality, add_threshold):
        add(page, about)
    add_tuning(page, getattr(tuning, "curve", tuning))
    add_nomogram(page, about)
    return page.render(
        head(about, title), f"Made by tallybayes {__version__}. This file is complete: it loads nothing."
    )


def write(path: str | os.PathLike[str], html: str) -> None:
    """Write a page to a file, which is replaced as a whole."""
    write_file(path, html.encode("utf-8", "replace"), "the page")
