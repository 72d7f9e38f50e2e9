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
from tallybayes.model.saved_model import dumps, load

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
        weight="weight",
        families=families,
        ignore=["left out"],
        smoothing={"flag": 1, "kind": math.inf, "whole": 0.5},
        prior_smoothing=0.25,
    )


GOLDEN_MODELS = {"format1": golden_model, "format1-written": written}
GOLDEN_ROWS = {  # every column on its own, known and unknown values of each
    "format1": [
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
    "format1-written": [{"test": "+"}, {"test": "?"}, {"fever": True}, {"test": "-", "fever": False}, {}],
}


def make_golden():
    """Write the golden files of the present format. Run by hand, once for every format."""
    for name, make in GOLDEN_MODELS.items():
        answers = {"classes": make().classes, "log_joint": make().log_joint(GOLDEN_ROWS[name]).tolist()}
        (GOLDEN / f"{name}.json").write_text(json.dumps(answers, indent=1) + "\n")
        make().save(GOLDEN / f"{name}.tally")


@pytest.mark.parametrize("name", GOLDEN_ROWS)
def test_old_files_load_and_give_the_same_results(name):
    model, rows = load(GOLDEN / f"{name}.tally"), GOLDEN_ROWS[name]
    answers = json.loads((GOLDEN / f"{name}.json").read_text())
    assert model.classes == answers["classes"]
    assert np.allclose(model.log_joint(rows), answers["log_joint"], rtol=1e-9, atol=1e-12)
    then, arrays_then = opened((GOLDEN / f"{name}.tally").read_bytes())
    now, arrays_now = opened(dumps(model))
    if then["format"] == now["format"]:
        assert {k: then.get(k) for k in ("settings", "total")} == {k: now.get(k) for k in ("settings", "total")}
        assert {k: v.tobytes() for k, v in arrays_then.items()} == {k: v.tobytes() for k, v in arrays_now.items()}
