"""Scores stay accurate, or an error is raised, at the ends of the range of doubles."""

import math

import mpmath
import numpy as np
import pytest

import tallybayes as tb
from tallybayes import kernels
from tallybayes.arrays.column import Bag, Reals
from tallybayes.errors import DataError, ParameterError
from tallybayes.families.credible import events_cumulants
from tallybayes.families.registry import parse
from tallybayes.model.saved_model import dumps, loads

FAMILIES = ("bernoulli", "categorical", "gaussian", "gaussian:shared=True", "histogram", "poisson")


def counts_near(scale: float) -> np.ndarray:
    """Counts around a number, some far below it, and a zero."""
    rng = np.random.default_rng(0)
    values = np.floor(scale + np.sqrt(scale) * rng.normal(size=20))
    values[::7] = np.floor(values[::7] / 2)
    values[3] = 0
    return np.clip(values, 0, 2.0**53)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e6, 1e9, 1e12, 1e14, 1e15, 9e15])
def test_poisson_scores_equal_high_precision_arithmetic(scale):
    values, codes = counts_near(scale), np.arange(20, dtype=np.int32) % 2
    tally = tb.Poisson().observe(("x",), [Reals(values)], codes, 2, None)
    mean = mpmath.mpf(float(tb.Poisson().prior(tally, 1.0).mean[0]))
    smoothed, plug_in = (tb.Poisson().derive(tally, k).log_prob([Reals(values)]) for k in (1.0, 0))
    with mpmath.workdps(60):
        for c in (0, 1):
            n, total = 10, sum(int(x) for x in values[codes == c])
            r, b, rate = 1 + mpmath.mpf(total), 1 / mean + n, mpmath.mpf(total) / n
            for row, x in enumerate(int(x) for x in values):
                log_factorial = mpmath.loggamma(x + 1)
                negative_binomial = mpmath.loggamma(x + r) - mpmath.loggamma(r) - log_factorial
                negative_binomial += r * mpmath.log(b / (b + 1)) - x * mpmath.log(b + 1)
                assert math.isclose(smoothed[row, c], negative_binomial, rel_tol=1e-13, abs_tol=1e-13)
                poisson = x * mpmath.log(rate) - rate - log_factorial
                assert math.isclose(plug_in[row, c], poisson, rel_tol=1e-13, abs_tol=1e-13)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e15])
def test_native_and_reference_poisson_scores_agree(scale):
    values, codes = counts_near(scale), np.arange(20, dtype=np.int32) % 2
    tally = tb.Poisson().observe(("x",), [Reals(values)], codes, 2, None)
    for k in (0, 1.0):
        predictive, expected = tb.Poisson().derive(tally, k), np.zeros((20, 2))
        own = predictive.shape, predictive.rate, predictive.silent, None
        kernels.reference.add_events([values], *own, expected, 0, 20)
        np.testing.assert_allclose(predictive.log_prob([Reals(values)]), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("x", "shape", "rate"),
    [(3.0, 7.0, 2.1), (1e3, 1e4, 9.5), (1e6, 2e6, 2.0), (1e12, 1.00001e13, 10.0), (1e15, 3e15, 3.0)],
)
def test_cumulants_of_counts_equal_high_precision_arithmetic(x, shape, rate):
    found = events_cumulants(*(np.array([part]) for part in (x, shape, rate)))[:, 0]
    with mpmath.workdps(80):
        n, s, r = map(mpmath.mpf, (x, shape, rate))
        first = (
            n * mpmath.digamma(s) - s / r + mpmath.loggamma(s) - mpmath.loggamma(n + s) + (n + s) * mpmath.log1p(1 / r)
        )
        second = n * n * mpmath.polygamma(1, s) - 2 * n / r + s / r**2
        third = n**3 * mpmath.polygamma(2, s) + 3 * n / r**2 - 2 * s / r**3
        np.testing.assert_allclose(found, [float(first), float(second), float(third)], rtol=1e-8)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("weight", [5e-324, 1e-310, 1e-300])
def test_tiny_equal_weights_leave_maximum_likelihood_as_it_is(name, weight):
    values, y = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0], ["a", "b"] * 4
    plain, tiny = (
        tb.fit({"x": values}, y, sample_weight=w, families={"x": name}, estimate="mle")
        for w in (None, np.full(8, weight))
    )
    np.testing.assert_allclose(tiny.predict_proba({"x": values}), plain.predict_proba({"x": values}), rtol=1e-9)
    assert loads(dumps(tiny)) == tiny


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("smoothing", ["auto", 0.0, 1e-100, 1.0, 1e100, math.inf])
def test_tiny_weights_give_finite_probabilities(name, smoothing):
    rng = np.random.default_rng(1)
    table = {"x": rng.integers(0, 2, 12).astype(float)}
    weight = rng.choice([5e-324, 1e-320, 1e-310, 1e-290, 1.0], 12)
    model = tb.fit(table, [0, 1, 2] * 4, sample_weight=weight, families={"x": name}, smoothing=smoothing)
    assert np.isfinite(model.predict_proba(table)).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_class_or_value_of_the_least_weight_has_a_finite_score(name):
    table = {"x": [1.0, 0.0, 1.0, 0.0]}
    model = tb.fit(table, ["p", "p", "q", "q"], sample_weight=[5e-324, 1.0, 1000.0, 5e-324], families={"x": name})
    assert np.isfinite(model.log_score(table)).all()


@pytest.mark.parametrize("option", ["smoothing", "class_smoothing"])
def test_smoothing_that_would_overflow_is_refused(option):
    for k in (1e308, 1.1e100):
        with pytest.raises(ParameterError, match=r"1e\+100, or inf"):
            tb.fit({"x": ["a", "b"]}, [0, 1], **{option: k})
    assert np.isfinite(tb.fit({"x": ["a", "b"]}, [0, 1], **{option: 1e100}).predict_proba({"x": ["a"]})).all()


def test_prior_strengths_that_would_overflow_are_refused():
    for text in ("gaussian:kappa=1e308", "gaussian:nu=1e308", "text:k=1e308"):
        with pytest.raises(ParameterError, match="1e100"):
            parse(text)


@pytest.mark.parametrize("name", ["multinomial", "multinomial:complement"])
def test_an_amount_times_a_weight_below_the_least_double_is_refused(name):
    bag = Bag(np.array([0, 1, 2]), np.array([0, 0]), np.array([1.0, 1e-200]), ["cash"])
    codes = np.array([0, 1], np.int32)
    with pytest.raises(DataError, match=r"column 'mail', row 1: .*at least 5e-324, got '1e-200"):
        parse(name).observe(("mail",), [bag], codes, 2, np.array([1.0, 1e-200]))
    tally = parse(name).observe(("mail",), [bag], codes, 2, np.array([1.0, 1e-100]))
    assert type(tally).from_arrays(tally.arrays(), 2, parse(name).observe((), [], codes[:0], 2, None)).same(tally)


def test_poisson_counts_beyond_exact_doubles_are_refused():
    for value in (2.0**54, -1.0, 0.5):
        with pytest.raises(DataError, match=r"column 'x', row 1: expected an integer from 0 to 2\*\*53"):
            tb.fit({"x": [1.0, value]}, [0, 1], families={"x": "poisson"})
