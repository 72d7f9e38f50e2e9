"""The interface of a predictive: the log likelihood of values given the class, for a block of columns.

The methods with a default describe what a predictive can do beyond scoring: credible intervals, charts, explanations of
texts, scoring of a few rows without any preparation.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import numpy as np

from tallybayes.arrays.array_types import Codes32, Floats, Indices, Integers
from tallybayes.arrays.column import Column, Key
from tallybayes.arrays.special import logsumexp
from tallybayes.errors import Described, UnsupportedError
from tallybayes.formatting import shown
from tallybayes.tally.tally import Tally

__all__ = [
    "Add",
    "Codes32",
    "Correction",
    "Floats",
    "Predictive",
    "RowScore",
    "Score",
    "Smoothing",
    "Steps",
    "TokenEvidence",
    "Unseen",
    "parameter_rows",
    "part_of_prior",
    "value_rows",
    "weight_lines",
]

Prior = TypeVar("Prior")

Smoothing = float | Literal["auto"]
Unseen = Literal["prior", "missing"]
Score = Callable[[Floats, int, int], None]  # adds the log likelihood of rows start to stop to out (rows, classes)
Add = Callable[[int, int], bool]  # adds (sign 1) or removes (-1) a row of class `code`; False: nothing was changed

_FEW_CLASSES = 8  # classes up to which a loop over the classes is faster


@dataclass(frozen=True, eq=False)
class TokenEvidence:
    """A token of a bag or document: what it adds to the log score, its amount, its spans (first and last character).

    rest: of a part that belongs to no single token, what it is of, such as "absent words".
    """

    token: Key
    log_evidence: Floats
    spans: tuple[tuple[int, int], ...] = ()
    amount: float = 1.0
    rest: str = ""

    @property
    def name(self) -> str:
        """The token as text, or in brackets what the part is of."""
        return f"({self.rest})" if self.rest else shown(self.token)


@dataclass(frozen=True, eq=False)
class Steps:
    """A piecewise constant likelihood of one column of numbers.

    edges: the least value of each step; inside: a value in each step; values: the values that have probability, sorted;
    p: their probabilities, (values, classes); n_rows: the rows behind them.
    """

    edges: Floats
    inside: Floats
    values: Floats
    p: Floats
    n_rows: float


class Correction(ABC):
    """What is added to the scores of a column, by value and class (`state/column_weights.py`)."""

    @abstractmethod
    def of_numbers(self, values: Floats) -> Floats:
        """The corrections of numbers, (values, classes)."""

    @abstractmethod
    def of_keys(self, keys: Sequence[Any]) -> Floats:
        """The corrections of categories or booleans, (keys, classes)."""


class RowScore(NamedTuple):
    """The score of a single row that follows changes of the sums in place.

    renew: derives what scoring needs from the sums as they are then; False if that is left to others.
    """

    renew: Callable[[], bool]
    score: Callable[[Floats, int, int], object]


class TokenAmounts(NamedTuple):
    """Tokens of rows: where each row ends, the numbers of its tokens, their amounts; and a name for each number."""

    indptr: Indices
    tokens: Indices
    amounts: Floats
    names: Callable[[Integers], list[Any]]


class Predictive(ABC):
    """The log likelihood of the values of a block of columns, class by class. Immutable: learning makes a new one."""

    features: tuple[str, ...]
    n_classes: int
    by_column: ClassVar[tuple[str, ...]]  # the fields of a dataclass with an entry for each column, for `part`
    takes_sparse_matrix: ClassVar[bool] = False  # whether rows of amounts by column number can be scored as bags

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "bind" in vars(cls) and "bind_matrix" not in vars(cls):  # an inherited fast path would score differently
            cls.bind_matrix = Predictive.bind_matrix  # type: ignore[method-assign]

    @abstractmethod
    def bind(self, columns: Sequence[Column]) -> Score:
        """Prepare to score these columns; the function returned adds their log likelihood to rows of `out`."""

    def bind_matrix(self, values: Floats) -> Score | None:
        """The same for a matrix (rows, columns) that is filled later; None if cells cannot be given as numbers.

        Missing is NaN, true is 1 and false 0, a category is the slot of its key in the tally (-1: never counted). The
        score raises a DataError for any value that `bind` does not accept.
        """
        return None

    def keyed_tally(self) -> Tally | None:
        """The tally whose slots stand for categories in `bind_matrix`; None if there are no categories."""
        return None

    def lexicon(self, feature: str) -> Any | None:
        """The lexicon that numbers the tokens of a column of text; None for other columns."""
        return None

    def weighted(self, weights: Floats, log_prior: Floats) -> Predictive | None:
        """The predictive whose scores are those of this one with column weights, at no cost; None: not available.

        weights: (columns, classes). Where the weights of a column differ between the classes, its score is centred at
        log sum over c of P(c) P(value | c) first, with log P(c) from `log_prior`.
        """
        return None

    def corrected(self, corrections: Sequence[Correction | None]) -> Predictive | None:
        """The predictive with a correction for each column in its tables, after weights; None: not available."""
        return None

    def with_token_corrections(self, corrections: Mapping[str, tuple[Sequence[Key], Floats]]) -> Predictive:
        """The predictive with corrections of tokens (tokens, classes) by column; the same where there are no tokens."""
        return self

    def token_amounts(self, feature: str, column: Column) -> TokenAmounts | None:
        """The amounts that the tokens of a column are scored with; None if its score is no sum of fixed amounts."""
        return None

    def part(self, number: int) -> Self:
        """The predictive of one column of the block: a dataclass whose fields `by_column` are cut."""
        fields = {name: getattr(self, name) for name in self.by_column}
        one = {name: None if value is None else value[number : number + 1] for name, value in fields.items()}
        return dataclasses.replace(self, **one)  # type: ignore[type-var]

    @abstractmethod
    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """Draw n values of every column for a class: one sequence per column."""

    def draw(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """The same from the distribution that is scored alone: nothing depends on the class that its score ignores.

        The values of columns of tokens are dicts of token and amount, or lists of tokens.
        """
        return self.sample(rng, code, n)

    def outcomes(self, number: int) -> Floats | None:
        """Log P(outcome | class) of every outcome of a column, (outcomes, classes); None unless there are only a few.

        Values with the same probabilities, up to a factor, may be one outcome. Missing is none.
        """
        return None

    def log_penalty(self, number: int) -> float | None:
        """Log density of the prior at the parameters of a column, up to a constant, of which they are the best values.

        That is the density of the prior in the parameters for which the mode of the posterior is the mean: k times the
        sum of log P(outcome | class). None unless the likelihood is one at single parameters with a fixed k.
        """
        return None

    def n_parameters(self, number: int) -> int | None:
        """The free parameters of the likelihood of a column, over all classes; None if they are not known.

        Without another definition those of its outcomes: one fewer than there are, in each class.
        """
        outcomes = self.outcomes(number)
        return None if outcomes is None else max(len(outcomes) - 1, 0) * self.n_classes

    def samples_are_counted(self, number: int) -> bool:
        """Whether `sample` draws only values that were counted in a column."""
        return False

    @abstractmethod
    def table(self) -> list[dict[str, Any]]:
        """The parameters for people: a row for each column and class ('column', 'class', then names and numbers)."""

    def listing_all(self) -> Predictive:
        """The predictive whose `table` and `intervals` list every token; itself where they list everything."""
        return self

    def n_tokens(self, feature: str) -> int | None:
        """How many tokens of a column `table` can list; None for columns without tokens."""
        return None

    def note(self, number: int) -> str:
        """A remark about a column besides its parameters, in a few words."""
        return ""

    def steps(self) -> Steps | None:
        """The likelihood as a step function; only for predictives of one column, and None where it has no steps."""
        return None

    def token_evidence(self, feature: str, column: Column, text: bytes | None = None) -> list[TokenEvidence]:
        """What the tokens of a single row add to the score of a column, and the rest of it; only if it has tokens.

        text: of a column of texts, the text that was cut into tokens.
        """
        raise UnsupportedError("a column of tokens", got=Described(type(self).__name__), column=feature)

    def absence_evidence(self, feature: str, tokens: Sequence[Key]) -> Floats | None:
        """What tokens add where they are absent, (tokens, classes); None where absent tokens add nothing."""
        return None

    def tokens_interact(self, feature: str) -> bool | None:
        """Whether what a token adds depends on the other tokens of its row; None for columns without tokens."""
        return None

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """Rows like those of `table` with the ends of credible intervals, 'low' and 'high'; empty if not available."""
        return []

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """Cumulants of log P(x | c) under the posterior of the parameters, (3, rows, classes).

        Its mean minus the score, its variance and its third cumulant, as in `tallybayes.families.credible`.
        """
        column = self.features[0] if self.features else None
        got = Described("one without")
        raise UnsupportedError("a family with credible intervals in closed form", got=got, column=column)

    def log_coefficient(self, columns: Sequence[Column]) -> Floats:
        """What `log_prob` leaves out because it is the same for every class, (rows,): of bags the number of orders."""
        return np.zeros(len(columns[0]) if columns else 0)

    def log_prob(self, columns: Sequence[Column]) -> Floats:
        """Log likelihood of each row under each class, (rows, classes)."""
        out = np.zeros((len(columns[0]) if columns else 0, self.n_classes))
        self.bind(columns)(out, 0, len(out))
        return out


def part_of_prior(prior: Prior, number: int) -> Prior:
    """The prior of one column of a block: arrays are cut along their last axis, which is that of the columns."""
    if not dataclasses.is_dataclass(prior) or isinstance(prior, type):
        return prior
    arrays = {
        field.name: value[..., number : number + 1]
        for field in dataclasses.fields(prior)
        if isinstance(value := getattr(prior, field.name), np.ndarray)
    }
    return dataclasses.replace(prior, **arrays)


def parameter_rows(features: Sequence[str], parameters: Mapping[str, Floats]) -> list[dict[str, Any]]:
    """Rows of a table: for each column and class its parameters, which are (columns, classes)."""
    n_classes = next(iter(parameters.values())).shape[1]
    return [
        {"column": name, "class": c} | {what: float(values[j, c]) for what, values in parameters.items()}
        for j, name in enumerate(features)
        for c in range(n_classes)
    ]


def value_rows(feature: str, values: Sequence[Any], p: Floats) -> list[dict[str, Any]]:
    """Rows of a table: for each class and value of one column its probability; p: (values, classes)."""
    return [
        {"column": feature, "class": c, "value": value, "P(value)": float(p[i, c])}
        for c in range(p.shape[1])
        for i, value in enumerate(values)
    ]


def weight_lines(log_p: Floats, weights: Floats, log_prior: Floats) -> Floats:
    """Log P(value | class) times weights, (lines, classes); a weight of 0 gives 0 whatever the likelihood is.

    weights: (classes,) or one for each line. Lines whose weights differ are centred first, at log sum over c of
    P(c) P(value | c), because their level matters. log_prior: log P(c), (classes,), or one for each line that adds up
    to 1.

    >>> weight_lines(np.log([[0.5, 0.25]]), np.array([2.0, 2.0]), np.log([0.5, 0.5])).round(2).tolist()
    [[-1.39, -2.77]]
    """
    log_prior = log_prior - logsumexp(log_prior) if log_prior.ndim == 1 else log_prior
    lines = weights.reshape(-1, weights.shape[-1])
    differ = (lines != lines[:, :1]).any(axis=1)
    if differ.all():
        result = log_p - _average(log_p, log_prior)
    else:
        result = np.array(log_p, np.float64)
        if (at := np.flatnonzero(np.broadcast_to(differ, len(log_p)))).size:
            result[at] -= _average(log_p[at], log_prior if log_prior.ndim == 1 else log_prior[at])
    if not lines.all():
        result[np.broadcast_to(weights == 0, result.shape)] = 0.0
    with np.errstate(invalid="ignore"):
        result *= weights
    return np.asarray(result)


def _average(log_p: Floats, log_prior: Floats) -> Floats:
    """Log of the average of P, (lines, 1); 0 where it is 0."""
    joint = log_p + log_prior
    if joint.shape[1] > _FEW_CLASSES:
        average = np.asarray(logsumexp(joint, axis=1))
    else:
        top = np.maximum.reduce(list(joint.T))
        np.copyto(top, 0.0, where=np.isinf(top))
        joint -= top[:, None]
        np.exp(joint, out=joint)
        with np.errstate(divide="ignore"):
            average = top + np.log(joint @ np.ones(joint.shape[1]))  # faster than a sum along a short axis
    return np.where(np.isinf(average), 0.0, average)[:, None]
