"""Cold start: what a process pays before its first answer, beside NumPy, scikit-learn and river.

Run as `python -m bench.cold_start` (half a minute). Each line is a process of its own, from its start to its end; the
least wall time and the least processor time of a few rounds, in which the lines alternate. The models are fitted to
1,000 rows of numbers, the one of the command to a few mails; peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MAKE = """
import sys, pickle, importlib.util
from pathlib import Path
import numpy as np, tallybayes as tb
from tallybayes.demo_data.example_files import write_example_files
folder = Path(sys.argv[1])
rng = np.random.default_rng(0)
X, y = rng.normal(size=(1000, 8)), rng.integers(2, size=1000)
names = [f"x{i}" for i in range(8)]
tb.fit(dict(zip(names, X.T)), label=y).save(folder / "numbers.tally")
import joblib
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
joblib.dump(make_pipeline(StandardScaler(), GaussianNB()).fit(X, y), folder / "pipeline.joblib")
if importlib.util.find_spec("river"):
    from river import naive_bayes
    model = naive_bayes.GaussianNB()
    for row, label in zip(X.tolist(), y.tolist()):
        model.learn_one(dict(zip(names, row)), label)
    (folder / "river.pickle").write_bytes(pickle.dumps(model))
write_example_files(folder)
tb.fit(str(folder / "pets.csv"), label="pet").save(folder / "pets.tally")
tb.fit(str(folder / "mail"), label="label").save(folder / "mail.tally")
"""
ROW = "{f'x{i}': 0.5 for i in range(8)}"
LINES = {
    "Python itself": "pass",
    "import numpy": "import numpy",
    "import tallybayes": "import tallybayes",
    "load a model, first predict_proba": f"import tallybayes as tb; tb.load('numbers.tally').predict_proba([{ROW}])",
    "scikit-learn: joblib.load, first predict_proba": "import joblib, numpy; "
    "joblib.load('pipeline.joblib').predict_proba(numpy.full((1, 8), 0.5))",
    "river: unpickle, first predict_proba_one": "import pickle; "
    f"pickle.load(open('river.pickle', 'rb')).predict_proba_one({ROW})",
}
COMMANDS = {
    "tally --help": ["--help"],
    "tally predict of one mail": ["predict", "mail.tally", "inbox/2-winner.eml", "--id", "file"],
    "tally predict of two rows of CSV": ["predict", "pets.tally", "new.csv"],
}


def seconds(arguments: list[str], folder: str) -> tuple[float, float]:
    """Wall and processor time of one process."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=folder, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    os.environ["PYTHONPATH"] = str(Path(importlib.util.find_spec("tallybayes").origin).parents[1])
    work = {name: ["-c", code] for name, code in LINES.items()}
    work |= {name: ["-m", "tallybayes.cli.main", *words] for name, words in COMMANDS.items()}
    if importlib.util.find_spec("river") is None:
        work = {name: line for name, line in work.items() if not name.startswith("river")}
    with tempfile.TemporaryDirectory() as folder:
        seconds(["-c", MAKE, folder], folder)
        rounds = [{name: seconds(line, folder) for name, line in work.items()} for _ in range(given.rounds + 1)]
    best = {name: [1000 * min(one[name][i] for one in rounds[1:]) for i in (0, 1)] for name in work}
    numpy = best["import numpy"]
    print(
        "| from start to end | ms | processor ms | over import numpy, ms | times import numpy |\n|---|---|---|---|---|"
    )
    for name, (wall, cpu) in best.items():
        print(f"| {name} | {wall:.0f} | {cpu:.0f} | {cpu - numpy[1]:+.0f} | {cpu / numpy[1]:.2f} |")


if __name__ == "__main__":
    main()
