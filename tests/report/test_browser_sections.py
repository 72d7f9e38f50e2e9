"""The report page in a headless browser: many classes, costs, mistakes, folded columns."""

import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.reporting import report, write_report

pytest.importorskip("altair")
pytest.importorskip("selenium")

from browsing import SIZES, fields, number_in, opened, part, probability
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait


@pytest.fixture(scope="session")
def many(tmp_path_factory):
    """The page of a model of 20 classes with long names, numbers, categories and texts."""
    rng = np.random.default_rng(9)
    y = np.arange(1200) % 20
    names = [f"class number {i} with a name that is far too long for a phone" for i in range(20)]
    rows = {
        "size": y + rng.normal(0, 2, 1200),
        "kind": [
            f"kind {(i + n) % 7}, described in many words" for i, n in zip(y, rng.integers(0, 2, 1200), strict=True)
        ],
        "text": [f"word{i} word{i // 3} and some other words of no use" for i in (y + rng.integers(0, 3, 1200)) % 20],
        "label": [names[i] for i in y],
    }
    model = tb.fit(part(rows, 0, 800), label="label", families={"text": "text"})
    file = tmp_path_factory.mktemp("many") / "many.html"
    write_report(file, report(model, part(rows, 800, 1200)))
    return file, names


def classes_drawn(browser, chart):
    """The names in the legend of a chart, without its title."""
    script = "return [...document.getElementById(arguments[0]).previousElementSibling.children].map(e => e.textContent)"
    return browser.execute_script(script, chart)[1:]


def redrawn(browser, chart, n):
    WebDriverWait(browser, 20).until(lambda b: len(classes_drawn(b, chart)) == n)
    return classes_drawn(browser, chart)


@pytest.mark.parametrize("size", SIZES)
def test_of_many_classes_one_can_be_picked_for_all_charts(browser, many, size):
    file, names = many
    opened(browser, file, size)
    size_chart = browser.execute_script(
        "return [...document.querySelectorAll('figure')].find(f => f.textContent.startsWith('size'))"
        ".querySelector('.chart').id"
    )
    assert len(classes_drawn(browser, "chart-roc")) == len(classes_drawn(browser, size_chart)) == 7
    Select(browser.find_element(By.ID, "picker-columns")).select_by_visible_text(names[19])
    assert redrawn(browser, size_chart, 2) == [names[19], "other classes"]
    (legend,) = redrawn(browser, "chart-roc", 1)
    assert re.fullmatch(rf"{re.escape(names[19])} \(AUC [01]\.\d{{3}}\)", legend)
    assert redrawn(browser, "chart-scores", 2) == [names[19], "other classes"]
    picker = Select(browser.find_element(By.ID, "picker-evaluation"))
    assert picker.first_selected_option.text == names[19]
    picker.select_by_visible_text("the 7 most frequent")
    assert len(redrawn(browser, "chart-roc", 7)) == 7
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def test_long_names_are_not_cut_on_a_phone(browser, many):
    file, _ = many
    opened(browser, file, "phone")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= SIZES["phone"][0]
    cut = browser.execute_script(
        "return [...document.querySelectorAll('.chart svg text')].map(t => t.textContent)"
        ".filter(t => t.endsWith('\u2026'))"
    )
    assert cut == []
    outside = browser.execute_script(
        "return [...document.querySelectorAll('.chart svg text')].filter(t => { const r = t.getBoundingClientRect();"
        "return r.left < -1 || r.right > innerWidth + 1; }).map(t => t.textContent)"
    )
    assert outside == []


def test_costs_find_the_threshold_of_least_cost_and_the_command_that_sets_it(browser, model, path, tmp_path):
    opened(browser, path)
    rows = part(fields(), 200, 300)
    Select(browser.find_element(By.ID, "threshold-class")).select_by_visible_text("sand")
    for name, value in (("cost-fp", "1"), ("cost-fn", "5")):
        field = browser.find_element(By.ID, name)
        field.clear()
        field.send_keys(value)
    browser.find_element(By.ID, "cost-best").click()
    p, is_sand = model.predict_proba(rows)[:, 1], np.array(rows["soil"]) == "sand"
    every = [0.0, *(1 / (1 + np.exp(-np.linspace(-9.8, 9.8, 197))))]
    costs = [(5 * (is_sand & (p < t)).sum() + (~is_sand & (p >= t)).sum()) / 100 for t in every]
    fn, fp = number_in(browser, "fn"), number_in(browser, "fp")
    assert (5 * fn + fp) / 100 == pytest.approx(min(costs))
    line = browser.find_element(By.ID, "decide-line").text
    found = re.fullmatch(r"tally decide MODEL\.tally --positive sand --threshold ([\d.]+) --in-place", line)
    assert ((p >= float(found[1])) == (p >= min(every, key=lambda t: abs(t - float(found[1]))))).all()
    assert f"least {float(f'{min(costs):.3g}'):g}" in browser.find_element(By.ID, "cost-summary").text
    assert browser.find_elements(By.CSS_SELECTOR, "#cost-chart svg path.cost-line")
    model.save(tmp_path / "MODEL.tally")
    words = [sys.executable, "-m", "tallybayes.cli.main", *shlex.split(line)[1:]]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    assert tb.load(tmp_path / "MODEL.tally").decision == tb.Decision(positive="sand", threshold=float(found[1]))


def test_a_mistake_opens_the_nomogram_with_its_values(browser, model, path):
    opened(browser, path)
    rows = part(fields(), 200, 300)
    button = browser.find_element(By.CSS_SELECTOR, "#mistakes button")
    cells = [cell.text for cell in button.find_elements(By.XPATH, "./ancestor::tr/*")]
    browser.execute_script("arguments[0].click()", button)
    number = int(cells[0].removeprefix("row "))
    row = {name: np.asarray(values)[number].item() for name, values in rows.items() if name != "soil"}
    assert Select(browser.find_element(By.ID, "nomogram-for")).first_selected_option.text == cells[2]
    assert Select(browser.find_element(By.ID, "nomogram-against")).first_selected_option.text == cells[1]
    chosen = Select(browser.find_element(By.ID, "nomogram-row")).first_selected_option.text
    assert chosen == f"row {number}: {cells[1]}, answered {cells[2]}"
    assert probability(browser) == pytest.approx(model.predict_proba_one(row)[cells[2]], abs=1e-6)
    top = browser.execute_script("return document.getElementById('nomogram').getBoundingClientRect().top")
    assert abs(top) < 100


def test_columns_that_are_folded_are_drawn_when_they_are_opened(browser, tmp_path):
    rng = np.random.default_rng(10)
    y = rng.integers(0, 2, 300)
    rows = {f"x{i}": y * (2 - i / 8) + rng.normal(size=300) for i in range(14)} | {"y": y}
    write_report(tmp_path / "folded.html", report(tb.fit(rows, label="y"), rows))
    opened(browser, tmp_path / "folded.html")
    fold = browser.find_element(By.CSS_SELECTOR, "details.fold")
    assert fold.find_elements(By.CSS_SELECTOR, ".chart svg") == []
    fold.find_element(By.CSS_SELECTOR, "summary").click()
    n = len(fold.find_elements(By.CSS_SELECTOR, ".chart"))
    WebDriverWait(browser, 20).until(lambda b: len(fold.find_elements(By.CSS_SELECTOR, ".chart svg")) == n)
