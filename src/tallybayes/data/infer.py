"""A family for each column, proposed from the data with a reason that people can read and overrule.

yes/no, and numbers that are only 0 and 1   bernoulli
numbers                                     histogram (or what `numeric=` says)
text with few values                        categorical
text with |, ; or , between values          tags
lists                                       multinomial;  maps, sparse matrices too
prose                                       text
dates, identifiers                          left out
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.data.arrow import to_numpy, valid_rows
from tallybayes.data.encode import NUMBERS, as_reals, coded, is_missing
from tallybayes.data.schema import Field
from tallybayes.data.table import Raw
from tallybayes.families import Bernoulli, Categorical, Family, Multinomial, Tags, Text

__all__ = ["NO_VALUES", "ONLY_BITS", "propose", "propose_by_type"]

NO_VALUES = "no values yet"  # a later batch decides
ONLY_BITS = "only 0 and 1"  # numbers taken for yes and no: later ones may be others

SAMPLE = 10_000  # rows looked at before the whole column is
_IDENTIFIER_ROWS = 20  # fewer rows than this say nothing about whether values repeat
_SEPARATED = 0.2  # share of values with a separator from which text is taken for tags
_SEPARATORS = {"|": "bar", ";": "semicolon", ",": "comma"}
_MANY = 100  # from so many different whole numbers on, their number says nothing
_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ]\d{1,2}:.*)?\s*$"
    r"|\s*\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*$"
)
_NO_BLANKS = re.compile(
    "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
)  # Thai, Khmer, Chinese ...
_SOME = 1000  # texts whose words are counted
_LONG = 200  # mean number of characters from which text that hardly repeats can be nothing but prose
_WORDS = 4  # mean number of words from which text that hardly repeats is prose


def propose(name: str, raw: Raw, numeric: Family) -> Field:
    """The family of a column and why.

    >>> from tallybayes.families import Histogram
    >>> propose("fever", [True, None, False], Histogram())
    Field(name='fever', family=Bernoulli(), reason='yes or no')
    """
    if hasattr(raw, "tocsr"):
        return Field(name, Multinomial(), f"sparse matrix of {raw.shape[1]} columns")
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        return _from_arrow(name, raw, numeric)
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiub":
        return _from_numbers(name, raw, numeric)
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "Mm":
        return Field(name, None, "dates and times have no family")
    return _from_values(name, list(raw), numeric)


def propose_by_type(name: str, raw: Raw, numeric: Family) -> Field:
    """The family of a column by the type of its values alone, however many have come: for streams.

    >>> from tallybayes.families import Gaussian
    >>> str(propose_by_type("zero", [0.0], Gaussian()).family), str(propose_by_type("w", ["a|b"], Gaussian()).family)
    ('gaussian', 'categorical')
    """
    if hasattr(raw, "tocsr"):
        return propose(name, raw, numeric)
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        raw = _values(raw)
    elif isinstance(raw, np.ndarray) and raw.dtype.kind == "f":
        raw = raw[~np.isnan(raw)][:1].tolist()
    value = next((v for v in raw if isinstance(v, (list, dict, set, np.ndarray)) or not is_missing(v)), None)
    for kinds, family, reason in (
        (type(None), None, NO_VALUES),
        ((bool, np.bool_), Bernoulli(), "yes or no"),
        (NUMBERS, numeric, "numbers"),
        ((str, bytes), Categorical(), "text"),
        ((set, frozenset), Tags(), "sets"),
        ((list, tuple, np.ndarray), Multinomial(), "lists of tokens"),
        (Mapping, Multinomial(), "maps of amounts"),
    ):
        if isinstance(value, kinds):
            return Field(name, family, reason)
    return Field(name, None, f"values of type {type(value).__name__} have no family")


def _values(raw: Any) -> Iterator[Any]:
    """The values of an Arrow array that are not null, one after the other."""
    for chunk in raw.chunks if isinstance(raw, pa.ChunkedArray) else [raw]:
        for i in np.flatnonzero(valid_rows(chunk)).tolist():
            yield chunk[i].as_py()


def _from_arrow(name: str, raw: Any, numeric: Family) -> Field:
    kind = raw.type.value_type if pa.types.is_dictionary(raw.type) else raw.type
    if pa.types.is_boolean(kind):
        return Field(name, Bernoulli(), "yes or no")
    if pa.types.is_temporal(kind):
        return Field(name, None, "dates and times have no family")
    if pa.types.is_dictionary(raw.type):
        n = len(raw.combine_chunks().dictionary) if isinstance(raw, pa.ChunkedArray) else len(raw.dictionary)
        return Field(name, Categorical(), f"a dictionary of {n} values")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        flat = raw.drop_null().cast(pa.float64(), safe=False)
        flat = flat.combine_chunks() if isinstance(flat, pa.ChunkedArray) else flat
        return _from_numbers(name, to_numpy(flat), numeric, whole=pa.types.is_integer(kind))
    if pa.types.is_null(kind):
        return Field(name, None, NO_VALUES)
    if pa.types.is_map(kind):
        return Field(name, Multinomial(), "maps of amounts")
    if raw.null_count == len(raw):
        return _from_type(name, kind)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        codes, values = coded(raw.combine_chunks() if isinstance(raw, pa.ChunkedArray) else raw)
        return _from_text(name, dict(zip(values, np.bincount(codes[codes >= 0]).tolist(), strict=True)))
    return _from_values(name, raw.to_pylist(), numeric)


def _from_type(name: str, kind: Any) -> Field:
    """A column without values: its type decides, if it says enough."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return Field(name, Categorical(), "text, no values yet")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return Field(name, Multinomial(), "lists of tokens, none yet")
    return Field(name, None, NO_VALUES)


def _from_numbers(name: str, values: np.ndarray, numeric: Family, whole: bool | None = None) -> Field:
    if values.dtype == np.bool_:
        return Field(name, Bernoulli(), "yes or no")
    whole = values.dtype.kind in "iu" if whole is None else whole
    for part in (values[:SAMPLE], values):
        there = part[~np.isnan(part)] if part.dtype.kind == "f" else part
        if not len(there) or not np.all((there == 0) | (there == 1)):
            break
    else:
        if len(np.unique(there)) == 2:
            return Field(name, Bernoulli(), ONLY_BITS)
    step = values[: SAMPLE + 1]
    if whole and len(step) >= _IDENTIFIER_ROWS and np.all(np.diff(step.astype(np.float64)) == 1):
        return Field(name, None, "an identifier: whole numbers that count up by one")
    return Field(name, numeric, _numbers(step, whole))


def _numbers(values: np.ndarray, whole: bool) -> str:
    """What kind of numbers they are, in words."""
    there = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if not whole and not (len(there) and np.all(there == np.floor(there))):
        return "real numbers"
    n_values = len(np.unique(there))
    few = f", {n_values} different ones" if n_values < _MANY else ""
    return "whole numbers, always the same" if n_values == 1 else f"whole numbers{few}"


def _from_values(name: str, values: list[Any], numeric: Family) -> Field:
    there = [v for v in values if isinstance(v, (list, dict, set, tuple, np.ndarray)) or not is_missing(v)]
    if not there:
        return Field(name, None, NO_VALUES)
    if all(isinstance(value, (bool, np.bool_)) for value in there):
        return Field(name, Bernoulli(), "yes or no")
    if all(isinstance(value, NUMBERS) for value in there):
        whole = all(isinstance(value, (int, np.integer)) for value in there)
        return _from_numbers(name, as_reals(name, there).values, numeric, whole=whole)
    if isinstance(there[0], dict):
        plain = all(v is None or isinstance(v, NUMBERS) for value in there[:SAMPLE] for v in dict(value).values())
        return Field(name, Multinomial() if plain else None, "maps of amounts" if plain else "values within values")
    if isinstance(there[0], (list, tuple, np.ndarray)):
        plain = not any(isinstance(v, (list, dict)) for value in there[:SAMPLE] for v in value)
        return Field(name, Multinomial() if plain else None, "lists of tokens" if plain else "values within values")
    if isinstance(there[0], (set, frozenset)):
        return Field(name, Tags(), "sets")
    if not isinstance(there[0], str):
        plain = isinstance(there[0], (bytes, int, float))
        return Field(name, Categorical() if plain else None, f"values of type {type(there[0]).__name__}")
    return _from_text(name, Counter(str(value) for value in there))


def _from_text(name: str, values: Mapping[str, int]) -> Field:
    """From the different texts and how often each occurs."""
    n_values, n_rows = len(values), sum(values.values())
    some = list(itertools.islice(values, _SOME))
    if n_values > n_rows / 2 and sum(len(_NO_BLANKS.findall(value)) for value in some) > sum(map(len, some)) / 3 > 2:
        return Field(name, Text(tokens="characters", ngrams=2), "prose without blanks between words")
    if n_values > n_rows / 2 and np.mean([len(value) for value in some]) > _LONG:
        return _prose(name, some)
    if all(map(_DATE.match, itertools.islice(values, SAMPLE))):
        return Field(name, None, "dates and times have no family")
    for separator, what in _SEPARATORS.items():
        if n_parts := _n_tags(values, separator, n_rows):
            return Field(name, Tags(separator), f"{n_parts} tags with a {what} between them")
    if n_rows > 1 and n_values > n_rows / 2:
        if np.mean([len(value.split()) for value in some]) >= _WORDS:
            return _prose(name, some)
        if n_rows >= _IDENTIFIER_ROWS:
            return Field(name, None, f"an identifier: {n_values} different values in {n_rows} rows")
    reason = f"text with {n_values} different values" if n_values > 1 else "always the same text"
    return Field(name, Categorical(), reason)


def _prose(name: str, some: list[str]) -> Field:
    words = np.mean([len(value.split()) for value in some])
    return Field(name, Text(), f"prose: {words:.0f} words on average, hardly ever the same")


def _n_tags(values: Mapping[str, int], separator: str, n_rows: int) -> int:
    """How many tags there are if a separator stands between tags, else 0.

    A bar is there for nothing else; a comma or semicolon must make fewer parts than there are texts, because it also
    stands in names ("Smith, John").
    """
    separated = sum(n for value, n in values.items() if separator in value)
    if not separated or separated < _SEPARATED * n_rows:
        return 0
    parts = {part.strip() for value in values for part in value.split(separator)} - {""}
    few = max(50, n_rows // 2) if separator == "|" else min(len(values) // 2, n_rows // 5)
    return len(parts) if len(parts) <= few else 0
