"""The sections of the report about evaluated rows: mistakes, dependence, missing values, drift, costs, provenance."""

import re

import numpy as np
import pytest
from animals import FAMILIES, mixed
from test_report import held, markup

import tallybayes as tb
from tallybayes.reporting import report
from tallybayes.reporting.column_cells import dependent_pairs, drift_between, information_given_class, learned_cells
from tallybayes.reporting.column_chart_data import column_chart_data
from tallybayes.reporting.report_data import collect
from tallybayes.reporting.threshold_curves import gain_rows, score_rows

pytest.importorskip("altair")
pytest.importorskip("vl_convert")


def section(page, name):
    seen = markup(page)
    found = re.search(rf'<section id="{name}".*?</section>', seen, flags=re.DOTALL)
    return found and found[0]


def hard(n, seed):
    """Rows of animals that are not easily told apart."""
    return [{name: row[name] for name in ("litter", "colour", "tame", "species")} for row in mixed(n, seed)]


@pytest.fixture(scope="module")
def hard_model():
    return tb.fit(hard(300, 7), label="species")


def test_mistakes_are_the_wrong_answers_with_the_greatest_probability(hard_model):
    model, rows = hard_model, hard(600, 8)
    true = np.array([row["species"] for row in rows])
    proba, answers = model.predict_proba(rows), model.predict(rows)
    wrong = np.flatnonzero(answers != true)
    best = sorted(wrong.tolist(), key=lambda i: -proba[i].max())[:12]
    found = collect(model, rows)
    assert found.n_mistakes == len(wrong)
    assert [one.row for one in found.mistakes] == best
    assert [one.probability for one in found.mistakes] == pytest.approx([proba[i].max() for i in best])
    page = report(model, rows)
    assert f"{len(wrong)} of 600 rows have a wrong answer" in page
    assert page.index(">Decision threshold</h2>") < page.index(">Confident mistakes</h2>") < page.index(">Drift</h2>")
    data = held(page, "nomogram-data")
    buttons = re.findall(r"<button[^>]*data-row=[^>]*>", section(page, "mistakes"))
    assert len(buttons) == 12
    for button in buttons:
        place, own, against = (int(re.search(rf'data-{key}="(\d+)"', button)[1]) for key in ("row", "for", "against"))
        number, label, answer = re.match(r"row (\d+): (\w+), answered (\w+)", data["rows"][place]["name"]).groups()
        assert (label, answer) == (true[int(number)], answers[int(number)])
        assert (data["classes"][own], data["classes"][against]) == (answer, label)


def test_the_most_probable_mistakes_of_all_batches_are_kept(hard_model):
    model, rows = hard_model, hard(600, 8)
    whole = collect(model, rows)
    assert len(whole.mistakes) == 12
    parts = collect(model, iter([rows[:100], rows[100:]]))
    assert [one.row for one in parts.mistakes] == [one.row for one in whole.mistakes]


def test_dependence_within_classes_is_found_and_dependence_through_the_class_is_not():
    rng = np.random.default_rng(0)
    c = rng.integers(0, 3, 4000)
    a, b = c + rng.normal(size=4000), c + rng.normal(size=4000)  # dependent through the class only
    rows = {"a": a, "b": b, "copy": a + 0.1 * rng.normal(size=4000), "c": c}
    model = tb.fit(rows, label="c")
    judged = collect(model, rows).columns
    cells = {name: judged.cells(name) for name in ("a", "b", "copy")}
    pairs = dependent_pairs(cells, judged.codes, ["a", "b", "copy"])
    assert {pairs[0].first, pairs[0].second} == {"a", "copy"}
    assert pairs[0].correlation > 0.9
    assert [pair.information for pair in pairs[1:]] == pytest.approx([0, 0], abs=0.01)
    shown = section(report(model, rows), "dependence")
    assert "a and copy" in shown
    assert "a and b" not in shown


def test_information_is_that_of_scikit_learn_without_the_correction_for_chance():
    from sklearn.metrics import mutual_info_score

    rng = np.random.default_rng(1)
    a = rng.integers(0, 4, 5000).astype(np.int16)
    b = np.where(rng.random(5000) < 0.5, a, rng.integers(0, 4, 5000)).astype(np.int16)
    codes = rng.integers(0, 2, 5000)
    parts = [mutual_info_score(a[codes == c], b[codes == c]) * (codes == c).mean() for c in (0, 1)]
    assert information_given_class(a, b, codes) == pytest.approx(sum(parts) - 2 * 9 / (2 * 5000))
    assert information_given_class(a, np.full(5000, -1, np.int16), codes) == 0.0


def test_missing_values_are_counted_by_class(split, page):
    model, rows = split
    judged = collect(model, rows).columns
    for name in ("kilos", "colour", "tame", "likes", "story"):
        for code, label in enumerate(model.classes):
            own = sum(row[name] is None and row["species"] == label for row in rows)
            assert judged.missing[name][code] == own
    assert "Missing values by class" in section(page, "missing")
    assert section(report(model, [row for row in rows if None not in row.values()]), "missing") is None


def test_cells_have_the_shares_of_the_learned_rows():
    rows = mixed(2000)
    model = tb.fit(rows, label="species", families=FAMILIES)
    found = learned_cells(model, model.describe())
    assert set(found) == {"kilos", "litter", "colour", "tame", "length"}  # texts and tags have no cells
    judged = collect(model, rows).columns
    for name, own in found.items():
        counts = judged.counts(name)
        assert own.shares.sum() == pytest.approx(1)
        assert counts / counts.sum() == pytest.approx(own.shares, abs=0.03)
        assert len({own.describe(cell) for cell in range(len(own.shares))}) == len(own.shares)


def test_drift_is_found_where_the_rows_have_changed():
    rng = np.random.default_rng(3)

    def rows(n, shift, kinds):
        c = rng.integers(0, 2, n)
        return {"x": c + shift + rng.normal(size=n), "kind": rng.choice(kinds, n).tolist(), "c": c}

    model = tb.fit(rows(3000, 0.0, ["a", "b"]), label="c")
    same, other = (
        section(report(model, rows(2000, *how)), "drift") for how in ((0.0, ["a", "b"]), (1.5, ["b", "new"]))
    )
    assert "No column differs clearly" in same
    assert re.search(r"Clear differences: (kind, x|x, kind)\.", other)
    assert "(other values)" in other


def test_training_rows_have_no_drift_section():
    rows = mixed(80)
    page = report(tb.fit(rows, label="species", families=FAMILIES), rows, leave_one_out=True)
    assert section(page, "drift") is None
    assert section(page, "dependence")


def test_drift_is_zero_for_equal_shares_and_undefined_without_rows():
    same = drift_between("x", np.array([0.25, 0.75]), np.array([25, 75]), str)
    assert (same.variation, same.stability, same.is_clear) == (0.0, 0.0, False)
    assert drift_between("x", np.array([0.25, 0.75]), np.array([0, 0]), str) is None
    new = drift_between("x", np.array([1.0, 0.0]), np.array([0, 10]), str)
    assert new.variation == 1.0
    assert np.isfinite(new.stability)


def test_gain_and_scores_are_those_of_the_rows(split):
    model, rows = split
    evaluation = tb.evaluate(model, rows)
    p, true = model.predict_proba(rows)[:, 0], np.array([row["species"] for row in rows])
    for row in gain_rows(evaluation, ["cat"])[1:-1]:
        taken = p >= row["threshold"]
        assert row["taken"] == pytest.approx(taken.mean())
        assert row["found"] == pytest.approx(taken[true == "cat"].mean())
        assert row["lift"] == pytest.approx(row["found"] / row["taken"])
    scored = score_rows(evaluation, ["cat"], "other classes")
    assert sum(row["rows"] for row in scored if "of" not in row) == (true == "cat").sum()
    assert sum(row["rows"] for row in scored if row.get("of") == "cat") == (true != "cat").sum()
    assert sum(row["share"] for row in scored) == pytest.approx(2)


def test_a_column_with_nearly_all_rows_at_one_value_is_drawn_as_log_odds():
    rng = np.random.default_rng(4)
    c = rng.integers(0, 2, 3000)
    rare = np.where(rng.random(3000) < 0.02 + 0.06 * c, rng.integers(1, 9, 3000) * 1000, 0)
    rows = {"gain": rare, "x": c + rng.normal(size=3000), "land": np.where(rare > 0, "far", "here").tolist(), "c": c}
    model = tb.fit(rows, label="c")
    for name in ("gain", "land"):
        one = column_chart_data(model, name)
        assert one.what == "log odds against the other classes"
        assert len(one.classes) == 1
        found = {row.get("value", row.get("x")): row["p"] for row in one.rows}
        assert max(abs(value) for value in found.values()) > 0.5
    far = {row["value"]: row["p"] for row in column_chart_data(model, "land").rows}
    table = {(row["class"], row["value"]): row["P(value)"] for row in model.describe().columns["land"]}
    rarer = model.classes[int(np.argmin(model.log_prior()))]
    assert far["far"] == pytest.approx(np.log(table[rarer, "far"] / table[1 - rarer, "far"]), abs=1e-9)
    assert column_chart_data(model, "x").what == "share of the class"


def test_columns_that_tell_nothing_are_last_and_folded():
    rng = np.random.default_rng(5)
    c = rng.integers(0, 2, 800)
    rows = {f"n{i}": rng.integers(0, 3, 800) for i in range(3)} | {"x": c + 0.3 * rng.normal(size=800), "c": c}
    shown = section(report(tb.fit(rows, label="c"), rows), "columns-by-class")
    opened, _, folded = shown.partition('<details class="fold">')
    assert "<h3>x</h3>" in opened
    assert "columns that tell nothing about the class" in folded
    assert "<h3>n0</h3>" in folded


def test_provenance_has_model_data_date_and_version(split, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    model, rows = split
    shown = section(report(model, rows, provenance={"model": "a<b>.tally", "data": "new.csv"}), "model")
    assert "a&lt;b&gt;.tally" in shown
    for text in ("new.csv", "1970-01-01 00:00 UTC", f"tallybayes {tb.__version__}", "80 rows, as new rows"):
        assert text in shown
    assert held(report(model, rows, provenance={"model": "m.tally"}), "threshold-data")["model"] == "m.tally"


def test_costs_begin_with_those_of_the_decision_rule():
    rows = {"x": [0.0, 1.0, 2.0, 3.0] * 10, "y": ["a", "b", "b", "b"] * 10}
    model = tb.fit(rows, label="y")
    model.decision = tb.Decision(costs={"a": {"b": 5.0}})
    shown = section(report(model, rows), "threshold")
    assert re.search(r'id="cost-fp"[^>]*value="1"', shown)
    assert re.search(r'id="cost-fn"[^>]*value="5"', shown)


def test_a_page_of_more_classes_than_have_curves():
    rng = np.random.default_rng(6)
    y = rng.integers(0, 120, 1500)
    rows = {"x": y + rng.normal(size=1500), "y": y}
    page = report(tb.fit(rows, label="y", numeric="gaussian"), rows)
    assert len(held(page, "threshold-data")["classes"]) == 100
    assert "The 100 most frequent classes have curves." in page
    assert len(page.encode()) < 4_000_000
