"""The native kernels against their definition: sums and counts bit for bit, scores to a few units in the last place."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tables import doubles
from tallybayes import kernels
from tallybayes.kernels import reference
from tallybayes.tally import Exact

native = pytest.mark.skipif(kernels.IMPLEMENTATION != "native", reason="built without a C++ compiler")
pytestmark = native
active = kernels.active

gappy = st.one_of(doubles, st.just(float("nan")))


@st.composite
def blocks(draw, values=gappy, dtypes=(np.float64, np.float32)):
    """Columns in any memory layout, codes with rows left out, and a range of rows."""
    n_rows, n_columns, n_classes = draw(st.integers(0, 40)), draw(st.integers(0, 6)), draw(st.integers(1, 5))
    dtype = draw(st.sampled_from(dtypes))
    flat = draw(st.lists(values, min_size=n_rows * n_columns, max_size=n_rows * n_columns))
    with np.errstate(over="ignore"):
        matrix = np.array(flat).reshape(n_rows, n_columns).astype(dtype)
    if np.dtype(dtype).kind == "f":
        matrix[np.isinf(matrix)] = 3.0  # a double may be too large for float32
    layout = draw(st.sampled_from(["C", "F", "strided", "reversed", "columns"]))
    if layout == "F":
        matrix = np.asfortranarray(matrix)
    elif layout == "strided":
        wide = np.zeros((2 * n_rows, 3 * n_columns), dtype)
        wide[::2, ::3] = matrix
        matrix = wide[::2, ::3]
    elif layout == "reversed":
        matrix = matrix[::-1, ::-1].copy()[::-1, ::-1]
    columns = [matrix[:, j] for j in range(n_columns)]
    if layout == "columns":
        columns = [column.copy() for column in columns]
    codes = np.array(draw(st.lists(st.integers(-1, n_classes - 1), min_size=n_rows, max_size=n_rows)), np.int32)
    start = draw(st.integers(0, n_rows))
    return columns, codes, n_classes, start, draw(st.integers(start, n_rows))


def same_sums(a, b):
    for one, other in zip(a[:3], b[:3], strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert Exact(*one).trimmed() == Exact(*other).trimmed()
            digits = one[0]
            assert (digits[..., :-1] >= 0).all()
            assert (digits[..., :-1] < 2**32).all()
    assert a[3] == b[3]


@given(blocks(), st.sampled_from([1, 2]), st.data())
@settings(max_examples=300)
def test_sums(block, order, data):
    columns, codes, n_classes, start, stop = block
    weights = None
    if data.draw(st.booleans()):
        weight = st.one_of(doubles.map(abs), st.integers(0, 3).map(float))
        weights = np.array(data.draw(st.lists(weight, min_size=len(codes), max_size=len(codes))), float)
    arguments = (columns, codes, n_classes, weights, order, start, stop)
    same_sums(active.sums(*arguments), reference.sums(*arguments))


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
    same_sums(active.sums(*arguments), reference.sums(*arguments))


@given(blocks(), st.integers(-40, 40))
@settings(max_examples=300)
def test_mean_and_variance_are_correctly_rounded(block, unit):
    columns, codes, n_classes, _, _ = block
    (n, _), (x, x_low), (xx, xx_low), _ = active.sums(columns, codes, n_classes, None, 2, 0, len(codes))
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
    parts = active.sums(columns, codes, n_classes, None, 2, 0, len(codes))
    before = [Exact(*part).trimmed() for part in parts[:3]]
    room = [
        Exact(before[0].digits.copy()),
        *(e.widened(e.low - 3, e.low + e.digits.shape[-1] + 3) for e in before[1:]),
    ]
    row = np.array(data.draw(st.lists(gappy, min_size=len(columns), max_size=len(columns))))
    code, sign = data.draw(st.integers(0, n_classes - 1)), data.draw(st.sampled_from([1, -1]))
    state = (room[0].digits[..., 0], room[1].digits, room[1].low, room[2].digits, room[2].low)
    ok = active.add_row(*state, row, code, sign)
    one = reference.sums(
        [row[j : j + 1] for j in range(len(row))], np.array([code], np.int32), n_classes, None, 2, 0, 1
    )
    for had, now, more in zip(before, room, one[:3], strict=True):
        change = Exact(*more)
        wanted = (had + change if sign > 0 else had - change) if ok else had
        assert now.trimmed() == wanted.trimmed()


@given(st.dictionaries(st.sampled_from("abcdef"), st.one_of(st.none(), gappy, st.integers(), st.text(), st.booleans())))
def test_reading_a_row(row):
    index = {"a": 0, "b": 1, "c": 2, "d": -2}
    values, wanted = np.empty(3), np.empty(3)
    n = reference.read_row(row, index, wanted)
    assert active.read_row(row, index, values) == n
    if n >= 0:
        assert np.array_equal(values, wanted, equal_nan=True)


flag_cells = st.sampled_from([0.0, 1.0, 0.0, 1.0, float("nan")])


@given(blocks(flag_cells), st.booleans())
def test_flags(block, spoil):
    columns, codes, *_ = block
    if spoil and columns and len(codes):
        columns[-1][len(codes) // 2] = 0.5
    found, wanted = active.flags(*block), reference.flags(*block)
    assert np.array_equal(found[0], wanted[0])
    assert np.array_equal(found[1], wanted[1])
    assert found[2] == wanted[2]


whole = st.integers(-3, 9)


@given(blocks(whole, (np.int8, np.int16, np.int32, np.int64)))
def test_counts_and_flags_of_integers(block):
    columns, codes, n_classes, start, stop = block
    origins = np.array([(-1) ** j for j in range(len(columns))], np.int64)
    sizes = np.array([j + 2 for j in range(len(columns))], np.int64)
    arguments = (columns, origins, sizes, codes, n_classes, start, stop)
    assert np.array_equal(active.counts(*arguments), reference.counts(*arguments))
    if columns and columns[0].dtype in (np.int8, np.int64):
        for a, b in zip(active.flags(*block), reference.flags(*block), strict=True):
            assert np.array_equal(a, b)


@given(blocks(), st.integers(2, 6))
@settings(max_examples=200)
def test_cells(block, limit):
    columns, codes, n_classes, start, stop = block
    arguments = (columns, codes, n_classes, limit, start, stop)
    for a, b in zip(active.cells(*arguments), reference.cells(*arguments), strict=True):
        assert np.array_equal(a, b)


def test_cells_of_many_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30_000, 3)) * 10.0 ** rng.integers(-3, 3, (30_000, 3))
    codes = rng.integers(-1, 4, 30_000).astype(np.int32)
    arguments = ([x[:, j] for j in range(3)], codes, 4, 1024, 5, 29_999)
    for a, b in zip(active.cells(*arguments), reference.cells(*arguments), strict=True):
        assert np.array_equal(a, b)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.sampled_from(["f8", "f4", "i8", "i4", None]),
    st.booleans(),
)
def test_bags(seed, n_classes, dtype, long):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 6, 30)
    index = np.int64 if long else np.int32
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
    indices = rng.integers(0, 12, lengths.sum()).astype(index)
    amounts = None if dtype is None else rng.integers(0, 4, lengths.sum()).astype(dtype)
    if dtype in ("f8", "f4") and seed % 5 == 0 and len(amounts):
        amounts[0] = 0.5
    codes = rng.integers(-1, n_classes, 30).astype(np.int32)
    arguments = (indptr, indices, amounts, codes, n_classes, 12, 3, 28)
    found, wanted = active.bags(*arguments), reference.bags(*arguments)
    assert (found is None) == (wanted is None)
    if wanted is not None:
        assert np.array_equal(found[0], wanted[0])
        assert np.array_equal(found[1], wanted[1])
    table = rng.normal(size=(12, n_classes))
    table[rng.random(table.shape) < 0.1] = -np.inf
    both = [np.zeros((30, n_classes)) for _ in range(2)]
    active.add_bags(indptr, indices, amounts, table, both[0], 3, 28)
    reference.add_bags(indptr, indices, amounts, table, both[1], 3, 28)
    close(*both)


def close(a, b):
    assert np.array_equal(np.isfinite(a), np.isfinite(b))
    assert not np.isnan(a).any()
    there = np.isfinite(b)
    assert np.allclose(a[there], b[there], rtol=1e-13, atol=1e-11)


def scores(kernel, arguments, out, start, stop):
    own = out.copy()
    return getattr(kernel, arguments[0])(*arguments[1:], own, start, stop), own


def alike(arguments, out, start, stop):
    found, wanted = (scores(kernel, arguments, out, start, stop) for kernel in (active, reference))
    assert found[0] == wanted[0]
    close(found[1], wanted[1])
    for row in range(start, min(stop, start + 3)):  # a row alone, bit for bit
        assert np.array_equal(scores(active, arguments, out, row, row + 1)[1][row], found[1][row])


@given(blocks(), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=300)
def test_scores_of_reals(block, seed, equal_freedom):
    columns, codes, n_classes, start, stop = block
    rng = np.random.default_rng(seed)
    shape = (len(columns), n_classes)
    units = 2.0 ** rng.integers(-30, 30, len(columns))
    mean, low = rng.normal(size=shape), rng.normal(size=shape) * 1e-17 * rng.integers(0, 2)
    inverse = 10.0 ** rng.uniform(-3, 3, shape) * (rng.random(shape) < 0.9)
    half = np.full(shape, 7.5) if equal_freedom else rng.uniform(0, 50, shape)
    constant, out = rng.normal(size=shape), rng.normal(size=(len(codes), n_classes))
    alike(("add_student", columns, units, mean, low, inverse, half, constant), out, start, stop)
    alike(("add_normal", columns, units, mean, low, inverse, constant), out, start, stop)


@given(blocks(), st.integers(0, 2**32 - 1))
def test_scores_of_steps(block, seed):
    columns, codes, n_classes, start, stop = block
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 9, len(columns))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    pool = np.array([-np.inf, -1e308, -5.0, -0.0, 5e-324, 0.1, 1.0, 2.0, 100.0, 1e15, 1e200, 1.7e308])
    edges = np.concatenate([np.sort(rng.choice(pool, size, replace=False)) for size in sizes] or [np.zeros(0)])
    table, out = rng.normal(size=(offsets[-1], n_classes)), rng.normal(size=(len(codes), n_classes))
    alike(("add_steps", columns, offsets, edges, table), out, start, stop)


@given(blocks(whole, (np.int8, np.int16, np.int32, np.int64)), st.integers(0, 2**32 - 1))
def test_scores_of_codes(block, seed):
    columns, codes, n_classes, start, stop = block
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 9, len(columns)))]).astype(np.int64)
    origins = rng.integers(-3, 3, len(columns)).astype(np.int64)
    table, out = rng.normal(size=(offsets[-1], n_classes)), rng.normal(size=(len(codes), n_classes))
    table[rng.random(table.shape) < 0.1] = -np.inf
    alike(("add_codes", columns, origins, offsets, table), out, start, stop)


@given(blocks(flag_cells), st.integers(0, 2**32 - 1))
def test_scores_of_flags(block, seed):
    columns, codes, n_classes, start, stop = block
    rng = np.random.default_rng(seed)
    log_no, log_yes = rng.normal(size=(2, len(columns), n_classes))
    out = rng.normal(size=(len(codes), n_classes))
    alike(("add_flags", columns, log_no, log_yes), out, start, stop)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(0, 40))
def test_softmax(seed, n_classes, n_rows):
    rng = np.random.default_rng(seed)
    out = rng.normal(size=(n_rows, n_classes)) * 10.0 ** rng.integers(0, 4, (n_rows, 1))
    out[rng.random(out.shape) < 0.2] = -np.inf
    alike(("softmax",), out, 0, n_rows)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.booleans())  # with one class all choices tie
@settings(max_examples=40)
def test_averaging_binnings(seed, n_classes, fractional):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 40, 3))]).astype(np.int64)
    counts = rng.poisson(rng.exponential(20, (offsets[-1], n_classes))).astype(float)
    if fractional:
        counts *= rng.random()
    arguments = (counts, offsets, np.array([1.0, 3.0, 10.0, 30.0]), np.array([0.003, 0.01, 0.03, 0.1, 0.3]))
    found, wanted = active.average_binnings(*arguments), reference.average_binnings(*arguments)
    assert np.allclose(found[3], wanted[3], rtol=1e-9, atol=1e-9)
    same = np.repeat((found[1] == wanted[1]) & (found[2] == wanted[2]), np.diff(offsets))  # near-ties may differ
    assert np.allclose(found[0][same], wanted[0][same], rtol=1e-8, atol=1e-300)
    assert same.mean() > 0.5 or not len(same)


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
    for a, b in zip(kernels.active.words(offsets, data, valid), reference.words(offsets, data, valid), strict=True):
        assert a.tolist() == b.tolist()
        assert a.dtype == b.dtype


def test_many_words():
    texts = [f"{i * 7919 % 5000:x}" * (1 + i % 3) for i in range(20_000)]
    offsets = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    data = np.frombuffer("".join(texts).encode(), np.uint8)
    for a, b in zip(kernels.active.words(offsets, data, None), reference.words(offsets, data, None), strict=True):
        assert a.tolist() == b.tolist()


def test_words_outside_the_data_are_refused():
    data = np.frombuffer(b"abc", np.uint8)
    for offsets in ([0, 4], [2, 1], [-1, 2], []):
        with pytest.raises(ValueError, match=r"offsets"):
            kernels.active.words(np.array(offsets, np.int32), data, None)
