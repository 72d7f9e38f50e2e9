"""Day or month first: what the dates of a column decide, those with points apart, and later rows in another order."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.cells.date_format import DateFormat, is_date, order_of
from tallybayes.columns.readers.date_cells import read_dates
from tallybayes.errors import DataWarning

DAY_FIRST = [f"{1 + 5 * i % 28:02}/{1 + i % 12:02}/2023" for i in range(60)]
TWELVE_DAYS_MONTH_FIRST = [f"03/{day:02}/2024" for day in range(1, 13)]


def fit(dates, **options):
    return tb.fit({"d": dates, "y": [i // 2 % 2 for i in range(len(dates))]}, label="y", **options)


def test_points_begin_with_the_day_beside_slashes_that_begin_with_the_month():
    dates = [text for i in range(1, 13) for text in (f"{i:02}/{10 + i}/2024", f"{i:02}.{13 - i:02}.2024")] * 2
    with pytest.warns(DataWarning, match="dates with points were read with the day first, the others with the month"):
        model = fit(dates)
    assert model.schema.family_name("d") == "date:month_first"
    cells = read_dates(["02/03/2024", "02.03.2024"], model.schema.columns["d"].reader.dates)
    assert cells.micros.astype("M8[us]").astype("M8[D]").astype(str).tolist() == ["2024-02-03", "2024-03-02"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = fit(dates, families={"d": "date:month_first,points_month_first"})  # what the hint says
    cells = read_dates(["02/03/2024", "02.03.2024"], same.schema.columns["d"].reader.dates)
    assert cells.micros[0] == cells.micros[1]


def test_a_model_of_slashes_reads_later_points_with_the_day_first():
    model = fit([f"{1 + i % 12:02}/{1 + i % 28:02}/2023" for i in range(60)])
    assert model.schema.family_name("d") == "date:month_first"
    expected = model.predict_proba([{"d": "2024-03-02"}])
    assert (model.predict_proba([{"d": "02.03.2024"}]) == expected).all()


def test_points_decide_for_themselves_and_by_what_the_user_says():
    assert fit([f"{1 + i % 12:02}.{1 + i % 28:02}.2023" for i in range(60)]).schema.family_name("d") == (
        "date:month_first,points_month_first"
    )
    both = [f"{1 + i % 12:02}.{1 + i // 12:02}.2023" for i in range(60)]
    assert fit(both).schema.family_name("d") == "date:day_first"
    assert fit(both, families={"d": "date:month_first"}).schema.columns["d"].reader.dates == DateFormat(
        day_first=False, points_day_first=False
    )


@pytest.mark.parametrize("verb", ["predict", "learn", "evaluate"])
def test_later_rows_that_are_closer_together_in_the_other_order_are_doubted(verb):
    model = fit(DAY_FIRST)
    rows = {"d": TWELVE_DAYS_MONTH_FIRST, "y": [0, 1] * 6}
    with pytest.warns(
        DataWarning, match=r"'03/01/2024' was read with the day first.*\n.*within 12 days instead of 336"
    ):
        tb.evaluate(model, rows) if verb == "evaluate" else getattr(model, verb)(rows)


def test_many_later_dates_of_all_months_none_of_which_is_after_the_twelfth_are_doubted():
    model = fit(DAY_FIRST)
    month_first = [f"{month:02}/{day:02}/2023" for month in range(1, 13) for day in (3 + month % 5, 8, 12 - month % 3)]
    with pytest.warns(DataWarning, match=r"none of \d\d dates is after the twelfth, so that all .* the month first"):
        model.predict({"d": month_first})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict({"d": month_first[:12]})  # too few to be sure
        model.predict({"d": [f"01/{month:02}/20{year}" for month in range(2, 13) for year in (21, 22)]})  # of months
        model.predict({"d": [*month_first, "13/02/2023"]})


def test_later_rows_are_not_doubted_where_they_agree_or_nothing_can_be_said():
    model = fit(DAY_FIRST)
    specified = fit(DAY_FIRST, families={"d": "date:day_first"})
    twelve_days = [f"{day:02}/03/2024" for day in range(1, 13)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict({"d": twelve_days})
        model.predict({"d": TWELVE_DAYS_MONTH_FIRST[:4]})  # too few
        model.predict({"d": DAY_FIRST})
        model.predict({"d": ["13/03/2024", *TWELVE_DAYS_MONTH_FIRST]})  # one that tells
        specified.predict({"d": TWELVE_DAYS_MONTH_FIRST})


@given(st.lists(st.dates(), min_size=1, max_size=20), st.sampled_from("/-."), st.booleans())
def test_dates_in_one_order_are_read_back_wherever_one_of_them_tells(days, separator, day_first):
    form = f"%d{separator}%m{separator}%Y" if day_first else f"%m{separator}%d{separator}%Y"
    texts = [day.strftime(form).zfill(10) for day in days if day.year >= 1000]
    order = order_of(dict.fromkeys(texts, 1))
    assert all(map(is_date, texts))
    if order is None or not any(day.day > 12 for day in days if day.year >= 1000):
        return
    cells = read_dates(texts, DateFormat(order.day_first, points_day_first=order.points_day_first))
    expected = [day.isoformat() for day in days if day.year >= 1000]
    assert cells.micros.astype("M8[us]").astype("M8[D]").astype(str).tolist() == expected
    assert not order.ambiguous


@pytest.mark.parametrize("verb", ["fit", "predict", "learn"])
def test_a_file_among_others_with_another_order_is_doubted(tmp_path, verb):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    for path, dates in ((first, DAY_FIRST), (second, TWELVE_DAYS_MONTH_FIRST)):
        rows = (f"{date},{i // 2 % 2}\n" for i, date in enumerate(dates))
        path.write_text("d,y\n" + "".join(rows), encoding="utf-8")
    model = fit(DAY_FIRST)
    files = [first, second]
    with pytest.warns(DataWarning, match=r"'03/01/2024' was read with the day first.*\n.*within 12 days"):
        tb.fit(files, label="y") if verb == "fit" else getattr(model, verb)(files)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tb.fit([first, first], label="y")


def test_what_is_no_date_decides_no_order():
    assert order_of({"February 11, 2018": 5, "1.0.19": 1, "13/14/2018": 1, "32/01/2018": 1}) is None


def test_a_model_that_has_seen_neither_order_says_which_it_takes():
    model = fit([f"2023-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(60)])
    assert model.schema.family_name("d") == "date"
    with pytest.warns(DataWarning, match="were read with the day first: those of the model do not tell"):
        model.predict({"d": ["03/04/2023"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict({"d": ["2024-03-04", "04.03.2024", "4 Mar 2024"]})
