"""Labels and weights.

A label is text, an integer, a real or a boolean. All labels of a model have one type, in which they are returned. A row
without a label is skipped when learning. `"rating=R"` makes a boolean label of a column: whether rating is R.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tallybayes.arrays.axis import kind_of, rough_kind, sort_keys
from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.data.encode import as_codes, as_reals
from tallybayes.data.table import Table, raw_column
from tallybayes.errors import DataError, Described, ParameterError, did_you_mean
from tallybayes.formatting import shown

__all__ = [
    "Labels",
    "check_label",
    "encode_labels",
    "find_labels",
    "find_weights",
    "label_column",
    "split_name",
    "to_key_type",
    "to_label_type",
]


@dataclass(frozen=True, eq=False)
class Labels:
    """Sorted labels, the code of each row's label (-1 where it is missing), and the rows of each label."""

    keys: list[Any]
    codes: NDArray[np.int32]
    counts: NDArray[np.int64]

    @property
    def n_missing(self) -> int:
        """How many rows have no label."""
        return len(self.codes) - int(self.counts.sum())


def find_labels(table: Table, label: Any) -> Labels:
    """The labels of a table: a column by name, an array, or labels that are already encoded."""
    if isinstance(label, Labels):
        return label
    if isinstance(label, (str, int, float)) or label is None:
        if not table.columns and not table.n_rows:
            return Labels([], np.zeros(0, np.int32), np.zeros(0, np.int64))  # the start of a stream
        check_label(label, table.columns)
        column, value = label_column(str(label), table.columns)
        labels = encode_labels(column, table.columns[column])
        return labels if value is None else _is_value(labels, value)
    raw = raw_column(label)
    if is_sparse(raw):
        raise DataError("a column of labels", got=Described(f"a sparse matrix of shape {raw.shape}"))
    if len(raw) != table.n_rows:
        raise DataError(f"{table.n_rows} labels, one per row", got=len(raw))
    return encode_labels("label", raw)


def check_label(label: Any, names: Collection[str]) -> None:
    """Raise a DataError unless the label is one of these columns."""
    column, _ = label_column(str(label), names)
    if column not in names:
        hint = "label= takes the name of a column or an array of labels (tally learn and forget: --class)"
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
    hits = [shown(key) == (value.lower() if isinstance(key, bool) else value) for key in labels.keys]
    hit = np.array([*hits, False])
    codes = np.where(labels.codes < 0, -1, hit[labels.codes]).astype(np.int32)
    counts = np.bincount(codes[codes >= 0], minlength=2)
    there = np.flatnonzero(counts)
    lookup = np.full(3, -1, np.int32)
    lookup[there] = np.arange(len(there))
    return Labels([bool(i) for i in there], lookup[codes], counts[there])


def encode_labels(name: str, raw: Any) -> Labels:
    """The labels of an array: sorted keys, codes and rows of each."""
    encoded = as_codes(name, raw)
    if isinstance(encoded.keys, range):
        return _from_range(encoded.codes, encoded.keys)
    code = encoded.codes.astype(np.int32, copy=False)
    n_keys = len(encoded.keys)
    rows = np.bincount(np.where((code < 0) | (code >= n_keys), n_keys, code), minlength=n_keys + 1)[:n_keys]
    keys = [key for key, n in zip(encoded.keys, rows, strict=True) if n]
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
    return any(isinstance(value, (float, np.floating)) and value == value for value in raw)


def _from_range(values: np.ndarray, keys: range) -> Labels:
    """Integers that stand for themselves: one pass to see which occur, one to number them."""
    position = values - values.dtype.type(keys.start) if keys.start else values
    if values.dtype.itemsize < 4:
        position = values.astype(np.int32) - keys.start
    counts = np.bincount(position, minlength=len(keys))
    there = np.flatnonzero(counts)
    lookup = np.full(len(keys), -1, np.int32)
    lookup[there] = np.arange(len(there))
    return Labels((there + keys.start).tolist(), lookup[position], counts[there])


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


def to_label_type(known: Sequence[Any], labels: Sequence[Any], *, from_file: bool = False) -> list[Any]:
    """Labels in the type of the known labels; 1 and 1.0 are the same label, other types are refused.

    The labels of a text file are converted from their text: "1" to 1, "true" to True.
    """
    if not known or not labels or kind_of(labels[0]) == kind_of(known[0]):
        return list(labels)
    if from_file and rough_kind(known[0]) != rough_kind(labels[0]):
        labels = [to_key_type(label, known[0]) for label in labels]
        return to_label_type(known, labels)
    kinds = (kind_of(known[0]), kind_of(labels[0]))
    if kinds == ("number", "integer"):
        return _as_doubles(labels)
    odd = [label for label in labels if not (isinstance(label, float) and label.is_integer())]
    if kinds == ("integer", "number") and not odd:
        return [int(label) for label in labels]
    raise DataError(f"labels of one type ({kinds[0]})", got=(odd or list(labels))[0])


def to_key_type(key: Any, like: Any) -> Any:
    """A key of a text file in the type of a known key: "1" as 1, "true" as True; unchanged if it has no such form.

    >>> to_key_type("2", 1), to_key_type("1.5", 1), to_key_type(1.0, "a"), to_key_type("x", 1)
    (2, 1.5, '1', 'x')
    """
    kind = rough_kind(like)
    if kind == "text":
        return str(key) if isinstance(key, bool) and like in ("True", "False") else shown(key)
    if kind == "number" and isinstance(key, str):
        for number in (int, float):
            with contextlib.suppress(ValueError):
                return number(key)
    if kind == "boolean":
        return {"true": True, "false": False, "1": True, "0": False}.get(shown(key).lower(), key)
    return key
