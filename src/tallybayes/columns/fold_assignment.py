"""Rows assigned to folds, stratified by class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.columns.label import Labels

__all__ = ["FoldAssigner"]


class FoldAssigner:
    """Assigns the rows of each class to the folds in turn, in shuffled order, independently of batch boundaries."""

    def __init__(self, folds: int, seed: int) -> None:
        self._folds, self._seed = folds, seed
        self._pending: dict[Any, tuple[np.random.Generator, NDArray[np.int64]]] = {}

    def __call__(self, labels: Labels) -> NDArray[np.int64]:
        """The fold of every row, -1 for rows without a label."""
        fold = np.full(len(labels.codes), -1, np.int64)
        for code, label in enumerate(labels.keys):
            rows = np.flatnonzero(labels.codes == code)
            fold[rows] = self._next(label, len(rows))
        return fold

    def _next(self, label: Any, n: int) -> NDArray[np.int64]:
        """The folds of the next n rows of a class: one permutation of all folds after another."""
        seed = [self._seed, *(str(label).encode("utf-8", "surrogatepass") or b"\xff")]  # never default_rng(seed)
        generator, pending = self._pending.get(label) or (np.random.default_rng(seed), np.zeros(0, np.int64))
        n_rounds = -(-max(n - len(pending), 0) // self._folds)
        rounds = generator.permuted(np.tile(np.arange(self._folds), (n_rounds, 1)), axis=1).ravel()
        assigned = np.concatenate([pending, rounds])
        self._pending[label] = generator, assigned[n:]
        return assigned[:n]
