"""The same table through every door gives the same model."""

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import tallybayes as tb
from tallybayes.errors import DataError

N = 60


def columns(rng):
    return {
        "age": [float(v) if v > 5 else None for v in rng.integers(0, 90, N)],
        "visits": rng.integers(0, 6, N).tolist(),
        "smoker": [bool(v) for v in rng.integers(0, 2, N)],
        "town": [["Leeds", "York", None][v] for v in rng.integers(0, 3, N)],
        "tags": [["a|b", "b", "", "a|c"][v] for v in rng.integers(0, 4, N)],
        "ill": [["no", "yes"][v] for v in rng.integers(0, 2, N)],
    }


COLUMNS = columns(np.random.default_rng(0))
ROWS = [dict(zip(COLUMNS, values, strict=True)) for values in zip(*COLUMNS.values(), strict=True)]
FAMILIES = {"tags": "tags"}

SOURCES = {
    "dict of lists": lambda: COLUMNS,
    "list of dicts": lambda: ROWS,
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas with an index": lambda: pd.DataFrame(COLUMNS, index=[f"r{i}" for i in range(N)]),
    "pandas categories": lambda: pd.DataFrame(COLUMNS).astype({"town": "category"}),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars categories": lambda: pl.DataFrame(COLUMNS).with_columns(pl.col("town").cast(pl.Categorical)),
    "pyarrow": lambda: pa.table(COLUMNS),
    "pyarrow in chunks": lambda: pa.concat_tables([pa.table(COLUMNS)[:7], pa.table(COLUMNS)[7:]]),
    "pyarrow record batch": lambda: pa.RecordBatch.from_pydict(COLUMNS),
    "dict of arrays": lambda: {name: pa.array(values) for name, values in COLUMNS.items()},
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_kind_of_frame_gives_the_same_model(source):
    model = tb.fit(SOURCES[source](), label="ill", families=FAMILIES)
    reference = tb.fit(COLUMNS, label="ill", families=FAMILIES)
    assert model.same_counts(reference)
    assert np.array_equal(model.predict_proba(SOURCES[source]()), reference.predict_proba(COLUMNS))


def test_duckdb_relations():
    duckdb = pytest.importorskip("duckdb")
    frame = pa.table(COLUMNS)
    relation = duckdb.sql("from frame")
    assert tb.fit(relation, label="ill", families=FAMILIES).same_counts(tb.fit(frame, label="ill", families=FAMILIES))


@pytest.mark.parametrize("layout", ["C", "F", "strided", "float32", "int8", "list"])
def test_matrices_of_any_layout(layout):
    rng = np.random.default_rng(1)
    X = rng.integers(-20, 20, (N, 4)).astype(np.float64)
    y = rng.integers(0, 2, N)
    given = {
        "C": X,
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "float32": X.astype(np.float32),
        "int8": X.astype(np.int8),
        "list": X.tolist(),
    }[layout]
    for numeric in ("gaussian", "histogram"):
        assert tb.fit(given, label=y, numeric=numeric).same_counts(tb.fit(X, label=y, numeric=numeric))
    assert list(tb.fit(given, label=y).schema.families) == ["x0", "x1", "x2", "x3"]


def unaligned(values):
    """The same numbers at an odd address."""
    raw = np.zeros(values.nbytes + 1, np.uint8)[1:]
    raw[:] = np.frombuffer(values.tobytes(), np.uint8)
    return raw.view(values.dtype).reshape(values.shape)


def test_numbers_at_odd_addresses():
    """Fields of packed records, and buffers of Arrow, need not be aligned; kernels read aligned numbers only."""
    rng = np.random.default_rng(0)
    x, whole = rng.normal(size=300), rng.integers(0, 9, 300)
    y = (x + rng.normal(size=300) > 0.5).astype(int)
    expected = tb.fit({"x": x, "whole": whole}, label=y)
    records = np.zeros(300, [("mark", "i1"), ("x", "f8"), ("whole", "i8")])
    records["x"], records["whole"] = x, whole
    buffer = pa.py_buffer(unaligned(x).view(np.uint8))
    packed = pa.table({"x": pa.Array.from_buffers(pa.float64(), 300, [None, buffer]), "whole": whole})
    for data in (
        {"x": records["x"], "whole": records["whole"]},
        records[["x", "whole"]],
        packed,
        pd.DataFrame(records)[["x", "whole"]],
    ):
        model = tb.fit(data, label=unaligned(y), sample_weight=unaligned(np.ones(300)))
        np.testing.assert_array_equal(model.predict_proba(data), expected.predict_proba({"x": x, "whole": whole}))
    matrix = np.stack([x, whole], axis=1)
    model = tb.fit(unaligned(matrix), label=y)
    np.testing.assert_array_equal(model.predict_proba(unaligned(matrix)), model.predict_proba(matrix))


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_array, sp.csr_array])
def test_sparse_matrices_are_one_bag(kind):
    rng = np.random.default_rng(1)
    X = rng.poisson(0.5, (N, 9))
    y = rng.integers(0, 3, N)
    model = tb.fit(kind(X), label=y)
    dicts = [{"x": {int(j): int(row[j]) for j in np.flatnonzero(row)}} for row in X]
    assert model.same_counts(tb.fit(dicts, label=y, families={"x": "multinomial"}))
    assert np.allclose(model.predict_proba(kind(X)), model.predict_proba(dicts))


def test_fractional_amounts_are_exact():
    rng = np.random.default_rng(1)
    X = sp.csr_array(rng.random((N, 9)) * (rng.random((N, 9)) < 0.4))
    y = rng.integers(0, 3, N)
    whole = tb.fit(X, label=y)
    order = rng.permutation(N)
    assert whole.same_counts(tb.fit(X[order], label=y[order]))
    whole.forget(X[:30], label=y[:30])
    assert whole.same_counts(tb.fit(X[30:], label=y[30:]))


@pytest.mark.parametrize(
    ("values", "family"),
    [
        ([True, False, None], "bernoulli"),
        ([0, 1, 1], "bernoulli"),
        ([0.0, 1.0, None], "bernoulli"),
        ([0, 1, 2], "histogram"),
        ([0.5, 1.5, None], "histogram"),
        (["a", "b", "a"], "categorical"),
        (["a|b", "b|c", "a"], "tags"),
        ([["a"], ["b", "c"], []], "tags"),
        ([{"a": 1}, {"b": 2}, {}], "multinomial"),
        ([None, None, None], None),
        ([f"id-{i}" for i in range(30)], None),
        (list(range(100, 130)), None),
        ([f"the {i} quick brown foxes of {i}" for i in range(30)], "text"),
        (["how are you today", "win a prize now please", "lunch at the usual place"], "text"),
        (pd.date_range("2020-01-01", periods=3), None),
    ],
)
@pytest.mark.filterwarnings("ignore:.*excluded as identifiers:tallybayes.errors.DataWarning")
def test_families_are_proposed_with_a_reason(values, family):
    frame = {"x": values, "y": [i % 2 for i in range(len(values))]}
    field = tb.fit(frame, label="y").schema.columns["x"]
    assert (field.family.name if field.family else None) == family
    assert field.reason


def test_families_can_be_overruled():
    model = tb.fit(COLUMNS, label="ill", families={"visits": "poisson", "age": tb.Gaussian(kappa=1.0)}, ignore=["town"])
    assert str(model.schema.families["age"]) == "gaussian:kappa=1.0"
    assert model.schema.columns["town"].reason == "excluded by the user"
    assert "visits" in str(model.schema)


def test_smoothing_can_be_chosen_by_column():
    model = tb.fit(COLUMNS, label="ill", families=FAMILIES, smoothing={"town": 0, "smoker": 5.0})
    assert np.isfinite(model.log_score({"smoker": True, "visits": 3})).all()
    assert np.isneginf(model.log_score({"town": "Paris"})).all()


def test_weights_by_name_or_array():
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, N).astype(float)
    by_name = tb.fit({**COLUMNS, "w": weights}, label="ill", sample_weight="w", families=FAMILIES)
    by_array = tb.fit(COLUMNS, label="ill", sample_weight=weights, families=FAMILIES)
    assert by_name.same_counts(by_array)
    assert by_name != by_array  # one reads the weights from a column
    assert "w" not in by_name.schema.columns


def test_unusual_types_are_numbers_too():
    frame = pa.table({"x": pa.array([decimal.Decimal("1.5"), None, decimal.Decimal("2.25")]), "y": [0, 1, 0]})
    assert tb.fit(frame, label="y").same_counts(tb.fit({"x": [1.5, None, 2.25], "y": [0, 1, 0]}, label="y"))


def test_what_is_no_table_is_refused():
    for nonsense in (3, np.zeros(3), [1, 2, 3]):
        with pytest.raises(DataError, match=r"expected a (table|matrix|dict)"):
            tb.fit(nonsense, label="y")
    with pytest.raises(DataError, match="3 values as in the other columns"):
        tb.fit({"a": [1, 2, 3], "b": [1, 2]}, label="a")
    with pytest.raises(DataError, match="3 labels"):
        tb.fit({"a": [1, 2, 3]}, label=[1, 2])


def test_negative_amounts_are_refused():
    with pytest.raises(DataError, match="row 1: expected an amount"):
        tb.fit(sp.csr_array([[1.0, 0.0], [0.0, -2.0]]), label=[0, 1])
    with pytest.raises(DataError, match="column 'w', row 0: expected an amount"):
        tb.fit({"w": [{"a": -1}], "y": [0]}, label="y")


def test_samples_can_be_learned_from():
    model = tb.fit(COLUMNS, label="ill", families=FAMILIES)
    sample = model.sample(200, seed=1)
    assert sample.column_names[-1] == "ill"
    again = tb.fit(sample, label="ill", families=dict(model.schema.families))
    assert again.classes == model.classes
    assert sample == model.sample(200, seed=1)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("share", [1, 2])
def test_polars_texts_that_hardly_repeat(lazy, share):
    """Polars hands out views of texts, which much of Arrow cannot use."""
    words = [f"w{i}" if i % share == 0 else None for i in range(100)]
    frame = pl.DataFrame({"c": words, "tags": [["x", f"t{i % 7}"] for i in range(100)], "y": ["a", "a", "b", "b"] * 25})
    model = tb.fit(frame.lazy() if lazy else frame, label="y", column_weights=None)
    other = tb.fit(frame.to_pandas(), label="y", column_weights=None)
    assert model == other
    assert model.predict(frame).tolist() == other.predict(frame.to_pandas()).tolist()


@pytest.mark.filterwarnings("ignore::tallybayes.errors.DataWarning")
def test_a_polars_frame_of_real_data_is_fitted_as_the_same_table_of_arrow(shared_data):
    import pyarrow.parquet as pq

    path = shared_data / "titanic.parquet"
    model, other = (
        tb.fit(read(path), label="survived", column_weights=None) for read in (pl.read_parquet, pq.read_table)
    )
    assert model.same_counts(other)
    assert model.doubts == other.doubts


@pytest.mark.filterwarnings("ignore:.*excluded as identifiers:tallybayes.errors.DataWarning")
def test_real_tables(shared_data):
    """Held-out accuracy on real tables beats the commonest class, with nothing but the label given."""
    import pyarrow.parquet as pq

    for name, label, ignore in [
        ("adult", "class", ["split"]),
        ("titanic", "survived", ["boat", "body"]),
        ("mushroom", "class", []),
        ("votes", "Class", []),
        ("german_credit", "class", []),
        ("car", "class", []),
        ("penguins", "species", []),
        ("heart_disease", "num", []),
        ("wine", "class", []),
        ("movie_body_count", "MPAA_Rating", []),
    ]:
        table = pq.read_table(shared_data / f"{name}.parquet")
        order = np.random.default_rng(0).permutation(table.num_rows)
        cut = table.num_rows * 2 // 3
        train, test = table.take(order[:cut]), table.take(order[cut:])
        model = tb.fit(train, label=label, ignore=ignore)
        truth = np.array(test[label].to_pylist())
        majority = max(np.mean(truth == c) for c in set(truth.tolist()))
        assert (model.predict(test) == truth).mean() > majority, name
