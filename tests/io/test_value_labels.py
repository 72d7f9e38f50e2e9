"""Labels of values and values declared missing, as SPSS and Stata keep them."""

import pandas as pd
import pyreadstat
import pytest

import tallybayes as tb
from tallybayes.doubts import collect_doubts


def columns_of(path, **options):
    with collect_doubts() as found:
        head = tb.read(path, **options).head()
    return {name: raw.to_pylist() for name, raw in head.columns.items()}, [one.text for one in found]


def written(path, frame, labels, **more):
    write = pyreadstat.write_sav if path.suffix == ".sav" else pyreadstat.write_dta
    write(pd.DataFrame(frame), path, variable_value_labels=labels, **more)
    return path


@pytest.mark.parametrize("name", ["a.sav", "a.dta"])
def test_a_few_values_without_a_label_stay_among_the_labels(tmp_path, name):
    path = written(tmp_path / name, {"sex": [1] * 10 + [2] * 9 + [3]}, {"sex": {1: "male", 2: "female"}})
    columns, found = columns_of(path)
    assert columns["sex"] == ["male"] * 10 + ["female"] * 9 + ["3"]
    assert "1 of 3 values have no label, and are read as they are: 3" in found[0]
    model = tb.fit({**columns, "y": ["a", "b"] * 10}, label="y")
    assert model.schema.family_name("sex") == "categorical"


@pytest.mark.parametrize("name", ["a.sav", "a.dta"])
def test_codes_that_say_missing_among_numbers_are_missing(tmp_path, name):
    incomes = [1200 + 7 * i for i in range(18)] + [-8, -9]
    path = written(tmp_path / name, {"income": incomes}, {"income": {-9: "Refused", -8: "Don't know", -7: "none"}})
    columns, found = columns_of(path)
    assert columns["income"] == [*incomes[:18], None, None]
    assert len(found) == 1
    assert "labels say so are missing: -8 (Don't know, 1 time), -9 (Refused, 1 time)" in found[0]
    columns, found = columns_of(path, missing_only=["NA"])
    assert columns["income"] == incomes
    assert "2 of 20 values have labels" in found[0]


def test_ends_of_a_scale_are_numbers(tmp_path):
    path = written(tmp_path / "a.sav", {"mood": [*range(1, 11)]}, {"mood": {1: "bad", 10: "good"}})
    columns, found = columns_of(path)
    assert columns["mood"] == list(range(1, 11))
    assert "2 of 10 values have labels (1 is bad, 10 is good)" in found[0]


def test_values_declared_missing_in_spss_are_missing(tmp_path):
    frame = {"age": [20, 30, 97, 98, 99, 44], "sex": [1, 2, 9, 1, 2, 1], "town": ["Ulm", "XX", "Bonn", "Ulm", "XX", ""]}
    missing = {"age": [{"lo": 97, "hi": 99}], "sex": [9], "town": ["XX"]}
    labels = {"sex": {1: "male", 2: "female", 9: "no answer"}, "age": {97: "refused"}}
    columns, found = columns_of(written(tmp_path / "a.sav", frame, labels, missing_ranges=missing))
    assert columns["age"] == [20, 30, None, None, None, 44]
    assert columns["sex"] == ["male", "female", None, "male", "female", "male"]
    assert columns["town"] == ["Ulm", None, "Bonn", "Ulm", None, None]
    assert found == []


def test_missing_values_with_letters_in_stata_are_missing(tmp_path):
    frame = {"age": [20.0, "a", "b", 44.0]}
    path = written(tmp_path / "a.dta", frame, {"age": {"a": "refused"}}, missing_user_values={"age": ["a", "b"]})
    assert columns_of(path)[0]["age"] == [20, None, None, 44]
