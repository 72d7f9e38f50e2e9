"""What a model says about data: labels, probabilities, explanations; and what it knows, for people."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.axis import to_array
from tallybayes.data.label import find_labels
from tallybayes.data.table import Table, to_table
from tallybayes.errors import DataError, UnsupportedError, check_integer
from tallybayes.explaining.description import Description
from tallybayes.explaining.explanation import Explanation, explain
from tallybayes.explaining.objective import Objective, objective
from tallybayes.explaining.sampling import sample
from tallybayes.families.family import Floats
from tallybayes.model.reading import Reading
from tallybayes.scoring.interval import described
from tallybayes.scoring.scorer import log_marginal, most_probable
from tallybayes.scoring.small_batch import ROWS, SmallBatchScorer

__all__ = ["Scoring", "checked_row"]


class Scoring(Reading):
    """A model that answers. Nothing here changes it."""

    def predict(self, data: Any) -> NDArray[Any]:
        """The label of every row: the most probable one, or what `decision` says; None where it abstains.

        Ties go to the label first in sorted order.
        """
        if not self.classes:
            raise DataError("the model has not learned any row yet")
        p = self.predict_proba(data)
        if self._settings.decision is None:
            return np.asarray(to_array(self.classes)[most_probable(p)])
        with np.errstate(divide="ignore"):
            return self.labels_of(self._settings.decision.chosen(np.log(p), self.classes))

    def predict_proba(self, data: Any, *, calibrated: bool = True) -> Floats:
        """P(class | row), (rows, classes), the classes as in `classes`; calibrated, if the model is."""
        if (found := self._scored_few(data, normalise=True)) is None:
            found = self._scored(data, partial(self._derived().log_joint, normalise=True))
        return self._put_right(found) if calibrated else found

    def predict_proba_one(self, row: Mapping[Any, Any]) -> dict[Any, float]:
        """P(class | row) of a single row, by label; what the model does not know says nothing.

        >>> import tallybayes as tb
        >>> model = tb.fit([{"fever": 1}, {"fever": 0}], label=["ill", "well"])
        >>> model.predict_proba_one({"cough": True})
        {'ill': 0.5, 'well': 0.5}
        """
        scorer = self._derived()
        scores = self._scored_few(row, normalise=True) if type(row) is dict else None
        if scores is None and scorer.classes:
            known = to_table(
                [{name: value for name, value in checked_row(row).items() if str(name) in self._schema.families}]
            )
            scores = self._tolerant(known, partial(scorer.log_joint, normalise=True))
        if scores is None:
            return {}
        return dict(zip(scorer.classes, self._put_right(scores)[0].tolist(), strict=True))

    def log_joint(self, data: Any) -> Floats:
        """Log P(class, row), (rows, classes)."""
        if (found := self._scored_few(data, normalise=False)) is not None:
            return found
        return self._scored(data, self._derived().log_joint)

    def log_marginal(self, data: Any) -> Floats:
        """Log p(row): low for rows unlike anything learned."""
        self._only_likelihoods("log_marginal")
        return log_marginal(self.log_joint(data))

    def leave_one_out(self, data: Any, *, label: Any = None, weight: Any = None, calibrated: bool = True) -> Floats:
        """Log P(class | row) of rows that were learned, each by the model that never saw it, (rows, classes).

        In closed form, at about the cost of scoring; rows without a label or of weight 0, which were never learned,
        are just scored.

        >>> import tallybayes as tb
        >>> rows = {"fever": [1, 1, 0, 0, 0], "ill": ["yes", "yes", "no", "no", "yes"]}
        >>> model = tb.fit(rows, label="ill", smoothing=1)
        >>> [round(float(p), 3) for p in np.exp(model.leave_one_out(rows)[:, 1])]
        [0.667, 0.667, 0.545, 0.545, 0.25]
        """
        self._only_learned("leave_one_out")
        parts = [part for _, part in self.left_out(data, label=label, weight=weight, calibrated=calibrated)]
        return parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros((0, len(self.classes)))])

    def explain(self, data: Any) -> list[Explanation]:
        """For every row the prior, what each column added and the posterior; the parts add up to log P(class, row)."""
        evidence = self._derived().evidence
        return [
            one
            for table, parts in self._worked(data, evidence)
            for one in explain(self._derived(), parts, table, self._settings)
        ]

    def objective(self, data: Any, *, label: Any = None) -> Objective:
        """The negative log likelihood of labelled data, split into a part for the prior and one per column."""
        self._only_likelihoods("objective")
        total = Objective(0.0, {})
        for table, parts in self._worked(data, self._derived().evidence, label=(label := self.label_for(label))):
            total += objective(self._derived(), parts, find_labels(table, label))
        return total

    def sample(self, n: int, *, seed: int | None = None) -> Any:
        """Rows drawn from the model, as a pyarrow Table with the label in the last column."""
        self._only_likelihoods("sample")
        if seed is not None:
            check_integer("seed", seed, at_least=0)
        return sample(self._derived(), n, self._schema, np.random.default_rng(seed))

    def describe(self) -> Description:
        """The parameters of every column per class, to be printed or read as rows."""
        return Description.of(self._derived(), self._schema, None if self._written else self.class_counts)

    def intervals(self, level: float = 0.95) -> Description:
        """The same with credible intervals from the posteriors, leaving out the same share on both sides.

        With smoothing "auto" what is learned of categories and yes/no is P(class | value), at the class shares of the
        column; so these rows are of that, averaged over strengths. Those of a histogram are too, at eight values.

        >>> import tallybayes as tb
        >>> model = tb.fit({"fever": [1, 1, 0], "ill": ["yes", "yes", "no"]}, label="ill", smoothing=1)
        >>> {name: round(model.intervals(0.9).columns["fever"][1][name], 3) for name in ("P(yes)", "low", "high")}
        {'P(yes)': 0.75, 'low': 0.368, 'high': 0.983}
        """
        self._only_learned("intervals")
        return described(self._derived(), self._schema, self._settings, self.class_counts, level)

    def predict_interval(self, data: Any, level: float = 0.95, *, seed: int = 0, calibrated: bool = True) -> Floats:
        """Intervals of P(class | row), (rows, classes, 2): how far the rows that were learned leave it open.

        >>> import tallybayes as tb
        >>> rows = {"fever": [1, 1, 0, 0, 0], "ill": ["yes", "yes", "no", "no", "yes"]}
        >>> few, many = (tb.fit({k: v * n for k, v in rows.items()}, label="ill", smoothing=1) for n in (1, 100))
        >>> [model.predict_interval({"fever": 1})[0, 1].round(2).tolist() for model in (few, many)]
        [[0.26, 0.99], [0.98, 1.0]]
        """
        parts = [ends for _, (_, ends) in self.with_intervals(data, level, seed=seed, calibrated=calibrated)]
        return parts[0] if len(parts) == 1 else np.concatenate([*parts, np.zeros((0, len(self.classes), 2))])

    def log_evidence(self) -> dict[str, float]:
        """Log marginal likelihood of every column's tally under its prior, in closed form.

        For comparing strengths within a family, not families with each other: a histogram and the "auto" smoothing of
        categories weigh the classes given the values, the others the values given the classes.
        """
        self._only_likelihoods("log_evidence")
        self._only_learned("log_evidence")
        result: dict[str, float] = {}
        for tally in self._total.aligned(self._total.in_use()).blocks.values():
            for name in tally.features:
                family = self._schema.families[name]
                k = self._settings.smoothing_of(name)
                if k == 0:
                    raise UnsupportedError("smoothing above 0: maximum likelihood has no prior", column=name)
                part = tally.only((name,))
                result[name] = float(family.evidence(part, family.prior(part, k))[0])
        return dict(sorted(result.items()))

    def _scored_few(self, data: Any, *, normalise: bool) -> Floats | None:
        """The quick way for a dict or a small matrix; None if there is none."""
        kind = type(data)
        if kind is Table and data.matrix is not None:
            few = self._few or self._fews()
            return few.matrix(data.matrix, self._derived(), normalise=normalise, names=tuple(data.columns))
        if getattr(data, "format", None) == "csr" and data.shape[0] <= ROWS and len(data.shape) == 2:
            return (self._few or self._fews()).bags(data, self._derived(), normalise=normalise)
        if kind is not dict and (kind is not np.ndarray or len(data) > ROWS):
            return None
        few = self._few or self._fews()
        return (few.row if kind is dict else few.matrix)(data, self._derived(), normalise=normalise)

    def _fews(self) -> SmallBatchScorer:
        self._few = SmallBatchScorer(self._schema)
        return self._few


def checked_row(row: Any) -> Mapping[Any, Any]:
    """A single row, if it is one."""
    if not isinstance(row, Mapping):
        raise DataError("a row: a dict of column names and values", got=row)
    return row
