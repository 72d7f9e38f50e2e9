"""A family for each column, proposed from the data with a reason that users can read and overrule.

booleans, and numbers that are only 0 and 1   bernoulli
numbers, whole ones too                       histogram (or the family given by `numeric=`); poisson only if asked for
text with few distinct values                 categorical; ordinal if they have a known order, such as low, medium, high
text with |, ; or , between values; sets      tags (`columns/tag_rules.py`)
lists, in cells of text too                   tags if hardly any has a value twice, else multinomial; vectors: none
maps, sparse matrices                         multinomial
prose                                         text
dates and times                               none: their parts are columns with families (`columns/date_inference.py`)
identifiers                                   none: the column is excluded
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.cells.arrow import as_doubles, combine_chunks, is_text_type, to_list, to_numpy, valid_rows
from tallybayes.cells.date_format import DateFormat
from tallybayes.cells.known_order import known_order
from tallybayes.cells.list_cell import are_lists, split_list
from tallybayes.columns.column_spec import ColumnSpec, Origin, Status
from tallybayes.columns.date_inference import are_dates, is_date_type
from tallybayes.columns.identifier import IDENTIFIER_ROWS, are_hashes, named_as_identifier, number_identifier
from tallybayes.columns.readers.bag_reader import BagReader
from tallybayes.columns.readers.date_reader import DateReader
from tallybayes.columns.readers.flag_reader import FlagReader
from tallybayes.columns.readers.key_reader import text_codes
from tallybayes.columns.readers.number_reader import as_reals
from tallybayes.columns.tag_rules import are_sets, are_vectors, n_tags
from tallybayes.errors import DataError
from tallybayes.families import Bernoulli, Categorical, Family, Multinomial, Ordinal, Tags, Text
from tallybayes.tables.raw_values import has_fraction, is_missing, is_number, plain_reals
from tallybayes.tables.table import Raw

__all__ = ["SAMPLE", "propose", "propose_by_type"]

SAMPLE = 10_000  # rows that are examined before the whole column is
_BOOLEANS = "booleans"
_REALS = "real numbers"
_DATES = "dates and times"
_DURATIONS = "durations have no family"
_SEPARATORS = "|;,"
_FEW_ROWS = 100  # rows that mostly tell whether numbers are only 0 and 1
_MANY_INTEGERS = 100  # distinct integers from which their number is not mentioned
# Thai, Khmer, Chinese ...
_NO_SPACES = "[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
_SOME = 1000  # texts whose words are counted
_LONG = 200  # mean number of characters from which text that hardly repeats can only be prose
_WORDS = 4  # mean number of words from which text that hardly repeats is prose
_SHARED_WORDS = 3  # the same where most texts share a word with many others
_OFTEN, _MOST = 0.05, 0.75  # the share of texts that have a shared word, and that have any of them
_SEVERAL = 3  # shared words: fewer are those of names, such as "customer 17"
_SELDOM = 10  # rows of a text, on average, below which texts of several words are prose: no category has enough rows
_MANY_TEXTS = 50  # distinct texts below which they are categories, although a text of several words has few rows
_ODD = 0.002  # share of rows whose values may be outside a known order: a shifted row, not a category
_LISTS, _SETS = (list, tuple, np.ndarray), (set, frozenset)


def propose(name: str, raw: Raw, numeric: Family) -> ColumnSpec:
    """The family of a column and the reason for it.

    >>> from tallybayes.families import Histogram
    >>> propose("fever", [True, None, False], Histogram())
    ColumnSpec(name='fever', family=Bernoulli(), reason='booleans')
    """
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiub":
        return _from_numbers(name, raw, numeric)
    if is_sparse(raw):
        return ColumnSpec(name, Multinomial(), f"sparse matrix of {raw.shape[1]} columns")
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        try:
            return _from_arrow(name, raw, numeric)
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise DataError("a column that can be read", got=str(raw.type), column=name, hint=str(error)) from error
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "Mm":
        return _dates(name) if raw.dtype.kind == "M" else ColumnSpec.unused(name, Status.NO_FAMILY, _DURATIONS)
    return _from_values(name, list(raw), numeric)


def propose_by_type(name: str, raw: Raw, numeric: Family) -> ColumnSpec:
    """The family of a column by the type of its first value alone: for streams, where few rows are known.

    A list is a bag of tokens, though that of the first row may have none twice: another order of the rows must not give
    another family.

    >>> from tallybayes.families import Gaussian
    >>> str(propose_by_type("zero", [0.0], Gaussian()).family), str(propose_by_type("w", ["a|b"], Gaussian()).family)
    ('gaussian', 'categorical')
    """
    if is_sparse(raw):
        return propose(name, raw, numeric)
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        raw = _values(raw)
    elif isinstance(raw, np.ndarray) and raw.dtype.kind == "f":
        raw = raw[~np.isnan(raw)][:1].tolist()
    value = next(itertools.filterfalse(is_missing, raw), None)
    if value is None:
        return ColumnSpec.unused(name, Status.UNDECIDED)
    if is_number(value):
        is_boolean = isinstance(value, (bool, np.bool_))
        return ColumnSpec(name, Bernoulli() if is_boolean else numeric, _BOOLEANS if is_boolean else "numbers")
    return (
        ColumnSpec(name, Categorical(), "text")
        if isinstance(value, (str, bytes))
        else _from_container(name, value, None)
    )


def _values(raw: Any) -> Iterator[Any]:
    """The values of an Arrow array that are not null, one after the other."""
    for chunk in raw.chunks if isinstance(raw, pa.ChunkedArray) else [raw]:
        for i in np.flatnonzero(valid_rows(chunk)).tolist():
            yield to_list(chunk[i : i + 1])[0]


def _from_arrow(name: str, raw: Any, numeric: Family) -> ColumnSpec:
    kind = raw.type.value_type if pa.types.is_dictionary(raw.type) else raw.type
    is_text = is_text_type(kind)
    if pa.types.is_boolean(kind):
        return ColumnSpec(name, Bernoulli(), _BOOLEANS)
    if pa.types.is_temporal(kind):
        return ColumnSpec.unused(name, Status.NO_FAMILY, _DURATIONS) if pa.types.is_duration(kind) else _dates(name)
    if pa.types.is_dictionary(raw.type):
        return _from_dictionary(name, combine_chunks(raw))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = to_numpy(combine_chunks(as_doubles(raw.drop_null())))
        return _from_numbers(name, numbers, numeric, integral=pa.types.is_integer(kind))
    if pa.types.is_map(kind):
        return ColumnSpec(name, Multinomial(), "maps of amounts")
    if raw.null_count == len(raw):
        if is_text:
            return ColumnSpec(name, Categorical(), "text, no values yet", origin=Origin.BY_TYPE)
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return ColumnSpec(
                name, Multinomial(), "lists, no values yet", BagReader(has_brackets=True), origin=Origin.BY_TYPE
            )
        return ColumnSpec.unused(name, Status.UNDECIDED)
    if is_text:
        codes, values = text_codes(combine_chunks(raw))
        return _from_text(name, dict(zip(values, np.bincount(codes[codes >= 0]).tolist(), strict=True)))
    return _from_values(name, to_list(raw), numeric)


def _from_dictionary(name: str, raw: Any) -> ColumnSpec:
    """From a dictionary of values, which may have an order of its own, as an ordered categorical of pandas has."""
    values = to_list(raw.dictionary)
    if raw.type.ordered and len(values) > 1 and all(isinstance(value, str) and value.strip() for value in values):
        return ColumnSpec(name, Ordinal(tuple(values)), f"ordered categories of the table, {_distinct(len(values))}")
    if all(isinstance(value, str) for value in values):
        if are_dates(dict.fromkeys(values, 1)):
            return _dates(name)
        if (order := known_order(values)) is not None:
            return ColumnSpec(name, Ordinal(order), f"ordered categories, {_distinct(len(values))}")
    return ColumnSpec(name, Categorical(), f"dictionary of {len(values)} values")


def _from_numbers(name: str, values: np.ndarray, numeric: Family, integral: bool | None = None) -> ColumnSpec:
    if values.dtype == np.bool_:
        return ColumnSpec(name, Bernoulli(), _BOOLEANS)
    integral = values.dtype.kind in "iu" if integral is None else integral
    if not integral and has_fraction(values[:_FEW_ROWS]):  # mostly: then nothing else can be true
        return ColumnSpec(name, numeric, _REALS)
    for part in (values[:_FEW_ROWS], values[:SAMPLE], values):
        there = part[~np.isnan(part)] if part.dtype.kind == "f" else part
        if not np.all((there == 0) | (there == 1)):
            break
    else:
        if len(np.unique(there)) == 2:
            return ColumnSpec(name, Bernoulli(), "only 0 and 1", FlagReader(only_bits=True))
    sample = values[: SAMPLE + 1]
    whole = sample[~np.isnan(sample)] if sample.dtype.kind == "f" else sample
    # Reals without a fraction are whole numbers with gaps, or the name says so; others are taken for measurements.
    if integral or len(whole) < len(sample) or named_as_identifier(name):
        is_whole = integral or (np.all(np.isfinite(whole)) and np.all(whole == np.floor(whole)))
        if is_whole and (reason := number_identifier(name, whole)) is not None:
            return ColumnSpec.unused(name, Status.NUMBER_IDENTIFIER, reason)
    return ColumnSpec(name, numeric, _describe_numbers(sample, integral))


def _describe_numbers(values: np.ndarray, integral: bool) -> str:
    """What kind of numbers they are, in words."""
    if not integral and values.dtype.kind == "f" and has_fraction(values):
        return _REALS
    there = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if not integral and not len(there):
        return _REALS
    n_values = len(np.unique(there))
    return f"integers, {_distinct(n_values)}" if n_values < _MANY_INTEGERS else "integers"


def _distinct(n_values: int) -> str:
    return f"{n_values} distinct value{'s' if n_values != 1 else ''}"


def _from_values(name: str, values: list[Any], numeric: Family) -> ColumnSpec:
    types = set(map(type, values))
    if str in types and types <= {str, type(None)}:  # nothing else to ask of every value
        texts = values if type(None) not in types else [value for value in values if value is not None]
        return _from_text(name, Counter(texts))
    if (reals := plain_reals(values)) is not None and len(known := reals[~np.isnan(reals)]):
        integral = float not in types or all(type(value) is int or is_missing(value) for value in values)
        return _from_numbers(name, known, numeric, integral=integral)
    there = list(itertools.filterfalse(is_missing, values))
    if not there:
        return ColumnSpec.unused(name, Status.UNDECIDED)
    if all(isinstance(value, (bool, np.bool_)) for value in there):
        return ColumnSpec(name, Bernoulli(), _BOOLEANS)
    if all(map(is_number, there)):
        integral = all(isinstance(value, (int, np.integer)) for value in there)
        return _from_numbers(name, as_reals(name, there).values, numeric, integral=integral)
    if isinstance(there[0], str):
        return _from_text(name, Counter(map(str, there)))
    if isinstance(there[0], (bytes, int, float)):
        return ColumnSpec(name, Categorical(), f"values of type {type(there[0]).__name__}")
    return _from_container(name, there[0], there)


def _from_container(name: str, first: Any, values: Sequence[Any] | None) -> ColumnSpec:
    """From a list, set or map, and all values, if they are known; encoding refuses those that are not like it."""
    some = () if values is None else values[:SAMPLE]
    if isinstance(first, _SETS):
        return ColumnSpec(name, Tags(), "sets")
    if isinstance(first, Mapping):
        inner = [v for value in some if isinstance(value, Mapping) for v in value.values()]
        plain = all(v is None or is_number(v) for v in inner)
        return ColumnSpec(name, Multinomial(), "maps of amounts") if plain else ColumnSpec.unused(name, Status.NESTED)
    if isinstance(first, _LISTS):
        if any(isinstance(v, (list, dict)) for value in some if isinstance(value, _LISTS) for v in value):
            return ColumnSpec.unused(name, Status.NESTED)
        if are_vectors(_tokens(value) for value in some if isinstance(value, _LISTS)):
            return ColumnSpec.unused(name, Status.REAL_LISTS)
        return _lists(name, None if values is None else ((_tokens(v), 1) for v in values if isinstance(v, _LISTS)))
    if is_date_type(first):
        return _dates(name)
    return ColumnSpec.unused(name, Status.NO_FAMILY, f"values of type {type(first).__name__} have no family")


def _lists(name: str, lists: Iterable[tuple[Sequence[Hashable], int]] | None) -> ColumnSpec:
    """From the tokens of lists, each with its number of rows; None: not known yet. Later ones may be cells of text."""
    reader = BagReader(has_brackets=True)
    if lists is None:
        return ColumnSpec(name, Multinomial(), "lists", reader)
    if are_sets(lists):
        return ColumnSpec(name, Tags(","), "lists of different values", reader)
    return ColumnSpec(name, Multinomial(), "lists with repeated values", reader)


def _tokens(values: Any) -> list[Hashable]:
    """The tokens of a list that count when repeats are looked for: what is odd among them is refused later."""
    return [value for value in values if isinstance(value, Hashable) and not is_missing(value)]


def _dates(name: str) -> ColumnSpec:
    return ColumnSpec(name, None, _DATES, DateReader(DateFormat()))


def _from_text(name: str, values: Mapping[str, int]) -> ColumnSpec:
    """From the distinct texts and how often each occurs."""
    n_values, n_rows = len(values), sum(values.values())
    some = list(itertools.islice(values, _SOME))
    if n_rows >= IDENTIFIER_ROWS and n_values > n_rows / 10 and are_hashes(some):
        reason = f"identifier: {n_values:,} distinct UUIDs or hashes in {n_rows:,} rows"
        return ColumnSpec.unused(name, Status.IDENTIFIER, reason)
    if n_values > n_rows / 2 and _n_without_spaces(some) > sum(map(len, some)) / 3 > 2:
        return ColumnSpec(name, Text(tokens="characters", ngrams=2), "prose without spaces between words")
    if are_lists(some):
        if are_vectors(map(split_list, some)):
            return ColumnSpec.unused(name, Status.REAL_LISTS)
        return _lists(name, ((split_list(text), n) for text, n in values.items()))
    is_diverse = n_values > n_rows / 2 or n_values > max(n_rows / _SELDOM, _MANY_TEXTS)
    if is_diverse and np.mean([len(value) for value in some]) > _LONG:
        return _prose(name, some, n_rows / n_values)
    if are_dates(values):
        return _dates(name)
    if (order := _order(values, n_rows)) is not None:
        return ColumnSpec(name, Ordinal(order), f"ordered categories, {_distinct(n_values)}")
    for separator in _SEPARATORS:
        if n_parts := n_tags(values, separator, n_rows):
            return ColumnSpec(name, Tags(separator), f"{n_parts} tags separated by {separator}")
    if n_rows > 1 and is_diverse and _are_sentences(some, hardly_repeat=n_values > n_rows / 2):
        return _prose(name, some, n_rows / n_values)
    if n_values > n_rows / 2 and n_rows >= IDENTIFIER_ROWS:
        return ColumnSpec.unused(name, Status.IDENTIFIER, f"identifier: {_distinct(n_values)} in {n_rows} rows")
    return ColumnSpec(name, Categorical(), f"text, {_distinct(n_values)}")


def _order(values: Mapping[str, int], n_rows: int) -> tuple[str, ...] | None:
    """The known order of texts; a few odd cells may be outside it, of which `Inference.with_values` warns."""
    order = known_order(values)
    if order is not None or len(values) > _MANY_TEXTS or n_rows < IDENTIFIER_ROWS:
        return order
    left = dict(values)
    for n in sorted(set(values.values())):  # the rarest first
        left = {value: n_cells for value, n_cells in left.items() if n_cells > n}
        if sum(left.values()) < n_rows - max(1, _ODD * n_rows):
            return None
        if (order := known_order(left)) is not None:
            return order
    return None


def _are_sentences(some: list[str], *, hardly_repeat: bool) -> bool:
    """Whether texts have several words; fewer if they hardly repeat and most share words, as messages do."""
    words = [value.split() for value in some]
    mean = np.mean([len(value) for value in words])
    if mean >= _WORDS or mean < _SHARED_WORDS or not hardly_repeat:
        return bool(mean >= _WORDS)
    n_texts = Counter(word for value in words for word in set(value))
    shared = {word for word, n in n_texts.items() if n >= _OFTEN * len(some)}
    n_sharing = sum(not shared.isdisjoint(value) for value in words)
    return len(shared) >= _SEVERAL and n_sharing >= _MOST * len(some)


def _n_without_spaces(texts: list[str]) -> int:
    """How many characters belong to writing without spaces between words."""
    return sum(len(re.findall(_NO_SPACES, text)) for text in texts if not text.isascii())


def _prose(name: str, some: list[str], n_repeats: float) -> ColumnSpec:
    words = np.mean([len(value.split()) for value in some])
    how = "few texts repeat" if n_repeats < 2 else f"each text in {n_repeats:.1f} rows"
    return ColumnSpec(name, Text(), f"prose: {words:.0f} words on average, {how}")
