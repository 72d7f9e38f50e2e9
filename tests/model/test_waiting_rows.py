"""Rows of histograms wait to be counted: whoever reads the model finds them; a few rows are the same in any form."""

import threading

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.errors import DataError


def rows_of(n, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns)).round(2)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, rng.integers(0, 2, n)


def dicts(X):
    return [{f"x{j}": value for j, value in enumerate(row)} for row in X.tolist()]


READERS = {
    "equality": lambda model, wanted: model == wanted,
    "class_counts": lambda model, wanted: model.class_counts == wanted.class_counts,
    "scores": lambda model, wanted: np.array_equal(
        model.predict_proba({"x0": 0.5, "x1": -1.0}), wanted.predict_proba({"x0": 0.5, "x1": -1.0})
    ),
    "copy": lambda model, wanted: model.copy() == wanted,
    "snapshot": lambda model, wanted: model.snapshot().state.same(wanted.snapshot().state),
    "merge": lambda model, wanted: model.merge(wanted) == wanted.merge(wanted),
    "description": lambda model, wanted: str(model.describe()) == str(wanted.describe()),
}


@pytest.mark.parametrize("reader", READERS)
def test_readers_find_the_rows_that_wait(reader):
    X, y = rows_of(60)
    model, wanted = tb.fit(X[:20], y[:20], column_weights=None), tb.fit(X, y, column_weights=None)
    for row, label in zip(dicts(X[20:]), y[20:].tolist(), strict=True):
        model.learn_one(row, label)
    assert READERS[reader](model, wanted)
    assert model.same_counts(wanted)


def test_more_rows_than_may_wait():
    X, y = rows_of(3000)
    model = tb.fit(X[:100], y[:100], column_weights=None)
    for row, label in zip(dicts(X[100:1500]), y[100:1500].tolist(), strict=True):
        model.learn_one(row, label)
    for start in range(1500, 3000, 250):
        model.learn(X[start : start + 250], label=y[start : start + 250])
    assert model.same_counts(tb.fit(X, y, column_weights=None))
    for start in range(0, 2900, 100):
        model.forget(X[start : start + 100], label=y[start : start + 100])
    assert model.class_counts == tb.fit(X[2900:], y[2900:], column_weights=None).class_counts


FORMS = {
    "matrix": lambda X: X,
    "column-major matrix": np.asfortranarray,
    "frame": lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
    "frame in another order": lambda X: pd.DataFrame({f"x{j}": X[:, j] for j in reversed(range(X.shape[1]))}),
    "dicts": dicts,
    "columns": lambda X: {f"x{j}": X[:, j] for j in range(X.shape[1])},
}
LABELS = {"array": lambda y: y, "list": lambda y: y.tolist(), "series": pd.Series}


@pytest.mark.parametrize("family", ["histogram", "gaussian"])
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("form", FORMS)
def test_a_few_rows_are_the_same_in_every_form(form, labels, family):
    X, y = rows_of(80)
    model = tb.fit(X[:50], y[:50], numeric=family, column_weights=None)
    change = model.learn(FORMS[form](X[50:]), label=LABELS[labels](y[50:]))
    assert (change.rows, change.skipped) == (30, 0)
    assert model.same_counts(tb.fit(X, y, numeric=family, column_weights=None))
    wanted = model.predict_proba(X)
    assert np.array_equal(model.predict_proba(FORMS[form](X[:7])), wanted[:7])
    assert np.array_equal(model.log_score(FORMS[form](X[:7])), model.log_score(X)[:7])


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [float, np.int8, np.int64])
def test_a_few_rows_of_categories_flags_and_numbers(dtype, form, labels):
    rng = np.random.default_rng(0)
    kinds, numbers = rng.integers(-2, 9, (80, 2)), rng.integers(0, 50, (80, 2))
    X = np.concatenate([kinds, rng.integers(0, 2, (80, 2)), numbers], axis=1).astype(dtype)
    y = rng.integers(0, 2, 80)
    names = ("categorical", "categorical", "bernoulli", "bernoulli", "histogram", "poisson")
    families = {f"x{j}": name for j, name in enumerate(names)}
    if dtype is float:
        X[rng.random(X.shape) < 0.1] = np.nan
    X[79, 0] = 100  # a category that is new
    model = tb.fit(X[:50], y[:50], families=families, column_weights=None)
    for part in (slice(50, 60), slice(60, 79), slice(79, 80)):
        assert model.learn(FORMS[form](X[part]), label=LABELS[labels](y[part])).rows == part.stop - part.start
    wanted = tb.fit(X, y, families=families, column_weights=None)
    assert model.same_counts(wanted)
    assert np.array_equal(model.predict_proba(X), wanted.predict_proba(X))


def test_counts_that_are_refused_leave_categories_as_they_are():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (40, 2)), rng.integers(0, 2, 40)
    model = tb.fit(X[:30], y[:30], families={"x0": "categorical", "x1": "poisson"}, column_weights=None)
    before = model.copy()
    X[35, 1] = -1
    with pytest.raises(DataError, match="an integer"):
        model.learn(X[30:], label=y[30:])
    assert model == before
    model.learn(X[30:35], label=y[30:35])
    assert model.same_counts(
        tb.fit(X[:35], y[:35], families={"x0": "categorical", "x1": "poisson"}, column_weights=None)
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_that_is_refused_changes_nothing(form):
    X, y = rows_of(40)
    model = tb.fit(X[:30], y[:30], column_weights=None)
    model.learn(X[:3], label=y[:3])
    before = model.copy()
    X[35, 1] = np.inf
    with pytest.raises(DataError, match="finite"):
        model.learn(FORMS[form](X[30:]), label=y[30:])
    assert model == before
    with pytest.raises(DataError, match="one per row"):
        model.learn(FORMS[form](X[:3]), label=y[:2])
    assert model == before


def test_labels_among_the_columns_and_new_labels_take_the_general_way():
    X, y = rows_of(40)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y.astype(float))
    model = tb.fit(frame[:30], label="y", column_weights=None)
    model.learn(frame[30:])
    assert model.same_counts(tb.fit(frame, label="y", column_weights=None))
    model.learn(frame[["a", "b", "c"]][:2], label=[5.0, 5.0])
    assert model.classes == [0.0, 1.0, 5.0]


def test_threads_learn_and_read_at_once():
    X, y = rows_of(400)
    model, wrong = tb.fit(X[:20], y[:20], column_weights=None), []

    def learn(part):
        for row, label in zip(dicts(X[part]), y[part].tolist(), strict=True):
            model.learn_one(row, label)

    def read():
        for _ in range(60):
            with model.reading() as snapshot:
                state = snapshot.state
                seen = [tally.rows_seen().floats().sum() for tally in state.statistics.blocks.values()]
                again = [tally.rows_seen().floats().sum() for tally in state.statistics.blocks.values()]
                if seen != again:
                    wrong.append((seen, again))

    parts = [slice(20 + i, 400, 3) for i in range(3)]
    threads = [threading.Thread(target=learn, args=(part,)) for part in parts] + [threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert model.same_counts(tb.fit(X, y, column_weights=None))
