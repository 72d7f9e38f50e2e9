"""The river classifier: river's checks, streams of mixed rows, and river's tools."""

import math
import pickle
import random
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import checks, compose, datasets, drift, ensemble, evaluate, feature_extraction, metrics, naive_bayes, stream
from river import preprocessing as river_preprocessing

import tallybayes as tb
from tallybayes.errors import DataError, ForgetError, ParameterError
from tallybayes.river import NaiveBayes


def every_check():
    for model in (NaiveBayes(), NaiveBayes(numeric="gaussian"), NaiveBayes(smoothing="auto")):
        assert not model._unit_test_skips()
        for number, check in enumerate(checks.yield_checks(model)):
            yield pytest.param(model, check, id=f"{model.numeric}-{model.smoothing}-{check.__name__}-{number}")


@pytest.mark.parametrize(("model", "check"), list(every_check()))
def test_passes_the_checks_of_river(model, check):
    check(model.clone())


WORDS = ["red", "green", "blue"]


@st.composite
def rows(draw):
    """A row of mixed features with gaps, and its label."""
    values = {
        "size": st.floats(-1e6, 1e6) | st.none() | st.just(math.nan),
        "legs": st.integers(-5, 5),
        "colour": st.sampled_from(WORDS) | st.none(),
        "tame": st.booleans(),
        0: st.floats(0, 1),
        "likes": st.frozensets(st.sampled_from("abc")),
    }
    names = draw(st.sets(st.sampled_from(list(values))))
    return {name: draw(values[name]) for name in sorted(names, key=str)}, draw(st.sampled_from(["cat", "dog"]))


@given(learned=st.lists(rows(), min_size=1, max_size=12), asked=rows())
def test_single_rows_equal_a_batch_and_can_be_forgotten(learned, asked):
    one = NaiveBayes()
    for x, y in learned:
        one.learn_one(x, y)
    schema = one.model.schema
    batch = NaiveBayes(families={n: str(f) for n, f in schema.families.items()})
    batch.learn_many([x for x, _ in learned], [y for _, y in learned])
    assert one.model.same_counts(batch.model)
    assert one.predict_proba_one(asked[0]) == batch.predict_proba_one(asked[0])
    before = one.predict_proba_one(asked[0])
    one.learn_one(*asked)
    one.forget_one(*asked)
    assert one.predict_proba_one(asked[0]) == before
    assert one.model.same_counts(batch.model)


def test_rows_with_features_of_every_type():
    model = NaiveBayes()
    for _ in range(3):
        model.learn_one(
            {"kilos": 4.0, "colour": "black", "tame": True, "likes": {"sun"}, "says": ["miau"], 7: 1}, "cat"
        )
        model.learn_one({"kilos": 30.0, "colour": "brown", "tame": True, "likes": {"fetch"}, "says": ["wuff"]}, "dog")
    families = {name: str(family) for name, family in model.model.schema.families.items()}
    assert families == {
        "kilos": "histogram",
        "colour": "categorical",
        "tame": "bernoulli",
        "likes": "tags",
        "says": "multinomial",
        "7": "histogram",
    }
    for x, y in (
        ({"kilos": 5}, "cat"),
        ({"likes": {"fetch"}}, "dog"),
        ({"says": ["wuff"]}, "dog"),
        ({"colour": "black", "kilos": None}, "cat"),
        ({"colour": "brown", "new": 3}, "dog"),
    ):
        assert model.predict_one(x) == y
    assert model.predict_proba_one({}) == {"cat": 0.5, "dog": 0.5}


def test_new_labels_and_features_at_any_time():
    model = NaiveBayes()
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    model.learn_one({"a": 1.0}, "x")
    assert model.predict_proba_one({"a": 1.0}) == {"x": 1.0}
    model.learn_one({"a": 2.0, "b": "new"}, "y")
    model.learn_one({"c": True}, "z")
    assert set(model.predict_proba_one({"c": True})) == {"x", "y", "z"}


@pytest.mark.parametrize(
    "labels", [[False, True], [np.False_, np.True_], [0, 1], ["no", "yes"], [np.int64(3), np.int64(4)]]
)
def test_labels_keep_their_type(labels):
    model = NaiveBayes()
    for i, label in enumerate(labels * 3):
        model.learn_one({"a": float(i % 2)}, label)
    assert model.predict_one({"a": 1.0}) == labels[1]
    assert set(model.predict_proba_one({"a": 1.0})) == set(labels)
    assert type(model.predict_one({"a": 1.0})) in (bool, int, str)


# Defects of river's own classifiers


def test_a_feature_seen_with_one_class_only_is_weak_evidence():
    mine, theirs = NaiveBayes(), naive_bayes.GaussianNB()
    for model in (mine, theirs):
        for i in range(20):
            model.learn_one({"a": float(i % 5)} | ({"b": float(i % 3)} if i % 2 else {}), i % 2)
    assert theirs.predict_proba_one({"b": 1.0})[1] > 0.999999
    assert mine.predict_proba_one({"b": 1.0})[1] < 0.9


def test_nan_is_missing_and_distant_values_are_decided():
    model = NaiveBayes()
    for i in range(20):
        model.learn_one({"a": float(i % 5) + 10 * (i % 2)}, i % 2)
    model.learn_one({"a": math.nan}, 0)
    assert model.predict_one({"a": 1.0}) == 0
    assert model.predict_one({"a": 1000.0}) == 1
    assert not any(map(math.isnan, model.predict_proba_one({"a": 1e300}).values()))


def test_batches_after_single_rows_keep_labels_and_order():
    model = NaiveBayes()
    model.learn_one({"a": 1.0}, True)
    model.learn_many(pd.DataFrame({"a": [5.0, 6.0, 0.9]}), pd.Series([False, False, True]))
    X = pd.DataFrame({"a": [1.0, 5.5]}, index=["p", "q"])
    assert model.predict_many(X).to_dict() == {"p": True, "q": False}
    assert model.predict_proba_many(X).columns.tolist() == [False, True]
    assert model.predict_proba_many(X).index.tolist() == ["p", "q"]
    for i, row in enumerate(X.to_dict("records")):
        assert model.predict_proba_one(row) == model.predict_proba_many(X).iloc[i].to_dict()


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_are_returned_in_the_library_of_the_input(kind):
    model = NaiveBayes()
    X = kind({"a": [1.0, 2.0, 9.0], "b": ["u", "u", "v"]})
    assert len(model.predict_proba_many(X)) == (3 if kind is pd.DataFrame else 0)  # rows without columns
    model.learn_many(X, ["x", "x", "y"])
    assert isinstance(model.predict_proba_many(X), type(X))
    assert list(
        model.predict_many(X).tolist() if hasattr(model.predict_many(X), "tolist") else model.predict_many(X)
    ) == ["x", "x", "y"]


# Tools of river


def test_works_in_progressive_validation_pipelines_and_ensembles():
    plain = evaluate.progressive_val_score(datasets.Phishing(), NaiveBayes(), metrics.Accuracy())
    assert plain.get() > 0.88
    theirs = evaluate.progressive_val_score(datasets.Phishing(), naive_bayes.GaussianNB(), metrics.LogLoss())
    mine = evaluate.progressive_val_score(datasets.Phishing(), NaiveBayes(), metrics.LogLoss())
    assert mine.get() < theirs.get()
    pipeline = river_preprocessing.StandardScaler() | NaiveBayes()
    assert evaluate.progressive_val_score(datasets.Phishing().take(300), pipeline, metrics.Accuracy()).get() > 0.8
    selected = compose.Discard("empty_server_form_handler") | NaiveBayes()
    assert evaluate.progressive_val_score(datasets.Phishing().take(300), selected, metrics.Accuracy()).get() > 0.7
    bagging = ensemble.ADWINBaggingClassifier(NaiveBayes(), n_models=2, seed=1)
    assert evaluate.progressive_val_score(datasets.Phishing().take(200), bagging, metrics.Accuracy()).get() > 0.7
    images = evaluate.progressive_val_score(datasets.ImageSegments().take(500), NaiveBayes(), metrics.Accuracy())
    assert images.get() > 0.7


def test_drift_wrappers():
    model = drift.DriftRetrainingClassifier(model=NaiveBayes(), drift_detector=drift.binary.DDM())
    turned = [({"a": float(i % 2)}, (i % 2) ^ (i > 600)) for i in range(1200)]
    for x, y in turned:
        model.predict_one(x)
        model.learn_one(x, y)
    assert [model.predict_one({"a": a}) for a in (0.0, 1.0)] == [1, 0]


def test_a_sliding_window_by_forgetting():
    """What leaves a sliding window is forgotten: the model is that of the window alone."""
    rng = random.Random(0)
    data = [({"a": rng.gauss(i % 2, 0.3), "b": rng.choice(WORDS)}, i % 2) for i in range(60)]
    model, window = NaiveBayes(), NaiveBayes()
    for i, (x, y) in enumerate(data):
        model.learn_one(x, y)
        if i >= 20:
            model.forget_one(*data[i - 20])
    for x, y in data[-20:]:
        window.learn_one(x, y)
    assert model.model.same_counts(window.model)
    with pytest.raises(ForgetError):
        model.forget_one({"a": 123.0, "b": "red"}, 0)
    assert model.model.same_counts(window.model)


@pytest.mark.parametrize("variant", ["counts", "presence", "complement"])
def test_bags_of_words(variant):
    model = feature_extraction.BagOfWords() | NaiveBayes(bag=variant)
    for text, label in (
        ("cash now", "spam"),
        ("win cash", "spam"),
        ("lunch at noon", "ham"),
        ("see you at lunch", "ham"),
    ):
        model.learn_one(text, label)
    assert model.predict_one("cash") == "spam"
    assert model.predict_one("lunch") == "ham"
    assert "features" in model["NaiveBayes"].model.schema.families


def test_multinomial_bags_equal_those_of_river():
    docs = [
        ("Chinese Beijing Chinese", "yes"),
        ("Chinese Chinese Shanghai", "yes"),
        ("Chinese Macao", "yes"),
        ("Tokyo Japan Chinese", "no"),
    ]
    mine = feature_extraction.BagOfWords(lowercase=False) | NaiveBayes(bag="counts", class_smoothing=0.0)
    theirs = feature_extraction.BagOfWords(lowercase=False) | naive_bayes.MultinomialNB(alpha=1)
    for text, label in docs:
        mine.learn_one(text, label)
        theirs.learn_one(text, label)
    expected = theirs.predict_proba_one("Chinese Tokyo Japan")
    assert mine.predict_proba_one("Chinese Tokyo Japan") == pytest.approx(expected, rel=1e-9)


def test_the_model_explains_and_saves():
    model = NaiveBayes()
    for x, y in stream.iter_array(np.array([[1.0, 2.0], [3.0, 4.0], [1.5, 2.5]]), np.array([0, 1, 0])):
        model.learn_one(x, y)
    assert isinstance(model.model, tb.Model)
    assert "histogram" in str(model.model.schema)
    assert model.model.explain({"0": 1.0, "1": 2.0})[0].to_dict()


def test_invalid_rows_and_parameters_are_errors_and_change_nothing():
    model = NaiveBayes()
    model.learn_one({"a": 1.0, "c": "red"}, "x")
    before = model.model.copy()
    for wrong in ({"a": "one"}, {"a": math.inf}):
        with pytest.raises(DataError, match="column"):
            model.learn_one(wrong, "y")
        assert model.model == before
    with pytest.raises(ParameterError, match=r"families or bag, .* got both"):
        NaiveBayes(families={"a": "poisson"}, bag="counts")
    with pytest.raises(ParameterError, match="gaussian"):
        NaiveBayes(numeric="gausian")
    with pytest.raises(ParameterError, match="variant"):
        NaiveBayes(bag="words")


def test_forgotten_values_are_not_in_a_pickle():
    model = NaiveBayes()
    rows = [{"user": f"user{i}", "tags": {f"tag{i}"}, "words": [f"word{i}"]} for i in range(20)]
    for i, x in enumerate(rows):
        model.learn_one(x, i % 2)
    for i, x in enumerate(rows[1:], 1):
        model.forget_one(x, i % 2)
    kept = pickle.dumps(model)
    assert b"user0" in kept
    assert not any(word in kept for word in (b"user7", b"tag7", b"word7"))
    window = NaiveBayes()
    for i in range(1000):
        window.learn_one({"user": f"user{i}"}, i % 2)
        if i >= 10:
            window.forget_one({"user": f"user{i - 10}"}, i % 2)
    assert sum(tally.n_dead for tally in window.model.snapshot().state.statistics.blocks.values()) <= 256


def test_names_that_become_the_same_text_are_refused():
    with pytest.raises(DataError, match="column names that differ"):
        NaiveBayes().learn_one({0: 1.0, "0": 9.0}, "x")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_bags_in_batches_equal_single_bags(kind):
    batch, singly = NaiveBayes(bag="counts"), NaiveBayes(bag="counts")
    rows, labels = [{"a": 2, "b": 0}, {"a": 0, "b": 3}], ["x", "y"]
    batch.learn_many(kind({"a": [2, 0], "b": [0, 3]}), labels)
    for x, y in zip(rows, labels, strict=True):
        singly.learn_one(x, y)
    assert batch.model.same_counts(singly.model)
    numbers = NaiveBayes(bag="counts")
    numbers.learn_many(pd.DataFrame({1: [2, 0], 2: [0, 3]}), labels)
    assert numbers.predict_proba_one({1: 2})["x"] > 0.5


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_tokens_may_have_the_names_of_methods_of_frames(kind):
    model = NaiveBayes(bag="counts")
    model.learn_many(kind({"to_dicts": [2, 0], "to_pylist": [0, 3]}), ["x", "y"])
    assert model.predict_one({"to_pylist": 1}) == "y"


def test_tokens_that_were_learned_and_forgotten_contribute_nothing():
    for tokens in (frozenset("ab"), ["a", "b"]):
        model = NaiveBayes()
        model.learn_one({"likes": type(tokens)()}, "cat")
        model.learn_one({"likes": tokens}, "dog")
        model.forget_one({"likes": tokens}, "dog")
        assert model.predict_proba_one({"likes": tokens}) == {"cat": 1.0}


def test_nulls_in_polars_frames():
    model = NaiveBayes()
    model.learn_many(pl.DataFrame({"c": ["red", None, "blue"], "l": [["a"], None, ["b", "c"]]}), ["x", "y", "x"])
    assert {name: str(family) for name, family in model.model.schema.families.items()} == {
        "c": "categorical",
        "l": "multinomial",
    }


@pytest.mark.slow
def test_without_river_the_error_says_what_to_install():
    code = "import sys; sys.modules['river'] = None; import tallybayes, tallybayes.dropin; import tallybayes.river"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: tallybayes.river needs river: pip install tallybayes[river]" in done.stderr


def test_a_text_is_not_a_row():
    model = NaiveBayes()
    for wrong in ("hello", [1, 2], None):
        for verb in (model.learn_one, model.forget_one):
            with pytest.raises(DataError, match="expected a row: a dict"):
                verb(wrong, "x")
    model.learn_one({"a": 1.0}, "x")
    with pytest.raises(DataError, match="expected a row: a dict"):
        model.predict_one("hello")
