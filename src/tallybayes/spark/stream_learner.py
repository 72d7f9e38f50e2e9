"""A model that learns a stream of Spark, each batch exactly once.

Spark repeats the last batch of a stream that was interrupted before it was noted in the checkpoint. So the number of
the batch is saved with the model, in one step: it is the name of the file, `batch-000000000007.tally`, which appears
as a whole. A batch whose file exists is not learned again, and no number may be left out. While no row had a label,
there is no model: then the file is empty, and its name ends in `.none`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import urlsplit
from urllib.request import url2pathname

from tallybayes.errors import Described, FileError, ParameterError
from tallybayes.model.model import Model
from tallybayes.model.saved_model import load
from tallybayes.spark.distributed_fit import fit_rows, learn
from tallybayes.spark.tree import WIDTHS
from tallybayes.state.options import LABELLED, FitOptions, with_options

__all__ = ["StreamLearner"]

_NAME = re.compile(r"batch-(\d{12})\.(tally|none)")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # of a file system
_MODEL, _NOTHING = ".tally", ".none"
_KEPT = 2  # files: the last one, and the one before


@with_options(LABELLED)
class StreamLearner:
    """A function for `foreachBatch`, which learns every batch of a stream and saves the model.

    The first batch is fitted, the others are learned. `model` is the model after the last batch.

        learner = StreamLearner("models", label="fruit")
        query = stream.writeStream.foreachBatch(learner).option("checkpointLocation", "checkpoint").start()

    Parameters
    ----------
    folder
        Where the models are saved, on a disk that the driver can write to. One folder belongs to one checkpoint: a
        stream that begins anew needs an empty folder, and one that goes on needs its folder as it was.
    label
        The name of the label column.
    sample_weight
        The name of a column with the weights of the rows.
    {options}
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        label: str | None = None,
        *,
        sample_weight: str | None = None,
        **options: Unpack[FitOptions],
    ) -> None:
        self.folder = _local(folder)
        self._label, self._weight, self._options = label, sample_weight, options

    @property
    def last_batch(self) -> int | None:
        """The number of the last batch that was learned; None if there is none."""
        return max(self._files(), default=None)

    @property
    def model(self) -> Model | None:
        """The model after the last batch; None if no row had a label so far."""
        files = self._files()
        return load(files[max(files)]) if files and files[max(files)].suffix == _MODEL else None

    def __call__(self, df: Any, batch: int) -> None:
        """Learn a batch and save the model, unless it was learned already."""
        last = self.last_batch
        if batch == last:
            return
        self._check_order(last, batch)
        self.folder.mkdir(parents=True, exist_ok=True)
        if last is not None and df.isEmpty():
            before = self._files()[last]
            before.rename(self._file(batch, before.suffix))
        elif (model := self._learn(df)) is None:
            self._file(batch, _NOTHING).touch()
        else:
            model.save(self._file(batch, _MODEL))
        files = self._files()
        for number in sorted(files)[:-_KEPT]:
            files[number].unlink(missing_ok=True)

    def _learn(self, df: Any) -> Model | None:
        """The model after a batch; None if there is still no row with a label."""
        if (model := self.model) is not None:
            learn(model, df, label=self._label, sample_weight=self._weight)
            return model
        if df.isEmpty():
            return None
        model = fit_rows(df, self._label, self._weight, dict(self._options), WIDTHS)
        return model if model.classes else None

    def _check_order(self, last: int | None, batch: int) -> None:
        """Raise an error if batches were lost, or if this is another stream."""
        where = str(self.folder)
        if last is None and batch != 0:
            hint = "the checkpoint is further than the folder: restore the folder, or begin anew with a new checkpoint"
            raise FileError(f"the model after batch {batch - 1}", got=Described("no model"), file=where, hint=hint)
        if last is not None and batch != last + 1:
            hint = "the folder belongs to another checkpoint; a stream that begins anew needs an empty folder"
            raise ParameterError(f"batch {last + 1} after number {last}", got=batch, file=where, hint=hint)

    def _file(self, batch: int, suffix: str) -> Path:
        return self.folder / f"batch-{batch:012d}{suffix}"

    def _files(self) -> dict[int, Path]:
        """The saved models by the number of their batch."""
        names = [path for path in self.folder.glob("batch-*") if _NAME.fullmatch(path.name)]
        return {int(path.name[6:18]): path for path in names}


def _local(folder: str | os.PathLike[str]) -> Path:
    """The path of a folder on a disk of the driver."""
    address = _ADDRESS.match(folder) if isinstance(folder, str) else None
    if address is None:
        return Path(folder)
    if address[1].lower() != "file":
        hint = "save the models on a disk of the driver, and copy them from there"
        raise ParameterError("a folder on a disk that the driver can write to", got=folder, hint=hint)
    return Path(url2pathname(urlsplit(str(folder)).path))
