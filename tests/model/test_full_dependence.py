"""Models with `dependence="full"`: what they learn, keep, answer and refuse."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from command_line import fine, tally
from models import assert_same_answers, round_trip
from tallybayes import engines
from tallybayes.errors import ParameterError

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")  # rows that lack a value
PLAIN = {"column_weights": None, "missing_as_value": False}


def toss(n=200, seed=0, missing=0.1):
    """Two switches and a size; the label says whether the switches differ, nine times in ten."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (2, n))
    columns = {"a": a.astype(bool).tolist(), "b": np.array(["off", "on"])[b].tolist()}
    columns["size"] = rng.choice(["L", "M", "S"], n).tolist()
    gaps = rng.random((3, n)) < missing
    columns = {
        name: [None if gap else value for gap, value in zip(own, values, strict=True)]
        for own, (name, values) in zip(gaps, columns.items(), strict=True)
    }
    return columns | {"lit": ((a != b) ^ (rng.random(n) < 0.1)).tolist()}


def part(table, rows):
    return {name: values[rows] for name, values in table.items()}


def fit(table, **options):
    return tb.fit(table, label="lit", **({"dependence": "full"} | options))


def test_xor_is_known_to_the_full_joint_and_not_to_naive_bayes():
    """Every combination as often as any other: the best naive answer is a coin, the best answer is always right."""
    rows = [{"a": a, "b": b, "lit": a != b} for a, b in itertools.product([False, True], repeat=2)] * 25
    options = {"estimate": "mle", "class_smoothing": 0, "column_weights": None}
    naive, full = fit(rows, dependence="none", **options), fit(rows, **options)
    assert tb.bayes_error(naive).error == pytest.approx(0.5, abs=1e-12)
    assert tb.bayes_error(full).error == 0.0
    assert full.predict(rows[:4]).tolist() == [False, True, True, False]
    assert tb.evaluate(naive, rows, leave_one_out=True).accuracy <= 0.5
    assert tb.evaluate(full, rows, leave_one_out=True).accuracy == 1


@pytest.mark.parametrize("n", [2, 3, 10])
def test_the_assumption_saves_two_to_the_n(n):
    rng = np.random.default_rng(0)
    table = {f"x{i}": rng.integers(0, 2, 100) for i in range(n)} | {"y": rng.integers(0, 2, 100)}
    counts = [tb.fit(table, label="y", dependence=d).n_parameters for d in ("none", "full")]
    assert [one.total - one.class_prior for one in counts] == [2 * n, 2 * (2**n - 1)]


@pytest.mark.parametrize("k", [1, 3])
def test_answers_are_those_of_counting(k):
    """P(class | row) with fractions, straight from the rows; missing values add up the combinations that agree."""
    table = toss()
    model = fit(table, smoothing=k, class_smoothing=0, **PLAIN)
    names, values = ("a", "b", "size"), ([False, True], ["off", "on"], ["L", "M", "S"])
    rows = list(zip(*(table[name] for name in (*names, "lit")), strict=True))
    every = list(itertools.product(*values))
    for probe in itertools.product(*([None, *own] for own in values)):
        agree = [x for x in every if all(b in (None, a) for a, b in zip(x, probe, strict=True))]
        joint = []
        for label in (False, True):
            own = [row[:3] for row in rows if row[3] is label and None not in row]
            p = Fraction(sum(own.count(x) + k for x in agree), len(own) + k * len(every))
            joint.append(p * Fraction(sum(row[3] is label for row in rows), len(rows)))
        found = model.predict_proba_one(dict(zip(names, probe, strict=True)))
        assert found[True] == pytest.approx(float(joint[1] / sum(joint)), rel=1e-12)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 5), st.lists(st.integers(0, 60), max_size=3), st.booleans())
def test_batches_merging_and_forgetting_are_exact(seed, cuts, weighted):
    table = toss(60, seed)
    if weighted:
        table["w"] = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], 60).tolist()
    given_weight = {"sample_weight": "w"} if weighted else {}
    whole = fit(table, **PLAIN, **given_weight)
    bounds = [0, *sorted(cuts), 60]
    parts = [
        tb.fit(part(table, slice(a, b)), label="lit", schema=whole.schema, **PLAIN, **given_weight)
        for a, b in itertools.pairwise(bounds)
    ]
    merged = parts[0]
    for other in parts[1:]:
        merged = merged.merge(other)
    assert merged == whole
    grown = parts[0].copy()
    for a, b in itertools.pairwise(bounds[1:]):
        grown.learn(part(table, slice(a, b)), **given_weight)
    assert grown == whole
    for a, b in itertools.pairwise(bounds[1:]):
        grown.forget(part(table, slice(a, b)), **given_weight)
    assert grown.same_counts(parts[0])


def test_they_are_saved_and_counted_in_pieces():
    table = toss()
    model = fit(table)
    again = round_trip(model)
    assert again == model
    assert_same_answers(again, model, table)
    plan = engines.plan_fit(table, label="lit", dependence="full")
    pieces = [engines.partial(part(table, slice(i, i + 50)), plan.to_bytes()) for i in range(0, 200, 50)]
    assert engines.fitted(plan, engines.combine(*pieces)) == model


def test_leave_one_out_is_the_model_without_the_row():
    table = toss(40)
    model = fit(table, smoothing=1, **PLAIN)
    found = model.leave_one_out(table)
    for i in range(40):
        less = model.copy()
        one = part(table, slice(i, i + 1))
        less.forget(one)
        np.testing.assert_allclose(found[i], less.predict_log_proba(one)[0], rtol=1e-9)


def test_rows_that_lack_values_are_doubted():
    table = toss()
    n = sum(None in row for row in zip(*(table[name] for name in ("a", "b", "size")), strict=True))
    doubts = [doubt for doubt in fit(table).doubts if doubt.column == "all columns"]
    assert [doubt.text for doubt in doubts] == [f"{n} rows with some of its values: not counted"]
    assert not [doubt for doubt in fit(toss(missing=0)).doubts if doubt.column == "all columns"]


def test_numbers_are_cut_into_cells_and_bags_stay_by_themselves():
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 2000))
    table = {"x": x, "y": y, "tag": [["t"]] * 2000, "inside": (x > 0.5) == (y > 0.5)}
    model = tb.fit(table, label="inside", dependence="full")
    assert set(model.schema.families) == {"all columns", "tag"}
    assert tb.evaluate(model, table, leave_one_out=True).accuracy > 0.95
    assert model.n_parameters.columns["all columns"] <= 2 * 63
    assert model.sample(5, seed=0).column_names == ["x", "y", "tag", "inside"]


@pytest.mark.slow
def test_everything_that_shows_a_model_shows_it():
    table = toss(missing=0)
    model = fit(table)
    (explanation,) = model.explain({"a": True, "b": "on", "size": None})
    assert np.allclose(explanation.log_score, model.log_score({"a": [True], "b": ["on"], "size": [None]})[0])
    assert str(explanation).splitlines()[3].split()[:2] == ["all", "columns"]
    assert "12 of 12 combinations occurred" in str(model.describe())
    assert {one.column for one in tb.importance(model, table).columns} == {"all columns"}
    assert tb.report(model, table)
    assert np.isfinite(list(model.log_evidence().values())).all()
    assert tb.cross_validate(table, label="lit", dependence="full").accuracy > 0.8


def test_what_cannot_be_joined_is_refused():
    rng = np.random.default_rng(0)
    wide = {f"x{i}": rng.integers(0, 2, 50) for i in range(30)} | {"y": rng.integers(0, 2, 50)}
    with pytest.raises(ParameterError, match=r"30 columns, got 2,147,483,646, where naive Bayes has 60(?s:.)hint: use"):
        tb.fit(wide, label="y", dependence="full")
    assert tb.fit(wide, label="y", dependence="full", only=["x0", "x1"]).n_parameters.total == 7
    with pytest.raises(ParameterError, match=r"two or more columns .* for dependence 'full'"):
        tb.fit({"x": [1, 2], "y": [0, 1]}, label="y", dependence="full")
    with pytest.raises(ParameterError, match="a family of columns of the table, got 'full_joint'"):
        tb.fit({"x": ["u", "v"], "y": [0, 1]}, label="y", families={"x": "full_joint"})


@pytest.mark.slow
def test_the_command_takes_it(tmp_path):
    lines = ["a,b,lit", *(f"{a},{b},{a != b}" for a, b in itertools.product(["on", "off"], repeat=2))]
    (tmp_path / "switches.csv").write_text("\n".join([lines[0], *lines[1:] * 30]) + "\n")
    fine("fit", "switches.csv", "--label", "lit", "--dependence", "full", "--preset", "textbook", cwd=tmp_path)
    facts = json.loads(fine("inspect", "switches.tally", "--json", cwd=tmp_path))
    assert facts["n_parameters"] == {"class_prior": 1, "columns": {"all columns": 6}, "total": 7}
    assert json.loads(fine("bayes-error", "switches.tally", "--json", cwd=tmp_path))["error"] < 0.05
    assert tally("fit", "switches.csv", "--label", "lit", "--dependence", "fully", cwd=tmp_path).returncode == 2


def test_a_group_is_joined_and_other_columns_are_as_before():
    table = toss(missing=0)
    model = tb.fit(table, label="lit", families={("b", "a"): "full_joint"}, smoothing=1, **PLAIN)
    size = tb.fit(table, label="lit", only=["size"], smoothing=1, **PLAIN)
    joint = tb.fit(table, label="lit", only=["a", "b"], dependence="full", smoothing=1, **PLAIN)
    assert model.n_parameters.columns == {"a,b": 6, "size": 4}
    assert np.allclose(model.log_likelihood(table), joint.log_likelihood(table) + size.log_likelihood(table))
    one = tb.fit(table, label="lit", families={("a", "b"): "one_dependence"})
    assert one.schema.families["a,b"] == tb.OneDependence()


@pytest.mark.parametrize(
    ("families", "error"),
    [
        ({("a", "zz"): "full_joint"}, "the name of a column, got 'zz'"),
        ({("a", "lit"): "full_joint"}, "the name of a column, got 'lit'"),
        ({("a", "b"): "interaction"}, r"of several columns \(joint_gaussian, full_joint, one_dependence\)"),
        ({("a",): "full_joint"}, "two or more columns in a group"),
        ({("a", "b"): "full_joint", "a": "categorical"}, "in one group, or by itself, got 'a'"),
        ({("a", "tag"): "full_joint"}, "'tag': expected columns of numbers, booleans or categories in a group"),
        ({("a", "same"): "full_joint"}, "'same': expected two or more values of a column of a group"),
    ],
    ids=str,
)
def test_groups_that_cannot_be_joined_are_refused(families, error):
    with pytest.raises(ParameterError, match=error):
        tb.fit(toss(20) | {"tag": [["t"]] * 20, "same": ["s"] * 20}, label="lit", families=families)


def test_a_stream_has_no_rows_to_cut_columns_into_cells():
    river = pytest.importorskip("tallybayes.river", exc_type=ImportError)
    with pytest.raises(
        ParameterError, match="where there are no rows yet, to cut columns into cells, got 'full_joint'"
    ):
        river.NaiveBayes(families={("a", "b"): "full_joint"})
