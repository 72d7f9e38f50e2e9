"""CSV by Arrow, in blocks: the same rows, cells and errors as by DuckDB, whatever is in the file."""

import random

import pytest

from pets import csv_file
from tallybayes.errors import TallyError
from tallybayes.io.formats import delimited

NUMBERS = ["1", "-2.5", "1e5", ".5", "7.", "0.1234567890123456789", "1e-320", ""]
ODD_NUMBERS = ["+3", " 4", "5 ", "inf", "-inf", "nan", "NAN", "NA", "null", "1e999", "0x10", "1_000", "1,5", "one", "-"]
FLAGS = ["true", "false", "True", "FALSE", ""]
ODD_FLAGS = ["1", "0", "t", "yes", "maybe", " true", "NA"]
TEXTS = ["red", "Köln", "a b", "None", "", "-", "5"]
ODD_TEXTS = [" red", "NA", "na ", 'say "hi"', "a,b", "'", "two\nlines", "x\ry", "#1"]


def written(cell, rng):
    """A cell, in quotes if it needs them, and sometimes if it does not."""
    return f'"{cell.replace(chr(34), chr(34) * 2)}"' if set(cell) & set(',"\r\n') or rng.random() < 0.05 else cell


def table_text(seed):
    """A file with a few columns; odd cells, blank lines and wrong lines are in some."""
    rng = random.Random(seed)
    odd, end = rng.choice([0, 0, 0.002, 0.1]), rng.choice(["\n", "\n", "\r\n"])
    kinds = [(NUMBERS, ODD_NUMBERS), (NUMBERS, ODD_NUMBERS), (FLAGS, ODD_FLAGS), (TEXTS, ODD_TEXTS), (TEXTS, ODD_TEXTS)]
    lines = ["a,b,flag,text,y"]
    for _ in range(rng.choice([1, 30, 300])):
        cells = [rng.choice(strange if rng.random() < odd else usual) for usual, strange in kinds]
        lines.append(",".join(written(cell, rng) for cell in cells))
    if rng.random() < 0.2:
        place = rng.randrange(1, len(lines) + 1)
        lines.insert(
            place, rng.choice(["", "", " ", "1,2", "1,2,true,x,y,", "1,2,true,x,y,z", 'x"y,1,true,"a"b,c', ",,,,"])
        )
    mark = "\ufeff" if rng.random() < 0.1 else ""
    return mark + end.join(lines) + rng.choice([end, ""])


def rows_of(text, *, keep, wanted, **options):
    """What reading a file gives: the cells of all rows, or the message of the error."""
    source = csv_file(text, **options)
    try:
        head = source.head()
        kinds = {name: kind for name, kind in wanted.items() if name in head.columns}
        first, rows, cells = [repr(column.to_pylist()) for column in head.columns.values()], [], []
        for table in source.batches(kinds, keep=keep):
            rows += zip(*(map(repr, column.to_pylist()) for column in table.columns.values()), strict=True)
            cells += table.kept.to_pylist() if keep else ()
    except TallyError as error:
        return str(error).replace(source.paths[0], "the file")
    return first, rows, cells


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("keep", [False, True])
def test_arrow_reads_as_duckdb_does(monkeypatch, keep):
    monkeypatch.setattr(delimited, "_BLOCK", (1000, 1000))  # several blocks
    wanted = {"a": "number", "b": "number", "flag": "flag", "text": None, "y": None}
    for seed in range(40):
        text = table_text(seed)
        found = rows_of(text, keep=keep, wanted=wanted)
        with monkeypatch.context() as patch:
            patch.setattr(delimited.Delimited, "_blocks", lambda self: None)
            assert found == rows_of(text, keep=keep, wanted=wanted), f"seed {seed}"


def test_a_plain_file_needs_no_duckdb(monkeypatch):
    monkeypatch.setattr(delimited.Delimited, "connection", None)
    source = csv_file("a;b\n1,5;x\n2,5;\n")
    assert [table.columns["b"].to_pylist() for table in source.batches()] == [["x", None]]
