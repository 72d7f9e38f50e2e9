"""That a value is missing as evidence: log P(missing | c) where it is, log P(present | c) where it is not.

The rows of a class without a value in a column are its rows minus those that the column has counted, so the sums know
them already. Each column is a boolean, "missing or not", whose probabilities are shrunk by evidence like those of any
boolean (`families/discrete/bernoulli.py`), with a weight of its own. Rows with all values are scored at no cost: what
presence adds is the same for all of them, and only missing cells are corrected.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import kernels
from tallybayes.arrays.array_types import Booleans
from tallybayes.arrays.column import Bag, Codes, Column, Derived, Flags
from tallybayes.families import Bernoulli
from tallybayes.families.discrete.bernoulli import BernoulliPredictive
from tallybayes.families.family import Codes32, Floats, Score
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.tally import Exact, Sums

__all__ = ["MissingEvidence", "columns_with_gaps", "is_missing"]


def columns_with_gaps(statistics: SufficientStatistics, among: Collection[str]) -> list[str]:
    """The columns that some rows have no value in, in the order of their names; of those in `among`."""
    return sorted(name for name in _gaps(statistics, among))


@dataclass(frozen=True, eq=False)
class MissingEvidence:
    """What missing and present values of some columns add to the scores, (columns, classes) each."""

    names: tuple[str, ...]
    log_present: Floats
    log_missing: Floats
    tally: Sums  # rows with and without a value

    @classmethod
    def of(cls, statistics: SufficientStatistics, names: Collection[str]) -> MissingEvidence | None:
        """Of some columns of the sums of a model, in the order of their names; None if there are none."""
        gaps = _gaps(statistics, names, always=True)
        if not gaps:
            return None
        ordered = tuple(sorted(gaps))
        seen = Exact.concatenate([gaps[name][None] for name in ordered])
        absent = statistics.class_rows[None] - seen
        tally = Sums(ordered, {"no": seen, "yes": absent}, counts=("no", "yes"))
        predictive = Bernoulli().derive(tally, "auto")
        assert isinstance(predictive, BernoulliPredictive)
        return cls(tally.features, predictive.log_no, predictive.log_yes, tally)

    def weighted(self, weights: Floats, log_prior: Floats) -> MissingEvidence:
        """With weights, (columns, classes)."""
        plain = Bernoulli().derive(self.tally, "auto").weighted(weights, log_prior)
        assert isinstance(plain, BernoulliPredictive)
        return replace(self, log_present=plain.log_no, log_missing=plain.log_yes)

    @property
    def if_all_present(self) -> Floats:
        """What a row without missing values gets, (classes,)."""
        return np.asarray(self.log_present.sum(axis=0))

    def bind(self, columns: Mapping[str, Column]) -> Score:
        """Prepare to score columns: add to rows with missing values what they differ by from rows without."""
        return self._bind_gaps([is_missing(columns[name]) for name in self.names])

    def bind_matrix(self, values: Floats, places: Sequence[int]) -> Score:
        """The same for a matrix that is filled later; places: the columns of the matrix. Missing is NaN."""

        def score(out: Floats, start: int, stop: int) -> None:
            gaps = np.isnan(values[start:stop, places])
            if gaps.any():
                self._bind_gaps(list(gaps.T))(out[start:stop], 0, stop - start)

        return score

    def _bind_gaps(self, gaps: Sequence[Booleans]) -> Score:
        used = [j for j, gap in enumerate(gaps) if gap.any()]
        lines = np.ascontiguousarray((self.log_missing - self.log_present)[used])
        codes = [gaps[j].view(np.int8) - np.int8(1) for j in used]  # 0 where missing, -1 elsewhere
        origins, ends = np.zeros(len(used), np.int64), np.arange(len(used) + 1)

        def score(out: Floats, start: int, stop: int) -> None:
            if codes:
                kernels.active.add_codes(codes, origins, ends, lines, out, start, stop)

        return score

    def evidence(self, columns: Mapping[str, Column]) -> dict[str, Floats]:
        """What each column adds, (rows, classes) by name."""
        return {name: self.evidence_of(name, columns[name]) for name in self.names}

    def evidence_of(self, name: str, column: Column) -> Floats:
        """What one column adds, (rows, classes)."""
        j = self.names.index(name)
        return np.asarray(np.where(is_missing(column)[:, None], self.log_missing[j], self.log_present[j]))

    def leave_one_out(
        self, columns: Mapping[str, Column], codes: Codes32, weights: NDArray[np.float64] | None
    ) -> dict[str, Score]:
        """What each column adds, each row by the sums without it; without column weights."""
        family, flags = Bernoulli(), [Flags(is_missing(columns[name])) for name in self.names]
        scores = family.leave_one_out(self.tally, family.prior(self.tally, "auto"), flags, codes, weights)
        return dict(zip(self.names, scores, strict=True))


def is_missing(column: Column) -> Booleans:
    """Which rows of a column have no value."""
    if isinstance(column, Bag):
        present = column.present if column.rows is None else column.rows >= 0
        return np.zeros(len(column), bool) if present is None else ~present
    if isinstance(column, Derived):
        return column.is_missing()
    if isinstance(column, Codes):
        codes = column.codes
        return np.asarray((codes < column.origin) | (codes >= column.origin + len(column.keys)))
    values: NDArray[Any] = column.values
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    return np.asarray(values == -1) if values.dtype.kind == "i" else np.zeros(len(values), bool)


def _gaps(statistics: SufficientStatistics, among: Collection[str], *, always: bool = False) -> dict[str, Exact]:
    """Rows per class that columns have counted; of columns without gaps only if `always`, without values never."""
    result, among_names = {}, set(among)
    for tally in statistics.blocks.values():
        seen = tally.rows_seen()
        there = np.asarray(seen.nonzero().any(axis=1))
        lacking = np.asarray((statistics.class_rows[None] - seen).nonzero().any(axis=1))
        for j, name in enumerate(tally.features):
            if name in among_names and there[j] and (always or lacking[j]):
                result[name] = seen[j]
    return result
