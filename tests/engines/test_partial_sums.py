"""Partial sums are refused where they are damaged, forged, or of another plan; doubts and errors reach the caller."""

import numpy as np
import pyarrow as pa
import pytest

import tallybayes as tb
from tallybayes import engines
from tallybayes.errors import DataError, DataWarning, FileError, ForgetError, ParameterError
from tallybayes.model.saved_model import dumps, loads

TABLE = {
    "colour": ["red", "red", "green", None],
    "size": [1.5, 2.0, 4.0, 5.5],
    "fruit": ["apple", "apple", "pear", None],
}


@pytest.fixture
def plan():
    return engines.plan_fit(TABLE, label="fruit")


@pytest.fixture
def part(plan):
    return engines.partial(TABLE, plan.to_bytes())


def test_partial_sums_of_different_plans_are_not_combined(plan, part):
    other = engines.plan_fit(TABLE, label="fruit", numeric="gaussian")
    with pytest.raises(DataError, match="partial sums of the same plan"):
        engines.combine(part, engines.partial(TABLE, other.to_bytes()))
    with pytest.raises(DataError, match="a partial sum of this plan"):
        engines.fitted(other, part)


def test_models_plans_and_partial_sums_are_never_mistaken_for_each_other(plan, part):
    model = dumps(tb.fit(TABLE, label="fruit"))
    with pytest.raises(FileError, match="expected a model, got a partial sum"):
        loads(part)
    with pytest.raises(FileError, match="expected a model, got a plan"):
        loads(plan.to_bytes())
    with pytest.raises(FileError, match="expected a partial sum, got a model"):
        engines.combine(model)
    with pytest.raises(FileError, match="expected a partial sum, got a plan"):
        engines.combine(plan.to_bytes())
    with pytest.raises(FileError, match="expected a plan, got a partial sum"):
        engines.partial(TABLE, part)


def test_any_damaged_byte_is_found(part):
    for place in np.linspace(0, len(part) - 1, 97).astype(int):
        damaged = bytearray(part)
        damaged[place] ^= 1
        with pytest.raises(FileError):
            engines.combine(bytes(damaged))
    for n in (0, 5, 100, len(part) - 1):
        with pytest.raises(FileError):
            engines.combine(part[:n])


def test_forged_partial_sums_are_refused(part):
    from tallybayes.storage.container import pack, unpack

    facts, tensors = unpack(part)
    forgeries = [
        (facts | {"rows": -1}, tensors),
        (facts | {"missing": 99}, tensors),
        (facts | {"plan": "x"}, tensors),
        (facts | {"learns": 1}, tensors),
        (facts | {"warnings": [{"kind": "rows", "text": text} for text in "ba"]}, tensors),
        (facts | {"texts": ["note"]}, tensors),
        (facts | {"sample": None}, tensors),
        (facts | {"unread": [["a", 1]]}, tensors),
        (facts, tensors | {"more": np.zeros(1, np.int64)}),
        (facts, tensors | {"sample.counts": np.full_like(tensors["sample.counts"], -1)}),
        (facts, tensors | {"sample.signatures": tensors["sample.signatures"][::-1].copy()}),
        (facts, tensors | {"sample.hashes": np.zeros_like(tensors["sample.hashes"])}),
        (facts, tensors | {"sample.weights": np.full_like(tensors["sample.weights"], np.nan)}),
        (facts, tensors | {"sample.cells": np.zeros(64, np.uint8)}),
        (facts, tensors | {"sample.cells": tensors["sample.cells"][:-40].copy()}),
    ]
    for forged in forgeries:
        with pytest.raises(FileError):
            engines.combine(pack(*forged))


def test_a_bad_row_is_an_error_with_its_column_and_row(plan):
    bad = {"colour": ["red", "red"], "size": [1.0, float("inf")], "fruit": ["apple", "pear"]}
    with pytest.raises(DataError, match="column 'size', row 1") as error:
        engines.partial(bad, plan.to_bytes())
    assert (error.value.column, error.value.row) == ("size", 1)


def test_a_missing_label_column_is_an_error(plan):
    with pytest.raises(DataError, match="the label column in the data"):
        engines.partial({"colour": ["red"]}, plan.to_bytes())


def test_warnings_of_pieces_are_told_once_by_the_driver():
    days = ["2024-01-01", "2024-02-09", "2024-03-05", "2024-04-11"]
    plan = engines.plan_fit({"day": days, "y": ["a", "b", "a", "b"]}, label="y", families={"day": "date"})
    pieces = [{"day": ["soon"], "y": ["a"]}, {"day": ["later"], "y": ["b"]}]
    part = engines.combine(engines.partial(piece, plan.to_bytes()) for piece in pieces)
    with pytest.warns(DataWarning, match="2 cells are not dates, such as 'later'"):
        engines.fitted(plan, part)


def test_label_and_weight_are_names_of_columns():
    with pytest.raises(ParameterError, match="the label as the name of a column"):
        engines.plan_fit({"x": [1, 2]}, label=["a", "b"])
    with pytest.raises(ParameterError, match="the weight as the name of a column, to count in pieces"):
        engines.plan_fit({"x": [1, 2], "y": ["a", "b"]}, label="y", sample_weight=[1, 2])
    with pytest.raises(ParameterError, match="the verb learn or forget"):
        engines.plan_change(tb.fit(TABLE, label="fruit"), verb="merge")


def test_a_plan_for_a_model_that_has_changed_is_refused(plan):
    model = tb.fit(TABLE, label="fruit")
    change = engines.plan_change(model)
    part = engines.partial(TABLE, change.to_bytes())
    model.learn({"taste": ["sweet"], "fruit": ["apple"]})
    before = dumps(model)
    with pytest.raises(DataError, match="the column as in the plan"):
        engines.apply(model, change, part)
    assert dumps(model) == before


def test_what_was_not_learned_is_not_forgotten():
    model = tb.fit(TABLE, label="fruit")
    before = dumps(model)
    plan = engines.plan_change(model, verb="forget")
    part = engines.combine([engines.partial(TABLE, plan.to_bytes())] * 2)
    with pytest.raises(ForgetError):
        engines.apply(model, plan, part, verb="forget")
    assert dumps(model) == before


def test_pieces_agree_on_the_types_of_labels_and_categories():
    plan = engines.plan_fit({"k": [1, 2, 3, 4], "y": [1, 2, 1, 2]}, label="y", families={"k": "categorical"})
    numbers = engines.partial({"k": [1, 2], "y": [1, 2]}, plan.to_bytes())
    texts = engines.partial({"k": ["a", "b"], "y": [1, 2]}, plan.to_bytes())
    with pytest.raises(DataError, match="column 'k': expected categories of one type"):
        engines.combine(numbers, texts)
    words = engines.partial({"k": [1, 2], "y": ["a", "b"]}, plan.to_bytes())
    with pytest.raises(DataError, match="expected labels of one type"):
        engines.combine(words, numbers)
    reals = engines.partial({"k": [1, 2], "y": [1.0, 2.0]}, plan.to_bytes())
    assert engines.combine(numbers, reals) == engines.combine(reals, numbers)


def test_importing_the_library_loads_no_spark():
    import subprocess
    import sys

    code = "import tallybayes, tallybayes.engines, sys; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_cells_of_every_arrow_type_are_restored():
    from tallybayes.storage.cell_content import cells_from_bytes, cells_to_bytes
    from tallybayes.tables.table import to_table

    table = pa.table(
        {
            "int": pa.array([1, None, 3], pa.int16()),
            "bool": pa.array([True, None, False]),
            "real": pa.array([1.5, None, -0.0]),
            "decimal": pa.array(["1.25", None, "3.10"]).cast(pa.decimal128(9, 2)),
            "text": pa.array(["a", None, "ü"]),
            "list": pa.array([["a"], None, []], pa.list_(pa.string())),
            "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
            "time": pa.array([1, None, 3], pa.timestamp("us", "UTC")),
            "kinds": pa.array(["a", None, "b"]).dictionary_encode(),
        }
    )
    data = cells_to_bytes(to_table(table))
    found = cells_from_bytes(data, 3)
    assert {name: column.to_pylist() for name, column in found.columns.items()} == table.to_pydict()
    sliced = pa.concat_tables([table, table]).slice(3, 3).combine_chunks()
    assert cells_to_bytes(to_table(sliced)) == data
