"""What tuning expects on new rows: it agrees with them, its interval covers them, and gains are those over `fit`."""

import numpy as np
import pytest
from test_token_corrections import reviews

import tallybayes as tb


def normal_classes(n, seed):
    """Numbers of four classes: few rows determine many weights."""
    rng, centre = np.random.default_rng(seed), np.random.default_rng(7).normal(size=(4, 8)) * 0.6
    y = rng.integers(0, 4, n)
    x = (centre[y] + rng.normal(size=(n, 8))).round(1)
    return {f"x{j}": x[:, j] for j in range(8)} | {"y": y.astype(str)}


def noise(n, seed, n_classes=5):
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": rng.normal(size=n) if j % 2 else rng.choice(list("abcd"), n) for j in range(5)}
    return columns | {"y": rng.choice(list("pqrst")[:n_classes], n)}


def noise_texts(n, seed):
    rng = np.random.default_rng(seed)
    texts = [" ".join(f"word{i}" for i in words) for words in rng.integers(0, 300, (n, 30))]
    return {"text": texts, "y": rng.choice(["a", "b"], n)}


def differences(make, n, seeds):
    """Estimate minus new rows, and standard error: of the log loss, and of the accuracy."""
    for seed in seeds:
        tuned = tb.tune(make(n, seed), label="y")
        own, new = tuned.estimate, tb.evaluate(tuned.model, make(2000, seed + 500))
        yield own.log_loss - new.log_loss, own.error, own.accuracy - new.accuracy, own.accuracy_error


def test_a_95_percent_interval_covers_the_quality_on_new_rows():
    loss, error, accuracy, accuracy_error = np.array([*differences(normal_classes, 400, range(48))]).T
    assert (np.abs(loss) < 1.96 * error).mean() >= 0.9
    assert (np.abs(accuracy) < 1.96 * accuracy_error).mean() >= 0.9


@pytest.mark.slow
def test_the_estimate_of_texts_of_noise_agrees_with_new_ones():
    """In the mean over sets of 60 documents."""
    loss, error, accuracy, accuracy_error = np.array([*differences(noise_texts, 60, range(20))]).T.mean(axis=1)
    assert abs(loss) < error / 2
    assert abs(accuracy) < accuracy_error / 2


def test_copies_of_a_row_that_are_sampled_together_tell_no_more_than_the_row():
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    y = np.where(x + rng.normal(size=2000) > 0, "p", "q")
    times = np.repeat(np.arange(2000), 20)
    one = tb.tune({"x": x, "y": y}, label="y", rows=400).estimate
    sampled = tb.tune({"x": x[times], "y": y[times]}, label="y", rows=400).estimate
    assert sampled.n_rows > 10 * one.n_rows
    assert sampled.error == pytest.approx(one.error, rel=0.3)


def test_copies_of_a_row_count_where_all_rows_are_judged():
    """Few different rows are no reason for doubt: the error is that of 1500 rows."""
    rng = np.random.default_rng(0)
    x = rng.choice(["a", "b"], 1500)
    y = np.where((x == "a") ^ (rng.random(1500) < 0.3), "p", "q")
    own = tb.tune({"x": x, "y": y}, label="y").estimate
    assert own.accuracy_error == pytest.approx(np.sqrt(2 * 0.3 * 0.7 / 1500), rel=0.1)


def test_the_estimate_has_the_corrections_of_tokens():
    options = {"label": "label", "families": {"text": "text:counts,tf=once,k=1"}}
    tuned = tb.tune(reviews(1500), what=["text", "column_weights"], **options)
    assert tuned.steps[-1].name == "corrections of tokens"
    change = tuned.steps[-1].after - tuned.steps[-1].before
    without = tb.tune(reviews(1500), what="column_weights", **options)
    assert tuned.estimate.log_loss == pytest.approx(without.estimate.log_loss + change, abs=1e-12)
    assert tuned.log_loss[1] == tuned.estimate.log_loss
    assert tuned.log_loss[0] == without.log_loss[0]
    assert tuned.estimate.error > without.estimate.error
    assert not tuned.is_default


def test_gains_are_those_over_the_default_model():
    """Of three columns two are copies: `fit` gains by weights, and tuning gains nothing over that."""
    x, y = noise(1000, 0)["x0"], noise(1000, 0)["y"]
    y = np.where(np.random.default_rng(1).random(1000) < 0.7, x, y)
    table = {"x": x, "copy": x, "again": x, "y": y}
    tuned = tb.tune(table, label="y")

    assert tuned.steps[0].before == tuned.steps[0].after
    assert tuned.log_loss[0] == tuned.log_loss[1] == tuned.estimate.log_loss
    assert tuned.is_default
    assert tuned.to_dict()["is_default"]
    assert "nothing is clearly better than the default model of `fit`: it is kept" in str(tuned)
    assert tuned.model.predict_proba(table).tolist() == tb.fit(table, label="y").predict_proba(table).tolist()


@pytest.mark.parametrize("what", [None, "smoothing"])
def test_noise_leaves_the_default_model_as_it_is(what):
    """Where there is nothing to find, at most a few of many sets find something by chance."""
    options = {} if what is None else {"what": ["column_weights", what], "strengths": 7}
    found = [tb.tune(noise(600, seed), label="y", **options) for seed in range(12)]
    kept = [
        own.model.column_weights == tb.fit(noise(600, seed), label="y").column_weights for seed, own in enumerate(found)
    ]
    assert kept == [own.is_default for own in found]
    assert np.mean(kept) > 0.7


def test_hyperparameters_that_help_are_no_default_model():
    table = noise(600, 0, n_classes=2)
    table["z"] = [f"{y}{i}" for y, i in zip(table["y"], np.random.default_rng(1).integers(0, 60, 600), strict=True)]
    tuned = tb.tune(table, label="y", what=["column_weights", "smoothing"], smoothing=500.0, strengths=7)
    assert tuned.model.settings.smoothing_of("z") != 500.0
    assert not tuned.is_default
    assert tuned.log_loss[1] < tuned.log_loss[0]


@pytest.mark.parametrize("n", [80, 150])
def test_the_estimate_is_a_possible_one_where_an_interaction_tells_all(n):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a, b = rng.integers(0, 2, (2, n))
        columns = {f"x{j}": one for j, one in enumerate(rng.normal(size=(8, n)))}
        own = tb.tune({"a": a.astype(str), "b": b.astype(str), "y": (a ^ b).astype(str)} | columns, label="y").estimate
        assert own.log_loss > 0
        assert 0 <= own.accuracy <= 1
