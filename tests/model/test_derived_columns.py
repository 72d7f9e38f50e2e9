"""The promises of the project for models with derived columns, beside ordinary ones and alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from models import opened, round_trip
from storage.test_forgery import signed
from tables import LABEL, in_order, mixed_frame, pieces, rows
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.columns.readers.cells_reader import CellsReader
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, FileError, ForgetError, ParameterError
from tallybayes.model.saved_model import dumps, loads
from tallybayes.state.row_hash import RowHashes

INPUTS = (
    CellInput("flag"),
    CellInput("kind", keys=("blue", "red")),
    CellInput("level", edges=(-1.0, 0.0, 2.5), missing=True),
    CellInput("events", edges=(1.0, 10.0)),
)
OTHERS = {"level": "histogram", "kind": "categorical", "flag": "bernoulli", "events": "poisson"}


def schema(*, alone=False):
    given = {name: {"family": None if alone else family} for name, family in OTHERS.items()}
    derived = {"pairs": {"family": "one_dependence", "reader": CellsReader(tuple(INPUTS)).to_dict()}}
    return Schema.from_dict({"label": LABEL, "columns": given | derived})


def empty(*, alone=False):
    return tb.fit({name: [] for name in OTHERS} | {LABEL: []}, schema=schema(alone=alone), infer="type")


def plain(table):
    """Rows without the columns that are not for these tests."""
    return [{name: value for name, value in row.items() if name in OTHERS or name == LABEL} for row in table]


def learned(data, model=None, *, alone=False):
    model = model or empty(alone=alone)
    if data:
        model.learn(data)
    return model


def frame(n, seed=0):
    table = mixed_frame(n, seed)
    return {name: table[name] for name in (*OTHERS, LABEL)}


def part(table, rows):
    return {name: [values[i] for i in rows] for name, values in table.items()}


@given(rows.map(plain), st.data(), st.booleans())
@settings(max_examples=50)
def test_order_batches_and_merge_do_not_matter(table, data, alone):
    whole = learned(table, alone=alone)
    assert learned([table[i] for i in in_order(data, len(table))], alone=alone).same_counts(whole)
    one_by_one, merged = empty(alone=alone), empty(alone=alone)
    for piece in pieces(data, table):
        learned(piece, one_by_one)
        merged = learned(piece, alone=alone).merge(merged)
    assert one_by_one.same_counts(merged)
    assert merged.same_counts(whole)
    probe = [{name: value for name, value in row.items() if name != LABEL} for row in table]
    if whole.classes:
        assert one_by_one.log_score(probe).tobytes() == whole.log_score(probe).tobytes()


@given(rows.map(plain), rows.map(plain))
@settings(max_examples=50)
def test_forgetting_gives_the_model_that_never_saw_the_rows(a, b):
    model = learned(b, learned(a))
    if b:
        model.forget(b)
    assert model.same_counts(learned(a))
    assert dumps(round_trip(model)) == dumps(model)


@pytest.mark.parametrize("alone", [False, True])
def test_a_row_scores_alone_as_in_a_batch_and_learns_alone_as_in_a_batch(alone):
    table = frame(120)
    model = learned(table, alone=alone)
    one_by_one = empty(alone=alone)
    together = model.log_score({name: table[name] for name in OTHERS})
    for i in range(120):
        row = {name: table[name][i] for name in OTHERS}
        assert model.log_score([row]).tobytes() == together[i].tobytes()
        assert np.array_equal(model.predict_proba(row), model.predict_proba([row]))
        assert model.predict_proba_one(row) == dict(zip(model.classes, model.predict_proba([row])[0], strict=True))
        one_by_one.learn_one(row, table[LABEL][i])
    assert one_by_one.same_counts(model)


def test_files_give_the_same_sums_as_tables(tmp_path):
    import pyarrow as pa
    from pyarrow import csv

    table = frame(200)
    csv.write_csv(pa.table(table), tmp_path / "rows.csv")
    from_file = tb.fit(str(tmp_path / "rows.csv"), schema=schema(alone=True))
    assert from_file.same_counts(tb.fit(table, schema=schema(alone=True)))
    assert np.array_equal(from_file.predict(str(tmp_path / "rows.csv")), from_file.predict(table))


def test_samples_of_rows_do_not_depend_on_derived_columns():
    from tallybayes.columns.batch import read_batch
    from tallybayes.tables.table import to_table

    table, both, without = to_table(frame(50)), schema(), schema()
    del without.columns["pairs"]
    alone = schema(alone=True)
    alone.columns["pairs"] = ColumnSpec(
        "pairs",
        tb.OneDependence(),
        "",
        CellsReader((INPUTS[0], INPUTS[1], CellInput("level", edges=()), CellInput("events", edges=()))),
    )
    hashes = []
    for own in (both, without, alone):
        batch = read_batch(table, own, LABEL, None)
        hashes.append(RowHashes(batch, batch.labels.keys)(0, batch.n_rows)[0].tolist())
    assert hashes[0] == hashes[1] == hashes[2]
    assert len(set(hashes[0])) == 50


def test_weights_are_fitted_with_the_default_options():
    table = frame(600)
    model = tb.fit(table, schema=schema())
    assert set(model.column_weights.weights) == {*OTHERS, "pairs"}
    shuffled = part(table, np.random.default_rng(1).permutation(600))
    assert tb.fit(shuffled, schema=schema()).predict_proba(table).tobytes() == model.predict_proba(table).tobytes()


def test_weights_of_rows_are_exact():
    table, rng = frame(80), np.random.default_rng(2)
    weights = rng.integers(0, 4, 80)
    repeated = part(table, np.repeat(np.arange(80), weights))
    assert tb.fit(table, schema=schema(), sample_weight=weights.astype(float)).same_counts(
        tb.fit(repeated, schema=schema())
    )
    some, order = rng.random(80), rng.permutation(80)
    one = tb.fit(table, schema=schema(), sample_weight=some)
    assert one.same_counts(tb.fit(part(table, order), schema=schema(), sample_weight=some[order]))
    one.forget(part(table, range(30)), sample_weight=some[:30])
    assert one.same_counts(tb.fit(part(table, range(30, 80)), schema=schema(), sample_weight=some[30:]))


def test_rows_that_were_not_learned_are_not_forgotten():
    model = learned([{"flag": True, "kind": "red", LABEL: "p"}, {"flag": False, "kind": "blue", LABEL: "p"}])
    before = dumps(model)
    with pytest.raises(ForgetError, match="column 'pairs': these values were not learned together that often"):
        model.forget([{"flag": True, "kind": "blue", LABEL: "p"}])
    assert dumps(model) == before


def test_models_with_other_cells_do_not_merge():
    other = schema()
    inputs = (*INPUTS[:3], CellInput("events", edges=(1.0, 11.0)))
    other.columns["pairs"] = ColumnSpec("pairs", tb.OneDependence(), "other", CellsReader(inputs))
    with pytest.raises(DataError, match="column 'pairs': expected the same inputs and cells"):
        tb.fit(frame(20), schema=schema()).merge(tb.fit(frame(20), schema=other))


def test_a_schema_is_checked_against_the_data():
    table = frame(20)
    with pytest.raises(ParameterError, match="a derived column with a name of its own, got 'pairs'"):
        tb.fit(table | {"pairs": [1] * 20}, schema=schema())
    with pytest.raises(ParameterError, match="the name of a column, got 'kind'"):
        tb.fit({name: values for name, values in table.items() if name != "kind"}, schema=schema())
    fitted = tb.fit(table, schema=schema(), ignore=["kind"]).schema
    assert [own.column for own in fitted.columns["pairs"].reader.inputs] == ["flag", "level", "events"]
    with pytest.raises(ParameterError, match="a family of columns of the table, got 'one_dependence'"):
        tb.fit(table, label=LABEL, families={"kind": "one_dependence"})


def set_facts(change):
    def forge(header, tensors):
        change(header["schema"]["columns"]["pairs"])

    return forge


def set_inputs(change):
    return set_facts(lambda facts: change(facts["reader"]["inputs"]))


def set_keys(texts):
    def forge(header, tensors):
        packed = [text.encode() for text in texts]
        tensors["block0.keys"] = np.frombuffer(b"".join(packed), np.uint8)
        tensors["block0.keys.ends"] = np.cumsum([len(one) for one in packed])

    return forge


def set_array(name, change):
    def forge(header, tensors):
        change(tensors[name])

    return forge


FORGERIES = {
    "no inputs": (set_inputs(lambda inputs: inputs.clear()), "at least one"),
    "inputs gone": (set_facts(lambda facts: facts.pop("reader")), "a family of columns of the table"),
    "inputs of another family": (set_facts(lambda facts: facts.update(family="gaussian")), "family of derived"),
    "an input twice": (set_inputs(lambda inputs: inputs.append(inputs[0])), "every column once"),
    "edges out of order": (set_inputs(lambda inputs: inputs[2].update(edges=[2.0, 1.0])), "increasing order"),
    "edges that are text": (set_inputs(lambda inputs: inputs[2].update(edges=["1"])), "finite edges"),
    "fewer cells": (set_inputs(lambda inputs: inputs.pop()), "not pairs of cells|out of order|more"),
    "too many cells": (set_inputs(lambda inputs: inputs[2].update(edges=list(range(30_000)))), "at most 1 GiB"),
    "keys that are text": (set_keys(["tx"] * 3 + ["ty"]), "invalid ends|keys in order|not pairs of cells|ends"),
    "more pairs than cells": (set_array("block0.amounts", lambda own: own.__setitem__(1, 9)), "totals|more pairs"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_files_are_an_error(name):
    change, words = FORGERIES[name]
    model = learned([{"flag": True, "kind": "red", LABEL: "p"}, {"flag": False, LABEL: "q"}], alone=True)
    header, tensors = opened(dumps(model))
    change(header, tensors)
    with pytest.raises(FileError, match=rf"(?s)^a\.tally: .*({words})"):
        loads(signed(header, tensors), "a.tally")
