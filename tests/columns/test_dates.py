"""Columns of dates: what is read, what is in doubt and said, and the parts that they become."""

import datetime
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tallybayes as tb
from tallybayes.cells.date_format import DateFormat, parse_date
from tallybayes.columns.readers.date_cells import NO_DATE, read_dates
from tallybayes.errors import DataError, DataWarning, FileError, ParameterError

EPOCH = datetime.datetime(1970, 1, 1)


def micros(moment):
    return (moment - EPOCH) // datetime.timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-12-31", (2024, 12, 31)),
        (" 2024/12/31 ", (2024, 12, 31)),
        ("2024.1.2", (2024, 1, 2)),
        ("31.12.2024", (2024, 12, 31)),
        ("31/12/2024", (2024, 12, 31)),
        ("31-12-99", (1999, 12, 31)),
        ("31 Dec 2024", (2024, 12, 31)),
        ("31-DEC-2024", (2024, 12, 31)),
        ("1st May 2024", (2024, 5, 1)),
        ("Dec 31, 2024", (2024, 12, 31)),
        ("Tue, 31 Dec 2024 10:00:00 +0100", (2024, 12, 31, 9)),
        ("December 31 2024 1:05 pm", (2024, 12, 31, 13, 5)),
        ("20241231", (2024, 12, 31)),
        ("2024-12-31T23:59:59.25", (2024, 12, 31, 23, 59, 59, 250000)),
        ("2024-12-31 12:00 AM", (2024, 12, 31)),
        ("2024-12-31T10:00:00Z", (2024, 12, 31, 10)),
        ("2024-12-31T10:00+02:00", (2024, 12, 31, 8)),
        ("20241231T100000", (2024, 12, 31, 10)),
        ("20241231T1000+0200", (2024, 12, 31, 8)),
        ("Tue Dec  3 10:20:30 2024", (2024, 12, 3, 10, 20, 30)),
        ("Tue Dec 31 10:00:00 +0200 2024", (2024, 12, 31, 8)),
        ("31/Dec/2024:10:00:00 +0100", (2024, 12, 31, 9)),
        ("0001-01-01", (1, 1, 1)),
        ("9999-12-31", (9999, 12, 31)),
    ],
)
def test_forms_of_dates(text, expected):
    found = parse_date(text)
    assert found is not None
    assert found.micros == micros(datetime.datetime(*expected))


@pytest.mark.parametrize(
    "text",
    ["20241331T100000", "20241231T2500", "Dec 31 10:00:00",
     "", "soon", "2024-13-01", "2023-02-29", "32.1.2024", "2024-1", "1-5", "1.2.3", "10.0.0.1", "25:00", "10:60",
     "13:00 pm", "2024-12-31 99:00", "12", "3-2", "2024-12/31", "x" * 100_000, "٣١.١٢.٢٠٢٤x"],
)  # fmt: skip
def test_other_texts_are_no_dates(text):
    assert parse_date(text) is None


@given(st.datetimes())
def test_dates_of_python_are_read_back(moment):
    for text in (moment.isoformat(), moment.isoformat(" ")):
        assert parse_date(text).micros == micros(moment)


@given(st.text(max_size=30))
def test_no_text_is_too_odd(text):
    found = parse_date(text)
    assert found is None or isinstance(found.micros, int)


def test_every_kind_of_input_gives_the_same_parts():
    moments = [datetime.datetime(2024, 1, 1, 6) + datetime.timedelta(days=17 * i, hours=5 * i) for i in range(40)]
    label = ["a", "b"] * 20
    kinds = {
        "objects": moments,
        "text": [one.isoformat() for one in moments],
        "numpy": np.array(moments, "M8[ns]"),
        "pandas": pd.Series(moments),
        "arrow": pa.array(moments, pa.timestamp("ms")),
        "zoned": pa.array(moments, pa.timestamp("us", "UTC")),
        "dictionary": pa.array([one.isoformat() for one in moments]).dictionary_encode(),
    }
    models = {name: tb.fit({"when": column, "y": label}, label="y") for name, column in kinds.items()}
    families = list(models["text"].schema.families)
    assert families == ["when.elapsed", "when.hour", "when.month", "when.weekday", "when.year"]
    for name, model in models.items():
        assert model.same_counts(models["text"]), name
        for other, column in kinds.items():
            assert np.array_equal(model.log_score({"when": column}), models["text"].log_score({"when": moments})), other


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)])
def test_epochs_by_their_magnitude(unit, factor):
    seconds = [1_700_000_000 + 90_000 * i for i in range(30)]
    expected = tb.fit({"at": [EPOCH + datetime.timedelta(seconds=s) for s in seconds], "y": [0, 1] * 15}, label="y")
    for column in ([s * factor for s in seconds], [str(s * factor) for s in seconds]):
        model = tb.fit({"at": column, "y": [0, 1] * 15}, label="y", families={"at": "date:epoch"})
        assert model.schema.family_name("at") == f"date:epoch={unit}"
        assert model.same_counts(expected)


def test_a_zone_moves_the_clock_but_not_cells_without_an_offset():
    cells = ["2024-07-01T22:30:00Z", "2024-01-01T22:30:00Z", "2024-07-01T22:30:00", None]
    found = read_dates(cells, DateFormat(zone="Europe/Berlin"))
    hours = (found.micros[:3] // 3_600_000_000 % 24).tolist()
    assert hours == [0, 23, 22]
    assert found.micros[3] == NO_DATE
    with pytest.raises(ParameterError, match="Mars/Base"):
        tb.fit({"d": cells, "y": [0, 1, 0, 1]}, label="y", families={"d": "date:zone=Mars/Base"})


def test_day_and_month_are_decided_by_the_whole_column():
    def form(texts):
        return tb.fit({"d": texts * 5, "y": [0, 1] * (len(texts) * 5 // 2)}, label="y").schema.family_name("d")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert form(["01/02/2024", "31/01/2024"]) == "date:day_first"
        assert form(["01/02/2024", "01/31/2024"]) == "date:month_first"
        assert form(["01.02.2024", "05.06.2024"]) == "date:day_first"
        assert form(["2024-01-02", "2024-06-05"]) == "date"
    with pytest.warns(DataWarning, match=r"'01/02/2024' was read with the month first\nhint: .*--as d=date:day_first"):
        assert form(["01/02/2024", "03/04/2024"]) == "date:month_first"
    table = {"d": ["01/02/2024", "31/01/2024", "02/02/2024", "31/01/2024"], "y": [0, 1, 0, 1]}
    with pytest.warns(
        DataWarning, match="2 cells are not dates .*if day and month changed places, such as '31/01/2024'"
    ):
        tb.fit(table, label="y", families={"d": "date:month_first"})


def test_words_among_dates_are_missing_counted_and_said():
    days = [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(98)] + ["unknown", "tba"]
    with pytest.warns(
        DataWarning, match=r"column 'd': 2 cells are not dates, such as 'unknown': read as missing"
    ) as seen:
        model = tb.fit({"d": days, "y": [0, 1] * 50}, label="y", column_weights=None)
    assert len([one for one in seen if issubclass(one.category, DataWarning)]) == 1
    with pytest.warns(DataWarning, match="1 cell is not a date, such as 'never'"):
        scores = model.log_score({"d": ["never", "2024-01-01"]})
    assert np.array_equal(scores[:1], model.log_score({"d": [None]}))
    with pytest.warns(DataWarning, match="'never'"):
        model.predict({"d": "never"})


def test_parts_that_do_not_vary_are_not_columns():
    days = [f"2024-05-{1 + i % 28:02}" for i in range(40)]
    model = tb.fit({"d": days, "same": ["2024-05-01"] * 40, "t": ["10:30", "11:30"] * 20, "y": [0, 1] * 20}, label="y")
    assert list(model.schema.families) == ["d.elapsed", "d.weekday", "t.hour"]
    assert model.schema.columns["same"].reason == "dates and times, all the same"
    asked = tb.fit({"d": days, "y": [0, 1] * 20}, label="y", families={"d.year": "categorical"})
    assert str(asked.schema.families["d.year"]) == "categorical"


def test_columns_and_parts_are_chosen_by_name():
    table = {
        "d": [f"{2020 + i % 4}-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(60)],
        "x": [1.5, 2.5] * 30,
        "y": [0, 1] * 30,
    }
    everything = {"d.elapsed", "d.year", "d.month", "d.weekday", "x"}
    assert {*tb.fit(table, label="y").schema.families} == everything
    assert {*tb.fit(table, label="y", ignore=["d"]).schema.families} == {"x"}
    assert {*tb.fit(table, label="y", ignore=["d.year"]).schema.families} == everything - {"d.year"}
    assert {*tb.fit(table, label="y", only=["d"]).schema.families} == everything - {"x"}
    assert {*tb.fit(table, label="y", only=["d.month", "x"]).schema.families} == {"d.month", "x"}
    assert {*tb.fit(table, label="y", families={"d": "categorical"}).schema.families} == {"d", "x"}
    with pytest.raises(ParameterError, match=r"name of a column, got 'd\.century'"):
        tb.fit(table, label="y", ignore=["d.century"])
    with pytest.raises(ParameterError, match=r"name of a column, got 'x\.month'"):
        tb.fit(table, label="y", only=["x.month"])


def test_a_column_with_the_name_of_a_part_stays_itself():
    days = [f"{2020 + i % 4}-05-{1 + i % 28:02}" for i in range(60)]
    model = tb.fit({"d": days, "d.year": ["red", "blue", "green"] * 20, "y": [0, 1] * 30}, label="y")
    assert str(model.schema.families["d.year"]) == "categorical"
    assert model.schema.columns["d.year"].reader.part is None


def test_a_schema_is_saved_edited_and_used_again(tmp_path):
    table = {"d": [f"{1 + i % 28}/5/{2020 + i % 4}" for i in range(60)], "y": [0, 1] * 30}
    model = tb.fit(table, label="y")
    model.schema.save(tmp_path / "schema.json")
    again = tb.Schema.load(tmp_path / "schema.json")
    assert again.to_dict() == model.schema.to_dict()
    assert tb.fit(table, label="y", schema=again) == model
    few = {name: column[:3] for name, column in table.items()}  # which would decide otherwise
    assert tb.fit(few, label="y", schema=again).schema.family_name("d") == "date:day_first"
    text = (tmp_path / "schema.json").read_text()
    (tmp_path / "bad.json").write_text(text.replace('"part": "year"', '"part": "century"'))
    with pytest.raises(FileError, match="elapsed, year, month, weekday, hour"):
        tb.Schema.load(tmp_path / "bad.json")


def test_models_that_read_dates_differently_do_not_merge():
    table = {"d": ["01/02/2024", "03/04/2024"] * 10, "y": [0, 1] * 10}
    one, other = (tb.fit(table, label="y", families={"d": f"date:{first}_first"}) for first in ("day", "month"))
    with pytest.raises(DataError, match="dates read in the same way"):
        one.merge(other)


def test_new_columns_of_dates_are_learned_and_forgotten():
    model = tb.fit({"x": [1, 2, 3, 4], "y": ["a", "b"] * 2}, label="y", column_weights=None)
    before = model.copy()
    more = {"x": [1, 2], "d": ["2024-01-01", "2025-06-03"], "y": ["a", "b"]}
    model.learn(more)
    assert {"d.elapsed", "d.year", "d.month", "d.weekday", "x"} == {*model.schema.families}
    model.forget(more)
    assert model == before
    assert "d" not in model.schema.columns


def test_streams_have_every_part():
    from tallybayes.river import NaiveBayes

    model = NaiveBayes()
    for i in range(20):
        model.learn_one({"d": datetime.datetime(2024, 1, 1 + i, i), "x": 1.5}, i % 2 == 0)
    assert model.predict_one({"d": datetime.datetime(2024, 1, 3, 2)}) in (True, False)


def test_hostile_numbers_and_types():
    table = {"at": [1e300, float("inf"), -1e300, 5, None, 10**25], "y": [0, 1] * 3}
    with pytest.warns(DataWarning, match="cells are not dates"):
        tb.fit(table, label="y", families={"at": "date:epoch"})
    with pytest.warns(DataWarning, match="4 cells are not dates"):
        tb.fit({"d": [True, {"a": 1}, [1], 2.5], "y": [0, 1] * 2}, label="y", families={"d": "date"})
    far = {"d": ["99999-01-01", "0001-01-01", "0000-01-01", "2024-01-01"] * 3, "y": [0, 1] * 6}
    model = tb.fit(far, label="y")
    assert np.isfinite(model.log_score(far)).all()
    with pytest.raises(ParameterError, match="an option of date"):
        tb.fit(far, label="y", families={"d": "date:century"})


def test_files_of_text_and_parquet_give_one_model(tmp_path):
    moments = [datetime.datetime(2024, 1, 1, 6) + datetime.timedelta(days=17 * i, hours=5 * i) for i in range(60)]
    table = pa.table({"when": pa.array(moments, pa.timestamp("us")), "y": ["a", "b", "b"] * 20})
    pq.write_table(table, tmp_path / "days.parquet")
    lines = [f"{one:%d.%m.%Y %H:%M},{y}" for one, y in zip(moments, table["y"].to_pylist(), strict=True)]
    (tmp_path / "days.csv").write_text("\n".join(["when,y", *lines, ""]))
    model = tb.fit(str(tmp_path / "days.parquet"), label="y")
    text = tb.fit(str(tmp_path / "days.csv"), label="y")
    assert {*text.schema.families} == {*model.schema.families}
    assert np.array_equal(text.log_score(str(tmp_path / "days.csv")), model.log_score(str(tmp_path / "days.parquet")))
    assert np.array_equal(text.log_score(str(tmp_path / "days.parquet")), model.log_score(str(tmp_path / "days.csv")))
    numbers = [str(int((one - EPOCH).total_seconds() * 1000)) for one in moments]
    (tmp_path / "epoch.csv").write_text(
        "\n".join(["when,y", *(f"{n},a" for n in numbers[:30]), *(f"{n},b" for n in numbers[30:])])
    )
    epoch = tb.fit(str(tmp_path / "epoch.csv"), label="y", families={"when": "date:epoch,zone=Asia/Tokyo"})
    assert epoch.schema.family_name("when") == "date:epoch=ms,zone=Asia/Tokyo"
    assert "when.hour" in epoch.schema.families


def test_importing_dates_loads_no_pandas():
    code = (
        "import sys, tallybayes as tb; m = tb.fit({'d': ['2024-01-01', '2024-02-03'] * 9, 'y': [0, 1] * 9}, label='y');"
        "m.predict({'d': '2024-05-05'}); assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_times_of_a_few_hours_that_may_be_durations_are_said():
    labels = ["a", "b"] * 60
    durations = [f"{i % 3}:{i % 60:02}:{7 * i % 60:02}" for i in range(120)]
    with pytest.warns(DataWarning, match="column 't': times of 0 to 2 hours were read by their hour alone"):
        tb.fit({"t": durations, "y": labels}, label="y", column_weights=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for times in (
            [f"{i % 24}:{i % 60:02}" for i in range(120)],
            [f"{8 + i % 3}:{i % 4 * 15:02}" for i in range(120)],
        ):
            tb.fit({"t": times, "y": labels}, label="y", column_weights=None)
        tb.fit({"t": durations, "y": labels}, label="y", families={"t": "date"}, column_weights=None)


def test_few_different_words_beside_many_dates_are_missing_and_said():
    days = [f"2021-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(240)]
    zero = ["0000-00-00" if i % 3 == 0 else day for i, day in enumerate(days)]
    y = np.random.default_rng(0).integers(0, 2, 240)
    with pytest.warns(DataWarning, match=r"^column 'd': 80 cells are not dates, such as '0000-00-00': read as missing"):
        model = tb.fit({"d": zero, "y": y}, label="y")
    assert model.schema.family_name("d") == "date"
    months = [f"{['Jan', 'Feb', 'Mar'][i % 3]} 2021" if i % 2 else "later" for i in range(240)]
    others = [f"no. {i % 18}" if i % 3 == 0 else day for i, day in enumerate(days)]
    model = tb.fit({"few dates": months, "many words": others, "y": y}, label="y")
    assert [str(model.schema.families[name]) for name in ("few dates", "many words")] == ["categorical"] * 2


def test_times_with_and_without_an_offset_are_said():
    times = [f"2024-01-{1 + i % 28:02}T{i % 24:02}:00{'+02:00' if i % 3 else ''}" for i in range(90)]
    table = {"at": times, "y": ["a", "b"] * 45}
    with pytest.warns(
        DataWarning, match=r"some times have an offset from UTC \('2024-01-02T01:00\+02:00'\) and others"
    ):
        tb.fit(table, label="y", column_weights=None)
    assert tb.fit(table, label="y", column_weights=None, families={"at": "date:zone=UTC"}).doubts == ()
    for same in ([text[:16] for text in times], [f"{text[:16]}Z" for text in times]):
        assert tb.fit(table | {"at": same}, label="y", column_weights=None).doubts == ()
