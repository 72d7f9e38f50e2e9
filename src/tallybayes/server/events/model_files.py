"""The files of a hosted model: NAME.tally is the base, and beside it are its log, its snapshot and its lock."""

from __future__ import annotations

import os
from dataclasses import dataclass

from tallybayes.errors import ParameterError

__all__ = ["ModelFiles"]


@dataclass(frozen=True)
class ModelFiles:
    """Paths of the files of one model.

    >>> ModelFiles.of("models/mail.tally").name
    'mail'
    """

    base: str
    log: str
    snapshot: str
    lock: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> ModelFiles:
        """From the path of the model file; symbolic links are followed."""
        base = os.path.realpath(os.fsdecode(path))
        stem, end = os.path.splitext(base)
        if end != ".tally":
            raise ParameterError("a model file whose name ends in .tally", got=os.fsdecode(path))
        return cls(base, f"{stem}.log", f"{stem}.snapshot", f"{stem}.lock")

    @property
    def name(self) -> str:
        """The name of the model."""
        return os.path.basename(self.base).removesuffix(".tally")

    def all(self) -> list[str]:
        """The paths of all files, the base first."""
        return [self.base, self.log, f"{self.log}-wal", f"{self.log}-shm", f"{self.log}-last", self.snapshot, self.lock]

    @property
    def has_log(self) -> bool:
        """Whether the model has been hosted."""
        return os.path.exists(self.log)
