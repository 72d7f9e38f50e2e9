"""Priors that were given for columns, put to work: rows that nobody has seen are added to the sums of a column.

They are added where predictives are derived from sums, for the classes that the model has, so that everything derived
(scores, leave-one-out, intervals, evidence) has them, and the sums themselves stay those of the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Codes32, Floats
from tallybayes.arrays.axis import rough_kind
from tallybayes.arrays.column import Bag, Codes, Column
from tallybayes.columns.batch import encode_columns
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, ParameterError, did_you_mean
from tallybayes.families.family import Family
from tallybayes.formatting import is_numeric_text
from tallybayes.scoring.missing_evidence import is_missing
from tallybayes.state.model_state import ModelState
from tallybayes.state.prior_values import ColumnPrior
from tallybayes.state.settings import Settings
from tallybayes.tables.table import Table
from tallybayes.tally import Tally

__all__ = ["PriorRows", "check_priors", "with_prior_rows"]

_NEXT_TO_NOTHING = 1e-300  # of a row: its value is known, and changes no double


@dataclass(frozen=True, eq=False)
class PriorRows:
    """The rows that a prior stands for: values, the codes of their classes, and how many there are of each."""

    column: Column
    codes: Codes32
    weights: Floats

    @classmethod
    def of(cls, prior: ColumnPrior, name: str, schema: Schema, labels: Sequence[Any], key: Any = None) -> PriorRows:
        """Of a column; key: one category that was learned, which shows the type of all of them."""
        amounts = np.array([[prior.beyond(value, label) for label in labels] for value in prior.values])
        amounts = amounts.reshape(len(prior.values), len(labels))
        if prior.smoothing is not None and len(labels):  # every listed value is one of the column's values
            amounts[~amounts.any(axis=1), 0] = _NEXT_TO_NOTHING
        value, code = np.nonzero(amounts)
        column = _checked_values(prior, name, schema, key)
        return cls(column.take(value), code.astype(np.int32), amounts[value, code])

    def added_to(self, tally: Tally | None, name: str, family: Family, n_classes: int) -> Tally:
        """The sums of the column with these rows."""
        rows: Tally = family.observe((name,), [self.column], self.codes, n_classes, self.weights)
        if tally is None:
            return rows
        result = tally.copy()
        result.prepare(rows, 1)()
        return result


def with_prior_rows(tally: Tally | None, name: str, state: ModelState, labels: Sequence[Any]) -> Tally:
    """The sums of a column with the rows of its prior, if it has one; without any sums, these rows alone."""
    family, prior = state.families[name], state.settings.prior_of(name)
    if prior is None and tally is not None:
        return tally
    assert prior is not None
    rows = PriorRows.of(prior, name, state.schema, labels, state.statistics.any_key(family, name))
    return rows.added_to(tally, name, family.counted, len(labels))


def check_priors(settings: Settings, schema: Schema, keys: Mapping[str, Any]) -> None:
    """Raise a ParameterError for a prior of an unknown column, or of another kind of column or values.

    keys: one category of each column, which shows the type of all of them.
    """
    for name, prior in (settings.column_priors or {}).items():
        if name not in schema.families:
            hint = did_you_mean(name, schema.families, "columns")
            if name in schema.columns:
                hint = f"{name!r} is not used: {schema.columns[name].reason}"
            raise ParameterError("column_priors of columns that are used", got=name, hint=hint)
        _checked_values(prior, name, schema, keys.get(name))
        _check_types(prior, name, schema, keys.get(name))


def _check_types(prior: ColumnPrior, name: str, schema: Schema, key: Any) -> None:
    """Raise a ParameterError for a value of another type than a category of the column: it would be a new one.

    Texts are read as the categories are (files have no other names), and so are numbers where these are numbers as
    text.
    """
    if key is None or schema.families[name].column is not Codes:
        return
    is_integer = isinstance(key, int) and not isinstance(key, bool)
    has_form = getattr(schema.columns[name].reader, "form", None) is not None
    for value in prior.values:
        kind = rough_kind(value)
        is_read = isinstance(value, str) or (kind == "boolean" and has_form)
        is_read = is_read or (kind == "number" and isinstance(key, str) and is_numeric_text(key))
        is_fraction = is_integer and isinstance(value, float) and not value.is_integer()
        if is_fraction or not (is_read or kind == rough_kind(key)):
            expected = f"values of the column in its prior ({'integer' if is_integer else rough_kind(key)})"
            raise ParameterError(expected, got=value, column=name, hint=f"a category of the column is {key!r}")


def _checked_values(prior: ColumnPrior, name: str, schema: Schema, key: Any) -> Column:
    """The values of a prior, encoded; raises a ParameterError unless the column can have them."""
    prior.check_family(name, schema.families[name])
    try:
        column = _encode(prior.values, name, schema, key)
    except DataError as error:
        expected = f"values of the column in its prior ({str(error.expected).removesuffix(', as learned before')})"
        raise ParameterError(expected, got=error.got, column=name) from error
    if (missing := np.flatnonzero(is_missing(column))).size:
        raise ParameterError("values of the column in its prior", got=prior.values[int(missing[0])], column=name)
    family = schema.families[name]
    if isinstance(column, Codes) and (without_effect := family.keys_without_effect(list(column.keys))):
        raise ParameterError(f"values of the column in its prior ({family})", got=without_effect[0], column=name)
    if isinstance(column, Bag) and (empty := np.flatnonzero(np.diff(column.indptr) == 0)).size:
        hint = "the column reads texts in such a way that this one has no words, or none of its vocabulary"
        raise ParameterError("pseudo-counts of words", got=prior.values[int(empty[0])], column=name, hint=hint)
    return column


def _encode(values: Sequence[Any], name: str, schema: Schema, key: Any) -> Column:
    """Values of a column, read as it reads them; tokens and tags are rows with one of them."""
    spec = schema.columns[name]
    family = schema.families[name]
    is_bag = family.column is Bag and family.tokeniser is None
    table = Table(len(values), {name: [[value] for value in values] if is_bag else list(values)})
    alone = Schema(None, {name: spec}, missing=schema.missing)
    return encode_columns(table, alone, known_key=lambda _: key)[name]
