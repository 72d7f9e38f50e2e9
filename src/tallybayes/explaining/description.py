"""The parameters of a model as tables, for people and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.columns.readers.reader import Reader
from tallybayes.columns.schema import Schema
from tallybayes.families.credible import beta_interval
from tallybayes.formatting import finite_json, number, shown
from tallybayes.notebook_view import ResultView, TextGrid, data_frame
from tallybayes.scoring.interval import check_level, class_prior_alpha
from tallybayes.scoring.snapshot import Snapshot

__all__ = ["Description", "describe_with_intervals"]

_CLASSES = 12  # more classes than this are not shown side by side
_PLACES = ("from", "to", "value", "mean")  # parameters that are values of the column, not probabilities or lengths
_MEANS = ("estimate", "low", "high")  # the same of a mean with an interval
_ROWS = 40  # a column with more rows than this is cut when printed


@dataclass(frozen=True, eq=False, repr=False)
class Description(ResultView):
    """Class prior, families with their reasons, and a table of parameters per column; print it."""

    classes: list[dict[str, Any]]
    schema: Schema
    columns: dict[str, list[dict[str, Any]]]
    notes: dict[str, str] = field(default_factory=dict)
    _heading: ClassVar[str] = "Parameters"

    @classmethod
    def of(cls, snapshot: Snapshot) -> Description:
        """The description of a model."""
        scorer = snapshot.scorer
        rows = None if snapshot.state.given else snapshot.state.class_counts
        prior = np.exp(scorer.log_prior if scorer.log_shares is None else scorer.log_shares)
        classes = [
            {"class": label, "P(class)": float(p)} | ({} if rows is None else {"rows": rows[label]})
            for label, p in zip(scorer.classes, prior, strict=True)
        ]
        columns = _by_column(snapshot, (row for predictive in scorer.predictives for row in predictive.table()))
        notes = {name: note for p in scorer.predictives for i, name in enumerate(p.features) if (note := p.note(i))}
        return cls(classes, snapshot.state.schema, dict(sorted(columns.items())), notes)

    def only(self, names: Iterable[str]) -> Description:
        """The description of some of the columns."""
        names = list(names)
        notes = {name: note for name, note in self.notes.items() if name in names}
        return Description(self.classes, self.schema, {name: self.columns.get(name, []) for name in names}, notes)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for programs."""
        schema = self.schema.to_dict()
        for name, family in self.schema.families.items():
            schema["columns"][name]["family"] = family.display_name()
        return {**schema, "classes": self.classes, "parameters": finite_json(self.columns)} | (
            {"notes": self.notes} if self.notes else {}
        )

    def to_frame(self) -> Any:
        """The parameters of all columns as one pandas DataFrame: column, class, and the parameters of its family."""
        rows = [{"column": name, **row} for name, rows_of_column in self.columns.items() for row in rows_of_column]
        return data_frame(rows, None if rows else ["column", "class"])

    def _parts(self) -> list[str | TextGrid]:
        parts: list[str | TextGrid] = [*_render(self.classes), str(self.schema)]
        for name, rows in self.columns.items():
            family, note = self.schema.columns[name].family, self.notes.get(name)
            told = ", ".join(text for text in (family and family.display_name(), note) if text)
            parts += _render(rows, f"{name} ({told})")
        return parts


def describe_with_intervals(snapshot: Snapshot, level: float) -> Description:
    """The parameters of a model with credible intervals; a family without intervals is described without them."""
    state = snapshot.state
    state.require_learned("intervals")
    level, plain = check_level(level), Description.of(snapshot)
    columns = _by_column(snapshot, (row for p in snapshot.scorer.predictives for row in p.intervals(level)))
    notes = {
        name: ", ".join(text for text in (plain.notes.get(name), "" if name in columns else "no intervals") if text)
        for name in plain.columns
    }
    classes = plain.classes
    alpha = class_prior_alpha(state.settings, np.array(list(state.class_counts.values()), np.float64))
    if alpha is not None:
        low, high = beta_interval(alpha, alpha.sum(), level)
        ends = zip(classes, low.tolist(), high.tolist(), strict=True)
        classes = [row | {"low": below, "high": above} for row, below, above in ends]
    parameters = {name: columns.get(name, rows) for name, rows in plain.columns.items()}
    return Description(classes, state.schema, parameters, {name: note for name, note in notes.items() if note})


def _by_column(snapshot: Snapshot, rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Rows of parameters by column, with labels for the codes of classes.

    Those of a derived column have its cell in words, instead of the numbers of the input and the cell.
    """
    classes, columns = snapshot.scorer.classes, snapshot.state.schema.columns
    result: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        named = {key: classes[value] if key == "class" else value for key, value in row.items() if key != "column"}
        name = row["column"]
        if name in columns and (inputs := columns[name].reader.inputs) and "value" in row:
            value = row["value"]
            cells = value if isinstance(value[0], tuple) else (value,)
            words = (f"{inputs[i].column}: {_describe(columns, inputs[i], cell)}" for i, cell in cells)
            named["value"] = ", ".join(words)
        elif name in columns and columns[name].reader.shows_dates:
            named = _show_dates(named, columns[name].reader)
        result.setdefault(name, []).append(named)
    return result


def _describe(columns: Mapping[str, ColumnSpec], cell_input: CellInput, cell: int) -> str:
    """A cell of an input in words."""
    spec = columns.get(cell_input.column)
    return cell_input.describe(cell, spec.reader.show if spec is not None and spec.reader.shows_dates else None)


def _show_dates(row: dict[str, Any], reader: Reader) -> dict[str, Any]:
    """A row of parameters with dates in place of days since 1970; lengths of time stay days."""
    places = _MEANS if row.get("parameter") == "mean" else _PLACES
    return {key: reader.show(value) if key in places else value for key, value in row.items()}


def _render(rows: list[dict[str, Any]], title: str = "") -> list[str | TextGrid]:
    """A table of rows; of many rows the first."""
    if not rows:
        return [f"{title}\n(nothing yet)" if title else "(nothing yet)"]
    header, cells = _side_by_side(rows) or (list(rows[0]), [list(row.values()) for row in rows])
    texts = [[number(v) if isinstance(v, float) else shown(v) for v in row] for row in cells[:_ROWS]]
    more = f"... {len(cells) - _ROWS} more rows" if len(cells) > _ROWS else ""
    return [TextGrid(header, texts, title=title, foot=more)]


def _side_by_side(rows: list[dict[str, Any]]) -> tuple[list[str], list[list[Any]]] | None:
    """Probabilities of values with the classes side by side, if they are few: `value | class | P` turned round."""
    names = list(rows[0])
    classes = list(dict.fromkeys(row["class"] for row in rows))
    if len(names) < 3 or not names[-1].startswith("P") or len(classes) > _CLASSES:
        return None
    keys = [name for name in names if name not in ("class", names[-1])]
    table: dict[tuple[Any, ...], dict[Any, float]] = {}
    for row in rows:
        table.setdefault(tuple(row[key] for key in keys), {})[row["class"]] = row[names[-1]]
    header = [*keys, *(f"P( | {shown(label)})" for label in classes)]
    return header, [[*key, *(cells.get(label, "") for label in classes)] for key, cells in table.items()]
