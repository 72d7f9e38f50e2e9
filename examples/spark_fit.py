"""Fit a model to files of any size on a cluster, and save it as a file that `tally` and `tallybayes.load` read.

    spark-submit --master spark://host:7077 examples/spark_fit.py "hdfs:///pets/*.parquet" --label pet -o pets.tally

The model is the one that `tally fit` would have made on one machine, bit for bit. Every worker needs tallybayes; see
docs/scale.md.
"""

import argparse

from pyspark.sql import SparkSession

import tallybayes.spark as tbs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", help="files, folders or globs, in any file system that Spark can read")
    parser.add_argument("--label", required=True, help="column of the label")
    parser.add_argument("--sample-weight", help="column of the weights of rows")
    parser.add_argument("--ignore", nargs="+", default=[], metavar="COLUMN", help="columns to exclude")
    parser.add_argument("--numeric", default="histogram", help="family of the columns of numbers, such as gaussian")
    parser.add_argument("--column-weights", choices=["auto", "none"], default="auto", help="weights of columns")
    parser.add_argument("--format", default="parquet", help="format of the files: parquet, orc, csv, json")
    parser.add_argument("--output", "-o", required=True, help="the model file, on the machine of the driver")
    given = parser.parse_args()

    spark = SparkSession.builder.appName(f"tallybayes: {given.label}").getOrCreate()
    frame = spark.read.format(given.format).option("header", True).load(given.paths)
    options = {"column_weights": None} if given.column_weights == "none" else {}
    model = tbs.fit(
        frame,
        label=given.label,
        sample_weight=given.sample_weight,
        ignore=given.ignore,
        numeric=given.numeric,
        **options,
    )
    print(model.schema)
    model.save(given.output)
    print(f"learned {sum(model.class_counts.values()):,.0f} rows; the model is in {given.output}")
    spark.stop()


if __name__ == "__main__":
    main()
