"""Families by name, and families from their string form.

>>> parse("tags:separator=;"), parse("tags:;"), str(parse("gaussian:kappa=1,shared=True"))
(Tags(separator=';'), Tags(separator=';'), 'gaussian:kappa=1.0,shared=True')
>>> parse("text:complement,ngrams=2") == Text(variant="complement", ngrams=2)
True
"""

import dataclasses
import difflib
import re
from collections.abc import Callable, Iterable

from tallybayes.errors import ParameterError, did_you_mean
from tallybayes.families.discrete.bernoulli import Bernoulli
from tallybayes.families.discrete.categorical import Categorical
from tallybayes.families.discrete.ordinal import Ordinal
from tallybayes.families.discrete.value_order import ValueOrder
from tallybayes.families.family import Family
from tallybayes.families.numbers.gaussian import Gaussian
from tallybayes.families.numbers.histogram import Histogram
from tallybayes.families.numbers.poisson import Poisson
from tallybayes.families.together.full_joint import FullJoint
from tallybayes.families.together.interaction import Interaction
from tallybayes.families.together.joint_gaussian import JointGaussian
from tallybayes.families.together.one_dependence import OneDependence
from tallybayes.families.tokens.multinomial import Multinomial
from tallybayes.families.tokens.tags import Tags
from tallybayes.families.tokens.text import Text

__all__ = ["FAMILIES", "parse", "register_family"]

FAMILIES: dict[str, type[Family]] = {}

_OPTIONS: dict[type, tuple[str, Callable[[str], object]]] = {  # by the type of the default
    bool: ("true or false", lambda word: {"true": True, "yes": True, "false": False, "no": False}[word.lower()]),
    int: ("an integer", int),
    float: ("a number", float),
    tuple: ("values with < between them", ValueOrder.parse),
}


def register_family(family: type[Family]) -> type[Family]:
    """Register a family under its name, to be tuned, reported and stored like ours; works as a decorator."""
    FAMILIES[family.name] = family
    return family


for _family in (
    Bernoulli,
    Categorical,
    FullJoint,
    Gaussian,
    Histogram,
    Interaction,
    JointGaussian,
    Multinomial,
    OneDependence,
    Ordinal,
    Poisson,
    Tags,
    Text,
):
    register_family(_family)


def parse(text: str | Family | type[Family], *, others: Iterable[str] = ()) -> Family:
    """A family from its name and options: "name", "name:value" (first option) or "name:option=value,...".

    others: names besides those of families that are possible here, to be listed in an error.
    """
    if isinstance(text, Family):
        return text
    if isinstance(text, type) and issubclass(text, Family):
        return text()
    name, _, options = str(text).partition(":")
    if name not in FAMILIES:
        names = sorted({*FAMILIES, *others})
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else None
        got = re.sub(r"key=\w+", "key=(secret)", str(text))
        raise ParameterError(f"a family ({', '.join(names)})", got=got, hint=hint)
    family = FAMILIES[name]
    fields = {field.name: field for field in dataclasses.fields(family)}
    values: dict[str, object] = {}
    if options:
        if not fields:
            raise ParameterError(f"{name} without options", got=text)
        several = rf",(?=(?:{'|'.join(fields)})=)" if len(fields) > 1 else "(?!)"  # a single option may be any text
        first, *others = re.split(several, options)
        if (word := first.partition("=")[0]) not in fields:
            if "=" in first and len(word) > 1:
                raise ParameterError(_option_of(name, fields), got=word, hint=did_you_mean(word, fields))
            first = f"{next(iter(fields))}={first}"
        for option in (first, *others):
            key, _, value = option.partition("=")
            if key not in fields:
                raise ParameterError(_option_of(name, fields), got=key)
            expected, read = _OPTIONS.get(type(fields[key].default), ("text", str))
            try:
                values[key] = read(value)
            except (KeyError, ValueError) as error:
                raise ParameterError(f"{expected} for option {key} of {name}", got=value) from error
    return family(**values)


def _option_of(name: str, fields: Iterable[str]) -> str:
    return f"an option of {name} ({', '.join(fields)})"
