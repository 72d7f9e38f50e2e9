"""The smoothing selected by other criteria than leave-one-out: evidence, or a validation part of the rows.

By evidence: each column has the k with the largest marginal likelihood of its counts. Only the sums are needed, not the
rows. Evidence compares values of k within a family; it cannot compare families, whose evidences have different units.

By validation: the rows are divided into three parts, training, validation and test, as `split` does it: by class, or
whole groups. One k for all columns is
selected from a grid: models of the training part are compared on the validation part by the criterion; of equal ones
the one with the lowest log loss is taken, which metrics that count answers need. The model with the best k is then
fitted on both parts and evaluated once on the test part, which no choice depends on. Variants of text are chosen on the
training part. Validation rows of the user's are not learned, and all other rows are for training.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.arrays.array_types import Booleans
from tallybayes.columns.batch import columns_to_read
from tallybayes.columns.schema import Schema
from tallybayes.errors import DataError, Described, ParameterError, UnsupportedError, is_real_number
from tallybayes.evaluation import Evaluation, evaluate
from tallybayes.evaluation.criterion import LOG_LOSS, Criterion
from tallybayes.evaluation.row_split import SplitRequest, assign_parts
from tallybayes.families.family import Smoothing
from tallybayes.io.read import to_source
from tallybayes.model import Model
from tallybayes.model.fit import check_value, learn_and_sample
from tallybayes.state.model_state import ModelState
from tallybayes.state.row_sample import RowSample
from tallybayes.tables.source import Kind, Source, Stream
from tallybayes.tables.table import Table
from tallybayes.tuning.candidate import grid
from tallybayes.tuning.search import UNCHANGED
from tallybayes.tuning.tuning_result import Progress, Step, Tuning
from tallybayes.weights.weight_selection import doubt_leaks

__all__ = ["ValidationRows", "by_evidence", "by_validation"]

_STRENGTHS = tuple(4.0**i for i in range(-4, 5))  # the values of k whose evidence is compared
_SHARE = 0.2  # of the rows for validation, by default
_REST = 0.8  # of the rows for training and validation; the others are for the test
_TRAINING, _VALIDATION, _TEST = range(3)


def by_evidence(model: Model) -> Tuning:
    """The model with the k of the largest evidence for every column; log losses are -log evidence per row."""
    chosen: dict[str, Smoothing] = {}
    steps, before, after = [], 0.0, 0.0
    n = max(sum(model.class_counts.values()), 1.0)
    for block in model.snapshot().scorer.blocks:
        family = block.family
        if not family.takes_smoothing or not family.is_likelihood:
            continue
        for name in block.tally.features:
            if model.settings.prior_of(name) is not None:
                continue  # its pseudo-counts are no rows to choose by
            part = block.tally.only((name,))

            def loss(k: Smoothing) -> float:
                return -float(family.evidence(part, family.prior(part, k))[0]) / n  # noqa: B023 - called at once

            best = min(_STRENGTHS, key=loss)
            settings = model.settings.smoothing_of(name), family.own_smoothing
            start = next((k for k in settings if k != "auto"), 1.0)  # "auto" has no k to compare with
            chosen[name] = best
            steps.append(Step(name, len(_STRENGTHS), f"k = {best:.3g}", loss(float(start)), loss(best)))
            before, after = before + steps[-1].before, after + steps[-1].after
    if not chosen:
        raise UnsupportedError("no column has a k that evidence can select", hint="use by='leave-one-out'")
    strengths = {name: model.settings.smoothing_of(name) for name in model.schema.families}
    result = model.with_settings(smoothing={**strengths, **chosen})
    return Tuning(result, steps, [], (before, after), int(n), "evidence", unit="-log evidence per row")


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """The rows that judge: a share of the rows, drawn by a seed, or rows of their own."""

    share: float = _SHARE
    seed: int = 0
    own: Source | None = None

    @classmethod
    def of(cls, validation: Any, seed: int, label: Any) -> ValidationRows:
        """As the user said it: None, a share, or data; checked. label: of the training rows."""
        if validation is None:
            return cls(seed=seed)
        if is_real_number(validation):
            if not 0 < validation < _REST:
                expected = f"validation: a share of the rows between 0 and {_REST:g}, or rows"
                hint = "a fifth of the rows is the test part, and the others are for training"
                raise ParameterError(expected, got=validation, hint=hint)
            return cls(float(validation), seed)
        if label is not None and not isinstance(label, str):
            hint = "give the label as a column of the data and of the validation rows"
            raise ParameterError("label: the name of a column, with validation rows", got=label, hint=hint)
        source = to_source(validation)
        if isinstance(source, Stream):
            expected = "validation rows that can be read more than once"
            raise ParameterError(expected, got=type(validation).__name__, hint="give a table or a path")
        return cls(seed=seed, own=source)

    def parts(self, source: Source, schema: Schema, label: Any) -> tuple[Source, Source, Source, Source | None]:
        """The rows for training, those of the model, those that judge, and those of the test."""
        if self.own is not None:
            return source, source, self.own, None
        shares = [round(share, 12) for share in (_REST - self.share, self.share, 1 - _REST)]
        request = SplitRequest.of(shares, self.seed, label=label, group=schema.group)
        wanted = columns_to_read(schema, label)
        if schema.group is not None:
            wanted.setdefault(schema.group, None)
        part = assign_parts(source.batches(wanted), request, schema.label_spec)
        chosen = (_TRAINING,), (_TRAINING, _VALIDATION), (_VALIDATION,), (_TEST,)
        train, both, judging, test = (_RowsOfParts(source, np.isin(part, parts)) for parts in chosen)
        return train, both, judging, test


def by_validation(
    source: Source,
    empty: Model,
    label: Any,
    *,
    validation: ValidationRows,
    strengths: int,
    progress: Progress,
    criterion: Criterion = LOG_LOSS,
) -> Tuning:
    """The model with the k that is best on the validation rows; `empty` has the schema and settings to start with."""
    training, learned, judging, held_out = validation.parts(source, empty.schema, label)
    train, sample = empty.copy(), RowSample.of(empty.schema)
    n_training = learn_and_sample(train, sample, training, label=label).rows
    doubt_leaks(train.snapshot().state, sample)
    model, n_learned = train, n_training
    if validation.own is None:
        model = Model(ModelState(train.schema, empty.settings))
        n_learned = model.learn(learned, label=label).rows
    check_value(model, label, source)
    if len(train.classes) < 2:
        raise DataError("rows of at least two classes in the training part", got=train.classes)
    if n_learned == n_training and validation.own is None:
        raise DataError("rows with a label in the validation part", got=0, hint="by='leave-one-out' needs fewer rows")
    families = train.schema.families
    initial = {name: empty.settings.smoothing_of(name) for name in families}
    names = [name for name, family in families.items() if family.takes_smoothing]
    ks = grid(strengths) if names else []
    smoothings = [empty.settings.smoothing, *({**initial, **dict.fromkeys(names, k)} for k in ks)]
    found = list[Evaluation]()
    for i, smoothing in enumerate(smoothings):
        progress("smoothing", i / len(smoothings))
        found.append(evaluate(train.with_settings(smoothing=smoothing), judging, label=label))
        if found[-1].n_rows == found[-1].n_unknown:
            raise DataError("validation rows of classes that the training rows have", got=found[-1].classes)
    best = _best(found, criterion)
    model = model.with_settings(smoothing=smoothings[best])
    points = zip(ks, found[1:], strict=True)
    curve = [{"k": k} | {name: getattr(one, name) for name in ("log_loss", criterion.name)} for k, one in points]
    choice = UNCHANGED if best == 0 else f"k = {ks[best - 1]:.3g} for all"
    values = getattr(found[0], criterion.name), getattr(found[best], criterion.name)
    step = Step("one k for all columns", len(ks), choice, *values)
    test = None if held_out is None else evaluate(model, held_out, label=label)
    losses = found[0].log_loss, found[best].log_loss
    return Tuning(
        model,
        [step],
        curve,
        losses,
        found[best].n_rows,
        "validation",
        test,
        criterion=criterion,
        values=None if criterion is LOG_LOSS else values,
    )


def _best(found: list[Evaluation], criterion: Criterion) -> int:
    """The number of the best evaluation; where the criterion is undefined, it is worse than any."""
    losses = [criterion.value(getattr(one, criterion.name)) for one in found]
    if all(map(math.isnan, losses)):
        got = Described("no value for any k, such as where all rows have one class")
        raise DataError(f"validation rows on which {criterion.name} is defined", got=got)
    keys = [(math.inf if math.isnan(loss) else loss, one.log_loss) for loss, one in zip(losses, found, strict=True)]
    return min(range(len(keys)), key=keys.__getitem__)


class _RowsOfParts(Source):
    """The rows of another source in some of the parts; is_taken: of every row, in order, whether it is one of them."""

    def __init__(self, source: Source, is_taken: Booleans) -> None:
        self._source, self._is_taken = source, is_taken
        self.missing = source.missing

    def head(self) -> Table:
        """The first rows of these parts."""
        table = self._source.head()
        return table.take(np.flatnonzero(self._is_taken[: table.n_rows]))

    def batches(self, wanted: Mapping[str, Kind | None] | None = None, *, keep: bool = False) -> Iterator[Table]:
        """The rows of these parts."""
        first = 0
        for table in self._source.batches(wanted, keep=keep):
            rows = np.flatnonzero(self._is_taken[first : first + table.n_rows])
            first += table.n_rows
            if len(rows):
                yield table.take(rows)
