"""A vocabulary that is given: the tokens of a text that are counted, all others being ignored.

As an option it is one text with "|" between the tokens, in order, each as the tokeniser makes it from a text ("Cash" is
"cash" where letters are folded), and each once: so equal vocabularies are equal options.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from tallybayes import kernels
from tallybayes.arrays.token_rules import Rules, pack_strings, unpack_strings
from tallybayes.errors import Described, ParameterError

__all__ = [
    "check_vocabulary",
    "longest_of",
    "normalised_vocabulary",
    "scored_tokens",
    "shortened",
    "vocabulary_lexicon",
]

_SEPARATOR = "|"
_RESERVED = "|,="  # of the string form of a family: name:option=value,option=value
_SHOWN = 8  # tokens, of more the number is shown


def normalised_vocabulary(vocabulary: Any, rules: Rules, stop: Any) -> str:
    """The option from a list of tokens, or a text with "|" between them; "" is none.

    rules: how texts are cut, with n-grams of any length allowed. stop: the words to be ignored.

    >>> normalised_vocabulary(["Prize", "cash", "CASH"], Rules(longest=2), None)
    'cash|prize'
    """
    if isinstance(vocabulary, str):
        if not vocabulary:
            return ""
        vocabulary = vocabulary.split(_SEPARATOR)
    tokens = list(vocabulary) if isinstance(vocabulary, Iterable) else [vocabulary]
    hint = 'a list of tokens, such as ["cash", "free prize"], or "cash|free prize"'
    if not tokens:
        raise ParameterError("vocabulary of text: at least one token", got=tokens, hint=hint)
    for token in tokens:
        if not isinstance(token, str):
            raise ParameterError("vocabulary of text: tokens", got=token, hint=hint)
        if any(sign in token for sign in _RESERVED):
            raise ParameterError(f"vocabulary of text: tokens without any of {' '.join(_RESERVED)}", got=token)
    return _SEPARATOR.join(sorted({_normalise(token, rules, stop) for token in tokens}))


def _normalise(token: str, rules: Rules, stop: Any) -> str:
    """The token that a text makes which is nothing but it."""
    what = "characters" if rules.characters else "words"
    for length in range(rules.longest, 0, -1):
        found = _cut(token, rules._replace(shortest=length, longest=length), stop)
        if found.total() > 1:
            expected = f"vocabulary of text: tokens of at most {rules.longest} {what}"
            raise ParameterError(expected, got=token, hint=f"ngrams= counts n-grams of several {what}")
        if found and length < rules.shortest:
            raise ParameterError(f"vocabulary of text: tokens of at least shortest={rules.shortest} {what}", got=token)
        if found:
            return next(iter(found))
    hint = f"min_length={rules.min_length} is the length of words in characters" if not rules.characters else None
    raise ParameterError("vocabulary of text: tokens that a text can have", got=token, hint=hint)


def _cut(text: str, rules: Rules, stop: Any) -> Counter[str]:
    """The tokens of a text, and how often it has them."""
    (data, offsets), lexicon = pack_strings([text]), kernels.active.Lexicon()
    _, numbers, amounts = lexicon.tokenise(offsets, data, None, 0, 1, rules, stop, True)
    tokens = unpack_strings(*lexicon.packed())
    return Counter({tokens[number]: amount for number, amount in zip(numbers.tolist(), amounts.tolist(), strict=True)})


def longest_of(vocabulary: str, rules: Rules) -> int:
    """The number of words (or characters) of the longest token."""
    tokens = vocabulary.split(_SEPARATOR)
    return max(len(token) if rules.characters else token.count(" ") + 1 for token in tokens)


def scored_tokens(vocabulary: str, n_words: int) -> tuple[str, ...]:
    """The tokens of a vocabulary that have at most so many words (0: any number); none without a vocabulary."""
    tokens = vocabulary.split(_SEPARATOR) if vocabulary else []
    return tuple(token for token in tokens if not n_words or token.count(" ") < n_words)


def shortened(vocabulary: str) -> str:
    """A vocabulary for people: if it is long, the number of its tokens."""
    n = vocabulary.count(_SEPARATOR) + 1
    return vocabulary if n <= _SHOWN else f"({n:,} tokens)"


@lru_cache(maxsize=64)
def vocabulary_lexicon(vocabulary: str) -> Any:
    """The tokens in a lexicon, to be looked up; it must not be changed."""
    lexicon = kernels.active.Lexicon()
    lexicon.add(*pack_strings(vocabulary.split(_SEPARATOR)))
    return lexicon


def check_vocabulary(family: Any) -> None:
    """Raise a ParameterError if a vocabulary is limited in another way as well."""
    for option in ("buckets", "max_tokens"):
        if family.vocabulary and getattr(family, option):
            raise ParameterError(f"vocabulary or {option} of text", got=Described("both"))
