"""Every public argument that is an integer accepts every integral type and refuses everything else."""

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import ParameterError, check_integer

ROWS = {"x": ["a", "b", "a", "b", "a"] * 20, "y": ["p", "q", "p", "q", "q"] * 20}

CALLS = {
    "folds": lambda n: tb.cross_validate(ROWS, label="y", folds=n),
    "seed": lambda n: tb.cross_validate(ROWS, label="y", folds=4, seed=n),
    "sizes": lambda n: tb.compare(ROWS, label="y", sizes=[n, 20], folds=n),
    "every": lambda n: tb.prequential(ROWS, label="y", every=n),
    "rows": lambda n: tb.importance(tb.fit(ROWS, label="y"), ROWS, rows=n),
    "strengths": lambda n: tb.tune(ROWS, label="y", what="smoothing", rows=50, strengths=n),
    "seed of intervals": lambda n: tb.fit(ROWS, label="y").predict_interval(ROWS, seed=n),
    "seed of importance": lambda n: tb.importance(tb.fit(ROWS, label="y"), ROWS, seed=n),
    "n": lambda n: tb.fit(ROWS, label="y").sample(n, seed=n),
    "bins": lambda n: tb.evaluate(tb.fit(ROWS, label="y"), ROWS).reliability(bins=n),
    "bootstrap": lambda n: tb.evaluate(tb.fit(ROWS, label="y"), ROWS).bootstrap(n, seed=n),
    "ngrams": lambda n: tb.Text(ngrams=n),
}


@pytest.mark.parametrize("kind", [int, np.int64, np.int8, np.uint16])
@pytest.mark.parametrize("argument", CALLS)
def test_every_integral_type_is_accepted(argument, kind):
    CALLS[argument](kind(12))


@pytest.mark.parametrize("argument", CALLS)
@pytest.mark.parametrize("wrong", [-1, "12", 12.0, True])
def test_other_values_are_parameter_errors(argument, wrong):
    with pytest.raises(ParameterError, match="to be an integer of at least"):
        CALLS[argument](wrong)


def test_the_error_names_the_argument_and_the_bound():
    with pytest.raises(ParameterError, match="expected folds to be an integer of at least 2, got 1"):
        check_integer("folds", np.int64(1), at_least=2)
