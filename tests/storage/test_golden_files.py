"""Files of earlier formats load and give the same results."""

import datetime
import decimal
import json
import math
from pathlib import Path

import numpy as np
import pytest

import tallybayes as tb
from models import opened, written
from tables import FAMILIES, LABEL, mixed_frame
from tallybayes import engines
from tallybayes.cells.date_format import DateFormat
from tallybayes.cells.key_form import KeyForm
from tallybayes.cells.number_format import NumberFormat
from tallybayes.columns.column_spec import Origin, Status
from tallybayes.columns.readers.date_reader import DatePartReader
from tallybayes.columns.readers.flag_reader import FlagReader
from tallybayes.columns.readers.key_reader import KeyReader
from tallybayes.columns.readers.number_reader import NumberReader
from tallybayes.columns.readers.reader import DatePart
from tallybayes.columns.schema import Schema
from tallybayes.model.saved_model import dumps, load, loads
from tallybayes.storage.container import FORMAT

GOLDEN = Path(__file__).parent / "golden"


def golden_model():
    """A model of every family and kind of key, with weights and settings of every kind."""
    rng = np.random.default_rng(1)
    table = mixed_frame(60) | {
        "weight": rng.random(60).round(3),
        "whole": [[3, -5, 10**30][i % 3] for i in range(60)],
        "fraction": [[0.5, 1.25, None][i % 3] for i in range(60)],
        "yes": [i % 4 == 0 for i in range(60)],
        "raw": [[b"\xff", b"a"][i % 2] for i in range(60)],
        "day": [datetime.date(2024, 2, 28 + i % 2) for i in range(60)],
        "price": [decimal.Decimal(i % 3) / 10 for i in range(60)],
        "tokens": [[("a", i % 2), "b\ud800", 5][: i % 4] for i in range(60)],
        "left out": ["x"] * 60,
    }
    names = ("whole", "fraction", "yes", "raw", "day", "price")
    families = {**FAMILIES, **dict.fromkeys(names, "categorical"), "tokens": "multinomial:complement"}
    families |= {"kind": "categorical:missing", "genre": "tags:;", "real": "gaussian:kappa=1,nu=2"}
    return tb.fit(
        table,
        label=LABEL,
        sample_weight="weight",
        families=families,
        ignore=["left out"],
        smoothing={"flag": 1, "kind": math.inf, "whole": 0.5},
        class_smoothing=0.25,
    )


GOLDEN_MODELS = {"": golden_model, "-written": written}
GOLDEN_ROWS = {  # every column on its own, known and unknown values of each
    "": [
        {},
        {"flag": True},
        {"flag": False},
        {"kind": "red"},
        {"kind": "pink"},
        {"real": 0.5},
        {"real": -1e9},
        {"level": 0.25},
        {"level": 7.5},
        {"events": 0},
        {"events": 9},
        {"genre": ["a", "d"]},
        {"genre": "b;c"},
        {"words": {"a": 2, "b": 0.5}},
        {"topics": ["a", "c"]},
        {"topics": []},
        {"whole": -5},
        {"whole": 10**30},
        {"whole": 7},
        {"fraction": 1.25},
        {"yes": True},
        {"raw": b"\xff"},
        {"day": datetime.date(2024, 2, 29)},
        {"price": decimal.Decimal("0.2")},
        {"tokens": [("a", 1), "b\ud800"]},
        {"tokens": [5, "new"]},
    ],
    "-written": [{"test": "+"}, {"test": "?"}, {"fever": True}, {"test": "-", "fever": False}, {}],
}


def make_golden():
    """Write the golden files of the present format. Run by hand, once for every format."""
    for kind, make in GOLDEN_MODELS.items():
        name = f"format{FORMAT}{kind}"
        answers = {"classes": make().classes, "log_score": make().log_score(GOLDEN_ROWS[kind]).tolist()}
        (GOLDEN / f"{name}.json").write_text(json.dumps(answers, indent=1) + "\n")
        make().save(GOLDEN / f"{name}.tally")


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
@pytest.mark.parametrize("kind", GOLDEN_ROWS)
def test_old_files_load_and_give_the_same_results(kind, number):
    name, rows = f"format{number}{kind}", GOLDEN_ROWS[kind]
    model = load(GOLDEN / f"{name}.tally")
    answers = json.loads((GOLDEN / f"{name}.json").read_text())
    assert model.classes == answers["classes"]
    assert np.allclose(model.log_score(rows), answers["log_score"], rtol=1e-9, atol=1e-12)
    then, arrays_then = opened((GOLDEN / f"{name}.tally").read_bytes())
    now, arrays_now = opened(dumps(model))
    if then["format"] == now["format"]:
        assert {k: then.get(k) for k in ("settings", "total")} == {k: now.get(k) for k in ("settings", "total")}
        assert {k: v.tobytes() for k, v in arrays_then.items()} == {k: v.tobytes() for k, v in arrays_now.items()}


def test_status_and_origin_of_columns_in_a_file_of_the_first_format():
    """There the reason of a column said both."""
    for schema in (load(GOLDEN / "format1-columns.tally").schema, Schema.load(GOLDEN / "format1-schema.json")):
        assert {name: spec.status for name, spec in schema.columns.items() if spec.status is not Status.USED} == {
            "id": Status.NUMBER_IDENTIFIER,
            "none": Status.UNDECIDED,
            "left": Status.BY_USER,
            "key": Status.IDENTIFIER,
            "nested": Status.NESTED,
        }
        assert {name: spec.origin for name, spec in schema.columns.items() if spec.origin is not Origin.INFERRED} == {
            "kind": Origin.SPECIFIED,
            "late": Origin.NEW,
        }
        assert [name for name, spec in schema.columns.items() if spec.reader.only_bits] == ["bit"]


def test_readers_of_columns_in_files_of_the_second_format():
    """There what a reader knows was written in facts of the column."""
    columns = load(GOLDEN / "format2-columns.tally").schema.columns
    assert columns["price"].reader == NumberReader(NumberFormat(",", ".", unit="€"))
    assert columns["smokes"].reader == KeyReader(KeyForm(("no", "yes")))
    assert columns["bit"].reader == FlagReader(only_bits=True)
    assert columns["age"].reader == NumberReader(is_whole=True)
    assert columns["kind"].reader == KeyReader()
    assert columns["when"].reader.dates == DateFormat(day_first=True)
    assert columns["when.month"].reader == DatePartReader(DatePart("when", "month"), KeyReader())
    assert columns["when.elapsed"].reader == DatePartReader(DatePart("when", "elapsed"), NumberReader(is_whole=True))
    model, schema = load(GOLDEN / "format2-cells.tally"), Schema.load(GOLDEN / "format2-schema.json")
    assert schema == model.schema
    assert [one.column for one in schema.columns["all columns"].reader.inputs] == sorted(
        ["age", "bit", "kind", "price", "smokes", "when.elapsed", "when.month", "when.weekday"]
    )
    assert schema.columns["price"].status is Status.INPUT
    assert schema.columns["price"].reader == columns["price"].reader
    rows = [{"price": "3,50 €", "smokes": True, "age": 31, "when": "2/11/2024"}, {"bit": 1, "kind": "a"}]
    assert np.isfinite(model.predict_proba(rows)).all()
    for name in ("columns", "cells"):
        assert dumps(loads(dumps(load(GOLDEN / f"format2-{name}.tally")))) == dumps(
            load(GOLDEN / f"format2-{name}.tally")
        )


def test_a_plan_and_a_partial_sum_of_the_first_format():
    plan, part = ((GOLDEN / f"format1.{kind}").read_bytes() for kind in ("plan", "partial"))
    more = engines.partial({"x": [0.5, None], "bit": [1, 0], "y": ["no", "yes"]}, plan)
    assert opened(engines.combine(part, more))[0]["rows"] == 62


def test_a_saved_schema_of_a_later_format_is_refused(tmp_path):
    path = tmp_path / "schema.json"
    tb.fit({"a": [1.5, 2.5], "y": [0, 1]}, label="y").schema.save(path)
    assert Schema.load(path).families.keys() == {"a"}
    path.write_text(path.read_text().replace(f'"format": {FORMAT}', f'"format": {FORMAT + 1}'))
    with pytest.raises(tb.errors.FileError, match=f"expected a schema of format {FORMAT} or less, got {FORMAT + 1}"):
        Schema.load(path)
