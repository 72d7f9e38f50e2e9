"""The Bayes error of a model is that of brute force, of numerical integration and of the formula."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import tallybayes as tb
from command_line import fine
from tables import FAMILIES, LABEL, mixed_frame
from tallybayes.errors import ParameterError, UnsupportedError

share = st.integers(0, 5)


def shares(n):
    """Probabilities of n values as fractions."""
    return st.lists(share, min_size=n, max_size=n).filter(any).map(lambda x: [Fraction(i, sum(x)) for i in x])


@st.composite
def small_models(draw):
    """A class prior and tables of P(value | class) in fractions."""
    n_classes, sizes = draw(st.integers(1, 4)), draw(st.lists(st.integers(1, 3), max_size=3))
    return draw(shares(n_classes)), [[draw(shares(size)) for _ in range(n_classes)] for size in sizes]


def brute_force(prior, tables):
    right = Fraction(0)
    for values in itertools.product(*(range(len(table[0])) for table in tables)):
        joint = [
            p * math.prod((table[c][v] for table, v in zip(tables, values, strict=True)), start=Fraction(1))
            for c, p in enumerate(prior)
        ]
        right += max(joint)
    return float(1 - right)


def given_model(prior, tables):
    return tb.from_probabilities(
        {f"c{i}": float(p) for i, p in enumerate(prior)},
        {
            f"x{j}": {f"c{c}": {f"v{v}": float(p) for v, p in enumerate(row)} for c, row in enumerate(table)}
            for j, table in enumerate(tables)
        },
    )


@given(small_models())
def test_enumeration_is_brute_force(small):
    prior, tables = small
    found = tb.bayes_error(given_model(prior, tables))
    assert found.is_exact
    assert found.error == pytest.approx(brute_force(prior, tables), abs=1e-12)
    assert found.n_combinations == math.prod(len(table[0]) for table in tables)
    assert found.low == found.high == found.error
    assert found.prior_error == pytest.approx(float(1 - max(prior)))
    assert -1e-15 <= found.error <= found.prior_error + 1e-12


@settings(deadline=None, max_examples=20)
@given(small_models())
def test_sampling_agrees_with_enumeration(small):
    model = given_model(*small)
    exact = tb.bayes_error(model)
    drawn = tb.bayes_error(model, method="sampling", rows=2000, level=1 - 1e-6)
    assert not drawn.is_exact
    assert drawn.n_rows == 2000
    assert drawn.low - 1e-9 <= exact.error <= drawn.high + 1e-9


@pytest.mark.parametrize(
    "options",
    [
        {"smoothing": 1},
        {},
        {"estimate": "mle"},
        {"class_weight": "balanced", "column_weights": {"size": 0.2}, "class_prior": "uniform"},
    ],
    ids=str,
)
def test_the_model_itself_is_as_good_as_the_best_classifier(options):
    """The sum over all rows of P(row) times what the plain model leaves to other classes, row by row."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    table = {"y": np.array(["a", "b", "c"])[y], "flag": rng.random(300) < 0.2 + 0.3 * y}
    table["size"] = np.array(["S", "M", "L"])[np.clip(y + rng.integers(-1, 2, 300), 0, 2)]
    table["n"] = rng.poisson(1 + y)
    table["colour"] = rng.choice(["red", "blue"], 300)
    families = {"size": "ordinal:S<M<L", "n": "histogram", "colour": "categorical", "flag": "bernoulli"}
    model = tb.fit(table, label="y", families=families, **options)
    cells = [{False, True}, {"S", "M", "L"}, sorted(set(table["n"].tolist())), {"red", "blue"}]
    every = itertools.product(*cells)
    rows = [dict(zip(("flag", "size", "n", "colour"), row, strict=True)) for row in every]
    joint = np.exp(model.log_joint(rows))
    assert joint.sum() == pytest.approx(1)
    found = tb.bayes_error(model)
    assert found.is_exact
    assert found.error == pytest.approx(1 - joint.max(axis=1).sum(), abs=1e-12)
    drawn = tb.bayes_error(model, method="sampling", rows=20_000, level=1 - 1e-6)
    assert drawn.low <= found.error <= drawn.high


@pytest.mark.parametrize("options", [{"estimate": "mle"}, {}, {"families": {"x": "gaussian:shared=True"}}], ids=str)
def test_a_column_of_numbers_is_numerical_integration(options):
    rng = np.random.default_rng(1)
    y = rng.random(60) < 0.3
    model = tb.fit({"x": rng.normal(y * 1.5, 1 + y), "y": y}, label="y", **{"numeric": "gaussian"} | options)

    def left(x):
        return float(np.exp(np.sort(model.log_joint({"x": [x]})[0])[0]))

    # by the substitution x = tan(t) over the whole line; the best class changes at kinks
    area, _ = integrate.quad(
        lambda t: left(math.tan(t)) / math.cos(t) ** 2, -math.pi / 2 + 1e-9, math.pi / 2 - 1e-9, limit=500
    )
    found = tb.bayes_error(model, rows=40_000, level=1 - 1e-6)
    assert not found.is_exact
    assert found.low <= area <= found.high
    assert found.high - found.low < 0.02


@pytest.mark.parametrize("distance", [0.5, 1.0, 2.0, 4.0])
def test_two_normal_distributions_have_the_known_error(distance):
    """Phi(-d / 2), from columns whose mean and variance are exactly those."""
    x = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)
    x /= x.std()
    table = {"x": np.concatenate([x, x + distance]), "y": np.repeat(["p", "q"], 2000)}
    model = tb.fit(table, label="y", numeric="gaussian", estimate="mle")
    found = tb.bayes_error(model, rows=100_000, level=1 - 1e-6)
    assert found.low <= stats.norm.cdf(-distance / 2) <= found.high


def test_the_interval_covers_as_often_as_it_says():
    tables = [[[Fraction(i + c, 6 + 4 * c) for i in range(4)] for c in range(2)] for _ in range(3)]
    model = given_model([Fraction(1, 2)] * 2, tables)
    exact = tb.bayes_error(model).error
    found = [tb.bayes_error(model, method="sampling", rows=400, seed=seed, level=0.9) for seed in range(300)]
    covered = sum(one.low <= exact <= one.high for one in found)
    assert stats.binom.cdf(covered, 300, 0.9) > 1e-3
    assert stats.binom.sf(covered, 300, 0.9) > 1e-3
    assert len({one.error for one in found}) > 290
    assert tb.bayes_error(model, method="sampling", rows=400, seed=7) == tb.bayes_error(
        model, method="sampling", rows=400, seed=7
    )


def test_averaging_losses_varies_less_than_counting_errors():
    model = given_model(
        [Fraction(1, 2)] * 2, [[[Fraction(4, 5), Fraction(1, 5)], [Fraction(1, 5), Fraction(4, 5)]]] * 3
    )
    error = tb.bayes_error(model).error
    drawn = [tb.bayes_error(model, method="sampling", rows=500, seed=seed).error for seed in range(60)]
    assert np.mean(np.square(np.subtract(drawn, error))) < error * (1 - error) / 500 / 2


def test_every_family_with_a_likelihood_can_be_drawn_from():
    table, families = mixed_frame(300), FAMILIES | {"note": "text:counts,tf=count,k=0.5"}
    model = tb.fit(table, label=LABEL, families=families, smoothing=1)
    whole = tb.bayes_error(model, rows=4000)
    for name in families:
        some = tb.fit({name: table[name], LABEL: table[LABEL]}, label=LABEL, families={name: families[name]})
        found = tb.bayes_error(some, rows=2000, level=1 - 1e-6)
        assert 0 <= found.low <= found.error <= found.prior_error + 0.02
        assert whole.low < found.high, name  # more columns never hurt the best classifier


@pytest.mark.parametrize("family", ["multinomial", "multinomial:presence", "tags", "text:counts,tf=count,k=1"])
def test_bags_have_the_error_of_their_tokens(family):
    """Two tokens and bags of two lengths: summed over all bags, whatever the class says about lengths."""
    rng = np.random.default_rng(0)
    bags = [["aa"] * int(k) + ["bb"] * int(n - k) for n in (1, 2) for k in rng.integers(0, n + 1, 30)]
    label = ["p" if len(bag) == 2 or "aa" in bag else "q" for bag in bags]
    if family.startswith(("tags", "multinomial:presence")):
        bags = [sorted(set(bag)) for bag in bags]
    x = [" ".join(bag) for bag in bags] if family.startswith("text") else bags
    model = tb.fit({"x": x, "y": label}, label="y", families={"x": family}, smoothing=1, column_weights=None)

    def joint(bag):
        return np.exp(model.log_joint([{"x": " ".join(bag) if family.startswith("text") else bag}])[0])

    if "presence" in family or family == "tags":
        error = sum(np.sort(joint(bag))[0] for bag in ([], ["aa"], ["bb"], ["aa", "bb"]))
    else:
        of_one, of_two = (
            sum(math.comb(n, k) * np.sort(joint(["aa"] * k + ["bb"] * (n - k)))[0] for k in range(n + 1))
            for n in (1, 2)
        )
        error = np.mean([of_one, of_two])  # as many bags of each length
    found = tb.bayes_error(model, rows=40_000, level=1 - 1e-6)
    assert found.low <= error <= found.high


def test_joint_gaussians_and_words_among_numbers(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.5
    height = rng.normal(170 + 10 * y, 7)
    table = {"height": height, "weight": height + rng.normal(0, 3, 400), "y": y}
    naive, joint = (tb.fit(table, label="y", numeric="gaussian", dependence=d) for d in ("none", "gaussian"))
    assert tb.bayes_error(naive, rows=4000).error < tb.bayes_error(joint, rows=4000).error  # it counts height twice
    cells = ["unlimited" if u else f"{x:.0f}" for u, x in zip(rng.random(400) < 0.3, height, strict=True)]
    path = tmp_path / "limits.csv"
    path.write_text("limit,y\n" + "".join(f"{cell},{label}\n" for cell, label in zip(cells, y, strict=True)))
    model, numbers = (tb.fit(path, label="y", ignore=ignore) for ignore in ([], ["limit.word"]))
    assert model.schema.divided == {"limit"}
    found, of_numbers = tb.bayes_error(model, rows=20_000), tb.bayes_error(numbers, method="sampling", rows=20_000)
    assert found.low > of_numbers.high + 0.02  # three cells in ten say nothing about the height


def test_what_has_no_answer_is_refused():
    with pytest.raises(UnsupportedError, match=r"complement.*not likelihoods"):
        tb.bayes_error(tb.fit({"t": ["aa bb", "cc"], "y": [0, 1]}, label="y", families={"t": "text:complement"}))
    logs = tb.fit({"t": ["aa bb", "cc"], "y": [0, 1]}, label="y", families={"t": "text:counts,tf=log"})
    with pytest.raises(UnsupportedError, match=r"'t': expected tokens .*(?s:.)hint: fit with text:counts,tf=count"):
        tb.bayes_error(logs)
    gap = tb.fit({"x": ["a", "b", None], "y": ["p", "p", "q"]}, label="y", estimate="mle")
    with pytest.raises(UnsupportedError, match="'x': expected values in every class, got none in class 'q'"):
        tb.bayes_error(gap)
    assert tb.bayes_error(gap.with_settings(class_prior={"p": 1.0, "q": 0.0})).error == 0
    numbers = tb.fit({"x": [1.0, 2.0], "y": [0, 1]}, label="y", numeric="gaussian")
    with pytest.raises(UnsupportedError, match=r"'x': .*without a list of its values"):
        tb.bayes_error(numbers, method="enumeration")
    wide = tb.from_probabilities({"a": 0.5, "b": 0.5}, {f"x{i}": {"a": 0.5, "b": 0.4} for i in range(21)})
    with pytest.raises(UnsupportedError, match="got 2,097,152"):
        tb.bayes_error(wide, method="enumeration")
    assert tb.bayes_error(wide, rows=100).n_rows == 100
    for wrong in ({"method": "guess"}, {"rows": 1}, {"rows": 2.5}, {"seed": -1}, {"level": 1}):
        with pytest.raises(ParameterError):
            tb.bayes_error(numbers, **wrong)
    with pytest.raises(ParameterError, match="a model"):
        tb.bayes_error({"x": 1})
    with pytest.raises(tb.errors.DataError, match="not learned any row"):
        tb.bayes_error(tb.fit({"x": [], "y": []}, label="y"))


def test_models_at_the_edge():
    one = tb.bayes_error(tb.fit({"x": ["a", "b"], "y": ["p", "p"]}, label="y"))
    assert (one.error, one.n_combinations) == (0, 2)
    none = tb.bayes_error(tb.from_probabilities({"a": 0.3, "b": 0.7}, {}))
    assert (none.error, none.n_combinations, none.prior_error) == (pytest.approx(0.3), 1, pytest.approx(0.3))
    tiny = tb.from_probabilities({"a": 1 - 1e-12, "b": 1e-12}, {"x": {"a": 0.5, "b": 0.5}})
    assert tb.bayes_error(tiny).error == pytest.approx(1e-12, rel=1e-12)  # no digits are lost to 1 - ...
    evidence = tb.fit({"x": ["a", "b", None] * 9, "y": [0, 1, 0] * 9}, label="y", missing_as_value=True, smoothing=1)
    assert tb.bayes_error(evidence) == tb.bayes_error(evidence.with_settings(missing_as_value=False))


@pytest.mark.slow
def test_the_command_prints_the_same(tmp_path):
    model = tb.from_probabilities({"a": 0.3, "b": 0.7}, {"x": {"a": 0.9, "b": 0.2}})
    path = tmp_path / "m.tally"
    model.save(path)
    assert fine("bayes-error", path, cwd=tmp_path).rstrip("\n") == str(tb.bayes_error(model))
    options = ["--json", "--method", "sampling", "--rows", "500", "--seed", "3"]
    facts = json.loads(fine("bayes-error", path, *options, cwd=tmp_path))
    assert facts == tb.bayes_error(model, method="sampling", rows=500, seed=3).to_dict()
