"""Years of two digits, whose century the column decides, and months and weeks without a day."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from pets import csv_file
from tallybayes.cells.century import full_year, window_start
from tallybayes.cells.date_format import DateFormat, parse_date
from tallybayes.columns.schema import Schema
from tallybayes.doubts import collect_doubts
from tallybayes.errors import ParameterError

THIS_YEAR = datetime.date.today().year


@given(st.lists(st.integers(0, 99), min_size=1), st.integers(1990, 2080), st.booleans())
def test_years_are_not_beyond_the_latest_unless_they_are_close_together(years, latest, may_be_future):
    start = window_start(years, latest=latest, may_be_future=may_be_future)
    full = [full_year(year, start) for year in years]
    assert [year % 100 for year in full] == years
    assert max(full) <= latest or (may_be_future and max(full) - min(full) <= 40 and min(full) <= latest + 1)


@given(st.integers(0, 99), st.integers(1700, 2200))
def test_a_window_has_every_year_once(year, start):
    assert start <= full_year(year, start) < start + 100


def fit(name, cells, **options):
    table = {name: cells, "y": [i % 2 for i in range(len(cells))]}
    with collect_doubts() as doubts:
        model = tb.fit(table, label="y", column_weights=None, **options)
    return model, [(one.kind, one.text, one.hint) for one in doubts if "two-digit" in one.text]


def years_of(model, name, texts):
    form = model.schema.columns[name].reader.dates
    moments = [parse_date(text, day_first=True, years_from=form.years_from or 1969) for text in texts]
    return [(datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=m.micros)).year for m in moments]


def test_births_are_not_in_the_future():
    cells = ["01/02/51", "13/12/62", "30/06/48", "05/05/99", "17/03/03"] * 4
    model, doubts = fit("joined", cells)
    assert years_of(model, "joined", cells[:5]) == [1951, 1962, 1948, 1999, 2003]
    assert doubts == [
        (
            "dates",
            "two-digit years: 51 was read as 1951",
            'families={"joined": "date:years_from=1969"} (--as joined=date:years_from=1969) reads 2051',
        )
    ]
    model, doubts = fit("joined", cells, families={"joined": "date:years_from=1969"})
    assert years_of(model, "joined", cells[:1]) == [2051]
    assert not doubts


def test_the_name_says_that_dates_are_births():
    """Births of one or two years: 1930, not next year's."""
    soon = (THIS_YEAR + 3) % 100
    cells = [f"01/02/{soon:02}", f"13/12/{soon:02}"] * 5
    assert years_of(fit("date_of_birth", cells)[0], "date_of_birth", cells[:1]) == [THIS_YEAR - 97]


def test_ends_of_contracts_may_be_in_the_future():
    cells = [f"{day}-Jun-{(THIS_YEAR + i) % 100:02}" for i in range(5) for day in (1, 30)]
    model, doubts = fit("until", cells)
    assert years_of(model, "until", cells[:1]) == [THIS_YEAR]
    assert years_of(model, "until", cells[-1:]) == [THIS_YEAR + 4]
    assert not doubts or THIS_YEAR > 2060


def test_years_of_four_digits_allow_the_future():
    cells = ["01/02/2080", "13/12/70", "30/06/75"] * 5
    assert years_of(fit("due", cells)[0], "due", ["30/06/75"])[0] in (1975, 2075)
    assert fit("due", ["01/02/2020", "13/12/2021"] * 5)[0].schema.columns["due"].reader.dates.years_from is None


def test_the_century_is_fixed_in_schema_and_model(tmp_path):
    cells = ["01/02/51", "13/12/62", "05/05/99"] * 10
    text = "born,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells))
    with pytest.warns(UserWarning, match="two-digit years: 51 was read as 1951"):
        model = tb.fit(csv_file(text), label="y")
    form = model.schema.columns["born"].reader.dates
    model.schema.save(tmp_path / "s.json")
    assert Schema.load(tmp_path / "s.json").columns["born"].reader.dates == form
    model.save(tmp_path / "m.tally")
    model = tb.load(tmp_path / "m.tally")
    assert DateFormat.parse(str(form)) == form
    expected = model.predict_proba({"born": ["1951-02-01"]})
    np.testing.assert_array_equal(model.predict_proba({"born": ["01/02/51"]}), expected)
    np.testing.assert_array_equal(model.predict_proba(csv_file("born\n01/02/51\n")), expected)
    assert list(model.predict_proba_one({"born": "01/02/51"}).values()) == expected[0].tolist()


def test_options_of_a_format_are_checked():
    assert DateFormat.parse("date:day_first,years_from=1930") == DateFormat(day_first=True, years_from=1930)
    for text in ("date:years_from=soon", "date:years_from=0", "date:years_from", "date:years_from=99999"):
        with pytest.raises(ParameterError):
            DateFormat.parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-12", (2024, 12, 1)),
        ("2024/12", (2024, 12, 1)),
        ("12/2024", (2024, 12, 1)),
        ("5-1999", (1999, 5, 1)),
        ("Dec 2024", (2024, 12, 1)),
        ("december-2024", (2024, 12, 1)),
        ("Sept. 2024", (2024, 9, 1)),
        ("2024-W05", (2024, 1, 29)),
        ("2024W05", (2024, 1, 29)),
    ],
)
def test_months_and_weeks_are_dates(text, expected):
    assert parse_date(text).micros == (datetime.datetime(*expected) - datetime.datetime(1970, 1, 1)) // (
        datetime.timedelta(microseconds=1)
    )


@pytest.mark.parametrize(
    "text", ["2024-13", "2024-00", "0999-12", "2024.12", "12.2024", "Dec 24", "2024-W60", "2024-5"]
)
def test_what_may_be_something_else_is_no_month(text):
    assert parse_date(text) is None


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")
def test_a_month_has_no_weekday():
    model, _ = fit("month", [*["2023-12", "2024-01", "2024-05"] * 20, "unknown"])
    assert [name for name in model.schema.families if name != "y"] == ["month.elapsed", "month.month", "month.year"]
    model, _ = fit("month", ["Dec 2023", "Jan 2024", "May 2024"] * 20)
    assert "month.month" in model.schema.families


def test_seasons_are_no_months():
    assert "season" in fit("season", [f"20{i:02}-{i + 1:02}" for i in range(12)] * 5)[0].schema.families
