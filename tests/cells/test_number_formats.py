"""Formats of numbers in text: laws of parsing, how a format is found, and what happens where cells contradict it."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from pets import csv_file
from tallybayes.cells.arrow import to_numpy
from tallybayes.cells.number_detection import detect_numbers
from tallybayes.cells.number_format import DECIMALS, THOUSANDS, NumberFormat
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, DataWarning, ParameterError
from tallybayes.io.read import read

UNITS = ["", "%", "$", "€", "EUR", "kg", "km/h", "°C", "years old"]
FORMATS = [NumberFormat(d, t, unit) for d in DECIMALS for t in ("", *THOUSANDS) if t != d for unit in UNITS]
numbers = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15)


@given(value=numbers, form=st.sampled_from(FORMATS))
def test_a_number_is_read_as_it_was_written(value, form):
    text = form.text(value)
    written = [text, f" {text} ", text.replace("-", "\u2212"), text.replace(" ", "\u00a0"), text.replace("'", "\u2019")]
    mantissa, power = f"{value:.16e}".replace(".", form.decimal).split("e")  # enough digits for any double
    written += [f"{mantissa}e{power}", f"{mantissa}E{int(power)}"]
    if value < 0:
        written += [f"({text[1:]})", f"{text[1:]}-"]
    assert form.parse(pa.array(written)).to_pylist() == [value] * len(written)
    assert form.parse(pa.array(written, pa.large_string())).to_pylist() == [value] * len(written)


with_power = st.from_regex(r"[-(]?[0-9]{0,3}[.,]?[0-9]{0,3}[eE][+-]?[0-9]{1,3}[-)]?", fullmatch=True)


@given(
    text=st.one_of(st.text(alphabet="0123456789.,' -+()eE$%kg", max_size=12), with_power), form=st.sampled_from(FORMATS)
)
def test_what_is_parsed_is_a_number_in_its_format(text, form):
    """Read in another way, by Python: signs, unit and thousands separators taken away."""
    (value,) = form.parse(pa.array([text])).to_pylist()
    if value is None:
        return
    mantissa, _, power = text.lower().partition("e")
    digits = "".join(sign for sign in mantissa if sign in "0123456789" + form.decimal).replace(form.decimal, ".")
    exponent = int("".join(sign for sign in power if sign in "0123456789") or 0)
    assert abs(value) == float(f"{digits}e{-exponent if power.startswith('-') else exponent}")
    assert (np.copysign(1, value) < 0) == ("(" in text or "-" in mantissa or "-" in power[1:])


@given(
    values=st.lists(st.integers(1, 10**7), min_size=3, max_size=20),
    form=st.sampled_from([NumberFormat(d, t, u) for d in DECIMALS for t in ",.' " if t != d for u in ("", "$", "kg")]),
)
def test_a_format_that_a_column_decides_is_found(values, form):
    """Two cells can be read in one way only: one with both signs, one with two groups."""
    cells = pa.array([form.text(value) for value in [1234567.25, 2345678.5, *values]])
    reading = detect_numbers({"a": cells})["a"]
    assert reading.is_numeric
    assert not reading.doubts
    assert reading.format.parse(cells).to_pylist() == [1234567.25, 2345678.5, *values]


@settings(max_examples=40)
@given(
    n_numbers=st.integers(20, 40),
    junk=st.lists(st.sampled_from(["unknown", "refused", "n.k.", "?!", "3+", "x", "y", "z", "late"]), max_size=120),
)
def test_more_dirt_never_means_less_warning(n_numbers, junk):
    """Once a column of numbers has an odd cell, there is a warning, and later a reason that counts the numbers."""
    for n in range(1, len(junk) + 1, 7):
        cells = pa.array([str(i) for i in range(n_numbers)] + junk[:n])
        reading = detect_numbers({"a": cells})["a"]
        assert (reading.n_numbers, reading.n_cells) == (n_numbers, n_numbers + n)
        if n_numbers >= n:
            assert reading.all_doubts("a")
        if reading.is_numeric:
            assert reading.all_doubts("a")
            assert "not numbers: " in reading.remark
        else:
            assert reading.remark == f"{n_numbers} of {n_numbers + n} cells are numbers"


@pytest.mark.parametrize(
    ("cells", "options", "values"),
    [
        (["5,201", "865"], {}, [5201, 865]),
        (["5,201", "3", "7"], {}, [5.201, 3, 7]),
        (["1.132", "865"], {}, [1132, 865]),
        (["1.132", "2"], {}, [1.132, 2]),
        (["5,201", "865"], {"decimal": ","}, [5.201, 865]),
        (["5,201", "3"], {"thousands": ","}, [5201, 3]),
        (["5,201", "4,100"], {"delimiter": ";"}, [5.201, 4.1]),
        (["0,123", "865"], {}, [0.123, 865]),
        (["1,234,567", "865"], {}, [1234567, 865]),
    ],
)
def test_where_two_readings_fit_the_magnitudes_decide_unless_it_is_told(cells, options, values):
    reading = detect_numbers({"a": pa.array(cells)}, **options)["a"]
    assert reading.format.parse(pa.array(cells)).to_pylist() == values
    is_clear = "decimal" in options or "thousands" in options or cells[0] in ("0,123", "1,234,567")
    assert len(reading.doubts) == (0 if is_clear else 1)


def test_the_other_columns_of_a_file_decide():
    for sign, expected in ((",", [5.201, 865]), (".", [5201, 865])):
        columns = {"a": pa.array(["5,201", "865"]), "b": pa.array(["1.5", "2.25"]), "c": pa.array(["x", "y"])}
        columns["b"] = pa.array([cell.as_py().replace(".", sign) for cell in columns["b"]])
        reading = detect_numbers(columns)["a"]
        assert reading.format.parse(columns["a"]).to_pylist() == expected
        assert not reading.doubts


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")
@pytest.mark.parametrize(
    ("start", "later"),
    [("1.5", "2,5"), ("865", "5,201"), ("5,201", "1,5"), ("1,5", "1.5"), ("$5", "€5"), ("5 kg", "5 lb")],
)
def test_a_later_cell_that_contradicts_the_first_rows_is_an_error_of_a_fitted_model(start, later):
    rows = f'"{start}",p\n"{start}",q\n' * 10_500
    model = tb.fit(csv_file(f"x,y\n{rows}"), label="y")
    with pytest.raises(DataError, match=rf"a.csv, line 21002, column 'x': expected a number .*got '{later}'"):
        model.learn(csv_file(f'x,y\n{rows}"{later}",p\n'))


@pytest.mark.parametrize("start", ["1.5", "1,234.5", "unknown"])
@pytest.mark.parametrize("keep", [False, True])
def test_later_words_are_missing_and_told_with_the_first_line(start, keep):
    text = "x,y\n" + "1.5,p\n2.5,q\n" * 15_000 + "lost,p\n3.5,q\nlost,q\n"
    text = text.replace("1.5", f'"{start}"', 1)
    source = csv_file(text)
    wanted = source.head().readings["x"].needed_format or "number"
    with pytest.warns(
        DataWarning, match=r"'x': 2 cells are not .* lost \(2\); the first is in .*a.csv, line 30002"
    ) as said:
        values = np.concatenate([to_numpy(table.columns["x"]) for table in source.batches({"x": wanted}, keep=keep)])
    assert len(said) == 1
    first = {"unknown": np.nan, "1,234.5": 1234.5}.get(start, 1.5)
    expected = [first, *[2.5, 1.5] * 14_999, 2.5, np.nan, 3.5, np.nan]
    np.testing.assert_array_equal(values.astype(float), expected)


def test_learning_and_forgetting_rows_with_words_is_exact():
    with pytest.warns(DataWarning, match=r"'\$1,200' was read as 1200; it could be 1.2 as well"):
        model = tb.fit({"price": ["$5", "$1,200", "$30"], "y": ["p", "q", "p"]}, label="y")
    before = model.copy()
    rows = 'price,y\n"$2,500",p\nlost,q\n'
    with pytest.warns(DataWarning, match=r"'price': 1 cell is not a number .* lost \(1\)"):
        model.learn(csv_file(rows))
    assert model.same_counts(tb.fit({"price": [5, 1200, 30, 2500, None], "y": list("pqppq")}, label="y"))
    with pytest.warns(DataWarning, match=r"lost"):
        model.forget({"price": ["$2,500", "lost"], "y": ["p", "q"]})
    assert model == before


def test_a_model_with_a_format_reads_plain_numbers_frames_and_files(tmp_path):
    text = "price;y\n" + "1.234,5 €;p\n2.234,5 €;q\n" * 2
    model = tb.fit(csv_file(text), label="y")
    expected = model.predict_proba({"price": [1234.5]}).tolist()
    assert model.predict_proba({"price": ["1.234,5 €"]}).tolist() == expected
    assert model.predict_proba({"price": np.array(["1234,5"], object)}).tolist() == expected
    assert model.predict_proba(pa.table({"price": ["1234,5"]})).tolist() == expected
    assert model.predict_proba(csv_file("price\n1234.5\n", decimal=".")).tolist() == expected
    assert list(model.predict_proba_one({"price": "1.234,5"}).values()) == expected[0]
    with pytest.raises(DataError, match=r"column 'price', row 1: expected a number written like €1.234,5, got '1.5'"):
        model.predict({"price": ["3", "1.5"]})
    assert Schema.from_dict(model.schema.to_dict()) == model.schema
    model.save(tmp_path / "a.tally")
    assert tb.load(tmp_path / "a.tally").schema == model.schema
    reader = model.schema.to_dict()["columns"]["price"]["reader"]
    assert reader == {"kind": "number", "format": {"decimal": ",", "thousands": ".", "unit": "€"}}


def test_a_model_of_plain_numbers_reads_every_plain_cell_as_it_is():
    """1.132 beside 865 could be thousands in a file of its own, but the model has learned it as it is."""
    model = tb.fit(csv_file("x,y\n1.132,p\n865.5,q\n"), label="y")
    assert model.schema.columns["x"].reader.format is None
    data = [table.columns["x"].to_pylist() for table in csv_file("x\n1.132\n865\n").batches({"x": "number"})]
    assert data == [[1.132, 865]]
    german = csv_file("x;z\n1,5;2\n2,5;3\n")
    assert [table.columns["x"].to_pylist() for table in german.batches({"x": "number"})] == [[1.5, 2.5]]


def test_numbers_among_words_in_memory():
    model = tb.fit({"x": ["5,201", "1,300,000", "7"], "z": ["1", "2", "1"], "y": ["p", "q", "p"]}, label="y")
    assert [str(field.family) for field in model.schema.columns.values()] == ["histogram", "categorical"]
    with pytest.warns(DataWarning, match=r"'x': 1 cell is not a number and was treated as missing: none of it \(1\)"):
        model = tb.fit({"x": [1, 2, 3, "none of it"], "y": ["p", "q", "p", "q"]}, label="y")
    assert str(model.schema.columns["x"].family) == "histogram"


@pytest.mark.parametrize("cell", ["1,5", "5,201", "3,25"])
def test_numbers_with_commas_never_become_tags(cell):
    text = "x,y\n" + f'"{cell}",p\n"2{cell}",q\n' * 30 + '"$1,5",p\n"€2,5",q\n' * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = tb.fit(csv_file(text), label="y")
    assert not str(model.schema.columns["x"].family).startswith("tags")


def test_orders_that_contradict_each_other_are_refused():
    with pytest.raises(ParameterError, match="a thousands separator that is not the decimal sign, got ','"):
        read("a.csv", decimal=",", thousands=",")
    with pytest.raises(ParameterError, match=r"a thousands separator: , or . or ' or a space, got ';'"):
        read("a.csv", thousands=";")
    with pytest.raises(ParameterError, match="missing or missing_only, not both"):
        read("a.csv", missing=["x"], missing_only=["y"])
    with pytest.raises(ParameterError, match="a list of words for missing, got 'x'"):
        read("a.csv", missing="x")


def test_missing_words_that_are_numbers_are_missing_with_spaces_around_them():
    source = csv_file("x,y\n1, -999\n -999 ,q\n2,q\n", missing=["-999"])
    (table,) = source.batches({"x": "number", "y": None})
    assert table.columns["x"].to_pylist() == [1, None, 2]
    assert table.columns["y"].to_pylist() == [None, "q", "q"]


def test_added_words_are_saved_and_remembered(tmp_path):
    model = tb.fit(csv_file("x,y\nlost,p\n-,q\nred,p\n", missing=["lost"]), label="y")
    model.save(tmp_path / "a.tally")
    model = tb.load(tmp_path / "a.tally")
    assert model.same_counts(tb.fit({"x": [None, None, "red"], "y": list("pqp")}, label="y"))
    assert model.predict_proba(csv_file("x\n LOST \n")).tolist() == model.predict_proba({"x": [None]}).tolist()


def test_schemas_of_older_files_replace_the_usual_words():
    schema = Schema.from_dict({"label": "y", "missing": ["-9"], "columns": {"x": {"family": "categorical"}}})
    model = tb.fit(csv_file("x,y\nNA,p\n-9,q\n,p\n"), schema=schema)
    assert model.same_counts(
        tb.fit({"x": ["NA", None, None], "y": list("pqp")}, label="y", families={"x": "categorical"})
    )
    with pytest.raises(ParameterError, match="not both"):
        Schema.from_dict({"label": "y", "missing": [], "also_missing": [], "columns": {}})
    facts = {"kind": "number", "format": {"point": "."}}
    with pytest.raises(ParameterError, match="a format of numbers"):
        Schema.from_dict({"label": "y", "columns": {"x": {"family": "histogram", "reader": facts}}})


def test_hints_about_numbers_that_cannot_be_compared_are_typed():
    units = [f"{'$£'[i % 2]}{i * 37 % 9973}" for i in range(300)]
    ways = [f"{i}{'.,'[i % 2]}{10 + i % 90}" for i in range(300)]
    lines = [f"{a};{b};{'uv'[i * i % 7 % 2]}\n" for i, (a, b) in enumerate(zip(units, ways, strict=True))]
    path = csv_file("".join(["my p;w;y\n", *lines]))
    with pytest.warns(DataWarning):
        found = tb.fit(path, label="y", column_weights=None).doubts
    assert [one.hint.partition(";")[0] for one in found] == [
        "ignore=['my p'] (--ignore 'my p') leaves it out",
        "ignore=['w'] (--ignore w) leaves it out",
    ]
    assert all(one.text.endswith("not taken for numbers; excluded as an identifier") for one in found)
    assert tb.fit(path, label="y", column_weights=None, ignore=["my p", "w"]).doubts == ()


def test_a_word_with_a_space_is_quoted_in_a_hint():
    cells = pa.array(["12 m", *map(str, range(1000, 1400)), "3.0M"])
    (doubt, *_) = detect_numbers({"x": cells})["x"].all_doubts("x")
    assert doubt.hint.startswith("missing=['12 m'] (--missing '12 m') treats it as missing")


@pytest.mark.parametrize("cells", ["3\n3 kg\n4", "3 kg\n4 kg\n5 kg"])
def test_a_unit_that_the_model_does_not_have_is_said(cells):
    model = tb.fit({"x": [i % 7 for i in range(60)], "y": ["a", "b"] * 30}, label="y", column_weights=None)
    with pytest.warns(DataWarning) as said:
        model.predict(csv_file(f"x\n{cells}\n"))
    assert [str(one.message).partition("\n")[0] for one in said] == [
        "column 'x': the unit kg was dropped: the numbers of the model have none"
    ]


def test_points_and_commas_that_could_both_be_thousands_are_said():
    cells = pa.array([f"{1 + i % 9}{'.,'[i % 2]}{100 + i * 7 % 900}" for i in range(600)])
    (one,) = detect_numbers({"a": cells})["a"].doubts
    assert one.text == "numbers are written in two ways: '1.100' was read as 1.1 and '2,107' was read as 2107"
    assert "(--decimal ,) reads them the other way" in one.hint
    assert not detect_numbers({"a": cells}, decimal=",")["a"].doubts
    clear = pa.concat_arrays([cells, pa.array(["1,234.5"])])
    assert not detect_numbers({"a": clear})["a"].doubts


@pytest.mark.parametrize("unit", ["E", "\N{DEGREE SIGN}W", "\N{DEGREE SIGN}"])
@pytest.mark.parametrize("sign", [".", ","])
def test_degrees_are_no_thousands(unit, sign):
    cells = pa.array([f"{5 + i % 9}{sign}{100 + i * 7 % 900}{unit}" for i in range(600)])
    reading = detect_numbers({"a": cells, "b": pa.array(["1,5", "2,5"])})["a"]
    assert reading.doubts == ()
    assert reading.format.parse(cells)[0].as_py() == 5.1


@pytest.mark.parametrize(
    "cells",
    [
        [f"{60 + i * 7 % 89} min" if i % 3 == 0 else f"{1 + i % 9} Season" for i in range(600)],
        [f"{['~', 'ca. ', ''][i % 3]}{1 + i * 7 % 89}" for i in range(600)],
        [f"{1 + i * 7 % 400}{'' if i % 100 < 49 else ['*', '[1]'][i % 2]}" for i in range(600)],
        [str(18 + i * 7 % 61) if i % 3 == 0 else f"colour {'abcdefg'[i % 7]}" for i in range(20_000)],
    ],
)
def test_many_different_numbers_among_text_are_said_though_they_repeat(cells):
    reading = detect_numbers({"a": pa.array(cells)})["a"]
    assert not reading.is_numeric
    assert "cells are numbers, too few to take it for numbers" in reading.all_doubts("a")[0].text
    numbered = pa.array([str(i % 40) if i % 3 == 0 else "other" for i in range(6000)])
    assert detect_numbers({"a": numbered})["a"].all_doubts("a") == ()
