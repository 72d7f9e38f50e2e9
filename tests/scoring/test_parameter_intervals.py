"""Credible intervals of parameters, and cumulants of log likelihoods, against distributions and simulation."""

import json

import numpy as np
import pytest
from scipy import stats

import tallybayes as tb
from tables import FAMILIES, mixed_frame
from tallybayes.arrays.column import Bag, Codes, Flags, Reals
from tallybayes.errors import ParameterError, UnsupportedError
from tallybayes.families import Bernoulli, Categorical, Gaussian, Multinomial, Poisson, Text
from tallybayes.families.family import Family
from tallybayes.kernels.binning_runs import shares_at

CODES = np.array([0] * 7 + [1] * 13, np.int32)


def rows_of(family, column, k, level=0.9):
    return family.derive(family.observe(("x",), [column], CODES, 2, None), k).intervals(level)


def ends(row):
    return row["low"], row["high"]


def test_yes_and_no_are_a_beta():
    x = np.tile([0, 1, 1], 7)[:20].astype(np.int8)
    for row in rows_of(Bernoulli(), Flags(x), 2.0):
        own = x[row["class"] == CODES]
        assert ends(row) == pytest.approx(stats.beta.interval(0.9, own.sum() + 2, (1 - own).sum() + 2))


def test_categories_are_margins_of_a_dirichlet():
    x = np.tile([0, 1, 1, 2], 5).astype(np.int32)
    rows = rows_of(Categorical(), Codes(x, ["a", "b", "c"]), 0.5)
    assert len(rows) == 6
    for row in rows:
        own = x[row["class"] == CODES]
        n = (own == "abc".index(row["value"])).sum()
        assert ends(row) == pytest.approx(stats.beta.interval(0.9, n + 0.5, len(own) - n + 1.0))
        assert row["P(value)"] == pytest.approx((n + 0.5) / (len(own) + 1.5))


@pytest.mark.parametrize("shared", [False, True])
def test_a_mean_is_students_t_and_a_variance_an_inverse_gamma(shared):
    x = np.random.default_rng(0).normal(size=20) * 3 + 1000
    rows = {(row["parameter"], row["class"]): row for row in rows_of(Gaussian(shared=shared), Reals(x), 1.0)}
    kappa, nu, m, v = 3.0, 5.0, x.mean(), x.var()
    parts = [x[c == CODES] for c in (0, 1)]
    more = [len(own) * own.var() + kappa * len(own) / (kappa + len(own)) * (own.mean() - m) ** 2 for own in parts]
    for c, own in enumerate(parts):
        kappa_n = kappa + len(own)
        mean = m + len(own) * (own.mean() - m) / kappa_n
        nu_n, spread = (nu + 20, nu * v + sum(more)) if shared else (nu + len(own), nu * v + more[c])
        scale = np.sqrt(spread / nu_n / kappa_n)
        assert ends(rows["mean", c]) == pytest.approx(stats.t.interval(0.9, nu_n, mean, scale))
        variance = stats.invgamma.interval(0.9, nu_n / 2, scale=spread / 2)
        assert ends(rows["sd", c]) == pytest.approx(np.sqrt(variance))


def test_a_rate_is_a_gamma():
    x = np.random.default_rng(0).poisson(3.0, 20).astype(np.float64)
    for row in rows_of(Poisson(), Reals(x), 1.0):
        own = x[row["class"] == CODES]
        rate = 1 / x.mean() + len(own)
        assert ends(row) == pytest.approx(stats.gamma.interval(0.9, 1 + own.sum(), scale=1 / rate))


@pytest.mark.parametrize("family", ["multinomial", "text:counts,tf=count,k=0.5"])
def test_tokens_are_margins_of_a_dirichlet(family):
    texts = ["cash prize cash", "lunch time", "cash lunch", "prize"]
    bags = [text.split() for text in texts] if family == "multinomial" else texts
    table = {"x": bags, "y": ["p", "q", "q", "p"]}
    model = tb.fit(table, label="y", families={"x": family}, smoothing=0.5)
    rows = model.intervals(0.8).columns["x"]
    assert rows
    for row in rows:
        tokens = " ".join(text for text, y in zip(texts, table["y"], strict=True) if y == row["class"]).split()
        n = tokens.count(row["token"])
        assert ends(row) == pytest.approx(stats.beta.interval(0.8, n + 0.5, len(tokens) - n + 1.5))


@pytest.mark.parametrize("family", ["tags", "multinomial:presence", "text:presence,k=0.5"])
def test_tokens_that_are_there_or_not_are_betas(family):
    table = {"x": ["aa", "bb", "aa|cc", "aa|cc"], "y": ["p", "q", "q", "p"]}
    values = (
        table["x"]
        if family == "tags"
        else [x.split("|") if "multi" in family else x.replace("|", " ") for x in table["x"]]
    )
    rows = tb.fit(table | {"x": values}, label="y", families={"x": family}, smoothing=0.5).intervals(0.8).columns["x"]
    for row in rows:
        n = sum(row["token"] in x for x, y in zip(table["x"], table["y"], strict=True) if y == row["class"])
        assert ends(row) == pytest.approx(stats.beta.interval(0.8, n + 0.5, 2 - n + 0.5))


def test_shares_by_evidence_are_a_mixture_over_strengths():
    """The Beta of P(class | value) has the mean and variance of draws whose strength is drawn by its evidence first."""
    from tallybayes.families.shrinkage import STRENGTHS, Shares, beta_of_shares

    counts = np.array([[8.0, 2.0], [1.0, 4.0]])
    value, klass = np.nonzero(counts)
    shares = Shares(1, np.zeros(2, int), value, klass, counts[value, klass], counts.sum(axis=0)[None])
    log_evidence = np.array([shares.evidence(np.array([a]))[0] for a in STRENGTHS])
    rng = np.random.default_rng(0)
    weights = np.exp(log_evidence - log_evidence.max())
    a = rng.choice(STRENGTHS, 400_000, p=weights / weights.sum())
    alpha, total = beta_of_shares(shares, counts)
    for v in (0, 1):
        drawn = rng.beta(counts[v, 0] + a * 0.6, counts[v, 1] + a * 0.4)
        own = stats.beta(alpha[v, 0], total[v, 0] - alpha[v, 0])
        assert own.mean() == pytest.approx(drawn.mean(), abs=0.002)
        assert own.std() == pytest.approx(drawn.std(), rel=0.01)


def test_coverage_of_yes_and_no():
    """Of 1,000 probabilities drawn from the prior 90 % are inside; 4 standard errors are missed once in 15,000."""
    rng = np.random.default_rng(5)
    theta, y = rng.random((500, 2)), np.arange(60) % 2
    table = {f"x{j}": rng.random(60) < theta[j, y] for j in range(500)} | {"y": y}
    found = tb.fit(table, label="y", families=dict.fromkeys(list(table)[:-1], "bernoulli"), smoothing=1).intervals(0.9)
    inside = [
        low <= theta[int(name[1:]), row["class"]] <= high
        for name, rows in found.columns.items()
        for row in rows
        for low, high in [ends(row)]
    ]
    assert len(inside) == 1000
    assert np.mean(inside) == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 1000))


def test_coverage_of_means_and_standard_deviations():
    """Of 1,000 with 200 rows each 90 % are inside, give or take 4 standard errors and what the prior does."""
    rng = np.random.default_rng(6)
    y = np.arange(400) % 2
    table = {f"x{j}": rng.normal(2.0, 3.0, 400) for j in range(500)} | {"y": y}
    found = tb.fit(table, label="y", families=dict.fromkeys(list(table)[:-1], "gaussian")).intervals(0.9)
    for what, true in (("mean", 2.0), ("sd", 3.0)):
        inside = [
            row["low"] <= true <= row["high"]
            for rows in found.columns.values()
            for row in rows
            if row["parameter"] == what
        ]
        assert len(inside) == 1000
        assert np.mean(inside) == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 1000) + 0.01)


@pytest.mark.parametrize("smoothing", ["auto", 1.0])
def test_every_family_tells_intervals_that_are_nested(smoothing):
    model = tb.fit(mixed_frame(80), label="y", families=FAMILIES, smoothing=smoothing)
    wide, narrow, point = (model.intervals(level) for level in (0.95, 0.5, 0.0))
    assert set(wide.columns) == set(FAMILIES)
    for name, rows in wide.columns.items():
        if name == "note":  # a weight is no probability
            assert "low" not in rows[0]
            assert wide.notes[name].endswith("no intervals")
            continue
        for a, b, c in zip(rows, narrow.columns[name], point.columns[name], strict=True):
            assert a["low"] <= b["low"] <= c["low"] <= c["high"] * (1 + 1e-9) + 1e-9
            assert c["high"] <= b["high"] <= a["high"] or np.isclose(a["low"], a["high"])
            assert c["low"] == pytest.approx(c["high"], rel=1e-6, abs=1e-12)
    assert wide.classes[0]["low"] < wide.classes[0]["P(class)"] < wide.classes[0]["high"]
    assert json.dumps(wide.to_dict(), allow_nan=False)
    assert str(wide)


@pytest.mark.parametrize("name", FAMILIES)
def test_maximum_likelihood_has_no_posterior(name):
    frame = mixed_frame(30)
    model = tb.fit({name: frame[name], "y": frame["y"]}, label="y", families={name: FAMILIES[name]}, smoothing=0)
    with pytest.raises(UnsupportedError, match="no posterior"):
        model.predict_interval(frame)
    if name != "note":
        with pytest.raises(UnsupportedError, match="no posterior"):
            model.intervals()


def test_what_is_no_level_and_what_was_written_down():
    model = tb.fit({"x": [1, 0], "y": ["p", "q"]}, label="y")
    for level in (1.0, -0.1, "x", True, np.nan):
        with pytest.raises(ParameterError, match="level"):
            model.intervals(level)
        with pytest.raises(ParameterError, match="level"):
            model.predict_interval({"x": 1}, level)
    written = tb.from_probabilities({"p": 0.5, "q": 0.5}, {"x": {"p": 0.2, "q": 0.6}})
    for ask in (written.intervals, lambda: written.predict_interval({"x": 1})):
        with pytest.raises(UnsupportedError, match="given probabilities"):
            ask()


# Cumulants of log likelihoods, against simulation


def cumulants(log_p):
    """The mean of log P less the log of the mean of P, and the variance and third cumulant of log P."""
    centred = log_p - log_p.mean(axis=0)
    bias = log_p.mean(axis=0) - np.log(np.exp(log_p).mean(axis=0))
    return np.stack([bias, (centred**2).mean(axis=0), (centred**3).mean(axis=0)])


def cumulants_of(family: Family, column, probe, k):
    return family.derive(family.observe(("x",), [column], CODES, 2, None), k).log_cumulants([probe])


def test_yes_and_no_by_simulation():
    x, rng = np.tile([0, 1, 1], 7)[:20].astype(np.int8), np.random.default_rng(0)
    found = cumulants_of(Bernoulli(), Flags(x), Flags(np.array([0, 1, -1], np.int8)), 1.0)
    for c in (0, 1):
        own = x[c == CODES]
        p = rng.beta(own.sum() + 1, (1 - own).sum() + 1, 10**6)
        assert found[:, :2, c] == pytest.approx(cumulants(np.log(np.stack([1 - p, p], axis=1))), rel=0.05, abs=2e-3)
    assert not found[:, 2].any()


def test_a_density_by_simulation():
    rng = np.random.default_rng(1)
    x, probe = rng.normal(size=20) * 3 + 10, np.array([8.0, 10.0, 15.0, np.nan])
    found = cumulants_of(Gaussian(), Reals(x), Reals(probe), 1.0)
    for c in (0, 1):
        own, m = x[c == CODES], x.mean()
        n, kappa, nu = len(own), 3 + len(own), 5 + len(own)
        spread = 5 * x.var() + n * own.var() + 3 * n / kappa * (own.mean() - m) ** 2
        precision = rng.gamma(nu / 2, 2 / spread, 10**6)
        mean = rng.normal(m + n * (own.mean() - m) / kappa, 1 / np.sqrt(kappa * precision))
        log_p = stats.norm.logpdf(probe[:3], mean[:, None], 1 / np.sqrt(precision)[:, None])
        assert found[:, :3, c] == pytest.approx(cumulants(log_p), rel=0.05, abs=2e-3)
    assert not found[:, 3].any()


def test_events_by_simulation():
    rng = np.random.default_rng(2)
    x = rng.poisson(3.0, 20).astype(np.float64)
    found = cumulants_of(Poisson(), Reals(x), Reals(np.array([0.0, 3.0, 9.0])), 1.0)
    for c in (0, 1):
        own = x[c == CODES]
        rate = rng.gamma(1 + own.sum(), 1 / (1 / x.mean() + len(own)), 10**6)
        assert found[..., c] == pytest.approx(
            cumulants(stats.poisson.logpmf([0, 3, 9], rate[:, None])), rel=0.05, abs=2e-3
        )


def test_a_bag_by_simulation():
    """Tokens of one Dirichlet take from each other; the score is of the means of its tokens."""
    rng = np.random.default_rng(3)
    bag = Bag(np.array([0, 2, 3, 3]), np.array([0, 1, 1]), np.array([1.0, 2.0, 1.0]), ["a", "b"])
    tally = Multinomial().observe(("x",), [bag], np.array([0, 1, 1], np.int32), 2, None)
    found = Multinomial().derive(tally, 1.0).log_cumulants([bag])
    for c, alpha in ((0, [2.0, 3.0]), (1, [1.0, 2.0])):
        p = rng.dirichlet(alpha, 10**6)
        log_p = np.log(p) @ np.array([[1.0, 0.0], [2.0, 1.0]])
        told = cumulants(log_p)
        told[0] = log_p.mean(axis=0) - np.log(np.array(alpha) / sum(alpha)) @ np.array([[1.0, 0.0], [2.0, 1.0]])
        assert found[:, :2, c] == pytest.approx(told, rel=0.05, abs=5e-3)
    assert not found[:, 2].any()


@pytest.mark.parametrize("family", [Multinomial("presence"), Text("presence", k=0.5)], ids=str)
def test_a_set_by_simulation(family):
    rng = np.random.default_rng(4)
    bag = Bag(np.array([0, 2, 3, 3]), np.array([0, 1, 1]), None, ["aa", "bb"], np.array([True, True, False]))
    tally = family.observe(("x",), [bag], np.array([0, 1, 1], np.int32), 2, None)
    found = family.derive(tally, 0.5).log_cumulants([bag])
    for c, yes in ((0, [1, 1]), (1, [0, 1])):
        p = rng.beta(np.array(yes) + 0.5, 1.5 - np.array(yes), (10**6, 2))
        log_yes, log_no = np.log(p), np.log1p(-p)
        for row, log_p in ((0, log_yes.sum(axis=1)), (1, log_no[:, 0] + log_yes[:, 1])):
            assert found[:, row, c] == pytest.approx(cumulants(log_p), rel=0.05, abs=5e-3)
    assert not found[:, 2].any()


def test_the_mean_over_binnings_is_the_one_that_scores():
    rng = np.random.default_rng(3)
    from tallybayes.families.credible import beta_of_binnings

    counts = rng.integers(0, 5, (6, 3)).astype(np.float64) + np.array([0, 1, 0])
    alpha, total = beta_of_binnings(counts, 3.0, 0.1)
    p = counts.sum(axis=0) / counts.sum()
    assert alpha / total == pytest.approx(shares_at(counts, p, 3.0, 0.1))
    one_run, _ = beta_of_binnings(counts, 3.0, 1e-12)  # without cuts it is a plain Dirichlet
    assert one_run[0] == pytest.approx(counts.sum(axis=0) + 3.0 * p, rel=1e-6)
