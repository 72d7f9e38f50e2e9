"""The interface of a family: how the columns of one kind are counted, and what the counts predict.

A family works on columns and class codes, never on data frames, files or labels. Every family file holds the same
names in the same order: the prior (frozen values), the family, the predictive. Families work on blocks: all columns of
a model that share a family, in the order of their names, so that a matrix goes through the kernels in one piece.

Code above this package never asks which family it has. It calls the methods below; those with a default describe what a
family can do beyond the minimum (tuning, reading text, single rows, closed forms). A family that is registered with
`tallybayes.register_family` is treated like those of the package; `tallybayes.testing.check_family` checks it.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

import numpy as np

from tallybayes.arrays.array_types import Integers, Weights
from tallybayes.arrays.column import Bag, Cells, Codes, Column, Flags, Key, Reals
from tallybayes.arrays.token_rules import Tokeniser
from tallybayes.errors import ForgetError
from tallybayes.families.leave_one_out_scores import as_score, never_learned
from tallybayes.families.predictive import (
    Add,
    Codes32,
    Floats,
    Predictive,
    RowScore,
    Score,
    Smoothing,
    Unseen,
    part_of_prior,
)
from tallybayes.families.sampled_documents import SampledDocuments
from tallybayes.families.strength import Strength
from tallybayes.tally.tally import Tally

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    TallyT = TypeVar("TallyT", bound=Tally, default=Any)
    PriorT = TypeVar("PriorT", default=Any)
else:  # Python 3.11 has no defaults of type variables; they let `Family` stand for `Family[Any, Any]`
    from typing import TypeVar

    TallyT, PriorT = TypeVar("TallyT"), TypeVar("PriorT")

SHARE_BITS = 20  # shares of rows are multiples of 2**-20, where that makes counting them fast
SHARE_UNIT = 2.0**-SHARE_BITS

__all__ = [
    "SHARE_BITS",
    "SHARE_UNIT",
    "Add",
    "Codes32",
    "Family",
    "Floats",
    "Predictive",
    "RowScore",
    "Score",
    "Smoothing",
    "Unseen",
]


@dataclass(frozen=True)
class Family(ABC, Generic[TallyT, PriorT]):
    """The form of a column's likelihood. Options are its fields, so `eval(repr(family)) == family`."""

    name: ClassVar[str]
    column: ClassVar[type[Column]]  # the kind of column it counts
    takes_class_weights: ClassVar[bool] = False  # whether its tables can hold a weight for each class, and corrections
    has_arbitrary_scale: ClassVar[bool] = False  # whether scores may be far from log likelihoods, by a common factor
    is_correction: ClassVar[bool] = False  # whether its scores correct those of other columns: no likelihoods
    is_divided: ClassVar[bool] = True  # whether the evidence of a derived column is shown input by input
    is_ordered: ClassVar[bool] = False  # whether its categories have an order, in which they are shown
    predicts_without_values: ClassVar[bool] = False  # whether a column without any value has a likelihood by its prior
    takes_smoothing: ClassVar[bool] = False  # whether the prior depends on k, for 0 < k < infinity

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "observe" in vars(cls) and "adder" not in vars(cls):  # an inherited fast path would count differently
            cls.adder = Family.adder  # type: ignore[method-assign]

    # Counting and predicting: every family has these

    @abstractmethod
    def observe(
        self, features: tuple[str, ...], columns: Sequence[Any], codes: Codes32, n_classes: int, weights: Weights
    ) -> TallyT:
        """Count columns of the kind `column`. Rows with a negative class code are not counted."""

    @abstractmethod
    def prior(self, tally: TallyT, smoothing: Smoothing) -> PriorT:
        """The prior for a strength of smoothing (0 < k <= infinity), or the best one by evidence for "auto"."""

    @abstractmethod
    def predictive(self, tally: TallyT, prior: PriorT) -> Predictive:
        """The posterior mean of the likelihood under the prior."""

    @abstractmethod
    def plug_in(self, tally: TallyT) -> Predictive:
        """The likelihood at its maximum-likelihood parameters: smoothing 0."""

    @abstractmethod
    def evidence(self, tally: TallyT, prior: PriorT) -> Floats:
        """Log marginal likelihood of each column's tally under the prior, in closed form, (columns,)."""

    def independence(self, tally: TallyT, prior: PriorT) -> Floats:
        """Log marginal likelihood of each column's tally if it did not depend on the class, (columns,).

        Of the same data and under the same prior as `evidence`, so that the difference is a Bayes factor.
        """
        return self.evidence(tally.pooled(), prior)

    def log_bayes_factor(self, tally: TallyT, smoothing: Smoothing) -> Floats:
        """Log of P(column | it depends on the class) / P(column | it does not), (columns,)."""
        prior = self.prior(tally, 1.0 if smoothing == 0 else smoothing)
        return np.asarray(self.evidence(tally, prior) - self.independence(tally, prior))

    def derive(self, tally: TallyT, smoothing: Smoothing) -> Predictive:
        """The plug-in for k = 0, the predictive otherwise."""
        return self.plug_in(tally) if smoothing == 0 else self.predictive(tally, self.prior(tally, smoothing))

    def observe_shares(self, features: tuple[str, ...], columns: Sequence[Any], shares: Floats) -> TallyT:
        """Count rows that belong to every class with a share, (rows, classes): rows of the class, weighted by it."""
        rows, codes = np.nonzero(shares)
        taken, amounts = [column.take(rows) for column in columns], shares[rows, codes]
        weights = None if (amounts == 1).all() else amounts
        return self.observe(features, taken, codes.astype(np.int32), shares.shape[1], weights)

    def without(self, tally: TallyT, columns: Sequence[Any], codes: Codes32, weights: Weights) -> TallyT:
        """The sums of all columns of a tally without some rows that were counted."""
        rest = tally.copy()
        rest.prepare(self.observe(tally.features, columns, codes, tally.n_classes, weights), -1)()
        return rest

    # What its options mean

    @property
    def counted(self) -> Family[TallyT, PriorT]:
        """The family without options that do not affect counting: equal ones have tallies that can be merged."""
        return self

    @property
    def is_likelihood(self) -> bool:
        """Whether scores are log likelihoods of the values."""
        return not self.is_correction

    @property
    def own_smoothing(self) -> Smoothing:
        """The strength of smoothing that is set by an option of the family; "auto" if none is."""
        return "auto"

    def strengths(self, tally: TallyT, smoothing: Smoothing) -> list[Strength]:
        """How strongly each column is smoothed, as given or as "auto" selected it; none if nothing is smoothed."""
        is_given = self.takes_smoothing and smoothing != "auto"
        return [Strength(float(smoothing))] * len(tally.features) if is_given else []

    @property
    def separator(self) -> str | None:
        """The text that separates the tokens of a bag that is given as a text; None if it cannot be."""
        return None

    @property
    def tokeniser(self) -> Tokeniser | None:
        """How raw texts are cut into tokens; None unless columns are texts."""
        return None

    @property
    def scoring_tokeniser(self) -> Tokeniser | None:
        """The same for texts that are only scored: without tokens that are counted but not scored."""
        return self.tokeniser

    def check_inputs(self, name: str, sizes: Sequence[int], n_classes: int) -> None:
        """Raise a ParameterError if a derived column with inputs of so many cells takes too much memory."""

    def with_unseen(self, unseen: Unseen) -> Self:
        """The family with a rule for values that were never counted, if it has such an option."""
        return self

    def keys_without_effect(self, keys: Sequence[Key]) -> list[Key]:
        """Those of some keys that are counted but contribute nothing, such as values outside an order."""
        return []

    def with_prior_moments(self, mean: float, scale: float, strength: float, freedom: float) -> Self | None:
        """The family with a prior whose mean weighs `strength` rows and whose scale weighs `freedom` rows.

        None unless its prior has a mean and a scale.
        """
        return None

    @property
    def em_form(self) -> Family | None:
        """The likelihood by which expectation-maximisation divides rows without a label among the classes.

        Its parameters are at their posterior mean or at maximum likelihood, with a fixed strength of smoothing. None:
        numbers are cut into cells, which are counted as categories.
        """
        return self

    @property
    def with_unlabelled(self) -> Self:
        """The family by which a column is scored once unlabelled rows were added to its sums; counted as before."""
        return self

    def display_name(self) -> str:
        """The string form without secrets, for people."""
        return str(self)

    def held_out(
        self,
        tally: TallyT,
        smoothing: Smoothing,
        columns: Sequence[Any],
        codes: Codes32,
        copies: Weights,
        folds: Integers,
    ) -> list[Floats] | None:
        """Scores (rows, classes) of each column, each row by the sums without its fold, where there is a short cut.

        copies: how often each row was learned; folds: the number of the fold of each row. None: no short cut, subtract
        the rows of each fold and derive from what is left, which gives the same.
        """
        return None

    def derives_by_selection(self, smoothing: Smoothing) -> bool:
        """Whether deriving selects something from the data that leave-one-out keeps, such as a strength by evidence."""
        return self.takes_smoothing and smoothing == "auto" and self.own_smoothing == "auto"

    def is_open(self, smoothing: Smoothing) -> bool:
        """Whether some of its options are still to be chosen, by leave-one-out on a sample of documents."""
        return False

    def selected(
        self, tally: TallyT, name: str, documents: SampledDocuments, smoothing: Smoothing
    ) -> tuple[Self, str] | None:
        """The family with its open options chosen for a column, and how; None if there are too few documents.

        documents: a sample of those in the tally. Only for families of bags that may be open.
        """
        return None

    # Tuning

    @classmethod
    def candidates(cls, values: Floats) -> Iterable[Family]:
        """Members of this family that tuning may try on a column of these numbers (at least one, none missing)."""
        return ()

    def alternatives(self, given: Family | None) -> Iterable[Self]:
        """The family with other options, which tuning may try; `counted` is the same.

        given: the family that the user specified, None if it was inferred. Options set there are kept.
        """
        return ()

    @property
    def smoothing_candidates(self) -> tuple[Smoothing, ...]:
        """Strengths of smoothing that tuning may try for a column; none if `alternatives` include them."""
        return ("auto", *(4.0**i for i in range(-4, 5))) if self.takes_smoothing else ()

    # Single rows, and rows scored without themselves

    def adder(self, tally: TallyT, values: Floats) -> Add | None:
        """A function that adds single rows to a tally in place; None if there is no such fast path.

        The caller writes a row into `values` (columns,) first, encoded as in `Predictive.bind_matrix`.
        """
        return None

    def row_score(self, tally: TallyT, smoothing: Smoothing, values: Floats) -> RowScore | None:
        """The score of the first row of `values` (rows, columns) while rows are added by `adder`; None: no fast path.

        The scores are those of `derive(tally, smoothing).bind_matrix(values)` at that time, bit for bit.
        """
        return None

    def repooled(self, prior: PriorT, tally: TallyT) -> PriorT:
        """A prior for other sums: strengths are kept, and what is pooled over the classes is computed again."""
        return prior

    def held(self, tally: TallyT, prior: PriorT) -> PriorT:
        """A prior for one column whose rows are scored without themselves: everything chosen by evidence is fixed."""
        return prior

    def leave_one_out(
        self, tally: TallyT, prior: PriorT | None, columns: Sequence[Any], codes: Codes32, weights: Weights
    ) -> list[Score]:
        """Leave-one-out log likelihoods of rows that are in the tally: one score for each column.

        prior: from `prior`, None for maximum likelihood; codes: the class of every row; weights: None, or of every row.
        This is the definition; families with a faster method override it, and `tallybayes.testing` compares the two.
        """
        scores = []
        for number, (name, column) in enumerate(zip(tally.features, columns, strict=True)):
            part = tally.only((name,))
            part_prior = None if prior is None else self.held(part, part_of_prior(prior, number))
            scores.append(as_score(self.leave_one_out_by_subtraction(part, part_prior, column, codes, weights)))
        return scores

    def leave_one_out_by_subtraction(
        self, tally: TallyT, prior: PriorT | None, column: Any, codes: Codes32, weights: Weights
    ) -> Floats:
        """Leave-one-out log likelihoods of one column by subtracting each row in turn, (rows, classes).

        prior: with its strengths fixed; None for maximum likelihood.
        """
        out = np.zeros((len(codes), tally.n_classes))
        for row, (value, predictive) in enumerate(self.subtract_rows(tally, prior, column, codes, weights)):
            predictive.bind([value])(out[row : row + 1], 0, 1)
        return out

    def subtract_rows(
        self, tally: TallyT, prior: PriorT | None, column: Any, codes: Codes32, weights: Weights
    ) -> Iterator[tuple[Any, Predictive]]:
        """Each row of a column, with the predictive of the sums without it, which is valid until the next row."""
        part = tally.copy()
        for row in range(len(codes)):
            value, weight = column.take(np.array([row])), None if weights is None else weights[row : row + 1]
            row_tally = self.observe(tally.features, [value], codes[row : row + 1], tally.n_classes, weight)
            try:
                part.prepare(row_tally, -1)()
            except ForgetError as error:
                raise never_learned(tally.features[0], row) from error
            yield value, self.plug_in(part) if prior is None else self.predictive(part, self.repooled(prior, part))
            part.prepare(row_tally, 1)()

    # Examples and names

    def example(self, rng: np.random.Generator, n: int) -> Column:
        """A random column that the family can count, with missing values, for `tallybayes.testing.check_family`."""
        missing = rng.random(n) < 0.2
        if self.column is Reals:
            return Reals(np.where(missing, np.nan, rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)))
        if self.column is Flags:
            return Flags(np.where(missing, -1, rng.integers(0, 2, n)).astype(np.int8))
        if self.column is Codes:
            return Codes(np.where(missing, -1, rng.integers(0, 4, n)).astype(np.int32), ["a", "b", "c", "d"])
        if self.column is Cells:
            cells = np.stack(
                [np.where(rng.random(n) < 0.2, -1, rng.integers(0, size, n)) for size in (2, 3, 4)], axis=1
            )
            return Cells(cells.astype(np.int16), (2, 3, 4))
        lengths = np.where(missing, 0, rng.integers(0, 4, n))
        tokens = np.concatenate([rng.choice(6, size=k, replace=False) for k in lengths] or [np.zeros(0)])
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        amounts = rng.integers(1, 4, len(tokens)).astype(np.float64)
        return Bag(indptr, tokens.astype(np.int64), amounts, list("abcdef"), ~missing)

    def __str__(self) -> str:
        options = [
            f"{field.name}={getattr(self, field.name)}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        ]
        return self.name + (":" + ",".join(options) if options else "")
