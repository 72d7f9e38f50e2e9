"""Columns give the same bits however they lie in memory: in a matrix, one by one, backwards, with others between."""

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import DataError

ROWS, COLUMNS = 333, 13  # names as text are in another order than the columns of the matrix


def matrix(kind: str) -> np.ndarray:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS, COLUMNS)) * 10.0 ** rng.integers(-6, 7, COLUMNS)
    if kind == "bernoulli":
        X = (X > 0).astype(float)
    if kind == "categorical":
        return rng.integers(-3, 9, (ROWS, COLUMNS)).astype(np.int8)
    X[rng.random(X.shape) < 0.02] = np.nan
    return X


def layouts(X: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    wide = np.zeros((ROWS, 3 * COLUMNS), X.dtype)
    wide[:, ::3] = X
    places = {
        "rows": X,
        "columns": np.asfortranarray(X),
        "backwards": np.ascontiguousarray(X[:, ::-1])[:, ::-1],
        "apart": wide[:, ::3],
    }
    return {name: {f"x{j}": values[:, j] for j in range(COLUMNS)} for name, values in places.items()}


@pytest.mark.parametrize("kind", ["gaussian", "histogram", "bernoulli", "categorical"])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_layouts(kind, n_classes, tmp_path):
    X, y = matrix(kind), np.arange(ROWS) % n_classes
    found = set()
    for columns in layouts(X).values():
        model = tb.fit(columns, y, families=kind, column_weights=None)
        model.save(tmp_path / "model.tally")
        scores = model.predict_proba(columns)
        left_out = model.leave_one_out(columns, label=y)
        found.add(((tmp_path / "model.tally").read_bytes(), scores.tobytes(), left_out.tobytes()))
    assert len(found) == 1


@pytest.mark.parametrize("rows", [3, ROWS])
@pytest.mark.parametrize("layout", ["rows", "columns", "backwards", "apart"])
@pytest.mark.parametrize("kind", ["gaussian", "histogram"])
def test_place_of_infinity(kind, layout, rows):
    X = matrix(kind)
    X[rows - 1, 10] = X[rows - 1, 2] = np.inf  # x10 is named before x2, and comes first among the columns of a model
    columns = {name: values[:rows] for name, values in layouts(X)[layout].items()}
    with pytest.raises(DataError, match="x10") as error:
        tb.fit(columns, np.arange(rows) % 2, families=kind, column_weights=None)
    assert error.value.row == rows - 1
