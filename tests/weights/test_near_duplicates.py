"""Rows that are nearly equal: a fit never takes one for the other, and form letters are held out together."""

import string
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes import kernels
from tallybayes.arrays.axis import positions
from tallybayes.engines import combine, fitted, partial, plan_fit
from tallybayes.errors import DataWarning
from tallybayes.model.fit import learn_and_sample
from tallybayes.model.model import Model
from tallybayes.model.saved_model import dumps
from tallybayes.scoring.scorer import Scorer
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_hash import RowHashes
from tallybayes.state.row_sample import RowSample
from tallybayes.weights.held_out_evidence import held_out_evidence
from tallybayes.weights.weight_selection import select_weights

BODY = " ".join(f"word{i}" for i in range(200))


def letters(n):
    """Form letters that differ in a name, and others that differ in a number."""
    docs = [f"dear customer {BODY} greetings name{i}" for i in range(n)]
    return docs + [f"minutes of meeting {i}" for i in range(n)], ["spam"] * n + ["ham"] * n


def near(value, rng):
    """A value that differs from another as little as a value of its kind can."""
    if isinstance(value, str):
        words = value.split(" ")
        words[rng.integers(len(words))] = "".join(rng.choice(list(string.ascii_lowercase), 3))
        return " ".join(words)
    if isinstance(value, dict):
        key = list(value)[rng.integers(len(value))]
        return value | {key: float(np.nextafter(value[key], np.inf))}
    return float(np.nextafter(value, np.inf))


def tables(kind, n, seed):
    """Rows that repeat a few originals with a small change here and there, and a label that depends on the original."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 4, n)
    labels = np.where(rng.random(n) < 0.8, np.array(["a", "b"])[which % 2], "a").tolist()
    changed = rng.random(n) < 0.5
    if kind == "wide categories":
        originals = rng.choice(list("xyz"), (4, 60))
        cells = originals[which]
        cells[changed, rng.integers(0, 60, n)[changed]] = "w"
        return {f"c{i}": cells[:, i].tolist() for i in range(60)} | {"label": labels}, {}
    originals = {
        "text": [" ".join(rng.choice(list(string.ascii_lowercase), 40)) + f" {BODY}" for _ in range(4)],
        "multinomial": [{f"t{i}": float(rng.random()) for i in range(50)} for _ in range(4)],
        "histogram": rng.normal(size=4).tolist(),
        "gaussian": (1e15 + rng.normal(size=4)).tolist(),
    }[kind]
    values = [
        near(originals[i], rng) if is_changed else originals[i] for i, is_changed in zip(which, changed, strict=True)
    ]
    return {"value": values, "label": labels}, {"value": kind}


KINDS = ("text", "multinomial", "wide categories", "histogram", "gaussian")


@pytest.mark.parametrize("n", [40, 100])
def test_a_default_fit_does_not_fail_on_form_letters(n):
    docs, labels = letters(n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = tb.fit({"text": docs}, label=labels, families={"text": "text"})
    assert model.predict({"text": [docs[0], docs[-1]]}).tolist() == ["spam", "ham"]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_near_duplicates_are_subtracted_as_they_were_learned(kind, seed):
    """The held-out evidence of a row is that of a model that never learned the rows of its fold."""
    data, families = tables(kind, 120, seed)
    sample = RowSample()
    plan = tb.fit(data, label="label", families=families, column_weights=None)
    model = Model(ModelState(plan.schema, plan.settings))
    learn_and_sample(model, sample, data, label="label")
    rows = sample.rows()
    assert int(rows.counts.sum()) == 120
    state = model.snapshot().state
    found = held_out_evidence(state, rows)
    names, dealt, rows = list(found.names), found.rows, found.rows.rows
    for fold in range(found.rows.n_folds):
        own = dealt.fold == fold
        rest = Model(ModelState(plan.schema, plan.settings))
        others = np.repeat(dealt.row[~own], dealt.copies[~own])
        learned = rows.table.take(others)
        cells = {name: _cells(column) for name, column in learned.columns.items()}
        rest.learn(cells, label=[rows.labels[i] for i in others.tolist()])
        scorer = Scorer.of(rest.snapshot().state)
        columns = {name: column.take(np.flatnonzero(own)) for name, column in found.columns.items()}
        here = positions(list(scorer.classes), state.classes)
        for name, part in scorer.column_evidence(columns).items():
            expected = np.maximum(part - part.max(axis=1, keepdims=True), -100.0)
            np.testing.assert_allclose(found.evidence[names.index(name)][np.ix_(own, here)], expected, atol=1e-9)


def _cells(column):
    return (
        column.tolist() if hasattr(column, "tolist") else column.to_pylist() if hasattr(column, "to_pylist") else column
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), cut=st.integers(1, 119))
def test_near_duplicates_in_any_order_and_any_batches_give_the_same_model(kind, seed, cut):
    data, families = tables(kind, 120, seed)
    model = tb.fit(data, label="label", families=families)
    order = np.random.default_rng(seed).permutation(120)
    shuffled = {name: [values[i] for i in order] for name, values in data.items()}
    assert dumps(tb.fit(shuffled, label="label", schema=model.schema)) == dumps(
        tb.fit(data, label="label", schema=model.schema)
    )
    plan = plan_fit(data, label="label", families=families)
    parts = [{name: values[some] for name, values in data.items()} for some in (slice(cut), slice(cut, None))]
    whole = fitted(plan, combine(*(partial([part], plan.to_bytes()) for part in parts)))
    assert dumps(whole) == dumps(fitted(plan, partial([data], plan.to_bytes())))


def test_rows_with_equal_hashes_that_differ_are_not_taken_for_copies(monkeypatch):
    """With a hash of two bits nearly all rows collide: they are left out of the sample, whatever the batches."""
    original = RowHashes.__call__

    def short(self, start, stop):
        hashes, _ = original(self, start, stop)
        hashes = hashes % np.uint64(4)
        return hashes, hashes

    data, _ = tables("histogram", 100, 0)
    monkeypatch.setattr(RowHashes, "__call__", short)
    model = tb.fit(data, label="label", column_weights=None)
    for size in (1, 7, 100):
        sample, parts = RowSample(), Model(ModelState(model.schema, model.settings))
        for start in range(0, 100, size):
            part = {name: values[start : start + size] for name, values in data.items()}
            learn_and_sample(parts, sample, part, label="label")
        assert sample.kept_rows().counts.tolist() == [0, 0, 0, 0]
        assert len(sample.rows()) == 0
    assert tb.fit(data, label="label").column_weights == model.column_weights


def test_rows_that_a_model_does_not_have_leave_it_without_weights_and_a_warning():
    data, _ = tables("histogram", 100, 0)
    model, sample = tb.fit(data, label="label", column_weights=None), RowSample()
    other = Model(ModelState(model.schema, model.settings))
    learn_and_sample(other, sample, tables("histogram", 100, 1)[0], label="label")
    with pytest.warns(DataWarning, match="no column weights were fitted") as found:
        assert select_weights(model.snapshot().state, sample) is None
    assert found[0].filename == __file__


def test_near_copies_of_a_text_are_in_one_fold():
    docs, labels = letters(100)
    model, sample = tb.fit({"text": docs}, label=labels, families={"text": "text"}, column_weights=None), RowSample()
    other = Model(ModelState(model.schema, model.settings))
    learn_and_sample(other, sample, {"text": docs}, label=labels)
    divided = held_out_evidence(other.snapshot().state, sample.rows()).rows
    rows, dealt = divided.rows, divided
    signatures = rows.signatures[dealt.row]
    is_long = signatures != rows.hashes[dealt.row]
    assert all(len(set(dealt.fold[signatures == one].tolist())) == 1 for one in set(signatures[is_long].tolist()))
    spam = np.array([rows.labels[i] == "spam" for i in dealt.row])
    assert len(set(signatures[spam].tolist())) < 25  # of 100 letters, each with 202 words in common
    assert is_long.tolist() == spam.tolist()  # minutes are too short to be near copies of each other


@pytest.mark.skipif(kernels.IMPLEMENTATION != "native", reason="takes long with the reference kernels")
def test_a_letter_sent_thousands_of_times_does_not_fill_the_sample():
    rng = np.random.default_rng(0)
    docs = [f"dear customer {BODY} greetings name{i}" for i in range(4000)]
    docs += [" ".join(f"w{j}" for j in rng.integers(0, 2000, 12)) for _ in range(4000)]
    labels = ["spam"] * 4000 + rng.choice(["spam", "ham"], 4000).tolist()
    model = tb.fit({"text": docs}, label=labels, families={"text": "text:counts,k=1"}, column_weights=None)
    sample, other = RowSample(), Model(ModelState(model.schema, model.settings))
    learn_and_sample(other, sample, {"text": docs}, label=labels)
    rows = sample.rows()
    _, sizes = np.unique(rows.signatures, return_counts=True)
    assert sizes.max() <= 150
    assert rows.n_tokens.min() == rows.n_tokens[rows.n_tokens > 0].min()
    assert np.count_nonzero(rows.n_tokens < 30) > 1000
