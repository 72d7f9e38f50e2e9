"""Spark: the verbs of tallybayes on a DataFrame of any size.

`fit`, `learn`, `forget` and `evaluate` count where the rows are: one partial sum per task (`engines/`), combined by a
tree of tasks, so that the model is the one that `tallybayes.fit` gives for the same rows and schema, bit for bit.
`predict` appends columns, `tune` works on a sample of the rows. Both classic Spark and Spark Connect are served: there
are no RDDs, accumulators or broadcast variables.

Spark is an optional dependency: `pip install tallybayes[spark]`; it needs Java 17 or newer.
"""

from tallybayes.spark.versions import check_version

check_version()

from tallybayes.spark.change_verbs import forget, learn  # noqa: E402
from tallybayes.spark.evaluate_verb import evaluate  # noqa: E402
from tallybayes.spark.fit_verb import fit  # noqa: E402
from tallybayes.spark.predict_verb import predict  # noqa: E402
from tallybayes.spark.stream_learner import StreamLearner  # noqa: E402
from tallybayes.spark.tune_verb import tune  # noqa: E402

__all__ = ["StreamLearner", "evaluate", "fit", "forget", "learn", "predict", "tune"]
