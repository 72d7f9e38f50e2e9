"""Labels of values and values declared missing, as SPSS and Stata keep them."""

import warnings

import pandas as pd
import pyreadstat
import pytest

import tallybayes as tb


def columns_of(path, **options):
    head = tb.read(path, **options).head()
    return {name: raw.to_pylist() for name, raw in head.columns.items()}, [one.text for one in head.doubts]


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
    columns, found = columns_of(path, missing_only=[""])
    assert columns["income"] == incomes
    assert found == []  # the user has decided, so that --strict goes on


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


SURVEY = {
    "trust": [i % 11 for i in range(110)],
    "region": [1 + i % 2 if i % 11 else 3 for i in range(110)],
    "vote": [["A", "B"][i % 11 > 5] for i in range(110)],
}
SURVEY_LABELS = {"trust": {0: "none", 10: "full"}, "region": {1: "north", 2: "south"}}

unchecked = pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")


@pytest.fixture
def survey(tmp_path):
    return written(tmp_path / "all.sav", SURVEY, SURVEY_LABELS)


@unchecked
def test_labels_of_some_values_are_in_the_schema(survey, tmp_path):
    model = tb.fit(survey, label="vote", column_weights=None)
    assert model.schema.columns["trust"].reason == "integers, 11 distinct values; 0 is none, 10 is full"
    model.save(tmp_path / "a.tally")
    assert tb.load(tmp_path / "a.tally").schema.columns["trust"].reason.endswith("; 0 is none, 10 is full")


@unchecked
@pytest.mark.parametrize("rows", [[0, 10], [5], [0, 11, 22], [*range(40)]])
@pytest.mark.parametrize("families", [{}, {"trust": "categorical"}, {"region": "histogram"}])
def test_a_row_is_read_alike_whichever_other_rows_are_in_its_file(survey, tmp_path, rows, families):
    model = tb.fit(survey, label="vote", column_weights=None, families=families)
    part = {name: [values[row] for row in rows] for name, values in SURVEY.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.predict_proba(written(tmp_path / "some.sav", part, SURVEY_LABELS))
    assert (found == model.predict_proba(survey)[rows]).all()


@unchecked
def test_labels_are_read_as_categories_and_values_as_numbers_where_the_user_says_so(survey):
    model = tb.fit(survey, label="vote", column_weights=None, families={"trust": "categorical", "region": "histogram"})
    assert not [one for one in model.doubts if one.column in ("trust", "region")]
    assert {"none", "full", "1", "9"} <= set(model.describe("trust", all=True).to_frame()["value"])
    assert model.schema.columns["region"].reader.is_whole


@unchecked
def test_a_label_has_the_names_of_its_values(survey):
    model = tb.fit(survey, label="trust", column_weights=None)
    assert {"none", "full", "1"} <= set(model.classes)
    assert not [one for one in model.doubts if one.column == "trust"]
