"""Results in notebooks: the same facts as the text, escaped, without scripts; data frames; the printed model."""

import html
import re
import sys

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import UnsupportedError
from tallybayes.notebook_view import TextGrid, html_view, text_view

NASTY = "</td><script>alert(1)</script>&\"'\u2028"


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.4
    return {
        "fever": np.where(ill, 38.5, 36.8) + rng.normal(0, 0.6, n),
        "cough": np.where(rng.random(n) < 0.3 + 0.4 * ill, "yes", "no").tolist(),
        NASTY: np.where(rng.random(n) < 0.5, NASTY, "b").tolist(),
        "state": np.where(ill, f"ill{NASTY}", "well").tolist(),
    }


@pytest.fixture(scope="module")
def results():
    rows = table()
    model = tb.fit(rows, label="state")
    one = {name: values[0] for name, values in rows.items()}
    return {
        "model": model,
        "schema": model.schema,
        "explanation": model.explain(one)[0],
        "evaluation": tb.evaluate(model, rows, leave_one_out=True),
        "importance": tb.importance(model, rows),
        "tuning": tb.tune(rows, label="state", what="smoothing"),
        "comparison": tb.compare(rows, label="state", sizes=[20, 60]),
        "description": model.describe(),
    }


NAMES = ["model", "schema", "explanation", "evaluation", "importance", "tuning", "comparison", "description"]


def words_of(text):
    return sorted(re.sub(r"\s+", " ", text).split())


@pytest.mark.parametrize("name", NAMES)
def test_the_html_has_every_word_of_the_text(results, name):
    shown = results[name]._repr_html_()
    seen = html.unescape(re.sub(r"<[^>]*>", " ", shown))
    missing = set(words_of(str(results[name]).replace("\u2028", "\\u2028"))) - set(words_of(seen))
    assert missing == set()


@pytest.mark.parametrize("name", NAMES)
def test_the_html_is_escaped_and_has_no_scripts_and_no_fixed_text_colours(results, name):
    shown = results[name]._repr_html_()
    assert "<script" not in shown
    assert "</td><script" not in html.unescape(re.sub(r"&lt;.*?&gt;", "", shown))
    assert not re.findall(r"[^-]color:(?!inherit)", shown)
    assert not re.findall(r'(?:src|href|on\w+)="', shown)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "model"])
def test_every_table_has_a_data_frame(results, name):
    frame = results[name].to_frame()
    assert len(frame) > 0
    assert len(frame.columns) > 1


def test_data_frames_have_the_values_of_the_results(results):
    evaluation, importance, explanation = (results[name] for name in ("evaluation", "importance", "explanation"))
    assert evaluation.to_frame().to_dict("records") == evaluation.per_class()
    assert importance.to_frame()["gain"].tolist() == [one.gain for one in importance.columns]
    assert results["tuning"].to_frame()["after"].tolist() == [step.after for step in results["tuning"].steps]
    assert results["schema"].to_frame().set_index("column")["family"]["cough"] == "categorical"
    best, other = explanation.sides()
    odds = (
        explanation.log_score[explanation.classes.index(best)] - explanation.log_score[explanation.classes.index(other)]
    )
    assert explanation.to_frame()["decibans"].sum() == pytest.approx(10 * odds / np.log(10))


def test_results_without_rows_have_empty_data_frames():
    model = tb.fit({"x": [1.0, 2.0], "y": ["a", "a"]}, label="y")
    assert model.explain({"x": 1.0})[0].to_frame().columns.tolist() == ["column", "value", "decibans"]
    names = ["class", "rows", "precision", "recall", "f1", "auc", "average_precision", "ks", "lift"]
    assert tb.Evaluation().to_frame().columns.tolist() == names
    assert "only class" in model.explain({"x": 1.0})[0]._repr_html_()


def test_without_pandas_the_error_has_the_install_command(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UnsupportedError, match="pip install pandas"):
        results["schema"].to_frame()


def test_a_long_table_is_cut_in_html_but_not_in_text():
    grid = TextGrid(["n"], [[str(i)] for i in range(1000)])
    assert grid.to_html().count("<tr") == 201
    assert "800 more rows" in grid.to_html()
    assert len(str(grid).splitlines()) == 1001


def test_bars_have_a_common_zero_and_infinite_values_have_none():
    shown = TextGrid(["c", "adds"], [["a", "+2.0"], ["b", "-1.0"], ["c", "-inf"]], bar=1).to_html()
    bars = [tuple(map(float, found)) for found in re.findall(r"margin-left:([\d.]+)em;width:([\d.]+)em", shown)]
    assert bars == [(3.5, 7.0), (0.0, 3.5), (3.5, 0.0)]


def test_a_title_and_texts_of_several_lines():
    shown = html_view("t", ["a\nb", "c"])
    assert "<pre" in shown
    assert "<div>c</div>" in shown
    assert text_view(["a\nb", "c"]) == "a\nb\n\nc"


def test_the_printed_model_says_what_it_is(results):
    text = str(results["model"])
    assert text.startswith("naive Bayes model of state: 2 classes, 3 columns\nfitted on 120 rows\n")
    counts = results["model"].class_counts
    assert re.search(rf"^well +{counts['well']} +{100 * counts['well'] / 120:.1f}$", text, re.MULTILINE)
    assert re.search(r"^histogram +1 +fever$", text, re.MULTILINE)
    assert "fitted on 120 held-out rows" in text
    assert repr(results["model"]).startswith("<Model of 3 columns")


def test_the_printed_model_names_settings_that_are_stale():
    rows = table()
    model = tb.fit(rows, label="state")
    model.calibrate(rows)
    assert "stale" not in str(model)
    model.decision = tb.Decision(positive="well", threshold=0.25)
    model.learn({"fever": 37.0, "state": "well"})
    lines = {line.split("  ")[0]: line for line in str(model).splitlines()}
    assert lines["calibration"].endswith("(stale: the model has changed since)")
    assert lines["decision"].endswith("well if its probability is at least 0.25")


def test_models_of_any_kind_can_be_printed():
    given = tb.from_probabilities({"a": 0.25, "b": 0.75}, {"x": {"a": {"u": 1.0}, "b": {"u": 1.0}}})
    assert "made from given probabilities" in str(given)
    assert "0.25" in str(given)
    many = tb.fit(
        {"x": list(range(100)), "y": [f"c{i % 50}" for i in range(100)]}, label="y", families={"x": "gaussian"}
    )
    assert "... 20 less frequent classes" in str(many)
    empty = tb.fit({"x": [1.0], "y": ["a"]}, label="y")
    empty.forget({"x": [1.0], "y": ["a"]})
    assert "fitted on 0 rows" in str(empty)
    assert "weighted by w" in str(tb.fit({"x": [1, 2], "w": [1, 2], "y": ["a", "b"]}, label="y", sample_weight="w"))
