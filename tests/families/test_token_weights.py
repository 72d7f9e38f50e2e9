"""Weights of tokens: frequencies at k = 0, and the same bits for a row alone as in a batch."""

import itertools

import numpy as np
import pytest

import tallybayes as tb

TEXTS = ["cash prize cash", "cash office", "lunch office", "lunch lunch menu", "office menu cash"]
LABELS = ["spam", "spam", "ham", "ham", "ham"]
FAMILIES = [
    f"text:{variant},k=0" + options
    for variant, options in itertools.product(("counts", "complement"), ("", ",balanced=True", ",idf=True", ",tf=log"))
] + ["text:presence,k=0"]


def text_model(family, labels=LABELS, **options):
    return tb.fit({"text": TEXTS, "label": labels}, label="label", families={"text": family}, **options)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("labels", [LABELS, ["a", "b", "c", "a", "b"], ["a"] * 5], ids=["two", "three", "one"])
@pytest.mark.filterwarnings("ignore::tallybayes.RuledOutWarning")
def test_probabilities_without_smoothing_are_never_nan(family, labels):
    model = text_model(family, labels)
    p = model.predict_proba({"text": [*TEXTS, "prize menu", "cash lunch", "unknown", ""]})
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


@pytest.mark.parametrize("options", ["", ",balanced=True", ",tf=log"])
def test_complement_without_smoothing_answers_with_the_only_class_of_a_token(options):
    model = text_model(f"text:complement,k=0{options}")
    assert model.predict({"text": ["prize", "lunch menu", "cash prize"]}).tolist() == ["spam", "ham", "spam"]
    with pytest.warns(tb.RuledOutWarning):  # one token rules out ham, the other spam
        p = model.predict_proba({"text": ["prize lunch"]})
    np.testing.assert_allclose(p, [[0.6, 0.4]], atol=0.05)


def test_balanced_weights_without_smoothing_separate_the_classes():
    model = text_model("text:counts,balanced=True,k=0")
    assert model.predict({"text": ["cash prize", "lunch menu"]}).tolist() == ["spam", "ham"]


@pytest.mark.parametrize("variant", ["text:complement,k=0.3", "text:counts,k=0.3", "multinomial:complement"])
def test_a_document_alone_scores_as_in_a_batch_with_fractional_weights_and_many_classes(variant):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(400)]
    bags = [rng.choice(words, size=12).tolist() for _ in range(300)]
    column = [" ".join(bag) for bag in bags] if variant.startswith("text") else bags
    data = {"x": column, "label": rng.integers(0, 11, 300).tolist(), "w": rng.random(300).tolist()}
    model = tb.fit(data, label="label", sample_weight="w", families={"x": variant})
    together = model.log_score({"x": column})
    alone = np.concatenate([model.log_score({"x": column[i : i + 1]}) for i in range(0, 300, 7)])
    assert alone.tobytes() == together[::7].tobytes()


@pytest.mark.parametrize(
    "family", ["text:counts,k=1", "text:complement,tf=log,k=0.5", "text:presence,k=1", "text:counts,cap=1,k=1"]
)
@pytest.mark.parametrize("weight", [0.0, 0.25, 3.0])
def test_a_column_weight_is_folded_into_the_table_of_tokens(family, weight):
    """The scores with a weight are those without, times the weight; one large batch, and rows alone bit for bit."""
    texts, labels = TEXTS * 10, ["a", "b", "c", "a"] * (len(TEXTS) * 10 // 4) + ["a"] * (len(TEXTS) * 10 % 4)
    plain = tb.fit({"text": texts}, label=labels, families={"text": family}, column_weights=None)
    heavy = tb.fit({"text": texts}, label=labels, families={"text": family}, column_weights={"text": weight})
    (predictive,) = heavy.snapshot().scorer.predictives
    assert predictive.folded is not None
    new = [*TEXTS, "prize menu", "unknown", ""]
    prior = plain.log_score({"text": [None]})
    expected = prior + weight * (plain.log_score({"text": new}) - prior)
    found = heavy.log_score({"text": new})
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    for i, text in enumerate(new):
        assert np.array_equal(heavy.log_score({"text": [text]})[0], found[i])


def test_weights_of_tags_and_bags_are_folded_too():
    rows = {"g": [["x", "y"], ["y"], [], ["z", "x"]] * 10, "h": [{"p": 2}, {"q": 1}, {"p": 1, "q": 3}, {}] * 10}
    options = {"label": ["a", "b", "b", "a"] * 10, "families": {"g": "tags", "h": "multinomial"}}
    plain = tb.fit(rows, **options, column_weights=None)
    heavy = tb.fit(rows, **options, column_weights={"g": 0.5, "h": 2.0})
    assert all(predictive.folded is not None for predictive in heavy.snapshot().scorer.predictives)
    empty = {"g": [None], "h": [None]}
    parts = [plain.log_score({**empty, name: rows[name][:1]}) - plain.log_score(empty) for name in ("g", "h")]
    expected = plain.log_score(empty) + 0.5 * parts[0] + 2.0 * parts[1]
    np.testing.assert_allclose(heavy.log_score({name: own[:1] for name, own in rows.items()}), expected, rtol=1e-12)
