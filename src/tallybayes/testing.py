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


def batches_add_up(trial: Trial) -> None:
    """Counting in batches of any size, empty ones included, gives the same sums as counting at once."""
    for cuts in ([0], [1], [13, 13, 29], range(_N)):
        total = trial.observe([])
        for rows in np.split(trial.rng.permutation(_N), list(cuts)):
            total.prepare(trial.observe(rows), 1)()
        assert total.same(trial.observe(range(_N)))


def forgetting_is_exact(trial: Trial) -> None:
    """Subtracting rows leaves the sums that never had them (of a histogram, on its present grid)."""
    total = trial.observe(range(_N))
    total.prepare(trial.observe(range(10)), -1)()
    assert total.same(trial.observe(range(10, _N)))


def preparing_changes_nothing(trial: Trial) -> None:
    """Sums change when the prepared change is committed, and not before."""
    total = trial.observe(range(_N))
    total.prepare(trial.observe(range(5)), 1)
    assert total.same(trial.observe(range(_N)))


def integer_weights_repeat_rows(trial: Trial) -> None:
    """An integer weight counts a row that many times, a weight of zero not at all."""
    weights = trial.rng.integers(0, 4, _N)
    repeated = np.repeat(np.arange(_N), weights)
    assert trial.observe(range(_N), weights.astype(np.float64)).same(trial.observe(repeated))


def fractional_weights_are_exact(trial: Trial) -> None:
    """Fractional weights add up to the same sums in any order."""
    weights = trial.rng.random(_N)
    order = trial.rng.permutation(_N)
    assert trial.observe(range(_N), weights).same(trial.observe(order, weights[order]))


def classes_can_move(trial: Trial) -> None:
    """Renumbering the classes renumbers the sums."""
    moved = trial.observe(range(_N)).with_classes(np.array([2, 0, 1]), _CLASSES)
    trial.codes = np.array([2, 0, 1], np.int32)[trial.codes]
    assert moved.same(trial.observe(range(_N)))


def a_row_scores_alone_as_in_a_batch(trial: Trial) -> None:
    """The score of a row does not depend on the other rows, bit for bit."""
    together = trial.scores(trial.column)
    alone = np.concatenate([trial.scores(trial.column.take(np.array([row]))) for row in range(_N)])
    assert np.array_equal(together, alone)


def smoothed_scores_are_finite(trial: Trial) -> None:
    """With smoothing above zero, every value has finite scores."""
    for smoothing in (1e-3, 1.0, "auto", np.inf):
        assert np.isfinite(trial.scores(trial.column, smoothing)).all()


def maximum_likelihood_is_never_nan(trial: Trial) -> None:
    """Without smoothing a score may be minus infinity, never NaN."""
    assert not np.isnan(trial.scores(trial.column, 0)).any()


def infinite_smoothing_makes_classes_equal(trial: Trial) -> None:
    """With infinitely strong smoothing all classes have the same scores."""
    if trial.family.is_likelihood:
        scores = trial.scores(trial.column, np.inf)
        assert np.allclose(scores, scores[:, :1], rtol=1e-12, atol=1e-12)


def an_empty_tally_scores(trial: Trial) -> None:
    """Scores are finite even before any row is counted."""
    out = np.zeros((_N, _CLASSES))
    trial.family.derive(trial.observe([]), 1.0).bind([trial.column])(out, 0, _N)
    assert np.isfinite(out).all()


def samples_have_the_given_size(trial: Trial) -> None:
    """A sample has the given size."""
    if trial.family.is_likelihood:
        predictive = trial.family.derive(trial.observe(range(_N)), 1.0)
        (values,) = predictive.sample(np.random.default_rng(0), 1, 25)
        assert len(values) == 25


def tables_name_column_and_class(trial: Trial) -> None:
    """Every row of the parameter table has a column and a class."""
    for smoothing in (0, 1.0):
        rows = trial.family.derive(trial.observe(range(_N)), smoothing).table()
        assert rows
        assert all({"column", "class"} <= row.keys() for row in rows)


def names_can_be_read_back(trial: Trial) -> None:
    """A registered family can be parsed from its string form."""
    if trial.family.name in FAMILIES:
        assert parse(str(trial.family)) == trial.family


def leave_one_out_is_refitting(trial: Trial) -> None:
    """A leave-one-out score is that of the sums without the row, with everything chosen by evidence fixed."""
    rows, some = trial.observe(range(_N)), trial.rng.choice([0.5, 1.0, 2.0], _N)
    for smoothing in ("auto", 1.0, 0.0):
        for weights, tally in ((None, rows), (some, trial.observe(range(_N), some))):
            prior = None if smoothing == 0 else trial.family.prior(tally, smoothing)
            arguments = (tally, prior, [trial.column], trial.codes, weights)
            fast, defined = np.zeros((_N, _CLASSES)), np.zeros((_N, _CLASSES))
            trial.family.leave_one_out(*arguments)[0](fast, 0, _N)
            Family.leave_one_out(trial.family, *arguments)[0](defined, 0, _N)
            np.testing.assert_allclose(fast, defined, rtol=1e-9, atol=1e-9)


def sums_can_be_stored(trial: Trial) -> None:
    """A tally restored from its arrays has the same sums, and equal sums have equal arrays."""
    total, empty = trial.observe(range(_N)), trial.observe([])
    restored = type(total).from_arrays(total.arrays(), _CLASSES, empty)
    assert restored.same(total)
    again = trial.observe(trial.rng.permutation(_N)).arrays()
    assert _canonical(total.arrays()) == _canonical(again)
    assert not empty.arrays().features


def _canonical(arrays: Arrays) -> list[Any]:
    """The arrays of a tally as plain values."""
    sums = [(name, total.low, total.digits.tolist()) for name, total in sorted(arrays.sums.items())]
    return [
        arrays.features,
        sums,
        sorted((name, places.tolist()) for name, places in arrays.places.items()),
        arrays.keys,
    ]


def forgotten_keys_can_be_freed(trial: Trial) -> None:
    """Neither freeing keys without counts nor shrinking to the limits changes the sums of what was counted."""
    total = trial.observe(range(_N))
    total.prepare(trial.observe(range(10)), -1)()
    assert total.freed().same(total)
    assert total.freed().n_dead == 0


def pooled_sums_have_one_class(trial: Trial) -> None:
    """The sums over all classes are those of the same rows in one class."""
    pooled = trial.observe(range(_N)).pooled()
    trial.codes = np.zeros(_N, np.int32)
    expected = trial.observe(range(_N)).with_classes(np.array([0, -1, -1]), 1)
    assert pooled.same(expected)


def bayes_factors_are_finite(trial: Trial) -> None:
    """The Bayes factor of a column is finite, if the family has an evidence."""
    try:
        log_factor = trial.family.log_bayes_factor(trial.observe(range(_N)), "auto")
    except UnsupportedError:
        return
    assert log_factor.shape == (1,)
    assert np.isfinite(log_factor).all()


def alternatives_count_alike(trial: Trial) -> None:
    """The other options and strengths that tuning tries need no other sums, and have finite scores."""
    assert trial.family.takes_smoothing or not trial.family.smoothing_candidates
    tally = trial.observe(range(_N))
    for family in (trial.family, *trial.family.alternatives(None)):
        assert family.counted == trial.family.counted
        for smoothing in family.smoothing_candidates or ("auto",):
            out = np.zeros((_N, _CLASSES))
            family.derive(tally, smoothing).bind([trial.column])(out, 0, _N)
            assert np.isfinite(out).all()


def candidates_can_count_their_numbers(trial: Trial) -> None:
    """What the family proposes for a column of numbers can count it."""
    for values in (np.array([3.0, 1.0, 2.0]), np.array([-1.5, 0.0]), np.array([0.25, 1e-3])):
        for family in type(trial.family).candidates(values):
            if family.column is Reals:
                family.observe(("x",), [Reals(values)], np.zeros(len(values), np.int32), 1, None)


def a_block_is_its_columns(trial: Trial) -> None:
    """The parts of a predictive of two columns score as the block does."""
    columns = [trial.column, trial.column]
    tally = trial.family.observe(("x", "y"), columns, trial.codes, _CLASSES, None)
    predictive, total = trial.family.derive(tally, 1.0), np.zeros((_N, _CLASSES))
    for number, column in enumerate(columns):
        predictive.part(number).bind([column])(total, 0, _N)
    whole = np.zeros((_N, _CLASSES))
    predictive.bind(columns)(whole, 0, _N)
    np.testing.assert_allclose(whole, total, rtol=1e-12, atol=1e-12)


CHECKS: tuple[Callable[[Trial], None], ...] = (
    batches_add_up,
    forgetting_is_exact,
    preparing_changes_nothing,
    integer_weights_repeat_rows,
    fractional_weights_are_exact,
    classes_can_move,
    a_row_scores_alone_as_in_a_batch,
    smoothed_scores_are_finite,
    maximum_likelihood_is_never_nan,
    infinite_smoothing_makes_classes_equal,
    an_empty_tally_scores,
    samples_have_the_given_size,
    tables_name_column_and_class,
    names_can_be_read_back,
    leave_one_out_is_refitting,
    sums_can_be_stored,
    forgotten_keys_can_be_freed,
    pooled_sums_have_one_class,
    bayes_factors_are_finite,
    alternatives_count_alike,
    candidates_can_count_their_numbers,
    a_block_is_its_columns,
)


def check_family(family: Family | type[Family], *, seeds: int = 3) -> None:
    """Check every law on a family; raises an AssertionError that names the law and the seed."""
    family = family() if isinstance(family, type) else family
    for check in CHECKS:
        for seed in range(seeds):
            try:
                check(Trial(family, seed))
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


def cells_are_read_one_by_one(trial: ReaderTrial) -> None:
    """A cell is read alone as among others, and in any order."""
    rows = range(len(trial.cells))
    together = trial.values(rows)
    assert [trial.values([row])[0] for row in rows] == together
    assert trial.values(reversed(rows)) == together[::-1]


def no_cells_are_read(trial: ReaderTrial) -> None:
    """A batch without rows is a column without rows."""
    assert trial.values([]) == []


def an_absent_column_is_missing(trial: ReaderTrial) -> None:
    """A column that a table does not have is missing in every row."""
    column = trial.reader.encode({}, ReadContext("x", 3, trial.family))
    assert _values_of(column) == [None] * 3


def readers_give_their_kind_of_column(trial: ReaderTrial) -> None:
    """What a reader gives is the kind of column that it says."""
    assert trial.reader.column is not None
    assert isinstance(trial.encode(range(len(trial.cells))), trial.reader.column)


def readers_are_written_and_read(trial: ReaderTrial) -> None:
    """The facts of a reader are plain values from which it is made again."""
    facts = json.loads(json.dumps(trial.reader.to_dict()))
    assert facts["kind"] == trial.reader.kind
    assert type(trial.reader).from_dict(facts) == trial.reader


READER_CHECKS: tuple[Callable[[ReaderTrial], None], ...] = (
    cells_are_read_one_by_one,
    no_cells_are_read,
    an_absent_column_is_missing,
    readers_give_their_kind_of_column,
    readers_are_written_and_read,
)


def check_reader(reader: Reader, cells: list[Any], *, family: Family | None = None) -> None:
    """Check a reader by every law, on some cells; the error of a law that fails has its text.

    cells: raw values that it should read, missing ones among them; family: whose options it needs (a tokeniser).
    """
    for check in READER_CHECKS:
        try:
            check(ReaderTrial(reader, list(cells), family))
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
