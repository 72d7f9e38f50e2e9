"""Identifiers are excluded, and measurements in whole numbers are not."""

import uuid

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.columns.family_rules import propose
from tallybayes.columns.identifier import named_as_identifier
from tallybayes.families import Histogram


def rng():
    return np.random.default_rng(7)


def proposed(name, values):
    return propose(name, values, Histogram())


IDENTIFIERS = {
    "running": ("row", np.arange(500) + 1, "consecutive integers"),
    "shuffled": ("x", rng().permutation(500), "500 distinct whole numbers in a range of 500"),
    "with gaps": ("x", np.cumsum(rng().integers(1, 4, 500)), "500 distinct whole numbers in a range of"),
    "by name": ("OrderNo", rng().integers(1, 10**9, 500), "500 distinct whole numbers, and the name"),
    "some repeat": ("customer_id", rng().integers(1, 1000, 500), "in 500 rows, and the name"),
    "random codes": ("account", rng().choice(9 * 10**8, 500, replace=False) + 10**8, "500 distinct codes of 9 digits"),
    "a gap in the column": (
        "key",
        np.where(rng().random(200) < 0.1, np.nan, 3.0 * rng().permutation(200)),
        "whole numbers, and the name",
    ),
    "uuids": (
        "u",
        [str(uuid.UUID(int=rng().integers(2**60).item() * (i + 3) * 2**60)) for i in range(50)],
        "50 distinct UUIDs",
    ),
    "hashes that repeat": (
        "h",
        [f"{i * 11400714819323198485 % 2**64:016x}" for i in range(40)] * 5,
        "40 distinct UUIDs",
    ),
}

MEASUREMENTS = {
    "income": rng().lognormal(10.5, 0.6, 1000).astype(int),
    "population": rng().lognormal(10, 2, 1000).astype(int),
    "milligrams": rng().normal(50_000, 9_000, 500).astype(int),
    "epoch": np.sort(rng().choice(10**8, 1000, replace=False) + 16 * 10**8),
    "age": rng().integers(18, 90, 1000),
    "number_of_rooms": rng().integers(1, 30, 40),
    "country_code": rng().integers(1, 40, 1000),
    "weight": rng().normal(size=500),
    "salary_id_like_but_short": rng().permutation(19),
}


@pytest.mark.parametrize("case", IDENTIFIERS)
def test_an_identifier_is_excluded_with_the_reason(case):
    name, values, words = IDENTIFIERS[case]
    found = proposed(name, values)
    assert found.family is None
    assert found.reason.startswith("identifier: ")
    assert words in found.reason


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_a_measurement_is_used(name):
    assert proposed(name, MEASUREMENTS[name]).family is not None


@pytest.mark.parametrize("name", ["id", "ID", "userId", "user.id", "id-2", "Order No", "item_number", "zipCode", "#"])
def test_names_of_identifiers(name):
    assert named_as_identifier(name)


@pytest.mark.parametrize("name", ["", "idea", "valid", "no_of_rooms", "number of rooms", "keyboard", "codec", "price"])
def test_other_names(name):
    assert not named_as_identifier(name)


def test_the_user_overrules_it():
    rows = pd.DataFrame({"id": rng().permutation(300), "y": ["a", "b"] * 150})
    assert "id" not in tb.fit(rows, label="y").schema.families
    model = tb.fit(rows, label="y", families={"id": "histogram"})
    assert str(model.schema.families["id"]) == "histogram"


@pytest.mark.parametrize("seed", range(5))
def test_small_counts_are_never_taken_for_identifiers_without_a_name(seed):
    """Whole numbers drawn from a range as wide as the table is long repeat, so they are not excluded."""
    values = np.random.default_rng(seed).integers(0, 200, 200)
    assert proposed("count", values).family is not None
