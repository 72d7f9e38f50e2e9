"""The number of free parameters of every family, counted by hand, and as the dimension of what can be sampled."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from command_line import fine
from tallybayes.arrays.column import Cells, Codes, Flags, Reals, Vectors
from tallybayes.families import FAMILIES

RNG = np.random.default_rng(0)
Y = np.repeat(["a", "b", "c"], 20)
WORDS = ["aa", "bb", "cc", "dd", "ee"]


def fitted(values, family=None, **options):
    families = None if family is None else {"x": family}
    return tb.fit({"x": list(values), "y": Y}, label="y", families=families, column_weights=None, **options)


def of_column(values, family, **options):
    counts = fitted(values, family, **options).n_parameters
    assert counts.class_prior == 2
    assert counts.total == 2 + counts.columns["x"]
    return counts.columns["x"]


@pytest.mark.parametrize("options", [{}, {"smoothing": 1}, {"estimate": "mle"}], ids=str)
def test_the_number_by_family(options):
    numbers, bags = RNG.normal(size=60), [list(RNG.choice(WORDS, 3, replace=False)) for _ in range(60)]
    texts = [" ".join(bag) for bag in bags]
    assert of_column(RNG.random(60) < 0.5, "bernoulli", **options) == 3
    assert of_column(np.tile(["S", "M", "L", "XL"], 15), "categorical", **options) == 3 * 3
    assert of_column(numbers, "gaussian", **options) == 3 * 2
    assert of_column(numbers, "gaussian:shared=True", **options) == 3 + 1
    assert of_column(np.abs(numbers), "gaussian:log=True", **options) == 3 * 2
    assert of_column(RNG.poisson(2, 60), "poisson", **options) == 3
    assert of_column(bags, "tags", **options) == 3 * 5
    assert of_column(bags, "multinomial", **options) == 3 * 4
    assert of_column(bags, "multinomial:presence", **options) == 3 * 5
    assert of_column(texts, "text:counts,ngrams=1", **options) == 3 * 4
    assert of_column(texts, "text:complement,ngrams=1", **options) == 3 * 4
    assert (
        of_column(np.repeat(["a b", "a", "c d"], 20), "text:counts,ngrams=1,min_length=1,min_count=30", **options) == 0
    )
    pooled = fitted(texts, "text:counts,ngrams=1,max_tokens=3", **options)
    assert pooled.n_parameters.columns["x"] == 3 * (len(pooled.describe(all=True).columns["x"]) // 3)  # and the pool


def test_frequencies_of_ordered_values_and_of_numbers_are_one_fewer_than_the_values():
    assert of_column(np.tile(["S", "M", "L"], 20), "ordinal:S<M<L", estimate="mle") == 3 * 2
    assert of_column(np.tile([1.5, 2, 3, 7, 8.25], 12), "histogram", estimate="mle") == 3 * 4


def test_of_a_histogram_the_steps_that_scores_distinguish():
    values = RNG.normal(size=60)
    model = fitted(values, "histogram")
    steps = {tuple(row) for row in np.round(np.diff(model.log_joint({"x": np.sort(values)}), axis=1), 12).tolist()}
    assert len(steps) <= of_column(values, "histogram") // 3 + 1 <= 60


def test_groups_of_columns():
    table = {"a": RNG.normal(size=60), "b": RNG.normal(size=60), "c": RNG.normal(size=60), "y": Y}
    for family, matrices in (("joint_gaussian", 3), ("joint_gaussian:shared", 1)):
        for estimate in ("bayes", "mle"):
            model = tb.fit(table, label="y", families={("a", "b", "c"): family}, estimate=estimate)
            assert model.n_parameters.columns == {"a,b,c": 3 * 3 + matrices * 6}
    cells = {"p": np.tile([0, 1], 30), "q": np.tile(["u", "v", "w"], 20), "y": Y}
    one = tb.fit(cells, label="y", dependence="one")
    assert one.n_parameters.columns == {"all columns": 3 * (1 + 2 + 1 * 2)}  # of two columns: the full joint


@given(st.integers(1, 4), st.lists(st.integers(1, 4), max_size=3))
def test_given_probabilities_have_the_dimension_of_their_simplices(n_classes, sizes):
    classes = [f"c{i}" for i in range(n_classes)]
    tables = {f"x{j}": {c: {f"v{v}": 1 / size for v in range(size)} for c in classes} for j, size in enumerate(sizes)}
    counts = tb.from_probabilities(dict.fromkeys(classes, 1 / n_classes), tables).n_parameters
    assert counts.total == n_classes - 1 + sum((size - 1) * n_classes for size in sizes)


def test_interactions_are_counted_beside_the_columns_that_they_correct():
    a, b = RNG.integers(0, 2, (2, 3000))
    table = {"a": a.astype(str), "b": b.astype(str), "y": np.where(RNG.random(3000) < 0.9, a ^ b, 1 - (a ^ b))}
    model = tb.tune(table, label="y", what=["column_weights", "interactions"]).model
    counts = model.n_parameters
    assert [counts.columns[name] for name in ("a", "b")] == [2, 2]
    assert sorted(counts.columns.values()) == [2, 2, 4]
    assert model.plain().n_parameters.total == 5


def test_every_family_of_the_package_says_how_many():
    for family in (make() for make in FAMILIES.values()):
        column = family.example(RNG, 40)
        tally = family.observe(("x",), [column], RNG.integers(0, 3, 40).astype(np.int32), 3, None)
        for smoothing in (0, 1.0):
            predictive = family.derive(tally, smoothing)
            assert isinstance(predictive.n_parameters(0), int)
            assert predictive.n_parameters(0) >= 0
    assert {Cells, Codes, Flags, Reals, Vectors} <= {family.column for family in FAMILIES.values()}


def test_they_do_not_depend_on_weights_and_follow_what_is_learned():
    table = {"x": np.tile(["u", "v", "w"], 20), "z": RNG.normal(size=60), "y": Y}
    model = tb.fit(table, label="y", column_weights={"x": 0.5, "z": {"a": 1, "b": 2, "c": 3}})
    before = model.n_parameters
    assert before == model.plain().n_parameters
    model.learn({"x": ["new"], "z": [0.0], "y": ["d"]})
    after = model.n_parameters
    assert (after.class_prior, after.columns["x"]) == (3, 4 * 3)
    model.forget({"x": ["new"], "z": [0.0], "y": ["d"]})
    assert model.n_parameters.columns["x"] == before.columns["x"]


def test_an_empty_model_has_none():
    counts = tb.fit({"x": [], "y": []}, label="y").n_parameters
    assert (counts.class_prior, counts.columns, counts.total) == (0, {}, 0)


@pytest.mark.slow
def test_descriptions_show_them(tmp_path):
    model = fitted(RNG.random(60) < 0.5, "bernoulli")
    assert str(model.describe()).endswith("\n\nfree parameters: 5 (class prior 2, x 3)")
    assert "free parameters" not in str(model.describe("x"))
    assert str(model.n_parameters).split() == ["free", "parameters", "class", "prior", "2", "x", "3", "total", "5"]
    path = tmp_path / "m.tally"
    model.save(path)
    counts = {"class_prior": 2, "columns": {"x": 3}, "total": 5}
    assert json.loads(fine("inspect", path, "--json", cwd=tmp_path))["n_parameters"] == counts
    assert "n_parameters" not in json.loads(fine("inspect", path, "--json", "--column", "x", cwd=tmp_path))
    assert model.n_parameters.to_dict() == counts
    assert model.intervals().n_parameters == model.n_parameters
