"""Explanations of single rows: the prior, what every column adds, and their sum; of columns of tokens, every token.

In log space a naive Bayes score is a sum, so the explanation is exact: the contributions add up to the score. The score
of a derived column is divided among the columns of the table that it is computed from (`input_evidence.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import ParameterError, UnsupportedError, check_integer, shorten
from tallybayes.explaining.flip import Flip, smallest_flip, smallest_flip_by_rule
from tallybayes.explaining.input_evidence import DerivedParts
from tallybayes.families.family import Floats
from tallybayes.families.predictive import TokenEvidence
from tallybayes.formatting import DECIBANS, finite_json, number, printable, probability, shown, signed
from tallybayes.notebook_view import ResultView, TextGrid, data_frame, text_view
from tallybayes.scoring.posterior import Posterior

__all__ = ["Explanation", "shorten_word"]

_WORDS = 10  # of a text that are shown


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(ResultView):
    """The score of one row as a sum. All logs are natural; arrays have one entry per class.

    words: of columns of text, tags and other tokens that are not missing, what each token adds; they add up to the
    column. What belongs to no token is a part with `rest`: absent tokens, that there is a value, weights by class.
    posterior: how the model turns the sum into probabilities and an answer.
    priors: those that were given for columns that the row has a value in, in words.
    inseparable: columns of tokens in which the contribution of a token depends on the other tokens.
    derived: columns that are computed from other columns; own_evidence: the contributions without them.
    scored_values: the values that are scored in another form than `values` shows: days since 1970, of dates.
    """

    classes: Sequence[Any]
    values: dict[str, Any]
    log_prior: Floats
    log_evidence: dict[str, Floats]
    words: dict[str, list[TokenEvidence]] = field(default_factory=dict)
    posterior: Posterior | None = None
    inseparable: frozenset[str] = frozenset()
    derived: DerivedParts = field(default_factory=DerivedParts)
    own_evidence: dict[str, Floats] = field(default_factory=dict)
    scored_values: dict[str, Any] = field(default_factory=dict)
    priors: dict[str, str] = field(default_factory=dict)
    _heading: ClassVar[str] = "Explanation"

    @property
    def log_score(self) -> Floats:
        """The log score of every class: the sum of the prior and the contributions of the columns."""
        total = self.log_prior.copy()
        for part in self.log_evidence.values():
            total += part
        return total

    @property
    def probabilities(self) -> Floats:
        """P(class | row), calibrated if the model is; the class prior if every class is ruled out."""
        return np.asarray(self._proba(self.log_score[None])[0])

    @property
    def answer(self) -> Any:
        """The answer of `predict`: the most probable class, or by the decision rule; None where it abstains."""
        if not len(self.classes):
            return None
        (code,) = self._answer_codes(self.log_score[None]).tolist()
        return self.classes[code] if code >= 0 else None

    @property
    def has_rule(self) -> bool:
        """Whether the answer is given by a decision rule, not by the greatest probability."""
        return self.posterior is not None and self.posterior.decision is not None

    @property
    def ruled_out(self) -> bool:
        """Whether the row is impossible under every class."""
        return bool(np.isneginf(self.log_score).all())

    def _posterior(self) -> Posterior:
        return self.posterior or Posterior(self.classes, self.log_prior)

    def _proba(self, log_score: Floats) -> Floats:
        return np.exp(self._posterior().log_proba(log_score))

    def _answer_codes(self, log_score: Floats) -> NDArray[np.int64]:
        return self._posterior().answer_codes(self._proba(log_score))

    def log_odds(self, positive: Any, against: Any) -> dict[str, float]:
        """The contributions of the prior (key '') and of every column to the log odds of one label against another."""
        a, b = (list(self.classes).index(name) for name in (positive, against))
        parts = {"": self.log_prior, **self.log_evidence}
        return {
            name: 0.0 if np.isneginf(part[a]) and np.isneginf(part[b]) else float(part[a] - part[b])
            for name, part in parts.items()
        }

    def flip(self, against: Any = None, *, words: str | None = None) -> Flip | None:
        """The smallest set of columns which, if they were missing, would change the answer; print it.

        against: this label overtakes the answer; under a decision rule, it becomes the answer. words: of this column of
        text or other tokens, the fewest words that would have to be absent. None if no set of columns changes the
        answer, and for a row that every class rules out.

        >>> import tallybayes as tb
        >>> rows = {"fever": [1, 1, 0, 0] * 9, "cough": [1, 1, 1, 0] * 9, "ill": ["yes", "yes", "no", "no"] * 9}
        >>> print(tb.fit(rows, label="ill").explain({"fever": 1, "cough": 0})[0].flip())
        without fever it would be no
        """
        classes = list(self.classes)
        if not classes:
            return None
        predicted = self.answer
        if against is not None and (against not in classes or against == predicted):
            raise ParameterError(f"a label other than the answer, {predicted!r}", got=against)
        parts, fixed = {name: self.log_evidence[name] for name in self._columns()}, self.log_prior
        if words is not None:
            tokens = self._separable(words)
            parts = {word.name: word.log_evidence for word in tokens if not word.rest}
            rest = sum((word.log_evidence for word in tokens if word.rest), np.zeros(len(classes)))
            fixed = replace(self, log_evidence={**self.log_evidence, words: rest}).log_score
        if self._answers_by_greatest_sum() and (words is not None or not self.derived):
            removed = smallest_flip(classes, parts, fixed, against)
        else:
            sums_of = self._log_score_of if words is None and self.derived else None
            removed = smallest_flip_by_rule(self._answer_codes, classes, parts, fixed, against, sums_of=sums_of)
        if removed is None:
            return None
        if words is None:
            return Flip(removed[0], predicted, *removed[1:])
        return Flip((words,), predicted, *removed[1:], words=removed[0])

    def _log_score_of(self, kept: NDArray[np.bool_]) -> Floats:
        """The log score of every class with only some of the columns, (sets, columns) to (sets, classes)."""
        names = self._columns()
        total = self.derived.without(names, kept) + self.log_prior
        for i, name in enumerate(names):
            if name in self.own_evidence:
                total += np.where(kept[:, i, None], self.own_evidence[name], 0.0)
        return total

    def _columns(self) -> list[str]:
        """The columns that a row may lack, groups as one; interactions are there if their inputs are."""
        corrects = {name for name, inputs in self.derived.named.items() if self.log_evidence.keys() >= set(inputs)}
        return [name for name in self.log_evidence if name not in corrects]

    def _answers_by_greatest_sum(self) -> bool:
        """Whether the answer is the class with the greatest sum: no decision rule, no isotonic calibration."""
        calibration = None if self.posterior is None else self.posterior.calibration
        return not self.has_rule and (calibration is None or calibration.method == "temperature")

    def _separable(self, column: str) -> list[TokenEvidence]:
        """The tokens of a column, if the contribution of each is independent of the others."""
        if column not in self.words:
            raise ParameterError("a column of text or other tokens that is not missing in this row", got=column)
        if column in self.inseparable:
            raise UnsupportedError(
                "the contribution of a word depends on the words around it",
                column=column,
                hint="variant 'counts' or 'complement' with tf 'count' or 'once', without top and length, and with one "
                "column weight for all classes, adds up",
            )
        return self.words[column]

    def to_dict(self, *, top: int | None = None) -> dict[str, Any]:
        """Everything as plain values: natural logs by class; the parts, in their order, add up to `log_score`.

        top: only so many columns, and tokens of each column of them, with the largest evidence between any two classes;
        the sum of the others is `more_columns` and `more_words`.
        """
        parts, more = _largest(self.log_evidence, top)
        p = self.probabilities
        words, more_words = {}, {}
        for name, tokens in self.words.items():
            largest, more_words[name] = _largest({i: token.log_evidence for i, token in enumerate(tokens)}, top)
            words[name] = [_token_dict(tokens[i]) for i in largest]
        return {
            "predicted": self.answer,
            "classes": list(self.classes),
            "values": self.values,
            "log_prior": finite_json(self.log_prior.tolist()),
            "log_evidence": {name: finite_json(part.tolist()) for name, part in parts.items()},
            "words": words,
            **({} if top is None else {"more_columns": more, "more_words": more_words}),
            "log_score": finite_json(self.log_score.tolist()),
            "probabilities": p.tolist(),
            "decision": str(self._posterior().decision) if self.has_rule else None,
            "flip": None if (flip := self.flip()) is None else flip.to_dict(),
            **({"priors": self.priors} if self.priors else {}),
        }

    def to_frame(self, positive: Any = None, against: Any = None, *, top: int | None = None) -> Any:
        """The contributions in decibans as a pandas DataFrame: column, value, decibans; in the order of `shown`."""
        if len(self.classes) < 2:
            return data_frame([], ["column", "value", "decibans"])
        parts = self._sort_odds(*self.sides(positive, against), top)
        values = {"": None, **self.values}
        return data_frame(
            [
                {"column": name or "prior", "value": values.get(name), "decibans": odds * DECIBANS}
                for name, odds in parts.items()
            ]
        )

    def shown(
        self,
        positive: Any = None,
        against: Any = None,
        *,
        units: str = "decibans",
        top: int | None = None,
        all: bool = False,
    ) -> str:
        """One class against another (by default the answer against the most probable other class), largest part first.

        top: only so many columns, and tokens of each column of them, with the largest contributions; the others are one
        line, so that the lines add up. all: every token, not only ten of each column.

        In decibans, ten times the decimal log odds, or natural "log-odds". Every number is rounded by itself, so the
        rounded parts may differ from the rounded sum in the last digit. Under a decision rule with a threshold, and two
        classes, the last line is what the sum has to reach for the class.
        """
        if all and top is not None:
            raise ParameterError("top or all=True, not both", got=top)
        return text_view(self._parts(positive, against, units=units, top=top, n_words=None if all else _WORDS))

    def _sort_odds(self, best: Any, other: Any, top: int | None) -> dict[str, float]:
        """The contributions to the log odds: the prior (key ''), then the columns, the largest first; then the rest."""
        parts = self.log_odds(best, other)
        names = sorted((name for name in parts if name), key=lambda name: -abs(parts[name]))
        n = len(names) if top is None else check_integer("top", top, at_least=0)
        rest = {f"({len(names) - n} more)": sum(parts[name] for name in names[n:])} if n < len(names) else {}
        return {name: parts[name] for name in ["", *names[:n]]} | rest

    def _parts(
        self,
        positive: Any = None,
        against: Any = None,
        *,
        units: str = "decibans",
        top: int | None = None,
        n_words: int | None = _WORDS,
    ) -> list[str | TextGrid]:
        """One class against another, as tables."""
        if not len(self.classes):
            return ["a model without classes"]
        classes = list(self.classes)
        if len(classes) == 1:
            return [f"{classes[0]}: the only class"]
        best, other = self.sides(positive, against)
        parts = self._sort_odds(best, other, top)
        scale, digits = (DECIBANS, 1) if units == "decibans" else (1.0, 3)
        with np.errstate(invalid="ignore"):
            total = self.log_score[classes.index(best)] - self.log_score[classes.index(other)]
        rows = [
            [
                name or "prior",
                self._value_of(name),
                "both are ruled out" if np.isnan(odds) else signed(odds * scale, digits),
            ]
            for name, odds in (*parts.items(), ("sum", float(total)))
        ]
        if (needed := self._threshold_odds(best)) is not None:
            rows.append(["threshold", "", signed(needed * scale, digits)])
        p = self.probabilities[classes.index(best)]
        head = f"{shown(best)} with probability {probability(p)}, against {shown(other)}"
        if self.posterior is not None and self.posterior.calibration is not None:
            head += f"\nthe probability is calibrated, the sum is not: {self.posterior.calibration}"
        if self.posterior is not None and self.posterior.decision is not None:
            answer = "none" if self.answer is None else shown(self.answer)
            head += f"\nanswer: {answer}, by the decision rule: {self.posterior.decision}"
        n_words = n_words if top is None else top
        words = (self._words_shown(name, best, other, scale, digits, n_words) for name in self.words)
        told = ["\n".join(f"prior of {name}: {prior}" for name, prior in self.priors.items())] if self.priors else []
        grids = [grid for grid in words if grid.rows]
        return [TextGrid(["column", "value", units], rows, title=head, bar=2), *grids, *told]

    def _threshold_odds(self, positive: Any) -> float | None:
        """The log odds from which on a rule with a threshold answers one of two classes; None for other rules."""
        posterior = self.posterior
        rule = None if posterior is None else posterior.decision
        if rule is None or posterior is None or rule.threshold is None or len(self.classes) != 2:
            return None
        calibration = posterior.calibration
        if calibration is not None and calibration.method != "temperature":
            return None
        with np.errstate(divide="ignore"):
            odds = float(np.log(rule.threshold) - np.log1p(-rule.threshold))
        odds *= 1.0 if calibration is None else calibration.temperature
        return odds if positive == rule.positive else -odds

    def sides(self, positive: Any = None, against: Any = None) -> tuple[Any, Any]:
        """Two classes to compare: those given, else the answer and the most probable other class."""
        order = [self.classes[i] for i in np.argsort(-self.probabilities, kind="stable")]
        best = positive
        if positive is None:
            best = order[0] if self.answer is None else self.answer
            if best == against:
                best = next(label for label in order if label != against)
        if best == against:
            raise ParameterError("two different classes to compare", got=(best, against))
        return best, next(label for label in order if label != best) if against is None else against

    def word_odds(self, column: str, positive: Any, against: Any) -> list[tuple[TokenEvidence, float]]:
        """The contributions of words to the log odds of one label against another, in the order of the text."""
        a, b = (list(self.classes).index(name) for name in (positive, against))
        with np.errstate(invalid="ignore"):
            odds = [float(np.nan_to_num(word.log_evidence[a] - word.log_evidence[b])) for word in self.words[column]]
        return list(zip(self.words[column], odds, strict=True))

    def _words_shown(self, column: str, best: Any, other: Any, scale: float, digits: int, n: int | None) -> TextGrid:
        """The tokens of a column with the largest contributions, as a table; n: how many, None for all.

        What is of no token and 0 when rounded is not shown, nor is a single tag, which is the value of the column.
        """
        odds = self.word_odds(column, best, other)
        what = "word" if any(word.spans for word, _ in odds) else "token"
        odds = [(word, value) for word, value in odds if not word.rest or abs(value * scale) >= 0.5 * 10**-digits]
        odds.sort(key=lambda pair: -abs(pair[1]))
        if len(odds) == 1 and what == "token":
            odds = []
        rows = [
            [shorten_word(word.name), "" if word.rest else number(word.amount), signed(value * scale, digits)]
            for word, value in odds[:n]
        ]
        if more := odds[len(rows) :]:
            rows.append([f"({len(more)} more)", "", signed(sum(value for _, value in more) * scale, digits)])
        return TextGrid([f"{what} of {column}", "times", "adds"], rows, bar=2)

    def _value_of(self, name: str) -> str:
        value = self.values.get(name)
        if name not in self.log_evidence:
            return ""
        return "(missing)" if value is None else shown(value) if isinstance(value, bool) else shorten(value, 30)


def _largest(parts: Mapping[Any, Floats], top: int | None) -> tuple[dict[Any, Floats], dict[str, Any]]:
    """The parts with the largest evidence between any two classes, in their order; how many others, and their sum."""
    n = len(parts) if top is None else check_integer("top", top, at_least=0)
    with np.errstate(invalid="ignore"):  # where a part rules out all classes
        size = {key: float(np.nan_to_num(np.ptp(part), posinf=np.inf)) for key, part in parts.items() if len(part)}
    chosen = {*sorted(size, key=lambda key: -size[key])[:n]}
    others = [part for key, part in parts.items() if key not in chosen]
    total = finite_json(np.sum(others, axis=0).tolist()) if others else None
    return {key: parts[key] for key in parts if key in chosen}, {"n": len(others), "log_evidence": total}


def _token_dict(token: TokenEvidence) -> dict[str, Any]:
    evidence = {"log_evidence": finite_json(token.log_evidence.tolist())}
    if token.rest:
        return {"word": None, "rest": token.rest, "times": 0, "at": [], **evidence}
    return {"word": token.token, "times": token.amount, "at": [list(span) for span in token.spans], **evidence}


def shorten_word(token: str) -> str:
    """A token as it is shown in a table: printable and not too long."""
    plain = printable(token)
    return plain if len(plain) <= 40 else plain[:37] + "..."
