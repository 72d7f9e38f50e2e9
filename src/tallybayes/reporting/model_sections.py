"""The sections about the model: columns, class prior, importance, and distributions by class."""

from __future__ import annotations

import numpy as np

from tallybayes.formatting import number, shown
from tallybayes.html_element import Markup, join, table, tag
from tallybayes.reporting import model_charts
from tallybayes.reporting.column_chart_data import CLASSES, ColumnChartData, column_chart_data
from tallybayes.reporting.html_page import Page
from tallybayes.reporting.report_context import ReportContext

__all__ = ["add_column_charts", "add_columns", "add_importance", "add_prior", "head"]

_DRAWN = 20  # columns with a chart
_BARS = 40  # columns in the chart of the importance
_REST = 500  # columns in the table of the others
_KINDS = {  # the name of a chart, the header of its table, and the keys of its rows
    "steps": ("Histogram", ("from", "to", "class"), ("x", "x2", "class", "p")),
    "curve": ("Curve", ("value", "class"), ("x", "class", "p")),
    "values": ("Bars", ("value", "class"), ("value", "class", "p")),
    "words": ("Bars of the words with the strongest evidence", ("word", "class"), ("word", "class", "lead")),
}


def head(context: ReportContext, title: str) -> Markup:
    """The model, how it was evaluated, and the most important metrics."""
    boxes = [tag("div", tag("dt", name), tag("dd", value, tag("small", more))) for name, value, more in _facts(context)]
    label = tag("b", shown(context.model.schema.label) or "a label")
    what = tag("p", "A naive Bayes model of ", label, *_summary(context))
    return join([tag("h1", title), what, tag("dl", *boxes, class_="facts")])


def _summary(context: ReportContext) -> list[str]:
    model, settings = context.model, context.model.settings
    parts = [f": {_several(len(context.names), 'class', 'es')}, {_several(len(model.schema.families), 'column', 's')}"]
    rows = None if model.is_given else _count(sum(model.class_counts.values()))
    parts.append(", from given probabilities." if rows is None else f", fitted on {rows} rows.")
    parts += [] if settings.calibration is None else [f" Probabilities are calibrated ({settings.calibration})."]
    parts += [] if settings.decision is None else [f" Decision rule: {settings.decision}."]
    if context.leave_one_out:
        return [*parts, " Evaluated on its training rows by leave-one-out."]
    return [*parts, " Evaluated on rows that should not be training rows."]


def _facts(context: ReportContext) -> list[tuple[str, str, str]]:
    """The metrics with their names and baselines."""
    evaluation = context.data.evaluation
    skipped = f"{_count(evaluation.skipped)} without a label skipped" if evaluation.skipped else ""
    coverage = ("coverage", f"{evaluation.coverage:.1%}", "share of rows with a prediction")
    facts = [
        ("rows", _count(evaluation.n_rows), skipped),
        *([coverage] if evaluation.abstained else []),
        ("accuracy", f"{evaluation.accuracy:.1%}", f"majority class: {evaluation.majority:.1%}"),
        ("balanced accuracy", f"{evaluation.balanced_accuracy:.1%}", "mean recall"),
        ("log loss", _text(evaluation.log_loss), f"class shares alone: {_text(evaluation.prior_log_loss)}"),
        ("Brier score", _text(evaluation.brier), "from 0 to 2"),
    ]
    if not evaluation.kept.complete:
        return facts
    error = ("calibration error", f"{evaluation.ece:.1%}", "expected, of the predictions")
    return [*facts, ("AUC", _text(evaluation.auc), "by chance: 0.5"), error]


def _several(n: int, what: str, ending: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else ending}"


def _count(n: float) -> str:
    return f"{n:,.0f}" if float(n).is_integer() else f"{n:,.1f}"


def add_columns(page: Page, context: ReportContext) -> None:
    """Add the table of columns with families, reasons and missing values."""
    n, missing = max(context.data.n_rows, 1), context.data.missing
    rows = [
        [name, _family(context, name), field.reason, f"{missing[name] / n:.1%}" if name in missing else ""]
        for name, field in context.model.schema.fields.items()
    ]
    caption = f"Columns, and the share of missing values in {n:,} rows"
    page.section(
        "columns",
        "Columns",
        "The family of a column is its distribution within each class. A missing value contributes only that it is"
        " missing.",
        table(["column", "family", "reason", "missing"], rows, caption, kind="stack"),
    )


def _family(context: ReportContext, name: str) -> str:
    """The family of a column, and its weight."""
    family, note = context.model.schema.family_name(name), context.description.notes.get(name, "")
    return f"{family}, {note}" if "weight" in note else family


def add_prior(page: Page, context: ReportContext) -> None:
    """Add the chart of P(class)."""
    rows = [{"class": shown(row["class"]), "p": row["P(class)"]} for row in context.description.classes]
    learned = [row.get("rows", "") for row in context.description.classes]
    body = page.figure(
        "chart-prior",
        model_charts.class_prior(rows, context.colours),
        description="Bars of the probability of every class",
        header=["class", "P(class)", "training rows"],
        rows=[[row["class"], row["p"], n] for row, n in zip(rows, learned, strict=True)],
    )
    page.section("prior", "Class prior", "The probability of every class before any value of a row is known.", body)


def add_importance(page: Page, context: ReportContext) -> None:
    """Add the chart of the importance of columns."""
    if not (importance := context.data.importance):
        return
    rows = [
        {"column": one.column, "kind": kind, "importance": value}
        for one in importance[:_BARS]
        for kind, value in (("information", one.information), ("gain", one.gain))
    ]
    factors = any(one.decibans is not None for one in importance)
    body = page.figure(
        "chart-importance",
        model_charts.importance(rows),
        description="Bars of the importance of every column, in descending order of information",
        header=["column", "information", "gain", *(["Bayes factor, decibans"] if factors else [])],
        rows=[[one.column, one.information, one.gain, *([one.decibans] if factors else [])] for one in importance],
    )
    sentence = (
        "In nats per row: information is the decrease of the log loss of the class shares by the column alone, gain "
        "the increase of the log loss of the model without the column. A negative gain means that the column is "
        f"redundant or misleading. Computed on {context.data.n_importance_rows:,} rows."
    )
    page.section("importance", "Column importance", sentence, body)


def add_column_charts(page: Page, context: ReportContext) -> None:
    """Add a chart of every column in every class."""
    tables = context.description.columns
    names = context.columns_by_information
    drawn = [column_chart_data(context.model, name, tables.get(name)) for name in names[:_DRAWN]]
    figures = [_column_figure(page, context, i, one) for i, one in enumerate(drawn) if one.rows]
    content = [tag("div", *figures, class_="grid")]
    if rest := names[_DRAWN : _DRAWN + _REST]:
        rows = [[one.column, one.family, one.information] for one in context.data.importance if one.column in set(rest)]
        content.append(table(["column", "family", "information, nats per row"], rows, "The other columns"))
    sentence = "The distribution of each column within each class, as estimated by the model."
    if len(context.names) > CLASSES:
        sentence += f" Of {len(context.names)} classes the {CLASSES} most frequent are drawn."
    page.section("columns-by-class", "Columns by class", sentence, *content)


def _column_figure(page: Page, context: ReportContext, i: int, one: ColumnChartData) -> Markup:
    what, header, keys = _KINDS[one.kind]
    return page.figure(
        f"chart-column-{i}",
        model_charts.column_chart(one, context.colours, titled=False),
        title=one.column,
        note=" · ".join(part for part in (one.family, one.note) if part),
        description=f"{what} of {one.column} in each class",
        header=[*header, one.what],
        rows=[[row[key] for key in keys] for row in one.rows],
    )


def _text(value: float) -> str:
    """A number, or a dash if it is undefined."""
    return "-" if np.isnan(value) else number(value, 4)
