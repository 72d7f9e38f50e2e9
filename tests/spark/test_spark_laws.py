"""However a DataFrame is divided, its model is the one that `tallybayes.fit` gives for the same rows, bit for bit."""

import pyarrow.parquet as pq
import pytest

import tallybayes as tb
from mixed_table import cut, mixed_table
from tallybayes.model.saved_model import dumps

N_ROWS = 500


@pytest.fixture(scope="module")
def sp(spark):
    import tallybayes.spark as sp

    return sp


@pytest.fixture(scope="module")
def table():
    return mixed_table(N_ROWS)


@pytest.fixture(scope="module")
def df(spark, table, tmp_path_factory):
    """The table in seven files of very different sizes, two of them empty."""
    folder = tmp_path_factory.mktemp("rows")
    for i, piece in enumerate([*cut(table, 5), table.slice(0, 0), table.slice(0, 0)]):
        pq.write_table(piece, folder / f"{i}.parquet")
    frame = spark.read.parquet(str(folder))
    assert sorted(frame.toArrow().column("customer_id").to_pylist()) == list(range(N_ROWS))
    return frame


@pytest.fixture(scope="module")
def schema(table):
    """The schema of the table, with the variant of its text still open."""
    from tallybayes import engines

    return engines.plan_fit(table, "y").schema


@pytest.fixture(scope="module")
def expected(table, schema):
    return dumps(tb.fit(table, "y", schema=schema))


@pytest.mark.parametrize("n_partitions", [1, 7])
def test_any_partitioning_gives_the_same_bytes(sp, df, schema, expected, n_partitions):
    rows = df.coalesce(1) if n_partitions == 1 else df.repartition(n_partitions)
    assert dumps(sp.fit(rows, "y", schema=schema)) == expected


def test_hundreds_of_partitions_give_the_same_bytes(sp, df, table):
    names = ["size", "kind", "words", "y"]  # few columns: the time goes into 200 tasks
    whole = tb.fit(table.select(names), "y")
    assert dumps(sp.fit(df.select(names).repartition(200), "y", schema=whole.schema)) == dumps(whole)


def test_skewed_and_empty_partitions_give_the_same_bytes(sp, df, schema, expected):
    from pyspark.sql import functions

    skewed = df.repartition(9, functions.col("customer_id") < 3)  # two of nine partitions have rows
    assert dumps(sp.fit(skewed, "y", schema=schema, widths=(2,))) == expected


def test_without_a_schema_it_is_inferred_from_the_first_rows(sp, df):
    model = sp.fit(df, "y", sample_weight="w")
    assert dumps(model) == dumps(tb.fit(df.toArrow(), "y", sample_weight="w"))


@pytest.mark.parametrize(
    "options",
    [
        {"dependence": "one"},
        {"column_weights": None, "numeric": "gaussian", "ignore": ["note"]},
        {"group": "visits", "only": ["size", "note"]},
    ],
)
def test_options_of_fit_have_the_same_meaning(sp, df, options):
    assert dumps(sp.fit(df, "y", **options)) == dumps(tb.fit(df.toArrow(), "y", **options))


def test_a_tree_of_several_levels_gives_the_same_bytes(sp, df, schema, expected):
    assert dumps(sp.fit(df.repartition(11), "y", schema=schema, widths=(5, 2))) == expected


def test_learning_and_forgetting_are_those_of_the_model(sp, df, table):
    from pyspark.sql import functions

    late = functions.col("customer_id") >= 300
    second = df.where(late)
    model = tb.fit(table.slice(0, 300), "y")
    other = model.copy()
    rows = second.withColumn("extra", functions.lit("new"))
    assert sp.learn(model, rows) == other.learn(rows.toArrow())
    assert dumps(model) == dumps(other)
    assert sp.forget(model, rows) == other.forget(rows.toArrow())
    assert dumps(model) == dumps(other)
    assert model.same_counts(tb.fit(table.slice(0, 300), "y"))
    with pytest.raises(tb.errors.ForgetError):
        sp.forget(model, second)
    assert dumps(model) == dumps(other)


def test_only_the_columns_that_are_needed_are_read(sp, df, schema):
    from tallybayes.spark.data_frame import SparkRows

    only = tb.fit({"size": [1.0, 2.5], "kind": ["a", "b"], "y": ["p", "q"]}, "y").schema
    rows = SparkRows(df)
    selected = rows.select(rows.needed(only, "y", None, {}))
    plan = selected._jdf.queryExecution().executedPlan().toString()
    assert "ReadSchema: struct<size:double,kind:string,y:string>" in plan


def test_the_last_level_of_the_tree_is_one_stage_whose_tasks_run_side_by_side(sp, spark):
    from tallybayes.spark.tree import reduce_partitions

    def combined(parts):
        from pyspark import TaskContext

        task, values = TaskContext.get(), sorted(parts)
        return b",".join(values) if task is None else b"%d" % task.stageId()

    spark.conf.set("spark.sql.adaptive.enabled", "false")  # it would put so little into one task
    try:
        found = reduce_partitions(spark.range(0, 8, 1, 4), lambda number, batches: b"", combined, combined, widths=(4,))
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    stages = found.split(b",")
    assert len(stages) == 4
    assert len(set(stages)) == 1
