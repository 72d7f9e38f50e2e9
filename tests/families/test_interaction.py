"""Interactions of two columns: the formula in fractions, and what is found in made-up rows."""

from fractions import Fraction
from math import log

import numpy as np
import pytest

from tallybayes.arrays.column import Cells
from tallybayes.families.together.interaction import STRENGTHS, Interaction
from tallybayes.testing import check_family


def counted(cells, codes):
    column = Cells(np.asarray(cells, np.int16), (2, 2))
    return Interaction().observe(("a x b",), [column], np.asarray(codes, np.int32), 2, None)


def test_the_laws_of_a_family_hold():
    check_family(Interaction())


def test_scores_equal_the_formula_in_fractions():
    n = np.array([[[5, 1], [2, 4]], [[0, 3], [7, 2]]])  # first cell, second cell, class
    rows = [(a, b, c) for (a, b, c), times in np.ndenumerate(n) for _ in range(times)]
    tally, s = counted([row[:2] for row in rows], [row[2] for row in rows]), Fraction(3)
    found = Interaction().derive(tally, 3.0).scores[0].reshape(2, 2, 2)
    own = [Fraction(int(k)) + Fraction(1, 2) for k in n.sum(axis=(0, 1))]
    p = [k / sum(own) for k in own]
    for a, b in np.ndindex(2, 2):
        by_a, by_b = n[a].sum(axis=0).tolist(), n[:, b].sum(axis=0).tolist()
        q = [(by_a[c] + p[c]) / (sum(by_a) + 1) * (by_b[c] + p[c]) / (sum(by_b) + 1) / p[c] for c in (0, 1)]
        q = [one / sum(q) for one in q]
        here = n[a, b].tolist()
        for c in (0, 1):
            share = (here[c] + s * q[c]) / (sum(here) + s)
            assert found[a, b, c] == pytest.approx(log(share / q[c]), rel=1e-12)


def test_xor_is_nearly_certain_and_independent_columns_add_nothing():
    rng = np.random.default_rng(0)
    cells, y = rng.integers(0, 2, (2000, 2)), rng.integers(0, 2, 2000)
    xor = Interaction().derive(counted(cells, cells[:, 0] ^ cells[:, 1]), "auto").scores[0]
    assert np.abs(xor[:, 1] - xor[:, 0]).min() > 4
    tally = counted(cells, y)
    assert Interaction().prior(tally, "auto").strengths[0] == STRENGTHS[-1]
    assert np.abs(Interaction().derive(tally, "auto").scores[0]).max() < 0.01
