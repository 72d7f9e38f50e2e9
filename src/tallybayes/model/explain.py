"""Why a row got its answer: the prior, what every column added, and the sum.

In log space a naive Bayes score is a sum, so the explanation is not an approximation: the parts add up to the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.data.table import Table
from tallybayes.errors import shorten
from tallybayes.families.base import Floats
from tallybayes.model.scorer import Scorer, log_marginal
from tallybayes.model.text import probability, shown, text_table

__all__ = ["Explanation", "explain"]

_DECIBAN = 10 / np.log(10)


@dataclass(frozen=True, eq=False)
class Explanation:
    """One row's score taken apart. All logs are natural; arrays have one entry per class."""

    classes: Sequence[Any]
    values: dict[str, Any]
    log_prior: Floats
    log_evidence: dict[str, Floats]

    @property
    def log_joint(self) -> Floats:
        """The sum of the parts."""
        total = self.log_prior.copy()
        for part in self.log_evidence.values():
            total += part
        return total

    @property
    def probabilities(self) -> Floats:
        """P(class | row); the prior if every class is ruled out."""
        total = self.log_joint
        whole = log_marginal(total[None])[0]
        return np.exp(self.log_prior if np.isneginf(whole) else total - whole)

    @property
    def ruled_out(self) -> bool:
        """Whether the row is impossible under every class."""
        return bool(np.isneginf(self.log_joint).all())

    def log_odds(self, label: Any, against: Any) -> dict[str, float]:
        """What the prior (under the name '') and every column add to the log odds of one label against another."""
        a, b = (list(self.classes).index(name) for name in (label, against))
        parts = {"": self.log_prior, **self.log_evidence}
        return {
            name: 0.0 if np.isneginf(part[a]) and np.isneginf(part[b]) else float(part[a] - part[b])
            for name, part in parts.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values: natural logs by class; the parts, in their order, add up to `log_joint`."""
        parts = {"prior": self.log_prior, **self.log_evidence}
        by_class = {name: [_finite(v) for v in part.tolist()] for name, part in parts.items()}
        p = self.probabilities
        return {
            "predicted": self.classes[int(p.argmax())] if len(p) else None,
            "classes": list(self.classes),
            "values": self.values,
            "log_prior": by_class.pop("prior"),
            "log_evidence": by_class,
            "log_joint": [_finite(v) for v in self.log_joint.tolist()],
            "probabilities": p.tolist(),
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return self.shown()

    def shown(self, label: Any = None, against: Any = None, *, units: str = "decibans") -> str:
        """One class against another (the winner against the runner-up if nothing is said), strongest evidence first.

        In decibans, ten times the decimal log odds, or natural "log-odds". Numbers are rounded so that what is shown
        adds up to the sum that is shown.
        """
        order = np.argsort(-self.probabilities, kind="stable")
        if not len(order):
            return "a model without classes"
        classes = list(self.classes)
        best = classes[int(order[0])] if label is None else label
        if len(order) == 1:
            return f"{best}: the only class"
        if label is None and best == against:
            best = classes[int(order[1])]  # against the winner: for the runner-up
        other = next(classes[i] for i in order if classes[i] != best) if against is None else against
        parts = self.log_odds(best, other)
        names = ["", *sorted((name for name in parts if name), key=lambda name: -abs(parts[name]))]
        scale, digits = (_DECIBAN, 1) if units == "decibans" else (1.0, 3)
        texts, total = _adding_up([parts[name] * scale for name in names], digits)
        rows = [[name or "prior", self._value_of(name), text] for name, text in zip(names, texts, strict=True)]
        both = self.log_joint[[classes.index(best), classes.index(other)]]
        rows.append(["sum", "", "both are ruled out" if np.isneginf(both).all() else total])
        p = self.probabilities[classes.index(best)]
        head = f"{shown(best)} with probability {probability(p)}, against {shown(other)}"
        return head + "\n" + text_table(["column", "value", units], rows)

    def _value_of(self, name: str) -> str:
        value = self.values.get(name)
        return "" if not name else "(missing)" if value is None else shorten(value, 30)


def _adding_up(values: Sequence[float], digits: int) -> tuple[list[str], str]:
    """Numbers and their sum, rounded so that they add up: each is the step between two rounded partial sums.

    >>> _adding_up([0.26, 0.26, 0.26], 1)
    (['+0.3', '+0.2', '+0.3'], '+0.8')
    """
    if not np.all(np.isfinite(values)):
        endless = {float(value) for value in values if np.isinf(value)}
        return [f"{value:+.{digits}f}" for value in values], f"{endless.pop():+.{digits}f}" if len(
            endless
        ) == 1 else "-"
    rounded = np.round(np.cumsum([0.0, *values]), digits)
    return [f"{step:+.{digits}f}" for step in np.diff(rounded) + 0.0], f"{rounded[-1] + 0.0:+.{digits}f}"


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def explain(scorer: Scorer, parts: dict[str, Floats], table: Table) -> list[Explanation]:
    """The explanation of every row of a table, given what its columns add to log P(class, row)."""
    return [
        Explanation(
            scorer.classes,
            {name: _value(table.columns[name], row) for name in parts if name in table.columns},
            scorer.log_prior,
            {name: part[row] for name, part in parts.items()},
        )
        for row in range(table.n_rows)
    ]


def _value(raw: Any, row: int) -> Any:
    """One cell of a raw column as a Python value."""
    if hasattr(raw, "tocsr"):
        one = raw.tocsr()[[row]]
        return dict(zip(one.indices.tolist(), one.data.tolist(), strict=True))
    value = raw[row]
    if hasattr(value, "as_py"):
        value = value.as_py()
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return None if np.isnan(value) else int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value
