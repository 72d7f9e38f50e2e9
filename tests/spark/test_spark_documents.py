"""The examples in the documents about Spark run as printed, in the session of the tests."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def folder(spark, tmp_path, monkeypatch):
    """An empty folder that Python and Spark work in."""
    machine = spark.sparkContext._jvm
    files = machine.org.apache.hadoop.fs.FileSystem.get(spark.sparkContext._jsc.hadoopConfiguration())
    before = files.getWorkingDirectory()
    monkeypatch.chdir(tmp_path)
    files.setWorkingDirectory(machine.org.apache.hadoop.fs.Path(str(tmp_path)))
    yield tmp_path
    files.setWorkingDirectory(before)


@pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning")  # of Spark
@pytest.mark.parametrize(
    ("document", "written"),
    [("scale.md", {"wine.tally", "models", "arriving", "checkpoint"}), ("coming-from-spark-ml.md", {"pets.model"})],
)
def test_document_examples_run_on_spark(document, written, folder):
    n_examples = (DOCS / document).read_text(encoding="utf-8").count("\n>>> ")
    assert n_examples > 20
    assert doctest.testfile(str(DOCS / document), module_relative=False) == (0, n_examples)
    assert {path.name for path in folder.iterdir()} == written
