"""The other views: model, stream, data and API; and what holds for all of them, on a desktop and on a phone."""

import re

import numpy as np
import pyarrow.parquet
import pytest

pytest.importorskip("selenium")

from page_browser import SIZES, VIEWS, PageInBrowser, percent
from running_server import CAT, RunningServer, pets
from selenium.webdriver.common.keys import Keys

import tallybayes as tb
from tallybayes.client import Client
from tallybayes.demo_data.example_files import pet_lines
from tallybayes.model.saved_model import dumps
from tallybayes.server.http.api_key import new_key


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("model", ["pets", "letters"])
def test_every_view_fits_and_asks_nobody_else(page, size, model):
    page.open(f"{VIEWS[0]}/{model}", size)
    for view in VIEWS:
        page.go(f"{view}/{model}")
        assert page.run("return document.documentElement.scrollWidth") <= SIZES[size][0], view
        outside = page.run(
            "return [...document.querySelectorAll('main *')].filter((e) => !e.closest('.scroll, svg, pre, .unseen') && "
            "e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 80))"
        )
        assert outside == [], view
    assert page.errors() == []
    asked = page.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert len(asked) > 20
    assert [name for name in asked if not name.startswith(f"{page.url}/")] == []
    assert page.run("return document.cookie") == ""


def test_colours_follow_the_system_until_one_chooses(page):
    page.open("try/pets", prefers_color_scheme="dark")
    assert _brightness(page) < 60
    page.run("document.querySelector('[aria-label=\"Switch to light colours\"]').click()")
    assert _brightness(page) > 200
    page.open("try/pets", fresh=False, prefers_color_scheme="dark")
    assert _brightness(page) > 200
    page.open("try/pets", prefers_color_scheme="light")
    assert _brightness(page) > 200
    assert page.errors() == []


def test_the_model_chooser_and_the_tabs_have_addresses(page):
    page.open("model/pets")
    chooser = page.one("#model-choice")
    chooser.send_keys("l")
    page.settled("model/letters")
    assert page.browser.current_url.endswith("#/model/letters")
    assert page.text("h1") == "Model letters"
    page.press("gs")
    page.settled("stream/letters")
    assert page.text(".tabs [aria-current]") == "Stream"
    page.browser.back()
    page.settled("model/letters")
    page.press("?")
    assert "undo the last correction" in page.text("dialog")
    page.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    page.until(lambda: page.all("dialog") == [])


def test_the_model_is_shown_with_its_columns(page, demo_client):
    page.open("model/pets")
    facts = demo_client.info()
    assert page.texts("section[aria-label=Classes] .p") == [str(n) for n in facts["class_counts"]]
    assert {"kilos", "colour", "likes", "indoors"} <= set(page.texts(".column-card h3"))
    assert page.text(".excluded").startswith("name")
    assert page.run("return document.querySelectorAll('.picture .line').length") == 3
    important = page.texts(".importance .name")
    assert set(important[:2]) == {"likes", "kilos"}
    assert page.text("section[aria-label=Settings]").count("fitted on") == 1


def test_the_nomogram_has_the_probabilities_of_the_model(page, demo_client):
    page.open("model/pets")
    indoors = next(one for one in page.all(".ruler") if one.text.startswith("indoors"))
    indoors.find_element("css selector", "select").send_keys("yes")
    kilos = next(one for one in page.all(".ruler") if one.text.startswith("kilos"))
    kilos.find_element("css selector", "input").send_keys(Keys.HOME)
    value = float(kilos.find_element("css selector", "input").get_attribute("aria-valuetext"))
    p = demo_client.predict_proba([{"indoors": True, "kilos": value}])[0]
    assert page.texts(".nomogram-sum .p") == [percent(own) for own in p]
    page.click("Set all to missing")
    assert page.texts(".nomogram-sum .p") == [percent(own) for own in demo_client.predict_proba([{}])[0]]


def test_the_model_view_follows_changes_without_moving_sliders(page, demo_client):
    page.open("model/pets")
    kilos = next(one for one in page.all(".ruler") if one.text.startswith("kilos")).find_element(
        "css selector", "input"
    )
    kilos.send_keys(Keys.HOME)
    at = kilos.get_attribute("aria-valuetext")
    change = demo_client.learn([{"kilos": 3.5, "likes": "birds", "pet": "cat"}])
    page.until(lambda: str(demo_client.class_counts["cat"]) == page.texts("section[aria-label=Classes] .p")[0])
    assert kilos.get_attribute("aria-valuetext") == at
    page.click("Update the pictures")
    demo_client.undo(change.event)
    page.until(lambda: str(demo_client.class_counts["cat"]) == page.texts("section[aria-label=Classes] .p")[0])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_larger_chart_is_drawn_by_vega_under_the_policy(page, scheme):
    pytest.importorskip("altair")
    page.open("model/pets", prefers_color_scheme=scheme)
    for column in ("kilos", "likes"):
        page.run("document.querySelector(arguments[0]).click()", f"[aria-label='larger chart of {column}']")
        page.until(lambda: page.all("dialog .large-chart[data-drawn]"))
        pixels = page.run(
            "const canvas = document.querySelector('dialog canvas');"
            "const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
            "return new Set(new Uint32Array(data.buffer)).size"
        )
        assert pixels > 30  # colours: something is drawn
        page.browser.switch_to.active_element.send_keys(Keys.ESCAPE)
        page.until(lambda: page.all("dialog") == [])
    assert page.errors() == []


def test_the_stream_follows_changes_of_others(page, demo_client):
    page.open("stream/pets")
    page.until(lambda: page.text(".live") == "live")
    before = page.text("section[aria-label='Recent events']")
    change = demo_client.learn([{"kilos": 3.5, "likes": "fish", "pet": "cat"}])
    page.until(lambda: f"{change.event}\tlearn" in page.text("section[aria-label='Recent events']"))
    assert page.text("section[aria-label='Recent events']") != before
    assert page.text(".status").split("version ")[1].startswith(str(change.version))
    assert page.run("return document.querySelector('.chart-line').getAttribute('points')").count(",") >= 1
    page.run(f"document.querySelector('[aria-label=\"undo event {change.event}\"]').click()")
    page.until(lambda: f"takes back {change.event}" in page.text("section[aria-label='Recent events']"))
    assert page.errors() == []


def test_warnings_of_drift_are_shown(page, demo_client):
    """After 400 rows as before, 200 with exchanged labels: the log loss rises."""
    rng, names = np.random.default_rng(3), ["name", "kilos", "colour", "likes", "indoors", "pet"]
    rows = [dict(zip(names, line.split(","), strict=True)) for line in pet_lines(rng, 600)]
    rows = [row | {"kilos": float(row["kilos"] or 5), "indoors": row["indoors"] == "true"} for row in rows]
    others = {"cat": "dog", "dog": "rabbit", "rabbit": "cat"}
    demo_client.upload(demo_client.download(), "drifting")
    try:
        with Client(page.url, model="drifting") as client:
            client.learn(rows[:200])
            client.learn(rows[200:400])
            page.open("stream/drifting")
            assert page.all(".warn-card") == []
            client.learn([row | {"pet": others[row["pet"]]} for row in rows[400:]])
        page.until(lambda: "log loss" in page.text(".warn-card"))
        assert "(since event 3)" in page.text(".warn-card")
    finally:
        demo_client.remove("drifting")


def test_events_are_filtered_opened_and_taken_back(page, demo_client):
    first = demo_client.learn([{"kilos": 3.5, "colour": "tabby", "pet": "cat"}])
    demo_client.undo(first.event)
    second = demo_client.learn([{"kilos": 33, "colour": "brindle", "pet": "dog"}])
    page.open("data/pets")
    kinds = page.texts(".events .kind")
    assert {"learn", "undo"} <= set(kinds)
    _choose(page, "kind", "undo")
    assert set(page.texts(".events .kind")) == {"undo"}
    _choose(page, "kind", "learn")
    assert set(page.texts(".events .kind")) == {"learn"}
    assert f"taken back by {first.event + 1}" in page.text(f"tr[data-event='{first.event}']")
    page.run(f"document.querySelector('[aria-label=\"rows of event {second.event}\"]').click()")
    page.settled()
    assert "brindle" in page.text(".event-details:not([hidden])")
    page.run(f"document.querySelector('[aria-label=\"undo event {second.event}\"]').click()")
    page.settled()
    page.until(lambda: f"taken back by {second.event + 1}" in page.text(f"tr[data-event='{second.event}']"))
    page.run(
        "arguments[0].value = '2099-01-01T00:00'; arguments[0].dispatchEvent(new Event('input'))", page.field("since")
    )
    assert page.texts(".events .kind") == []
    assert page.errors() == []


def test_a_model_is_downloaded_as_it_is(page, tmp_path, demo_client):
    page.browser.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.open("model/pets")
    page.click("Download the model")
    page.until(lambda: [path for path in tmp_path.glob("*.tally") if path.stat().st_size])
    assert tb.load(tmp_path / "pets.tally").class_counts == demo_client.class_counts


def test_the_log_is_exported(page, tmp_path, demo_client):
    change = demo_client.learn([{"kilos": 3.5, "pet": "cat"}])
    demo_client.undo(change.event)
    page.browser.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.open("data/pets")
    page.click("Export as Parquet")
    path = tmp_path / "pets-events.parquet"
    page.until(lambda: path.exists() and path.stat().st_size)
    events = pyarrow.parquet.read_table(path).to_pylist()
    assert [event["kind"] for event in events][-2:] == ["learn", "undo"]


def test_examples_of_code_have_this_address_and_model(page):
    page.open("api/pets")
    shown = page.texts("pre")
    assert len(shown) == 5
    assert all(page.url in text for text in shown)
    script = shown[3]
    assert "from tallybayes.client import Client" in script
    printed, names = [], {}
    exec(script, names | {"print": printed.append}, names)  # the example works as it is shown
    names["client"].close()
    assert printed[0].tolist()[0] in ("cat", "dog", "rabbit")


def test_a_server_that_only_reads_offers_no_changes(page_browser, tmp_path):
    pets().save(tmp_path / "pets.tally")
    with RunningServer(tmp_path / "pets.tally", "--read-only") as server:
        page = PageInBrowser(page_browser, server.url).open("try/pets")
        page.fill("weight", "4")
        assert page.verdict()[0] == "cat"
        assert page.run("return document.querySelector('.teach').hidden")
        assert "Correct" not in page.text(".tabs")
        assert "read-only" in page.text(".status")
        page.press("1")
        page.go("data/pets")
        assert page.texts(".events .kind") == []
        page.go("correct/pets")
        assert "read-only" in page.text("main")


def test_a_key_is_asked_for_and_kept_in_the_tab_only(page_browser, tmp_path):
    pets().save(tmp_path / "pets.tally")
    made = [new_key(scope, ["*"], scope) for scope in ("predict", "learn")]
    (tmp_path / "keys.txt").write_text("".join(f"{key.line()}\n" for _, key in made))
    with RunningServer(tmp_path / "pets.tally", "--keys", str(tmp_path / "keys.txt")) as server:
        page = PageInBrowser(page_browser, server.url).open("try/pets", wait=False)
        for given in ("wrong", made[0][0]):
            box = page.until(lambda: next(iter(page.all("dialog[open] #key-entry")), None))
            box.send_keys(given + Keys.ENTER)
            page.until(lambda old=box: old not in page.all("dialog[open] #key-entry"))
        page.settled("try/pets")
        page.fill("weight", str(CAT["weight"]))
        assert page.verdict()[0] == "cat"
        page.until(lambda: page.text(".live") == "live")  # the stream of events has the key too
        assert page.run("return document.cookie + JSON.stringify(localStorage)") == "{}"
        page.press("2")
        assert "a key with the scope learn" in page.text(".problem")
        page.run("sessionStorage.setItem('tallybayes-key', arguments[0])", made[1][0])
        page.press("2")
        assert "Learned dog" in page.text(".changes")
        with server.client(key=made[1][0]) as client:
            assert client.events()[0]["who"] == "learn"
        page.go("api/pets")
        assert "TALLYBAYES_KEY" in page.text("pre")
        assert made[1][0] not in page.text("main")


def test_odd_models_are_shown(page, demo_server):
    """Names that look like code, forty classes, numbers as labels, a model without rows."""
    rng = np.random.default_rng(0)
    nasty = "</script><img src=x onerror=alert(1)>"
    many = {"x": rng.normal(size=400), "y": [f"class {i % 40}" for i in range(400)]}
    odd = {
        "nasty": tb.fit({nasty: ["<b>", "&amp;"] * 20, "why": [nasty, "ok"] * 20}, label="why"),
        "many": tb.fit(many, label="y"),
        "numbers": tb.fit({"a": [1.5, 2.5, 3.5, 4.5] * 10, "y": [0, 1, 1, 2] * 10}, label="y"),
        "empty": _without_rows(),
    }
    with demo_server.client() as client:
        for name, model in odd.items():
            client.upload(dumps(model), name)
        try:
            page.open("try/pets")
            for name in odd:
                for view in ("try", "correct", "model", "stream"):
                    page.go(f"{view}/{name}")
                    assert page.text("h1"), (view, name)
                    assert page.run("return document.documentElement.scrollWidth") <= 1280
            page.go("try/nasty")
            page.fill(nasty, "<b>")
            assert page.verdict()[0] == nasty
            page.go("try/many")
            assert len(page.texts(".bars .name")) == 8
            page.go("try/numbers")
            page.fill("a", "4.4")
            page.press("3")
            assert "Learned 2" in page.text(".changes")
            wrong = [entry for entry in page.errors() if "422" not in entry]  # an empty model has no answer
            assert wrong == []
        finally:
            for name in odd:
                client.remove(name)


def _without_rows():
    model = tb.fit({"a": [1, 2], "y": ["x", "z"]}, label="y")
    model.forget({"a": [1, 2], "y": ["x", "z"]})
    return model


def _brightness(page):
    colour = page.run("return getComputedStyle(document.body).backgroundColor")
    return np.mean([int(part) for part in re.findall(r"\d+", colour)[:3]])


def _choose(page, name, value):
    box = page.field(name)
    page.run("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))", box, value)
    page.settled()
