"""Joint Gaussians compared with scipy, with the family of single columns, with brute force and with samples."""

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import integrate, stats

import tallybayes as tb
from tallybayes.arrays.column import Reals, Vectors
from tallybayes.errors import DataError, ForgetError, ParameterError
from tallybayes.families.family import Family

BOTH = [tb.JointGaussian(), tb.JointGaussian("shared")]
NUMBERS = st.one_of(
    st.floats(-1e3, 1e3), st.sampled_from([0.0, 1e200, -1e200, 1e-310, 5e-324, 1e308, -1e308, 1e15, np.nan])
)


def vectors(values):
    values = np.asarray(values, np.float64)
    return Vectors(values, tuple("abcdefgh"[: values.shape[1]]))


def example(n=80, size=3, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, size)) @ (rng.normal(size=(size, size)) + 3 * np.eye(size)) + 10 * np.arange(size)
    return values, rng.integers(0, 2, n).astype(np.int32)


def counted(family, values, codes, weights=None, n_classes=2):
    return family.observe(("x",), [vectors(values)], codes, n_classes, weights)


def scores(family, tally, values, smoothing="auto"):
    return family.derive(tally, smoothing).log_prob([vectors(values)])


def posterior(family, values, codes, code, kappa=3.0, nu=5.0):
    """Location, shape and degrees of freedom of the predictive, by the formulas of the textbook."""
    pooled = values.mean(axis=0)
    scatters = []
    for c in (0, 1):
        own = values[codes == c]
        n, far = len(own), own.mean(axis=0) - pooled
        scatters.append(n * np.cov(own.T, bias=True) + kappa * n / (kappa + n) * np.outer(far, far))
    n, far = (codes == code).sum(), values[codes == code].mean(axis=0) - pooled
    rows = len(codes) if family.is_shared else n
    scatter = nu * np.diag(values.var(axis=0)) + (sum(scatters) if family.is_shared else scatters[code])
    return pooled + n * far / (kappa + n), scatter / (nu + rows) * (1 + 1 / (kappa + n)), nu + rows


@pytest.mark.parametrize("family", BOTH, ids=str)
def test_the_predictive_is_the_multivariate_t_of_scipy(family):
    values, codes = example()
    got = scores(family, counted(family, values, codes), values * 1.7)
    for c in (0, 1):
        assert np.allclose(got[:, c], stats.multivariate_t(*posterior(family, values, codes, c)).logpdf(values * 1.7))


def test_the_plug_in_is_the_multivariate_normal_of_scipy():
    values, codes = example()
    covariances = [np.cov(values[codes == c].T, bias=True) for c in (0, 1)]
    shared = sum((codes == c).mean() * covariance for c, covariance in enumerate(covariances))
    for family in BOTH:
        got = scores(family, counted(family, values, codes), values, 0)
        for c in (0, 1):
            wanted = stats.multivariate_normal(
                values[codes == c].mean(axis=0), shared if family.is_shared else covariances[c]
            )
            assert np.allclose(got[:, c], wanted.logpdf(values))


@pytest.mark.parametrize("smoothing", [0, "auto"])
@pytest.mark.parametrize("family", BOTH, ids=str)
def test_a_single_input_has_the_distribution_of_gaussian(family, smoothing):
    values, codes = example()
    tally = counted(family, values, codes)
    single = tb.Gaussian(shared=family.is_shared)
    for i in range(3):
        alone = np.full_like(values, np.nan)
        alone[:, i] = values[:, i]
        plain = single.observe(("x",), [Reals(values[:, i])], codes, 2, None)
        wanted = single.derive(plain, smoothing).log_prob([Reals(values[:, i])])
        assert np.allclose(scores(family, tally, alone, smoothing), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("family", BOTH, ids=str)
@pytest.mark.parametrize("smoothing", [0, "auto"])
def test_a_missing_value_is_marginalised(family, smoothing):
    """The integral of the density over the missing input is the density without it, incomplete rows or not."""
    values, codes = example(40, 2, seed=3)
    values[::5, 0] = np.nan
    values[1::7, 1] = np.nan
    predictive = family.derive(counted(family, values, codes), smoothing)
    for c, y in ((0, 8.0), (1, 12.0)):
        density = lambda x: np.exp(predictive.log_prob([vectors([[x, y]])])[0, c])  # noqa: B023, E731
        whole = integrate.quad(density, -60, 60, points=[0], limit=200)[0]
        alone = np.exp(predictive.log_prob([vectors([[np.nan, y]])])[0, c])
        assert whole == pytest.approx(alone, rel=1e-4)


def test_rows_that_lack_values_add_to_location_and_scale_only():
    values, codes = example(200, 2)
    more = np.array([[30.0, np.nan], [np.nan, -5.0], [np.nan, np.nan]])
    family = tb.JointGaussian()
    tally = counted(family, np.concatenate([values, more]), np.append(codes, [0, 1, 1]).astype(np.int32))
    assert tally.incomplete_rows() == {"x": 2.0}
    assert tally.rows_seen().floats().sum() == 202
    complete = family.derive(counted(family, values, codes), 0)
    rows = family.derive(tally, 0).table()
    assert [row["r(b)"] for row in rows if row["input"] == "a"] == [
        row["r(b)"] for row in complete.table() if row["input"] == "a"
    ]
    assert rows[0]["mean"] == pytest.approx(np.append(values[codes == 0, 0], 30.0).mean())
    assert rows[0]["rows"] == rows[0]["complete"] + 1


def test_evidence_is_the_product_of_one_step_ahead_predictions():
    values, codes = example(25)
    values[:, 1] *= 1e6
    for family in BOTH:
        whole, so_far = counted(family, values, codes), counted(family, values[:0], codes[:0])
        prior, total = family.prior(whole, "auto"), 0.0
        for row in range(25):
            one = values[row : row + 1]
            total += family.predictive(so_far, prior).log_prob([vectors(one)])[0, codes[row]]
            so_far.prepare(counted(family, one, codes[row : row + 1]), 1)()
        assert total == pytest.approx(family.evidence(whole, prior)[0], rel=1e-9)


@pytest.mark.parametrize("smoothing", [0, "auto"])
def test_samples_have_the_distribution(smoothing):
    """Squared distances of samples from a t are F distributed, of a normal chi-squared."""
    values, codes = example(60)
    predictive = tb.JointGaussian(nu=9.0).derive(counted(tb.JointGaussian(), values, codes), smoothing)
    (drawn,) = predictive.sample(np.random.default_rng(0), 1, 4000)
    own = values[codes == 1]
    if smoothing == 0:
        mean, shape, law = own.mean(axis=0), np.cov(own.T, bias=True), stats.chi2(3)
    else:
        mean, shape, freedom = posterior(tb.JointGaussian(), values, codes, 1, nu=9.0)
        law, shape = stats.f(3, freedom), shape * 3
    distance = np.einsum("ri,ij,rj->r", drawn - mean, np.linalg.inv(shape), drawn - mean)
    assert stats.kstest(distance, law.cdf).pvalue > 1e-6  # fails once in a million for a right sampler


@given(
    arrays(np.float64, st.tuples(st.integers(0, 12), st.integers(1, 4)), elements=NUMBERS),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_any_numbers_are_counted_exactly_and_scored_without_nan(values, seed, has_weights):
    """Sums do not depend on the order and forgetting is exact, whatever the numbers; scores are finite."""
    rng, n = np.random.default_rng(seed), len(values)
    codes, order = rng.integers(0, 3, n).astype(np.int32), rng.permutation(n)
    weights = rng.choice([0.0, 0.1, 1.0, 3.0, 1e-300, 1e15], n) if has_weights else None

    def observe(rows):
        return counted(tb.JointGaussian(), values[rows], codes[rows], None if weights is None else weights[rows], 3)

    total, half = observe(np.arange(n)), observe(order[: n // 2])
    assert half.same(observe(np.sort(order[: n // 2])))
    half.prepare(observe(order[n // 2 :]), 1)()
    assert half.same(total)
    half.prepare(observe(order[n // 2 :]), -1)()
    assert half.same(observe(order[: n // 2]))
    assert type(total).from_arrays(total.arrays(), 3, observe([])).same(total)
    for family in BOTH:
        for smoothing in (0, "auto"):
            together = scores(family, total, values, smoothing)
            assert not np.isnan(together).any()
            assert smoothing == 0 or np.isfinite(together).all()
            alone = [scores(family, total, values[row : row + 1], smoothing) for row in range(n)]
            assert np.array_equal(together, np.concatenate([np.zeros((0, 3)), *alone]))


@hypothesis.example(5871138, True)  # a row with nearly all of the sums of complete rows, not of all
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_leave_one_out_is_refitting_on_ugly_numbers(seed, has_weights):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(15, 2)) * 10.0 ** rng.integers(-6, 7, (15, 1))
    values[:, 1] += rng.choice([0.0, 1.0, 1e3]) * values[:, 0]
    values[rng.random((15, 2)) < 0.1] = np.nan
    codes, weights = rng.integers(0, 3, 15).astype(np.int32), rng.choice([0.5, 1.0, 2.0], 15) if has_weights else None
    for family in BOTH:
        tally = counted(family, values, codes, weights, 3)
        for prior in (family.prior(tally, "auto"), None):
            fast, defined = np.zeros((2, 15, 3))
            arguments = (tally, prior, [vectors(values)], codes, weights)
            family.leave_one_out(*arguments)[0](fast, 0, 15)
            Family.leave_one_out(family, *arguments)[0](defined, 0, 15)
            np.testing.assert_allclose(fast, defined, rtol=1e-5, atol=1e-5)


def test_singular_covariances_have_scores():
    """Fewer rows than inputs, an input that is a multiple of another, constant inputs, a class without rows."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(6, 1))
    values = np.concatenate([base, 2 * base, rng.normal(size=(6, 1)), np.full((6, 1), 7.0)], axis=1)
    codes = np.array([0, 0, 0, 0, 1, 1], np.int32)
    for family in BOTH:
        tally = counted(family, values, codes, None, 3)
        for smoothing in (0, "auto"):
            for tried in (values, values + 1, np.full((1, 4), np.nan)):
                got = scores(family, tally, tried, smoothing)
                assert not np.isnan(got).any()
                assert smoothing == 0 or np.isfinite(got).all()
        assert np.isneginf(scores(family, tally, values + 1, 0)[:, :2]).all()  # 8 where only 7 was seen
        assert not scores(family, tally, values, 0)[:, 2].any()  # no rows, no opinion
        same, moved = scores(family, tally, values), scores(family, tally, values + np.array([0, 0, 0, 1]))
        assert np.array_equal(same, moved)  # a constant input says nothing


def test_bad_rows_are_refused():
    family = tb.JointGaussian()
    values, codes = example(20, 2)
    tally = counted(family, values, codes)
    with pytest.raises(DataError, match="column 'b', row 1: expected a finite number, got inf"):
        counted(family, [[1.0, 2.0], [3.0, np.inf]], codes[:2])
    with pytest.raises(DataError, match="column 'a', row 0: expected a finite number, got -inf"):
        scores(family, tally, [[-np.inf, np.nan]])
    with pytest.raises(DataError, match="from 1 to 200 inputs"):
        family.observe(("x",), [Vectors(np.zeros((1, 201)), tuple(map(str, range(201))))], codes[:1], 2, None)
    before = tally.copy()
    swapped = values[:2].copy()
    swapped[:, 1] = swapped[::-1, 1]  # the same sums and squares of every input, other products
    two = counted(family, values[:2], np.zeros(2, np.int32))
    for wrong in ([[1e9, 1e9]], [[values[0, 0], np.nan]]):
        with pytest.raises(ForgetError, match="column 'x'"):
            tally.prepare(counted(family, wrong, codes[:1]), -1)
    with pytest.raises(ForgetError, match="column 'x'"):
        two.prepare(counted(family, swapped, np.zeros(2, np.int32)), -1)
    with pytest.raises(ParameterError, match="'class' or 'shared'"):
        tb.JointGaussian("diagonal")
    assert tally.same(before)
