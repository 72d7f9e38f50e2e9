"""Access for all: axe-core finds nothing serious in any view, light and dark; landmarks, headings, focus, motion."""

import itertools
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("selenium")

from page_browser import VIEWS
from selenium.webdriver.common.keys import Keys

AXE = "axe-core@4"


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The script of axe-core, installed from npm into a temporary folder."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: axe-core is not run")
    folder = tmp_path_factory.mktemp("axe")
    command = [
        "npm",
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--prefix",
        str(folder),
        AXE,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
    script = Path(folder) / "node_modules" / "axe-core" / "axe.min.js"
    if done.returncode or not script.exists():
        pytest.skip(f"axe-core cannot be installed from npm: {done.stderr.strip()[:200]}")
    return script.read_text(encoding="utf-8")


def findings(page, axe):
    """Serious and critical findings of axe-core in the page as it is."""
    page.run(axe)
    page.browser.set_script_timeout(60)
    found = page.browser.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "const failed = (error) => done([String(error)]);"
        "axe.run(document, {resultTypes: ['violations']}).then((result) => done(result.violations), failed)"
    )
    return [
        (one["id"], [node["html"][:120] for node in one["nodes"]])
        for one in found
        if isinstance(one, str) or one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_any_view(page, axe, demo_client, scheme):
    change = demo_client.learn([{"kilos": 3.5, "likes": "fish", "pet": "cat"}])
    page.open("try/letters", prefers_color_scheme=scheme)
    assert findings(page, axe) == []
    for view in VIEWS:
        page.go(f"{view}/pets")
        assert findings(page, axe) == [], view
    demo_client.undo(change.event)


def test_axe_finds_nothing_serious_on_a_phone_and_in_dialogs(page, axe):
    page.open("correct/letters", "phone")
    assert findings(page, axe) == []
    page.open("try/pets", "phone")
    page.fill("kilos", "heavy")
    page.press("?")
    assert findings(page, axe) == []
    page.browser.switch_to.active_element.send_keys(Keys.ESCAPE)


def test_axe_would_find_something(page, axe):
    page.open("api/pets")
    page.run("document.querySelector('main').append(document.createElement('button'))")
    assert [name for name, _ in findings(page, axe)] == ["button-name"]


def test_landmarks_and_headings(page):
    page.open("model/pets")
    assert [one.tag_name for one in page.all("body > header, body > main, body > footer")] == [
        "header",
        "main",
        "footer",
    ]
    assert page.one("nav").get_attribute("aria-label") == "Views"
    assert len(page.all("h1")) == 1
    levels = page.run("return [...document.querySelectorAll('h1, h2, h3, h4')].map((one) => Number(one.tagName[1]))")
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels)), levels
    assert page.run("return document.documentElement.lang") == "en"


def test_the_answer_is_spoken_and_the_focus_follows_the_view(page):
    page.open("try/pets")
    page.click("Clear")
    page.fill("kilos", "30")
    page.until(
        lambda: page.run("return document.querySelector('[aria-live=polite].unseen').textContent").startswith("dog")
    )
    page.one(".tabs a:nth-child(3)").send_keys(Keys.ENTER)
    page.settled("model/pets")
    assert page.run("return document.activeElement.tagName") == "H1"
    page.browser.switch_to.active_element.send_keys(Keys.TAB)
    assert page.run("return document.activeElement.textContent") == "Download the model"


def test_single_keys_can_be_turned_off(page, demo_client):
    page.open("try/pets")
    before = demo_client.version
    page.run("document.querySelector('[aria-label=\"Keyboard shortcuts\"]').click()")
    page.run("document.getElementById('shortcuts-on').click()")
    page.click("Close", "dialog")
    page.press("1")
    page.press("?")
    assert page.all("dialog") == []
    assert demo_client.version == before
    page.open("try/pets")


def test_the_first_tab_skips_to_the_content(page):
    page.open("try/pets")
    page.one("body").send_keys(Keys.TAB)
    link = page.browser.switch_to.active_element
    assert link.text == "Skip to the content"
    link.send_keys(Keys.ENTER)
    assert page.run("return document.activeElement.id") == "main"
    assert page.browser.current_url.endswith("#/try/pets")
