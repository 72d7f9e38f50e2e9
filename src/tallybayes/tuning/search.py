"""Stepwise selection of hyperparameters by leave-one-out log loss.

Every step evaluates candidates and takes the best one if the improvement is significant. By another criterion than the
log loss, its values take the place of the log losses (`evaluation/criterion.py`). The log losses are compared
at the best temperature: correlated columns make naive Bayes over-confident, and the column weights that are fitted
afterwards correct that (`tuning/term_search.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from tallybayes.columns.column_spec import Origin, Status
from tallybayes.evaluation.criterion import LOG_LOSS, Criterion
from tallybayes.families import Family
from tallybayes.families.family import Floats
from tallybayes.model import Model
from tallybayes.state.model_state import ModelState
from tallybayes.tables.source import Source
from tallybayes.tuning.candidate import Candidate, grid, other_families, other_options, other_strengths, with_strength
from tallybayes.tuning.column_evidence import ColumnEvidence, ScoredRows
from tallybayes.tuning.tuning_result import Progress, Step

__all__ = ["UNCHANGED", "Search", "select_hyperparameters"]

T = TypeVar("T")

UNCHANGED = "unchanged"  # the choice of a step without a significant improvement

_PRIORS = (0.0, 0.1, 10.0, 100.0)  # candidates for the smoothing of the class prior
_COLUMNS = 200  # with more columns no selection of columns is attempted
_ERRORS = 1.5  # standard errors by which the criterion must improve, at least
_TO_ONE = 10.0  # strength of the shrinkage of the temperature to 1


@dataclass(eq=False)
class Search:
    """The state of a search: a candidate for every column, the temperature, and the steps so far."""

    evidence: ColumnEvidence
    model: Model
    given: Mapping[str, Family]  # the families before any choice
    progress: Progress
    now: dict[str, Candidate]
    rows: ScoredRows
    criterion: Criterion
    temperature: float = 1.0
    steps: list[Step] = field(default_factory=list)
    curve: list[dict[str, float]] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        evidence: ColumnEvidence,
        model: Model,
        given: Mapping[str, Family],
        progress: Progress,
        criterion: Criterion = LOG_LOSS,
    ) -> Search:
        """The start of a search, from a fitted model."""
        blocks = model.snapshot().scorer.blocks
        families = model.schema.families
        now = {
            name: Candidate(model, name, families[name]) for name in sorted(n for b in blocks for n in b.tally.features)
        }
        return cls(evidence, model, given, progress, now, evidence.rows(model), criterion)

    # Arrays

    def array(self, candidate: Candidate) -> Floats:
        """The leave-one-out log-likelihoods of a candidate, (rows, classes)."""
        family = None if candidate.family == candidate.model.schema.families[candidate.name] else candidate.family
        return self.evidence.of(candidate.model, candidate.name, candidate.smoothing, family)

    def total(self) -> Floats:
        """The sum over all columns."""
        result = np.zeros_like(self.rows.log_prior)
        for candidate in self.now.values():
            result += self.array(candidate)
        return result

    def losses(self, total: Floats) -> Floats:
        """-log P(class | row) of every row at the current temperature, or what it contributes to the criterion."""
        return self._losses_of(self.rows.log_prior + self.temperature * total)

    def _losses_of(self, log_score: Floats) -> Floats:
        return self.criterion.losses(log_score, self.rows.codes, self.rows.weights)

    def value(self) -> float:
        """The criterion of the current candidates at temperature 1."""
        return self.criterion.value(self.rows.mean(self._losses_of(self.rows.log_prior + self.total())))

    def log_loss(self) -> float:
        """The log loss of the current candidates at temperature 1."""
        return self.rows.mean(self.rows.losses(self.rows.log_prior + self.total()))

    def fit_temperature(self) -> None:
        """Fit the temperature, at most 1, that minimises the log loss of the current candidates."""
        from scipy.optimize import minimize_scalar

        total = self.total()

        def loss(t: float) -> float:
            penalty = _TO_ONE * (t - 1) ** 2 / 2 / len(total)
            return self.rows.mean(self.rows.losses(self.rows.log_prior + t * total)) + penalty

        self.temperature = float(minimize_scalar(loss, bounds=(0.01, 1.0), method="bounded").x)

    def is_better(self, new: Floats, old: Floats, tried: int = 1) -> bool:
        """Whether losses are significantly lower.

        The mean must improve by more than 1.5 standard errors, and the sum by more than 1 + log(candidates) nats, a
        correction for selecting the best of several. Other criteria than the log loss have no nats: they must improve
        by so many standard errors that a log likelihood ratio would have these nats, sqrt(2 nats).
        """
        better, nats = old - new, 1.0 + np.log(tried)
        mean, error = self.rows.mean(better), self.rows.error(better)
        if self.criterion is not LOG_LOSS:
            return bool(mean > max(_ERRORS, np.sqrt(2 * nats)) * error)
        return bool(mean > _ERRORS * error and mean * len(better) > nats)

    # Steps

    def one_strength(self, n: int) -> None:
        """One k from a grid for all columns with a k; `curve` has the log loss of each at temperature 1."""
        takes = {name: candidate.family.takes_smoothing for name, candidate in self.now.items()}
        names = [name for name, takes_k in takes.items() if takes_k and not self._has_given_k(name)]
        if not names:
            return
        rest = self.total() - sum((self.array(self.now[name]) for name in names), np.zeros(1))

        def try_each() -> Iterator[tuple[Floats, tuple[float, dict[str, Candidate]]]]:
            for i, k in enumerate(grid(n)):
                self.progress("smoothing", i / n)
                tried = {name: with_strength(self.now[name], k) for name in names}
                total = rest + sum(self.array(candidate) for candidate in tried.values())
                log_score = self.rows.log_prior + total
                self.curve.append({"k": k, "log_loss": self.rows.mean(self.rows.losses(log_score))})
                if self.criterion is not LOG_LOSS:
                    value = self.criterion.value(self.rows.mean(self._losses_of(log_score)))
                    self.curve[-1][self.criterion.name] = value
                yield self.losses(total), (k, tried)

        before, choice = self.losses(self.total()), UNCHANGED
        if best := self._better(try_each(), before, n):
            self.now |= best[1][1]
            choice = f"k = {best[1][0]:.3g} for all"
        self._note("one k for all columns", n, choice, before, best[0] if best else before)

    def _has_given_k(self, name: str) -> bool:
        """Whether the user specified a family with a strength of smoothing among its options."""
        family = self.given.get(name)
        return family is not None and family.own_smoothing != "auto"

    def each(self, what: str, others: Callable[[Candidate], Iterable[Candidate]]) -> None:
        """For every column in turn the best of its candidates, given the other columns."""
        candidates = {name: list(others(candidate)) for name, candidate in self.now.items()}
        tried, chosen = sum(map(len, candidates.values())), []
        start = self.losses(total := self.total())
        for i, (name, of_column) in enumerate(candidates.items()):
            self.progress(what, i / len(candidates))
            rest = total - self.array(self.now[name])
            losses = ((self.losses(rest + self.array(candidate)), candidate) for candidate in of_column)
            if best := self._better(losses, self.losses(total), tried):
                self.now[name] = best[1]
                total = rest + self.array(best[1])
                chosen.append(f"{name}: {best[1]}")
        if tried:
            self._note(what, tried, ", ".join(chosen) or UNCHANGED, start, self.losses(total))

    def prior(self) -> None:
        """The smoothing of the class prior."""
        total, choice = self.total(), UNCHANGED
        models = [(k, self.model.with_settings(class_smoothing=k)) for k in _PRIORS]
        tried = ((k, model, self.evidence.rows(model)) for k, model in models)
        losses = ((self._losses_of(one[2].log_prior + self.temperature * total), one) for one in tried)
        before = self.losses(total)
        if best := self._better(losses, before, len(models)):
            k, self.model, self.rows = best[1]
            choice = f"k = {k:g}"
        self._note("class prior", len(models), choice, before, best[0] if best else before)

    def columns(self) -> None:
        """Backward elimination: exclude columns as long as that lowers the log loss, then reconsider each of them."""
        if len(self.now) > _COLUMNS or len(self.now) < 2:
            return
        removed: list[Candidate] = []
        total, tried = self.total(), 0
        start, n = self.losses(total), len(self.now)
        while len(self.now) > 1:
            self.progress("columns to keep", len(removed) / n)
            without = {
                name: self.rows.mean(self.losses(total - self.array(candidate))) for name, candidate in self.now.items()
            }
            tried += len(without)
            name = min(without, key=lambda name: (without[name], name))
            if not self.is_better(self.losses(total - self.array(self.now[name])), self.losses(total), len(without)):
                break
            total = total - self.array(self.now[name])
            removed.append(self.now.pop(name))
        for candidate in removed[::-1]:  # a column excluded early may be useful without those excluded later
            tried += 1
            if self.is_better(self.losses(total + self.array(candidate)), self.losses(total)):
                total = total + self.array(candidate)
                self.now[candidate.name] = candidate
        self.excluded = [candidate.name for candidate in removed if candidate.name not in self.now]
        self.now = dict(sorted(self.now.items()))
        choice = f"without {', '.join(self.excluded)}" if self.excluded else "all"
        self._note("columns to keep", tried, choice, start, self.losses(total) if self.excluded else start)

    def _better(self, tried: Iterable[tuple[Floats, T]], before: Floats, n: int) -> tuple[Floats, T] | None:
        """The best of n candidates with their losses; None if it is not significantly better than before."""
        best = min(tried, key=lambda one: self.rows.mean(one[0]), default=None)
        return best if best is not None and self.is_better(best[0], before, n) else None

    def _note(self, what: str, tried: int, choice: str, before: Floats, after: Floats) -> None:
        values = (self.criterion.value(self.rows.mean(losses)) for losses in (before, after))
        self.steps.append(Step(what, tried, choice, *values))


def select_hyperparameters(
    search: Search, what: Collection[str], source: Source, label: Any, *, strengths: int
) -> Model:
    """The model selected by a search over the hyperparameters in `what`, without column weights."""

    def families() -> None:
        step = "families of columns"
        others = other_families(search.evidence, source, label, lambda share: search.progress(step, share))
        search.each(step, lambda now: others.get(now.name, []))

    def text() -> None:
        search.each("options of families", lambda now: other_options(now, search.given.get(now.name)))

    steps: list[tuple[str, Callable[[], None]]] = [
        ("smoothing", lambda: search.one_strength(strengths)),
        ("families", families),
        ("smoothing", lambda: search.each("k of each column", other_strengths)),
        ("text", text),  # the variant, tf and k of text
    ]
    if search.model.settings.class_prior == "empirical":
        steps.append(("class_smoothing", search.prior))
    search.fit_temperature()
    for name, step in steps:
        if name in what:
            step()
            search.fit_temperature()
    if "columns" in what:
        search.columns()
    return _selected_model(search, source, label)


def _selected_model(search: Search, source: Source, label: Any) -> Model:
    """The model with the selected hyperparameters; refitted if families or columns have changed."""
    base, schema, settings = search.evidence.model, search.evidence.model.schema.copy(), search.model.settings
    strengths = {name: candidate.smoothing for name, candidate in search.now.items() if candidate.smoothing is not None}
    if strengths:
        smoothing = {name: settings.smoothing_of(name) for name in search.now}
        settings = settings.with_options(smoothing={**smoothing, **strengths})
    same = True
    for name, candidate in search.now.items():
        if candidate.family != schema.columns[name].family:
            same = same and candidate.family.counted == base.schema.families[name].counted
            reason = f"{schema.columns[name].reason}; selected by tuning"
            schema.columns[name] = replace(
                schema.columns[name], family=candidate.family, origin=Origin.TUNED, reason=reason
            )
    for name in search.excluded:
        reason = "excluded by tuning: removing it lowers the leave-one-out log loss"
        schema.columns[name] = schema.columns[name].without_family(Status.BY_TUNING, reason)
    if same and not search.excluded:
        result = Model(replace(base.snapshot().state, schema=schema, settings=settings))
    else:
        search.progress("fitting", 0.0)
        result = Model(ModelState(schema, settings))
        result.learn(source, label=label)
    return result
