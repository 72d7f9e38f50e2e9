"""The command `tally` in a process of its own, for tests."""

import csv
import io
import os
import subprocess
import sys

TALLY = [sys.executable, "-m", "tallybayes.cli.main"]


def tally(*arguments, cwd, stdin=None, **env):
    own = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    return subprocess.run(
        [*TALLY, *map(str, arguments)], cwd=cwd, input=stdin, env=own | env, capture_output=True, text=True, check=False
    )


def fine(*arguments, cwd, **rest):
    done = tally(*arguments, cwd=cwd, **rest)
    assert done.returncode == 0, done.stderr
    return done.stdout


def table(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))
