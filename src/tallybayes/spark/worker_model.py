"""Models on the workers: loaded once, and kept by the digest of their bytes."""

from __future__ import annotations

from functools import lru_cache

from tallybayes.model.saved_model import loads
from tallybayes.scoring.snapshot import Snapshot

__all__ = ["ModelBytes", "worker_snapshot"]

_MODELS = 4  # that a worker keeps


class ModelBytes:
    """The bytes of a model, which are not compared: their digest is."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelBytes)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=_MODELS)
def worker_snapshot(digest: str, model: ModelBytes) -> Snapshot:
    """The snapshot of a model, loaded once per worker; digest: the SHA-256 of its bytes."""
    return loads(model.data).snapshot()
