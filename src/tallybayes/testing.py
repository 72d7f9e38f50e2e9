"""Checks for authors of a family or a reader.

A family is one file: a prior, a `Family`, a `Predictive`, and a `Tally` (usually `tallybayes.tally.Sums`).
`check_family` checks every law that the rest of the library relies on and raises an AssertionError whose text is the
law that fails.

>>> from tallybayes import Gaussian
>>> check_family(Gaussian())

A reader (`columns/readers/`) says how cells become what a family counts; `check_reader` does the same for it, on cells
that its author gives.

>>> from tallybayes.columns.readers.number_reader import NumberReader
>>> check_reader(NumberReader(), [1.5, None, 7])
"""

import inspect
import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from tallybayes.arrays.column import Bag, Cells, Codes, Column, Flags, Reals
from tallybayes.columns.readers.reader import ReadContext, Reader
from tallybayes.errors import UnsupportedError
from tallybayes.families import FAMILIES, Family, parse
from tallybayes.tally import Tally
from tallybayes.tally.tally import Arrays

__all__ = ["CHECKS", "READER_CHECKS", "check_family", "check_reader"]

_N, _CLASSES = 40, 3


def _laws_of(laws: type) -> tuple[Callable[[Any], None], ...]:
    """The methods of a class, in their order."""
    return tuple(law for law in vars(laws).values() if inspect.isfunction(law))


class Trial:
    """A random column with labels, and functions that count some of its rows."""

    def __init__(self, family: Family, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.family = family
        self.column: Any = family.example(self.rng, _N)
        self.codes = self.rng.integers(0, _CLASSES, _N).astype(np.int32)

    def observe(self, rows: Any, weights: Any = None) -> Tally:
        """Count some rows."""
        rows = np.asarray(rows, np.int64)
        tally: Tally = self.family.observe(("x",), [self.column.take(rows)], self.codes[rows], _CLASSES, weights)
        return tally

    def scores(self, column: Column, smoothing: Any = 1.0) -> Any:
        """The scores of a column after counting all rows."""
        out = np.zeros((len(column), _CLASSES))
        self.family.derive(self.observe(range(_N)), smoothing).bind([column])(out, 0, len(column))
        return out


class FamilyLaws(Trial):
    """What holds for every family: a method for each law, whose docstring is the law."""

    def batches_add_up(self) -> None:
        """Counting in batches of any size, empty ones included, gives the same sums as counting at once."""
        for cuts in ([0], [1], [13, 13, 29], range(_N)):
            total = self.observe([])
            for rows in np.split(self.rng.permutation(_N), list(cuts)):
                total.prepare(self.observe(rows), 1)()
            assert total.same(self.observe(range(_N)))

    def forgetting_is_exact(self) -> None:
        """Subtracting rows leaves the sums that never had them (of a histogram, on its present grid)."""
        total = self.observe(range(_N))
        total.prepare(self.observe(range(10)), -1)()
        assert total.same(self.observe(range(10, _N)))

    def preparing_changes_nothing(self) -> None:
        """Sums change when the prepared change is committed, and not before."""
        total = self.observe(range(_N))
        total.prepare(self.observe(range(5)), 1)
        assert total.same(self.observe(range(_N)))

    def integer_weights_repeat_rows(self) -> None:
        """An integer weight counts a row that many times, a weight of zero not at all."""
        weights = self.rng.integers(0, 4, _N)
        repeated = np.repeat(np.arange(_N), weights)
        assert self.observe(range(_N), weights.astype(np.float64)).same(self.observe(repeated))

    def fractional_weights_are_exact(self) -> None:
        """Fractional weights add up to the same sums in any order."""
        weights = self.rng.random(_N)
        order = self.rng.permutation(_N)
        assert self.observe(range(_N), weights).same(self.observe(order, weights[order]))

    def classes_can_move(self) -> None:
        """Renumbering the classes renumbers the sums."""
        moved = self.observe(range(_N)).with_classes(np.array([2, 0, 1]), _CLASSES)
        self.codes = np.array([2, 0, 1], np.int32)[self.codes]
        assert moved.same(self.observe(range(_N)))

    def a_row_scores_alone_as_in_a_batch(self) -> None:
        """The score of a row does not depend on the other rows, bit for bit."""
        together = self.scores(self.column)
        alone = np.concatenate([self.scores(self.column.take(np.array([row]))) for row in range(_N)])
        assert np.array_equal(together, alone)

    def smoothed_scores_are_finite(self) -> None:
        """With smoothing above zero, every value has finite scores."""
        for smoothing in (1e-3, 1.0, "auto", np.inf):
            assert np.isfinite(self.scores(self.column, smoothing)).all()

    def maximum_likelihood_is_never_nan(self) -> None:
        """Without smoothing a score may be minus infinity, never NaN."""
        assert not np.isnan(self.scores(self.column, 0)).any()

    def infinite_smoothing_makes_classes_equal(self) -> None:
        """With infinitely strong smoothing all classes have the same scores."""
        if self.family.is_likelihood:
            scores = self.scores(self.column, np.inf)
            assert np.allclose(scores, scores[:, :1], rtol=1e-12, atol=1e-12)

    def an_empty_tally_scores(self) -> None:
        """Scores are finite even before any row is counted."""
        out = np.zeros((_N, _CLASSES))
        self.family.derive(self.observe([]), 1.0).bind([self.column])(out, 0, _N)
        assert np.isfinite(out).all()

    def samples_have_the_given_size(self) -> None:
        """A sample has the given size."""
        if self.family.is_likelihood:
            predictive = self.family.derive(self.observe(range(_N)), 1.0)
            (values,) = predictive.sample(np.random.default_rng(0), 1, 25)
            assert len(values) == 25

    def outcomes_add_up_to_one(self) -> None:
        """The probabilities of all outcomes of a column, if it has few, add up to 1 in every class."""
        if self.family.is_likelihood:
            for smoothing in ("auto", 1.0, 0.0):
                log_p = self.family.derive(self.observe(range(_N)), smoothing).outcomes(0)
                assert log_p is None or np.allclose(np.exp(log_p).sum(axis=0), 1.0, rtol=1e-9)

    def tables_name_column_and_class(self) -> None:
        """Every row of the parameter table has a column and a class."""
        for smoothing in (0, 1.0):
            rows = self.family.derive(self.observe(range(_N)), smoothing).table()
            assert rows
            assert all({"column", "class"} <= row.keys() for row in rows)

    def names_can_be_read_back(self) -> None:
        """A registered family can be parsed from its string form."""
        if self.family.name in FAMILIES:
            assert parse(str(self.family)) == self.family

    def leave_one_out_is_refitting(self) -> None:
        """A leave-one-out score is that of the sums without the row, with everything chosen by evidence fixed."""
        rows, some = self.observe(range(_N)), self.rng.choice([0.5, 1.0, 2.0], _N)
        for smoothing in ("auto", 1.0, 0.0):
            for weights, tally in ((None, rows), (some, self.observe(range(_N), some))):
                prior = None if smoothing == 0 else self.family.prior(tally, smoothing)
                arguments = (tally, prior, [self.column], self.codes, weights)
                fast, defined = np.zeros((_N, _CLASSES)), np.zeros((_N, _CLASSES))
                self.family.leave_one_out(*arguments)[0](fast, 0, _N)
                Family.leave_one_out(self.family, *arguments)[0](defined, 0, _N)
                np.testing.assert_allclose(fast, defined, rtol=1e-9, atol=1e-9)

    def sums_can_be_stored(self) -> None:
        """A tally restored from its arrays has the same sums, and equal sums have equal arrays."""
        total, empty = self.observe(range(_N)), self.observe([])
        restored = type(total).from_arrays(total.arrays(), _CLASSES, empty)
        assert restored.same(total)
        again = self.observe(self.rng.permutation(_N)).arrays()
        assert _canonical(total.arrays()) == _canonical(again)
        assert not empty.arrays().features

    def forgotten_keys_can_be_freed(self) -> None:
        """Neither freeing keys without counts nor shrinking to the limits changes the sums of what was counted."""
        total = self.observe(range(_N))
        total.prepare(self.observe(range(10)), -1)()
        assert total.freed().same(total)
        assert total.freed().n_dead == 0

    def pooled_sums_have_one_class(self) -> None:
        """The sums over all classes are those of the same rows in one class."""
        pooled = self.observe(range(_N)).pooled()
        self.codes = np.zeros(_N, np.int32)
        expected = self.observe(range(_N)).with_classes(np.array([0, -1, -1]), 1)
        assert pooled.same(expected)

    def bayes_factors_are_finite(self) -> None:
        """The Bayes factor of a column is finite, if the family has an evidence."""
        try:
            log_factor = self.family.log_bayes_factor(self.observe(range(_N)), "auto")
        except UnsupportedError:
            return
        assert log_factor.shape == (1,)
        assert np.isfinite(log_factor).all()

    def alternatives_count_alike(self) -> None:
        """The other options and strengths that tuning tries need no other sums, and have finite scores."""
        assert self.family.takes_smoothing or not self.family.smoothing_candidates
        tally = self.observe(range(_N))
        for family in (self.family, *self.family.alternatives(None)):
            assert family.counted == self.family.counted
            for smoothing in family.smoothing_candidates or ("auto",):
                out = np.zeros((_N, _CLASSES))
                family.derive(tally, smoothing).bind([self.column])(out, 0, _N)
                assert np.isfinite(out).all()

    def candidates_can_count_their_numbers(self) -> None:
        """What the family proposes for a column of numbers can count it."""
        for values in (np.array([3.0, 1.0, 2.0]), np.array([-1.5, 0.0]), np.array([0.25, 1e-3])):
            for family in type(self.family).candidates(values):
                if family.column is Reals:
                    family.observe(("x",), [Reals(values)], np.zeros(len(values), np.int32), 1, None)

    def a_block_is_its_columns(self) -> None:
        """The parts of a predictive of two columns score as the block does."""
        columns = [self.column, self.column]
        tally = self.family.observe(("x", "y"), columns, self.codes, _CLASSES, None)
        predictive, total = self.family.derive(tally, 1.0), np.zeros((_N, _CLASSES))
        for number, column in enumerate(columns):
            predictive.part(number).bind([column])(total, 0, _N)
        whole = np.zeros((_N, _CLASSES))
        predictive.bind(columns)(whole, 0, _N)
        np.testing.assert_allclose(whole, total, rtol=1e-12, atol=1e-12)


CHECKS: tuple[Callable[[FamilyLaws], None], ...] = _laws_of(FamilyLaws)


def _canonical(arrays: Arrays) -> list[Any]:
    """The arrays of a tally as plain values."""
    sums = [(name, total.low, total.digits.tolist()) for name, total in sorted(arrays.sums.items())]
    return [
        arrays.features,
        sums,
        sorted((name, places.tolist()) for name, places in arrays.places.items()),
        arrays.keys,
    ]


def check_family(family: Family | type[Family], *, seeds: int = 3) -> None:
    """Check every law on a family; raises an AssertionError that names the law and the seed."""
    family = family() if isinstance(family, type) else family
    for check in CHECKS:
        for seed in range(seeds):
            try:
                check(FamilyLaws(family, seed))
            except AssertionError as error:
                law = (check.__doc__ or check.__name__).strip()
                raise AssertionError(f"{family}, seed {seed}: {law} {error}".rstrip()) from error


class ReaderTrial:
    """Cells of one column, and the values that a reader makes of some of them."""

    def __init__(self, reader: Reader, cells: list[Any], family: Family | None) -> None:
        self.reader, self.cells, self.family = reader, cells, family

    def encode(self, rows: Any) -> Column:
        """Read some of the cells."""
        cells = [self.cells[row] for row in rows]
        return self.reader.encode({"x": cells}, ReadContext("x", len(cells), self.family))

    def values(self, rows: Any) -> list[Any]:
        """The values of some of the cells, in a form that can be compared: missing ones are None."""
        return _values_of(self.encode(rows))


class ReaderLaws(ReaderTrial):
    """What holds for every reader: a method for each law, whose docstring is the law."""

    def cells_are_read_one_by_one(self) -> None:
        """A cell is read alone as among others, and in any order."""
        rows = range(len(self.cells))
        together = self.values(rows)
        assert [self.values([row])[0] for row in rows] == together
        assert self.values(reversed(rows)) == together[::-1]

    def no_cells_are_read(self) -> None:
        """A batch without rows is a column without rows."""
        assert self.values([]) == []

    def an_absent_column_is_missing(self) -> None:
        """A column that a table does not have is missing in every row."""
        column = self.reader.encode({}, ReadContext("x", 3, self.family))
        assert _values_of(column) == [None] * 3

    def readers_give_their_kind_of_column(self) -> None:
        """What a reader gives is the kind of column that it says."""
        assert self.reader.column is not None
        assert isinstance(self.encode(range(len(self.cells))), self.reader.column)

    def readers_are_written_and_read(self) -> None:
        """The facts of a reader are plain values from which it is made again."""
        facts = json.loads(json.dumps(self.reader.to_dict()))
        assert facts["kind"] == self.reader.kind
        assert type(self.reader).from_dict(facts) == self.reader


READER_CHECKS: tuple[Callable[[ReaderLaws], None], ...] = _laws_of(ReaderLaws)


def check_reader(reader: Reader, cells: list[Any], *, family: Family | None = None) -> None:
    """Check a reader by every law, on some cells; the error of a law that fails has its text.

    cells: raw values that it should read, missing ones among them; family: whose options it needs (a tokeniser).
    """
    for check in READER_CHECKS:
        try:
            check(ReaderLaws(reader, list(cells), family))
        except AssertionError as error:
            raise AssertionError(f"{type(reader).__name__}: {check.__doc__}") from error


def _values_of(column: Column) -> list[Any]:
    """The values of a column row by row, None where they are missing."""
    if isinstance(column, Bag):
        return _bags_of(column.expanded())
    if isinstance(column, Codes):
        places = [int(code) - column.origin for code in column.codes]
        return [column.keys[place] if 0 <= place < len(column.keys) else None for place in places]
    if isinstance(column, Cells):
        return [None if (cells < 0).all() else cells.tolist() for cells in column.codes]
    values = column.values.astype(np.float64)
    is_missing = np.isnan(values) | (isinstance(column, Flags) & (column.values.dtype.kind == "i") & (values == -1))
    return [None if missing else value for value, missing in zip(values.tolist(), is_missing.tolist(), strict=True)]


def _bags_of(bags: Bag) -> list[dict[Any, float] | None]:
    """The tokens of every row and how often each occurs."""
    tokens: Any = bags.keys
    if hasattr(tokens, "packed"):  # a lexicon
        content, ends = tokens.packed()
        tokens = [content.tobytes()[a:b] for a, b in itertools.pairwise(ends.tolist())]
    amounts = np.ones(len(bags.indices)) if bags.amounts is None else bags.amounts
    rows = [slice(a, b) for a, b in itertools.pairwise(bags.indptr.tolist())]
    contents = [{tokens[i]: float(n) for i, n in zip(bags.indices[at], amounts[at], strict=True)} for at in rows]
    present = np.ones(len(bags), bool) if bags.present is None else bags.present
    return [bag if here else None for bag, here in zip(contents, present, strict=True)]
