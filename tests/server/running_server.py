"""A server in a process of its own, started by `tally serve`, for the tests."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx2

import tallybayes as tb
from tallybayes.client import Client

ROOT = Path(__file__).parents[2]
PETS = [
    {"weight": 4.0, "likes": "fish|sun", "indoors": True, "pet": "cat"},
    {"weight": 4.4, "likes": "sun", "indoors": True, "pet": "cat"},
    {"weight": 3.9, "likes": "birds", "indoors": False, "pet": "cat"},
    {"weight": 13.0, "likes": "walks|fetch", "indoors": False, "pet": "dog"},
    {"weight": 21.5, "likes": "walks", "indoors": False, "pet": "dog"},
    {"weight": 9.0, "likes": "fetch|sun", "indoors": True, "pet": "dog"},
]
FAMILIES = {"weight": "gaussian", "likes": "tags", "indoors": "bernoulli"}
CAT = {"weight": 4.1, "likes": "fish", "indoors": True}
DOG = {"weight": 15.0, "likes": "walks", "indoors": False}


def pets():
    """A small model of every kind of column that JSON can write."""
    return tb.fit(PETS, label="pet", families=FAMILIES, column_weights=None)


class RunningServer:
    """`tally serve` with some options, until `stop`."""

    def __init__(self, path, *options, environment=None):
        command = [sys.executable, "-m", "tallybayes.cli.main", "serve", str(path), "--port", "0", *options]
        own = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **(environment or {})}
        own.pop("TALLY_KEYS", None) if environment is None else None
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own, cwd=ROOT
        )
        self.path, self.lines = Path(path), []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            self.process.wait(20)
            self._reader.join(5)
            self.process.stdout.close()
            self.process.stderr.close()
            raise RuntimeError("".join(self.lines))
        self.host, _, port = self.url.partition("://")[2].rpartition(":")
        self.port = int(port)

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    def client(self, **options):
        return Client(self.url, **options)

    def log(self):
        """The lines of the log so far."""
        found = []
        for line in list(self.lines):
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found

    def stop(self, number=signal.SIGTERM, timeout=30):
        """Stop the process, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(timeout)
        self._reader.join(5)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *error):
        try:
            self.stop()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)


class Api(httpx2.Client):
    """Requests below one path; an empty path is that path itself."""

    def __init__(self, root, name=""):
        super().__init__(timeout=60)
        self.root, self.name = root, name

    def request(self, method, url, **options):
        return super().request(method, f"{self.root}{url}", **options)

    def stream(self, method, url, **options):
        return super().stream(method, f"{self.root}{url}", **options)
