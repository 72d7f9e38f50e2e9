"""Models from given probabilities instead of data: a class prior and tables of P(value | class)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tallybayes.arrays.axis import rough_kind, sort_keys
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.schema import Schema
from tallybayes.errors import ParameterError
from tallybayes.families import Categorical
from tallybayes.families.family import Floats
from tallybayes.model.model import Model
from tallybayes.state.given_probabilities import GivenProbabilities
from tallybayes.state.model_state import ModelState
from tallybayes.state.settings import Settings

__all__ = ["from_probabilities"]

_TOLERANCE = 1e-9  # of sums of probabilities that are written with rounding errors of doubles


def from_probabilities(
    class_prior: Mapping[Any, float],
    tables: Mapping[str, Mapping[Any, Mapping[Any, float] | float]],
    *,
    label: str = "class",
) -> Model:
    """A model from a class prior P(class) and tables P(value | class) by column and class.

    A single number instead of a table is the probability of True. Such a model scores, explains and samples; it has
    no sums, so it cannot learn, forget or merge.

    A test finds 90 % of the ill and is wrong on 5 % of the healthy; 1 % are ill:

    >>> import tallybayes as tb
    >>> model = tb.from_probabilities(
    ...     {"yes": 0.01, "no": 0.99},
    ...     {"test": {"yes": {"+": 0.9, "-": 0.1}, "no": {"+": 0.05, "-": 0.95}}}, label="cancer")
    >>> dict(zip(model.classes, model.predict_proba({"test": "+"})[0].round(4).tolist()))
    {'no': 0.8462, 'yes': 0.1538}
    """
    if not isinstance(class_prior, Mapping) or not isinstance(tables, Mapping):
        raise ParameterError("dicts: a prior by class, and tables by column and class", got=(class_prior, tables))
    settings = Settings(class_prior=dict(class_prior))
    if len({rough_kind(label) for label in class_prior}) > 1:
        raise ParameterError("labels of one type", got=list(class_prior))
    classes = sort_keys(class_prior)
    log_tables: dict[str, tuple[list[Any], Floats]] = {}
    for name, by_class in tables.items():
        log_tables[str(name)] = _log_table(str(name), by_class, classes)
    if label in log_tables:
        raise ParameterError("a name for the label that is not a column's", got=label)
    specs = {name: ColumnSpec(name, Categorical(), "given probabilities") for name in sorted(log_tables)}
    given = GivenProbabilities.of(class_prior, log_tables)
    return Model(ModelState(Schema(label, specs), settings, given=given))


_NO_DENSITY = (
    "a column has a table of P(value) for each class, or P(true); a density, or its mean and standard deviation,"
    " cannot be given: give the probabilities of intervals of values"
)


def _check_probabilities(p: Floats, what: str, column: str, *, is_rest: bool) -> None:
    """Raise a ParameterError unless the probabilities of all values of a column are from 0 to 1 and add up to 1.

    is_rest: one of them is what the other leaves of 1, so that one above 1 is the cause of one below 0.
    """
    greatest = p.max(initial=0.0)
    if not np.all(p >= 0) and not is_rest:
        raise ParameterError(f"{what} to be probabilities, from 0 to 1", got=float(np.min(p)), column=column)
    if greatest > 1 + _TOLERANCE:
        hint = "a value above 1 is a density: give the probability of an interval of values instead"
        raise ParameterError(f"{what} to be probabilities, from 0 to 1", got=float(greatest), column=column, hint=hint)
    if abs(float(p.sum()) - 1) > _TOLERANCE:
        hint = "list every value; densities at some points do not add up to 1"
        raise ParameterError(f"{what} to add up to 1 over the values", got=float(p.sum()), column=column, hint=hint)


def _log_table(name: str, by_class: Mapping[Any, Any], classes: Sequence[Any]) -> tuple[list[Any], Floats]:
    """The values of a column, sorted, and their log probabilities (values, classes)."""
    if set(by_class) != set(classes):
        raise ParameterError(f"a table for each of the classes {list(classes)}", got=list(by_class), column=name)
    for table in by_class.values():
        for p in table.values() if isinstance(table, Mapping) else (table,):
            if isinstance(p, bool) or not isinstance(p, (int, float, np.number)):
                raise ParameterError("probabilities, which are numbers", got=p, column=name, hint=_NO_DENSITY)
    full = {
        c: dict(table) if isinstance(table, Mapping) else {False: 1 - table, True: table}
        for c, table in by_class.items()
    }
    values = sort_keys({value for table in full.values() for value in table})
    if len({rough_kind(value) for value in values}) > 1:
        raise ParameterError("values of one type", got=values, column=name, hint=_NO_DENSITY)
    p = np.array([[full[c].get(value, 0.0) for c in classes] for value in values], np.float64)
    for code, label in enumerate(classes):
        _check_probabilities(
            p[:, code], f"P({name} given {label})", name, is_rest=not isinstance(by_class[label], Mapping)
        )
    with np.errstate(divide="ignore"):
        return values, np.log(p)
