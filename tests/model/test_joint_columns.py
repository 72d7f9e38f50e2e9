"""Models with groups of columns: what they learn, explain, keep and refuse; agreement with scikit-learn."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import tallybayes as tb
from command_line import fine, tally
from models import assert_same_answers, round_trip
from tallybayes import engines
from tallybayes.errors import DataError, ForgetError, ParameterError
from tallybayes.server.events.hosted_state import HostedState

GROUP = ("height", "weight")
pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")  # rows that lack a value
PLAIN = {"column_weights": None, "missing_as_value": False, "smoothing": 1}
TEXTBOOK = {"estimate": "mle", "column_weights": None}


def people(n=300, seed=0, missing=0.1):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    height = rng.normal(np.where(sex == "m", 178.0, 166.0), 7.0)
    weight = 0.9 * height - 90 + np.where(sex == "m", -6.0, 6.0) + rng.normal(0, 4.0, n)
    columns = {"height": height, "weight": weight}
    columns = {name: np.where(rng.random(n) < missing, np.nan, values) for name, values in columns.items()}
    return columns | {"smokes": rng.choice(["yes", "no"], n), "sex": sex}


def part(table, rows):
    return {name: values[rows] for name, values in table.items()}


def fit(table, **options):
    return tb.fit(table, label="sex", **({"families": {GROUP: "joint_gaussian"}} | options))


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_the_limits_are_those_of_scikit_learn(load):
    X, y = load(return_X_y=True)
    X = X[:, :8]
    for covariance, peer in (
        ("class", QuadraticDiscriminantAnalysis(solver="eigen")),
        ("shared", LinearDiscriminantAnalysis(solver="lsqr")),
    ):
        table = {f"x{i}": column for i, column in enumerate(X.T)}
        families = {tuple(table): tb.JointGaussian(covariance)}
        model = tb.fit(table, label=y, families=families, class_smoothing=0, **TEXTBOOK)
        assert np.allclose(model.predict_proba(table), peer.fit(X, y).predict_proba(X), rtol=1e-6, atol=1e-9)
        weak = {tuple(table): tb.JointGaussian(covariance, kappa=1e-9, nu=1e-9)}
        many = {name: np.tile(column, 2000) for name, column in table.items()}
        near = tb.fit(many, label=np.tile(y, 2000), families=weak, class_smoothing=0, column_weights=None)
        assert np.allclose(near.predict_proba(table), model.predict_proba(table), atol=1e-3)


def test_every_way_to_ask_for_a_group():
    table = people(missing=0)
    model = fit(table)
    assert fit(table, families={GROUP[::-1]: tb.JointGaussian()}) == model
    assert model.schema.families.keys() == {"height,weight", "smokes"}
    assert model.schema.columns_in_use == ["height", "smokes", "weight"]
    every = fit(table, families=None, dependence="gaussian")
    assert every.same_counts(model)
    assert np.array_equal(every.predict_proba(table), model.predict_proba(table))
    taken = fit(table | {"height,weight": ["a", "b"] * 150}).schema
    assert list(taken.derived) == ["height,weight_"]
    long = {f"a column of numbers {i}": np.arange(30.0) ** i for i in range(1, 6)}
    names = tb.fit(long, label=np.arange(30) % 2, dependence="gaussian").schema.derived
    assert list(names) == ["a column of numbers 1,...,a column of numbers 5 (5 columns)"]
    frame = pd.DataFrame({name: table[name] for name in GROUP})
    estimator = tb.NaiveBayesClassifier(families={GROUP: "joint_gaussian"}).fit(frame, table["sex"])
    assert estimator.model_.schema.derived.keys() == {"height,weight"}


def test_the_group_replaces_the_evidence_of_its_columns():
    table = people(missing=0)
    model = fit(table, column_weights=None)
    alone = tb.fit(part(table, slice(None)), label="sex", only=["smokes"], column_weights=None)
    group = tb.fit(table, label="sex", only=[], families={GROUP: "joint_gaussian"}, column_weights=None)
    total = alone.log_score(table) + group.log_score(table) - alone.log_prior()
    assert np.allclose(model.log_score(table), total)
    assert np.allclose(model.log_score({"height": [np.nan], "weight": [np.nan]}), model.log_prior())


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(0, 60))
def test_order_batches_merging_and_forgetting_do_not_matter(seed, cut):
    rng = np.random.default_rng(seed)
    table, order = people(60, seed), rng.permutation(60)
    model = fit(table, column_weights=None)
    again = fit(part(table, order), schema=model.schema, families=None, column_weights=None)
    assert again.same_counts(model)
    assert again.predict_proba(table).tobytes() == model.predict_proba(table).tobytes()
    first, second = (
        fit(part(table, rows), schema=model.schema, families=None, column_weights=None)
        for rows in (order[:cut], order[cut:])
    )
    if cut:
        assert second.merge(first).same_counts(model)
        first.learn(part(table, order[cut:]))
        assert first.same_counts(model)
        first.forget(part(table, order[:cut]))
        assert first.same_counts(second)
    probe = {name: table[name] for name in ("height", "weight", "smokes")}
    together = model.log_score(probe)
    for row in range(5):
        assert model.log_score([{name: values[row] for name, values in probe.items()}]).tobytes() == (
            together[row].tobytes()
        )


def test_files_and_partial_sums_keep_the_group():
    table = people()
    model = fit(table)
    assert_same_answers(round_trip(model), model, table)
    plan = engines.plan_fit(table, label="sex", families={GROUP: "joint_gaussian"})
    parts = [engines.partial(part(table, rows), plan.to_bytes()) for rows in (slice(100), slice(100, 300))]
    assert engines.combine(parts[::-1]) == engines.combine(parts)


def test_rows_without_all_values_are_reported():
    table = people()
    with pytest.warns(UserWarning, match="rows with some of its values: counted by column only"):
        model = fit(table)
    lacking = int((np.isnan(table["height"]) ^ np.isnan(table["weight"])).sum())
    (found,) = [one for one in model.doubts if one.column == "height,weight"]
    assert found.text.startswith(f"{lacking} rows with some")
    assert not fit(people(missing=0)).doubts


def test_what_a_model_says_about_a_group():
    table = people(missing=0)
    model = fit(table)
    explained = model.explain({"height": 180.0, "weight": None, "smokes": "no"})[0]
    assert "height,weight   [180, None]" in str(explained)
    assert set(explained.values) >= {"height,weight", "smokes"}
    rows = model.describe().columns["height,weight"]
    assert [(row["class"], row["input"]) for row in rows] == [(c, i) for c in ("f", "m") for i in GROUP]
    assert rows[0]["mean"] == pytest.approx(table["height"][table["sex"] == "f"].mean())
    assert 0.7 < rows[0]["r(weight)"] < 1
    drawn = model.sample(500, seed=0)
    assert drawn.column_names == ["height", "weight", "smokes", "sex"] or set(drawn.column_names) == set(table)
    heights, weights = (drawn[name].to_numpy() for name in GROUP)
    assert np.corrcoef(heights, weights)[0, 1] > 0.5
    assert "height,weight" in model.column_weights.weights
    importance = {one.column: one.gain for one in tb.importance(model, table).columns}
    assert importance.keys() == {"height,weight", "smokes"}
    assert importance["height,weight"] > 0.2
    assert np.isfinite(model.log_likelihood(table)).all()
    assert np.isfinite(list(model.log_evidence().values())).all()
    assert "height,weight" in tb.report(model, table, leave_one_out=True)
    flip = model.explain({"height": 180.0, "weight": 60.0, "smokes": "no"})[0].flip()
    assert flip.columns == ("height,weight",)


def test_dependent_columns_gain():
    """Height and weight differ between the classes mostly in their relation: naive Bayes counts it twice."""
    train, test = people(400, missing=0), people(2000, seed=1, missing=0)
    naive = tb.fit(train, label="sex", numeric="gaussian", column_weights=None)
    assert tb.evaluate(fit(train), test).log_loss < tb.evaluate(naive, test).log_loss - 0.1


def test_leave_one_out_is_refitting():
    table = people(40)
    model = fit(table, **PLAIN)
    found = tb.evaluate(model, table, leave_one_out=True).log_loss
    losses = []
    for row in range(40):
        others = fit(part(table, np.arange(40) != row), schema=model.schema, families=None, **PLAIN)
        p = others.predict_proba(part(table, [row]))[0, others.classes.index(table["sex"][row])]
        losses.append(-np.log(p))
    assert found == pytest.approx(np.mean(losses), rel=1e-9)


def test_bad_groups_are_errors():
    table = people(50)
    for families, error, text in (
        (
            {("height", "smokes"): "joint_gaussian"},
            ParameterError,
            "column 'smokes': expected columns of numbers in the",
        ),
        ({("height",): "joint_gaussian"}, ParameterError, "two or more columns in a group, got \\['height'\\]"),
        (
            {GROUP: "gaussian"},
            ParameterError,
            "a family of several columns \\(joint_gaussian, full_joint, one_dependence\\), got 'gaussian'",
        ),
        ({GROUP: "joint_gaussian", "height": "gaussian"}, ParameterError, "in one group, or by itself, got 'height'"),
        ({("height", "hight"): "joint_gaussian"}, ParameterError, "got 'hight'\nhint: did you mean 'height'"),
        ({("height", "sex"): "joint_gaussian"}, ParameterError, "neither the label nor the weight"),
        ({"height": "joint_gaussian"}, ParameterError, "it is for several columns: families="),
        ({GROUP: "joint_gaussian:diagonal"}, ParameterError, "'class' or 'shared', got 'diagonal'"),
    ):
        with pytest.raises(error, match=text):
            fit(table, families=families)
    with pytest.raises(ParameterError, match="two or more columns of numbers for dependence 'gaussian'"):
        fit(table, families=None, dependence="gaussian", ignore=["height"])
    model = fit(table)
    before = model.copy()
    for wrong in ({"height": np.inf, "weight": 60.0}, {"height": "tall", "weight": 60.0}):
        with pytest.raises(DataError, match="column 'height', row 0"):
            model.learn([wrong | {"sex": "f"}])
        with pytest.raises(DataError, match="column 'height', row 0"):
            model.predict([wrong])
    with pytest.raises(ForgetError):
        model.forget([{"height": 1.0, "weight": 1e6, "sex": "f"}])
    other = fit(people(50, seed=2), families={GROUP: "joint_gaussian:shared"})
    assert sum(other.merge(model).class_counts.values()) == 100  # the sums are of the same kind
    with pytest.raises(DataError, match=r"derived column|same family"):
        model.merge(tb.fit(people(50, seed=2), label="sex"))
    assert model.same_counts(before)


def test_the_command(tmp_path):
    table = people(200)
    lines = [
        ",".join(table),
        *(",".join(map(str, row)).replace("nan", "") for row in zip(*table.values(), strict=True)),
    ]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    group = "height,weight=joint_gaussian:shared"
    assert "height,weight" in fine("fit", "people.csv", "--label", "sex", "--as", group, cwd=tmp_path)
    assert tb.load(tmp_path / "people.tally").schema.families["height,weight"] == tb.JointGaussian("shared")
    fine("fit", "people.csv", "--label", "sex", "--dependence", "gaussian", "-o", "two.tally", cwd=tmp_path)
    assert "height,weight" in tb.load(tmp_path / "two.tally").schema.families
    wrong = tally("fit", "people.csv", "--label", "sex", "--as", "height,wait=joint_gaussian", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "did you mean 'weight'" in wrong.stderr or "got 'wait'" in wrong.stderr


def test_a_stream_learns_a_group():
    river = pytest.importorskip("tallybayes.river")
    table = people(100)
    stream = river.NaiveBayes(families={GROUP: "joint_gaussian"})
    for row in range(100):
        values = {name: float(table[name][row]) for name in GROUP if not np.isnan(table[name][row])}
        stream.learn_one(values, str(table["sex"][row]))
    whole = fit(table, only=[], column_weights=None)
    assert np.allclose(
        [stream.predict_proba_one({"height": 170.0, "weight": 70.0})[c] for c in ("f", "m")],
        whole.predict_proba([{"height": 170.0, "weight": 70.0}])[0],
    )


@pytest.mark.parametrize("family", ["joint_gaussian", "full_joint"])
def test_later_rows_that_lack_values_of_a_group_are_noted(family):
    table = {"height": [1.0, 2, 3, 4] * 3, "weight": [2.0, 1, 4, 3] * 3, "y": list("abab") * 3}
    model = tb.fit(table, "y", families={GROUP: family})
    rows = {"height": [1.0, None, 2.0], "weight": [None, 2.0, 1.0], "y": ["a", "b", "a"]}
    (note,) = model.copy().learn(rows).notes
    assert note.startswith("column 'height,weight': 2 rows with some of its values: ")
    assert model.learn_one({"height": 1.0}, "a").notes
    assert model.learn_one({"height": 1.0, "weight": 2.0}, "a").notes == ()
    assert model.forget_one({"height": 1.0, "weight": 2.0}, "a").notes == ()


def test_a_server_notes_rows_that_lack_values_of_a_group():
    table = {"height": [1.0, 2, 3, 4], "weight": [2.0, 1, 4, 3], "y": list("abab")}
    state = HostedState(tb.fit(table, "y", families={GROUP: "joint_gaussian"}).snapshot().state)
    changes = [SimpleNamespace(kind="learn", data=[{"height": 1.0, "weight": w, "y": "a"}]) for w in (None, 2.0)]
    lacking, complete = state.change_rows(changes)
    assert "1 row with some of its values" in lacking.notes[0]
    assert complete.notes == ()


@pytest.mark.parametrize("as_texts", [list, np.array, pd.Series])
def test_texts_in_a_group_name_the_group(as_texts):
    table = {"height": [1.0, 2, 3, 4], "text": as_texts(["a b", "c d", "e f", "g h"]), "y": list("abab")}
    with pytest.raises(ParameterError, match=r"in the group 'height,text' \(joint_gaussian\), got texts"):
        tb.fit(table, "y", families={("height", "text"): "joint_gaussian"})
    table["text"] = as_texts(["1.5", "2.5", "3", "4"])  # numbers that are written as texts
    assert "height,text" in tb.fit(table, "y", families={("height", "text"): "joint_gaussian"}).schema.families


@pytest.mark.parametrize(
    ("option", "names"), [("ignore", ["height"]), ("only", ["weight"]), ("only", ["smokes", "weight"])]
)
def test_a_member_of_a_group_that_is_excluded_is_an_error(option, names):
    with pytest.raises(ParameterError, match=f"which {option}= excludes"):
        tb.fit(people(40), "sex", families={GROUP: "joint_gaussian"}, **{option: names})
    kept = tb.fit(people(40), "sex", families={GROUP: "joint_gaussian"}, only=["height", "weight"])
    assert list(kept.schema.families) == ["height,weight"]
