"""Real columns scored by the sums without the row itself, in closed form.

Gaussian: taking a value x of weight w out of n values with mean m and sum of squared deviations S leaves

    n - w        m - w (x - m) / (n - w)        S - w n / (n - w) (x - m)^2

for its own class and for the pooled data of the prior. Where nearly all of S goes with the row, what is left is
rounding, and the place is returned instead, to be computed with exact sums. Under the normal density with the mean and
variance of the class, a value s = (x - m)^2 n / S has then

    S' / S = 1 - w / (n - w) s        s' = s (n / (n - w))^2 / r        r = n / (n - w) S' / S

where r is how many times as large the variance is without it.

Binnings: without a row of class y in bucket b, the runs I that hold b have their evidence divided by that of the row,

    P'(I) proportional to P(I) gamma(n_I + a) / gamma(n_I + a - w) * gamma(n_Iy + a p_y - w) / gamma(n_Iy + a p_y)

(for w = 1 a quotient of two numbers), the class shares p, the strength a and the prior probability of an edge between
buckets being fixed.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Booleans, Codes32, Columns, Floats, Indices, Integers, Weights
from tallybayes.arrays.special import gammaln
from tallybayes.errors import DataError
from tallybayes.kernels.binning_runs import counts_of_runs, forward_backward
from tallybayes.kernels.contract import checked
from tallybayes.kernels.densities import log_gamma_ratio

# of a column, by its number, for values, class codes and weights: log densities, and for which rows they are inaccurate
ClosedForm = Callable[[int, Floats, Codes32, Floats], tuple[Floats, Booleans]]

_LOG_2 = float(np.log(2.0))
_LITTLE = 1e-6  # of a sum of squares: less than this is not worked out by subtraction
_FAR = 2.0**900  # a squared distance, in variances, that is left to others


@checked(
    "columns: columns; pooled: 3, columns | moments; kappa: | positive; nu: | positive; codes, weights: rows; "
    "out: rows, classes; "
    "units: columns; n: columns, classes | counts; moments: 3, columns, classes | moments; "
    "codes: rows | own_codes classes; units: columns | units"
)
def add_student_leave_one_out(
    columns: Columns,
    codes: Codes32,
    weights: Weights,
    units: Integers,
    pooled: Floats,
    n: Floats,
    moments: Floats,
    kappa: float,
    nu: float,
    shared: bool,
    out: Floats,
    start: int,
    stop: int,
) -> Integers:
    """Add log densities of Student's t to rows start to stop of `out` (rows, classes), each without its own value.

    units: the exponents of the columns' units; pooled: mean, its low part and variance of all values, (3, columns);
    n (columns, classes) and moments (3, columns, classes) those of the classes; a missing value adds nothing. Returns
    the places, `row * n_columns + column`, that need exact sums: nothing is added for them. `shared`: the classes have
    one variance.
    """

    def closed_form(j: int, x: Floats, code: Codes32, w: Floats) -> tuple[Floats, Booleans]:
        pooled_mean, pooled_low, pooled_variance = pooled[:, j]
        mean, low, variance = moments[:, j]
        squares, spread, total = n[j] * variance, n[j].sum() * pooled_variance, n[j].sum()
        d = (x * np.ldexp(1.0, -int(units[j])) - pooled_mean) - pooled_low  # from the pooled mean
        delta = np.where(n[j] > 0, (mean - pooled_mean) + (low - pooled_low), 0.0)
        at, rest = (np.arange(len(x)), code), total - w
        all_left = np.where(rest > 0, spread - w * (total / rest) * d * d, 0.0)
        n_c, mean_c, square_c = (np.repeat(part[None], len(x), axis=0) for part in (n[j], delta, squares))
        e = d - delta[code]
        n_c[at] -= w
        mean_c[at] -= np.where(n_c[at] > 0, w * e / n_c[at], 0.0)
        square_c[at] = np.where(n_c[at] > 0, square_c[at] - w * (n[j, code] / n_c[at]) * e * e, 0.0)
        variance = np.where(rest > 0, all_left / rest, 0.0)
        centre = np.where(rest > 0, -w * d / rest, 0.0)  # the pooled mean without the row
        little = (all_left < _LITTLE * spread) | (nu * variance + square_c[at] < _LITTLE * (squares[code] + spread))
        log_p = _log_student(d - centre, n_c, mean_c - centre[:, None], square_c, variance, kappa, nu, shared)
        return log_p - units[j] * _LOG_2, little | (n_c < 0).any(axis=1) | (rest < 0) | ~(all_left > 0)

    return _add_columns(columns, codes, weights, closed_form, out, start, stop)


def _add_columns(
    columns: Columns, codes: Codes32, weights: Weights, closed_form: ClosedForm, out: Floats, start: int, stop: int
) -> Integers:
    """Add the closed form of every column for the values that are there; returns the places where it is inaccurate."""
    places = [np.zeros(0, np.int64)]
    for j, x in enumerate(columns):
        rows = np.flatnonzero(~np.isnan(x[start:stop])) + start
        w = np.ones(len(rows)) if weights is None else weights[rows]
        with np.errstate(all="ignore"):  # what is not a number is inaccurate
            log_p, inaccurate = closed_form(j, x[rows].astype(np.float64), codes[rows], w)
        out[rows[~inaccurate]] += log_p[~inaccurate]
        places.append(rows[inaccurate] * len(columns) + j)
    return np.sort(np.concatenate(places))


def _log_student(
    x: Floats, n: Floats, mean: Floats, squares: Floats, variance: Floats, kappa: float, nu: float, shared: bool
) -> Floats:
    """Log densities (rows, classes) of values x, measured from the pooled mean; every array has a line for each row."""
    more = kappa + n
    grown = squares + kappa * n / more * mean * mean
    spread = nu * variance[:, None] + (grown.sum(axis=1, keepdims=True) if shared else grown)
    degrees = nu + (n.sum(axis=1, keepdims=True) if shared else n)
    wide = spread * (1 + 1 / more)
    z = x[:, None] - n * mean / more
    return np.asarray(
        log_gamma_ratio(np.maximum(degrees, nu) / 2)
        - 0.5 * np.log(np.pi * wide)
        - (degrees + 1) / 2 * np.log1p(z * z / wide)
    )


@checked(
    "columns: columns; codes, weights: rows; out: rows, classes; units: columns; n: columns, classes | counts; "
    "moments: 3, columns, classes | moments; codes: rows | own_codes classes; units: columns | units"
)
def add_normal_leave_one_out(
    columns: Columns,
    codes: Codes32,
    weights: Weights,
    units: Integers,
    n: Floats,
    moments: Floats,
    shared: bool,
    out: Floats,
    start: int,
    stop: int,
) -> Integers:
    """Add log densities of the normal to rows start to stop of `out` (rows, classes), each without its own value.

    Arguments and result are as in `add_student_leave_one_out`. A class without values adds nothing, and so does one
    without a variance: a point mass, which stays one without the row.
    """

    def closed_form(j: int, x: Floats, code: Codes32, w: Floats) -> tuple[Floats, Booleans]:
        return _normal(x, code, w, int(units[j]), n[j], moments[:, j], shared)

    return _add_columns(columns, codes, weights, closed_form, out, start, stop)


def _normal(
    x: Floats, code: Codes32, w: Floats, unit: int, n: Floats, moments: Floats, shared: bool
) -> tuple[Floats, Booleans]:
    """Log densities (rows, classes) of values of a column, and for which rows they are inaccurate."""
    mean, low, variance = moments
    left, at = n[code] - w, (np.arange(len(x)), code)
    part = n[code] / left
    step, growth = w / left, part
    if shared:  # summed up in order, as the native twin does
        total, squares = np.cumsum(n)[-1], np.cumsum(n * variance)[-1]
        variance = np.full(len(n), squares / max(total, 1.0))
        step, growth = w / max(total, 1.0) * part, max(total, 1.0) / np.maximum(total - w, 1.0)
    flat = (n == 0) | (variance == 0)
    e = (x[:, None] * np.ldexp(1.0, -unit) - mean) - low
    s = (e * np.where(flat, 0.0, 1 / np.sqrt(variance))) ** 2
    rest = np.where(flat[code], 1.0, 1 - step * s[at])
    care = ~(left > _LITTLE * n[code]) | ~(rest >= _LITTLE) | ~(s < _FAR).all(axis=1) | (flat[code] & (e[at] != 0))
    s[at] *= part * part
    changed = np.ones_like(s)
    changed[slice(None) if shared else at] = (growth * rest)[:, None] if shared else growth * rest
    log_p = -0.5 * (np.log(2 * np.pi * variance) + np.log(changed) + s / changed) - unit * _LOG_2
    return np.where(flat, 0.0, log_p), care


@checked("column, codes: rows; out: rows, classes; table: lines, classes")
def add_pairs(column: Indices, origin: int, codes: Codes32, table: Floats, out: Floats, start: int, stop: int) -> int:
    """Add row `(v - origin) * classes + code` of the table for the value v of a row; outside the table: nothing.

    A line of the table that begins with NaN is invalid: the first row that uses one is returned, -1 if there is none.
    """
    _check_lines(table)
    value = column[start:stop].astype(np.int64) - origin
    there = np.flatnonzero((value >= 0) & (value < len(table) // max(out.shape[1], 1)))
    return _add_lines(table, value[there], codes, there + start, out)


@checked("column, codes: rows; out: rows, classes; table: lines, classes")
def add_step_pairs(
    column: NDArray[np.floating], edges: Floats, codes: Codes32, table: Floats, out: Floats, start: int, stop: int
) -> int:
    """Add row `step * classes + code` of the table for the step that holds x, as in `add_steps`; NaN: nothing.

    Returns what `add_pairs` does.
    """
    _check_lines(table, len(edges))
    x = column[start:stop]
    there = np.flatnonzero(~np.isnan(x)) if len(edges) else np.zeros(0, np.int64)
    step = np.searchsorted(edges[1:], x[there], side="right")
    return _add_lines(table, step, codes, there + start, out)


def _check_lines(table: Floats, n_values: int = 0) -> None:
    """Refuse a table that has not a line for each value and class."""
    n_lines, n_classes = table.shape
    if n_classes and n_lines % n_classes:
        raise DataError(f"a table with a multiple of {n_classes} lines", got=n_lines)
    if n_lines < n_values * n_classes:
        raise DataError(f"a table with at least {n_values * n_classes} lines", got=n_lines)


def _add_lines(table: Floats, value: Integers, codes: Codes32, rows: Integers, out: Floats) -> int:
    """Add the line of a value and the class of its row."""
    n_classes, code = out.shape[1], codes[rows]
    if (strange := (code < 0) | (code >= n_classes)).any():
        first = int(np.argmax(strange))
        raise DataError(f"a class code from 0 to below {n_classes}", got=int(code[first]), row=int(rows[first]))
    scores = table[value * n_classes + code]
    out[rows] += scores
    bad = np.isnan(scores[:, 0]) if len(scores) else np.zeros(0, bool)
    return int(rows[np.argmax(bad)]) if bad.any() else -1


@checked(
    "counts: lines, classes; p: classes; codes, weights: rows; counts: lines, classes | counts; "
    "codes: rows | below classes; weights: rows | above; strength: | above; rate: | share"
)
def binnings_leave_one_out(
    counts: Floats, p: Floats, strength: float, rate: float, codes: Integers, weights: Floats
) -> Floats:
    """Log of P(class | bucket) over its average, (lines, buckets, classes), for rows taken out of each bucket.

    counts: (buckets, classes) of one column; p: the class shares, above 0, (classes,). A line is a class and the weight
    of the rows of it that are taken out, one at a time; buckets that have none of them are to be ignored.

    >>> table = binnings_leave_one_out(np.array([[9.0, 1.0], [1.0, 9.0]]), np.array([0.5, 0.5]), 1.0, 0.5,
    ...                           np.array([0]), np.array([1.0]))
    >>> np.exp(table[0, 0]).round(2).tolist()
    [1.79, 0.29]
    """
    a = strength
    log_run, *given_cut = forward_backward(counts, p, a, rate)
    into, out_of = map(np.exp, given_cut)  # P(run | cut at its end), P(run | cut at its start)
    runs = np.maximum(counts_of_runs(counts), 0.0)  # (from, to, classes)
    size = runs.sum(axis=2)
    alpha, total = runs + a * p, float(counts.sum())
    share = size[..., None] * alpha / (size + a)[..., None]  # of the rows of a run, by class
    before, after = np.zeros((2, len(counts) + 1, counts.shape[1]))
    for j in range(1, len(before)):
        before[j] = into[:j, j] @ before[:j] + (into[:j, j, None] * share[:j, j]).sum(axis=0)
    for i in range(len(after) - 2, -1, -1):
        after[i] = out_of[i, i + 1 :] @ after[i + 1 :] + (out_of[i, i + 1 :, None] * share[i, i + 1 :]).sum(axis=0)
    result = np.zeros((len(codes), *counts.shape))
    for line, (y, w) in enumerate(zip(codes.tolist(), weights.tolist(), strict=True)):
        there = np.triu(runs[..., y] > w * (1 - 1e-9), 1)  # runs that have such a row at all
        alpha_class, whole = np.where(there, alpha[..., y], 2.0 + w), np.where(there, size + a, 2.0 + w)
        left = np.maximum(alpha_class - w, 1e-100)  # rounding may take all of it
        if w == 1:
            log_ratio = np.log((whole - 1) / left)
        else:
            log_ratio = gammaln(left) - gammaln(alpha_class) + gammaln(whole) - gammaln(whole - w)
        log_changed = np.where(there, log_run + log_ratio, -np.inf)
        rest = alpha.copy()
        rest[..., y] -= w
        rest = rest / (whole - w)[..., None]
        rows = before[:, None] + after[None] + (size - w)[..., None] * rest
        for b in range(len(counts)):
            inside = slice(0, b + 1), slice(b + 1, None)  # the runs that hold the bucket
            highest = log_changed[inside].max()
            if highest > -np.inf:  # weights of rows are exponents here: each bucket has a scale of its own
                changed = np.exp(log_changed[inside] - highest)[..., None]
                answer, average = ((changed * part[inside]).sum(axis=(0, 1)) for part in (rest, rows))
                if (average > 0).all():  # else no rows are left at all
                    result[line, b] = np.log(answer) - np.log(average) + np.log(max(total - w, 1e-300))
    return result
