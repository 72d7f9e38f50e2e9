"""The report page: its content, its robustness against any text in the data, and its agreement with the model."""

import html
import json
import re

import numpy as np
import pytest
from animals import FAMILIES, mixed

import tallybayes as tb
from tallybayes.errors import ParameterError
from tallybayes.reporting import report
from tallybayes.reporting.nomogram import nomogram
from tallybayes.reporting.report_data import collect
from tallybayes.state.column_weights import ColumnWeights

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

NASTY = "</script><img src=x onerror=alert(1)>\u2028&\"'"


def held(page, name):
    """The data of a script element, as the page reads it."""
    return json.loads(re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page)[1])


def markup(page):
    """The page without its scripts."""
    return re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def by_hand(data, row):
    """P(class | row) as the script of the page computes it."""
    infinite = lambda values: np.array([-np.inf if v is None else v for v in values])  # noqa: E731
    total = infinite(data["prior"])
    for ruler, at in zip(data["rulers"], row["at"], strict=True):
        if at is None:
            continue
        if ruler["kind"] == "words":
            total = total + infinite(at["adds"])
        elif ruler["kind"] == "choice":
            total = total + infinite(ruler["adds"][at])
        else:
            marks = np.array([-np.inf if m is None else m for m in ruler["marks"]])
            i = max(int(np.searchsorted(marks, at, side="right")) - 1, 0)
            if ruler["kind"] == "curve":
                assert at in ruler["marks"]
            total = total + infinite(ruler["adds"][i])
    total = total + infinite(row["rest"])
    p = np.exp(total - total.max())
    how = data["calibration"]
    if how and "temperature" in how:
        p = p ** (1 / how["temperature"])
    elif how:
        p = np.array([np.interp(one, *steps) for one, steps in zip(p / p.sum(), how["steps"], strict=True)])
    return p / p.sum()


def test_sections_and_their_order(page):
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", markup(page))
    assert titles == [
        "The model",
        "Evaluation",
        "Decision threshold",
        "Column importance",
        "Dependence between columns",
        "Columns by class",
        "Missing values",
        "Drift",
        "Nomogram",
    ]
    assert markup(page).count("<h1") == 1
    assert "fitted on 160 rows" in page


def test_metrics_are_those_of_evaluate(split, page):
    evaluation = tb.evaluate(*split)
    assert f">{evaluation.accuracy:.1%}<" in page
    assert f">{evaluation.log_loss:.4g}<" in page
    assert f"class shares alone: {evaluation.prior_log_loss:.4g}" in page


def test_training_rows_are_evaluated_by_leave_one_out():
    rows = mixed(80)
    model = tb.fit(rows, label="species", families=FAMILIES)
    page = report(model, rows, leave_one_out=True)
    evaluation = tb.evaluate(model, rows, leave_one_out=True)
    assert "Evaluated on its training rows by leave-one-out" in page
    assert f">{evaluation.log_loss:.4g}<" in page
    assert f">{tb.evaluate(model, rows, leave_one_out=False).log_loss:.4g}<" not in page


def test_the_nomogram_has_the_probabilities_of_the_model(split, page):
    model, rows = split
    data = held(page, "nomogram-data")
    assert {ruler["kind"] for ruler in data["rulers"]} == {"choice", "steps", "curve", "words"}
    assert len(data["rows"]) == 16 + len(collect(model, rows).mistakes)
    for row in data["rows"]:
        number = int(re.match(r"row (\d+)", row["name"])[1])
        assert by_hand(data, row) == pytest.approx(model.predict_proba([rows[number]])[0], abs=1e-7)


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_weights_calibration_and_decision_are_in_the_page(method):
    rows = mixed()
    model = tb.fit(rows[:160], label="species", families=FAMILIES)
    model.column_weights = ColumnWeights({"kilos": 0.5, "story": 0.1, "length": {"cat": 0.3, "dog": 0.9}}, {"dog": 0.2})
    model.calibrate(rows[:160], method)
    model.decision = tb.Decision(abstain=0.6)
    page = report(model, rows[160:])
    assert "Probabilities are calibrated" in page
    assert "no answer below probability 0.6" in page
    assert ", weight" in page
    assert f">{tb.evaluate(model, rows[160:]).log_loss:.4g}<" in page
    data = held(page, "nomogram-data")
    for row in data["rows"]:
        number = int(re.match(r"row (\d+)", row["name"])[1])
        assert by_hand(data, row) == pytest.approx(model.predict_proba([rows[160 + number]])[0], abs=1e-6)


def test_columns_without_a_ruler_contribute_with_example_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = (rng.random((200, 60)) < 0.4 + 0.2 * y[:, None]).astype(float)
    model = tb.fit(X[:100], label=y[:100])
    data = held(report(model, X[100:], label=y[100:]), "nomogram-data")
    assert len(data["rulers"]) == 40
    assert data["others"] == 20
    for row in data["rows"]:
        number = int(re.match(r"row (\d+)", row["name"])[1])
        assert by_hand(data, row) == pytest.approx(model.predict_proba(X[100 + number : 101 + number])[0], abs=1e-7)


def test_contributions_of_words_sum_to_that_of_a_text(split, page):
    model, _ = split
    story = next(ruler for ruler in held(page, "nomogram-data")["rulers"] if ruler["name"] == "story")
    words = [story["marks"].index(word) for word in ("purr", "den")]
    by_words = np.array(story["empty"]) + np.array(story["adds"])[words].sum(axis=0)
    whole = model.explain([{"story": "purr den"}])[0].log_evidence["story"]
    assert by_words - by_words.max() == pytest.approx(whole - whole.max(), abs=1e-7)


def test_a_text_that_is_scored_by_the_complement_has_a_ruler():
    rows = mixed()
    model = tb.fit(rows, label="species", families={**FAMILIES, "story": "text:complement"})
    story = next(ruler for ruler in held(report(model, rows), "nomogram-data")["rulers"] if ruler["name"] == "story")
    one = np.array(story["empty"]) + np.array(story["adds"])[story["marks"].index("purr")]
    whole = model.explain([{"story": "purr"}])[0].log_evidence["story"]
    assert one - one.max() == pytest.approx(whole - whole.max(), abs=1e-7)


def test_an_impossible_class_is_impossible_in_the_nomogram():
    rows = {"sky": ["red", "red", "blue", "grey"] * 5, "rain": [0, 0, 1, 1] * 5}
    model = tb.fit(rows, label="rain", smoothing=0)
    data = held(report(model, rows), "nomogram-data")
    (ruler,) = data["rulers"]
    assert ruler["adds"][ruler["marks"].index("red")][1] is None
    assert [by_hand(data, row).max() for row in data["rows"]] == [1.0] * len(data["rows"])


def test_threshold_counts_are_those_of_the_rows(split, page):
    model, rows = split
    data = held(page, "threshold-data")
    p, true = model.predict_proba(rows), np.array([row["species"] for row in rows])
    for i in (0, 40, 99, 150, 197):
        for code, one in enumerate(data["classes"]):
            taken = p[:, code] >= data["thresholds"][i]
            assert one["above"][i] == (taken & (true == one["name"])).sum()
            assert one["others"][i] == (taken & (true != one["name"])).sum()


def test_the_page_loads_no_resources(page):
    seen = markup(page)
    assert not re.findall(r'(?:src|href|action|data)="(?!#)', seen)
    assert "url(" not in seen
    assert "@import" not in seen
    assert "default-src 'none'" in html.unescape(seen)
    assert not re.findall(r"<script[^>]*\ssrc", page)
    for name in ("fetch(", "XMLHttpRequest", "importScripts"):
        assert name not in "".join(re.findall(r'"use strict";.*?</script>', page, flags=re.DOTALL))


def test_the_page_is_small_and_contains_the_licences(page):
    assert len(page.encode()) < 2_000_000
    assert "University of Washington Interactive Data Lab" in page
    assert "Mike Bostock" in page


def test_markup_in_the_data_is_escaped():
    rows = [
        {NASTY: c, "text": f"{NASTY} {c} some longer prose about nothing in particular", "y<b>": f"{y}{NASTY}"}
        for c, y in (("a<i>", "x"), (NASTY, "z"), ("b", "x"), ("b", "z")) * 6
    ]
    model = tb.fit(rows, label="y<b>", families={NASTY: "categorical", "text": "text"})
    page = report(model, rows, title=f"About {NASTY}")
    assert "<img src=x" not in page
    assert "<i>" not in markup(page)
    assert "<b>y&lt;b&gt;</b>" in page
    assert "onerror=alert(1)&gt;" in markup(page)
    charts = held(page, "charts")
    shown = NASTY.replace("\u2028", "\u21b5")
    assert any(shown in json.dumps(spec, ensure_ascii=False).replace('\\"', '"') for spec in charts.values())
    assert held(page, "nomogram-data")["classes"] == [f"x{NASTY}", f"z{NASTY}"]


def test_every_chart_has_a_description_and_a_table(page):
    charts = held(page, "charts")
    figures = re.findall(r"<figure>(.*?)</figure>", page, flags=re.DOTALL)
    figures = [figure for figure in figures if "cost-chart" not in figure]  # its values are those of the slider
    assert len(figures) == sum(not name.endswith("-below") for name in charts) > 12
    for figure in figures:
        assert re.search(r'role="img" aria-label="[^"]{10,}"', figure)
        assert "<details><summary>" in figure
        assert "<table>" in figure
    for spec in charts.values():
        assert spec["width"] == "container"
        assert spec["description"]


def test_every_control_has_a_label(page):
    seen = markup(page)
    controls = re.findall(r"<(?:select|input)[^>]*\sid=\"([^\"]+)\"", seen)
    assert len(controls) == 8
    for name in controls:
        assert f'<label for="{name}">' in seen
    assert '<html lang="en">' in seen
    for landmark in ("<header>", "<nav ", "<main ", "<footer>"):
        assert seen.count(landmark) == 1


def test_the_table_of_columns_has_families_and_missing_values(page):
    table = page[page.index("<h2") : page.index("Evaluation</h2>")]
    assert "gaussian" in table
    assert re.search(r"<th scope=\"row\">kilos</th>.*?<td class=\"n\">\d+\.\d%</td>", table)


def test_the_curve_of_a_tuning_is_drawn(split):
    steps = [{"k": k, "log_loss": 0.5 + (k - 1) ** 2} for k in (0.1, 1.0, 3.0)]
    page = report(*split, tuning=steps)
    assert ">Tuning</h2>" in page
    assert [{"x": 1.0, "y": 0.5}] in held(page, "charts")["chart-tuning"]["datasets"].values()


def test_of_many_columns_the_most_informative_are_drawn_and_the_others_listed():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 150)
    X = rng.normal(size=(150, 30)) + y[:, None] * np.linspace(2, 0, 30)
    model = tb.fit(X, label=y)
    page = report(model, X, label=y, leave_one_out=False)
    assert sum(name.startswith("chart-column") for name in held(page, "charts")) == 24
    assert "The other columns" in page
    assert markup(page).count('<details class="fold">') == 1
    importance = collect(model, X, label=y).importance
    assert importance == sorted(importance, key=lambda one: -one.information)
    assert {one.column for one in importance[:3]} <= {f"x{i}" for i in range(8)}


def test_importance_on_held_out_rows_is_that_of_predictions_without_the_column(split):
    model, rows = split[0].with_settings(missing_as_value=False), split[1]  # a missing column tells nothing
    p, prior = np.log(model.predict_proba(rows)), model.snapshot().scorer.log_prior
    code = np.array([model.classes.index(row["species"]) for row in rows])
    for one in collect(model, rows).importance:
        alone = np.log(model.predict_proba([{one.column: row[one.column]} for row in rows]))
        without = np.log(model.predict_proba([{**row, one.column: None} for row in rows]))
        assert one.information == pytest.approx((alone - prior)[np.arange(len(rows)), code].mean())
        assert one.gain == pytest.approx((p - without)[np.arange(len(rows)), code].mean())


def test_importance_on_training_rows_is_that_of_importance():
    rows = mixed(80)
    model = tb.fit(rows, label="species", families=FAMILIES)
    found = collect(model, rows, leave_one_out=True).importance
    assert sorted(found, key=str) == sorted(tb.importance(model, rows).columns, key=str)
    assert "Bayes factor" in report(model, rows, leave_one_out=True)


def test_of_many_classes_the_most_frequent_are_drawn():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 12, 600)
    page = report(tb.fit({"x": y + rng.normal(size=600), "y": y}, label="y"), {"x": y * 1.0, "y": y})
    assert "Of 12 classes the 7 most frequent are drawn" in page
    charts = held(page, "charts")
    (rows,) = charts["chart-column-0"]["datasets"].values()
    assert {row["class"] for row in rows} == {*map(str, range(12)), "other classes"}
    assert len(charts["chart-roc"]["usermeta"]["picks"]) == 7
    assert markup(page).count("data-class-picker") == 2
    assert len(held(page, "threshold-data")["classes"]) == 12


@pytest.mark.parametrize(
    "data",
    [
        {"x": [1.0, 2.0, 3.0], "y": ["a", "a", "a"]},
        {"x": [None, None, None], "y": ["a", "b", "a"]},
        {"x": [0, 1, 1], "y": [True, False, True]},
        {"x": [7, 7, 7], "y": [1, 2, 1]},
    ],
)
def test_one_class_no_values_flags_and_constants_have_a_page(data):
    assert report(tb.fit(data, label="y"), data).startswith("<!doctype html>")


def test_a_model_from_given_probabilities_has_a_page():
    tables = {"test": {"ill": {"+": 0.9, "-": 0.1}, "well": {"+": 0.05, "-": 0.95}}}
    model = tb.from_probabilities({"ill": 0.01, "well": 0.99}, tables, label="state")
    page = report(model, {"test": ["+", "-", "-"], "state": ["ill", "well", "well"]})
    assert "from given probabilities" in page
    data = held(page, "nomogram-data")
    assert by_hand(data, data["rows"][0]) == pytest.approx(model.predict_proba({"test": "+"})[0], abs=1e-9)


def test_unknown_labels_are_in_the_confusion_matrix():
    model = tb.fit({"x": [1.0, 2.0] * 5, "y": ["a", "b"] * 5}, label="y")
    page = report(model, {"x": [1.0, 2.0, 3.0, None], "y": ["a", "b", "c", None]})
    assert '<th scope="row">c</th>' in page
    assert "1 without a label skipped" in page


def test_sparse_matrices_have_rulers_of_words():
    from scipy.sparse import random as sparse

    X = sparse(60, 30, density=0.3, random_state=0, format="csr")
    X.data[:] = 1
    y = np.arange(60) % 2
    model = tb.fit(X, label=y)
    data = held(report(model, X, label=y), "nomogram-data")
    assert [ruler["kind"] for ruler in data["rulers"]] == ["words"]
    for row in data["rows"]:
        number = int(re.match(r"row (\d+)", row["name"])[1])
        assert by_hand(data, row) == pytest.approx(model.predict_proba(X[[number]])[0], abs=1e-7)


def test_only_the_first_rows_are_evaluated(split):
    model, rows = split
    found = collect(model, rows, rows=30)
    assert found.n_rows == found.evaluation.n_rows == 30
    labels = [row["species"] for row in rows]
    assert collect(model, rows, label=labels, rows=30).evaluation.log_loss == found.evaluation.log_loss
    assert found.evaluation.log_loss == pytest.approx(tb.evaluate(model, rows[:30]).log_loss)
    with pytest.raises(ParameterError, match="rows"):
        collect(model, rows, rows=0)


def test_contributions_of_a_ruler_are_those_of_explain(split):
    model, _ = split
    data = nomogram(model, ["litter", "length", "tame"], [], model.describe().columns)
    for ruler in data["rulers"]:
        values = ruler.get("inside", ruler["marks"])
        for i in range(0, len(values), 7):
            value = {"no": False, "yes": True}.get(values[i], values[i])
            evidence = model.explain([{ruler["name"]: value}])[0].log_evidence[ruler["name"]]
            added = np.array(ruler["adds"][i])
            assert added - added.max() == pytest.approx(evidence - evidence.max(), abs=1e-8)


def test_groups_and_subgroups_are_in_the_page():
    rng = np.random.default_rng(2)
    host = rng.integers(0, 150, 600)
    rows = {
        "street": np.char.add("s", rng.integers(0, 60, 150)[host].astype(str)),
        "rate": rng.normal(size=600),
        "y": rng.choice(["no", "yes"], 150)[host],
    }
    model, whole = tb.fit(rows, "y"), rows | {"host_id": host}
    with pytest.warns(tb.DataWarning, match="'host_id': rows with the same value"):
        page = report(model, whole, by="street")
    assert "accuracy, whole groups held out" in page
    assert re.search(r"Rows seem to be in groups\. With whole groups held out: accuracy [\d.]+%, log loss", page)
    assert "Metrics by street" in page
    page = report(model, whole, group="host_id")
    assert "Evaluated on its training rows by folds, whole groups (host_id) at a time." in page
    assert "Rows seem to be in groups" not in page
