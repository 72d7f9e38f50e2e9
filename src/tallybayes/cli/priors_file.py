"""Priors of columns and classes in a file, for --priors; `tally fit --help` and docs/priors.md have examples.

class_prior = {dirichlet = {spam = 1, ham = 3}}               # or shares: {spam = 0.25, ham = 0.75}
[columns]
smokes = {beta = [2, 8]}                                      # true, false
grade = {dirichlet = {A = 1, B = 2}}                          # others = 0.5 for values that are not listed
height = {mean = 170, scale = 10, strength = 3, freedom = 5}
text = {counts = {viagra = {spam = 5}, hello = 2}}            # beside the smoothing
exam = {by_class = {spam = {beta = [1, 9]}, ham = {beta = [9, 1]}}}
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tallybayes.cli.known_keys import known_keys

if TYPE_CHECKING:
    from tallybayes.tables.source import Source

__all__ = ["read_facts", "read_priors"]

Convert = Callable[[str], Any]


def read_facts(path: str, expected: str) -> dict[str, Any]:
    """The content of a file of TOML or JSON, which is an object."""
    from tallybayes.errors import FileError, ParameterError

    if not path.lower().endswith((".toml", ".json")):
        raise ParameterError("a file that ends in .toml or .json", got=path)
    try:
        with open(path, "rb") as opened:
            content = tomllib.load(opened) if path.lower().endswith(".toml") else json.load(opened)
    except ValueError as error:
        raise FileError(f"valid {path[-4:].upper()}", got=str(error), file=path) from error
    except OSError as error:
        raise FileError("a file that can be read", got=error.strerror or str(error), file=path) from error
    if not isinstance(content, dict):
        raise FileError(expected, got=type(content).__name__, file=path)
    return content


def read_priors(path: str, source: Source, label: str | None) -> dict[str, Any]:
    """The options column_priors and class_prior of a file; classes and values have the types of the data."""
    from tallybayes.errors import ParameterError

    content = read_facts(path, "an object with class_prior and columns")
    if unknown := [name for name in content if name not in ("class_prior", "columns")]:
        raise ParameterError(f"only class_prior and columns in {path}", got=unknown[0])
    as_label, result = _converter(source, label), dict[str, Any]()
    if "class_prior" in content:
        result["class_prior"] = _class_prior(content["class_prior"], as_label, path)
    if columns := content.get("columns"):
        if not isinstance(columns, Mapping):
            raise ParameterError(f"columns in {path}: a prior for each", got=columns)
        result["column_priors"] = {
            name: _column_prior(prior, name, as_label, _converter(source, name), path)
            for name, prior in columns.items()
        }
    return result


def _column_prior(facts: Any, column: str, as_label: Convert, as_value: Convert, path: str) -> Any:
    """A prior from its facts; errors name the file and the column."""
    from tallybayes.errors import ParameterError

    try:
        return _prior(facts, column, as_label, as_value)
    except ParameterError as error:
        expected = f"{error.expected}, in {path}"
        raise ParameterError(expected, got=error.got, column=column, hint=error.hint) from error


def _class_prior(facts: Any, as_label: Convert, path: str) -> Any:
    """Pseudo-counts, shares by class, or a word, as the option has them."""
    from tallybayes.state.prior_values import Dirichlet

    if not isinstance(facts, Mapping):
        return facts
    if "dirichlet" in facts and set(facts) <= {"dirichlet", "others"}:
        counts = _converted(facts["dirichlet"], as_label, f"class_prior in {path}")
        return Dirichlet(counts, facts.get("others"))
    return _converted(facts, as_label, f"class_prior in {path}")


def _converter(source: Source, column: str | None) -> Convert:
    """What a text of the file means in a column: the value of the first rows that is written so, else the text."""
    known = known_keys(source, column)
    return lambda text: known.get(text, text)


def _prior(facts: Any, column: str, as_label: Convert, as_value: Convert) -> Any:
    """A prior from its facts."""
    from tallybayes.errors import ParameterError
    from tallybayes.state.prior_values import Beta, ByClass, Dirichlet, NormalInverseGamma, PseudoCounts

    names = set(facts) if isinstance(facts, Mapping) else set()
    if names == {"beta"} and isinstance(facts["beta"], list) and len(facts["beta"]) == 2:
        return Beta(*facts["beta"])
    if "dirichlet" in names and names <= {"dirichlet", "others"}:
        return Dirichlet(_converted(facts["dirichlet"], as_value, f"dirichlet of {column}"), facts.get("others"))
    if names == {"counts"}:
        counts = _converted(facts["counts"], str, f"counts of {column}")
        return PseudoCounts(
            {
                as_value(value): _converted(part, as_label, value) if isinstance(part, Mapping) else part
                for value, part in counts.items()
            }
        )
    if names == {"by_class"}:
        parts = _converted(facts["by_class"], as_label, f"by_class of {column}")
        return ByClass({label: _prior(part, column, as_label, as_value) for label, part in parts.items()})
    if {"mean", "scale"} <= names <= {"mean", "scale", "strength", "freedom"}:
        return NormalInverseGamma(**facts)
    hint = "beta = [a, b], dirichlet = {A = 1}, counts = {word = {spam = 5}}, mean and scale, or by_class"
    raise ParameterError("a prior", got=facts, column=column, hint=hint)


def _converted(facts: Any, convert: Convert, what: str) -> dict[Any, Any]:
    from tallybayes.errors import ParameterError

    if not isinstance(facts, Mapping):
        raise ParameterError(f"{what}: numbers by name", got=facts)
    return {convert(name): value for name, value in facts.items()}
