"""What readers of a hosted model use: its state after one event, which never changes."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from tallybayes.model import Model
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.model_state import ModelState

__all__ = ["Published", "publish"]


@dataclass(frozen=True)
class Published:
    """The model after one event; it never changes. `model` answers as any model does."""

    model: Model
    version: int

    @property
    def snapshot(self) -> Snapshot:
        """What the model answers from."""
        return self.model.snapshot()


def publish(state: ModelState, version: int) -> Published:
    """A state for readers, with the tables that they need: the writer derives them, so that no reader has to."""
    model = Model(state)
    snapshot = model.snapshot()
    if snapshot.classes:
        with contextlib.suppress(Exception):  # readers will get the same error, with their own request
            _ = snapshot.posterior
            snapshot.log_score_of_few({})
    return Published(model, version)
