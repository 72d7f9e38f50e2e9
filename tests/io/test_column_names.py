"""Columns may have any name, those of attributes and methods included."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tallybayes as tb
from tallybayes import river

NAMES = [
    "format",
    "tocsr",
    "shape",
    "dtype",
    "ndim",
    "indptr",
    "columns",
    "n_rows",
    "type",
    "item",
    "scanner",
    "to_batches",
    "collect_batches",
    "to_dicts",
    "values",
    "index",
    "__array__",
    "__arrow_c_stream__",
]
N = 12
MATRIX = np.random.default_rng(0).normal(size=(N, len(NAMES)))
Y = np.array(["p", "q"] * (N // 2))
COLUMNS = {name: MATRIX[:, j].tolist() for j, name in enumerate(NAMES)}
FRAMES = {"pandas": pd.DataFrame(COLUMNS), "polars": pl.DataFrame(COLUMNS), "pyarrow": pa.table(COLUMNS)}


@pytest.mark.parametrize("library", FRAMES)
def test_a_model_of_columns_named_like_attributes(library):
    model = tb.fit(FRAMES[library], label=Y)
    assert sorted(model.schema.families) == sorted(NAMES)
    expected = model.predict_proba(COLUMNS)
    assert np.array_equal(model.predict_proba(FRAMES[library]), expected)
    assert np.array_equal(model.predict_proba(FRAMES[library][:3]), expected[:3])
    assert np.array_equal(model.predict_proba({name: values[0] for name, values in COLUMNS.items()}), expected[:1])


@pytest.mark.parametrize("library", FRAMES)
def test_the_estimator_takes_columns_named_like_attributes(library):
    estimator = tb.NaiveBayesClassifier().fit(FRAMES[library], Y)
    assert estimator.feature_names_in_.tolist() == NAMES
    assert np.array_equal(estimator.predict_proba(FRAMES[library]), tb.fit(COLUMNS, label=Y).predict_proba(COLUMNS))
    assert estimator.predict(FRAMES[library][:2]).shape == (2,)


@pytest.mark.parametrize("library", ["pandas"])
@pytest.mark.parametrize("kind", ["GaussianNB", "BernoulliNB", "MultinomialNB", "ComplementNB"])
def test_dropins_take_columns_named_like_attributes(library, kind):
    from tallybayes import dropin

    frame = FRAMES[library].abs()
    classifier = getattr(dropin, kind)().fit(frame, Y)
    assert np.array_equal(
        classifier.predict(frame[:2]), getattr(dropin, kind)().fit(frame.to_numpy(), Y).predict(frame.to_numpy()[:2])
    )


def test_the_river_classifier_takes_bags_of_columns_named_like_attributes():
    frame = FRAMES["pandas"].abs().round()
    model = river.NaiveBayes(bag="counts")
    model.learn_many(frame, pd.Series(Y))
    assert len(model.predict_many(frame)) == N
