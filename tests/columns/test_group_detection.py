"""Columns that look like groups of rows are found, and ordinary columns are not."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import tallybayes as tb
from tallybayes.columns.group_detection import group_columns
from tallybayes.doubts import collect_doubts
from tallybayes.tables.table import to_table

SHARED = Path(__file__).parents[3] / "shared" / "data" / "tables"


def rng(seed=3):
    return np.random.default_rng(seed)


HOST = rng().integers(0, 200, 900)
OF_HOST = rng(4).integers(0, 2, 200)[HOST]


def names_of(columns, codes):
    table = to_table(pd.DataFrame(columns))
    return [column.name for column in group_columns(table, table.columns, np.asarray(codes))]


GROUPS = {
    "integers": HOST * 37,
    "whole reals with gaps": np.where(rng().random(900) < 0.1, np.nan, HOST.astype(float)),
    "texts": [f"host {i * 7919 % 1000}" for i in HOST],
    "a label with exceptions": HOST,
    "large groups": HOST // 5,
    "numbers in steps of ten": HOST * 10,
    "numbers of which a few end in a zero": 6007 + 13 * HOST,
}


@pytest.mark.parametrize("what", GROUPS)
def test_groups_are_found(what):
    codes = OF_HOST if what != "large groups" else rng(4).integers(0, 2, 40)[HOST // 5]
    codes = np.where(rng(5).random(900) < 0.1, 1 - codes, codes) if what == "a label with exceptions" else codes
    assert names_of({"x": GROUPS[what], "y": rng().random(900)}, codes) == ["x"]


HEIGHTS = np.where(np.arange(200) % 2, 6000 + 10 * np.arange(200), 6007 + 13 * np.arange(200))[rng(7).permutation(200)]
ORDINARY = {
    "heights of summits, half of them rounded": (HEIGHTS[HOST], OF_HOST),
    "a label by chance": (HOST, rng(9).integers(0, 2, 900)),
    "a measurement in whole numbers": (HOST, (HOST > 100).astype(int)),
    "a smooth measurement with noise": (HOST, (HOST + rng(6).normal(0, 20, 900) > 100).astype(int)),
    "a measurement that tells several ranges": (HOST, HOST // 40 % 2),
    "few values": (HOST % 20, OF_HOST[:20][HOST % 20]),
    "many rows for each value": (np.repeat(np.arange(40), 300), np.repeat(rng().integers(0, 2, 40), 300)),
    "reals with a fraction": (HOST / 7, OF_HOST),
    "values that hardly repeat": (np.arange(900) - (np.arange(900) % 5 == 1), rng().integers(0, 2, 900)),
    "mostly missing": (np.where(np.arange(900) % 5 > 0, np.nan, HOST), OF_HOST),
    "a value for each class": (HOST, HOST % 100),
    "one class": (HOST, np.zeros(900, int)),
    "lists": ([[int(i)] for i in HOST], OF_HOST),
}


@pytest.mark.parametrize("what", ORDINARY)
def test_ordinary_columns_are_not_groups(what):
    values, codes = ORDINARY[what]
    assert names_of({"x": values}, codes) == []


def test_of_several_columns_the_one_that_is_named_as_an_identifier_comes_first():
    columns = {"since": HOST * 3 % 199, "host_name": [f"n{i % 150}" for i in HOST], "host_id": HOST}
    assert names_of(columns, OF_HOST)[0] == "host_id"


def test_rows_without_a_label_and_rows_beyond_the_first_do_not_matter():
    codes = np.where(rng().random(900) < 0.2, -1, OF_HOST)
    assert names_of({"x": HOST}, codes) == ["x"]
    far = np.concatenate([rng().permutation(20_000), HOST])
    assert names_of({"x": far}, np.concatenate([rng().integers(0, 2, 20_000), OF_HOST])) == []


@given(st.integers(0, 2**32), st.integers(2, 5))
@settings(max_examples=30, deadline=None)
def test_labels_that_do_not_depend_on_the_column_are_never_in_groups(seed, n_classes):
    drawn = np.random.default_rng(seed)
    sizes = drawn.integers(30, 300)
    assert names_of({"x": drawn.integers(0, sizes, 1200)}, drawn.integers(0, n_classes, 1200)) == []


def test_data_of_text_books_has_no_groups():
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        frame = load(as_frame=True).frame
        assert names_of(frame.drop(columns="target"), frame["target"]) == [], load


@pytest.mark.skipif(not SHARED.exists(), reason="needs the shared tables")
def test_no_table_of_the_benchmarks_is_in_groups():
    index = pd.read_csv(SHARED / "index.csv")
    for name, label in zip(index["name"], index["label"], strict=True):
        frame = pd.read_parquet(SHARED / f"{name}.parquet")[:20_000]
        assert names_of(frame.drop(columns=label), pd.factorize(frame[label])[0]) == [], name


@pytest.mark.parametrize("options", [{}, {"ignore": ["host_id"]}, {"only": ["price"]}])
def test_fit_says_so_of_columns_that_are_used_or_excluded_and_of_files_as_of_tables(tmp_path, options):
    rows = pd.DataFrame({"host_id": HOST * 37 + 10**6, "price": rng().integers(1, 99, 900), "superhost": OF_HOST})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    for data in (rows, tmp_path / "rows.csv", iter([rows])):
        with collect_doubts() as found:
            tb.fit(data, label="superhost", **options)
        [doubt] = [doubt for doubt in found if doubt.kind == "groups"]
        assert doubt.column == "host_id"
        assert "group='host_id' (--group host_id)" in doubt.hint


def test_nothing_is_said_where_groups_are_named_or_families_are_those_of_types():
    rows = {"host_id": HOST, "price": rng().integers(1, 99, 900), "superhost": OF_HOST}
    for options in ({"group": "host_id"}, {"infer": "type"}):
        with collect_doubts() as found:
            tb.fit(rows, label="superhost", **options)
        assert not [doubt for doubt in found if doubt.kind == "groups"]
