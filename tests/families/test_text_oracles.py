"""Text where it is easily got wrong: threads, bounded vocabularies, secrets, odd values, many classes."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from test_text import fit, mails

import tallybayes as tb
from tallybayes.errors import ForgetError, ParameterError
from tallybayes.families import parse


def test_threads_that_only_read_get_the_right_answers():
    data = mails(400, seed=21)
    model = fit(data, "text:counts,k=1")
    model.learn({"text": ["cash prize fresh"], "label": ["c0"]})  # leaves an overlay that the first reader folds in
    wanted, one = model.copy().predict_proba(data), model.copy().predict_proba({"text": ["cash prize fresh"]})
    with ThreadPoolExecutor(4) as pool:
        whole = [pool.submit(model.predict_proba, data) for _ in range(3)]
        single = [pool.submit(model.predict_proba, {"text": ["cash prize fresh"]}) for _ in range(60)]
    assert all((job.result() == wanted).all() for job in whole)
    assert all((job.result() == one).all() for job in single)


def test_forgetting_a_document_that_was_never_learned_is_refused():
    model = fit({"text": ["aa aa", "bb", "cc"], "label": [0, 0, 1]}, "text:counts,k=1")
    before = model.copy()
    with pytest.raises(ForgetError, match="'aa' was not learned that often"):
        model.forget({"text": ["aa"], "label": [0]})  # there was one document with two of them
    assert model == before


@pytest.mark.parametrize("seed", range(4))
def test_a_bounded_vocabulary_forgets_whatever_it_has_learned(seed):
    rng = np.random.default_rng(seed)
    texts = [" ".join(f"w{i}" for i in rng.zipf(1.5, 8) % 60) for _ in range(60)]
    data = {"text": texts, "label": ["a", "b"] * 30}
    model = fit({"text": texts[:30], "label": data["label"][:30]}, "text:counts,k=1,max_tokens=20")
    for i in range(30, 60):
        model.learn({"text": [texts[i]], "label": [data["label"][i]]})
    for i in rng.permutation(60).tolist():
        model.forget({"text": [texts[i]], "label": [data["label"][i]]})
        words = next(iter(model.snapshot().state.statistics.blocks.values())).tokens["text"]
        for kind in ("counts", "documents"):
            cells = np.bincount(words.store.table().classes, words.floats(kind), words.n_classes)
            assert (cells == words.total(kind)).all()
    assert model.class_counts == {}


def test_lost_tokens_are_neither_there_nor_absent():
    texts = [f"common w{i}" for i in range(90)] + [f"common v{i}" for i in range(10)]
    data = {"text": texts, "label": ["a"] * 90 + ["b"] * 10}
    model = fit(data, "text:presence,k=1,max_tokens=2", class_prior="uniform")
    p = (91 / 92) / (91 / 92 + 11 / 12)  # nothing but "common" has a name
    np.testing.assert_allclose(model.predict_proba({"text": ["common"]}), [[p, 1 - p]])


def test_a_key_is_told_to_nobody():
    key = "0123456789abcdef" * 2
    family = tb.Text(buckets=8, key=key)
    assert key in str(family)  # the form that files hold
    assert key not in repr(family) + family.display_name()
    for wrong in (lambda: tb.Text(buckets=8, key=key, ngrams=17), lambda: parse(f"txt:buckets=8,key={key}")):
        with pytest.raises(ParameterError) as error:
            wrong()
        assert key not in str(error.value)


@pytest.mark.parametrize(
    "options",
    [
        {"idf": "no"},
        {"cap": True},
        {"unit": 0},
        {"stop": 5},
        {"stop": [1]},
        {"stop": "k=3"},
        {"cap": "x"},
        {"key": 5},
        {"cap": None},
        {"max_tokens": 1},
        {"variant": "presence", "idf": True},
        {"buckets": 2**23},
    ],
    ids=str,
)
def test_options_in_python_are_checked_too(options):
    with pytest.raises(ParameterError):
        tb.Text(**options)


def test_stop_words_as_a_list_or_text():
    assert tb.Text(stop=["the", "and"]) == tb.Text(stop="the, and") == parse("text:stop=the and")
    model = fit({"text": ["The cash", "AND lunch"], "label": ["a", "b"]}, "text:counts,stop=the and")
    assert model.predict_proba({"text": ["the"]}).tolist() == [[0.5, 0.5]]


def test_missing_texts_of_every_kind_are_explained():
    model = fit(mails(50), "text:counts")
    for missing in (None, np.nan, pd.NA, pd.NaT):
        assert model.explain({"text": [missing]})[0].words == {}
    frame = pd.DataFrame({"text": pd.array(["cash", pd.NA], "string")})
    assert model.predict_proba(frame).shape == (2, 3)


def test_spans_count_characters_also_behind_half_a_surrogate_pair():
    model = fit(mails(50), "text:counts")
    (word,) = model.explain({"text": ["\ud800\ud800 cash"]})[0].words["text"]
    assert word.spans == ((3, 7),)


@pytest.mark.parametrize("kind", [pa.binary_view(), pa.binary(4)], ids=str)
def test_bytes_of_other_arrow_types(kind):
    texts = pa.array([b"cash", b"noon"], pa.binary()).cast(kind)
    model = tb.fit(pa.table({"text": texts}), label=["a", "b"], families={"text": "text:counts"}, column_weights=None)
    assert model.predict({"text": ["cash", "noon"]}).tolist() == ["a", "b"]


@pytest.mark.slow
def test_many_classes_take_little_memory():
    n = 3000
    data = {"text": [f"w{i} w{i % 50} common" for i in range(n)] * 2, "label": list(range(n)) * 2}
    model = fit(data, "text:counts,k=1")
    assert len(model.snapshot().state.statistics.blocks[parse("text")].tokens["text"].store.table().entries) <= 3 * n
    assert len(model.describe().columns["text"]) <= 10 * n
    selected = fit(data)  # the sample of a choice is bounded too
    assert selected.schema.families["text"].variant != "auto"


def test_huge_weights_are_counted():
    model = tb.fit(
        mails(60),
        label="label",
        families={"text": "text:counts,k=1"},
        sample_weight=np.full(60, 1e10),
        column_weights=None,
    )
    assert model.class_counts == {name: n * 1e10 for name, n in fit(mails(60), "text:counts").class_counts.items()}


def test_an_open_model_takes_the_choice_of_a_decided_one():
    tiny, big = fit({"text": ["cash", "lunch"], "label": ["c0", "c1"]}), fit(mails(200))
    for both in (tiny.merge(big), big.merge(tiny)):
        assert both.schema.families["text"] == big.schema.families["text"]


def test_documents_learned_one_by_one_are_decided_as_well():
    data = mails(60)
    model = fit({name: column[:1] for name, column in data.items()})
    for i in range(1, 60):
        model.learn({name: [column[i]] for name, column in data.items()})
    assert model.schema.families["text"].variant != "auto"


def test_cross_validation_judges_the_model_that_fit_makes():
    data = mails(900, seed=5)
    chosen = fit(data).schema
    judged = tb.cross_validate(data, label="label", families={"text": "text"}, folds=5)
    told = tb.cross_validate(data, label="label", schema=chosen, folds=5)
    assert judged.log_loss == pytest.approx(told.log_loss, rel=0.05)
