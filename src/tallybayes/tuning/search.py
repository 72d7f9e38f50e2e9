"""Step by step to a better model, each step by rows left out.

Every step tries candidates and takes the best one if it is better by more than chance would have it. What is compared
is the log loss at the best temperature, because columns that repeat each other make naive Bayes over-confident, and
the last step, which weighs the columns, takes that back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tallybayes.families import Family
from tallybayes.families.family import Floats
from tallybayes.model import Model
from tallybayes.tuning.candidate import Candidate, grid, other_options, other_strengths, with_strength
from tallybayes.tuning.column_evidence import Evidence, Judged
from tallybayes.tuning.tuning_result import Step
from tallybayes.tuning.weight_fit import KINDS, STRENGTH, Weights, cross_fitted, fitted

__all__ = ["Search", "Tell"]

Tell = Callable[[str, float], None]  # what is being tried, and the share of it that is done

_COLUMNS = 200  # more columns than this are not left out one by one


@dataclass(eq=False)
class Search:
    """The state of a search: a candidate for every column, the temperature, and what has been done."""

    evidence: Evidence
    model: Model
    asked: Mapping[str, Family]  # the families before anything was chosen
    tell: Tell
    now: dict[str, Candidate]
    judged: Judged
    temperature: float = 1.0
    steps: list[Step] = field(default_factory=list)
    curve: list[dict[str, float]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    weights: Weights | None = None

    @classmethod
    def of(cls, evidence: Evidence, model: Model, asked: Mapping[str, Family], tell: Tell) -> Search:
        """The start: the model as it is; asked: the families before anything was chosen."""
        blocks = model.without_rows().scorer.blocks
        families = model.schema.families
        now = {
            name: Candidate(model, name, families[name]) for name in sorted(n for b in blocks for n in b.tally.features)
        }
        return cls(evidence, model, asked, tell, now, evidence.judged(model))

    # Arrays

    def array(self, candidate: Candidate) -> Floats:
        """What a candidate says about the rows."""
        given = None if candidate.family == candidate.model.schema.families[candidate.name] else candidate.family
        return self.evidence.of(candidate.model, candidate.name, candidate.smoothing, given)

    def total(self) -> Floats:
        """What all columns say together."""
        result = np.zeros_like(self.judged.log_prior)
        for candidate in self.now.values():
            result += self.array(candidate)
        return result

    def losses(self, total: Floats) -> Floats:
        """-log P(class | row) of every row, at the temperature as it is."""
        return self.judged.losses(self.judged.log_prior + self.temperature * total)

    def mean(self, losses: Floats) -> float:
        """The mean over the rows."""
        return float((losses * self.judged.weights).sum() / self.judged.weights.sum())

    def log_loss(self) -> float:
        """The log loss as it is, without a temperature."""
        return self.mean(self.judged.losses(self.judged.log_prior + self.total()))

    def warm(self) -> None:
        """Find the best temperature for the columns as they are; none that would make them surer than they are."""
        from scipy.optimize import minimize_scalar

        total = self.total()

        def loss(t: float) -> float:
            return self.mean(self.judged.losses(self.judged.log_prior + t * total)) + STRENGTH * (t - 1) ** 2 / 2 / len(
                total
            )

        self.temperature = float(minimize_scalar(loss, bounds=(0.01, 1.0), method="bounded").x)

    def is_better(self, new: Floats, old: Floats, tried: int = 1) -> bool:
        """Whether losses are lower by more than chance would have it.

        That is by more than 1.5 standard errors of their difference (a single row can make one), and over all rows by
        more than a nat and the logarithm of how many were tried: the best of many looks good even where none is.
        """
        share = self.judged.weights / self.judged.weights.sum()
        better = old - new
        mean = float((better * share).sum())
        error = np.sqrt(float((share * (better - mean) ** 2).sum()) / len(share))
        return bool(mean > 1.5 * error and mean * len(share) > 1.0 + np.log(tried))

    # Steps

    def one_strength(self, n: int) -> None:
        """One k for all columns that take one, from a grid; the curve is that of the plain log loss."""
        names = [name for name, own in self.now.items() if own.family.takes_smoothing and not self._has_given_k(name)]
        if not names:
            return
        rest = self.total() - sum((self.array(self.now[name]) for name in names), np.zeros(1))
        before, best = self.losses(self.total()), None
        for i, k in enumerate(ks := grid(n)):
            self.tell("smoothing", i / n)
            tried = {name: with_strength(self.now[name], k) for name in names}
            total = rest + sum(self.array(own) for own in tried.values())
            plain = self.mean(self.judged.losses(self.judged.log_prior + total))
            self.curve.append({"k": k, "log_loss": plain})
            losses = self.losses(total)
            if best is None or self.mean(losses) < self.mean(best[0]):
                best = losses, k, tried
        assert best is not None
        won = self.is_better(best[0], before, len(ks))
        if won:
            self.now |= best[2]
        choice = f"k = {best[1]:.3g} for all" if won else "as it was"
        self._note("one k for all columns", len(ks), choice, self.mean(before), self.mean(best[0]) if won else None)

    def _has_given_k(self, name: str) -> bool:
        """Whether the user specified a family with a strength of smoothing among its options."""
        given = self.asked.get(name)
        return given is not None and given.own_smoothing != "auto"

    def each(self, what: str, others: Callable[[Candidate], Iterable[Candidate]]) -> None:
        """For every column in turn the best of its candidates, the other columns being as they are."""
        candidates = {name: list(others(own)) for name, own in self.now.items()}
        tried, chosen = sum(map(len, candidates.values())), []
        start = self.mean(self.losses(total := self.total()))
        for i, (name, own) in enumerate(candidates.items()):
            self.tell(what, i / len(candidates))
            rest, before, best = total - self.array(self.now[name]), self.losses(total), None
            for candidate in own:
                losses = self.losses(rest + self.array(candidate))
                if best is None or self.mean(losses) < self.mean(best[0]):
                    best = losses, candidate
            if best is not None and self.is_better(best[0], before, tried):
                total = rest + self.array(best[1])
                self.now[name] = best[1]
                chosen.append(f"{name}: {best[1]}")
        if tried:
            after = self.mean(self.losses(total)) if chosen else None
            self._note(what, tried, ", ".join(chosen) or "as it was", start, after)

    def families(self, models: dict[str, list[Model]]) -> None:
        """For every column the family that suits, of those that can count it."""

        def others(now: Candidate) -> Iterable[Candidate]:
            own = models.get(now.name, [])
            return (Candidate(model, now.name, model.schema.families[now.name]) for model in own)

        self.each("families of columns", others)

    def strengths(self) -> None:
        """For every column its own k."""
        self.each("k of each column", other_strengths)

    def texts(self) -> None:
        """For every column whose family has options to choose from, such as the variant, tf and k of text."""
        self.each("options of families", lambda now: other_options(now, self.asked.get(now.name)))

    def prior(self, models: list[tuple[str, Model]]) -> None:
        """The strength of the class prior."""
        total, before, best = self.total(), self.losses(self.total()), None
        for name, model in models:
            judged = self.evidence.judged(model)
            losses = judged.losses(judged.log_prior + self.temperature * total)
            if best is None or self.mean(losses) < self.mean(best[0]):
                best = losses, name, judged, model
        assert best is not None
        won = self.is_better(best[0], before, len(models))
        if won:
            self.judged, self.model = best[2], best[3]
        self._note(
            "class prior",
            len(models),
            best[1] if won else "as it was",
            self.mean(before),
            self.mean(best[0]) if won else None,
        )

    def columns(self) -> None:
        """Which columns to keep: the one that does most harm goes, as long as one does; then some may return."""
        if len(self.now) > _COLUMNS or len(self.now) < 2:
            return
        gone: list[Candidate] = []
        total, tried = self.total(), 0
        start, n = self.mean(self.losses(total)), len(self.now)
        while len(self.now) > 1:
            self.tell("columns to keep", len(gone) / n)
            without = {name: self.mean(self.losses(total - self.array(own))) for name, own in self.now.items()}
            tried += len(without)
            name = min(without, key=lambda name: (without[name], name))
            if not self.is_better(self.losses(total - self.array(self.now[name])), self.losses(total), len(without)):
                break
            total = total - self.array(self.now[name])
            gone.append(self.now.pop(name))
        for candidate in gone[::-1]:  # one that was left out early may be worth something now
            tried += 1
            if self.is_better(self.losses(total + self.array(candidate)), self.losses(total)):
                total = total + self.array(candidate)
                self.now[candidate.name] = candidate
        self.left_out = left = [own.name for own in gone if own.name not in self.now]
        self.now = dict(sorted(self.now.items()))
        choice = f"without {', '.join(left)}" if left else "all"
        self._note("columns to keep", tried, choice, start, self.mean(self.losses(total)) if left else None)

    def fit_weights(self, seed: int) -> None:
        """A weight for each column, by rows of which a fifth is kept apart in turn."""
        names, judged = list(self.now), self.judged
        arrays = np.stack([self.array(own) for own in self.now.values()]) if names else None
        if arrays is None:
            return
        given: tuple[Any, ...] = (judged.log_prior, arrays, judged.codes, judged.weights)
        before = best = cross_fitted("none", *given, seed=seed)
        chosen = KINDS[0]
        for i, kind in enumerate(KINDS[1:]):
            self.tell("weights of columns", i / len(KINDS))
            losses = cross_fitted(kind, *given, seed=seed)
            if self.is_better(losses, best, len(KINDS)):
                best, chosen = losses, kind
        words = {
            "none": "as it was",
            "temperature": "one weight for all",
            "shared": "a weight for each column",
            "per class": "a weight for each column and class",
        }
        self.weights = fitted(chosen, *given)
        self._note("weights of columns", len(KINDS), words[chosen], self.mean(before), self.mean(best))

    def _note(self, what: str, tried: int, choice: str, before: float, after: float | None) -> None:
        self.steps.append(Step(what, tried, choice, before, before if after is None else after))
