"""Families compared with scipy, mpmath and scikit-learn, with sums over all values, and with their own samples."""

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import tallybayes as tb
from tallybayes.arrays.column import Bag, Codes, Flags, Reals
from tallybayes.families import FAMILIES, parse
from tallybayes.tally import Counts, TokenTally, Vocabulary
from tallybayes.testing import CHECKS, FamilyLaws, check_family

EVERY = [
    *(family() for family in FAMILIES.values()),
    tb.Multinomial("complement"),
    tb.Multinomial("presence"),
    tb.Categorical("missing"),
    tb.Tags(";"),
    tb.Gaussian(kappa=0.5, nu=2.0),
    tb.Gaussian(shared=True),
    tb.Gaussian(log=True),
    tb.JointGaussian("shared"),
    tb.JointGaussian(kappa=0.5, nu=2.0),
]
C3 = np.array([0, 1, 2], np.int32)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("family", EVERY, ids=str)
def test_every_law_holds_for_every_family(family, check):
    for seed in range(3):
        check(FamilyLaws(family, seed))


def test_a_broken_family_is_caught():
    class Forgetful(tb.Gaussian):
        def observe(self, features, columns, codes, n_classes, weights):
            return super().observe(features, columns, codes, n_classes, None)

    with pytest.raises(AssertionError, match="integer weight"):
        check_family(Forgetful())


@pytest.mark.parametrize("family", EVERY, ids=str)
def test_a_family_can_be_written_and_read_back(family):
    assert parse(str(family)) == family
    assert eval(repr(family), vars(tb) | {name: getattr(tb, name) for name in tb.__all__}) == family


def gaussian(values, smoothing="auto", codes=None):
    codes = np.zeros(len(values), np.int32) if codes is None else codes
    tally = tb.Gaussian().observe(("x",), [Reals(np.asarray(values))], codes, int(codes.max(initial=0)) + 1, None)
    return tally, tb.Gaussian().derive(tally, smoothing)


def test_student_t_agrees_with_scipy():
    rng = np.random.default_rng(0)
    values = rng.normal(5, 3, 50)
    codes = rng.integers(0, 2, 50).astype(np.int32)
    _, predictive = gaussian(values, codes=codes)
    x = np.linspace(-30, 40, 101)
    got = predictive.log_prob([Reals(x)])
    m, v, kappa, nu = values.mean(), values.var(), 3.0, 5.0
    for c in (0, 1):
        own = values[codes == c]
        n, mean = len(own), own.mean()
        scale = (nu * v + n * own.var() + kappa * n / (kappa + n) * (mean - m) ** 2) / (nu + n) * (1 + 1 / (kappa + n))
        wanted = stats.t.logpdf(x, nu + n, (kappa * m + n * mean) / (kappa + n), np.sqrt(scale))
        assert np.allclose(got[:, c], wanted, rtol=1e-12, atol=1e-12)


def test_student_t_keeps_its_digits_at_millions_of_degrees_of_freedom():
    from tallybayes.kernels.densities import log_gamma_ratio

    for x in (0.5, 3.0, 199.0, 201.0, 1e4, 1e9, 1e15):
        with mpmath.workdps(40):
            exact = mpmath.loggamma(mpmath.mpf(x) + 0.5) - mpmath.loggamma(mpmath.mpf(x))
        assert float(log_gamma_ratio(np.array(x))) == pytest.approx(float(exact), rel=1e-13, abs=1e-13)


def test_plug_in_normal_agrees_with_scipy():
    values = np.array([1.0, 2.0, 4.0, 8.0])
    _, predictive = gaussian(values, 0)
    x = np.linspace(-10, 20, 31)
    assert np.allclose(predictive.log_prob([Reals(x)])[:, 0], stats.norm.logpdf(x, values.mean(), values.std()))


def test_poisson_agrees_with_scipy():
    values = np.array([0.0, 3.0, 5.0, 1.0])
    tally = tb.Poisson().observe(("n",), [Reals(values)], np.zeros(4, np.int32), 1, None)
    x = np.arange(30.0)
    mean, n, total = values.mean(), 4, values.sum()
    rate = 1 / mean + n
    wanted = stats.nbinom.logpmf(x, 1 + total, rate / (1 + rate))
    assert np.allclose(tb.Poisson().derive(tally, "auto").log_prob([Reals(x)])[:, 0], wanted)
    assert np.allclose(tb.Poisson().derive(tally, 0).log_prob([Reals(x)])[:, 0], stats.poisson.logpmf(x, mean))


def example(family, n=60, seed=1):
    rng = np.random.default_rng(seed)
    column = family.example(rng, n)
    codes = rng.integers(0, 3, n).astype(np.int32)
    return column, codes, family.observe(("x",), [column], codes, 3, None)


@pytest.mark.parametrize("smoothing", [0, 0.3, "auto"])
def test_flags_and_categories_add_up_to_one(smoothing):
    for family, everything in (
        (tb.Bernoulli(), Flags(np.array([0, 1]))),
        (tb.Categorical(), Codes(np.arange(4, dtype=np.int32), ["a", "b", "c", "d"])),
    ):
        _, _, tally = example(family)
        p = np.exp(family.derive(tally, smoothing).log_prob([everything]))
        assert np.allclose(p.sum(axis=0), 1)


@pytest.mark.parametrize("smoothing", [0, "auto"])
def test_histogram_cells_add_up_to_one(smoothing):
    from tallybayes.tally.histogram_grid import lowest_value

    rng = np.random.default_rng(0)
    for size in (5, 50, 5000):
        x, codes = rng.normal(size=size), (np.arange(size) % 2).astype(np.int32)
        tally = tb.Histogram().observe(("x",), [Reals(x)], codes, 2, None)
        cells = np.unique(tally.cell)
        values = lowest_value(cells, np.full(len(cells), tally.levels[0]))
        p = np.exp(tb.Histogram().derive(tally, smoothing).log_prob([Reals(values)]))
        assert np.allclose(p.sum(axis=0), 1)


def test_student_t_and_negative_binomial_integrate_to_one():
    _, predictive = gaussian(np.array([1.0, 2.0, 7.0]))
    density = lambda x: float(np.exp(predictive.log_prob([Reals(np.array([x]))])[0, 0]))  # noqa: E731
    assert integrate.quad(density, -np.inf, np.inf)[0] == pytest.approx(1, abs=1e-7)
    tally = tb.Poisson().observe(("n",), [Reals(np.array([1.0, 4.0]))], np.zeros(2, np.int32), 1, None)
    p = np.exp(tb.Poisson().derive(tally, "auto").log_prob([Reals(np.arange(2000.0))]))
    assert p.sum() == pytest.approx(1)


def test_presence_adds_up_to_one_over_all_sets():
    _, _, tally = example(tb.Tags())
    keys = list("abcdef")
    subsets = [[i for i in range(6) if mask >> i & 1] for mask in range(64)]
    indptr = np.cumsum([0, *map(len, subsets)])
    indices = np.array([i for subset in subsets for i in subset])
    everything = Bag(indptr, indices, None, keys)
    for smoothing in (0, 0.5, "auto"):
        p = np.exp(tb.Tags().derive(tally, smoothing).log_prob([everything]))
        assert np.allclose(p.sum(axis=0), 1)


@pytest.mark.parametrize(
    ("family", "smoothing"),
    [
        (tb.Bernoulli(), 0.7),
        (tb.Categorical(), 0.7),
        (tb.Multinomial(), 0.7),
        (tb.Multinomial("presence"), 0.7),
        (tb.Gaussian(), "auto"),
        (tb.Poisson(), "auto"),
    ],
    ids=str,
)
def test_evidence_is_the_product_of_one_step_ahead_predictions(family, smoothing):
    """log p(all rows) = sum of log p(row | rows before): checks evidence and predictive against each other."""
    column, codes, whole = example(family, n=25)
    prior = family.prior(whole, smoothing)
    axis = family.observe(("x",), [column], codes, 3, None)  # the keys of all rows, so that the axis does not grow
    so_far = axis.copy()
    so_far.prepare(axis, -1)()
    total = 0.0
    for row in range(25):
        one = column.take(np.array([row]))
        if isinstance(one, Bag) and family != tb.Multinomial("presence"):
            total += bag_step(family, so_far, whole, one, codes[row], smoothing)
        else:
            predictive = family.predictive(with_axis(so_far, whole), prior)
            total += predictive.log_prob([one])[0, codes[row]]
        so_far.prepare(family.observe(("x",), [one], codes[row : row + 1], 3, None), 1)()
    assert total == pytest.approx(family.evidence(whole, prior)[0], rel=1e-9)


def with_axis(tally, whole):
    """The tally with the keys of the whole, so that probabilities are over the same axis."""
    part = tally.tokens["x"] if isinstance(tally, TokenTally) else tally
    if not isinstance(part, (Counts, Vocabulary)):
        return tally
    result = tally.copy()
    store = (result.tokens["x"] if isinstance(result, TokenTally) else result).store
    store._usage = (np.ones(1000, np.int32), whole_store(whole).n_in_use)
    store.has = lambda slots: slots >= 0
    store.rows = lambda kind, slots: _rows(part.store.copy(), kind, slots)
    if isinstance(result, Counts):
        result._keys_in_use = dict(whole._keys_in_use)
    return result


def whole_store(tally):
    return (tally.tokens["x"] if isinstance(tally, TokenTally) else tally).store


def _rows(store, kind, slots):
    counts = store.rows(kind, slots)
    return np.where(counts.sum(axis=1, keepdims=True) == 0, 1e-300, counts)  # known to the axis, though never counted


def bag_step(family, so_far, whole, one, code, k):
    """Polya's urn: every token of the bag adds to the counts before the next is drawn."""
    words = so_far.tokens["x"]
    n_tokens, counts = whole.tokens["x"].n_keys, words.rows("counts", words.index.find(one.keys))[:, code]
    total, log_p = words.total("counts")[code], 0.0
    for index, amount in zip(one.indices, one.amounts, strict=True):
        for _ in range(int(amount)):
            log_p += np.log(counts[index] + k) - np.log(total + k * n_tokens)
            counts[index] += 1
            total += 1
    return log_p


@pytest.mark.parametrize("family", [tb.Bernoulli(), tb.Categorical(), tb.Poisson()], ids=str)
@pytest.mark.parametrize("smoothing", [0, "auto"])
def test_samples_agree_with_log_prob_for_discrete_columns(family, smoothing):
    _, _, tally = example(family)
    predictive = family.derive(tally, smoothing)
    (values,) = predictive.sample(np.random.default_rng(0), 1, 20_000)
    found, times = np.unique(values, return_counts=True)
    if isinstance(family, tb.Categorical):
        column = Codes(np.arange(len(found), dtype=np.int32), found.tolist())
    else:
        column = Flags(found) if isinstance(family, tb.Bernoulli) else Reals(found.astype(float))
    p = np.exp(predictive.log_prob([column])[:, 1])
    often = times >= 20
    expected = np.append(p[often], max(1 - p[often].sum(), 1e-12)) * 20_000
    observed = np.append(times[often], 20_000 - times[often].sum())
    keep = expected > 5
    chi2 = ((observed - expected) ** 2 / expected)[keep].sum()
    assert stats.chi2.sf(chi2, keep.sum()) > 1e-6  # fails once in a million for a right sampler; the seed is fixed


@pytest.mark.parametrize("smoothing", [0, "auto"])
def test_samples_agree_with_log_prob_for_gaussians(smoothing):
    _, predictive = gaussian(np.array([1.0, 2.0, 7.0, 9.0]), smoothing)
    (values,) = predictive.sample(np.random.default_rng(0), 0, 5_000)
    grid = np.linspace(-400, 400, 80_001)
    cumulative = np.cumsum(np.exp(predictive.log_prob([Reals(grid)])[:, 0])) * (grid[1] - grid[0])
    assert stats.kstest(values, lambda x: np.interp(x, grid, cumulative)).pvalue > 1e-6


def test_samples_agree_with_log_prob_for_histograms_and_bags():
    rng = np.random.default_rng(0)
    x, codes = rng.integers(0, 6, 300).astype(float), rng.integers(0, 2, 300).astype(np.int32)
    predictive = tb.Histogram().derive(tb.Histogram().observe(("x",), [Reals(x)], codes, 2, None), "auto")
    (values,) = predictive.sample(rng, 0, 20_000)
    p = np.exp(predictive.log_prob([Reals(np.arange(6.0))])[:, 0])
    share = np.bincount(values.astype(int), minlength=6) / 20_000
    assert np.abs(share - p).max() < 0.02
    for family in (tb.Multinomial(), tb.Tags()):
        _, _, tally = example(family, n=200)
        predictive = family.derive(tally, 1.0)
        (bags,) = predictive.sample(rng, 2, 4_000)
        n_a = np.mean([bag.get("a", 0) if isinstance(bag, dict) else "a" in bag for bag in bags])
        words, weights = tally.tokens["x"], predictive.columns["x"]
        slots = words.index.find(["a"])
        if isinstance(family, tb.Multinomial):
            expected = np.exp(weights.of(slots)[0, 2]) * np.mean([sum(bag.values()) for bag in bags])
        else:
            expected = np.exp(weights.log_presence(words.rows("documents", slots))[0][0, 2])
        assert n_a == pytest.approx(expected, abs=0.08)


def test_auto_smoothing_makes_a_useless_column_silent_and_a_telling_one_loud():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    noise = [f"v{i}" for i in rng.integers(0, 200, 2000)]
    telling = [f"w{i}" for i in y * 5 + rng.integers(0, 5, 2000)]
    model = tb.fit({"noise": noise, "telling": telling}, label=y, column_weights=None)
    (one,) = model.explain({"noise": ["v3"], "telling": ["w7"]})
    odds = one.log_odds(1, 0)
    assert abs(odds["noise"]) < 0.1
    assert odds["telling"] > 4


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=12))
def test_averaging_binnings_equals_the_sum_over_all_partitions(counts):
    """The dynamic programme against brute force over all 2**(B-1) partitions."""
    from scipy.special import gammaln

    from tallybayes.kernels import active

    table = np.array(counts[:6], float)
    if table.sum() == 0:
        return
    a, rho, n_buckets = 3.0, 0.2, len(table)
    p = table.sum(axis=0) / table.sum()
    here = p > 0
    total, share = 0.0, np.zeros_like(table)
    for mask in range(2 ** (n_buckets - 1)):
        cuts = [0, *(i + 1 for i in range(n_buckets - 1) if mask >> i & 1), n_buckets]
        weight = rho ** (len(cuts) - 2) * (1 - rho) ** (n_buckets + 1 - len(cuts))
        posterior = np.zeros_like(table)
        for first, last in itertools.pairwise(cuts):
            n = table[first:last].sum(axis=0)
            log_m = gammaln(a) - gammaln(a + n.sum())
            log_m += (gammaln(a * p[here] + n[here]) - gammaln(a * p[here])).sum()
            weight *= np.exp(log_m)
            posterior[first:last] = (n + a * p) / (n.sum() + a)
        total += weight
        share += weight * posterior
    got, strength, rate, log_evidence = active.average_binnings(
        table, np.array([0, n_buckets]), np.array([a]), np.array([rho])
    )
    assert np.allclose(got, share / total, rtol=1e-9)
    assert log_evidence[0] == pytest.approx(np.log(total), rel=1e-9)
    assert (strength[0], rate[0]) == (a, rho)


def test_scikit_learn_agrees_on_the_classical_estimates():
    from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    counts = rng.poisson(1 + y[:, None], (200, 8))
    flags = (counts > 1).astype(int)
    import scipy.sparse as sp

    bags = sp.csr_array(counts)
    kw = {"smoothing": 1.0, "class_smoothing": 0}
    pairs = [
        (
            BernoulliNB().fit(flags, y),
            flags,
            tb.fit(flags, label=y, families="bernoulli", **kw, column_weights=None),
            flags,
        ),
        (
            CategoricalNB().fit(flags, y),
            flags,
            tb.fit(flags, label=y, families="categorical", **kw, column_weights=None),
            flags,
        ),
        (MultinomialNB().fit(counts, y), counts, tb.fit(bags, label=y, **kw, column_weights=None), bags),
        (
            BernoulliNB().fit(flags, y),
            flags,
            tb.fit(bags > 1, label=y, families={"x": "multinomial:presence"}, **kw, column_weights=None),
            bags > 1,
        ),
        (
            ComplementNB().fit(counts, y),
            counts,
            tb.fit(
                bags,
                label=y,
                families={"x": "multinomial:complement"},
                smoothing=1.0,
                class_prior="uniform",
                column_weights=None,
            ),
            bags,
        ),
        (
            GaussianNB(var_smoothing=0).fit(counts, y),
            counts,
            tb.fit(counts, label=y, families="gaussian", estimate="mle", class_smoothing=0, column_weights=None),
            counts,
        ),
    ]
    for theirs, x, ours, z in pairs:
        assert np.allclose(theirs.predict_proba(x), ours.predict_proba(z), rtol=1e-8, atol=1e-12), theirs
