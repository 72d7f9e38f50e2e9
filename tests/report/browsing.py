"""What the tests of the report page do in a browser; the fixtures are in conftest.py.

The browser is the one in the environment variable CHROMIUM, or chromium on the PATH; `make browser` installs it on
Debian. Without a browser and its driver the tests are skipped.
"""

import os
import shutil

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)
SIZES = {"desktop": (1280, 900), "phone": (375, 844)}


def found_browser():
    """The paths of the browser and its driver."""
    chromium = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromedriver were not found: run `make browser`, or set CHROMIUM")
    return chromium, driver


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
