"""A row left out is scored by the model that never saw it: refitting is the oracle."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tables import FAMILIES, LABEL, mixed_frame, rows
from tallybayes.errors import ForgetError, UnsupportedError

HELD = {"level"}  # a refitted histogram chooses anew; `check_family` compares it with what is held
OPEN = {name: family for name, family in FAMILIES.items() if name not in HELD}


def fitted(table, **options):
    model = tb.fit(
        {name: [] for name in FAMILIES} | {LABEL: []},
        label=LABEL,
        families=OPEN,
        ignore=HELD,
        **options,
        column_weights=None,
    )
    model.learn(table)
    return model


def by_refitting(table, row, **options):
    model = fitted([one for i, one in enumerate(table) if i != row], **options)
    return model.predict_proba([{name: value for name, value in table[row].items() if name != LABEL}])[0]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(table=rows, smoothing=st.sampled_from([0.3, 1.0, 4.0]), class_prior=st.sampled_from(["empirical", "uniform"]))
def test_leaving_out_is_refitting(table, smoothing, class_prior):
    labels = [one[LABEL] for one in table]
    assume(len(set(labels) - {None}) >= 2)
    model = fitted(table, smoothing=smoothing, class_prior=class_prior)
    left = np.exp(model.leave_one_out(table))
    assert np.isfinite(left).all()
    for row, label in enumerate(labels):
        if (
            label is None or labels.count(label) > 1
        ):  # a class that goes with its only row stays one when it is left out
            expected = by_refitting(table, row, smoothing=smoothing, class_prior=class_prior)
            np.testing.assert_allclose(left[row], expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("options", [{"smoothing": 1.0}, {"smoothing": 0.1}, {"estimate": "mle"}], ids=str)
def test_of_a_larger_table_too(options):
    table, n = mixed_frame(90), 90
    as_rows = [{name: values[i] for name, values in table.items()} for i in range(n)]
    model = fitted(as_rows, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.RuledOutWarning)
        left = np.exp(model.leave_one_out(table))
        for row in range(0, n, 7):
            np.testing.assert_allclose(left[row], by_refitting(as_rows, row, **options), rtol=1e-9, atol=1e-12)


def test_a_row_of_weight_two_is_left_out_whole():
    table = {"x": [1.0, 2.0, 4.0, 5.0, 1.5], "c": ["a", "b", "b", "a", "a"], "y": ["p", "p", "q", "q", "q"]}
    weights = [2.0, 1.0, 0.5, 1.0, 0.0]
    options = {"label": "y", "families": {"x": "gaussian", "c": "categorical"}, "smoothing": 1.0}
    left = tb.fit(table, sample_weight=weights, **options, column_weights=None).leave_one_out(
        table, sample_weight=weights
    )
    for row in range(5):
        others = [i for i in range(5) if i != row]
        model = tb.fit(
            {n: [v[i] for i in others] for n, v in table.items()},
            sample_weight=[weights[i] for i in others],
            **options,
            column_weights=None,
        )
        one = {name: [values[row]] for name, values in table.items() if name != "y"}
        np.testing.assert_allclose(np.exp(left[row]), model.predict_proba(one)[0], rtol=1e-12)


def test_weights_are_taken_from_their_column():
    table = {"x": ["a", "b", "b", "a"], "w": [1.0, 2.0, 3.0, 1.0], "y": ["p", "q", "q", "p"]}
    model = tb.fit(table, label="y", sample_weight="w", column_weights=None)
    given = tb.fit(table, label="y", sample_weight=table["w"], ignore=["w"], column_weights=None)
    assert np.array_equal(model.leave_one_out(table), given.leave_one_out(table, sample_weight=table["w"]))


def test_an_outlier_is_left_out_by_exact_sums():
    """Without it the column is constant, which subtraction in floating point would not show."""
    table = {"x": [0.1] * 20 + [1e9], "y": ["p", "q"] * 10 + ["p"]}
    left = np.exp(tb.fit(table, label="y", families="gaussian", column_weights=None).leave_one_out(table))
    assert left[20].tolist() == [0.5, 0.5]


def test_a_large_offset_does_not_matter():
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5])
    y = list("pqpqpqpq")
    near, far = (
        tb.fit({"x": x + at, "y": y}, label="y", families="gaussian", column_weights=None) for at in (0.0, 1e15)
    )
    np.testing.assert_allclose(
        near.leave_one_out({"x": x, "y": y}), far.leave_one_out({"x": x + 1e15, "y": y}), rtol=1e-9
    )


@pytest.mark.parametrize("column", ["flag", "kind", "level", "events", "words", "topics", "note"])
def test_rows_that_were_never_learned_cannot_be_left_out(column):
    other = {
        "flag": True,
        "kind": "green",
        "level": 9.0,
        "events": 40,
        "words": {"d": 3},
        "topics": ["d"],
        "note": "cash cash",
    }
    known = {
        "flag": False,
        "kind": "red",
        "level": 1.0,
        "events": 0,
        "words": {"a": 1},
        "topics": ["a"],
        "note": "cash lunch",
    }
    options = {"label": LABEL, "families": {column: FAMILIES[column]}}
    model = tb.fit(
        [{column: known[column], LABEL: "p"}, {column: other[column], LABEL: "q"}], **options, column_weights=None
    )
    with pytest.raises(ForgetError, match="a row that was learned") as error:
        model.leave_one_out([{column: known[column], LABEL: "p"}, {column: other[column], LABEL: "p"}])
    assert error.value.row == 1
    with pytest.raises(ForgetError, match="a row that was learned"):
        model.leave_one_out([{column: known[column], LABEL: "r"}])


def test_rows_without_a_label_are_just_scored():
    table = {"x": ["a", "b", "b", "a"], "y": ["p", "q", None, "p"]}
    model = tb.fit(table, label="y", column_weights=None)
    assert np.allclose(np.exp(model.leave_one_out(table))[2], model.predict_proba({"x": ["b"]})[0])


def test_a_model_that_is_written_down_has_no_rows_to_leave_out():
    model = tb.from_probabilities({"p": 0.5, "q": 0.5}, {"x": {"p": 0.1, "q": 0.9}}, label="y")
    with pytest.raises(UnsupportedError):
        model.leave_one_out({"x": [1], "y": ["p"]})


def test_files_are_read_batch_by_batch(tmp_path):
    table = mixed_frame(300)
    lines = ["kind,real,y"] + [
        f"{k or ''},{'' if r is None else r},{y}"
        for k, r, y in zip(table["kind"], table["real"], table["y"], strict=True)
    ]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines))
    model = tb.fit(str(path), label="y", column_weights=None)
    whole = {name: table[name] for name in ("kind", "real", "y")}
    np.testing.assert_allclose(
        model.leave_one_out(str(path)), tb.fit(whole, label="y", column_weights=None).leave_one_out(whole), rtol=1e-9
    )


def test_a_useless_column_looks_useless():
    """Scored on its own rows a column of names is perfect; left out, it says nothing."""
    rng = np.random.default_rng(0)
    table = {"name": [f"n{i}" for i in range(200)], "y": rng.choice(["p", "q"], 200)}
    model = tb.fit(table, label="y", families={"name": "categorical"}, smoothing=0.01, column_weights=None)
    assert (model.predict(table) == table["y"]).mean() == 1.0
    honest = np.array(model.classes)[model.leave_one_out(table).argmax(axis=1)]
    assert (honest == table["y"]).mean() < 0.6


def test_a_heavy_row_does_not_round_the_others_away():
    table, weights = {"x": list("abaab"), "y": list("ppqqq")}, [1e10, 1.0, 1.0, 1.0, 1.0]
    model = tb.fit(table, label="y", sample_weight=weights, smoothing=1, column_weights=None)
    rest = tb.fit(
        {name: values[1:] for name, values in table.items()},
        label="y",
        sample_weight=weights[1:],
        smoothing=1,
        column_weights=None,
    )
    left = np.exp(model.leave_one_out(table, sample_weight=weights)[0])
    np.testing.assert_allclose(left, rest.predict_proba({"x": ["a"]})[0], rtol=1e-6)


def test_a_class_of_rows_without_weight_was_never_learned():
    table, weights = {"x": list("abab"), "y": list("ppqr")}, [1.0, 1.0, 1.0, 0.0]
    model = tb.fit(table, label="y", sample_weight=weights, column_weights=None)
    np.testing.assert_allclose(
        np.exp(model.leave_one_out(table, sample_weight=weights)[3]), model.predict_proba({"x": ["b"]})[0]
    )


def test_a_bounded_vocabulary_can_be_left_out():
    table = {"note": [f"cash w{i} w{i + 1}" for i in range(40)], "y": ["p", "q"] * 20}
    model = tb.fit(table, label="y", families={"note": "text:counts,k=1.0,max_tokens=10"}, column_weights=None)
    assert np.isfinite(model.leave_one_out(table)).all()
