"""The model file: what goes in comes out, also of files from the past."""

import datetime
import decimal
import json
import math
import uuid
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from models import (
    assert_same_answers,
    empty,
    learned,
    opened,
    probe_of,
    round_trip,
    small,
    without_empty_columns,
    written,
)
from tables import FAMILIES, LABEL, in_order, mixed_frame, pieces, rows
from tallybayes.errors import FileError
from tallybayes.families import FAMILIES as REGISTERED
from tallybayes.families import parse
from tallybayes.model.saved_model import dumps, load, loads
from tallybayes.state.model_state import ModelState
from tallybayes.state.settings import Settings
from tallybayes.storage.keys import key_text, text_key

GOLDEN = Path(__file__).parent / "golden"


# What goes in comes out

weight = st.one_of(st.integers(0, 3).map(float), st.floats(0, 10), st.sampled_from([1e-5, 0.1, 5e-324, 1 / 3, 1e17]))
smoothing = st.sampled_from(["auto", 0, 0.5, 1.0, math.inf, {"flag": 2, "real": 0, "kind": math.inf, "words": "auto"}])
choices = st.fixed_dictionaries(
    {},
    optional={
        "smoothing": smoothing,
        "numeric": st.sampled_from(["gaussian:kappa=1,nu=0.1", "poisson", "histogram"]),
        "prior": st.sampled_from(["uniform", "empirical", {"p": 0.25, "q": 0.5, "r": 0.25}]),
        "prior_smoothing": st.sampled_from([0, 1, 0.1, math.inf]),
        "estimate": st.sampled_from(["bayes", "mle"]),
        "unseen": st.sampled_from(["prior", "missing"]),
    },
)


@given(rows, choices, st.data())
@settings(max_examples=60)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::tallybayes.RuledOutWarning")
def test_a_model_comes_back_as_it_went_in(table, options, data):
    weights = data.draw(st.none() | st.lists(weight, min_size=len(table), max_size=len(table)))
    model = learned(table, weights, **options)
    again = round_trip(model)
    assert again == model
    assert_same_answers(without_empty_columns(model), again, probe_of(table))


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
            there_and_back.learn([table[i] for i in part], weight=[weights[i] for i in part])
            there_and_back.forget([table[i] for i in part], weight=[weights[i] for i in part])
    state = there_and_back.snapshot().state
    assert dumps(tb.Model(replace(state, skipped=merged.skipped))) == whole


@given(rows, rows)
@settings(max_examples=40)
def test_a_model_that_came_back_learns_and_forgets_as_before(a, b):
    model, again = learned(a), loads(dumps(learned(a)))
    if b:
        model.learn(b)
        again.learn(b)
    assert again == model
    assert dumps(again) == dumps(model)
    if b:
        again.forget(b)
    assert again == learned(a)


def test_single_rows_learned_the_quick_way_leave_no_trace():
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
def test_bags_of_every_variant_come_back(variant, smoothing):
    table = {"t": [{"a": 0.5, "b": 3}, {}, None, {"c": 1e-7}, {"a": 2}], "y": [1, 1, 2, 2, 2]}
    model = tb.fit(table, label="y", families={"t": f"multinomial:{variant}"}, smoothing=smoothing)
    again = round_trip(model)
    assert again == model
    assert np.array_equal(again.log_joint(table), model.log_joint(table))


LABELS = {
    "text": ["b", "a", "", "\ud800", "\U0001f600", "'\"\\\n\0"],
    "whole numbers": [3, -5, 0, 10**40, -(2**64), 2**63, 10**4000],
    "reals": [0.1, -0.0, 1e300, 5e-324, 2.0, math.inf],
    "yes/no": [True, False],
    "bytes": [b"", b"\xff\x00", b"a"],
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind_come_back_in_their_type(kind):
    labels = LABELS[kind]
    model = tb.fit(
        {"x": [float(i) for i in range(len(labels))]}, label=labels, prior=dict.fromkeys(labels, 1 / len(labels))
    )
    again = round_trip(model)
    assert again == model
    assert repr(again.classes) == repr(model.classes)
    assert repr(sorted(again.settings.prior)) == repr(sorted(model.settings.prior))
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
def test_categories_and_tokens_of_every_kind_come_back_in_their_type(kind):
    keys = CATEGORIES[kind]
    table = {"c": keys, "t": [[key] for key in keys], "y": [0] * len(keys)}
    model = tb.fit(table, label="y", families={"c": "categorical", "t": "multinomial"})
    again = round_trip(model)
    assert again == model
    stored = again.snapshot().state.statistics.blocks[parse("categorical")].keys("c")
    assert repr(stored) == repr(model.snapshot().state.statistics.blocks[parse("categorical")].keys("c"))
    assert_same_answers(model, again, {"c": keys, "t": table["t"]})


def test_tokens_of_several_kinds_come_back_in_their_type():
    tokens = ["a", 1, 0.5, False, None, b"x", ("a", ("b", 2)), (), datetime.date(2024, 1, 1), np.int32(7), np.str_("s")]
    table = [{"t": dict.fromkeys(tokens, 2.0), "y": "p"}, {"t": {"a": 1.0}, "y": "q"}]
    model = tb.fit(table, label="y")
    again = round_trip(model)
    assert again == model
    assert np.array_equal(model.log_joint(table), again.log_joint(table))
    keys = again.snapshot().state.statistics.blocks[parse("multinomial")].tokens["t"].in_order()[0]
    assert sorted(map(repr, keys)) == sorted(
        repr(getattr(token, "item", lambda token=token: token)()) for token in tokens
    )


class Colour(StrEnum):
    RED = "red"


def unfolded(time):
    return time.replace(fold=0)  # which of two equal times it is, when clocks are put back


@given(
    st.recursive(
        st.text()
        | st.text(st.characters(categories=["Cs"]))
        | st.integers()
        | st.floats(allow_nan=False)
        | st.booleans()
        | st.binary()
        | st.none()
        | st.dates()
        | st.datetimes().map(unfolded)
        | st.times().map(unfolded)
        | st.timedeltas()
        | st.uuids()
        | st.decimals(allow_nan=False)
        | st.integers(min_value=2**64).map(lambda n: n**50),
        lambda part: st.tuples(part, part),
        max_leaves=4,
    )
)
def test_a_key_has_one_text_and_comes_back_from_it(key):
    try:
        text = key_text(key)
    except ValueError:  # halves of a character side by side, which JSON takes for the whole
        assert isinstance(key, tuple)
        return
    again = text_key(text)
    assert again == key
    assert type(again) is type(key)
    assert repr(again) == repr(key)


@given(
    st.text() | st.tuples(st.sampled_from("tirbxn(dmcsfu"), st.text('0123456789abcdefx.p+-:T[]",ti _E')).map("".join)
)
def test_no_other_text_is_a_key(text):
    try:
        key = text_key(text)
    except ValueError:
        return
    assert key_text(key) == text


def test_a_whole_number_may_have_more_digits_than_python_likes_to_print():
    assert text_key(key_text(-(10**5000))) == -(10**5000)


def test_enumerations_and_numpy_scalars_come_back_as_the_plain_values_they_equal():
    for key, text in ((Colour.RED, "tred"), (np.float32(0.5), "r0x1.0000000000000p-1"), (np.bool_(True), "b1")):
        assert key_text(key) == text
        assert text_key(text) == key


@pytest.mark.parametrize(
    "key",
    [object(), float("nan"), decimal.Decimal("NaN"), 1j, frozenset("a"), (1, float("nan")), np.datetime64(1, "s")],
)
def test_keys_that_a_file_cannot_hold_are_refused_when_saving(key, tmp_path):
    model = tb.fit([{"t": {key: 1.0}, "y": "p"}], label="y")
    path = tmp_path / "m.tally"
    with pytest.raises(FileError, match=r"m\.tally: the model cannot be saved: a key") as raised:
        model.save(path)
    assert raised.value.file == str(path)
    assert list(tmp_path.iterdir()) == []


def test_keys_that_cannot_be_sorted_are_refused_when_saving():
    model = tb.fit([{"t": {(1, "a"): 1.0, (1, 2): 1.0}, "y": "p"}], label="y")
    with pytest.raises(FileError, match="cannot be sorted"):
        dumps(model)


@pytest.mark.parametrize("name", ["", "\ud800", "a\0b", "__metadata__", "block0.x", "é" * 200, '"}'])
def test_any_name_of_a_column_comes_back(name):
    model = tb.fit({name: [1.0, 2.5], name + "'": ["a", "b"], name + "y": [0, 1]}, label=name + "y")
    again = round_trip(model)
    assert again == model
    assert list(again.schema.fields) == [name, name + "'"]


def test_a_name_that_json_cannot_hold_is_refused_when_saving():
    with pytest.raises(FileError, match="halves of a character"):
        dumps(tb.fit({"\ud83d\ude00": [1.0], "y": [1]}, label="y"))


@pytest.mark.parametrize(
    "model",
    [
        tb.fit([], label="y"),
        empty(),
        tb.fit({"x": [None, None], "y": ["a", None]}, label="y"),
        tb.fit({"y": [1, 2, 2]}, label="y"),
        tb.fit(np.eye(3), label=[1.5, 2.5, 2.5], weight=[0.1, 0.2, 1e-300]),
        tb.fit({"x": ["a"], "w": [2.5], "y": [True]}, label="y", weight="w", smoothing={"x": 10**18}),
        small(smoothing={"flag": 1, "kind": math.inf}, prior_smoothing=np.float32(0.5)),
    ],
    ids=["nothing", "no rows", "no values", "no columns", "a matrix", "a weight", "strengths"],
)
def test_the_smallest_and_the_strangest_models_come_back(model):
    again = round_trip(model)
    assert again == model
    assert_same_answers(without_empty_columns(model), again, {"x": ["a"]} if "x" in model.schema.fields else [{}])


def test_settings_that_are_equal_give_equal_bytes():
    def with_settings(**options):
        return dumps(tb.Model(ModelState(empty().schema, Settings(**options))))

    prior = {"a": 0.5, "b": 0.5}
    assert with_settings(smoothing=1) == with_settings(smoothing=np.float64(1.0))
    assert with_settings(prior=prior) == with_settings(prior=dict(reversed(prior.items())))
    assert with_settings(smoothing={"kind": 1, "flag": -0.0}) == with_settings(smoothing={"flag": 0, "kind": 1.0})
    assert with_settings(numeric=tb.Gaussian(1)) == with_settings(numeric="gaussian:kappa=1.0")


def test_models_that_are_written_down_come_back():
    model = written()
    again = round_trip(model)
    probe = {"test": ["+", "-", "?", "+"], "fever": [True, False, None, True]}
    assert np.array_equal(again.log_joint(probe), model.log_joint(probe))
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
def test_a_family_comes_back_from_its_string_form(family):
    assert parse(str(family)) == family


@dataclass(frozen=True)
class Coarse(tb.Histogram):
    steps: int = 8
    even: bool = False

    name: ClassVar[str] = "coarse"


def test_a_family_of_ones_own_must_be_registered():
    tb.register_family(Coarse)
    try:
        assert parse("coarse:steps=3,even=True") == Coarse(3, True)
        with pytest.raises(tb.errors.ParameterError, match="yes or no for option even"):
            parse("coarse:even=perhaps")
        with pytest.raises(tb.errors.ParameterError, match="a whole number for option steps"):
            parse("coarse:2.5")
        model = tb.fit({"x": [0.5, 1.5], "y": ["a", "b"]}, label="y", families=Coarse(3))
        data = dumps(model)
        assert loads(data) == model
    finally:
        del REGISTERED["coarse"]
    with pytest.raises(FileError, match="not registered"):
        dumps(model)
    with pytest.raises(FileError, match="not known here, 'coarse'") as raised:
        loads(data)
    assert "tallybayes.register_family" in raised.value.hint


# The past: files of format 1 load for ever


def golden_model():
    """A model of every family and kind of key, with weights and settings of every kind."""
    rng = np.random.default_rng(1)
    table = mixed_frame(60) | {
        "weight": rng.random(60).round(3),
        "whole": [[3, -5, 10**30][i % 3] for i in range(60)],
        "fraction": [[0.5, 1.25, None][i % 3] for i in range(60)],
        "yes": [i % 4 == 0 for i in range(60)],
        "raw": [[b"\xff", b"a"][i % 2] for i in range(60)],
        "day": [datetime.date(2024, 2, 28 + i % 2) for i in range(60)],
        "price": [decimal.Decimal(i % 3) / 10 for i in range(60)],
        "tokens": [[("a", i % 2), "b\ud800", 5][: i % 4] for i in range(60)],
        "left out": ["x"] * 60,
    }
    names = ("whole", "fraction", "yes", "raw", "day", "price")
    families = {**FAMILIES, **dict.fromkeys(names, "categorical"), "tokens": "multinomial:complement"}
    families |= {"kind": "categorical:missing", "genre": "tags:;", "real": "gaussian:kappa=1,nu=2"}
    return tb.fit(
        table,
        label=LABEL,
        weight="weight",
        families=families,
        ignore=["left out"],
        smoothing={"flag": 1, "kind": math.inf, "whole": 0.5},
        prior_smoothing=0.25,
    )


GOLDEN_MODELS = {"format1": golden_model, "format1-written": written}
GOLDEN_ROWS = {  # every column on its own, known and unknown values of each
    "format1": [
        {},
        {"flag": True},
        {"flag": False},
        {"kind": "red"},
        {"kind": "pink"},
        {"real": 0.5},
        {"real": -1e9},
        {"level": 0.25},
        {"level": 7.5},
        {"events": 0},
        {"events": 9},
        {"genre": ["a", "d"]},
        {"genre": "b;c"},
        {"words": {"a": 2, "b": 0.5}},
        {"topics": ["a", "c"]},
        {"topics": []},
        {"whole": -5},
        {"whole": 10**30},
        {"whole": 7},
        {"fraction": 1.25},
        {"yes": True},
        {"raw": b"\xff"},
        {"day": datetime.date(2024, 2, 29)},
        {"price": decimal.Decimal("0.2")},
        {"tokens": [("a", 1), "b\ud800"]},
        {"tokens": [5, "new"]},
    ],
    "format1-written": [{"test": "+"}, {"test": "?"}, {"fever": True}, {"test": "-", "fever": False}, {}],
}


def make_golden():
    """Write the golden files of the present format. Run once for every format, by hand, and never again."""
    for name, make in GOLDEN_MODELS.items():
        answers = {"classes": make().classes, "log_joint": make().log_joint(GOLDEN_ROWS[name]).tolist()}
        (GOLDEN / f"{name}.json").write_text(json.dumps(answers, indent=1) + "\n")
        make().save(GOLDEN / f"{name}.tally")


@pytest.mark.parametrize("name", GOLDEN_ROWS)
def test_files_from_the_past_load_and_answer_as_they_did(name):
    model, rows = load(GOLDEN / f"{name}.tally"), GOLDEN_ROWS[name]
    answers = json.loads((GOLDEN / f"{name}.json").read_text())
    assert model.classes == answers["classes"]
    assert np.allclose(model.log_joint(rows), answers["log_joint"], rtol=1e-9, atol=1e-12)
    then, arrays_then = opened((GOLDEN / f"{name}.tally").read_bytes())
    now, arrays_now = opened(dumps(model))
    if then["format"] == now["format"]:
        assert {k: then.get(k) for k in ("settings", "total")} == {k: now.get(k) for k in ("settings", "total")}
        assert {k: v.tobytes() for k, v in arrays_then.items()} == {k: v.tobytes() for k, v in arrays_now.items()}
