"""Selection of the options of text: exact leave-one-out, whatever the order of the documents."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_text import fit, mails

import tallybayes as tb
from tallybayes import kernels
from tallybayes.arrays.column import Bag
from tallybayes.arrays.token_rules import pack_strings
from tallybayes.families import Text
from tallybayes.families.tokens.text_variant import LEAST_DOCUMENTS, ScoringCandidate, VariantEvaluation

CANDIDATES = [
    *(Text(variant, tf=tf) for variant in ("counts", "complement") for tf in ("count", "once")),
    *(Text(variant, tf="log", unit=unit) for variant in ("counts", "complement") for unit in (True, False)),
    Text("presence", tf="count"),
    Text("complement", tf="once", ngrams=2),
    Text("complement", tf="log", ngrams=2, scored_ngrams=1),
]


@pytest.mark.parametrize("family", CANDIDATES, ids=str)
@pytest.mark.parametrize("k", [0.05, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_document_left_out_is_a_document_never_seen(family, k, weighted):
    data = mails(40, seed=11)
    rows = [i for i, text in enumerate(data["text"]) if text is not None]
    data = {name: [column[i] for i in rows] for name, column in data.items()}
    weights = np.random.default_rng(0).integers(1, 4, len(rows)).astype(float) if weighted else np.ones(len(rows))
    model = tb.fit(
        data, label="label", families={"text": family}, smoothing=k, sample_weight=weights, column_weights=None
    )
    tally = model.snapshot().state.statistics.blocks[family.counted]
    words, n_documents = tally.tokens["text"], tally.n_rows("text").floats()
    data_, offsets = pack_strings(data["text"])
    ends, tokens, amounts = words.index.lexicon.tokenise(offsets, data_, None, 0, len(rows), family.rules, None, False)
    codes = np.array([model.classes.index(label) for label in data["label"]], np.int32)
    slots = np.arange(len(words.index.lexicon))
    trial = VariantEvaluation(words, n_documents, Bag(ends, tokens, amounts, ()), codes, weights, slots)
    losses = []
    for i in range(len(rows)):
        without = {name: column[:i] + column[i + 1 :] for name, column in data.items()}
        other = tb.fit(
            without,
            label="label",
            families={"text": family},
            smoothing=k,
            sample_weight=np.delete(weights, i),
            column_weights=None,
        )
        p = other.predict_proba({"text": [data["text"][i]]})[0]
        losses.append(-np.log(p[other.classes.index(data["label"][i])]))
    np.testing.assert_allclose(trial.losses(ScoringCandidate(family.options, k)), losses, rtol=1e-9, atol=1e-12)


def test_the_choice_does_not_depend_on_order_or_batches():
    data = pa.table(mails(600, seed=3))
    whole = fit(data)
    family = whole.schema.families["text"]
    assert family.variant != "auto"
    assert family.k != "auto"
    assert "candidates by leave-one-out on a sample of" in whole.schema.columns["text"].reason
    order = np.random.default_rng(1).permutation(600)
    assert str(fit(data.take(order)).schema) == str(whole.schema)
    batches = iter([data.slice(start, 37) for start in range(0, 600, 37)])
    assert str(fit(batches).schema) == str(whole.schema)
    weighted = tb.fit(data, label="label", families={"text": "text"}, sample_weight=np.ones(600), column_weights=None)
    assert str(weighted.schema) == str(whole.schema)


def documents_of(model, data):
    """A trial of all documents that a model has learned."""
    family = model.schema.families["text"]
    tally = model.snapshot().state.statistics.blocks[family.counted]
    words, (content, offsets) = tally.tokens["text"], pack_strings(data["text"])
    lexicon, n = words.index.lexicon, len(data["text"])
    bag = Bag(*lexicon.tokenise(offsets, content, None, 0, n, family.rules, None, False), ())
    codes = np.array([model.classes.index(label) for label in data["label"]], np.int32)
    return VariantEvaluation(words, tally.n_rows("text").floats(), bag, codes, np.ones(n), np.arange(len(lexicon)))


@pytest.mark.parametrize("options", ["complement,tf=log,ngrams=2,scored_ngrams=1", "counts,tf=once,ngrams=2,idf=True"])
def test_a_part_of_a_sample_has_the_scores_of_the_whole(options):
    data = {name: values[5:] for name, values in mails(60, seed=2).items()}
    rows = [i for i, text in enumerate(data["text"]) if text is not None]
    data = {name: [values[i] for i in rows] for name, values in data.items()}
    model = fit(data, f"text:{options},k=0.5")
    trial = documents_of(model, data)
    candidate = ScoringCandidate(model.schema.families["text"].options, 0.5)
    whole, part = trial.scores(candidate), trial.first(10, 17, 17)
    assert len(part) == 17
    assert np.array_equal(part.scores(candidate), whole[:17])
    assert part.evaluate([candidate])[0] is trial.first(10, 17, 17).evaluate([candidate])[0]  # not done twice
    assert len(trial.first(10**9, 1, 10**9)) == len(rows)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_candidates_are_tried(n_classes):
    """Most of them on few documents: the search is staged."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_classes, 300)
    texts = [" ".join(rng.choice([f"own{code}", *COMMON], 9)) for code in codes]
    reason = fit({"text": texts, "label": [f"c{code}" for code in codes]}).schema.columns["text"].reason
    assert 12 <= int(reason.split("selected from ")[1].split()[0]) <= 40


def test_two_classes_of_different_sizes_get_balanced_weights():
    """A rare class has seen few words, so that without them each unknown word speaks for the larger one."""
    rng = np.random.default_rng(0)
    rare = np.arange(1000) % 25 == 0
    own = [[f"{side}{i}" for i in range(200)] for side in "ab"]
    texts = [" ".join([*rng.choice(own[int(is_rare)], 3), *rng.choice(COMMON, 6)]) for is_rare in rare]
    found = fit({"text": texts, "label": np.where(rare, "rare", "usual").tolist()}).schema.families["text"]
    assert found.balanced
    assert found.variant == "counts"


COMMON = [f"word{i}" for i in range(60)]


def test_what_is_told_is_not_chosen():
    data = mails(200)
    assert fit(data, "text:complement").schema.families["text"].variant == "complement"
    assert fit(data, "text:complement").schema.families["text"].tf != "auto"
    assert fit(data, "text:complement,tf=count").schema.families["text"].tf == "count"
    assert fit(data, "text:tf=once").schema.families["text"].tf in ("once", "count")  # presence has no tf
    assert fit(data, "text:k=0.125").schema.families["text"].k == 0.125
    assert fit(data, smoothing=0.5).schema.families["text"].variant != "auto"
    assert fit(data, "text:counts,k=1").schema.columns["text"].reason == "specified by the user"
    assert fit(data, estimate="mle").schema.families["text"].variant == "auto"  # nothing to choose


def test_with_few_documents_the_choice_is_left_open():
    few = {"text": ["win cash", "see you at lunch"], "label": ["spam", "ham"]}
    model = fit(few)
    assert model.schema.families["text"] == Text()
    assert model.predict({"text": ["cash", "lunch"]}).tolist() == ["spam", "ham"]
    assert fit({"text": ["one class"] * 50, "label": ["a"] * 50}).schema.families["text"] == Text()
    more = mails(4 * LEAST_DOCUMENTS)
    model.learn(more)
    assert model.schema.families["text"].variant != "auto"
    decided = model.schema.families["text"]
    model.learn(mails(4 * LEAST_DOCUMENTS, seed=9))
    assert model.schema.families["text"] == decided  # once chosen, it stays


def test_a_better_variant_wins():
    """Repetition says nothing here, so counting a word once must do better than counting it often."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 400)
    text = [" ".join(np.repeat(rng.choice(WORDS[c], 3, replace=False), rng.integers(1, 40, 3))) for c in label]
    model = fit({"text": text, "label": [str(c) for c in label]})
    assert model.schema.families["text"].tf != "count" or model.schema.families["text"].variant == "presence"


WORDS = [["ant", "bee", "cat", "dog", "elk"], ["cat", "dog", "elk", "fox", "gnu"]]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), max_size=8) | st.permutations(range(80)), min_size=1, max_size=10),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0.01, 1.0, 30.0]),
)
def test_native_kernels_of_documents_equal_the_reference(documents, n_classes, unit, complement, k):
    native, plain = kernels.active, kernels.reference
    bags = [dict.fromkeys(document, 0) for document in documents]
    for bag, document in zip(bags, documents, strict=True):
        for token in document:
            bag[token] += 1 + 1500 * (token == 9)
    indptr = np.cumsum([0, *map(len, bags)])
    indices = np.array([token for bag in bags for token in bag], np.int32)
    amounts = np.array([n for bag in bags for n in bag.values()], np.int32)
    codes = np.array([i % n_classes - (i == 5) * 9 for i in range(len(bags))], np.int32)
    assert np.array_equal(native.log_amounts(indptr, amounts, unit), plain.log_amounts(indptr, amounts, unit))
    ranges = ((0, n_classes), (0, 1), (1, n_classes))
    parts = [
        [m.sum_documents(indptr, indices, amounts, codes, n_classes, 80, unit, *own) for own in ranges]
        for m in (native, plain)
    ]
    assert all(np.array_equal(a, b) for x, y in zip(*parts, strict=True) for a, b in zip(x, y, strict=True))
    (cells, sums, totals, _), first, second = parts[0]
    for m in (native, plain):
        assert all(map(np.array_equal, m.merge_cells(*first[:2], *second[:2]), (cells, sums)))
        assert all(map(np.array_equal, m.merge_cells(*first[:2], *first[:2]), (first[0], 2 * first[1])))
    assert np.array_equal(first[2] + second[2], totals)
    codes, weights = np.maximum(codes, 0), np.arange(1.0, len(bags) + 1)
    row = np.repeat(np.arange(len(bags)), np.diff(indptr))
    table = np.zeros((80, n_classes))
    table[::3] = 0.25  # all classes have these tokens
    np.add.at(table, (indices, codes[row]), amounts * weights[row])
    there = table > 0
    arguments = (
        np.concatenate([[0], np.cumsum(there.sum(axis=1))]),
        np.nonzero(there)[1].astype(np.int32),
        table[there],
        table.sum(axis=1),
        table.sum(axis=0) + 3,
        90.0,
        indptr,
        indices,
        amounts.astype(float),
        amounts + 0.5,
        codes,
        weights,
        k,
        complement,
    )
    both = [m.score_documents_leave_one_out(*arguments) for m in (native, plain)]
    np.testing.assert_allclose(*both, rtol=1e-9, atol=1e-9)
