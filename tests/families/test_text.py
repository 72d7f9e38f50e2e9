"""Columns of text: counted exactly, scored as scikit-learn scores them where the same is asked for, hard to harm."""

import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

import tallybayes as tb
from tallybayes.errors import DataError, ForgetError, ParameterError, UnsupportedError
from tallybayes.families import parse
from tallybayes.testing import check_family

WORDS = [
    "cash",
    "prize",
    "lunch",
    "office",
    "win",
    "see you",
    "naïve",
    "ΟΔΟΣ",
    "हिन्दी",
    "2026",
    "ß",
    "don't",
    "www.x.org",
]
SKLEARN = "case=lower,words=python,max_length=0"
OPTIONS = [
    "text",
    "text:counts",
    "text:complement",
    "text:presence",
    "text:counts,tf=once",
    "text:counts,tf=log",
    "text:complement,tf=log,unit=False",
    "text:counts,idf=True",
    "text:complement,tf=log,idf=True,balanced=True",
    "text:counts,min_count=3",
    "text:presence,min_count=3",
    "text:counts,cap=2.0",
    "text:counts,tf=log,top=1,length=2",
    "text:counts,buckets=8,key=000102030405060708090a0b0c0d0e0f",
    "text:counts,ngrams=2",
    "text:counts,tf=log,ngrams=2,scored_ngrams=1",
    "text:complement,tf=once,ngrams=2,scored_ngrams=1,balanced=True",
    "text:counts,tf=count,idf=True",
    "text:counts,tokens=characters,ngrams=3,shortest=2",
    "text:counts,stop=lunch prize",
]


def mails(n: int, seed: int = 0, classes: int = 3) -> dict[str, list]:
    """Texts whose words depend on their class, some of them missing or empty."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, n)
    p = rng.dirichlet(np.full(len(WORDS), 0.4), size=classes)
    text = [" ".join(rng.choice(WORDS, size=rng.integers(0, 9), p=p[c])) for c in label]
    return {"text": [None if rng.random() < 0.05 else t for t in text], "label": [f"c{c}" for c in label]}


def fit(data, family="text", **options):
    return tb.fit(data, label="label", families={"text": family}, **options, column_weights=None)


@pytest.mark.slow
@pytest.mark.parametrize("family", OPTIONS)
def test_every_law_of_a_family(family):
    check_family(parse(family), seeds=2)


@pytest.mark.parametrize(
    ("variant", "theirs", "options"),
    [
        ("counts", MultinomialNB(alpha=0.7), {}),
        ("presence", BernoulliNB(alpha=0.7), {}),
        ("complement", ComplementNB(alpha=0.7), {"class_prior": "uniform"}),
    ],
)
@pytest.mark.parametrize("ngrams", [1, 2])
def test_the_same_as_scikit_learn(variant, theirs, options, ngrams):
    data = mails(300)
    data["text"] = [text or "" for text in data["text"]]
    vectorizer = CountVectorizer(ngram_range=(1, ngrams))
    theirs.fit(vectorizer.fit_transform(data["text"]), data["label"])
    prior = {} if options else {"class_smoothing": 0.0}
    model = fit(data, f"text:{variant},{SKLEARN},ngrams={ngrams}", smoothing=0.7, **options, **prior)
    new = [text or "" for text in mails(100, seed=1)["text"]] + ["never seen", "cash " * 50]
    ours = model.predict_proba({"text": new})
    np.testing.assert_allclose(ours, theirs.predict_proba(vectorizer.transform(new)), rtol=1e-9, atol=1e-12)


def test_weights_of_rennie_by_hand():
    texts, label = ["a a b", "a c", "b b c c", "c d"], ["x", "x", "y", "y"]
    data = {"text": texts, "label": label}
    counts = CountVectorizer(token_pattern=r"\w").fit_transform(texts).toarray().astype(float)
    logs = np.log1p(counts)
    logs /= np.sqrt((logs**2).sum(axis=1, keepdims=True))
    idf = np.log(4 / (counts > 0).sum(axis=0))
    sums = np.stack([logs[:2].sum(axis=0), logs[2:].sum(axis=0)]) * idf
    other = sums.sum(axis=0) - sums
    weight = -np.log((other + 0.5) / (other.sum(axis=1, keepdims=True) + 0.5 * 4))
    size = np.abs(weight).sum(axis=1, keepdims=True)
    weight = weight * size.mean() / size
    wanted = logs @ (weight * idf).T + np.log(0.5)
    model = fit(data, "text:complement,tf=log,idf=True,balanced=True,min_length=1,k=0.5")
    np.testing.assert_allclose(model.log_score(data), wanted, rtol=1e-8)


@pytest.mark.parametrize("family", OPTIONS)
def test_batches_and_order_do_not_matter(family):
    data = mails(120, seed=2)
    table = pa.table(data)
    whole = fit(table, family)
    order = np.random.default_rng(0).permutation(120)
    for parts in ([table.take(order)], [table.slice(i, 7) for i in range(0, 120, 7)]):
        other = fit(parts[0], family)
        for part in parts[1:]:
            other.learn(part)
        assert other.same_counts(whole)
        other = tb.fit(pa.concat_tables(parts), label="label", schema=whole.schema, column_weights=None)
        assert (other.log_score(data) == whole.log_score(data)).all()


@pytest.mark.parametrize("family", OPTIONS)
def test_learning_and_forgetting_leaves_the_same_file(family, tmp_path):
    data, more = mails(120, seed=3), mails(30, seed=4, classes=4)
    more["text"] = [None if text is None else f"{text} brandnew{i}" for i, text in enumerate(more["text"])]
    model = fit(data, family)
    model.save(tmp_path / "a.tally")
    scores = model.log_score(data)
    model.learn(more)
    model.forget(more)
    model.save(tmp_path / "b.tally")
    assert (tmp_path / "a.tally").read_bytes() == (tmp_path / "b.tally").read_bytes()
    assert (model.log_score(data) == scores).all()
    again = tb.load(tmp_path / "b.tally")
    assert again == model
    assert (again.log_score(data) == scores).all()
    assert (pickle.loads(pickle.dumps(model)).log_score(data) == scores).all()
    for i in range(30):  # one at a time
        model.learn({name: [column[i]] for name, column in more.items()})
    for i in range(30):
        model.forget({name: [column[i]] for name, column in more.items()})
    assert model.same_counts(again)
    assert (model.log_score(data) == scores).all()


@pytest.mark.parametrize("family", OPTIONS)
def test_a_document_scores_alone_as_in_a_batch(family):
    data, new = mails(120, seed=5), mails(50, seed=6)
    model = fit(data, family)
    together = model.log_score(new)
    alone = np.concatenate([model.log_score({"text": [text]}) for text in new["text"]])
    assert (together == alone).all()
    assert np.isfinite(together).all()


@pytest.mark.parametrize("family", OPTIONS)
def test_words_add_up_to_what_the_text_says(family):
    data, new = mails(120, seed=7), mails(30, seed=8)
    for text, one in zip(new["text"], fit(data, family).explain(new), strict=True):
        words = one.words.get("text", [])
        total = sum((word.log_evidence for word in words), np.zeros(3))
        np.testing.assert_allclose(total, one.log_evidence["text"], rtol=1e-9, atol=1e-9)
        assert one.to_dict()["predicted"] in ("c0", "c1", "c2")
        for word in words:
            for start, stop in word.spans:
                if "characters" not in family:
                    shown = text[start:stop].casefold()
                    assert shown.startswith(word.token.split()[0])
                    assert shown.endswith(word.token.split()[-1])


def test_text_is_a_column_beside_others():
    data = {
        "text": ["win cash", "cash prize now", "lunch today", None] * 12,
        "hour": [3.0, 4.0, 12.0, 13.0] * 12,
        "known": ["no", "no", "yes", "yes"] * 12,
        "label": ["spam", "spam", "ham", "ham"] * 12,
    }
    model = fit(data)
    assert {name: family.name for name, family in model.schema.families.items()} == {
        "text": "text",
        "hour": "histogram",
        "known": "categorical",
    }
    assert model.predict([{"hour": 12.5}, {"text": "prize"}, {"known": "yes", "text": None}]).tolist() == [
        "ham",
        "spam",
        "ham",
    ]
    assert model.predict_proba_one({"text": "cash"})["spam"] > 0.9
    model.learn_one({"text": "bitcoin", "hour": 2.0}, "spam")
    assert model.predict_proba_one({"text": "bitcoin"})["spam"] > 0.5


@pytest.mark.parametrize(
    "column",
    [
        ["win cash", None, "lunch"],
        [b"win cash", None, b"lunch"],
        np.array(["win cash", None, "lunch"], object),
        pa.array(["win cash", None, "lunch"]),
        pa.array(["win cash", None, "lunch"], pa.large_string()),
        pa.array(["win cash", None, "lunch"], pa.string_view()),
        pa.array([b"win cash", None, b"lunch"], pa.binary()),
        pa.array(["win cash", None, "lunch"]).dictionary_encode(),
        pa.chunked_array([["win cash", None], ["lunch"]]),
        pa.array(["x y", "win cash", None, "lunch"])[1:],
    ],
    ids=lambda column: str(getattr(column, "type", type(column).__name__)),
)
def test_texts_of_every_kind(column):
    plain = fit({"text": ["win cash", None, "lunch"], "label": ["a", "a", "b"]}, "text:counts")
    model = tb.fit(
        pa.table({"text": column}) if isinstance(column, (pa.Array, pa.ChunkedArray)) else {"text": column},
        label=["a", "a", "b"],
        families={"text": "text:counts"},
        column_weights=None,
    )
    assert (model.log_score({"text": ["cash", "lunch"]}) == plain.log_score({"text": ["cash", "lunch"]})).all()


def test_texts_that_look_odd_do_no_harm():
    odd = [
        "\ud800 half a pair",
        "nul\0inside",
        "zero\u200bwidth so\u00adft",
        "\u202eright to left שלום",
        "",
        " ",
        "…!?",
        "ﬀ",
    ]
    model = fit({"text": odd * 4, "label": ["a", "b"] * 16}, "text:counts,tf=log")
    assert np.isfinite(model.log_score({"text": odd})).all()
    assert model.explain({"text": ["ZERO\u200bWIDTH"]})[0].words["text"][0].token == "zerowidth"
    invalid = [b"\xff\xfe cash \x80", b"\xed\xa0\x80", b"\xf0\x9f", b"cash"]
    model = fit({"text": invalid, "label": ["a", "a", "b", "b"]}, "text:counts")
    assert model.predict({"text": [b"\xffcash\xff"]}).tolist() == ["a"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.5, 2.5], "expected a text, got 1.5"),
        ([["a", "b"], ["c"]], r"expected a text, got \['a', 'b'\](.|\n)*multinomial and tags take lists"),
        (["fine", 7], "row 1: expected a text, got 7"),
    ],
)
def test_what_is_no_text_is_told(values, message):
    with pytest.raises(DataError, match=message):
        fit({"text": values, "label": ["a", "b"]})


@pytest.mark.parametrize(
    "text",
    [
        "text:variant=none",
        "text:tf=often",
        "text:k=-1",
        "text:k=inf",
        "text:ngrams=-1",
        "text:shortest=3,ngrams=2",
        "text:min_length=9,max_length=3",
        "text:cap=-1",
        "text:buckets=-1",
        "text:key=00",
        "text:buckets=4,key=zz",
        "text:ngrams=17",
        "text:tokens=syllables",
        "text:idf=perhaps",
    ],
)
def test_options_are_checked(text):
    with pytest.raises(ParameterError):
        parse(text)


def test_a_bounded_vocabulary_keeps_account_of_what_it_lost():
    texts = [f"common often{i % 5} rare{i}" for i in range(200)]
    data = {"text": texts, "label": ["a", "b"] * 100}
    model = fit(data, "text:counts,k=1,max_tokens=20")
    words = model.snapshot().state.statistics.blocks[parse("text:max_tokens=20")].tokens["text"]
    assert words.n_keys <= 20
    assert words.total("counts").sum() == 600  # nothing that was counted is missing
    assert words.pooled("counts").sum() > 100
    before = model.log_score({"text": ["common"]})
    for i in range(300):
        model.learn({"text": [f"common new{i}"], "label": ["a"]})
        assert model.snapshot().state.statistics.blocks[parse("text:max_tokens=20")].tokens["text"].n_keys <= 20
    for i in range(300):
        model.forget({"text": [f"common new{i}"], "label": ["a"]})
    np.testing.assert_allclose(model.log_score({"text": ["common"]}), before)
    with pytest.raises(ForgetError):
        model.forget({"text": ["common " * 1000], "label": ["a"]})


def test_rare_tokens_are_silent_when_asked():
    data = {"text": ["often often once", "often other", "other other"], "label": ["a", "a", "b"]}
    model = fit(data, "text:counts,k=1,min_count=2")
    plain = fit({**data, "text": ["often often", "often other", "other other"]}, "text:counts,k=1")
    new = {"text": ["once", "often", "other once"]}
    np.testing.assert_allclose(model.log_score(new), plain.log_score(new))


def test_hashed_tokens_have_a_secret_key(tmp_path):
    data = mails(100)
    one, two = (fit(data, "text:counts,k=1,buckets=64") for _ in range(2))
    assert one.schema.families["text"].key != two.schema.families["text"].key
    assert one.schema.families["text"].key not in str(one.schema) + str(one.describe())
    one.save(tmp_path / "one.tally")
    again = tb.load(tmp_path / "one.tally")
    assert (again.log_score(data) == one.log_score(data)).all()
    with pytest.raises(DataError, match="same family"):
        one.merge(two)
    more = mails(50, seed=1)
    other = tb.fit(more, label="label", schema=one.schema, column_weights=None)
    both = {name: data[name] + more[name] for name in data}
    assert one.merge(other).same_counts(tb.fit(both, label="label", schema=one.schema, column_weights=None))
    assert len(one.snapshot().state.statistics.blocks[one.schema.families["text"].counted].tokens["text"].index) == 64


def test_models_with_other_variants_can_be_merged():
    data, more = mails(60), mails(60, seed=1)
    both = fit(data, "text:complement,k=2").merge(fit(more, "text:counts,k=1"))
    assert str(both.schema.families["text"]) == "text:variant=complement,k=2.0"
    assert both.same_counts(fit({name: data[name] + more[name] for name in data}, "text:presence"))
    with pytest.raises(DataError, match="same family"):
        fit(data, "text:ngrams=3").merge(fit(more, "text"))


@pytest.mark.parametrize("verb", ["sample", "log_marginal", "objective", "log_evidence"])
def test_ways_of_scoring_are_no_likelihoods(verb):
    model = fit(mails(60), "text:complement,k=1")
    arguments = {"sample": (3,), "log_marginal": (mails(3),), "objective": (mails(3),), "log_evidence": ()}
    with pytest.raises(UnsupportedError, match="are not likelihoods"):
        getattr(model, verb)(*arguments[verb])


@pytest.mark.parametrize("family", ["text:counts,k=0.5", "text:presence,k=0.5", "text:counts,tf=log,k=0.5"])
def test_samples_are_texts_of_the_class(family):
    model = fit(mails(200), family)
    rows = model.sample(400, seed=0).to_pylist()
    assert all(isinstance(row["text"], str) for row in rows)
    assert (model.predict(rows) == [row["label"] for row in rows]).mean() > 0.6


def test_evidence_is_greatest_for_a_sensible_strength():
    data = mails(200)
    found = {k: fit(data, "text:counts", smoothing=k).log_evidence()["text"] for k in (1e-3, 0.5, 1e3)}
    assert max(found, key=found.get) == 0.5


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=40), min_size=2, max_size=12), st.sampled_from(OPTIONS))
def test_any_text_gives_finite_answers(texts, family):
    model = (
        fit({"text": texts, "label": ["a", "b"] * 6}, family)
        if len(texts) == 12
        else tb.fit(
            {"text": texts}, label=[i % 2 for i in range(len(texts))], families={"text": family}, column_weights=None
        )
    )
    scores = model.predict_proba({"text": [*texts, "something else"]})
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)


def test_hard_documents_are_bounded():
    long_word, new_words = "x" * 5_000_000, " ".join(f"w{i}" for i in range(200_000))
    data = {"text": [long_word, new_words, "a.b@" * 500_000, "hello world"] * 2, "label": ["a", "b"] * 4}
    model = fit(data, "text:counts,addresses=True")
    assert len(model.snapshot().state.statistics.blocks[parse("text:addresses=True")].tokens["text"].index) < 210_000
    assert np.isfinite(model.log_score(data)).all()
    kept = fit({"text": [long_word, "short"], "label": ["a", "b"]}, "text:counts,max_length=0")
    assert kept.predict({"text": [long_word]}).tolist() == ["a"]


def test_every_option_is_documented():
    text = (Path(__file__).parents[2] / "docs" / "text.md").read_text()
    for field in dataclasses.fields(tb.Text):
        assert f"`{field.name}`" in text, field.name


def test_scripts_without_blanks_are_cut_into_characters():
    fruit, money = ["我喜欢吃苹果和香蕉", "苹果很好吃", "香蕉也很好"], ["股票市场今天上涨", "银行的利率", "股票和银行"]
    data = {"text": fruit * 5 + money * 5, "label": ["fruit"] * 15 + ["money"] * 15}
    data["text"] = [f"{text}{chr(0x4E00 + i)}" for i, text in enumerate(data["text"])]
    model = tb.fit(data, label="label", column_weights=None)
    assert model.schema.families["text"].tokens == "characters"
    assert model.predict({"text": ["香蕉", "股票"]}).tolist() == ["fruit", "money"]
