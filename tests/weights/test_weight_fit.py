"""Weights, slopes and tables fitted on held-out evidence: gradient, minimum, and what is found in made-up rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from tallybayes.weights.weight_fit import EvidenceLines, _Problem, centre_evidence, fit_weights, losses_of

KINDS = ("temperature", "shared", "per class")
STRENGTHS = (3.0, 7.0)


def evidence_lines(seed=0, n=40, lines=3, classes=3, values=2, sizes=(2, 3)):
    """Random rows with evidence, values and cells, some of them missing."""
    rng = np.random.default_rng(seed)
    log_prior = np.log(rng.dirichlet(np.ones(classes), n))
    first = np.cumsum([0, *sizes])
    cells = [
        np.where(rng.random(n) < 0.2, -1, start + rng.integers(0, size, n))
        for start, size in zip(first, sizes, strict=False)
    ]
    return EvidenceLines(
        log_prior,
        rng.normal(size=(lines, n, classes)),
        rng.integers(0, classes, n).astype(np.int32),
        rng.choice([0.5, 1.0, 2.0], n),
        np.arange(lines) == 1,
        rng.normal(size=(values, n)),
        np.array(cells, np.int32).reshape(len(sizes), n),
        int(first[-1]),
    )


def without_evidence(y, values=(), cells=None, n_cells=0):
    """Rows whose only hints are values or cells; two classes of equal shares."""
    n = len(y)
    return EvidenceLines(
        np.full((n, 2), np.log(0.5)),
        np.zeros((0, n, 2)),
        np.asarray(y, np.int32),
        np.ones(n),
        np.zeros(0, bool),
        np.asarray(values, np.float64).reshape(-1, n),
        cells,
        n_cells,
    )


def mean_loss(fit, rows):
    losses = losses_of(fit.log_score(rows), rows.codes)
    return float((losses * rows.weights).sum() / rows.weights.sum())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("changes", [{}, {"values": 0}, {"sizes": ()}, {"lines": 0}, {"classes": 2, "n": 7}])
def test_the_gradient_equals_finite_differences(kind, changes):
    rows = evidence_lines(**changes)
    if changes.get("sizes") == ():
        rows = replace(rows, cells=None, n_cells=0)
    own = _Problem(kind, rows)
    for seed in range(3):
        at = np.random.default_rng(seed).normal(size=len(own.start)) * 0.5 + own.start
        numeric = approx_fprime(at, lambda v: own._loss(v, STRENGTHS)[0], 1e-7)
        np.testing.assert_allclose(own._loss(at, STRENGTHS)[1], numeric, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_the_one_that_is_written_down(kind):
    """Log loss by the joint of the solution, plus the penalties of the formula at the head of the module."""
    rows = evidence_lines()
    own = _Problem(kind, rows)
    at = np.random.default_rng(1).normal(size=len(own.start)) * 0.5 + own.start
    weights, temperature, offsets, slopes, tables = (at[part] for part in own._parts)
    found = own.solution(at, STRENGTHS)
    losses = losses_of(found.log_score(rows), rows.codes) @ rows.weights
    t = temperature[0]
    penalty = 10 * ((weights - t) ** 2).sum() + 10 * (t - 1) ** 2 + (offsets**2).sum()
    penalty += STRENGTHS[0] * (slopes**2).sum() + STRENGTHS[1] * (tables**2).sum()
    assert own._loss(at, STRENGTHS)[0] == pytest.approx(losses + penalty / 2, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_fitted_weights_are_a_local_minimum(kind):
    rows = evidence_lines(n=200)
    own = _Problem(kind, rows)
    best = own.minimum(own.start, STRENGTHS, 1e-12)
    low = np.full(len(best), -np.inf)
    low[own._parts[0]], low[own._parts[1]] = 0.0, 0.0
    rng = np.random.default_rng(0)
    for _ in range(50):
        near = np.maximum(best + rng.normal(size=len(best)) * 0.05, low)
        assert own._loss(near, STRENGTHS)[0] >= own._loss(best, STRENGTHS)[0] - 1e-6
    assert (fit_weights(kind, rows).weights >= 0).all()


def test_each_kind_shares_the_weights_that_it_says():
    rows = evidence_lines(n=200, lines=4)
    one = fit_weights("temperature", rows)
    assert len(np.unique(one.weights)) == 1
    assert (one.slopes.size, one.tables.size) == (0, 0)
    assert np.ptp(fit_weights("shared", rows).weights, axis=1).max() == 0
    by_class = fit_weights("per class", rows).weights
    assert np.ptp(by_class[1]) == 0  # the line that is shared
    assert (np.ptp(by_class[[0, 2, 3]], axis=1) > 0).all()


def test_offsets_are_centred():
    assert fit_weights("per class", evidence_lines()).offsets.mean() == pytest.approx(0.0, abs=1e-12)


def test_slopes_of_columns_that_tell_nothing_vanish():
    rng = np.random.default_rng(0)
    y, values = rng.integers(0, 2, 500), rng.normal(size=(100, 500))
    rows = without_evidence(y, values)
    problem = _Problem("per class", rows)
    first = problem.minimum(problem.start, (10.0, 30.0), 1e-7)
    assert problem.strengths(first, (10.0, 30.0))[0] > 10.0
    slopes = fit_weights("per class", rows).slopes
    assert slopes.shape == (100, 2)
    assert np.abs(slopes).max() < 0.05
    held = without_evidence(rng.integers(0, 2, 5000), rng.normal(size=(100, 5000)))
    assert mean_loss(fit_weights("per class", rows), held) < np.log(2) + 0.01


def test_a_true_linear_trend_is_found_among_columns_that_tell_nothing():
    """Log odds of 1.5 per standard deviation: a slope of 0.75 for one class, -0.75 for the other."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(20, 2000))
    y = rng.random(2000) < 1 / (1 + np.exp(-1.5 * values[3]))
    slopes = fit_weights("per class", without_evidence(y, values)).slopes
    assert slopes[3, 1] - slopes[3, 0] == pytest.approx(1.5, abs=0.25)
    assert slopes[3].sum() == pytest.approx(0.0, abs=1e-3)
    others = np.delete(slopes, 3, axis=0)
    assert np.abs(others[:, 1] - others[:, 0]).max() < 0.25


def test_a_true_effect_of_a_cell_is_found():
    """One cell of one column has log odds of 2; all other cells tell nothing."""
    rng = np.random.default_rng(2)
    own = rng.integers(0, 4, (5, 4000))
    y = rng.random(4000) < np.where(own[2] == 1, 1 / (1 + np.exp(-2.0)), 0.5)
    cells = (own + 4 * np.arange(5)[:, None]).astype(np.int32)
    tables = fit_weights("per class", without_evidence(y, (), cells, 20)).tables
    odds = tables[:, 1] - tables[:, 0]
    assert odds[9] - np.delete(odds[8:12], 1).mean() == pytest.approx(2.0, abs=0.3)
    assert np.abs(np.delete(odds, range(8, 12))).max() < 0.4


def test_a_missing_cell_is_in_no_table():
    cells = np.array([[0, 1, -1, -1]], np.int32)
    rows = without_evidence([0, 1, 0, 1], (), cells, 2)
    joint = fit_weights("per class", rows).log_score(rows)
    assert joint[2].tolist() == joint[3].tolist()


def test_rows_of_weight_zero_do_not_matter():
    rows = evidence_lines(n=60)
    with_zero = replace(rows, weights=np.where(np.arange(60) < 40, rows.weights, 0.0))
    one, other = fit_weights("per class", with_zero), fit_weights("per class", rows.take(np.arange(40)))
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-3)
    np.testing.assert_allclose(one.slopes, other.slopes, atol=1e-3)
    np.testing.assert_allclose(one.tables, other.tables, atol=1e-3)


def test_centred_evidence_has_a_marginal_likelihood_of_one():
    rows = evidence_lines()
    own = centre_evidence(rows.lines, rows.log_prior)
    np.testing.assert_allclose(np.exp(own + rows.log_prior).sum(axis=2), 1.0, rtol=1e-12)


def test_added_lines_are_shared_by_the_classes():
    rows = evidence_lines(n=200)
    more = rows.with_lines(np.random.default_rng(5).normal(size=(2, 200, 3)))
    found = fit_weights("per class", more)
    assert found.weights.shape == (5, 3)
    assert np.ptp(found.weights[3:], axis=1).max() == 0


@pytest.mark.parametrize("classes", [2, 8, 9, 40])
def test_losses_of_few_and_many_classes_are_alike(classes):
    rng = np.random.default_rng(0)
    joint, codes = rng.normal(size=(30, classes)) * 300, rng.integers(0, classes, 30).astype(np.int32)
    top = joint - joint.max(axis=1, keepdims=True)
    wanted = np.log(np.exp(top).sum(axis=1)) - top[np.arange(30), codes]
    np.testing.assert_allclose(losses_of(joint, codes), wanted, rtol=1e-12, atol=1e-12)
