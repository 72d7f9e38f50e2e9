"""Labels and weights.

A label is text, an integer, a real or a boolean. All labels of a model have one type, in which they are returned, and
labels of any source are converted to it (`cells/key_form.py`). A row without a label is skipped when learning.
`"rating=R"` makes a boolean label of a column: whether rating is R. The bins of a schema cut a label of numbers.
"""

from __future__ import annotations

import decimal
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.axis import kind_of, positions, rough_kind, sort_keys
from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.cells.key_form import KeyForm, as_number, to_key_type
from tallybayes.columns.label_bins import LabelBins
from tallybayes.columns.readers.key_reader import INTEGERS, SPAN, as_codes
from tallybayes.columns.readers.number_reader import as_reals
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, Described, ParameterError, did_you_mean
from tallybayes.formatting import shown
from tallybayes.tables.table import Table, raw_column

__all__ = [
    "Labels",
    "check_label",
    "encode_labels",
    "find_labels",
    "find_weights",
    "label_column",
    "label_numbers",
    "split_name",
    "to_label_type",
]

_SOME = 1000  # labels that show the span of integers


@dataclass(frozen=True, eq=False)
class Labels:
    """Sorted labels, the code of each row's label (-1 where it is missing), and the rows of each label.

    rewritten: texts that were written otherwise in the data, and what they are here.
    """

    keys: list[Any]
    codes: NDArray[np.int32]
    counts: NDArray[np.int64]
    rewritten: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_missing(self) -> int:
        """How many rows have no label."""
        return len(self.codes) - int(self.counts.sum())

    def in_type(self, known: Sequence[Any], form: KeyForm | None = None) -> Labels:
        """The same labels in the type and form of known ones, in their order; equal ones become one.

        >>> Labels(["1", "1.0"], np.array([0, 1], np.int32), np.array([1, 1])).in_type([1, 2]).codes.tolist()
        [0, 0]
        """
        keys = to_label_type(known, self.keys, form)
        if all(type(new) is type(old) and new == old for new, old in zip(keys, self.keys, strict=True)):
            return self
        ordered = sort_keys(set(keys))
        labels = _order_labels(ordered, np.append(positions(keys, ordered), -1)[self.codes])
        pairs = zip(self.keys, keys, strict=True)
        return replace(
            labels, rewritten={a: b for a, b in pairs if isinstance(a, str) and isinstance(b, str) and a != b}
        )


def find_labels(table: Table, label: Any, schema: Schema | None = None, *, known: Sequence[Any] = ()) -> Labels:
    """The labels of a table: a column by name, an array, or labels that are already encoded.

    schema: of the model, with the bins and the form of its labels; known: its classes, whose type the labels get.
    """
    labels = label if isinstance(label, Labels) else _raw_labels(table, label, None if schema is None else schema.bins)
    return labels.in_type(known, None if schema is None else schema.label_form)


def _raw_labels(table: Table, label: Any, bins: LabelBins | None) -> Labels:
    """Labels as they are in the data, numbers cut into bins if there are any."""
    if isinstance(label, (str, int, float)) or label is None:
        if not table.columns and not table.n_rows:
            return Labels([], np.zeros(0, np.int32), np.zeros(0, np.int64))  # the start of a stream
        check_label(label, table.columns)
        column, value = label_column(str(label), table.columns)
        if value is None and bins is not None:
            return _cut(column, table.columns[column], bins)
        labels = encode_labels(column, table.columns[column])
        return labels if value is None else _is_value(labels, value)
    raw = raw_column(label)
    if is_sparse(raw):
        raise DataError("a column of labels", got=Described(f"a sparse matrix of shape {raw.shape}"))
    if len(raw) != table.n_rows:
        raise DataError(f"{table.n_rows} labels, one per row", got=len(raw))
    return encode_labels("label", raw) if bins is None else _cut("label", raw, bins)


def label_numbers(name: str, raw: Any) -> NDArray[np.float64]:
    """A label as numbers, NaN where it is missing; a DataError for booleans and text that is not a number."""
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "fiu":
        return as_reals(name, raw).values.astype(np.float64)
    labels = encode_labels(name, raw)
    numbers = [as_number(key) if isinstance(key, str) else key for key in labels.keys]
    for code, number in enumerate(numbers):
        if number is None or rough_kind(number) != "number":
            row = int(np.argmax(labels.codes == code))
            hint = "bins= (--bins) cuts numbers into ranges; a label of text or booleans needs none"
            raise DataError("a number, to be cut into bins", got=labels.keys[code], column=name, row=row, hint=hint)
    return np.array([*numbers, np.nan], np.float64)[labels.codes]


def _cut(name: str, raw: Any, bins: LabelBins) -> Labels:
    """The ranges of numbers; text that names ranges is taken for them."""
    if not _are_reals(raw) and set((labels := encode_labels(name, raw)).keys) <= set(bins.names):
        return labels
    return _order_labels(bins.names, bins.codes(label_numbers(name, raw)))


def _order_labels(keys: Sequence[Any], codes: NDArray[np.integer]) -> Labels:
    """Labels from codes of keys in any order; only the keys that have rows are kept."""
    counts = np.bincount(codes[codes >= 0], minlength=len(keys))
    used = [i for i in sorted(range(len(keys)), key=lambda i: keys[i]) if counts[i]]
    lookup = np.full(len(keys) + 1, -1, np.int32)
    lookup[used] = np.arange(len(used))
    return Labels([keys[i] for i in used], lookup[codes], counts[used])


def check_label(label: Any, names: Collection[str]) -> None:
    """Raise a DataError unless the label is one of these columns."""
    column, _ = label_column(str(label), names)
    if column not in names:
        hint = "label= takes the name of a column or an array of labels (tally learn and forget: --label-value)"
        hint = did_you_mean(column, names) or hint
        raise DataError("the label column in the data", got=list(names), column=column, hint=hint)


def split_name(text: str, names: Collection[str]) -> tuple[str, str] | None:
    """A text "name=rest" split after the longest known name; None if there is none.

    >>> split_name("a=b=c", ["a", "a=b"]), split_name("d=e", ["a"])
    (('a=b', 'c'), None)
    """
    places = [i for i, sign in enumerate(text) if sign == "=" and text[:i] in names]
    return (text[: places[-1]], text[places[-1] + 1 :]) if places else None


def label_column(label: str, names: Collection[str]) -> tuple[str, str | None]:
    """The column of a label, and the value that makes it a boolean label.

    >>> label_column("rating=R", ["rating", "year"]), label_column("year", ["rating", "year"])
    (('rating', 'R'), ('year', None))
    """
    if label in names:
        return label, None
    return split_name(label, names) or (label, None)


def _is_value(labels: Labels, value: str) -> Labels:
    """Whether each label is this value, compared as text."""
    wanted = (value.lower() if isinstance(key, bool) else value for key in labels.keys)
    hits = [shown(key) == text or _same_number(key, text) for key, text in zip(labels.keys, wanted, strict=True)]
    hit = np.array([*hits, False])
    codes = np.where(labels.codes < 0, -1, hit[labels.codes]).astype(np.int32)
    counts = np.bincount(codes[codes >= 0], minlength=2)
    there = np.flatnonzero(counts)
    lookup = np.full(3, -1, np.int32)
    lookup[there] = np.arange(len(there))
    return Labels([bool(i) for i in there], lookup[codes], counts[there])


def _same_number(key: Any, value: str) -> bool:
    """Whether texts are written differently, but the same number: 1 and 1.0."""
    return isinstance(key, str) and as_number(key) is not None and as_number(key) == as_number(value)


def encode_labels(name: str, raw: Any) -> Labels:
    """The labels of an array: sorted keys, codes and rows of each."""
    if (labels := _from_integers(raw)) is not None:
        return labels
    encoded = as_codes(name, raw)
    if isinstance(encoded.keys, range):
        return _from_range(encoded.codes, encoded.keys)[0]
    code = encoded.codes.astype(np.int32, copy=False)
    n_keys = len(encoded.keys)
    rows = np.bincount(np.where((code < 0) | (code >= n_keys), n_keys, code), minlength=n_keys + 1)[:n_keys]
    keys = [key for key, n in zip(encoded.keys, rows, strict=True) if n]
    if keys and all(isinstance(key, decimal.Decimal) for key in keys):  # SQL writes 1.0 like this
        numbers = [float(key) for key in encoded.keys if isinstance(key, decimal.Decimal)]
        return encode_labels(name, np.array([*numbers, np.nan]).take(code, mode="wrap"))
    kinds = {rough_kind(key) for key in keys}
    if len(kinds) > 1 or kinds - {"text", "number", "boolean", "bytes"}:
        raise DataError("labels of one type: text, numbers or booleans", got=sort_keys(kinds), column=name)
    if kinds == {"number"} and _are_reals(raw):
        keys = _as_doubles(keys, name)
    ordered = sort_keys(keys)
    rank = {key: i for i, key in enumerate(ordered)}
    position = np.array([rank.get(key, -1) for key in encoded.keys], np.int32)
    lookup = np.append(position, np.int32(-1))
    counts = np.zeros(len(ordered), np.int64)
    counts[position[position >= 0]] = rows[position >= 0]
    return Labels(ordered, lookup.take(code, mode="wrap"), counts)  # missing is -1 or n_keys: the last entry either way


def _as_doubles(labels: Sequence[Any], name: str | None = None) -> list[Any]:
    """Integers as reals; those that no double holds are refused: 2**53 + 1 would become the label 2**53."""
    for label in labels:
        if isinstance(label, int) and abs(label) > 2**53 and (label.bit_length() > 1023 or int(float(label)) != label):
            expected = "a label that a double can hold, as other labels are reals"
            raise DataError(expected, got=label, column=name, hint="give all labels as integers, or as text")
    return [float(label) for label in labels]


def _are_reals(raw: Any) -> bool:
    """Whether labels were given as reals, so that they are returned as reals."""
    if isinstance(raw, np.ndarray) and raw.dtype != object:
        return bool(raw.dtype.kind == "f")
    if isinstance(raw, (pa.Array, pa.ChunkedArray)):
        return bool(pa.types.is_floating(raw.type))
    if not any(issubclass(kind, (float, np.floating)) for kind in set(map(type, raw))):
        return False
    return any(isinstance(value, (float, np.floating)) and value == value for value in raw)


def _from_integers(values: Any) -> Labels | None:
    """Integers within a small span, in one pass if some show the span; None for other labels, masked ones too."""
    if not (type(values) is np.ndarray and values.dtype in INTEGERS and len(values)):
        return None
    some = values[:: max(1, len(values) // _SOME)]
    seen = range(int(some.min()), int(some.max()) + 1)
    while len(seen) <= SPAN:
        keys = seen
        labels, seen = _from_range(values, keys)
        if seen.start >= keys.start and seen.stop <= keys.stop:
            return labels
    return None


def _from_range(values: np.ndarray, keys: range) -> tuple[Labels, range]:
    """Integers that stand for themselves, numbered and counted, and the range that they are in."""
    codes = np.empty(len(values), np.int32)

    def number(start: int, stop: int) -> tuple[Any, tuple[int, int]]:
        counts_here = np.zeros(len(keys), np.int64)
        return counts_here, kernels.active.code_integers(values, keys.start, counts_here, codes, start, stop)

    counts, ends = zip(*in_threads(number, len(values)), strict=True)
    seen = range(min(least for least, _ in ends), max(greatest for _, greatest in ends) + 1)
    n = sum(counts[1:], counts[0])
    there = np.flatnonzero(n)
    if len(there) == len(keys):
        return Labels(list(keys), codes, n), seen
    lookup = np.full(len(keys), -1, np.int32)
    lookup[there] = np.arange(len(there))
    return Labels((there + keys.start).tolist(), lookup[codes], n[there]), seen


def find_weights(table: Table, weight: Any) -> NDArray[np.float64] | None:
    """Row weights: a column by name, an array, or None. Finite and not negative."""
    if weight is None:
        return None
    name = weight if isinstance(weight, str) else "weight"
    if isinstance(weight, str) and weight not in table.columns:
        raise DataError("the weight column in the data", got=sorted(table.columns), column=weight)
    if not isinstance(weight, str) and np.ndim(weight) == 0 and not hasattr(weight, "__len__"):
        raise ParameterError("a column name or an array of weights", got=weight)
    raw = table.columns[weight] if isinstance(weight, str) else raw_column(weight)
    if len(raw) != table.n_rows:
        raise DataError(f"{table.n_rows} weights, one per row", got=len(raw))
    values = as_reals(name, raw).values.astype(np.float64)
    bad = ~((values >= 0) & (values < np.inf))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError("a weight (a finite number that is not negative)", got=values[row], column=name, row=row)
    return values


def to_label_type(known: Sequence[Any], labels: Sequence[Any], form: KeyForm | None = None) -> list[Any]:
    """Labels in the type of the known labels, and among texts in their form; those that have no such type are refused.

    >>> to_label_type(["0", "1"], [True, False], KeyForm(("0", "1"))), to_label_type([1, 2], ["2.0"])
    (['1', '0'], [2])
    """
    if not labels:
        return []
    like = known[0] if known else labels[0]
    if rough_kind(like) == rough_kind(labels[0]):
        if isinstance(like, str) and form is not None:
            return [form.text(label) for label in labels]
        if not known or rough_kind(like) != "number":
            return list(labels)
        return _as_doubles(labels) if isinstance(like, float) else _as_integers(labels)
    typed = [to_key_type(label, like, form) for label in labels]
    for label, new in zip(labels, typed, strict=True):
        is_new_text = isinstance(new, str) and new not in known and not (form is not None and form.covers(label))
        if rough_kind(new) != rough_kind(like) or is_new_text:
            raise DataError(f"labels of one type ({kind_of(like)})", got=label)
    return typed if rough_kind(like) != "number" else to_label_type(known, typed)


def _as_integers(labels: Sequence[Any]) -> list[Any]:
    """Reals as integers; others are refused."""
    for label in labels:
        if not (isinstance(label, int) or label.is_integer()):
            raise DataError("labels of one type (integer)", got=label)
    return [int(label) for label in labels]
