"""Time tallybayes on Spark beside Spark ML and beside a job that only counts rows, at local[2], in one run.

    python -m bench.spark [--rows 2000000] [--repeats 3] [--growth 1000000 5000000 20000000] [NAME ...]

The names are fit, score, text and growth (default: fit, score and text). The tables are made as Parquet files in a
temporary folder. Spark ML's Gaussian naive Bayes is timed with the VectorAssembler and the StringIndexer that it needs;
`count` is a `mapInArrow` that reads the same columns and only counts rows; `files` is the recipe of docs/scale.md that
leaves reading Parquet to the workers. Candidates are timed alternately; the best of the repeats counts. Processor time
is that of the driver, of Java and of the Python workers together: where other programs run, it says more than seconds.
A benchmark is never a test: nothing fails when a number is small.
"""

import argparse
import gc
import os
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.spark_tables import COLUMNS, write_documents, write_numbers

Candidates = dict[str, Callable[[], object]]
OURS = "tallybayes"
GROWTH = ("Spark ML, gaussian", "count", OURS, f"{OURS}, gaussian, column_weights=None", f"{OURS}, files")


def session() -> Any:
    """Spark on two cores of this machine."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.shuffle.partitions", "4")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def rows_counted(frame: Any) -> int:
    """A bare `mapInArrow`: every column goes to Python, where only rows are counted."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        yield pa.RecordBatch.from_pydict({"rows": [sum(batch.num_rows for batch in batches)]})

    return sum(row["rows"] for row in frame.mapInArrow(count, "rows long").collect())


def assembler() -> list[Any]:
    """The stages that Spark ML needs before a table of numbers with a label of words can be fitted."""
    from pyspark.ml.feature import StringIndexer, VectorAssembler

    return [
        StringIndexer(inputCol="label", outputCol="index"),
        VectorAssembler(inputCols=COLUMNS, outputCol="features"),
    ]


def spark_ml(stages: list[Any], **options: Any) -> Any:
    """A pipeline that ends in Spark ML's naive Bayes."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes

    return Pipeline(stages=[*stages, NaiveBayes(labelCol="index", **options)])


def fits(frame: Any) -> Candidates:
    """Fits to a table of numbers."""
    from tallybayes import spark as tbs

    return {
        "Spark ML, gaussian": lambda: spark_ml(assembler(), modelType="gaussian").fit(frame),
        "count": lambda: rows_counted(frame),
        OURS: lambda: tbs.fit(frame, label="label"),
        f"{OURS}, weights=None": lambda: tbs.fit(frame, label="label", column_weights=None),
        f"{OURS}, gaussian": lambda: tbs.fit(frame, label="label", numeric="gaussian"),
        f"{OURS}, gaussian, column_weights=None": lambda: tbs.fit(
            frame, label="label", numeric="gaussian", column_weights=None
        ),
        f"{OURS}, files": lambda: fit_files(frame),
    }


def fit_files(frame: Any) -> Any:
    """The recipe of docs/scale.md: tasks get names of files, and read them without Spark."""
    from tallybayes import engines

    paths = frame.inputFiles()
    plan = engines.plan_fit(frame.limit(20_000).toArrow(), label="label")
    data = plan.to_bytes()

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import dataset

        os.environ["TALLYBAYES_THREADS"] = "1"
        for batch in batches:
            sums = [engines.partial(dataset.dataset(path), data) for path in batch["path"].to_pylist()]
            yield pa.RecordBatch.from_pydict({"sum": [engines.combine(sums)]})

    names = frame.sparkSession.createDataFrame([(path,) for path in paths], "path string").repartition(len(paths))
    sums = names.mapInArrow(count, "sum binary").toLocalIterator()
    return engines.fitted(plan, engines.combine(bytes(row["sum"]) for row in sums))


def scores(frame: Any) -> Candidates:
    """Scores of a table of numbers, all columns written to nowhere."""
    from tallybayes import spark as tbs

    part = frame.limit(100_000)
    theirs = spark_ml(assembler(), modelType="gaussian").fit(part)
    models = {
        OURS: tbs.fit(part, label="label"),
        f"{OURS}, gaussian, column_weights=None": tbs.fit(part, label="label", numeric="gaussian", column_weights=None),
    }
    return {
        "Spark ML, gaussian": lambda: written(theirs.transform(frame)),
        "count": lambda: rows_counted(frame),
        **{name: lambda model=model: written(tbs.predict(model, frame)) for name, model in models.items()},
    }


def texts(frame: Any) -> Candidates:
    """Fits to documents; Spark ML hashes words to 2^18 columns."""
    from pyspark.ml.feature import HashingTF, StringIndexer, Tokenizer

    from tallybayes import spark as tbs

    stages = [
        StringIndexer(inputCol="label", outputCol="index"),
        Tokenizer(inputCol="text", outputCol="words"),
        HashingTF(inputCol="words", outputCol="features"),
    ]
    plain = {"text": "text:counts,k=1"}
    return {
        "Spark ML, multinomial": lambda: spark_ml(stages, modelType="multinomial").fit(frame),
        "count": lambda: rows_counted(frame),
        OURS: lambda: tbs.fit(frame, label="label", families={"text": "text"}),
        f"{OURS}, counts, k = 1": lambda: tbs.fit(frame, label="label", families=plain, column_weights=None),
    }


def written(frame: Any) -> None:
    """Compute every column and keep nothing."""
    frame.write.format("noop").mode("overwrite").save()


def processor_time() -> float:
    """Seconds of processor time of this process and all its descendants, past and present; Linux only."""
    times, children = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        number = int(path.parent.name)
        times[number] = sum(map(int, fields[11:15]))
        children.setdefault(int(fields[1]), []).append(number)
    total, left = 0, [os.getpid()]
    while left:
        number = left.pop()
        total += times.get(number, 0)
        left += children.get(number, [])
    return total / os.sysconf("SC_CLK_TCK")


def compare(title: str, candidates: Candidates, repeats: int) -> None:
    """Time each candidate, alternately, and print the table: seconds and processor seconds, and the same as ratios."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, run in candidates.items():
            gc.collect()
            start, worked = time.perf_counter(), processor_time()
            run()
            times[name].append((time.perf_counter() - start, processor_time() - worked))
    best = {name: [min(own) for own in zip(*taken, strict=True)] for name, taken in times.items()}
    theirs, count = next(iter(best.values())), best["count"]
    print(f"\n{title}\n{'':<36} {'seconds':>14} {'theirs / it':>12} {'it / count':>12}   (processor time in brackets)")
    for name, (taken, worked) in best.items():
        faster = f"{theirs[0] / taken:.2f} ({theirs[1] / worked:.2f})"
        slower = f"{taken / count[0]:.2f} ({worked / count[1]:.2f})"
        print(f"{name:<36} {taken:6.2f} ({worked:5.2f}) {faster:>12} {slower:>12}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="fit, score, text, growth")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--growth", type=int, nargs="+", default=[1_000_000, 5_000_000, 20_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    names = given.names or ["fit", "score", "text"]
    spark = session()
    print(f"pyspark {spark.version}, Python {platform.python_version()}, local[2], best of {given.repeats}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        small = spark.read.parquet(write_numbers(folder / "small", 20_000))
        compare("warming up: 20,000 x 10", fits(small), 1)
        if "fit" in names or "score" in names:
            frame = spark.read.parquet(write_numbers(folder / "numbers", given.rows))
            for name, candidates in (("fit", fits), ("score", scores)):
                if name in names:
                    compare(f"{name}: {given.rows:,} x 10", candidates(frame), given.repeats)
        if "text" in names:
            frame = spark.read.parquet(write_documents(folder / "documents", given.documents))
            compare(f"text: {given.documents:,} documents of 50 words", texts(frame), given.repeats)
        for rows in given.growth if "growth" in names else ():
            frame = spark.read.parquet(write_numbers(folder / f"numbers{rows}", rows))
            candidates = {name: run for name, run in fits(frame).items() if name in GROWTH}
            compare(f"growth: {rows:,} x 10", candidates, 1)
    spark.stop()


if __name__ == "__main__":
    main()
