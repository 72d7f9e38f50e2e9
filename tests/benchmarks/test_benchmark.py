"""The benchmark runs, for every work and system that is installed, and says what is absent."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench.one_system import measured
from bench.peak_memory import added_memory, ended
from bench.read_time import read_time
from bench.steps import fit_and_score
from bench.system_process import SystemProcesses, _run
from bench.systems import OURS, SYSTEMS
from bench.work import SIZES, WORKS, made

ROOT = Path(__file__).parents[2]
HISTOGRAMS = {"fit, histogram", "predict_proba, histogram"}  # compared with what the peers have
SMALL = {"rows": 60, "columns": 8, "classes": 3, "threads": 1}


def bench(*words):
    return subprocess.run([sys.executable, "-m", "bench", *words], cwd=ROOT, capture_output=True, text=True)


def test_a_small_run_from_the_command_to_the_table(tmp_path):
    output = tmp_path / "small.json"
    words = [
        "flags",
        "--rows",
        "200",
        "--repeats",
        "1",
        "--threads",
        "1",
        "--isa",
        "plain,avx2",
        "--output",
        str(output),
    ]
    done = bench(*words, "--systems", "scikit-learn,river")
    assert "| flags as floats | 200 x 20 | 2 | 1 | fit | scikit-learn |" in done.stdout, done.stderr
    found = json.loads(output.read_text())
    assert {"tallybayes", "scikit-learn", "river"} == found["versions"].keys()
    assert found["failures"] == []
    assert all(own["seconds"] > 0 and own["read"] > 0 for own in found["results"])
    isas = [isa for isa in found["machine"]["instruction sets"] if isa in ("plain", "avx2", "reference")]
    assert [own["isa"] for own in found["results"] if own["system"] == OURS and own["step"] == "fit"] == isas
    assert ("Instruction sets:" in done.stdout) == (len(isas) > 1)


@pytest.mark.parametrize("words", [["colours"], ["--systems", "weka"], ["--isa", "neon"]])
def test_an_unknown_name_is_told_with_those_that_exist(words):
    done = bench(*words)
    assert done.returncode == 2
    assert f"got {words[-1]}" in done.stderr
    assert "expected" in done.stderr


ALWAYS_THERE = ("scikit-learn", "logistic regression", "river")


@pytest.mark.parametrize("work", list(WORKS))
def test_every_work_is_done_by_us_and_by_a_peer_that_is_always_there(work, tmp_path):
    sizes = SMALL | WORKS[work].sizes(rows=60, columns=8, classes=3)
    asked = {"work": work, "folder": str(tmp_path), "repeats": 0, "long": 5.0, **sizes}
    (_, *ours), *theirs = (list(measured(asked | {"system": system})) for system in (OURS, *ALWAYS_THERE))
    peers = [steps for facts, *steps in theirs if work in facts["works"]]
    assert peers
    for steps in peers:
        assert {step["step"] for step in steps} == {step["step"] for step in ours} - HISTOGRAMS
    assert all(step["seconds"] > 0 for steps in [ours, *peers] for step in steps)


def test_a_system_that_is_absent_is_told_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setitem(SYSTEMS, "nowhere", "no_such_module")
    with pytest.raises(ImportError):
        list(measured({"system": "nowhere", "work": "flags"}))
    lines = [{"absent": "No module named 'nowhere'"}]
    monkeypatch.setattr("bench.system_process._run", lambda *arguments: (lines, ""))
    processes = SystemProcesses(str(tmp_path), repeats=1, long=1.0)
    assert processes.results("nowhere", "flags", SMALL) == []
    assert processes.versions == {"nowhere": "absent (No module named 'nowhere')"}


def test_what_was_measured_before_a_step_never_ended_is_kept(tmp_path, monkeypatch):
    facts = {"version": "1", "works": ["flags"], "isa": None, "one thread": True, "read": 1.0}
    answer = [facts, {"step": "fit", "seconds": 1.0, "memory": None}], "stopped after 2 minutes"
    monkeypatch.setattr("bench.system_process._run", lambda *arguments: answer)
    processes = SystemProcesses(str(tmp_path), repeats=1, long=1.0)
    (found,) = processes.results("wnb", "flags", SMALL)
    assert found["step"] == "fit"
    assert processes.failures == ["flags, wnb, 1 thread(s): stopped after 2 minutes"]
    (again,) = processes.results("wnb", "flags", SMALL | {"threads": 2})  # without another process
    assert again == found | {"threads": 2}
    assert len(processes.failures) == 1
    assert processes.results("wnb", "numbers", SMALL) == []


def test_a_process_that_takes_too_long_is_stopped(monkeypatch):
    monkeypatch.setattr("bench.system_process.MINUTES", 0.02)
    code = "import time; print('{}', flush=True); time.sleep(60)"
    assert _run([sys.executable, "-c", code], {}, 1, None) == ([{}], "stopped after 0.02 minutes")
    assert _run([sys.executable, "-c", "raise SystemExit('why')"], {}, 1, None) == ([], "why")


@pytest.mark.parametrize("name", list(WORKS))
def test_data_is_the_same_for_every_system(name, tmp_path):
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    first, second = (made(name, tmp_path / folder, **SMALL) for folder in ("first", "second"))
    assert (first.y == second.y).all()
    assert first.n_bytes == second.n_bytes > 0
    assert read_time(first, 1) > 0
    assert WORKS[name].sizes().keys() == set(SIZES) - {"threads"}


def test_memory_of_a_step_and_of_a_process_that_it_starts():
    size = 64 << 20
    added = added_memory(lambda: bytearray(b"x" * size)) or 0
    assert 60 < added < 200 or not Path("/proc/self/clear_refs").exists()
    assert added_memory(lambda: None) in (None, pytest.approx(0, abs=8))
    peak = added_memory(lambda: ended([sys.executable, "-c", f"x = b'x' * {size}"]))
    assert peak is not None
    assert peak > 64
    with pytest.raises(RuntimeError, match="no such thing"):
        ended([sys.executable, "-c", "raise SystemExit('no such thing')"])


def test_the_model_that_was_fitted_last_is_scored():
    models = iter(range(9))
    steps = fit_and_score(lambda: next(models), lambda model: model)
    for expected in (0, 1):
        steps["fit"]()
        assert steps["predict_proba"]() == expected


def test_every_system_has_a_module():
    assert {f"{name}.py" for name in SYSTEMS.values()} == {
        path.name for path in (ROOT / "bench" / "systems").glob("*.py") if path.name != "__init__.py"
    }
