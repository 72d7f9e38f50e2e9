"""Lists, of JSON, data frames, Parquet and cells of text: sets of tags, or bags of tokens if values repeat."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from pets import csv_file
from tallybayes.cells.list_cell import split_list
from tallybayes.columns.tag_rules import are_sets

SETS = [["pool", "view"], ["view"], [], None, ["sea, wide", "pool"], [" pool "]] * 12
BAGS = [["pool", "pool", "view"], ["view"], [], None, ["view", "view"], ["pool"]] * 12
NUMBERS = [[1, 2], [2.5, 1.0], [], None, [2.0, None], [3]] * 12
LABELS = ["a", "b", "b", "a", "a", "b"] * 12
FAMILIES = {"sets": (SETS, "tags"), "bags": (BAGS, "multinomial"), "numbers": (NUMBERS, "tags")}


def as_json(lists, tmp_path):
    path = tmp_path / "lists.jsonl"
    rows = zip(lists, LABELS, strict=True)
    path.write_text("".join(json.dumps({"x": one, "y": y}) + "\n" for one, y in rows))
    return str(path)


def as_csv(lists, tmp_path):
    cells = ["" if one is None else json.dumps(one) for one in lists]
    rows = zip(cells, LABELS, strict=True)
    return csv_file("x,y\n" + "".join('"' + cell.replace('"', '""') + f'",{y}\n' for cell, y in rows))


def as_python_lists(lists, tmp_path):
    return {"x": [None if one is None else str(one) for one in lists], "y": LABELS}


def as_dict(lists, tmp_path):
    return {"x": lists, "y": LABELS}


def as_parquet(lists, tmp_path):
    pq.write_table(pa.table({"x": lists, "y": LABELS}), tmp_path / "lists.parquet")
    return str(tmp_path / "lists.parquet")


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("write", [as_csv, as_python_lists, as_dict, as_parquet])
def test_the_same_lists_give_the_same_model_wherever_they_are_written(name, write, tmp_path):
    lists, family = FAMILIES[name]
    expected = tb.fit(as_json(lists, tmp_path), label="y")
    assert expected.schema.columns["x"].family.name == family
    model = tb.fit(write(lists, tmp_path), label="y")
    assert model.schema.columns["x"] == expected.schema.columns["x"]
    assert model.same_counts(expected)
    probabilities = expected.predict_proba(as_json(lists, tmp_path))
    np.testing.assert_array_equal(model.predict_proba(as_json(lists, tmp_path)), probabilities)
    np.testing.assert_array_equal(expected.predict_proba(write(lists, tmp_path)), probabilities)


VECTORS = [[(i * 37 % 101) / 7, -i / 3, 0.0] for i in range(72)]


@pytest.mark.parametrize("write", [as_json, as_csv, as_python_lists, as_dict, as_parquet])
def test_vectors_are_no_tags_and_said(write, tmp_path):
    with pytest.warns(
        tb.DataWarning, match=r"lists of real numbers, excluded: x\n.*give each number a column.*\['x'\]"
    ):
        model = tb.fit(write(VECTORS, tmp_path), label="y", column_weights=None)
    assert list(model.schema.families) == []


def test_the_column_for_each_number_that_the_hint_makes():
    frame = pd.DataFrame({"x": VECTORS, "y": LABELS})
    with pytest.warns(tb.DataWarning) as said:
        tb.fit(frame, label="y", column_weights=None)
    code = re.search(r"in pandas (.*), in SQL", str(said[0].message))[1]
    model = tb.fit(eval(code), label="y", column_weights=None)
    assert list(model.schema.families) == ["x_0", "x_1", "x_2"]


def test_lists_are_sets_if_hardly_any_has_a_value_twice():
    different, repeated = [["a", "b"], ["c"]], [["a", "a"], ["c"]]
    few, many = different * 96 + repeated * 4, different * 94 + repeated * 6
    for lists, family in [(few, "tags"), (many, "multinomial"), ([["a"], []] * 50, "tags")]:
        model = tb.fit({"x": lists, "y": ["p", "q"] * (len(lists) // 2)}, label="y")
        assert model.schema.columns["x"].family.name == family


def test_in_a_stream_a_list_is_a_bag_whatever_comes_first():
    first, second = {"x": ["a", "b"], "y": "p"}, {"x": ["b", "b"], "y": "q"}
    models = [tb.fit([*rows], label="y", infer="type") for rows in ([first, second], [second, first])]
    assert models[0].schema.columns["x"].family.name == "multinomial"
    assert models[0].same_counts(models[1])


def test_a_column_of_lists_without_values_waits_for_them(tmp_path):
    empty = pa.table({"x": pa.array([None, None], pa.list_(pa.string())), "y": ["p", "q"]})
    model = tb.fit(empty, label="y")
    assert model.schema.columns["x"].reason == "lists, no values yet"
    model.learn({"x": [["a", "a"], ["b"]], "y": ["p", "q"]})
    assert model.predict([{"x": ["b"]}]) == ["q"]


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=4), min_size=1, max_size=30))
def test_lists_and_their_cells_are_judged_alike_for_every_list(lists):
    cells = [split_list(json.dumps(one)) for one in lists]
    assert are_sets((one, 1) for one in cells) == are_sets((one, 1) for one in lists)
    twice = are_sets((one, 2) for one in lists)
    assert twice == are_sets((one, 1) for one in lists)


NUMBER = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none()


@given(st.lists(NUMBER, max_size=6))
def test_numbers_are_the_same_tokens_in_lists_and_cells_for_every_list(values):
    lists = [values, ["other", "more"]]
    options = {"label": "y", "families": {"x": "multinomial"}, "column_weights": None}
    model = tb.fit({"x": list(map(json.dumps, lists)), "y": ["p", "q"]}, **options)
    for cell in (json.dumps(values), str(values)):
        probabilities = model.predict_proba({"x": [cell]})
        np.testing.assert_array_equal(model.predict_proba({"x": [values]}), probabilities)
