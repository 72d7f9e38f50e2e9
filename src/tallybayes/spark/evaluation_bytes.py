"""Evaluations of partitions as bytes: their sums, and the scores of their rows while these are few enough to keep.

Partitions are kept apart and added up in the end, in their order: sums of reals (log loss, Brier score) do not depend
on which tasks were ready first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.evaluation.metrics import Evaluation
from tallybayes.evaluation.scores import LIMIT, KeptRows, Scores
from tallybayes.storage.container import Tensors, pack, unpack
from tallybayes.storage.keys import key_text, pack_keys, text_key, unpack_keys

__all__ = ["combine_evaluations", "evaluation_from_bytes", "evaluation_to_bytes"]

_SUMS = ("sum_log_loss", "sum_brier", "sum_prior_log_loss", "n_majority_right")


@dataclass(frozen=True, eq=False)
class _Parts:
    """Facts and arrays by the number of the partition; the scores only while all rows are few enough to keep."""

    facts: dict[int, dict[str, Any]]
    arrays: dict[int, Tensors]

    @property
    def n_cells(self) -> int:
        return sum(own["n_cells"] for own in self.facts.values())

    def to_bytes(self) -> bytes:
        """The parts in the order of partitions."""
        own = self.arrays if self.n_cells <= LIMIT else self.without_rows().arrays
        tensors = {f"{number}.{name}": array for number, parts in sorted(own.items()) for name, array in parts.items()}
        return pack({"content": "evaluation", "parts": sorted(self.facts.items())}, tensors)

    def without_rows(self) -> _Parts:
        """The sums alone."""
        return _Parts(self.facts, {number: {"sums": own["sums"]} for number, own in self.arrays.items()})

    @classmethod
    def from_bytes(cls, data: bytes) -> _Parts:
        """The inverse of `to_bytes`."""
        facts, tensors = unpack(data)
        arrays: dict[int, Tensors] = {}
        for name, array in tensors.items():
            number, _, own = name.partition(".")
            arrays.setdefault(int(number), {})[own] = array
        return cls(dict(facts["parts"]), arrays)


def evaluation_to_bytes(number: int, found: Evaluation) -> bytes:
    """The evaluation of a partition."""
    facts: dict[str, Any] = {}
    facts["confusion"] = [[key_text(a), None if b is None else key_text(b), n] for (a, b), n in found.confusion.items()]
    facts["unknown"] = [[key_text(label), n] for label, n in found.unknown.items()]
    facts |= {"skipped": found.skipped, "n_cells": found.kept.n_cells}
    arrays: Tensors = {"sums": np.array([getattr(found, name) for name in _SUMS], np.float64)}  # may be infinite
    if found.kept.complete and found.kept.parts:
        scores = found.kept.scores()
        arrays["codes"], arrays["predicted"] = scores.codes.astype(np.int64), scores.predicted.astype(np.int64)
        arrays["proba"], arrays["known"] = np.ascontiguousarray(scores.proba), scores.known.astype(np.uint8)
        arrays["classes"], arrays["ends"] = pack_keys(scores.classes)
    return _Parts({number: facts}, {number: arrays}).to_bytes()


def combine_evaluations(parts: Iterable[bytes]) -> bytes:
    """The evaluations of several partitions."""
    total = _Parts({}, {})
    for data in parts:
        one = _Parts.from_bytes(data)
        total = _Parts(total.facts | one.facts, total.arrays | one.arrays)
        total = total if total.n_cells <= LIMIT else total.without_rows()
    return total.to_bytes()


def evaluation_from_bytes(data: bytes) -> Evaluation:
    """The evaluation of all partitions, added up in their order."""
    total, parts = Evaluation(), _Parts.from_bytes(data)
    for number, facts in sorted(parts.facts.items()):
        confusion = {(text_key(a), None if b is None else text_key(b)): n for a, b, n in facts["confusion"]}
        unknown = {text_key(label): n for label, n in facts["unknown"]}
        own = parts.arrays[number]
        kept = KeptRows([_scores(own)] if "codes" in own else [], facts["n_cells"])
        sums = dict(zip(_SUMS, own["sums"].tolist(), strict=True))
        total += Evaluation(confusion, **sums, unknown=unknown, skipped=facts["skipped"], kept=kept)
    return total


def _scores(arrays: Tensors) -> Scores:
    codes, predicted = (arrays[name].astype(np.int32) for name in ("codes", "predicted"))
    classes = unpack_keys(arrays["classes"], arrays["ends"])
    return Scores(classes, codes, arrays["proba"], predicted, arrays["known"].astype(bool))
