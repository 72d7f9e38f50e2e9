"""The sections that tell what the model is: its columns, its prior, what columns are worth, and how they look."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.formatting import number, shown
from tallybayes.report import charts
from tallybayes.report.column_chart import CLASSES, Picture, picture
from tallybayes.report.html_element import Markup, join, table, tag
from tallybayes.report.html_page import Page
from tallybayes.report.section_context import Subject

__all__ = ["add_columns", "add_pictures", "add_prior", "add_ranking", "head"]

_PICTURES = 20  # columns that are drawn, the best ones
_RANKED = 40  # columns in the chart of the ranking
_REST = 500  # columns in the table of the others
_DRAWN = {  # what a picture is called, the heads of its table, and the keys of its rows
    "steps": ("Histogram", ("from", "to", "class"), ("x", "x2", "class", "p")),
    "curve": ("Curve", ("value", "class"), ("x", "class", "p")),
    "values": ("Bars", ("value", "class"), ("value", "class", "p")),
    "words": ("Bars of the words that speak most", ("word", "class"), ("word", "class", "lead")),
}


def head(about: Subject, title: str) -> Markup:
    """What the model is, how it was judged, and the figures in short."""
    boxes = [tag("div", tag("dt", name), tag("dd", value, tag("small", more))) for name, value, more in _facts(about)]
    label = tag("b", shown(about.model.schema.label) or "a label")
    what = tag("p", "A naive Bayes model of ", label, *_about_model(about))
    return join([tag("h1", title), what, tag("dl", *boxes, class_="facts")])


def _about_model(about: Subject) -> list[str]:
    model, settings = about.model, about.model.settings
    told = [f": {_several(len(about.names), 'class', 'es')}, {_several(len(model.schema.families), 'column', 's')}"]
    rows = None if model.is_given else _count(sum(model.class_counts.values()))
    told.append(", written down by hand." if rows is None else f", learned from {rows} rows.")
    told += [] if settings.calibration is None else [f" Probabilities are calibrated ({settings.calibration})."]
    told += [] if settings.decision is None else [f" What is answered: {settings.decision}."]
    if about.leave_one_out:
        return [*told, " It was judged on rows that it has learned, each scored without itself (leave-one-out)."]
    return [*told, " It was judged on rows that it should not have learned from."]


def _facts(about: Subject) -> list[tuple[str, str, str]]:
    """Names, figures and what to compare them with."""
    judged = about.found.judged
    skipped = f"{_count(judged.skipped)} without a label left out" if judged.skipped else ""
    answered = [("answered", f"{judged.coverage:.1%}", "accuracy is that of the answers")] if judged.abstained else []
    facts = [
        ("rows judged", _count(judged.n_rows), skipped),
        *answered,
        ("accuracy", f"{judged.accuracy:.1%}", f"always the commonest class: {judged.majority:.1%}"),
        ("balanced accuracy", f"{judged.balanced_accuracy:.1%}", "every class counts alike"),
        ("log loss", _figure(judged.log_loss), f"the shares alone: {_figure(judged.prior_log_loss)}"),
        ("Brier score", _figure(judged.brier), "from 0 to 2"),
    ]
    if not judged.kept.complete:
        return facts
    error = ("calibration error", f"{judged.ece:.1%}", "of the answers' probabilities")
    return [*facts, ("AUC", _figure(judged.auc), "by chance: 0.5"), error]


def _several(n: int, what: str, ending: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else ending}"


def _count(n: float) -> str:
    return f"{n:,.0f}" if float(n).is_integer() else f"{n:,.1f}"


def add_columns(page: Page, about: Subject) -> None:
    """The families, their reasons and the gaps."""
    n, missing = max(about.found.n_rows, 1), about.found.missing
    rows = [
        [name, "left out", field.reason, ""]
        if field.family is None
        else [name, _family(about, name), field.reason, f"{missing.get(name, 0) / n:.1%}"]
        for name, field in about.model.schema.fields.items()
    ]
    caption = f"Columns, and the share of {n:,} rows of the data in which they are missing"
    page.section(
        "columns",
        "The columns",
        "Every column has a family, which says how it is counted, for the reason given; missing values say nothing.",
        table(["column", "family", "why", "missing"], rows, caption, kind="stack"),
    )


def _family(about: Subject, name: str) -> str:
    """The family of a column, and how far it is trusted."""
    told, note = about.model.schema.families[name].told(), about.described.notes.get(name, "")
    return f"{told}, {note}" if "weight" in note else told


def add_prior(page: Page, about: Subject) -> None:
    """P(class)."""
    rows = [{"class": shown(row["class"]), "p": row["P(class)"]} for row in about.described.classes]
    learned = [row.get("rows", "") for row in about.described.classes]
    body = page.figure(
        "chart-prior",
        charts.class_prior(rows, about.colours),
        says="Bars of the probability of every class",
        header=["class", "P(class)", "rows learned"],
        rows=[[row["class"], row["p"], n] for row, n in zip(rows, learned, strict=True)],
    )
    page.section("prior", "The class prior", "How probable every class is before anything is known of a row.", body)


def add_ranking(page: Page, about: Subject) -> None:
    """What every column is worth, alone and beside the others."""
    if not (worth := about.found.worth):
        return
    rows = [
        {"column": one.column, "kind": kind, "worth": value}
        for one in worth[:_RANKED]
        for kind, value in (("alone", one.information), ("lost without it", one.gain))
    ]
    factors = any(one.decibans is not None for one in worth)
    body = page.figure(
        "chart-ranking",
        charts.ranking(rows),
        says="Bars of what every column is worth, the best first",
        header=["column", "alone", "lost without it", *(["Bayes factor, decibans"] if factors else [])],
        rows=[[one.column, one.information, one.gain, *([one.decibans] if factors else [])] for one in worth],
    )
    sentence = (
        "What every column says about the true class, in nats per row: alone, against knowing only the class shares, "
        "and what the model would lose without it. Below zero it misleads, or repeats what others say. Found on "
        f"{about.found.n_weighed:,} rows."
    )
    page.section("ranking", "What the columns are worth", sentence, body)


def add_pictures(page: Page, about: Subject) -> None:
    """Every column in every class."""
    tables = about.described.columns
    drawn = [picture(about.model, name, tables.get(name)) for name in about.ranked[:_PICTURES]]
    content: list[Any] = [tag("div", *(_pictured(page, about, i, one) for i, one in enumerate(drawn)), class_="grid")]
    if rest := about.ranked[_PICTURES : _PICTURES + _REST]:
        rows = [[one.column, one.family, one.information] for one in about.found.worth if one.column in set(rest)]
        content.append(table(["column", "family", "nats per row, alone"], rows, "The other columns"))
    sentence = (
        "What the model expects of a column in each class: where the classes differ, the column tells them apart."
    )
    if len(about.names) > CLASSES:
        sentence += f" Of {len(about.names)} classes the {CLASSES} commonest are drawn."
    page.section("pictures", "The columns in each class", sentence, *content)


def _pictured(page: Page, about: Subject, i: int, one: Picture) -> Markup:
    what, header, keys = _DRAWN[one.kind]
    return page.figure(
        f"chart-column-{i}",
        charts.pictured(one, about.colours, titled=False),
        title=one.column,
        note=" · ".join(part for part in (one.family, one.note) if part),
        says=f"{what} of {one.column} in each class",
        header=[*header, one.what],
        rows=[[row[key] for key in keys] for row in one.rows],
    )


def _figure(value: float) -> str:
    """A number, or a dash where there is none."""
    return "-" if np.isnan(value) else number(value, 4)
