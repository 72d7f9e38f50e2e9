"""The parameters of a model as tables, for people and programs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.columns.readers.reader import Reader
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, ParameterError, did_you_mean
from tallybayes.explaining.parameter_counts import ParameterCounts
from tallybayes.families.credible import beta_interval
from tallybayes.families.predictive import Predictive
from tallybayes.families.strength import Strength
from tallybayes.formatting import finite_json, number, shown
from tallybayes.notebook_view import ResultView, TextGrid, data_frame
from tallybayes.scoring.interval import check_level, class_prior_alpha
from tallybayes.scoring.scorer import Scorer
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.model_state import ModelState

__all__ = ["Description", "describe_with_intervals"]

_CLASSES = 12  # more classes than this are not shown side by side
_PLACES = ("from", "to", "value", "mean")  # parameters that are values of the column, not probabilities or lengths
_MEANS = ("estimate", "low", "high")  # the same of a mean with an interval
_MOST_LISTED = 5_000_000  # rows of all tokens: each takes about half a kB of memory
_ROWS = 40  # a column with more rows than this is cut when printed


@dataclass(frozen=True, eq=False, repr=False)
class Description(ResultView):
    """Class prior, families with their reasons, and a table of parameters per column; print it.

    n_tokens: how many tokens each column of tokens has, of which `columns` may list fewer; lists_all: whether all of
    them are there, and printed. strengths: how strongly each column is smoothed, if it is. n_parameters: of the class
    prior and all columns.
    """

    classes: list[dict[str, Any]]
    schema: Schema
    columns: dict[str, list[dict[str, Any]]]
    notes: dict[str, str] = field(default_factory=dict)
    n_tokens: dict[str, int] = field(default_factory=dict)
    lists_all: bool = False
    strengths: dict[str, Strength] = field(default_factory=dict)
    n_parameters: ParameterCounts | None = None  # None: some columns only
    _heading: ClassVar[str] = "Parameters"

    @classmethod
    def of(cls, snapshot: Snapshot, names: Iterable[str] | None = None, *, lists_all: bool = False) -> Description:
        """The description of a model, or of some of its columns; lists_all: with every token, and printed whole."""
        scorer = snapshot.scorer
        state = snapshot.state
        prior = np.exp(scorer.log_prior if scorer.log_shares is None else scorer.log_shares)
        classes = [
            {"class": label, "P(class)": float(p)} | _rows_of_class(state, label)
            for label, p in zip(scorer.classes, prior, strict=True)
        ]
        predictives = _predictives(snapshot, names, lists_all=lists_all)
        columns = _by_column(snapshot, (row for predictive in predictives for row in predictive.table()))
        _show_learned_rows(state, columns)
        columns = dict(sorted(columns.items())) if names is None else {name: columns.get(name, []) for name in names}
        features = [(predictive, i, name) for predictive in predictives for i, name in enumerate(predictive.features)]
        notes = {name: note for p, i, name in features if (note := _join(p.note(i), _prior_in_words(state, name)))}
        n_tokens = {name: n for p, _, name in features if (n := p.n_tokens(name)) is not None}
        strengths = _strengths(state, scorer, columns)
        counts = ParameterCounts.of(scorer) if names is None else None
        return cls(classes, state.schema, columns, notes, n_tokens, lists_all, strengths, counts)

    @property
    def cut(self) -> dict[str, dict[str, int]]:
        """The columns whose rows are not of all tokens: how many tokens they are of, and how many there are.

        >>> import tallybayes as tb
        >>> rows = {"text": [" ".join(f"w{i}" for i in range(40)), "w40"], "y": ["a", "b"]}
        >>> model = tb.fit(rows, label="y", families={"text": "text"})
        >>> model.describe().cut, model.describe(all=True).cut
        ({'text': {'listed': 11, 'of': 41}}, {})
        """
        listed = {name: len({row["token"] for row in self.columns.get(name, [])}) for name in self.n_tokens}
        return {name: {"listed": n, "of": self.n_tokens[name]} for name, n in listed.items() if n < self.n_tokens[name]}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for programs."""
        schema = self.schema.to_dict()
        for name, family in self.schema.families.items():
            schema["columns"][name]["family"] = family.display_name()
        more = {
            "notes": self.notes,
            "cut": self.cut,
            "strengths": finite_json({name: strength.to_dict() for name, strength in self.strengths.items()}),
            "n_parameters": None if self.n_parameters is None else self.n_parameters.to_dict(),
        }
        parameters = {"classes": self.classes, "parameters": finite_json(self.columns)}
        return schema | parameters | {name: part for name, part in more.items() if part}

    def to_frame(self) -> Any:
        """The parameters of all columns as one pandas DataFrame: column, class, and the parameters of its family."""
        rows = [{"column": name, **row} for name, rows_of_column in self.columns.items() for row in rows_of_column]
        return data_frame(rows, None if rows else ["column", "class"])

    def to_arrow(self) -> pa.Table:
        """The same as an Arrow table; values of different types in one column of it are texts.

        >>> import tallybayes as tb
        >>> model = tb.fit({"x": ["a", "b"], "y": ["p", "q"]}, label="y", smoothing=1)
        >>> model.describe().to_arrow().slice(0, 1).to_pylist()
        [{'column': 'x', 'class': 'p', 'value': 'a', 'P(value)': 0.6666666666666666}]
        """
        keys = dict.fromkeys(key for rows in self.columns.values() for row in rows for key in row)
        counts = [len(rows) for rows in self.columns.values()]
        columns: dict[str, Any] = {"column": np.repeat(np.array([*self.columns], object), counts).tolist()}
        for key in keys or ("class",):
            columns[key] = [row.get(key) for rows in self.columns.values() for row in rows]
        return pa.table({name: _arrow_array(values) for name, values in columns.items()})

    def _parts(self) -> list[str | TextGrid]:
        limit = None if self.lists_all else _ROWS
        parts: list[str | TextGrid] = [*_render(self.classes, limit=limit), str(self.schema)]
        for name, rows in self.columns.items():
            family, note, strength = self.schema.columns[name].family, self.notes.get(name), self.strengths.get(name)
            facts = family and family.display_name(), note, strength and str(strength)
            told = ", ".join(text for text in facts if text)
            parts += _render(rows, f"{name} ({told})", limit=limit, n_tokens=self.n_tokens.get(name))
        return parts if self.n_parameters is None else [*parts, self.n_parameters.in_a_line()]


def describe_with_intervals(
    snapshot: Snapshot, level: float, names: Iterable[str] | None = None, *, lists_all: bool = False
) -> Description:
    """The parameters of a model with credible intervals; a family without intervals is described without them."""
    state = snapshot.state
    state.require_learned("intervals")
    level, plain = check_level(level), Description.of(snapshot, names, lists_all=lists_all)
    predictives = _predictives(snapshot, names, lists_all=lists_all)
    columns = _by_column(snapshot, (row for p in predictives for row in p.intervals(level)))
    _show_learned_rows(state, columns)
    notes = {
        name: ", ".join(text for text in (plain.notes.get(name), "" if name in columns else "no intervals") if text)
        for name in plain.columns
    }
    classes = plain.classes
    alpha = class_prior_alpha(state.settings, state.classes, state.class_rows)
    if alpha is not None:
        low, high = beta_interval(alpha, alpha.sum(), level)
        ends = zip(classes, low.tolist(), high.tolist(), strict=True)
        classes = [row | {"low": below, "high": above} for row, below, above in ends]
    parameters = {name: columns.get(name, rows) for name, rows in plain.columns.items()}
    notes = {name: note for name, note in notes.items() if note}
    return replace(plain, classes=classes, columns=parameters, notes=notes)


def _arrow_array(values: list[Any]) -> pa.Array:
    """Values of one type as they are, others as texts."""
    kinds = {type(value) for value in values if value is not None}
    numbers = kinds <= {int, float} and all(abs(value) < 2**53 for value in values if type(value) is int)
    if not numbers and (len(kinds) > 1 or not kinds <= {str, bool}):
        values = [None if value is None else shown(value) for value in values]
    try:
        return pa.array(values)
    except UnicodeEncodeError:  # half of a surrogate pair, from JSON
        return pa.array([value and value.encode("utf-8", "replace").decode() for value in values])


def _predictives(snapshot: Snapshot, names: Iterable[str] | None, *, lists_all: bool) -> list[Predictive]:
    """The predictives to describe: of all columns, or of some of them."""
    predictives = list(snapshot.scorer.predictives)
    if names is not None:
        wanted, families = list(names), snapshot.state.schema.families
        for name in wanted:
            if name not in families:
                hint = did_you_mean(name, families, "columns")
                raise ParameterError("a column that the model uses", got=name, hint=hint)
        predictives = [p.part(i) for p in predictives for i, name in enumerate(p.features) if name in wanted]
    if not lists_all:
        return predictives
    n_tokens = sum(p.n_tokens(name) or 0 for p in predictives for name in p.features)
    if predictives and n_tokens * predictives[0].n_classes > _MOST_LISTED:
        raise DataError(
            f"expected at most {_MOST_LISTED:,} rows of tokens and classes to list, got {n_tokens:,} tokens with "
            f"{predictives[0].n_classes:,} classes",
            hint="without all=True (--all, -o) the tokens that favour a class most are listed",
        )
    return [predictive.listing_all() for predictive in predictives]


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


def _strengths(state: ModelState, scorer: Scorer, names: Collection[str]) -> dict[str, Strength]:
    """How strongly some columns are smoothed; a prior that takes the place of smoothing is not named twice."""
    priors = state.settings.column_priors or {}
    replaced = {name for name, prior in priors.items() if prior.smoothing is not None}
    return {
        name: strength
        for block in scorer.blocks
        for name, strength in zip(
            block.tally.features, block.family.strengths(block.tally, block.smoothing), strict=False
        )
        if name in names and name not in replaced
    }


def _rows_of_class(state: ModelState, label: Any) -> dict[str, float]:
    """The rows of a class, and those that lie beneath them."""
    if state.given is not None:
        return {}
    rows = {"rows": state.class_counts.get(label, 0)}
    for name, part in (("rows of the base", state.base), ("unlabelled rows", state.unlabelled)):
        if part is not None:
            beneath = part.statistics.aligned([label]).class_rows.floats()
            rows[name] = round(float(beneath[0]), 6)
    return rows


def _prior_in_words(state: ModelState, name: str) -> str:
    prior = state.settings.prior_of(name)
    return "" if prior is None else f"prior: {prior}"


def _show_learned_rows(state: ModelState, columns: dict[str, list[dict[str, Any]]]) -> None:
    """Put the rows that were counted, without those of priors, where a table has rows."""
    total = state.statistics.aligned(state.classes)
    for tally in total.blocks.values() if state.settings.column_priors else ():
        for name in set(tally.features) & set(state.settings.column_priors or ()) & columns.keys():
            seen = tally.only((name,)).rows_seen().floats()[0].tolist()
            rows = dict(zip(state.classes, seen, strict=True))
            columns[name] = [row | ({"rows": rows[row["class"]]} if "rows" in row else {}) for row in columns[name]]


def _join(*texts: str | None) -> str:
    return "; ".join(text for text in texts if text)


def _describe(columns: Mapping[str, ColumnSpec], cell_input: CellInput, cell: int) -> str:
    """A cell of an input in words."""
    spec = columns.get(cell_input.column)
    return cell_input.describe(cell, spec.reader.show if spec is not None and spec.reader.shows_dates else None)


def _show_dates(row: dict[str, Any], reader: Reader) -> dict[str, Any]:
    """A row of parameters with dates in place of days since 1970; lengths of time stay days."""
    places = _MEANS if row.get("parameter") == "mean" else _PLACES
    return {key: reader.show(value) if key in places else value for key, value in row.items()}


def _render(
    rows: list[dict[str, Any]], title: str = "", *, limit: int | None, n_tokens: int | None = None
) -> list[str | TextGrid]:
    """A table of rows; of many rows the first, and how many there are."""
    if not rows:
        return [f"{title}\n(nothing yet)" if title else "(nothing yet)"]
    turned = _side_by_side(rows)
    header, cells = turned or (list(rows[0]), [list(row.values()) for row in rows])
    texts = [[number(v) if isinstance(v, float) else shown(v) for v in row] for row in cells[:limit]]
    n_shown, n, what = len(texts), len(cells), "values" if turned else "classes" if "rows" in header else "rows"
    if n_tokens is not None:
        place = header.index("token")
        n_listed = len({row[place] for row in cells[:limit]})
        if n_listed < n_tokens:
            n_shown, n, what = n_listed, n_tokens, "tokens"
    more = f"{n_shown:,} of {n:,} {what}; all=True or --all shows all" if n_shown < n else ""
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
