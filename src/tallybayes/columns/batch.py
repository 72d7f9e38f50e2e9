"""A table encoded for a model: the columns of the schema by their readers, labels and weights.

The parts of dates, and words among numbers, become columns of the table first, because all parts of a column share one
reading of its cells; derived columns come last, because they are made of the others. Where an input of a derived column
is a column of the model of the kind that its cells are cut from, it is used as it is, so that nothing is encoded twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.chunks import SMALL, in_threads
from tallybayes.arrays.column import Codes, Column
from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.cells.key_form import KeyForm
from tallybayes.columns.label import Labels
from tallybayes.columns.label_spec import label_column
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.columns.readers.date_cells import read_dates
from tallybayes.columns.readers.date_reader import UnreadDates, part_of
from tallybayes.columns.readers.flag_reader import FlagReader
from tallybayes.columns.readers.key_reader import as_codes, as_codes_like
from tallybayes.columns.readers.number_input import NumberInput
from tallybayes.columns.readers.number_reader import NumberReader, as_reals
from tallybayes.columns.readers.reader import Purpose, ReadContext, Reader
from tallybayes.columns.readers.reader_registry import reader_of_kind
from tallybayes.columns.readers.word_reader import words_among
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, ParameterError
from tallybayes.tables.source import Kind
from tallybayes.tables.table import Raw, Table, raw_column

__all__ = [
    "Batch",
    "columns_to_read",
    "encode_columns",
    "encode_inputs",
    "find_groups",
    "find_weights",
    "names_to_find",
    "read_batch",
    "with_parts",
]

KnownKey = Callable[[str], Any]  # one category learned so far in a column, or None


@dataclass(frozen=True, eq=False)
class Batch:
    """Encoded columns with labels and weights.

    sources: inputs of derived columns that are not columns of the model themselves.
    groups: of rows that are held out together, if the schema has a column of groups.
    """

    n_rows: int
    columns: dict[str, Column]
    labels: Labels
    weights: NDArray[np.float64] | None
    sources: dict[str, Column] = field(default_factory=dict)
    groups: Codes | None = None


def columns_to_read(schema: Schema, label: Any = None, weight: Any = None) -> dict[str, Kind | None]:
    """The columns that a model needs of a source of batches, and the type to read each as; None: as it is."""
    result: dict[str, Kind | None] = {}
    for name in schema.families:
        result.update(schema.columns[name].reader.source_types(name))
    for cell_input in _inputs(schema):
        if cell_input.column not in result:
            result |= _input_reader(schema, cell_input).source_types(cell_input.column)
    result |= dict.fromkeys(schema.parts)
    if label is not None and schema.group is not None:
        result.setdefault(schema.group, None)
    if isinstance(label, str):
        result[label] = None if schema.bins is None else "number"
        for i, sign in enumerate(label):
            if sign == "=":  # "rating=R" may be the column rating, of any type
                result.setdefault(label[:i], None)
    if isinstance(weight, str):
        result[weight] = "number"
    return result


def names_to_find(schema: Schema, label: Any = None, weight: Any = None) -> list[str]:
    """The names that a model looks up in a table, where they may be paths into objects."""
    texts = [name for name in (schema.group, weight, label) if isinstance(name, str)]
    return [*schema.columns, *texts, *(name.rpartition("=")[0] for name in texts if "=" in name)]


def with_parts(table: Table, schema: Schema, unread: UnreadDates | None = None) -> Table:
    """The table with parts of its columns as columns, as far as the schema has them and the table does not.

    Parts are those of dates, and the words among numbers.
    unread: where cells that are no dates are counted; without it there is a warning at once.
    """
    added: dict[str, Raw] = {}
    counted = unread or UnreadDates()
    for column, parts in schema.parts.items():
        lacking = {name: part for name, part in parts.items() if name not in table.columns}
        if not lacking or column not in table.columns or column not in schema.columns:
            continue
        reader = schema.columns[column].reader
        if (form := reader.dates) is None:
            context = ReadContext(column, table.n_rows, missing=schema.missing)
            for name in lacking:
                words = schema.columns[name].reader.words
                added[name] = words_among(table.columns[column], reader.format, words, context)
            continue
        cells = read_dates(table.columns[column], form)
        if set(lacking.values()) != {"hour"}:
            cells = replace(cells, unread=cells.unread | cells.is_time)
        counted.add(column, table.columns[column], cells)
        added |= {name: part_of(cells, part) for name, part in lacking.items()}
    if unread is None:
        counted.tell()
    return replace(table, columns={**table.columns, **added}) if added else table


def encode_columns(
    table: Table,
    schema: Schema,
    lexicons: Mapping[str, Any] | None = None,
    known_key: KnownKey | None = None,
    *,
    purpose: Purpose = Purpose.HELD_OUT,
) -> dict[str, Column]:
    """The columns of the schema, encoded; columns absent from the table are missing throughout.

    lexicons: of columns of text, to look tokens up in; known_key: whose type the categories of a column get.
    """
    table = with_parts(table.with_names(schema.columns), schema)
    encoder = _Encoder(table, schema, purpose, lexicons or {}, known_key)
    families, derived = schema.families, schema.derived
    columns, _ = encoder.encode([name for name in families if name not in derived])
    return {name: columns[name] for name in families} if derived else columns


def encode_inputs(table: Table, schema: Schema) -> dict[str, Column]:
    """The inputs of derived columns that are no columns of the model themselves, encoded, by name."""
    return {name: task() for (name, _), task in _Encoder(table, schema).input_tasks().items()}


def read_batch(
    table: Table,
    schema: Schema,
    label: Any,
    weight: Any,
    *,
    known: Sequence[Any] = (),
    known_key: KnownKey | None = None,
) -> Batch:
    """A table to learn from: only the schema's columns that are there.

    known: the labels learned so far; known_key: one category learned so far in a column, or None.
    """
    table = table.with_names(names_to_find(schema, label, weight))
    table = with_parts(table, schema)
    weights = find_weights(table, weight)
    if weights is not None and np.all(weights == 1):
        weights = None
    apart: set[str | None] = {label_column(label, table.columns)[0], weight if isinstance(weight, str) else None}
    derived = schema.derived
    names = [n for n in schema.families if n in table.columns and n not in apart and n not in derived]
    encoder = _Encoder(table, schema, Purpose.LEARN, known_key=known_key, apart=apart)
    more = {None: partial(schema.label_spec.read, table, label, known=known)}
    columns, others = encoder.encode(names, more)
    labels = others.pop(None)
    sources = {name: column for (name, _), column in others.items() if name not in columns}
    return Batch(table.n_rows, columns, labels, weights, sources, find_groups(table, schema.group))


def find_groups(table: Table, group: str | None) -> Codes | None:
    """The groups of rows; None if there is no column of groups, or the table does not have it."""
    return None if group is None or group not in table.columns else as_codes(group, table.columns[group])


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


@dataclass(frozen=True, eq=False)
class _Encoder:
    """Encodes the columns of one table, several at a time where that pays.

    apart: columns that are not values of the rows (the label, the weight); as inputs they are missing.
    """

    table: Table
    schema: Schema
    purpose: Purpose = Purpose.HELD_OUT
    lexicons: Mapping[str, Any] = field(default_factory=dict)
    known_key: KnownKey | None = None
    apart: Collection[str | None] = ()

    def encode(
        self, names: Sequence[str], more: Mapping[Any, Callable[[], Any]] | None = None
    ) -> tuple[dict[str, Column], dict[Any, Any]]:
        """Columns of the table by name, derived ones behind them; and the results of other tasks and inputs."""
        specs = self.schema.columns
        tasks: dict[Any, Callable[[], Any]] = dict(more or {})
        tasks |= {name: partial(self._column, specs[name].reader, name) for name in names}
        tasks |= self.input_tasks()
        done = self._side_by_side(tasks)
        columns = {name: done.pop(name) for name in names}
        return columns | self._derive(columns, done), done

    def _column(self, reader: Reader, name: str) -> Column:
        context = ReadContext(
            name,
            self.table.n_rows,
            self.schema.family_of(name),
            self.purpose,
            self.lexicons.get(name),
            None if self.known_key is None else self.known_key(name),
            self.schema.missing,
        )
        return reader.encode(self.table.columns, context)

    def input_tasks(self) -> dict[Any, Callable[[], Column]]:
        """What is to be encoded for derived columns besides the columns of the model, by name and kind."""
        families, tasks = self.schema.families, dict[Any, Callable[[], Column]]()
        for cell_input in _inputs(self.schema):
            name = cell_input.column
            is_there = name in self.table.columns and name not in self.apart
            if is_there and not (name in families and families[name].column is cell_input.kind):
                reader = _input_reader(self.schema, cell_input)
                tasks[name, cell_input.kind] = partial(self._input, reader, name)
        return tasks

    def _input(self, reader: Reader, name: str) -> Column:
        """A column for its cells alone, whose keys get their type where the cells are found."""
        context = ReadContext(name, self.table.n_rows, purpose=self.purpose, missing=self.schema.missing)
        return reader.encode(self.table.columns, context)

    def _derive(self, columns: Mapping[str, Column], others: Mapping[Any, Any]) -> dict[str, Column]:
        """The derived columns, from the encoded columns of the model and other encoded inputs."""
        inputs = _inputs(self.schema)
        if not inputs:
            return {}
        n_rows, learns = self.table.n_rows, self.purpose is Purpose.LEARN

        def cut(start: int, _: int) -> Any:
            cell_input = inputs[start]
            name, column = cell_input.column, others.get((cell_input.column, cell_input.kind))
            if column is None and name not in self.apart:
                column = columns.get(name)
            if column is None:
                column = reader_of_kind(cell_input.kind).encode({}, ReadContext(name, n_rows))
            return cell_input.cells(_in_type(cell_input, column), learns=learns)

        cells = in_threads(cut, len(inputs), size=1, small=len(inputs) if n_rows <= SMALL else 0)
        cells_of = dict(zip(inputs, cells, strict=True))
        return {
            name: spec.reader.encode(cells_of, ReadContext(name, n_rows)) for name, spec in self.schema.derived.items()
        }

    def _side_by_side(self, tasks: Mapping[Any, Callable[[], Any]]) -> dict[Any, Any]:
        """Tasks by column, in threads where that pays; sparse matrices and texts use threads themselves."""
        if self.table.n_rows <= SMALL:
            return {name: task() for name, task in tasks.items()}
        specs, raw = self.schema.columns, self.table.columns
        alone = {n for n in tasks if (n in specs and specs[n].is_text) or is_sparse(raw.get(n))}
        names = [name for name in tasks if name not in alone]
        done = in_threads(lambda start, stop: tasks[names[start]](), len(names), size=1, small=0) if names else []
        first = dict(zip(names, done, strict=True))
        return {name: first[name] if name in first else task() for name, task in tasks.items()}


def _inputs(schema: Schema) -> list[CellInput | NumberInput]:
    """The inputs of the derived columns, each once."""
    return list(dict.fromkeys(cell_input for spec in schema.derived.values() for cell_input in spec.reader.inputs))


def _input_reader(schema: Schema, cell_input: CellInput | NumberInput) -> Reader:
    """How a column is read for its cells alone."""
    reader = reader_of_kind(cell_input.kind)
    known = schema.columns.get(cell_input.column)
    form = known.reader.format if known is not None else None
    return replace(reader, format=form) if isinstance(reader, (NumberReader, FlagReader)) and form else reader


def _in_type(cell_input: CellInput | NumberInput, column: Column) -> Column:
    """Categories in the type of those in the schema."""
    if not cell_input.keys or not isinstance(column, Codes):
        return column
    return as_codes_like(cell_input.column, column, cell_input.keys[0], KeyForm.of(cell_input.keys))
