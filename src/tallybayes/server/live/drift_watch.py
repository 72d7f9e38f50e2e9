"""Warnings that a stream of rows has changed: two tests, each made once for every 200 rows that come in.

    log loss      the mean log loss of a block is larger than that of the rows before it (up to 10,000): a one-sided
                  randomisation test, the share of 4,999 random samples of all these rows whose mean is as large
    class shares  the labels of a block have other shares than those of the rows before it: the chi-square test of
                  homogeneity; classes with an expected count below 5 are taken together

A test warns if its p-value is below 1 in 1,000. In a stream that does not change, each of the two gives one false alarm
in about 1,000 blocks (200,000 rows). Sampling makes the first test independent of the distribution of the losses, which
has a long tail. A test of ranks would not do: while a model learns, the losses of equal rows change a little, all in
one direction. A warning lasts until a block passes the test again. Blocks do not overlap, so that looking more often
does not raise more alarms. An improving model is not a warning. Blocks of class shares end with an event, and may be
longer than 200 rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Floats

__all__ = ["ALPHA", "BLOCK", "DriftWatch", "larger_losses", "other_shares"]

BLOCK = 200  # rows that are tested at once: enough for both approximations
ALPHA = 0.001  # the rate of false alarms of each test
_BEFORE = 10_000  # rows that a block is compared with, at most
_LEAST_EXPECTED = 5.0
_SAMPLES = 4_999
_CLEARLY_NOT = 2.0  # standard errors: a mean below this is no warning, and need not be compared with samples


def larger_losses(block: Floats, before: Floats, seed: int = 0) -> float:
    """The p-value of the hypothesis that the mean loss of a block is not larger than that of the rows before.

    >>> larger_losses(np.full(50, 2.0), np.linspace(0, 1, 100))
    0.0002
    """
    above = float(block.mean() - before.mean())
    if above <= _CLEARLY_NOT * float(before.std()) / float(np.sqrt(len(block))):
        return 1.0
    both = np.concatenate([block, before])
    samples = both[np.random.default_rng(seed).integers(0, len(both), (_SAMPLES, len(block)))]
    return float(1 + np.count_nonzero(samples.mean(axis=1) >= block.mean())) / (_SAMPLES + 1)


def other_shares(block: Mapping[str, int], before: Mapping[str, int]) -> float:
    """The p-value of the hypothesis that two counts of labels have the same shares.

    >>> other_shares({"a": 90, "b": 10}, {"a": 500, "b": 500}) < 1e-9
    True
    """
    from scipy.special import chdtrc

    names = sorted({*block, *before})
    table = np.array([[counts.get(name, 0) for name in names] for counts in (block, before)], float)
    expected = table.sum(axis=0) * table[0].sum() / table.sum()
    rare = expected < _LEAST_EXPECTED
    if rare.any():
        table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
        expected = table.sum(axis=0) * table[0].sum() / table.sum()
        if expected[-1] < _LEAST_EXPECTED:
            table = table[:, :-1]
    if table.shape[1] < 2 or not table.sum(axis=1).all():
        return 1.0
    fitted = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(chdtrc(table.shape[1] - 1, float(((table - fitted) ** 2 / fitted).sum())))


class DriftWatch:
    """The tests along a stream; `warnings` are those that hold now."""

    def __init__(self) -> None:
        self.warnings: dict[str, dict[str, Any]] = {}  # for JSON: what changed, since which event, and a text
        self._losses: Floats = np.zeros(0)  # before the block
        self._block: list[Floats] = []  # the losses of the block that is not full yet
        self._n_open = 0  # how many these are
        self._labels: list[Counter[str]] = []  # blocks before
        self._open: Counter[str] = Counter()  # the block that is not full yet

    def add(self, event: int, losses: Floats, labels: Mapping[str, int]) -> None:
        """Add the losses and the labels of an event, and test each block that becomes full."""
        start = 0
        while start < len(losses):
            part = losses[start : start + BLOCK - self._n_open]
            self._block.append(part)
            self._n_open += len(part)
            start += len(part)
            if self._n_open == BLOCK:
                self._test_losses(event)
        for name, n in labels.items():
            self._open[name] += n
        if self._open.total() >= BLOCK:
            self._test_shares(event)
            self._labels, self._open = [*self._labels, self._open], Counter()
            while sum(part.total() for part in self._labels[1:]) >= _BEFORE:
                del self._labels[0]

    def recent_labels(self, n_rows: int) -> dict[str, int]:
        """The labels of the last rows: at least so many, if there are."""
        counts = Counter[str]()
        for part in (self._open, *reversed(self._labels)):
            if counts.total() >= n_rows:
                break
            counts.update(part)
        return counts

    def state(self) -> dict[str, Any]:
        """What is stored with a snapshot; the losses are in the log."""
        return {
            "warnings": list(self.warnings.values()),
            "n_open": self._n_open,
            "labels": [dict(part) for part in self._labels],
            "open": dict(self._open),
        }

    def restore(self, state: Mapping[str, Any], losses: Floats) -> None:
        """Continue from a state, with the last losses."""
        self.warnings = {warning["what"]: warning for warning in state["warnings"]}
        self._n_open = min(int(state["n_open"]), len(losses))
        start = len(losses) - self._n_open
        self._block, self._losses = [losses[start:]], losses[:start][-_BEFORE:]
        self._labels, self._open = [Counter(part) for part in state["labels"]], Counter(state["open"])

    def _test_losses(self, event: int) -> None:
        block, before = np.concatenate(self._block), self._losses
        self._losses = np.concatenate([before, block])[-_BEFORE:]
        self._block, self._n_open = [], 0
        if len(before) < BLOCK:
            return
        if larger_losses(block, before, event) >= ALPHA:
            self.warnings.pop("log loss", None)
            return
        means = f"{block.mean():.3g} over the last {BLOCK} rows, {before.mean():.3g} over {len(before):,} rows before"
        self._warn("log loss", event, f"the log loss has risen: {means}")

    def _test_shares(self, event: int) -> None:
        before = sum(self._labels, Counter[str]())
        if before.total() < BLOCK:
            return
        if other_shares(self._open, before) >= ALPHA:
            self.warnings.pop("class shares", None)
            return
        names = {*before, *self._open}
        new, old = ({name: part[name] / part.total() for name in names} for part in (self._open, before))
        most = max(sorted(new), key=lambda name: (round(abs(new[name] - old[name]), 9), new[name]))
        shares = f"{new[most]:.0%} of the last rows, {old[most]:.0%} of those before"
        self._warn("class shares", event, f"the labels have other shares: {most} is {shares}")

    def _warn(self, what: str, event: int, text: str) -> None:
        """Begin a warning; one that holds already goes on."""
        self.warnings.setdefault(what, {"what": what, "since": event, "text": text})
