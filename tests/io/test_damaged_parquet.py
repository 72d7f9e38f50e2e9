"""Parquet files whose schema of Arrow, which only pyarrow reads, is damaged."""

import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet
import pytest

import tallybayes as tb
from tallybayes.errors import FileError


@pytest.fixture(params=[b"!", b"A"])
def damaged(request, tmp_path):
    """A file with one character of ARROW:schema changed: to one that is not base64, and to another number."""
    path = tmp_path / "pets.parquet"
    table = pa.table({"weight": [1.5, 2.5] * 10, "kind": ["cat", "dog"] * 10})
    pyarrow.parquet.write_table(table, path)
    data = path.read_bytes()
    place = data.index(b"/////", data.index(b"ARROW:schema"))
    path.write_bytes(data[:place] + request.param * 5 + data[place + 5 :])
    return path


def test_a_damaged_arrow_schema_is_an_error_that_names_the_file(damaged):
    with pytest.raises(FileError, match=r"pets\.parquet: the schema of the Parquet file is damaged: "):
        tb.fit(damaged, label="kind")


@pytest.mark.slow
def test_the_command_has_no_traceback(damaged):
    command = [sys.executable, "-m", "tallybayes.cli.main", "fit", str(damaged), "--label", "kind", "-o", "x.tally"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=damaged.parent)
    assert result.returncode
    assert "the schema of the Parquet file is damaged" in result.stderr
    assert "Traceback" not in result.stderr
