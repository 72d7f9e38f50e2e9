"""Numbers that were dropped, lost their unit or were kept as categories: each is said, with the number of cells."""

import random
import warnings

import pandas as pd
import pyarrow as pa
import pytest

import tallybayes as tb
from tallybayes.cells.number_detection import detect_numbers
from tallybayes.cells.number_format import NumberFormat
from tallybayes.columns.readers.date_reader import UnreadDates
from tallybayes.errors import DataError

LATER = 20_500


def doubts_of(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [doubt.text for doubt in tb.fit(data, label="y", **options).doubts]


def written(tmp_path, kind, columns):
    """The same columns as a table, or as a file of this kind."""
    frame, path = pd.DataFrame(columns), tmp_path / f"a.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    return frame if kind == "frame" else str(path)


def labels(n):
    return ["pq"[i * 7 % 11 % 2] for i in range(n)]


def words_and_numbers(n, n_words):
    draw = random.Random(3)
    return [f"w{draw.randrange(n_words)}x" if i % 10 else str(i % 97) for i in range(n)]


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "frame"])
@pytest.mark.parametrize("n_words", [90, 600])  # more words than a format remembers, too
def test_all_words_of_a_column_with_a_given_family_are_counted(tmp_path, kind, n_words):
    data = written(tmp_path, kind, {"x": words_and_numbers(3000, n_words), "y": labels(3000)})
    (text,) = doubts_of(data, families={"x": "histogram"})
    assert text.startswith("2,700 cells are not numbers and were treated as missing: w")


def test_words_are_counted_below_the_first_rows_and_the_model_knows_them(tmp_path):
    data = written(tmp_path, "csv", {"x": words_and_numbers(25_000, 90), "y": labels(25_000)})
    with pytest.warns(UserWarning, match="22,500 cells are not numbers"):
        model = tb.fit(data, label="y", families={"x": "gaussian"}, column_weights=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict({"x": ["w1x", "5"]})


def test_words_that_the_user_has_settled_are_not_said(tmp_path):
    data = written(
        tmp_path, "csv", {"x": ["n.k." if i % 9 == 0 else f"{i % 50}" for i in range(400)], "y": labels(400)}
    )
    assert len(doubts_of(data, families={"x": "histogram"})) == 0  # frequent: a column of its own
    rare = written(
        tmp_path, "csv", {"x": ["n.k." if i % 99 == 5 else f"{i % 50}" for i in range(400)], "y": labels(400)}
    )
    assert doubts_of(rare, families={"x": "histogram"})[0].startswith("4 cells are not numbers")
    assert doubts_of(tb.read(rare, missing=["n.k."]), families={"x": "histogram"}) == []


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
@pytest.mark.parametrize(("unit", "cell"), [("%", "{}%"), ("kg", "{} kg"), ("$", "${}")])
def test_later_cells_without_the_unit_are_said(tmp_path, kind, unit, cell):
    numbers = [f"{1 + i % 90}" for i in range(LATER)]
    x = [cell.format(number) for number in numbers] + ["0.45", "7", "0"] * 20
    data = written(tmp_path, kind, {"x": x, "y": labels(len(x))})
    (text,) = doubts_of(data, column_weights=None)
    assert text.startswith(f"40 later cells have no unit and were taken as {unit}, as all first ones are")
    all_have = written(tmp_path, kind, {"x": [cell.format(n) for n in numbers] * 2, "y": labels(2 * LATER)})
    assert doubts_of(all_have, column_weights=None) == []


def test_areas_are_written_with_digits_or_superscripts():
    for cells, unit in ((["96 m2", "5m2"], "m²"), (["7 km2", "8 km²"], "km²"), (["3 ft3", "4 FT3"], "ft³")):
        found = detect_numbers({"a": pa.array(cells * 20)})["a"]
        assert found.is_numeric
        assert found.format.unit == unit
        assert None not in found.format.parse(pa.array(cells)).to_pylist()
    assert NumberFormat(unit="m²").parse(pa.array(["5 m2", "6 m²", "7 m3", "8 m22"])).to_pylist() == [5, 6, None, None]
    mixed = detect_numbers({"a": pa.array([f"{i} {'m2' if i % 2 else 'sqft'}" for i in range(40)])})["a"]
    assert not mixed.is_numeric
    assert "different units: m² (20), sqft (20)" in mixed.doubts[0].text


def test_swapped_dates_are_said_beside_other_cells(tmp_path):
    dates = [f"{1 + i % 12:02}/{1 + i % 28:02}/2023" for i in range(300)]
    x = [*dates[:4], "unknown", *dates, *["25/11/2024"] * 3]
    data = written(tmp_path, "csv", {"d": x, "y": labels(len(x))})
    swapped, others = doubts_of(data, column_weights=None)
    assert swapped.startswith("3 cells are not dates as the others are, but would be if day and month changed places")
    assert others == "1 cell is not a date, such as 'unknown': read as missing"


def test_counts_of_dates_are_written_and_merged():
    one, two = (
        UnreadDates({"d": (2, "'soon'")}, {"d": (1, "'31/01/2024'")}),
        UnreadDates({}, {"d": (4, "'30/01/2024'")}),
    )
    assert UnreadDates.from_rows(one.to_rows()).to_rows() == one.to_rows()
    both = [["d", 2, "'soon'"], ["d", 5, "'30/01/2024'"]]
    assert one.merge(two).to_rows() == two.merge(one).to_rows() == both


BESIDE = {
    "debit": [f"{i % 77} {'CR' if i % 3 else 'DR'}" for i in range(600)],
    "about": [f"~{i % 80}" for i in range(600)],
    "error": [f"{i % 80}±2" for i in range(600)],
    "degrees": [f"{i % 40}{'F' if i % 60 == 0 else 'C'}" for i in range(600)],
}
CLEAN = {
    "seat": [f"{1 + i % 40}{'ABCDEF'[i % 6]}" for i in range(600)],
    "code": [f"{100 + i % 60}-{'AB'[i % 2]}" for i in range(600)],
    "cabin": [f"C{i % 60}" for i in range(600)],
    "street": [f"{i % 50} {'Main St' if i % 2 else 'High St'} {i % 40}" for i in range(600)],
    "range": [f"{i % 50}-{i % 50 + 9}" for i in range(600)],
    "clock": [f"{i % 12}:{i % 60:02}{'ap'[i % 2]}m" for i in range(600)],
    "place": [f"{i % 10 + 1}{['st', 'nd', 'rd', 'th'][min(i % 10, 3)]}" for i in range(600)],
    "word": [f"w{i % 30}x" for i in range(600)],
}


@pytest.mark.parametrize("name", BESIDE)
def test_numbers_beside_signs_that_stay_categories_are_said(name):
    (text,) = doubts_of({"x": BESIDE[name], "y": labels(600)}, column_weights=None)
    assert text == (
        f'600 of 600 cells hold numbers beside other signs, such as "{BESIDE[name][0]}", and were taken as categories'
    )
    assert doubts_of({"x": BESIDE[name], "y": labels(600)}, column_weights=None, families={"x": "categorical"}) == []


@pytest.mark.parametrize("name", CLEAN)
def test_codes_and_addresses_are_not_said(name):
    texts = doubts_of({"x": CLEAN[name], "y": labels(600)}, column_weights=None)
    assert not [text for text in texts if "beside other signs" in text]


def test_the_line_shown_is_the_bad_one_below_a_blank_one(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n" + "1,2,p\n" * 5 + "\nDay Index,Sessions\n1,2,q\n")
    with pytest.raises(DataError, match="hint: the line is 'Day Index,Sessions';"):
        tb.fit(str(path), label="y")
