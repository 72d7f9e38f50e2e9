"""Single rows and small matrices take a quick way to the same bits: learned one by one as in a batch, scored too."""

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tables import LABEL, doubles
from tallybayes.errors import DataError
from tallybayes.io.read import to_source

QUICK = {
    "real": "gaussian",
    "size": "gaussian:kappa=1",
    "flag": "bernoulli",
    "kind": "categorical",
    "code": "categorical",
    "events": "poisson",
    "fine": "histogram",
}
START = [
    {"real": 1.0, "size": 2.0, "flag": True, "kind": "red", "code": 1, "events": 3, "fine": 0.5, LABEL: "p"},
    {"real": 2.5, "size": -1.0, "flag": False, "kind": "blue", "code": 2, "events": 0, "fine": 7.5, LABEL: "q"},
]

numbers = st.one_of(doubles, st.integers(-(2**60), 2**60), st.booleans(), doubles.map(np.float64), st.just(np.int64(3)))
gap = st.sampled_from([None, float("nan"), np.float64("nan")])
cells = {
    "real": numbers,
    "size": numbers,
    "flag": st.sampled_from([True, False, 0, 1, 0.0, 1.0, np.True_, np.int64(0)]),
    "kind": st.sampled_from(["red", "blue", "green", "white", np.str_("red")]),
    "code": st.sampled_from([1, 2, 3, 1.0, 2.5, 10**20, np.int64(2), np.float32(3)]),
    "events": st.sampled_from([0, 1, 2, 7, 3.0, 10**6, np.int64(5), True]),
    "fine": numbers,
}
label = st.sampled_from(["p", "q", "r", np.str_("p"), None])
row = st.fixed_dictionaries({}, optional={name: st.one_of(gap, values) for name, values in cells.items()})
more = st.fixed_dictionaries({}, optional={"new": st.sampled_from([1.5, 2.5, None]), "later": st.integers(2, 5)})
rows = st.lists(st.tuples(row, label), max_size=10)
smoothings = st.sampled_from([1.0, 0.5, "auto", 0, float("inf"), {"kind": 2.0, "real": "auto"}])


def start(smoothing=1.0, unseen="prior", data=START):
    table = [{name: value for name, value in one.items() if name != LABEL} for one in data]
    labels = [one[LABEL] for one in data]
    return tb.fit(table, labels, families=QUICK, numeric="gaussian", smoothing=smoothing, unseen=unseen)


def in_a_batch(table, smoothing="auto", unseen="prior"):
    model = start(smoothing, unseen)
    if table:
        model.learn([one for one, _ in table], label=[label for _, label in table])
    return model


@pytest.mark.filterwarnings("ignore::tallybayes.RuledOutWarning")
@given(rows, rows, smoothings, st.sampled_from(["prior", "missing"]))
@settings(max_examples=150)
def test_rows_one_by_one_equal_a_batch(table, probe, smoothing, unseen):
    model = start(smoothing, unseen)
    for one, label in table:
        model.learn_one(one, label)
        model.predict_proba(one)  # derives, and binds
    whole = in_a_batch(table, smoothing, unseen)
    assert model.same_counts(whole)
    assert model.skipped == whole.skipped
    probe = [one for one, _ in [*table, *probe]]
    if probe:
        together = whole.predict_proba(to_source(probe)), whole.log_score(to_source(probe))  # by the general path
        assert np.array_equal(np.concatenate([model.predict_proba(one) for one in probe]), together[0])
        assert np.array_equal(np.concatenate([model.log_score(one) for one in probe]), together[1])
        assert np.array_equal(model.predict_proba(probe), together[0])
        assert np.array_equal(np.stack([list(model.predict_proba_one(one).values()) for one in probe]), together[0])
    for one, label in table:
        model.forget_one(one, label)
    assert model.same_counts(start(unseen=unseen))


@given(st.lists(st.tuples(row, more, label), max_size=8))
@settings(max_examples=50)
def test_new_columns_are_welcome_row_by_row(table):
    merged = [({"real": 1.0} | one | new, label) for one, new, label in table]
    model = start()
    for one, label in merged:
        model.learn_one(one, label)
    whole = in_a_batch(merged, 1.0)
    assert model.same_counts(whole)
    if probe := [one for one, _ in merged]:
        assert np.array_equal(
            np.concatenate([model.predict_proba(one) for one in probe]), whole.predict_proba(to_source(probe))
        )
    for one, label in merged:
        model.forget_one(one, label)
    assert model.same_counts(start())


@given(rows)
@settings(max_examples=50)
def test_names_count_as_text(table):
    numbered = {name: i for i, name in enumerate(QUICK)}
    by_number, by_text = (
        tb.fit(
            [{as_name(numbered[name]): one[name] for name in QUICK} for one in START],
            label=["p", "q"],
            families={str(numbered[name]): family for name, family in QUICK.items()},
        )
        for as_name in (int, str)
    )
    for one, label in table:
        by_number.learn_one({numbered[name]: value for name, value in one.items()}, label)
        by_text.learn_one({str(numbered[name]): value for name, value in one.items()}, label)
    assert by_number == by_text
    for one, _ in table:
        probe = {numbered[name]: value for name, value in one.items()}
        assert np.array_equal(by_number.predict_proba(probe), by_text.predict_proba(to_source([probe])))


@given(rows, st.data())
@settings(max_examples=30)
def test_copies_and_pickles_of_a_stream_are_independent(table, data):
    model = start()
    copies = []
    for one, label in table:
        model.learn_one(one, label)
        make = data.draw(st.sampled_from([lambda m: m.copy(), lambda m: pickle.loads(pickle.dumps(m))]))
        copies.append(make(model))
    for i, copy in enumerate(copies):
        assert copy.same_counts(in_a_batch(table[: i + 1]))
        for one, label in table[i + 1 :]:
            copy.learn_one(one, label)
        assert copy.same_counts(model)
    assert model.same_counts(in_a_batch(table))


LABELS = [["no", "yes"], [0, 1], [False, True], [0.5, 1.5], [np.int64(3), np.int64(4)]]


@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_labels_of_every_type(labels):
    rows = [{"a": i + 0.5, "b": "uv"[i % 2]} for i in range(6)]
    given_labels = [labels[i % 2] for i in range(6)]
    model = tb.fit(rows[:2], label=given_labels[:2], numeric="gaussian")
    for one, label in zip(rows[2:], given_labels[2:], strict=True):
        model.learn_one(one, label)
    assert model.same_counts(tb.fit(rows, label=given_labels, numeric="gaussian", families={"a": "gaussian"}))
    assert [type(c) for c in model.classes] == [
        type(getattr(label, "item", lambda label=label: label)()) for label in labels
    ]


def test_an_empty_model_learns_single_rows():
    model = tb.fit([], label=[], numeric="gaussian")
    model.learn_one({"a": 1.0, "b": "x"}, "p")
    model.learn_one({"a": 2.5, "b": "y"}, "q")
    model.learn_one({}, "q")
    assert model.class_counts == {"p": 1, "q": 2}
    model.forget_one({"a": 2.5, "b": "y"}, "q")
    assert model.class_counts == {"p": 1, "q": 1}


@pytest.mark.parametrize(
    ("odd", "wanted"),
    [
        ({"real": float("inf")}, "finite"),
        ({"real": "x"}, "a number"),
        ({"fine": float("inf")}, "finite"),
        ({"flag": 2}, "a boolean"),
        ({"flag": "maybe"}, "a boolean"),
        ({"code": "x"}, "number"),
        ({"code": True}, "number"),
        ({"events": 1.5}, "an integer"),
        ({"events": -1}, "an integer"),
        ({"real": 1.0, "events": 2.0**60}, "an integer"),
    ],
)
def test_what_is_odd_is_refused_as_ever_and_nothing_is_changed(odd, wanted):
    model = start()
    model.learn_one({"real": 1.0, "kind": "red"}, "p")
    before = model.copy()
    for act in (lambda: model.learn_one(odd, "p"), lambda: model.predict_proba(odd), lambda: model.log_score(odd)):
        with pytest.raises(DataError, match=wanted):
            act()
        assert model == before


def test_a_row_that_does_not_fit_the_digits_is_taken_back_everywhere():
    model = start()
    model.learn_one({"real": 1.0, "size": 1.0}, "p")
    other = model.copy()
    model.learn_one({"real": 1e-300, "size": 1e300, "events": 4}, "p")
    other.learn([{"real": 1e-300, "size": 1e300, "events": 4}], label=["p"])
    assert model.same_counts(other)


def test_a_column_that_nothing_is_known_of_is_decided_by_its_first_value():
    model = tb.fit([{"a": 1.0, "b": None}, {"a": 2.0, "b": None}], label=["p", "q"], numeric="gaussian")
    model.learn_one({"a": 1.5, "b": None}, "p")
    model.learn_one({"a": 1.5, "b": 7.5}, "p")
    assert model.schema.families["b"].name == "gaussian"


def matrices(n, rng):
    signs = rng.integers(0, 2, (n, 12))
    return {
        "gaussian": rng.normal(size=(n, 12)),
        "histogram": rng.normal(size=(n, 12)),
        "bernoulli": signs,
        "poisson": rng.poisson(3, (n, 12)),
        "categorical": rng.integers(-3, 9, (n, 12)),
    }


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1"])
@pytest.mark.parametrize("family", ["gaussian", "histogram", "bernoulli", "poisson", "categorical", "mixed"])
@pytest.mark.parametrize("smoothing", [1.0, "auto"])
def test_small_matrices_score_as_in_a_large_one(family, dtype, smoothing):
    rng = np.random.default_rng(0)
    tables = matrices(300, rng)
    families = dict(zip([f"x{j}" for j in range(12)], [*tables] * 3, strict=False)) if family == "mixed" else family
    X = np.stack([tables[families[f"x{j}"] if family == "mixed" else family][:, j] for j in range(12)], axis=1)
    X = np.abs(X).astype(dtype) if dtype == "u1" else X.astype(dtype)
    model = tb.fit(X, rng.integers(0, 3, 300), families=families, smoothing=smoothing)
    if dtype[0] == "f":
        X = np.where(rng.random(X.shape) < 0.1, np.nan, X).astype(dtype)
    if family in ("categorical", "mixed"):
        X[5, 4] = 77  # never seen
    whole, joint = model.predict_proba(X), model.log_score(to_source(X))
    for layout in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
        for rows in (slice(0, 1), slice(3, 20), slice(40, 104)):
            assert np.array_equal(model.predict_proba(layout[rows]), whole[rows])
            assert np.array_equal(model.log_score(layout[rows]), joint[rows])
    wider = np.concatenate([X, X[:, :3]], axis=1)
    assert np.array_equal(model.predict_proba(wider[:2]), whole[:2])


def test_small_matrices_of_another_shape_take_the_general_way():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.integers(0, 2, 50)
    model = tb.fit(X, y, numeric="gaussian")
    assert model.predict_proba(X[:0]).shape == (0, 2)
    narrow = model.predict_proba(X[:2, :3])
    assert np.array_equal(narrow, model.predict_proba([{"x0": a, "x1": b, "x2": c} for a, b, c in X[:2, :3].tolist()]))
    with pytest.raises(DataError, match="rows and columns"):
        model.predict_proba(X[0])
    X[1, 2] = np.inf
    with pytest.raises(DataError, match="finite") as error:
        model.predict_proba(X[:3])
    assert (error.value.column, error.value.row) == ("x2", 1)
    assert np.array_equal(model.predict_proba(X[:1].astype(object)), model.predict_proba(X[:1]))
    flags = tb.fit(X > 0, y)
    assert np.array_equal(flags.predict_proba((X > 0)[:1]), flags.predict_proba((X > 0)[:1].astype(float)))


@pytest.mark.filterwarnings("ignore:column .* possible leak:tallybayes.errors.DataWarning")
def test_threads_score_one_model_at_once():
    rng = np.random.default_rng(0)
    data = [{"a": x, "b": "uvw"[i % 3], "c": i % 2} for i, x in enumerate(rng.normal(size=400).tolist())]
    model = tb.fit(data, label=["pq"[i % 2] for i in range(400)], numeric="gaussian")
    whole, wrong = model.predict_proba(data), []
    model.learn_one(data[0], "p")
    model.forget_one(data[0], "p")

    def work():
        for one, wanted in zip(data, whole, strict=True):
            if not np.array_equal(model.predict_proba(one)[0], wanted):
                wrong.append(one)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_family_that_counts_or_scores_otherwise_has_no_inherited_quick_way():
    from dataclasses import dataclass

    from tallybayes.arrays.column import Reals
    from tallybayes.families.numbers.gaussian import GaussianPredictive
    from tallybayes.families.registry import FAMILIES, register_family

    class Doubtful(GaussianPredictive):
        def bind(self, columns):
            return super().bind([Reals(column.values / 2) for column in columns])

    @register_family
    @dataclass(frozen=True)
    class Halves(tb.Gaussian):
        name = "halves"

        def observe(self, features, columns, *others):
            return super().observe(features, [Reals(column.values / 2) for column in columns], *others)

        def predictive(self, tally, prior):
            return Doubtful(*vars(super().predictive(tally, prior)).values())

    try:
        rows, labels = [{"a": 1.0}, {"a": 2.0}, {"a": 8.0}, {"a": 9.5}], [0, 0, 1, 1]
        model = tb.fit(rows[:3], label=labels[:3], families={"a": "halves"})
        model.learn_one(rows[3], 1)
        whole = tb.fit(rows, label=labels, families={"a": "halves"})
        assert model.same_counts(whole)
        assert np.array_equal(model.predict_proba(rows[1]), whole.predict_proba(rows)[1:2])
        assert isinstance(model.predictives()["a"], Doubtful)
    finally:
        del FAMILIES["halves"]


@pytest.mark.filterwarnings("ignore::tallybayes.scoring.posterior.RuledOutWarning")  # 1e200 beside a point mass, k = 0
@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, float("inf"), 0.0]), st.sampled_from([None, "auto"]))
@settings(max_examples=30, deadline=None)
def test_rows_scored_and_learned_in_turns(seed, smoothing, weights):
    """What is derived after every row in place is what a new model derives from the same rows."""
    rng = np.random.default_rng(seed)
    names = [f"c{j}" for j in rng.permutation(4)]
    values = rng.normal(size=(40, 4)) * 10.0 ** rng.integers(-3, 4, 4) + 10.0 ** rng.integers(-2, 6, 4)
    gaps = rng.random((40, 4)) < 0.1
    values[20, 0] = 1e200  # needs digits that are not there yet
    rows = [{n: v for n, v, g in zip(names, *r, strict=True) if not g} for r in zip(values.tolist(), gaps, strict=True)]
    labels = rng.integers(0, 3, 40).tolist()
    options = {"numeric": "gaussian", "smoothing": smoothing, "column_weights": weights}
    model = tb.fit(rows[:10], label=labels[:10], **options)
    with np.errstate(all="ignore"):
        for i in range(10, 40):
            model.predict_proba(rows[i])
            model.learn_one(rows[i], labels[i])
            found, same = model.predict_proba(rows[i - 1]), pickle.loads(pickle.dumps(model))
            assert np.array_equal(found, same.predict_proba(rows[i - 1]))
            assert np.array_equal(found, same.predict_proba(to_source(rows[: i + 1]))[i - 1 : i])
    held = model.snapshot()
    before = held.proba(rows[0])
    model.learn_one(rows[1], labels[1])
    model.predict_proba(rows[0])
    assert np.array_equal(held.proba(rows[0]), before)


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float64, np.float32, np.int64, np.int8]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_small_matrices_are_learned_as_large_ones(seed, dtype, refused):
    """All rows or none, and the same sums as from one table."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(60, 3)) * 9).astype(dtype)
    X[:, 2] = rng.integers(0, 2, 60)
    if dtype in (np.float64, np.float32):
        X[rng.random((60, 3)) < 0.1] = np.nan
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 60)]
    options = {"families": {"x0": "gaussian", "x1": "gaussian", "x2": "bernoulli"}, "column_weights": None}
    model = tb.fit(X[:20], y[:20], **options)
    if refused and dtype is np.float64:
        bad = X[20:30].copy()
        bad[9, 1] = np.inf
        before = pickle.loads(pickle.dumps(model))
        with pytest.raises(DataError):
            model.learn(bad, label=y[20:30])
        assert model == before
        X[39, 0] = 1e-250  # does not fit between the digits: all rows take the general path
    for first, last in ((20, 21), (21, 40), (40, 60)):
        assert model.learn(X[first:last], label=y[first:last]).rows == last - first
        model.predict_proba(X[:2])
    whole = tb.fit(X, y, **options)
    assert model.same_counts(whole)
    assert np.array_equal(model.predict_proba(X[:5]), whole.predict_proba(X[:5]))
    fewer, general = (tb.fit(X[:20], y[:20], **options) for _ in range(2))
    fewer.learn(X[20:25, :2], label=y[20:25])  # a column is lacking: it is missing
    general.learn({"x0": X[20:25, 0], "x1": X[20:25, 1]}, label=y[20:25])
    assert fewer == general
