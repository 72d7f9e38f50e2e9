"""Spark: the verbs of tallybayes on a DataFrame of any size.

`fit`, `learn`, `forget` and `evaluate` count where the rows are: one partial sum per task (`engines/`), combined by a
tree of tasks, so that the model is the one that `tallybayes.fit` gives for the same rows and schema, bit for bit.
`predict` appends columns, `tune` works on a sample of the rows. Both classic Spark and Spark Connect are served: there
are no RDDs, accumulators or broadcast variables.

Spark is an optional dependency: `pip install tallybayes[spark]`; it needs Java 17 or newer.
"""

import re

_LEAST_VERSION = (4, 1)  # with grouped Arrow functions that take an iterator, and Arrow functions of columns
_HINT = "pip install tallybayes[spark]"


def check_version(version: str | None = None) -> None:
    """Raise an ImportError unless a version of pyspark is new enough, by default the installed one.

    >>> check_version("3.5.1")
    Traceback (most recent call last):
        ...
    ImportError: tallybayes.spark needs pyspark 4.1 or newer, got 3.5.1: pip install tallybayes[spark]
    """
    if version is None:
        try:
            import pyspark
        except ImportError as error:
            raise ImportError(f"tallybayes.spark needs pyspark: {_HINT}") from error
        version = pyspark.__version__
    numbers = re.findall(r"\d+", version)[:2]
    if tuple(map(int, numbers)) < _LEAST_VERSION:
        needed = ".".join(map(str, _LEAST_VERSION))
        raise ImportError(f"tallybayes.spark needs pyspark {needed} or newer, got {version}: {_HINT}")


check_version()

from tallybayes.spark.distributed_evaluation import evaluate  # noqa: E402
from tallybayes.spark.distributed_fit import fit, forget, learn, tune  # noqa: E402
from tallybayes.spark.prediction_columns import predict  # noqa: E402
from tallybayes.spark.stream_learner import StreamLearner  # noqa: E402

__all__ = ["StreamLearner", "evaluate", "fit", "forget", "learn", "predict", "tune"]
