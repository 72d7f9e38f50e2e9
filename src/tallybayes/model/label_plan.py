"""What `fit` finds out about the label: its form, its bins, and whether it can be predicted; doubts about classes.

A label with hundreds of classes, most of which have one row, is a number to be cut into bins, or an identifier: a model
of it would be large and useless, so it is refused.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.cells.key_form import KeyForm, as_number
from tallybayes.cells.missing_words import MissingWords
from tallybayes.columns.family_rules import SAMPLE
from tallybayes.columns.label import Labels, encode_labels
from tallybayes.columns.label_spec import LabelBins, LabelSpec, label_column, label_numbers
from tallybayes.doubts import doubt
from tallybayes.errors import DataError, Described, ParameterError, shorten
from tallybayes.formatting import rows_of, shown
from tallybayes.tables.source import BadRows, Source, Stream, TableSource
from tallybayes.tables.table import Raw, raw_column

__all__ = ["doubt_classes", "doubt_few_rows", "label_notes", "plan_label"]

_MANY_CLASSES = 100  # most with one row: not classes
_MANY_REALS = 20  # different numbers with decimals, most in one row: not classes either
_READ_AS = "labels were read in the form of the others"  # how the note about them begins
_NO_LABELS = {"", "na", "n/a", "nan", "null", "#n/a", "#null!"}  # none, - and ? may be classes
_FEW_HEADERS = 0.02  # share of the rows up to which they are headers, and no class with the name of the label
_MANY_ROWS = 20  # of every other class, beside one that has a single row
_EXAMPLES = 3  # groups of similar labels that are shown


def plan_label(
    known: LabelSpec | None,
    source: Source,
    label: Any,
    bins: int | tuple[float, ...] | None,
    *,
    cells: Mapping[str, Raw],
) -> LabelSpec:
    """The label of a model that is to be fitted, with its bins and its form; what cannot be a label is refused.

    known: what a schema says about it; bins: the number of ranges with about as many rows each, or their edges;
    cells: the first ones, as they are learned.
    """
    spec = known or LabelSpec(label if isinstance(label, str) else None)
    column, value = label_column(label, source.head().columns)
    if bins is not None:
        if isinstance(label, Labels):  # of an estimator of scikit-learn, whose classes are those of y
            hint = "cut y into classes before, or use tallybayes.fit"
            raise ParameterError("no bins for labels that are classes already", got=bins, hint=hint)
        if value is not None:
            raise ParameterError("bins only for a label of numbers, not for COLUMN=VALUE", got=label)
        edges = LabelBins(bins) if isinstance(bins, tuple) else None
        numbers = _numbers(source, label, column, whole=edges is None)
        edges = edges or LabelBins.of_quantiles(numbers, int(bins), column or "label")  # type: ignore[arg-type]
        spec = replace(spec, bins=edges)
    if spec.bins is not None or value is not None or isinstance(label, Labels):
        return spec
    raw = raw_column(label) if column is None else cells.get(column)
    if raw is None:
        return spec
    try:
        labels = encode_labels(column or "label", raw[:SAMPLE])
    except DataError:  # learning names the row, or skips it
        return spec
    if _hardly_repeats(labels):  # classes may still repeat after the first rows
        _refuse_continuous(encode_labels(column or "label", raw), column or "label")
    return spec if known is not None else replace(spec, form=KeyForm.of(labels.keys))


def _numbers(source: Source, label: Any, column: str | None, *, whole: bool) -> NDArray[np.float64]:
    """The label as numbers: of all rows, or of the first ones of a stream, which is read once."""
    if column is None:
        return label_numbers("label", raw_column(label))
    head = source.head()
    numbers = label_numbers(column, head.columns[column]) if column in head.columns else np.zeros(0)
    if not whole or isinstance(source, (TableSource, Stream)):
        return numbers
    bad, source.bad = source.bad, None if source.bad is None else BadRows()  # they are counted when they are learned
    tables = source.batches({column: "number"})
    parts = [label_numbers(column, table.columns[column]) for table in tables if column in table.columns]
    source.bad = bad
    return np.concatenate([np.zeros(0), *parts])


def _hardly_repeats(labels: Labels) -> bool:
    """Whether there are many labels, most of which occur once."""
    are_reals = any(isinstance(key, float) and not key.is_integer() for key in labels.keys)
    is_many = len(labels.keys) >= (_MANY_REALS if are_reals else _MANY_CLASSES)
    return is_many and 2 * int(np.count_nonzero(labels.counts == 1)) > len(labels.keys)


def _refuse_continuous(labels: Labels, column: str) -> None:
    """Raise a DataError for a label most of whose values occur once."""
    if not _hardly_repeats(labels):
        return
    n_classes, n_single = len(labels.keys), int(np.count_nonzero(labels.counts == 1))
    is_number = not isinstance(labels.keys[0], (str, bytes))
    hint = "predict another column: this one hardly repeats, as an identifier does"
    if is_number or KeyForm.of(labels.keys) is not None:
        hint = "cut its numbers into ranges with bins=4 (--bins 4) or bins=[10, 100] (--bins 10,100); or predict"
        hint += " another column"
    got = Described(f"{n_classes:,} different labels in {len(labels.codes):,} rows, {n_single:,} of them once")
    raise DataError("a label whose classes repeat", got=got, column=column, hint=hint)


def doubt_classes(
    classes: Sequence[Any], label: Any, notes: Sequence[str] = (), *, missing: MissingWords | None = None
) -> None:
    """Say that there is a single class, which labels differ only in spelling or may mean none, and notes about labels.

    missing: the words for missing values of the schema, among them what is known of columns where they are values.
    """
    column = label if isinstance(label, str) else None
    for text in notes:
        if text.startswith(_READ_AS):
            doubt("labels", text, column=column)
    if len(classes) == 1:
        doubt("labels", f"only one class, {shown(classes[0])}: every prediction is that class", column=column)
    known = missing or MissingWords()
    texts = [key for key in classes if isinstance(key, str)]
    if not known.only and column not in dict(known.values):
        words = [repr(key) for key in texts if key.strip().lower() in _NO_LABELS]
        if words:  # in tables with types every text is a value
            hint = "take these rows out of the data, or their labels, if they have none"
            doubt(
                "labels",
                f"labels that usually mean a missing value are classes: {', '.join(words)}",
                column=column,
                hint=hint,
            )
    groups: dict[str, list[str]] = {}
    for key in texts:
        groups.setdefault(_fold_text(key), []).append(key)
    similar = [group for group in groups.values() if len(group) > 1]
    if similar:
        text = "; ".join(" and ".join(map(repr, group)) for group in similar[:_EXAMPLES])
        more = f"; and {len(similar) - _EXAMPLES} more" if len(similar) > _EXAMPLES else ""
        hint = "write the labels alike in the data if they mean the same"
        text = f"labels that differ only in spelling are different classes: {text}{more}"
        doubt("labels", text, column=column, hint=hint)


def doubt_few_rows(class_counts: Mapping[Any, float], label: Any) -> None:
    """Say which classes are most likely rows that are none: a header repeated among the rows, a row that is shifted.

    The first has the name of the label as its label; the second is alone in its class, and all others have many rows.
    """
    column = label if isinstance(label, str) else None
    n, total = class_counts.get(column, 0) if column is not None else 0, sum(class_counts.values())
    if 0 < n <= _FEW_HEADERS * total:
        text = f"{rows_of(n)} with the name of the column as label: a header is repeated among the rows"
        hint = f'missing=["{column}"] (--missing {shlex.quote(str(column))}) leaves them out'
        hint += "; from a table in memory, remove them"
        doubt("rows", text, column=column, hint=hint)
        return
    single = [key for key, rows in class_counts.items() if rows == 1]
    others = [rows for rows in class_counts.values() if rows > 1]
    if len(single) == 1 and len(others) > 1 and min(others) >= _MANY_ROWS:
        text = f"the class {single[0]!r} has a single row, every other at least {min(others):,}"
        hint = "if it is a mistake, such as a row whose cells are shifted: mend the row, or take it out of the data"
        doubt("labels", text, column=column, hint=hint)


def label_notes(
    before: Sequence[Any], rows: Mapping[Any, float], rewritten: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, ...]:
    """A note for every class that is new, and one about labels that were written otherwise.

    before: the classes until now; rows: those of the labels just learned.

    >>> label_notes(["cat", "dog"], {"Cat": 2, "dog": 1})
    ("new class 'Cat', which differs from 'cat' only in spelling: 2 rows",)
    """
    known = set(before)
    folded = {_fold_text(key): key for key in before if isinstance(key, str)}
    notes = []
    for key, n in rows.items():
        if not known or key in known:
            continue
        near = folded.get(_fold_text(key)) if isinstance(key, str) else None
        about = f", which differs from {near!r} only in spelling" if near is not None else ""
        notes.append(f"new class {shorten(key)}{about}: {rows_of(n)}")
    if rewritten:
        pairs = [f"{old!r} as {new!r}" for old, new in sorted(rewritten.items())]
        more = f" and {len(pairs) - _EXAMPLES} more" if len(pairs) > _EXAMPLES else ""
        notes.append(f"{_READ_AS}: {', '.join(pairs[:_EXAMPLES])}{more}")
    return tuple(notes)


def _fold_text(text: str) -> str:
    """A label without what hardly ever makes a difference: case, spaces, invisible characters, ways to write a number.

    >>> _fold_text(" Yes\N{ZERO WIDTH SPACE}"), {_fold_text(text) for text in ("1000", "1,000", "01000", "1000.0")}
    ('yes', {'1000'})
    """
    visible = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    folded = " ".join(visible.split()).casefold()
    digits = re.sub(r",(?=\d{3}(\D|$))", "", folded)
    number = as_number(re.sub(r"^([+-]?)0+(?=\d)", r"\1", digits))
    return folded if number is None else shown(number)
