"""Factors beside numbers (K, M, bn): what they multiply, when a letter is a unit, and that all readers agree."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from pets import csv_file
from tallybayes.cells.number_detection import detect_numbers
from tallybayes.cells.number_factor import FACTORS
from tallybayes.cells.number_format import DECIMALS, THOUSANDS, NumberFormat
from tallybayes.errors import DataWarning, ParameterError

UNITS = ["", "€", "EUR", "kg", "%"]
FORMATS = [NumberFormat(d, t, u, factors=True) for d in DECIMALS for t in ("", *THOUSANDS) if t != d for u in UNITS]


@given(
    value=st.decimals(min_value=-9999, max_value=9999, places=2),
    form=st.sampled_from(FORMATS),
    factor=st.sampled_from(sorted(FACTORS)),
    case=st.sampled_from([str.lower, str.upper, str.title]),
)
def test_a_factor_multiplies_without_rounding(value, form, factor, case):
    digits = str(value).replace(".", form.decimal)
    apart = " " if form.unit == "kg" else ""
    unit = form.unit and apart + form.unit
    written = [f"{digits}{case(factor)}{unit}", f"{digits} {case(factor)}{unit}", f"{form.unit}{digits}{factor}"]
    written = [text.replace(f"{form.unit}-", f"-{form.unit}") for text in written]
    expected = float(f"{value}e{FACTORS[factor]}")
    assert form.parse(pa.array(written)).to_pylist() == [expected] * 3
    assert NumberFormat.from_dict(form.to_dict()) == form


@given(value=st.floats(-1e15, 1e15), form=st.sampled_from(FORMATS))
def test_a_format_with_factors_reads_what_it_writes(value, form):
    assert form.parse(pa.array([form.text(value)])).to_pylist() == [value]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["€254K", "€3.0M", "0", "1,200"], [254_000, 3_000_000, 0, 1200]),
        (["19M", "201k", "3.5M"], [19e6, 201e3, 3.5e6]),
        (["$1.2bn", "$300m", "$5k"], [1.2e9, 300e6, 5e3]),
        (["3 Mio", "2,5 Mio.", "1 Mrd"], [3e6, 2.5e6, 1e9]),
        (["3 Mio EUR", "200 Tsd. EUR", "7 EUR"], [3e6, 200e3, 7]),
        (["1 million dollars", "2.5 million dollars"], [1e6, 2.5e6]),
        (["950", "1.2k", "15k"], [950, 1200, 15_000]),
        (["5 m", "3.5 m", "2 m"], [5, 3.5, 2]),
        (["293 K", "300.5 K"], [293, 300.5]),
        (["5 kg", "3 kg"], [5, 3]),
    ],
)
def test_letters_that_can_be_read_in_one_way_only(cells, values):
    reading = detect_numbers({"a": pa.array(cells)})["a"]
    assert reading.is_numeric
    assert reading.format.parse(pa.array(cells)).to_pylist() == values
    assert not any("could be" in doubt.text for doubt in reading.doubts)


@pytest.mark.parametrize(
    ("cells", "first"),
    [(["1.2m", "850,000", "900,000"], 1_200_000), (["1.2 m", "2", "3"], 1.2), (["300 K", "290", "280"], 300)],
)
def test_a_letter_that_may_be_a_unit_is_decided_by_magnitudes_and_told(cells, first):
    reading = detect_numbers({"a": pa.array(cells)})["a"]
    assert reading.is_numeric
    assert reading.format.parse(pa.array(cells))[0].as_py() == first
    assert "could be" in reading.doubts[-1].text
    assert "--schema" in reading.doubts[-1].hint


@pytest.mark.parametrize("cells", [["5 km", "300 m"], ["38M", "40L"], ["$3M", "€2M"], ["12B", "13B", "14C"]])
def test_other_units_beside_letters_are_no_numbers(cells):
    reading = detect_numbers({"a": pa.array(cells * 5)}).get("a")
    assert reading is None or not reading.is_numeric


def test_one_odd_cell_does_not_decide_for_all_rows():
    """A shifted row: a factor multiplies its own cell only, a unit makes it a missing value; both are said."""
    plain = [str(37 * i) for i in range(200)]
    reading = detect_numbers({"a": pa.array([*plain, "3.0M"])})["a"]
    assert (reading.format.unit, reading.format.factors) == ("", True)
    assert [doubt.text for doubt in reading.doubts] == ["only 1 of 201 cells has a factor: '3.0M' was read as 3000000"]
    reading = detect_numbers({"a": pa.array([*plain, "3 kg"])})["a"]
    assert reading.needed_format == NumberFormat(words=("3 kg",))
    assert "treated as missing: 3 kg (1)" in reading.all_doubts("a")[0].text
    text = "".join(f"{cell},{'pq'[i % 2]}\n" for i, cell in enumerate([*plain, "3 kg"]))
    with pytest.warns(DataWarning, match=r"treated as missing: 3 kg \(1\)"):
        model = tb.fit(csv_file("x,y\n" + text), label="y")
    assert model.schema.columns["x"].reader.format.unit == ""


def test_every_reader_agrees(tmp_path):
    cells = ["€254K", "€3.0M", "0", '"€1,200"'] * 15
    text = "x,y\n" + "".join(f"{cell},{'pqpp'[i % 4]}\n" for i, cell in enumerate(cells))
    plain = {"x": [254e3, 3e6, 0.0, 1200.0] * 15, "y": list("pqpp") * 15}
    with pytest.warns(DataWarning, match="15 of 60 cells have no unit and were taken as €"):
        model = tb.fit(csv_file(text), label="y")
    assert model.same_counts(tb.fit(plain, label="y"))
    with pytest.warns(DataWarning, match="no unit"):
        frame = tb.fit({"x": [cell.strip('"') for cell in cells], "y": plain["y"]}, label="y")
    assert frame.same_counts(model)
    model.save(tmp_path / "m.tally")
    model = tb.load(tmp_path / "m.tally")
    expected = model.predict_proba({"x": [2_500_000.0]})
    np.testing.assert_array_equal(model.predict_proba({"x": ["€2.5M"]}), expected)
    np.testing.assert_array_equal(model.predict_proba(csv_file("x\n2.5M\n")), expected)
    assert list(model.predict_proba_one({"x": "€2.5m"}).values()) == expected[0].tolist()
    learned, forgotten = model.copy(), model.copy()
    learned.learn({"x": ["€1bn"], "y": ["p"]})
    forgotten.learn({"x": [1e9], "y": ["p"]})
    assert learned.same_counts(forgotten)


def test_a_format_of_a_schema_is_checked():
    with pytest.raises(ParameterError, match="whether K and M are factors"):
        NumberFormat.from_dict({"factors": "yes"})
    assert NumberFormat.from_dict({"decimal": "."}).factors is False


def test_ranges_with_brackets_are_no_numbers():
    """Cells such as `-10.000)`, with one bracket, were once taken for a number whose value then was missing."""
    cells = pa.array(["-10.000)", "[10.000-15.000)", "[75.000-"] * 10)
    assert "a" not in detect_numbers({"a": cells})


def test_a_few_cells_with_digits_that_are_no_numbers_decide_nothing():
    """One `1,000+`, of a shifted row, beside a frequent word; several such cells are values, and the column is text."""
    cells = ["19M", "201k", "3.5M", "8M", "Varies with device"] * 50
    reading = detect_numbers({"a": pa.array([*cells, "1,000+"])})["a"]
    assert reading.is_numeric
    assert list(reading.words) == ["Varies with device", "1,000+"]
    assert not detect_numbers({"a": pa.array([*cells, *["1,000+"] * 5])})["a"].is_numeric


def test_digits_that_were_made_illegible_are_no_numbers_with_a_unit():
    assert "zip" not in detect_numbers({"zip": pa.array([f"{i}xx" for i in range(100, 400)])})
    assert detect_numbers({"zoom": pa.array([f"{i}x" for i in range(100, 400)])})["zoom"].is_numeric
