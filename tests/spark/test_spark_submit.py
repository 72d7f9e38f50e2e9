"""The program in examples/ runs by spark-submit, and its model is that of `fit`."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
from mixed_rows import mixed_rows

import tallybayes as tb

ROOT = Path(__file__).parents[2]


def test_spark_submit_runs_the_example(java, tmp_path):
    import pyspark

    home = Path(pyspark.__file__).parent
    rows = mixed_rows(300)
    pq.write_table(rows, tmp_path / "pets.parquet")
    settings = ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2"]
    program = [str(ROOT / "examples" / "spark_fit.py"), str(tmp_path / "*.parquet"), "--label", "pet"]
    options = [
        "--sample-weight",
        "copies",
        "--ignore",
        "note",
        "--column-weights",
        "none",
        "-o",
        str(tmp_path / "pets.tally"),
    ]
    done = subprocess.run(
        [str(home / "bin" / "spark-submit"), "--master", "local[1]", *settings, *program, *options],
        env={**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "learned " in done.stdout
    found = tb.load(tmp_path / "pets.tally")
    alone = tb.fit(rows, label="pet", sample_weight="copies", ignore=["note"], column_weights=None, schema=found.schema)
    alone.save(tmp_path / "alone.tally")
    assert (tmp_path / "pets.tally").read_bytes() == (tmp_path / "alone.tally").read_bytes()
