"""Types of columns, and what goes wrong: clear errors on the driver, no stack trace of Java."""

import datetime
import decimal
import os
import sys

import numpy as np
import pytest

import tallybayes as tb
from mixed_table import mixed_table
from tallybayes.model.saved_model import dumps


@pytest.fixture(scope="module")
def sp(spark):
    import tallybayes.spark as sp

    return sp


@pytest.fixture(scope="module")
def df(spark):
    return spark.createDataFrame(mixed_table(60)).repartition(2)


def test_every_type_that_the_data_layer_reads_is_read(sp, spark):
    rows = [
        (
            bool(i % 2),
            i % 5,
            float(i) if i % 7 else None,
            decimal.Decimal(i) / 4,
            f"kind {i % 3}",
            datetime.date(2024, 1 + i % 12, 1 + i % 28),
            datetime.datetime(2024, 1 + i % 12, 1, i % 24, tzinfo=datetime.UTC),
            ["a", "b"][: i % 3],
            {"x": float(i % 3), "y": 1.0},
            float("nan") if i % 2 else 2.5,
            None,
            "pq"[i % 2],
        )
        for i in range(60)
    ]
    types = "bit boolean, small smallint, real double, price decimal(9,2), kind string, day date, at timestamp"
    types += ", tags array<string>, bag map<string,double>, gap float, nothing string, y string"
    df = spark.createDataFrame(rows, types).repartition(3)
    model = sp.fit(df, "y")
    assert dumps(model) == dumps(tb.fit(df.toArrow(), "y"))
    assert model.schema.columns["nothing"].reason == "text, no values yet"
    assert {"day.month", "at.hour", "price", "bag"} <= model.schema.families.keys()


def test_a_column_without_values_in_the_first_rows_is_looked_up(sp, spark, monkeypatch):
    from tallybayes.spark import data_frame
    from tallybayes.spark.data_frame import SparkRows

    monkeypatch.setattr(data_frame, "SAMPLE", 40)
    monkeypatch.setattr(data_frame, "_LEAST_ROWS", 1)
    rows = [("pq"[i % 2], float(i % 9), None if i < 80 else f"late {i % 2}") for i in range(100)]
    df = spark.createDataFrame(rows, "y string, x double, late string").coalesce(1)
    model = sp.fit(df, "y")
    assert model.schema.columns["late"].reason == "text, 2 distinct values"
    assert dumps(model) == dumps(tb.fit(df.toArrow(), "y", schema=model.schema))
    monkeypatch.setattr(SparkRows, "random_rows", lambda rows, n_rows, seed: rows.sample())
    assert sp.tune(df, "y", sample=40).model.schema.columns["late"].reason == "text, 2 distinct values"
    other, expected = (tb.fit(df.select("y", "x").toArrow(), "y") for _ in range(2))
    sp.learn(other, df)
    expected.learn(df.toArrow())
    assert other.schema.columns["late"].reason == "new column; text, 2 distinct values"
    assert dumps(other) == dumps(expected)
    void = tb.fit({"x": [1.0, 2.0], "late": [None, None], "y": ["p", "q"]}, "y", column_weights=None)
    assert void.schema.columns["late"].reason == "no values yet"
    sp.learn(void, df)
    assert void.schema.columns["late"].reason == "new column; text, 2 distinct values"


def test_dense_vectors_are_columns_and_sparse_ones_a_bag(sp, spark):
    from pyspark.ml.linalg import Vectors

    rng = np.random.default_rng(0)
    matrix = rng.poisson(1.0, (60, 4)).astype(float)
    labels = ["pq"[int(line[0] > 1)] for line in matrix]
    cases = zip(matrix.tolist(), labels, strict=True)
    rows = [
        (
            Vectors.dense(line),
            Vectors.sparse(4, {i: value for i, value in enumerate(line) if value}),
            Vectors.dense(line) if k % 2 else Vectors.sparse(4, {i: v for i, v in enumerate(line) if v}),
            y,
        )
        for k, (line, y) in enumerate(cases)
    ]
    df = spark.createDataFrame([*rows, (None, None, None, "p")], ["dense", "words", "either", "y"]).repartition(2)
    model = sp.fit(df, "y", numeric="gaussian")
    elements = [f"{name}[{i}]" for name in ("dense", "either") for i in range(4)]
    assert sorted(model.schema.families) == sorted([*elements, "words"])
    lines = [*matrix.tolist(), [None] * 4]
    table = {f"{name}[{i}]": [line[i] for line in lines] for name in ("dense", "either") for i in range(4)}
    bags = [{i: value for i, value in enumerate(line) if value} for line in matrix.tolist()]
    table |= {"words": [*bags, None], "y": [*labels, "p"]}
    assert model.same_counts(tb.fit(table, "y", schema=model.schema))
    found = sp.predict(model, df).collect()
    by_label = {row.prediction for row in found}
    assert by_label == {"p", "q"}
    assert sp.evaluate(model, df).n_rows == 61
    columns = sp.fit(df.select("words", "y"), "y", families={"words": "gaussian"}, column_weights=None).schema
    assert sorted(columns.families) == [f"words[{i}]" for i in range(4)]
    bag = sp.fit(df.select("dense", "y"), "y", families={"dense": "multinomial"}, column_weights=None).schema
    assert sorted(bag.families) == ["dense"]


def test_vectors_without_values_in_the_first_rows_are_looked_up(sp, spark, monkeypatch):
    from pyspark.ml.linalg import Vectors, VectorUDT
    from pyspark.sql.types import StringType, StructField, StructType

    from tallybayes.spark import data_frame

    monkeypatch.setattr(data_frame, "SAMPLE", 20)
    monkeypatch.setattr(data_frame, "_LEAST_ROWS", 1)
    rows = [(None if i < 40 else Vectors.dense([float(i), i % 3]), "pq"[i % 2]) for i in range(60)]
    kinds = StructType([StructField("v", VectorUDT()), StructField("y", StringType())])
    model = sp.fit(spark.createDataFrame(rows, kinds).coalesce(1), "y", column_weights=None, numeric="gaussian")
    table = {"v[0]": [v and v[0] for v, _ in rows], "v[1]": [v and v[1] for v, _ in rows], "y": [y for _, y in rows]}
    assert model.schema.columns_in_use == ["v[0]", "v[1]"]
    assert model.same_counts(tb.fit(table, "y", schema=model.schema, column_weights=None, numeric="gaussian"))


def test_vectors_of_different_sizes_are_an_error(sp, spark):
    from pyspark.ml.linalg import Vectors

    df = spark.createDataFrame([(Vectors.dense([1.0, 2.0]), "p"), (Vectors.dense([1.0]), "q")], ["v", "y"]).coalesce(1)
    with pytest.raises(tb.errors.DataError, match="column 'v', row 1: expected a vector of 2 elements, got one of 1"):
        sp.fit(df, "y")


def test_a_column_of_vectors_that_the_model_does_not_use_is_not_read(sp, spark):
    from pyspark.ml.linalg import Vectors

    rows = [(Vectors.dense([1.0, float(i)]), "abc"[i % 3], "pq"[i % 2]) for i in range(20)]
    df = spark.createDataFrame(rows, ["v", "x", "y"])
    model = sp.fit(df.drop("v"), "y")
    assert sp.evaluate(model, df).split.startswith("none")
    assert sp.forget(model, df).rows == 20


def test_structures_are_refused_unless_they_are_ignored(sp, df):
    from pyspark.sql import functions

    nested = df.select("size", "y", functions.struct("kind").alias("inner"))
    with pytest.raises(tb.errors.DataError, match=r"column 'inner': expected numbers, text.*got struct<kind:string>"):
        sp.fit(nested, "y")
    model = sp.fit(nested, "y", ignore=["inner"])
    assert model.schema.columns["inner"].reason == "excluded by the user"
    with pytest.raises(tb.errors.DataError, match=r"df.drop\('inner'\)"):
        sp.learn(tb.fit({"size": [1.0, 2.0], "y": ["p", "q"]}, "y", column_weights=None), nested)


def test_a_missing_label_column_is_told_with_a_suggestion(sp, df):
    with pytest.raises(tb.errors.DataError, match=r"the label column in the data[\s\S]*did you mean 'visits'"):
        sp.fit(df, "visit")
    model = tb.fit(mixed_table(60), "y")
    with pytest.raises(tb.errors.DataError, match="the label column in the data"):
        sp.learn(model, df.drop("y"))


def test_a_label_without_values_is_an_error(sp, df):
    from pyspark.sql import functions

    with pytest.raises(tb.errors.DataError, match="column 'y': expected rows with a label to learn from, got 60 rows"):
        sp.fit(df.withColumn("y", functions.lit(None).cast("string")), "y")
    with pytest.raises(tb.errors.DataError, match="expected rows with a label to learn from, got 0"):
        sp.fit(df.limit(0), "y")


def test_bad_cells_are_told_with_partition_column_and_row(sp, spark):
    rows = [(float(i) if i != 70 else float("inf"), "pq"[i % 2]) for i in range(100)]
    df = spark.createDataFrame(rows, ["x", "y"]).coalesce(1)
    with pytest.raises(tb.errors.DataError, match=r"column 'x', row 70: expected .*got inf") as error:
        sp.fit(df, "y")
    assert (error.value.column, error.value.row) == ("x", 70)
    schema = tb.fit({"x": [1.0, 2.5], "y": ["p", "q"]}, "y").schema
    with pytest.raises(tb.errors.DataError, match="partition 0, column 'x', row 70"):
        sp.fit(df, "y", schema=schema)


def test_mixed_types_of_a_column_are_an_error(sp, spark):
    model = tb.fit({"k": [1, 2, 1, 2], "y": [7, 8, 7, 8]}, "y", families={"k": "categorical"})
    before = dumps(model)
    with pytest.raises(tb.errors.DataError, match="column 'k'"):
        sp.learn(model, spark.createDataFrame([("a", 7), ("b", 8)], ["k", "y"]))
    with pytest.raises(tb.errors.DataError, match=r"expected labels of one type \(integer\), got 'p'"):
        sp.learn(model, spark.createDataFrame([(1, "p"), (2, "q")], ["k", "y"]))
    assert dumps(model) == before


def test_names_that_spark_would_misread_are_read(sp, spark):
    names = ["a.b", "c`d", "e f", "y"]
    df = spark.createDataFrame([(float(i), "xz"[i % 2], i % 4, "pq"[i % 2]) for i in range(40)], names)
    model = sp.fit(df, "y")
    assert dumps(model) == dumps(tb.fit(df.toArrow(), "y"))
    assert sp.predict(model, df).columns[-1] == "probability"


def test_names_that_spark_cannot_tell_apart_are_refused_where_they_are_read(sp, spark):
    rows = [(float(i), "xz"[i % 2], i % 4, "pq"[i % 2]) for i in range(20)]
    df = spark.createDataFrame(rows, ["x", "k", "K", "y"]).coalesce(1)
    with pytest.raises(tb.errors.DataError, match="column names that differ, got 'k'"):
        sp.fit(df, "y")
    model = sp.fit(df, "y", ignore=["k", "K"], column_weights=None)
    assert model.schema.columns_in_use == ["x"]
    twice = df.toDF("x", "k", "k", "y")
    assert sp.predict(model, twice).columns == ["x", "k", "k", "y", "prediction", "probability"]
    assert sp.evaluate(model, df).n_rows == 20
    with pytest.raises(tb.errors.DataError, match="column names that differ, got 'k'"):
        sp.learn(tb.fit({"x": [1.0, 2.0], "y": ["p", "q"]}, "y", column_weights=None), twice)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert set(sp.fit(df, "y", column_weights=None).schema.columns_in_use) == {"x", "k", "K"}
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_names_of_another_case_are_told(sp, spark):
    model = tb.fit(
        {"Size": [1.0, 2.0, 3.0, 4.5], "k": ["a", "b", "a", "b"], "y": ["p", "q", "p", "q"]}, "y", column_weights=None
    )
    df = spark.createDataFrame([(1.0, "a", "p")], ["size", "k", "y"])
    for verb in (sp.predict, sp.evaluate):
        with pytest.warns(
            tb.errors.DataWarning, match="column 'Size': the model has this column and the DataFrame 'size'"
        ):
            verb(model, df)


def test_large_types_of_arrow_change_nothing(sp, spark):
    rows = [(float(i), "xz"[i % 2], "pq"[i % 2]) for i in range(20)]
    df = spark.createDataFrame(rows, ["x", "k", "y"]).coalesce(1)
    model = tb.fit(df.toArrow(), "y", column_weights=None)
    expected = sp.predict(model, df, probabilities="p").collect()
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        assert dumps(sp.fit(df, "y", column_weights=None)) == dumps(model)
        assert sp.predict(model, df, probabilities="p").collect() == expected
        assert sp.evaluate(model, df).n_rows == 20
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")


def test_what_is_not_a_finite_data_frame_is_refused(sp, spark):
    with pytest.raises(tb.errors.ParameterError, match="a DataFrame of Spark, got 'dict'"):
        sp.fit({"x": [1], "y": ["a"]}, "y")
    with pytest.raises(tb.errors.ParameterError, match="a DataFrame that ends, got a stream"):
        sp.fit(spark.readStream.format("rate").load(), "value")


def test_workers_without_the_library_are_told(sp, spark, df, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'tallybayes':\n"
        "            raise ModuleNotFoundError(f\"No module named '{name}'\", name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
    )
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    os.chmod(program, 0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(program))
    with pytest.raises(tb.errors.EngineError, match="expected tallybayes on the workers of Spark") as error:
        sp.fit(df, "y")
    assert "--archives" in str(error.value)
    assert "java" not in str(error.value).lower()


def test_tuning_selects_on_a_sample_and_counts_all_rows(sp, spark):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 2000))
    rows = {"a": a.astype(str).tolist(), "b": b.astype(str).tolist(), "y": np.array(["p", "q"])[a ^ b].tolist()}
    df = spark.createDataFrame(list(zip(*rows.values(), strict=True)), list(rows)).repartition(2)
    tuned = sp.tune(df, "y", sample=500, seed=1)
    assert sum(tuned.model.class_counts.values()) == 2000
    assert tuned.log_loss[1] < 0.1 < tuned.log_loss[0]
    assert tuned.model.stale == []
    assert (tuned.model.predict({"a": ["0", "1"], "b": ["1", "1"]}) == ["q", "p"]).all()
