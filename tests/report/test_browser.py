"""The report page in a headless browser.

The browser is the one in the environment variable CHROMIUM, or chromium on the PATH; `make browser` installs it on
Debian. Without a browser and its driver the tests are skipped.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.reporting import report, write_report
from tallybayes.state.column_weights import ColumnWeights

pytest.importorskip("altair")
pytest.importorskip("selenium")

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)
SIZES = {"desktop": (1280, 900), "phone": (375, 844)}
NASTY = "</script><!--<img src=x onerror=alert(1)>\u2028\u2029"


def found_browser():
    """The paths of the browser and its driver."""
    chromium = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromedriver were not found: run `make browser`, or set CHROMIUM")
    return chromium, driver


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    chromium, driver = found_browser()
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield found
    found.quit()


def fields(n=300, seed=5):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n)
    crop = np.where(rng.random(n) < 0.3 + 0.4 * kind, "a rather long name of a crop", "rye")
    return {
        "rain": rng.normal(50 + 20 * kind, 15),
        "worms": rng.poisson(3 + 3 * kind),
        "crop": crop.tolist(),
        "fenced": rng.random(n) < 0.2 + 0.5 * kind,
        "height": rng.gamma(2, 20 + 20 * kind),
        "soil": np.array(["clay", "sand"])[kind].tolist(),
    }


def part(rows, start, stop):
    return {name: values[start:stop] for name, values in rows.items()}


@pytest.fixture(scope="session")
def model():
    rows = part(fields(), 0, 200)
    return tb.fit(rows, label="soil", families={"rain": "gaussian", "worms": "poisson"})


@pytest.fixture(scope="session")
def path(model, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "report.html"
    steps = [{"k": k, "log_loss": (k - 1) ** 2} for k in (0.1, 1.0, 10.0)]
    write_report(file, report(model, part(fields(), 200, 300), tuning=steps))
    return file


def opened(browser, file, size="desktop", **media):
    """The drawn page in a window of some size, with media features such as `prefers_color_scheme`."""
    width, height = SIZES[size]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    browser.get_log("browser")
    browser.get(file.as_uri())
    WebDriverWait(browser, 20).until(lambda b: b.execute_script("return document.documentElement.dataset.drawn"))
    return browser


def probability(browser):
    return float(browser.find_element(By.ID, "nomogram-p").get_attribute("data-p"))


def ruler(browser, name):
    for box in browser.find_elements(By.CSS_SELECTOR, "#nomogram-rulers .ruler[data-kind]"):
        if box.find_element(By.CSS_SELECTOR, ".set").text.split("\n")[0] == name:
            return box
    raise LookupError(name)


def number_in(browser, name):
    return int(browser.find_element(By.ID, name).text.replace(",", ""))


@pytest.mark.parametrize("size", SIZES)
def test_every_chart_is_drawn_without_errors_or_requests(browser, path, size):
    opened(browser, path, size)
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    charts = browser.find_elements(By.CSS_SELECTOR, ".chart")
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('.chart svg')].map(s => s.querySelectorAll('path, text').length)"
    )
    assert len(drawn) == len(charts) == 15
    assert min(drawn) > 5
    requests = browser.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert requests == []


@pytest.mark.parametrize("size", SIZES)
def test_the_page_fits_the_width_of_the_window(browser, path, size):
    opened(browser, path, size)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= SIZES[size][0]
    outside = browser.execute_script(
        "return [...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, svg') && "
        "e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert outside == []


def test_the_threshold_slider_updates_the_confusion_matrix(browser, model, path):
    opened(browser, path)
    rows = part(fields(), 200, 300)
    p, true = model.predict_proba(rows), np.array(rows["soil"])
    choice = Select(browser.find_element(By.ID, "threshold-class"))
    choice.select_by_visible_text("sand")
    slider = browser.find_element(By.ID, "threshold-slider")
    seen = []
    for steps in (0, 15, 15):
        slider.send_keys(Keys.ARROW_RIGHT * steps)
        at = float(browser.find_element(By.ID, "threshold-value").text)
        counts = [number_in(browser, name) for name in ("tp", "fn", "fp", "tn")]
        log_odds = np.log(p[:, 1]) - np.log(p[:, 0])
        taken = log_odds >= [0.0, 1.5, 3.0][len(seen)] - 1e-9
        is_sand = true == "sand"
        assert counts == [(a & b).sum() for b in (is_sand, ~is_sand) for a in (taken, ~taken)]
        seen.append((at, counts))
    assert [at for at, _ in seen] == [0.5, 0.818, 0.953]
    assert seen[0][1] != seen[-1][1]
    summary = browser.find_element(By.ID, "threshold-summary").text
    assert f"{seen[-1][1][1]} false negatives" in summary
    choice.select_by_visible_text("clay")
    assert number_in(browser, "tp") + number_in(browser, "fn") == (true == "clay").sum()


def test_the_keyboard_moves_a_handle_to_the_probability_of_the_model(browser, model, path):
    opened(browser, path)
    assert probability(browser) == pytest.approx(np.exp(model.log_prior()).min())
    handle = ruler(browser, "crop").find_element(By.CSS_SELECTOR, "[role=slider]")
    assert handle.get_attribute("aria-valuetext").startswith("missing")
    handle.send_keys(Keys.END)
    handle = browser.switch_to.active_element  # the ruler is redrawn and keeps the focus
    crop = handle.get_attribute("aria-valuetext").rpartition(", adds")[0]
    side = Select(browser.find_element(By.ID, "nomogram-for")).first_selected_option.text
    assert probability(browser) == pytest.approx(model.predict_proba_one({"crop": crop})[side], abs=1e-6)
    handle.send_keys(Keys.ARROW_LEFT)
    assert probability(browser) != pytest.approx(model.predict_proba_one({"crop": crop})[side], abs=1e-6)
    browser.switch_to.active_element.send_keys(Keys.DELETE)
    assert probability(browser) == pytest.approx(model.predict_proba_one({})[side], abs=1e-6)


def test_inputs_for_numbers_choices_and_classes(browser, model, path):
    opened(browser, path)
    Select(browser.find_element(By.ID, "nomogram-for")).select_by_visible_text("sand")
    box = ruler(browser, "height").find_element(By.CSS_SELECTOR, "input[type=number]")
    box.send_keys("33.25")
    assert probability(browser) == pytest.approx(model.predict_proba_one({"height": 33.25})["sand"], abs=1e-6)
    Select(ruler(browser, "fenced").find_element(By.CSS_SELECTOR, "select")).select_by_visible_text("yes")
    row = {"height": 33.25, "fenced": True}
    assert probability(browser) == pytest.approx(model.predict_proba_one(row)["sand"], abs=1e-6)
    Select(browser.find_element(By.ID, "nomogram-for")).select_by_visible_text("clay")
    assert probability(browser) == pytest.approx(model.predict_proba_one(row)["clay"], abs=1e-6)
    browser.find_element(By.ID, "nomogram-clear").click()
    assert probability(browser) == pytest.approx(model.predict_proba_one({})["clay"], abs=1e-6)


def drag(browser, box, by, *, finger):
    """Drag the handle of a ruler to the right by some pixels, with the mouse or by touch."""
    place = "const r = arguments[0].getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]"
    x, y = browser.execute_script(place, box.find_element(By.CSS_SELECTOR, ".handle"))
    for i in range(6):
        at = {"x": x + by * min(i, 4) / 4, "y": y}
        if finger:
            kind = "touchEnd" if i == 5 else "touchMove" if i else "touchStart"
            browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [] if i == 5 else [at]})
        else:
            kind = "mouseReleased" if i == 5 else "mouseMoved" if i else "mousePressed"
            mouse = {"type": kind, **at, "button": "left", "buttons": 1, "clickCount": 1}
            browser.execute_cdp_cmd("Input.dispatchMouseEvent", mouse)


@pytest.mark.parametrize("size", SIZES)
def test_handles_can_be_dragged_by_mouse_and_touch(browser, path, size):
    opened(browser, path, size)
    box = ruler(browser, "rain")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", box)
    before = probability(browser)
    drag(browser, box, 40, finger=size == "phone")
    right = probability(browser)
    drag(browser, box, -80, finger=size == "phone")
    assert probability(browser) < before < right
    assert box.find_element(By.CSS_SELECTOR, "input[type=number]").get_attribute("value")


def test_example_rows_have_the_probability_of_the_model(browser, model, path):
    opened(browser, path)
    load = Select(browser.find_element(By.ID, "nomogram-row"))
    side = Select(browser.find_element(By.ID, "nomogram-for")).first_selected_option.text
    rows = part(fields(), 200, 300)
    for option in [one.text for one in load.options[1:6]]:
        load.select_by_visible_text(option)
        number = int(re.match(r"row (\d+): (clay|sand)", option)[1])
        row = {name: np.asarray(values)[number].item() for name, values in rows.items() if name != "soil"}
        assert probability(browser) == pytest.approx(model.predict_proba_one(row)[side], abs=1e-6)


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_weights_and_calibration_are_applied(browser, tmp_path, method):
    rows = part(fields(), 200, 300)
    model = tb.fit(part(fields(), 0, 200), label="soil")
    model.column_weights = ColumnWeights({"rain": 0.4, "crop": 0.2})
    model.calibrate(part(fields(), 0, 200), method)
    write_report(tmp_path / "page.html", report(model, rows))
    opened(browser, tmp_path / "page.html")
    load = Select(browser.find_element(By.ID, "nomogram-row"))
    side = Select(browser.find_element(By.ID, "nomogram-for")).first_selected_option.text
    for option in [one.text for one in load.options[1:4]]:
        load.select_by_visible_text(option)
        row = {name: np.asarray(values)[int(option[4 : option.index(":")])].item() for name, values in rows.items()}
        assert probability(browser) == pytest.approx(model.predict_proba_one(row)[side], abs=1e-6)


def contrast(first, second):
    """The contrast ratio of two CSS colours (Web Content Accessibility Guidelines)."""
    light = []
    for colour in (first, second):
        parts = np.array([float(part) for part in re.findall(r"[\d.]+", colour)[:3]]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        light.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    return (max(light) + 0.05) / (min(light) + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_sufficient_contrast_in_light_and_dark_mode(browser, path, scheme):
    opened(browser, path, prefers_color_scheme=scheme)
    style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    ground = browser.execute_script(style, "body", "backgroundColor")
    panel = browser.execute_script(style, "figure", "backgroundColor")
    assert (contrast(ground, "rgb(0, 0, 0)") < 2) == (scheme == "dark")
    for text in ("p", "summary", "nav a", ".soft", "caption"):
        for behind in (ground, panel):
            assert contrast(browser.execute_script(style, text, "color"), behind) > 4.5, (text, behind)
    axis = browser.execute_script(style, ".chart svg .role-axis-label text", "fill")
    assert contrast(axis, panel) > 4.5


def test_the_page_can_be_printed(browser, path):
    opened(browser, path, prefers_color_scheme="dark")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    assert browser.execute_script(style, "body", "backgroundColor") == "rgb(255, 255, 255)"
    assert browser.execute_script(style, "nav", "display") == "none"
    axis = browser.execute_script(style, ".chart svg .role-axis-label text", "fill")
    assert contrast(axis, "rgb(255, 255, 255)") > 7
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    assert len(printed) > 50_000


def test_controls_and_landmarks_have_accessible_names(browser, path):
    opened(browser, path)
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    by_role = {}
    for node in nodes:
        if not node.get("ignored"):
            by_role.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    for role, least in {"slider": 9, "combobox": 6, "image": 12, "heading": 15, "spinbutton": 3, "button": 1}.items():
        assert len(by_role.get(role, [])) >= least, (role, by_role.get(role))
        assert all(by_role[role]), (role, by_role[role])
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert len(by_role[landmark]) == 1


def test_markup_in_the_data_is_shown_as_text(browser, tmp_path):
    rows = [
        {NASTY: c, "text": f"{NASTY} {c} and some more prose, hardly the same", "y": f"{y}{NASTY}"}
        for c, y in (("a", "x"), (NASTY, "z"), ("b", "x"), ("b", "z")) * 6
    ]
    model = tb.fit(rows, label="y", families={NASTY: "categorical", "text": "text"})
    write_report(tmp_path / "nasty.html", report(model, rows))
    opened(browser, tmp_path / "nasty.html", "phone")
    assert browser.execute_script("return document.images.length") == 0
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    assert Select(browser.find_element(By.ID, "nomogram-for")).options[0].get_attribute("textContent") == f"x{NASTY}"
    assert browser.execute_script("return document.documentElement.scrollWidth") <= SIZES["phone"][0]


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
    found = re.fullmatch(r"tally decide MODEL\.tally --class sand --threshold ([\d.]+) --in-place", line)
    assert ((p >= float(found[1])) == (p >= min(every, key=lambda t: abs(t - float(found[1]))))).all()
    assert f"least {float(f'{min(costs):.3g}'):g}" in browser.find_element(By.ID, "cost-summary").text
    assert browser.find_elements(By.CSS_SELECTOR, "#cost-chart svg path.cost-line")
    model.save(tmp_path / "MODEL.tally")
    words = [sys.executable, "-m", "tallybayes.cli.main", *shlex.split(line)[1:]]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    assert tb.load(tmp_path / "MODEL.tally").decision == tb.Decision(label="sand", threshold=float(found[1]))


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
