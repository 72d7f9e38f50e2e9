"""The Spark ML estimator: the same model as `tallybayes.fit`, in the words of Spark ML."""

import gc

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install tallybayes[spark]")

from mixed_rows import mixed_rows
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import BinaryClassificationEvaluator, MulticlassClassificationEvaluator
from pyspark.ml.feature import StringIndexer
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql.types import BinaryType, BooleanType, DoubleType, StringType, StructField, StructType

import tallybayes as tb
from tallybayes.errors import DataError, FileError, ParameterError
from tallybayes.model.saved_model import dumps
from tallybayes.spark.ml import NaiveBayesEstimator, NaiveBayesModel
from tallybayes.spark.ml_params import OPTION_PARAMS
from tallybayes.spark.ml_scoring import ClassLayout

PETS = ["cat", "dog", "rabbit"]
ROWS = mixed_rows(300)
ROWS = ROWS.append_column("code", pa.array(map(PETS.index, ROWS["pet"].to_pylist()), pa.int64()))
COLUMNS = ["size", "visits", "colour", "indoors"]


@pytest.fixture(scope="module")
def frame(spark):
    """The rows in one partition, so that their order is known."""
    return spark.createDataFrame(ROWS).coalesce(1).cache()


@pytest.fixture(scope="module")
def model(frame):
    return NaiveBayesEstimator(labelCol="pet", weightCol="copies", featuresCols=COLUMNS).fit(frame)


@pytest.fixture(scope="module")
def alone(model):
    return tb.fit(ROWS, label="pet", sample_weight="copies", only=COLUMNS, schema=model.tally.schema)


@pytest.fixture(scope="module")
def scored(model, frame):
    return model.transform(frame).select("pet", "rawPrediction", "probability", "prediction").collect()


def vectors(rows, name):
    return np.array([row[name].toArray() for row in rows])


def test_the_model_is_that_of_fit(model, alone):
    assert dumps(model.tally) == dumps(alone)
    assert model.labels == ["cat", "dog", "rabbit"]
    assert (model.numClasses, model.numFeatures) == (3, 4)
    assert model.uid.startswith("NaiveBayesEstimator_")


def test_transform_appends_what_the_model_answers(scored, alone):
    assert [row["pet"] for row in scored] == ROWS["pet"].to_pylist()
    assert (vectors(scored, "probability") == alone.predict_proba(ROWS)).all()
    assert [row["prediction"] for row in scored] == alone.predict(ROWS).tolist()


def test_raw_predictions_are_logs_of_the_probabilities_without_their_rounding(scored):
    raw, probability = vectors(scored, "rawPrediction"), vectors(scored, "probability")
    np.testing.assert_allclose(np.exp(raw), probability, rtol=1e-12)
    assert (raw < 0).all()


def test_one_row_is_scored_as_in_a_data_frame(model, scored):
    row = ROWS.select(COLUMNS).to_pylist()[0]
    assert model.predict(row) == scored[0]["prediction"]
    assert model.predictProbability(row) == scored[0]["probability"]
    assert model.predictRaw(row) == scored[0]["rawPrediction"]


def test_types_of_answers(spark, frame):
    def fitted(label, **params):
        data = frame.selectExpr("size", f"{label} AS label")
        found = NaiveBayesEstimator(numeric="gaussian", columnWeights=None, **params).fit(data)
        return found, found.transform(data.limit(2)).schema["prediction"].dataType

    whole, kind = fitted("code * 2")  # 0, 2 and 4: as in Spark ML, label i is at position i
    assert kind == DoubleType()
    assert whole.labels == [0, 1, 2, 3, 4]
    vector = whole.predictProbability({"size": 1.0})
    assert vector[1] == vector[3] == 0
    assert sum(vector) == pytest.approx(1)
    assert fitted("size > 1")[1] == BooleanType()
    years, kind = fitted("code + 2020")
    assert (years.labels, kind) == ([2020, 2021, 2022], DoubleType())
    assert ClassLayout(["a", 1]).label_type == StringType()
    raw, kind = fitted("CAST(pet AS BINARY)")
    assert (raw.labels, kind) == ([b"cat", b"dog", b"rabbit"], BinaryType())
    assert raw.transform(frame.limit(1)).first()["prediction"] in raw.labels


def test_output_columns_are_new_and_can_be_left_out(frame, model):
    part = frame.limit(3)
    assert model.copy({model.rawPredictionCol: "", model.probabilityCol: ""}).transform(part).columns[-2:] == [
        "code",
        "prediction",
    ]
    nothing = {model.rawPredictionCol: "", model.probabilityCol: "", model.predictionCol: ""}
    assert model.transform(part, nothing).columns == part.columns
    with pytest.raises(ParameterError, match="name of a new column, got 'rawPrediction'"):
        model.transform(model.transform(part))


def test_params_are_those_of_spark_ml_and_the_options_of_fit(java):
    estimator = NaiveBayesEstimator(labelCol="pet", weightCol=None, numeric=tb.Gaussian(), columnWeights=None)
    assert not estimator.isSet("weightCol")
    assert estimator.fit_options() == {"numeric": "gaussian", "column_weights": None}
    assert estimator.setClassSmoothing(2).getClassSmoothing() == 2
    assert estimator.getSmoothing() == "auto"
    for param in OPTION_PARAMS:
        assert f"{param}: " in estimator.explainParams()
        assert getattr(estimator, f"set{param[0].upper()}{param[1:]}").__doc__
    changed = estimator.copy({estimator.smoothing: 3.0})
    assert (changed.getSmoothing(), estimator.getSmoothing(), changed.uid) == (3.0, "auto", estimator.uid)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"lablCol": "pet"}, "did you mean 'labelCol'"),
        ({"smoothing": -1}, "expected smoothing to be"),
        ({"families": {"size": "gausian"}}, "did you mean 'gaussian'"),
        ({"only": ["size"]}, "expected the name of a Param"),
        ({"columnWeights": tb.ColumnWeights({"size": 2.0})}, "as a Param"),
    ],
)
def test_wrong_params_are_refused_at_once(java, params, message):
    with pytest.raises(ParameterError, match=message):
        NaiveBayesEstimator(**params)


def test_errors_come_from_the_driver(frame):
    with pytest.raises(ParameterError, match="featuresCol or featuresCols"):
        NaiveBayesEstimator(featuresCol="size", featuresCols=["visits"]).fit(frame)
    with pytest.raises(DataError, match="did you mean 'pet'"):
        NaiveBayesEstimator(labelCol="pets").fit(frame)


def test_an_estimator_is_saved_and_loaded_with_labels_of_any_type(spark, tmp_path, model):
    given = {"classWeight": {0: 2.0, True: 3.0}, "smoothing": {"size": float("inf")}, "families": {"size": "gaussian"}}
    estimator = NaiveBayesEstimator(columnWeights=None, schema=model.tally.schema, featuresCols=["size"], **given)
    estimator.save(f"{tmp_path}/estimator")
    again = NaiveBayesEstimator.load(f"{tmp_path}/estimator")
    assert again.uid == estimator.uid
    assert again.extractParamMap() == estimator.extractParamMap()
    assert again.fit_options()["schema"] == model.tally.schema
    assert list(map(type, again.getClassWeight())) == [int, bool] or again.getClassWeight() == given["classWeight"]


def test_a_model_is_saved_and_loaded(spark, tmp_path, model):
    path = f"{tmp_path}/model"
    model.save(path)
    model.write().overwrite().save(path)
    again = NaiveBayesModel.load(path)
    assert dumps(again.tally) == dumps(model.tally)
    assert (again.uid, again.getLabelCol(), again.getFeaturesCols()) == (model.uid, "pet", COLUMNS)
    with pytest.raises(Exception, match="already exists"):
        model.save(path)
    with pytest.raises(FileError, match="NaiveBayesEstimator"):
        NaiveBayesEstimator.load(path)


@pytest.fixture(scope="module")
def search(frame):
    """A search over a pipeline whose label is an index."""
    estimator = NaiveBayesEstimator(labelCol="index", numeric="gaussian", columnWeights=None)
    pipeline = Pipeline(stages=[StringIndexer(inputCol="pet", outputCol="index"), estimator])
    grid = ParamGridBuilder().addGrid(estimator.featuresCols, [["indoors"], COLUMNS]).build()
    evaluator = MulticlassClassificationEvaluator(labelCol="index", metricName="logLoss")
    return CrossValidator(estimator=pipeline, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, seed=3)


@pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning")  # of Spark
def test_cross_validation_of_a_pipeline_which_is_saved_and_loaded(search, frame, tmp_path):
    found = search.fit(frame)
    best = found.bestModel
    assert found.avgMetrics[0] > found.avgMetrics[1]  # four columns say more than one
    assert set(best.stages[-1].tally.schema.columns_in_use) == set(COLUMNS)
    best.save(f"{tmp_path}/pipeline")
    again = PipelineModel.load(f"{tmp_path}/pipeline")
    assert dumps(again.stages[-1].tally) == dumps(best.stages[-1].tally)
    gc.collect()  # the pool, while the warning about it is ignored
    loss = search.getEvaluator().evaluate(again.transform(frame))
    assert loss == pytest.approx(again.stages[-1].evaluate(again.stages[0].transform(frame)).log_loss, rel=1e-9)


def test_columns_of_random_numbers_that_cross_validation_adds_are_not_features(frame):
    added = frame.selectExpr("size", "pet", "size AS CrossValidator_0123456789ab_rand", "visits AS rand")
    found = NaiveBayesEstimator(labelCol="pet", columnWeights=None).fit(added)
    assert set(found.tally.schema.columns_in_use) == {"size", "rand"}


def test_the_area_under_the_curve_is_that_of_the_probabilities(frame):
    data = frame.selectExpr(*COLUMNS, "CAST(pet = 'cat' AS INT) AS label")
    found = NaiveBayesEstimator().fit(data)
    area = BinaryClassificationEvaluator(numBins=0).evaluate(found.transform(data))
    truth = [int(pet == "cat") for pet in ROWS["pet"].to_pylist()]
    own = tb.evaluate(found.tally, ROWS.select(COLUMNS).append_column("label", pa.array(truth)), leave_one_out=False)
    assert area == pytest.approx(own.auc, abs=1e-9)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_column_of_vectors(spark, form):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    matrix = rng.poisson(1 + 2 * labels[:, None] * [1, 0, 0.5], (200, 3)).astype(float)
    kept = [np.flatnonzero(row) for row in matrix]
    cells = [
        Vectors.dense(row) if form == "dense" else Vectors.sparse(3, own, row[own])
        for row, own in zip(matrix, kept, strict=True)
    ]
    kinds = StructType([StructField("features", VectorUDT()), StructField("label", DoubleType())])
    data = spark.createDataFrame(list(zip(cells, labels.astype(float).tolist(), strict=True)), kinds).coalesce(1)
    found = NaiveBayesEstimator(featuresCol="features", columnWeights=None).fit(data)
    rows = found.transform(data).collect()
    if form == "dense":
        names = [f"features[{i}]" for i in range(3)]
        alone = tb.fit(dict(zip(names, matrix.T, strict=True)), labels.astype(float), column_weights=None)
        assert found.numFeatures == 3
    else:
        bags = [dict(zip(own.tolist(), row[own].tolist(), strict=True)) for row, own in zip(matrix, kept, strict=True)]
        alone = tb.fit(
            {"features": bags}, labels.astype(float), families={"features": "multinomial"}, column_weights=None
        )
        assert found.numFeatures == 1
    expected = alone.predict_proba(
        {n: matrix[:, i] for i, n in enumerate(names)} if form == "dense" else {"features": bags}
    )
    assert (vectors(rows, "probability") == expected).all()
    assert found.predictProbability(cells[0]) == rows[0]["probability"]
    other = found.copy({found.featuresCol: "vectors", found.labelCol: "truth"})
    renamed = data.selectExpr("features AS vectors", "label AS truth", "0 AS features")
    assert (vectors(other.transform(renamed).collect(), "probability") == expected).all()
    assert other.predictProbability(cells[0]) == rows[0]["probability"]
    assert other.evaluate(renamed).accuracy == found.evaluate(data).accuracy


@pytest.fixture(scope="module")
def stored(spark, tmp_path_factory):
    """A table in Parquet with vectors, which nothing here reads as features."""
    path = str(tmp_path_factory.mktemp("stored") / "rows")
    rows = [(float(i), float(i % 2), {"k": i}, Vectors.sparse(2, {0: 1.0 * i})) for i in range(20)]
    spark.createDataFrame(rows, ["x", "label", "bag", "other"]).coalesce(1).write.parquet(path)
    return spark.read.parquet(path)


def test_rows_of_parquet_and_of_a_cached_table_are_scored(spark, stored):
    from tallybayes.spark import predict

    found = NaiveBayesEstimator(featuresCols=["x"], numeric="gaussian", columnWeights=None).fit(stored)
    cells = {"x": [float(i) for i in range(20)]}
    expected = found.tally.predict_proba(cells)
    numbers = stored.select("x", "label").cache()
    for rows in (found.transform(stored).collect(), found.transform(numbers).collect()):
        assert (vectors(rows, "probability") == expected).all()
        assert [row["x"] for row in rows] == cells["x"]
    numbers.unpersist()
    rows = predict(found.tally, stored).collect()
    assert [row["prediction"] for row in rows] == found.tally.predict(cells).tolist()
    assert rows[3]["other"] == Vectors.sparse(2, {0: 3.0})
    amounts = {"bag": [{"k": i} for i in range(20)], "label": [i % 2 for i in range(20)]}
    bags = tb.fit(amounts, "label", families={"bag": "multinomial"})
    assert predict(bags, stored).count() == 20


def test_conditions_on_scored_rows_reach_the_parquet_reader(stored):
    found = NaiveBayesEstimator(featuresCols=["x"], numeric="gaussian", columnWeights=None).fit(stored)
    plan = found.transform(stored).where("x > 3")._jdf.queryExecution().executedPlan().toString()
    assert "GreaterThan(x,3.0)" in plan


def test_rows_of_a_stream_are_scored(spark, stored, tmp_path):
    from tallybayes.spark import predict

    found = NaiveBayesEstimator(featuresCols=["x"], numeric="gaussian", columnWeights=None).fit(stored)
    folder = stored.inputFiles()[0].rpartition("/")[0]
    stream = found.transform(spark.readStream.schema(stored.schema).parquet(folder))
    stream = predict(found.tally, stream, prediction="answer", probability="p")
    query = stream.select("x", "prediction", "answer").writeStream.format("parquet").trigger(availableNow=True)
    paths = {"checkpointLocation": str(tmp_path / "checkpoint"), "path": str(tmp_path / "scored")}
    assert query.options(**paths).start().awaitTermination(120)
    rows = spark.read.parquet(paths["path"]).orderBy("x").collect()
    expected = found.tally.predict({"x": [float(i) for i in range(20)]}).tolist()
    assert [row["prediction"] for row in rows] == [row["answer"] for row in rows] == expected
