"""The importance of the columns of a model, by three measures.

    information   the mean over rows of log P(y | x_j) / P(y), for the column alone: about 0 for noise
    gain          the increase of the log loss of the model without the column
    Bayes factor  P(column | it depends on the class) / P(column | it does not), both in closed form from the sums

Information and gain are leave-one-out estimates in nats per row, so that overfitting does not count as importance. A
column that is redundant given the others has much information and little gain, or a negative gain. The score of a
derived column is computed with one input alone, and without it: the other inputs, or this one, taken as missing.

For the Bayes factor both hypotheses have the same prior: that of the model, or Dirichlet(1) (Laplace's k = 1) for
categorical and boolean columns with smoothing "auto" or 0. With "auto" the best of many strengths would be used, one
of which is close to independence, so the factor could never be evidence against a column. A histogram has only the
evidence of the classes given its buckets, at the best of 20 settings: at most log 20 nats (13 decibans) too large.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from tallybayes.columns.batch import columns_to_read
from tallybayes.errors import DataError, ParameterError, UnsupportedError, check_integer
from tallybayes.explaining.explanation import shorten_word
from tallybayes.families.family import Codes32, Floats
from tallybayes.formatting import DECIBANS, shown, signed
from tallybayes.io.read import to_source
from tallybayes.model import Model
from tallybayes.notebook_view import ResultView, TextGrid, data_frame
from tallybayes.scoring.scorer import Block
from tallybayes.tables.source import Stream, as_columns
from tallybayes.tables.table import Table
from tallybayes.tuning.column_evidence import ColumnEvidence, LearnableRows, ScoredRows, sample_rows
from tallybayes.tuning.group_folds import GroupedRows, GroupFolds
from tallybayes.tuning.token_importance import TokenImportance, TokenMeasure
from tallybayes.typing import LabelLike, TableLike, WeightLike
from tallybayes.weights.weight_fit import centre_evidence

__all__ = ["ColumnImportance", "Importance", "importance"]

_LEAST_ROWS = 10  # rows of the leave-one-out sample
_TOKENS = 20  # of a column that are printed


@dataclass(frozen=True)
class ColumnImportance:
    """The importance of one column; `log_factor` is the natural log of the Bayes factor, None if it has none."""

    column: str
    family: str
    information: float
    gain: float
    log_factor: float | None

    @property
    def decibans(self) -> float | None:
        """The Bayes factor in decibans: 10 are odds of ten to one that the column depends on the class."""
        return None if self.log_factor is None else self.log_factor * DECIBANS


@dataclass(frozen=True, eq=False, repr=False)
class Importance(ResultView):
    """The columns in descending order of gain; print it. `entropy` is the log loss of the class prior alone.

    tokens: by column, its tokens in descending order of gain, where they were asked for.
    """

    columns: list[ColumnImportance]
    log_loss: float
    entropy: float
    n_rows: int
    tokens: dict[str, list[TokenImportance]] = field(default_factory=dict)
    _heading: ClassVar[str] = "Importance of columns"

    def to_dict(self) -> dict[str, Any]:
        """All values as plain Python objects, for JSON."""
        rows = [asdict(column) | {"share": self._share(column), "decibans": column.decibans} for column in self.columns]
        tokens = {name: [asdict(one) for one in of_column] for name, of_column in self.tokens.items()}
        result = {"rows": self.n_rows, "log_loss": self.log_loss, "entropy": self.entropy, "columns": rows}
        return result | ({"tokens": tokens} if tokens else {})

    def _share(self, column: ColumnImportance) -> float | None:
        """The information of a column as a share of the entropy."""
        return column.information / self.entropy if self.entropy > 0 else None

    def to_frame(self) -> Any:
        """The columns as a pandas DataFrame: column, family, information, gain, log_factor, share, decibans."""
        return data_frame(self.to_dict()["columns"])

    def tokens_to_frame(self) -> Any:
        """The tokens of all columns as a pandas DataFrame: column, token, n_rows, information, gain."""
        rows = [{"column": name, **asdict(one)} for name, of_column in self.tokens.items() for one in of_column]
        return data_frame(rows, ["column", "token", "n_rows", "information", "gain"])

    def _token_table(self, name: str) -> TextGrid:
        """The tokens of a column with the largest gain."""
        of_column = self.tokens[name]
        rows = [
            [shorten_word(shown(one.token)), f"{one.n_rows:,}", signed(one.gain, 5), signed(one.information, 5)]
            for one in of_column[:_TOKENS]
        ]
        more = f"{_TOKENS} of {len(of_column):,} tokens; to_dict() and --json have all"
        foot = more if len(of_column) > _TOKENS else ""
        return TextGrid([f"token of {name}", "rows", "gain", "information"], rows, bar=2, foot=foot)

    def _parts(self) -> list[str | TextGrid]:
        header = ["column", "family", "gain", "information", "% of entropy", "Bayes factor, dB"]
        rows = []
        for column in self.columns:
            share, decibans = self._share(column), column.decibans
            rows.append(
                [
                    column.column,
                    column.family,
                    signed(column.gain, 4),
                    signed(column.information, 4),
                    "-" if share is None else f"{round(100 * share, 1) + 0.0:.1f}",
                    "-" if decibans is None else signed(decibans, 1),
                ]
            )
        note = (
            f"gain and information in nats per row, by leave-one-out on {self.n_rows:,} rows\n"
            f"log loss {self.log_loss:.4f}; of the class prior alone {self.entropy:.4f}"
        )
        return [TextGrid(header, rows, bar=2), note, *map(self._token_table, self.tokens)]


def importance(
    model: Model,
    data: TableLike,
    *,
    label: LabelLike = None,
    sample_weight: WeightLike = None,
    rows: int = 5000,
    seed: int = 0,
    tokens: bool = False,
) -> Importance:
    """Compute the importance of the columns of a model on its training data, by leave-one-out.

    rows: the size of the leave-one-out sample, drawn by `seed`; the sums are those of all rows. Column weights and
    calibration of the model are applied. Where the model has groups, rows are scored without all rows of their group.
    tokens: also of every token of the columns of text, tags and other tokens.

    >>> import tallybayes as tb
    >>> table = {"fever": [1, 1, 1, 0, 0, 0] * 20, "coin": [0, 1] * 60, "ill": [*["yes"] * 2, *["no"] * 4] * 20}
    >>> found = tb.importance(tb.fit(table, label="ill"), table)
    >>> [(one.column, round(one.information, 2), round(one.decibans)) for one in found.columns]
    [('fever', 0.31, 150), ('coin', -0.0, -6)]
    """
    rows, seed = check_integer("rows", rows, at_least=_LEAST_ROWS), check_integer("seed", seed, at_least=0)
    if len(model.classes) < 2:
        raise DataError("a model of at least two classes", got=model.classes)
    source = to_source(data)
    if isinstance(source, Stream):
        hint = "give a table or a path"
        raise ParameterError("data that can be read more than once", got=type(data).__name__, hint=hint)
    source.use_words(model.schema.missing)
    source.look_for(model.schema.columns)
    sample_weight = model.schema.weight if sample_weight is None else sample_weight
    source, label, sample_weight = as_columns(source, model.snapshot().label_or_default(label), sample_weight)
    if source.bad is not None:
        source = LearnableRows(source, model, label, sample_weight)
    n_rows = sum(table.n_rows for table in source.batches(columns_to_read(model.schema, label, sample_weight)))
    sample: Table | GroupedRows
    if model.schema.group is not None and model.schema.group in source.head().columns:
        sample = GroupFolds(source, model, label, sample_weight).sample(rows, seed)
    else:
        sample = sample_rows(source, model, label, sample_weight, n_rows=n_rows, limit=rows, seed=seed)
    evidence = ColumnEvidence(model, sample, label, sample_weight)
    if not len(evidence.codes):
        raise DataError("rows with a label", got=0)
    return _measure(model, evidence, with_tokens=tokens)


def _measure(model: Model, evidence: ColumnEvidence, *, with_tokens: bool) -> Importance:
    left, sample = model.snapshot().leave_one_out, evidence.rows(model)
    plain = evidence.log_prior(model, replace(left.settings, column_weights=None))
    entropy = sample.mean(sample.losses(plain))
    factors = {name: value for block in left.scorer.blocks for name, value in _log_factors(block).items()}
    families = {name: block.family.display_name() for block in left.scorer.blocks for name in block.tally.features}
    own = {name: evidence.of(model, name) for name in factors}
    own |= {name: own[name] + part for name, part in evidence.token_corrections(model).items()}
    parts = {
        name: _apply_weight(model, name, part, plain) + evidence.adjustment(model, name) for name, part in own.items()
    }
    joint = sample.log_prior + sum(parts.values())
    log_loss = _log_loss(model, joint, sample)
    inputs, columns = _separable_inputs(model), []
    behind: dict[str, list[str]] = {}  # the columns of the model that each column of the table has a part in
    for part in parts:
        for name in inputs.get(part, (part,)):
            behind.setdefault(name, []).append(part)
    for name, derived in behind.items():
        alone, rest = plain, joint
        for part in derived:
            rest = rest - parts[part]
            if part not in inputs:
                alone = alone + own[part]
                continue
            is_own = np.array([name == column for column in inputs[part]])
            alone = alone + evidence.of_inputs(model, part, is_own)
            rest = rest + _apply_weight(model, part, evidence.of_inputs(model, part, ~is_own), plain)
        information = entropy - sample.mean(sample.losses(alone))
        gain = _log_loss(model, rest, sample) - log_loss
        columns.append(ColumnImportance(name, families.get(name, "input"), information, gain, factors.get(name)))
    columns.sort(key=lambda column: (-column.gain, column.column))
    tokens = {}
    for predictive in left.scorer.predictives if with_tokens else ():
        for name in predictive.features:
            if predictive.tokens_interact(name) is not None:
                others = joint - _apply_weight(model, name, own[name], plain)
                tokens[name] = _measure_tokens(model, evidence, name, sample, plain, others)
    return Importance(columns, log_loss, entropy, len(sample.codes), dict(sorted(tokens.items())))


def _measure_tokens(
    model: Model, evidence: ColumnEvidence, name: str, sample: ScoredRows, plain: Floats, others: Floats
) -> list[TokenImportance]:
    """The importance of the tokens of a column; plain: the class prior; others: the log score without the column."""

    def losses(log_score: Floats, codes: Codes32) -> Floats:
        return np.asarray(-model.snapshot().posterior.log_proba(log_score)[np.arange(len(codes)), codes])

    def weigh(row: int, part: Floats) -> Floats:
        return _apply_weight(model, name, part, plain[row])

    measure = TokenMeasure(name, sample.codes, sample.weights, plain, others, losses, weigh)
    measure.look_for_absent(model.snapshot().scorer.by_column(weighted=False)[name], evidence.column(model, name))
    for rows, values, predictive in evidence.predictives_without(model, name):
        measure.add(rows.tolist(), values, predictive)
    return measure.result()


def _separable_inputs(model: Model) -> dict[str, tuple[str, ...]]:
    """The inputs of derived columns; not of those whose family selects something from the data, as they are derived."""
    return {
        name: tuple(column_input.column for column_input in spec.reader.inputs)
        for name, spec in model.schema.derived.items()
        if spec.family is not None
        and (spec.family.is_divided or spec.family.is_correction)
        and not spec.family.derives_by_selection(model.settings.smoothing_of(name))
    }


def _apply_weight(model: Model, name: str, part: Floats, log_prior: Floats) -> Floats:
    """The contribution of a column to the log score, with its weight."""
    (weights,) = model.column_weights.table([name], model.classes)
    if (weights != weights[0]).any():
        part = centre_evidence(part[None], log_prior)[0]
    return np.asarray(weights * part)


def _log_loss(model: Model, log_score: Floats, sample: ScoredRows) -> float:
    """The mean of -log P(class | row), with the calibration of the model."""
    return sample.mean(-model.snapshot().posterior.log_proba(log_score)[np.arange(len(log_score)), sample.codes])


def _log_factors(block: Block) -> dict[str, float | None]:
    """Log of P(column | it depends on the class) / P(column | it does not), by column."""
    features = block.tally.features
    try:
        log_factor = block.family.log_bayes_factor(block.tally, block.smoothing)
    except UnsupportedError:
        return dict.fromkeys(features)
    return dict(zip(features, log_factor.tolist(), strict=True))
