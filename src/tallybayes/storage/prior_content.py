"""Priors of columns and classes as JSON facts, and back: values and classes by their text, in its order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tallybayes.errors import shorten
from tallybayes.state.prior_values import Beta, ByClass, ColumnPrior, Dirichlet, NormalInverseGamma, PseudoCounts
from tallybayes.storage.container import object_of, unique
from tallybayes.storage.keys import key_text, text_key
from tallybayes.tally.exact import require

__all__ = ["prior_from_json", "prior_to_json"]


def prior_to_json(prior: ColumnPrior) -> dict[str, Any]:
    """A prior as plain values.

    >>> prior_to_json(Dirichlet({"B": 2, "A": 1}))
    {'dirichlet': [['tA', 1.0], ['tB', 2.0]], 'others': 1.0}
    """
    if isinstance(prior, Beta):
        return {"beta": [prior.a, prior.b]}
    if isinstance(prior, Dirichlet):
        return {"dirichlet": _pairs(prior.counts), "others": prior.others}
    if isinstance(prior, PseudoCounts):
        counts = {v: _pairs(part) if isinstance(part, Mapping) else part for v, part in prior.counts.items()}
        return {"counts": _pairs(counts)}
    if isinstance(prior, ByClass):
        return {"by_class": _pairs({label: prior_to_json(part) for label, part in prior.priors.items()})}
    assert isinstance(prior, NormalInverseGamma)
    return {"mean": prior.mean, "scale": prior.scale, "strength": prior.strength, "freedom": prior.freedom}


def prior_from_json(content: Any) -> ColumnPrior:
    """The inverse of `prior_to_json`; the priors check their numbers."""
    require(isinstance(content, dict) and content, f"a prior: {shorten(content)}")
    kind = next(iter(content))
    if kind == "beta":
        a, b = _list_of(object_of(content, "beta")["beta"], 2)
        return Beta(a, b)
    if kind == "dirichlet":
        facts = object_of(content, "dirichlet", "others")
        return Dirichlet(_mapping(facts["dirichlet"], float), facts["others"])
    if kind == "counts":
        pairs = _mapping(object_of(content, "counts")["counts"], lambda part: part)
        return PseudoCounts({v: _mapping(part, float) if isinstance(part, list) else part for v, part in pairs.items()})
    if kind == "by_class":
        parts = _mapping(object_of(content, "by_class")["by_class"], prior_from_json)
        require(all(isinstance(part, Beta | Dirichlet) for part in parts.values()), "a Beta or Dirichlet of each class")
        return ByClass(parts)
    require(kind == "mean", f"a prior: {shorten(content)}")
    return NormalInverseGamma(**object_of(content, "mean", "scale", "strength", "freedom"))


def _pairs(by_key: Mapping[Any, Any]) -> list[list[Any]]:
    return sorted(([key_text(key), value] for key, value in by_key.items()), key=lambda pair: pair[0])


def _list_of(content: Any, length: int) -> list[Any]:
    require(isinstance(content, list) and len(content) == length, f"a list of {length}: {shorten(content)}")
    return list(content)


def _mapping(content: Any, read: Callable[[Any], Any]) -> dict[Any, Any]:
    require(isinstance(content, list), f"pairs of a key and a value: {shorten(content)}")
    pairs = [_list_of(pair, 2) for pair in content]
    require(all(isinstance(key, str) for key, _ in pairs), "keys that are not text")
    return unique([(text_key(key), read(value)) for key, value in pairs])
