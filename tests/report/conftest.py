"""A model with columns of every family, new rows, and its report."""

import pytest
from animals import FAMILIES, mixed

import tallybayes as tb


@pytest.fixture(scope="module")
def split():
    rows = mixed()
    return tb.fit(rows[:160], label="species", families=FAMILIES), rows[160:]


@pytest.fixture(scope="module")
def page(split):
    return tb.report(*split)
