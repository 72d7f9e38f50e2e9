"""How the Spark ML estimator and its models are saved and loaded, in any file system that Spark can write to.

    PATH/metadata   what Spark ML writes for every stage: the class, the uid and the Params, as JSON
    PATH/tally      the bytes of the model file (`*.tally`), as Parquet: in parts, because a cell holds at most 2 GB

Everything goes through DataFrames, so that it works over Spark Connect too.
"""

from __future__ import annotations

from typing import Any

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter

from tallybayes.errors import FileError
from tallybayes.model.saved_model import dumps, loads
from tallybayes.spark.ml_params import from_json, to_json

__all__ = ["EstimatorReader", "EstimatorWriter", "ModelReader", "ModelWriter"]

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
