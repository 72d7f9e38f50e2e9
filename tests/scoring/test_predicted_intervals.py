"""Credible intervals of predicted probabilities: coverage, nesting, and what makes them narrower."""

import json
import subprocess
import sys

import numpy as np
import pytest

import tallybayes as tb
from tables import FAMILIES, mixed_frame
from tallybayes.errors import UnsupportedError
from tallybayes.families import Histogram


def test_one_column_of_yes_and_no_against_exact_simulation():
    rng = np.random.default_rng(4)
    counts = {"p": (30, 12), "q": (9, 25)}  # yes and no
    x = [value for yes, no in counts.values() for value in [True] * yes + [False] * no]
    model = tb.fit({"x": x, "y": ["p"] * 42 + ["q"] * 34}, label="y", smoothing=1, column_weights=None)
    theta = np.stack([rng.beta(yes + 1, no + 1, 200_000) for yes, no in counts.values()])
    share = rng.dirichlet([43, 35], 200_000).T
    for value, p_x in ((True, theta), (False, 1 - theta)):
        joint = share * p_x
        exact = np.quantile(joint[0] / joint.sum(axis=0), [0.025, 0.975])
        found = model.predict_interval({"x": value}, 0.95)[0]
        assert found[0] == pytest.approx(exact, abs=0.015)
        assert found[1] == pytest.approx(1 - found[0][::-1], abs=1e-9)


@pytest.mark.parametrize("n_columns", [1, 6])
def test_intervals_hold_the_probability_that_made_the_data(n_columns):
    """90 % intervals of P(class | x) hold the true one in 90 % of 500 models; 4 standard errors are 5.4 %."""
    rng, inside, names = np.random.default_rng(8), [], [f"x{j}" for j in range(n_columns)]
    while len(inside) < 500:
        theta, share = rng.random((n_columns, 2)), rng.random()
        y = (rng.random(40) < share).astype(int)
        if y.min() == y.max():
            continue
        table = {name: rng.random(40) < theta[j, y] for j, name in enumerate(names)} | {"y": y}
        model = tb.fit(table, label="y", families=dict.fromkeys(names, "bernoulli"), smoothing=1, column_weights=None)
        joint = np.array([1 - share, share]) * theta.prod(axis=0)
        low, high = model.predict_interval(dict.fromkeys(names, True), 0.9)[0, 1]
        inside.append(low <= joint[1] / joint.sum() <= high)
    assert np.mean(inside) == pytest.approx(0.9, abs=0.054)


def times(table, n):
    return {name: list(values) * n for name, values in table.items()}


@pytest.mark.parametrize("smoothing", ["auto", 1.0])
def test_more_rows_of_the_same_kind_make_it_narrower(smoothing):
    frame = mixed_frame(80)
    del frame["hashed"]  # absent words of eight buckets: nearly all of them are certain already
    families = {name: own for name, own in FAMILIES.items() if name in frame}
    few, many = (
        tb.fit(times(frame, n), label="y", families=families, smoothing=smoothing, column_weights=None) for n in (1, 10)
    )
    for name in families:
        rows = {name: frame[name]}
        widths = [np.ptp(model.predict_interval(rows), axis=2).mean() for model in (few, many)]
        assert widths[1] < 0.7 * widths[0], name


def test_the_point_is_inside_and_intervals_are_nested_in_level():
    frame = mixed_frame(60)
    model = tb.fit(frame, label="y", families=FAMILIES, column_weights=None)
    for calibrated in (False, True):
        p = model.predict_proba(frame, calibrated=calibrated)
        before = model.predict_interval(frame, 0.0, calibrated=calibrated)
        assert before == pytest.approx(np.stack([p, p], axis=2), abs=1e-12)
        for level in (0.3, 0.9, 0.99):
            found = model.predict_interval(frame, level, calibrated=calibrated)
            assert found.shape == (60, len(model.classes), 2)
            assert (found[..., 0] <= before[..., 0] + 1e-12).all()
            assert (found[..., 1] >= before[..., 1] - 1e-12).all()
            assert ((found >= 0) & (found <= 1)).all()
            before = found
        model.calibrate(frame, method="isotonic")


def test_a_row_of_unseen_values_is_wide():
    table = {"x": ["a", "b"] * 40, "z": ["a", "b"] * 40, "y": ["p", "q"] * 40}
    for smoothing in ("auto", 1.0):
        model = tb.fit(table, label="y", smoothing=smoothing, column_weights=None)
        seen, unseen = (
            np.ptp(model.predict_interval(row)[0, 0]) for row in ({"x": "a", "z": "a"}, {"x": "?", "z": "?"})
        )
        assert unseen > 2 * seen
        assert unseen > 0.3
    silent = tb.fit(table, label="y", unseen="missing", column_weights=None)
    nothing, unseen = (silent.predict_interval(row) for row in ({"x": None}, {"x": "?", "z": "?"}))
    assert nothing.tolist() == unseen.tolist()


def test_weights_scale_what_is_not_known():
    table = {"x": ["a", "b", "a"] * 10, "y": ["p", "q", "q"] * 10}
    model = tb.fit(table, label="y", smoothing=1, class_prior="uniform", column_weights=None)
    full = np.ptp(model.predict_interval({"x": "b"})[0, 0])
    model.column_weights = tb.ColumnWeights({"x": 0.5})
    half = np.ptp(model.predict_interval({"x": "b"})[0, 0])
    model.column_weights = tb.ColumnWeights({"x": 0.0})
    assert np.ptp(model.predict_interval({"x": "b"})[0, 0]) == 0 < half
    assert half != full


def test_the_same_draws_for_every_row_and_batch():
    frame = mixed_frame(60)
    model = tb.fit(frame, label="y", families=FAMILIES, column_weights=None)
    whole = model.predict_interval(frame)
    rows = [{name: values[i] for name, values in frame.items()} for i in range(60)]
    assert model.predict_interval(rows[7:8]) == pytest.approx(whole[7:8], abs=1e-9)
    assert model.predict_interval(frame, seed=1).tolist() != whole.tolist()


def test_infinitely_strong_smoothing_leaves_nothing_open():
    frame = mixed_frame(40)
    model = tb.fit(frame, label="y", families=FAMILIES, smoothing=np.inf, class_prior="uniform", column_weights=None)
    own = {name: values for name, values in frame.items() if name not in ("note", "hashed")}
    assert np.ptp(model.predict_interval(own), axis=2).max() < 1e-9


def test_weighted_text_that_has_no_posterior_says_so():
    table = {"x": ["cash prize", "lunch time"] * 5, "y": ["p", "q"] * 5}
    model = tb.fit(table, label="y", families={"x": "text:counts,tf=count,k=1,idf=True"}, column_weights=None)
    with pytest.raises(UnsupportedError, match="no posterior"):
        model.predict_interval(table)


def test_histograms_tell_shares_of_classes_at_some_values():
    x = np.concatenate([np.arange(30.0), np.arange(30.0) + 20])
    table = {"x": x, "y": ["p"] * 30 + ["q"] * 30}
    rows = tb.fit(table, label="y", families={"x": Histogram()}, column_weights=None).intervals().columns["x"]
    assert len(rows) == 16
    assert all(row["low"] < row["P(class | value)"] < row["high"] for row in rows)
    assert rows[0]["P(class | value)"] > 0.9 > 0.1 > rows[-2]["P(class | value)"]


@pytest.mark.slow
def test_the_commands_show_intervals(tmp_path):
    path, file = tmp_path / "table.csv", str(tmp_path / "model.tally")
    path.write_text("x,y\n" + "a,p\nb,q\na,q\n" * 6)
    model = tb.fit(str(path), label="y", smoothing=1, column_weights=None)
    model.save(file)

    def run(*options):
        command = [sys.executable, "-m", "tallybayes.cli.main", *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    lines = [json.loads(line) for line in run("predict", file, str(path), "--interval", "0.9", "--json").splitlines()]
    found = model.predict_interval(str(path), 0.9)
    for line, own in zip(lines, found, strict=True):
        assert [line["low"], line["high"]] == pytest.approx(own[model.classes.index(line["predicted"])])
    path.write_text("x,y\n")
    assert run("predict", file, str(path), "--interval", "0.9") == "x,y,predicted,probability,low,high\n"
    told = json.loads(run("inspect", file, "--level", "0.9", "--json"))
    assert told["parameters"]["x"] == model.intervals(0.9).to_dict()["parameters"]["x"]
