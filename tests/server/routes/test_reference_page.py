"""The page /docs in a real browser: it draws every route, and its form sends requests."""

import re
import time

import httpx2
import pytest
from running_server import ROOT


@pytest.fixture(scope="module")
def reference(served, page_browser):
    page_browser.get("about:blank")  # ends what the page before still asks for
    page_browser.get_log("browser")
    page_browser.get(f"{served.url}/docs")
    _wait(page_browser, "return document.querySelectorAll('.route').length > 10")
    return page_browser


def _wait(browser, script, *given):
    deadline = time.monotonic() + 30
    while not (found := browser.execute_script(script, *given)):
        assert time.monotonic() < deadline, script
        time.sleep(0.05)
    return found


def test_every_route_is_drawn_and_nothing_is_refused(served, reference):
    document = httpx2.get(f"{served.url}/openapi.json").json()
    expected = {operation["operationId"] for item in document["paths"].values() for operation in item.values()}
    drawn = reference.execute_script("return [...document.querySelectorAll('.route')].map((one) => one.id)")
    assert set(drawn) == expected
    assert len(drawn) == len(expected)
    told = [one for one in reference.get_log("browser") if one["level"] in ("SEVERE", "WARNING")]
    assert [one for one in told if "favicon" not in one["message"]] == []
    text = reference.execute_script("return document.body.textContent")
    assert f"{served.url}/v1/models/pets/predict" in text
    assert "undefined" not in text


def test_a_route_is_tried_by_its_form(reference):
    shown = _wait(
        reference,
        """
        const form = document.querySelector("#predict form");
        if (!window.sent) {
          window.sent = true;
          document.querySelectorAll("#predict details").forEach((one) => { one.open = true; });
          form.requestSubmit();
        }
        const text = form.querySelector("pre").textContent;
        return text.startsWith("200") ? text : null;
        """,
    )
    assert '"predictions"' in shown
    assert re.search(r'"version": \d+', shown)


def test_the_filter_hides_other_routes(reference):
    script = """
        const filter = document.getElementById("filter");
        filter.value = arguments[0];
        filter.dispatchEvent(new Event("input"));
        return [...document.querySelectorAll("nav li:not(.hidden)")].map((one) => one.textContent);
    """
    assert reference.execute_script(script, "nomogram") == ["Nomogram"]
    assert len(reference.execute_script(script, "")) > 20


def test_the_page_has_no_code_in_its_html():
    html = (ROOT / "src" / "tallybayes" / "server" / "page" / "reference" / "reference.html").read_text()
    assert not re.search(r"<style|style=|\son\w+=|<script>", html)
