"""A model with columns of every family, new rows, and its report; a browser and the page it opens."""

import pytest
from animals import FAMILIES, mixed

import tallybayes as tb
from tallybayes.reporting import write_report


@pytest.fixture(scope="module")
def split():
    rows = mixed()
    return tb.fit(rows[:160], label="species", families=FAMILIES), rows[160:]


@pytest.fixture(scope="module")
def page(split):
    return tb.report(*split)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    from browsing import FLAGS, found_browser
    from selenium import webdriver

    chromium, driver = found_browser()
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield found
    found.quit()


@pytest.fixture(scope="session")
def model():
    from browsing import fields, part

    rows = part(fields(), 0, 200)
    return tb.fit(rows, label="soil", families={"rain": "gaussian", "worms": "poisson"})


@pytest.fixture(scope="session")
def path(model, tmp_path_factory):
    from browsing import fields, part

    file = tmp_path_factory.mktemp("page") / "report.html"
    steps = [{"k": k, "log_loss": (k - 1) ** 2} for k in (0.1, 1.0, 10.0)]
    write_report(file, tb.report(model, part(fields(), 200, 300), tuning=steps))
    return file
