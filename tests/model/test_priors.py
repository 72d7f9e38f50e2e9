"""Priors of columns and classes: posterior means by hand, agreement with rows, what every verb does with them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

import tallybayes as tb
from command_line import fine, tally
from models import assert_same_answers, round_trip
from tallybayes.errors import ParameterError
from tallybayes.model.saved_model import dumps, loads

COUNTS = st.floats(0.01, 50)
PRIORS = {
    "smokes": tb.Beta(2, 8),
    "grade": tb.Dirichlet({"A": 1, "B": 2, "E": 4}),
    "height": tb.NormalInverseGamma(mean=170, scale=10, strength=2, freedom=4),
    "mail": {"viagra": {"spam": 5}, "hello": 2},
    "tags": {"p": {"ham": 3}},
}


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "smokes": rng.integers(0, 2, n).astype(bool),
        "grade": rng.choice(list("ABC"), n),
        "height": rng.normal(175, 8, n),
        "mail": [" ".join(rng.choice(["cash", "lunch", "now", "meet"], 4)) for _ in range(n)],
        "tags": ["|".join(rng.choice(list("pqr"), 2, replace=False)) for _ in range(n)],
        "kind": np.where(np.arange(n) < 2, ["ham", "spam"] * (n // 2), rng.choice(["ham", "spam"], n)),
    }


def part(data, rows):
    return {name: [values[row] for row in rows] for name, values in data.items()}


def fit(data, priors=PRIORS, **options):
    families = {"mail": "text", "height": "gaussian", "tags": "tags"}
    families = {name: family for name, family in families.items() if name in data}
    options = {"label": "kind", "families": families, "column_weights": None} | options
    return tb.fit(data, column_priors={name: prior for name, prior in priors.items() if name in data}, **options)


def likelihood(model, row):
    return np.exp(model.log_likelihood([row])[0])


@given(COUNTS, COUNTS, st.integers(0, 9), st.integers(0, 9))
def test_beta_is_the_posterior_mean(a, b, yes, no):
    model = tb.fit({"x": [True] * yes + [False] * no + [None], "y": ["c"] * (yes + no + 1)}, label="y",
                   families={"x": "bernoulli"}, column_priors={"x": tb.Beta(a, b)})  # fmt: skip
    wanted = (Fraction(a) + yes) / (Fraction(a) + Fraction(b) + yes + no)
    assert likelihood(model, {"x": True})[0] == pytest.approx(float(wanted), rel=1e-12)
    assert likelihood(model, {"x": True})[0] + likelihood(model, {"x": False})[0] == pytest.approx(1)


@given(st.dictionaries(st.sampled_from("ABCD"), COUNTS, min_size=1), st.lists(st.sampled_from("ABC"), min_size=1))
def test_dirichlet_is_the_posterior_mean(counts, seen):
    model = tb.fit({"x": seen, "y": ["c"] * len(seen)}, label="y", column_priors={"x": tb.Dirichlet(counts)},
                   families={"x": "categorical"})  # fmt: skip
    axis = {*counts, *seen}
    alpha = {value: Fraction(counts.get(value, min(counts.values()))) for value in axis}
    for value in axis:
        wanted = (alpha[value] + seen.count(value)) / (sum(alpha.values()) + len(seen))
        assert likelihood(model, {"x": value})[0] == pytest.approx(float(wanted), rel=1e-12)


def test_priors_by_class():
    data = {"x": ["A", "A", "B"], "y": ["p", "q", "q"]}
    by_class = {"p": tb.Dirichlet({"A": 1, "B": 9}), "q": tb.Dirichlet({"A": 2})}
    model = tb.fit(data, label="y", column_priors={"x": by_class})
    # the smallest pseudo-count is 1: p has A 1, B 9; q has A 2 and B, which it does not list, 2
    assert likelihood(model, {"x": "A"}) == pytest.approx([2 / 11, 3 / 6])
    assert likelihood(model, {"x": "B"}) == pytest.approx([9 / 11, 3 / 6])
    flags = tb.fit({"x": [True, False], "y": ["p", "q"]}, label="y", column_priors={"x": {"p": tb.Beta(3, 1)}})
    assert likelihood(flags, {"x": True}) == pytest.approx([4 / 5, 1 / 3])


@pytest.mark.parametrize("name", ["mail", "tags", "grade"])
def test_pseudo_counts_are_rows_with_that_value_alone(name):
    data = table()
    value = {"mail": "viagra", "tags": "p", "grade": "E"}[name]
    given = fit({name: data[name], "kind": data["kind"]}, {name: {value: {"spam": 5}}}, smoothing=1,
                families={"mail": "text:variant=counts"} if name == "mail" else {})  # fmt: skip
    rows = {name: [*data[name], *[value] * 5], "kind": [*data["kind"], *["spam"] * 5]}
    counted = tb.fit(rows, label="kind", schema=given.schema, smoothing=1, column_weights=None)
    probe = {name: [value, data[name][0], data[name][1]]}
    assert np.allclose(given.log_likelihood(probe), counted.log_likelihood(probe), rtol=1e-12)
    assert given.class_counts == {label: list(data["kind"]).count(label) for label in ("ham", "spam")}


def test_the_prior_of_a_mean_is_that_of_the_formula():
    """Murphy 2007: Student's t around a weighted mean; before any row, around the prior mean."""
    values, mean, scale, kappa, nu = np.array([180.0, 190.0, 171.0]), 170.0, 10.0, 2.0, 4.0
    prior = {"height": tb.NormalInverseGamma(mean, scale, kappa, nu)}
    data = {"height": [*values, None], "kind": ["a", "a", "a", "b"]}
    model = tb.fit(data, label="kind", numeric="gaussian", column_priors=prior)
    n, x = 3, np.linspace(120, 240, 7)
    centre, spread = (kappa * mean + values.sum()) / (kappa + n), nu * scale**2 + values.var() * n
    spread += kappa * n / (kappa + n) * (values.mean() - mean) ** 2
    got = model.log_likelihood({"height": x})
    after = stats.t(nu + n, centre, np.sqrt(spread / (nu + n) * (1 + 1 / (kappa + n))))
    assert np.allclose(got[:, 0], after.logpdf(x), rtol=1e-12)
    assert np.allclose(got[:, 1], stats.t(nu, mean, scale * np.sqrt(1 + 1 / kappa)).logpdf(x), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e12])
@pytest.mark.parametrize("family", ["gaussian", "gaussian:shared=True", "gaussian:log=True"])
def test_leave_one_out_under_a_given_mean_is_refitting(family, scale):
    rng = np.random.default_rng(1)
    values = np.exp(rng.normal(size=40) * 2) + (1e-9 if scale < 1 else 0)
    values[3] = 1e9  # a row that holds nearly all of the squares
    data = {"x": values, "y": rng.choice(["a", "b", "c"], 40)}
    prior = {"x": tb.NormalInverseGamma(1.5, scale)}
    model = tb.fit(data, label="y", families={"x": family}, column_priors=prior, column_weights=None)
    without = model.leave_one_out(data)
    for row in range(40):
        rest = model.copy()
        rest.forget(part(data, [row]))
        log_proba = np.log(rest.predict_proba({"x": values[row : row + 1]})[0])
        assert np.allclose(without[row], log_proba, rtol=1e-6, atol=1e-9)


def test_leave_one_out_is_refitting():
    data = table()
    families = {"mail": "text:variant=counts,k=1", "height": "gaussian", "tags": "tags"}
    model = fit(data, class_prior=tb.Dirichlet({"spam": 10, "ham": 1}), families=families, smoothing=1)
    without = model.leave_one_out(data)
    for row in range(0, 60, 5):
        rest = model.copy()
        rest.forget(part(data, [row]))
        rest = rest.predict_proba(part({k: v for k, v in data.items() if k != "kind"}, [row]))[0]
        assert np.allclose(without[row], np.log(rest), rtol=1e-9, atol=1e-9)


def test_evidence_is_the_product_of_one_step_ahead_predictions():
    """Of the rows that were learned, given the pseudo-counts: a column at a time, whatever the order."""
    data = table(20)
    for name, prior in (("smokes", PRIORS["smokes"]), ("height", PRIORS["height"])):
        so_far = tb.fit({name: [None], "kind": ["ham"]}, label="kind", families={name: {"smokes": "bernoulli"}.get(
            name, "gaussian")}, column_priors={name: prior}, column_weights=None)  # fmt: skip
        so_far.learn([{"kind": "spam"}])
        total = 0.0
        for value, label in zip(data[name], data["kind"], strict=True):
            total += so_far.log_likelihood({name: [value]})[0, so_far.classes.index(label)]
            so_far.learn([{name: value, "kind": label}])
        assert total == pytest.approx(so_far.log_evidence()[name], rel=1e-9)
    seen = ["A", "A", "B"]
    model = tb.fit({"x": seen, "y": ["c"] * 3}, label="y", column_priors={"x": tb.Dirichlet({"A": 1, "B": 2})})
    alpha, n = np.array([1.0, 2.0]), np.array([2, 1])
    gammas = special.gammaln(alpha + n) - special.gammaln(alpha)
    assert model.log_evidence()["x"] == pytest.approx(gammas.sum() + special.gammaln(3) - special.gammaln(6))


def test_intervals_are_those_of_the_posterior():
    model = tb.fit({"x": [True, True, False], "y": ["c"] * 3}, label="y", column_priors={"x": tb.Beta(2, 8)})
    (row,) = model.intervals(0.9).columns["x"]
    assert (row["low"], row["high"]) == pytest.approx(stats.beta(4, 9).interval(0.9))
    assert row["rows"] == 3


def test_class_prior_of_pseudo_counts():
    data = table()
    model = fit(data, {}, class_prior=tb.Dirichlet({"spam": 1, "ham": 3}))
    n = {label: list(data["kind"]).count(label) for label in ("ham", "spam")}
    assert np.exp(model.log_prior()) == pytest.approx([(n["ham"] + 3) / 64, (n["spam"] + 1) / 64])
    interval = {row["class"]: (row["low"], row["high"]) for row in model.intervals().classes}
    assert interval["ham"] == pytest.approx(stats.beta(n["ham"] + 3, n["spam"] + 1).interval(0.95))


def test_a_word_that_nobody_has_seen_works_by_its_prior_alone():
    model = fit(table())
    assert model.predict([{"mail": "viagra"}])[0] == "spam"
    assert fit(table(), {}).predict_proba([{"mail": "viagra"}])[0] == pytest.approx(
        fit(table(), {}).predict_proba([{}])[0], abs=1e-12
    )
    empty = tb.fit({"smokes": [None, None], "kind": ["ham", "spam"]}, label="kind", families={"smokes": "bernoulli"},
                   column_priors={"smokes": {"ham": tb.Beta(1, 9), "spam": tb.Beta(9, 1)}})  # fmt: skip
    assert likelihood(empty, {"smokes": True}) == pytest.approx([0.1, 0.9])


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")  # of weights near 0: the data is noise
def test_sums_stay_those_of_the_data():
    data = table()
    model, plain = fit(data), fit(data, {})
    assert model.snapshot().state.statistics.same(plain.snapshot().state.statistics)
    halves = [fit(part(data, rows), schema=model.schema, families=None) for rows in (range(30), range(30, 60))]
    assert halves[0].merge(halves[1]).same_counts(model)
    assert np.array_equal(halves[0].merge(halves[1]).predict_proba(data), model.predict_proba(data))
    assert_same_answers(round_trip(model), model, data)
    assert dumps(loads(dumps(model))) == dumps(model)
    assert b"column_priors" not in dumps(plain)
    weighted = fit(data, column_weights="auto")
    assert np.isfinite(weighted.predict_proba(data)).all()
    assert tb.importance(weighted, data).columns
    one = {name: values[1] for name, values in data.items() if name != "kind"}
    assert np.array_equal(model.predict_proba(one)[0], model.predict_proba(part(data, [0, 1]))[1])


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")  # of weights near 0: the data is noise
def test_what_is_shown():
    model = fit(table(), column_weights="auto")
    text = str(model.describe())
    for words in ("prior: Beta(2, 8)", "Dirichlet(A: 1, B: 2, E: 4)", "mean 170", "viagra: {spam: 5}, hello: 2"):
        assert words in text
    explained = model.explain({"mail": "viagra", "smokes": None})[0]
    assert "prior of mail: pseudo-counts viagra: {spam: 5}, hello: 2" in str(explained)
    assert explained.to_dict()["priors"].keys() == {"mail"}
    assert "Beta(2, 8)" in str(model)
    rows = {row["class"]: row["rows"] for row in model.describe("smokes").columns["smokes"]}
    assert rows == model.class_counts


@pytest.mark.parametrize(
    ("priors", "text"),
    [
        ({"smoke": tb.Beta(1, 1)}, "columns that are used, got 'smoke'\nhint: did you mean 'smokes'"),
        ({"height": tb.Beta(1, 1)}, r"column 'height': expected Beta\(1, 1\) for a column of booleans"),
        ({"grade": tb.NormalInverseGamma(1, 1)}, "column 'grade': expected a prior of mean and scale"),
        ({"mail": tb.Dirichlet({"cash": 1})}, "column 'mail': expected Dirichlet"),
        ({"mail": {"!!": 2}}, "column 'mail': expected pseudo-counts of words, got '!!'"),
        ({"mail": {"cash": {"spma": 2}}}, "classes of the data, got 'spma'\nhint: did you mean 'spam'"),
        ({"height": {170: 3}}, "column 'height': expected pseudo-counts for a column of categories"),
        ({"smokes": {"perhaps": 3}}, "column 'smokes': expected values of the column"),
        ({"grade": {"A": -1}}, "the pseudo-count of A: a number above 0, from 1e-300 to 1e\\+15, got -1"),
        ({"grade": 3}, "a prior: Beta, Dirichlet, NormalInverseGamma"),
        ({"height": {"ham": tb.NormalInverseGamma(1, 1)}}, "a Beta or a Dirichlet for each class"),
        ({"grade": {"ham": tb.Beta(1, 1), "spam": 3}}, "a Beta or a Dirichlet for each class, got 3"),
    ],
)
def test_bad_priors_are_errors(priors, text):
    with pytest.raises(ParameterError, match=text):
        fit(table(), priors) if set(priors) <= set(table()) else tb.fit(table(), label="kind", column_priors=priors)


@pytest.mark.parametrize("make", [
    lambda: tb.Beta(0, 1), lambda: tb.Beta(1, np.nan), lambda: tb.Beta(True, 1), lambda: tb.Dirichlet({}),
    lambda: tb.Dirichlet({"a": 1}, others=2), lambda: tb.NormalInverseGamma(np.inf, 1),
    lambda: tb.NormalInverseGamma(0, 0), lambda: tb.Settings(column_priors={"x": tb.Beta(1, 1)}, estimate="mle"),
])  # fmt: skip
def test_bad_numbers_are_errors(make):
    with pytest.raises(ParameterError):
        make()


def test_the_command(tmp_path):
    lines = ["smokes,grade,text,ill", "yes,A,hello cash,1", "no,B,lunch now,0", "yes,A,meet me,0"]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "p.toml").write_text(
        "class_prior = {dirichlet = {1 = 1, 0 = 3}}\n[columns]\n"
        "smokes = {beta = [2, 8]}\ngrade = {dirichlet = {A = 1, B = 2}}\n"
        "text = {counts = {viagra = {1 = 5}}}\n"
    )
    fine("fit", "d.csv", "--label", "ill", "--as", "text=text", "--as", "smokes=bernoulli", "--priors", "p.toml",
         cwd=tmp_path)  # fmt: skip
    model = tb.load(tmp_path / "d.tally")
    assert model.settings.column_priors["smokes"] == tb.Beta(2, 8)
    assert np.exp(model.log_prior()) == pytest.approx([5 / 7, 2 / 7])
    assert "prior: Beta(2, 8)" in fine("inspect", "d.tally", cwd=tmp_path)
    for prior in ("--class-weight", "1=3"), ("--class-prior", "1=0.3", "--class-prior", "0=0.7"):  # labels are texts
        fine("fit", "d.csv", "--label", "ill", *prior, "-o", "w.tally", cwd=tmp_path)
    for content, text in (("x = 1", "only class_prior and columns"), ("[columns]\nsmokes = 3", "expected a prior")):
        (tmp_path / "q.toml").write_text(content)
        wrong = tally("fit", "d.csv", "--label", "ill", "--priors", "q.toml", cwd=tmp_path)
        assert wrong.returncode == 2
        assert text in wrong.stderr
    wrong = tally("fit", "d.csv", "--label", "ill", "--priors", "none.json", cwd=tmp_path)
    assert "none.json" in wrong.stderr


def test_tables_of_numbers_show_the_posterior_under_a_given_prior():
    """As `intervals` does, and also of a class without any value."""
    data = {"h": [1.0, None, 3.0, None], "y": ["a", "b", "a", "b"]}
    prior = {"h": tb.NormalInverseGamma(5, 2, strength=2, freedom=3)}
    model = tb.fit(data, label="y", families={"h": "gaussian"}, column_priors=prior, preset="textbook")
    shown = {row["class"]: row for row in model.describe("h").columns["h"]}
    estimates = {(row["class"], row["parameter"]): row["estimate"] for row in model.intervals().columns["h"]}
    assert shown["a"]["mean"] == pytest.approx((2 * 5 + 2 * 2) / 4) == estimates["a", "mean"]
    assert shown["a"]["sd"] == pytest.approx(estimates["a", "sd"])
    assert (shown["b"]["mean"], shown["b"]["sd"], shown["b"]["rows"]) == pytest.approx((5, 2, 0))
    without = tb.fit(data, label="y", families={"h": "gaussian"}, preset="textbook")
    assert without.describe("h").columns["h"][0]["mean"] == 2


def test_a_part_of_the_data_may_lack_a_class_with_a_prior():
    """With the schema of the whole, so that models of the parts merge; a misspelt class stays an error."""
    data, priors = table(), {"mail": {"viagra": {"spam": 5}}}
    whole = tb.fit(data, label="kind", families={"mail": "text"}, column_priors=priors, column_weights=None)
    parts = [part(data, [i for i, kind in enumerate(data["kind"]) if kind == one]) for one in ("ham", "spam")]
    options = {"label": "kind", "schema": whole.schema, "column_weights": None}
    ham, spam = (tb.fit(rows, column_priors=priors, **options) for rows in parts)
    assert ham.merge(spam).same_counts(whole)
    assert ham.merge(spam).predict_one({"mail": "viagra"}) == "spam"
    with pytest.raises(ParameterError, match="did you mean 'ham'"):
        tb.fit(parts[0], column_priors={"mail": {"viagra": {"hamm": 5}}}, **options)


@pytest.mark.parametrize(
    ("column", "prior", "text"),
    [
        ("grade", {("A",): 3}, "values of a column"),
        ("grade", {None: 3}, "values of a column"),
        ("size", {"huge": {"ham": 3}}, "in its prior .ordinal:S<M<L"),
        ("height", tb.Dirichlet({1: 2}), "NormalInverseGamma is the prior of numbers"),
    ],
    ids=["a tuple", "none", "outside the order", "categories of numbers"],
)
def test_priors_of_values_that_cannot_occur(column, prior, text):
    data = table() | {"size": ["S", "M", "L"] * 20}
    families = {"size": "ordinal:S<M<L", "height": "gaussian"}
    with pytest.raises(ParameterError, match=text):
        tb.fit(data, label="kind", families=families, column_priors={column: prior})


def test_a_prior_of_a_column_with_a_small_weight_is_doubted():
    rng = np.random.default_rng(0)
    kind = rng.choice(["ham", "spam"], 600)
    word = np.where(rng.random(600) < 0.75, kind, np.where(kind == "ham", "spam", "ham"))
    data = {f"copy{i}": word for i in range(4)} | {"kind": kind}  # four times the same evidence
    options = {"label": "kind", "column_priors": {"copy1": {"viagra": {"spam": 5}}}}
    with pytest.warns(tb.DataWarning, match="so its prior counts"):
        model = tb.fit(data, **options)
    assert [one.column for one in model.doubts if one.kind == "priors"] == ["copy1"]
    assert not [one for one in tb.fit(data, column_weights=None, **options).doubts if one.kind == "priors"]


def test_classes_of_another_type_are_named_as_they_are():
    with pytest.raises(ParameterError, match="did you mean 0\\?"):
        tb.fit({"a": ["x", "y"], "y": [0, 1]}, label="y", column_priors={"a": {"x": {"0": 3}}})


@pytest.mark.parametrize(
    ("column", "prior", "text"),
    [
        ("grade", tb.Dirichlet({1: 1}), r"\(text\), got 1"),
        ("grade", {True: 1}, r"\(text\), got True"),
        ("n", tb.Dirichlet({1.5: 5}), r"\(integer\), got 1.5"),
        ("n", {"x": 1}, r"\(number\), got 'x'"),
    ],
)
def test_values_of_another_type_are_no_new_categories(column, prior, text):
    rows = {"grade": list("abca") * 5, "n": [1, 2, 3, 1] * 5, "y": list("pq") * 10}
    with pytest.raises(ParameterError, match=text):
        tb.fit(rows, "y", families={"n": "categorical"}, column_priors={column: prior})


def test_numbers_of_categories_that_are_numbers_as_text():
    """A CSV has texts only; a file of priors has names only."""
    rows = {"n": ["1", "2", "3", "1"] * 5, "y": list("pq") * 10}
    by_type = [tb.fit(rows, "y", families={"n": "categorical"}, column_priors={"n": {n: 4}}) for n in ("1", 1)]
    assert by_type[0].describe().columns == by_type[1].describe().columns
    numbers = {**rows, "n": [1, 2, 3, 1] * 5}
    model = tb.fit(numbers, "y", families={"n": "categorical"}, column_priors={"n": {"1": 4}})
    assert {row["value"] for row in model.describe().columns["n"]} == {1, 2, 3}


def test_priors_of_ordered_words_and_of_texts_have_hints():
    rows = {"s": ["low", "medium", "high", "low"] * 10, "t": ["a big cat", "one dog sat"] * 20, "y": list("pq") * 20}
    with pytest.raises(ParameterError, match="--as s=categorical"):
        tb.fit(rows, "y", column_priors={"s": tb.Dirichlet({"low": 3, "high": 1})})
    with pytest.raises(ParameterError, match="adds pseudo-counts to tokens"):
        tb.fit(rows, "y", families={"t": "text"}, column_priors={"t": tb.Beta(1, 2)})


def test_a_smoothing_beside_a_prior_that_replaces_it_is_an_error():
    rows = {"grade": list("abca") * 5, "y": list("pq") * 10}
    with pytest.raises(ParameterError, match="or class_smoothing, got both"):
        tb.fit(rows, "y", class_prior=tb.Dirichlet({"p": 1, "q": 2}), class_smoothing=5)
    with pytest.raises(ParameterError, match="column 'grade': expected a prior or a smoothing"):
        tb.fit(rows, "y", smoothing={"grade": 5}, column_priors={"grade": tb.Dirichlet({"a": 2})})
    kept = tb.fit(rows, "y", smoothing={"grade": 5}, column_priors={"grade": {"a": 2}})  # beside the smoothing
    assert kept.settings.smoothing == {"grade": 5.0}
    assert tb.fit(rows, "y", preset="textbook", class_prior=tb.Dirichlet({"p": 1, "q": 2})).class_counts


def test_two_class_priors_on_the_command_line(tmp_path):
    (tmp_path / "d.csv").write_text("grade,y\n" + "a,p\nb,q\n" * 10)
    (tmp_path / "priors.toml").write_text("class_prior = {p = 0.25, q = 0.75}\n")
    arguments = ("fit", "d.csv", "--label", "y", "--priors", "priors.toml")
    found = tally(*arguments, "--class-prior", "uniform", cwd=tmp_path)
    assert found.returncode != 0
    assert "--class-prior or class_prior in priors.toml, got both" in found.stderr
