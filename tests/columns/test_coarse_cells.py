"""Coarse cells of columns, and derived columns that are computed from them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from tables import doubles
from tallybayes.arrays.column import Codes, Flags, Reals
from tallybayes.columns.batch import columns_to_read, encode_columns
from tallybayes.columns.column_spec import ColumnSpec
from tallybayes.columns.readers.cell_input import CellInput
from tallybayes.columns.readers.cells_reader import CellsReader
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, ParameterError
from tallybayes.tables.table import RowOrigin, Table, to_table

AGE, SEX, WED = CellInput("age", edges=(25.0, 37.0)), CellInput("sex", keys=("f", "m")), CellInput("wed")


def schema(*inputs, **others):
    fields = {"both": ColumnSpec("both", tb.OneDependence(), "for a test", CellsReader(inputs))}
    return Schema("y", fields | {name: ColumnSpec(name, family, "for a test") for name, family in others.items()})


@given(st.lists(doubles, max_size=6), st.lists(doubles, max_size=8))
def test_the_cell_of_a_number_is_the_number_of_edges_not_above_it(edges, values):
    edges = tuple(sorted(set(edges)))
    own = CellInput("x", edges=edges)
    found = own.cells(Reals(np.array([*values, np.nan])))
    assert found.tolist() == [*(sum(edge <= value for edge in edges) for value in values), -1]
    assert found.max(initial=0) < own.n_cells


def test_cells_of_flags_and_categories():
    assert WED.cells(Flags(np.array([0.0, 1.0, np.nan, 3.0]))).tolist() == [0, 1, -1, -1]
    assert WED.cells(Flags(np.array([0, 1, -1], np.int8))).tolist() == [0, 1, -1]
    assert SEX.cells(Codes(np.array([1, 0, -1, 2]), ["m", "f", "x"])).tolist() == [0, 1, -1, -1]
    numbers = CellInput("n", keys=(3, 5))
    assert numbers.cells(Codes(np.array([5, 4, 3]), range(3, 6))).tolist() == [1, -1, 0]
    assert numbers.cells(Codes(np.array([0, 1]), [3, 2.5])).tolist() == [0, -1]


def test_missing_as_the_last_cell():
    own = CellInput("age", edges=(25.0,), missing=True)
    assert own.n_cells == 3
    assert own.cells(Reals(np.array([np.nan, 30.0, 1.0]))).tolist() == [2, 1, 0]
    assert [own.describe(cell) for cell in range(3)] == ["below 25", "25 and above", "missing"]
    assert [SEX.describe(1), WED.describe(1), CellInput("x", edges=()).describe(0)] == ["m", "true", "any number"]


def test_infinite_numbers_are_refused():
    with pytest.raises(DataError, match=r"column 'age', row 1: expected a finite number, got inf"):
        AGE.cells(Reals(np.array([1.0, np.inf])))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"edges": (2.0, 1.0)}, "finite edges in increasing order"),
        ({"edges": (1.0, np.inf)}, "finite edges"),
        ({"edges": (1.0,), "keys": ("a",)}, "edges or keys"),
        ({"keys": ("a", "a")}, "different categories of one type"),
        ({"keys": ("a", 1)}, "different categories of one type"),
        ({"keys": (1, True)}, "different categories of one type"),
        ({"keys": (b"a",)}, "different categories of one type"),
        ({"keys": ()}, "from 1 to 32,767 cells"),
        ({"edges": tuple(range(40_000))}, "from 1 to 32,767 cells"),
    ],
)
def test_wrong_inputs_are_refused(given, expected):
    with pytest.raises(ParameterError, match=expected):
        CellInput("x", **given)


@pytest.mark.parametrize(
    "given",
    [
        [],
        {"edges": [1.0]},
        {"column": 3},
        {"column": "x", "edges": "abc"},
        {"column": "x", "edges": ["1"]},
        {"column": "x", "edges": [True]},
        {"column": "x", "edges": [float("nan")]},
        {"column": "x", "keys": [["a"]]},
        {"column": "x", "keys": [None]},
        {"column": "x", "missing": 1},
        {"column": "x", "cells": 3},
    ],
)
def test_plain_values_are_checked(given):
    with pytest.raises(ParameterError):
        CellInput.from_dict(given)


def test_a_schema_with_derived_columns_is_written_and_read():
    own = schema(AGE, SEX, WED, CellInput("n", keys=(1, 2.5), missing=True), age=tb.Gaussian())
    again = Schema.from_dict(json.loads(json.dumps(own.to_dict())))
    assert again == own
    assert "cells of age (3), sex (2), wed (2), n (3)" in str(own)
    assert own.columns_in_use == ["age", "n", "sex", "wed"]
    assert "reader" not in own.to_dict()["columns"]["age"]


def cells(inputs):
    return {"kind": "cells", "inputs": inputs}


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ({"family": "gaussian", "reader": cells([{"column": "x"}])}, "a family of derived columns, got 'gaussian'"),
        ({"family": "one_dependence"}, "a family of columns of the table, got 'one_dependence'"),
        ({"family": "one_dependence", "reader": cells([{"column": "x"}] * 2)}, "every column once as an input"),
        ({"family": "one_dependence", "reader": cells(3)}, "a list of the inputs"),
    ],
)
def test_schemas_with_impossible_derived_columns_are_refused(column, expected):
    with pytest.raises(ParameterError, match=expected):
        Schema.from_dict({"label": "y", "columns": {"both": column}})


def test_derived_columns_are_computed_from_the_table():
    table = to_table({"age": [20.0, 30.0, None], "sex": ["m", None, "f"], "other": [1, 2, 3]})
    columns = encode_columns(table, schema(AGE, SEX, WED, age=tb.Gaussian()))
    assert columns["both"].codes.tolist() == [[0, 1, -1], [1, -1, -1], [-1, 0, -1]]
    assert columns["both"].sizes == (3, 2, 2)
    assert list(columns) == ["age", "both"]


def test_the_inputs_are_read_from_sources_of_batches():
    assert columns_to_read(schema(AGE, SEX, WED, sex=tb.Categorical()), "y") == {
        "sex": None,
        "age": "number",
        "wed": "flag",
        "y": None,
    }


def test_categories_of_another_type_are_taken_for_what_they_are_written_as():
    own = schema(CellInput("n", keys=(1, 2)))
    columns = {"n": ["2", "1"]}
    for table in (Table(2, columns), Table(2, columns, RowOrigin(0, "some.csv"))):
        assert encode_columns(table, own)["both"].codes.tolist() == [[1], [0]]
    with pytest.raises(DataError, match="column 'n', row 1: expected number, as learned before, got 'x'"):
        encode_columns(Table(2, {"n": ["2", "x"]}), own)
