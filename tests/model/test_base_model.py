"""A model on the sums of another one: what it learns, forgets, merges and keeps; the base stays as it is."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import tallybayes as tb
from command_line import fine
from models import assert_same_answers, learned, round_trip
from tables import LABEL, rows
from tallybayes import engines
from tallybayes.errors import DataError, FileError, ForgetError, ParameterError, UnsupportedError
from tallybayes.model.model_summary import given_facts
from tallybayes.model.saved_model import dumps, loads

pytestmark = pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")  # rows without a label
STRENGTHS = st.sampled_from([0.1, 1 / 3, 0.5, 1.0, 7.0, 1e-12])


def on_base(data, base, strength=0.1, **options):
    table = data or {LABEL: []}
    return tb.fit(table, label=LABEL, base_model=base, base_strength=strength, **{"column_weights": None} | options)


@settings(max_examples=30)
@given(rows, STRENGTHS)
def test_scaled_sums_are_those_of_weighted_rows(table, strength):
    plain, weighted = learned(table), learned(table, weights=[strength] * len(table))
    assert plain.snapshot().state.statistics.times(strength).same(weighted.snapshot().state.statistics)


@settings(max_examples=30)
@given(rows, rows, STRENGTHS)
def test_a_base_is_rows_with_a_weight(common, own, strength):
    """The sums are those of the rows of the base with that weight, and its own; all of its own can be forgotten."""
    base = learned(common)
    model = on_base(own, base, strength)
    both = learned(common, weights=[strength] * len(common))
    if own:
        both.learn(own)
    assert model.snapshot().state.statistics.same(both.snapshot().state.statistics)
    assert model.class_counts == learned(own).class_counts
    if own:
        model.forget(own)
        assert model.same_counts(on_base([], base, strength))
    if any(row.get(LABEL) is not None for row in own):
        with pytest.raises(ForgetError):
            model.forget(own)


@settings(max_examples=30)
@given(rows, rows, rows, STRENGTHS)
def test_merging_counts_the_base_once(common, a, b, strength):
    base = learned(common)
    parts = [on_base(part, base, strength) for part in (a, b)]
    whole = on_base([*a, *b], base, strength)
    assert parts[0].merge(parts[1]).same_counts(whole)
    assert parts[0].merge(parts[1]).class_counts == whole.class_counts


@settings(max_examples=30)
@given(rows, rows, STRENGTHS)
def test_files_keep_the_base(common, own, strength):
    base = learned(common)
    model = on_base(own, base, strength)
    again = loads(dumps(model))
    assert again == model
    assert dumps(again) == dumps(model)
    if own:
        again.forget(own)
        assert again.same_counts(on_base([], base, strength))


def mails(n, seed, words=("cash", "lunch", "now", "meet", "project")):
    rng = np.random.default_rng(seed)
    kind = rng.choice(["ham", "spam"], n)
    text = [" ".join(rng.choice(words, 6, p=[0.4, 0.1, 0.3, 0.1, 0.1] if k == "spam" else [0.1, 0.3, 0.1, 0.3, 0.2]))
            for k in kind]  # fmt: skip
    return {"text": text, "length": rng.normal(np.where(kind == "spam", 40, 60), 15), "kind": kind}


def test_a_personal_filter_on_a_common_one():
    common = tb.fit(mails(3000, 0), label="kind", families={"text": "text"})
    own, new = mails(30, 1), mails(2000, 2)
    alone = tb.fit(own, label="kind", families={"text": "text"})
    personal = tb.fit(own, label="kind", base_model=common, base_strength=0.1)
    assert personal.schema.families == common.schema.families
    losses = [tb.evaluate(model, new).log_loss for model in (alone, common, personal)]
    assert losses[2] < losses[0]
    assert losses[2] < losses[1] + 0.02
    assert personal.column_weights.fitted_on == common.column_weights.fitted_on  # more rows than its own 30
    assert "rows of the base" in str(personal.describe())
    assert sum(personal.class_counts.values()) == 30
    assert not personal.stale
    empty = tb.fit({"kind": []}, label="kind", base_model=common)
    assert empty.classes == ["ham", "spam"]
    assert np.allclose(empty.predict_proba(new), common.predict_proba(new), atol=0.02)
    assert not empty.class_counts
    assert_same_answers(round_trip(personal), personal, new)
    assert np.isfinite(personal.leave_one_out(own)).all()
    assert all(np.isfinite(value) for value in personal.log_evidence().values())
    assert tb.evaluate(personal, own).log_loss < 1
    only_spam = tb.fit({name: values[:1] for name, values in mails(1, 3).items()}, label="kind", base_model=common)
    assert only_spam.classes == ["ham", "spam"]
    assert only_spam.intervals().classes[0]["low"] > 0


def test_leave_one_out_treats_the_base_as_a_prior():
    base = tb.fit(mails(50, 0), label="kind", families={"text": "text:variant=counts,k=1", "length": "gaussian"})
    own = mails(12, 1)
    model = tb.fit(own, label="kind", base_model=base, base_strength=0.3, column_weights=None, smoothing=1)
    without = model.leave_one_out(own)
    for row in range(12):
        rest = model.copy()
        rest.forget({name: values[row : row + 1] for name, values in own.items()})
        probe = {name: values[row : row + 1] for name, values in own.items() if name != "kind"}
        assert np.allclose(without[row], np.log(rest.predict_proba(probe)[0]), rtol=1e-7, atol=1e-9)


def test_evidence_is_that_of_the_own_rows_given_the_base():
    base = tb.fit({"x": [True, True, False], "kind": ["a"] * 3}, label="kind", smoothing=1)
    model = tb.fit({"kind": ["a"]}, label="kind", base_model=base, base_strength=2.0)
    total = 0.0
    for value in (True, False, True, True):
        total += model.log_likelihood({"x": [value]})[0, 0]
        model.learn([{"x": value, "kind": "a"}])
    assert model.log_evidence()["x"] == pytest.approx(total)


def test_bad_bases_are_errors():
    base = tb.fit(mails(50, 0), label="kind", families={"text": "text"})
    own = mails(20, 1)
    given_model = tb.from_probabilities({"a": 0.5, "b": 0.5}, {"x": {"a": 0.5, "b": 0.1}})
    limited = tb.fit(mails(50, 0), label="kind", families={"text": "text:max_tokens=2,variant=presence"})
    for options, error, text in (
        ({"base_model": 3}, ParameterError, "base_model to be a model, the path of one, or None, got 3"),
        ({"base_model": base, "base_strength": 0}, ParameterError, "base_strength to be a number from"),
        ({"base_model": base, "base_strength": -1}, ParameterError, "base_strength to be a number from"),
        ({"base_strength": 0.5}, ParameterError, "base_strength with a base_model"),
        ({"base_model": base, "base_strength": 1e18}, ParameterError, "counts stay within 64 bits"),
        ({"base_model": base, "class_prior": {"ham": 1.0}}, ParameterError, "none for 'spam'"),
        (
            {"base_model": tb.fit({"kind": ["a b"] * 9, "sort": ["a"] * 9}, label="sort", families={"kind": "text"})},
            ParameterError,
            "with the label 'kind'",
        ),
        (
            {"base_model": tb.fit({"z": ["u", "v"] * 9, "kind": ["ham"] * 18}, label="kind")},
            ParameterError,
            "shares columns",
        ),
        ({"base_model": limited}, UnsupportedError, "vocabularies have no limit"),
        ({"base_model": given_model}, UnsupportedError, "needs a model that was learned"),
        ({"base_model": "nowhere.tally"}, FileError, "nowhere.tally"),
        ({"base_model": base, "families": {"length": "gaussian"}}, DataError, "column 'length'"),
    ):
        with pytest.raises(error, match=text):
            tb.fit(own, label="kind", **options)
    personal = tb.fit(own, label="kind", base_model=base, base_strength=0.5)
    before = personal.copy()
    for other in (
        tb.fit(own, label="kind", schema=base.schema),
        tb.fit(own, label="kind", base_model=base, base_strength=0.25),
        tb.fit(own, label="kind", base_model=tb.fit(mails(50, 5), label="kind", schema=base.schema), base_strength=0.5),
    ):
        with pytest.raises(DataError, match="the same base"):
            personal.merge(other)
    with pytest.raises(ForgetError):
        personal.forget({name: values[:1] for name, values in mails(50, 0).items()})
    assert personal == before


def test_the_command(tmp_path):
    for name, seed, n in (("common", 0, 300), ("own", 1, 30)):
        data = mails(n, seed)
        lines = ["text,kind", *(f"{text},{kind}" for text, kind in zip(data["text"], data["kind"], strict=True))]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    fine("fit", "common.csv", "--label", "kind", "--as", "text=text", cwd=tmp_path)
    fine("fit", "own.csv", "--base-model", "common.tally", "--base-strength", "0.1", cwd=tmp_path)
    model = tb.load(tmp_path / "own.tally")
    assert sum(model.class_counts.values()) == 30
    assert "rows of the base" in fine("inspect", "own.tally", cwd=tmp_path)


def test_evaluations_engines_and_estimators_take_a_base():
    base, own = tb.fit(mails(300, 0), label="kind", families={"text": "text"}), mails(80, 1)
    options = {"label": "kind", "base_model": base, "base_strength": 0.2}
    whole = tb.fit(own, **options)
    assert tb.cross_validate(own, **options).log_loss < tb.cross_validate(own, label="kind").log_loss
    assert tb.prequential(own, **options).log_loss < tb.prequential(own, label="kind").log_loss
    plan = engines.plan_fit(own, **options)
    assert engines.fitted(plan, engines.partial(own, plan.to_bytes())) == whole
    X, y = pd.DataFrame({name: own[name] for name in ("text", "length")}), own["kind"]
    estimator = clone(tb.NaiveBayesClassifier(base_model=base, base_strength=0.2)).fit(X, y)
    assert np.allclose(estimator.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(ParameterError, match="tune without a base_model"):
        tb.tune(own, **options)


def test_columns_of_the_base_that_are_not_used_are_no_part_of_it():
    base, own = tb.fit(mails(60, 0), label="kind", families={"text": "text", "length": "gaussian"}), mails(20, 1)
    for options in ({"ignore": ["length"]}, {"only": ["text"]}):
        model = tb.fit(own, label="kind", base_model=base, column_weights=None, **options)
        assert set(model.schema.families) == {"text"}
        assert_same_answers(round_trip(model), model, {"text": own["text"]})
        model.forget(own)


def test_interactions_of_a_base_are_part_of_its_sums():
    rows = {"a": ["r", "r", "s", "s"] * 50, "b": ["u", "v"] * 100, "y": ["p", "q", "q", "p"] * 50}
    tuned = tb.tune(rows, label="y", what="interactions").model
    own = {name: values[:12] for name, values in rows.items()}
    model = tb.fit(own, label="y", base_model=tuned, base_strength=0.1)
    assert model.schema.derived
    plain = model.plain()
    assert np.isfinite(list(model.log_evidence().values())).all()
    assert loads(dumps(plain)) == plain
    plain.forget(own)
    assert not plain.class_counts


def test_labels_and_keys_are_read_as_those_of_the_base():
    base = tb.fit({"x": [1, 2] * 30, "y": [True, False] * 30}, label="y", families={"x": "categorical"})
    own = {"x": ["1", "2"] * 20, "y": ["yes", "no"] * 20}
    plan = engines.plan_fit(own, label="y", base_model=base)
    in_pieces = engines.fitted(plan, engines.partial(own, plan.to_bytes()))
    whole = tb.fit(own, label="y", base_model=base)
    assert in_pieces == whole
    assert whole.classes == [False, True]
    assert whole.snapshot().state.statistics.any_key(whole.schema.families["x"], "x") in (1, 2)


def test_an_estimator_has_the_classes_of_its_base():
    base = tb.fit({"g": ["A", "A", "B", "Z", "Z"] * 5, "y": ["a", "a", "b", "z", "z"] * 5}, label="y")
    X, y = pd.DataFrame({"g": ["A"] * 10 + ["B"] * 10}), ["a"] * 10 + ["b"] * 10
    for learn in ("fit", "partial_fit"):
        estimator = getattr(tb.NaiveBayesClassifier(base_model=base, column_weights=None), learn)(X, y)
        assert estimator.classes_.tolist() == ["a", "b", "z"]
        probe = pd.DataFrame({"g": ["B", "Z"]})
        assert np.allclose(estimator.predict_proba(probe), estimator.model_.predict_proba(probe))
        assert estimator.predict(probe).tolist() == ["b", "z"]


def test_what_was_given_as_facts():
    """As `GET /v1/models/NAME` has them."""
    rows = {"grade": list("abca") * 5, "y": list("pq") * 10}
    base = tb.fit(rows, "y")
    model = tb.fit(rows, "y", base_model=base, base_strength=0.1, column_priors={"grade": {"a": {"p": 2}}})
    facts = given_facts(model.snapshot().state)
    assert facts["base"] == {"rows": 20.0, "strength": 0.1}
    assert facts["priors"] == {"grade": "pseudo-counts a: {p: 2}"}
    assert [row["rows of the base"] for row in model.describe().to_dict()["classes"]] == [1.0, 1.0]
    assert given_facts(base.snapshot().state) == {"class_prior": None, "priors": {}, "base": None, "unlabelled": None}
