"""The table of readings in docs/files.md is what comes out now."""

import doctest

import pytest
from bench import readings

for peer in ("pandas", "polars", "duckdb"):
    pytest.importorskip(peer)

TEXT = readings.DOCUMENT.read_text().split(readings.BEGIN)[1].split(readings.END)[0]
ROWS = {line.split(" | ")[0].removeprefix("| "): line.removesuffix(" |").split(" | ") for line in TEXT.splitlines()}
READERS = list(readings.READERS)


@pytest.mark.parametrize("case", readings.CASES, ids=lambda case: case.what)
def test_the_table_says_what_is_read(case):
    same_versions = readings.versions() in TEXT  # what others do is known for these only
    for number, name in enumerate(READERS):
        if name == "tallybayes" or same_versions:
            assert ROWS[case.what][2 + number] == readings.reading(readings.READERS[name], case), name


def test_every_line_is_a_case():
    found = [name for name in ROWS if name not in ("", "what") and not name.startswith(("|--", "With "))]
    assert found == [case.what for case in readings.CASES]


def test_the_examples_run():
    assert doctest.testmod(readings).failed == 0
