"""The command `tally report`, and errors of the report."""

import json
import subprocess
import sys

import pytest

from tallybayes.errors import DataError, FileError, UnsupportedError
from tallybayes.reporting import report, write_report

pytest.importorskip("altair")
pytest.importorskip("vl_convert")


def test_missing_labels_and_missing_folders_are_errors(split, tmp_path):
    model, rows = split
    with pytest.raises(DataError, match="rows with a label"):
        report(model, [{**row, "species": None} for row in rows])
    with pytest.raises(FileError, match="cannot be written"):
        write_report(tmp_path / "no" / "such" / "folder.html", "page")


def test_without_altair_the_error_has_the_install_command(split, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'tallybayes\[report\]'"):
        report(*split)


def test_the_command_writes_the_page(split, tmp_path):
    model, rows = split
    model.save(tmp_path / "pets.tally")
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run = lambda *words: subprocess.run(  # noqa: E731
        [sys.executable, "-m", "tallybayes.cli.main", "report", *words], cwd=tmp_path, capture_output=True, text=True
    )
    done = run("pets.tally", "new.jsonl", "-o", "page.html", "--title", "Pets")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "wrote the report to page.html\n"
    assert "<h1>Pets</h1>" in (tmp_path / "page.html").read_text()
    before = (tmp_path / "new.jsonl").read_text()
    refused = run("pets.tally", "new.jsonl", "-o", "new.jsonl")
    assert refused.returncode == 2
    assert (tmp_path / "new.jsonl").read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.jsonl", "page.html", "pets.tally"]
