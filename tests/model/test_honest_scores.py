"""Figures about training rows agree with those of new rows, also where nothing can be learned."""

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb

pytestmark = pytest.mark.slow

N_NEW = 4000
SURE = 2.5  # standard errors: some ten differences are looked at


def reals(rng, n, d):
    return pd.DataFrame(rng.normal(size=(n, d)), columns=[f"x{i}" for i in range(d)])


def categories(rng, n, d):
    return pd.DataFrame({f"c{i}": [f"v{k}" for k in rng.integers(0, 40, n)] for i in range(d)})


def texts(rng, n, d):
    return pd.DataFrame({"text": [" ".join(f"w{k}" for k in rng.integers(0, 2000, d)) for _ in range(n)]})


NOISE = {
    "wide": (reals, 300, 300),
    "less wide": (reals, 300, 60),
    "long": (reals, 3000, 5),
    "categories": (categories, 300, 100),
    "text": (texts, 300, 12),
}


def noise(kind, seed=0):
    """Training rows and new rows whose labels do not depend on anything."""
    make, n, d = NOISE[kind]
    rng = np.random.default_rng(seed)
    train, new = make(rng, n, d), make(rng, N_NEW, d)
    return train.assign(y=rng.choice(["p", "q"], n)), new.assign(y=rng.choice(["p", "q"], N_NEW))


@pytest.mark.parametrize("options", [{}, {"column_weights": None}], ids=["default", "plain"])
@pytest.mark.parametrize("kind", NOISE)
def test_what_evaluate_reports_of_training_rows_is_what_new_rows_show(kind, options):
    train, new = noise(kind)
    families = {"families": {"text": "text"}} if kind == "text" else {}
    model = tb.fit(train, label="y", **families, **options)
    reported, seen = tb.evaluate(model, train, leave_one_out=True), tb.evaluate(model, new)
    share = np.sqrt(1 / len(train) + 1 / N_NEW)
    assert abs(reported.accuracy - seen.accuracy) < SURE * 0.5 * share
    assert abs(reported.log_loss - seen.log_loss) < SURE * losses(model, new).std() * share + 0.01


def losses(model, data):
    p = model.predict_proba(data)
    return -np.log(np.maximum(p[np.arange(len(p)), np.searchsorted(model.classes, data["y"])], 1e-300))


@pytest.mark.parametrize("kind", NOISE)
def test_on_noise_the_answer_is_near_the_class_shares(kind):
    train, new = noise(kind)
    families = {"families": {"text": "text"}} if kind == "text" else {}
    assert tb.evaluate(tb.fit(train, label="y", **families), new).log_loss < np.log(2) + 0.03


@pytest.mark.parametrize("kind", ["wide", "categories"])
def test_a_calibration_on_training_rows_holds_for_new_rows(kind):
    train, new = noise(kind)
    model = tb.fit(train, label="y", column_weights=None)
    model.calibrate(train)
    assert tb.evaluate(model, new).log_loss < np.log(2) + 0.05


@pytest.mark.parametrize("kind", ["wide", "categories"])
def test_a_threshold_chosen_on_training_rows_keeps_its_promise_on_new_rows(kind):
    missed, n = [], 0
    for seed in range(16):  # a single threshold depends on few rows
        train, new = noise(kind, seed)
        model = tb.fit(train, label="y")
        model.decide(train, "p", false_negatives=0.1)
        missed.append(np.mean([answer != "p" for answer in model.predict(new[new["y"] == "p"])]))
        n += (train["y"] == "p").sum()
    assert np.mean(missed) < 0.1 + 2 * np.sqrt(0.09 / n)


def test_where_nothing_is_chosen_it_is_leave_one_out_in_closed_form():
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=60), "y": rng.choice(["p", "q"], 60)}
    model = tb.fit(data, label="y", numeric="gaussian", column_weights=None)
    log_p = model.leave_one_out(data)
    own = log_p[np.arange(60), np.searchsorted(model.classes, data["y"])]
    assert tb.evaluate(model, data, leave_one_out=True).log_loss == pytest.approx(-own.mean(), rel=1e-12)
