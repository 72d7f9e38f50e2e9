"""The pictures of docs/server.md: the page of `tally serve --demo` in a headless browser (needs selenium, chromium)."""

import base64
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from selenium import webdriver

from tallybayes.client import Client
from tallybayes.demo_data.example_files import HEADER, pet_lines

DOCS = Path(__file__).parents[1] / "docs"
FLAGS = "--headless=new --no-sandbox --disable-gpu --hide-scrollbars --disable-background-networking --no-first-run"
PICTURES = {  # file: view, width, height, script to run first
    "server-try": ("try/letters", 1280, 900, ""),
    "server-correct": ("correct/letters", 1280, 960, ""),
    "server-model": ("model/pets", 1280, 980, ""),
    "server-stream": ("stream/pets", 1280, 900, ""),
    "server-phone": ("correct/pets", 375, 780, ""),
}


def started(folder: str) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in [*FLAGS.split(), f"--user-data-dir={folder}"]:
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def feed(address: str) -> None:
    """Teach 150 pets, so that there is a stream to look at."""
    names = [*HEADER.split(","), "pet"]
    with Client(address, model="pets") as client:
        for line in pet_lines(np.random.default_rng(8), 150):
            row = dict(zip(names, line.split(","), strict=True))
            kilos = float(row["kilos"]) if row["kilos"] else None
            client.learn([row | {"kilos": kilos, "indoors": row["indoors"] == "true", "name": None}])
        client.undo(140)


def main() -> None:
    command = [sys.executable, "-m", "tallybayes.cli.main", "serve", "--demo", "--port", "0", "--log-level", "error"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with tempfile.TemporaryDirectory() as profile:
        browser = started(profile)
        try:
            address = server.stdout.readline().strip()
            feed(address)
            for name, (view, width, height, script) in PICTURES.items():
                size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
                browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                browser.get("about:blank")
                browser.get(f"{address}/#/{view}")
                quiet = "return document.documentElement.dataset.waiting === '0' && !!document.querySelector('h1')"
                for _ in range(100):
                    time.sleep(0.2)
                    if browser.execute_script(quiet):
                        break
                time.sleep(1.0)
                browser.execute_script(script)
                shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
                (DOCS / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))
        finally:
            browser.quit()
            server.terminate()
            server.wait(30)


if __name__ == "__main__":
    main()
