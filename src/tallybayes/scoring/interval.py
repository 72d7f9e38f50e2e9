"""How far a model can be sure of its numbers: intervals of its parameters, and of a predicted probability.

A predicted probability is made of parameters, and these are known as well as there are rows behind them. Each column
tells mean, variance and third cumulant of log P(x | c) under its posterior (`tallybayes.families.credible`), the class
prior those of log P(c). They add up, as the logs do, so those of log P(c, x) are known. It is drawn a few hundred times
for each class, as a gamma distribution that has these cumulants (Pearson's type III, by Wilson and Hilferty's cube of a
normal), and the interval is that of the P(c | x) that come out. It is about what is not known of the parameters;
whether columns are independent given the class is another question, which a calibration answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.arrays.chunks import in_threads
from tallybayes.arrays.special import ndtri
from tallybayes.data.schema import Schema
from tallybayes.errors import ParameterError
from tallybayes.explaining.description import Description
from tallybayes.families.credible import beta_interval, gamma_cumulants
from tallybayes.families.family import Floats
from tallybayes.scoring.scorer import Columns, Scorer
from tallybayes.state.settings import Settings

__all__ = ["Uncertain", "check_level", "described"]

_DRAWS = 500
_NUMBERS = 2**18  # that are drawn for at a time
_STRAIGHT = 1e-6  # a skewness below which a distribution is normal


def check_level(level: Any) -> float:
    """A level from 0 (the point itself) to below 1."""
    if isinstance(level, bool) or not isinstance(level, (int, float, np.number)) or not 0 <= level < 1:
        raise ParameterError("level: a number from 0 to below 1, such as 0.95", got=level)
    return float(level)


def described(scorer: Scorer, schema: Schema, settings: Settings, rows: dict[Any, float], level: float) -> Description:
    """The parameters of a model with credible intervals; a family that knows none is described without."""
    plain = Description.of(scorer, schema, rows)
    columns: dict[str, list[dict[str, Any]]] = {}
    for predictive in scorer.predictives:
        for row in predictive.intervals(check_level(level)):
            named = {key: scorer.classes[value] if key == "class" else value for key, value in row.items()}
            columns.setdefault(named.pop("column"), []).append(named)
    notes = {
        name: ", ".join(text for text in (plain.notes.get(name), "" if name in columns else "no intervals") if text)
        for name in plain.columns
    }
    classes = plain.classes
    if (alpha := _class_alpha(settings, np.array(list(rows.values()), np.float64))) is not None:
        low, high = beta_interval(alpha, alpha.sum(), level)
        ends = zip(classes, low.tolist(), high.tolist(), strict=True)
        classes = [row | {"low": below, "high": above} for row, below, above in ends]
    told = {name: columns.get(name, own) for name, own in plain.columns.items()}
    return Description(classes, schema, told, {name: note for name, note in notes.items() if note})


@dataclass(frozen=True, eq=False)
class Uncertain:
    """A scorer that tells intervals too; `class_rows` are the rows behind every class."""

    scorer: Scorer
    settings: Settings
    class_rows: Floats
    level: float
    seed: int = 0
    calibrated: bool = True

    def __post_init__(self) -> None:
        check_level(self.level)

    def __call__(self, columns: Columns, n_rows: int) -> tuple[Floats, Floats]:
        """Log P(class, row), (rows, classes), and the intervals of P(class | row), (rows, classes, 2)."""
        log_joint = self.scorer.log_joint(columns, n_rows)
        return log_joint, self.drawn(log_joint, self.cumulants(columns, n_rows) if self.level > 0 else None)

    def cumulants(self, columns: Columns, n_rows: int) -> Floats:
        """How log P(class, row) is spread: its mean less what is told, variance, third cumulant, (3, rows, classes)."""
        alpha = _class_alpha(self.settings, self.class_rows)
        own = np.zeros((3, len(self.class_rows))) if alpha is None else gamma_cumulants(alpha)
        result = np.repeat(own[:, None], n_rows, axis=1)
        for predictive in self.scorer.predictives:
            result += predictive.log_cumulants([columns[name] for name in predictive.features])
        return result

    def drawn(self, log_joint: Floats, cumulants: Floats | None) -> Floats:
        """The intervals; P(class | row) itself is always inside.

        The same draws for every row, evenly spread (a Latin hypercube), so that rows can be compared.
        """
        point = self._probabilities(log_joint)
        result = np.stack([point, point], axis=2)
        if cumulants is None:
            return result
        z, tail = _normal(self.seed, log_joint.shape[1]), (1 - self.level) / 2
        size = max(1, _NUMBERS // max(z.size, 1))

        def chunk(start: int, stop: int) -> None:
            part = log_joint[start:stop, :, None]
            moved = np.where(np.isneginf(part), part, part + _pearson(cumulants[:, start:stop, :, None], z))
            low, high = np.quantile(self._probabilities(moved), [tail, 1 - tail], axis=2)
            result[start:stop, :, 0] = np.minimum(low, point[start:stop])
            result[start:stop, :, 1] = np.maximum(high, point[start:stop])

        in_threads(chunk, len(log_joint), size=size)
        return result

    def _probabilities(self, log_joint: Floats) -> Floats:
        """P(class | row) of log P(class, row), the classes along the second axis."""
        top = log_joint.max(axis=1, keepdims=True, initial=-np.inf)
        ruled_out = np.isneginf(top)
        p = np.exp(log_joint - np.where(ruled_out, 0.0, top))
        if ruled_out.any():
            p = np.where(ruled_out, np.exp(self.scorer.log_prior).reshape(1, -1, *[1] * (p.ndim - 2)), p)
        p /= p.sum(axis=1, keepdims=True)
        if not self.calibrated or self.settings.calibration is None:
            return p
        with np.errstate(divide="ignore"):
            last = np.moveaxis(np.log(p), 1, -1)
        put_right = self.settings.calibration.applied(last.reshape(-1, last.shape[-1]), self.scorer.classes)
        return np.moveaxis(np.exp(put_right).reshape(last.shape), -1, 1)


def _normal(seed: int, n: int) -> Floats:
    """Draws from the normal distribution, (n, draws), each line one from every 1 / _DRAWS of it."""
    rng = np.random.default_rng(seed)
    places = np.array([rng.permutation(_DRAWS) for _ in range(n)]).reshape(n, _DRAWS)
    return np.asarray(ndtri((places + 0.5) / _DRAWS))


def _pearson(cumulants: Floats, z: Floats) -> Floats:
    """Normal draws turned into those of a gamma distribution with a mean, a variance and a third cumulant."""
    mean, variance, third = cumulants
    sd = np.sqrt(np.maximum(variance, 0.0))
    skew = np.clip(third / np.maximum(sd, 1e-100) ** 3, -2.0, 2.0)  # the log of a gamma has -2 to 0
    skew = np.where(np.abs(skew) < _STRAIGHT, _STRAIGHT, skew)
    return np.asarray(mean + sd * 2 / skew * (np.maximum(1 + skew * z / 6 - skew * skew / 36, 0.0) ** 3 - 1))


def _class_alpha(settings: Settings, class_rows: Floats) -> Floats | None:
    """The posterior of the class shares, a Dirichlet; None where they are given."""
    if settings.prior != "empirical" or np.isinf(settings.prior_smoothing):
        return None
    return class_rows + settings.prior_smoothing
