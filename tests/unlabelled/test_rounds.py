"""The rounds of expectation-maximisation, against an implementation in plain NumPy, scikit-learn, and their laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.mixture import GaussianMixture

from tallybayes.arrays.column import Codes, Flags, Reals
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.schema import Schema
from tallybayes.families import FAMILIES, Family, Gaussian, Text, parse
from tallybayes.scoring.scorer import Scorer
from tallybayes.state.settings import Settings
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.unlabelled import rounds
from tallybayes.unlabelled.round_columns import RoundColumns
from tallybayes.unlabelled.rounds import EncodedRows, run_rounds
from tallybayes.unlabelled.soft_counts import count_shares, round_shares

CLASSES = ["p", "q"]
KINDS = ["bernoulli", "categorical", "multinomial", "tags", "text", "histogram"]
NOTHING = SufficientStatistics.empty


def forms(families, columns, **options):
    schema = Schema("y", {name: ColumnSpec(name, family, "") for name, family in families.items()})
    return RoundColumns.of(schema, Settings(**options), [(columns, None)])


def random_rows(rng, n, kinds):
    """Columns of some kinds with missing values, and codes of which many are -1."""
    codes = np.where(rng.random(n) < 0.3, rng.integers(0, 2, n), -1).astype(np.int32)
    codes[:2] = [0, 1]
    hidden = np.where(codes >= 0, codes, rng.integers(0, 2, n))
    columns = {}
    for number, kind in enumerate(kinds):
        missing = rng.random(n) < 0.1
        if kind == "bernoulli":
            columns[f"{kind}{number}"] = Flags(
                np.where(missing, -1, rng.random(n) < 0.3 + 0.3 * hidden).astype(np.int8)
            )
        elif kind == "categorical":
            values = np.where(missing, -1, rng.integers(0, 2, n) + hidden)
            columns[f"{kind}{number}"] = Codes(values.astype(np.int32), ["a", "b", "c"])
        elif kind in ("multinomial", "tags", "text"):
            columns[f"{kind}{number}"] = parse(kind).example(rng, n)
        else:
            columns[f"{kind}{number}"] = Reals(np.where(missing, np.nan, rng.normal(size=n) + hidden))
    return EncodedRows(columns, codes)


def labelled_sums(columns, rows, classes=CLASSES):
    at = np.flatnonzero(rows.codes >= 0)
    part = rows.take(at)
    return count_shares(part.columns, np.eye(len(classes))[part.codes], part.weights, classes, columns.schema)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kinds=st.lists(
        st.sampled_from(["bernoulli", "categorical", "multinomial", "tags", "text", "histogram"]),
        min_size=1,
        max_size=3,
    ),
    n=st.integers(6, 40),
    weight=st.sampled_from([1.0, 0.25, 2.0]),
    k=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_no_round_lowers_the_penalised_objective(seed, kinds, n, weight, k):
    rows = random_rows(np.random.default_rng(seed), n, kinds)
    families = {name: parse(name.rstrip("0123456789")) for name in rows.columns}
    families = {name: Text("counts", k=k) if isinstance(family, Text) else family for name, family in families.items()}
    columns = forms(families, rows.columns, smoothing=k, class_smoothing=1.0)
    rows = EncodedRows({name: columns._cut(name, column) for name, column in rows.columns.items()}, rows.codes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "_ROUNDING", np.inf)  # rounds that lower it are not dropped
        patch.setattr(rounds, "_ENOUGH", -np.inf)
        division = run_rounds(columns, labelled_sums(columns, rows), lambda: [rows], CLASSES, weight=weight, most=8)
    if np.isfinite(division.objective).all():
        assert len(division.objective) == 7
        assert (np.diff(division.objective) >= -1e-5 * len(rows)).all(), division.objective


def test_it_is_the_algorithm_of_the_books():
    rng = np.random.default_rng(0)
    rows = random_rows(rng, 60, ["bernoulli", "bernoulli", "bernoulli"])
    x = np.stack([column.values.astype(float) for column in rows.columns.values()], axis=1)
    there, known = x >= 0, rows.codes >= 0
    shares = np.where(known[:, None], np.eye(2)[rows.codes], 0.0)
    for _ in range(500):  # Laplace's k = 1 for the columns, 1 row for each class
        yes = (shares[:, :, None] * (there & (x == 1))[:, None]).sum(axis=0) + 1
        seen = (shares[:, :, None] * there[:, None]).sum(axis=0) + 2
        log_yes, log_no = np.log(yes / seen), np.log(1 - yes / seen)
        log_prior = np.log((shares.sum(axis=0) + 1) / (shares.sum() + 2))
        joint = log_prior + np.where(there[:, None], np.where(x[:, None] == 1, log_yes[None], log_no[None]), 0.0).sum(
            axis=2
        )
        proba = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
        shares = np.where(known[:, None], np.eye(2)[rows.codes], proba)
    columns = forms({name: parse("bernoulli") for name in rows.columns}, rows.columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "_ENOUGH", 1e-12)
        division = run_rounds(columns, labelled_sums(columns, rows), lambda: [rows], CLASSES, weight=1.0)
    found = division.shares(rows.columns, len(rows), CLASSES, 1.0)
    assert np.abs(found[~known] - shares[~known]).max() < 1e-4


def test_likelihoods_are_those_of_a_gaussian_mixture_from_equal_starts():
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(3, 2)) * 3
    x = np.concatenate([rng.normal(centre, [1.0, 0.5], (200, 2)) for centre in centres])
    start = x[rng.permutation(len(x))[:30]]
    start_codes = np.arange(30, dtype=np.int32) % 3
    names, classes = ("a", "b"), ["k0", "k1", "k2"]
    encode = lambda values, codes: EncodedRows({n: Reals(values[:, j]) for j, n in enumerate(names)}, codes)  # noqa: E731
    rows = encode(x, np.full(len(x), -1, np.int32))
    columns = forms(dict.fromkeys(names, Gaussian()), rows.columns, estimate="mle", class_smoothing=0.0)
    seeds = encode(start, start_codes)
    scorer = Scorer.of(columns.state(labelled_sums(columns, seeds, classes)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "_ENOUGH", -np.inf)
        division = run_rounds(columns, NOTHING(), lambda: [rows], classes, weight=1.0, start=scorer, most=12)
    means = np.array([start[start_codes == c].mean(axis=0) for c in range(3)])
    variances = np.array([start[start_codes == c].var(axis=0) for c in range(3)])
    for n_rounds in (2, 5, 11):
        mixture = GaussianMixture(
            3, covariance_type="diag", reg_covar=0, tol=0, max_iter=n_rounds, n_init=1,
            weights_init=np.full(3, 1 / 3), means_init=means, precisions_init=1 / variances,
        )  # fmt: skip
        with pytest.warns(UserWarning, match="converge"):
            mixture.fit(x)
        assert division.objective[n_rounds - 1] == pytest.approx(mixture.score(x) * len(x), rel=1e-6)


def test_a_round_that_lowers_the_objective_is_not_used():
    rows = random_rows(np.random.default_rng(3), 30, ["bernoulli", "categorical"])
    columns = forms({name: parse(name.rstrip("0123456789")) for name in rows.columns}, rows.columns)
    values = iter([5.0, 6.0, 4.0, 9.0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds, "_log_penalty", lambda *_: 1e6 * next(values))
        division = run_rounds(columns, labelled_sums(columns, rows), lambda: [rows], CLASSES, weight=1.0)
    assert len(division.objective) == 2


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(0, 30), name=st.sampled_from(sorted(FAMILIES)))
def test_shares_are_counted_as_rows_with_weights(seed, n, name):
    rng = np.random.default_rng(seed)
    family = FAMILIES[name]()
    column = family.example(rng, n)
    shares = round_shares(rng.dirichlet([0.3] * 3, n)) if n else np.zeros((0, 3))
    fast = family.observe_shares(("x",), [column], shares)
    assert fast.same(Family.observe_shares(family, ("x",), [column], shares))


@given(st.integers(0, 10**6), st.sampled_from([1.0, 0.3, 0.01, 7.5]))
def test_rounded_shares_add_up_to_the_weight(seed, weight):
    shares = round_shares(np.random.default_rng(seed).dirichlet([0.2] * 4, 20), weight)
    assert (shares >= 0).all()
    assert len(set(shares.sum(axis=1))) == 1
    assert shares.sum(axis=1)[0] == pytest.approx(weight, abs=1e-6)


def test_cells_of_numbers_have_about_as_many_rows_each():
    values = np.concatenate([np.random.default_rng(0).permutation(1000.0 * np.arange(1000)), [np.nan] * 9])
    columns = forms({"x": parse("histogram")}, {"x": Reals(values)})
    assert np.bincount(columns._cut("x", Reals(values[:1000])).codes).tolist() == [100] * 10
    constant = forms({"x": parse("histogram")}, {"x": Reals(np.full(5, 7.0))})
    assert constant.cuts["x"].n_cells == 1
