"""The explanation of every row of some data: its values, and what each column, word and tag contributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tallybayes.arrays.column import Column
from tallybayes.arrays.sparse_matrix import is_sparse
from tallybayes.cells.arrow import to_list
from tallybayes.columns.schema import Schema
from tallybayes.explaining.explanation import Explanation
from tallybayes.explaining.input_evidence import DerivedParts
from tallybayes.families.family import Floats
from tallybayes.families.predictive import Predictive, TokenEvidence
from tallybayes.scoring.missing_evidence import is_missing
from tallybayes.scoring.scorer import Columns, Scorer
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.tables.table import Table

__all__ = ["explain"]


def explain(snapshot: Snapshot, data: Any) -> list[Explanation]:
    """The explanation of every row."""
    schema, scorer = snapshot.state.schema, snapshot.scorer
    predictives = scorer.by_column(weighted=True) if schema.derived else {}
    interact = {name: (p, p.tokens_interact(name)) for p in scorer.predictives for name in p.features}
    of_tokens = {name: predictive for name, (predictive, is_so) in interact.items() if is_so is not None}
    inseparable = frozenset(name for name, (_, is_so) in interact.items() if is_so)

    def work(columns: Columns, n_rows: int) -> tuple[dict[str, Floats], DerivedParts, Columns]:
        parts = scorer.evidence(columns, n_rows)
        plain = {name: part for name, part in parts.items() if name not in schema.derived}
        return plain, DerivedParts.of(schema, predictives, columns), {name: columns[name] for name in of_tokens}

    priors = {name: str(prior) for name, prior in (snapshot.state.settings.column_priors or {}).items()}
    result: list[Explanation] = []
    for table, (plain, derived, bags) in snapshot.map_batches(data, work):
        parts = derived.add_to(plain)
        there = {name: ~is_missing(column) for name, column in bags.items()}
        for row in range(table.n_rows):
            words = {
                name: _tokens(scorer, of_tokens[name], name, column, row, table)
                for name, column in bags.items()
                if there[name][row]
            }
            values = _values(table, parts, derived.named, row)
            result.append(
                Explanation(
                    scorer.classes,
                    {name: _show(schema, name, value) for name, value in values.items()},
                    scorer.log_prior,
                    {name: part[row] for name, part in parts.items()},
                    words,
                    snapshot.posterior,
                    inseparable,
                    derived.row(row),
                    {name: part[row] for name, part in plain.items()},
                    {name: value for name, value in values.items() if _show(schema, name, value) is not value},
                    {name: prior for name, prior in priors.items() if values.get(name) is not None},
                )
            )
    return result


def _tokens(
    scorer: Scorer, predictive: Predictive, name: str, column: Column, row: int, table: Table
) -> list[TokenEvidence]:
    """What the tokens of one cell add, and that it has a value, where that is evidence; they add up to its evidence."""
    one = column.take(np.array([row]))
    text = _text(table.columns[name], row) if predictive.lexicon(name) is not None else None
    tokens = predictive.token_evidence(name, one, text)
    if scorer.missing is None or name not in scorer.missing.names:
        return tokens
    return [*tokens, TokenEvidence("", scorer.missing.evidence_of(name, one)[0], rest="not missing")]


def _values(table: Table, names: Iterable[str], named: Mapping[str, tuple[str, ...]], row: int) -> dict[str, Any]:
    """The values of a row by column; of an interaction or a group, those of its inputs, None if all are missing."""
    values = {name: _value(table.columns[name], row) for name in names if name in table.columns}
    inputs = {
        name: [_value(table.columns[column], row) if column in table.columns else None for column in columns]
        for name, columns in named.items()
    }
    return values | {name: cells if any(cell is not None for cell in cells) else None for name, cells in inputs.items()}


def _show(schema: Schema, name: str, value: Any) -> Any:
    """A value as people see it; of an interaction or a group, the values of its inputs."""
    spec = schema.columns.get(name)
    if spec is None or value is None:
        return value
    if isinstance(value, list) and spec.reader.inputs:
        names = [cell_input.column for cell_input in spec.reader.inputs]
        shown_values = [_show(schema, *pair) for pair in zip(names, value, strict=True)]
        return value if shown_values == value else shown_values
    return spec.reader.show(value)


def _text(raw: Any, row: int) -> bytes | None:
    """One cell of a column of text, None if it is missing."""
    value = _value(raw, row)
    if isinstance(value, str):
        return value.encode("utf-8", "replace")  # half of a surrogate pair stays one character
    return value if isinstance(value, bytes) else None


def _value(raw: Any, row: int) -> Any:
    """One cell of a raw column as a Python value."""
    if is_sparse(raw):
        line = raw.tocsr()[[row]]
        return dict(zip(line.indices.tolist(), line.data.tolist(), strict=True))
    value = to_list(raw[row : row + 1])[0] if isinstance(raw, (pa.Array, pa.ChunkedArray)) else raw[row]
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return None if np.isnan(value) else int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value
