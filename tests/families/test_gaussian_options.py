"""One variance for all classes, and numbers whose logarithm is bell-shaped: against SciPy and scikit-learn."""

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import tallybayes as tb
from tallybayes.arrays.column import Reals
from tallybayes.errors import DataError, ParameterError


def numbers(seed=0, n=40):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=n) * (1 + y) + y, np.asarray(y, np.int32)


def test_with_one_variance_and_one_feature_it_is_linear_discriminant_analysis():
    x, y = numbers()
    model = tb.fit({"x": x}, label=y, families={"x": "gaussian:shared=True"}, estimate="mle", class_smoothing=0)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(x[:, None], y)
    variance = sum(((x[y == c] - x[y == c].mean()) ** 2).sum() for c in (0, 1)) / len(x)
    odds = stats.norm(x[y == 1].mean(), variance**0.5).logpdf(x) - stats.norm(x[y == 0].mean(), variance**0.5).logpdf(x)
    odds += np.log((y == 1).mean() / (y == 0).mean())
    joint = model.log_score({"x": x})
    np.testing.assert_allclose(joint[:, 1] - joint[:, 0], odds, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba({"x": x}), theirs.predict_proba(x[:, None]), atol=1e-9)


def test_the_border_of_shared_variances_is_straight():
    X, y = load_iris(return_X_y=True)
    model = tb.fit(X, label=y, families="gaussian:shared=True", estimate="mle")
    line = np.linspace([4.0, 2.0, 1.0, 0.0], [8.0, 5.0, 7.0, 3.0], 9)
    joint = model.log_score(line)
    np.testing.assert_allclose(np.diff(joint[:, 0] - joint[:, 2], n=2), 0.0, atol=1e-9)
    own = tb.fit(X, label=y, families="gaussian", estimate="mle").log_score(line)
    assert np.abs(np.diff(own[:, 0] - own[:, 2], n=2)).max() > 1


def test_the_shared_predictive_and_its_evidence_agree():
    """The evidence of rows one by one: each by the predictive of those before, as the chain rule has it."""
    x, y = numbers(n=12)
    family = tb.Gaussian(shared=True)
    whole = family.observe(("x",), [Reals(x)], y, 2, None)
    prior = family.prior(whole, "auto")
    total = 0.0
    for i in range(len(x)):
        before = family.observe(("x",), [Reals(x[:i])], y[:i], 2, None)
        total += family.predictive(before, prior).log_prob([Reals(x[i : i + 1])])[0, y[i]]
    assert family.evidence(whole, prior)[0] == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("shared", [False, True])
def test_densities_of_the_logarithm_integrate_to_one(shared):
    x, y = numbers()
    family = tb.Gaussian(log=True, shared=shared)
    tally = family.observe(("x",), [Reals(np.exp(x))], y, 2, None)
    for smoothing in ("auto", 0.0):
        predictive = family.derive(tally, smoothing)

        def density(v, c=0, predictive=predictive):
            return float(np.exp(predictive.log_prob([Reals(np.array([v]))])[0, c]))

        area = sum(integrate.quad(density, a, b, limit=200)[0] for a, b in ((0, 1), (1, 10), (10, 1e3), (1e3, 1e6)))
        assert area == pytest.approx(1.0, abs=2e-3)


def test_the_logarithm_is_scipys_lognormal():
    x, y = numbers()
    model = tb.fit(
        {"x": np.exp(x)}, label=y, families={"x": "gaussian:log=True"}, estimate="mle", class_prior="uniform"
    )
    for c in (0, 1):
        own = x[y == c]
        expected = stats.lognorm(s=own.std(), scale=np.exp(own.mean())).logpdf(np.exp(x)) + np.log(0.5)
        np.testing.assert_allclose(model.log_score({"x": np.exp(x)})[:, c], expected, rtol=1e-9)


def test_odd_numbers():
    model = tb.fit({"x": [1.0, 2.0, 8.0, None], "y": list("ppqq")}, label="y", families={"x": "gaussian:log=True"})
    assert model.predict_proba({"x": [None, 0.0, -1.0]})[:, 0].tolist() == [0.5] * 3
    assert np.isfinite(model.predict_proba({"x": [1e-300, 1e300]})).all()
    with pytest.raises(DataError, match="finite"):
        model.predict_proba({"x": [np.inf]})
    with pytest.raises(DataError, match="a number above 0") as error:
        tb.fit({"x": [1.0, 0.0], "y": list("pq")}, label="y", families={"x": "gaussian:log=True"})
    assert error.value.row == 1
    assert all(v > 0 for v in model.sample(20, seed=0).column("x").to_pylist() if v is not None)


def test_wrong_options():
    for wrong in ("gaussian:shared=perhaps", "gaussian:log=2"):
        with pytest.raises(ParameterError):
            tb.fit({"x": [1.0], "y": ["p"]}, label="y", families={"x": wrong})
