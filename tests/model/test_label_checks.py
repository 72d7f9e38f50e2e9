"""Labels that cannot be predicted are refused with advice, numbers are cut into bins, doubts about classes are said."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tallybayes as tb
from tallybayes.columns.label_spec import LabelBins
from tallybayes.errors import DataError, DataWarning, ParameterError


def houses(n=400, seed=0):
    rng = np.random.default_rng(seed)
    rooms = rng.integers(1, 8, n)
    return pd.DataFrame({"rooms": rooms, "price": (rooms * 50 + rng.normal(0, 20, n)).round(2)})


@pytest.mark.parametrize(
    "label",
    [
        np.random.default_rng(0).normal(size=60),
        [f"customer {i}" for i in range(200)],
        np.arange(200) * 3,
        [str(i / 7) for i in range(300)],
    ],
)
def test_a_label_that_hardly_repeats_is_refused(label):
    with pytest.raises(DataError, match="expected a label whose classes repeat, got") as caught:
        tb.fit({"x": np.arange(len(label)) % 3}, label=label)
    assert "another column" in caught.value.hint
    assert ("bins=" in caught.value.hint) == (not str(label[0]).startswith("customer"))


def test_many_classes_that_repeat_are_classes():
    model = tb.fit(
        {"x": np.arange(1000) % 3}, label=np.arange(1000) % 300, families={"x": "categorical"}, column_weights=None
    )
    assert len(model.classes) == 300
    assert len(tb.fit({"x": [1, 2] * 9}, label=np.arange(18) / 7, column_weights=None).classes) == 18


@pytest.mark.parametrize("form", ["frame", "csv", "parquet", "array"])
def test_quantiles_are_edges(form, tmp_path):
    data = houses()
    data.to_csv(tmp_path / "h.csv", index=False)
    data.to_parquet(tmp_path / "h.parquet")
    source = {"csv": str(tmp_path / "h.csv"), "parquet": str(tmp_path / "h.parquet")}.get(form, data)
    label = data["price"] if form == "array" else "price"
    model = tb.fit(data[["rooms"]] if form == "array" else source, label=label, bins=4)
    assert sorted(model.class_counts.values()) == [100, 100, 100, 100]
    assert model.schema.bins == tb.fit(data, label="price", bins=4).schema.bins
    result = tb.evaluate(model, source, label if form == "array" else None)
    assert result.accuracy > 0.6


def test_the_whole_file_decides_not_its_beginning(tmp_path):
    values = np.arange(60_000) / 7
    pd.DataFrame({"x": 1, "y": values}).to_csv(tmp_path / "sorted.csv", index=False)
    model = tb.fit(str(tmp_path / "sorted.csv"), label="y", bins=3, column_weights=None)
    assert list(model.class_counts.values()) == [20_000] * 3


def test_edges_and_names():
    data = houses()
    model = tb.fit(data, label="price", bins=[100, 250.5])
    assert set(model.classes) == {"< 100", "100 to 250.5", ">= 250.5"}
    assert model.class_counts["< 100"] == (data["price"] < 100).sum()
    assert model.class_counts[">= 250.5"] == (data["price"] >= 250.5).sum()
    assert "label: price, cut at 100, 250.5" in str(model.schema)


def test_later_rows_are_cut_in_the_same_way(tmp_path):
    data = houses()
    model = tb.fit(data, label="price", bins=3)
    model.save(tmp_path / "m.tally")
    loaded = tb.load(tmp_path / "m.tally")
    loaded.learn({"rooms": [1, 7, 2], "price": ["-5", "1e9", None]})
    assert sum(loaded.class_counts.values()) == 402
    loaded.forget({"rooms": [1, 7], "price": [-5.0, 1e9]})
    assert loaded == model
    low = model.schema.bins.names[0]
    loaded.learn({"rooms": [1], "price": [low]})
    assert loaded.class_counts[low] == model.class_counts[low] + 1
    assert np.isfinite(model.leave_one_out(data)).all()
    again = tb.fit(data, schema=model.schema)
    assert again == model


def test_everything_that_reads_labels_cuts_them(tmp_path):
    data = houses()
    model = tb.fit(data, label="price", bins=3)
    assert tb.cross_validate(data, "price", bins=3, folds=3).accuracy > 0.5
    assert tb.evaluate(model, data, leave_one_out=True).accuracy > 0.5
    assert tb.prequential(data, "price", bins=[100, 200]).evaluation.accuracy > 0.3
    assert model.calibrate(data) is not None
    assert tb.tune(data, "price", bins=3).model.schema.bins == model.schema.bins
    assert model.objective(data).prior > 0


def test_tuning_counts_interactions_by_the_bins():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 600))
    price = (a ^ b) * 10 + rng.normal(size=600)
    data = pd.DataFrame({"a": np.where(a, "p", "q"), "b": np.where(b, "u", "v"), "price": price})
    tuned = tb.tune(data, "price", bins=2).model
    assert "a x b" in tuned.schema.columns
    assert tb.evaluate(tuned, data).accuracy > 0.95


@pytest.mark.parametrize("bins", [1, 0, -3, True, 2.5, "4", [], [3, 3], [5, 1], [np.nan], [np.inf], ["a"]])
def test_bins_that_are_none(bins):
    with pytest.raises(ParameterError, match="expected bins to be"):
        tb.fit(houses(), label="price", bins=bins)


def test_bins_are_for_numbers():
    data = {"x": [1, 2] * 30, "y": ["cat", "dog"] * 30}
    with pytest.raises(DataError, match="column 'y', row 0: expected a number, to be cut into bins, got 'cat'"):
        tb.fit(data, label="y", bins=2)
    with pytest.raises(DataError, match="got True"):
        tb.fit({"x": [1, 2] * 30, "y": [True, True] * 30}, label="y", bins=2)
    with pytest.raises(ParameterError, match="not for COLUMN=VALUE"):
        tb.fit(data, label="y=cat", bins=2)
    with pytest.raises(DataError, match="expected different numbers to cut into 2 bins, got a single one"):
        tb.fit({"x": [1, 2], "y": [5, 5]}, label="y", bins=2)
    with pytest.raises(DataError, match="got none"):
        tb.fit({"x": [1, 2], "y": [None, None]}, label="y", bins=2)


def test_fewer_bins_than_asked_for_is_a_warning():
    with pytest.warns(DataWarning, match="column 'y': cut into 2 bins instead of 4, because many values are equal"):
        model = tb.fit({"x": [1, 2] * 30, "y": [0] * 50 + list(range(10))}, label="y", bins=4)
    assert len(model.classes) == 2


finite = hnp.arrays(float, st.integers(2, 30), elements=st.floats(-1e9, 1e9))


@given(finite, st.integers(2, 6))
def test_bins_of_quantiles_hold_every_value_in_its_range(values, n):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            bins = LabelBins.of_quantiles(values, n, "y")
        except DataError:
            assert len(np.unique(values)) == 1
            return
    codes, edges = bins.codes(values), np.array([-np.inf, *bins.edges, np.inf])
    assert ((edges[codes] <= values) & (values < edges[codes + 1])).all()
    assert 2 <= len(bins.names) <= n
    assert set(codes.tolist()) == set(range(len(bins.names)))


def test_one_class_is_a_warning():
    with pytest.warns(DataWarning, match="column 'y': only one class, a: every prediction is that class"):
        tb.fit({"x": [1, 2], "y": ["a", "a"]}, label="y")


def test_labels_that_differ_in_case_or_spaces_are_a_warning_when_fitting():
    data = {"x": [1, 2, 3] * 10, "y": ["yes", "Yes", "no  way"] * 10}
    with pytest.warns(DataWarning, match="column 'y': labels that differ only in spelling .*: 'Yes' and 'yes'"):
        tb.fit(data, label="y")


def test_new_classes_are_notes_when_learning():
    model = tb.fit({"x": [1, 2] * 10, "y": ["cat", "dog"] * 10}, label="y")
    change = model.learn({"x": [1, 2, 3], "y": ["Cat", "cow", "dog"]})
    assert change.notes == (
        "new class 'Cat', which differs from 'cat' only in spelling: 1 row",
        "new class 'cow': 1 row",
    )
    assert model.learn({"x": [1], "y": ["Cat"]}).notes == ()
    assert model.learn_one({"x": 1}, "horse").notes == ("new class 'horse': 1 row",)


def test_a_label_in_another_form_is_a_note():
    model = tb.fit({"x": [1, 2] * 10, "y": ["no", "yes"] * 10}, label="y")
    change = model.learn({"x": [1, 2], "y": ["Yes", "TRUE"]})
    assert change.notes == ("labels were read in the form of the others: 'TRUE' as 'yes', 'Yes' as 'yes'",)
    assert model.class_counts == {"no": 10, "yes": 12}
