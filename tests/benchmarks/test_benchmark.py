"""The benchmark runs, writes its results, and tells what got slower."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench.guard import ratios, slower
from bench.systems import SYSTEMS
from bench.work import WORKS, made

ROOT = Path(__file__).parents[2]


def test_a_small_run_from_the_command_to_the_table(tmp_path):
    output = tmp_path / "small.json"
    words = ["numbers", "--systems", "scikit-learn", "--rows", "200", "--repeats", "1", "--output", str(output)]
    done = subprocess.run([sys.executable, "-m", "bench", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "| dense numbers, 200 rows | fit | scikit-learn |" in done.stdout
    found = json.loads(output.read_text())
    assert {"tallybayes", "scikit-learn"} <= found["versions"].keys()
    assert all(own["seconds"] > 0 and own["read"] > 0 for own in found["results"])
    old = ratios(output)
    assert slower(old, old) == []
    assert len(slower({place: ratio / 2 for place, ratio in old.items()}, old)) == len(old) > 0


def test_an_unknown_work_or_system_is_named():
    for words in (["colours"], ["--systems", "weka"]):
        done = subprocess.run([sys.executable, "-m", "bench", *words], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 2
        assert "expected" in done.stderr


@pytest.mark.parametrize("name", list(WORKS))
def test_data_is_the_same_for_every_system(name, tmp_path):
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    first, second = (made(name, tmp_path / folder, rows=60, classes=3) for folder in ("first", "second"))
    assert (first.y == second.y).all()
    assert first.n_bytes == second.n_bytes > 0


def test_every_system_has_a_module():
    assert {f"{name}.py" for name in SYSTEMS.values()} == {
        path.name for path in (ROOT / "bench" / "systems").glob("*.py") if path.name != "__init__.py"
    }
