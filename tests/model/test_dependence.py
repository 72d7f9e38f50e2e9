"""Models with dependence="one": what they learn, explain, keep and refuse."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

import tallybayes as tb
from command_line import fine, tally
from command_line import table as table_of
from models import round_trip
from tables import LABEL, mixed_frame
from tallybayes.errors import DataError, ParameterError, UnsupportedError

CELLS = ("flag", "kind", "real", "level", "events")
BAGS = ("genre", "words")


def frame(n=400, seed=0, names=(*CELLS, *BAGS)):
    table = mixed_frame(n, seed)
    return {name: table[name] for name in (*names, LABEL)}


def part(table, rows):
    return {name: [values[i] for i in rows] for name, values in table.items()}


def xor(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (2, n))
    return {"a": a, "b": np.where(b, "yes", "no").tolist(), "y": (a ^ b).tolist()}


def test_columns_that_tell_the_class_only_together():
    train, test = xor(1000), xor(1000, seed=1)
    naive, one = tb.fit(train, label="y"), tb.fit(train, label="y", dependence="one")
    assert tb.evaluate(naive, test).accuracy < 0.6
    assert tb.evaluate(one, test).accuracy > 0.99


def test_the_schema_says_what_becomes_of_the_columns():
    model = tb.fit(frame(), label=LABEL, dependence="one")
    assert [own.column for own in model.schema.columns["all columns"].reader.inputs] == sorted(CELLS)
    assert set(model.schema.families) == {"all columns", *BAGS}
    assert model.schema.columns_in_use == sorted((*CELLS, *BAGS))
    assert {model.schema.columns[name].reason for name in CELLS} == {"input of 'all columns'"}
    taken = tb.fit(frame() | {"all columns": [1, 2] * 200}, label=LABEL, dependence="one").schema
    assert set(taken.derived) == {"all columns_"}


def test_laws_hold_given_the_schema():
    table = frame()
    model = tb.fit(table, label=LABEL, dependence="one")
    order = np.random.default_rng(1).permutation(400)
    again = tb.fit(part(table, order), label=LABEL, dependence="one")
    assert again.schema == model.schema
    assert again.same_counts(model)
    assert again.predict_proba(table).tobytes() == model.predict_proba(table).tobytes()
    first, second = (tb.fit(part(table, rows), schema=model.schema) for rows in (range(150), range(150, 400)))
    assert second.merge(first).same_counts(model)
    first.learn(part(table, range(150, 400)))
    assert first.same_counts(model)
    first.forget(part(table, range(150)))
    assert first.same_counts(second)
    round_trip(model)
    probe = {name: table[name] for name in (*CELLS, *BAGS)}
    together = model.log_score(probe)
    for row in range(20):
        one = {name: values[row] for name, values in probe.items()}
        assert model.log_score([one]).tobytes() == together[row].tobytes()
        single = {name: one[name] for name in CELLS}
        assert np.array_equal(model.predict_proba(single), model.predict_proba([single]))


def test_threads_do_not_matter(monkeypatch):
    table = frame(9000, names=CELLS)
    scores = []
    for threads in ("1", "3"):
        monkeypatch.setenv("TALLYBAYES_THREADS", threads)
        scores.append(tb.fit(table, label=LABEL, dependence="one").log_score(table).tobytes())
    assert scores[0] == scores[1]


def test_missing_values_and_new_categories_contribute_nothing():
    model = tb.fit(frame(names=CELLS), label=LABEL, dependence="one", column_weights=None)
    prior = model.log_prior()
    np.testing.assert_allclose(
        model.log_score([{"kind": None}, {"kind": "never seen"}, {"other": 3, "kind": None}]), [prior] * 3
    )
    one, both = model.log_score([{"kind": "red"}, {"kind": "red", "level": float("nan"), "flag": None}])
    assert np.array_equal(one, both)


@pytest.mark.parametrize("options", [{}, {"column_weights": None}, {"estimate": "mle"}])
def test_explanations_add_up(options):
    table = frame()
    model = tb.fit(table, label=LABEL, dependence="one", **options)
    rows = part(table, range(40))
    found = model.explain(rows)
    scores = model.log_score(rows)
    assert list(found[0].log_evidence) == sorted((*CELLS, *BAGS))
    for one, score in zip(found, scores, strict=True):
        np.testing.assert_allclose(one.log_score, score, rtol=1e-10, atol=1e-10)
        assert one.answer == model.predict(rows)[found.index(one)]
    assert found[0].values["kind"] == rows["kind"][0]
    assert "all columns" not in str(found[0])


def test_a_column_beside_a_derived_one_has_one_contribution_in_all():
    table = frame(names=CELLS)
    schema = tb.fit(table, label=LABEL, dependence="one").schema
    both = tb.Schema(LABEL, schema.columns | tb.fit(table, label=LABEL, only=["level"]).schema.columns)
    both.columns |= {name: field for name, field in schema.columns.items() if name != "level"}
    model = tb.fit(table, schema=both)
    assert set(model.schema.families) == {"level", "all columns"}
    one = model.explain(part(table, [0]))[0]
    np.testing.assert_allclose(one.log_score, model.log_score(part(table, [0]))[0])
    assert set(one.log_evidence) == set(CELLS)


def test_flips_are_scored_anew():
    """The smallest set of columns whose absence changes the answer, by trying them all."""
    table = frame(300, names=CELLS)
    model = tb.fit(table, label=LABEL, dependence="one")
    n_flips = 0
    for row in range(25):
        values = {name: table[name][row] for name in CELLS}

        def answers(sets, values=values):
            return model.predict([{name: None if name in gone else v for name, v in values.items()} for gone in sets])

        (answer,) = answers([()])
        found = model.explain([values])[0].flip()
        sizes = (itertools.combinations(CELLS, size) for size in range(1, len(CELLS) + 1))
        smallest = next((sets for sets in map(list, sizes) if (answers(sets) != answer).any()), None)
        assert (found is None) == (smallest is None)
        if found is not None and smallest is not None:
            assert len(found.columns) == len(smallest[0])
            assert answers([found.columns])[0] == found.label != answer
            n_flips += 1
    assert n_flips > 10


def test_samples_are_rows_with_cells_in_words():
    model = tb.fit(frame(), label=LABEL, dependence="one")
    rows = model.sample(50, seed=0)
    assert isinstance(rows, pa.Table)
    assert rows.column_names == [*CELLS, *BAGS, LABEL]
    level = model.schema.columns["all columns"].reader.inputs[3]
    assert level.column == "level"
    assert {*rows["kind"].to_pylist()} == {"red", "blue", "green"}
    assert {*rows["flag"].to_pylist()} == {True, False}
    assert {*rows["level"].to_pylist()} <= {level.describe(cell) for cell in range(level.n_cells)}


def test_evaluations_tuning_and_reports_work():
    table = frame(200, names=CELLS)
    model = tb.fit(table, label=LABEL, dependence="one")
    assert np.isfinite(model.leave_one_out(table)).all()
    assert tb.cross_validate(table, label=LABEL, dependence="one", folds=2).n_rows == 200
    assert {one.column for one in tb.importance(model, table).columns} == set(CELLS)
    tuned = tb.tune(table, label=LABEL, dependence="one").model
    assert tuned.schema.derived
    page = tb.report(model, table)
    assert "all columns" in page
    assert "nomogram-rulers" not in page  # no column has a contribution of its own
    described = str(model.describe())
    assert "kind: blue" in described
    assert "level: below" in described


@pytest.mark.slow
def test_importance_is_that_of_the_columns_of_the_table():
    data = xor(600) | {"noise": np.random.default_rng(5).normal(size=600), "own": [["x"]] * 600}
    model = tb.fit(data, label="y", dependence="one")
    found = {one.column: one for one in tb.importance(model, data).columns}
    assert set(found) == {"a", "b", "noise", "own"}
    for name in ("a", "b"):
        assert found[name].gain > 0.5
        assert abs(found[name].information) < 0.01
    assert abs(found["noise"].gain) < 0.1
    assert {name: one.family for name, one in found.items()} == {
        "a": "input",
        "b": "input",
        "noise": "input",
        "own": "tags:separator=,",
    }
    page = tb.report(model, data, leave_one_out=True)
    assert "all columns" in page
    for smoothing in (0, 1.0, np.inf):
        other = tb.fit(data, label="y", dependence="one", smoothing=smoothing, column_weights=None)
        assert all(np.isfinite([one.gain, one.information]).all() for one in tb.importance(other, data).columns)


def test_what_is_not_available_is_an_error():
    table = frame(100, names=CELLS)
    model = tb.fit(table, label=LABEL, dependence="one")
    with pytest.raises(UnsupportedError, match="an evidence in closed form"):
        model.log_evidence()
    with pytest.raises(UnsupportedError, match="a family with credible intervals in closed form"):
        model.predict_interval(table)
    with pytest.raises(
        ParameterError, match="expected dependence to be 'none', 'one', 'gaussian' or 'full', got 'two'"
    ):
        tb.fit(table, label=LABEL, dependence="two")
    with pytest.raises(ParameterError, match="two or more columns of numbers, booleans or categories"):
        tb.fit({"x": [1, 2, 3], LABEL: ["a", "b", "a"]}, label=LABEL, dependence="one")
    with pytest.raises(DataError, match="rows with a label, to cut columns into cells"):
        tb.fit({"x": [1, 2], "z": [1, 2], LABEL: [None, None]}, label=LABEL, dependence="one")
    with pytest.raises(DataError, match="column 'flag', row 0: expected a boolean"):
        model.learn([{"flag": 3, LABEL: "class 1"}])
    with pytest.raises(DataError, match="column 'level', row 0: expected a finite number"):
        model.predict([{"level": float("inf")}])


def test_too_many_cells_are_refused_before_anything_is_counted():
    rng = np.random.default_rng(0)
    labels = [f"class {i}" for i in range(60)] * 60
    wide = {f"x{i}": rng.random(3600) for i in range(400)} | {LABEL: labels}
    with pytest.raises(ParameterError, match=r"at most 1 GiB for pairs of cells, got .* GiB \(.* cells, 60 classes\)"):
        tb.fit(wide, label=LABEL, dependence="one")


@pytest.mark.filterwarnings("ignore:.* could not be read and w:tallybayes.errors.DataWarning")
def test_bad_rows_are_skipped_where_they_are_to_be(tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"{i % 7},{'x' if i % 2 else 'y'},{i % 2}" for i in range(200)]
    path.write_text("\n".join(["a,b,y", *lines, "inf,x,1"]) + "\n")
    with pytest.raises(DataError, match="inf"):
        tb.fit(str(path), label="y", dependence="one")
    model = tb.fit(tb.read(str(path), skip_bad=True), label="y", dependence="one")
    assert sum(model.class_counts.values()) == 200
    assert model.schema.derived


@pytest.mark.slow
def test_the_command(tmp_path):
    data = xor(300)
    lines = [f"{a},{b},{y}" for a, b, y in zip(data["a"], data["b"], data["y"], strict=True)]
    (tmp_path / "xor.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    fitted = fine("fit", "xor.csv", "--label", "y", "--dependence", "one", cwd=tmp_path)
    assert "all columns   one_dependence" in fitted
    assert "a             input" in fitted
    done = tally("predict", "xor.tally", "xor.csv", "-o", "out.csv", cwd=tmp_path)
    assert "not in the data" not in done.stderr
    predicted = [row["predicted"] for row in table_of(tmp_path / "out.csv")]
    assert predicted == [str(y) for y in data["y"]]
    refused = tally("fit", "xor.csv", "--label", "y", "--dependence", "two", cwd=tmp_path)
    assert refused.returncode != 0
    assert "expected dependence to be 'none', 'one', 'gaussian' or 'full'" in refused.stderr


def test_the_estimator_has_the_option():
    x = np.random.default_rng(0).integers(0, 2, (400, 2)).astype(float)
    y = (x[:, 0] != x[:, 1]).astype(int)
    classifier = tb.NaiveBayesClassifier(dependence="one").fit(x, y)
    assert classifier.score(x, y) > 0.99
    assert classifier.get_params()["dependence"] == "one"


def test_a_column_that_appears_later_is_scored_by_itself():
    model = tb.fit(xor(200), label="y", dependence="one")
    model.learn(xor(200, seed=1) | {"late": ["x", "z"] * 100})
    assert set(model.schema.families) == {"all columns", "late"}
    assert model.schema.columns["late"].reason.startswith("new column")
    assert set(model.explain([{"a": 1, "late": "x"}])[0].log_evidence) == {"a", "b", "late"}
