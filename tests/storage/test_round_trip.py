"""Every model is restored from its file, with its types, and equal models have equal files."""

import datetime
import decimal
import math
import uuid
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from models import assert_same_answers, empty, learned, probe_of, round_trip, small, without_empty_columns, written
from tables import LABEL, in_order, pieces, rows
from tallybayes.errors import FileError
from tallybayes.families import FAMILIES as REGISTERED
from tallybayes.families import parse
from tallybayes.model.saved_model import dumps, loads
from tallybayes.state.model_state import ModelState
from tallybayes.state.settings import Settings

weight = st.one_of(st.integers(0, 3).map(float), st.floats(0, 10), st.sampled_from([1e-5, 0.1, 5e-324, 1 / 3, 1e17]))
smoothing = st.sampled_from(["auto", 0, 0.5, 1.0, math.inf, {"flag": 2, "real": 0, "kind": math.inf, "words": "auto"}])
choices = st.fixed_dictionaries(
    {},
    optional={
        "smoothing": smoothing,
        "numeric": st.sampled_from(["gaussian:kappa=1,nu=0.1", "poisson", "histogram"]),
        "class_prior": st.sampled_from(["uniform", "empirical", {"p": 0.25, "q": 0.5, "r": 0.25}]),
        "class_smoothing": st.sampled_from([0, 1, 0.1, math.inf]),
        "estimate": st.sampled_from(["bayes", "mle"]),
        "unseen": st.sampled_from(["prior", "missing"]),
    },
)


@pytest.mark.slow
@given(rows, choices, st.data())
@settings(max_examples=60)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::tallybayes.RuledOutWarning")
def test_a_loaded_model_is_equal_to_the_saved_one(table, options, data):
    weights = data.draw(st.none() | st.lists(weight, min_size=len(table), max_size=len(table)))
    model = learned(table, weights, **options)
    again = round_trip(model)
    assert again == model
    assert_same_answers(without_empty_columns(model), again, probe_of(table))


@pytest.mark.slow
@given(rows, st.data())
@settings(max_examples=40)
def test_equal_sums_give_equal_bytes(table, data):
    weights = data.draw(st.lists(st.sampled_from([0.1, 1.0, 2.5, 1e-9]), min_size=len(table), max_size=len(table)))
    whole = dumps(learned(table, weights))
    order = in_order(data, len(table))
    parts = [[order[i] for i in piece] for piece in pieces(data, list(range(len(table))))]
    models = [learned([table[i] for i in part], [weights[i] for i in part]) for part in parts]
    merged = empty()
    for model in models:
        merged = model.merge(merged)
    assert dumps(merged) == whole
    there_and_back = learned(table, weights)
    for part in parts[:2]:
        if part:
            there_and_back.learn([table[i] for i in part], sample_weight=[weights[i] for i in part])
            there_and_back.forget([table[i] for i in part], sample_weight=[weights[i] for i in part])
    state = there_and_back.snapshot().state
    assert dumps(tb.Model(replace(state, skipped=merged.skipped))) == whole


@given(rows, rows)
@settings(max_examples=40)
def test_a_loaded_model_learns_and_forgets_like_the_saved_one(a, b):
    model, again = learned(a), loads(dumps(learned(a)))
    if b:
        model.learn(b)
        again.learn(b)
    assert again == model
    assert dumps(again) == dumps(model)
    if b:
        again.forget(b)
    assert again == learned(a)


def test_rows_learned_by_the_fast_path_give_the_same_file():
    table = [{"a": 1.5, "b": -2.0, LABEL: 0}, {"a": 0.1, "b": 1e10, LABEL: 1}, {"a": 3.0, LABEL: 1}]
    whole = tb.fit(table * 2, label=LABEL, numeric="gaussian")
    for model in (tb.fit(table, label=LABEL, numeric="gaussian"),) * 2:
        again = round_trip(model)
        for one in table:
            again.learn(one)
        assert dumps(again) == dumps(whole)
        assert np.array_equal(again.predict_proba({"a": 1.0}), whole.predict_proba([{"a": 1.0}]))


@pytest.mark.parametrize("variant", ["counts", "complement", "presence"])
@pytest.mark.parametrize("smoothing", ["auto", 0, 1.0])
def test_bags_of_every_variant_are_restored(variant, smoothing):
    table = {"t": [{"a": 0.5, "b": 3}, {}, None, {"c": 1e-7}, {"a": 2}], "y": [1, 1, 2, 2, 2]}
    model = tb.fit(table, label="y", families={"t": f"multinomial:{variant}"}, smoothing=smoothing)
    again = round_trip(model)
    assert again == model
    assert np.array_equal(again.log_score(table), model.log_score(table))


LABELS = {
    "text": ["b", "a", "", "\ud800", "\U0001f600", "'\"\\\n\0"],
    "integers": [3, -5, 0, 10**40, -(2**64), 2**63, 10**4000],
    "reals": [0.1, -0.0, 1e300, 5e-324, 2.0, math.inf],
    "booleans": [True, False],
    "bytes": [b"", b"\xff\x00", b"a"],
}


@pytest.mark.filterwarnings("ignore:labels that usually mean a missing value")
@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind_are_restored_with_their_type(kind):
    labels = LABELS[kind]
    model = tb.fit(
        {"x": [float(i) for i in range(len(labels))]}, label=labels, class_prior=dict.fromkeys(labels, 1 / len(labels))
    )
    again = round_trip(model)
    assert again == model
    assert repr(again.classes) == repr(model.classes)
    assert repr(sorted(again.settings.class_prior)) == repr(sorted(model.settings.class_prior))
    assert_same_answers(model, again, {"x": [1.0, None, 0.0]})


CATEGORIES = LABELS | {
    "dates": [datetime.date(2024, 2, 29), datetime.date.min],
    "times": [datetime.datetime(2024, 2, 29, 1, 2, 3, 4), datetime.datetime.max],
    "times with zones": [datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=-3.5)))],
    "times of day": [datetime.time(1, 2, 3, 4), datetime.time()],
    "spans": [datetime.timedelta(1, 2, 3), datetime.timedelta.max, datetime.timedelta(microseconds=-1)],
    "decimals": [decimal.Decimal("0.10"), decimal.Decimal("-1E+99999"), decimal.Decimal("Infinity")],
    "identifiers": [uuid.UUID(int=5)],
}


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_and_tokens_of_every_kind_are_restored_with_their_type(kind):
    keys = CATEGORIES[kind]
    table = {"c": keys, "t": [[key] for key in keys], "y": [0] * len(keys)}
    model = tb.fit(table, label="y", families={"c": "categorical", "t": "multinomial"})
    again = round_trip(model)
    assert again == model
    stored = again.snapshot().state.statistics.blocks[parse("categorical")].keys("c")
    assert repr(stored) == repr(model.snapshot().state.statistics.blocks[parse("categorical")].keys("c"))
    assert_same_answers(model, again, {"c": keys, "t": table["t"]})


def test_tokens_of_several_kinds_are_restored_with_their_type():
    tokens = ["a", 1, 0.5, False, b"x", ("a", ("b", 2)), (), datetime.date(2024, 1, 1), np.int32(7), np.str_("s")]
    table = [{"t": dict.fromkeys(tokens, 2.0), "y": "p"}, {"t": {"a": 1.0}, "y": "q"}]
    model = tb.fit(table, label="y")
    again = round_trip(model)
    assert again == model
    assert np.array_equal(model.log_score(table), again.log_score(table))
    keys = again.snapshot().state.statistics.blocks[parse("multinomial")].tokens["t"].in_order()[0]
    assert sorted(map(repr, keys)) == sorted(
        repr(getattr(token, "item", lambda token=token: token)()) for token in tokens
    )


@pytest.mark.parametrize("name", ["", "\ud800", "a\0b", "__metadata__", "block0.x", "é" * 200, '"}'])
def test_any_name_of_a_column_is_restored(name):
    model = tb.fit({name: [1.0, 2.5], name + "'": ["a", "b"], name + "y": [0, 1]}, label=name + "y")
    again = round_trip(model)
    assert again == model
    assert list(again.schema.columns) == [name, name + "'"]


def test_a_name_that_json_cannot_hold_is_refused_when_saving():
    with pytest.raises(FileError, match="halves of a surrogate pair"):
        dumps(tb.fit({"\ud83d\ude00": [1.0], "y": [1]}, label="y"))


@pytest.mark.parametrize(
    "model",
    [
        tb.fit([], label="y"),
        empty(),
        tb.fit({"x": [None, None], "y": ["a", "a"]}, label="y"),
        tb.fit({"y": [1, 2, 2]}, label="y"),
        tb.fit(np.eye(3), label=[1.5, 2.5, 2.5], sample_weight=[0.1, 0.2, 1e-300]),
        tb.fit({"x": ["a"], "w": [2.5], "y": [True]}, label="y", sample_weight="w", smoothing={"x": 10**18}),
        small(smoothing={"flag": 1, "kind": math.inf}, class_smoothing=np.float32(0.5)),
    ],
    ids=["nothing", "no rows", "no values", "no columns", "a matrix", "a weight", "strengths"],
)
def test_small_and_unusual_models_are_restored(model):
    again = round_trip(model)
    assert again == model
    assert_same_answers(without_empty_columns(model), again, {"x": ["a"]} if "x" in model.schema.columns else [{}])


def test_settings_that_are_equal_give_equal_bytes():
    def with_settings(**options):
        return dumps(tb.Model(ModelState(empty().schema, Settings(**options))))

    prior = {"a": 0.5, "b": 0.5}
    assert with_settings(smoothing=1) == with_settings(smoothing=np.float64(1.0))
    assert with_settings(class_prior=prior) == with_settings(class_prior=dict(reversed(prior.items())))
    assert with_settings(smoothing={"kind": 1, "flag": -0.0}) == with_settings(smoothing={"flag": 0, "kind": 1.0})
    assert with_settings(numeric=tb.Gaussian(1)) == with_settings(numeric="gaussian:kappa=1.0")


def test_models_from_given_probabilities_are_restored():
    model = written()
    again = round_trip(model)
    probe = {"test": ["+", "-", "?", "+"], "fever": [True, False, None, True]}
    assert np.array_equal(again.log_score(probe), model.log_score(probe))
    assert repr(again.describe()) == repr(model.describe())
    assert again.sample(20, seed=1) == model.sample(20, seed=1)
    assert again.classes == [1, 2]
    bare = tb.from_probabilities({"a": 1.0, "b": 0.0}, {})
    assert np.array_equal(round_trip(bare).predict_proba([{}]), [[1.0, 0.0]])


@pytest.mark.parametrize(
    "family",
    [
        *(cls() for cls in REGISTERED.values()),
        tb.Tags(","),
        tb.Tags(",separator="),
        tb.Tags("="),
        tb.Tags(":"),
        tb.Tags("separator=;"),
        tb.Tags("\n"),
        tb.Gaussian(1, 1e-300),
        tb.Gaussian(nu=np.float32(0.1)),
        tb.Multinomial("presence"),
        tb.Categorical("missing"),
    ],
    ids=repr,
)
def test_a_family_is_restored_from_its_string_form(family):
    assert parse(str(family)) == family


@dataclass(frozen=True)
class Coarse(tb.Histogram):
    steps: int = 8
    even: bool = False

    name: ClassVar[str] = "coarse"


def test_a_user_defined_family_must_be_registered():
    tb.register_family(Coarse)
    try:
        assert parse("coarse:steps=3,even=True") == Coarse(3, True)
        with pytest.raises(tb.errors.ParameterError, match="true or false for option even"):
            parse("coarse:even=perhaps")
        with pytest.raises(tb.errors.ParameterError, match="an integer for option steps"):
            parse("coarse:2.5")
        model = tb.fit({"x": [0.5, 1.5], "y": ["a", "b"]}, label="y", families=Coarse(3))
        data = dumps(model)
        assert loads(data) == model
    finally:
        del REGISTERED["coarse"]
    with pytest.raises(FileError, match="not registered"):
        dumps(model)
    with pytest.raises(FileError, match="unknown family 'coarse'") as raised:
        loads(data)
    assert "tallybayes.register_family" in raised.value.hint
