"""Predictions and evaluations on Spark are those of the model."""

import math
import re

import numpy as np
import pytest

import tallybayes as tb
from mixed_table import mixed_table
from tallybayes.errors import UnsupportedError
from tallybayes.state.decision import Decision
from tallybayes.storage.container import unpack


@pytest.fixture(scope="module")
def sp(spark):
    import tallybayes.spark as sp

    return sp


@pytest.fixture(scope="module")
def table():
    return mixed_table(300)


@pytest.fixture(scope="module")
def model(table):
    return tb.fit(table, "y", ignore=["w"])


@pytest.fixture(scope="module")
def df(spark, table):
    return spark.createDataFrame(table).repartition(3)


def test_predictions_are_appended_and_all_else_stays(sp, spark, df, model):
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import functions

    frame = df.withColumn("part", functions.struct(functions.lit(1).alias("a")))
    frame = frame.withColumn("span", functions.expr("INTERVAL '2' DAY")).withColumn("bytes", functions.lit(b"x"))
    vectors = spark.createDataFrame([(i, Vectors.dense([float(i)])) for i in range(300)], ["customer_id", "vector"])
    frame = frame.join(vectors, "customer_id")
    found = sp.predict(model, frame, probabilities="p", explanation="why")
    assert found.columns == [*frame.columns, "prediction", "probability", "p", "why"]
    assert found.schema[:-4] == frame.schema[:]
    rows = found.collect()
    assert [row[:-4] for row in rows] == [row[:] for row in frame.collect()]
    cells = df.toArrow()
    places = {number: i for i, number in enumerate(cells.column("customer_id").to_pylist())}
    at = [places[row.customer_id] for row in rows]
    proba = model.predict_proba(cells)[at]
    assert [row.prediction for row in rows] == model.predict(cells)[at].tolist()
    assert [row.probability for row in rows] == proba.max(axis=1).tolist()
    assert [list(row.p.values()) for row in rows] == proba.tolist()
    explained = model.explain(cells.take(at[:5]))
    for row, expected in zip(rows, explained, strict=False):
        order = np.argsort(expected.probabilities)
        odds = expected.log_odds(expected.answer, expected.classes[order[-2]])
        assert row.why == pytest.approx({name: 10 * own / math.log(10) for name, own in odds.items()})


def test_a_model_that_abstains_gives_null(sp, df, model):
    careful = model.copy()
    careful.decision = Decision(abstain=0.7)
    cells = df.toArrow()
    rows = sp.predict(careful, df).collect()
    assert [row.prediction for row in rows] == careful.predict(cells).tolist()
    assert {row.prediction is None for row in rows} == {True, False}
    assert all((row.prediction is None) == (row.probability is None) for row in rows)


@pytest.mark.parametrize(("label", "kind"), [("visits", "bigint"), ("member", "boolean"), ("y=p", "boolean")])
def test_predictions_have_the_type_of_the_labels(sp, df, table, label, kind):
    other = tb.fit(table.select(["size", "kind", label.partition("=")[0]]), label, column_weights=None)
    found = sp.predict(other, df, prediction="answer", probability=None)
    assert found.schema["answer"].dataType.simpleString() == kind
    assert found.columns[-1] == "answer"


def test_new_columns_need_names_of_their_own(sp, df, model):
    with pytest.raises(tb.errors.ParameterError, match="new columns with names of their own, got 'Kind'"):
        sp.predict(model, df, prediction="Kind")
    with pytest.raises(tb.errors.DataError, match="columns of the model"):
        sp.predict(model, df.select(df.customer_id))


def test_an_evaluation_is_that_of_the_model(sp, df, model):
    from pyspark.sql import functions

    other = functions.when(functions.col("customer_id") < 5, functions.lit("other")).otherwise(functions.col("y"))
    frame = df.withColumn("y", other)
    found, expected = sp.evaluate(model, frame, positive="p"), tb.evaluate(model, frame.toArrow(), positive="p")
    assert (found.confusion, found.unknown, found.skipped) == (expected.confusion, expected.unknown, expected.skipped)
    mine, theirs = found.to_dict(), expected.to_dict()
    assert mine.keys() == theirs.keys()
    assert mine["auc"] == theirs["auc"]
    assert mine["per_class"] == theirs["per_class"]
    for name in ("log_loss", "brier", "prior_log_loss", "ece"):
        assert mine[name] == pytest.approx(theirs[name], rel=1e-12)
    assert found.positive == "p"


def test_rows_that_the_model_has_learned_are_said_to_be_scored_with_themselves(sp, spark):
    rows = [(float(i), "xz"[i % 2], "pq"[i % 3 == 0]) for i in range(20)]
    df = spark.createDataFrame(rows, ["x", "k", "y"])
    model = sp.fit(df, "y", column_weights=None)
    assert sp.evaluate(model, df.orderBy("k")).split == (
        "none: the rows that the model has learned, each scored with itself"
    )
    assert sp.evaluate(model, df.limit(19)).split == ""
    assert sp.evaluate(model, df.withColumn("x", df.x + 1)).split == ""


def test_training_rows_with_groups_are_refused_and_the_hint_holds_whole_groups_out(sp, spark):
    rows = [(float(i), f"g`{i // 4}", "pq"[i % 3 == 0]) for i in range(80)]
    df = spark.createDataFrame(rows, ["x", "the `g", "y"])
    options = {"group": "the `g", "column_weights": None}
    with pytest.raises(UnsupportedError, match=r"rows of the groups 'the `g' that the model has learned") as error:
        sp.evaluate(sp.fit(df, "y", **options), df)
    fitted, held_out = (df.filter(part) for part in re.findall(r'filter\("(.*?)"\)', str(error.value)))
    groups = [{row["the `g"] for row in part.collect()} for part in (fitted, held_out)]
    assert not groups[0] & groups[1]
    assert len(groups[0] | groups[1]) == 20
    assert sp.evaluate(sp.fit(fitted, "y", **options), held_out).n_rows == held_out.count() > 0


def test_the_driver_gets_one_value_whose_size_is_limited(sp, df, model, monkeypatch):
    from tallybayes.spark import distributed_evaluation
    from tallybayes.spark.distributed_evaluation import total_evaluation

    n_values = []

    def total(parts):
        values = list(parts)
        n_values.append(len(values))
        return total_evaluation(values)

    monkeypatch.setattr(distributed_evaluation, "total_evaluation", total)
    sp.evaluate(model, df)
    assert n_values == [1]


def test_rows_that_are_too_many_to_keep_are_only_counted(sp, df, model, monkeypatch):
    from tallybayes.evaluation import scores
    from tallybayes.spark import distributed_evaluation

    parts = [distributed_evaluation.evaluation_to_bytes(i, evaluation_of(model, df, i)) for i in range(2)]
    both = distributed_evaluation.total_evaluation([distributed_evaluation.combine_evaluations(parts)])
    assert both.auc > 0.5
    facts = unpack(distributed_evaluation.combine_evaluations(parts))[0]
    assert len(facts["confusion"]) == len(both.confusion)  # added up, not one for every partition
    monkeypatch.setattr(distributed_evaluation, "LIMIT", 10)
    monkeypatch.setattr(scores, "LIMIT", 10)
    few = distributed_evaluation.total_evaluation([distributed_evaluation.combine_evaluations(parts)])
    assert (few.confusion, few.log_loss) == (both.confusion, both.log_loss)
    with pytest.raises(tb.errors.UnsupportedError, match="too many rows"):
        few.auc


def evaluation_of(model, df, number):
    return tb.evaluate(model, mixed_table(50, seed=number), "y")


def test_rows_without_labels_cannot_be_evaluated(sp, df, model):
    with pytest.raises(tb.errors.DataError, match="rows with a label"):
        sp.evaluate(model, df.limit(0))
    with pytest.raises(tb.errors.DataError, match="the label column in the data"):
        sp.evaluate(model, df.drop("y"))
