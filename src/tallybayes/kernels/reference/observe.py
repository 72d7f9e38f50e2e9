"""Counting: integers, flags, categories, cells of a float grid and bags of tokens, per class."""

import numpy as np

from tallybayes.arrays.array_types import Amounts, Codes32, Columns, Floats, Indices, Integers, Weights
from tallybayes.arrays.float_order import ordered
from tallybayes.errors import DataError
from tallybayes.kernels.contract import checked
from tallybayes.kernels.reference.column_values import as_list, earlier_place
from tallybayes.kernels.reference.exact_sums import Digits, sum_groups

_CODES = "codes: rows | codes classes; "
_BAGS = "indptr: rows+1; indices, amounts: entries; indices: entries | bags tokens"


@checked("values, out: rows")
def code_integers(values: Integers, low: int, counts: Integers, out: Codes32, start: int, stop: int) -> tuple[int, int]:
    """Number integers from `low` on into `out`, add up in `counts` how often each occurs; the least and greatest.

    Those for which there is no count get the code -1.

    >>> counts, codes = np.zeros(2, np.int64), np.zeros(3, np.int32)
    >>> code_integers(np.array([8, 7, 9]), 7, counts, codes, 0, 3), codes.tolist(), counts.tolist()
    ((7, 9), [1, 0, -1], [1, 1])
    """
    if len(counts) >= 2**31:
        raise DataError("at most 2**31 - 1 counts", got=len(counts))
    places = [int(value) - low for value in values[start:stop]]
    out[start:stop] = [place if 0 <= place < len(counts) else -1 for place in places]
    counts += np.bincount(out[start:stop][out[start:stop] >= 0], minlength=len(counts))
    limits = np.iinfo(np.int64)
    return min(places, default=limits.max - low) + low, max(places, default=limits.min - low) + low


@checked("columns: columns; codes: rows | codes classes")
def count_flags(
    columns: Columns, codes: Codes32, n_classes: int, start: int, stop: int
) -> tuple[Integers, Integers, int]:
    """How often each column is 0 and 1, (columns, classes) each. NaN and -1 are missing, the rest is bad.

    `columns` may also be a matrix (rows, columns).

    >>> count_flags([np.array([1.0, 0.0, np.nan])], np.array([0, 1, 1], np.int32), 2, 0, 3)[:2]
    (array([[0, 1]]), array([[1, 0]]))
    """
    columns = as_list(columns)
    no, yes = (np.zeros((len(columns), n_classes), np.int64) for _ in range(2))
    bad = -1
    kept = codes[start:stop] >= 0
    for j, column in enumerate(columns):
        values = column[start:stop]
        missing = np.isnan(values) if values.dtype.kind == "f" else values.astype(np.int64) == -1
        zero, one = values == 0, values == 1
        bad = earlier_place(bad, kept & ~(missing | zero | one), start, j, len(columns))
        no[j] = np.bincount(codes[start:stop][kept & zero], minlength=n_classes)
        yes[j] = np.bincount(codes[start:stop][kept & one], minlength=n_classes)
    return no, yes, bad


@checked("columns, origins: columns; sizes: columns | up_to 2147483647; codes: rows | codes classes")
def count_values(
    columns: Columns, origins: Integers, sizes: Integers, codes: Codes32, n_classes: int, start: int, stop: int
) -> Integers:
    """How often each value occurs with each class, (sum of sizes, classes), the columns one below the other.

    Column j counts the values origins[j] <= v < origins[j] + sizes[j]; others are missing.

    >>> one = np.array([1], np.int64)
    >>> count_values([np.array([1, 2, 1, 9])], one, 2 * one, np.zeros(4, np.int32), 1, 0, 4).tolist()
    [[2], [1]]
    """
    tables = []
    kept_rows = codes[start:stop] >= 0
    for column, origin, size in zip(columns, origins.tolist(), sizes.tolist(), strict=True):
        value = column[start:stop].astype(np.int64) - origin
        kept = kept_rows & (value >= 0) & (value < size)
        cell = value[kept] * n_classes + codes[start:stop][kept]
        tables.append(np.bincount(cell, minlength=size * n_classes).reshape(size, n_classes))
    return np.concatenate([*tables, np.zeros((0, n_classes))]).astype(np.int64)


@checked("columns: columns; codes: rows | codes classes; limit: | at_least 2")
def count_cells(
    columns: Columns, codes: Codes32, n_classes: int, limit: int, start: int, stop: int
) -> tuple[Integers, Integers, Integers, Integers, int]:
    """Counts on the finest grid with at most `limit` cells in use: levels, offsets, cells, table and the bad place.

    A cell is `ordered(x) >> level`. Column j has the level levels[j] and the sorted cells[offsets[j]:offsets[j + 1]];
    the table is (cells, classes). NaN is missing, an infinity is bad.

    >>> levels, offsets, found, table, bad = count_cells([np.array([2.0, 2.0, 3.0])], np.zeros(3, np.int32), 1, 2, 0, 3)
    >>> levels.tolist(), offsets.tolist(), table.tolist()
    ([0], [0, 2], [[2], [1]])
    """
    levels, cells, tables, bad = [], [], [], -1
    for j, column in enumerate(columns):
        values, code = column[start:stop], codes[start:stop]
        bad = earlier_place(bad, np.isinf(values) & (code >= 0), start, j, len(columns))
        kept = np.isfinite(values) & (code >= 0)
        keys, code = ordered(values[kept]), code[kept]
        distinct, level = np.unique(keys), 0
        while len(distinct) > limit:
            level += 1
            distinct = np.unique(distinct >> 1)
        table = np.zeros((len(distinct), n_classes), np.int64)
        np.add.at(table, (np.searchsorted(distinct, keys >> level), code), 1)
        levels.append(level)
        cells.append(distinct)
        tables.append(table)
    offsets = np.cumsum([0, *(len(part) for part in cells)])
    return (
        np.array(levels, np.int64),
        offsets.astype(np.int64),
        np.concatenate([*cells, np.zeros(0, np.int64)]),
        np.concatenate([*tables, np.zeros((0, n_classes), np.int64)]),
        bad,
    )


@checked(
    "columns: columns; codes: rows | codes classes; levels: columns | below 64; cells: lines; "
    "offsets: columns+1 | ends lines"
)
def count_known_cells(
    columns: Columns,
    codes: Codes32,
    n_classes: int,
    levels: Integers,
    offsets: Integers,
    cells: Integers,
    start: int,
    stop: int,
) -> tuple[Integers, int]:
    """Counts per class in given cells, as those of `count_cells`: (cells, classes), and the first unknown place.

    NaN is missing; a number in no cell of its column is unknown and not counted, and so is an infinity.

    >>> facts = np.zeros(1, np.int64), np.array([0, 2]), ordered(np.array([2.0, 3.0]))
    >>> count_known_cells([np.array([2.0, 2.0, np.nan, 4.0])], np.zeros(4, np.int32), 1, *facts, 0, 4)
    (array([[2],
           [0]]), 3)
    """
    table, unknown = np.zeros((len(cells), n_classes), np.int64), -1
    for j, column in enumerate(columns):
        column_cells, values, code = cells[offsets[j] : offsets[j + 1]], column[start:stop], codes[start:stop]
        keys = ordered(values) >> levels[j]
        place = np.searchsorted(column_cells, keys)
        is_known = np.append(column_cells, 0)[place] == keys if len(column_cells) else np.zeros(len(keys), bool)
        is_known &= (place < len(column_cells)) & np.isfinite(values)
        counted = (code >= 0) & ~np.isnan(values)
        unknown = earlier_place(unknown, counted & ~is_known, start, j, len(columns))
        kept = counted & is_known
        np.add.at(table, (place[kept] + offsets[j], code[kept]), 1)
    return table, unknown


@checked(_CODES + _BAGS)
def count_bags(
    indptr: Indices,
    indices: Indices,
    amounts: Amounts,
    codes: Codes32,
    n_classes: int,
    n_tokens: int,
    start: int,
    stop: int,
) -> tuple[Integers, Integers] | None:
    """Total integer amount of each token in each class: sorted places `token * n_classes + class`, and totals.

    Only places with a total that is not zero are listed. `amounts` None means one each. None is returned if an
    amount is not an integer, is negative, or a total could reach 2**53: then `sum_bags` is needed.

    >>> count_bags(np.array([0, 2]), np.array([3, 5]), np.array([1.0, 2.0]), np.zeros(1, np.int32), 1, 9, 0, 1)
    (array([3, 5]), array([1, 2]))
    """
    first, last = int(indptr[start]), int(indptr[stop])
    row_codes = np.repeat(codes[start:stop], np.diff(indptr[start : stop + 1]))
    token = indices[first:last].astype(np.int64)
    amount = np.ones(last - first) if amounts is None else amounts[first:last].astype(np.float64)
    if not np.all((amount >= 0) & (amount == np.floor(amount)) & (amount < 2.0**53)) or amount.sum() >= 2.0**53:
        return None
    kept = (row_codes >= 0) & (amount != 0)
    place, position = np.unique(token[kept] * n_classes + row_codes[kept], return_inverse=True)
    total = np.bincount(position, weights=amount[kept], minlength=len(place))
    return place, total.astype(np.int64)


@checked(_CODES + "lengths: rows; " + _BAGS)
def count_bags_dense(
    indptr: Indices,
    indices: Indices,
    amounts: Amounts,
    codes: Codes32,
    n_classes: int,
    n_tokens: int,
    lengths: Floats,
    start: int,
    stop: int,
) -> Integers | None:
    """`count_bags` as a dense table (tokens, classes): for few classes, where most cells are in use.

    The total amount of each row is written into `lengths`, if a table is returned.

    >>> lengths = np.empty(1)
    >>> count_bags_dense(np.array([0, 2]), np.array([0, 2]), None, np.zeros(1, np.int32), 1, 3, lengths, 0, 1).tolist()
    [[1], [0], [1]]
    >>> lengths.tolist()
    [2.0]
    """
    counted = count_bags(indptr, indices, amounts, codes, n_classes, n_tokens, start, stop)
    if counted is None:
        return None
    for row in range(start, stop):
        entries = slice(int(indptr[row]), int(indptr[row + 1]))
        lengths[row] = entries.stop - entries.start if amounts is None else amounts[entries].sum(dtype=np.float64)
    table = np.zeros(n_tokens * n_classes, np.int64)
    table[counted[0]] = counted[1]
    return table.reshape(n_tokens, n_classes)


@checked(
    "codes: rows; weights: rows | finite; indptr: rows+1; indices, amounts: entries; indices: entries | bags tokens; "
    "amounts: entries | finite"
)
def sum_bags(
    indptr: Indices,
    indices: Indices,
    amounts: Amounts,
    weights: Weights,
    codes: Codes32,
    n_tokens: int,
    first: int,
    last: int,
) -> Digits:
    """Exact total amount (times weight) of each token in the classes `first` to `last`, (classes, tokens).

    For amounts that `count_bags` does not accept: fractions, totals beyond 2**53.

    >>> one_row, tokens, half = np.array([0, 2]), np.array([0, 2]), np.array([0.5, 2.0])
    >>> digits, low = sum_bags(one_row, tokens, half, None, np.zeros(1, np.int32), 3, 0, 1)
    >>> (digits @ 2.0 ** (32 * (low + np.arange(digits.shape[-1])))).tolist()
    [[0.5, 0.0, 2.0]]
    """
    if not 0 <= first <= last:
        raise DataError("classes in order, from 0 on", got=(first, last))
    if last > 2**24:
        raise DataError(f"last from 0 to {2**24}", got=last)
    row = np.repeat(np.arange(len(codes)), np.diff(indptr))
    row = np.concatenate([np.zeros(indptr[0], np.int64), row])  # entries before the first row belong to none
    is_kept = (codes[row] >= first) & (codes[row] < last)
    kept = np.flatnonzero(is_kept & (np.arange(len(row)) >= indptr[0]))
    kept_amounts = np.ones(len(kept)) if amounts is None else amounts[kept]
    values = kept_amounts.astype(np.float64)
    if kept_amounts.dtype.kind == "i":  # integers that no double can represent: in two halves
        whole = kept_amounts.astype(np.int64)
        upper = whole >> 32 << 32
        values = np.concatenate([upper, whole - upper]).astype(np.float64)
        kept = np.concatenate([kept, kept])
    groups = (codes[row[kept]].astype(np.int64) - first) * n_tokens + indices[kept]
    entry_weights = None if weights is None else weights[row[kept]]
    digits, low = sum_groups(values, entry_weights, groups, (last - first) * n_tokens)
    return digits.reshape(last - first, n_tokens, digits.shape[-1]), low
