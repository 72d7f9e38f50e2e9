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
from tallybayes.model.scorer import Columns, Scorer, log_marginal
from tallybayes.model.text import text_table

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
        return np.asarray(np.sum([self.log_prior, *self.log_evidence.values()], axis=0))

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

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        """The winner against the runner-up, in decibans (ten times the decimal log odds), strongest first."""
        order = np.argsort(-self.probabilities, kind="stable")
        if not len(order):
            return "a model without classes"
        best = self.classes[int(order[0])]
        if len(order) == 1:
            return f"{best}: the only class"
        other = self.classes[int(order[1])]
        parts = self.log_odds(best, other)
        rows = [["prior", "", f"{parts.pop('') * _DECIBAN:+.1f}"]]
        for name, value in sorted(parts.items(), key=lambda item: -abs(item[1])):
            shown = self.values.get(name)
            rows.append([name, "(missing)" if shown is None else shorten(shown, 30), f"{value * _DECIBAN:+.1f}"])
        if self.ruled_out:
            rows.append(["sum", "", "every class is ruled out"])
        else:
            total = self.log_joint[order[0]] - self.log_joint[order[1]]
            rows.append(["sum", "", f"{total * _DECIBAN:+.1f}"])
        head = f"{best} with probability {self.probabilities[order[0]]:.4g}, against {other}"
        return head + "\n" + text_table(["column", "value", "decibans"], rows)


def explain(scorer: Scorer, columns: Columns, table: Table) -> list[Explanation]:
    """The explanation of every row of a table."""
    parts = scorer.evidence(columns, table.n_rows)
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
    return None if isinstance(value, float) and np.isnan(value) else value
