"""Checks of the options of text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from tallybayes.errors import Described, ParameterError, check_integer

__all__ = ["MOST_NGRAMS", "check_key", "check_text_options", "stop_words", "strength"]

_CHOICES = {
    "variant": ("auto", "counts", "complement", "presence"),
    "tf": ("auto", "count", "once", "log"),
    "tokens": ("words", "characters"),
    "case": ("fold", "lower", "keep"),
    "accents": ("keep", "fold"),
    "digits": ("keep", "fold"),
    "words": ("unicode", "python"),
}
_FROM_1 = ("shortest", "min_length", "min_count")  # integers from 1 on
_FROM_0 = ("ngrams", "scored_ngrams", "max_length", "max_tokens", "buckets", "top", "length")
MOST_NGRAMS = 16  # words (or characters)
_KEY = re.compile("[0-9a-f]{32}")


def check_text_options(family: Any) -> None:
    """Raise a ParameterError if options of a family of text are not possible."""
    for option, choices in _CHOICES.items():
        if getattr(family, option) not in choices:
            wanted = f"{option} of text: {', '.join(map(repr, choices))}"
            raise ParameterError(wanted, got=getattr(family, option))
    for option in (*_FROM_1, *_FROM_0):
        check_integer(f"{option} of text", getattr(family, option), at_least=int(option in _FROM_1))
    for option in ("unit", "idf", "balanced", "addresses"):
        if not isinstance(value := getattr(family, option), (bool, np.bool_)):
            raise ParameterError(f"{option} of text: True or False", got=value)
    if isinstance(family.cap, bool) or not isinstance(family.cap, (int, float)) or not 0 <= family.cap < math.inf:
        raise ParameterError("cap of text: a number of at least 0 (0: no cap)", got=family.cap)
    if family.shortest > family.longest:
        raise ParameterError(f"n-grams from shortest={family.shortest} up", got=Described(f"ngrams={family.longest}"))
    if 0 < family.max_length < family.min_length:
        raise ParameterError(
            f"words from min_length={family.min_length} up", got=Described(f"max_length={family.max_length}")
        )
    for option, most, value in (("ngrams", MOST_NGRAMS, family.longest), ("buckets", 2**22, family.buckets)):
        if value > most:
            raise ParameterError(f"{option} of text: at most {most}", got=value)
    if family.scored_ngrams and (family.tokens != "words" or family.buckets or family.max_tokens):
        got = "characters" if family.tokens != "words" else "a limited vocabulary"
        raise ParameterError("scored_ngrams of text: only for words that are all kept", got=Described(got))
    if 0 < family.scored_ngrams < family.shortest:
        raise ParameterError(f"scored_ngrams of text: at least shortest={family.shortest}", got=family.scored_ngrams)
    if family.max_tokens == 1:
        raise ParameterError("max_tokens of text: 0 (no limit), or 2 and more", got=1)
    if family.variant == "presence" and (family.idf or family.balanced):
        raise ParameterError("idf and balanced only with the variants counts and complement", got="presence")


def check_key(family: Any) -> None:
    """Raise a ParameterError unless there is a key exactly if there are buckets."""
    if family.key != "" and not (family.buckets and isinstance(family.key, str) and _KEY.fullmatch(family.key)):
        raise ParameterError("a key of 32 hexadecimal digits, for buckets", got=Described("something else"))


def stop_words(option: Any) -> str:
    """Stop words separated by blanks, from text or from a list."""
    words = option.replace(",", " ").split() if isinstance(option, str) else option
    words = list(words) if isinstance(words, Iterable) else [words]
    if words == ["english"]:
        hint = "there is no built-in list: give the words themselves; common words have small weights anyway"
        raise ParameterError("stop words of text", got=option, hint=hint)
    if not all(isinstance(word, str) and "=" not in word for word in words):
        raise ParameterError("stop words of text: words separated by blanks, or a list of words", got=option)
    return " ".join(words)


def strength(k: Any) -> float | str:
    """The option k as a number, or "auto"."""
    if k == "auto":
        return "auto"
    try:
        value = float(k)
    except (TypeError, ValueError):
        value = -1.0
    if isinstance(k, bool) or not 0 <= value <= 1e100:
        raise ParameterError("k of text: 'auto' or a number from 0 to 1e100", got=k)
    return value
