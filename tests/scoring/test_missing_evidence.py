"""That a value is missing as evidence: by hand, by every option, and under the laws of a model."""

import numpy as np
import pyarrow as pa
import pytest

import tallybayes as tb
from command_line import fine, tally
from models import round_trip
from tables import FAMILIES, LABEL, mixed_frame
from tallybayes.errors import ParameterError
from tallybayes.families.discrete.bernoulli import Bernoulli
from tallybayes.model.saved_model import dumps, loads

NAN = float("nan")
SMALL = {"x": ["a", "a", None, None, None, "b"], "z": list("uvuvuv"), "y": list("ppqqqp")}
INFERRED = {name: family for name, family in FAMILIES.items() if name != "note"}


def informative_gaps(n, seed):
    """The value of x tells nothing; that it is missing tells the class, 19 times out of 20."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["p", "q"], n)
    gap = (y == "p") == (rng.random(n) < 0.95)
    return {"x": np.where(gap, NAN, rng.normal(size=n)), "noise": rng.normal(size=n), "y": y}


def gappy(n=200, seed=0):
    """Columns of every family with gaps that depend on the class."""
    table, rng = mixed_frame(n, seed), np.random.default_rng(seed + 50)
    for i, label in enumerate(table[LABEL]):
        for name in INFERRED:
            if rng.random() < 0.25 * (label == "class 0"):
                table[name][i] = None
    return {name: list(table[name]) for name in (*INFERRED, LABEL)}


def rows_of(table, rows):
    return {name: [values[i] for i in rows] for name, values in table.items()}


def without_label(table):
    return {name: values for name, values in table.items() if name != LABEL}


def switched_on(table, **options):
    return tb.fit(table, label=LABEL, families=INFERRED, missing_as_value=True, column_weights=None, **options)


def scores_of_flag(values, labels):
    """The log probabilities of no and yes of a column of booleans with labels p and q, (no and yes, classes)."""
    model = tb.fit({"flag": values, "y": labels}, label="y", families={"flag": "bernoulli"}, column_weights=None)
    return np.array([model.explain([{"flag": value}])[0].log_evidence["flag"] for value in (False, True)])


def test_a_column_adds_what_a_boolean_missing_or_not_would_add():
    on, off = (tb.fit(SMALL, label="y", column_weights=None, missing_as_value=own) for own in (True, False))
    present, missing = scores_of_flag([x is None for x in SMALL["x"]], SMALL["y"])
    for value, own in (("a", present), ("b", present), (None, missing)):
        row = [{"x": value, "z": "u"}]
        with_gaps, plain = on.explain(row)[0].log_evidence["x"], off.explain(row)[0].log_evidence["x"]
        np.testing.assert_allclose(with_gaps, plain + own, rtol=1e-12)


def test_the_numbers_by_hand():
    """Class shares in the rows with and without a value, shrunk to 1/2 with the strength s that evidence chooses."""
    model = tb.fit(SMALL, label="y", column_weights=None, missing_as_value={"x": True})
    counts = np.array([[3.0, 0.0], [0.0, 3.0]])  # present, missing by p, q
    tally = Bernoulli().observe(("x",), [_flags([0, 0, 1, 1, 1, 0])], np.array([0, 0, 1, 1, 1, 0], np.int32), 2, None)
    s = Bernoulli().prior(tally, "auto").strengths[0]
    share = (counts + s * 0.5) / (counts.sum(axis=1, keepdims=True) + s)
    odds = np.log(share[:, 1] / share[:, 0])  # of q against p; the shares of the classes are equal
    seen, gap = (model.explain([{"x": x}])[0].log_evidence["x"] for x in ("a", None))
    assert gap[1] - gap[0] == pytest.approx(odds[1], rel=1e-9)
    of_value = tb.fit(SMALL, label="y", column_weights=None).explain([{"x": "a"}])[0].log_evidence["x"]
    assert (seen - of_value)[1] - (seen - of_value)[0] == pytest.approx(odds[0], rel=1e-9)


def _flags(values):
    from tallybayes.arrays.column import Flags

    return Flags(np.array(values, np.int8))


@pytest.mark.filterwarnings("ignore:column 'x'. possible leak:tallybayes.errors.DataWarning")
def test_a_column_that_tells_the_class_only_by_its_gaps_is_learned_by_default():
    train, new = informative_gaps(600, 0), informative_gaps(2000, 1)
    assert tb.evaluate(tb.fit(train, label="y"), new).accuracy > 0.93
    assert tb.evaluate(tb.fit(train, label="y", column_weights=None), new).accuracy < 0.58
    assert tb.fit(train, label="y").column_weights.missing.keys() == {"x"}


@pytest.mark.parametrize(
    ("option", "fitted", "used"),
    [(True, {"x"}, True), (False, set(), False), ({"x": True}, {"x"}, True), ({"x": False}, set(), False)],
)
def test_the_option_switches_columns_on_and_off(option, fitted, used):
    train, gap = informative_gaps(300, 0), [{"x": None, "noise": 0.0}]
    model = tb.fit(train, label="y", missing_as_value=option)
    assert model.column_weights.missing.keys() == fitted
    plain = tb.fit(train, label="y", missing_as_value=option, column_weights=None)
    assert (plain.explain(gap)[0].log_evidence["x"].any()) == used
    assert (plain.predict_proba(gap)[0, 0] > 0.8) == used


def test_a_column_that_is_not_named_is_auto():
    train = informative_gaps(300, 0)
    given = tb.fit(train, label="y", missing_as_value={"noise": False})
    assert given.column_weights == tb.fit(train, label="y").column_weights
    plain = tb.fit(train, label="y", missing_as_value={"noise": False}, column_weights=None)
    assert not plain.explain([{"x": None}])[0].log_evidence["x"].any()


def test_a_column_that_is_always_there_has_no_weight_for_gaps_but_may_have_one_later():
    train = informative_gaps(300, 0)
    full = train | {"x": np.nan_to_num(train["x"])}
    assert tb.fit(full, label="y").column_weights.missing == {}
    model = tb.fit(full, label="y", missing_as_value=True, column_weights=None)
    model.learn({"x": [NAN] * 30, "noise": [0.0] * 30, "y": ["p"] * 30})
    assert model.predict_proba([{"x": None, "noise": 0.0}])[0, 0] > 0.8


def test_gaps_that_tell_nothing_add_next_to_nothing():
    rng = np.random.default_rng(3)
    x = np.where(rng.random(2000) < 0.3, NAN, rng.normal(size=2000))
    model = tb.fit({"x": x, "y": rng.choice(["p", "q"], 2000)}, label="y", missing_as_value=True, column_weights=None)
    assert model.predict_proba([{"x": None}])[0] == pytest.approx(np.exp(model.log_prior()), abs=0.02)


@pytest.mark.parametrize("weights", ["auto", None])
def test_a_row_scores_alone_as_in_a_batch(weights):
    table = gappy()
    model = tb.fit(table, label=LABEL, families=INFERRED, missing_as_value=True, column_weights=weights)
    together = model.predict_proba(without_label(table))
    for i in range(0, 200, 7):
        row = {name: values[i] for name, values in table.items() if name != LABEL}
        assert model.predict_proba([row]).tobytes() == together[i : i + 1].tobytes()
        assert model.predict_proba({name: [value] for name, value in row.items()}).tobytes() == together[i].tobytes()
        assert list(model.predict_proba_one(row).values()) == together[i].tolist()
        absent = {name: value for name, value in row.items() if value is not None}
        assert model.predict_proba([absent]).tobytes() == together[i : i + 1].tobytes()
        assert list(model.predict_proba_one(absent).values()) == together[i].tolist()


@pytest.mark.parametrize("weights", ["auto", None])
@pytest.mark.parametrize("numeric", ["histogram", "gaussian"])
def test_a_row_of_a_matrix_scores_alone_as_in_a_batch(weights, numeric):
    rng = np.random.default_rng(0)
    matrix, y = rng.normal(size=(300, 6)), rng.integers(0, 3, 300)
    matrix[rng.random((300, 6)) < 0.2 * y[:, None]] = NAN
    model = tb.fit(matrix, y, missing_as_value=True, column_weights=weights, numeric=numeric)
    together = model.predict_proba(matrix)
    alone = [model.predict_proba(matrix[i : i + 1]) for i in range(300)]
    assert np.concatenate(alone).tobytes() == together.tobytes()
    as_table = {f"x{j}": matrix[:, j] for j in range(6)}
    assert model.predict_proba(as_table).tobytes() == together.tobytes()
    for i in range(0, 300, 11):
        row = {name: values[i] for name, values in as_table.items()}
        assert list(model.predict_proba_one(row).values()) == together[i].tolist()


@pytest.mark.parametrize("weights", ["auto", None])
def test_explanations_add_up_to_the_score(weights):
    table = gappy()
    model = tb.fit(table, label=LABEL, families=INFERRED, missing_as_value=True, column_weights=weights)
    few = without_label(rows_of(table, range(20)))
    for one, scores in zip(model.explain(few), model.log_score(few), strict=True):
        np.testing.assert_allclose(one.log_prior + sum(one.log_evidence.values()), scores, rtol=1e-12, atol=1e-12)


def test_what_is_learned_and_forgotten_leaves_no_trace():
    table, more = gappy(), gappy(40, 1)
    for model in (switched_on(table), tb.fit(table, label=LABEL, families=INFERRED)):
        before, scores = dumps(model), model.log_score(without_label(table))
        model.learn(more)
        assert model.log_score(without_label(table)).tobytes() != scores.tobytes()
        model.forget(more)
        assert model.log_score(without_label(table)).tobytes() == scores.tobytes()
        assert dumps(model) == before


def test_order_batches_and_merge_do_not_matter():
    table = gappy()
    whole = switched_on(table)
    order = np.random.default_rng(1).permutation(200)
    assert dumps(switched_on(rows_of(table, order))) == dumps(whole)
    one, other = (switched_on(rows_of(table, rows)) for rows in (range(70), range(70, 200)))
    assert one.merge(other).same_counts(whole)
    probe = without_label(table)
    assert one.merge(other).log_score(probe).tobytes() == whole.log_score(probe).tobytes()


def test_a_saved_model_gives_the_same_answers():
    table = gappy()
    for option in (True, {"real": True, "kind": False}, "auto"):
        model = tb.fit(table, label=LABEL, families=INFERRED, missing_as_value=option)
        again = round_trip(model)
        assert again.settings.missing_as_value == option
        assert again.column_weights.missing == model.column_weights.missing
        assert again.predict_proba(table).tobytes() == model.predict_proba(table).tobytes()


@pytest.mark.parametrize("column_weights", [None, {"missing": {"x": {"p": 0.5, "q": 1.5}, "c": 0.25}}])
def test_leave_one_out_agrees_with_refitting(column_weights):
    """Where smoothing is fixed, and the strength of gaps is that of all rows."""
    options = {
        "label": "y",
        "families": {"x": "gaussian", "c": "categorical"},
        "smoothing": 1.0,
        "column_weights": None,
    }
    rng = np.random.default_rng(0)
    y = rng.choice(["p", "q"], 60)
    table = {
        "x": [NAN if draw < 0.5 * (own == "p") else float(value) for draw, own, value in _draws(rng, y)],
        "c": [None if draw < 0.3 else "ab"[int(value > 0)] for draw, _, value in _draws(rng, y)],
        "y": y.tolist(),
    }
    model = tb.fit(table, **options, missing_as_value=True)
    if column_weights:
        model.column_weights = tb.ColumnWeights(**column_weights)
    left = np.exp(model.leave_one_out(table))
    worst = 0.0
    for row in range(60):
        rest = tb.fit({name: v[:row] + v[row + 1 :] for name, v in table.items()}, **options, missing_as_value=True)
        rest.column_weights = model.column_weights
        one = {name: [v[row]] for name, v in table.items() if name != "y"}
        worst = max(worst, float(np.abs(left[row] - rest.predict_proba(one)[0]).max()))
    assert worst < 1e-9


def _draws(rng, y):
    return zip(rng.random(len(y)), y.tolist(), rng.normal(size=len(y)), strict=True)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"nosuch": True}, "the name of a column, got 'nosuch'"),
        ({"nois": True}, "did you mean 'noise'"),
        ({"y": True}, "neither the label nor the weight"),
        ("yes", "missing_as_value to be 'auto', True or False; or a dict"),
        (1, "missing_as_value to be"),
        ({"x": "never"}, "missing_as_value to be"),
    ],
)
def test_other_options_are_refused(option, words):
    with pytest.raises(ParameterError, match=words):
        tb.fit(informative_gaps(60, 0), label="y", missing_as_value=option)


@pytest.mark.slow
def test_the_command_line_takes_the_option(tmp_path):
    import pyarrow as pa
    from pyarrow import csv

    train = informative_gaps(300, 0)
    table = {name: pa.array(values, from_pandas=True) for name, values in train.items()}
    csv.write_csv(pa.table(table), tmp_path / "gaps.csv")
    for given, wanted in ((["yes"], True), (["no"], False), (["auto"], "auto"), (["x=yes", "noise=no"], None)):
        flags = [part for own in given for part in ("--missing-as-value", own)]
        fine("fit", "gaps.csv", "--label", "y", *flags, "-o", "m.tally", cwd=tmp_path)
        model = tb.load(tmp_path / "m.tally")
        assert model.settings.missing_as_value == ({"x": True, "noise": False} if wanted is None else wanted)
        assert model.same_counts(
            tb.fit(tmp_path / "gaps.csv", label="y", missing_as_value=model.settings.missing_as_value)
        )
    for wrong, words in (("maybe", "yes, no or auto"), ("nosuch=yes", "nosuch")):
        done = tally("fit", "gaps.csv", "--label", "y", "--missing-as-value", wrong, "-o", "no.tally", cwd=tmp_path)
        assert done.returncode != 0
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_weights_of_gaps_are_settings_of_the_model():
    model = tb.fit(SMALL, label="y", column_weights=None)
    plain = model.predict_proba([{"x": None}])
    model.column_weights = tb.ColumnWeights(missing={"x": 0.5})
    half = model.explain([{"x": None}])[0].log_evidence["x"]
    model.column_weights = tb.ColumnWeights(missing={"x": 1.0})
    np.testing.assert_allclose(half * 2, model.explain([{"x": None}])[0].log_evidence["x"], rtol=1e-12)
    model.column_weights = tb.ColumnWeights(missing={"x": 0.0})
    np.testing.assert_allclose(model.predict_proba([{"x": None}]), plain, rtol=1e-12)
    for wrong, words in (({"nosuch": 1.0}, "columns of the model"), ({"x": {"r": 1.0}}, "labels of the model")):
        with pytest.raises(ParameterError, match=words):
            model.column_weights = tb.ColumnWeights(missing=wrong)
    with pytest.raises(ParameterError, match="a weight of at least 0"):
        tb.ColumnWeights(missing={"x": -1.0})
    assert loads(dumps(model)).column_weights == model.column_weights


def test_a_column_without_any_value_is_no_evidence():
    table = {
        "x": [1.5, 2.0, 4.0, 5.5] * 20,
        "never": pa.array([None] * 80, pa.string()),
        "y": ["p", "p", "q", "p"] * 20,
    }
    for options in ({}, {"missing_as_value": True, "column_weights": None}):
        model = tb.fit(table, "y", **options)
        assert "never" not in model.column_weights.missing
        assert np.array_equal(loads(dumps(model)).predict_proba(table), model.predict_proba(table))
