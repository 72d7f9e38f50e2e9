"""A family written outside the package: it is checked, fitted, tuned, evaluated, reported and stored like ours."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.arrays.column import Column, Reals
from tallybayes.errors import DataError
from tallybayes.families.family import Family, Predictive
from tallybayes.families.registry import FAMILIES
from tallybayes.tally import Exact, Sums
from tallybayes.testing import check_family


@dataclass(frozen=True, eq=False)
class ExponentialPrior:
    """A Gamma prior of the rate: shape k, and the pooled mean of each column."""

    k: float
    mean: np.ndarray


@dataclass(frozen=True)
class Exponential(Family[Sums, ExponentialPrior]):
    """Waiting times: one rate per class, with the prior Gamma(k, k * pooled mean)."""

    name: ClassVar[str] = "exponential"
    column: ClassVar[type[Column]] = Reals
    takes_smoothing: ClassVar[bool] = True

    def observe(self, features, columns, codes, n_classes, weights):
        statistics = {}
        for what in ("n", "x"):
            parts = []
            for name, column in zip(features, columns, strict=True):
                x = column.values.astype(np.float64)
                there = np.flatnonzero(~np.isnan(x) & (codes >= 0))
                if (x[there] < 0).any() or np.isinf(x[there]).any():
                    raise DataError("a waiting time: a finite number from 0 on", column=name)
                values = np.ones(len(there)) if what == "n" else x[there]
                own = np.ones(len(there)) if weights is None else weights[there]
                parts.append(Exact.summed(values, codes[there].astype(np.int64), n_classes, weights=own))
            total = Exact.concatenate(parts) if parts else Exact.zeros(0)
            statistics[what] = total.reshaped(len(features), n_classes)
        return Sums(features, statistics, counts=("n",))

    def prior(self, tally, smoothing):
        n, x = (tally[name].sum(axis=1).floats() for name in ("n", "x"))
        return ExponentialPrior(1.0 if smoothing == "auto" else smoothing, x / np.where(n > 0, n, 1.0))

    def repooled(self, prior, tally):
        return self.prior(tally, prior.k)

    def predictive(self, tally, prior):
        n, x = tally["n"].floats(), tally["x"].floats()
        mean = np.where(prior.mean > 0, prior.mean, 1.0)[:, None]
        if np.isinf(prior.k):
            shape, rate = np.full(n.shape, np.inf), np.broadcast_to(mean, n.shape)
        else:
            shape, rate = prior.k + n, prior.k * mean + x
        return ExponentialPredictive(tally.features, tally.n_classes, shape, rate, n)

    def plug_in(self, tally):
        n, x = tally["n"].floats(), tally["x"].floats()
        mean = np.where((n > 0) & (x > 0), x / np.where(n > 0, n, 1.0), 1.0)
        return ExponentialPredictive(tally.features, tally.n_classes, np.full(n.shape, np.inf), mean, n)

    def evidence(self, tally, prior):
        from scipy.special import gammaln

        n, x = tally["n"].floats(), tally["x"].floats()
        mean = np.where(prior.mean > 0, prior.mean, 1.0)[:, None]
        if np.isinf(prior.k):
            return (-n * np.log(mean) - x / mean).sum(axis=1)
        a, b = prior.k, prior.k * mean
        return (a * np.log(b) - gammaln(a) + gammaln(a + n) - (a + n) * np.log(b + x)).sum(axis=1)

    def example(self, rng, n):
        return Reals(np.where(rng.random(n) < 0.2, np.nan, rng.exponential(3.0, n)))

    @classmethod
    def candidates(cls, values):
        return [cls()] if values.min() >= 0 else []


@dataclass(frozen=True, eq=False)
class ExponentialPredictive(Predictive):
    """The Lomax density, or the exponential density where the shape is infinite (then `rate` is the mean)."""

    features: tuple[str, ...]
    n_classes: int
    shape: np.ndarray
    rate: np.ndarray
    n: np.ndarray

    def bind(self, columns):
        def score(out, start, stop):
            for j, column in enumerate(columns):
                x = column.values[start:stop].astype(np.float64)[:, None]
                exact = np.isinf(self.shape[j])
                shape = np.where(exact, 1.0, self.shape[j])
                with np.errstate(invalid="ignore"):
                    lomax = np.log(shape / self.rate[j]) - (shape + 1) * np.log1p(x / self.rate[j])
                    log_p = np.where(exact, -np.log(self.rate[j]) - x / self.rate[j], lomax)
                out[start:stop] += np.where(np.isnan(x), 0.0, np.where(x < 0, 0.0, log_p))

        return score

    def part(self, number):
        rows = slice(number, number + 1)
        own = self.shape[rows], self.rate[rows], self.n[rows]
        return ExponentialPredictive(self.features[rows], self.n_classes, *own)

    def sample(self, rng, code, n):
        rate = self.rate[:, code] / np.where(np.isinf(self.shape[:, code]), 1.0, self.shape[:, code])
        return [rng.exponential(mean, n) for mean in rate]

    def table(self):
        return [
            {"column": name, "class": c, "mean": float(self.rate[j, c]), "rows": float(self.n[j, c])}
            for j, name in enumerate(self.features)
            for c in range(self.n_classes)
        ]


@pytest.fixture
def registered():
    """The family under its name, for the time of a test."""
    yield tb.register_family(Exponential)
    del FAMILIES[Exponential.name]


@pytest.fixture
def waits():
    """Waiting times of two classes, of which one waits five times as long, and a column that does not depend on it."""
    rng = np.random.default_rng(0)
    slow = rng.random(1500) < 0.4
    return {"wait": rng.exponential(np.where(slow, 5.0, 1.0)), "noise": rng.normal(size=1500), "slow": slow}


def test_it_obeys_every_law(registered):
    check_family(registered)


def test_it_is_fitted_by_its_name_and_evaluated(registered, waits):
    model = tb.fit(waits, "slow", families={"wait": "exponential"})
    assert model.schema.families["wait"] == Exponential()
    found = tb.cross_validate(waits, "slow", families={"wait": "exponential"}, folds=3)
    assert tb.evaluate(model, waits).accuracy > 0.65
    assert found.accuracy > 0.6


def test_tuning_finds_it_among_the_families_of_a_column_of_numbers(registered, waits):
    tuned = tb.tune(waits, "slow", what="families").model
    assert str(tuned.schema.families["wait"]) == "exponential"
    assert "exponential" not in str(tuned.schema.families["noise"])


@pytest.mark.slow
def test_tuning_chooses_its_smoothing(registered, waits):
    given = {"wait": "exponential", "noise": "gaussian"}
    assert "k" in str(tb.tune(waits, "slow", families=given, by="evidence"))
    assert "one k for all columns" in str(tb.tune(waits, "slow", families=given, what="smoothing"))


def test_its_importance_is_a_bayes_factor(registered, waits):
    model = tb.fit(waits, "slow", families={"wait": "exponential"})
    by_column = {own.column: own.log_factor for own in tb.importance(model, waits).columns}
    assert by_column["wait"] > 10


@pytest.mark.slow
def test_it_is_in_the_report(registered, waits):
    page = str(tb.report(tb.fit(waits, "slow", families={"wait": "exponential"}), waits))
    assert "exponential" in page


def test_it_is_stored(registered, waits, tmp_path):
    model = tb.fit(waits, "slow", families={"wait": "exponential"})
    model.save(tmp_path / "waits.tally")
    again = tb.load(tmp_path / "waits.tally")
    assert again == model
    assert np.array_equal(again.predict_proba(waits), model.predict_proba(waits))


def test_a_file_with_a_family_that_is_not_registered_is_refused(registered, waits, tmp_path):
    tb.fit(waits, "slow", families={"wait": "exponential"}).save(tmp_path / "waits.tally")
    del FAMILIES[Exponential.name]
    try:
        with pytest.raises(tb.errors.FileError, match="exponential"):
            tb.load(tmp_path / "waits.tally")
    finally:
        tb.register_family(Exponential)


def test_it_need_not_say_how_many_parameters_it_has_and_can_be_drawn_from():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 2000)
    table = {"x": rng.exponential(np.where(y == "a", 1.0, 4.0)), "z": rng.random(4000) < 0.5, "y": y}
    model = tb.fit(table, label="y", families={"x": Exponential()})
    assert model.n_parameters.columns == {"x": None, "z": 2}
    assert model.n_parameters.total is None
    assert str(model.describe()).endswith("free parameters: not known (class prior 1, x not known, z 2)")
    alone = tb.fit(table, label="y", families={"x": Exponential()}, only=["x"])
    border = np.log(4) / (3 / 4)  # where the densities exp(-x) and exp(-x / 4) / 4 are equal
    exact = (np.exp(-border) + 1 - np.exp(-border / 4)) / 2
    assert tb.bayes_error(alone).error == pytest.approx(exact, abs=0.02)
