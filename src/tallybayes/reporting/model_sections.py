"""The head of the page, and the sections about the model: its prior, the importance of its columns, the nomogram."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from tallybayes.doubts import Doubt
from tallybayes.formatting import several, shown
from tallybayes.html_element import Markup, cell_text, join, table, tag
from tallybayes.model.model_summary import setting_rows
from tallybayes.reporting import model_charts
from tallybayes.reporting.chart_style import colour_of
from tallybayes.reporting.html_page import Page
from tallybayes.reporting.nomogram import nomogram
from tallybayes.reporting.report_data import ReportData

__all__ = ["add_importance", "add_model", "add_nomogram", "head"]

_FEW_COLUMNS = 12  # that are listed without a click
_SELECTS = {"nomogram-for": "class", "nomogram-against": "against", "nomogram-row": "example row"}
_BARS = 40  # columns in the chart of the importance


def head(data: ReportData, title: str, doubts: Collection[Doubt] = ()) -> Markup:
    """The model, how it was evaluated, what is to be checked about the data, and the most important metrics."""
    boxes = [tag("div", tag("dt", name), tag("dd", value, tag("small", more))) for name, value, more in _facts(data)]
    label = tag("b", shown(data.model.schema.label) or "a label")
    what = tag("p", "A naive Bayes model of ", label, *_summary(data))
    return join([tag("h1", title), what, *_to_check(doubts), tag("dl", *boxes, class_="facts")])


def _to_check(doubts: Collection[Doubt]) -> list[Markup]:
    """What was dropped, guessed or changed when the data was read, as a list; nothing if there is nothing."""
    entries = [tag("li", one.where + one.text, *([tag("small", one.hint)] if one.hint else [])) for one in doubts]
    return [tag("aside", tag("h2", "Please check"), tag("ul", *entries), class_="check")] if entries else []


def _summary(data: ReportData) -> list[str]:
    model, settings = data.model, data.model.settings
    parts = [f": {several(len(data.names), 'class', 'es')}, {several(len(model.schema.families), 'column')}"]
    rows = None if model.is_given else _count(sum(model.class_counts.values()))
    parts.append(", from given probabilities." if rows is None else f", fitted on {rows} rows.")
    parts += [] if settings.calibration is None else [f" Probabilities are calibrated ({settings.calibration})."]
    parts += [] if settings.decision is None else [f" Decision rule: {settings.decision}."]
    if data.leave_one_out:
        how = "by leave-one-out" if data.group is None else f"by folds, whole groups ({data.group}) at a time"
        parts.append(f" Evaluated on its training rows {how}.")
        if (grouped := data.evaluation.grouped) is not None:
            figures = f"accuracy {grouped.accuracy:.1%}, log loss {cell_text(grouped.log_loss)}"
            parts.append(f" Rows seem to be in groups. With whole groups held out: {figures} ({grouped.split}).")
        return parts
    return [*parts, " Evaluated on rows that should not be training rows."]


def _facts(data: ReportData) -> list[tuple[str, str, str]]:
    """The metrics with their names and baselines."""
    evaluation = data.evaluation
    skipped = f"{_count(evaluation.skipped)} without a label skipped" if evaluation.skipped else ""
    grouped, by_group = evaluation.grouped, []
    if grouped is not None:
        about = f"log loss: {cell_text(grouped.log_loss)}"
        by_group = [("accuracy, whole groups held out", f"{grouped.accuracy:.1%}", about)]
    coverage = ("coverage", f"{evaluation.coverage:.1%}", "share of rows with a prediction")
    facts = [
        ("rows", _count(evaluation.n_rows), skipped),
        *([coverage] if evaluation.abstained else []),
        ("accuracy", f"{evaluation.accuracy:.1%}", f"majority class: {evaluation.majority:.1%}"),
        *by_group,
        ("balanced accuracy", f"{evaluation.balanced_accuracy:.1%}", "mean recall"),
        ("log loss", cell_text(evaluation.log_loss), f"class shares alone: {cell_text(evaluation.prior_log_loss)}"),
        ("Brier score", cell_text(evaluation.brier), "from 0 to 2"),
    ]
    if not evaluation.kept.complete:
        return facts
    error = ("calibration error", f"{evaluation.ece:.1%}", "expected, of the predictions")
    return [*facts, ("AUC", cell_text(evaluation.auc), "by chance: 0.5"), error]


def _count(n: float) -> str:
    return f"{n:,.0f}" if float(n).is_integer() else f"{n:,.1f}"


def add_model(page: Page, data: ReportData) -> None:
    """Add what the model is: the class prior, where model and data come from, its settings, and its columns."""
    rows = [{"class": shown(row["class"]), "p": row["P(class)"]} for row in data.description.classes]
    learned = [row.get("rows", "") for row in data.description.classes]
    prior = page.figure(
        "chart-prior",
        model_charts.class_prior(rows, data.colours),
        title="Class prior",
        note="The probability of every class before any value of a row is known.",
        description="Bars of the probability of every class",
        header=["class", "P(class)", "training rows"],
        rows=[[row["class"], row["p"], n] for row, n in zip(rows, learned, strict=True)],
    )
    facts = table(["", ""], _provenance(data), "Provenance and settings", kind="pairs")
    columns = _column_table(data)
    if len(data.model.schema.columns) > _FEW_COLUMNS:
        columns = tag("details", tag("summary", f"All {len(data.model.schema.columns):,} columns"), columns)
    sentence = (
        "The score of a class is its prior times the distribution of every value within the class. A missing value "
        "contributes only that it is missing."
    )
    page.section("model", "The model", sentence, tag("div", prior, facts, class_="grid"), columns)


def _provenance(data: ReportData) -> list[list[str]]:
    model = data.model
    rows = [[name, text] for name, text in data.provenance.items()]
    if not model.is_given:
        skipped = f", {_count(model.skipped)} without a label skipped" if model.skipped else ""
        rows.append(["learned", f"{_count(sum(model.class_counts.values()))} rows{skipped}"])
    how = "by leave-one-out" if data.leave_one_out else "as new rows"
    rows.append(["evaluated", f"{_count(data.evaluation.n_rows)} rows, {how}"])
    return [*rows, *setting_rows(model.snapshot().state)]


def _column_table(data: ReportData) -> Markup:
    """The columns with families, reasons and missing values."""
    judged = data.columns
    rows = [
        [name, _family(data, name), spec.reason, _share(judged.missing, name, judged.n_rows)]
        for name, spec in data.model.schema.columns.items()
    ]
    caption = f"Columns, and the share of missing values in {judged.n_rows:,} evaluated rows"
    return table(["column", "family", "reason", "missing"], rows, caption, kind="stack")


def _share(missing: Mapping[str, NDArray[np.int64]], name: str, n: int) -> str:
    return f"{missing[name].sum() / max(n, 1):.1%}" if name in missing else ""


def _family(data: ReportData, name: str) -> str:
    """The family of a column, its weight, and how strongly it is smoothed."""
    note, strength = data.description.notes.get(name, ""), data.description.strengths.get(name)
    facts = [
        data.model.schema.family_name(name),
        note if "weight" in note else "",
        "" if strength is None else strength,
    ]
    return ", ".join(str(fact) for fact in facts if fact)


def add_importance(page: Page, data: ReportData) -> None:
    """Add the chart of the importance of columns."""
    if not (importance := data.importance):
        return
    rows = [
        {"column": column.column, "kind": kind, "importance": value}
        for column in importance[:_BARS]
        for kind, value in (("information", column.information), ("gain", column.gain))
    ]
    factors = any(column.decibans is not None for column in importance)
    body = page.figure(
        "chart-importance",
        model_charts.importance(rows),
        description="Bars of the importance of every column, in descending order of information",
        header=["column", "information", "gain", *(["Bayes factor, decibans"] if factors else [])],
        rows=[
            [column.column, column.information, column.gain, *([column.decibans] if factors else [])]
            for column in importance
        ],
    )
    sentence = (
        "In nats per row: information is the decrease of the log loss of the class shares by the column alone, gain "
        "the increase of the log loss of the model without the column. A negative gain means that the column is "
        f"redundant or misleading. Computed on {data.n_importance_rows:,} rows."
    )
    page.section("importance", "Column importance", sentence, body)


def add_nomogram(page: Page, data: ReportData) -> None:
    """Add the nomogram."""
    if not data.has_nomogram:
        return
    rows = [(f"row {number}: {shown(label)}", explanation) for number, label, explanation in data.examples]
    rows += [
        (f"row {mistake.row}: {shown(mistake.label)}, answered {shown(mistake.answer)}", mistake.explanation)
        for mistake in data.mistakes
    ]
    rulers = nomogram(data.model, data.columns_by_information, rows, data.description.columns)
    common = sorted(range(len(data.names)), key=lambda code: -data.model.log_prior()[code])
    start = common[1::-1] if len(common) == 2 else common[:2]
    colours = [colour_of(name, data.colours) for name in data.names]
    page.use("nomogram_sum.js", "nomogram.js", nomogram_data={**rulers, "start": start, "colours": colours})
    sentence = (
        "Classify a row by hand: each ruler shows the contribution of a column to the log odds of one class against "
        "another. Drag the handles or use the arrow keys. A missing value contributes only that it is missing; Delete "
        "makes a value missing."
    )
    if data.model.calibration is not None:
        sentence += " The sum is uncalibrated; the probabilities are calibrated."
    page.section("nomogram", "Nomogram", sentence, *_controls(rulers["others"]))


def _controls(n_others: int) -> list[Markup]:
    choices = [
        tag("div", tag("label", f"{text} ", for_=name), tag("select", id=name)) for name, text in _SELECTS.items()
    ]
    clear = tag("button", "set all to missing", id="nomogram-clear", type="button")
    rest = tag("span", f" (including {n_others} columns of the row without a ruler)", id="nomogram-rest", hidden=True)
    answer = tag(
        "p",
        "Log odds: ",
        tag("b", tag("output", id="nomogram-sum")),
        ". Probability of ",
        tag("span", data_nomogram_for=True),
        ": ",
        tag("b", tag("output", id="nomogram-p")),
        rest,
    )
    bars = tag("ul", id="nomogram-bars", class_="bars")
    start = tag("output", id="nomogram-start")
    return [
        tag("div", *choices, clear, class_="controls"),
        tag("p", "Log odds of the prior: ", start, ". Add the contributions of the columns:"),
        tag("div", id="nomogram-rulers"),
        tag("div", answer, bars, class_="answer", role="group", aria_label="Result"),
    ]
