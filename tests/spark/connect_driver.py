"""Everything over Spark Connect, run as a program: connect_driver.py FOLDER. Prints a line of JSON."""

import json
import sys

import numpy as np
from mixed_rows import mixed_rows
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import MulticlassClassificationEvaluator
from pyspark.ml.feature import StringIndexer
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import SparkSession

import tallybayes as tb
import tallybayes.spark as tbs
from tallybayes.model.saved_model import dumps
from tallybayes.spark.ml import NaiveBayesEstimator, NaiveBayesModel


def verbs(frame, rows):
    """The verbs of tallybayes.spark."""
    model = tbs.fit(frame, label="pet", sample_weight="copies")
    alone = tb.fit(rows, label="pet", sample_weight="copies", schema=model.schema)
    found = {"fit": dumps(model) == dumps(alone)}
    learned, locally = model.copy(), alone.copy()
    change = tbs.learn(learned, frame)
    found["learn"] = change == locally.learn(rows) and dumps(learned) == dumps(locally)
    tbs.forget(learned, frame)
    found["forget"] = learned == alone
    predicted = tbs.predict(model, frame).toArrow()
    found["predict"] = predicted["prediction"].to_pylist() == alone.predict(rows).tolist()
    found["evaluate"] = tbs.evaluate(model, frame).accuracy == tb.evaluate(alone, rows, leave_one_out=False).accuracy
    return found


def spark_ml(frame, rows, folder):
    """The estimator of Spark ML."""
    columns = ["size", "visits", "colour", "indoors", "note"]
    estimator = NaiveBayesEstimator(labelCol="pet", featuresCols=columns, columnWeights=None)
    model = estimator.fit(frame)
    alone = tb.fit(rows, label="pet", only=columns, column_weights=None, schema=model.tally.schema)
    scored = model.transform(frame).select("prediction", "probability").collect()
    probabilities = np.array([row["probability"].toArray() for row in scored])
    found = {"ML fit": dumps(model.tally) == dumps(alone)}
    found["ML transform"] = bool((probabilities == alone.predict_proba(rows)).all())
    for _ in range(2):  # the second time over the first
        model.write().overwrite().save(f"{folder}/model")
    again = NaiveBayesModel.load(f"{folder}/model")
    found["ML save"] = dumps(again.tally) == dumps(model.tally) and again.getLabelCol() == "pet"
    indexed = NaiveBayesEstimator(labelCol="index", featuresCols=columns, columnWeights=None)
    pipeline = Pipeline(stages=[StringIndexer(inputCol="pet", outputCol="index"), indexed])
    evaluator = MulticlassClassificationEvaluator(labelCol="index", metricName="accuracy")
    fitted = pipeline.fit(frame)
    own = fitted.stages[1].evaluate(fitted.stages[0].transform(frame)).accuracy
    found["ML pipeline"] = abs(evaluator.evaluate(fitted.transform(frame)) - own) < 1e-12 and own > 0.8
    fitted.save(f"{folder}/pipeline")
    loaded = PipelineModel.load(f"{folder}/pipeline")
    found["ML pipeline saved"] = dumps(loaded.stages[1].tally) == dumps(fitted.stages[1].tally)
    grid = ParamGridBuilder().addGrid(indexed.smoothing, [1.0, 1e6]).build()
    search = CrossValidator(estimator=pipeline, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, seed=1)
    averages = search.fit(frame).avgMetrics
    found["ML search"] = averages[0] > averages[1]
    return found


def main():
    builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "4")
    spark = builder.config("spark.ui.enabled", "false").config("spark.log.level", "OFF").getOrCreate()
    rows = mixed_rows(600)
    frame = spark.createDataFrame(rows)
    found = {**verbs(frame, rows), **spark_ml(frame, rows, sys.argv[1])}
    print(
        json.dumps({"class": type(frame).__module__} | {name: bool(value) for name, value in found.items()}), flush=True
    )
    spark.stop()


if __name__ == "__main__":
    main()
