"""Days since 1970 are shown as dates, wherever a value or a range of them is shown."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.cells.date_format import show_day
from tallybayes.reporting.column_cells import learned_cells
from tallybayes.reporting.column_chart_data import column_chart_data
from tallybayes.reporting.nomogram import nomogram

START = datetime.datetime(2024, 1, 1, 6)


def table(n=120):
    rng = np.random.default_rng(0)
    hours = rng.integers(0, 8000, n).tolist()
    return {
        "when": [START + datetime.timedelta(hours=hour) for hour in hours],
        "y": [hour > 4000 or i % 9 == 0 for i, hour in enumerate(hours)],
    }


@given(st.datetimes(datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30)))
def test_a_day_is_shown_as_its_date(moment):
    moment = moment.replace(microsecond=0)
    days = (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    assert datetime.datetime.fromisoformat(show_day(days)) == moment


def test_days_beyond_the_calendar_are_shown_too():
    assert show_day(3e6) == "10183-09-21"
    assert show_day(1e300) == "1e+300 days since 1970"
    assert show_day(-1e6).startswith("-768")


def test_explanations_show_dates_and_keep_what_is_scored():
    data = table()
    explanation = tb.fit(data, label="y", only=["when.elapsed"]).explain({"when": [START]})[0]
    assert explanation.values["when.elapsed"] == "2024-01-01 06:00"
    assert explanation.scored_values == {"when.elapsed": 19723.25}
    assert "2024-01-01 06:00" in str(explanation)
    assert "19723" not in str(explanation)
    assert explanation.to_dict()["values"]["when.elapsed"] == "2024-01-01 06:00"
    assert explanation.to_frame()["value"].tolist()[1] == "2024-01-01 06:00"
    missing = tb.fit(data, label="y").explain({"when": [None]})[0]
    assert missing.values["when.elapsed"] is None


@pytest.mark.parametrize("family", ["histogram", "gaussian"])
def test_descriptions_and_intervals_show_dates(family):
    model = tb.fit(table(), label="y", families={"when.elapsed": family}, only=["when.elapsed"])
    for described in (model.describe(), model.intervals(0.9)):
        row = described.columns["when.elapsed"][0]
        keys = [key for key in ("from", "to", "value", "mean", "estimate") if key in row]
        assert keys
        assert all(row[key].startswith("2024-") for key in keys)
        assert "197" not in str(described)
    if family == "gaussian":
        assert isinstance(model.describe().columns["when.elapsed"][0]["sd"], float)  # a length of time stays days


def test_coarse_cells_and_drift_show_dates():
    data = table(300) | {"x": np.random.default_rng(1).normal(size=300)}
    model = tb.fit(data, label="y", dependence="one", only=["when.elapsed", "x"])
    assert "when.elapsed: below 2024-" in str(model.describe())
    plain = tb.fit(data, label="y", only=["when.elapsed", "x"])
    cells = learned_cells(plain, plain.describe())["when.elapsed"]
    assert cells.describe(0).startswith("below 2024-")


@pytest.mark.parametrize("family", ["histogram", "gaussian"])
def test_charts_have_an_axis_of_dates(family):
    pytest.importorskip("altair")
    data = table()
    model = tb.fit(data, label="y", families={"when.elapsed": family})
    chart = column_chart_data(model, "when.elapsed")
    assert chart.is_date
    assert abs(chart.rows[0]["x"] / 1000 - START.replace(tzinfo=datetime.UTC).timestamp()) < 200 * 86_400
    drawn = tb.plot.densities(model, "when.elapsed").to_dict()
    assert drawn["layer"][0]["encoding"]["x"]["type"] == "temporal"
    assert not column_chart_data(model, "when.hour").is_date


def test_the_nomogram_knows_dates_and_places_rows_by_days():
    data = table()
    model = tb.fit(data, label="y")
    examples = [("a row", model.explain({"when": [START]})[0])]
    drawn = nomogram(model, ["when.elapsed", "when.month"], examples, model.describe().columns)
    assert [ruler.get("dates") for ruler in drawn["rulers"]] == [True, None]
    assert drawn["rows"][0]["at"][0] == 19723.25
