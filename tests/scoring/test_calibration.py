"""Probabilities put right: by scikit-learn's isotonic regression, and by a temperature of the least log loss."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

import tallybayes as tb
from models import round_trip
from tallybayes.errors import DataError, ParameterError
from tallybayes.model import training_scores


def repeated(n=300, times=6, seed=0):
    """A table whose column is there several times, so that a plain model is far too sure of itself."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["p", "q", "r"], n)
    x = np.where(rng.random(n) < 0.6, y, rng.choice(["p", "q", "r"], n))
    return {f"x{i}": x for i in range(times)} | {"y": y}


def test_the_temperature_has_the_least_log_loss():
    table = repeated()
    model = tb.fit(table, label="y", column_weights=None, smoothing=1)
    codes = np.searchsorted(model.classes, table["y"])

    def loss(t):
        log_p = model.leave_one_out(table, calibrated=False) / t
        log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
        return -log_p[np.arange(len(codes)), codes].sum() + 5 * (1 / t - 1) ** 2  # shrunk to 1

    found = model.calibrate(table)
    assert found.temperature > 3
    assert loss(found.temperature) <= min(loss(found.temperature * 1.01), loss(found.temperature / 1.01), loss(1.0))


def test_isotonic_is_that_of_scikit_learn_scaled_to_add_up():
    table = repeated()
    model = tb.fit(table, label="y", column_weights=None, smoothing=1)
    raw = np.exp(model.leave_one_out(table))
    model.calibrate(table, "isotonic")
    expected = np.stack(
        [
            IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
            .fit(raw[:, c], table["y"] == label)
            .predict(raw[:, c])
            for c, label in enumerate(model.classes)
        ],
        axis=1,
    )
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(model.leave_one_out(table)), expected, atol=1e-9)


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_new_rows_are_judged_better(method):
    model = tb.fit(repeated(seed=0), label="y", column_weights=None)
    before = tb.evaluate(model, repeated(seed=1))
    model.calibrate(repeated(seed=0), method)
    after = tb.evaluate(model, repeated(seed=1))
    assert after.log_loss < 0.7 * before.log_loss
    assert after.ece < before.ece / 2


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_it_is_kept_in_the_file_marked_stale_and_can_be_undone(method):
    table = repeated()
    model = tb.fit(table, label="y", column_weights=None)
    raw = model.predict_proba(table)
    model.calibrate(table, method)
    again = round_trip(model)
    assert again.calibration == model.calibration
    assert np.array_equal(again.predict_proba(table), model.predict_proba(table))
    assert not np.allclose(model.predict_proba(table), raw)
    np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1.0)
    assert np.array_equal(model.predict_proba(table, calibrated=False), raw)
    one = {name: values[0] for name, values in table.items() if name != "y"}
    np.testing.assert_allclose(list(model.predict_proba_one(one).values()), model.predict_proba(table)[0])
    np.testing.assert_allclose(model.explain(one)[0].probabilities, model.predict_proba(table)[0])
    assert model.stale == []
    model.learn({name: values[:1] for name, values in table.items()})
    assert model.stale == ["calibration"]
    model.calibration = None
    assert model.stale == []


def test_new_rows_may_be_calibrated_on():
    model = tb.fit(repeated(seed=0), label="y", column_weights=None)
    model.calibrate(repeated(seed=1), leave_one_out=False)
    assert model.calibration.temperature > 3


def test_classes_ruled_out_stay_so():
    table = {"x": ["a", "b", "c"] * 20, "y": ["p", "q", "p"] * 20}
    model = tb.fit(table, label="y", estimate="mle", column_weights=None)
    model.calibrate(table)
    assert model.predict_proba({"x": ["a"]}).tolist() == [[1.0, 0.0]]


def test_a_temperature_does_not_change_the_answer():
    table = repeated()
    model = tb.fit(table, label="y", column_weights=None)
    before = model.predict(table)
    model.calibrate(table)
    assert np.array_equal(model.predict(table), before)


def test_what_cannot_be_is_refused():
    table = repeated()
    model = tb.fit(table, label="y", column_weights=None)
    with pytest.raises(ParameterError, match="'temperature' or 'isotonic'"):
        model.calibrate(table, "platt")
    with pytest.raises(ParameterError, match="a temperature above 0"):
        tb.Calibration("temperature", 0.0)
    with pytest.raises(ParameterError, match="increasing steps"):
        tb.Calibration("isotonic", steps={"p": ((0.5, 0.4), (0.0, 1.0))})
    with pytest.raises(ParameterError, match="a Calibration or None"):
        model.calibration = "temperature"
    one = tb.fit({"x": ["a"], "y": ["p"]}, label="y", column_weights=None)
    with pytest.raises(DataError, match="at least two classes"):
        one.calibrate({"x": ["a"], "y": ["p"]})
    assert model.calibration is None


def test_rows_that_are_easily_told_apart_do_not_make_it_certain():
    table = {"x": ["a", "b"] * 20, "y": ["p", "q"] * 20}
    model = tb.fit(table, label="y", smoothing=1, column_weights=None)
    model.calibrate(table)
    assert 0.3 < model.calibration.temperature <= 1.0


def test_the_text_names_the_rows_it_was_fitted_on():
    model = tb.fit(repeated(seed=0), label="y", column_weights=None)
    new = {name: values[:30] for name, values in repeated(seed=1).items()}
    assert "fitted on 30 rows" in str(model.calibrate(new, leave_one_out=False))
    assert model.stale == []


def test_calibrated_probabilities_do_not_pass_through_underflow():
    """With 900 copies of a column P is 1 and 0 in doubles before calibration, and far from that after it."""
    x = ["a"] * 80 + ["b"] * 20 + ["a"] * 20 + ["b"] * 80
    table = {f"x{i}": x for i in range(900)} | {"y": ["p"] * 100 + ["q"] * 100}
    model = tb.fit(table, label="y", smoothing=1, column_weights=None)
    one = {f"x{i}": "a" for i in range(900)}
    model.calibration = tb.Calibration("temperature", 900.0)
    truth = 81 / 102 / (81 / 102 + 21 / 102)
    assert model.predict_proba(one)[0, 0] == pytest.approx(truth, abs=1e-9)
    assert model.predict_proba_one(one)["p"] == pytest.approx(truth, abs=1e-9)
    assert model.explain(one)[0].probabilities[0] == pytest.approx(truth, abs=1e-9)
    snapshot = model.snapshot()
    assert np.exp(snapshot.posterior.log_proba(model.log_score(one)))[0, 0] == pytest.approx(truth, abs=1e-9)
    (_, log_proba), *_ = snapshot.log_proba_batches([one])
    assert np.exp(log_proba)[0, 0] == pytest.approx(truth, abs=1e-9)


def test_a_temperature_is_found_whatever_the_number_of_copies():
    x = ["a"] * 400 + ["b"] * 100 + ["a"] * 100 + ["b"] * 400
    table = {f"x{i}": x for i in range(900)} | {"y": ["p"] * 500 + ["q"] * 500}
    model = tb.fit(table, label="y", smoothing=1, column_weights=None)
    model.calibrate(table)
    assert model.predict_proba({f"x{i}": "a" for i in range(900)})[0, 0] == pytest.approx(0.8, abs=0.005)


def correlated(n, seed=0):
    """Rows of two classes with columns that tell the same, as a data frame would have them."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    x = rng.normal(size=n) + y
    columns = {"a": x + rng.normal(size=n), "b": x + rng.normal(size=n), "c": rng.integers(0, 9, n) + 2 * y}
    return columns | {"k": rng.choice(["u", "v", "w"], n), "y": np.where(y, "yes", "no")}


def taken(rows, order):
    return {name: values[order] for name, values in rows.items()}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["temperature", "isotonic"])
@pytest.mark.parametrize("options", [{}, {"numeric": "gaussian", "column_weights": None, "smoothing": 1}])
def test_a_calibration_does_not_depend_on_the_order_of_the_rows(method, options, tmp_path):
    rows, found = correlated(150), []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(150)
        found.append(tb.fit(taken(rows, order), label="y", **options).calibrate(taken(rows, order), method))
    path = tmp_path / "rows.csv"
    lines = zip(*(values.tolist() for values in taken(rows, np.arange(150)[::-1]).values()), strict=True)
    path.write_text("\n".join([",".join(rows), *(",".join(map(str, line)) for line in lines)]))
    found.append(tb.fit(path, label="y", **options).calibrate(path, method))
    assert all(one == found[0] for one in found)


def test_new_names_of_columns_and_classes_move_a_temperature_little():
    """They change which rows share a fold; several deals of few rows make up for that."""
    rows = correlated(150, seed=3)
    renamed = {f"column {name}": values for name, values in rows.items() if name != "y"} | {"y": rows["y"]}
    swapped = rows | {"y": np.where(rows["y"] == "yes", "a", "z")}
    given = [tb.fit(own, label="y", column_weights=None).calibrate(own).temperature for own in (rows, renamed, swapped)]
    assert max(given) / min(given) < 1.1


def test_more_rows_than_can_be_sorted_are_dealt_in_their_order(monkeypatch, tmp_path):
    rows = correlated(150)
    path = tmp_path / "rows.csv"
    lines = [",".join(map(str, line)) for line in zip(*(values.tolist() for values in rows.values()), strict=True)]
    path.write_text("\n".join([",".join(rows), *lines[:70], "inf,1,1,u,yes", *lines[70:]]))
    source = tb.read(str(path), skip_bad=True)
    model = tb.fit(rows, label="y")
    monkeypatch.setattr(training_scores, "_CELLS", 100)
    assert model.calibrate(source).fitted_on == 150
    assert source.bad.count == 1
