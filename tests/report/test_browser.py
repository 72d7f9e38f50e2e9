"""The report page in a headless browser: charts, threshold, nomogram, layout and access."""

import re

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.reporting import report, write_report
from tallybayes.state.column_weights import ColumnWeights

pytest.importorskip("altair")
pytest.importorskip("selenium")

from browsing import SIZES, fields, number_in, opened, part, probability, ruler
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

NASTY = "</script><!--<img src=x onerror=alert(1)>\u2028\u2029"


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
    assert probability(browser) == pytest.approx(np.exp(model.snapshot().scorer.log_prior).min())
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
