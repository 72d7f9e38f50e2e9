"""What a family is.

A family says how the columns of one kind are counted and what the counts predict. It sees columns and class codes,
never frames, files or labels. Every family file holds the same names in the same order: the prior (frozen values),
the family, the predictive.

Families work on blocks: all columns of a model that share a family, in the order of their names. That is what lets
a matrix go through the kernels in one piece.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays.column import Bag, Codes, Column, Flags, Reals
from tallybayes.errors import UnsupportedError
from tallybayes.families.leave_one_out_scores import added, one_by_one
from tallybayes.tally.tally import Tally

__all__ = ["Add", "Codes32", "Family", "Floats", "Predictive", "Score", "Smoothing", "Unseen"]

Floats = NDArray[np.float64]
Codes32 = NDArray[np.int32]
Smoothing = float | Literal["auto"]
Unseen = Literal["prior", "missing"]
Score = Callable[[Floats, int, int], None]  # adds the log likelihood of rows start to stop to out (rows, classes)
Add = Callable[[int, int], bool]  # adds (sign 1) or takes back (-1) a row of class `code`; False: nothing was changed


class Predictive(ABC):
    """What a block of columns says about a row, class by class. Immutable: learning makes a new one."""

    features: tuple[str, ...]
    n_classes: int

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "bind" in vars(cls) and "bind_matrix" not in vars(cls):  # an inherited quick way would score otherwise
            cls.bind_matrix = Predictive.bind_matrix  # type: ignore[method-assign]

    @abstractmethod
    def bind(self, columns: Sequence[Column]) -> Score:
        """Get ready to score these columns; the function returned adds their log likelihood to rows of `out`."""

    def bind_matrix(self, values: Floats) -> Score | None:
        """The same for a matrix (rows, columns) that is filled later; None where numbers cannot tell what a cell holds.

        Missing is NaN, yes is 1 and no 0, a category is the slot of its key in the tally (-1: never counted). The score
        raises a DataError for any value that `bind` would not take.
        """
        return None

    @abstractmethod
    def part(self, number: int) -> Predictive:
        """The predictive of one column of the block."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, code: int, n: int) -> list[Any]:
        """N values of every column for a class: one sequence per column."""

    @abstractmethod
    def table(self) -> list[dict[str, Any]]:
        """The parameters for people: a row for each column and class ('column', 'class', then names and numbers)."""

    def note(self, number: int) -> str:
        """What is to be said of a column besides its parameters, in a few words."""
        return ""

    def intervals(self, level: float) -> list[dict[str, Any]]:
        """Rows like those of `table` with the ends of credible intervals, 'low' and 'high'; none if none are known."""
        return []

    def log_cumulants(self, columns: Sequence[Column]) -> Floats:
        """How log P(x | c) is spread, given how well the parameters are known, (3, rows, classes).

        Its mean less the score, its variance and its third cumulant, as in `tallybayes.families.credible`.
        """
        raise UnsupportedError("a family whose posterior is known", column=self.features[0] if self.features else None)

    def log_prob(self, columns: Sequence[Column]) -> Floats:
        """Log likelihood of each row under each class, (rows, classes)."""
        out = np.zeros((len(columns[0]) if columns else 0, self.n_classes))
        self.bind(columns)(out, 0, len(out))
        return out


@dataclass(frozen=True)
class Family(ABC):
    """The form of a column's likelihood. Options are its fields, so `eval(repr(family)) == family`."""

    name: ClassVar[str]
    column: ClassVar[type[Column]]  # the kind of column it counts

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "observe" in vars(cls) and "adder" not in vars(cls):  # an inherited quick way would count otherwise
            cls.adder = Family.adder  # type: ignore[method-assign]

    @abstractmethod
    def observe(
        self, features: tuple[str, ...], columns: Sequence[Any], codes: Codes32, n_classes: int, weights: Floats | None
    ) -> Tally:
        """Count columns: the only statistics there are. Rows with a negative code are left out."""

    @abstractmethod
    def prior(self, tally: Any, smoothing: Smoothing) -> Any:
        """The prior for a strength of smoothing (0 < k <= infinity), or the best one by evidence for "auto"."""

    @abstractmethod
    def predictive(self, tally: Any, prior: Any) -> Predictive:
        """What to expect after the data: the posterior mean of the likelihood under the prior."""

    @abstractmethod
    def plug_in(self, tally: Any) -> Predictive:
        """The maximum-likelihood twin: the likelihood at its most likely parameters."""

    @abstractmethod
    def evidence(self, tally: Any, prior: Any) -> Floats:
        """Log marginal likelihood of each column's tally under the prior, in closed form, (columns,)."""

    def independence(self, tally: Any, prior: Any) -> Floats:
        """Log evidence of each column's tally if it did not depend on the class, (columns,).

        Of the same thing and under the same prior as `evidence`, so that the difference is a Bayes factor.
        """
        return self.evidence(_pooled(tally), prior)

    @property
    def counted(self) -> Family:
        """The family without what is only decided when sums are turned into probabilities: equal ones can be merged."""
        return self

    @property
    def is_likelihood(self) -> bool:
        """Whether scores are log likelihoods of the values."""
        return True

    def told(self) -> str:
        """The string form, as people may see it."""
        return str(self)

    def adder(self, tally: Any, values: Floats) -> Add | None:
        """A way to add single rows to a tally in place; None if the general way is the only one.

        A row is put into `values` (columns,) first, in the numbers of `Predictive.bind_matrix`.
        """
        return None

    def repooled(self, prior: Any, tally: Any) -> Any:
        """A prior for other sums: its strengths are held, and what is pooled over the classes is worked out anew."""
        return prior

    def held(self, tally: Any, prior: Any) -> Any:
        """A prior for one column that rows are to be left out of: with all that is chosen by evidence."""
        return prior

    def left_out(
        self, tally: Any, prior: Any, columns: Sequence[Any], codes: Codes32, weights: Floats | None
    ) -> list[Score]:
        """Log likelihoods of rows that are in the tally, each by the sums without itself: one score for each column.

        prior: from `prior`, None for maximum likelihood; codes: the class of every row; weights: None, or of every row.
        Families that know a quicker way than the definition override this, and `tallybayes.testing` compares the two.
        """
        scores = []
        for number, (name, column) in enumerate(zip(tally.features, columns, strict=True)):
            part = tally.only((name,))
            own = None if prior is None else self.held(part, self.part_of(prior, number))
            scores.append(added(one_by_one(self, part, own, column, codes, weights)))
        return scores

    def part_of(self, prior: Any, number: int) -> Any:
        """The prior of one column of a block: arrays along the columns are cut."""
        if not dataclasses.is_dataclass(prior) or isinstance(prior, type):
            return prior
        return dataclasses.replace(
            prior,
            **{
                field.name: value[..., number : number + 1]
                for field in dataclasses.fields(prior)
                if isinstance(value := getattr(prior, field.name), np.ndarray)
            },
        )

    def derive(self, tally: Any, smoothing: Smoothing) -> Predictive:
        """The plug-in for k = 0, the predictive otherwise."""
        return self.plug_in(tally) if smoothing == 0 else self.predictive(tally, self.prior(tally, smoothing))

    def example(self, rng: np.random.Generator, n: int) -> Column:
        """A random column that the family can count, with gaps: what `tallybayes.testing.check_family` tries."""
        gap = rng.random(n) < 0.2
        if self.column is Reals:
            return Reals(np.where(gap, np.nan, rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)))
        if self.column is Flags:
            return Flags(np.where(gap, -1, rng.integers(0, 2, n)).astype(np.int8))
        if self.column is Codes:
            return Codes(np.where(gap, -1, rng.integers(0, 4, n)).astype(np.int32), ["a", "b", "c", "d"])
        lengths = np.where(gap, 0, rng.integers(0, 4, n))
        tokens = np.concatenate([rng.choice(6, size=k, replace=False) for k in lengths] or [np.zeros(0)])
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        amounts = rng.integers(1, 4, len(tokens)).astype(np.float64)
        return Bag(indptr, tokens.astype(np.int64), amounts, list("abcdef"), ~gap)

    def __str__(self) -> str:
        options = [
            f"{field.name}={getattr(self, field.name)}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        ]
        return self.name + (":" + ",".join(options) if options else "")


def _pooled(tally: Any) -> Any:
    """The same sums with all classes put together."""
    parts = [tally.with_classes(np.where(np.arange(tally.n_classes) == c, 0, -1), 1) for c in range(tally.n_classes)]
    result = parts[0].copy()
    for part in parts[1:]:
        result.prepare(part, 1)()
    return result
