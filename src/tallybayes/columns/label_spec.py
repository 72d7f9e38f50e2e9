"""What the label of a model is: its column, how labels are written, and the ranges that numbers are cut into.

`"rating=R"` makes a boolean label of a column: whether rating is R. With bins, a label of numbers has ranges between
edges as its classes. A value belongs to the range whose lower edge it reaches: with the edges 10 and 100 the classes
are `< 10`, `10 to 100` (from 10 on, below 100) and `>= 100`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import rough_kind
from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.cells.key_form import KeyForm, as_number
from tallybayes.columns.label import Labels, are_reals, encode_labels
from tallybayes.columns.readers.number_reader import as_reals
from tallybayes.doubts import doubt
from tallybayes.errors import DataError, Described, ParameterError, did_you_mean, is_real_number
from tallybayes.formatting import shown
from tallybayes.tables.table import Raw, Table, raw_column

__all__ = ["LabelBins", "LabelSpec", "check_label", "label_column", "label_numbers", "split_name"]

_DIGITS = 17  # with so many, every double is itself


@dataclass(frozen=True)
class LabelBins:
    """Ranges of numbers by their edges, in ascending order.

    >>> bins = LabelBins((10.0, 100.0))
    >>> bins.names, bins.codes(np.array([3, 10, 99.5, 100, np.nan])).tolist()
    (['< 10', '10 to 100', '>= 100'], [0, 1, 1, 2, -1])
    """

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        edges = np.array(self.edges, np.float64)
        if not len(edges) or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
            raise ParameterError("edges of bins: different finite numbers in ascending order", got=list(self.edges))

    @classmethod
    def from_list(cls, edges: Any) -> LabelBins | None:
        """The bins of a schema, checked; None if it has none."""
        if edges is None:
            return None
        if not isinstance(edges, list) or not all(map(is_real_number, edges)):
            raise ParameterError("a list of the edges of bins", got=edges)
        return cls(tuple(map(float, edges)))

    @classmethod
    def of_quantiles(cls, values: NDArray[np.floating], n: int, column: str) -> LabelBins:
        """Ranges with about as many of the values each; the edges are as short as the division of the values allows.

        >>> LabelBins.of_quantiles(np.array([1.5, 2.25, 3.75, 9.125]), 2, "price")
        LabelBins(edges=(3.0,))
        """
        there = np.sort(values[np.isfinite(values)].astype(np.float64))
        ordered = np.unique(there)
        if len(ordered) < 2:
            got = Described("none" if not len(ordered) else "a single one")
            raise DataError(f"different numbers to cut into {n} bins", got=got, column=column)
        upper = np.unique(there[np.arange(1, n) * len(there) // n])
        upper = upper[upper > ordered[0]]
        upper = upper if len(upper) else ordered[1:2]
        lower = ordered[np.searchsorted(ordered, upper) - 1]
        if len(upper) + 1 < n:
            text = f"cut into {len(upper) + 1} bins instead of {n}, because many values are equal"
            doubt("labels", text, column=column, hint="give the edges: bins=[10, 100] (--bins 10,100)")
        return cls(tuple(_short(a, b) for a, b in zip(lower.tolist(), upper.tolist(), strict=True)))

    @property
    def names(self) -> list[str]:
        """The classes in the order of the ranges."""
        edges = [shown(edge) for edge in self.edges]
        between = [f"{a} to {b}" for a, b in itertools.pairwise(edges)]
        return [f"< {edges[0]}", *between, f">= {edges[-1]}"]

    def codes(self, values: NDArray[np.floating]) -> NDArray[np.int64]:
        """The number of the range of each value, -1 where it is missing."""
        return np.where(np.isnan(values), -1, np.searchsorted(np.array(self.edges), values, side="right"))

    def cut(self, name: str, raw: Raw) -> Labels:
        """The ranges of a column of numbers; text that names ranges is taken for them."""
        if not are_reals(raw) and set((labels := encode_labels(name, raw)).keys) <= set(self.names):
            return labels
        return Labels.of(self.names, self.codes(label_numbers(name, raw)))

    def __str__(self) -> str:
        return "at " + ", ".join(map(shown, self.edges))


@dataclass(frozen=True)
class LabelSpec:
    """The label of a model.

    name: of a column, or "rating=R"; None if labels were given as an array.
    form: how labels are written, if they mean booleans or numbers; bins: the ranges that numbers are cut into.

    >>> spec = LabelSpec("price", bins=LabelBins((10.0,)))
    >>> str(spec), spec.read(Table(2, {"price": [20, 5]}), "price").keys
    ('price, cut at 10', ['< 10', '>= 10'])
    """

    name: str | None = None
    form: KeyForm | None = None
    bins: LabelBins | None = None

    def read(self, table: Table, label: Any, *, known: Sequence[Any] = ()) -> Labels:
        """The labels of a table, in the type and form of the classes that are known.

        label: the name of a column, which need not be that of the model; an array; or labels that are encoded.
        """
        labels = label if isinstance(label, Labels) else self._encode(table, label)
        return labels.in_type(known, self.form)

    def _encode(self, table: Table, label: Any) -> Labels:
        """Labels as they are in the data, numbers cut into bins if there are any."""
        name, value = "label", None
        if isinstance(label, (str, int, float)) or label is None:
            if not table.columns and not table.n_rows:
                return Labels.of([], np.zeros(0, np.int32))  # the start of a stream
            name, value = check_label(label, table.columns)
            raw = table.columns[name]
        else:
            raw = raw_column(label)
            if is_sparse(raw):
                raise DataError("a column of labels", got=Described(f"a sparse matrix of shape {raw.shape}"))
            if len(raw) != table.n_rows:
                raise DataError(f"{table.n_rows} labels, one per row", got=len(raw))
        if self.bins is not None and value is None:
            return self.bins.cut(name, raw)
        labels = encode_labels(name, raw)
        return labels if value is None else _is_value(labels, value)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, which are entries of the schema; form and bins only where there are any."""
        result: dict[str, Any] = {"label": self.name}
        result |= {} if self.form is None else {"label_form": list(self.form.words)}
        return result | ({} if self.bins is None else {"bins": list(self.bins.edges)})

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> LabelSpec:
        """From the entries of a schema, every one of them checked."""
        if not isinstance(name := facts.get("label"), (str, type(None))):
            raise ParameterError("the name of a column as the label of a schema", got=name)
        return cls(name, KeyForm.from_list(facts.get("label_form")), LabelBins.from_list(facts.get("bins")))

    def __str__(self) -> str:
        cut = f", cut {self.bins}" if self.bins is not None else ""
        return f"{self.name or '(given as an array)'}{cut}"


def check_label(label: Any, names: Collection[str]) -> tuple[str, str | None]:
    """The column of a label, and the value that makes it a boolean label; a DataError unless there is such a column."""
    column, value = label_column(str(label), names)
    if column is None or column not in names:
        hint = "label= takes the name of a column or an array of labels (tally learn and forget: --label-value)"
        hint = did_you_mean(column, names) or hint
        raise DataError("the label column in the data", got=list(names), column=column, hint=hint)
    return column, value


def split_name(text: str, names: Collection[str]) -> tuple[str, str] | None:
    """A text "name=rest" split after the longest known name; None if there is none.

    >>> split_name("a=b=c", ["a", "a=b"]), split_name("d=e", ["a"])
    (('a=b', 'c'), None)
    """
    places = [i for i, sign in enumerate(text) if sign == "=" and text[:i] in names]
    return (text[: places[-1]], text[places[-1] + 1 :]) if places else None


def label_column(label: Any, names: Collection[str]) -> tuple[str | None, str | None]:
    """The column of a label, and the value that makes it a boolean label; labels in an array have neither.

    >>> label_column("rating=R", ["rating", "year"]), label_column("year", ["rating", "year"])
    (('rating', 'R'), ('year', None))
    """
    if not isinstance(label, str):
        return None, None
    if label in names:
        return label, None
    return split_name(label, names) or (label, None)


def _is_value(labels: Labels, value: str) -> Labels:
    """Whether each label is this value, compared as text."""
    wanted = (value.lower() if isinstance(key, bool) else value for key in labels.keys)
    hits = [shown(key) == text or _same_number(key, text) for key, text in zip(labels.keys, wanted, strict=True)]
    return Labels.of([False, True], np.array([*hits, -1], np.int32)[labels.codes])


def _same_number(key: Any, value: str) -> bool:
    """Whether texts are written differently, but the same number: 1 and 1.0."""
    return isinstance(key, str) and as_number(key) is not None and as_number(key) == as_number(value)


def label_numbers(name: str, raw: Raw) -> NDArray[np.float64]:
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


def _short(lower: float, upper: float) -> float:
    """The number with the fewest digits that is above one number and not above another."""
    for digits in range(1, _DIGITS):
        for value in (float(f"{upper:.{digits}g}"), float(f"{(lower + upper) / 2:.{digits}g}")):
            if lower < value <= upper:
                return value
    return upper
