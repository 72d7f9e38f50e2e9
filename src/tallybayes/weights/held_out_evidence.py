"""The evidence of every column for rows that a model has learned, each by the model without the row's fold.

A model is a sum, so the model without some rows is the model minus these rows. The rows of a sample are divided into
folds; the sums of a fold are subtracted from the total, everything is derived anew from what is left, with every choice
that depends on the data (strengths by evidence, buckets of histograms), and the rows of the fold are scored. So the
evidence is that of new rows, except that the variant of a text is kept.

Of large groups of rows only some are in the sample, and the others would stay in the total: then the sums are those of
the sample alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.array_types import Codes32, Floats
from tallybayes.arrays.axis import positions
from tallybayes.arrays.column import Column
from tallybayes.columns.batch import Batch, encode_columns
from tallybayes.columns.label import Labels
from tallybayes.doubts import collect_doubts
from tallybayes.kernels.integer_hash import hash_integers
from tallybayes.scoring.missing_evidence import columns_with_gaps
from tallybayes.scoring.scorer import Scorer, log_class_prior
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_hash import column_hashes
from tallybayes.state.row_sample import SampledRows
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.weights.weight_fit import greatest

__all__ = ["FAR", "DividedRows", "HeldOutEvidence", "held_out_evidence"]

_LEAST_FOLDS = 2  # folds at least
_PART = 0.2  # of the rows of a class that a fold may have: five folds, or fewer of a sample
_SMALL_PART = 0.05  # the same for texts with a rare class: scores without a fifth of its rows have another level
_RARE = 4  # a class is rare if its rows were sampled that many times as often as all rows
_MANY_COLUMNS = 2000  # deriving them takes seconds
_MOST_ENTRIES = 2**23  # (column, row, class) in memory, 64 MB
_LEAST_ROWS = 300
FAR = 100.0  # nats: replaces an infinite difference between classes


@dataclass(frozen=True, eq=False)
class HeldOutEvidence:
    """Log P(value | class) of the columns in `names`, (columns, rows, classes), and the log prior, (rows, classes).

    The prior is that of all rows of the state, which are counted exactly. Of rare classes more rows are sampled: the
    weights give each class the share that it has in the state.
    If the columns are too many to keep apart, there is one line with their sum (`is_sum`).
    missing: log P(missing or not | class) of the columns in `gaps`; columns: the values of the rows.
    """

    names: tuple[str, ...]
    evidence: Floats
    gaps: tuple[str, ...]
    missing: Floats
    log_prior: Floats
    codes: Codes32
    weights: Floats
    columns: Mapping[str, Column]
    rows: DividedRows
    is_sum: bool = False
    class_factors: Floats | None = None  # by which the weights of the classes were multiplied


def held_out_evidence(state: ModelState, rows: SampledRows) -> HeldOutEvidence:
    """The held-out evidence of sampled rows of a state, as if it had no column weights and no given class prior."""
    names, classes = tuple(sorted(state.schema.families)), state.classes
    gaps = tuple(_gaps(state))
    size = max((len(names) + len(gaps)) * len(classes), 1)
    rows = rows.select(max(_LEAST_ROWS, _MOST_ENTRIES // size))
    in_all = state.class_rows
    sampled = np.bincount(positions(rows.labels, classes), rows.counts * rows.weights, minlength=len(classes))
    alone = state.schema.group is not None and sampled.sum() < in_all.sum() and rows.has_cut_groups
    share = 1.0 if alone else float((sampled / in_all).max())  # no class loses more with a fold
    has_text = any(family.has_arbitrary_scale for family in state.schema.families.values())
    is_rare = share > _RARE * float(sampled.sum() / in_all.sum())
    at_most = _SMALL_PART if has_text and is_rare else _PART
    n_folds = _LEAST_FOLDS if len(names) > _MANY_COLUMNS else max(_LEAST_FOLDS, math.ceil(round(share / at_most, 6)))
    rows = _in_order(state, rows)
    divided = _divide_rows(rows, classes, n_folds, alone=alone)
    while len(divided) * size > 2 * _MOST_ENTRIES and len(rows) > _LEAST_ROWS:
        rows = rows.first(max(_LEAST_ROWS, len(rows) // 2))  # copies of a row are lines of their own in each fold
        divided = _divide_rows(rows, classes, n_folds, alone=alone)
    n = len(divided)
    is_sum = n * size > 2 * _MOST_ENTRIES or len(names) >= n
    gaps = () if is_sum else gaps
    line_of = {name: 0 if is_sum else line for line, name in enumerate(names)}
    evidence = np.zeros((1 if is_sum else len(names), n, len(classes)))
    missing = np.zeros((len(gaps), n, len(classes)))
    log_prior, known = np.full((n, len(classes)), -FAR), np.zeros(n, bool)
    unfitted = _without_fits(state, gaps)
    shares = np.maximum(log_class_prior(classes, in_all, unfitted.settings), -FAR)
    columns, scorers = divided.scorers(unfitted)
    for lines, scorer in scorers:
        here = positions(list(scorer.classes), classes)
        place: Any = _piece(lines) if len(here) == len(classes) else np.ix_(lines, here)
        log_prior[np.ix_(lines, here)] = shares[here]
        known[lines] = np.isin(divided.codes[lines], here)  # a class without other rows cannot be predicted
        fold = {name: column.take(lines) for name, column in columns.items()}
        for name, part in scorer.column_evidence(fold).items():
            far = np.inf if state.schema.families[name].has_arbitrary_scale else FAR
            evidence[line_of[name]][place] += _bound_evidence(part, far)
        for name, part in scorer.missing.evidence(fold).items() if scorer.missing is not None else ():
            missing[gaps.index(name)][place] += part
    weights, codes = np.where(known, divided.weights, 0.0), divided.codes
    sampled = np.bincount(codes, weights, minlength=len(classes))
    factors = np.where(sampled > 0, in_all / np.where(sampled > 0, sampled, 1.0), 0.0) * (sampled.sum() / in_all.sum())
    facts = codes, weights * factors[codes], columns, divided, is_sum, factors
    return HeldOutEvidence(names, evidence, gaps, missing, log_prior, *facts)


@dataclass(frozen=True, eq=False)
class DividedRows:
    """Sampled rows divided into folds: a line for every row and fold that has copies of it."""

    rows: SampledRows
    classes: list[Any]
    n_folds: int
    row: NDArray[np.int64]  # of each line
    fold: NDArray[np.int64]
    copies: NDArray[np.int64]
    codes: Codes32  # of the class of each line
    alone: bool = False  # whether scores are by the sums of these rows alone, not of all rows of a state

    def __len__(self) -> int:
        return len(self.row)

    @property
    def weights(self) -> Floats:
        """The weight of each line."""
        return np.asarray(self.rows.weights[self.row] * self.copies)

    def scorers(self, state: ModelState) -> tuple[dict[str, Column], Iterator[tuple[NDArray[np.int64], Scorer]]]:
        """The columns of the lines, and of each fold its lines and the scorer of the state without it."""
        state = self._with_own_sums(state)
        is_limited = any(tally.is_limited for tally in state.statistics.blocks.values())
        learned = _columns_to_learn(state, self.rows, {} if is_limited else _lexicons(state))
        encoded = Snapshot(state).encode(self.rows.table) if is_limited else learned
        columns = {name: column.take(self.row) for name, column in encoded.items()}
        return columns, self._scorers(state, learned)

    def _scorers(self, state: ModelState, learned: dict[str, Column]) -> Iterator[tuple[NDArray[np.int64], Scorer]]:
        for number in range(self.n_folds):
            lines = np.flatnonzero(self.fold == number)
            if len(lines):
                yield lines, Scorer.of(self._without(state, learned, lines))

    def _without(self, state: ModelState, learned: dict[str, Column], lines: NDArray[np.int64]) -> ModelState:
        """The state without the rows of some lines, subtracted exactly."""
        batch = self._batch(learned, lines)
        return replace(state, statistics=state.statistics.without(batch, self.classes, state.schema))

    def _with_own_sums(self, state: ModelState) -> ModelState:
        """The state, or if the rows are to stand alone, with their sums."""
        if not self.alone:
            return state
        batch = self._batch(_columns_to_learn(state, self.rows, {}), np.arange(len(self)))
        statistics = SufficientStatistics.observe(batch, self.classes, self.classes, state.schema)
        return replace(state, statistics=state.with_beneath(statistics))

    def _batch(self, learned: dict[str, Column], lines: NDArray[np.int64]) -> Batch:
        """The rows of some lines.

        Copies are one row with a multiple of its weight, or several rows where that product would be rounded.
        """
        of_one_copy, copies = self.rows.weights[self.row[lines]], self.copies[lines]
        product = of_one_copy * copies
        is_exact = of_one_copy == 1
        for i in np.flatnonzero(~is_exact).tolist():
            is_exact[i] = Fraction(float(of_one_copy[i])) * int(copies[i]) == Fraction(float(product[i]))
        at = np.repeat(np.arange(len(lines)), np.where(is_exact, 1, copies))
        rows, codes, weights = self.row[lines][at], self.codes[lines][at], np.where(is_exact, product, of_one_copy)[at]
        columns = {name: column.take(rows) for name, column in learned.items()}
        labels = Labels(self.classes, codes, np.bincount(codes, minlength=len(self.classes)))
        return Batch(len(codes), columns, labels, None if (weights == 1).all() else weights)

    def evidence(self, state: ModelState) -> tuple[tuple[str, ...], Floats]:
        """The columns of another state of the same rows, and their evidence, (columns, lines, classes)."""
        names = tuple(sorted(state.schema.families))
        result = np.zeros((len(names), len(self), len(self.classes)))
        state = self._with_own_sums(_without_fits(state, ()))
        if (by_short_cut := self._by_short_cut(state)) is not None:
            for name, part in by_short_cut.items():
                result[names.index(name)] = _bound_evidence(part)
            return names, result
        columns, scorers = self.scorers(state)
        for lines, scorer in scorers:
            here = positions(list(scorer.classes), self.classes)
            fold = {name: column.take(lines) for name, column in columns.items()}
            for name, part in scorer.column_evidence(fold).items():
                result[names.index(name)][np.ix_(lines, here)] = _bound_evidence(part)
        return names, result

    def _by_short_cut(self, state: ModelState) -> dict[str, Floats] | None:
        """The evidence by name, if every family has a short cut and every class has rows outside of each fold."""
        n_classes = len(self.classes)
        by_class = np.bincount(self.fold * n_classes + self.codes, self.weights, minlength=self.n_folds * n_classes)
        total = state.statistics.aligned(self.classes)
        rest = total.class_rows.floats() - by_class.reshape(-1, n_classes)
        if (rest <= 0).any() or state.statistics.in_use() != self.classes:
            return None
        learned, copies = _columns_to_learn(state, self.rows, {}), None if (self.weights == 1).all() else self.weights
        result = dict[str, Floats]()
        for block in Scorer.blocks_of(state, total):
            columns = [learned[name].take(self.row) for name in block.tally.features]
            evidence = block.family.held_out(block.tally, block.smoothing, columns, self.codes, copies, self.fold)
            if evidence is None:
                return None
            result |= dict(zip(block.tally.features, evidence, strict=True))
        return result


def _gaps(state: ModelState) -> list[str]:
    """The columns whose missing values may be evidence."""
    switches: Any = state.settings.missing_as_value
    by_column = switches if isinstance(switches, Mapping) else dict.fromkeys(state.schema.families, switches)
    not_derived = state.schema.families.keys() - state.schema.derived.keys() - state.schema.divided
    wanted = [name for name in sorted(not_derived) if by_column.get(name, "auto") is not False]
    total = state.statistics.aligned(state.statistics.in_use())
    return columns_with_gaps(total, wanted) if wanted else []


def _without_fits(state: ModelState, gaps: Sequence[str]) -> ModelState:
    """The state as if nothing had been fitted after counting; missing values of some columns are evidence."""
    unfitted = replace(state.settings, column_weights=None, calibration=None, decision=None)
    switches: dict[str, Any] = {**dict.fromkeys(state.schema.families, False), **dict.fromkeys(gaps, True)}
    return replace(
        state, settings=unfitted.with_options(class_prior="empirical", class_weight=None, missing_as_value=switches)
    )


def _in_order(state: ModelState, rows: SampledRows) -> SampledRows:
    """The rows in an order that depends on their values alone, not on the names of columns and classes.

    Rows are sorted by hashes whose salts are hashes of the columns. Near-copied texts are one after the other.
    """
    result, times = np.zeros(len(rows), np.uint64), rows.counts.astype(np.uint64)
    for column in _columns_to_learn(state, rows, {}).values():
        hashes = column_hashes(column)
        result += hash_integers((hashes ^ hash_integers((hashes * times).sum()[None])).view(np.int64))
    letters, letter = np.unique(rows.signatures, return_inverse=True)
    least = np.full(len(letters), np.uint64(2**64 - 1))
    np.minimum.at(least, letter, result)
    return rows.take(np.lexsort((result, np.where(rows.signatures != rows.hashes, least[letter], result))))


def _divide_rows(rows: SampledRows, classes: list[Any], n_folds: int, *, alone: bool) -> DividedRows:
    """The copies of the rows dealt to the folds in turn, class by class in their order.

    Near-copied texts, whose signatures are equal, are in one fold with all their copies. Every other fold comes first,
    then the others: they are the two parts of a search for terms, each in one piece.
    """
    codes, counts = positions(rows.labels, classes).astype(np.int32), rows.counts
    is_text = rows.signatures != rows.hashes
    is_first = np.append(np.ones(min(len(codes), 1), bool), rows.signatures[1:] != rows.signatures[:-1])
    amounts = np.where(is_text, is_first, counts)  # a letter is dealt as one row of the class of its first copy
    by_class = np.argsort(codes, kind="stable")
    end = np.empty(len(codes), np.int64)
    end[by_class] = np.cumsum(amounts[by_class])
    end -= np.concatenate([[0], np.cumsum(amounts[by_class])])[np.searchsorted(codes[by_class], codes)]
    start, numbers = end - amounts, np.arange(n_folds)
    order = np.concatenate([numbers[::2], numbers[1::2]])
    copies = (end[:, None] - numbers + n_folds - 1) // n_folds - (start[:, None] - numbers + n_folds - 1) // n_folds
    first = np.flatnonzero(is_first)[np.cumsum(is_first) - 1]
    copies = np.where(is_text[:, None], copies[first] * counts[:, None], copies)
    number, row = np.nonzero(copies[:, order].T)  # fold after fold
    fold = order[number]
    return DividedRows(rows, classes, n_folds, row, fold, copies[row, fold], codes[row], alone)


def _lexicons(state: ModelState) -> dict[str, Any]:
    """The lexicons of the columns of text, which have every token of the rows that were learned."""
    tallies = {name: tally for tally in state.statistics.blocks.values() for name in tally.features}
    lexicons = {name: tally.lexicon(name) for name, tally in tallies.items()}
    return {name: lexicon for name, lexicon in lexicons.items() if lexicon is not None}


def _columns_to_learn(state: ModelState, rows: SampledRows, lexicons: Mapping[str, Any]) -> dict[str, Column]:
    """The columns encoded as when they were learned, when their cells were said; lexicons: if they have all tokens."""
    families, statistics = state.schema.families, state.statistics

    def key_of(name: str) -> Any:
        return statistics.any_key(families.get(name), name)

    with collect_doubts():
        return encode_columns(rows.table, state.schema, lexicons, key_of)


def _piece(rows: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """Rows in increasing order; a slice if they are in one piece, which is faster."""
    first, last = int(rows[0]), int(rows[-1])
    return slice(first, last + 1) if last - first + 1 == len(rows) else rows


def _bound_evidence(evidence: Floats, far: float = FAR) -> Floats:
    """Evidence relative to the most probable class of each row; an impossible class has -FAR, and no other has less.

    far: instead of FAR. Scores of an arbitrary scale have no bound: hundreds of n-grams differ by hundreds of nats.
    Weights near the smallest doubles can leave sums that are not numbers: these rows have no evidence.
    """
    top = greatest(evidence)
    if not np.isfinite(evidence).all():
        evidence = np.nan_to_num(evidence, nan=0.0, posinf=FAR, neginf=-np.inf)
        top = greatest(evidence)
        top = np.where(np.isinf(top), 0.0, top)
    result: Floats = evidence - top[:, None]
    if np.isinf(far):
        far = max(FAR, -float(result.min(where=np.isfinite(result), initial=0.0)))
    np.maximum(result, -far, out=result)
    return result
