"""Checks for people who add a family.

A family is one file: a prior, a `Family`, a `Predictive`. `check_family` tries on it every law that the rest of the
library relies on and raises an AssertionError whose text is the law that fails.

>>> from tallybayes import Gaussian
>>> check_family(Gaussian())
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tallybayes.arrays.column import Column
from tallybayes.families import FAMILIES, Family, parse
from tallybayes.tally import Tally

__all__ = ["CHECKS", "check_family"]

_N, _CLASSES = 40, 3


class Trial:
    """A random column, labels, and the ways to count some of its rows."""

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
        """What the family says after seeing all rows."""
        out = np.zeros((len(column), _CLASSES))
        self.family.derive(self.observe(range(_N)), smoothing).bind([column])(out, 0, len(column))
        return out


def batches_add_up(trial: Trial) -> None:
    """Counting in batches of any size, down to none, gives the same sums as counting at once."""
    for cuts in ([0], [1], [13, 13, 29], range(_N)):
        total = trial.observe([])
        for rows in np.split(trial.rng.permutation(_N), list(cuts)):
            total.prepare(trial.observe(rows), 1)()
        assert total.same(trial.observe(range(_N)))


def forgetting_is_exact(trial: Trial) -> None:
    """Taking rows back leaves the sums that never had them, on the grid as it is."""
    total = trial.observe(range(_N))
    total.prepare(trial.observe(range(10)), -1)()
    assert total.same(trial.observe(range(10, _N)))


def preparing_changes_nothing(trial: Trial) -> None:
    """Sums change when the prepared change is carried out, and not before."""
    total = trial.observe(range(_N))
    total.prepare(trial.observe(range(5)), 1)
    assert total.same(trial.observe(range(_N)))


def whole_weights_repeat_rows(trial: Trial) -> None:
    """A whole weight is so many rows, a weight of zero none."""
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
    """The score of a row does not depend on its neighbours, bit for bit."""
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


def infinite_smoothing_is_silent(trial: Trial) -> None:
    """Infinitely strong smoothing makes all classes alike."""
    if trial.family.is_likelihood:
        scores = trial.scores(trial.column, np.inf)
        assert np.allclose(scores, scores[:, :1], rtol=1e-12, atol=1e-12)


def an_empty_tally_scores(trial: Trial) -> None:
    """Before any row, a family still answers, with finite scores."""
    out = np.zeros((_N, _CLASSES))
    trial.family.derive(trial.observe([]), 1.0).bind([trial.column])(out, 0, _N)
    assert np.isfinite(out).all()


def samples_have_the_size_asked_for(trial: Trial) -> None:
    """A sample has the size asked for."""
    if trial.family.is_likelihood:
        predictive = trial.family.derive(trial.observe(range(_N)), 1.0)
        (values,) = predictive.sample(np.random.default_rng(0), 1, 25)
        assert len(values) == 25


def tables_name_column_and_class(trial: Trial) -> None:
    """The parameters for people name their column and class."""
    for smoothing in (0, 1.0):
        rows = trial.family.derive(trial.observe(range(_N)), smoothing).table()
        assert rows
        assert all({"column", "class"} <= row.keys() for row in rows)


def names_can_be_read_back(trial: Trial) -> None:
    """The string form of a registered family gives the family back."""
    if trial.family.name in FAMILIES:
        assert parse(str(trial.family)) == trial.family


def leaving_out_is_refitting(trial: Trial) -> None:
    """A row left out is scored as by the sums that never had it, with all that is chosen by evidence held."""
    rows, some = trial.observe(range(_N)), trial.rng.choice([0.5, 1.0, 2.0], _N)
    for smoothing in ("auto", 1.0, 0.0):
        for weights, tally in ((None, rows), (some, trial.observe(range(_N), some))):
            prior = None if smoothing == 0 else trial.family.prior(tally, smoothing)
            given = (tally, prior, [trial.column], trial.codes, weights)
            quick, defined = np.zeros((_N, _CLASSES)), np.zeros((_N, _CLASSES))
            trial.family.left_out(*given)[0](quick, 0, _N)
            Family.left_out(trial.family, *given)[0](defined, 0, _N)
            np.testing.assert_allclose(quick, defined, rtol=1e-9, atol=1e-9)


CHECKS: tuple[Callable[[Trial], None], ...] = (
    batches_add_up,
    forgetting_is_exact,
    preparing_changes_nothing,
    whole_weights_repeat_rows,
    fractional_weights_are_exact,
    classes_can_move,
    a_row_scores_alone_as_in_a_batch,
    smoothed_scores_are_finite,
    maximum_likelihood_is_never_nan,
    infinite_smoothing_is_silent,
    an_empty_tally_scores,
    samples_have_the_size_asked_for,
    tables_name_column_and_class,
    names_can_be_read_back,
    leaving_out_is_refitting,
)


def check_family(family: Family | type[Family], *, seeds: int = 3) -> None:
    """Try every law on a family; raises an AssertionError that names the law and the seed."""
    family = family() if isinstance(family, type) else family
    for check in CHECKS:
        for seed in range(seeds):
            try:
                check(Trial(family, seed))
            except AssertionError as error:
                law = (check.__doc__ or check.__name__).strip()
                raise AssertionError(f"{family}, seed {seed}: {law} {error}".rstrip()) from error
