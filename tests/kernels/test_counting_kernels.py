"""Native kernels that count and sum against their definitions, bit for bit."""

import math
from fractions import Fraction

import numpy as np
import pytest
from compared import SIDES, active, blocks, close, flag_cells, gappy, native, whole
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tables import doubles
from tallybayes import kernels
from tallybayes.kernels import reference
from tallybayes.tally import Exact

pytestmark = native


def same_sums(a, b):
    for one, other in zip(a[:3], b[:3], strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert Exact(*one).trimmed() == Exact(*other).trimmed()
            digits = one[0]
            assert (digits[..., :-1] >= 0).all()
            assert (digits[..., :-1] < 2**32).all()
    assert a[3] == b[3]


@pytest.mark.slow
@given(blocks(), st.sampled_from([1, 2]), st.data())
@settings(max_examples=300)
def test_sums(block, order, data):
    columns, codes, n_classes, start, stop = block
    weights = None
    if data.draw(st.booleans()):
        weight = st.one_of(doubles.map(abs), st.integers(0, 3).map(float))
        weights = np.array(data.draw(st.lists(weight, min_size=len(codes), max_size=len(codes))), float)
    arguments = (columns, codes, n_classes, weights, order, start, stop)
    same_sums(active.sum_columns(*arguments), reference.sum_columns(*arguments))


@pytest.mark.parametrize("kind", ["offset", "huge", "tiny", "wide", "normal", "whole", "infinite"])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_sums_of_many_rows(kind, layout):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(70_001, 5))
    x = {
        "offset": 1e15 + 0.1 * x,
        "huge": 1e200 * x,
        "tiny": 1e-310 * x,
        "wide": x * 10.0 ** rng.integers(-300, 300, x.shape),
        "normal": np.where(rng.random(x.shape) < 0.1, np.nan, x),
        "whole": np.round(100 * x),
        "infinite": np.where(rng.random(x.shape) < 1e-4, np.inf, x),
    }[kind]
    x = np.asarray(x, order=layout)
    codes = rng.integers(-1, 3, len(x)).astype(np.int32)
    arguments = ([x[:, j] for j in range(5)], codes, 3, None, 2, 17, 70_000)
    same_sums(active.sum_columns(*arguments), reference.sum_columns(*arguments))


@pytest.mark.slow
@given(blocks(), st.integers(-40, 40))
@settings(max_examples=300)
def test_mean_and_variance_are_correctly_rounded(block, unit):
    columns, codes, n_classes, _, _ = block
    (n, _), (x, x_low), (xx, xx_low), _ = active.sum_columns(columns, codes, n_classes, None, 2, 0, len(codes))
    units = np.full(len(columns), unit, np.int64)
    arguments = (n[..., 0].copy(), x, x_low, xx, xx_low, units)
    found, wanted = active.mean_variance(*arguments), reference.mean_variance(*arguments)
    for a, b in zip(found, wanted, strict=True):
        assert np.array_equal(a, b)
    for j, column in enumerate(columns):
        for c in range(n_classes):
            own = [Fraction(float(v)) for v, code in zip(column, codes, strict=True) if code == c and not math.isnan(v)]
            if own and unit == 0:
                mean = sum(own) / len(own)
                assert wanted[0][j, c] == rounded(mean)
                assert wanted[1][j, c] == rounded(mean - Fraction(wanted[0][j, c])) or math.isinf(wanted[0][j, c])
                assert wanted[2][j, c] == rounded(sum((v - mean) ** 2 for v in own) / len(own))


def rounded(x):
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


@given(blocks(), st.data())
@settings(max_examples=200)
def test_adding_a_row_in_place_equals_adding_its_sums(block, data):
    columns, codes, n_classes, _, _ = block
    codes = np.abs(codes) % n_classes
    if not columns:
        return
    parts = active.sum_columns(columns, codes, n_classes, None, 2, 0, len(codes))
    before = [Exact(*part).trimmed() for part in parts[:3]]
    room = [Exact(before[0].digits.copy()), *(e.with_spare_digits(3) for e in before[1:])]
    row = np.array(data.draw(st.lists(gappy, min_size=len(columns), max_size=len(columns))))
    code, sign = data.draw(st.integers(0, n_classes - 1)), data.draw(st.sampled_from([1, -1]))
    state = (room[0].digits[..., 0], room[1].digits, room[1].low, room[2].digits, room[2].low)
    ok = active.add_real_row(*state, row, code, sign)
    one = reference.sum_columns(
        [row[j : j + 1] for j in range(len(row))], np.array([code], np.int32), n_classes, None, 2, 0, 1
    )
    for had, now, more in zip(before, room, one[:3], strict=True):
        change = Exact(*more)
        wanted = (had + change if sign > 0 else had - change) if ok else had
        assert now.trimmed() == wanted.trimmed()


names = st.sampled_from(["a", "b", "c", "d", "e", "f", "1", 1, np.str_("a"), ("b",)])
cell = st.one_of(
    st.none(),
    gappy,
    st.integers(),
    st.sampled_from(["red", "blue", float("inf"), [], 1j]),
    st.booleans(),
    st.sampled_from([np.float64(0.5), np.float32(2), np.int64(1), np.uint8(1), np.True_, np.str_("red"), np.inf]),
)


@given(st.dictionaries(names, cell))
@settings(max_examples=300)
def test_reading_a_row(row):
    kinds = ({"red": 0}, (str,)), ({0: 0, 1: 1}, (bool, int, float)), ({1: 7, 2: 3}, (int, float))
    index = {"a": 0, "b": (1, *kinds[0]), "c": (2, *kinds[1]), "d": -2, "e": -1, "f": (3, *kinds[2]), "1": 4}
    values, wanted = np.empty(5), np.empty(5)
    n = reference.read_row(row, index, wanted)
    assert active.read_row(row, index, values) == n
    if n >= 0:
        assert np.array_equal(values, wanted, equal_nan=True)


@given(st.lists(st.dictionaries(names, cell)), st.lists(names, max_size=4))
def test_reading_columns_of_dicts(rows, asked):
    wanted, found = (module.read_real_columns(rows, asked) for module in (reference, active))
    assert wanted[1] is found[1]
    for plain, own in zip(wanted[0], found[0], strict=True):
        assert (plain is None) == (own is None)
        assert plain is None or np.array_equal(plain, own, equal_nan=True)


def test_dicts_of_reals_are_read_as_arrays_and_others_are_not():
    (a, b, c), are_alike = active.read_real_columns(
        [{"a": 0.5, "b": 1}, {"b": 2.0, "a": np.float64(1)}], ["a", "b", "c"]
    )
    assert a.tolist() == [0.5, 1.0]
    assert (b, c, are_alike) == (None, None, False)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, -1]), st.booleans(), st.booleans())
def test_counting_a_row_in_place(seed, sign, strange, wide):
    rng = np.random.default_rng(seed)
    n, no, yes = rng.integers(0, 9, (3, 4, 3))
    x, totals = rng.integers(0, 2**61, (4, 3)), rng.integers(0, 9, (4, 3))
    row = np.where(rng.random(4) < 0.3, np.nan, rng.poisson(3, 4).astype(float))
    row[0] = -0.5 if strange else 2.0**53 if wide else row[0]
    terms = np.array([math.lgamma(v + 1) if v >= 0 else v for v in row])
    logs = Exact.of(rng.random((4, 3))).with_spare_digits(3)
    both = [(n.copy(), x.copy(), logs.digits.copy()) for _ in range(2)]
    done = [module.add_event_row(*own, logs.low, row, terms, 1, sign) for module, own in zip(SIDES, both, strict=True)]
    assert done[0] == done[1] == (not strange)
    assert all(np.array_equal(one, other) for one, other in zip(*both, strict=True))
    flags = np.where(np.isnan(row), row, row % 2)
    both = [(no.copy(), yes.copy()) for _ in range(2)]
    for module, own in zip(SIDES, both, strict=True):
        assert module.add_flag_row(*own, flags, 2, sign)
    assert all(np.array_equal(one, other) for one, other in zip(*both, strict=True))
    slots = np.where(np.isnan(row), np.nan, rng.permutation(6)[:4])
    both = [(rng.integers(0, 2, (6, 3)) * 0 + np.eye(6, 3, dtype=np.int64), totals.copy()) for _ in range(2)]
    fresh = [module.count_value_row(*own, slots, 1) for module, own in zip(SIDES, both, strict=True)]
    assert fresh[0] == fresh[1]
    assert all(np.array_equal(one, other) for one, other in zip(*both, strict=True))


@pytest.mark.slow
@given(blocks(), st.sampled_from([0.0, 1.0]), st.floats(0.1, 9), st.floats(0.1, 9))
@settings(max_examples=200)
def test_students_tables(block, share, kappa, nu):
    columns, codes, n_classes, _, _ = block
    (n, _), (x, x_low), (xx, xx_low), _ = active.sum_columns(columns, codes, n_classes, None, 2, 0, len(codes))
    sums = (n[..., 0], x, x_low, xx, xx_low)
    (units, pooled), (wanted_units, wanted) = (module.pooled_moments(*sums) for module in SIDES)
    assert np.array_equal(units, wanted_units)
    assert np.array_equal(pooled, wanted)
    tables = [module.student(*sums, units, pooled, kappa, nu, share) for module in SIDES]
    assert np.array_equal(tables[0][:8], tables[1][:8])  # all but the logs
    close(*(t[8] for t in tables))
    for module, own in zip(SIDES, tables, strict=True):
        same = np.empty_like(units), np.empty(len(units)), np.empty_like(own)
        assert module.pooled_student(*sums, kappa, nu, share, *same)
        assert all(map(np.array_equal, same, (units, np.ldexp(1.0, -units), own)))


@given(st.integers(1, 2**70), st.integers(1, 2**33), st.integers(-2, 2), st.integers(-40, 40), st.booleans())
@example(2**60 - 1, 1, 0, 0, False)  # rounds up to a power of two
@example(2**70 - 1, 1, 0, 0, True)
@example(2**53 + 1, 1, 0, 0, False)  # a tie
@settings(max_examples=300)
def test_moments_of_short_sums(total, n, low, unit, negative):
    """Means and variances of sums that go through the quick arithmetic, and of some that are too long for it."""
    x, squares = -total if negative else total, -(-total * total // n) + 5
    digits = [
        np.array([[[whole >> 32 * k & 0xFFFFFFFF for k in range(width - 1)] + [whole >> 32 * (width - 1)]]], np.int64)
        for whole, width in ((x, 4), (squares, 6))
    ]
    given_ = (np.array([[n]]), digits[0], low, digits[1], 2 * low, np.array([unit]))
    assert np.array_equal(*(module.mean_variance(*given_) for module in SIDES))


def test_pooled_moments_leave_more_rows_than_counts_can_hold_to_others():
    n = np.full((1, 2), 2**62)
    x = np.zeros((1, 2, 1), np.int64)
    for module in SIDES:
        assert module.pooled_moments(n, x, 0, x, 0) is None
        out = np.zeros(1, np.int64), np.zeros(1), np.zeros((9, 1, 2))
        assert not module.pooled_student(n, x, 0, x, 0, 3.0, 5.0, 1.0, *out)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3, 1.0, math.inf]))
def test_tables_of_counts(seed, k):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(2, (5, 3)).astype(float) * (rng.random((5, 3)) < 0.7)
    totals, sizes = counts.sum(axis=0, keepdims=True) * rng.integers(0, 2), rng.integers(1, 9, (5, 1)).astype(float)
    close(*(module.laplace(counts, totals, k, sizes) for module in SIDES))
    close(*(module.laplace(counts, np.repeat(totals, 5, axis=0), k, sizes[:1]) for module in SIDES))
    no, yes = rng.poisson(2, (2, 5, 3))
    close(*(module.beta(no, yes, k) for module in SIDES))
    assert np.array_equal(active.pooled_rate(no, yes), reference.pooled_rate(no, yes))
    mean = reference.pooled_rate(no, yes) * rng.integers(0, 2, 5)
    tables = [module.negative_binomial(no, yes, mean, 1.0) for module in SIDES]
    assert np.array_equal(*tables)
    close(*(module.log_shares(counts[:, 0] + 1, 0.5) for module in SIDES))


@given(blocks(flag_cells), st.booleans())
def test_flags(block, spoil):
    columns, codes, *_ = block
    if spoil and columns and len(codes):
        columns[-1][len(codes) // 2] = 0.5
    found, wanted = active.count_flags(*block), reference.count_flags(*block)
    assert np.array_equal(found[0], wanted[0])
    assert np.array_equal(found[1], wanted[1])
    assert found[2] == wanted[2]


@given(blocks(whole, (np.int8, np.int16, np.int32, np.int64)))
def test_counts_and_flags_of_integers(block):
    columns, codes, n_classes, start, stop = block
    origins = np.array([(-1) ** j for j in range(len(columns))], np.int64)
    sizes = np.array([j + 2 for j in range(len(columns))], np.int64)
    arguments = (columns, origins, sizes, codes, n_classes, start, stop)
    assert np.array_equal(active.count_values(*arguments), reference.count_values(*arguments))
    if columns and columns[0].dtype in (np.int8, np.int64):
        for a, b in zip(active.count_flags(*block), reference.count_flags(*block), strict=True):
            assert np.array_equal(a, b)


@given(blocks(), st.integers(2, 6))
@settings(max_examples=200)
def test_cells(block, limit):
    columns, codes, n_classes, start, stop = block
    arguments = (columns, codes, n_classes, limit, start, stop)
    for a, b in zip(active.count_cells(*arguments), reference.count_cells(*arguments), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("n_rows", [700, 5_000, 30_000])
@pytest.mark.parametrize("n_values", [1, 60, 1_000, None])
def test_cells_of_many_rows(n_rows, n_values):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, 5)) * 10.0 ** rng.integers(-3, 3, (n_rows, 5))
    if n_values is not None:
        x = rng.normal(size=(n_values, 5))[rng.integers(0, n_values, n_rows)]
    x[rng.random(x.shape) < 0.05] = np.nan
    codes = rng.integers(-1, 4, n_rows).astype(np.int32)
    arguments = ([x[:, j] for j in range(5)], codes, 4, 1024, 5, n_rows - 1)
    for a, b in zip(active.count_cells(*arguments), reference.count_cells(*arguments), strict=True):
        assert np.array_equal(a, b)


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.binary(max_size=40),
            st.sampled_from([b"", b"a", b"yes", b"12345678", b"123456789", b"x" * 17]),
        )
    ),
    st.booleans(),
)
def test_words(rows, known):
    rows = [b"" if row is None and known else row for row in rows]
    offsets = np.cumsum([0, *(len(row or b"") for row in rows)]).astype(np.int32)
    data = np.frombuffer(b"".join(row or b"" for row in rows), np.uint8)
    valid = None if known else np.array([row is not None for row in rows], bool)
    for a, b in zip(
        kernels.active.number_words(offsets, data, valid), reference.number_words(offsets, data, valid), strict=True
    ):
        assert a.tolist() == b.tolist()
        assert a.dtype == b.dtype


def test_many_words():
    texts = [f"{i * 7919 % 5000:x}" * (1 + i % 3) for i in range(20_000)]
    offsets = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    data = np.frombuffer("".join(texts).encode(), np.uint8)
    for a, b in zip(
        kernels.active.number_words(offsets, data, None), reference.number_words(offsets, data, None), strict=True
    ):
        assert a.tolist() == b.tolist()


def test_words_outside_the_data_are_refused():
    data = np.frombuffer(b"abc", np.uint8)
    for offsets in ([0, 4], [2, 1], [-1, 2], []):
        with pytest.raises(ValueError, match=r"offsets"):
            kernels.active.number_words(np.array(offsets, np.int32), data, None)


@given(st.lists(st.tuples(doubles, doubles, st.integers(0, 4)), max_size=30), st.booleans())
def test_sums_by_group(rows, weighted):
    values, weights, groups = (
        np.array([row[i] for row in rows], kind) for i, kind in enumerate((float, float, np.int64))
    )
    weights = np.abs(weights) if weighted else None
    a, b = (Exact(*module.sum_groups(values, weights, groups, 5)) for module in (active, reference))
    assert a.trimmed() == b.trimmed()
    for group in range(5):
        terms = [Fraction(v) * (Fraction(weights[i]) if weighted else 1) for i, v in enumerate(values.tolist())]
        exact = sum((term for term, own in zip(terms, groups, strict=True) if own == group), Fraction(0))
        assert Fraction(int(a[group].integers())) * Fraction(2) ** (32 * a.low) == exact
    rounded = active.round_digits(np.ascontiguousarray(a.digits), a.low)
    assert np.array_equal(rounded, reference.round_digits(a.digits, a.low))


digit = st.one_of(st.sampled_from([0, 1, 2**31 - 1, 2**31, 2**32 - 1]), st.integers(0, 2**32 - 1))
last_digit = st.one_of(st.integers(-2, 2), st.integers(-(2**40), 2**40))
numbers_of_one_width = st.integers(0, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.one_of(st.just(0), digit)] * width, last_digit), max_size=5).map(
        lambda rows: np.array(rows, np.int64).reshape(len(rows), width + 1)
    )
)


@given(numbers_of_one_width, st.integers(-3, 2))
@settings(max_examples=300)
def test_the_shortest_digits(digits, low):
    found, wanted = active.trim_digits(digits, low), reference.trim_digits(digits, low)
    assert (found[0].tolist(), found[1]) == (wanted[0].tolist(), wanted[1])
    assert found[0].shape == wanted[0].shape


def test_matrices_are_lists_of_columns():
    rng = np.random.default_rng(0)
    flags, codes = rng.integers(0, 2, (50, 3)).astype(np.int8), rng.integers(0, 2, 50).astype(np.int32)
    tables = rng.normal(size=(2, 3, 2))
    for module in (active, reference):
        for one, other in zip(
            module.count_flags(flags, codes, 2, 0, 50), module.count_flags(list(flags.T), codes, 2, 0, 50), strict=True
        ):
            assert np.array_equal(one, other)
        scores = [np.zeros((50, 2)) for _ in range(2)]
        for out, columns in zip(scores, (flags, list(flags.T)), strict=True):
            assert module.add_flags(columns, *tables, out, 0, 50) == -1
        assert np.array_equal(*scores)


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.integers(1, 4), st.booleans())
def test_sorting_entries(seed, n, n_different, in_runs):
    rng = np.random.default_rng(seed)
    keys = [rng.integers(-1, n_different, n) for _ in range(3)]
    if in_runs:
        start = int(rng.integers(0, n + 1))
        order = np.concatenate(
            [part[np.lexsort([key[part] for key in keys[::-1]])] for part in np.split(np.arange(n), [start])]
        )
        keys = [key[order] for key in keys]
    assert np.array_equal(active.sort_entries(*keys), reference.sort_entries(*keys))


@given(st.integers(0, 2**32 - 1), st.integers(0, 6), st.integers(0, 3))
def test_entries_of_a_table(seed, n_lines, n_classes):
    rng = np.random.default_rng(seed)
    owner, cell = rng.integers(0, 9, (2, n_lines))
    table = rng.integers(-1, 2, (n_lines, n_classes))
    for a, b in zip(*(module.list_entries(owner, cell, table) for module in SIDES), strict=True):
        assert (a.tolist(), a.dtype) == (b.tolist(), b.dtype)
