"""A stream is learned batch by batch, each batch exactly once, whatever interrupts it."""

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
    assert learner.model == expected
    assert dumps(learner.model) == dumps(expected)


def labelled(pieces):
    return sum(len(piece) - piece.column("y").null_count for piece in pieces)


def test_a_stream_that_begins_anew_needs_an_empty_folder(spark, pieces, tmp_path):
    from tallybayes.spark import StreamLearner

    learner = StreamLearner(tmp_path, label="y", weights=None)
    assert learner.model is None
    assert learner.last_batch is None
    df = spark.createDataFrame(pieces[0])
    learner(df.limit(0), 0)
    assert learner.model is None
    learner(df, 3)
    learner(df, 3)
    assert sum(learner.model.class_counts.values()) == labelled(pieces[:1])
    with pytest.raises(tb.errors.ParameterError, match="a batch after number 3, got 0"):
        learner(df, 0)
