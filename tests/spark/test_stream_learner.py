"""A stream is learned batch by batch, each batch exactly once, whatever interrupts it."""

import os

import pyarrow.parquet as pq
import pytest

import tallybayes as tb
from mixed_table import mixed_table
from tallybayes.model.saved_model import dumps

COLUMNS = ["size", "kind", "words", "y"]


@pytest.fixture(scope="module")
def pieces():
    table = mixed_table(240).select(COLUMNS)
    return [table.slice(start, 60) for start in range(0, 240, 60)]


@pytest.fixture
def stream(spark, pieces, tmp_path):
    """A function that starts the stream again, from where its checkpoint says."""
    files = tmp_path / "rows"
    files.mkdir()
    for i, piece in enumerate(pieces):
        pq.write_table(piece, files / f"{i}.parquet")
        os.utime(files / f"{i}.parquet", (1_700_000_000 + i,) * 2)  # Spark reads the oldest file first
    schema = spark.read.parquet(str(files)).schema

    def run(learn):
        rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(files))
        started = rows.writeStream.foreachBatch(learn).trigger(availableNow=True)
        query = started.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        query.awaitTermination(120)
        return query

    return run


def test_batches_are_learned_once_although_one_is_repeated(stream, pieces, tmp_path):
    from pyspark.errors import StreamingQueryException

    from tallybayes.spark import StreamLearner

    learned = []

    def crash_after_saving(df, batch):
        StreamLearner(tmp_path / "models", label="y")(df, batch)
        learned.append(batch)
        if batch == 1:
            raise RuntimeError("lost before Spark has noted the batch")

    with pytest.raises(StreamingQueryException, match="lost before Spark has noted"):
        stream(crash_after_saving)
    assert learned == [0, 1]
    learner = StreamLearner(tmp_path / "models", label="y")
    assert (learner.last_batch, sum(learner.model.class_counts.values())) == (1, labelled(pieces[:2]))
    repeated = []
    stream(lambda df, batch: (repeated.append(batch), learner(df, batch)))
    assert repeated == [1, 2, 3]
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == [
        "batch-000000000002.tally",
        "batch-000000000003.tally",
    ]
    expected = tb.fit(pieces[0], "y")
    for piece in pieces[1:]:
        expected.learn(piece)
    assert learner.model.same_counts(expected)
    assert dumps(learner.model) == dumps(expected)


def labelled(pieces):
    return sum(len(piece) - piece.column("y").null_count for piece in pieces)


def test_a_stream_that_begins_anew_needs_an_empty_folder(spark, pieces, tmp_path):
    from tallybayes.spark import StreamLearner

    learner = StreamLearner(tmp_path, label="y", column_weights=None)
    assert learner.model is None
    assert learner.last_batch is None
    df = spark.createDataFrame(pieces[0]).coalesce(1)
    learner(df.limit(0), 0)
    assert learner.model is None
    learner(df, 1)
    learner(df, 1)
    assert sum(learner.model.class_counts.values()) == labelled(pieces[:1])
    learner(df.limit(0), 2)
    assert learner.last_batch == 2
    assert sum(learner.model.class_counts.values()) == labelled(pieces[:1])
    with pytest.raises(tb.errors.ParameterError, match="batch 3 after number 2, got 0"):
        learner(df, 0)


def test_a_lost_model_or_a_lost_batch_is_not_overlooked(spark, pieces, tmp_path):
    from tallybayes.spark import StreamLearner

    df = spark.createDataFrame(pieces[0].slice(0, 10)).coalesce(1)
    lost = StreamLearner(tmp_path / "lost", label="y", column_weights=None)
    with pytest.raises(tb.errors.FileError, match=r"lost: expected the model after batch 56, got no model"):
        lost(df, 57)
    assert lost.last_batch is None
    lost(df, 0)
    with pytest.raises(tb.errors.ParameterError, match="batch 1 after number 0, got 2"):
        lost(df, 2)


def test_batches_without_any_label_are_passed_over(spark, pieces, tmp_path):
    from pyspark.sql import functions

    from tallybayes.spark import StreamLearner

    df = spark.createDataFrame(pieces[0].slice(0, 20)).coalesce(1)
    unlabelled = df.withColumn("y", functions.lit(None).cast("string"))
    learner = StreamLearner(tmp_path, label="y", column_weights=None)
    learner(unlabelled, 0)
    assert (learner.model, learner.last_batch) == (None, 0)
    learner(df, 1)
    learner(unlabelled, 2)
    assert learner.last_batch == 2
    assert sum(learner.model.class_counts.values()) == labelled([pieces[0].slice(0, 20)])


def test_folders_of_other_file_systems_are_refused(spark, tmp_path, monkeypatch):
    from tallybayes.spark import StreamLearner

    monkeypatch.chdir(tmp_path)
    for folder in ("s3://bucket/models", "hdfs:///models", "dbfs:/models"):
        with pytest.raises(tb.errors.ParameterError, match="a folder on a disk that the driver can write to"):
            StreamLearner(folder, label="y")
    assert StreamLearner((tmp_path / "my models").as_uri(), label="y").folder == tmp_path / "my models"
