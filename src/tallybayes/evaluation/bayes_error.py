"""The Bayes error of a model: how often the best possible classifier is wrong if the data are as the model says.

    error = 1 - E[max over c of P(c | x)] = sum over x of (P(x) - max over c of P(c, x))

under the generative model (`model/generative_model.py`). No classifier can do better on such data, and the model itself
does as well. On other data it is no bound: where columns are not independent as the model assumes, it may be too low or
too high. Beside the error on held-out rows it says how far the model believes itself.

Where every column has few outcomes, all combinations are enumerated and the answer is exact. Elsewhere rows are drawn
from the model, and 1 - max P(c | x) is averaged over them: its variance is smaller than that of counted errors, because
nothing is left to the label that is drawn with a row. The interval is the normal approximation.

Rows are complete: a model knows nothing about why a value is missing, and a row that lacks some could only be harder to
classify. Categories are those that the model has seen. A model averaged over one-dependence estimators is drawn from as
`sample` draws from it, which is exact only where enough rows have every cell (`families/together/one_dependence.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, ClassVar, Literal

import numpy as np

from tallybayes.errors import Described, ParameterError, UnsupportedError, check_integer
from tallybayes.explaining.drawn_rows import draw_columns
from tallybayes.families.family import Floats
from tallybayes.formatting import number
from tallybayes.model import Model
from tallybayes.notebook_view import ResultView, TextGrid
from tallybayes.scoring.interval import check_level
from tallybayes.scoring.scorer import Scorer
from tallybayes.scoring.snapshot import Snapshot
from tallybayes.state.model_state import ModelState

__all__ = ["BayesError", "bayes_error"]

Method = Literal["auto", "enumeration", "sampling"]

_COMBINATIONS = 2**20  # that are enumerated: 20 columns of yes and no
_NUMBERS = 2**24  # of all combinations and classes: 128 MiB
_ROWS = 4096  # drawn at a time


@dataclass(frozen=True, repr=False)
class BayesError(ResultView):
    """The Bayes error and what it was computed from; print it.

    low, high: the interval of this level, both the error itself if that is exact. n_combinations: how many were
    enumerated, n_rows: how many rows were drawn; 0 where it was done in the other way. prior_error: without any column.
    """

    error: float
    low: float
    high: float
    level: float
    n_combinations: int
    n_rows: int
    prior_error: float
    _heading: ClassVar[str] = "Bayes error"

    @property
    def is_exact(self) -> bool:
        """Whether all combinations of values were enumerated."""
        return self.n_rows == 0

    def to_dict(self) -> dict[str, Any]:
        """All values as plain Python objects, for JSON."""
        return {
            "error": self.error,
            "is_exact": self.is_exact,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "combinations": self.n_combinations,
            "rows": self.n_rows,
            "prior_error": self.prior_error,
        }

    def _parts(self) -> list[str | TextGrid]:
        if self.is_exact:
            how = f"exact: {self.n_combinations:,} combination{'' if self.n_combinations == 1 else 's'} of values"
        else:
            ends = f"{number(self.low, 4)} to {number(self.high, 4)}"
            how = f"{number(100 * self.level)} % interval {ends}: {self.n_rows:,} rows drawn from the model"
        lines = [f"Bayes error          {number(self.error, 4)}   ({how})"]
        return ["\n".join([*lines, f"without any column   {number(self.prior_error, 4)}"])]


def bayes_error(
    model: Model, *, method: Method = "auto", rows: int = 100_000, seed: int = 0, level: float = 0.95
) -> BayesError:
    """Compute the error of the best possible classifier if the data are exactly as a model says.

    method: "enumeration" of all combinations of values, up to about a million; "sampling" of `rows` rows by `seed`,
    with an interval of this level; "auto": enumeration where that is possible. Rows have no missing values, and column
    weights and calibration are not part of the model.

    A test finds 90 % of the ill and is wrong on 5 % of the healthy; 1 % are ill. Nobody should be called ill:

    >>> import tallybayes as tb
    >>> model = tb.from_probabilities({"ill": 0.01, "well": 0.99}, {"test": {"ill": 0.9, "well": 0.05}})
    >>> print(tb.bayes_error(model))
    Bayes error          0.01   (exact: 2 combinations of values)
    without any column   0.01
    """
    if not isinstance(model, Model):
        raise ParameterError("a model", got=model)
    if method not in ("auto", "enumeration", "sampling"):
        raise ParameterError("method: 'auto', 'enumeration' or 'sampling'", got=method)
    rows, seed = check_integer("rows", rows, at_least=2), check_integer("seed", seed, at_least=0)
    level = check_level(level)
    with model.reading() as snapshot:
        snapshot.require_classes()
        plain = snapshot.plain()
        plain.state.require_likelihoods("bayes_error")
        return _bayes_error(plain, method, rows, seed, level)


def _bayes_error(plain: Snapshot, method: Method, rows: int, seed: int, level: float) -> BayesError:
    """The Bayes error of a generative model."""
    scorer = replace(plain.scorer, missing=None)
    _check_distributions(scorer, plain.state)
    prior = np.exp(scorer.log_prior)
    prior_error = float(_sum_of_others(prior[None].copy())[0])
    tables, n_combinations = _tables(scorer, plain.state, is_required=method == "enumeration")
    if tables is not None and method != "sampling":
        error = _enumerate(prior, tables)
        return BayesError(error, error, error, level, n_combinations, 0, prior_error)
    losses = _draw_losses(scorer, plain.state, rows, np.random.default_rng(seed))
    error, spread = float(losses.mean()), float(losses.std(ddof=1)) / math.sqrt(rows)
    half = NormalDist().inv_cdf((1 + level) / 2) * spread
    return BayesError(error, max(error - half, 0.0), min(error + half, prior_error), level, 0, rows, prior_error)


def _check_distributions(scorer: Scorer, state: ModelState) -> None:
    """Raise an UnsupportedError for a class without values of a column: there it has no distribution."""
    possible = scorer.log_prior > -np.inf
    for block in scorer.blocks:
        if 0 not in (block.smoothing, block.family.own_smoothing):
            continue
        nothing = (block.tally.rows_seen().floats() == 0) & possible
        if nothing.any():
            column, code = np.argwhere(nothing)[0].tolist()
            got = Described(f"none in class {scorer.classes[code]!r}, and maximum likelihood")
            name = block.tally.features[column]
            raise UnsupportedError("values in every class", got=got, column=name, hint="use smoothing above 0")


def _tables(scorer: Scorer, state: ModelState, *, is_required: bool) -> tuple[list[Floats] | None, int]:
    """P(outcome | class) of each column and the number of combinations; None if they are too many to be enumerated."""
    named = [(name, p.outcomes(i)) for p in scorer.predictives for i, name in enumerate(p.features)]
    endless = [name for name, table in named if table is None or name in state.schema.divided]
    tables = [np.exp(table) for _, table in named if table is not None]
    n_combinations = math.prod(map(len, tables))
    is_small = n_combinations <= _COMBINATIONS and n_combinations * len(scorer.classes) <= _NUMBERS
    if is_required and (endless or not is_small):
        got = "a column without a list of its values" if endless else f"{n_combinations:,}"
        expected = f"at most {_COMBINATIONS:,} combinations of values ({_NUMBERS:,} times classes), to enumerate them"
        hint = "method='sampling' takes any model"
        raise UnsupportedError(expected, got=Described(got), column=endless[0] if endless else None, hint=hint)
    return (None if endless or not is_small else tables), n_combinations


def _sum_of_others(p: Floats) -> Floats:
    """The sum of all but the greatest number of each row, (rows,); overwrites them."""
    p[np.arange(len(p)), p.argmax(axis=1)] = 0.0
    return np.asarray(p.sum(axis=1))


def _enumerate(prior: Floats, tables: Sequence[Floats]) -> float:
    """The sum over all combinations of what the best class leaves; tables: P(outcome | class) of each column.

    >>> round(_enumerate(np.array([0.5, 0.5]), [np.array([[0.9, 0.2], [0.1, 0.8]])]), 12)
    0.15
    """
    joint = prior[None, :]
    for table in tables:
        joint = (joint[:, None, :] * table[None, :, :]).reshape(-1, len(prior))
    return math.fsum(_sum_of_others(joint.copy()).tolist())


def _draw_losses(scorer: Scorer, state: ModelState, n: int, rng: np.random.Generator) -> Floats:
    """1 - max P(c | x) of n rows drawn from a model."""
    prior, losses = np.exp(scorer.log_prior), []
    for code, n_rows in enumerate(rng.multinomial(n, prior / prior.sum()).tolist()):
        for start in range(0, n_rows, _ROWS):
            size = min(_ROWS, n_rows - start)
            columns = draw_columns(scorer.predictives, state.schema, code, size, rng)
            score = scorer.log_score(columns, size)
            top = score.max(axis=1, keepdims=True)
            p = np.exp(np.where(np.isneginf(top), scorer.log_prior, score - np.where(np.isneginf(top), 0.0, top)))
            total = p.sum(axis=1)
            losses.append(_sum_of_others(p) / total)
    return np.concatenate(losses)
