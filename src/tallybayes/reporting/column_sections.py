"""The section with the distribution of every column within each class.

The most informative columns are drawn at once, the others when they are opened, those that tell nothing about the class
last; of very many columns the rest is a table.
"""

from __future__ import annotations

from collections.abc import Sequence

from tallybayes.html_element import Markup, table, tag
from tallybayes.reporting import model_charts
from tallybayes.reporting.column_chart_data import CLASSES, ColumnChartData, column_chart_data, pickable_classes
from tallybayes.reporting.html_page import Page, class_picker
from tallybayes.reporting.report_data import ReportData

__all__ = ["add_column_charts"]

_OPEN = 8  # columns that are drawn at once
_DRAWN = 24  # columns with a chart
_REST = 500  # columns in the table of the others
_NOTHING = 0.001  # nats per row: a column with less information tells nothing about the class
_KINDS = {  # the name of a chart, the header of its table, and the keys of its rows
    "steps": ("Histogram", ("from", "to", "class"), ("x", "x2", "class", "p")),
    "curve": ("Curve", ("value", "class"), ("x", "class", "p")),
    "values": ("Bars", ("value", "class"), ("value", "class", "p")),
    "words": ("Bars of the words with the strongest evidence", ("word", "class"), ("word", "class", "lead")),
}


def add_column_charts(page: Page, data: ReportData) -> None:
    """Add a chart of every column in every class."""
    names = data.columns_by_information
    information = {importance.column: importance.information for importance in data.importance}
    useful = [name for name in names if information.get(name, 1.0) >= _NOTHING]  # derived columns have no number
    useless = [name for name in names if name not in set(useful)]
    drawn, hidden = useful[:_OPEN], useful[_OPEN:_DRAWN]
    content = []
    if len(data.names) > CLASSES:
        content.append(class_picker(pickable_classes(data.model), data.drawn_classes, name="columns"))
    content.append(_grid(page, data, drawn))
    if hidden:
        content.append(_fold(f"{len(hidden)} more columns with less information", _grid(page, data, hidden)))
    if useless:
        room = max(0, _DRAWN - len(drawn) - len(hidden))
        text = f"{len(useless)} columns that tell nothing about the class (less than {_NOTHING} nats per row)"
        content.append(_fold(text, _grid(page, data, useless[:room]), _rest(data, useless[room:])))
    content.append(_rest(data, useful[_DRAWN:]))
    sentence = (
        "The distribution of each column within each class, as estimated by the model; where nearly all rows have one "
        "value, log odds of each value instead. Columns in descending order of information."
    )
    if len(data.names) > CLASSES:
        sentence += f" Of {len(data.names)} classes the {CLASSES} most frequent are drawn, or the one that is picked."
    page.section("columns-by-class", "Columns by class", sentence, *content)


def _grid(page: Page, data: ReportData, names: Sequence[str]) -> Markup:
    tables = data.description.columns
    charts = ((name, column_chart_data(data.model, name, tables.get(name), every=True)) for name in names)
    return tag("div", *(_figure(page, data, name, chart) for name, chart in charts if chart.rows), class_="grid")


def _figure(page: Page, data: ReportData, name: str, chart: ColumnChartData) -> Markup:
    what, header, keys = _KINDS[chart.kind]
    number = data.columns_by_information.index(name)
    return page.figure(
        f"chart-column-{number}",
        model_charts.column_chart(chart, data.colours, titled=False),
        title=chart.column,
        note=" · ".join(part for part in (chart.family, chart.note) if part),
        description=f"{what} of {chart.column} in each class",
        header=[*header, chart.what],
        rows=[[row[key] for key in keys] for row in chart.rows if "of" not in row],
        picks=data.drawn_classes if len(data.names) > CLASSES else (),  # few classes are drawn together
    )


def _fold(text: str, *content: Markup) -> Markup:
    return tag("details", tag("summary", text), *content, class_="fold")


def _rest(data: ReportData, names: Sequence[str]) -> Markup:
    """A table of columns without a chart."""
    if not names:
        return Markup("")
    listed = set(names[:_REST])
    rows = [
        [importance.column, importance.family, importance.information]
        for importance in data.importance
        if importance.column in listed
    ]
    caption = "The other columns" + (f" (the first {_REST} of {len(names)})" if len(names) > _REST else "")
    return table(["column", "family", "information, nats per row"], rows, caption)
