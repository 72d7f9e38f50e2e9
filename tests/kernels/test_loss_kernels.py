"""The log loss and its slopes against their definition."""

import numpy as np
import pytest
from compared import SIDES, active, close, native
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes.kernels import reference

pytestmark = native

TILE = 128  # rows that the native kernel takes at a time


def no_more(n_classes, n_rows):
    """No values, slopes, cells and tables."""
    return np.zeros((0, n_rows)), np.zeros((n_classes, 0)), np.zeros((0, n_rows), np.int32), np.zeros((n_classes, 0))


@st.composite
def loss_arguments(draw, most_rows=30):
    """Evidence, weights, base, codes and weights of rows, of any small shape."""
    n_classes, n_columns, n_rows = draw(st.integers(1, 5)), draw(st.integers(0, 4)), draw(st.integers(0, most_rows))
    n_values, n_tables, n_cells = draw(st.integers(0, 3)), draw(st.integers(0, 3)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from([1e-3, 1.0, 100.0]))
    weights = rng.choice([0.0, 0.5, 1.0, 20.0], (n_classes, n_columns))
    return (
        rng.normal(size=(n_classes, n_columns, n_rows)) * scale,
        weights,
        rng.normal(size=(n_values, n_rows)),
        rng.normal(size=(n_classes, n_values)),
        rng.integers(0, n_cells, (n_tables, n_rows)).astype(np.int32),
        rng.normal(size=(n_classes, n_cells)),
        rng.normal(size=(n_classes, n_rows)) * scale,
        rng.integers(0, n_classes, n_rows).astype(np.int32),
        rng.choice([0.0, 0.25, 1.0, 3.0], n_rows),
    )


def compare(arguments):
    found, wanted = (kernel.log_loss(*arguments) for kernel in (active, reference))
    size = 1 + float((np.abs(arguments[0]).sum(axis=1).max(initial=0.0) + 20) * arguments[-1].sum() * 20)
    assert found[0] == pytest.approx(wanted[0], rel=1e-12, abs=1e-14 * size)
    assert [part.shape for part in found[1:]] == [part.shape for part in wanted[1:]]
    for own, other in zip(found[1:-1], wanted[1:-1], strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-11, atol=1e-13 * size)
    close(found[-1], wanted[-1])
    return found


@given(loss_arguments())
@settings(max_examples=300)
def test_the_loss_and_its_slopes(arguments):
    loss, *_, errors = compare(arguments)
    assert loss >= 0
    np.testing.assert_allclose(errors.sum(axis=0), 0.0, atol=1e-12)  # the classes of a row share its error


@pytest.mark.parametrize("n_rows", [0, 1, 3, 4, 7, 8, TILE - 1, TILE, TILE + 1, 2 * TILE + 5, 1000])
@pytest.mark.parametrize(("n_classes", "n_columns"), [(1, 0), (1, 3), (2, 0), (2, 1), (3, 17), (40, 2)])
def test_rows_that_fill_tiles_and_rows_that_do_not(n_rows, n_classes, n_columns):
    rng = np.random.default_rng(n_rows + n_classes)
    compare(
        (
            rng.normal(size=(n_classes, n_columns, n_rows)),
            rng.random((n_classes, n_columns)),
            *no_more(n_classes, n_rows),
            np.log(rng.random((n_classes, n_rows))),
            rng.integers(0, n_classes, n_rows).astype(np.int32),
            rng.random(n_rows),
        )
    )


@pytest.mark.parametrize("kernel", SIDES)
def test_one_class_has_no_loss(kernel):
    loss, slopes, *_, errors = kernel.log_loss(
        np.ones((1, 2, 3)), np.ones((1, 2)), *no_more(1, 3), np.zeros((1, 3)), np.zeros(3, np.int32), np.ones(3)
    )
    assert (loss, slopes.tolist(), errors.tolist()) == (0.0, [[0.0, 0.0]], [[0.0, 0.0, 0.0]])


@pytest.mark.parametrize("kernel", SIDES)
def test_scores_that_are_far_apart_have_a_finite_loss(kernel):
    base = np.array([[0.0, 2000.0], [2000.0, 0.0]])
    codes, row_weights = np.array([0, 0], np.int32), np.array([1.0, 0.5])
    loss, *_, errors = kernel.log_loss(np.zeros((2, 0, 2)), np.zeros((2, 0)), *no_more(2, 2), base, codes, row_weights)
    assert loss == 2000.0
    assert errors.tolist() == [[-1.0, 0.0], [1.0, 0.0]]


@given(loss_arguments(12), st.integers(0, 11))
@settings(max_examples=50)
def test_the_error_of_a_row_does_not_depend_on_the_other_rows(arguments, row):
    evidence, weights, values, slopes, cells, tables, base, codes, row_weights = arguments
    if row < len(codes):
        own = slice(row, row + 1)
        alone = active.log_loss(
            np.ascontiguousarray(evidence[..., own]),
            weights,
            np.ascontiguousarray(values[:, own]),
            slopes,
            np.ascontiguousarray(cells[:, own]),
            tables,
            np.ascontiguousarray(base[:, own]),
            codes[own],
            row_weights[own],
        )
        assert np.array_equal(alone[-1][:, 0], active.log_loss(*arguments)[-1][:, row])


@given(st.lists(st.floats(2.3e-308, 1e300), min_size=1, max_size=9))
def test_log_gamma_is_near_the_reference_in_every_lane(values):
    given_values = np.array(values)
    found, expected = active.log_gamma(given_values), reference.log_gamma(given_values)
    assert np.abs(found - expected).max() <= 4e-15 * max(1.0, np.abs(expected).max())
    alone = [active.log_gamma(given_values[i : i + 1])[0] for i in range(len(values))]
    assert found.tolist() == alone


@pytest.mark.parametrize("n_rows", [0, 1, 7, TILE - 1, TILE, TILE + 1, 1000])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 20, 40])
@pytest.mark.parametrize("by_class", [True, False])
def test_temperature_with_the_least_loss(n_rows, n_classes, by_class):
    rng = np.random.default_rng(n_rows + n_classes)
    scores, base = rng.normal(size=(2, n_classes, n_rows))
    codes, weights = rng.integers(0, n_classes, n_rows).astype(np.int32), rng.random(n_rows)
    scores[codes, np.arange(n_rows)] += 1.0
    found, wanted = (
        kernel.fit_temperature(scores, base, codes, weights, 0.1, by_class, 12, 8, 1e-4) for kernel in SIDES
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
    assert by_class or not found[1:].any()


@pytest.mark.parametrize("complement", [True, False])
@pytest.mark.parametrize("k", [0.0, 1e-310, 2.0**-6, 1.0])
@pytest.mark.parametrize("n", [0, 1, 5, 511, 512, 513, 3000])
def test_sums_of_logarithms_of_counts(n, k, complement):
    rng = np.random.default_rng(n)
    tokens, classes = np.sort(rng.integers(0, n // 2 + 1, n)), rng.integers(0, 4, n)
    counts = rng.choice([0.25, 1.0, 3.0, 1e6], n)
    found, wanted = (kernel.sum_log_counts(tokens, classes, counts, 4, k, complement) for kernel in SIDES)
    assert np.abs(found[0] - wanted[0]).max() <= n  # a unit each, where a logarithm lies between two
    assert np.array_equal(found[1], wanted[1])
