"""Importance of columns: information and gain against refitted models, Bayes factors against integration."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import integrate, stats

import tallybayes as tb
from tallybayes.arrays.column import Cells, Codes, Flags, Reals, Vectors
from tallybayes.errors import DataError, ForgetError, ParameterError, UnsupportedError
from tallybayes.families import FAMILIES, Bernoulli, Categorical, Gaussian, Histogram, Multinomial, Poisson, Tags, Text

CODES = np.array([0] * 9 + [1] * 14, np.int32)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def log_factor(family, column, k):
    """The evidence of a family for dependence on the class, and for independence."""
    tally = family.observe(("x",), [column], CODES, 2, None)
    prior = family.prior(tally, k)
    return family.evidence(tally, prior)[0], family.independence(tally, prior)[0]


@pytest.mark.parametrize("k", [0.5, 1.0, 4.0])
def test_bernoulli_evidence_equals_an_integral_over_the_probability(rng, k):
    x = rng.integers(0, 2, len(CODES))

    def evidence(part):
        def likelihood(theta):
            return theta ** part.sum() * (1 - theta) ** (1 - part).sum() * stats.beta.pdf(theta, k, k)

        return np.log(integrate.quad(likelihood, 0, 1)[0])

    dependent, independent = log_factor(Bernoulli(), Flags(x.astype(np.int8)), k)
    assert dependent == pytest.approx(evidence(x[CODES == 0]) + evidence(x[CODES == 1]), rel=1e-6)
    assert independent == pytest.approx(evidence(x), rel=1e-6)


@pytest.mark.parametrize("k", [0.5, 1.0, 4.0])
def test_categorical_evidence_equals_the_dirichlet_multinomial(rng, k):
    x = rng.integers(0, 3, len(CODES))

    def evidence(part):
        counts = np.bincount(part, minlength=3)
        ways = stats.multinomial.logpmf(counts, counts.sum(), np.full(3, 1 / 3)) + counts.sum() * np.log(3)
        return stats.dirichlet_multinomial.logpmf(counts, np.full(3, k), counts.sum()) - ways

    dependent, independent = log_factor(Categorical(), Codes(x.astype(np.int32), ["a", "b", "c"]), k)
    assert dependent == pytest.approx(evidence(x[CODES == 0]) + evidence(x[CODES == 1]))
    assert independent == pytest.approx(evidence(x))


def test_gaussian_evidence_equals_an_integral_over_mean_and_variance(rng):
    x = rng.normal(size=len(CODES)) * 2 + 3
    centre, variance, kappa, nu = x.mean(), x.var(), 3.0, 5.0

    mean, precision = np.linspace(centre - 8, centre + 8, 801)[:, None], np.linspace(1e-4, 3.0, 1501)[None]
    log_prior = stats.gamma.logpdf(precision, nu / 2, scale=2 / (nu * variance))
    log_prior = log_prior + stats.norm.logpdf(mean, centre, 1 / np.sqrt(kappa * precision))

    def evidence(part):
        squares = ((part[:, None, None] - mean) ** 2).sum(axis=0)
        log_p = log_prior + len(part) / 2 * np.log(precision / (2 * np.pi)) - precision * squares / 2
        p = np.exp(log_p - log_p.max())
        return np.log(integrate.simpson(integrate.simpson(p, x=mean[:, 0], axis=0), x=precision[0])) + log_p.max()

    dependent, independent = log_factor(Gaussian(), Reals(x), 1.0)
    assert dependent == pytest.approx(evidence(x[CODES == 0]) + evidence(x[CODES == 1]), rel=1e-4)
    assert independent == pytest.approx(evidence(x), rel=1e-4)


def test_poisson_evidence_equals_an_integral_over_the_rate(rng):
    x = rng.poisson(3.0, len(CODES))

    def evidence(part):
        def likelihood(rate):
            return np.exp(stats.poisson.logpmf(part, rate).sum() + 2 * len(part)) * stats.expon.pdf(
                rate, scale=x.mean()
            )

        return np.log(integrate.quad(likelihood, 0, 30, points=[3])[0]) - 2 * len(part)

    dependent, independent = log_factor(Poisson(), Reals(x.astype(np.float64)), 1.0)
    assert dependent == pytest.approx(evidence(x[CODES == 0]) + evidence(x[CODES == 1]), rel=1e-6)
    assert independent == pytest.approx(evidence(x), rel=1e-6)


@pytest.mark.parametrize("family", [Bernoulli(), Categorical(), Histogram()], ids=str)
def test_independence_with_auto_smoothing_is_the_likelihood_of_the_class_shares(rng, family):
    """With smoothing "auto" both hypotheses are about the classes given the values."""
    column = family.example(rng, len(CODES))
    there = (
        ~np.isnan(column.values)
        if isinstance(column, Reals)
        else getattr(column, "values", getattr(column, "codes", 0)) >= 0
    )
    n = np.bincount(CODES[there], minlength=2)
    _, independent = log_factor(family, column, "auto")
    assert independent == pytest.approx((n * np.log(n / n.sum())).sum())


@pytest.mark.parametrize(
    "family", [Multinomial(), Multinomial("presence"), Tags(), Text("counts", "count", 1.0)], ids=str
)
def test_with_one_class_both_hypotheses_have_the_same_evidence(rng, family):
    column = family.example(rng, 20)
    tally = family.observe(("x",), [column], np.zeros(20, np.int32), 1, None)
    prior = family.prior(tally, 1.0)
    assert family.independence(tally, prior) == pytest.approx(family.evidence(tally, prior))


@pytest.mark.parametrize(
    "family", [Multinomial("complement"), Text("complement"), Text("counts", "log"), Text()], ids=str
)
def test_families_that_are_not_likelihoods_have_no_bayes_factor(rng, family):
    tally = family.observe(("x",), [family.example(rng, 20)], np.arange(20, dtype=np.int32) % 2, 2, None)
    with pytest.raises(UnsupportedError):
        family.independence(tally, family.prior(tally, 1.0))


def table_of(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["p", "q", "r"], n, p=[0.5, 0.3, 0.2])
    code = np.searchsorted(["p", "q", "r"], y)
    return {
        "flag": (rng.random(n) < 0.2 + 0.3 * code).tolist(),
        "kind": np.where(rng.random(n) < 0.6, y, "p").tolist(),
        "real": [None if i % 9 == 0 else v for i, v in enumerate((rng.normal(size=n) + code).tolist())],
        "events": rng.poisson(2 + code).tolist(),
        "noise": rng.choice(list("abc"), n).tolist(),
        "coin": (rng.random(n) < 0.5).tolist(),
        "y": y.tolist(),
    }


def test_gain_is_the_leave_one_out_log_loss_of_the_model_without_the_column():
    table = table_of()
    model = tb.fit(
        table, label="y", families={"real": "gaussian"}, column_weights=None, smoothing=1.0, numeric="gaussian"
    )

    def log_loss(model):
        codes = np.searchsorted(model.classes, table["y"])
        return -model.leave_one_out(table)[np.arange(len(codes)), codes].mean()

    found = tb.importance(model, table)
    assert found.log_loss == pytest.approx(log_loss(model), rel=1e-9)
    assert found.n_rows == len(table["y"])
    for one in found.columns:
        rest = {name: values for name, values in table.items() if name != one.column}
        without = tb.fit(
            rest,
            label="y",
            families={"real": "gaussian"} if "real" in rest else None,
            column_weights=None,
            smoothing=1.0,
            numeric="gaussian",
        )
        assert one.gain == pytest.approx(log_loss(without) - log_loss(model), abs=1e-9)
        family = {one.column: model.schema.families[one.column]}
        alone = tb.fit(
            {one.column: table[one.column], "y": table["y"]},
            label="y",
            families=family,
            column_weights=None,
            smoothing=1.0,
            numeric="gaussian",
        )
        assert one.information == pytest.approx(found.entropy - log_loss(alone), abs=1e-9)
    assert [one.gain for one in found.columns] == sorted((one.gain for one in found.columns), reverse=True)


def test_gain_includes_the_column_weights_and_the_calibration():
    table = table_of()
    model = tb.fit(table, label="y", column_weights=None, smoothing=1.0, numeric="gaussian")
    model.column_weights = tb.ColumnWeights(
        {"kind": 0.4, "real": {"p": 1.0, "q": 0.2, "r": 0.8}, "flag": 0.0}, {"p": 0.3}
    )
    model.calibrate(table)
    codes = np.searchsorted(model.classes, table["y"])
    found = tb.importance(model, table)
    assert found.log_loss == pytest.approx(-model.leave_one_out(table)[np.arange(len(codes)), codes].mean(), rel=1e-9)
    gain = {one.column: one.gain for one in found.columns}
    assert gain["flag"] == 0
    weights = dict(model.column_weights.weights) | {"kind": 0.0}
    model.column_weights = tb.ColumnWeights(weights, model.column_weights.offsets)
    log_loss = -model.leave_one_out(table)[np.arange(len(codes)), codes].mean()
    assert gain["kind"] == pytest.approx(log_loss - found.log_loss, abs=1e-9)


def test_noise_has_no_importance_and_bayes_factors_below_one():
    """In ten tables the columns of noise have the least information, and mostly negative decibans."""
    factors = []
    for seed in range(10):
        table = table_of(seed=seed)
        noise = {one.column: one for one in tb.importance(tb.fit(table, label="y", column_weights=None), table).columns}
        real = [noise.pop(name) for name in ("flag", "kind", "real", "events")]
        assert min(one.information for one in real) > max(one.information for one in noise.values())
        assert all(abs(one.information) < 0.02 for one in noise.values())
        assert all(one.decibans > 10 for one in real)
        factors += [one.decibans for one in noise.values()]
    assert max(factors) < 20  # odds of a hundred to one: by chance in less than one of a hundred columns
    assert np.mean(np.array(factors) < 0) > 0.8


def test_the_sample_of_rows_is_the_same_for_a_table_and_a_file(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    table = table_of(2000)
    path = str(tmp_path / "table.parquet")
    pyarrow.parquet.write_table(pa.table(table), path)
    model = tb.fit(table, label="y", column_weights=None)
    some, same = tb.importance(model, table, rows=200), tb.importance(model, path, rows=200)
    assert some.to_dict() == same.to_dict()
    assert some.n_rows == 200
    assert tb.importance(model, table, rows=200, seed=1).log_loss != some.log_loss
    assert tb.importance(model, table).columns[0].column == some.columns[0].column
    assert tb.importance(model, table).columns[0].log_factor == some.columns[0].log_factor  # from the sums of all rows


def test_label_and_weight_can_be_arrays():
    table = table_of()
    y, w = table.pop("y"), np.tile([1.0, 2.0], 200)
    model = tb.fit(table, label=y, sample_weight=w, column_weights=None, smoothing=1.0, numeric="gaussian")
    found = tb.importance(model, table, label=y, sample_weight=w)
    codes = np.searchsorted(model.classes, y)
    losses = -model.leave_one_out(table, label=y, sample_weight=w)[np.arange(len(codes)), codes]
    assert found.log_loss == pytest.approx((losses * w).sum() / w.sum(), rel=1e-9)


def test_columns_of_every_family_have_an_importance():
    rng = np.random.default_rng(3)
    y = np.arange(60) % 2
    # of derived columns see model/test_dependence.py and model/test_joint_columns.py
    derived = [name for name, family in FAMILIES.items() if family.column in (Cells, Vectors)]
    families = [parse for parse in FAMILIES if parse not in ("text", "tags", "multinomial", *derived)]
    numbers = {name: rng.integers(0, 2, 60).tolist() for name in families}
    texts = {
        "text": ["cash prize", "lunch time"] * 30,
        "tags": ["a|b", "b|c"] * 30,
        "multinomial": [["a"], ["b", "b"]] * 30,
    }
    table = numbers | texts | {"y": y}
    own = {name: name for name in (*families, *texts)}
    for smoothing in ("auto", 0, 1.0, np.inf):
        found = tb.importance(tb.fit(table, label="y", families=own, smoothing=smoothing, column_weights=None), table)
        assert {one.column for one in found.columns} == set(own)
        assert all(np.isfinite([one.gain, one.information, one.log_factor or 0.0]).all() for one in found.columns)
        assert json.dumps(found.to_dict(), allow_nan=False)


def test_invalid_data_and_arguments_are_refused():
    table = table_of(40)
    model = tb.fit(table, label="y", column_weights=None)
    for wrong, error in (
        ({"rows": 3}, ParameterError),
        ({"rows": True}, ParameterError),
        ({"label": "kind"}, ForgetError),
    ):
        with pytest.raises(error):
            tb.importance(model, table, **wrong)
    with pytest.raises(ForgetError):
        tb.importance(model, table | {"kind": ["never"] * 40})
    with pytest.raises(ParameterError, match="more than once"):
        tb.importance(model, iter([table]))
    with pytest.raises(DataError, match="two classes"):
        tb.importance(tb.fit({"x": [1, 2], "y": ["p", "p"]}, label="y", column_weights=None), {"x": [1], "y": ["p"]})


@pytest.mark.slow
def test_the_command_prints_a_table_or_json(tmp_path):
    import pyarrow as pa
    import pyarrow.csv

    table, path, file = table_of(), str(tmp_path / "table.csv"), str(tmp_path / "model.tally")
    pyarrow.csv.write_csv(pa.table(table), path)
    model = tb.fit(path, label="y", column_weights=None)
    model.save(file)

    def run(*options):
        command = [sys.executable, "-m", "tallybayes.cli.main", "importance", file, path, *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert run() == f"{tb.importance(model, path)}\n"
    assert (
        json.loads(run("--json", "--rows", "50", "--seed", "3"))
        == tb.importance(model, path, rows=50, seed=3).to_dict()
    )
