"""Try: the answer and its reasons while a row is typed, pasted or dropped; the right label is taught and taken back."""

import re

import pytest

pytest.importorskip("selenium")

from page_browser import percent
from selenium.webdriver.common.keys import Keys

CAT = {"kilos": 3.9, "colour": "grey", "likes": "fish|sun", "indoors": True}
MAIL = """From: Prize department <prize@example.net>
To: Robin <robin@example.org>
Subject: You are our lucky winner
Date: Thu, 02 Apr 2026 15:04:00 +0000
Content-Type: text/plain; charset=utf-8

Congratulations! Click here now to claim your money \N{PARTY POPPER}
"""


def test_the_answer_follows_what_is_typed(page, demo_client):
    page.open("try/pets")
    page.click("Clear")
    page.fill("kilos", "30")
    p = demo_client.predict_proba([{"kilos": 30}])[0]
    assert page.probabilities() == {name: percent(own) for name, own in zip(("cat", "dog", "rabbit"), p, strict=True)}
    assert page.verdict() == ("dog", percent(p.max()))
    page.fill("kilos", "2,2")  # a decimal comma
    assert page.verdict()[0] == "rabbit"
    assert page.errors() == []


def test_every_field_adds_to_the_row_and_evidence_adds_up(page, demo_client):
    page.open("try/pets")
    page.click("Clear")
    page.fill("kilos", str(CAT["kilos"]))
    page.fill("colour", CAT["colour"])
    for text in ("fish", "sun"):
        _chip(page, text).click()
    page.run("document.querySelector('input[type=radio][value=yes]').click()")
    page.settled()
    p = demo_client.predict_proba([CAT])[0]
    assert page.verdict() == ("cat", percent(p.max()))
    names = [text.split("\n")[0] for text in page.texts(".evidence tbody .what")]
    assert (names[0], names[-1], set(names[1:-1])) == ("prior", "sum", {"kilos", "colour", "likes", "indoors"})
    decibans = [_number(text) for text in page.texts(".evidence tbody td.n:nth-child(3)")]
    assert sum(decibans[:-1]) == pytest.approx(decibans[-1], abs=0.3)
    strengths = [abs(one) for one in decibans[1:-1]]
    assert strengths == sorted(strengths, reverse=True)
    assert page.text(".flip").startswith("Without ")
    low, high = re.findall(r"[\d.]+(?= %)", page.one(".bars li").get_attribute("title"))[1:]
    assert 0 < float(low) < 100 * p.max() <= float(high) <= 100


def test_the_slider_and_the_keyboard_set_a_number(page):
    page.open("try/pets")
    slider = page.one("input[type=range]")
    before = page.field("kilos").get_attribute("value")
    slider.send_keys(Keys.ARROW_RIGHT * 20)
    page.settled()
    assert float(page.field("kilos").get_attribute("value")) > float(before)


def test_a_mistake_is_shown_at_its_field_and_the_last_answer_stays(page):
    page.open("try/pets")
    before = page.verdict()
    page.fill("kilos", "heavy")
    assert page.text(".field .wrong") == 'expected a number, got "heavy"'
    assert page.field("kilos").get_attribute("aria-invalid") == "true"
    assert page.verdict() == before
    page.fill("kilos", "4")
    assert page.texts(".field .wrong") == [""] * 4
    assert page.errors() == []


def test_only_the_answer_to_the_latest_row_is_shown(page):
    """A slow answer to an earlier row arrives after a later one, and is dropped."""
    page.open("try/pets")
    page.click("Clear")
    page.run(
        """
        const real = window.fetch;
        let n = 0;
        window.fetch = async (path, options) => {
          const mine = String(path).endsWith("/explain") ? ++n : 0;
          const answer = await real(path, {...options, signal: null});
          if (mine === 1) await new Promise((wake) => setTimeout(wake, 1200));
          return answer;
        };
        """
    )
    box = page.field("kilos")
    page.run("arguments[0].value = '30'; arguments[0].dispatchEvent(new Event('input'))", box)
    page.until(lambda: page.run("return document.documentElement.dataset.waiting") == "1")
    page.run("arguments[0].value = '2.0'; arguments[0].dispatchEvent(new Event('input'))", box)
    page.until(lambda: page.verdict()[0] == "rabbit")
    page.until(lambda: page.run("return document.documentElement.dataset.waiting") == "0")
    assert page.verdict()[0] == "rabbit"


@pytest.mark.parametrize(
    "text", ['{"kilos": 3.9, "likes": ["fish", "sun"]}', "kilos,likes\n3.9,fish|sun\n", "kilos\tlikes\n3.9\tfish|sun\n"]
)
def test_a_row_is_pasted(page, text):
    page.open("try/pets")
    page.click("Paste a row")
    page.run("arguments[0].value = arguments[1]", page.one(".paste textarea"), text)
    page.click("Read it")
    assert page.field("kilos").get_attribute("value") == "3.9"
    assert {one.text for one in page.all(".chip") if one.find_element("css selector", "input").is_selected()} == {
        "fish",
        "sun",
    }
    assert page.verdict()[0] == "cat"


def test_a_table_is_dropped_and_its_rows_are_looked_at(page):
    page.open("try/pets")
    page.drop("section[aria-label='The row']", "new.csv", "name,kilos\nMimi,3.9\nRex,31\n", "text/csv")
    assert "row 1 of 2: Mimi" in page.text("section[aria-label='The row']")
    page.run("document.querySelector('[aria-label=\"next row\"]').click()")
    page.settled()
    assert page.field("kilos").get_attribute("value") == "31"
    assert page.verdict()[0] == "dog"
    page.drop("section[aria-label='The row']", "x.zip", "PK\x03\x04....", "application/zip")
    assert "a zip archive" in page.text(".problem")
    assert "unpack or export it first" in page.text(".problem")


def test_words_of_a_dropped_mail_are_marked_by_evidence(page):
    page.open("try/letters")
    page.drop("section[aria-label='The row']", "winner.eml", MAIL, "message/rfc822")
    assert page.field("subject").get_attribute("value") == "You are our lucky winner"
    assert page.verdict()[0] == "spam"
    marked = {one.text: one.get_attribute("title") for one in page.all(".words mark.plus")}
    assert "decibans" in marked["Click"]
    assert _number(marked["Click"].split()[0]) > 3
    shown = page.texts(".words")
    assert any("claim your money \N{PARTY POPPER}" in text for text in shown)
    assert page.errors() == []


def test_a_sampled_row_fills_the_form(page):
    page.open("try/pets")
    page.click("Clear")
    page.click("Sample a row")
    assert page.verdict()[0] in ("cat", "dog", "rabbit")
    assert page.run(
        "return [...document.querySelectorAll('.field input')].some((one) => one.value && one.type === 'text')"
    )


def test_a_label_is_taught_by_a_click_and_taken_back_by_a_key(page, demo_client):
    page.open("try/pets")
    page.click("Clear")
    page.fill("kilos", "8")
    before = demo_client.predict_proba([{"kilos": 8}])[0]
    page.click("rabbit")
    after = demo_client.predict_proba([{"kilos": 8}])[0]
    assert after[2] > before[2]
    told = page.text(".changes")
    assert f"was {percent(before[2])} and is now {percent(after[2])}" in told
    assert page.probabilities()["rabbit"] == percent(after[2])
    assert page.run("return document.querySelector('.before-mark').hidden") is False
    page.press("u")
    assert (demo_client.predict_proba([{"kilos": 8}])[0] == before).all()
    assert page.probabilities()["rabbit"] == percent(before[2])
    assert page.errors() == []


def test_a_number_key_teaches_and_a_new_label_is_a_new_class(page, demo_server, demo_client):
    page.open("try/pets")
    rows = page.text(".status").split()[0]
    page.click("Clear")
    page.fill("kilos", "0.4")
    page.press("1")
    assert "Learned cat" in page.text(".changes")
    box = page.one(".other-label")
    box.send_keys("hamster\n")
    page.settled()
    assert "hamster" in page.probabilities()
    assert "Learned hamster" in page.text(".changes")
    page.press("u")
    page.press("u")
    assert list(page.probabilities()) == ["cat", "dog", "rabbit"]
    page.field("kilos").send_keys("1")  # a digit in a field is a digit
    page.settled()
    assert page.field("kilos").get_attribute("value") == "0.41"
    assert page.text(".status").split()[0] == rows


def _chip(page, text):
    return next(one for one in page.all("label.chip") if one.text == text)


def _number(text):
    return float(text.replace("\N{MINUS SIGN}", "-").replace("+", "").replace("\N{INFINITY}", "inf"))


def test_words_are_named_whose_absence_changes_the_answer(page, demo_server):
    page.open("try/letters")
    page.until(lambda: page.text(".flip").startswith("Without the word"))
    words = page.texts(".flip b")
    subject, text = (page.field(name).get_attribute("value") for name in ("subject", "text"))
    with demo_server.client(model="letters") as client:
        assert client.predict([{"subject": subject, "text": text}]).tolist() == [page.verdict()[0]]
        less = re.sub(rf"(?i)\b({'|'.join(words[:-1])})\b", " ", text)
        assert less != text
        assert client.predict([{"subject": subject, "text": less}]).tolist() == [words[-1]]
