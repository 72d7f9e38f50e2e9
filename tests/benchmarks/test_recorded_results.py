"""What is recorded: tables, pictures, the README; and the guard, which finds what became slower."""

import doctest
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench.growth import left_out, lines_of, slope
from bench.guard import ratios, slower
from bench.machine import kind_of, machine_facts
from bench.recorded import BEGIN, END, SHORT, between_markers, record, report, short_table
from bench.result_table import compared, full_table, instruction_set_table
from bench.systems import OURS, SYSTEMS
from bench.work import WORKS

ROOT = Path(__file__).parents[2]
DOCUMENTED = ["guard", "growth", "machine", "recorded", "result_table", "steps"]


def results(ours=1.0):
    """Made-up results of every line that the README shows, with two instruction sets."""
    found = []
    for work, fit, predict, peer in SHORT:
        for step in (fit, predict):
            own = {"work": work, **WORKS[work].sizes(), "threads": 2, "read": 0.5, "memory": 3.0}
            found += [own | {"system": OURS, "step": step, "isa": isa, "seconds": ours} for isa in ("plain", "avx2")]
            theirs = own | {"system": peer, "step": step.removesuffix(", histogram"), "isa": None, "memory": None}
            found += [theirs | {"seconds": 10.0}] * (theirs not in found)
    return [own for i, own in enumerate(found) if own not in found[:i]]


def whole(ours=1.0):
    facts = machine_facts() | {"instruction sets": ["plain", "avx2"]}
    named = {"date": "2026-11-17", "command": "python -m bench", "versions": {OURS: "1", "wnb": "absent (why)"}}
    return {"machine": facts, **named, "failures": [], "results": results(ours)}


def guard(*words):
    return subprocess.run(
        [sys.executable, "-m", "bench.guard", *map(str, words)], cwd=ROOT, capture_output=True, text=True
    )


def test_tables_have_a_line_for_each_work_step_and_peer():
    lines = compared(results())
    assert len(lines) == 4 * len(SHORT)
    assert {line["ratio"] for line in lines} == {10.0}
    assert {line["passes"] for line in lines} == {2.0}
    assert len(full_table(lines).splitlines()) == 2 + len(lines)
    assert "3 / - MB" in full_table(lines)
    table = instruction_set_table(lines)
    assert table.splitlines()[0].endswith("| step | plain | avx2 |")
    assert "1 s, 10.0 x" in table
    assert instruction_set_table([line for line in lines if line["isa"] == "plain"]) == ""
    assert len(short_table(lines).splitlines()) == 2 + len(SHORT) <= 12


def test_the_report_says_machine_versions_date_and_command():
    text = report(whole())
    for part in ("cores", "2026-11-17", "`python -m bench`", "wnb absent (why)", "| passes |", "Instruction sets:"):
        assert part in text


def test_recording_writes_results_tables_picture_and_readme(tmp_path):
    pytest.importorskip("vl_convert")
    (tmp_path / "docs").mkdir()
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    record(whole(), tmp_path)
    kind = kind_of(machine_facts())
    assert ratios(tmp_path / "bench" / "results" / f"{kind}.json")
    assert "| passes |" in (tmp_path / "bench" / "results" / f"{kind}.md").read_text()
    assert (tmp_path / "docs" / "speed.svg").read_text().count("dense numbers") >= 4
    text = readme.read_text()
    assert "old" not in text
    assert "**10 x**" in text
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    with pytest.raises(ValueError, match="expected a document with"):
        between_markers("no markers", "text")


def test_readme_and_guide_have_a_place_for_figures_and_every_short_line_exists():
    assert all(between_markers((ROOT / name).read_text(), "") for name in ("README.md", "docs/speed.md"))
    assert all(work in WORKS and peer in SYSTEMS for work, _, _, peer in SHORT)


def test_the_guard_tells_what_is_slower_and_only_that(tmp_path):
    paths = {ours: tmp_path / f"{ours}.json" for ours in (1.0, 1.2, 1.3)}
    for ours, path in paths.items():
        path.write_text(json.dumps(whole(ours)))
    new, old = ratios(paths[1.3]), ratios(paths[1.0])
    assert len(slower(new, old)) == len(old) == 4 * len(SHORT)
    assert slower(ratios(paths[1.2]), old) == slower(old, new) == []
    done = guard(paths[1.3], paths[1.0])
    assert done.returncode == 1
    assert (
        "numbers, fit, 1,000,000 x 20, 2 classes, 2 threads, avx2, beside scikit-learn: 7.7 x, recorded 10.0 x"
        in done.stdout
    )
    done = guard(paths[1.2], paths[1.0])
    assert (done.returncode, done.stdout) == (0, f"nothing is slower by more than 25 % ({len(old)} ratios compared)\n")


def test_the_guard_does_not_pass_where_there_is_nothing_to_compare(tmp_path):
    (tmp_path / "some.json").write_text(json.dumps(whole()))
    (tmp_path / "none.json").write_text(json.dumps(whole() | {"results": []}))
    for words in (
        ["missing.json"],
        [tmp_path / "none.json", tmp_path / "some.json"],
        [tmp_path / "some.json", "missing"],
    ):
        done = guard(*words)
        assert done.returncode == 2
        assert "expected" in done.stderr


def test_slopes_lines_and_what_was_not_measured():
    sizes = [10, 100, 1_000, 10_000]
    points = [
        {
            "work": "numbers",
            "axis": "rows",
            "step": "fit",
            "system": OURS,
            "size": size,
            "seconds": 1e-3 + 1e-4 * size**2,
        }
        for size in sizes
    ]
    (line,) = lines_of(points)
    assert line["slope"] == pytest.approx(2, abs=0.01)
    assert slope([5, 10], [3.0, 3.0]) == 0
    text = left_out(points, {"numbers": {"rows": [*sizes, 100_000]}}, 20)
    assert "more than 20 s: tallybayes, numbers, from 100,000 rows on; scikit-learn, numbers, from 10 rows on" in text
    assert left_out(points, {}, 20) == ""


def test_the_picture_of_growth(tmp_path):
    pytest.importorskip("vl_convert")
    from bench.growth_picture import growth_picture

    line = {"work": "numbers", "axis": "rows", "step": "fit", "slope": 0.97}
    lines = [
        line | {"system": OURS, "sizes": [10, 100], "seconds": [0.1, 1.0]},
        line | {"system": "scikit-learn", "sizes": [10], "seconds": [0.2]},
    ]
    growth_picture(lines, ["a machine"], tmp_path / "growth.svg")
    text = (tmp_path / "growth.svg").read_text()
    assert "tallybayes 0.97" in text
    assert "a machine" in text


def test_an_unknown_work_of_growth_is_named():
    words = [sys.executable, "-m", "bench.growth", "colours"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "expected WORK among numbers, categories, counts, got colours" in done.stderr


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples_of_the_benchmark_run(name):
    found = doctest.testmod(importlib.import_module(f"bench.{name}"))
    assert found.attempted > 0
    assert found.failed == 0
