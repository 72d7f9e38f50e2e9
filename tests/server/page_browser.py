"""The page in a headless browser, for the tests; the fixtures are in conftest.py.

The browser is the one in the environment variable CHROMIUM, or chromium on the PATH; `make browser` installs it on
Debian. Without a browser and its driver the tests are skipped.
"""

import os
import shutil
import time

import pytest

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)
SIZES = {"desktop": (1280, 900), "phone": (375, 844)}
VIEWS = ("try", "correct", "model", "stream", "data", "api")
_QUIET = """
const root = document.documentElement.dataset;
return root.shown !== undefined && root.waiting === "0" && (arguments[0] === null || root.shown === arguments[0]);
"""


def started_browser(folder):
    """A browser with a profile in this folder."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which(os.environ.get("CHROMIUM", "chromium")), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromedriver were not found: run `make browser`, or set CHROMIUM")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in [*FLAGS.split(), f"--user-data-dir={folder}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


class PageInBrowser:
    """The page of one server in a browser that is shared by the tests."""

    def __init__(self, browser, url):
        self.browser, self.url = browser, url

    def open(self, view, size="desktop", *, fresh=True, wait=True, **media):
        """Open a view, such as "try/pets"; fresh: without anything that the tab has stored."""
        width, height = SIZES[size]
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
        if not self.browser.current_url.startswith(f"{self.url}/"):
            self.browser.get(f"{self.url}/page/icon.svg")
        if fresh:
            self.run("sessionStorage.clear(); localStorage.clear()")
        self.browser.get_log("browser")
        self.run("history.replaceState(null, '', arguments[0])", f"/#/{view}")
        self.browser.refresh()
        return self.settled(view) if wait else self

    def go(self, view):
        """Go to another view without loading the page again."""
        self.run("location.hash = arguments[0]", f"#/{view}")
        return self.settled(view)

    def settled(self, view=None, seconds=20):
        """Wait until the page waits for no answer."""
        time.sleep(0.02)
        self.until(lambda: self.run(_QUIET, view), seconds)
        time.sleep(0.05)  # an answer may be followed by another question
        self.until(lambda: self.run(_QUIET, view), seconds)
        return self

    def until(self, condition, seconds=20):
        """Wait until a condition holds, and return its value."""
        end = time.monotonic() + seconds
        while not (found := condition()):
            if time.monotonic() > end:
                raise AssertionError(f"the page does not change: {self.text('main')[:500]}")
            time.sleep(0.05)
        return found

    def run(self, script, *given):
        return self.browser.execute_script(script, *given)

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def one(self, selector):
        return self.browser.find_element("css selector", selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def texts(self, selector):
        script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText.trim())"
        return self.run(script, selector)

    def field(self, name):
        """The input of a field of the form."""
        script = """
        const label = [...document.querySelectorAll("main label[for]")].find((one) => one.textContent === arguments[0]);
        return document.getElementById(label.htmlFor);
        """
        return self.run(script, name)

    def fill(self, name, value):
        """Type a value into a field of the form, and wait for the answer."""
        box = self.field(name)
        box.clear()
        box.send_keys(value)
        return self.settled()

    def press(self, keys):
        """Press keys where no field has the focus."""
        self.run("document.activeElement?.blur()")
        self.one("body").send_keys(keys)
        return self.settled()

    def button(self, text, within="main"):
        """The button whose text begins so."""
        script = """
        return [...document.querySelectorAll(arguments[1] + " button")]
          .find((one) => one.offsetParent !== null && one.innerText.trim().startsWith(arguments[0]));
        """
        return self.run(script, text, within)

    def click(self, text, within="main"):
        self.run("arguments[0].click()", self.until(lambda: self.button(text, within)))
        return self.settled()

    def drop(self, selector, name, content, media_type="text/plain"):
        """Drop a file on an element."""
        script = """
        const data = new DataTransfer();
        data.items.add(new File([arguments[2]], arguments[1], {type: arguments[3]}));
        document.querySelector(arguments[0]).dispatchEvent(
          new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        """
        self.run(script, selector, name, content, media_type)
        return self.settled()

    def verdict(self):
        """The answer, and the percentage beside it."""
        return self.text(".verdict .label-name"), self.text(".verdict .sure")

    def probabilities(self):
        """The shown probabilities by class, as text."""
        names, values = self.texts(".bars .name"), self.texts(".bars .p")
        return dict(zip(names, values, strict=True))

    def errors(self):
        """What the browser has logged since the page was opened."""
        return [entry["message"] for entry in self.browser.get_log("browser")]


def percent(p):
    """A probability as the page shows it."""
    if 0.9995 <= p < 1:
        return "> 99.9 %"
    return "< 0.1 %" if 0 < p < 0.0005 else f"{100 * p:.1f} %"
