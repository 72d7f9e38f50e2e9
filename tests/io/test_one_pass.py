"""A file of text is read once to be counted, and only its first rows to be planned."""

import gzip
import pathlib
import random

import pytest

import tallybayes as tb
from pets import file_with
from tallybayes.errors import DataError
from tallybayes.io.read import read
from tallybayes.model.fit_plan import Plan

PROC = pathlib.Path("/proc/self/io")
N_ROWS = 150_000
HEAD = 20_000 / N_ROWS  # the share of the rows that families are inferred from

pytestmark = pytest.mark.skipif(not PROC.exists(), reason="counts the bytes that Linux says were read")


def n_read():
    """The bytes that this process has read so far."""
    return int(PROC.read_text().split()[1])


def shares_read(data, **options):
    """How much of a file is read to plan a model, and to fit one: 1 is all bytes of the file once."""
    path = file_with(data, "pets.csv.gz" if data.startswith(b"\x1f\x8b") else "pets.csv")
    size = pathlib.Path(path).stat().st_size
    start = n_read()
    Plan.of(read(path, **options), "y", {})
    middle = n_read()
    tb.fit(read(path, **options), label="y", column_weights=None)
    return (middle - start) / size, (n_read() - middle) / size


def table_text(middle="", first="red"):
    """A table of three columns; middle: a line after half of the rows."""
    rng = random.Random(1)
    rows = [f"{rng.gauss(0, 1):.12f},{first},{'pq'[i % 2]}\n" for i in range(N_ROWS)]
    rows.insert(N_ROWS // 2, middle)
    return "size,colour,y\n" + "".join(rows)


@pytest.fixture(scope="module", autouse=True)
def warm():
    """Modules are read before bytes are counted."""
    for text in ("a,y\n1,p\n2,q\n", 'a,y\nx,p\n5 o"clock,q\nx,p\n'):
        tb.fit(read(file_with(text.encode())), label="y", column_weights=None)


@pytest.mark.parametrize(
    "data",
    [
        table_text().encode(),
        table_text().replace("\n", "\r\n").encode(),
        table_text(first='"two\nlines, one cell"').encode(),
        table_text(first="Köln").encode("latin-1"),
        gzip.compress(table_text().encode(), 1),
    ],
    ids=["plain", "windows", "long cells", "latin-1", "gzip"],
)
def test_a_file_is_read_once_and_to_be_planned_only_its_head(data):
    plan, fit = shares_read(data)
    detection = 0.5 if data.startswith(b"\x1f\x8b") else 0.2  # of a few kB, and what is decompressed with them
    assert plan < HEAD + detection
    assert fit < 1 + HEAD + detection


def test_rows_that_may_be_skipped_cost_no_other_pass():
    plan, fit = shares_read(table_text().encode(), skip_bad=True)
    assert plan < HEAD + 0.2
    assert fit < 1 + HEAD + 0.2


def test_a_head_with_unusual_quotes_is_planned_from_the_head():
    plan, _ = shares_read(table_text(first='the "red" one').encode())
    assert plan < 5 * HEAD  # looked at by Arrow, copied, looked at, read by DuckDB


@pytest.mark.parametrize("middle", ["1,red,p\r\n", "1,red,p\r", "\n", '1,5 o"clock,p\n', '1,"two\nlines",p\n'])
def test_the_middle_may_contradict_the_head(middle):
    model = tb.fit(read(file_with(table_text(middle).encode())), label="y", column_weights=None)
    assert model.class_counts == {"p": N_ROWS // 2 + bool(middle.strip()), "q": N_ROWS // 2}


@pytest.mark.filterwarnings("ignore:.* could not be read and w:tallybayes.errors.DataWarning")
def test_an_error_after_the_head_names_its_line():
    path = file_with(table_text('1,"red" or green,p\n').encode())
    with pytest.raises(DataError, match=rf"a.csv, line {N_ROWS // 2 + 2}: expected a closing quote"):
        tb.fit(read(path, quote='"'), label="y")
    source = read(path, skip_bad=True)
    assert sum(tb.fit(source, label="y", column_weights=None).class_counts.values()) == N_ROWS
    assert source.bad.count == 1
