"""A model as a generative model: how classes and rows come about, and Bayes' rule.

    log joint    = log prior + log likelihood              log P(c, x) = log P(c) + log p(x | c)
    log marginal = log of the sum over classes             log p(x)    = log sum over c of P(c, x)
    P(c | x)     = exp(log joint - log marginal)           what `plain().predict_proba` answers

These are probabilities of the sums, the smoothing and the class prior alone. What is fitted to give better answers
(column weights, corrections, calibration) and class weights are no part of them: `Model.log_score` and
`Model.predict_proba` have those. Scores that are not likelihoods, such as those of complement naive Bayes, are refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.errors import ParameterError, check_integer
from tallybayes.families.family import Floats, Predictive
from tallybayes.model.current_state import CurrentState, Reading
from tallybayes.scoring.posterior import log_marginal
from tallybayes.scoring.scorer import Columns, Scorer
from tallybayes.scoring.snapshot import Snapshot

if TYPE_CHECKING:  # what explains is imported when it is asked for: a prediction does not need it
    from tallybayes.explaining.description import Description
    from tallybayes.explaining.likelihood import Objective
    from tallybayes.explaining.parameter_counts import ParameterCounts

__all__ = ["GenerativeModel"]


class GenerativeModel:
    """The probabilities of classes and rows; the base of `Model`.

    >>> import tallybayes as tb
    >>> model = tb.fit({"fever": [1, 1, 0, 0], "ill": ["yes", "no", "no", "no"]}, label="ill", smoothing=1)
    >>> joint = model.log_prior() + model.log_likelihood({"fever": 1})
    >>> np.exp(joint - model.log_marginal({"fever": 1})).round(3).tolist()
    [[0.545, 0.455]]
    >>> model.plain().predict_proba({"fever": 1}).round(3).tolist()
    [[0.545, 0.455]]
    """

    _current: CurrentState

    def reading(self) -> Reading:
        """A context with the current snapshot, cheaper than `snapshot()`: no copy unless the model changes inside."""
        return Reading(self._current)

    def log_prior(self) -> Floats:
        """Log P(class), the classes as in `classes`: by the class prior, without class weights and fitted offsets."""
        with self.reading() as snapshot:
            return snapshot.plain().scorer.log_prior.copy()

    def log_likelihood(self, data: Any, *, coefficient: bool = False) -> Floats:
        """Log p(row | class), (rows, classes).

        coefficient: with the multinomial coefficient, log n! minus the sum of log x!, of bags and texts of the variant
        counts. Without it, which is the default, the tokens of a row are taken to come in one order; it is the same for
        all classes. Tokens that were never learned are no part of it, as they are no part of the likelihood.

        >>> import tallybayes as tb
        >>> table = {"bag": [["a", "a", "b"], ["b"]], "y": ["p", "q"]}
        >>> model = tb.fit(table, label="y", families={"bag": "multinomial"}, smoothing=1)
        >>> np.exp(model.log_likelihood({"bag": [["a", "b"]]}, coefficient=True)).round(3).tolist()  # 2 P(a) P(b)
        [[0.48, 0.444]]
        """
        with self.reading() as snapshot:
            plain = _with_likelihoods(snapshot, "log_likelihood")
            if _is_wanted(coefficient):
                return _with_coefficient(plain, plain.scorer.without_prior(), data)
            return plain.log_likelihood(data)

    def log_likelihood_by_column(self, data: Any, *, coefficient: bool = False) -> dict[str, Floats]:
        """Log p(value | class) of every column by its name, (rows, classes) each; they add up to `log_likelihood`.

        A value that is missing contributes 0. coefficient: as in `log_likelihood`.

        >>> import tallybayes as tb
        >>> model = tb.fit({"fever": [1, 1, 0], "ill": ["yes", "no", "no"]}, label="ill", smoothing=1)
        >>> np.exp(model.log_likelihood_by_column({"fever": 1})["fever"]).round(3).tolist()
        [[0.5, 0.667]]
        """
        with self.reading() as snapshot:
            plain = _with_likelihoods(snapshot, "log_likelihood_by_column")
            if _is_wanted(coefficient):
                batches = [parts for _, parts in plain.map_batches(data, partial(_evidence_with_coefficient, plain))]
            else:
                batches = [parts for _, parts in plain.evidence_batches(data)]
            names = sorted({name for parts in batches for name in parts})
            return {name: plain.join(parts[name] for parts in batches) for name in names}

    def log_joint(self, data: Any, *, coefficient: bool = False) -> Floats:
        """Log P(class, row), (rows, classes): `log_prior` plus `log_likelihood`, to which `coefficient` belongs."""
        with self.reading() as snapshot:
            return _log_joint(_with_likelihoods(snapshot, "log_joint"), data, coefficient)

    def log_marginal(self, data: Any, *, coefficient: bool = False) -> Floats:
        """Log p(row), (rows,): low for rows unlike anything learned; coefficient: as in `log_likelihood`."""
        with self.reading() as snapshot:
            return log_marginal(_log_joint(_with_likelihoods(snapshot, "log_marginal"), data, coefficient))

    def objective(self, data: Any, *, label: Any = None) -> Objective:
        """The negative log likelihood of labelled data, split into a part for the prior and one per column."""
        from tallybayes.explaining.likelihood import objective

        with self.reading() as snapshot:
            return objective(_with_likelihoods(snapshot, "objective"), data, label)

    def sample(self, n: int, *, seed: int | None = None) -> Any:
        """Rows drawn from the model, as a pyarrow Table with the label in the last column."""
        if seed is not None:
            check_integer("seed", seed, at_least=0)
        from tallybayes.explaining.sampling import sample

        with self.reading() as snapshot:
            return sample(_with_likelihoods(snapshot, "sample"), n, np.random.default_rng(seed))

    def log_evidence(self) -> dict[str, float]:
        """Log marginal likelihood of every column under its prior, to compare smoothing strengths within a family."""
        from tallybayes.explaining.likelihood import log_evidence

        with self.reading() as snapshot:
            return log_evidence(_with_likelihoods(snapshot, "log_evidence").state)

    def predictives(self, *, weighted: bool = False) -> dict[str, Predictive]:
        """The predictive of every column by name: P(value | class), with column weights if `weighted`."""
        with self.reading() as snapshot:
            return snapshot.scorer.by_column(weighted=weighted)

    @property
    def n_parameters(self) -> ParameterCounts:
        """The free parameters of the class prior and of every column, and their total; print it.

        >>> import tallybayes as tb
        >>> patients = {"fever": [1, 1, 0], "age": [3.5, 40, 9], "ill": ["yes", "no", "no"]}
        >>> model = tb.fit(patients, label="ill", numeric="gaussian")
        >>> model.n_parameters.columns, model.n_parameters.total
        ({'age': 4, 'fever': 2}, 7)
        """
        from tallybayes.explaining.parameter_counts import ParameterCounts

        with self.reading() as snapshot:
            return ParameterCounts.of(snapshot.scorer)

    def describe(self, column: str | Iterable[str] | None = None, *, all: bool = False) -> Description:
        """The parameters of every column per class, to be printed or read as rows.

        column: only this column, or these. all: every token of texts, bags and tags, not only the ten that favour a
        class most, and tables that are printed whole.

        >>> import tallybayes as tb
        >>> model = tb.fit({"tags": ["a|b", "a", "c"], "y": ["p", "p", "q"]}, label="y", families={"tags": "tags"})
        >>> {row["token"] for row in model.describe("tags", all=True).columns["tags"]} == {"a", "b", "c"}
        True
        """
        from tallybayes.explaining.description import Description

        with self.reading() as snapshot:
            return Description.of(snapshot, _as_names(column), lists_all=all)

    def intervals(
        self, level: float = 0.95, *, column: str | Iterable[str] | None = None, all: bool = False
    ) -> Description:
        """The parameters with equal-tailed credible intervals from their posteriors.

        For categories and booleans with smoothing "auto", and for histograms at eight values, they are intervals of
        P(class | value), which is what these families model. column, all: as in `describe`.
        """
        from tallybayes.explaining.description import describe_with_intervals

        with self.reading() as snapshot:
            return describe_with_intervals(snapshot, level, _as_names(column), lists_all=all)


def _as_names(column: str | Iterable[str] | None) -> list[str] | None:
    """One name or several as a list; None for all columns."""
    return [column] if isinstance(column, str) else None if column is None else list(dict.fromkeys(column))


def _is_wanted(coefficient: Any) -> bool:
    if not isinstance(coefficient, bool | np.bool_):
        raise ParameterError("coefficient: True or False", got=coefficient)
    return bool(coefficient)


def _log_joint(plain: Snapshot, data: Any, coefficient: Any) -> Floats:
    return _with_coefficient(plain, plain.scorer, data) if _is_wanted(coefficient) else plain.log_score(data)


def _with_coefficient(plain: Snapshot, scorer: Scorer, data: Any) -> Floats:
    """The scores of rows with the coefficients of all columns."""

    def work(columns: Columns, n_rows: int) -> Floats:
        result = scorer.log_score(columns, n_rows)
        for predictive in scorer.predictives:
            result += predictive.log_coefficient([columns[name] for name in predictive.features])[:, None]
        return result

    return plain.join(scores for _, scores in plain.map_batches(data, work))


def _evidence_with_coefficient(plain: Snapshot, columns: Columns, n_rows: int) -> dict[str, Floats]:
    """What every column adds to the scores, each with its own coefficient."""
    result = plain.scorer.evidence(columns, n_rows)
    for predictive in plain.scorer.predictives:
        for number, name in enumerate(predictive.features):
            result[name] = result[name] + predictive.part(number).log_coefficient([columns[name]])[:, None]
    return result


def _with_likelihoods(snapshot: Snapshot, verb: str) -> Snapshot:
    """The snapshot of the generative model; an error that names the column whose scores are not likelihoods."""
    plain = snapshot.plain()
    plain.state.require_likelihoods(verb)
    return plain
