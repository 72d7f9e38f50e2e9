"""Unusual values in memory: a defined answer or a clear error, never an exception of another library."""

import decimal
import enum

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from pets import file_with
from tallybayes.errors import DataError, FileError

Y = ["p", "q", "p", "q"]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


@given(st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=2, max_size=8))
def test_decimals_are_rounded_to_the_nearest_double(values):
    y = ["p", "q"] * 4
    expected = tb.fit({"x": list(map(float, values)), "y": y[: len(values)]}, label="y", numeric="gaussian")
    data = {"x": values, "y": y[: len(values)]}
    for table in (data, pa.table(data), pl.DataFrame(data)):
        assert tb.fit(table, label="y", numeric="gaussian").same_counts(expected)


def test_a_table_of_decimals_is_the_model_of_its_parquet_file(tmp_path):
    table = pa.table({"x": [decimal.Decimal(f"{i}.30") for i in range(40)], "y": Y * 10})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    models = [tb.fit(data, label="y") for data in (table, tmp_path / "a.parquet", pl.from_arrow(table))]
    assert models[0] == models[1] == models[2]
    assert models[0].same_counts(
        tb.fit({"x": [i + 0.3 if i < 1 else float(f"{i}.30") for i in range(40)], "y": Y * 10}, "y")
    )


def test_objects_in_a_polars_frame_are_the_objects():
    objects = [{"a"}, {"b", "a"}, None, {"b"}]
    frame = pl.DataFrame({"x": pl.Series(objects, dtype=pl.Object), "z": [1.5, 2.5, 3.5, 4.5], "y": Y})
    model = tb.fit(frame, label="y")
    assert model.same_counts(tb.fit({"x": objects, "z": [1.5, 2.5, 3.5, 4.5], "y": Y}, label="y"))
    assert str(model.schema.families["x"]) == "tags"
    assert tb.fit({"x": frame["x"], "y": Y}, label="y").same_counts(tb.fit({"x": objects, "y": Y}, label="y"))


@pytest.mark.parametrize(
    "column",
    [
        [Colour.RED, Colour.BLUE] * 2,
        pd.Series([Colour.RED, Colour.BLUE] * 2, dtype=object),
        pd.Series(pd.Categorical([Colour.RED, Colour.BLUE] * 2)),
        np.array([Colour.RED, Colour.BLUE] * 2, object),
    ],
    ids=lambda column: f"{type(column).__module__}-{getattr(column, 'dtype', 'list')}",
)
def test_members_of_an_enum_are_refused_as_categories_and_tokens(column):
    with pytest.warns(tb.DataWarning, match="a type that no family takes, excluded: x"):
        model = tb.fit({"x": column, "y": Y}, label="y")
    assert model.schema.columns["x"].reason == "values of type Colour have no family"
    with pytest.raises(DataError, match=r"column 'x', row 0: expected a category, got .*\nhint: .*of an Enum use"):
        tb.fit({"x": column, "y": Y}, label="y", families={"x": "categorical"})
    with pytest.raises(DataError, match=r"column 'x', row 0: expected a token, got"):
        tb.fit({"x": [[value] for value in column], "y": Y}, label="y")
    with pytest.raises(DataError, match=r"column 'label', row 0: expected a category, got"):
        tb.fit({"x": [1, 2, 3, 4]}, label=column)


def test_members_of_an_enum_that_are_numbers_are_numbers(tmp_path):
    model = tb.fit({"x": [Size.SMALL, Size.LARGE] * 2, "y": Y}, label="y", families={"x": "categorical"})
    model.save(tmp_path / "a.tally")
    assert tb.load(tmp_path / "a.tally") == tb.fit({"x": [1, 2] * 2, "y": Y}, label="y", families={"x": "categorical"})


def invalid_utf8():
    """An Arrow array of text with the bytes a\\xff and bb."""
    ends = pa.py_buffer(np.array([0, 2, 4], np.int32))
    return pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"a\xffbb")])


@pytest.mark.parametrize("family", ["categorical", "tags", "text:counts,k=1"])
def test_bytes_that_are_not_utf8_are_read_and_explained(family):
    table = pa.table({"x": invalid_utf8(), "y": ["p", "q"]})
    model = tb.fit(table, label="y", families={"x": family})
    assert np.isfinite(model.log_score(table)).all()
    assert "a\ufffd" in str(model.explain(table)[0])
    assert tb.fit(table, label="y").classes == ["p", "q"]
    assert tb.fit(pa.table({"x": [1, 2], "y": invalid_utf8()}), label="y").classes == ["a\ufffd", "bb"]


@pytest.mark.filterwarnings("ignore:(?s).* could not be read and w:tallybayes.errors.DataWarning")
def test_half_of_a_surrogate_pair_in_json_is_an_error():
    line = '{"x": "a\\ud800b", "y": "p"}\n'
    pattern = r"a\.jsonl, line 2: expected a JSON object, got .*\nhint: .*must form pairs"
    with pytest.raises(DataError, match=pattern):
        tb.fit(file_with(b'{"x": "a", "y": "p"}\n' + line.encode(), "a.jsonl"), label="y")
    late = file_with(b'{"x": "a", "y": "p"}\n' * 21_000 + line.encode(), "a.jsonl")
    with pytest.raises(DataError, match=r"line 21001: expected a JSON object, got .*\nhint: .*must form pairs"):
        tb.fit(late, label="y")
    source = tb.read(late, skip_bad=True)
    assert tb.fit(source, label="y").class_counts == {"p": 21_000}
    assert source.bad.count == 1
    with pytest.raises(FileError, match=r"a\.json: expected text in Unicode, got half of a surrogate pair"):
        tb.fit(file_with(f"[{line}]".encode(), "a.json"), label="y")
    whole = file_with(b'{"x": "\\ud83d\\ude00", "y": "p"}\n{"x": "b", "y": "q"}\n', "a.jsonl")
    assert tb.fit(whole, label="y").same_counts(tb.fit({"x": ["\U0001f600", "b"], "y": ["p", "q"]}, label="y"))


def test_values_of_several_types_are_an_error_that_names_the_row():
    for values in ([["a"], 3], [{"a": 1}, 3], [["a"], {"b": 1}, 3], ["a", 3], [1, "a"], [1.5, ["a"]], [{"a"}, 3]):
        with pytest.raises(DataError, match=rf"column 'x', row {len(values) - 1}: expected"):
            tb.fit({"x": values, "y": Y[: len(values)]}, label="y")


LARGE = 2**53


@pytest.mark.parametrize("labels", [[LARGE, LARGE + 1], [LARGE + 1], [10**400]])
def test_integer_labels_that_no_double_holds_are_refused_among_reals(labels):
    model = tb.fit({"x": [1.0, 2.0], "y": [0.5, 2.0**53]}, label="y")
    before = model.copy()
    with pytest.raises(DataError, match="expected a label that a double can hold, as other labels are reals, got"):
        model.learn({"x": [1.0] * len(labels), "y": labels})
    assert model == before
    with pytest.raises(DataError, match=r"column 'y': expected a label that a double can hold"):
        tb.fit({"x": [1.0] * (len(labels) + 1), "y": [0.5, *labels]}, label="y")
    assert model.learn({"x": [1.0], "y": [LARGE]}).rows == 1
    assert model.class_counts == {0.5: 1, 2.0**53: 2}


def test_large_integers_and_reals_stay_distinct_categories(tmp_path):
    values = [0.5, 2.0**53, LARGE + 1, LARGE]
    model = tb.fit({"x": values, "y": Y}, label="y", families={"x": "categorical"})
    model.learn({"x": [LARGE + 1, LARGE + 2], "y": ["p", "q"]})
    model.save(tmp_path / "a.tally")
    assert tb.load(tmp_path / "a.tally") == model
    assert model.same_counts(
        tb.fit({"x": [*values, LARGE + 1, LARGE + 2], "y": [*Y, "p", "q"]}, "y", families={"x": "categorical"})
    )
