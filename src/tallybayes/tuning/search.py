"""Stepwise selection of hyperparameters by leave-one-out log loss.

Every step evaluates candidates and takes the best one if the improvement is significant. The log losses are compared
at the best temperature: correlated columns make naive Bayes over-confident, and the column weights that are fitted
afterwards correct that (`tuning/term_search.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tallybayes.families import Family
from tallybayes.families.family import Floats
from tallybayes.model import Model
from tallybayes.tuning.candidate import Candidate, grid, other_options, other_strengths, with_strength
from tallybayes.tuning.column_evidence import ColumnEvidence, ScoredRows
from tallybayes.tuning.tuning_result import Step

__all__ = ["UNCHANGED", "Progress", "Search"]

Progress = Callable[[str, float], None]  # called with the name of a step and the completed share of it

UNCHANGED = "unchanged"  # the choice of a step without a significant improvement

_COLUMNS = 200  # with more columns no selection of columns is attempted
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
    temperature: float = 1.0
    steps: list[Step] = field(default_factory=list)
    curve: list[dict[str, float]] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, evidence: ColumnEvidence, model: Model, given: Mapping[str, Family], progress: Progress) -> Search:
        """The start of a search, from a fitted model."""
        blocks = model.snapshot().scorer.blocks
        families = model.schema.families
        now = {
            name: Candidate(model, name, families[name]) for name in sorted(n for b in blocks for n in b.tally.features)
        }
        return cls(evidence, model, given, progress, now, evidence.rows(model))

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
        """-log P(class | row) of every row at the current temperature."""
        return self.rows.losses(self.rows.log_prior + self.temperature * total)

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
        correction for selecting the best of several.
        """
        share = self.rows.weights / self.rows.weights.sum()
        better = old - new
        mean = float((better * share).sum())
        error = np.sqrt(float((share * (better - mean) ** 2).sum()) / len(share))
        return bool(mean > 1.5 * error and mean * len(share) > 1.0 + np.log(tried))

    # Steps

    def one_strength(self, n: int) -> None:
        """One k from a grid for all columns with a k; `curve` has the log loss of each at temperature 1."""
        names = [
            name
            for name, candidate in self.now.items()
            if candidate.family.takes_smoothing and not self._has_given_k(name)
        ]
        if not names:
            return
        rest = self.total() - sum((self.array(self.now[name]) for name in names), np.zeros(1))
        before, best = self.losses(self.total()), None
        for i, k in enumerate(ks := grid(n)):
            self.progress("smoothing", i / n)
            tried = {name: with_strength(self.now[name], k) for name in names}
            total = rest + sum(self.array(candidate) for candidate in tried.values())
            plain = self.rows.mean(self.rows.losses(self.rows.log_prior + total))
            self.curve.append({"k": k, "log_loss": plain})
            losses = self.losses(total)
            if best is None or self.rows.mean(losses) < self.rows.mean(best[0]):
                best = losses, k, tried
        assert best is not None
        won = self.is_better(best[0], before, len(ks))
        if won:
            self.now |= best[2]
        choice = f"k = {best[1]:.3g} for all" if won else UNCHANGED
        self._note(
            "one k for all columns", len(ks), choice, self.rows.mean(before), self.rows.mean(best[0]) if won else None
        )

    def _has_given_k(self, name: str) -> bool:
        """Whether the user specified a family with a strength of smoothing among its options."""
        family = self.given.get(name)
        return family is not None and family.own_smoothing != "auto"

    def each(self, what: str, others: Callable[[Candidate], Iterable[Candidate]]) -> None:
        """For every column in turn the best of its candidates, given the other columns."""
        candidates = {name: list(others(candidate)) for name, candidate in self.now.items()}
        tried, chosen = sum(map(len, candidates.values())), []
        start = self.rows.mean(self.losses(total := self.total()))
        for i, (name, others_of_column) in enumerate(candidates.items()):
            self.progress(what, i / len(candidates))
            rest, before, best = total - self.array(self.now[name]), self.losses(total), None
            for candidate in others_of_column:
                losses = self.losses(rest + self.array(candidate))
                if best is None or self.rows.mean(losses) < self.rows.mean(best[0]):
                    best = losses, candidate
            if best is not None and self.is_better(best[0], before, tried):
                total = rest + self.array(best[1])
                self.now[name] = best[1]
                chosen.append(f"{name}: {best[1]}")
        if tried:
            after = self.rows.mean(self.losses(total)) if chosen else None
            self._note(what, tried, ", ".join(chosen) or UNCHANGED, start, after)

    def families(self, models: dict[str, list[Model]]) -> None:
        """For every numeric column the best of the possible families."""

        def others(now: Candidate) -> Iterable[Candidate]:
            alternatives = models.get(now.name, [])
            return (Candidate(model, now.name, model.schema.families[now.name]) for model in alternatives)

        self.each("families of columns", others)

    def strengths(self) -> None:
        """A k for each column."""
        self.each("k of each column", other_strengths)

    def texts(self) -> None:
        """Options of families for each column, such as the variant, tf and k of text."""
        self.each("options of families", lambda now: other_options(now, self.given.get(now.name)))

    def prior(self, models: list[tuple[str, Model]]) -> None:
        """The smoothing of the class prior."""
        total, before, best = self.total(), self.losses(self.total()), None
        for name, model in models:
            rows = self.evidence.rows(model)
            losses = rows.losses(rows.log_prior + self.temperature * total)
            if best is None or rows.mean(losses) < rows.mean(best[0]):
                best = losses, name, rows, model
        assert best is not None
        won = self.is_better(best[0], before, len(models))
        if won:
            self.rows, self.model = best[2], best[3]
        choice, after = (best[1], self.rows.mean(best[0])) if won else (UNCHANGED, None)
        self._note("class prior", len(models), choice, self.rows.mean(before), after)

    def columns(self) -> None:
        """Backward elimination: exclude columns as long as that lowers the log loss, then reconsider each of them."""
        if len(self.now) > _COLUMNS or len(self.now) < 2:
            return
        removed: list[Candidate] = []
        total, tried = self.total(), 0
        start, n = self.rows.mean(self.losses(total)), len(self.now)
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
        self._note(
            "columns to keep", tried, choice, start, self.rows.mean(self.losses(total)) if self.excluded else None
        )

    def _note(self, what: str, tried: int, choice: str, before: float, after: float | None) -> None:
        self.steps.append(Step(what, tried, choice, before, before if after is None else after))
