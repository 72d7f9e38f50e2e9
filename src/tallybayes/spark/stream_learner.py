"""A model that learns a stream of Spark, each batch exactly once.

Spark repeats the last batch of a stream that was interrupted before it was noted in the checkpoint. So the number of
the batch is saved with the model, in one step: it is the name of the file, `batch-000000000007.tally`, which appears
as a whole. A batch whose file exists is not learned again.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Unpack

from tallybayes.errors import ParameterError
from tallybayes.model.model import Model
from tallybayes.model.saved_model import load
from tallybayes.spark.change_verbs import learn
from tallybayes.spark.fit_verb import fit
from tallybayes.state.options import FitOptions, with_options

__all__ = ["StreamLearner"]

_NAME = re.compile(r"batch-(\d{12})\.tally")
_KEPT = 2  # files: the last one, and the one before


@with_options()
class StreamLearner:
    """A function for `foreachBatch`, which learns every batch of a stream and saves the model.

    The first batch is fitted, the others are learned. `model` is the model after the last batch.

        learner = StreamLearner("models", label="fruit")
        query = stream.writeStream.foreachBatch(learner).option("checkpointLocation", "checkpoint").start()

    Parameters
    ----------
    folder
        Where the models are saved, on a disk that the driver can write to. One folder belongs to one checkpoint: a
        stream that begins anew needs an empty folder, else it would be taken for a repetition.
    label
        The name of the label column.
    weight
        The name of a column with the weights of the rows.
    {options}
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        label: str | None = None,
        *,
        weight: str | None = None,
        **options: Unpack[FitOptions],
    ) -> None:
        self.folder = Path(folder)
        self._label, self._weight, self._options = label, weight, options

    @property
    def last_batch(self) -> int | None:
        """The number of the last batch that was learned; None if there is none."""
        return max(self._files(), default=None)

    @property
    def model(self) -> Model | None:
        """The model after the last batch; None if there is none."""
        files = self._files()
        return load(files[max(files)]) if files else None

    def __call__(self, df: Any, batch: int) -> None:
        """Learn a batch and save the model, unless it was learned already."""
        last = self.last_batch
        if last is not None and batch <= last:
            if batch == last:
                return
            hint = "the folder belongs to another checkpoint; a stream that begins anew needs an empty folder"
            raise ParameterError(f"a batch after number {last}", got=batch, file=str(self.folder), hint=hint)
        if df.isEmpty():
            return
        if (model := self.model) is None:
            model = fit(df, self._label, weight=self._weight, **self._options)
        else:
            learn(model, df, label=self._label, weight=self._weight)
        self.folder.mkdir(parents=True, exist_ok=True)
        model.save(self.folder / f"batch-{batch:012d}.tally")
        files = self._files()
        for number in sorted(files)[:-_KEPT]:
            files[number].unlink(missing_ok=True)

    def _files(self) -> dict[int, Path]:
        """The saved models by the number of their batch."""
        names = [path for path in self.folder.glob("batch-*.tally") if _NAME.fullmatch(path.name)]
        return {int(path.name[6:18]): path for path in names}
