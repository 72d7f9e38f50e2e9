"""From sums to log scores: derived once after the last change, then only read.

    log score of c = log P(c) + sum over columns of log P(x_j | c)

That is the log of the joint probability P(c, x) in the generative model (`ModelState.plain`). Class weights and offsets
change P(c), column weights, corrections and the evidence of missing values what a column adds; it stays a sum.
Columns are summed in the order of their families, strengths of smoothing and names, each row by itself, so a score
depends on the sums and the row and on nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from tallybayes import kernels
from tallybayes.arrays.chunks import SMALL, in_threads
from tallybayes.arrays.column import Column
from tallybayes.arrays.memory_budget import check_budget
from tallybayes.arrays.special import logsumexp
from tallybayes.errors import Described, ParameterError
from tallybayes.families.family import Family, Floats, Predictive, RowScore, Score, Smoothing
from tallybayes.scoring.missing_evidence import MissingEvidence
from tallybayes.scoring.prior_rows import with_prior_rows
from tallybayes.scoring.weighted_predictive import corrected_parts, remove_weights, with_column_weights
from tallybayes.state.model_state import ModelState
from tallybayes.state.prior_values import Dirichlet
from tallybayes.state.settings import Settings
from tallybayes.state.statistics import SufficientStatistics
from tallybayes.tally import Tally

__all__ = ["Block", "Columns", "Finish", "Scorer", "add_up", "log_class_prior", "score_column", "work_out"]

K = TypeVar("K")
Columns = Mapping[str, Column]
Finish = Callable[[Floats, int, int], int]  # changes rows start to stop of (rows, classes) in place; returns a number

_CHUNK = 16384  # rows scored at a time: their scores stay in the cache while column after column is added
_FEW_CLASSES = 32  # classes whose prior is repeated for a chunk of rows


@dataclass(frozen=True, eq=False)
class Block:
    """Columns that are derived together: their family, sums and strength of smoothing."""

    family: Family
    tally: Tally
    smoothing: Smoothing

    def prior(self) -> Any:
        """The prior, None for maximum likelihood."""
        return None if self.smoothing == 0 else self.family.prior(self.tally, self.smoothing)


@dataclass(frozen=True, eq=False)
class Scorer:
    """Everything scoring needs: the class prior and the predictive of every block of columns."""

    classes: Sequence[Any]
    log_prior: Floats
    predictives: tuple[Predictive, ...]
    blocks: tuple[Block, ...] = ()  # what the predictives are derived from
    log_shares: Floats | None = None  # the class prior before offsets, where there are any
    missing: MissingEvidence | None = None  # of the columns whose missing values are evidence

    @classmethod
    def of(cls, state: ModelState) -> Scorer:
        """The scorer of a model's state."""
        if state.given is not None:
            return cls(state.given.classes, state.given.log_prior, (state.given.tables,))
        total = state.statistics.aligned(state.statistics.in_use())
        if not total.labels:
            return cls((), np.zeros(0), ())
        return cls._derived(state, total, tuple(total.labels), cls.blocks_of(state, total))

    @classmethod
    def _derived(
        cls, state: ModelState, total: SufficientStatistics, labels: Sequence[Any], blocks: tuple[Block, ...]
    ) -> Scorer:
        settings = state.settings
        shares = _log_class_prior(labels, total.class_rows.floats(), settings)
        predictives = tuple(block.family.derive(block.tally, block.smoothing) for block in blocks)
        if settings.column_weights is not None or settings.token_corrections is not None:
            corrections = {} if settings.token_corrections is None else settings.token_corrections.of(labels)
            predictives = tuple(
                with_column_weights(predictive, settings.column_weights, labels, shares, corrections)
                for predictive in predictives
            )
        missing = _missing_evidence(total, state, shares)
        return cls(labels, _shift_prior(shares, labels, settings), predictives, blocks, shares, missing)

    def renew(self, state: ModelState) -> Scorer:
        """The scorer of the same state after rows of its labels were added to its sums in place."""
        return (
            Scorer._derived(state, state.statistics, self.classes, self.blocks)
            if self._follows(state)
            else Scorer.of(state)
        )

    def _follows(self, state: ModelState) -> bool:
        """Whether the blocks are the sums of a state: sums of a part of its columns or classes are copies."""
        blocks = {id(tally) for tally in state.statistics.blocks.values()}
        return len(self.classes) == len(state.statistics.labels) and all(
            id(block.tally) in blocks for block in self.blocks
        )

    def renew_prior(self, state: ModelState) -> Floats:
        """Log P(c) of such a state."""
        return log_class_prior(self.classes, state.statistics.class_rows.floats(), state.settings)

    def row_scores(self, state: ModelState, values: Sequence[Floats]) -> list[RowScore]:
        """What scores single rows of such a state, block by block; empty if something needs all of the scorer."""
        settings = state.settings
        if self.missing is not None or settings.column_weights is not None or settings.token_corrections is not None:
            return []
        if not self._follows(state):
            return []
        blocks = zip(self.blocks, values, strict=True)
        scores = [block.family.row_score(block.tally, block.smoothing, predictive) for block, predictive in blocks]
        return [score for score in scores if score is not None] if None not in scores else []

    @staticmethod
    def blocks_of(state: ModelState, total: SufficientStatistics) -> tuple[Block, ...]:
        """The columns of a state that are derived together; total: its sums over the labels in use."""
        families, blocks = state.families, list[Block]()
        for counted, tally in total.blocks.items():
            filled = _drop_empty_columns(tally, families if counted.predicts_without_values else ())
            family_of = {name: families.get(name, counted) for name in filled.features}
            for family, part in _group_columns(filled, family_of):
                smoothing_of = {name: state.settings.smoothing_of(name) for name in part.features}
                for k, columns in _group_columns(part, smoothing_of):
                    used = _drop_empty_columns(columns, ()) if k == 0 else columns  # 0/0 contributes nothing
                    blocks += [Block(family, used, k)] if used.features else []
        return tuple(_with_priors(blocks, state, total.labels) if state.settings.column_priors else blocks)

    def by_column(self, *, weighted: bool) -> dict[str, Predictive]:
        """The predictive of every column by name, with or without its weight."""
        return {
            name: (predictive if weighted else remove_weights(predictive)).part(number)
            for predictive in self.predictives
            for number, name in enumerate(predictive.features)
        }

    def corrections(self, columns: Columns) -> dict[str, Floats]:
        """What corrections of tokens add to the scores of columns before their weights: (rows, classes) by name."""
        result = {}
        for predictive in self.predictives:
            for name, (corrected, plain) in corrected_parts(predictive).items():
                with np.errstate(invalid="ignore"):
                    difference = score_column(corrected, columns[name]) - score_column(plain, columns[name])
                result[name] = np.where(np.isfinite(difference), difference, 0.0)
        return result

    @property
    def lexicons(self) -> dict[str, Any]:
        """The lexicons of the columns of text."""
        return {
            name: lexicon
            for predictive in self.predictives
            for name in predictive.features
            if (lexicon := predictive.lexicon(name)) is not None
        }

    def log_score(self, columns: Columns, n_rows: int) -> Floats:
        """The log score of every row, (rows, classes)."""
        return self.score_and_finish(columns, n_rows)[0]

    def without_prior(self) -> Scorer:
        """The scorer of the columns alone."""
        return replace(self, log_prior=np.zeros_like(self.log_prior))

    def score_and_finish(self, columns: Columns, n_rows: int, finish: Finish | None = None) -> tuple[Floats, int]:
        """The log score after `finish` has changed it in place, and the sum of what that returned; see `add_up`."""
        scores = [p.bind([columns[name] for name in p.features]) for p in self.predictives]
        if self.missing is not None:
            scores.append(self.missing.bind(columns))
        return add_up(self.start, scores, n_rows, finish)

    @property
    def start(self) -> Floats:
        """What every row has before its columns are added, (classes,)."""
        return self.log_prior if self.missing is None else self.log_prior + self.missing.if_all_present

    def evidence(self, columns: Columns, n_rows: int) -> dict[str, Floats]:
        """What every column adds to the log score: (rows, classes) by name."""
        result = self.column_evidence(columns)
        for name, part in self.missing.evidence(columns).items() if self.missing is not None else ():
            result[name] = result[name] + part if name in result else part
        return result

    def column_evidence(self, columns: Columns) -> dict[str, Floats]:
        """The same without the evidence of missing values."""
        return {
            name: score_column(predictive.part(j), columns[name])
            for predictive in self.predictives
            for j, name in enumerate(predictive.features)
        }


def add_up(log_prior: Floats, scores: Sequence[Score], n_rows: int, finish: Finish | None = None) -> tuple[Floats, int]:
    """The class prior and the scores of rows added up, (rows, classes), in chunks by threads.

    log_prior: (classes,), or one for every row, (rows, classes). finish: what to do with each chunk while it is in the
    cache, such as normalising it (`Posterior.write_proba`); the numbers it returns are added up.
    """
    n_classes = log_prior.shape[-1]
    check_budget(n_rows, n_classes)
    out = np.empty((n_rows, n_classes))
    if not n_classes:
        return out, 0
    size = min(_CHUNK, max(SMALL, -(-n_rows // 16)))  # enough chunks to keep all threads busy to the end
    repeated = log_prior.ndim == 1 and n_classes <= _FEW_CLASSES and n_rows > SMALL
    prior = np.tile(log_prior, (size, 1)) if repeated else log_prior  # repeating few numbers in every chunk takes long

    def chunk(start: int, stop: int) -> int:
        out[start:stop] = prior[: stop - start] if repeated else prior[start:stop] if prior.ndim == 2 else prior
        for score in scores:
            score(out, start, stop)
        return 0 if finish is None else finish(out, start, stop)

    return out, sum(in_threads(chunk, n_rows, size=size))


def _group_columns(tally: Tally, keys: Mapping[str, K]) -> list[tuple[K, Tally]]:
    """The columns of a tally by keys that some of them share, such as their families, in the order of the keys."""
    first = next(iter(keys.values()), None)
    if first is not None and all(key is first for key in keys.values()):  # comparing families takes long
        return [(first, tally)]
    groups = sorted(set(keys.values()), key=str)
    if len(groups) == 1:
        return [(groups[0], tally)]
    return [(key, tally.only(tuple(name for name in keys if keys[name] == key))) for key in groups]


def _with_priors(blocks: list[Block], state: ModelState, labels: Sequence[Any]) -> list[Block]:
    """The blocks, and those of columns with a given prior each by itself, with the rows that the prior stands for."""
    names = [name for name in state.settings.column_priors or () if name in state.families]
    result, tally_of = list[Block](), dict[str, Tally]()
    for block in blocks:
        tally_of |= {name: block.tally.only((name,)) for name in names if name in block.tally.features}
        rest = tuple(name for name in block.tally.features if name not in names)
        if rest:
            result.append(block if rest == block.tally.features else replace(block, tally=block.tally.only(rest)))
    for name in names:
        prior = state.settings.prior_of(name)
        assert prior is not None
        tally = with_prior_rows(tally_of.get(name), name, state, labels)
        if name in tally_of or not prior.values or tally.rows_seen().nonzero().any():
            result.append(Block(prior.of_family(state.families[name]), tally, state.settings.smoothing_of(name)))
    return sorted(result, key=lambda block: (str(block.family), str(block.smoothing), block.tally.features))


def _missing_evidence(total: SufficientStatistics, state: ModelState, log_shares: Floats) -> MissingEvidence | None:
    """The evidence of missing values of the columns of the table, with its weights."""
    names = state.settings.missing_columns(state.families)
    known_otherwise = state.schema.derived.keys() | state.schema.divided if names else ()
    names = [name for name in names if name not in known_otherwise]
    evidence = MissingEvidence.of(total, names) if names else None
    weights = state.settings.column_weights
    if evidence is None or weights is None:
        return evidence
    return evidence.weighted(weights.missing_table(evidence.names, total.labels), log_shares)


def _drop_empty_columns(tally: Tally, kept: Container[str]) -> Tally:
    """The columns that have values, and those to be kept: others contribute nothing."""
    if tally.is_full():
        return tally
    there = np.asarray(tally.rows_seen().nonzero().any(axis=1))
    there |= [name in kept for name in tally.features]
    if there.all():
        return tally
    return tally.only(tuple(name for name, here in zip(tally.features, there, strict=True) if here))


def work_out(score: Score, n_rows: int, n_classes: int) -> Floats:
    """What a score adds to rows, (rows, classes)."""
    score(out := np.zeros((n_rows, n_classes)), 0, n_rows)
    return out


def score_column(predictive: Predictive, column: Column) -> Floats:
    """What a column adds to the log score, (rows, classes); predictive: of this column alone."""
    return work_out(predictive.bind([column]), len(column), predictive.n_classes)


def log_class_prior(classes: Sequence[Any], counts: Floats, settings: Settings) -> Floats:
    """Log P(c): given, uniform, or (N_c + k_c) / (N + sum of k_c); moved by offsets and class weights, if any.

    Weights of classes are factors of the prior, not of the counts: a weight of the rows of a class would change nothing
    else but the smoothing, and the counts stay those of the data.
    """
    return _shift_prior(_log_class_prior(classes, counts, settings), classes, settings)


def _shift_prior(log_prior: Floats, classes: Sequence[Any], settings: Settings) -> Floats:
    """A class prior moved by offsets and class weights."""
    weights, moved = settings.column_weights, log_prior
    if weights is not None and weights.offsets and not (weights.fitted_on and settings.has_class_prior):
        moved = moved + weights.log_offsets(classes)  # fitted offsets correct class frequencies, not a given prior
    if settings.class_weight == "balanced":
        moved = moved - np.where(np.isneginf(log_prior), 0.0, log_prior)
    elif settings.class_weight is not None:
        moved = moved + np.log([settings.class_weight.get(label, 1.0) for label in classes])
    return log_prior if moved is log_prior else np.asarray(moved - logsumexp(moved))


def _log_class_prior(classes: Sequence[Any], counts: Floats, settings: Settings) -> Floats:
    if isinstance(settings.class_prior, Mapping) and len(classes):
        lacking = [label for label in classes if label not in settings.class_prior]
        if lacking:
            raise ParameterError("a prior probability for every label", got=Described(f"none for {lacking[0]!r}"))
        probabilities = np.array([settings.class_prior[label] for label in classes], np.float64)
        if not probabilities.any():  # only labels that were said to be impossible have come: nothing is known of them
            probabilities = np.ones(len(classes))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(probabilities) - np.log(probabilities.sum()))
    is_flat = math.isinf(settings.class_smoothing) and settings.class_prior == "empirical"
    if not classes or settings.class_prior == "uniform" or is_flat:
        return np.full(len(classes), -np.log(max(len(classes), 1)))
    if isinstance(settings.class_prior, Dirichlet):
        pseudo_counts = settings.class_pseudo_counts(classes)
        return np.asarray(np.log(counts + pseudo_counts) - np.log((counts + pseudo_counts).sum()))
    log_prior: Floats = kernels.active.log_shares(counts, settings.class_smoothing)
    return log_prior
