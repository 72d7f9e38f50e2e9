"""Scoring: every `add_*` adds the log likelihood of its columns to `out` (rows, classes), rows `start` to `stop`.

A missing value adds nothing. The sums run over the columns in the order given, each row by itself, so that a row
scores alone as in a batch. `columns` may also be a matrix (rows, columns).
"""

from collections.abc import Callable

import numpy as np

from tallybayes.arrays.array_types import Amounts, Booleans, Columns, Floats, Indices, Integers
from tallybayes.errors import DataError
from tallybayes.kernels.contract import checked
from tallybayes.kernels.densities import laplace, log_events
from tallybayes.kernels.reference.column_values import as_list, earlier_place

LogDensity = Callable[[int, Floats], Floats]  # of |z|, given the number of the column

_LARGEST = np.finfo(np.float64).max


@checked(
    "columns: columns; out: rows, classes; units: columns; "
    "mean, mean_low, inverse, half, log_constant: columns, classes"
)
def add_student(
    columns: Columns,
    units: Floats,
    mean: Floats,
    mean_low: Floats,
    inverse: Floats,
    half: Floats,
    log_constant: Floats,
    out: Floats,
    start: int,
    stop: int,
) -> int:
    """Add log_constant - half * log1p(z*z), z = ((x * units - mean) - mean_low) * inverse, to every class.

    `units` is (columns,), powers of two; the other tables are (columns, classes). Where z*z overflows, log1p(z*z) is
    2 log|z|; x * units and |z| that overflow are taken for the largest double. Returns the place of the first infinite
    value, or -1.
    """

    def log_density(j: int, z: Floats) -> Floats:
        return np.asarray(log_constant[j] - half[j] * np.where(z < 2.0**500, np.log1p(z * z), 2.0 * np.log(z)))

    return _add_reals(columns, (units, mean, mean_low, inverse), log_density, out, start, stop)


@checked(
    "columns: columns; out: rows, classes; units: columns; mean, mean_low, inverse, log_constant: columns, classes"
)
def add_normal(
    columns: Columns,
    units: Floats,
    mean: Floats,
    mean_low: Floats,
    inverse: Floats,
    log_constant: Floats,
    out: Floats,
    start: int,
    stop: int,
) -> int:
    """Add log_constant - z*z / 2 with z as in `add_student`; beyond |z| = 2**500 it is -2**999 * log2|z| / 500."""

    def log_density(j: int, z: Floats) -> Floats:
        far = -(2.0**999) / 500 * np.log2(z)
        return np.asarray(log_constant[j] - np.where(z < 2.0**500, z * z * 0.5, -far))

    return _add_reals(columns, (units, mean, mean_low, inverse), log_density, out, start, stop)


def _add_reals(
    columns: Columns, scales: tuple[Floats, ...], log_density: LogDensity, out: Floats, start: int, stop: int
) -> int:
    """Add the log densities of |z|; scales: units, mean, mean_low and inverse."""
    units, mean, mean_low, inverse = scales
    bad = -1
    for j, column in enumerate(columns := as_list(columns)):
        x = column[start:stop].astype(np.float64)
        bad = earlier_place(bad, np.isinf(x), start, j, len(columns))
        there = np.isfinite(x)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            scaled = np.clip(x[there, None] * units[j], -_LARGEST, _LARGEST)
            z = np.minimum(np.abs((scaled - mean[j]) - mean_low[j]) * inverse[j], _LARGEST)
            out[start:stop][there] += log_density(j, z)
    return bad


@checked("columns: columns; out: rows, classes; log_no, log_yes: columns, classes")
def add_flags(columns: Columns, log_no: Floats, log_yes: Floats, out: Floats, start: int, stop: int) -> int:
    """Add log_no or log_yes (columns, classes) where a column is 0 or 1; returns the first place of anything else."""
    bad = -1
    for j, column in enumerate(columns := as_list(columns)):
        values = column[start:stop]
        missing = np.isnan(values) if values.dtype.kind == "f" else values.astype(np.int64) == -1
        zero, one = values == 0, values == 1
        bad = earlier_place(bad, ~(missing | zero | one), start, j, len(columns))
        out[start:stop][zero] += log_no[j]
        out[start:stop][one] += log_yes[j]
    return bad


@checked(
    "columns: columns; out: rows, classes; origins: columns; offsets: columns+1; table: lines, classes; "
    "offsets: columns+1 | ends lines"
)
def add_codes(
    columns: Columns, origins: Integers, offsets: Integers, table: Floats, out: Floats, start: int, stop: int
) -> None:
    """Add row `offsets[j] + v - origins[j]` of the table for the value v of column j; outside the table: nothing."""
    for j, column in enumerate(columns := as_list(columns)):
        value = column[start:stop].astype(np.int64) - origins[j] + offsets[j]
        there = (value >= offsets[j]) & (value < offsets[j + 1])
        out[start:stop][there] += table[value[there]]


@checked(
    "slots: rows, columns; out: rows, classes; counts: lines, classes; totals: columns, classes; n_values: columns; "
    "slots: rows, columns | slots lines"
)
def add_laplace(
    slots: Floats,
    counts: Integers,
    totals: Floats,
    k: float,
    n_values: Floats,
    silent: bool,
    out: Floats,
    start: int,
    stop: int,
) -> None:
    """Add the logs of `laplace` for a matrix of slots (rows, columns), straight from the counts (slots, classes).

    `totals` is (columns, classes), `n_values` (columns,). A slot of -1, and one without counts, is a value never seen:
    there is one value more then; or, if `silent`, it adds nothing, as NaN does.
    """
    for row in range(start, stop):
        there = np.flatnonzero(~np.isnan(slots[row]))
        slot = slots[row, there].astype(np.int64)
        n = np.where((slot < 0)[:, None], 0.0, counts[slot] if len(counts) else 0.0)
        new = np.asarray(~n.any(axis=1))
        log_p = laplace(n, totals[there], k, (n_values[there] + new)[:, None])
        for line in np.where(new[:, None] & silent, 0.0, log_p):
            out[row] += line


@checked(
    "slots: rows, columns; out: rows, classes; table: lines, classes; known: lines; slots: rows, columns | slots lines"
)
def add_slots(slots: Floats, known: Booleans, table: Floats, out: Floats, start: int, stop: int) -> bool:
    """Add row `slot` of the table for every cell of a matrix of slots (rows, columns) that is not NaN.

    A slot of -1 in column j stands for the row j of the last ones, which are as many as there are columns. Returns
    False, with nothing added, if some row that is asked for is not marked as known.
    """
    if len(table) < slots.shape[1]:
        raise DataError(f"a table with at least {slots.shape[1]} lines", got=len(table))
    part = slots[start:stop]
    lines = np.where(part < 0, len(table) - part.shape[1] + np.arange(part.shape[1]), part)
    there = ~np.isnan(part)
    if not known[lines[there].astype(np.int64)].all():
        return False
    for j in range(part.shape[1]):
        out[start:stop][there[:, j]] += table[lines[there[:, j], j].astype(np.int64)]
    return True


@checked(
    "columns: columns; out: rows, classes; offsets: columns+1; table: lines, classes; edges: lines; "
    "offsets: columns+1 | ends lines"
)
def add_steps(
    columns: Columns, offsets: Integers, edges: Floats, table: Floats, out: Floats, start: int, stop: int
) -> int:
    """Add the row of the step that holds x: column j has the rows offsets[j] .. offsets[j+1] - 1 of the table.

    `edges` runs along the table: edges[offsets[j] + b] is the least value of step b; that of the first step is not
    looked at, so what lies below takes the first step. A column without steps adds nothing.
    """
    bad = -1
    for j, column in enumerate(columns := as_list(columns)):
        x = column[start:stop]
        bad = earlier_place(bad, np.isinf(x), start, j, len(columns))
        first, last = int(offsets[j]), int(offsets[j + 1])
        if first == last:
            continue
        there = ~np.isnan(x)
        step = np.searchsorted(edges[first + 1 : last], x[there], side="right")
        out[start:stop][there] += table[first + step]
    return bad


@checked("columns: columns; out: rows, classes; shape, rate, silent, weights: columns, classes")
def add_events(
    columns: Columns,
    shape: Floats | None,
    rate: Floats,
    silent: Booleans,
    weights: Floats | None,
    out: Floats,
    start: int,
    stop: int,
) -> int:
    """Add the log of the negative binomial (`families/numbers/poisson.py`), or of the Poisson without shapes.

    `shape`, `rate`, `silent` and `weights` are (columns, classes). The log is multiplied by the weight, if there are
    weights; a cell that is silent or has the weight 0 contributes nothing. Returns the first place of a value that is
    not an integer in 0 .. 2**53.
    """
    bad = -1
    for j, column in enumerate(columns := as_list(columns)):
        x = column[start:stop].astype(np.float64)
        count = (x >= 0) & (x <= 2.0**53) & (x == np.floor(x))
        bad = earlier_place(bad, ~(count | np.isnan(x)), start, j, len(columns))
        shapes = None if shape is None else shape[j]
        weight = np.ones(out.shape[1]) if weights is None else weights[j]
        out[start:stop][count] += weight * log_events(x[count, None], shapes, rate[j], silent[j] | (weight == 0))
    return bad


@checked(
    "table: tokens, classes; out: rows, classes; indptr: rows+1; indices, amounts: entries; "
    "indices: entries | bags tokens"
)
def add_bags(
    indptr: Indices, indices: Indices, amounts: Amounts, table: Floats, out: Floats, start: int, stop: int
) -> None:
    """Add amount * table[token] for every token of the row, in the order given; an amount of zero adds nothing."""
    for row in range(start, stop):
        for i in range(int(indptr[row]), int(indptr[row + 1])):
            amount = 1.0 if amounts is None else float(amounts[i])
            if amount != 0:
                out[row] += amount * table[indices[i]]


@checked("out: rows, classes")
def softmax(out: Floats, start: int, stop: int) -> int:
    """Turn log joints (rows, classes) into probabilities, in place.

    Rows in which every class has the log joint -inf are left as they are; their number is returned.
    """
    part = out[start:stop]
    top = part.max(axis=1, keepdims=True, initial=-np.inf)
    possible = np.flatnonzero(top[:, 0] > -np.inf)
    share = np.exp(part[possible] - top[possible])
    part[possible] = share / share.sum(axis=1, keepdims=True)
    return len(part) - len(possible)


@checked("out: rows, classes")
def log_softmax(out: Floats, start: int, stop: int) -> int:
    """Turn log joints (rows, classes) into logs of probabilities, in place; otherwise as `softmax`."""
    part = out[start:stop]
    top = part.max(axis=1, keepdims=True, initial=-np.inf)
    possible = np.flatnonzero(top[:, 0] > -np.inf)
    log_share = part[possible] - top[possible]
    part[possible] = log_share - np.log(np.exp(log_share).sum(axis=1, keepdims=True))
    return len(part) - len(possible)
