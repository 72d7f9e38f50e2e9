"""From log scores to log P(class | row), and to an answer.

The one place that normalises, that defines what happens to a row which every class rules out (it gets the class
prior), that calibrates and that applies the decision rule. All of it happens in log space: a probability that
underflows is never the input of a later step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.axis import to_array
from tallybayes.arrays.chunks import SMALL, in_threads
from tallybayes.arrays.special import logsumexp
from tallybayes.errors import warn
from tallybayes.families.family import Floats
from tallybayes.state.calibration import Calibration
from tallybayes.state.decision import Decision

__all__ = [
    "Posterior",
    "RowPrior",
    "RuledOutWarning",
    "answer_codes",
    "answers",
    "log_marginal",
    "normalise_log_scores",
    "warn_ruled_out",
]

RowPrior = Callable[[NDArray[np.int64]], Floats]  # log P(class) of some rows, by their numbers: (rows, classes)

_CHUNK = 16384  # rows at a time, so that their probabilities stay in the cache
_FEW_CLASSES = 8  # up to so many classes, going class by class is faster than row by row


class RuledOutWarning(UserWarning):
    """Some rows have probability zero under every class; they are given the class prior."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """The classes, log P(class) for rows that every class rules out, the calibration and the decision rule.

    >>> posterior = Posterior(["a", "b"], np.log([0.5, 0.5]), decision=Decision(positive="b", threshold=0.1))
    >>> proba = np.exp(posterior.log_proba(np.array([[-1.2, -2.3], [-np.inf, -np.inf]])))
    >>> proba.round(2).tolist(), posterior.answer_codes(proba).tolist()
    ([[0.75, 0.25], [0.5, 0.5]], [1, 1])
    """

    classes: Sequence[Any]
    log_prior: Floats
    calibration: Calibration | None = None
    decision: Decision | None = None

    def uncalibrated(self) -> Posterior:
        """The same without the calibration."""
        return replace(self, calibration=None)

    def log_proba(self, log_score: Floats) -> Floats:
        """Log P(class | row), calibrated if there is a calibration, (rows, classes)."""
        out = np.array(log_score, np.float64, order="C")
        self.write_log_proba(out, 0, len(out))
        return out

    def write_log_proba(self, out: Floats, start: int, stop: int, row_prior: RowPrior | None = None) -> int:
        """Turn log scores into log P(class | row) in place; the number of rows that every class rules out.

        row_prior: the class prior of such rows, where it differs from row to row.
        """
        n_ruled_out = int(kernels.active.log_softmax(out, start, stop))
        if n_ruled_out:
            rows = np.flatnonzero(np.isneginf(out[start:stop]).all(axis=1)) + start
            out[rows] = self.log_prior if row_prior is None else row_prior(rows)
        if self.calibration is not None:
            out[start:stop] = self.calibration.apply(out[start:stop], self.classes)
        return n_ruled_out

    def write_proba(self, out: Floats, start: int, stop: int) -> int:
        """Turn log scores into P(class | row) in place; the number of rows that every class rules out."""
        if self.calibration is not None:
            n_ruled_out = self.write_log_proba(out, start, stop)
            np.exp(out[start:stop], out=out[start:stop])
            return n_ruled_out
        n_ruled_out = int(kernels.active.softmax(out, start, stop))
        if n_ruled_out:
            out[np.flatnonzero(np.isneginf(out[start:stop]).all(axis=1)) + start] = np.exp(self.log_prior)
        return n_ruled_out

    def answer_codes(self, proba: Floats) -> NDArray[np.int64]:
        """The code of the answer for P(class | row), (rows, classes); -1 where the decision rule abstains."""
        return answer_codes(proba, self.classes, self.decision)

    def most_probable_codes(self, log_score: Floats) -> NDArray[np.int64]:
        """The code of the most probable class for log scores, whatever the decision rule."""
        best = _most_probable(log_score)
        if log_score.min(initial=0.0) == -np.inf:
            best[np.isneginf(log_score).all(axis=1)] = self.log_prior.argmax()
        return best


def answer_codes(proba: Floats, classes: Sequence[Any], decision: Decision | None) -> NDArray[np.int64]:
    """The code of the answer for P(class | row), (rows, classes); -1 where the decision rule abstains."""
    if decision is not None:
        return decision.answer_codes(proba, classes)
    return _most_probable(proba) if proba.shape[1] else np.full(len(proba), -1, np.int64)


def answers(proba: Floats, classes: Sequence[Any], decision: Decision | None) -> NDArray[Any]:
    """The answers as labels, None where the decision rule abstains."""
    codes, labels = answer_codes(proba, classes, decision), np.asarray(to_array(list(classes)))
    if (codes >= 0).all():
        return np.asarray(labels[codes])
    return np.array([None if code < 0 else labels[code] for code in codes.tolist()], object)


def log_marginal(log_joint: Floats) -> Floats:
    """Log p(row) from log P(class, row), (rows, classes)."""
    if log_joint.shape[1] == 0:
        return np.full(len(log_joint), -np.inf)
    with np.errstate(divide="ignore"):
        return np.asarray(logsumexp(log_joint, axis=1))


def normalise_log_scores(log_score: Floats) -> Floats:
    """Log P(class | row) from log scores, (rows, classes); -inf throughout where every class is ruled out."""
    out = np.array(log_score, np.float64, order="C")
    kernels.active.log_softmax(out, 0, len(out))
    return out


def warn_ruled_out(n_ruled_out: int, n_rows: int) -> None:
    """Warn about rows that every class rules out, if there are any."""
    if n_ruled_out:
        text = f"{n_ruled_out} of {n_rows} rows have probability zero under every class and are given the class prior; "
        text += "their log_marginal is -inf. Smoothing above 0 avoids this"
        warn(text, category=RuledOutWarning)


def _most_probable(proba: Floats) -> NDArray[np.int64]:
    """The class with the greatest probability of every row; ties go to the first class."""
    if len(proba) <= SMALL or proba.shape[1] > _FEW_CLASSES:
        return np.asarray(proba.argmax(axis=1), np.int64)
    best = np.zeros(len(proba), np.int64)

    def chunk(start: int, stop: int) -> None:
        part = proba[start:stop]
        top = part[:, 0].copy()
        for c in range(1, part.shape[1]):
            better = part[:, c] > top
            best[start:stop][better] = c
            np.maximum(top, part[:, c], out=top)

    in_threads(chunk, len(proba), size=_CHUNK)
    return best
