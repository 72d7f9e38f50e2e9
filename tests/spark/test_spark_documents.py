"""The examples in the documents about Spark run as printed, in the session of the tests."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning")  # of Spark
@pytest.mark.parametrize("document", ["coming-from-spark-ml.md"])
def test_document_examples_run_on_spark(document, spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(DOCS / document), module_relative=False).failed == 0
