"""The labels of rows: sorted keys, and the code of each row.

A label is text, an integer, a real or a boolean. All labels of a model have one type, in which they are returned, and
labels of any source are converted to it (`cells/key_form.py`). A row without a label is skipped when learning.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.axis import kind_of, positions, rough_kind, sort_keys
from tallybayes.arrays.chunks import in_threads
from tallybayes.cells.key_form import KeyForm, to_key_type
from tallybayes.columns.readers.key_reader import INTEGERS, SPAN, as_codes
from tallybayes.errors import DataError

__all__ = ["Labels", "are_reals", "encode_labels", "to_label_type"]

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

    @classmethod
    def of(cls, keys: Sequence[Any], codes: NDArray[np.integer]) -> Labels:
        """From codes of different keys in any order; other codes are missing labels, keys without rows are dropped.

        >>> Labels.of(["q", "r", "p"], np.array([0, 2, -1, 0]))
        Labels(keys=['p', 'q'], codes=array([ 1,  0, -1,  1], dtype=int32), counts=array([1, 2]), rewritten={})
        """
        n_keys = len(keys)
        place = np.where((codes < 0) | (codes >= n_keys), n_keys, codes)
        counts = np.bincount(place, minlength=n_keys + 1)[:n_keys]
        ordered = sort_keys(keys[i] for i in np.flatnonzero(counts).tolist())
        order = positions(ordered, keys)
        lookup = np.full(n_keys + 1, -1, np.int32)
        lookup[order] = np.arange(len(order))
        return cls(ordered, lookup[place], counts[order])

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
        distinct = list(set(keys))
        labels = Labels.of(distinct, np.append(positions(keys, distinct), -1)[self.codes])
        pairs = zip(self.keys, keys, strict=True)
        return replace(
            labels, rewritten={a: b for a, b in pairs if isinstance(a, str) and isinstance(b, str) and a != b}
        )


def encode_labels(name: str, raw: Any) -> Labels:
    """The labels of an array: sorted keys, codes and rows of each."""
    if (labels := _from_integers(raw)) is not None:
        return labels
    encoded = as_codes(name, raw)
    if isinstance(encoded.keys, range):
        return _from_range(encoded.codes, encoded.keys)[0]
    labels = Labels.of(encoded.keys, encoded.codes)
    if labels.keys and all(isinstance(key, decimal.Decimal) for key in labels.keys):  # SQL writes 1.0 like this
        return encode_labels(name, np.array([*map(float, labels.keys), np.nan])[labels.codes])
    kinds = {rough_kind(key) for key in labels.keys}
    if len(kinds) > 1 or kinds - {"text", "number", "boolean", "bytes"}:
        raise DataError("labels of one type: text, numbers or booleans", got=sort_keys(kinds), column=name)
    if kinds == {"number"} and are_reals(raw):
        return replace(labels, keys=_as_doubles(labels.keys, name))
    return labels


def _as_doubles(labels: Sequence[Any], name: str | None = None) -> list[Any]:
    """Integers as reals; those that no double holds are refused: 2**53 + 1 would become the label 2**53."""
    for label in labels:
        if isinstance(label, int) and abs(label) > 2**53 and (label.bit_length() > 1023 or int(float(label)) != label):
            expected = "a label that a double can hold, as other labels are reals"
            raise DataError(expected, got=label, column=name, hint="give all labels as integers, or as text")
    return [float(label) for label in labels]


def are_reals(raw: Any) -> bool:
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
