"""Spark ML on this machine: NaiveBayes over vectors that VectorAssembler makes of a Parquet file."""

import os
import sys

from pyspark.ml import Pipeline
from pyspark.ml.classification import NaiveBayes
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.sql import SparkSession

from bench.steps import Steps, fit_and_score
from bench.work import Data

PACKAGE = "pyspark"


def numbers(data: Data) -> Steps:
    import pandas as pd

    os.environ["PYSPARK_PYTHON"] = sys.executable
    rows, columns = data.X.shape
    path = data.folder / f"spark-{rows}-{columns}-{data.y.max() + 1}.parquet"
    names = [f"x{j}" for j in range(columns)]
    if not path.exists():
        pd.DataFrame(data.X, columns=names).assign(label=[f"c{c}" for c in data.y]).to_parquet(path)
    builder = SparkSession.builder.master(f"local[{data.threads}]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.memory", "4g").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(str(path))
    pipeline = Pipeline(
        stages=[
            StringIndexer(inputCol="label", outputCol="index"),
            VectorAssembler(inputCols=names, outputCol="features"),
            NaiveBayes(modelType="gaussian", labelCol="index"),
        ]
    )
    return fit_and_score(
        lambda: pipeline.fit(frame), lambda model: model.transform(frame).write.format("noop").mode("overwrite").save()
    )


CASES = {"numbers": numbers}
