"""Correct: a batch is worked through with the keyboard, the most doubtful row first; nothing is lost on an error."""

import json

import numpy as np
import pytest

pytest.importorskip("selenium")

from page_browser import percent
from selenium.webdriver.common.keys import Keys

from tallybayes.server.demo_models import demo_rows


def entries(page, model="pets"):
    """The rows of the batch as the tab has stored them."""
    return json.loads(page.run("return sessionStorage.getItem(arguments[0])", f"tallybayes-batch-{model}") or "[]")


def doubt(p):
    first, second = np.sort(p)[::-1][:2]
    return 1 - (first - second)


def test_the_most_doubtful_row_comes_first(page, demo_client):
    page.open("correct/pets")
    rows = demo_rows()["pets"]
    p = demo_client.predict_proba([{name: row[name] for name in row if name != "name"} for row in rows])
    order = sorted(range(len(rows)), key=lambda i: -doubt(p[i]))
    assert page.texts(".queue-title")[:5] == [rows[i]["name"] for i in order[:5]]
    assert page.text(".queue [aria-current] .queue-title") == rows[order[0]]["name"]
    assert page.verdict() == (["cat", "dog", "rabbit"][int(p[order[0]].argmax())], percent(p[order[0]].max()))
    assert page.text(".queue-head").startswith("0 of 18")


def test_a_batch_is_worked_through_by_keyboard_alone(page, demo_client):
    page.open("correct/pets")
    first, second = page.texts(".queue-title")[:2]
    page.press("j")
    assert page.text(".queue [aria-current] .queue-title") == second
    page.press("k")
    assert page.text(".queue [aria-current] .queue-title") == first
    before = demo_client.class_counts
    page.press("2")
    assert page.text(".queue-head").startswith("1 of 18")
    assert first not in page.texts(".queue-title")
    assert f"{first} is dog" in page.text(".changes[role=status]")
    page.press("s")
    assert page.text(".queue-head").startswith("2 of 18")
    assert "1 skipped" in page.text(".queue-head")
    page.press("u")
    assert page.text(".queue-head").startswith("1 of 18")
    assert page.text(".queue [aria-current] .queue-title") == first
    assert [one["state"] for one in entries(page)].count("done") == 0
    assert demo_client.class_counts == before
    assert page.errors() == []


def test_the_answer_to_the_row_is_shown_before_and_after(page, demo_client):
    page.open("correct/pets")
    page.press("3")
    row = next(one["row"] for one in entries(page) if one["state"] == "done")
    known = {name: row[name] for name in row if name != "name"}
    after = demo_client.predict_proba([known])[0][2]
    page.press("u")
    before = demo_client.predict_proba([known])[0][2]
    assert after > before
    page.press("3")
    assert f"{percent(before)} before, {percent(after)} now" in page.text(".changes[role=status]")
    page.press("u")


def test_a_reload_loses_no_row_and_a_file_adds_some(page):
    page.open("correct/pets")
    page.press("s")
    page.open("correct/pets", fresh=False)
    assert page.text(".queue-head").startswith("1 of 18")
    page.drop("main .head", "more.csv", "name,kilos\nBella,12\nLuna,2.1\n", "text/csv")
    assert page.text(".queue-head").startswith("1 of 20")
    assert "Bella" in page.texts(".queue-title")
    page.click("Empty the batch")
    assert "No rows are waiting" in page.text("main")
    assert entries(page) == []


def test_all_rows_are_judged_before_the_most_doubtful_one_is_shown(page):
    """The most doubtful row of a file may be anywhere in it, not only among its first thousand rows."""
    page.open("correct/pets")
    page.click("Empty the batch")
    rows = [f"sure{i},{30 + i % 9},walks" for i in range(2100)]
    rows[2050] = "Moot,6.5,"
    page.drop("main .head", "many.csv", "name,kilos,likes\n" + "\n".join(rows) + "\n", "text/csv")
    page.until(lambda: page.texts(".queue-title")[:1] == ["Moot"])
    page.settled()
    assert page.text(".queue [aria-current] .queue-title") == "Moot"
    assert page.text(".head p[role=status]").startswith("The most doubtful row comes first")
    page.press("2")
    assert page.text(".queue-head").startswith("1 of 2100")
    assert page.errors() == []


def test_rows_go_from_try_to_the_batch(page):
    page.open("try/pets")
    page.go("correct/pets").click("Empty the batch")
    page.go("try/pets")
    page.drop("section[aria-label='The row']", "new.csv", "name,kilos\nMimi,3.9\nRex,31\n", "text/csv")
    page.click("Work through all")
    page.settled("correct/pets")
    assert sorted(page.texts(".queue-title")) == ["Mimi", "Rex"]


def test_the_end_of_a_batch_offers_the_skipped_rows(page):
    page.open("correct/letters")
    assert page.text(".queue-head").startswith("0 of 6")
    for _ in range(6):
        page.press("s")
    assert "All rows of the batch are done" in page.text("main")
    page.click("Look at the 6 skipped rows")
    assert len(page.texts(".queue-title")) == 6
    assert page.all(".words mark")


def test_no_row_is_lost_while_the_server_cannot_be_reached(page, demo_client):
    page.open("correct/pets")
    page.browser.execute_cdp_cmd("Network.enable", {})
    limits = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    before = demo_client.class_counts
    try:
        page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": True, **limits})
        page.press("1")
        assert "The server does not answer" in page.text(".problem")
        assert "tally serve" in page.text(".problem")
        assert page.text(".queue-head").startswith("0 of 18")
        assert {one["state"] for one in entries(page)} == {"open"}
    finally:
        page.browser.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, **limits})
    page.press("1")
    assert page.text(".queue-head").startswith("1 of 18")
    assert page.all(".problem") == []
    assert demo_client.class_counts == before | {"cat": before["cat"] + 1}
    page.press("u")
    assert demo_client.class_counts == before


def test_rows_can_be_chosen_and_taught_without_a_mouse(page):
    """Tab reaches the rows, the labels and the moves, in this order; Enter works on each."""
    page.open("correct/pets")
    page.run("document.querySelector('.queue-row').focus()")
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    page.settled()
    seen = []
    for _ in range(40):
        active = page.browser.switch_to.active_element
        seen.append(active.text.split("\n")[0] or active.get_attribute("placeholder"))
        active.send_keys(Keys.TAB)
    places = [
        seen.index(text) for text in ("cat", "dog", "rabbit", "another label", "Previous", "Next", "Skip", "Undo")
    ]
    assert places == sorted(places)
