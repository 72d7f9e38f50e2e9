"""Defects reproduced in other libraries, each as a test that this one gets it right (by their number in the survey)."""

import subprocess
import sys
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import tallybayes as tb


@pytest.mark.parametrize("n_classes", [2, 3])
def test_1_a_label_met_later_is_a_class_of_its_own(n_classes):
    data = {"k": ["a", "b", "c"][:n_classes], "y": list(range(n_classes))}
    model = tb.fit(data, label="y", families={"k": "categorical"})
    model.learn({"k": ["z"], "y": [99]})
    assert model.classes == [*range(n_classes), 99]
    assert model.class_counts[99] == 1
    assert model.class_counts[0] == 1
    assert model.predict({"k": "z"}).tolist() == [99]


def test_2_batches_give_the_variance_of_the_whole():
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.5, 7.0])
    y = np.array([0, 0, 0, 1, 1, 1])
    whole = tb.fit({"x": x, "y": y}, label="y", numeric="gaussian")
    parts = tb.fit({"x": x[:3], "y": y[:3]}, label="y", numeric="gaussian")
    parts.learn({"x": x[3:], "y": y[3:]})
    assert parts.same_counts(whole)
    one_by_one = tb.fit({"x": x[:1], "c": [1.0], "y": y[:1]}, label="y", numeric="gaussian")
    for a, b in zip(x[1:], y[1:], strict=True):
        one_by_one.learn({"x": float(a), "c": 1.0, "y": int(b)})
    assert np.isfinite(one_by_one.predict_proba({"x": x, "c": np.ones(6)})).all()
    assert np.allclose(one_by_one.predict_proba({"x": x}), whole.predict_proba({"x": x}), rtol=1e-12)


@pytest.mark.parametrize("numeric", ["gaussian", "histogram"])
def test_3_an_irrelevant_column_of_huge_variance_changes_nothing(numeric):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    good, noise = y + rng.normal(size=400) * 0.01, rng.normal(size=400) * 1e6
    both = tb.fit({"good": good, "noise": noise}, label=y, numeric=numeric, column_weights=None)
    alone = tb.fit({"good": good}, label=y, numeric=numeric, column_weights=None)
    p, q = both.predict_proba({"good": good, "noise": noise}), alone.predict_proba({"good": good})
    assert (p.argmax(axis=1) == q.argmax(axis=1)).all()
    assert np.abs(p - q).max() < 0.1
    assert np.median(p[np.arange(400), y]) > 0.99


def test_4_unseen_and_huge_codes_are_categories_like_others():
    model = tb.fit({"k": [0, 1, 2], "y": [0, 1, 1]}, label="y", families={"k": "categorical"})
    assert np.isfinite(model.log_score({"k": [3]})).all()
    tracemalloc.start()
    model.learn({"k": [2**40, -5], "y": [0, 1]})
    model.learn({"k": [0], "y": [0]})
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    values = {row["value"] for row in model.describe().columns["k"]}
    assert values == {0, 1, 2, 2**40, -5}


def test_5_no_smoothing_and_tiny_smoothing_are_never_nan():
    bags = {"w": [{"a": 3}, {"b": 1}], "y": [0, 1]}
    with pytest.raises(tb.errors.ParameterError, match="a number from 1e-300"):
        tb.fit(bags, label="y", smoothing=5e-324)  # products with counts would underflow
    for k in (0, 1e-300):
        model = tb.fit(bags, label="y", smoothing=k)
        assert not np.isnan(model.log_score({"w": [{"a": 1}, {"b": 1}, {}]})).any()
        flags = tb.fit({"f": [0, 0, 1], "y": [0, 0, 1]}, label="y", smoothing=k)
        assert not np.isnan(flags.predict_proba({"f": [0, 1]})).any()


def test_5_big_counts_neither_wrap_nor_freeze():
    bag = {"w": [{"a": 2.0**52}], "y": [0]}
    model = tb.fit(bag, label="y")
    for _ in range(3):
        model.learn(bag)
    more = model.copy()
    more.learn({"w": [{"a": 1}], "y": [0]})
    assert not model.same_counts(more)
    with pytest.raises(OverflowError):
        model.learn({"w": [{"a": 2.0**62}, {"a": 2.0**62}], "y": [0, 0]})


def test_5_labels_are_not_one_hot_encoded():
    rng = np.random.default_rng(0)
    X = sp.random_array((20_000, 500), density=0.01, format="csr", rng=rng)
    X.data[:] = 1
    y = rng.integers(0, 2_000, 20_000)
    tb.fit(X[:100], label=y[:100])
    tracemalloc.start()
    tb.fit(X, label=y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64_000_000


@pytest.mark.parametrize("numeric", ["gaussian", "histogram"])
@pytest.mark.parametrize("scale", [1.0, 1e200, 1e-310, 5e-324])
@pytest.mark.parametrize("estimate", ["bayes", "mle"])
def test_6_no_scale_of_data_gives_nan(numeric, scale, estimate):
    x = np.array([1.0, 2.0, 3.0, 11.0, 12.0, 13.0]) * scale
    y = np.array([0, 0, 0, 1, 1, 1])
    model = tb.fit({"x": x, "c": np.full(6, scale)}, label=y, numeric=numeric, estimate=estimate)
    p = model.predict_proba({"x": x, "c": np.full(6, scale)})
    assert not np.isnan(p).any()
    assert (p.argmax(axis=1) == y).all()


def test_6_a_far_test_point_goes_to_the_wider_class():
    x = np.array([-1.0, 0.0, 1.0, -10.0, 0.0, 10.0])
    for estimate in ("bayes", "mle"):
        model = tb.fit({"x": x}, label=["narrow"] * 3 + ["wide"] * 3, numeric="gaussian", estimate=estimate)
        for far in (1e200, -1e200, 1.7e308, 1e9):
            assert model.predict({"x": far}).tolist() == ["wide"]


def test_6_float32_is_computed_in_double():
    rng = np.random.default_rng(0)
    x = (1e4 + rng.normal(size=1000)).astype(np.float32)
    y = rng.integers(0, 2, 1000)
    a, b = (tb.fit({"x": v}, label=y, numeric="gaussian") for v in (x, x.astype(np.float64)))
    assert a == b


def test_7_variance_far_from_zero_is_correctly_rounded():
    x = 1e15 + np.array([0.0, 0.125, 0.25, 0.375, 0.0, 0.25])
    model = tb.fit({"x": x}, label=[0] * 6, numeric="gaussian")
    exact = [Fraction(v) for v in x]
    mean = sum(exact) / 6
    variance = sum((v - mean) ** 2 for v in exact) / 6
    (row,) = model.describe().columns["x"]
    assert row["mean"] == float(mean)
    assert row["sd"] == pytest.approx(float(variance) ** 0.5, rel=1e-15)


def test_7_scores_far_from_zero_use_both_halves_of_the_mean():
    x = 1e15 + np.array([0.0, 0.125, 0.25, 0.375, 0.0, 0.25])
    y = np.array([0, 0, 0, 1, 1, 1])
    near, far = (tb.fit({"x": v}, label=y, numeric="gaussian") for v in (x - 1e15, x))
    assert np.allclose(near.predict_proba({"x": x - 1e15}), far.predict_proba({"x": x}), rtol=1e-9)


def test_9_a_feature_seen_with_one_class_does_not_force_it():
    rows = [
        {"a": 1.0, "y": 0},
        {"a": 2.0, "y": 0},
        {"a": 1.5, "y": 1},
        {"a": 1.7, "b": 5.0, "y": 1},
        {"b": 6.0, "y": 1},
    ]
    for numeric in ("gaussian", "histogram"):
        model = tb.fit(rows, label="y", numeric=numeric)
        assert model.predict_proba({"b": 5.5})[0, 1] < 0.9


def test_9_far_from_both_classes_is_not_a_coin_toss():
    model = tb.fit({"x": [0.0, 1.0, 2.0, 100.0, 101.0, 102.0]}, label=[0, 0, 0, 1, 1, 1], numeric="gaussian")
    assert model.predict_proba({"x": [1e4]})[0].round(3).tolist() != [0.5, 0.5]


def test_9_one_gap_poisons_nothing():
    model = tb.fit({"x": [0.0, 1.0, None, 5.0, 6.0, np.nan], "y": [0, 0, 0, 1, 1, 1]}, label="y", numeric="gaussian")
    assert model.predict({"x": [0.5, 5.5]}).tolist() == [0, 1]


def test_9_labels_keep_their_type_and_place_after_single_rows():
    model = tb.fit({"x": [0.0, 5.0], "y": [7, 3]}, label="y", numeric="gaussian")
    for noise in range(20):
        for label, x in ((3, 5.0), (1, 50.0), (7, -40.0)):
            model.learn({"x": x + 0.1 * noise, "y": label})
    assert model.classes == [1, 3, 7]
    assert model.predict({"x": [50.0, 5.0, -40.0]}).tolist() == [1, 3, 7]


def test_10_a_thousand_columns_do_not_underflow():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 50)
    X = rng.normal(size=(50, 1000)) + y[:, None]
    p = tb.fit(X, label=y, numeric="gaussian").predict_proba(X * 100)
    assert np.isfinite(p).all()
    assert np.allclose(p.sum(axis=1), 1)


def test_10_smoothed_probabilities_stay_below_one():
    model = tb.fit({"k": ["a", "b", "a"], "y": [0, 0, 1]}, label="y", smoothing=50.0)
    shares = [row["P(value)"] for row in model.describe().columns["k"]]
    assert all(0 < p < 1 for p in shares)


def test_importing_is_light():
    code = (
        "import sys, tallybayes; "
        "print([m for m in ('sklearn', 'pandas', 'duckdb', 'scipy.stats', 'river', 'rich') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
    use = code.replace("print", "tallybayes.fit({'x': [1.0, 2.0], 'y': [0, 1]}, label='y').predict({'x': 1.0}); print")
    out = subprocess.run([sys.executable, "-c", use], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
