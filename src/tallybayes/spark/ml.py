"""The Spark ML estimator: naive Bayes for the columns of a DataFrame as they are, in pipelines and cross-validation.

    from tallybayes.spark.ml import NaiveBayesEstimator

    model = NaiveBayesEstimator(labelCol="species").fit(frame)      # words, numbers, nulls: no preparation
    answers = model.transform(frame)                                 # rawPrediction, probability, prediction
    model.tally                                                      # the tallybayes.Model
    model.write().overwrite().save("hdfs:///models/penguins")

A saved estimator or model is a folder, in any file system that Spark can write to:

    PATH/metadata   what Spark ML writes for every stage: the class, the uid and the Params, as JSON
    PATH/tally      the bytes of the model file (`*.tally`), as Parquet: in parts, because a cell holds at most 2 GB

Everything goes through DataFrames, so that it works over Spark Connect too.

It needs pyspark: `pip install tallybayes[spark]`. docs/coming-from-spark-ml.md compares it with Spark's own classes.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from pyspark.ml import Estimator
from pyspark.ml import Model as SparkModel
from pyspark.ml.linalg import DenseVector, Vector, Vectors
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter

from tallybayes.errors import FileError, ParameterError, did_you_mean
from tallybayes.evaluation.metrics import Evaluation
from tallybayes.families.family import Floats
from tallybayes.model.model import Model
from tallybayes.model.saved_model import dumps, loads
from tallybayes.scoring.snapshot import check_row
from tallybayes.spark import evaluate, fit
from tallybayes.spark.ml_params import OPTION_PARAMS, FittingParams, ScoringParams, from_json, to_json
from tallybayes.spark.ml_scoring import ClassLayout, with_scores
from tallybayes.spark.vector_columns import BAG, element_name, forms_of_schema

__all__ = ["NaiveBayesEstimator", "NaiveBayesModel"]

_ELEMENT = re.compile(r"\[\d+\]$")  # of a vector
_FOLD_NUMBERS = re.compile(r"(CrossValidator|TrainValidationSplit)_[0-9a-f]{12}_rand")  # a column that they add


_PART_BYTES = 64 * 2**20


class EstimatorWriter(MLWriter):
    """Saves Params."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def save(self, path: str) -> None:
        """Write to a folder, which must be new unless `overwrite()` was called."""
        self.saveImpl(path)

    def saveImpl(self, path: str) -> None:  # noqa: N802
        """Write the Params as Spark ML does."""
        params = {param.name: to_json(value) for param, value in self.instance._paramMap.items()}
        text = DefaultParamsWriter._get_metadata_to_save(self.instance, self.sparkSession, None, params)
        frame = self.sparkSession.createDataFrame([(text,)], schema="value string").coalesce(1)
        frame.write.mode(self._mode).text(f"{path}/metadata")

    @property
    def _mode(self) -> str:
        return "overwrite" if self.shouldOverwrite else "error"


class ModelWriter(EstimatorWriter):
    """Saves Params and the model file."""

    def saveImpl(self, path: str) -> None:  # noqa: N802
        """Write the Params, then the bytes of the model file."""
        super().saveImpl(path)
        data = dumps(self.instance.tally)
        parts = [
            (start // _PART_BYTES, data[start : start + _PART_BYTES]) for start in range(0, len(data), _PART_BYTES)
        ]
        frame = self.sparkSession.createDataFrame(parts, schema="part int, bytes binary").coalesce(1)
        frame.write.mode(self._mode).parquet(f"{path}/tally")


class EstimatorReader(MLReader[Any]):
    """Loads Params."""

    def __init__(self, of_class: Any) -> None:
        super().__init__()
        self.of_class = of_class

    def load(self, path: str) -> Any:
        """The instance that was saved to a folder."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        class_name = f"{self.of_class.__module__}.{self.of_class.__name__}"
        if metadata["class"] != class_name:
            raise FileError(f"a saved {class_name}", got=metadata["class"], file=path)
        metadata["paramMap"] = {name: from_json(value) for name, value in metadata["paramMap"].items()}
        instance = self._instance(path)._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        return instance

    def _instance(self, path: str) -> Any:
        return self.of_class()


class ModelReader(EstimatorReader):
    """Loads Params and the model file."""

    def _instance(self, path: str) -> Any:
        parts = self.sparkSession.read.parquet(f"{path}/tally").orderBy("part").collect()
        return self.of_class(loads(b"".join(bytes(row["bytes"]) for row in parts), path))


class NaiveBayesEstimator(Estimator["NaiveBayesModel"], FittingParams, MLReadable["NaiveBayesEstimator"], MLWritable):
    """Naive Bayes for mixed columns with nulls, fitted by exact counting in one pass.

    labelCol, weightCol, predictionCol, probabilityCol, rawPredictionCol: as in Spark ML.
    featuresCols: the names of the columns to use; default: every column except label and weight.
    featuresCol: a column of vectors, as an alternative.
    Every option of `tallybayes.fit`, in camel case: smoothing, numeric, classPrior, columnWeights and so on;
    `explainParams()` lists them.
    """

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self.setParams(**params)

    def setParams(self, **params: Any) -> NaiveBayesEstimator:  # noqa: N802
        """Set Params by their names."""
        for name in params:
            if not self.hasParam(name):
                hint = did_you_mean(name, [param.name for param in self.params], "Params")
                raise ParameterError("the name of a Param", got=name, hint=hint)
        unset = [name for name, value in params.items() if value is None and name not in OPTION_PARAMS]
        self._set(**{name: value for name, value in params.items() if name not in unset})
        return self

    def _fit(self, dataset: Any) -> NaiveBayesModel:
        options = self.fit_options()
        vector, columns = self.getFeaturesCol(), self.getFeaturesCols()
        if vector is not None and columns is not None:
            raise ParameterError("featuresCol or featuresCols", got=f"{vector!r} and {columns!r}")
        if vector is not None or columns is not None:
            options["only"] = [vector] if vector is not None else columns
        elif added := [name for name in dataset.columns if _FOLD_NUMBERS.fullmatch(name)]:
            options["ignore"] = [*options.get("ignore", ()), *added]
        weight = self.getOrDefault(self.weightCol) if self.isDefined(self.weightCol) else None
        tally = fit(dataset, label=self.getLabelCol(), sample_weight=weight or None, **options)
        return self._copyValues(NaiveBayesModel(tally)._resetUid(self.uid))

    def write(self) -> EstimatorWriter:
        """What saves the Params, through the file system of Hadoop."""
        return EstimatorWriter(self)

    @classmethod
    def read(cls) -> EstimatorReader:
        """What loads an estimator that was saved."""
        return EstimatorReader(cls)


class NaiveBayesModel(SparkModel, ScoringParams, MLReadable["NaiveBayesModel"], MLWritable):
    """A fitted model: `transform` appends rawPrediction, probability and prediction; `tally` is the tallybayes model.

    prediction: the label itself; a double if labels are numbers, else of the type of the labels.
    probability: a vector with P(class | row), in the order of `labels`; rawPrediction: its logarithm.
    """

    def __init__(self, tally: Model) -> None:
        super().__init__()
        self.tally = tally

    @property
    def labels(self) -> list[Any]:
        """The label at each position of the vectors; see `ClassLayout`."""
        return ClassLayout(self.tally.classes).labels

    @property
    def numClasses(self) -> int:  # noqa: N802
        """The length of the vectors."""
        return len(self.labels)

    @property
    def numFeatures(self) -> int:  # noqa: N802
        """The number of columns that the model uses."""
        return len(self.tally.schema.columns_in_use)

    def _transform(self, dataset: Any) -> Any:
        names = (self.getRawPredictionCol(), self.getProbabilityCol(), self.getPredictionCol())
        return with_scores(dataset, self.tally, names, self._names_in_model())

    def predict(self, value: Any) -> Any:
        """The label of one row: a dict of its columns, or a vector if the model was fitted to vectors."""
        return self.tally.predict_one(self._row(value))

    def predictProbability(self, value: Any) -> DenseVector:  # noqa: N802
        """P(class | row) of one row."""
        return self._vector(self.tally.snapshot().proba(self._row(value)), 0.0)

    def predictRaw(self, value: Any) -> DenseVector:  # noqa: N802
        """Log P(class | row) of one row."""
        snapshot = self.tally.snapshot()
        return self._vector(snapshot.posterior.log_proba(snapshot.log_score(self._row(value))), -np.inf)

    def _vector(self, scores: Floats, absent: float) -> DenseVector:
        return Vectors.dense(ClassLayout(self.tally.classes).place(scores, absent)[0])

    def _row(self, value: Any) -> Mapping[str, Any]:
        """One row by the columns of the model."""
        name = self._vector_column()
        if name is None or not isinstance(value, Vector):
            return check_row(value)
        if forms_of_schema(self.tally.schema, [name])[name] == BAG:
            return {name: dict(enumerate(value.toArray().tolist()))}
        return {element_name(name, i): x for i, x in enumerate(value.toArray().tolist())}

    def evaluate(self, dataset: Any) -> Evaluation:
        """Accuracy, log loss, calibration and more, as `tallybayes.evaluate` returns them."""
        for name, vector in self._names_in_model().items():
            dataset = dataset.drop(vector).withColumnRenamed(name, vector)
        return evaluate(self.tally, dataset, self.getLabelCol() if self.isSet(self.labelCol) else None)

    def _vector_column(self) -> str | None:
        """The column of vectors that the model was fitted to; None if it was fitted to other columns."""
        column = self.getFeaturesCol()
        if (
            column is None
            or column in self.tally.schema.columns
            or forms_of_schema(self.tally.schema, [column])[column]
        ):
            return column
        names = {_ELEMENT.sub("", name) for name in self.tally.schema.columns_in_use}
        return names.pop() if len(names) == 1 else column

    def _names_in_model(self) -> dict[str, str]:
        """The name in the model of the column of vectors, if the Param featuresCol was changed since it was fitted."""
        column, vector = self.getFeaturesCol(), self._vector_column()
        return {} if column is None or vector is None or column == vector else {column: vector}

    def write(self) -> ModelWriter:
        """What saves the Params and the model file, through the file system of Hadoop."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> ModelReader:
        """What loads a model that was saved."""
        return ModelReader(cls)


_PARAMETERS = ("labelCol", "weightCol", "featuresCols", "featuresCol", "predictionCol", "probabilityCol")
NaiveBayesEstimator.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in (*_PARAMETERS, "rawPredictionCol", *OPTION_PARAMS)
    ]
)
