"""When two models are equal: the same sums, read and used in the same way."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from models import written
from tables import FAMILIES, LABEL, mixed_frame, rows
from tallybayes.columns.column_spec import Origin, Status
from tallybayes.errors import ParameterError
from tallybayes.model.saved_model import dumps, loads

TABLE = mixed_frame(60)
column_weights = st.builds(
    tb.ColumnWeights,
    st.dictionaries(st.sampled_from(sorted(FAMILIES)), st.floats(0, 3)),
    model_rows=st.floats(-1, 100),
    fitted_on=st.floats(0, 100),
)
calibration = st.builds(tb.Calibration, st.just("temperature"), st.floats(0.1, 10), model_rows=st.floats(0, 100))
decision = st.builds(tb.Decision, abstain=st.floats(0, 1), model_rows=st.floats(0, 100))
fitted = st.fixed_dictionaries(
    {},
    optional={"column_weights": column_weights, "calibration": calibration, "decision": decision}
    | {"smoothing": st.sampled_from(["auto", 0.5, 2.0]), "class_weight": st.just("balanced")},
)


def changed_column(model, name, **changes):
    state = model.snapshot().state
    schema = state.schema.copy()
    schema.columns[name] = replace(schema.columns[name], **changes)
    return tb.Model(replace(state, schema=schema))


@settings(deadline=None)
@given(rows, fitted)
def test_loaded_copied_and_pickled_models_are_equal(table, chosen):
    model = tb.fit({name: [] for name in FAMILIES} | {LABEL: []}, label=LABEL, families=FAMILIES)
    if table:
        model.learn(table)
    model = model.with_settings(**chosen)
    for again in (loads(dumps(model)), model.copy(), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again == model
        assert again.same_counts(model)


@settings(deadline=None)
@given(rows, rows)
def test_merging_keeps_the_left_settings(a, b):
    empty = {name: [] for name in FAMILIES} | {LABEL: []}
    one, other = (tb.fit(empty, label=LABEL, families=FAMILIES, smoothing=k) for k in (1.0, 2.0))
    for model, table in ((one, a), (other, b)):
        if table:
            model.learn(table)
    left, right = one.merge(other), other.merge(one)
    assert left.same_counts(right)
    assert left != right
    assert left == right.with_settings(smoothing=1.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"smoothing": 2.0},
        {"class_prior": "uniform"},
        {"class_weight": "balanced"},
        {"column_weights": tb.ColumnWeights({"real": 0.5})},
        {"calibration": tb.Calibration("temperature", 2.0)},
        {"decision": tb.Decision(abstain=0.9)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_settings_are_compared(changes):
    model = tb.fit(TABLE, label=LABEL, families=FAMILIES, column_weights=None)
    other = model.with_settings(**changes)
    assert other != model
    assert other.same_counts(model)
    assert other == model.with_settings(**changes)


def test_families_and_ways_of_reading_are_compared():
    model = tb.fit({"size": ["1,5", "2,5", "4,5"], "y": ["p", "q", "p"]}, label="y")
    same = tb.fit({"size": [1.5, 2.5, 4.5], "y": ["p", "q", "p"]}, label="y")
    assert model.same_counts(same)
    assert model != same  # a later "1,5" is a number for one of them only
    assert tb.fit({"x": [0, 1], "y": [0, 1]}, label="y") != tb.fit({"x": [0, 1]}, label=[0, 1])
    assert changed_column(model, "size", family=None, status=Status.BY_USER) != model


def test_a_selected_variant_of_text_is_compared():
    table = {"text": ["cash now", "lunch at noon"] * 30, "y": ["spam", "ham"] * 30}
    model = tb.fit(table, label="y", families={"text": "text"})
    other = tb.fit(table, label="y", families={"text": "text:variant=presence,ngrams=2"})
    assert model.schema.families != other.schema.families
    assert model != other


def test_notes_origins_and_bookkeeping_are_not_compared():
    model = tb.fit(TABLE, label=LABEL)
    state = model.snapshot().state
    assert changed_column(model, "real", reason="why not", origin=Origin.NEW, selected_on=7.0) == model
    assert tb.Model(replace(state, skipped=5)) == model
    weights = state.settings.column_weights
    assert weights.fitted_on > 0
    assert model.with_settings(column_weights=replace(weights, model_rows=-1.0, fitted_on=1.0)) == model
    assert model.with_settings(column_weights=replace(weights, fitted_on=0.0)) != model  # 1 instead of a temperature
    plain = model.plain()
    plain.column_weights, plain.decision = tb.ColumnWeights(), tb.Decision()  # which do nothing
    assert plain == model.plain()


def test_the_cause_of_an_exclusion_and_columns_without_values_are_not_compared():
    model = tb.fit({"x": [1, 2], "z": [1, 2], "y": [0, 1]}, label="y", ignore=["z"], column_weights=None)
    assert changed_column(model, "z", status=Status.IDENTIFIER) == model
    assert tb.fit({"x": [1, 2], "y": [0, 1]}, label="y", column_weights=None) != model  # it would learn z
    empty = tb.fit({"x": [1, 2], "e": [None, None], "y": [0, 1]}, label="y", column_weights=None)
    assert empty == tb.fit({"x": [1, 2], "y": [0, 1]}, label="y", column_weights=None)


def test_given_probabilities_and_other_things():
    assert written() == written()
    assert written().with_settings(decision=tb.Decision(abstain=0.9)) != written()
    model = tb.fit(TABLE, label=LABEL)
    assert model != written()
    assert model != np.float64(1)
    with pytest.raises(ParameterError, match="expected another model, got 3"):
        model.same_counts(3)
