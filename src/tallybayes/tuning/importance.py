"""What the columns of a model are worth, each by three figures.

    information   the mean over rows of log P(y | x_j) / P(y), the column alone: about 0 for noise
    gain          how much greater the log loss of the model would be without the column
    Bayes factor  P(column | it depends on the class) / P(column | it does not), both in closed form from the sums

The first two are of rows left out of the sums one by one, so that a column cannot look good by what it has learned by
heart; in nats per row. A column that tells what others tell too has much information and little gain, or a loss.

For the Bayes factor both sides have the same prior: the one of the model, but Dirichlet(1) (Laplace's k = 1) for
categories and yes/no whose smoothing is "auto" or 0. With "auto" it would be the best of many strengths, one of them
next to "does not depend", and could never speak against a column. A histogram has only the evidence of the classes
given its buckets, at the best of 20 strengths and rates: at most log 20 nats (13 decibans) too high.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tallybayes.data.source import Source, Stream, Whole, as_columns, to_source
from tallybayes.errors import DataError, ParameterError, UnsupportedError, check_integer
from tallybayes.families.family import Floats
from tallybayes.formatting import DECIBANS, signed, text_table
from tallybayes.model import Model
from tallybayes.scoring.scorer import Block
from tallybayes.tuning.column_evidence import Evidence, Good, Judged, sampled
from tallybayes.tuning.weight_fit import centred

__all__ = ["ColumnImportance", "Importance", "importance"]

_LEAST = 10  # rows to be left out


@dataclass(frozen=True)
class ColumnImportance:
    """What one column is worth; `log_factor` is the natural log of the Bayes factor, None if there is no evidence."""

    column: str
    family: str
    information: float
    gain: float
    log_factor: float | None

    @property
    def decibans(self) -> float | None:
        """The Bayes factor in decibans: 10 are odds of ten to one that the column depends on the class."""
        return None if self.log_factor is None else self.log_factor * DECIBANS


@dataclass(frozen=True, eq=False)
class Importance:
    """The columns by gain, the greatest first; print it. `entropy` is the log loss of the class prior alone."""

    columns: list[ColumnImportance]
    log_loss: float
    entropy: float
    n_rows: int

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for programs."""
        rows = [
            {
                "column": one.column,
                "family": one.family,
                "gain": one.gain,
                "information": one.information,
                "share": self._share(one),
                "log_factor": one.log_factor,
                "decibans": one.decibans,
            }
            for one in self.columns
        ]
        return {"rows": self.n_rows, "log_loss": self.log_loss, "entropy": self.entropy, "columns": rows}

    def _share(self, one: ColumnImportance) -> float | None:
        """The information of a column as a share of what there is to know."""
        return one.information / self.entropy if self.entropy > 0 else None

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        header = ["column", "family", "gain", "information", "of all, %", "Bayes factor, dB"]
        rows = []
        for one in self.columns:
            share, decibans = self._share(one), one.decibans
            rows.append(
                [
                    one.column,
                    one.family,
                    signed(one.gain, 4),
                    signed(one.information, 4),
                    "-" if share is None else f"{round(100 * share, 1) + 0.0:.1f}",
                    "-" if decibans is None else signed(decibans, 1),
                ]
            )
        told = (
            f"log loss {self.log_loss:.4f}, of the class prior alone {self.entropy:.4f}; "
            f"nats per row, {self.n_rows:,} rows left out one by one"
        )
        return f"{text_table(header, rows)}\n\n{told}"


def importance(
    model: Model, data: Any, *, label: Any = None, weight: Any = None, rows: int = 5000, seed: int = 0
) -> Importance:
    """The columns of a model by what they are worth, on rows that it has learned.

    rows: at most so many, drawn by `seed`, are left out one by one; the sums are those of all. With weights and a
    calibration, if the model has them.

    >>> import tallybayes as tb
    >>> table = {"fever": [1, 1, 1, 0, 0, 0] * 20, "coin": [0, 1] * 60, "ill": [*["yes"] * 2, *["no"] * 4] * 20}
    >>> ranking = tb.importance(tb.fit(table, label="ill"), table)
    >>> [(one.column, round(one.information, 2), round(one.decibans)) for one in ranking.columns]
    [('fever', 0.32, 150), ('coin', -0.0, -6)]
    """
    rows = check_integer("rows", rows, at_least=_LEAST)
    if len(model.classes) < 2:
        raise DataError("a model of at least two classes", got=model.classes)
    source = to_source(data)
    if isinstance(source, Stream):
        hint = "give a table or a path"
        raise ParameterError("data that can be read more than once", got=type(data).__name__, hint=hint)
    source.missing = model.schema.missing if source.missing is None else source.missing
    weight = model.schema.weight if weight is None else weight
    source, label, weight = as_columns(source, model.label_for(label), weight)
    if source.bad is not None:
        source = Good(source, model, label, weight)
    n_rows = _n_rows(source, model, label, weight)
    tables = sampled(source, model, label, weight, n_rows=n_rows, limit=rows, seed=seed)
    evidence = Evidence(model, tables, label, weight)
    if not len(evidence.codes):
        raise DataError("rows with a label", got=n_rows)
    return _ranked(model, evidence)


def _n_rows(source: Source, model: Model, label: Any, weight: Any) -> int:
    if isinstance(source, Whole):
        return source.head().n_rows
    return sum(table.n_rows for table in source.batches(model.wanted(label, weight)))


def _ranked(model: Model, evidence: Evidence) -> Importance:
    left, judged = model.without_rows(), evidence.judged(model)
    weights = judged.weights if evidence.is_weighted else None
    plain = replace(left, settings=replace(left.settings, column_weights=None)).log_prior(judged.codes, weights)
    entropy = _mean(judged.losses(plain), judged)
    factors = {name: value for block in left.scorer.blocks for name, value in _log_factors(block).items()}
    families = {name: block.family.told() for block in left.scorer.blocks for name in block.tally.features}
    parts = {name: _weighted(model, name, evidence.of(model, name), plain) for name in factors}
    joint = judged.log_prior + sum(parts.values())
    log_loss = _log_loss(model, joint, judged)
    found = [
        ColumnImportance(
            name,
            families[name],
            entropy - _mean(judged.losses(plain + evidence.of(model, name)), judged),
            _log_loss(model, joint - part, judged) - log_loss,
            factors[name],
        )
        for name, part in parts.items()
    ]
    found.sort(key=lambda one: (-one.gain, one.column))
    return Importance(found, log_loss, entropy, len(judged.codes))


def _weighted(model: Model, name: str, part: Floats, log_prior: Floats) -> Floats:
    """What a column adds, as far as it is trusted."""
    (own,) = model.column_weights.table([name], model.classes)
    if (own != own[0]).any():
        part = centred(part[None], log_prior)[0]
    return np.asarray(own * part)


def _log_loss(model: Model, log_joint: Floats, judged: Judged) -> float:
    """The mean of -log P(class | row), calibrated if the model is."""
    return _mean(-model.log_proba(log_joint)[np.arange(len(log_joint)), judged.codes], judged)


def _mean(losses: Floats, judged: Judged) -> float:
    return float((losses * judged.weights).sum() / judged.weights.sum())


def _log_factors(block: Block) -> dict[str, float | None]:
    """Log of P(column | it depends on the class) / P(column | it does not), by column."""
    features = block.tally.features
    try:
        log_factor = block.family.log_bayes_factor(block.tally, block.smoothing)
    except UnsupportedError:
        return dict.fromkeys(features)
    return dict(zip(features, log_factor.tolist(), strict=True))
