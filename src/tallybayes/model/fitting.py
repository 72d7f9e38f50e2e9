"""Data in, model out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from tallybayes.data.infer import propose
from tallybayes.data.schema import Field, Schema
from tallybayes.data.table import to_table
from tallybayes.errors import ParameterError
from tallybayes.families import Categorical, Family, Smoothing, parse
from tallybayes.families.base import Unseen
from tallybayes.model.model import Model
from tallybayes.model.settings import Settings

__all__ = ["fit"]


def fit(
    data: Any,
    label: Any,
    *,
    families: Mapping[str, str | Family] | str | Family | None = None,
    ignore: Iterable[str] | None = (),
    weight: Any = None,
    smoothing: Smoothing | Mapping[str, Smoothing] = "auto",
    numeric: str | Family = "histogram",
    prior: Literal["empirical", "uniform"] | Mapping[Any, float] = "empirical",
    prior_smoothing: float = 1.0,
    estimate: Literal["bayes", "mle"] = "bayes",
    unseen: Unseen = "prior",
) -> Model:
    """Learn a naive Bayes model from a table.

    data: a data frame of any kind, a NumPy or SciPy sparse matrix, a list of dicts or a dict of lists.
    label, weight: the name of a column, or an array.
    families: a family (or its string form, "tags:separator=;") by column; one for all columns; the rest is inferred.
    ignore: columns to leave out.
    smoothing: Laplace's k from 0 (maximum likelihood) to infinity (uniform), "auto" (by evidence), or by column.
    numeric: the family of real columns that nobody chose one for.
    prior: of the classes: "empirical" with Dirichlet strength `prior_smoothing`, "uniform", or a dict by label.
    estimate: "bayes" averages over what the parameters may be, "mle" plugs in the most likely ones.
    unseen: what a category never seen says: the prior's share ("prior") or nothing ("missing").

    >>> import tallybayes as tb
    >>> rows = [{"colour": "red", "size": 3.1, "fruit": "apple"}, {"colour": "red", "size": 2.9, "fruit": "apple"},
    ...         {"colour": "yellow", "size": 5.0, "fruit": "banana"},
    ...         {"colour": "yellow", "size": 5.2, "fruit": "banana"}]
    >>> model = tb.fit(rows, label="fruit")
    >>> model.predict([{"colour": "yellow"}, {"size": 3.0}]).tolist()
    ['banana', 'apple']
    """
    if label is None:
        raise ParameterError("label=, the name of a column or an array of labels", came=None)
    if ignore is not None and not isinstance(ignore, Iterable):
        raise ParameterError("ignore=, names of columns", came=ignore)
    numeric_family = parse(numeric)
    settings = Settings(smoothing, numeric_family, prior, prior_smoothing, estimate, unseen)
    table = to_table(data)
    if isinstance(label, (int, float)) and str(label) in table.columns:
        label = str(label)  # names of columns are text
    left_out = [ignore] if isinstance(ignore, str) else [str(name) for name in ignore or ()]
    apart = {name for name in (label, weight) if isinstance(name, str)}
    names = [name for name in table.columns if name not in apart]
    chosen = _chosen(families, names)
    for name in [*chosen, *left_out, *(smoothing if isinstance(smoothing, Mapping) else ())]:
        if name not in table.columns:
            raise ParameterError("the name of a column", came=name, hint=f"the columns are {sorted(table.columns)}")
        if name in apart:
            raise ParameterError("a column that is neither the label nor the weight", came=name)
    fields: dict[str, Field] = {}
    for name in names:
        if name in left_out:
            fields[name] = Field(name, None, "ignored as asked")
        elif name in chosen:
            fields[name] = Field(name, chosen[name], "as asked")
        else:
            fields[name] = propose(name, table.columns[name], numeric_family)
        if not (name in chosen and chosen[name] != Categorical()):
            fields[name] = settings.with_unseen(fields[name])
    label_name, weight_name = (name if isinstance(name, str) else None for name in (label, weight))
    model = Model(Schema(label_name, fields, weight_name), settings)
    model.learn(table, label=label, weight=weight)
    return model


def _chosen(families: Any, names: list[str]) -> dict[str, Family]:
    """Families by column, from a mapping or one for all."""
    if families is None:
        return {}
    if isinstance(families, Mapping):
        return {str(name): parse(family) for name, family in families.items()}
    return dict.fromkeys(names, parse(families))
