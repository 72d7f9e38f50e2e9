"""The sections about the evaluated rows: confident mistakes, dependence, missing values, and drift of columns."""

from __future__ import annotations

import numpy as np

from tallybayes.explaining.explanation import shorten_word
from tallybayes.formatting import DECIBANS, probability, shown, signed
from tallybayes.html_element import Markup, join, table, tag
from tallybayes.reporting.column_cells import Drift, dependent_pairs, drift_between
from tallybayes.reporting.html_page import Page
from tallybayes.reporting.report_data import Mistake, ReportData

__all__ = ["add_dependence", "add_drift", "add_missing", "add_mistakes"]

_PAIRED = 30  # columns among which pairs are looked for: the most informative
_PAIRS = 12  # pairs in the table
_ROWS = 60  # columns in the tables of missing values and of drift
_CLASSES = 12  # columns of the table of missing values; of more classes the most frequent
_REASONS = 2  # columns that are named as the reason of a mistake
_LEAST_DECIBANS = 0.1  # decibans of a column that is named
_WORDS = 3  # of a text that are named
_LEAST_INFORMATION = 0.005  # information in nats below which a pair is not listed: a correlation of 0.1


def add_mistakes(page: Page, data: ReportData) -> None:
    """Add the wrong answers with the greatest probability, each with a button that opens it in the nomogram."""
    if not data.mistakes:
        return
    rows = [_mistake(data, number, mistake) for number, mistake in enumerate(data.mistakes)]
    listed = f"The {len(rows)} most probable" if len(rows) < data.n_mistakes else f"All {len(rows)}"
    sentence = (
        f"{data.n_mistakes:,} of {data.evaluation.n_rows:,} rows have a wrong answer. {listed} of these answers: "
        "labels that may be wrong, rows that are unlike others, or columns that mislead."
    )
    if data.leave_one_out:
        sentence += " The probabilities are by leave-one-out; the nomogram is of the whole model."
    header = ["row", "is", "answer", "probability", "mainly because of", ""]
    page.section(
        "mistakes", "Confident mistakes", sentence, table(header, rows, "The most confident mistakes", kind="cards")
    )


def _mistake(data: ReportData, number: int, mistake: Mistake) -> list[str]:
    odds = mistake.explanation.log_odds(mistake.answer, mistake.label)
    decibans = {name: value * DECIBANS for name, value in odds.items() if name}
    clear = [name for name in decibans if decibans[name] >= _LEAST_DECIBANS]
    most = sorted(clear, key=lambda name: -decibans[name])[:_REASONS]
    why = "; ".join(f"{name} = {_value(mistake, name)} ({signed(decibans[name])} dB)" for name in most)
    codes = [data.model.classes.index(label) for label in (mistake.answer, mistake.label)]
    place = len(data.examples) + number
    button = tag("button", "open in nomogram", type="button", data_row=place, data_for=codes[0], data_against=codes[1])
    buttons = [button] if data.has_nomogram else []
    return [
        f"row {mistake.row:,}",
        shown(mistake.label),
        shown(mistake.answer),
        probability(mistake.probability),
        why,
        join(buttons),
    ]


def _value(mistake: Mistake, name: str) -> str:
    """A value; of a text, the words with the most evidence for the answer."""
    if any(word.spans for word in mistake.explanation.words.get(name, [])):
        odds = sorted(mistake.explanation.word_odds(name, mistake.answer, mistake.label), key=lambda pair: -pair[1])
        return ", ".join(shorten_word(word.name) for word, _ in odds[:_WORDS])
    value = mistake.explanation.values.get(name)
    text = "missing" if value is None else shown(value)
    return text if len(text) <= 40 else text[:37] + "..."


def add_dependence(page: Page, data: ReportData) -> None:
    """Add the pairs of columns that depend on each other most within the classes."""
    judged = data.columns
    names = [name for name in data.columns_by_information if name in judged.learned][:_PAIRED]
    if len(names) < 2 or not judged.n_rows:
        return
    pairs = dependent_pairs({name: judged.cells(name) for name in names}, judged.codes, names)
    listed = [pair for pair in pairs if pair.information >= _LEAST_INFORMATION][:_PAIRS]
    sentence = (
        "Naive Bayes treats the columns as independent within each class; what two dependent columns say is counted "
        "twice, unless column weights, fitted by default, correct for it. Mutual information within the classes, of "
        f"coarse cells of the {len(names)} most informative columns in {judged.n_rows:,} rows, and as the correlation "
        "of normal variables with the same information. tally tune looks for interactions of columns; tally fit "
        "--dependence one models the dependence."
    )
    rows = [
        [f"{pair.first} and {pair.second}", pair.information, _meter(pair.correlation), f"{pair.correlation:.2f}"]
        for pair in listed
    ]
    body = (
        table(
            ["columns", "nats per row", "", "as a correlation"],
            rows,
            "Pairs of columns, the most dependent first",
            kind="cards",
        )
        if rows
        else tag("p", "No two columns depend on each other noticeably.", class_="soft")
    )
    page.section("dependence", "Dependence between columns", sentence, body)


def add_missing(page: Page, data: ReportData) -> None:
    """Add the shares of missing values by class."""
    judged = data.columns
    derived = data.model.schema.derived
    gaps = {name: counts for name, counts in judged.missing.items() if counts.any() and name not in derived}
    if not gaps:
        return
    codes = [code for code in np.argsort(-judged.class_rows, kind="stable").tolist() if judged.class_rows[code]]
    codes = sorted(codes[:_CLASSES])
    order = sorted(gaps, key=lambda name: -int(gaps[name].sum()))[:_ROWS]
    rows = [
        [name, _percent(gaps[name].sum() / judged.n_rows)]
        + [_percent(gaps[name][code] / judged.class_rows[code]) for code in codes]
        for name in order
    ]
    weights = data.model.column_weights.missing
    used = [name for name in order if name in weights]
    sentence = f"The share of rows without a value, in all rows and by class, in {judged.n_rows:,} rows."
    sentence += f" The model takes missing values for evidence in {', '.join(used)}." if used else ""
    header = ["column", "all", *(data.names[code] for code in codes)]
    page.section("missing", "Missing values", sentence, table(header, rows, "Missing values by class"))


def add_drift(page: Page, data: ReportData) -> None:
    """Add the differences between the learned and the evaluated rows, by column."""
    judged = data.columns
    if data.leave_one_out or not judged.n_rows:
        return  # the evaluated rows are the learned rows
    shares = np.array([row["P(class)"] for row in data.description.classes])
    of_class = drift_between("(class)", shares, judged.class_rows, data.names.__getitem__)
    by_column = [
        drift_between(name, cells.shares, judged.counts(name), cells.describe) for name, cells in judged.learned.items()
    ]
    drifts = sorted((drift for drift in by_column if drift is not None), key=lambda drift: -drift.stability)[:_ROWS]
    drifts = [drift for drift in (of_class, *drifts) if drift is not None]
    clear = [drift.name for drift in drifts if drift.is_clear]
    sentence = (
        "Whether the evaluated rows are like the learned ones. Total variation is half the sum of the differences of "
        "the shares of coarse cells, from 0 to 1; beside it what chance alone would give. A population stability index "
        "below 0.1 is usually taken for no change, above 0.25 for a large one. Texts and tags are not compared."
    )
    told = f"Clear differences: {', '.join(clear)}." if clear else "No column differs clearly."
    header = ["column", "stability index", "total variation", "by chance", "changed most", "learned", "evaluated"]
    caption = f"Learned rows against {judged.n_rows:,} evaluated rows"
    body = table(header, [_drift(drift) for drift in drifts], caption, kind="cards")
    page.section("drift", "Drift", sentence, tag("p", tag("b", told)), body)


def _drift(drift: Drift) -> list[str | float]:
    shares = [_percent(drift.learned), _percent(drift.evaluated)]
    return [drift.name, f"{drift.stability:.3f}", f"{drift.variation:.3f}", f"{drift.chance:.3f}", drift.cell, *shares]


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _meter(share: float) -> Markup:
    """A bar of this share of the cell; the number stands beside it."""
    return tag("span", tag("span", style=f"width:{100 * share:.0f}%"), class_="meter", aria_hidden="true")
